// SPDX-License-Identifier: Apache-2.0
// Unique: distinct values, or distinct slices along an axis.
#include <algorithm>
#include <numeric>

#include <tenon/graph/ops/internal/kernel.hpp>
#include <tenon/graph/ops/internal/table_rows.hpp>

namespace tenon {
inline namespace v1 {

namespace {
void infer_unique(Node& node) {
  const PartialShape& data = node.get_input_partial_shape(0);
  PartialShape values = PartialShape::dynamic();
  Dimension most = Dimension::dynamic(), total = Dimension::dynamic();
  if (node.get_input_size() < 2) {
    if (data.is_static()) total = most = static_cast<std::int64_t>(element_count(data.to_shape()));
    values = PartialShape{Dimension(most.get_min_length() == 0 ? 0 : 1, most.get_max_length())};
  } else if (const auto axis = known_ints(node, 1); axis && data.rank().is_static()) {
    if (axis->size() != 1) fail("the axis must be one value, found " + std::to_string(axis->size()));
    const std::size_t at = normalized_axis((*axis)[0], data.size());
    total = most = data[at];
    values = data;
    values[at] = Dimension(most.get_min_length() == 0 ? 0 : 1, most.get_max_length());
  }
  const Dimension count =
      most.is_static() ? Dimension(most.get_length() == 0 ? 0 : 1, most.get_length()) : Dimension::dynamic();
  set_output(node, 0, values);
  const ElementType index = node.get_attributes().get_type("index_element_type");
  node.set_output_type(1, index, {count});
  node.set_output_type(2, index, {total});
  node.set_output_type(3, node.get_attributes().get_type("count_element_type"), {count});
}

Tensor integers(ElementType type, const std::vector<std::int64_t>& values) {
  Tensor tensor(type, Shape{values.size()});
  if (!values.empty()) store_elements(type, values.data(), values.size(), tensor.data());
  return tensor;
}

void evaluate_unique(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& shape = inputs[0].shape();
  const bool is_flat = inputs.size() < 2;
  const std::size_t axis = is_flat ? 0 : normalized_axis(to_vector<std::int64_t>(inputs[1]).at(0), shape.size());
  const std::size_t count = is_flat ? inputs[0].element_count() : shape[axis];
  const std::size_t outer = is_flat ? 1 : extent_product(shape, 0, axis);
  const std::size_t inner = is_flat ? 1 : extent_product(shape, axis + 1, shape.size());
  std::vector<std::size_t> order(count), group_of(count);
  // Groups of equal items; the first of each represents it.
  std::vector<std::int64_t> first, counts;
  // In the type's own arithmetic: an f64 holds integers up to 2^53 only.
  dispatch_compute(inputs[0].element_type(), [&](auto zero) {
    using T = decltype(zero);
    const Read<T> x(inputs[0]);
    const auto element = [&](std::size_t item, std::size_t k) {
      return x[(k / inner * count + item) * inner + k % inner];
    };
    // NaN is the greatest, so that the order is total, and all NaNs are one value, as in numpy.unique.
    const auto compare = [&](std::size_t a, std::size_t b) {
      for (std::size_t k = 0; k < outer * inner; ++k) {
        const T p = element(a, k), q = element(b, k);
        if (p < q || (p == p && q != q)) return -1;
        if (q < p || (p != p && q == q)) return 1;
      }
      return 0;
    };
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return compare(a, b) < 0; });
    for (std::size_t i = 0; i < count; ++i) {
      if (i == 0 || compare(order[i - 1], order[i]) != 0) {
        first.push_back(static_cast<std::int64_t>(order[i]));
        counts.push_back(0);
      }
      group_of[order[i]] = first.size() - 1;
      ++counts.back();
    }
  });
  std::vector<std::size_t> rank(first.size());
  std::iota(rank.begin(), rank.end(), std::size_t{0});
  if (!node.get_attributes().get_bool("sorted"))
    std::sort(rank.begin(), rank.end(), [&](std::size_t a, std::size_t b) { return first[a] < first[b]; });
  std::vector<std::size_t> place(rank.size());
  std::vector<std::int64_t> firsts, numbers, inverse;
  for (std::size_t i = 0; i < rank.size(); ++i) {
    place[rank[i]] = i;
    firsts.push_back(first[rank[i]]);
    numbers.push_back(counts[rank[i]]);
  }
  for (std::size_t i = 0; i < count; ++i) inverse.push_back(static_cast<std::int64_t>(place[group_of[i]]));
  Shape kept = is_flat ? Shape{firsts.size()} : shape;
  kept[axis] = firsts.size();
  Tensor packed(inputs[0].element_type(), shape);
  move_tensor(inputs[0], packed);
  const std::size_t run = inner * movable_size(packed);
  Tensor values(inputs[0].element_type(), kept);
  for (std::size_t o = 0; o < outer; ++o)
    for (std::size_t i = 0; i < firsts.size(); ++i)
      std::memcpy(static_cast<char*>(values.data()) + (o * firsts.size() + i) * run,
                  static_cast<const char*>(packed.data()) + (o * count + static_cast<std::size_t>(firsts[i])) * run,
                  run);
  const ElementType index = node.get_attributes().get_type("index_element_type");
  outputs[0] = values;
  outputs[1] = integers(index, firsts);
  outputs[2] = integers(index, inverse);
  outputs[3] = integers(node.get_attributes().get_type("count_element_type"), numbers);
}
}  // namespace

void add_unique_rows(OperationTable& table) {
  table.add("Unique", 10, 1, 2, infer_unique, evaluate_unique, "Each value, or slice along an axis, once.")
      .flag("sorted", true)
      .type("index_element_type", ElementType::kI64)
      .type("count_element_type", ElementType::kI64);
}

}  // namespace v1
}  // namespace tenon
