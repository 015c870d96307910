// SPDX-License-Identifier: Apache-2.0
// Buffers as host memory: in place where the device works in that.
#pragma once

#include "dlstreamer/cpu/context.h"
#include "dlstreamer/opencl/context.h"

namespace dlstreamer {

class MemoryMapperOpenCLToCPU : public detail::NamedMapper<MemoryType::OpenCL, MemoryType::CPU> {
 public:
  using NamedMapper::NamedMapper;
};

}  // namespace dlstreamer
