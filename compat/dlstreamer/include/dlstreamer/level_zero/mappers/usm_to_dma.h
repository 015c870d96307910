// SPDX-License-Identifier: Apache-2.0
// Memory of a ze_context by its descriptor, where it was made with one.
#pragma once

#include "dlstreamer/dma/context.h"
#include "dlstreamer/level_zero/context.h"

namespace dlstreamer {

class MemoryMapperUSMToDMA : public detail::NamedMapper<MemoryType::USM, MemoryType::DMA> {
 public:
  using NamedMapper::NamedMapper;
};

}  // namespace dlstreamer
