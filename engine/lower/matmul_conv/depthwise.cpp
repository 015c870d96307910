// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions by our own kernel.
#include <limits>
#include <vector>

#include <tenon/engine/kernels/image/depthwise.hpp>
#include <tenon/engine/lower/build/post_ops.hpp>
#include <tenon/engine/lower/build/precision.hpp>
#include <tenon/engine/lower/matmul_conv/depthwise.hpp>

namespace tenon::inline v1::engine {
namespace {

using kernels::Depthwise;

/// What the chain does from node `begin` on; nothing if the kernel lacks it.
bool describe_function(PlanBuilder& builder, const Chain& chain, std::size_t begin, Depthwise& what) {
  constexpr float kAny = std::numeric_limits<float>::infinity();
  what.low = -kAny;
  what.high = kAny;
  if (begin == chain.nodes.size()) return true;
  const auto activation = activation_of(builder, chain.nodes[begin]);
  if (!activation || begin + 1 < chain.nodes.size()) return false;
  switch (activation->algorithm) {
    case dnnl::algorithm::eltwise_relu:
      what.low = 0;
      return activation->alpha == 0;
    case dnnl::algorithm::eltwise_clip:
    case dnnl::algorithm::eltwise_clip_v2:
      what.low = activation->alpha;
      what.high = activation->beta;
      return true;
    case dnnl::algorithm::eltwise_swish:
      what.function = Depthwise::Function::kSwish;
      return activation->alpha == 1;
    case dnnl::algorithm::eltwise_hardswish:
      what.function = Depthwise::Function::kHardSwish;
      return activation->alpha == 1 / 6.f && activation->beta == 0.5f;
    default:
      return false;
  }
}

/// The kernel's weights and bias, with what the chain does to each channel.
Tensor packed(const Depthwise& what, const Tensor& weights, const ChannelAffine& affine) {
  const std::size_t points = what.window * what.window;
  std::vector<float> by_point(points * what.channels);
  for (std::size_t c = 0; c < what.channels; ++c)
    for (std::size_t point = 0; point < points; ++point)
      by_point[point * what.channels + c] = weights.data<float>()[c * points + point] * affine.scale[c];
  Tensor result(ElementType::kF32, Shape{kernels::packed_depthwise_size(what)});
  kernels::pack_depthwise(what, by_point.data(), affine.shift.data(), result.data<float>());
  return result;
}

}  // namespace

bool lower_depthwise(PlanBuilder& builder, const Chain& chain, const Window& window, const Tensor& weights) {
  const auto& node = chain.anchor();
  Value& source = builder.input(node, 0);
  Value& made = builder.value(chain.last()->output(0));
  const Shape &src = source.shape, &dst = made.shape;
  if (builder.compute_type() != ElementType::kBf16 || !builder.prefers_channels_last() || src.size() != 4 ||
      window.is_dilated() || window.kernel[0] != window.kernel[1] || window.strides[0] != window.strides[1])
    return false;
  Depthwise what;
  what.batch = src[0], what.channels = src[1], what.height = src[2], what.width = src[3];
  what.out_height = dst[2], what.out_width = dst[3];
  what.window = static_cast<std::size_t>(window.kernel[0]);
  what.stride = static_cast<std::size_t>(window.strides[0]);
  what.pad_top = window.pads_begin[0], what.pad_left = window.pads_begin[1];
  const ChannelAffine affine = channel_affine(builder, chain, dst);
  if (!kernels::has_depthwise(what) || !describe_function(builder, chain, affine.end, what)) return false;
  const ElementType result = result_type(builder, chain, ElementType::kBf16);
  const BufferSlice from = builder.in_layout(source, channels_last(ElementType::kBf16, src));
  const BufferSlice factors = builder.constant_place(packed(what, weights, affine));
  const BufferSlice to = builder.define(made, channels_last(result, dst));
  builder.add_kernel(node, "depthwise", {from, factors}, {to}, [what, result](std::span<void* const> p) {
    const auto* x = static_cast<const std::uint16_t*>(p[0]);
    const auto* factors = static_cast<const float*>(p[1]);
    if (result == ElementType::kBf16)
      kernels::depthwise(what, x, factors, static_cast<std::uint16_t*>(p[2]));
    else
      kernels::depthwise(what, x, factors, static_cast<float*>(p[2]));
  });
  builder.note_fused(chain);
  return true;
}

}  // namespace tenon::inline v1::engine
