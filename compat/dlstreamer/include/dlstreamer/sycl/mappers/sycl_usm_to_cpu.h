// SPDX-License-Identifier: Apache-2.0
// USM as host memory: in place but for that of the device.
#pragma once

#include "dlstreamer/cpu/context.h"
#include "dlstreamer/sycl/context.h"

namespace dlstreamer {

class MemoryMapperSYCLUSMToCPU : public detail::NamedMapper<MemoryType::USM, MemoryType::CPU> {
 public:
  using NamedMapper::NamedMapper;
};

}  // namespace dlstreamer
