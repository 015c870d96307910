// SPDX-License-Identifier: Apache-2.0
// Softmax and the normalisations: reductions, and element-wise functions of them that what follows joins.
#include <string>
#include <vector>

#include <tenon/devices/gpu/lower/build/axes.hpp>
#include <tenon/devices/gpu/lower/build/each.hpp>
#include <tenon/devices/gpu/lower/build/table.hpp>
#include <tenon/devices/gpu/lower/reductions/reduction.hpp>
#include <tenon/devices/gpu/lower/reductions/rows.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

ExpressionRef call(ElementType type, const char* text, std::vector<ExpressionRef> operands) {
  return Expression::call(type, text, std::move(operands));
}

std::string number(double value) { return literal_text(ElementType::kF32, value); }

void lower_softmax(Builder& builder, const Node& node) {
  const Shape& shape = node.get_output_shape(0);
  const std::vector<std::int64_t> axes{node.get_attributes().get_int("axis")};
  const ExpressionRef x = builder.tree(node.input_value(0));
  const ElementType type = x->type();
  const bool is_log = is_op(&node, "LogSoftmax");
  if (set_rows(builder, node, is_log ? RowRule::kLogSoftmax : RowRule::kSoftmax, x, axes)) return;
  const ExpressionRef most = reduce(builder, node, "ReduceMax", x, shape, axes);
  const ExpressionRef power = call(type, "exp($0 - $1)", {x, most});
  const ExpressionRef sum = reduce(builder, node, "ReduceSum", power, shape, axes);
  builder.set(node, 0,
              is_log ? call(type, "($0 - $1 - log($2))", {x, most, sum}) : call(type, "($0 / $1)", {power, sum}));
}

void lower_mvn(Builder& builder, const Node& node) {
  const Shape& shape = node.get_output_shape(0);
  const auto& attributes = node.get_attributes();
  std::vector<std::int64_t> axes;
  if (node.get_input_size() > 1) {
    axes = *builder.integers(node.input_value(1));
  } else {
    const bool across = attributes.get_bool("across_channels", false);
    for (std::size_t axis = across ? 1 : 2; axis < shape.size(); ++axis)
      axes.push_back(static_cast<std::int64_t>(axis));
    if (const auto* list = attributes.find("reduction_axes"))
      if (const auto* given = list->get_if<std::vector<std::int64_t>>(); given && !given->empty()) axes = *given;
  }
  const ExpressionRef x = builder.tree(node.input_value(0));
  const ElementType type = x->type();
  const std::string epsilon = number(attributes.get_double("eps"));
  const std::string mode = attributes.get_string("eps_mode", "inside_sqrt");
  const bool inside = mode == "inside_sqrt" || mode == "INSIDE_SQRT";
  const bool scales = attributes.get_bool("normalize_variance");
  const std::string spread = inside ? "sqrt((v) + " + epsilon + ")" : "(sqrt(v) + " + epsilon + ")";
  if (scales && set_rows(builder, node, RowRule::kNormalize, x, axes, spread)) return;
  const ExpressionRef mean = reduce(builder, node, "ReduceMean", x, shape, axes);
  const ExpressionRef apart = call(type, "($0 - $1)", {x, mean});
  if (!scales) return builder.set(node, 0, apart);
  const ExpressionRef square = call(type, "($0 * $0)", {apart});
  const ExpressionRef variance = reduce(builder, node, "ReduceMean", square, shape, axes);
  const std::string text = inside ? "($0 / sqrt($1 + " + epsilon + "))" : "($0 / (sqrt($1) + " + epsilon + "))";
  builder.set(node, 0, Expression::call(type, text, {apart, variance}));
}

void lower_normalize_l2(Builder& builder, const Node& node) {
  const Shape& shape = node.get_output_shape(0);
  const ExpressionRef x = builder.tree(node.input_value(0));
  const ElementType type = x->type();
  const ExpressionRef sum =
      reduce(builder, node, "ReduceSum", call(type, "($0 * $0)", {x}), shape, *builder.integers(node.input_value(1)));
  const std::string epsilon = number(node.get_attributes().get_double("eps"));
  const bool adds = node.get_attributes().get_string("eps_mode") == "add";
  builder.set(
      node, 0,
      Expression::call(type, adds ? "($0 / sqrt($1 + " + epsilon + "))" : "($0 / sqrt(tn_max($1, " + epsilon + ")))",
                       {x, sum}));
}

