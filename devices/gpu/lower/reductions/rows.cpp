// SPDX-License-Identifier: Apache-2.0
// Writes the kernel of rows.
#include <tenon/devices/gpu/lower/reductions/rows.hpp>

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/devices/gpu/kernels.hpp>
#include <tenon/devices/gpu/lower/build/axes.hpp>
#include <tenon/devices/gpu/lower/build/chunks.hpp>
#include <tenon/devices/gpu/program/indexing.hpp>
#include <tenon/devices/gpu/program/types.hpp>
#include <tenon/graph/model_ops.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// Shorter rows are computed by one work-item each.
constexpr std::size_t kShortest = 32;

/// Rows of whole runs of 8, up to this many elements, are read once.
constexpr std::size_t kMostInRegisters = 2048;
/// The work-items of a group, which reduces four such rows.
constexpr std::size_t kRegisterLanes = 128;

/// 8 elements of the tree along the last axis: whole runs of memory where it can be.
std::string eight_values(const Builder& builder, const ExpressionRef& input, const std::vector<ExpressionRef>& loads,
                         const std::function<std::string(std::size_t, const std::string&)>& place) {
  std::string lines;
  const auto is_wide = [&](const View& view) { return builder.is_wide(view, view.shape.size() - 1); };
  for (std::size_t i = 0; i < loads.size(); ++i)
    if (is_wide(*loads[i]->view()))
      lines += "float w" + std::to_string(i) + "[8]; X" + std::to_string(i) + "_LOAD8(" + place(i, "(at)") + ", w" +
               std::to_string(i) + "); ";
  const Statements value = statements(
      input,
      [&](std::size_t i) {
        if (is_wide(*loads[i]->view())) return "w" + std::to_string(i) + "[j]";
        return "X" + std::to_string(i) + "(" + place(i, "((at) + j)") + ")";
      },
      "0");
  return lines + "_Pragma(\"unroll\") for (int j = 0; j < 8; ++j) { " + value.lines + "(to)[j] = " + value.value +
         "; } ";
}

void emit_rows_kernel(Builder& builder, const Node& node, RowRule rule, const ExpressionRef& input,
                      const std::string& spread, const ExpressionRef& root, const View& out) {
  const Shape& shape = out.shape;
  const std::size_t rank = shape.size(), count = shape[rank - 1];
  const std::vector<ExpressionRef> loads = loads_of(input);
  std::vector<const View*> views;
  for (const auto& load : loads) views.push_back(load->view());
  std::vector<std::size_t> kept(rank - 1);
  std::iota(kept.begin(), kept.end(), std::size_t{0});
  const Walk rows = collapse(shape, views, kept);
  Kernel kernel = builder.kernel("rows");
  for (std::size_t i = 0; i < loads.size(); ++i) kernel.reads("X" + std::to_string(i), *views[i]);
  const Coordinates row = take_apart(kernel, rows, "i", "row");
  const auto place = [&](std::size_t i, const std::string& at) {
    const std::string name = "X" + std::to_string(i);
    return index_text(kernel, name + "_ROW", rows.strides[i], row.names) + " + " +
           index_text(kernel, name + "_STEP", {views[i]->strides[rank - 1]}, {at});
  };
  kernel.number("COUNT", static_cast<std::int64_t>(count))
      .define("RULE", static_cast<std::int64_t>(rule))
      .define("SPREAD(v)", spread.empty() ? "1" : spread);
  if (builder.target().max_group >= kRegisterLanes && count % kChunk == 0 && count <= kMostInRegisters) {
    builder.add_wide_store(kernel, root, out, {kept, {rank - 1}});
    const std::size_t lines = element_count(shape) / count;
    kernel.number("ROWS", static_cast<std::int64_t>(lines))
        .define("LANES", static_cast<std::int64_t>(kRegisterLanes))
        .define("EACH", static_cast<std::int64_t>((count + 32 * kChunk - 1) / (32 * kChunk)))
        .define("VALUES8(to, row, at)", "{ " + row.lines + eight_values(builder, input, loads, place) + "}")
        .text(builder.target().matrices == Target::Matrices::kNvidia ? kernels::lanes_nvidia : kernels::lanes_portable)
        .text(kernels::rows_in_registers);
    kernel.over({(lines * 32 + kRegisterLanes - 1) / kRegisterLanes * kRegisterLanes}, {kRegisterLanes});
    return builder.launch(std::move(kernel), node);
  }
  builder.add_store(kernel, root, out, {kept, {rank - 1}});
  const Statements value = statements(
      input, [&](std::size_t i) { return "X" + std::to_string(i) + "(" + place(i, "at") + ")"; }, "0");
  const std::size_t most = std::min<std::size_t>(builder.target().max_group, 256);
  std::size_t group = 32;
  while (group * 4 < count && group * 2 <= most) group *= 2;
  kernel.define("GROUP", static_cast<std::int64_t>(group))
      .define("ROW_PLACE", row.lines)
      .define("VALUE(x)", "{ " + value.lines + "x = " + value.value + "; }")
      .text(kernels::rows);
  kernel.over({element_count(shape) / count * group}, {group});
  builder.launch(std::move(kernel), node);
}

