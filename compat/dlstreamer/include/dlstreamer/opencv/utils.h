// SPDX-License-Identifier: Apache-2.0
// OpenCV's types and extents.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <opencv2/core.hpp>

#include "dlstreamer/base/native.h"

namespace dlstreamer {

/// CV_8U, CV_32S, CV_32F. @errors std::runtime_error: OpenCV 4 has no 64-bit integers.
inline int data_type_to_opencv(DataType type) {
  switch (type) {
    case DataType::UInt8:
      return CV_8U;
    case DataType::Int32:
      return CV_32S;
    case DataType::Float32:
      return CV_32F;
    case DataType::Int64:
      break;
  }
  throw std::runtime_error("data_type_to_opencv: cv::Mat stores no 64-bit integers");
}

namespace detail {

/// As cv::Mat has images: without a batch of one in front.
inline tenon::Tensor without_batch_of_one(const tenon::Tensor& tensor) {
  tenon::TensorInfo info = tensor.info();
  const tenon::ByteStrides& step = tensor.byte_strides();
  if (info.shape.size() != 4 || info.shape[0] != 1) return tensor;
  info.strides = {step[1], step[2], step[3]};
  info.shape = {info.shape[1], info.shape[2], info.shape[3]};
  return tenon::Tensor(info, tensor.memory(), tensor.offset(), tensor.lease(), tensor.view());
}

/// [rows, cols, channels], or all dimensions and the channels. @errors std::runtime_error: no DataType.
template <typename MatOrUMat>
TensorInfo info_of(const MatOrUMat& mat) {
  static constexpr std::pair<int, DataType> types[] = {
      {CV_8U, DataType::UInt8}, {CV_32S, DataType::Int32}, {CV_32F, DataType::Float32}};
  for (const auto& [depth, type] : types) {
    if (depth != mat.depth()) continue;
    std::vector<size_t> shape(mat.size.p, mat.size.p + mat.dims), stride(mat.step.p, mat.step.p + mat.dims);
    shape.push_back(static_cast<size_t>(mat.channels()));
    stride.push_back(mat.elemSize1());
    return TensorInfo(shape, type, stride);
  }
  throw std::runtime_error("OpenCVTensor: DataType has no depth " + std::to_string(mat.depth()) + " of OpenCV");
}

}  // namespace detail
}  // namespace dlstreamer
