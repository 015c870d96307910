// SPDX-License-Identifier: Apache-2.0
// Host memory as a cv::Mat, in place.
#pragma once

#include <memory>

#include "dlstreamer/cpu/context.h"
#include "dlstreamer/opencv/context.h"

namespace dlstreamer {

class MemoryMapperCPUToOpenCV : public detail::NamedMapper<MemoryType::CPU, MemoryType::OpenCV> {
 public:
  using NamedMapper::NamedMapper;
  MemoryMapperCPUToOpenCV() : NamedMapper(nullptr, std::make_shared<OpenCVContext>()) {}
};

}  // namespace dlstreamer
