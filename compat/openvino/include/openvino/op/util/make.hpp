// SPDX-License-Identifier: Apache-2.0
// What the constructors of operations' classes call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "openvino/core/axis_set.hpp"
#include "openvino/core/coordinate_diff.hpp"
#include "openvino/core/node.hpp"
#include "openvino/core/rtti.hpp"
#include "openvino/core/strides.hpp"
#include "openvino/op/op.hpp"
#include "openvino/op/util/attr_types.hpp"

namespace ov {
namespace op {
namespace v0 {
class Constant;
}
}  // namespace op
namespace detail {

/// The value of an attribute.
class AttributeValue {
 public:
  using Value = std::variant<bool, std::int64_t, double, std::string, element::Type, std::vector<std::int64_t>,
                             std::vector<double>, std::vector<std::string>>;
  template <typename T>
  AttributeValue(const T& from) {
    if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, element::Type>)
      value = from;
    else if constexpr (std::is_integral_v<T>)
      value = static_cast<std::int64_t>(from);
    else if constexpr (std::is_floating_point_v<T>)
      value = static_cast<double>(from);
    else if constexpr (std::is_convertible_v<T, std::string>)
      value = std::string(from);
    else if constexpr (std::is_enum_v<T>)
      value = as_string(from);
    else if constexpr (std::is_same_v<T, op::AutoBroadcastSpec> || std::is_same_v<T, op::BroadcastModeSpec>)
      value = as_string(from.m_type);
    else if constexpr (std::is_same_v<typename T::value_type, std::string>)
      value = std::vector<std::string>(from.begin(), from.end());
    else if constexpr (std::is_floating_point_v<typename T::value_type>)
      value = std::vector<double>(from.begin(), from.end());
    else
      value = std::vector<std::int64_t>(from.begin(), from.end());
  }
  Value value;
};
/// An attribute of a node as a T. @errors Exception: the node has none of that name.
OPENVINO_API AttributeValue::Value attribute_of(const Node& node, const char* name);
template <typename T, typename From>
T broadcast_of(const From& from) {
  if constexpr (std::is_same_v<From, std::string>)
    return from == "explicit" ? T(decltype(T::m_type)::EXPLICIT) : T(as_enum<decltype(T::m_type)>(from));
  else
    OPENVINO_THROW("the attribute is of another type");
}
template <typename T>
T attribute(const Node& node, const char* name) {
  return std::visit(
      [](const auto& value) -> T {
        using From = std::decay_t<decltype(value)>;
        if constexpr (std::is_arithmetic_v<T> && std::is_arithmetic_v<From>)
          return static_cast<T>(value);
        else if constexpr (std::is_same_v<T, From>)
          return value;
        else if constexpr (std::is_same_v<T, element::Type> && std::is_same_v<From, std::string>)
          return T(value);
        else if constexpr (std::is_enum_v<T> && std::is_same_v<From, std::string>)
          return as_enum<T>(value);
        else if constexpr (std::is_same_v<T, op::AutoBroadcastSpec> || std::is_same_v<T, op::BroadcastModeSpec>)
          return broadcast_of<T>(value);
        else if constexpr (std::is_enum_v<T>)
          OPENVINO_THROW("the attribute is of another type");
        else if constexpr (!std::is_arithmetic_v<T> && !std::is_arithmetic_v<From> &&
                           !std::is_same_v<From, std::string> && !std::is_same_v<T, std::string> &&
                           !std::is_same_v<From, element::Type> && !std::is_same_v<T, element::Type> &&
                           !std::is_same_v<From, std::vector<std::string>> &&
                           !std::is_same_v<T, std::vector<std::string>>)
          return T(value.begin(), value.end());
        else
          OPENVINO_THROW("the attribute is of another type");
      },
      attribute_of(node, name));
}
/// The values of a Constant that feeds an input. @errors Exception: something else feeds it.
OPENVINO_API std::vector<std::int64_t> integers_of(const Node& node, std::size_t input);
/// Those of axes, counted from the front.
OPENVINO_API AxisSet axes_of(const Node& node, std::size_t input);
/// Changes an attribute; types and shapes follow. @errors Exception: the operation has none of that name, or refuses the value.
OPENVINO_API void set_attribute(const Node& node, const char* name, const AttributeValue& value);
/// Whether a Constant feeds an input.
OPENVINO_API bool is_constant(const Node& node, std::size_t input);
/// The first value of a Constant that feeds an input; 0 where there is no such input. @errors Exception: something else feeds it.
OPENVINO_API double number_of(const Node& node, std::size_t input);
/// What a Constant at an input says of a shape; unknown where something else feeds it.
OPENVINO_API PartialShape shape_of(const Node& node, std::size_t input);
/// Feeds an input from a Constant of the type that it has; types and shapes follow.
OPENVINO_API void set_integers(const Node& node, std::size_t input, const std::vector<std::int64_t>& values,
                               const Shape& shape);
/// An attribute that is an axis of the first input, counted from the front.
OPENVINO_API std::size_t axis_of(const Node& node, const char* attribute);
/// 0, 1 and so on, as many as an output of rank 1 has elements.
OPENVINO_API std::shared_ptr<op::v0::Constant> axes_in_order(const Output<Node>& one_each);
/// Which axes of its output a Broadcast repeats; false where the shapes move.
OPENVINO_API std::pair<bool, AxisSet> broadcast_axes_of(const Node& node);
/// @errors Exception: no equation of Einsum.
OPENVINO_API void parse_einsum(const std::string& equation, std::vector<std::string>& inputs, std::string& output);
OPENVINO_API std::vector<std::string> einsum_labels(const std::string& subscript);
/// 1, the ratios and, if `flip`, their inverses, each once to a millionth, in ascending order.
OPENVINO_API std::vector<float> aspect_ratios(const std::vector<float>& ratios, bool flip);
OPENVINO_API std::int64_t count_priors(std::size_t min_sizes, std::size_t max_sizes, std::size_t fixed_sizes,
                                       std::size_t fixed_ratios, std::size_t ratios, const std::vector<float>& density,
                                       bool scales_all);
using AttributeValues = std::vector<std::pair<const char*, AttributeValue>>;

/// A node of Tenon's table of operations. @errors Exception: inputs, attributes or shapes that do not fit.
OPENVINO_API std::shared_ptr<Node::Impl> make_op(const char* type, unsigned opset, const OutputVector& inputs,
                                                 const AttributeValues& attributes = {});
/// A node without inputs and outputs, whose attributes have their defaults: set_arguments() and validate_and_infer_types() make it whole.
OPENVINO_API std::shared_ptr<Node::Impl> make_empty_op(const char* type, unsigned opset);
/// Constants for inputs that a program leaves out: zeros of x's type, and numbers of axes.
OPENVINO_API Output<Node> zeros(const Output<Node>& x, std::size_t count);
/// All axes of the first input from `first` on.
OPENVINO_API AxisSet axes_behind(const Node& node, std::size_t first);
OPENVINO_API Output<Node> axes_constant(const element::Type& type, const Shape& shape, std::int64_t axis);

}  // namespace detail
}  // namespace ov
