// SPDX-License-Identifier: Apache-2.0
// Dma-bufs as memory of a ze_context.
#pragma once

#include "dlstreamer/dma/context.h"
#include "dlstreamer/level_zero/context.h"

namespace dlstreamer {

class MemoryMapperDMAToUSM : public detail::NamedMapper<MemoryType::DMA, MemoryType::USM> {
 public:
  using NamedMapper::NamedMapper;
};

}  // namespace dlstreamer
