// SPDX-License-Identifier: Apache-2.0
// Buffers as dma-bufs, where they lie in memory with a descriptor.
#pragma once

#include "dlstreamer/dma/context.h"
#include "dlstreamer/opencl/context.h"

namespace dlstreamer {

class MemoryMapperOpenCLToDMA : public detail::NamedMapper<MemoryType::OpenCL, MemoryType::DMA> {
 public:
  using NamedMapper::NamedMapper;
};

}  // namespace dlstreamer
