// SPDX-License-Identifier: Apache-2.0
// What the constructors of operations' classes call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "openvino/core/coordinate_diff.hpp"
#include "openvino/core/node.hpp"
#include "openvino/core/rtti.hpp"
#include "openvino/core/strides.hpp"
#include "openvino/op/op.hpp"
#include "openvino/op/util/attr_types.hpp"

namespace ov {
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
    return T(as_enum<decltype(T::m_type)>(from));
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
          return element::Type(value);
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
using AttributeValues = std::vector<std::pair<const char*, AttributeValue>>;

/// A node of Tenon's table of operations. @errors Exception: inputs, attributes or shapes that do not fit.
OPENVINO_API std::shared_ptr<Node::Impl> make_op(const char* type, unsigned opset, const OutputVector& inputs,
                                                 const AttributeValues& attributes = {});

}  // namespace detail
}  // namespace ov
