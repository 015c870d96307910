// SPDX-License-Identifier: Apache-2.0
// An ov::Tensor's memory: in place unless it is a device's.
#pragma once

#include "dlstreamer/cpu/context.h"
#include "dlstreamer/openvino/context.h"

namespace dlstreamer {

class MemoryMapperOpenVINOToCPU : public detail::NamedMapper<MemoryType::OpenVINO, MemoryType::CPU> {
 public:
  using NamedMapper::NamedMapper;
};

}  // namespace dlstreamer
