// SPDX-License-Identifier: Apache-2.0
// What the constructors of operations' classes call.
#pragma once

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

/// The texts of enumerators as files of models spell them, in the order of their values.
inline const char* text_of(op::PadType value) {
  static const char* const kTexts[] = {"explicit", "same_lower", "same_upper", "valid"};
  return kTexts[static_cast<int>(value)];
}
inline const char* text_of(op::RoundingType value) {
  static const char* const kTexts[] = {"floor", "ceil", "ceil_torch"};
  return kTexts[static_cast<int>(value)];
}
inline const char* text_of(op::PadMode value) {
  static const char* const kTexts[] = {"constant", "edge", "reflect", "symmetric"};
  return kTexts[static_cast<int>(value)];
}
inline const char* text_of(const op::AutoBroadcastSpec& value) {
  static const char* const kTexts[] = {"none", "numpy", "pdpd"};
  return kTexts[static_cast<int>(value.m_type)];
}
inline const char* text_of(const op::BroadcastModeSpec& value) {
  static const char* const kTexts[] = {"explicit", "numpy", "pdpd", "bidirectional"};
  return kTexts[static_cast<int>(value.m_type)];
}
inline const char* text_of(op::EpsMode value) { return value == op::EpsMode::ADD ? "add" : "max"; }
inline const char* text_of(op::MVNEpsMode value) {
  return value == op::MVNEpsMode::INSIDE_SQRT ? "inside_sqrt" : "outside_sqrt";
}
inline const char* text_of(op::TopKMode value) { return value == op::TopKMode::MAX ? "max" : "min"; }
inline const char* text_of(op::TopKSortType value) {
  static const char* const kTexts[] = {"none", "index", "value"};
  return kTexts[static_cast<int>(value)];
}
inline const char* text_of(op::GeluApproximationMode value) {
  return value == op::GeluApproximationMode::TANH ? "TANH" : "ERF";
}
inline const char* text_of(op::RecurrentSequenceDirection value) {
  static const char* const kTexts[] = {"forward", "reverse", "bidirectional"};
  return kTexts[static_cast<int>(value)];
}
inline const char* text_of(op::ScatterElementsReduction value) {
  static const char* const kTexts[] = {"none", "sum", "prod", "min", "max", "mean"};
  return kTexts[static_cast<int>(value)];
}
inline const char* text_of(op::ScatterNDReduction value) {
  static const char* const kTexts[] = {"none", "sum", "sub", "prod", "min", "max"};
  return kTexts[static_cast<int>(value)];
}
inline const char* text_of(op::util::InterpolateBase::InterpolateMode value) {
  static const char* const kTexts[] = {"nearest", "linear",          "linear_onnx",
                                       "cubic",   "bilinear_pillow", "bicubic_pillow"};
  return kTexts[static_cast<int>(value)];
}
inline const char* text_of(op::util::InterpolateBase::ShapeCalcMode value) {
  return value == op::util::InterpolateBase::ShapeCalcMode::SIZES ? "sizes" : "scales";
}
inline const char* text_of(op::util::InterpolateBase::CoordinateTransformMode value) {
  static const char* const kTexts[] = {"half_pixel", "pytorch_half_pixel", "asymmetric", "tf_half_pixel_for_nn",
                                       "align_corners"};
  return kTexts[static_cast<int>(value)];
}
inline const char* text_of(op::util::InterpolateBase::NearestMode value) {
  static const char* const kTexts[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple"};
  return kTexts[static_cast<int>(value)];
}

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
    else if constexpr (std::is_enum_v<T> || std::is_same_v<T, op::AutoBroadcastSpec> ||
                       std::is_same_v<T, op::BroadcastModeSpec>)
      value = std::string(text_of(from));
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
using AttributeValues = std::vector<std::pair<const char*, AttributeValue>>;

/// A node of Tenon's table of operations. @errors Exception: inputs, attributes or shapes that do not fit.
OPENVINO_API std::shared_ptr<Node::Impl> make_op(const char* type, unsigned opset, const OutputVector& inputs,
                                                 const AttributeValues& attributes = {});

}  // namespace detail
}  // namespace ov
