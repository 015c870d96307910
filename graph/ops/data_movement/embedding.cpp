// SPDX-License-Identifier: Apache-2.0
// Embedding bags (sums of table rows), segment maxima, and filling of empty sparse rows.
#include <algorithm>
#include <limits>

#include <tenon/graph/ops/internal/kernel.hpp>
#include <tenon/graph/ops/internal/table_rows.hpp>

namespace tenon {
inline namespace v1 {

namespace {
using Indices = std::vector<std::int64_t>;
constexpr std::int64_t kMaxSegments = std::int64_t{1} << 24;

/// The table's shape with another number of rows.
PartialShape rows_of(const Node& node, const Dimension& rows) {
  PartialShape shape = node.get_input_partial_shape(0);
  if (shape.rank().is_dynamic()) return shape;
  if (shape.size() < 1) fail("input 0 is a scalar; it has no rows");
  shape[0] = rows;
  return shape;
}

/// The rows of a bag: positions [begin, end) of the indices.
struct Bag {
  std::size_t begin = 0, end = 0;
};

/// @param weights  one for each index, or empty; @param fallback  the row of an empty bag, or -1 for zeros.
template <typename T>
void sum_bags(const Tensor& table, const Indices& indices, const std::vector<Bag>& bags, const std::vector<T>& weights,
              std::int64_t fallback, bool is_mean, Tensor& output) {
  const auto rows = static_cast<std::int64_t>(table.shape()[0]);
  const std::size_t width = extent_product(table.shape(), 1, table.shape().size());
  const Read<T> x(table);
  Write<T> y(output);
  const auto row = [&](std::int64_t index) {
    if (index < 0 || index >= rows)
      fail("index " + std::to_string(index) + " is outside of a table of " + std::to_string(rows) + " rows");
    return x.data() + static_cast<std::size_t>(index) * width;
  };
  for (std::size_t b = 0; b < bags.size(); ++b) {
    T* to = y.data() + b * width;
    std::fill(to, to + width, T{0});
    for (std::size_t i = bags[b].begin; i < bags[b].end; ++i) {
      const T* from = row(indices[i]);
      const T weight = weights.empty() ? T{1} : weights[i];
      for (std::size_t k = 0; k < width; ++k) to[k] += from[k] * weight;
    }
    const std::size_t count = bags[b].end - bags[b].begin;
    if (count == 0 && fallback >= 0) std::copy_n(row(fallback), width, to);
    if (is_mean && count > 0)
      for (std::size_t k = 0; k < width; ++k) to[k] /= static_cast<T>(count);
  }
  y.commit();
}

void run_bags(const Node& node, std::span<const Tensor> inputs, const Indices& indices, const std::vector<Bag>& bags,
              std::size_t fallback, std::size_t weights, Tensor& output) {
  const bool is_mean = node.get_attributes().get_string("reduction", "sum") == "mean";
  dispatch_compute(inputs[0].element_type(), [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> factors;
    if (weights < inputs.size()) factors = to_vector<T>(inputs[weights]);
    if (!factors.empty() && factors.size() != indices.size())
      fail("there are " + std::to_string(factors.size()) + " weights for " + std::to_string(indices.size()) +
           " indices");
    const std::int64_t row = fallback < inputs.size() ? to_vector<std::int64_t>(inputs[fallback]).at(0) : -1;
    sum_bags<T>(inputs[0], indices, bags, factors, row, is_mean, output);
  });
}

/// Before the data is read: weights belong to sums.
void check_reduction(const Node& node, std::size_t weights) {
  if (node.get_attributes().get_string("reduction", "sum") == "mean" && weights < node.get_input_size())
    fail("reduction \"mean\" takes no weights");
}

// --- table, indices, offsets [, default_index, weights] -----------------------------------------------------------------

void infer_offsets(Node& node) {
  require_integral(node, 1);
  require_rank(node, 1, 1, 1);
  require_rank(node, 2, 1, 1);
  check_reduction(node, 4);
  const PartialShape& offsets = node.get_input_partial_shape(2);
  set_output(node, 0, rows_of(node, offsets.rank().is_static() ? offsets[0] : Dimension::dynamic()));
}

void evaluate_offsets(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const auto indices = to_vector<std::int64_t>(inputs[1]), offsets = to_vector<std::int64_t>(inputs[2]);
  std::vector<Bag> bags;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const std::int64_t end = i + 1 < offsets.size() ? offsets[i + 1] : static_cast<std::int64_t>(indices.size());
    if (offsets[i] < 0 || end < offsets[i] || end > static_cast<std::int64_t>(indices.size()))
      fail("bag " + std::to_string(i) + " goes from " + std::to_string(offsets[i]) + " to " + std::to_string(end) +
           " of " + std::to_string(indices.size()) + " indices");
    bags.push_back({static_cast<std::size_t>(offsets[i]), static_cast<std::size_t>(end)});
  }
  run_bags(node, inputs, indices, bags, 3, 4, outputs[0]);
}

// --- table, indices [batch, in each] [, weights] ------------------------------------------------------------------------

void infer_packed(Node& node) {
  require_integral(node, 1);
  require_rank(node, 1, 2, 2);
  check_reduction(node, 2);
  const PartialShape& indices = node.get_input_partial_shape(1);
  set_output(node, 0, rows_of(node, indices.rank().is_static() ? indices[0] : Dimension::dynamic()));
}

void evaluate_packed(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const std::size_t each = inputs[1].shape()[1];
  std::vector<Bag> bags;
  for (std::size_t i = 0; i < inputs[1].shape()[0]; ++i) bags.push_back({i * each, (i + 1) * each});
  run_bags(node, inputs, to_vector<std::int64_t>(inputs[1]), bags, inputs.size(), 2, outputs[0]);
}

// --- table, indices, segment_ids, num_segments [, default_index, weights] -----------------------------------------------

Dimension segments_of(const Node& node, std::size_t input) {
  const auto known = known_ints(node, input);
  if (!known) return Dimension::dynamic();
  if (known->size() != 1 || (*known)[0] < 0 || (*known)[0] > kMaxSegments)
    fail("num_segments is " + std::to_string(known->empty() ? 0 : (*known)[0]) + ", expected 0 to 2^24");
  return Dimension((*known)[0]);
}

void infer_segments(Node& node) {
  require_integral(node, 1);
  require_rank(node, 1, 1, 1);
  require_rank(node, 2, 1, 1);
  set_output(node, 0, rows_of(node, segments_of(node, 3)));
}

/// Sorted identifiers as bags.
std::vector<Bag> bags_of(const Indices& ids, std::size_t count) {
  std::vector<Bag> bags(count);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || (i > 0 && ids[i] < ids[i - 1]))
      fail("segment_ids must ascend from 0, found " + std::to_string(ids[i]) + " at place " + std::to_string(i));
    if (ids[i] >= static_cast<std::int64_t>(count)) continue;
    Bag& bag = bags[static_cast<std::size_t>(ids[i])];
    if (bag.end == 0) bag.begin = i;
    bag.end = i + 1;
  }
  return bags;
}

