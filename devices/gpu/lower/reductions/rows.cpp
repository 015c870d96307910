// SPDX-License-Identifier: Apache-2.0
// Writes the kernel of rows.
#include <tenon/devices/gpu/lower/reductions/rows.hpp>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include <tenon/devices/gpu/kernels.hpp>
#include <tenon/devices/gpu/lower/build/axes.hpp>
#include <tenon/devices/gpu/lower/build/chunks.hpp>
#include <tenon/devices/gpu/program/indexing.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// Shorter rows are computed by one work-item each.
constexpr std::size_t kShortest = 32;

/// Rows of whole runs of 8, up to this many elements, are read once.
constexpr std::size_t kMostInRegisters = 2048;
/// Of a group of such rows: four rows.
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
    return builder.launch(kernel, node);
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
  builder.launch(kernel, node);
}

}  // namespace

bool set_rows(Builder& builder, const Node& node, RowRule rule, const ExpressionRef& input,
              const std::vector<std::int64_t>& axes, const std::string& spread) {
  const Shape& shape = node.get_output_shape(0);
  const bool is_last = axes.size() == 1 && !shape.empty() && normalized(axes[0], shape.size()) + 1 == shape.size();
  const ElementType type = input->type();
  if (builder.target().is_cpu || !is_last || shape.back() < kShortest || builder.target().max_group < 32 ||
      (type != ElementType::kF32 && type != ElementType::kF16))
    return false;
  const Node* const self = &node;
  Producer producer;
  producer.emit = [&builder, self, rule, input, spread](const ExpressionRef& root, const View& out) {
    emit_rows_kernel(builder, *self, rule, input, spread, root, out);
  };
  builder.set(node, 0, type, std::move(producer));
  return true;
}

}  // namespace tenon::inline v1::gpu_device
