// SPDX-License-Identifier: Apache-2.0
// Transposed convolutions whose windows do not overlap, as a 1x1 convolution and a move.
#include <cstring>

#include <tenon/engine/kernels/simd/broadcast.hpp>
#include <tenon/engine/lower/build/post_ops.hpp>
#include <tenon/engine/lower/matmul_conv/upsampling.hpp>

namespace tenon::inline v1::engine {
namespace {

using dims = dnnl::memory::dims;

struct Spread {
  std::size_t batch, blocks, height, width, window_height, window_width;
};

/// [batch, window points, blocks, height, width, block] to [batch, blocks, height * window height, width * window
/// width, block], where a block has kBytes.
template <std::size_t kBytes>
KernelStep::Kernel spread_kernel(const Spread& s) {
  return [s](std::span<void* const> p) {
    const char* from = static_cast<const char*>(p[0]);
    char* to = static_cast<char*>(p[1]);
    const std::size_t row = s.width * kBytes, plane = s.height * row;
    const std::size_t points = s.window_height * s.window_width, rows = s.batch * s.blocks * s.height;
    kernels::parallel(rows, 2 * rows * points * row, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t y = i % s.height, block = i / s.height % s.blocks, n = i / s.height / s.blocks;
        for (std::size_t wy = 0; wy < s.window_height; ++wy) {
          char* out = to + ((n * s.blocks + block) * s.height * s.window_height + y * s.window_height + wy) * row *
                               s.window_width;
          const char* in = from + ((n * points + wy * s.window_width) * s.blocks + block) * plane + y * row;
          for (std::size_t x = 0; x < s.width; ++x) {
            for (std::size_t wx = 0; wx < s.window_width; ++wx, out += kBytes)
              std::memcpy(out, in + wx * s.blocks * plane + x * kBytes, kBytes);
          }
        }
      }
    });
  };
}

/// The same with the channels innermost: the points of a window's row lie side by side in source and result.
KernelStep::Kernel spread_channels_last(const Spread& s, std::size_t pixel_bytes) {
  return [s, pixel_bytes](std::span<void* const> p) {
    const char* from = static_cast<const char*>(p[0]);
    char* to = static_cast<char*>(p[1]);
    const std::size_t part = s.window_width * pixel_bytes, wide = s.window_height * part, row = s.width * part,
                      rows = s.batch * s.height;
    kernels::parallel(rows, 2 * rows * s.window_height * row, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        for (std::size_t wy = 0; wy < s.window_height; ++wy)
          for (std::size_t x = 0; x < s.width; ++x)
            std::memcpy(to + (i * s.window_height + wy) * row + x * part, from + (i * s.width + x) * wide + wy * part,
                        part);
    });
  };
}

