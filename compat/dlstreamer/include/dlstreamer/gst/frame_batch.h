// SPDX-License-Identifier: Apache-2.0
// A GstBufferList as one frame, whose regions are the pictures.
#pragma once

#include <memory>
#include <stdexcept>
#include <utility>

#include "dlstreamer/gst/frame.h"

namespace dlstreamer {

class GSTFrameBatch : public BaseFrame {
 public:
  /// @param take_ownership  The list is unreferenced with this. @errors std::runtime_error: null; those of GSTFrame.
  GSTFrameBatch(GstBufferList* buffer_list, const FrameInfo& info, bool take_ownership = false,
                ContextPtr context = nullptr)
      : BaseFrame(info.media_type, info.format, MemoryType::GST), _owned(take_ownership ? buffer_list : nullptr) {
    if (!buffer_list) throw std::runtime_error("GSTFrameBatch: the list is null");
    for (guint i = 0; i < gst_buffer_list_length(buffer_list); ++i) {
      const auto frame = std::make_shared<GSTFrame>(gst_buffer_list_get(buffer_list, i), info, false, context);
      _tensors.insert(_tensors.end(), frame->begin(), frame->end());
      add_region(frame);
    }
  }

 private:
  tenon::gstreamer::BufferListPtr _owned;
};

}  // namespace dlstreamer
