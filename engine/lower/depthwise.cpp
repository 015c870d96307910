// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution by our own kernel.
#include <tenon/engine/kernels/depthwise.hpp>
#include <tenon/engine/lower/chain.hpp>
#include <tenon/engine/lower/depthwise.hpp>

namespace tenon::inline v1::engine {
namespace {

using kernels::Depthwise;

/// The bounds to which the chain's nodes from `begin` on clamp results. @return false if they do anything else.
bool bounds_of(PlanBuilder& builder, const Chain& chain, std::size_t begin, Depthwise& problem) {
  for (std::size_t i = begin; i < chain.nodes.size(); ++i) {
    const auto activation = activation_of(builder, chain.nodes[i]);
    if (!activation) return false;
    float low = -std::numeric_limits<float>::infinity(), high = -low;
    if (activation->algorithm == dnnl::algorithm::eltwise_relu && activation->alpha == 0) {
      low = 0;
    } else if (activation->algorithm == dnnl::algorithm::eltwise_clip) {
      low = activation->alpha;
      high = activation->beta;
    } else {
      return false;
    }
    problem.low = std::min(std::max(problem.low, low), high);
    problem.high = std::max(std::min(problem.high, high), low);
  }
  return true;
}

}  // namespace

bool lower_depthwise(PlanBuilder& builder, const Chain& chain, const Window& window, const Tensor& weights) {
  const auto& node = chain.anchor();
  Value& source = builder.input(node, 0);
  const Shape &src = source.shape, &dst = node->get_output_shape(0);
  constexpr std::size_t kBlock = Depthwise::kBlock;
  if (builder.compute_type() != ElementType::kBf16 || builder.channel_block() != kBlock || src.size() != 4)
    return false;
  if (window.is_dilated() || window.strides[1] > 2) return false;
  for (auto extent : window.kernel)
    if (extent > static_cast<std::int64_t>(Depthwise::kLargestKernel)) return false;
  const ChannelAffine affine = channel_affine(builder, chain, dst);
  Depthwise problem;
  if (!bounds_of(builder, chain, affine.end, problem)) return false;
  const std::size_t channels = problem.channels = dst[1], blocks = problem.blocks();
  problem.channels_last = builder.prefers_channels_last();
  // Channels that only pad the last block must stay 0.
  if (!problem.channels_last && channels % kBlock != 0 && (problem.low > 0 || problem.high < 0)) return false;
  problem.batch = src[0];
  problem.in_height = src[2];
  problem.in_width = src[3];
  problem.out_height = dst[2];
  problem.out_width = dst[3];
  problem.kernel_height = static_cast<std::size_t>(window.kernel[0]);
  problem.kernel_width = static_cast<std::size_t>(window.kernel[1]);
  problem.stride_height = static_cast<std::size_t>(window.strides[0]);
  problem.stride_width = static_cast<std::size_t>(window.strides[1]);
  problem.pad_top = window.pads_begin[0];
  problem.pad_left = window.pads_begin[1];
  const std::size_t taps = problem.kernel_height * problem.kernel_width;
  Tensor packed(ElementType::kF32, Shape{blocks, taps, kBlock}), bias(ElementType::kF32, Shape{blocks * kBlock});
  float* to = packed.data<float>();
  std::fill(to, to + packed.element_count(), 0.f);
  std::fill(bias.data<float>(), bias.data<float>() + bias.element_count(), 0.f);
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t tap = 0; tap < taps; ++tap)
      to[(c / kBlock * taps + tap) * kBlock + c % kBlock] = weights.data<float>()[c * taps + tap] * affine.scale[c];
    bias.data<float>()[c] = affine.shift[c];
  }
  const ChannelLayout layout = problem.channels_last ? ChannelLayout::kChannelsLast : ChannelLayout::kBlocked;
  const Place from = builder.in_layout(source, builder.image_desc(src, ElementType::kBf16, layout));
  const Place weights_place = builder.constant_place(packed), bias_place = builder.constant_place(bias);
  const Place result =
      builder.define(builder.value(chain.last()->output(0)), builder.image_desc(dst, ElementType::kBf16, layout));
  builder.add_kernel(
      node, "depthwise:bf16", {from, weights_place, bias_place}, {result}, [problem](std::span<void* const> p) {
        kernels::depthwise_bf16(problem, static_cast<const std::uint16_t*>(p[0]), static_cast<const float*>(p[1]),
                                static_cast<const float*>(p[2]), static_cast<std::uint16_t*>(p[3]));
      });
  builder.note_fused(chain);
  return true;
}

}  // namespace tenon::inline v1::engine
