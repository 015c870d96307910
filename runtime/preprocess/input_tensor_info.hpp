// SPDX-License-Identifier: Apache-2.0
// Properties of the caller's input tensors.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/export.hpp>
#include <tenon/graph/layout.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/graph/partial_shape.hpp>
#include <tenon/runtime/preprocess/color_format.hpp>

namespace tenon {
inline namespace v1 {

class Tensor;

namespace preprocess {
namespace detail {
struct InputPlan;
}

/// The hint of InputTensorInfo::set_memory_type, as the new parameters carry it in their output's
/// rt_info["memory_type_0"] (a map whose entry "value" is the text, the form of IR files).
class TENON_API TensorInfoMemoryType {
 public:
  TensorInfoMemoryType() = default;
  explicit TensorInfoMemoryType(const std::string& value) : value(value) {}
  /// The port's hint; empty when it has none.
  static TensorInfoMemoryType of(const Output<const Node>& port);
  std::string value;
};

/// Describes the tensor that the caller will set. Properties that are not set here are those of the model's input. Each call
/// overwrites the last call of its kind and returns *this.
class TENON_API InputTensorInfo final {
 public:
  InputTensorInfo(const InputTensorInfo&) = delete;
  InputTensorInfo& operator=(const InputTensorInfo&) = delete;

  InputTensorInfo& set_element_type(const element::Type& type);
  InputTensorInfo& set_layout(const Layout& layout);
  /// Height and width change from call to call; a resize step usually follows. Needs a layout with H and W.
  /// @errors AssertFailure: set_shape or set_from was called.
  InputTensorInfo& set_spatial_dynamic_shape();
  /// The height and width in pixels. @errors as above.
  InputTensorInfo& set_spatial_static_shape(std::size_t height, std::size_t width);
  /// The layout is NHWC unless set_layout says otherwise (RGB, BGR and GRAY only). Formats of several planes become one
  /// parameter per plane at the old one's place, each named "<tensor name>/<sub-name>"; without sub-names they have no
  /// tensor names. A format of one plane keeps the name.
  /// @errors AssertFailure: another number of sub-names than planes; sub-names for one plane.
  InputTensorInfo& set_color_format(const ColorFormat& format, const std::vector<std::string>& sub_names = {});
  /// A hint for devices ("GPU_SURFACE"): see TensorInfoMemoryType. An empty text removes an inherited one.
  InputTensorInfo& set_memory_type(const std::string& memory_type);
  /// The whole shape, for steps that change it (crop, custom).
  /// @errors AssertFailure: set_spatial_static_shape or set_spatial_dynamic_shape was called.
  InputTensorInfo& set_shape(const PartialShape& shape);
  /// Type and shape of a tensor. @errors as set_shape.
  InputTensorInfo& set_from(const Tensor& runtime_tensor);

 private:
  friend class InputInfo;
  explicit InputTensorInfo(detail::InputPlan& plan) : plan_(&plan) {}
  detail::InputPlan* plan_;
};

}  // namespace preprocess
}  // namespace v1
}  // namespace tenon
