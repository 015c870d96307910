// SPDX-License-Identifier: Apache-2.0
// Dma-bufs as surfaces: whole frames.
#pragma once

#include "dlstreamer/dma/context.h"
#include "dlstreamer/vaapi/context.h"

namespace dlstreamer {

class MemoryMapperDMAToVAAPI : public detail::NamedMapper<MemoryType::DMA, MemoryType::VAAPI> {
 public:
  using NamedMapper::NamedMapper;
};

}  // namespace dlstreamer
