// SPDX-License-Identifier: Apache-2.0
// Sums, means, extremes and products along axes.
#include <tenon/devices/gpu/lower/build/table.hpp>
#include <tenon/devices/gpu/lower/reductions/reduction.hpp>
#include <tenon/devices/gpu/program/types.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/devices/gpu/program/indexing.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// Over the accumulator a and the next value x, and over b, another's; `end` over the sum and COUNT, how many there were.
struct Rule {
  const char *start, *step, *join, *end;
  const char* own = "a";  ///< What the accumulator stands for, with `nans`: whether there was a NaN.
};
const std::map<std::string_view, Rule>& rules() {
  static const std::map<std::string_view, Rule> all = {
      {"ReduceSum", {"0", "a + x", "a + b", "a"}},
      {"ReduceMean", {"0", "a + x", "a + b", "COUNT ? a / COUNT : NOTHING"}},
      {"ReduceProd", {"1", "a * x", "a * b", "a"}},
      {"ReduceMax", {"LEAST", "(nans |= IS_NAN(x), tn_max(a, x))", "GREATER(a, b)", "a", "nans ? NOTHING : a"}},
      {"ReduceMin", {"MOST", "(nans |= IS_NAN(x), tn_min(a, x))", "LESSER(a, b)", "a", "nans ? NOTHING : a"}},
      {"ReduceL1", {"0", "a + tn_abs(x)", "a + b", "a"}},
      {"ReduceL2", {"0", "a + x * x", "a + b", "ROOT(a)"}},
      {"ReduceLogicalAnd", {"1", "a && x", "a && b", "a"}},
      {"ReduceLogicalOr", {"0", "a || x", "a || b", "a"}},
  };
  return all;
}

/// Which axes of the input go, and which stay.
struct ReducedAxes {
  std::vector<std::size_t> kept, reduced;
};
ReducedAxes split_axes(const std::vector<std::int64_t>& list, std::size_t rank) {
  std::vector<bool> goes(rank, false);
  for (const std::int64_t axis : list)
    goes[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis)] = true;
  ReducedAxes axes;
  for (std::size_t axis = 0; axis < rank; ++axis) (goes[axis] ? axes.reduced : axes.kept).push_back(axis);
  return axes;
}

