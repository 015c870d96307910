// SPDX-License-Identifier: Apache-2.0
// A frame in a new surface.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include <va/va.h>

#include "dlstreamer/vaapi/context.h"
#include "dlstreamer/vaapi/frame.h"

/// Throws std::runtime_error with the call and its status where it fails. Programs write it with a semicolon and without.
#define VA_CALL(_FUNC)                                                               \
  {                                                                                  \
    const VAStatus dls_status = (_FUNC);                                             \
    if (dls_status != VA_STATUS_SUCCESS)                                             \
      throw std::runtime_error(#_FUNC " failed, sts=" + std::to_string(dls_status)); \
  }

namespace dlstreamer {

class VAAPIFrameAlloc final : public VAAPIFrame {
 public:
  /// The surface goes with the frame, or with the last thing that was mapped from it. @errors those of vaapi::allocate.
  VAAPIFrameAlloc(const FrameInfo& info, ContextPtr context)
      : VAAPIFrame(tenon::vaapi::allocate(ptr_cast<VAAPIContext>(context)->native(), detail::to_tenon(info)), context) {
  }
};

}  // namespace dlstreamer
