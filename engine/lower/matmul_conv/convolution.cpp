// SPDX-License-Identifier: Apache-2.0
// Convolution, GroupConvolution and their transposed forms on oneDNN.
#include <algorithm>
#include <functional>
#include <numeric>
#include <string_view>
#include <type_traits>

#include <tenon/engine/lower/build/post_ops.hpp>
#include <tenon/engine/lower/build/precision.hpp>
#include <tenon/engine/lower/build/quantization.hpp>
#include <tenon/engine/lower/build/step_info.hpp>
#include <tenon/engine/lower/build/table.hpp>
#include <tenon/engine/lower/build/window.hpp>
#include <tenon/engine/lower/matmul_conv/depthwise.hpp>
#include <tenon/engine/lower/matmul_conv/upsampling.hpp>
#include <tenon/graph/windows.hpp>

namespace tenon::inline v1::engine {
namespace {

using dnnl::algorithm;
using dims = dnnl::memory::dims;
constexpr auto kAny = dnnl::memory::format_tag::any;
constexpr auto kF32 = dnnl::memory::data_type::f32;
constexpr auto kInference = dnnl::prop_kind::forward_inference;

md any_desc(ElementType type, const Shape& shape) { return md(to_dims(shape), data_type(type), kAny); }

/// Products of 8 bits that an output sums, from which on AMX beats VNNI: its tiles hold 64 in a row. Single pixels of 24
/// channels take 1.35 times as long on AMX, of 16 channels 1.6 times; of 48 channels 0.83 times (Emerald Rapids).
constexpr std::int64_t kLeastTileDepth = 32;

/// A convolution with everything decided except layouts; forward and transposed differ only in the primitive.
template <typename Primitive>
struct Problem {
  algorithm algo;
  Shape src, dst;
  dims weights;
  bool has_bias;
  Window window;
  ElementType type = ElementType::kF32;  ///< The source's, and the weights' unless these have 8 bits.
  ElementType result = ElementType::kF32;

  typename Primitive::primitive_desc make(const dnnl::engine& engine, const md& src_desc, const md& dst_desc,
                                          const dnnl::primitive_attr& attributes) const {
    const md weights_desc(weights, is_8_bit(type) ? dnnl::memory::data_type::s8 : data_type(type), kAny);
    const md bias_desc = has_bias ? md(dims{static_cast<std::int64_t>(dst[1])}, kF32, kAny) : md();
    const auto first = [&] {
      return typename Primitive::primitive_desc(engine, kInference, algo, src_desc, weights_desc, bias_desc, dst_desc,
                                                window.strides, window.dilations, window.pads_begin, window.pads_end,
                                                attributes, true);
    };
    auto made = first();
    if (!made || !is_8_bit(type) || depth() >= kLeastTileDepth) return made;
    while (std::string_view(made.impl_info_str()).find("amx") != std::string_view::npos)
      if (!made.next_impl()) return first();
    return made;
  }

  /// How many products an output sums.
  std::int64_t depth() const {
    return std::accumulate(weights.end() - static_cast<std::ptrdiff_t>(window.kernel.size()) - 1, weights.end(),
                           std::int64_t{1}, std::multiplies<>());
  }
  bool has_pads() const {
    const auto is_pad = [](std::int64_t pad) { return pad != 0; };
    return std::any_of(window.pads_begin.begin(), window.pads_begin.end(), is_pad) ||
           std::any_of(window.pads_end.begin(), window.pads_end.end(), is_pad);
  }

