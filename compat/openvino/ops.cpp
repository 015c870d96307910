// SPDX-License-Identifier: Apache-2.0
// Nodes of the table of operations, and the classes of ov that stand for them.
#include <algorithm>
#include <initializer_list>
#include <map>
#include <variant>

#include <openvino/op/ops.hpp>
#include <openvino/op/util/make.hpp>
#include <openvino/op/util/op_types.hpp>
#include <tenon/graph/attributes.hpp>
#include <tenon/graph/operation_table.hpp>

#include "convert.hpp"

namespace ov {
namespace detail {
namespace {

template <typename T>
std::shared_ptr<Node> make(const std::shared_ptr<Node::Impl>& impl) {
  return std::make_shared<T>(impl);
}
using Factory = std::shared_ptr<Node> (*)(const std::shared_ptr<Node::Impl>&);
const std::map<std::pair<std::string_view, std::string_view>, Factory>& factories() {
  static const std::map<std::pair<std::string_view, std::string_view>, Factory> kFactories = {
#include "op_factories.inc"
  };
  return kFactories;
}

/// The value as the table stores it: texts for types and shapes, or the other way round.
tenon::Attribute stored(const AttributeValue& from, const tenon::AttributeSpec* spec) {
  using tenon::AttributeKind;
  const AttributeKind kind = spec ? spec->kind : AttributeKind::kString;
  return std::visit(
      [&](const auto& value) -> tenon::Attribute {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, element::Type>) {
          if (kind == AttributeKind::kString) return std::string(tenon::name(to(value)));
          return to(value);
        } else if constexpr (std::is_same_v<T, std::string>) {
          if (kind == AttributeKind::kShape) return tenon::PartialShape(value);
          if (kind == AttributeKind::kType) return to(element::Type(value));
          return value;
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          if (kind == AttributeKind::kDouble) return static_cast<double>(value);
          return value;
        } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
          // An empty list does not say what of.
          if (kind == AttributeKind::kDoubles) return std::vector<double>(value.begin(), value.end());
          return value;
        } else {
          return value;
        }
      },
      from.value);
}

}  // namespace

std::shared_ptr<Node> typed(const std::shared_ptr<Node::Impl>& impl) {
  const tenon::DiscreteTypeInfo& info = impl->node->get_type_info();
  const auto found = factories().find({info.name, info.version_id});
  return found == factories().end() ? std::make_shared<Node>(impl) : found->second(impl);
}

AttributeValue::Value attribute_of(const Node& node, const char* name) {
  const tenon::Attribute* found = node.impl().node->get_attributes().find(name);
  if (!found) OPENVINO_THROW(node, " has no attribute ", name);
  return std::visit(
      [](const auto& value) -> AttributeValue::Value {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, tenon::ElementType>)
          return from(value);
        else if constexpr (std::is_same_v<T, tenon::PartialShape>)
          return value.to_string();
        else
          return value;
      },
      found->value());
}

void set_attribute(const Node& node, const char* name, const AttributeValue& value) {
  guarded([&] {
    tenon::Node& there = *node.impl().node;
    const tenon::AttributeSpec* spec = there.operation().find_attribute(name);
    if (!spec) OPENVINO_THROW(node, " has no attribute ", name);
    const tenon::Attribute before = *there.get_attributes().find(name);
    there.set_attribute(name, stored(value, spec));
    try {
      there.validate_and_infer_types();
    } catch (...) {
      there.set_attribute(name, before);
      throw;
    }
  });
}
std::vector<std::int64_t> integers_of(const Node& node, std::size_t input) {
  const auto source = node.input_value(input).get_node_shared_ptr();
  const auto constant = std::dynamic_pointer_cast<op::v0::Constant>(source);
  if (!constant) OPENVINO_THROW(node, " has no constant at input ", input, ", but ", *source);
  return constant->cast_vector<std::int64_t>();
}
AxisSet axes_of(const Node& node, std::size_t input) {
  const Rank rank = node.get_input_partial_shape(0).rank();
  AxisSet axes;
  for (const std::int64_t axis : integers_of(node, input)) {
    OPENVINO_ASSERT(axis >= 0 || rank.is_static(), node, " counts axis ", axis,
                    " from the end of a shape without rank");
    axes.insert(static_cast<std::size_t>(axis < 0 ? axis + rank.get_length() : axis));
  }
  return axes;
}

