// SPDX-License-Identifier: Apache-2.0
// Dma-bufs as buffers: in place where the device imports them.
#pragma once

#include "dlstreamer/dma/context.h"
#include "dlstreamer/opencl/context.h"

namespace dlstreamer {

class MemoryMapperDMAToOpenCL : public detail::NamedMapper<MemoryType::DMA, MemoryType::OpenCL> {
 public:
  using NamedMapper::NamedMapper;
};

}  // namespace dlstreamer