/// Groups become an axis of their own; scale and bias are per channel.
void lower_group_norm(Builder& builder, const Node& node) {
  const Shape& shape = node.get_output_shape(0);
  const auto groups = static_cast<std::size_t>(node.get_attributes().get_int("num_groups"));
  View data = builder.packed(node.input_value(0));
  Shape apart{shape[0], groups, groups ? shape[1] / groups : 0};
  for (std::size_t axis = 2; axis < shape.size(); ++axis) apart.push_back(shape[axis]);
  reshape(data, apart);
  std::vector<std::int64_t> axes;
  for (std::size_t axis = 2; axis < apart.size(); ++axis) axes.push_back(static_cast<std::int64_t>(axis));
  const auto channels = [&](std::size_t input) {
    View view = builder.packed(node.input_value(input));
    Shape lifted(apart.size(), 1);
    lifted[1] = apart[1];
    lifted[2] = apart[2];
    reshape(view, lifted);
    return Expression::load(broadcast(view, apart));
  };
  const ExpressionRef x = Expression::load(data);
  const ElementType type = x->type();
  const ExpressionRef mean = reduce(builder, node, "ReduceMean", x, apart, axes);
  const ExpressionRef square = call(type, "(($0 - $1) * ($0 - $1))", {x, mean});
  const ExpressionRef variance = reduce(builder, node, "ReduceMean", square, apart, axes);
  const std::string epsilon = number(node.get_attributes().get_double("epsilon"));
  View out = builder.make(node, 0);
  reshape(out, apart);
  builder.compute(Expression::call(type, "(($0 - $1) * rsqrt($2 + " + epsilon + ") * $3 + $4)",
                                   {x, mean, variance, channels(1), channels(2)}),
                  out, node);
}

/// x / sqrt(sum of the channels' squares + bias)
void lower_grn(Builder& builder, const Node& node) {
  const ExpressionRef x = builder.tree(node.input_value(0));
  const ElementType type = x->type();
  const ExpressionRef sum =
      reduce(builder, node, "ReduceSum", call(type, "($0 * $0)", {x}), node.get_output_shape(0), {1});
  const std::string bias = number(node.get_attributes().get_double("bias"));
  builder.set(node, 0, Expression::call(type, "($0 / sqrt($1 + " + bias + "))", {x, sum}));
}

/// x / (bias + alpha / count * (sum of squares around it)) ^ beta, over a box along the axes.
void lower_lrn(Builder& builder, const Node& node) {
  const View data = builder.packed(node.input_value(0));
  const auto& attributes = node.get_attributes();
  const std::int64_t size = attributes.get_int("size");
  std::vector<std::size_t> axes;
  double count = 1;
  const std::vector<std::int64_t> list = *builder.integers(node.input_value(1));
  for (const std::int64_t axis : list) {
    axes.push_back(normalized(axis, data.shape.size()));
    count *= static_cast<double>(size);
  }
  std::string text = "  ACC sum = 0;\n", place = "at";
  for (const std::size_t axis : axes) {
    const std::string n = std::to_string(axis), p = "p" + n;
    text += "  const int " + p + " = at / S" + n + " % E" + n + ";\n  for (int k" + n + " = max(0, " + p +
            " - HALF); k" + n + " <= min(E" + n + " - 1, " + p + " + HALF); ++k" + n + ") {\n";
    place += " + (k" + n + " - " + p + ") * S" + n;
  }
  text += "    const ACC x = X(" + place + ");\n    sum += x * x;\n  " + std::string(axes.size(), '}') +
          "\n  STORE(X(at) / pow(" + number(attributes.get_double("bias")) + " + " +
          number(attributes.get_double("alpha") / count) + " * sum, (ACC)" + number(attributes.get_double("beta")) +
          "), at);\n";
  set_each(
      builder, node, "lrn", data.type,
      [=](Kernel& kernel) {
        kernel.reads("X", data).define("ACC", compute_name(data.type)).define("HALF", (size - 1) / 2);
        for (const std::size_t axis : axes)
          kernel.number("S" + std::to_string(axis), data.strides[axis])
              .number("E" + std::to_string(axis), static_cast<std::int64_t>(data.shape[axis]));
      },
      text);
}

}  // namespace

void register_normalization(LoweringTable& table) {
  table["Softmax"] = table["LogSoftmax"] = {lower_softmax};
  const auto axes_known = [](const Node& node) { return wants_constant(node, 1); };
  table["MVN"] = {lower_mvn, axes_known};
  table["NormalizeL2"] = {lower_normalize_l2, axes_known};
  table["LRN"] = {lower_lrn, axes_known};
  table["GRN"] = {lower_grn};
  table["GroupNormalization"] = {lower_group_norm};
}

}  // namespace tenon::inline v1::gpu_device
