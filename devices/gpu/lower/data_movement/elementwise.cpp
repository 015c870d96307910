// SPDX-License-Identifier: Apache-2.0
// Element-wise operations: the table's expressions, and those that it cannot express.
#include <tenon/devices/gpu/lower/build/numbers.hpp>
#include <tenon/devices/gpu/lower/build/table.hpp>
#include <tenon/devices/gpu/lower/reductions/rows.hpp>

#include <string>
#include <vector>

#include <tenon/graph/operation_table.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// Operands of the first `count` inputs, broadcast to the output's shape; 0: all.
std::vector<ExpressionRef> operands(Builder& builder, const Node& node, std::size_t count = 0) {
  std::vector<ExpressionRef> all;
  for (std::size_t i = 0; i < (count ? count : node.get_input_size()); ++i)
    all.push_back(builder.operand(node.input_value(i), node.get_output_shape(0)));
  return all;
}

/// Sets output 0 to a function of the operands.
void set_call(Builder& builder, const Node& node, const std::string& text, std::vector<ExpressionRef> values) {
  builder.set(node, 0, Expression::call(node.get_output_element_type(0), text, std::move(values)));
}

/// By the table's expression. Functions of reals are computed in f32 for integers.
void lower_expression(Builder& builder, const Node& node) {
  if (set_mean_square(builder, node)) return;
  std::vector<ExpressionRef> values = operands(builder, node);
  const ElementType type = values.back()->type();
  std::string text = expression_text(node, type);
  if (!text.empty()) return set_call(builder, node, text, std::move(values));
  for (ExpressionRef& value : values) value = convert(value, ElementType::kF32);
  text = expression_text(node, ElementType::kF32);
  builder.set(node, 0, Expression::call(ElementType::kF32, text, std::move(values)));
}

void lower_convert(Builder& builder, const Node& node) {
  if (is_stored_in_halves(node, builder.target()))
    return builder.add_constant(node, builder.constant(node.input_value(0)));
  builder.set(node, 0, operands(builder, node, 1).front());
}

/// The same bits as another type of as many.
void lower_bit_cast(Builder& builder, const Node& node) {
  std::vector<ExpressionRef> values = operands(builder, node);
  const std::string bits = bits_text(values[0]->type(), "$0");
  set_call(builder, node, from_bits_text(node.get_output_element_type(0), bits), std::move(values));
}

void lower_round(Builder& builder, const Node& node) {
  std::vector<ExpressionRef> values = operands(builder, node);
  if (!info(values[0]->type()).is_real) return builder.set(node, 0, values[0]);
  const bool to_even = node.get_attributes().get_string("mode") == "half_to_even";
  set_call(builder, node, to_even ? "rint($0)" : "round($0)", std::move(values));
}

void lower_gelu(Builder& builder, const Node& node) {
  const bool by_tanh = node.get_attributes().get_string("approximation_mode", "ERF") == "TANH";
  const std::string tanh = node.get_output_element_type(0) == element::f64 ? "tn_tanh_64" : "tn_tanh";
  set_call(builder, node,
           by_tanh ? "(0.5f * $0 * (1 + " + tanh + "(0.79788456080286536f * ($0 + 0.044715f * $0 * $0 * $0))))"
                   : "(0.5f * $0 * (1 + erf($0 * 0.70710678118654752f)))",
           operands(builder, node));
}

void lower_swish(Builder& builder, const Node& node) {
  const bool has_beta = node.get_input_size() > 1;
  set_call(builder, node, has_beta ? "($0 / (1 + exp(-$1 * $0)))" : "($0 / (1 + exp(-$0)))", operands(builder, node));
}

void lower_hard_sigmoid(Builder& builder, const Node& node) {
  set_call(builder, node, "tn_max(tn_min($1 * $0 + $2, 1), 0)", operands(builder, node));
}

void lower_selu(Builder& builder, const Node& node) {
  set_call(builder, node, "($2 * ($0 > 0 ? $0 : $1 * expm1($0)))", operands(builder, node));
}

/// A slope of one axis is that of channels.
void lower_prelu(Builder& builder, const Node& node) {
  const Shape& shape = node.get_output_shape(0);
  ExpressionRef x = builder.operand(node.input_value(0), shape), slope;
  View slopes = builder.view(node.input_value(1));
  const bool by_channel =
      slopes.shape.size() == 1 && shape.size() > 1 && (slopes.shape[0] == shape[1] || slopes.shape[0] == 1);
  if (by_channel) {
    Shape lifted;
    lifted.resize(shape.size());
    for (std::size_t axis = 0; axis < shape.size(); ++axis) lifted[axis] = axis == 1 ? slopes.shape[0] : 1;
    reshape(slopes, lifted);
  }
  slope = Expression::load(broadcast(slopes, shape));
  set_call(builder, node, "($0 < 0 ? $0 * $1 : $0)", {x, slope});
}

