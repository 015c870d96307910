// SPDX-License-Identifier: Apache-2.0
// Quantisation as lowering reads it out of the graph; lowers the FakeQuantize nodes that no kernel absorbs.
#include <algorithm>
#include <cmath>

#include <tenon/engine/lower/build/quantization.hpp>
#include <tenon/engine/lower/build/table.hpp>

namespace tenon::inline v1::engine {
namespace {

/// The k for which base + k * step is zero apart from f32 rounding of both; nothing if zero lies between levels.
std::optional<double> zero_level(double base, double step) {
  const double exact = -base / step, level = std::nearbyint(exact);
  if (!(std::abs(exact - level) <= 1e-6 * std::max(1.0, std::abs(level)))) return std::nullopt;
  return level;
}

/// What the builder knows.
class KnownConstants final : public planning::Constants {
 public:
  explicit KnownConstants(PlanBuilder& builder) : builder_(builder) {}
  Tensor of(const Output<Node>& value) const override { return builder_.value(value).constant; }
  Tensor derived(const Tensor& source, const std::string& how, const std::function<Tensor()>& make) const override {
    return builder_.derived(source, how, make);
  }

 private:
  PlanBuilder& builder_;
};

/// Whether this CPU's kernels sum products with these i8 weights without saturating: see has_native_int8().
bool adds_exactly(const Tensor& weights) {
  if (has_native_int8()) return true;
  const auto* values = weights.data<std::int8_t>();
  return std::all_of(values, values + weights.element_count(), [](std::int8_t w) { return w >= -64 && w <= 64; });
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
    const auto axis = planning::axis_of(limits[i].shape(), made.shape.size());
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
  const BufferSlice from = builder.plain(source), to = builder.define_plain(made);
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
  return planning::quantization_of(KnownConstants(builder), *node);
}

std::optional<planning::Dequantized> dequantized_of(PlanBuilder& builder, const std::shared_ptr<Node>& last) {
  const auto multiplies_it = [](const auto& reader) {
    const std::string_view type = reader.get_node()->get_type_name();
    return reader.get_index() == 0 && (type == "MatMul" || type == "Convolution" || type == "GroupConvolution");
  };
  auto found = planning::dequantized_of(KnownConstants(builder), last);
  if (!found) return std::nullopt;
  const auto readers = last->get_output_target_inputs(0);
  if (std::none_of(readers.begin(), readers.end(), multiplies_it)) return std::nullopt;
  return found;
}

bool lower_dequantized(PlanBuilder& builder, const Chain& chain) {
  const auto found = dequantized_of(builder, chain.last());
  Value& made = builder.value(chain.last()->output(0));
  if (!found || element_count(made.shape) == 0) return false;
  made.quantization = found->quantization;
  builder.define_view(made, plain_desc(found->quantization.type, made.shape),
                      builder.plain(builder.value(found->numbers)));
  for (const auto& node : found->nodes) builder.note_optimized_out(node);
  return true;
}

bool is_quantized(PlanBuilder& builder, const std::shared_ptr<Node>& node) {
  if (planning::keeps_numbers(*node)) return is_quantized(builder, node->get_input_node_shared_ptr(0));
  return planning::quantization_of(KnownConstants(builder), *node).has_value() || dequantized_of(builder, node);
}

namespace {

std::optional<planning::QuantizedWeights> if_exact(std::optional<planning::QuantizedWeights> weights) {
  if (weights && !adds_exactly(weights->values)) return std::nullopt;
  return weights;
}

}  // namespace

std::optional<planning::QuantizedWeights> quantized_filter(PlanBuilder& builder, const std::shared_ptr<Node>& node,
                                                           std::size_t channels) {
  return if_exact(planning::quantized_filter(KnownConstants(builder), *node, channels));
}

std::optional<planning::QuantizedWeights> quantized_matrix(PlanBuilder& builder, const std::shared_ptr<Node>& node,
                                                           std::size_t axis) {
  return if_exact(planning::quantized_matrix(KnownConstants(builder), *node, axis));
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
