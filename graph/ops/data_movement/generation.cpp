// SPDX-License-Identifier: Apache-2.0
// Operations that create tensors from numbers.
#include <algorithm>
#include <cmath>

#include <tenon/graph/ops/internal/kernel.hpp>
#include <tenon/graph/ops/internal/table_rows.hpp>

namespace tenon {
inline namespace v1 {

namespace {
void require_one_value(const Node& node, std::size_t input) {
  const PartialShape& shape = node.get_input_partial_shape(input);
  if (shape.is_static() && element_count(shape.to_shape()) != 1)
    fail("input " + std::to_string(input) + " must hold one value, its shape is " + shape.to_string());
}

ElementType range_type(const Node& node) {
  return node.get_attributes().has("output_type") ? node.get_attributes().get_type("output_type")
                                                  : static_cast<ElementType>(node.get_input_element_type(0));
}
/// How many of start, start + step, ... lie before stop, all of them integers; nothing where 2^64 are not enough.
std::optional<std::uint64_t> steps_between(std::int64_t start, std::int64_t stop, std::int64_t step) {
  if (step > 0 ? start >= stop : start <= stop) return 0;
  // The difference of any two i64 fits in 64 bits, and so does the size of any step.
  const auto first = static_cast<std::uint64_t>(start), last = static_cast<std::uint64_t>(stop),
             by = static_cast<std::uint64_t>(step);
  const std::uint64_t distance = step > 0 ? last - first : first - last, size = step > 0 ? by : 0 - by;
  return (distance - 1) / size + 1;
}
/// The same where each is known as an integer; an f64 does not hold every i64.
std::optional<std::uint64_t> known_steps(const Node& node) {
  for (std::size_t i = 0; i < 3; ++i)
    if (node.get_input_element_type(i).is_dynamic() || node.get_input_element_type(i).is_real()) return std::nullopt;
  const auto start = known_ints(node, 0), stop = known_ints(node, 1), step = known_ints(node, 2);
  if (!start || !stop || !step || (*step)[0] == 0) return std::nullopt;
  return steps_between((*start)[0], (*stop)[0], (*step)[0]);
}
void infer_range(Node& node) {
  for (std::size_t i = 0; i < 3; ++i) require_one_value(node, i);
  Dimension count;
  const auto start = known_doubles(node, 0), stop = known_doubles(node, 1), step = known_doubles(node, 2);
  if (step && (*step)[0] == 0) fail("the step is 0");
  constexpr double kMostSteps = 1e15;
  if (const auto steps = known_steps(node)) {
    if (static_cast<double>(*steps) > kMostSteps) fail("a range of " + std::to_string(*steps) + " values is too large");
    count = Dimension(static_cast<std::int64_t>(*steps));
  } else if (start && stop && step) {
    double first = (*start)[0], last = (*stop)[0], by = (*step)[0];
    if (!std::isfinite(first) || !std::isfinite(last) || std::isnan(by)) fail("start, stop and step must be finite");
    if (!info(range_type(node)).is_real) {
      first = std::trunc(first);
      last = std::trunc(last);
      by = std::trunc(by);
      if (by == 0) fail("the step is 0");
    }
    const double steps = std::ceil((last - first) / by);
    if (steps > kMostSteps) fail("a range of " + std::to_string(steps) + " values is too large");
    count = Dimension(steps > 0 ? static_cast<std::int64_t>(steps) : 0);
  } else if (start && step && (*start)[0] == 0 && (*step)[0] == 1) {
    const auto bounds = node.get_input_element_type(1).is_real() ? std::nullopt : known_bounds(node, 1);
    if (bounds && (*bounds)[0].max >= 0)
      count = Dimension(std::max<std::int64_t>((*bounds)[0].min, 0),
                        (*bounds)[0].max == Dimension::kUnbounded ? -1 : (*bounds)[0].max);
  }
  node.set_output_type(0, range_type(node), PartialShape{count});
}
void evaluate_range(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const bool real = info(outputs[0].element_type()).is_real || info(inputs[0].element_type()).is_real ||
                    info(inputs[2].element_type()).is_real;
  if (!real) {
    Write<std::int64_t> y(outputs[0]);
    const auto start = static_cast<std::uint64_t>(to_vector<std::int64_t>(inputs[0]).at(0)),
               step = static_cast<std::uint64_t>(to_vector<std::int64_t>(inputs[2]).at(0));
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<std::int64_t>(start + i * step);
    y.commit();
    return;
  }
  double start = to_vector<double>(inputs[0]).at(0), step = to_vector<double>(inputs[2]).at(0);
  if (!info(outputs[0].element_type()).is_real) {
    start = std::trunc(start);
    step = std::trunc(step);
  }
  Write<double> y(outputs[0]);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = start + static_cast<double>(i) * step;
  y.commit();
}

void infer_one_hot(Node& node) {
  require_integral(node, 0);
  for (std::size_t i = 1; i < 4; ++i) require_one_value(node, i);
  const element::Type type = common_type(node, 2, 4);
  const PartialShape& indices = node.get_input_partial_shape(0);
  if (indices.rank().is_dynamic()) return node.set_output_type(0, type, PartialShape::dynamic());
  const std::size_t axis = normalized_axis(node.get_attributes().get_int("axis"), indices.size() + 1);
  const auto depth = known_ints(node, 1);
  if (depth && (*depth)[0] < 0) fail("the depth " + std::to_string((*depth)[0]) + " is negative");
  PartialShape out;
  for (std::size_t i = 0; i <= indices.size(); ++i) {
    if (i == axis)
      out.push_back(depth ? Dimension((*depth)[0]) : Dimension::dynamic());
    else
      out.push_back(indices[i - (i > axis)]);
  }
  node.set_output_type(0, type, out);
}
void evaluate_one_hot(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape &in = inputs[0].shape(), &out = outputs[0].shape();
  const std::size_t axis = normalized_axis(node.get_attributes().get_int("axis"), in.size() + 1);
  if (outputs[0].element_count() == 0) return;
  const bool wraps = node.get_attributes().get_string("negative_indices_mode", "ignore_negative") == "normalize";
  const std::size_t size = movable_size(outputs[0]), depth = out[axis], outer = extent_product(out, 0, axis),
                    inner = extent_product(out, axis + 1, out.size());
  const Read<std::int64_t> indices(inputs[0]);
  auto* to = static_cast<char*>(outputs[0].data());
  for (std::size_t o = 0; o < outer; ++o) {
    for (std::size_t d = 0; d < depth; ++d) {
      for (std::size_t i = 0; i < inner; ++i, to += size) {
        std::int64_t index = indices[o * inner + i];
        if (wraps && index < 0) index += static_cast<std::int64_t>(depth);
        const Tensor& value = inputs[index == static_cast<std::int64_t>(d) ? 2 : 3];
        std::memcpy(to, value.data(), size);
      }
    }
  }
}

void infer_eye(Node& node) {
  for (std::size_t i = 0; i < 3; ++i) {
    require_integral(node, i);
    require_one_value(node, i);
  }
  PartialShape out;
  if (node.get_input_size() > 3) out = shape_from_input(node, 3);
  if (out.rank().is_dynamic()) return node.set_output_type(0, node.get_attributes().get_type("output_type"), out);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto extent = known_ints(node, i);
    if (extent && (*extent)[0] < 0) fail("input " + std::to_string(i) + " is negative");
    out.push_back(extent ? Dimension((*extent)[0]) : Dimension::dynamic());
  }
  node.set_output_type(0, node.get_attributes().get_type("output_type"), out);
}
void evaluate_eye(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& shape = outputs[0].shape();
  if (outputs[0].element_count() == 0) return;
  const auto shift = to_vector<std::int64_t>(inputs[2]).at(0);
  const auto rows = static_cast<std::int64_t>(shape[shape.size() - 2]),
             columns = static_cast<std::int64_t>(shape.back());
  Write<std::int64_t> y(outputs[0]);
  std::int64_t at = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::int64_t row = at / columns % rows, column = at % columns;
    y[i] = column - row == shift;
    ++at;
  }
  y.commit();
}
}  // namespace

void add_generation_rows(OperationTable& table) {
  table.add("Range", 1, 3, 3, infer_range, evaluate_range, "start, start + step, ... below stop.");
  table.add("Range", 4, 3, 3, infer_range, evaluate_range, "start, start + step, ... below stop.").type("output_type");
  table
      .add("OneHot", 1, 4, 4, infer_one_hot, evaluate_one_hot,
           "On-value where the index is the position, else off-value.")
      .integer("axis");
  table
      .add("OneHot", 16, 4, 4, infer_one_hot, evaluate_one_hot,
           "On-value where the index is the position, else off-value.")
      .integer("axis")
      .text("negative_indices_mode", "ignore_negative", {"ignore_negative", "normalize"});
  table.add("Eye", 9, 3, 4, infer_eye, evaluate_eye, "Ones on a diagonal.").type("output_type");
}

}  // namespace v1
}  // namespace tenon
