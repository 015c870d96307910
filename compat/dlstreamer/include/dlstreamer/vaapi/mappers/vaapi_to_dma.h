// SPDX-License-Identifier: Apache-2.0
// Surfaces as dma-bufs: whole frames.
#pragma once

#include "dlstreamer/dma/context.h"
#include "dlstreamer/vaapi/context.h"

namespace dlstreamer {

class MemoryMapperVAAPIToDMA : public detail::NamedMapper<MemoryType::VAAPI, MemoryType::DMA> {
 public:
  using NamedMapper::NamedMapper;
};

}  // namespace dlstreamer
