// SPDX-License-Identifier: Apache-2.0
// Buffers to OpenCL, by their descriptors or host memory.
#pragma once

#include "dlstreamer/gst/context.h"
#include "dlstreamer/opencl/context.h"

namespace dlstreamer {

class MemoryMapperGSTToOpenCL : public detail::NamedMapper<MemoryType::GST, MemoryType::OpenCL> {
 public:
  using NamedMapper::NamedMapper;
};

}  // namespace dlstreamer