std::shared_ptr<Node::Impl> make_op(const char* type, unsigned opset, const OutputVector& inputs,
                                    const AttributeValues& attributes) {
  return guarded([&] {
    const tenon::Operation* row = tenon::find_operation(type, opset);
    tenon::Attributes values;
    for (const auto& [name, value] : attributes)
      values.set(name, stored(value, row ? row->find_attribute(name) : nullptr));
    return made(tenon::make_node(type, opset, to(inputs), std::move(values)), inputs);
  });
}

}  // namespace detail

OutputVector as_output_vector(const NodeVector& args) {
  OutputVector all;
  for (const std::shared_ptr<Node>& node : args) {
    OPENVINO_ASSERT(node, "a node of a list is null");
    for (const Output<Node>& output : node->outputs()) all.push_back(output);
  }
  return all;
}
NodeVector as_node_vector(const OutputVector& values) {
  NodeVector all;
  for (const Output<Node>& value : values) all.push_back(value.get_node_shared_ptr());
  return all;
}
ResultVector as_result_vector(const OutputVector& values) {
  ResultVector all;
  for (const Output<Node>& value : values) {
    auto result = std::dynamic_pointer_cast<op::v0::Result>(value.get_node_shared_ptr());
    all.push_back(result ? std::move(result) : std::make_shared<op::v0::Result>(value));
  }
  return all;
}

namespace op {
namespace util {
namespace {
bool is_one_of(const Node* node, std::initializer_list<const char*> names) {
  return node && std::any_of(names.begin(), names.end(),
                             [&](const char* name) { return std::string_view(node->get_type_name()) == name; });
}
}  // namespace
#define OV_TENON_KIND(name, ...)                                         \
  bool name(const Node* node) { return is_one_of(node, {__VA_ARGS__}); } \
  bool name(const std::shared_ptr<Node>& node) { return name(node.get()); }
OV_TENON_KIND(is_unary_elementwise_arithmetic, "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceiling",
              "Clamp", "Cos", "Cosh", "Elu", "Erf", "Exp", "Floor", "Gelu", "HSigmoid", "HSwish", "IsFinite", "IsInf",
              "IsNaN", "Log", "LogicalNot", "Mish", "Negative", "Relu", "Round", "Sigmoid", "Sign", "Sin", "Sinh",
              "SoftPlus", "SoftSign", "Sqrt", "Swish", "Tan", "Tanh")
OV_TENON_KIND(is_binary_elementwise_arithmetic, "Add", "Divide", "FloorMod", "Maximum", "Minimum", "Mod", "Multiply",
              "Power", "SquaredDifference", "Subtract", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseLeftShift",
              "BitwiseRightShift")
OV_TENON_KIND(is_binary_elementwise_comparison, "Equal", "Greater", "GreaterEqual", "Less", "LessEqual", "NotEqual")
OV_TENON_KIND(is_binary_elementwise_logical, "LogicalAnd", "LogicalOr", "LogicalXor")
OV_TENON_KIND(is_parameter, "Parameter")
OV_TENON_KIND(is_output, "Result")
OV_TENON_KIND(is_sink, "Assign")
OV_TENON_KIND(is_constant, "Constant")
OV_TENON_KIND(is_commutative, "Add", "Equal", "LogicalAnd", "LogicalOr", "LogicalXor", "Maximum", "Minimum", "Multiply",
              "NotEqual", "BitwiseAnd", "BitwiseOr", "BitwiseXor")
#undef OV_TENON_KIND
bool supports_auto_broadcast(const Node* node) {
  return is_one_of(node, {"Select", "SquaredDifference"}) || is_binary_elementwise_arithmetic(node) ||
         is_binary_elementwise_comparison(node) || is_binary_elementwise_logical(node);
}
bool supports_auto_broadcast(const std::shared_ptr<Node>& node) { return supports_auto_broadcast(node.get()); }
bool is_op(const Node* node) { return node != nullptr; }
bool is_op(const std::shared_ptr<Node>& node) { return node != nullptr; }
}  // namespace util
}  // namespace op

}  // namespace ov