/// Allocates an output whose first extent is known only now.
void allocate_rows(const Tensor& like, std::size_t rows, Tensor& output) {
  Shape shape = like.shape();
  shape[0] = rows;
  if (!output || !(output.shape() == shape)) output = Tensor(like.element_type(), shape);
}

std::size_t segment_count(std::int64_t count) {
  if (count < 0 || count > kMaxSegments) fail("num_segments is " + std::to_string(count) + ", expected 0 to 2^24");
  return static_cast<std::size_t>(count);
}

void evaluate_segments(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const auto indices = to_vector<std::int64_t>(inputs[1]), ids = to_vector<std::int64_t>(inputs[2]);
  if (indices.size() != ids.size())
    fail("there are " + std::to_string(indices.size()) + " indices and " + std::to_string(ids.size()) + " segment_ids");
  const std::size_t count = segment_count(to_vector<std::int64_t>(inputs[3]).at(0));
  allocate_rows(inputs[0], count, outputs[0]);
  run_bags(node, inputs, indices, bags_of(ids, count), 4, 5, outputs[0]);
}

// --- SegmentMax: data, segment_ids [, num_segments] ---------------------------------------------------------------------

void infer_segment_max(Node& node) {
  require_rank(node, 1, 1, 1);
  Dimension count;
  if (node.get_input_size() > 2) {
    count = segments_of(node, 2);
  } else if (const auto ids = known_ints(node, 1)) {
    count = ids->empty() ? 0 : ids->back() + 1;
  }
  set_output(node, 0, rows_of(node, count));
}

void evaluate_segment_max(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const auto ids = to_vector<std::int64_t>(inputs[1]);
  if (ids.size() != inputs[0].shape()[0])
    fail("there are " + std::to_string(inputs[0].shape()[0]) + " rows and " + std::to_string(ids.size()) +
         " segment_ids");
  const std::size_t count = segment_count(inputs.size() > 2 ? to_vector<std::int64_t>(inputs[2]).at(0)
                                          : ids.empty()     ? 0
                                                            : ids.back() + 1);
  const bool lowest = node.get_attributes().get_string("fill_mode") == "lowest";
  allocate_rows(inputs[0], count, outputs[0]);
  const auto bags = bags_of(ids, count);
  const std::size_t width = extent_product(inputs[0].shape(), 1, inputs[0].shape().size());
  dispatch_compute(inputs[0].element_type(), [&](auto zero) {
    using T = decltype(zero);
    const Read<T> x(inputs[0]);
    Write<T> y(outputs[0]);
    for (std::size_t b = 0; b < bags.size(); ++b) {
      T* to = y.data() + b * width;
      const bool is_empty = bags[b].begin == bags[b].end;
      std::fill(to, to + width, is_empty && !lowest ? T{0} : std::numeric_limits<T>::lowest());
      for (std::size_t i = bags[b].begin; i < bags[b].end; ++i)
        for (std::size_t k = 0; k < width; ++k) to[k] = std::max(to[k], x[i * width + k]);
    }
    y.commit();
  });
}

