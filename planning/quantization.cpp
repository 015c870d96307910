// SPDX-License-Identifier: Apache-2.0
// Reads 8-bit numbers out of a graph.
#include <tenon/planning/quantization.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include <tenon/graph/model_ops.hpp>

namespace tenon::inline v1::planning {
namespace {

bool is_8_bit(ElementType type) { return type == ElementType::kU8 || type == ElementType::kI8; }

std::optional<float> scalar(const Tensor& tensor) {
  if (!tensor || tensor.element_type() != ElementType::kF32 || tensor.element_count() != 1) return std::nullopt;
  return *tensor.data<float>();
}

/// Scale and zero point of `levels` numbers from `low` to `high`; the lowest is 0.
bool steps_of(double low, double high, std::int64_t levels, double& scale, double& zero_point) {
  if (!(high > low)) return false;
  scale = (high - low) / static_cast<double>(levels - 1);
  const double exact = -low / scale;
  zero_point = std::nearbyint(exact);
  return std::abs(exact - zero_point) < 1e-2;
}

bool is_type(const Node* node, std::string_view type) { return type == node->get_type_name(); }

const Tensor* constant_of(const Node* node) {
  const auto* constant = as_type<op::v0::Constant>(node);
  return constant ? &constant->get_tensor() : nullptr;
}

/// Numbers of a small constant as f32; empty if it is not one, or not real or 8-bit.
std::vector<float> floats_of(const Node* node) {
  if (is_type(node, "Convert")) node = node->get_input_node_ptr(0);
  const auto* constant = as_type<op::v0::Constant>(node);
  if (!constant) return {};
  return constant->cast_vector<float>();
}

/// Weights before any reshape, with the axis along which their scales vary (the rank if there is one scale).
struct ReadWeights {
  Tensor values;
  std::vector<float> scales;
  std::size_t axis = 0;
};

/// scale * (q - zero point) of a constant q.
std::optional<ReadWeights> read_dequantized(const Constants& constants, const Node* product) {
  if (!is_type(product, "Multiply")) return std::nullopt;
  const Node* centred = product->get_input_node_ptr(0);
  std::vector<float> zero_points;
  const Node* converted = centred;
  if (is_type(centred, "Subtract")) {
    converted = centred->get_input_node_ptr(0);
    zero_points = floats_of(centred->get_input_node_ptr(1));
    if (zero_points.empty()) return std::nullopt;
  }
  if (!is_type(converted, "Convert")) return std::nullopt;
  const Tensor* numbers = constant_of(converted->get_input_node_ptr(0));
  if (!numbers || !is_8_bit(numbers->element_type()) || !numbers->is_contiguous()) return std::nullopt;
  const Shape& shape = numbers->shape();
  ReadWeights read;
  read.scales = floats_of(product->get_input_node_ptr(1));
  const auto axis = axis_of(product->get_input_shape(1), shape.size());
  if (read.scales.empty() || !axis || product->get_output_shape(0) != shape) return std::nullopt;
  read.axis = *axis;
  // One zero point that moves everything into the range of i8; symmetric weights have 0.
  float zero_point = 0;
  for (std::size_t i = 0; i < zero_points.size(); ++i) {
    if (i > 0 && zero_points[i] != zero_points[0]) return std::nullopt;
    zero_point = zero_points[0];
  }
  const bool is_signed = numbers->element_type() == ElementType::kI8;
  if (is_signed && zero_point == 0) {
    read.values = *numbers;
    return read;
  }
  // Empty if some do not fit.
  const auto centre = [&] {
    Tensor values(ElementType::kI8, shape);
    auto* out = values.data<std::int8_t>();
    for (std::size_t i = 0; i < numbers->element_count(); ++i) {
      const float centred_value = (is_signed ? static_cast<float>(numbers->data<std::int8_t>()[i])
                                             : static_cast<float>(numbers->data<std::uint8_t>()[i])) -
                                  zero_point;
      if (centred_value < -128 || centred_value > 127 || centred_value != std::nearbyint(centred_value))
        return Tensor(ElementType::kI8, Shape{0});
      out[i] = static_cast<std::int8_t>(centred_value);
    }
    return values;
  };
  read.values = constants.derived(*numbers, "centred at " + std::to_string(zero_point), centre);
  if (read.values.element_count() != numbers->element_count()) return std::nullopt;
  return read;
}

/// FakeQuantize of a constant.
std::optional<ReadWeights> read_fake_quantized(const Constants& constants, const Node* node) {
  if (!is_type(node, "FakeQuantize")) return std::nullopt;
  const Output<Node> source = node->input_value(0);
  Tensor numbers = constants.of(source);
  if (!numbers || numbers.element_type() != ElementType::kF32 || !numbers.is_contiguous()) return std::nullopt;
  const std::int64_t levels = node->get_attributes().get_int("levels");
  if (levels != 255 && levels != 256) return std::nullopt;
  std::vector<float> low = floats_of(node->get_input_node_ptr(1)), high = floats_of(node->get_input_node_ptr(2));
  if (low.empty() || low.size() != high.size() || floats_of(node->get_input_node_ptr(3)) != low ||
      floats_of(node->get_input_node_ptr(4)) != high)
    return std::nullopt;
  const auto axis = axis_of(node->get_input_shape(1), numbers.shape().size());
  if (!axis || node->get_input_shape(1) != node->get_input_shape(2)) return std::nullopt;
  ReadWeights read;
  read.axis = *axis;
  for (std::size_t i = 0; i < low.size(); ++i) {
    double scale = 0, zero_point = 0;
    if (!steps_of(low[i], high[i], levels, scale, zero_point)) return std::nullopt;
    if (zero_point != (levels == 256 ? 128 : 127)) return std::nullopt;
    read.scales.push_back(static_cast<float>(scale));
  }
  const Shape& shape = numbers.shape();
  std::size_t inner = 1;
  for (std::size_t i = read.axis + 1; i < shape.size(); ++i) inner *= shape[i];
  const float least = levels == 256 ? -128.f : -127.f;
  const auto rounded = [&] {
    Tensor values(ElementType::kI8, shape);
    auto* out = values.data<std::int8_t>();
    for (std::size_t i = 0; i < numbers.element_count(); ++i) {
      const float scale = read.scales.size() == 1 ? read.scales[0] : read.scales[i / inner % shape[read.axis]];
      out[i] = static_cast<std::int8_t>(std::clamp(std::nearbyint(numbers.data<float>()[i] / scale), least, 127.f));
    }
    return values;
  };
  // The scales' very bytes: two layers may share numbers.
  const std::string how =
      "rounded " + std::to_string(levels) + " " + std::to_string(read.axis) + " " +
      std::string(reinterpret_cast<const char*>(read.scales.data()), read.scales.size() * sizeof(float));
  read.values = constants.derived(numbers, how, rounded);
  return read;
}

/// A constant that holds integers of 8 bits as real numbers, as products of integers have them.
std::optional<ReadWeights> read_integers(const Constants& constants, const Output<Node>& value) {
  const Tensor numbers = constants.of(value);
  if (!numbers || numbers.element_type() != ElementType::kF32 || !numbers.is_contiguous()) return std::nullopt;
  const float *first = numbers.data<float>(), *last = first + numbers.element_count();
  if (!std::all_of(first, last, [](float x) { return x >= -128 && x <= 127 && x == std::nearbyint(x); }))
    return std::nullopt;
  const auto narrowed = [&] {
    Tensor values(ElementType::kI8, numbers.shape());
    std::transform(first, last, values.data<std::int8_t>(), [](float x) { return static_cast<std::int8_t>(x); });
    return values;
  };
  return ReadWeights{constants.derived(numbers, "integers of 8 bits", narrowed), {1}, numbers.shape().size()};
}

std::optional<ReadWeights> read_weights(const Constants& constants, const Output<Node>& value) {
  auto read = read_dequantized(constants, value.get_node());
  if (!read) read = read_fake_quantized(constants, value.get_node());
  return read ? read : read_integers(constants, value);
}

}  // namespace

std::optional<std::size_t> axis_of(const Shape& shape, std::size_t rank) {
  std::size_t axis = rank;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    if (axis != rank || shape.size() > rank) return std::nullopt;
    axis = i + rank - shape.size();
  }
  return axis;
}

