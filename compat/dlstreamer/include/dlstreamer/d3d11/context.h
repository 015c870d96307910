// SPDX-License-Identifier: Apache-2.0
// Direct3D 11 is there on Windows alone. The name is here, so that what mentions it compiles, and refuses with that reason.
#pragma once

#include <memory>
#include <stdexcept>

#include "dlstreamer/base/context.h"

namespace dlstreamer {

class D3D11Context : public BaseContext {
 public:
  /// @errors std::runtime_error, always.
  D3D11Context(void* /*d3d_device*/) : BaseContext(MemoryType::D3D11) {
    throw std::runtime_error("D3D11Context: Direct3D 11 is there on Windows alone; use a VAAPIContext");
  }
};
using D3D11ContextPtr = std::shared_ptr<D3D11Context>;

}  // namespace dlstreamer
