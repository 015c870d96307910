// SPDX-License-Identifier: Apache-2.0
// The descriptors behind buffers.
#pragma once

#include "dlstreamer/dma/context.h"
#include "dlstreamer/gst/context.h"

namespace dlstreamer {

class MemoryMapperGSTToDMA : public detail::NamedMapper<MemoryType::GST, MemoryType::DMA> {
 public:
  using NamedMapper::NamedMapper;
};

}  // namespace dlstreamer