std::optional<Quantization> quantization_of(const Constants& constants, const Node& node) {
  if (!is_type(&node, "FakeQuantize") || node.get_output_element_type(0) != element::f32) return std::nullopt;
  if (node.get_attributes().get_int("levels") != 256) return std::nullopt;
  float limits[4];
  for (std::size_t i = 0; i < 4; ++i) {
    const auto limit = scalar(constants.of(node.input_value(1 + i)));
    if (!limit) return std::nullopt;
    limits[i] = *limit;
  }
  double scale = 0, zero_point = 0;
  if (limits[0] != limits[2] || limits[1] != limits[3] || !steps_of(limits[0], limits[1], 256, scale, zero_point))
    return std::nullopt;
  if (zero_point < 0 || zero_point > 255) return std::nullopt;
  // Symmetric numbers as i8: kernels handle a zero point of 0 for free.
  if (zero_point == 128) return Quantization{static_cast<float>(scale), 0, ElementType::kI8};
  return Quantization{static_cast<float>(scale), static_cast<std::int32_t>(zero_point), ElementType::kU8};
}

std::optional<Dequantized> dequantized_of(const Constants& constants, const std::shared_ptr<Node>& last) {
  if (last->get_output_size() != 1 || last->get_output_element_type(0) != element::f32) return std::nullopt;
  Dequantized found;
  std::shared_ptr<Node> node = last;
  // Goes to input 0 if the node is of that type, and input 1 one number, which leaves the shape as it is.
  const auto step_over = [&](std::string_view type, float& number) {
    if (!is_type(node.get(), type)) return true;
    std::vector<float> numbers = floats_of(node->get_input_node_ptr(1));
    if (const Tensor known = constants.of(node->input_value(1)); numbers.empty() && scalar(known))
      numbers = {*scalar(known)};
    if (numbers.size() != 1 || node->get_input_partial_shape(0) != node->get_output_partial_shape(0)) return false;
    number = numbers[0];
    found.nodes.insert(found.nodes.begin(), node);
    node = node->get_input_node_shared_ptr(0);
    return node->count_output_readers(0) == 1;
  };
  float zero = 0;
  if (!step_over("Multiply", found.quantization.scale) || !step_over("Subtract", zero)) return std::nullopt;
  if (!is_type(node.get(), "Convert") || constants.of(node->input_value(0)) || !(found.quantization.scale > 0))
    return std::nullopt;
  const ElementType type = node->get_input_element_type(0);
  const float low = type == ElementType::kI8 ? -128 : 0;
  if (!is_8_bit(type) || zero < low || zero > low + 255 || zero != std::nearbyint(zero)) return std::nullopt;
  found.nodes.insert(found.nodes.begin(), node);
  found.numbers = node->input_value(0);
  found.quantization.zero_point = static_cast<std::int32_t>(zero);
  found.quantization.type = type;
  return found;
}