// --- SparseFillEmptyRows: values, dense_shape [2], indices [n, 2], default_value ----------------------------------------

void infer_fill_rows(Node& node) {
  require_rank(node, 0, 1, 1);
  require_rank(node, 1, 1, 1);
  require_rank(node, 2, 2, 2);
  Dimension rows;
  if (const auto shape = known_ints(node, 1)) {
    if (shape->size() != 2 || (*shape)[0] < 0 || (*shape)[0] > kMaxSegments)
      fail("dense_shape must be two numbers, rows from 0 to 2^24");
    rows = (*shape)[0];
  }
  node.set_output_type(0, node.get_input_element_type(2), {Dimension::dynamic(), 2});
  node.set_output_type(1, node.get_input_element_type(0), {Dimension::dynamic()});
  node.set_output_type(2, ElementType::kBool, {rows});
}

void evaluate_fill_rows(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const std::size_t count = inputs[0].element_count();
  const auto shape = to_vector<std::int64_t>(inputs[1]), indices = to_vector<std::int64_t>(inputs[2]);
  if (shape.size() != 2 || shape[0] < 0 || shape[0] > kMaxSegments || indices.size() != count * 2)
    fail("dense_shape has " + std::to_string(shape.size()) + " values and indices " + std::to_string(indices.size()) +
         " numbers for " + std::to_string(count) + " values");
  // Places, each with where its value is among the given ones; behind these is the fallback.
  std::vector<std::pair<std::pair<std::int64_t, std::int64_t>, std::size_t>> all;
  std::vector<std::int64_t> is_empty(static_cast<std::size_t>(shape[0]), 1);
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t row = indices[2 * i];
    if (row < 0 || row >= shape[0])
      fail("row " + std::to_string(row) + " is outside of " + std::to_string(shape[0]) + " rows");
    is_empty[static_cast<std::size_t>(row)] = 0;
    all.push_back({{row, indices[2 * i + 1]}, i});
  }
  for (std::size_t row = 0; row < is_empty.size(); ++row)
    if (is_empty[row]) all.push_back({{static_cast<std::int64_t>(row), 0}, count});
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first.first < b.first.first; });
  std::vector<std::int64_t> places;
  for (const auto& [place, value] : all) places.insert(places.end(), {place.first, place.second});
  outputs[0] = Tensor(inputs[2].element_type(), Shape{all.size(), 2});
  outputs[1] = Tensor(inputs[0].element_type(), Shape{all.size()});
  if (!outputs[2] || outputs[2].element_count() != is_empty.size())
    outputs[2] = Tensor(ElementType::kBool, Shape{is_empty.size()});
  if (!all.empty()) {
    store_elements(outputs[0].element_type(), places.data(), places.size(), outputs[0].data());
    dispatch_compute(inputs[0].element_type(), [&](auto zero) {
      auto values = to_vector<decltype(zero)>(inputs[0]);
      values.push_back(to_vector<decltype(zero)>(inputs[3]).at(0));
      std::vector<decltype(zero)> numbers;
      for (const auto& [place, value] : all) numbers.push_back(values[value]);
      store_elements(outputs[1].element_type(), numbers.data(), numbers.size(), outputs[1].data());
    });
  }
  if (!is_empty.empty()) store_elements(ElementType::kBool, is_empty.data(), is_empty.size(), outputs[2].data());
}
}  // namespace

void add_embedding_rows(OperationTable& table) {
  const std::vector<std::string> reductions = {"sum", "mean"};
  table.add("EmbeddingBagOffsetsSum", 3, 3, 5, infer_offsets, evaluate_offsets,
            "Sums of a table's rows, in bags that begin at offsets.");
  table
      .add("EmbeddingBagOffsets", 15, 3, 5, infer_offsets, evaluate_offsets,
           "Sums or means of a table's rows, in bags that begin at offsets.")
      .text("reduction", "sum", reductions);
  table.add("EmbeddingBagPackedSum", 3, 2, 3, infer_packed, evaluate_packed,
            "Sums of a table's rows, in bags of equal size.");
  table
      .add("EmbeddingBagPacked", 15, 2, 3, infer_packed, evaluate_packed,
           "Sums or means of a table's rows, in bags of equal size.")
      .text("reduction", "sum", reductions);
  table.add("EmbeddingSegmentsSum", 3, 4, 6, infer_segments, evaluate_segments, "Sums of a table's rows by segments.");
  table.add("SegmentMax", 16, 2, 3, infer_segment_max, evaluate_segment_max, "The maximum of the rows of each segment.")
      .text("fill_mode", {}, {"zero", "lowest"});
  table.add("SparseFillEmptyRows", 16, 4, 4, infer_fill_rows, evaluate_fill_rows,
            "A sparse matrix with one value in each empty row.");
}

}  // namespace v1
}  // namespace tenon
