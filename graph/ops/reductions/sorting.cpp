// SPDX-License-Identifier: Apache-2.0
// The largest or smallest elements along an axis, and positions of non-zero elements.
#include <algorithm>
#include <numeric>

#include <tenon/graph/ops/internal/kernel.hpp>
#include <tenon/graph/ops/internal/table_rows.hpp>

namespace tenon {
inline namespace v1 {

namespace {
void infer_top_k(Node& node) {
  PartialShape out = node.get_input_partial_shape(0);
  const ElementType index = node.get_attributes().get_type("index_element_type");
  if (index != ElementType::kI32 && index != ElementType::kI64)
    fail("attribute 'index_element_type': expected i32 or i64, found " + std::string(name(index)));
  require_integral(node, 1);
  if (out.rank().is_static()) {
    const std::size_t axis = normalized_axis(node.get_attributes().get_int("axis"), out.size());
    const auto k = known_bounds(node, 1);
    if (k && k->size() != 1) fail("k must be one value, found " + std::to_string(k->size()));
    if (!k) {
      out[axis] = Dimension(0, out[axis].get_max_length());
    } else {
      const Dimension wanted = to_dimension((*k)[0]);
      if (wanted.is_static() && out[axis].is_static() && wanted.get_length() > out[axis].get_length()) {
        fail("k is " + wanted.to_string() + ", axis " + std::to_string(axis) + " of " + out.to_string() +
             " holds fewer");
      }
      out[axis] = wanted;
    }
  }
  set_output(node, 0, out);
  node.set_output_type(1, index, out);
}
void evaluate_top_k(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& shape = inputs[0].shape();
  const std::size_t axis = normalized_axis(node.get_attributes().get_int("axis"), shape.size());
  const bool largest = node.get_attributes().get_string("mode") == "max";
  const std::string& sort = node.get_attributes().get_string("sort");
  const std::size_t k = outputs[0].shape().at(axis), extent = shape[axis];
  if (k > extent) fail("k is " + std::to_string(k) + ", the axis holds " + std::to_string(extent));
  const std::size_t outer = extent_product(shape, 0, axis), inner = extent_product(shape, axis + 1, shape.size());
  dispatch_compute(inputs[0].element_type(), [&](auto zero) {
    using T = decltype(zero);
    const Read<T> x(inputs[0]);
    Write<T> values(outputs[0]);
    Write<std::int64_t> indices(outputs[1]);
    std::vector<std::size_t> order(extent);
    for (std::size_t o = 0; o < outer; ++o) {
      for (std::size_t i = 0; i < inner; ++i) {
        const T* line = x.data() + o * extent * inner + i;
        std::iota(order.begin(), order.end(), std::size_t{0});
        // Equal values keep their order; NaN counts as the largest, so that the order is total.
        const auto before = [&](std::size_t a, std::size_t b) {
          const T p = line[a * inner], q = line[b * inner];
          const bool p_nan = p != p, q_nan = q != q;
          if (p_nan || q_nan) return p_nan && q_nan ? a < b : (p_nan ? largest : !largest);
          if (p != q) return largest ? p > q : p < q;
          return a < b;
        };
        std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k), order.end(), before);
        if (sort == "index") std::sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k));
        for (std::size_t n = 0; n < k; ++n) {
          values[(o * k + n) * inner + i] = line[order[n] * inner];
          indices[(o * k + n) * inner + i] = static_cast<std::int64_t>(order[n]);
        }
      }
    }
    values.commit();
    indices.commit();
  });
}

void infer_non_zero(Node& node) {
  const PartialShape& data = node.get_input_partial_shape(0);
  const Dimension rows =
      data.rank().is_static() ? Dimension(static_cast<std::int64_t>(data.size())) : Dimension::dynamic();
  Dimension max(1);
  if (data.rank().is_static()) {
    for (const Dimension& d : data) max = max * d;
  } else {
    max = Dimension::dynamic();
  }
  node.set_output_type(0, node.get_attributes().get_type("output_type"),
                       PartialShape{rows, Dimension(0, max.get_max_length())});
}
void evaluate_non_zero(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& shape = inputs[0].shape();
  const Read<double> x(inputs[0]);
  std::vector<std::vector<std::int64_t>> rows(shape.size());
  std::vector<std::size_t> index(shape.size(), 0);
  std::size_t count = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] != 0) {
      ++count;
      for (std::size_t axis = 0; axis < shape.size(); ++axis)
        rows[axis].push_back(static_cast<std::int64_t>(index[axis]));
    }
    advance(index, shape);
  }
  const ElementType type = node.get_attributes().get_type("output_type");
  outputs[0] = Tensor(type, Shape{shape.size(), count});
  if (count == 0) return;
  auto* to = static_cast<char*>(shape.empty() ? nullptr : outputs[0].data());
  for (const auto& row : rows) {
    store_elements(type, row.data(), count, to);
    to += count * size_bytes(type);
  }
}
}  // namespace

void add_sorting_rows(OperationTable& table) {
  const auto row = [&](unsigned opset) {
    return table
        .add("TopK", opset, 2, 2, infer_top_k, evaluate_top_k,
             "The k largest or smallest elements along an axis, and their indices.")
        .integer("axis")
        .text("mode", {}, {"max", "min"})
        .text("sort", "value", {"value", "index", "none"})
        .type("index_element_type", ElementType::kI32);
  };
  row(1);
  row(3);
  row(11).flag("stable", false);
  table
      .add("NonZero", 3, 1, 1, infer_non_zero, evaluate_non_zero,
           "Indices of elements that are not 0, one row per axis.")
      .type("output_type", ElementType::kI64);
}

}  // namespace v1
}  // namespace tenon
