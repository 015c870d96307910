// SPDX-License-Identifier: Apache-2.0
// Buffers as cv::UMat: the same cl_mem.
#pragma once

#include "dlstreamer/opencl/context.h"
#include "dlstreamer/opencv_umat/context.h"

namespace dlstreamer {

class MemoryMapperOpenCLToOpenCVUMat : public detail::NamedMapper<MemoryType::OpenCL, MemoryType::OpenCVUMat> {
 public:
  using NamedMapper::NamedMapper;
};

}  // namespace dlstreamer
