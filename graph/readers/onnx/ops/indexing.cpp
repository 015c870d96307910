// SPDX-License-Identifier: Apache-2.0
// ONNX: gathering, scattering and finding elements by index.
#include <tenon/graph/readers/onnx/internal/onnx.hpp>

#include <limits>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {

OutputVector gather(const NodeContext& node) {
  return {op("Gather", 8, {node.input(0), node.input(1), int_scalar(node.get_int("axis", 0))}, {{"batch_dims", 0}})};
}

// The table's GatherElements does not take negative indices.
Out from_zero(const Out& indices, const Out& extent) {
  const Out wide = convert(indices, ElementType::kI64);
  return select(op("Less", 1, {wide, int_scalar(0)}), add(wide, extent), wide);
}

OutputVector gather_elements(const NodeContext& node) {
  const Out& x = node.input(0);
  const std::int64_t axis = normalized_axis(node.get_int("axis", 0), node.rank(0));
  return {op("GatherElements", 6, {x, from_zero(node.input(1), extent_of(x, axis))}, {{"axis", axis}})};
}

// Extents of the indexed axes, so that negative indices can be made positive. Their number is the indices' last extent.
Out indexed_extents(const Out& x, const Out& indices, std::int64_t batch_dims) {
  const Out last = slice(shape_of(indices), -1, std::numeric_limits<std::int64_t>::max(), 0);
  return op("Slice", 8, {shape_of(x), ints({batch_dims}), add(last, ints({batch_dims})), ints({1}), ints({0})});
}

OutputVector gather_nd(const NodeContext& node) {
  const std::int64_t batch_dims = node.get_int("batch_dims", 0);
  const Out indices = from_zero(node.input(1), indexed_extents(node.input(0), node.input(1), batch_dims));
  return {op("GatherND", 8, {node.input(0), indices}, {{"batch_dims", batch_dims}})};
}

std::string scatter_reduction(const NodeContext& node) {
  const std::string reduction = node.get_string("reduction", "none");
  if (reduction == "add") return "sum";
  if (reduction == "mul") return "prod";
  if (reduction == "none" || reduction == "min" || reduction == "max") return reduction;
  fail("reduction \"" + reduction + "\" is none of none, add, mul, min, max");
}

OutputVector scatter_elements(const NodeContext& node) {
  const Out& x = node.input(0);
  const std::int64_t axis = normalized_axis(node.get_int("axis", 0), node.rank(0));
  const Out indices = from_zero(node.input(1), extent_of(x, axis));
  return {op("ScatterElementsUpdate", 12, {x, indices, node.input(2), int_scalar(axis)},
             {{"reduction", scatter_reduction(node)}, {"use_init_val", true}})};
}

OutputVector scatter_nd(const NodeContext& node) {
  const Out& x = node.input(0);
  const Out indices = from_zero(node.input(1), indexed_extents(x, node.input(1), 0));
  const std::string reduction = scatter_reduction(node);
  if (reduction == "none") return {op("ScatterNDUpdate", 4, {x, indices, node.input(2)})};
  return {op("ScatterNDUpdate", 15, {x, indices, node.input(2)}, {{"reduction", reduction}})};
}

OutputVector non_zero(const NodeContext& node) {
  return {op("NonZero", 3, {node.input(0)}, {{"output_type", ElementType::kI64}})};
}

OutputVector compress(const NodeContext& node) {
  Out x = node.input(0);
  std::int64_t axis = 0;
  if (node.has("axis"))
    axis = normalized_axis(node.get_int("axis"), node.rank(0));
  else
    x = reshape(x, Ints{-1});
  const Out where = op("NonZero", 3, {node.input(1)}, {{"output_type", ElementType::kI64}});
  return {op("Gather", 8, {x, squeeze(where, {0}), int_scalar(axis)}, {{"batch_dims", 0}})};
}

OutputVector one_hot(const NodeContext& node) {
  const Out depth = convert(reshape(node.input(1), Ints{}), ElementType::kI64);
  // Negative indices count from the end; indices out of range at either end stay out of range.
  const Out raw = convert(node.input(0), ElementType::kI64);
  const Out indices = select(op("Less", 1, {raw, int_scalar(0)}), add(raw, depth), raw);
  const Out& values = node.input(2);
  const Out off = op("Gather", 8, {values, int_scalar(0), int_scalar(0)}, {{"batch_dims", 0}});
  const Out on = op("Gather", 8, {values, int_scalar(1), int_scalar(0)}, {{"batch_dims", 0}});
  return {op("OneHot", 1, {indices, depth, on, off}, {{"axis", node.get_int("axis", -1)}})};
}

OutputVector unique(const NodeContext& node) {
  const bool sorted = node.get_int("sorted", 1) != 0;
  Attributes attributes{
      {"sorted", sorted}, {"index_element_type", ElementType::kI64}, {"count_element_type", ElementType::kI64}};
  OutputVector inputs{node.input(0)};
  if (node.has("axis")) inputs.push_back(int_scalar(node.get_int("axis")));
  return ops("Unique", 10, inputs, attributes);
}

}  // namespace

void add_indexing(ConverterTable& table) {
  table[":Gather"] = gather;
  table[":GatherElements"] = gather_elements;
  table[":GatherND"] = gather_nd;
  table[":ScatterElements"] = scatter_elements;
  table[":Scatter"] = scatter_elements;
  table[":ScatterND"] = scatter_nd;
  table[":NonZero"] = non_zero;
  table[":Compress"] = compress;
  table[":OneHot"] = one_hot;
  table[":Unique"] = unique;
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
