// SPDX-License-Identifier: Apache-2.0
// Formats of OpenCL's images.
#pragma once

#include <stdexcept>
#include <string>

#include <CL/cl.h>

#include "dlstreamer/tensor_info.h"

namespace dlstreamer {

/// @errors std::runtime_error: not 1 to 4.
inline cl_channel_order num_channels_to_opencl(int channels) {
  static constexpr cl_channel_order orders[] = {CL_R, CL_RG, CL_RGB, CL_RGBA};
  if (channels < 1 || channels > 4)
    throw std::runtime_error("num_channels_to_opencl: " + std::to_string(channels) + " channels; images have 1 to 4");
  return orders[channels - 1];
}

/// @errors std::runtime_error: images store no such type.
inline cl_channel_type data_type_to_opencl(DataType type) {
  switch (type) {
    case DataType::UInt8:
      return CL_UNORM_INT8;
    case DataType::Int32:
      return CL_SIGNED_INT32;
    case DataType::Float32:
      return CL_FLOAT;
    case DataType::Int64:
      break;
  }
  throw std::runtime_error("data_type_to_opencl: images of OpenCL store no 64-bit integers");
}

}  // namespace dlstreamer
