// SPDX-License-Identifier: Apache-2.0
// Host memory as an ov::Tensor, in place.
#pragma once

#include "dlstreamer/cpu/context.h"
#include "dlstreamer/openvino/context.h"

namespace dlstreamer {

class MemoryMapperCPUToOpenVINO : public detail::NamedMapper<MemoryType::CPU, MemoryType::OpenVINO> {
 public:
  using NamedMapper::NamedMapper;
};

}  // namespace dlstreamer