void lower_test(Builder& builder, const Node& node) {
  const std::string_view type = node.get_type_name();
  std::string text = "isnan($0)";
  if (type == "IsFinite") text = "isfinite($0)";
  if (type == "IsInf") {
    const bool negative = node.get_attributes().get_bool("detect_negative");
    const bool positive = node.get_attributes().get_bool("detect_positive");
    text = negative && positive ? "isinf($0)"
           : negative           ? "(isinf($0) && $0 < 0)"
           : positive           ? "(isinf($0) && $0 > 0)"
                                : "($0 != $0 && 0)";
  }
  set_call(builder, node, text, operands(builder, node));
}

void lower_bitwise_not(Builder& builder, const Node& node) {
  const bool is_bool = node.get_output_element_type(0) == element::boolean;
  set_call(builder, node, is_bool ? "(!$0)" : "(~$0)", operands(builder, node));
}

void lower_fake_quantize(Builder& builder, const Node& node) {
  if (const auto* numbers = builder.numbers().stored(node)) {
    if (const auto view = builder.lying_as(node.input_value(0), *numbers)) return builder.set(node, 0, *view);
    return builder.set_rounded(node, builder.operand(node.input_value(0), node.get_output_shape(0)), *numbers);
  }
  const double levels = static_cast<double>(node.get_attributes().get_int("levels")) - 1;
  const std::string steps = literal_text(ElementType::kF32, levels);
  set_call(builder, node,
           "($0 <= tn_min($1, $2) ? $3 : $0 > tn_max($1, $2) ? $4 : "
           "rint(($0 - $1) / ($2 - $1) * " +
               steps + ") / " + steps + " * ($4 - $3) + $3)",
           operands(builder, node));
}

/// What a real type of 8 bits would leave of scaled values.
void lower_fake_convert(Builder& builder, const Node& node) {
  const bool is_wide = node.get_attributes().get_string("destination_type") == "f8e5m2";
  const ElementType type = is_wide ? ElementType::kF8E5M2 : ElementType::kF8E4M3;
  const bool has_shift = node.get_input_size() > 2;
  const std::string scaled = has_shift ? "($0 * $1 - $2)" : "($0 * $1)",
                    rounded = convert_text(ElementType::kF32, type, scaled);
  set_call(builder, node, has_shift ? "((" + rounded + " + $2) / $1)" : "(" + rounded + " / $1)",
           operands(builder, node));
}

/// (x - mean) / sqrt(variance + epsilon) * gamma + beta, along axis 1.
void lower_batch_norm(Builder& builder, const Node& node) {
  const Shape& shape = node.get_output_shape(0);
  const bool old_order = node.operation().opset < 5;  // gamma, beta, x, mean, variance
  const std::size_t data = old_order ? 2 : 0;
  const std::size_t gamma = old_order ? 0 : 1, beta = old_order ? 1 : 2;
  const auto channels = [&](std::size_t input) {
    View view = builder.view(node.input_value(input));
    Shape lifted;
    lifted.resize(shape.size());
    for (std::size_t axis = 0; axis < shape.size(); ++axis) lifted[axis] = axis == 1 ? shape[1] : 1;
    reshape(view, lifted);
    return Expression::load(broadcast(view, shape));
  };
  const std::string epsilon = literal_text(ElementType::kF32, node.get_attributes().get_double("epsilon"));
  const ExpressionRef x = builder.operand(node.input_value(data), shape);
  set_call(builder, node, "(($0 - $3) * rsqrt($4 + " + epsilon + ") * $1 + $2)",
           {x, channels(gamma), channels(beta), channels(3), channels(4)});
}

}  // namespace

void register_elementwise(LoweringTable& table) {
  for (const Operation* operation : operations())
    if (!operation->expression.empty()) table[operation->type] = {lower_expression};
  table["Convert"] = table["ConvertLike"] = {lower_convert};
  table["BitCast"] = {lower_bit_cast};
  table["Round"] = {lower_round};
  table["Gelu"] = {lower_gelu};
  table["Swish"] = {lower_swish};
  table["HardSigmoid"] = {lower_hard_sigmoid};
  table["Selu"] = {lower_selu};
  table["PRelu"] = {lower_prelu};
  table["IsNaN"] = table["IsFinite"] = table["IsInf"] = {lower_test};
  table["BitwiseNot"] = {lower_bitwise_not};
  table["FakeConvert"] = {lower_fake_convert};
  table["FakeQuantize"] = {lower_fake_quantize};
  table["BatchNormInference"] = {lower_batch_norm};
}

}  // namespace tenon::inline v1::gpu_device
