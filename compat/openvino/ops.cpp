// SPDX-License-Identifier: Apache-2.0
// Nodes of the table of operations, and the classes of ov that stand for them.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <initializer_list>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <variant>

#include <openvino/op/ops.hpp>
#include <openvino/op/util/make.hpp>
#include <openvino/op/util/op_types.hpp>
#include <tenon/graph/attributes.hpp>
#include <tenon/graph/operation_table.hpp>

#include "graph.hpp"

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

bool is_constant(const Node& node, std::size_t input) {
  return is_type<op::v0::Constant>(node.input_value(input).get_node_shared_ptr());
}
double number_of(const Node& node, std::size_t input) {
  if (input >= node.get_input_size()) return 0;
  const auto source = node.input_value(input).get_node_shared_ptr();
  const auto constant = std::dynamic_pointer_cast<op::v0::Constant>(source);
  if (!constant || shape_size(constant->get_shape()) == 0)
    OPENVINO_THROW(node, " has no constant at input ", input, ", but ", *source);
  return constant->cast_vector<double>(1).front();
}
PartialShape shape_of(const Node& node, std::size_t input) {
  if (input >= node.get_input_size() || !is_constant(node, input)) return PartialShape::dynamic();
  const std::vector<std::int64_t> extents = integers_of(node, input);
  return PartialShape(std::vector<Dimension>(extents.begin(), extents.end()));
}
void set_integers(const Node& node, std::size_t input, const std::vector<std::int64_t>& values, const Shape& shape) {
  OPENVINO_ASSERT(input < node.get_input_size(), node, " has no input ", input);
  Node& there = *node.impl().wrapper;
  there.set_argument(input, std::make_shared<op::v0::Constant>(node.get_input_element_type(input), shape, values));
  there.validate_and_infer_types();
}
std::size_t axis_of(const Node& node, const char* name) {
  const auto axis = attribute<std::int64_t>(node, name);
  const Rank rank = node.get_input_partial_shape(0).rank();
  OPENVINO_ASSERT(axis >= 0 || rank.is_static(), node, " counts axis ", axis, " from the end of a shape without rank");
  return static_cast<std::size_t>(axis < 0 ? axis + rank.get_length() : axis);
}
std::shared_ptr<op::v0::Constant> axes_in_order(const Output<Node>& one_each) {
  const PartialShape& shape = one_each.get_partial_shape();
  if (shape.is_dynamic() || shape.size() != 1) return nullptr;
  std::vector<std::int64_t> axes(shape.to_shape().front());
  std::iota(axes.begin(), axes.end(), 0);
  return std::make_shared<op::v0::Constant>(one_each.get_element_type(), Shape{axes.size()}, axes);
}
std::pair<bool, AxisSet> broadcast_axes_of(const Node& node) {
  AxisSet repeated;
  const auto type = attribute<op::BroadcastModeSpec>(node, "mode").m_type;
  const PartialShape& out = node.get_output_partial_shape(0);
  if (type == op::BroadcastType::EXPLICIT) {
    if (out.rank().is_dynamic() || !is_constant(node, 2)) return {false, repeated};
    for (std::size_t axis = 0; axis < out.size(); ++axis) repeated.insert(axis);
    for (const std::int64_t axis : integers_of(node, 2)) repeated.erase(static_cast<std::size_t>(axis));
    return {true, repeated};
  }
  const PartialShape& in = node.get_input_partial_shape(0);
  if (in.is_dynamic() || out.is_dynamic()) return {false, repeated};
  const std::size_t first = out.size() - in.size();
  for (std::size_t axis = 0; axis < out.size(); ++axis)
    if (axis < first || in.to_shape()[axis - first] != out.to_shape()[axis]) repeated.insert(axis);
  return {true, repeated};
}
std::vector<std::string> einsum_labels(const std::string& subscript) {
  std::vector<std::string> labels;
  for (std::size_t at = 0; at < subscript.size(); ++at) {
    if (std::isalpha(static_cast<unsigned char>(subscript[at]))) {
      labels.emplace_back(1, subscript[at]);
    } else {
      OPENVINO_ASSERT(subscript.compare(at, 3, "...") == 0, "Einsum: \"", subscript, "\" has \"", subscript[at],
                      "\", which is neither a letter nor an ellipsis");
      labels.emplace_back("...");
      at += 2;
    }
  }
  return labels;
}
void parse_einsum(const std::string& equation, std::vector<std::string>& inputs, std::string& output) {
  std::string text = equation;
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const std::size_t arrow = text.find("->");
  std::istringstream sources(text.substr(0, arrow));
  inputs.clear();
  for (std::string each; std::getline(sources, each, ',');) inputs.push_back(each);
  OPENVINO_ASSERT(!inputs.empty(), "Einsum: \"", equation, "\" has no inputs");
  std::map<std::string, int> counts;  // Sorted, as the output is where nothing says otherwise.
  for (const std::string& each : inputs)
    for (const std::string& label : einsum_labels(each)) ++counts[label];
  output.clear();
  if (arrow == std::string::npos) {
    for (const auto& [label, count] : counts)
      if (count == 1 || label == "...") output += label;
    return;
  }
  output = text.substr(arrow + 2);
  einsum_labels(output);
}
std::vector<float> aspect_ratios(const std::vector<float>& ratios, bool flip) {
  std::set<float> result{1.0F};
  const auto add = [&](float ratio) { result.insert(std::round(ratio * 1e6F) / 1e6F); };
  for (const float ratio : ratios) {
    add(ratio);
    if (flip) add(1.0F / ratio);
  }
  return {result.begin(), result.end()};
}
std::int64_t count_priors(std::size_t min_sizes, std::size_t max_sizes, std::size_t fixed_sizes,
                          std::size_t fixed_ratios, std::size_t ratios, const std::vector<float>& density,
                          bool scales_all) {
  auto count = static_cast<std::int64_t>(scales_all ? ratios * min_sizes + max_sizes : ratios + min_sizes - 1);
  if (fixed_sizes != 0) count = static_cast<std::int64_t>(ratios * fixed_sizes);
  for (const float each : density) {
    const auto side = static_cast<std::int64_t>(each);
    count += static_cast<std::int64_t>(fixed_ratios != 0 ? fixed_ratios : ratios) * (side * side - 1);
  }
  return count;
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

namespace {
/// The row of a node that is not whole yet: any inputs, no outputs, and every attribute has a value.
const tenon::Operation& empty_row(const tenon::Operation& row) {
  static auto* known = new std::map<const tenon::Operation*, std::unique_ptr<tenon::Operation>>;
  const Lock lock(wrappers_mutex());
  std::unique_ptr<tenon::Operation>& made = (*known)[&row];
  if (made) return *made;
  made = std::make_unique<tenon::Operation>(row);
  made->type_info = row.type_info;
  made->min_inputs = 0;
  made->max_inputs = tenon::kManyInputs;
  made->evaluate = nullptr;
  made->infer = [](tenon::Node& node) { node.set_output_size(0); };
  for (tenon::AttributeSpec& each : made->attributes) {
    if (!std::exchange(each.required, false)) continue;
    switch (each.kind) {
      case tenon::AttributeKind::kString:
        each.fallback = each.allowed.empty() ? std::string() : each.allowed.front();
        break;
      case tenon::AttributeKind::kBool:
        each.fallback = false;
        break;
      case tenon::AttributeKind::kDouble:
        each.fallback = 0.0;
        break;
      case tenon::AttributeKind::kInts:
        each.fallback = std::vector<std::int64_t>();
        break;
      case tenon::AttributeKind::kDoubles:
        each.fallback = std::vector<double>();
        break;
      case tenon::AttributeKind::kStrings:
        each.fallback = std::vector<std::string>();
        break;
      case tenon::AttributeKind::kType:
        each.fallback = tenon::ElementType::kF32;
        break;
      case tenon::AttributeKind::kShape:
        each.fallback = tenon::PartialShape::dynamic();
        break;
      default:
        each.fallback = std::int64_t{0};
    }
  }
  return *made;
}
}  // namespace
std::shared_ptr<Node::Impl> make_empty_op(const char* type, unsigned opset) {
  return guarded([&] {
    const tenon::Operation* row = tenon::find_operation(type, opset);
    OPENVINO_ASSERT(row, "there is no operation ", type, " of operation set ", opset);
    auto impl = made(std::make_shared<tenon::Node>(empty_row(*row), tenon::OutputVector()));
    impl->unfinished = row;
    return impl;
  });
}
void give_inputs(Node::Impl& impl, const OutputVector& inputs) {
  guarded([&] {
    const tenon::Node& before = *impl.node;
    impl.change(std::make_shared<tenon::Node>(before.operation(), to(inputs), before.get_attributes()));
    impl.kept.clear();
    for (const Output<Node>& input : inputs) impl.kept.push_back(input.get_node_shared_ptr());
  });
}
void finish(Node::Impl& impl) {
  const tenon::Node& before = *impl.node;
  impl.change(
      tenon::make_node(impl.unfinished->type, impl.unfinished->opset, before.input_values(), before.get_attributes()));
  impl.unfinished = nullptr;
}
AxisSet axes_behind(const Node& node, std::size_t first) {
  AxisSet axes;
  const Rank rank = node.get_input_partial_shape(0).rank();
  for (std::size_t axis = first; rank.is_static() && axis < static_cast<std::size_t>(rank.get_length()); ++axis)
    axes.insert(axis);
  return axes;
}
Output<Node> zeros(const Output<Node>& x, std::size_t count) {
  return std::make_shared<op::v0::Constant>(x.get_element_type(), Shape{count}, std::vector<std::int64_t>{0});
}
Output<Node> axes_constant(const element::Type& type, const Shape& shape, std::int64_t axis) {
  return std::make_shared<op::v0::Constant>(type, shape, std::vector<std::int64_t>{axis});
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
namespace {
/// The parts along an axis, one for each letter of `from`, in the order that `to` has.
std::shared_ptr<Node> reordered(const Output<Node>& node, const std::string& from, const std::string& to,
                                std::int64_t axis) {
  if (from == to) return node.get_node_shared_ptr();
  const auto parts = std::make_shared<v1::Split>(
      node, std::make_shared<v0::Constant>(element::i64, Shape{}, std::vector<std::int64_t>{axis}), from.size());
  OutputVector sorted;
  for (const char letter : to) sorted.push_back(parts->output(from.find(letter)));
  return std::make_shared<v0::Concat>(sorted, axis);
}
}  // namespace
std::shared_ptr<Node> convert_lstm_node_format(const Output<Node>& node, LSTMWeightsFormat from_format,
                                               LSTMWeightsFormat to_format, std::int64_t axis) {
  static const char* const kOrders[] = {"FICO", "ICOF", "IFCO", "IFOC", "IOFC"};
  return reordered(node, kOrders[static_cast<int>(from_format)], kOrders[static_cast<int>(to_format)], axis);
}
std::shared_ptr<Node> convert_lstm_peepholes_format(const Output<Node>& node, LSTMPeepholesFormat from_format,
                                                    LSTMPeepholesFormat to_format, std::int64_t axis) {
  static const char* const kOrders[] = {"FIO", "IOF", "IFO"};
  return reordered(node, kOrders[static_cast<int>(from_format)], kOrders[static_cast<int>(to_format)], axis);
}
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
