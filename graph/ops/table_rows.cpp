// SPDX-License-Identifier: Apache-2.0
// Helpers of shape functions.
#include <tenon/graph/ops/internal/table_rows.hpp>

#include <algorithm>

#include <tenon/core/tensor.hpp>
#include <tenon/graph/ops/internal/kernel.hpp>

namespace tenon {
inline namespace v1 {

OperationTable::Row OperationTable::add(const char* type, unsigned opset, std::size_t min_inputs,
                                        std::size_t max_inputs, void (*infer)(Node&), Kernel evaluate,
                                        const char* description) {
  Operation& row = rows_.emplace_back();
  row.type = type;
  row.opset = opset;
  row.version = "opset" + std::to_string(opset);
  row.type_info = {row.type, row.version};
  row.description = description;
  row.min_inputs = min_inputs;
  row.max_inputs = max_inputs;
  row.infer = infer;
  row.evaluate = evaluate;
  return Row(row);
}

void fail(const std::string& message) { throw Error(Code::kInvalidArgument, message); }

element::Type common_type(const Node& node, std::size_t first, std::size_t last) {
  element::Type type;
  std::size_t from = first;
  for (std::size_t i = first; i < last; ++i) {
    const element::Type other = node.get_input_element_type(i);
    if (other.is_dynamic()) continue;
    if (type.is_dynamic()) {
      type = other;
      from = i;
    } else if (!(type == other)) {
      fail("inputs " + std::to_string(from) + " and " + std::to_string(i) + " must have one element type, found " +
           type.to_string() + " and " + other.to_string());
    }
  }
  return type;
}

namespace {
void wrong_type(const Node& node, std::size_t input, const char* expected) {
  fail("input " + std::to_string(input) + ": expected " + expected + ", found " +
       node.get_input_element_type(input).to_string());
}
}  // namespace

void require_real(const Node& node, std::size_t input) {
  const element::Type type = node.get_input_element_type(input);
  if (!type.is_dynamic() && !type.is_real()) wrong_type(node, input, "a real type (f16, bf16, f32, f64)");
}
void require_integral(const Node& node, std::size_t input) {
  const element::Type type = node.get_input_element_type(input);
  if (!type.is_dynamic() && (type.is_real() || type == ElementType::kBool)) wrong_type(node, input, "an integer type");
}

std::optional<std::size_t> static_rank(const Node& node, std::size_t input) {
  const Rank rank = node.get_input_partial_shape(input).rank();
  if (rank.is_dynamic()) return std::nullopt;
  return static_cast<std::size_t>(rank.get_length());
}

void require_rank(const Node& node, std::size_t input, std::size_t min, std::size_t max) {
  const auto rank = static_rank(node, input);
  if (!rank || (*rank >= min && *rank <= max)) return;
  fail("input " + std::to_string(input) + ": expected rank " + std::to_string(min) +
       (max == min ? "" : ".." + std::to_string(max)) + ", found " + std::to_string(*rank) + " (shape " +
       node.get_input_partial_shape(input).to_string() + ")");
}

std::optional<std::vector<std::int64_t>> known_ints(const Node& node, std::size_t input) {
  const auto& value = node.get_input_tensor(input).value();
  if (value) {
    if (info(value->element_type()).is_real) wrong_type(node, input, "an integer type");
    return to_vector<std::int64_t>(*value);
  }
  const auto& bounds = node.get_input_tensor(input).bounds();
  if (bounds.empty() || !std::all_of(bounds.begin(), bounds.end(), [](const ValueBound& b) { return b.is_known(); }))
    return std::nullopt;
  std::vector<std::int64_t> values;
  for (const ValueBound& bound : bounds) values.push_back(bound.min);
  return values;
}

std::optional<std::vector<double>> known_doubles(const Node& node, std::size_t input) {
  const auto& value = node.get_input_tensor(input).value();
  if (!value) return std::nullopt;
  return to_vector<double>(*value);
}

std::optional<std::vector<ValueBound>> known_bounds(const Node& node, std::size_t input) {
  if (const auto values = known_ints(node, input)) {
    std::vector<ValueBound> bounds;
    for (std::int64_t value : *values) bounds.push_back({value, value});
    return bounds;
  }
  const auto& bounds = node.get_input_tensor(input).bounds();
  if (bounds.empty()) return std::nullopt;
  return bounds;
}

Dimension to_dimension(const ValueBound& bound) {
  if (bound.max < 0)
    fail("a computed extent lies in " + std::to_string(bound.min) + ".." + std::to_string(bound.max) +
         ": it is negative");
  return Dimension(std::max<std::int64_t>(bound.min, 0), bound.max == Dimension::kUnbounded ? -1 : bound.max);
}

PartialShape shape_from_input(const Node& node, std::size_t input) {
  if (const auto bounds = known_bounds(node, input)) {
    PartialShape shape = PartialShape::dynamic(static_cast<std::int64_t>(bounds->size()));
    for (std::size_t i = 0; i < bounds->size(); ++i) shape[i] = to_dimension((*bounds)[i]);
    return shape;
  }
  const PartialShape& own = node.get_input_partial_shape(input);
  if (own.rank().is_dynamic()) return PartialShape::dynamic();
  if (own.size() == 0) return PartialShape::dynamic(1);
  // A count read from a file decides how much is allocated here: no tensor has more axes than this.
  if (own[0].is_dynamic()) return PartialShape::dynamic();
  if (own[0].get_length() > 64)
    fail("input " + std::to_string(input) + " spells a shape of " + own[0].to_string() +
         " axes; at most 64 are supported");
  return PartialShape::dynamic(own[0].get_length());
}

std::size_t normalized_axis(std::int64_t axis, std::size_t rank) {
  const auto count = static_cast<std::int64_t>(rank);
  if (axis < -count || axis >= count) {
    fail("axis " + std::to_string(axis) + " is outside " + std::to_string(-count) + ".." + std::to_string(count - 1) +
         " (rank " + std::to_string(rank) + ")");
  }
  return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
}

std::vector<std::size_t> normalized_axes(const std::vector<std::int64_t>& axes, std::size_t rank) {
  std::vector<std::size_t> all;
  for (std::int64_t axis : axes) all.push_back(normalized_axis(axis, rank));
  std::sort(all.begin(), all.end());
  const auto repeated = std::adjacent_find(all.begin(), all.end());
  if (repeated != all.end()) fail("axis " + std::to_string(*repeated) + " is given twice");
  return all;
}

PartialShape broadcast_shapes(const PartialShape& a, const PartialShape& b, std::string_view mode) {
  PartialShape result = a;
  const bool fits =
      mode == "none" ? PartialShape::merge_into(result, b) : PartialShape::broadcast_merge_into(result, b);
  if (!fits)
    fail("shapes " + a.to_string() + " and " + b.to_string() + " do not broadcast (auto_broadcast " +
         std::string(mode) + ")");
  return result;
}

void infer_same(Node& node) {
  node.set_output_type(0, node.get_input_element_type(0), node.get_input_partial_shape(0));
}
void set_output(Node& node, std::size_t index, const PartialShape& shape) {
  node.set_output_type(index, node.get_input_element_type(0), shape);
}

}  // namespace v1
}  // namespace tenon
