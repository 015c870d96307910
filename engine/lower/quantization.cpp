// SPDX-License-Identifier: Apache-2.0
// Reads quantisation out of the graph, and lowers the FakeQuantize nodes that no kernel absorbs.
#include <algorithm>
#include <cmath>

#include <tenon/engine/lower/quantization.hpp>
#include <tenon/engine/lower/table.hpp>

namespace tenon::inline v1::engine {
namespace {

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

/// The k for which base + k * step is zero apart from f32 rounding of both; nothing if zero lies between levels.
std::optional<double> zero_level(double base, double step) {
  const double exact = -base / step, level = std::nearbyint(exact);
  if (!(std::abs(exact - level) <= 1e-6 * std::max(1.0, std::abs(level)))) return std::nullopt;
  return level;
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

/// The one axis along which a constant of `shape` varies, in a tensor of rank `rank`; `rank` itself if it is one
/// number, nothing if there are several.
std::optional<std::size_t> axis_of(const Shape& shape, std::size_t rank) {
  std::size_t axis = rank;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    if (axis != rank || shape.size() > rank) return std::nullopt;
    axis = i + rank - shape.size();
  }
  return axis;
}

/// Weights before any reshape, with the axis along which their scales vary (the rank if there is one scale).
struct Read {
  Tensor values;
  std::vector<float> scales;
  std::size_t axis = 0;
};

/// scale * (q - zero point) of a constant q.
std::optional<Read> read_dequantized(PlanBuilder& builder, const Node* product) {
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
  Read read;
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
  read.values = builder.derived(*numbers, "centred at " + std::to_string(zero_point), centre);
  if (read.values.element_count() != numbers->element_count()) return std::nullopt;
  return read;
}

/// FakeQuantize of a constant.
std::optional<Read> read_fake_quantized(PlanBuilder& builder, const Node* node) {
  if (!is_type(node, "FakeQuantize")) return std::nullopt;
  const Output<Node> source = node->input_value(0);
  Tensor numbers = builder.value(source).constant;
  if (!numbers || numbers.element_type() != ElementType::kF32 || !numbers.is_contiguous()) return std::nullopt;
  const std::int64_t levels = node->get_attributes().get_int("levels");
  if (levels != 255 && levels != 256) return std::nullopt;
  std::vector<float> low = floats_of(node->get_input_node_ptr(1)), high = floats_of(node->get_input_node_ptr(2));
  if (low.empty() || low.size() != high.size() || floats_of(node->get_input_node_ptr(3)) != low ||
      floats_of(node->get_input_node_ptr(4)) != high)
    return std::nullopt;
  const auto axis = axis_of(node->get_input_shape(1), numbers.shape().size());
  if (!axis || node->get_input_shape(1) != node->get_input_shape(2)) return std::nullopt;
  Read read;
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
  read.values = builder.derived(numbers, how, rounded);
  return read;
}

/// Whether this CPU's kernels sum products with these i8 weights without saturating: see has_native_int8().
bool adds_exactly(const Tensor& weights) {
  if (has_native_int8()) return true;
  const auto* values = weights.data<std::int8_t>();
  return std::all_of(values, values + weights.element_count(), [](std::int8_t w) { return w >= -64 && w <= 64; });
}

std::optional<Read> read_weights(PlanBuilder& builder, const Node* node) {
  auto read = read_dequantized(builder, node);
  if (!read) read = read_fake_quantized(builder, node);
  if (read && !adds_exactly(read->values)) return std::nullopt;
  return read;
}

/// Whether a convolution or pooling reads the node, directly or through nodes that only join and move its value.
bool reads_images(const std::shared_ptr<Node>& node) {
  const std::size_t rank = node->get_output_shape(0).size();
  if (rank < 3 || rank > 5) return false;
  for (const auto& reader : node->get_output_target_inputs(0)) {
    const std::string_view type = reader.get_node()->get_type_name();
    if (type.find("Convolution") != type.npos || type == "MaxPool" ||
        (rank == 4 && type != "Reshape" && type != "Transpose"))
      return true;
  }
  return false;
}

/// Real numbers rounded to levels, with limits for the tensor or per channel of axis 1.
bool lower_levels(PlanBuilder& builder, const std::shared_ptr<Node>& node) {
  Value& source = builder.input(node, 0);
  Value& made = builder.value(node->output(0));
  if (made.type != ElementType::kF32 || element_count(made.shape) == 0) return false;
  std::size_t count = 1;
  Tensor limits[4];
  for (std::size_t i = 0; i < 4; ++i) {
    limits[i] = builder.constant_input(node, 1 + i);
    if (!limits[i] || limits[i].element_type() != ElementType::kF32 || !limits[i].is_contiguous()) return false;
    const auto axis = axis_of(limits[i].shape(), made.shape.size());
    if (limits[i].element_count() == 1) continue;
    if (!axis || *axis != 1 || limits[i].element_count() != made.shape[1]) return false;
    count = made.shape[1];
  }
  const auto limit = [&](std::size_t which, std::size_t channel) {
    return static_cast<double>(limits[which].data<float>()[limits[which].element_count() == 1 ? 0 : channel]);
  };
  const double top = static_cast<double>(node->get_attributes().get_int("levels") - 1);
  std::vector<kernels::Levels> levels;
  for (std::size_t c = 0; c < count; ++c) {
    const double low = limit(0, c), high = limit(1, c), base = limit(2, c), step = (limit(3, c) - base) / top;
    if (!(high > low)) return false;
    const auto zero = zero_level(base, step);
    levels.push_back({static_cast<float>(low), static_cast<float>(top / (high - low)), static_cast<float>(top),
                      zero ? static_cast<float>(*zero) : 0.f, static_cast<float>(step),
                      zero ? 0.f : static_cast<float>(base)});
  }
  // Rows of one channel, or of the last axis if all channels are alike.
  const std::size_t all = element_count(made.shape);
  const std::size_t rows = count > 1 ? made.shape[0] * count : made.shape.empty() ? 1 : all / made.shape.back();
  const Place from = builder.plain(source), to = builder.define_plain(made);
  builder.add_kernel(node, "levels", {from}, {to}, [levels, rows, columns = all / rows](std::span<void* const> p) {
    kernels::round_to_levels(levels, static_cast<const float*>(p[0]), static_cast<float*>(p[1]), rows, columns);
  });
  return true;
}

bool lower_fake_quantize(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  Value& source = builder.input(node, 0);
  Value& made = builder.value(node->output(0));
  const auto quantization = quantization_of(builder, node);
  if (!quantization || element_count(made.shape) == 0) return lower_levels(builder, node);
  const auto from = builder.native(source);
  if (source.quantization && is_8_bit(element_type(from.desc))) {
    // Numbers of the same meaning are already rounded.
    if (*source.quantization == *quantization) {
      made.quantization = quantization;
      builder.define_view(made, from.desc, from.place);
      builder.note_optimized_out(node);
      return true;
    }
  }
  md desc = plain_desc(quantization->type, made.shape);
  // Channels innermost, as 8-bit convolutions read them.
  if (reads_images(node) && builder.options().blocked_layouts)
    desc = channels_last(quantization->type, made.shape);
  else if (const md same = retyped(from.desc, quantization->type); is_dense(from.desc) && same.get_ndims())
    desc = same;
  made.quantization = quantization;
  return builder.lower_reorder(node, source, made, desc);
}

}  // namespace

std::optional<Quantization> quantization_of(PlanBuilder& builder, const std::shared_ptr<Node>& node) {
  if (!is_type(node.get(), "FakeQuantize") || node->get_output_element_type(0) != element::f32) return std::nullopt;
  if (node->get_attributes().get_int("levels") != 256) return std::nullopt;
  float limits[4];
  for (std::size_t i = 0; i < 4; ++i) {
    const auto limit = scalar(builder.constant_input(node, 1 + i));
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

bool is_quantized(PlanBuilder& builder, const Node* node) {
  const std::string_view type = node->get_type_name();
  if (type == "FakeQuantize") return quantization_of(builder, const_cast<Node*>(node)->shared_from_this()).has_value();
  for (const char* mover :
       {"MaxPool", "Reshape", "Squeeze", "Unsqueeze", "Transpose", "Split", "VariadicSplit", "Interpolate"})
    if (type == mover) return is_quantized(builder, node->get_input_node_ptr(0));
  return false;
}

std::optional<QuantizedWeights> quantized_filter(PlanBuilder& builder, const std::shared_ptr<Node>& node,
                                                 std::size_t channels) {
  const Node* source = node->get_input_node_ptr(1);
  const Shape shape = node->get_input_shape(1);
  const Node* base = is_type(source, "Reshape") ? source->get_input_node_ptr(0) : source;
  auto read = read_weights(builder, base);
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

std::optional<QuantizedWeights> quantized_matrix(PlanBuilder& builder, const std::shared_ptr<Node>& node,
                                                 std::size_t axis) {
  auto read = read_weights(builder, node->get_input_node_ptr(1));
  if (!read || read->values.shape() != node->get_input_shape(1)) return std::nullopt;
  if (read->scales.size() > 1 && read->axis != axis) return std::nullopt;
  return QuantizedWeights{read->values, read->scales};
}

void describe_scale(dnnl::primitive_attr& attributes, int argument, int mask) {
  attributes.set_scales_mask(argument, mask);
}

void describe_zero_point(dnnl::primitive_attr& attributes, int argument, std::int32_t zero_point) {
  if (zero_point != 0) attributes.set_zero_points_mask(argument, 0);
}

void add_scales(PlanBuilder& builder, PrimitiveStep& step, int argument, const std::vector<float>& scales) {
  Tensor values(ElementType::kF32, Shape{scales.size()});
  std::copy(scales.begin(), scales.end(), values.data<float>());
  builder.add_argument(step, DNNL_ARG_ATTR_SCALES | argument, builder.constant_place(values),
                       plain_desc(ElementType::kF32, values.shape()));
}

void add_zero_point(PlanBuilder& builder, PrimitiveStep& step, int argument, std::int32_t zero_point) {
  if (zero_point == 0) return;
  Tensor value(ElementType::kI32, Shape{1});
  *value.data<std::int32_t>() = zero_point;
  builder.add_argument(step, DNNL_ARG_ATTR_ZERO_POINTS | argument, builder.constant_place(value),
                       plain_desc(ElementType::kI32, value.shape()));
}

void register_quantization(LoweringTable& table) { table["FakeQuantize"] = {lower_fake_quantize, false}; }

}  // namespace tenon::inline v1::engine
