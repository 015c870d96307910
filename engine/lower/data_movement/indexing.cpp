// SPDX-License-Identifier: Apache-2.0
// GatherND, GatherElements, the scatters and OneHot.
#include <algorithm>

#include <tenon/engine/kernels/data_movement/indexing.hpp>
#include <tenon/engine/kernels/simd/copy.hpp>
#include <tenon/engine/lower/build/builder.hpp>
#include <tenon/engine/lower/build/table.hpp>

namespace tenon::inline v1::engine {
namespace {

bool are_indices(ElementType type) { return type == ElementType::kI32 || type == ElementType::kI64; }

std::size_t extents_product(const Shape& shape, std::size_t first, std::size_t last) {
  std::size_t product = 1;
  for (std::size_t i = first; i < last; ++i) product *= shape[i];
  return product;
}

kernels::Reduction scatter_reduction(const Node& node) {
  const std::string how = node.get_attributes().get_string("reduction", "none");
  if (how == "sum") return kernels::Reduction::kSum;
  if (how == "sub") return kernels::Reduction::kSubtract;
  if (how == "prod") return kernels::Reduction::kProduct;
  if (how == "min") return kernels::Reduction::kLeast;
  if (how == "max") return kernels::Reduction::kGreatest;
  return how == "mean" ? kernels::Reduction::kMean : kernels::Reduction::kNone;
}

bool lower_gather_nd(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  Value &data = builder.input(node, 0), &indices = builder.input(node, 1), &made = builder.value(node->output(0));
  if (!are_indices(indices.type) || bit_width(data.type) < 8 || element_count(made.shape) == 0) return false;
  const auto batch = static_cast<std::size_t>(node->get_attributes().get_int("batch_dims", 0));
  const std::size_t depth = indices.shape.back(), size = size_bytes(data.type);
  kernels::Slices what;
  what.batches = extents_product(data.shape, 0, batch);
  what.count = extents_product(indices.shape, batch, indices.shape.size() - 1);
  what.axes.assign(data.shape.begin() + static_cast<std::ptrdiff_t>(batch),
                   data.shape.begin() + static_cast<std::ptrdiff_t>(batch + depth));
  what.inner = extents_product(data.shape, batch + depth, data.shape.size());
  const bool is_wide = indices.type == ElementType::kI64;
  const BufferSlice from = builder.plain(data), at = builder.plain(indices), to = builder.define_plain(made);
  builder.add_kernel(node, "gather", {from, at}, {to}, [what, size, is_wide](std::span<void* const> p) {
    kernels::gather_slices(what, size, p[0], {p[1], is_wide}, p[2]);
  });
  return true;
}

bool lower_gather_elements(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  Value &data = builder.input(node, 0), &indices = builder.input(node, 1), &made = builder.value(node->output(0));
  if (!are_indices(indices.type) || bit_width(data.type) < 8 || element_count(made.shape) == 0) return false;
  const std::int64_t axis = node->get_attributes().get_int("axis");
  const auto rank = static_cast<std::int64_t>(data.shape.size());
  const kernels::Lines what{static_cast<std::size_t>(axis < 0 ? axis + rank : axis), data.shape, indices.shape};
  const std::size_t size = size_bytes(data.type);
  const bool is_wide = indices.type == ElementType::kI64;
  const BufferSlice from = builder.plain(data), at = builder.plain(indices), to = builder.define_plain(made);
  builder.add_kernel(node, "gather", {from, at}, {to}, [what, size, is_wide](std::span<void* const> p) {
    kernels::gather_elements(what, size, p[0], {p[1], is_wide}, p[2]);
  });
  return true;
}

/// What a scatter reads, and where it writes: over the data if nothing else needs it.
struct Scattered {
  BufferSlice data, indices, updates, made;
  std::size_t bytes;  ///< The data's size.
  bool is_in_place() const { return made == data; }
};

Scattered scattered(PlanBuilder& builder, const std::shared_ptr<Node>& node) {
  Value &data = builder.input(node, 0), &indices = builder.input(node, 1), &updates = builder.input(node, 2),
        &made = builder.value(node->output(0));
  Scattered what{builder.plain(data), builder.plain(indices), builder.plain(updates), {}, 0};
  what.bytes = *checked_size_bytes(data.type, data.shape);
  what.made = builder.define_over(made, plain_desc(made.type, made.shape), {what.data, what.bytes},
                                  {{what.indices, *checked_size_bytes(indices.type, indices.shape)},
                                   {what.updates, *checked_size_bytes(updates.type, updates.shape)}});
  return what;
}

/// Copies the data unless it lies there already, and calls function(indices, updates, result, others...).
void add_scatter(PlanBuilder& builder, const std::shared_ptr<Node>& node, const Scattered& what,
                 const std::vector<BufferSlice>& others,
                 const std::function<void(std::span<void* const> p)>& function) {
  std::vector<BufferSlice> written{what.made};
  written.insert(written.end(), others.begin(), others.end());
  const std::size_t bytes = what.bytes;
  builder.add_kernel(node, what.is_in_place() ? "scatter (in place)" : "scatter",
                     {what.data, what.indices, what.updates}, written, [bytes, function](std::span<void* const> p) {
                       kernels::copy_bytes(p[3], p[0], bytes);
                       function(p.subspan(1));
                     });
}

bool lower_scatter_slices(PlanBuilder& builder, const std::shared_ptr<Node>& node, const kernels::Slices& what,
                          kernels::Reduction reduction) {
  constexpr std::size_t kLongBytes = 256;
  const ElementType type = builder.input(node, 0).type;
  const std::size_t size = size_bytes(type), slices = extents_product(what.axes, 0, what.axes.size());
  const bool is_wide = builder.input(node, 1).type == ElementType::kI64;
  const bool is_long = what.inner * size >= kLongBytes && std::max(slices, what.count) < UINT32_MAX;
  // Room that is needed only if the data stays: the number of buffers must not depend on that.
  const BufferSlice sources = builder.scratch(is_long ? slices * sizeof(std::uint32_t) : 0);
  const Scattered at = scattered(builder, node);
  if (is_long && reduction == kernels::Reduction::kNone && !at.is_in_place()) {
    builder.add_kernel(node, "scatter", {at.data, at.indices, at.updates}, {at.made, sources},
                       [what, size, is_wide](std::span<void* const> p) {
                         kernels::scatter_slices_anew(what, size, {p[1], is_wide}, p[0], p[2],
                                                      static_cast<std::uint32_t*>(p[4]), p[3]);
                       });
    return true;
  }
  add_scatter(builder, node, at, {}, [=](std::span<void* const> p) {
    kernels::scatter_slices(what, type, reduction, {p[0], is_wide}, p[1], p[2]);
  });
  return true;
}

bool can_scatter(PlanBuilder& builder, const std::shared_ptr<Node>& node) {
  Value &data = builder.input(node, 0), &indices = builder.input(node, 1);
  return are_indices(indices.type) && bit_width(data.type) >= 8 && element_count(data.shape) > 0 &&
         kernels::reduces(data.type, scatter_reduction(*node));
}

bool lower_scatter_nd(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  if (!can_scatter(builder, node)) return false;
  const Shape &shape = builder.input(node, 0).shape, &indices = builder.input(node, 1).shape;
  const std::size_t depth = indices.back();
  kernels::Slices what;
  what.count = extents_product(indices, 0, indices.size() - 1);
  what.axes.assign(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(depth));
  what.inner = extents_product(shape, depth, shape.size());
  return lower_scatter_slices(builder, node, what, scatter_reduction(*node));
}

/// The axis that input 3 names; the data's rank if that is not known.
std::size_t update_axis(PlanBuilder& builder, const std::shared_ptr<Node>& node) {
  const auto rank = static_cast<std::int64_t>(builder.input(node, 0).shape.size());
  std::vector<std::int64_t> axes;
  if (!builder.constant_ints(node, 3, axes) || axes.size() != 1) return static_cast<std::size_t>(rank);
  return static_cast<std::size_t>(axes[0] < 0 ? axes[0] + rank : axes[0]);
}

/// Slices along an axis: tuples of one index, if nothing lies before the axis.
bool lower_scatter_update(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  if (!can_scatter(builder, node)) return false;
  const Shape& shape = builder.input(node, 0).shape;
  const std::size_t axis = update_axis(builder, node);
  if (axis >= shape.size() || extents_product(shape, 0, axis) != 1) return false;
  kernels::Slices what;
  what.count = element_count(builder.input(node, 1).shape);
  what.axes = {shape[axis]};
  what.inner = extents_product(shape, axis + 1, shape.size());
  return lower_scatter_slices(builder, node, what, kernels::Reduction::kNone);
}

bool lower_scatter_elements(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  if (!can_scatter(builder, node)) return false;
  const auto& attributes = node->get_attributes();
  const Value &data = builder.input(node, 0), &indices = builder.input(node, 1);
  const kernels::Lines what{update_axis(builder, node), data.shape, indices.shape};
  if (what.axis >= data.shape.size()) return false;
  for (std::size_t i = 0; i < data.shape.size(); ++i)
    if (i != what.axis && indices.shape[i] > data.shape[i]) return false;
  const kernels::Reduction reduction = scatter_reduction(*node);
  const bool keeps_data = !attributes.has("use_init_val") || attributes.get_bool("use_init_val"),
             needs_hits = !keeps_data || reduction == kernels::Reduction::kMean,
             is_wide = indices.type == ElementType::kI64;
  const ElementType type = data.type;
  std::vector<BufferSlice> others;
  if (needs_hits) others.push_back(builder.scratch(element_count(data.shape) * sizeof(std::uint32_t)));
  add_scatter(builder, node, scattered(builder, node), others, [=](std::span<void* const> p) {
    auto* hits = needs_hits ? static_cast<std::uint32_t*>(p[3]) : nullptr;
    kernels::scatter_elements(what, type, reduction, keeps_data, {p[0], is_wide}, p[1], hits, p[2]);
  });
  return true;
}

bool lower_one_hot(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  Value &indices = builder.input(node, 0), &made = builder.value(node->output(0));
  if (!are_indices(indices.type) || bit_width(made.type) < 8 || element_count(made.shape) == 0) return false;
  const auto& attributes = node->get_attributes();
  const std::int64_t given = attributes.get_int("axis");
  const auto axis = static_cast<std::size_t>(given < 0 ? given + static_cast<std::int64_t>(made.shape.size()) : given);
  kernels::OneHot what;
  what.outer = extents_product(made.shape, 0, axis);
  what.depth = made.shape[axis];
  what.inner = extents_product(made.shape, axis + 1, made.shape.size());
  what.element_bytes = size_bytes(made.type);
  what.wraps = attributes.get_string("negative_indices_mode", "ignore_negative") == "normalize";
  const bool is_wide = indices.type == ElementType::kI64;
  const BufferSlice at = builder.plain(indices), on = builder.plain(builder.input(node, 2)),
                    off = builder.plain(builder.input(node, 3)), to = builder.define_plain(made);
  builder.add_kernel(node, "one hot", {at, on, off}, {to}, [what, is_wide](std::span<void* const> p) {
    kernels::one_hot(what, {p[0], is_wide}, p[1], p[2], p[3]);
  });
  return true;
}

}  // namespace

void register_indexing(LoweringTable& table) {
  table["OneHot"] = {lower_one_hot, false};
  table["GatherND"] = {lower_gather_nd, false};
  table["GatherElements"] = {lower_gather_elements, false};
  table["ScatterNDUpdate"] = {lower_scatter_nd, false};
  table["ScatterUpdate"] = {lower_scatter_update, false};
  table["ScatterElementsUpdate"] = {lower_scatter_elements, false};
}

}  // namespace tenon::inline v1::engine
