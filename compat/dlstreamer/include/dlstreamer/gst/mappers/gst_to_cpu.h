// SPDX-License-Identifier: Apache-2.0
// Host memory of buffers, in place.
#pragma once

#include "dlstreamer/cpu/context.h"
#include "dlstreamer/gst/context.h"

namespace dlstreamer {

class MemoryMapperGSTToCPU : public detail::NamedMapper<MemoryType::GST, MemoryType::CPU> {
 public:
  using NamedMapper::NamedMapper;
};

}  // namespace dlstreamer