  /// Everything that make() depends on, without the attributes.
  KernelKey key(const md& src_desc, const md& dst_desc) const {
    constexpr bool kForward = std::is_same_v<Primitive, dnnl::convolution_forward>;
    KernelKey key{
        PlanBuilder::key_of(kForward ? dnnl::primitive::kind::convolution : dnnl::primitive::kind::deconvolution),
        static_cast<std::uint64_t>(algo), has_bias, static_cast<std::uint64_t>(type), weights.size()};
    for (const dims* values : {&weights, &window.strides, &window.dilations, &window.pads_begin, &window.pads_end})
      for (const auto value : *values) key.push_back(static_cast<std::uint64_t>(value));
    append(key, src_desc);
    append(key, dst_desc);
    return key;
  }
};

/// Weights as the operation has them, seen as oneDNN's [(G,) O, I, kernel...].
struct Filter {
  Tensor tensor;  ///< Empty if they are computed.
  dims shape;
  md view;
  bool grouped, transposed;
  BufferSlice computed = {};  ///< Packed row-major.
};

/// @param tensor  Empty, or of that type and shape.
Filter filter_of(const Tensor& tensor, ElementType type, const Shape& shape, bool grouped, bool transposed) {
  const std::size_t output_axis = (grouped ? 1 : 0) + (transposed ? 1 : 0);
  const std::size_t input_axis = (grouped ? 1 : 0) + (transposed ? 0 : 1);
  dims extents = to_dims(shape);
  dims strides = plain_desc(type, shape).get_strides();
  if (transposed) {
    std::swap(extents[output_axis], extents[input_axis]);
    std::swap(strides[output_axis], strides[input_axis]);
  }
  return {tensor, extents, md(extents, data_type(type), strides), grouped, transposed};
}

/// The filter with every output channel multiplied by its own factor.
Tensor scaled(const Filter& filter, const std::vector<float>& factors, std::size_t channels, std::size_t groups) {
  Tensor result;
  filter.tensor.copy_to(result);
  float* data = result.data<float>();
  const std::size_t count = result.element_count(), per_group = channels / groups;
  std::size_t window = 1;
  for (std::size_t i = filter.tensor.shape().size(); i-- > (filter.grouped ? 3u : 2u);)
    window *= filter.tensor.shape()[i];
  const std::size_t inputs = count / channels / window;  // per output channel
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t channel = filter.transposed
                                    ? i / (inputs * per_group * window) * per_group + i / window % per_group
                                    : i / (inputs * window);
    data[i] *= factors[channel];
  }
  return result;
}

/// What a zero point of the source adds to each output channel: -zero_point times the sum of the channel's weights.
/// @param weights  i8, output channels outermost.
std::vector<float> zero_point_shift(const Tensor& weights, std::int32_t zero_point, float source_scale,
                                    const std::vector<float>& scales, std::size_t channels) {
  std::vector<float> shift(channels);
  const auto* values = weights.data<std::int8_t>();
  const std::size_t depth = weights.element_count() / channels;
  for (std::size_t channel = 0; channel < channels; ++channel, values += depth) {
    const std::int64_t sum = std::accumulate(values, values + depth, std::int64_t{0});
    const double scale = static_cast<double>(source_scale) * scales[scales.size() == 1 ? 0 : channel];
    shift[channel] = static_cast<float>(static_cast<double>(-zero_point * sum) * scale);
  }
  return shift;
}

template <typename Primitive>
bool lower_in(PlanBuilder& builder, const Chain& chain, Problem<Primitive> problem, const Filter& filter,
              std::size_t groups, const std::vector<float>& weight_scales = {}) {
  const auto& node = chain.anchor();
  Value& source = builder.input(node, 0);
  // Sums of integers stay integers until the graph itself multiplies them.
  const bool has_integers = source.quantization && source.quantization->scale == 1;
  const ChannelAffine affine = channel_affine(builder, chain, problem.dst, !has_integers);
  const std::size_t begin = affine.end;
  // In 8 bits, a factor per channel goes to the weights' scales.
  const bool in_8_bits = is_8_bit(problem.type);
  std::vector<float> scales = weight_scales;
  if (in_8_bits && affine.has_scale) {
    if (scales.size() == 1) scales.assign(problem.dst[1], scales[0]);
    for (std::size_t i = 0; i < scales.size(); ++i) scales[i] *= affine.scale[i];
  }
  const Tensor weights =
      affine.has_scale && !in_8_bits ? scaled(filter, affine.scale, problem.dst[1], groups) : filter.tensor;
  std::vector<float> shift = affine.has_shift ? affine.shift : std::vector<float>();
  // Where no pad stands for a real zero, the source's zero point is a part of the bias: oneDNN's kernels for zero points
  // take up to three times as long.
  std::int32_t zero_point = in_8_bits ? source.quantization->zero_point : 0;
  if (zero_point != 0 && !has_integers && !problem.has_pads()) {
    const std::vector<float> more =
        zero_point_shift(filter.tensor, zero_point, source.quantization->scale, scales, problem.dst[1]);
    shift.resize(more.size());
    std::transform(shift.begin(), shift.end(), more.begin(), shift.begin(), std::plus<>());
    zero_point = 0;
  }
  Tensor bias;
  if (!shift.empty()) {
    bias = Tensor(ElementType::kF32, Shape{shift.size()});
    std::copy(shift.begin(), shift.end(), bias.data<float>());
  }
  problem.has_bias = static_cast<bool>(bias);

  // Layouts in order of preference: channels innermost if that is fastest, blocks of channels (in-place
  // concatenation and splits work on them), oneDNN's choice, packed. A convolution of few channels reads the packed
  // image itself.
  const std::size_t in = problem.src[1], out = problem.dst[1],
                    block = static_cast<std::size_t>(builder.channel_block());
  const bool depthwise = groups == in && groups == out;
  const bool blocks_fit =
      groups == 1 || depthwise ||
      (in / groups % std::max<std::size_t>(block, 1) == 0 && out / groups % std::max<std::size_t>(block, 1) == 0);
  const ElementType type = problem.type;
  const md src_any = any_desc(type, problem.src), dst_any = any_desc(problem.result, problem.dst);
  const md src_plain = plain_desc(type, problem.src), dst_plain = plain_desc(problem.result, problem.dst);
  const md src_block = builder.blocked_desc(problem.src, type),
           dst_block = builder.blocked_desc(problem.dst, problem.result);
  std::vector<std::pair<md, md>> layouts;
  if (in_8_bits) {
    layouts.emplace_back(channels_last(problem.type, problem.src), channels_last(problem.result, problem.dst));
  } else {
    // A convolution of single pixels is a product if the channels are innermost already.
    const bool is_product = groups == 1 && block > 0 &&
                            std::all_of(problem.window.kernel.begin(), problem.window.kernel.end(),
                                        [](auto extent) { return extent == 1; }) &&
                            builder.native(source).desc == channels_last(type, problem.src);
    if (builder.prefers_channels_last() || is_product)
      layouts.emplace_back(channels_last(type, problem.src), channels_last(problem.result, problem.dst));
    if (block && blocks_fit && src_block.get_ndims()) {
      if (in <= 4 && !depthwise) layouts.emplace_back(src_plain, dst_block);
      layouts.emplace_back(src_block, dst_block);
    }
  }
  if (builder.options().blocked_layouts) layouts.emplace_back(src_any, dst_any);
  layouts.emplace_back(src_plain, dst_plain);

  // First a fast kernel with all post-ops; single nodes take any kernel that oneDNN has.
  for (const bool accept_slow : {false, true}) {
    if (accept_slow && (chain.nodes.size() > begin || type != ElementType::kF32)) return false;
    for (const auto& [src_desc, dst_desc] : layouts) {
      dnnl::primitive_attr attributes;
      attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
      PostOps post_ops(builder, chain, begin);
      if (in_8_bits) {
        describe_scale(attributes, DNNL_ARG_SRC);
        describe_scale(attributes, DNNL_ARG_WEIGHTS, scales.size() == 1 ? 0 : groups > 1 ? 3 : 1);
        describe_zero_point(attributes, DNNL_ARG_SRC, zero_point);
      }
      // Those of its attributes that the post-ops do not say.
      KernelKey scaling{in_8_bits ? scales.size() : 0, zero_point != 0, groups};
      const auto described = [&](const md& from, const md& to, std::uint64_t which) {
        KernelKey key = problem.key(from, to);
        key.push_back(which);
        key.insert(key.end(), scaling.begin(), scaling.end());
        return key;
      };
      // The layouts of the convolution alone decide what its post-ops read.
      const auto bare = builder.kernel(described(src_desc, dst_desc, 0), [&]() -> MadeKernel {
        const auto pd = problem.make(builder.engine(), src_desc, dst_desc, attributes);
        if (!pd) return {};
        return {{}, pd.impl_info_str(), {pd.src_desc(), pd.dst_desc()}};
      });
      if (bare->descs.empty() || (is_slow(bare->name.c_str()) && !accept_slow)) continue;
      const md src_made = bare->descs[0], dst_made = bare->descs[1];
      if (!post_ops.describe(problem.dst, dst_made, attributes)) continue;
      KernelKey key = described(src_made, dst_made, 1);
      key.insert(key.end(), post_ops.words().begin(), post_ops.words().end());
      const auto made = builder.kernel(key, [&]() -> MadeKernel {
        const auto pd = problem.make(builder.engine(), src_made, dst_made, attributes);
        if (!pd) return {};
        return {Primitive(pd), pd.impl_info_str(), {pd.weights_desc(), pd.bias_desc(), pd.scratchpad_desc()}};
      });
      if (!*made || (is_slow(made->name.c_str()) && !accept_slow)) continue;
      const md &weights_desc = made->descs[0], &bias_desc = made->descs[1], &scratchpad_desc = made->descs[2];

      const BufferSlice src = builder.in_layout(source, src_made);
      const BufferSlice filter_place = weights ? builder.packed_constant(weights, filter.view, weights_desc)
                                               : builder.moved(*node, filter.computed, filter.view, weights_desc);
      const BufferSlice bias_place = bias ? builder.constant_place(bias) : BufferSlice{};
      const BufferSlice dst = post_ops.define_result(dst_made);
      auto step = std::make_unique<PrimitiveStep>();
      step->engine = builder.engine();
      step->primitive = made->primitive;
      step->info = step_info(*node, made->name + post_ops.name());
      builder.add_argument(*step, DNNL_ARG_SRC, src, src_made);
      builder.add_argument(*step, DNNL_ARG_WEIGHTS, filter_place, weights_desc);
      if (bias) builder.add_argument(*step, DNNL_ARG_BIAS, bias_place, bias_desc);
      if (in_8_bits) {
        add_scales(builder, *step, DNNL_ARG_SRC, {source.quantization->scale});
        add_scales(builder, *step, DNNL_ARG_WEIGHTS, scales);
        add_zero_point(builder, *step, DNNL_ARG_SRC, zero_point);
      }
      post_ops.add_arguments(*step);
      builder.add_argument(*step, DNNL_ARG_DST, dst, dst_made, true);
      builder.add_scratchpad(*step, scratchpad_desc);
      builder.plan().steps.push_back(std::move(step));
      builder.note_fused(chain);
      return true;
    }
  }
  return false;
}

/// With 8-bit input and weights, and 8-bit output if the chain rounds to such.
template <typename Primitive>
bool lower_8_bit(PlanBuilder& builder, const Chain& chain, Problem<Primitive> problem, std::size_t groups, bool grouped,
                 bool transposed) {
  const auto& node = chain.anchor();
  const Value& source = builder.input(node, 0);
  if (transposed || !source.quantization) return false;
  const ElementType lies_in = element_type(builder.native(builder.input(node, 0)).desc);
  if (!is_8_bit(lies_in)) return false;
  const auto weights = quantized_filter(builder, node, problem.dst[1]);
  if (!weights) return false;
  problem.type = lies_in;
  const Filter filter =
      filter_of(weights->values, weights->values.element_type(), weights->values.shape(), grouped, false);
  const auto rounded = chain.nodes.size() > 1 ? quantization_of(builder, chain.last()) : std::nullopt;
  std::vector<ElementType> results{result_type(builder, chain, builder.compute_type())};
  if (results[0] != ElementType::kF32) results.push_back(ElementType::kF32);
  if (rounded) results = {rounded->type};
  for (const ElementType result : results) {
    problem.result = result;
    if (lower_in(builder, chain, problem, filter, groups, weights->scales)) return true;
  }
  return false;
}

template <typename Primitive>
bool lower(PlanBuilder& builder, const Chain& chain, Problem<Primitive> problem, const Filter& filter,
           std::size_t groups) {
  if (lower_8_bit(builder, chain, problem, groups, filter.grouped, filter.transposed)) return true;
  problem.type = builder.compute_type();
  problem.result = result_type(builder, chain, problem.type);
  if (problem.result != problem.type && lower_in(builder, chain, problem, filter, groups)) return true;
  problem.result = problem.type;
  if (lower_in(builder, chain, problem, filter, groups)) return true;
  if (problem.type == ElementType::kF32) return false;
  problem.type = problem.result = ElementType::kF32;
  return lower_in(builder, chain, problem, filter, groups);
}

/// The window of a transposed convolution. "Same" pads are on the other side than those of a plain one.
Window transposed_window(const Node& node, const dims& out, const dims& in, const dims& kernel) {
  Window window = make_window(node, out, in, kernel);
  const Spatial3 rule = sliding_window(node);
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const std::int64_t both = window.pads_begin[i] + window.pads_end[i];
    window.pads_begin[i] = rule.window[3 - kernel.size() + i].pad_begin;
    window.pads_end[i] = both - window.pads_begin[i];
  }
  return window;
}