bool keeps_numbers(const Node& node) {
  for (const char* mover :
       {"MaxPool", "Reshape", "Squeeze", "Unsqueeze", "Transpose", "Split", "VariadicSplit", "Interpolate"})
    if (is_type(&node, mover)) return true;
  return false;
}

std::optional<QuantizedWeights> quantized_filter(const Constants& constants, const Node& node, std::size_t channels) {
  const Output<Node> source = node.input_value(1);
  const Shape shape = node.get_input_shape(1);
  auto read =
      read_weights(constants, is_type(source.get_node(), "Reshape") ? source.get_node()->input_value(0) : source);
  if (!read) read = read_integers(constants, source);
  if (!read) return std::nullopt;
  const std::size_t rank = read->values.shape().size();
  const bool per_channel = read->scales.size() > 1;
  if (per_channel && read->scales.size() != channels) return std::nullopt;
  // [G, O / G, ...] holds the channels in two axes; scales along one of them suffice if the other is 1.
  if (per_channel && read->axis != 0 && !(read->axis == 1 && rank > 1 && read->values.shape()[0] == 1))
    return std::nullopt;
  Tensor values = read->values;
  if (values.shape() != shape) values = values.reshaped(shape);
  return QuantizedWeights{values, read->scales};
}

std::optional<QuantizedWeights> quantized_matrix(const Constants& constants, const Node& node, std::size_t axis) {
  auto read = read_weights(constants, node.input_value(1));
  if (!read || read->values.shape() != node.get_input_shape(1)) return std::nullopt;
  if (read->scales.size() > 1 && read->axis != axis) return std::nullopt;
  return QuantizedWeights{read->values, read->scales};
}

}  // namespace tenon::inline v1::planning