bool lower_in(ElementType type, bool last, PlanBuilder& builder, const Chain& chain, const Window& window,
              const Tensor& weights) {
  const auto& node = chain.anchor();
  Value& source = builder.input(node, 0);
  Value& made = builder.value(chain.last()->output(0));
  const Shape &src = source.shape, &dst = made.shape;
  const auto block = static_cast<std::size_t>(builder.channel_block());
  const std::size_t inputs = src[1], outputs = dst[1], blocks = (outputs + block - 1) / block;
  const std::size_t points = static_cast<std::size_t>(window.kernel[0] * window.kernel[1]);
  const ChannelAffine affine = channel_affine(builder, chain, dst);
  dnnl::post_ops ops;
  std::string name;
  for (std::size_t i = affine.end; i < chain.nodes.size(); ++i) {
    const auto activation = activation_of(builder, chain.nodes[i]);
    if (!activation) return false;
    ops.append_eltwise(activation->algorithm, activation->alpha, activation->beta);
    name += std::string("+") + chain.nodes[i]->get_type_name();
  }
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attributes.set_post_ops(ops);
  // All points of the window as channels, each point's padded to whole blocks if there are blocks.
  const std::size_t point_channels = last ? outputs : blocks * block, channels = points * point_channels;
  const Shape wide{src[0], channels, src[2], src[3]};
  const ChannelLayout layout = last ? ChannelLayout::kChannelsLast : ChannelLayout::kBlocked;
  const md src_desc = builder.image_desc(src, type, layout), wide_desc = builder.image_desc(wide, type, layout);
  const dims filter{static_cast<std::int64_t>(channels), static_cast<std::int64_t>(inputs), 1, 1};
  const dnnl::convolution_forward::primitive_desc pd(
      builder.engine(), dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, src_desc,
      md(filter, data_type(type), dnnl::memory::format_tag::any),
      md({static_cast<std::int64_t>(channels)}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::a), wide_desc,
      {1, 1}, {0, 0}, {0, 0}, {0, 0}, attributes, true);
  if (!pd || is_slow(pd.impl_info_str())) return false;
  Tensor packed(ElementType::kF32, Shape{channels, inputs}), bias(ElementType::kF32, Shape{channels});
  float *to = packed.data<float>(), *shift = bias.data<float>();
  std::fill(to, to + packed.element_count(), 0.f);
  std::fill(shift, shift + channels, 0.f);
  for (std::size_t point = 0; point < points; ++point) {
    for (std::size_t o = 0; o < outputs; ++o) {
      const std::size_t channel = point * point_channels + o;
      shift[channel] = affine.shift[o];
      for (std::size_t i = 0; i < inputs; ++i)
        to[channel * inputs + i] = weights.data<float>()[(i * outputs + o) * points + point] * affine.scale[o];
    }
  }
  const BufferSlice from = builder.in_layout(source, src_desc);
  const BufferSlice filter_place =
      builder.packed_constant(packed, plain_desc(ElementType::kF32, Shape{channels, inputs, 1, 1}), pd.weights_desc());
  const BufferSlice bias_place = builder.constant_place(bias);
  const BufferSlice middle = builder.scratch(wide_desc.get_size());
  auto& step = builder.add_primitive(node, dnnl::convolution_forward(pd), pd.impl_info_str() + name);
  builder.add_argument(step, DNNL_ARG_SRC, from, src_desc);
  builder.add_argument(step, DNNL_ARG_WEIGHTS, filter_place, pd.weights_desc());
  builder.add_argument(step, DNNL_ARG_BIAS, bias_place, pd.bias_desc());
  builder.add_argument(step, DNNL_ARG_DST, middle, wide_desc, true);
  builder.add_scratchpad(step, pd.scratchpad_desc());
  builder.note_fused(chain);
  const BufferSlice result = builder.define(made, builder.image_desc(dst, type, layout));
  const Spread spread{src[0],
                      blocks,
                      src[2],
                      src[3],
                      static_cast<std::size_t>(window.kernel[0]),
                      static_cast<std::size_t>(window.kernel[1])};
  const std::size_t bytes = block * size_bytes(type);
  builder.add_kernel(node, "spread", {middle}, {result},
                     last          ? spread_channels_last(spread, outputs * size_bytes(type))
                     : bytes == 64 ? spread_kernel<64>(spread)
                     : bytes == 32 ? spread_kernel<32>(spread)
                                   : spread_kernel<16>(spread));
  return true;
}

}  // namespace

bool lower_upsampling(PlanBuilder& builder, const Chain& chain, const Window& window, const Tensor& weights) {
  const Shape &src = builder.input(chain.anchor(), 0).shape, &dst = chain.anchor()->get_output_shape(0);
  if (builder.channel_block() == 0 || src.size() != 4 || window.is_dilated()) return false;
  for (std::size_t i = 0; i < 2; ++i) {
    if (window.kernel[i] != window.strides[i] || window.pads_begin[i] != 0 || window.pads_end[i] != 0) return false;
    if (dst[2 + i] != src[2 + i] * static_cast<std::size_t>(window.kernel[i])) return false;
  }
  const ElementType type = builder.compute_type();
  return (builder.prefers_channels_last() && lower_in(type, true, builder, chain, window, weights)) ||
         lower_in(type, false, builder, chain, window, weights) ||
         (type != ElementType::kF32 && lower_in(ElementType::kF32, false, builder, chain, window, weights));
}

}  // namespace tenon::inline v1::engine
