// SPDX-License-Identifier: Apache-2.0
// Reductions: means over all spatial axes by oneDNN's pooling in any layout, all others by our loops; running sums and norms.
#include <array>
#include <map>
#include <optional>

#include <tenon/engine/kernels/reductions/cumsum.hpp>
#include <tenon/engine/kernels/reductions/fold.hpp>
#include <tenon/engine/lower/build/builder.hpp>
#include <tenon/engine/lower/build/table.hpp>

namespace tenon::inline v1::engine {
namespace {

using dims = dnnl::memory::dims;

struct Reduction {
  std::vector<bool> axes;
  bool keep_dims;
};

bool reduction_of(PlanBuilder& builder, const std::shared_ptr<Node>& node, Reduction& reduction) {
  std::vector<std::int64_t> axes;
  if (!builder.constant_ints(node, 1, axes)) return false;
  const std::size_t rank = node->get_input_shape(0).size();
  reduction.axes.assign(rank, false);
  for (auto axis : axes)
    reduction.axes[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis)] = true;
  reduction.keep_dims = node->get_attributes().get_bool("keep_dims", false);
  return true;
}

/// Mean over all spatial axes: global pooling, which works on blocked layouts.
bool lower_global(PlanBuilder& builder, const std::shared_ptr<Node>& node, const Reduction& reduction) {
  Value& source = builder.input(node, 0);
  Value& made = builder.value(node->output(0));
  const Shape& shape = source.shape;
  if (shape.size() < 3 || shape.size() > 5) return false;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (reduction.axes[i] != (i >= 2)) return false;
  const md layout = builder.real(source).desc;
  dims window(shape.begin() + 2, shape.end()), ones(window.size(), 1), zeros(window.size(), 0),
      out{to_dims(shape)[0], to_dims(shape)[1]};
  out.insert(out.end(), window.size(), 1);
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::pooling_forward::primitive_desc pd(
      builder.engine(), dnnl::prop_kind::forward_inference, dnnl::algorithm::pooling_avg_include_padding, layout,
      md(out, layout.get_data_type(), dnnl::memory::format_tag::any), ones, window, zeros, zeros, zeros, attr, true);
  if (!pd || is_slow(pd.impl_info_str())) return false;
  const Shape pooled(out.begin(), out.end());
  const md dst = pd.dst_desc();
  if (!reduction.keep_dims && !is_packed(dst, pooled)) return false;
  const BufferSlice from = builder.real(source).place;
  const BufferSlice to = builder.define(made, reduction.keep_dims ? dst : plain_desc(element_type(dst), made.shape));
  auto& step = builder.add_primitive(node, dnnl::pooling_forward(pd), pd.impl_info_str());
  builder.add_argument(step, DNNL_ARG_SRC, from, layout);
  builder.add_argument(step, DNNL_ARG_DST, to, dst, true);
  builder.add_scratchpad(step, pd.scratchpad_desc());
  return true;
}

/// What a node folds, and how; nothing for types that have no kernel.
std::optional<kernels::Fold> fold_of(std::string_view type, ElementType element) {
  using Kind = kernels::FoldKind;
  static const std::map<std::string_view, Kind> kKinds{
      {"ReduceSum", Kind::kSum},       {"ReduceMean", Kind::kSum},       {"ReduceProd", Kind::kProduct},
      {"ReduceL1", Kind::kMagnitudes}, {"ReduceL2", Kind::kSquares},     {"ReduceMax", Kind::kGreatest},
      {"ReduceMin", Kind::kLeast},     {"ReduceLogicalAnd", Kind::kAll}, {"ReduceLogicalOr", Kind::kAny}};
  kernels::Fold what;
  what.kind = kKinds.at(type);
  what.type = element;
  what.is_root = type == "ReduceL2";
  if (what.kind == Kind::kAll || what.kind == Kind::kAny) {
    if (element == ElementType::kBool) return what;
    return std::nullopt;
  }
  if (element == ElementType::kF32) return what;
  // Integers have no roots, and their means round in their own way.
  const bool is_integer = element == ElementType::kI32 || element == ElementType::kI64;
  if (is_integer && type != "ReduceMean" && !what.is_root) return what;
  return std::nullopt;
}

/// Runs of neighbouring axes that are folded, the last first; extents of 1 may belong to any.
std::vector<kernels::Fold> stages_of(const kernels::Fold& what, const Shape& shape, const std::vector<bool>& axes) {
  std::vector<kernels::Fold> stages;
  std::size_t inner = 1, outer = element_count(shape);
  for (std::size_t i = shape.size(); i > 0;) {
    std::size_t kept = 1, extent = 1;
    for (; i > 0 && (!axes[i - 1] || shape[i - 1] == 1); --i) kept *= shape[i - 1];
    for (; i > 0 && (axes[i - 1] || shape[i - 1] == 1); --i) extent *= shape[i - 1];
    inner *= kept;
    outer /= kept * extent;
    if (extent == 1 && i > 0) continue;
    if (extent == 1 && !stages.empty()) break;
    stages.push_back(what);
    stages.back().outer = outer;
    stages.back().extent = extent;
    stages.back().inner = inner;
  }
  // Elements are mapped once, and sums finished once.
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const bool is_mapped = what.kind == kernels::FoldKind::kMagnitudes || what.kind == kernels::FoldKind::kSquares;
    if (i > 0 && is_mapped) stages[i].kind = kernels::FoldKind::kSum;
    if (i + 1 < stages.size()) stages[i].is_root = false;
  }
  return stages;
}

