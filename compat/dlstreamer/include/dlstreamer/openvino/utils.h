// SPDX-License-Identifier: Apache-2.0
// OpenVINO's element types and tensors as descriptions.
#pragma once

#include <stdexcept>
#include <utility>

#include <openvino/runtime/remote_tensor.hpp>
#include <openvino/runtime/tensor.hpp>

#include "dlstreamer/frame_info.h"
#include "dlstreamer/tensor_info.h"

namespace dlstreamer {
namespace detail {

inline const std::pair<DataType, ov::element::Type_t> kOpenVinoTypes[] = {
    {DataType::UInt8, ov::element::Type_t::u8},
    {DataType::Int32, ov::element::Type_t::i32},
    {DataType::Int64, ov::element::Type_t::i64},
    {DataType::Float32, ov::element::Type_t::f32}};

}  // namespace detail

/// @errors std::runtime_error: DataType has no such type.
inline DataType data_type_from_openvino(ov::element::Type element) {
  for (const auto& [type, native] : detail::kOpenVinoTypes)
    if (element == native) return type;
  throw std::runtime_error("data_type_from_openvino: DataType has no " + element.get_type_name());
}
inline ov::element::Type data_type_to_openvino(DataType type) {
  for (const auto& [known, native] : detail::kOpenVinoTypes)
    if (known == type) return native;
  throw std::runtime_error("data_type_to_openvino: no DataType of that number");
}

/// A remote tensor is described as if it were packed.
inline TensorInfo ov_tensor_to_tensor_info(ov::Tensor tensor) {
  const DataType type = data_type_from_openvino(tensor.get_element_type());
  if (tensor.is<ov::RemoteTensor>()) return TensorInfo(tensor.get_shape(), type);
  return TensorInfo(tensor.get_shape(), type, tensor.get_strides());
}

}  // namespace dlstreamer