/// One work-item a row; or a group, whose work-items share it, where rows are few and long.
void emit_reduction(Builder& builder, const Node& node, const ExpressionRef& input, const Shape& shape,
                    const ReducedAxes& axes, const Rule& rule, const ExpressionRef& root, const View& out) {
  const std::vector<ExpressionRef> loads = loads_of(input);
  std::vector<const View*> views;
  for (const auto& load : loads) views.push_back(load->view());
  const Walk rows = collapse(shape, views, axes.kept), steps = collapse(shape, views, axes.reduced);
  std::size_t row_count = 1, step_count = 1;
  for (std::size_t axis : axes.kept) row_count *= shape[axis];
  for (std::size_t axis : axes.reduced) step_count *= shape[axis];

  Kernel kernel = builder.kernel("reduce");
  for (std::size_t i = 0; i < loads.size(); ++i) kernel.reads("X" + std::to_string(i), *views[i]);
  AxisGroups groups(1);
  for (std::size_t axis = 0; axis < out.shape.size(); ++axis) groups[0].push_back(axis);
  builder.add_store(kernel, root, out, groups);
  kernel.number("ROWS", static_cast<std::int64_t>(row_count)).number("COUNT", static_cast<std::int64_t>(step_count));
  const ElementType type = input->type();
  const bool is_real = info(type).is_real;
  kernel.define("ACC", accumulator_name(type));
  kernel.define("LEAST", least_text(type))
      .define("MOST", greatest_text(type))
      .define("NOTHING", is_real ? "NAN" : "0")  // Also the mean of no elements.
      .define("IS_NAN(x)", is_real ? "((x) != (x))" : "0")
      .define("GREATER(a, b)", is_real ? "tn_greater(a, b)" : "tn_max(a, b)")
      .define("LESSER(a, b)", is_real ? "tn_lesser(a, b)" : "tn_min(a, b)")
      .define("ROOT(a)", is_real ? "sqrt(a)" : "(ACC)root_of((ulong)(a))");
  const Coordinates row = take_apart(kernel, rows, "i", "row"), step = take_apart(kernel, steps, "k", "at");
  const Statements value = statements(
      input,
      [&](std::size_t i) {
        const std::string name = "X" + std::to_string(i);
        return name + "(" + index_text(kernel, name + "_ROW", rows.strides[i], row.names) + " + " +
               index_text(kernel, name + "_STEP", steps.strides[i], step.names) + ")";
      },
      "0");
  const std::string next = step.lines + value.lines + "const ACC x = (ACC)" + value.value + "; a = " + rule.step + ";";
  const bool by_group = !builder.target().is_cpu && step_count >= 256 && builder.target().max_group >= 64;
  if (!by_group) {
    kernel.text("KERNEL {\n  const int row = (int)get_global_id(0);\n  if (row >= ROWS) return;\n  " + row.lines +
                "\n  int nans = 0;\n  ACC a = " + rule.start + ";\n  for (int at = 0; at < COUNT; ++at) { " + next +
                " }\n  a = " + rule.own + ";\n  STORE(" + rule.end + ", row);\n}\n");
    kernel.over({row_count}, {std::min<std::size_t>(builder.target().max_group, 64)});
    return builder.launch(std::move(kernel), node);
  }
  const std::size_t group = std::min<std::size_t>(builder.target().max_group, 256);
  kernel.define("GROUP", static_cast<std::int64_t>(group));
  kernel.text(
      std::string("KERNEL {\n  __local ACC shared[GROUP];\n  const int row = (int)get_group_id(0), lane = "
                  "(int)get_local_id(0);\n  ") +
      row.lines + "\n  int nans = 0;\n  ACC a = " + rule.start +
      ";\n  for (int at = lane; at < COUNT; at += GROUP) { " + next + " }\n  shared[lane] = a = " + rule.own +
      ";\n  for (int half_group = GROUP / 2; half_group > 0; half_group /= 2) {\n"
      "    barrier(CLK_LOCAL_MEM_FENCE);\n    if (lane < half_group) { const ACC b = shared[lane + half_group]; "
      "a = " +
      rule.join + "; shared[lane] = a; }\n  }\n  if (lane == 0) STORE(" + rule.end + ", row);\n}\n");
  kernel.over({row_count * group}, {group});
  builder.launch(std::move(kernel), node);
}

void lower_reduction(Builder& builder, const Node& node) {
  const Rule& rule = rules().at(node.get_type_name());
  const ExpressionRef input = builder.tree(node.input_value(0));
  const Shape shape = node.get_input_shape(0);
  const ReducedAxes axes = split_axes(*builder.integers(node.input_value(1)), shape.size());
  const Node* const self = &node;
  Producer producer;
  producer.emit = [&builder, self, input, shape, axes, rule](const ExpressionRef& root, const View& out) {
    emit_reduction(builder, *self, input, shape, axes, rule, root, out);
  };
  builder.set(node, 0, input->type(), std::move(producer));
}

}  // namespace

ExpressionRef reduce(Builder& builder, const Node& node, const char* rule, const ExpressionRef& input,
                     const Shape& shape, const std::vector<std::int64_t>& axes) {
  const ReducedAxes split = split_axes(axes, shape.size());
  Shape kept = shape;
  for (const std::size_t axis : split.reduced) kept[axis] = 1;
  // A variance, or a sum of squares, may be larger than any f16.
  const ElementType type =
      info(input->type()).is_real && info(input->type()).bits < 32 ? ElementType::kF32 : input->type();
  const View out = builder.scratch(type, kept);
  emit_reduction(builder, node, input, shape, split, rules().at(rule), Expression::computed(type), out);
  return Expression::load(broadcast(out, shape));
}

void register_reduction(LoweringTable& table) {
  for (const auto& [type, rule] : rules())
    table[type] = {lower_reduction, [](const Node& node) { return wants_constant(node, 1); }};
}

}  // namespace tenon::inline v1::gpu_device
