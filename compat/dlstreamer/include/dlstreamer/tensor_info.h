// SPDX-License-Identifier: Apache-2.0
// Element type, extents and byte strides of a tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace dlstreamer {

enum class DataType { UInt8 = 1, Int32 = 2, Int64 = 3, Float32 = 4 };

/// Bytes of an element. @errors std::runtime_error: no such type.
inline size_t datatype_size(DataType datatype) {
  switch (datatype) {
    case DataType::UInt8:
      return 1;
    case DataType::Int32:
    case DataType::Float32:
      return 4;
    case DataType::Int64:
      return 8;
  }
  throw std::runtime_error("datatype_size: " + std::to_string(static_cast<int>(datatype)) + " is no DataType");
}

/// Byte strides of a packed tensor.
inline std::vector<size_t> contiguous_stride(const std::vector<size_t>& shape, DataType type) {
  std::vector<size_t> stride(shape.size());
  size_t step = datatype_size(type);
  for (size_t axis = shape.size(); axis-- > 0; step *= shape[axis]) stride[axis] = step;
  return stride;
}

struct TensorInfo {
  std::vector<size_t> shape;
  std::vector<size_t> stride;  ///< In bytes; filled in for packed tensors too.
  DataType dtype = DataType::UInt8;

  TensorInfo() = default;
  TensorInfo(std::vector<size_t> _shape, DataType _dtype = DataType::UInt8, std::vector<size_t> _stride = {})
      : shape(std::move(_shape)), stride(std::move(_stride)), dtype(_dtype) {
    if (stride.empty()) stride = contiguous_stride(shape, dtype);
  }

  /// Number of elements.
  size_t size() const {
    size_t count = 1;
    for (const size_t extent : shape) count *= extent;
    return count;
  }
  size_t itemsize() const { return datatype_size(dtype); }
  /// Bytes from the first element to the end of the last row, with the padding of rows: what a buffer for it needs.
  size_t nbytes() const {
    for (size_t axis = 0; axis < shape.size(); ++axis)
      if (shape[axis] != 1) return shape[axis] * stride[axis];
    return itemsize();
  }
  bool is_contiguous() const { return stride == contiguous_stride(shape, dtype); }

  bool operator<(const TensorInfo& other) const {
    return std::tie(shape, stride, dtype) < std::tie(other.shape, other.stride, other.dtype);
  }
  bool operator==(const TensorInfo& other) const = default;
};

using TensorInfoVector = std::vector<TensorInfo>;

/// Whether T is what a tensor of `datatype` stores.
template <typename T>
bool check_datatype(DataType datatype) = delete;
template <>
inline bool check_datatype<uint8_t>(DataType datatype) {
  return datatype == DataType::UInt8;
}
template <>
inline bool check_datatype<int32_t>(DataType datatype) {
  return datatype == DataType::Int32;
}
template <>
inline bool check_datatype<int64_t>(DataType datatype) {
  return datatype == DataType::Int64;
}
template <>
inline bool check_datatype<float>(DataType datatype) {
  return datatype == DataType::Float32;
}

}  // namespace dlstreamer