bool lower_reduce(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  Value& source = builder.input(node, 0);
  Value& made = builder.value(node->output(0));
  Reduction reduction;
  if (element_count(source.shape) == 0 || source.shape.empty() || !reduction_of(builder, node, reduction)) return false;
  const std::string_view type = node->get_type_name();
  // Not maxima, too: a NaN among the elements is their maximum, and oneDNN's pooling passes over it.
  if (type == "ReduceMean" && source.type == ElementType::kF32 && lower_global(builder, node, reduction)) return true;
  const auto what = fold_of(type, source.type);
  if (!what) return false;
  auto stages = stages_of(*what, source.shape, reduction.axes);
  if (type == "ReduceMean")
    stages.back().scale = static_cast<float>(static_cast<double>(element_count(made.shape)) /
                                             static_cast<double>(element_count(source.shape)));
  BufferSlice from = builder.plain(source);
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const kernels::Fold& stage = stages[i];
    const BufferSlice to = i + 1 < stages.size() ? builder.scratch(stage.outer * stage.inner * size_bytes(source.type))
                                                 : builder.define_plain(made);
    builder.add_kernel(node, "fold", {from}, {to},
                       [stage](std::span<void* const> p) { kernels::fold(stage, p[0], p[1]); });
    from = to;
  }
  return true;
}

/// Extents before, of and after a run of neighbouring axes; nothing for other axes.
std::optional<std::array<std::size_t, 3>> run_of(const Shape& shape, const std::vector<bool>& axes) {
  std::array<std::size_t, 3> run{1, 1, 1};
  std::size_t part = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    if (axes[i] != (part == 1)) ++part;
    if (part > 2) return std::nullopt;
    run[part] *= shape[i];
  }
  return run;
}

bool lower_cum_sum(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  Value &source = builder.input(node, 0), &made = builder.value(node->output(0));
  std::vector<std::int64_t> axes;
  const bool has_type =
      source.type == ElementType::kF32 || source.type == ElementType::kI32 || source.type == ElementType::kI64;
  if (!has_type || source.shape.empty() || element_count(source.shape) == 0 || !builder.constant_ints(node, 1, axes) ||
      axes.size() != 1)
    return false;
  const auto axis =
      static_cast<std::size_t>(axes[0] < 0 ? axes[0] + static_cast<std::int64_t>(source.shape.size()) : axes[0]);
  kernels::Cumsum what;
  what.type = source.type;
  for (std::size_t i = 0; i < source.shape.size(); ++i)
    (i < axis ? what.outer : i > axis ? what.inner : what.extent) *= source.shape[i];
  what.is_exclusive = node->get_attributes().get_bool("exclusive");
  what.is_reverse = node->get_attributes().get_bool("reverse");
  const BufferSlice from = builder.plain(source), to = builder.define_plain(made);
  builder.add_kernel(node, "running sum", {from}, {to},
                     [what](std::span<void* const> p) { kernels::cumsum(what, p[0], p[1]); });
  return true;
}

/// Sums of squares, and a step that divides by their roots.
bool lower_normalize_l2(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  Value &source = builder.input(node, 0), &made = builder.value(node->output(0));
  Reduction reduction;
  if (source.type != ElementType::kF32 || element_count(source.shape) == 0 || !reduction_of(builder, node, reduction))
    return false;
  const auto run = run_of(source.shape, reduction.axes);
  if (!run) return false;
  kernels::Fold squares;
  squares.kind = kernels::FoldKind::kSquares;
  squares.outer = (*run)[0];
  squares.extent = (*run)[1];
  squares.inner = (*run)[2];
  const auto& attributes = node->get_attributes();
  const auto epsilon = static_cast<float>(attributes.get_double("eps"));
  const bool is_added = attributes.get_string("eps_mode") == "add";
  const BufferSlice from = builder.plain(source), sums = builder.scratch(squares.outer * squares.inner * sizeof(float));
  builder.add_kernel(node, "fold", {from}, {sums},
                     [squares](std::span<void* const> p) { kernels::fold(squares, p[0], p[1]); });
  const BufferSlice to = builder.define_plain(made);
  builder.add_kernel(node, "norm", {from, sums}, {to}, [squares, epsilon, is_added](std::span<void* const> p) {
    kernels::divide_by_norms(squares.outer, squares.extent, squares.inner, epsilon, is_added,
                             static_cast<const float*>(p[0]), static_cast<const float*>(p[1]),
                             static_cast<float*>(p[2]));
  });
  return true;
}

}  // namespace

void register_reduction(LoweringTable& table) {
  for (const char* type : {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
                           "ReduceLogicalAnd", "ReduceLogicalOr"})
    table[type] = {lower_reduce, false};
  table["CumSum"] = {lower_cum_sum, false};
  table["NormalizeL2"] = {lower_normalize_l2, false};
}

}  // namespace tenon::inline v1::engine
