// SPDX-License-Identifier: Apache-2.0
// The tensor that the caller will set.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "openvino/core/core_visibility.hpp"
#include "openvino/core/layout.hpp"
#include "openvino/core/partial_shape.hpp"
#include "openvino/core/preprocess/color_format.hpp"
#include "openvino/core/type/element_type.hpp"
#include "openvino/runtime/tensor.hpp"

namespace ov {
namespace preprocess {

/// What set_memory_type said, in the rt_info of the model's input under the key TensorInfoMemoryType::get_type_info_static().
class OPENVINO_API TensorInfoMemoryType : public RuntimeAttribute {
 public:
  OPENVINO_RTTI("memory_type", "0", RuntimeAttribute)
  TensorInfoMemoryType() = default;
  ~TensorInfoMemoryType() override;
  explicit TensorInfoMemoryType(const std::string& from) : value(from) {}
  bool visit_attributes(AttributeVisitor& visitor) override;
  std::string to_string() const override { return value; }
  bool operator==(const TensorInfoMemoryType& other) const { return value == other.value; }
  std::string value;
};

/// The tensor that the caller will set. Errors come from PrePostProcessor::build(), as AssertFailure, unless noted otherwise.
class OPENVINO_API InputTensorInfo final {
 public:
  InputTensorInfo(const InputTensorInfo&) = delete;
  InputTensorInfo& operator=(const InputTensorInfo&) = delete;

  InputTensorInfo& set_element_type(const element::Type& type);
  InputTensorInfo& set_layout(const Layout& layout);
  InputTensorInfo& set_spatial_dynamic_shape();
  InputTensorInfo& set_spatial_static_shape(std::size_t height, std::size_t width);
  /// Formats of several planes become one parameter per plane, each named "<tensor name>/<sub-name>".
  InputTensorInfo& set_color_format(const ColorFormat& format, const std::vector<std::string>& sub_names = {});
  InputTensorInfo& set_memory_type(const std::string& memory_type);
  InputTensorInfo& set_shape(const PartialShape& shape);
  InputTensorInfo& set_from(const Tensor& runtime_tensor);

 private:
  friend class InputInfo;
  explicit InputTensorInfo(void* there) : there_(there) {}
  void* there_;  ///< Tenon's.
};

}  // namespace preprocess
}  // namespace ov
