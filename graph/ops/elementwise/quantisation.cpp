// SPDX-License-Identifier: Apache-2.0
// Quantisation, simulated in real numbers.
#include <algorithm>
#include <cmath>

#include <tenon/graph/ops/internal/kernel.hpp>
#include <tenon/graph/ops/internal/table_rows.hpp>
#include <tenon/graph/small_floats.hpp>

namespace tenon {
inline namespace v1 {

namespace {
void infer_fake_quantize(Node& node) {
  const std::int64_t levels = node.get_attributes().get_int("levels");
  if (levels < 2) fail("attribute 'levels': expected 2 or more, found " + std::to_string(levels));
  const element::Type type = common_type(node, 0, 5);
  require_real(node, 0);
  PartialShape out = node.get_input_partial_shape(0);
  for (std::size_t i = 1; i < 5; ++i)
    out = broadcast_shapes(out, node.get_input_partial_shape(i), node.get_attributes().get_string("auto_broadcast"));
  if (!out.compatible(node.get_input_partial_shape(0))) fail("the limits are larger than the data: " + out.to_string());
  node.set_output_type(0, type,
                       node.get_input_partial_shape(0).rank().is_static() ? node.get_input_partial_shape(0) : out);
}

void evaluate_fake_quantize(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& shape = inputs[0].shape();
  std::vector<std::size_t> steps[4];
  for (std::size_t i = 0; i < 4; ++i) {
    const Shape& own = inputs[1 + i].shape();
    if (own.size() > shape.size()) fail("limits of shape " + to_string(own) + " for data of shape " + to_string(shape));
    steps[i].assign(shape.size(), 0);
    const auto strides = element_strides(own);
    for (std::size_t axis = 0; axis < own.size(); ++axis) {
      const std::size_t at = axis + shape.size() - own.size();
      if (own[axis] != 1 && own[axis] != shape[at])
        fail("limits of shape " + to_string(own) + " do not broadcast to " + to_string(shape));
      if (own[axis] != 1) steps[i][at] = strides[axis];
    }
  }
  dispatch_real(inputs[0].element_type(), [&](auto zero) {
    using T = decltype(zero);
    const T top = static_cast<T>(node.get_attributes().get_int("levels") - 1);
    const Read<T> x(inputs[0]),
        limits[4] = {Read<T>(inputs[1]), Read<T>(inputs[2]), Read<T>(inputs[3]), Read<T>(inputs[4])};
    Write<T> y(outputs[0]);
    std::vector<std::size_t> index(shape.size(), 0);
    for (std::size_t i = 0; i < x.size(); ++i) {
      T limit[4];
      for (std::size_t l = 0; l < 4; ++l) {
        std::size_t at = 0;
        for (std::size_t axis = 0; axis < shape.size(); ++axis) at += index[axis] * steps[l][axis];
        limit[l] = limits[l][at];
      }
      const auto [low, high, out_low, out_high] = limit;
      if (x[i] <= std::min(low, high))
        y[i] = out_low;
      else if (x[i] > std::max(low, high))
        y[i] = out_high;
      else
        y[i] = std::nearbyint((x[i] - low) / (high - low) * top) / top * (out_high - out_low) + out_low;
      // The level that represents zero is exactly zero, whatever rounding of the limits lost: functions that jump there
      // (Sign, a scale derived from the largest value) would show the difference.
      if (std::abs(y[i]) <= T(1e-6) * std::abs(out_low)) y[i] = 0;
      advance(index, shape);
    }
    y.commit();
  });
}

// --- FakeConvert: data, scale [, shift]; data * scale - shift rounded to a type of 8 bits ----------------------------

void infer_fake_convert(Node& node) {
  common_type(node, 0, node.get_input_size());
  require_real(node, 0);
  const PartialShape& data = node.get_input_partial_shape(0);
  for (std::size_t i = 1; i < node.get_input_size(); ++i) {
    const PartialShape both = broadcast_shapes(data, node.get_input_partial_shape(i), "numpy");
    if (data.rank().is_static() && both.rank().is_static() && both.size() != data.size())
      fail("input " + std::to_string(i) + " of shape " + node.get_input_partial_shape(i).to_string() +
           " is larger than the data " + data.to_string());
  }
  infer_same(node);
}

void evaluate_fake_convert(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& shape = inputs[0].shape();
  const bool is_wide = node.get_attributes().get_string("destination_type") == "f8e5m2";
  const ElementType type = is_wide ? ElementType::kF8E5M2 : ElementType::kF8E4M3;
  std::vector<std::size_t> steps[2];
  std::vector<float> values[2] = {to_vector<float>(inputs[1]), {0.0f}};
  if (inputs.size() > 2) values[1] = to_vector<float>(inputs[2]);
  for (std::size_t k = 0; k < 2; ++k) {
    steps[k].assign(shape.size(), 0);
    if (k + 1 >= inputs.size()) continue;
    const Shape& own = inputs[k + 1].shape();
    if (own.size() > shape.size())
      fail("input " + std::to_string(k + 1) + " of shape " + to_string(own) + " is larger than the data " +
           to_string(shape));
    const auto strides = element_strides(own);
    for (std::size_t axis = 0; axis < own.size(); ++axis) {
      const std::size_t at = axis + shape.size() - own.size();
      if (own[axis] != 1 && own[axis] != shape[at])
        fail("input " + std::to_string(k + 1) + " of shape " + to_string(own) + " does not broadcast to " +
             to_string(shape));
      if (own[axis] != 1) steps[k][at] = strides[axis];
    }
  }
  const Read<float> x(inputs[0]);
  Write<float> y(outputs[0]);
  std::vector<std::size_t> index(shape.size(), 0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::size_t at[2] = {0, 0};
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      for (std::size_t k = 0; k < 2; ++k) at[k] += index[axis] * steps[k][axis];
    const float scale = values[0][at[0]], shift = values[1][at[1]];
    y[i] = (small_float_value(type, small_float_code(type, x[i] * scale - shift)) + shift) / scale;
    advance(index, shape);
  }
  y.commit();
}
}  // namespace

void add_quantisation_rows(OperationTable& table) {
  table
      .add("FakeQuantize", 1, 5, 5, infer_fake_quantize, evaluate_fake_quantize,
           "Rounds to a number of levels between limits and maps to output limits.")
      .integer("levels")
      .text("auto_broadcast", "numpy", {"numpy", "none"});
  table
      .add("FakeConvert", 13, 2, 3, infer_fake_convert, evaluate_fake_convert,
           "Rounds scaled values to an 8-bit floating-point type.")
      .text("destination_type", "f8e4m3", {"f8e4m3", "f8e5m2"});
}

}  // namespace v1
}  // namespace tenon