/// Whether a group shares each row: of the last axis, and not too short.
bool suits_rows(const Builder& builder, const Node& node, const std::vector<std::int64_t>& axes) {
  const Shape& shape = node.get_output_shape(0);
  const bool is_last = axes.size() == 1 && !shape.empty() && normalized(axes[0], shape.size()) + 1 == shape.size();
  return !builder.target().is_cpu && is_last && shape.back() >= kShortest && builder.target().max_group >= 32;
}

/// The one number of an input.
std::optional<double> single_number(const Builder& builder, const Node& node, std::size_t input) {
  const auto values = builder.reals(node.input_value(input));
  return values && values->size() == 1 ? std::optional(values->front()) : std::nullopt;
}

/// The node if it is of that type, and its one output has one reader.
const Node* only(const Output<Node>& value, std::string_view type) {
  const Node* const node = value.get_node();
  return node->get_type_name() == type && node->count_output_readers(0) == 1 ? node : nullptr;
}

/// Whether `value` is the mean of x * x.
bool is_mean_square(const Builder& builder, const Output<Node>& value, const Output<Node>& x,
                    std::vector<std::int64_t>& axes) {
  const Node* const mean = only(value, "ReduceMean");
  const auto list = mean ? builder.integers(mean->input_value(1)) : std::nullopt;
  if (!list || !mean->get_attributes().get_bool("keep_dims", false)) return false;
  axes = *list;
  if (const Node* const power = only(mean->input_value(0), "Power"))
    return power->input_value(0) == x && single_number(builder, *power, 1) == 2.0;
  const Node* const square = only(mean->input_value(0), "Multiply");
  return square && square->input_value(0) == x && square->input_value(1) == x;
}

/// Whether `value` is 1 / sqrt(mean of x * x + epsilon), in one of the ways in which exporters write it.
bool is_inverse_root(const Builder& builder, const Output<Node>& value, const Output<Node>& x,
                     std::vector<std::int64_t>& axes, double& epsilon) {
  const Node* root = nullptr;
  const Node* sum = nullptr;
  if (const Node* const inverse = only(value, "Divide"); inverse && single_number(builder, *inverse, 0) == 1.0) {
    root = only(inverse->input_value(1), "Sqrt");
  } else if (const Node* const power = only(value, "Power")) {
    if (single_number(builder, *power, 1) == -0.5) sum = only(power->input_value(0), "Add");
    if (single_number(builder, *power, 1) == -1.0) root = only(power->input_value(0), "Sqrt");
  }
  if (root) sum = only(root->input_value(0), "Add");
  for (std::size_t side = 0; sum && side < 2; ++side) {
    const auto number = single_number(builder, *sum, side);
    if (!number || !is_mean_square(builder, sum->input_value(1 - side), x, axes)) continue;
    epsilon = *number;
    return true;
  }
  return false;
}

}  // namespace

bool set_rows(Builder& builder, const Node& node, RowRule rule, const ExpressionRef& input,
              const std::vector<std::int64_t>& axes, const std::string& spread) {
  const ElementType type = input->type();
  if (!suits_rows(builder, node, axes) || (type != ElementType::kF32 && type != ElementType::kF16)) return false;
  const Node* const self = &node;
  Producer producer;
  producer.emit = [&builder, self, rule, input, spread](const ExpressionRef& root, const View& out) {
    emit_rows_kernel(builder, *self, rule, input, spread, root, out);
  };
  if (const View* const x = loaded_view(input); x && rule == RowRule::kMeanSquare)
    producer.norm = std::make_shared<const RowNorm>(RowNorm{*x, {}, spread});
  builder.set(node, 0, type, std::move(producer));
  return true;
}

bool set_mean_square(Builder& builder, const Node& node) {
  if (!is_op(&node, "Multiply") || node.get_output_element_type(0) != element::f32) return false;
  for (std::size_t side = 0; side < 2; ++side) {
    const Output<Node> x = node.input_value(side), scale = node.input_value(1 - side);
    std::vector<std::int64_t> axes;
    double epsilon = 0;
    if (!is_inverse_root(builder, scale, x, axes, epsilon) || !suits_rows(builder, node, axes) ||
        !(x.get_partial_shape() == node.get_output_partial_shape(0)))
      continue;
    if (!builder.forget(scale)) return false;
    return set_rows(builder, node, RowRule::kMeanSquare, builder.operand(x, node.get_output_shape(0)), axes,
                    "sqrt((v) + " + literal_text(ElementType::kF32, epsilon) + ")");
  }
  return false;
}

}  // namespace tenon::inline v1::gpu_device