bool lower_any(PlanBuilder& builder, const Chain& chain, bool grouped, bool transposed) {
  const auto& node = chain.anchor();
  if (node->get_input_element_type(0) != element::f32) return false;
  Tensor weights = builder.constant_input(node, 1);
  Value& weights_value = builder.input(node, 1);
  if (weights_value.type != ElementType::kF32 || element_count(weights_value.shape) == 0) return false;
  // What is joined to computed weights is not known when they are packed.
  if (!weights && chain.nodes.size() > 1) return false;
  const Shape src = node->get_input_shape(0), dst = node->get_output_shape(0);
  if (src.size() < 3 || src.size() > 5 || element_count(src) == 0 || element_count(dst) == 0) return false;
  if (weights && !weights.is_contiguous()) {
    Tensor packed;
    weights.copy_to(packed);
    weights = packed;
  }
  Filter filter = filter_of(weights, ElementType::kF32, weights_value.shape, grouped, transposed);
  const std::size_t groups = grouped ? weights_value.shape[0] : 1;
  const dims kernel = spatial(weights_value.shape, grouped ? 3 : 2);
  if (!transposed) {
    Problem<dnnl::convolution_forward> problem{algorithm::convolution_direct,
                                               src,
                                               dst,
                                               filter.shape,
                                               false,
                                               make_window(*node, spatial(src), spatial(dst), kernel)};
    if (!weights) filter.computed = builder.plain(weights_value);
    if (weights && groups == src[1] && groups == dst[1] && lower_depthwise(builder, chain, problem.window, weights))
      return true;
    return lower(builder, chain, problem, filter, groups);
  }
  Problem<dnnl::deconvolution_forward> problem{algorithm::deconvolution_direct,
                                               src,
                                               dst,
                                               filter.shape,
                                               false,
                                               transposed_window(*node, spatial(dst), spatial(src), kernel)};
  if (!weights) filter.computed = builder.plain(weights_value);
  if (weights && !grouped && lower_upsampling(builder, chain, problem.window, weights)) return true;
  return lower(builder, chain, problem, filter, groups);
}

}  // namespace

void register_convolution(LoweringTable& table) {
  table["Convolution"] = {[](PlanBuilder& l, const Chain& c) { return lower_any(l, c, false, false); }, true};
  table["GroupConvolution"] = {[](PlanBuilder& l, const Chain& c) { return lower_any(l, c, true, false); }, true};
  table["ConvolutionBackpropData"] = {[](PlanBuilder& l, const Chain& c) { return lower_any(l, c, false, true); },
                                      true};
  table["GroupConvolutionBackpropData"] = {[](PlanBuilder& l, const Chain& c) { return lower_any(l, c, true, true); },
                                           true};
}

}  // namespace tenon::inline v1::engine
