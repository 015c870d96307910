// SPDX-License-Identifier: Apache-2.0
// MaxPool and AvgPool on oneDNN; by our own kernels averages of windows inside a picture, places of maxima, and adaptive
// pools.
#include <algorithm>

#include <tenon/engine/kernels/image/average_pool.hpp>
#include <tenon/engine/kernels/image/window_pool.hpp>
#include <tenon/engine/lower/build/table.hpp>
#include <tenon/engine/lower/build/window.hpp>
#include <tenon/graph/windows.hpp>

namespace tenon::inline v1::engine {
namespace {

using dnnl::algorithm;

/// By our own kernel, in the layout of the source: windows inside the picture, of f32.
bool lower_average(PlanBuilder& builder, const std::shared_ptr<Node>& node, const Window& window) {
  Value &source = builder.input(node, 0), &made = builder.value(node->output(0));
  const Shape &src = source.shape, &dst = made.shape;
  if (src.size() != 4 || window.is_dilated() || !builder.options().fuse) return false;
  for (std::size_t i = 0; i < 2; ++i)
    if (window.pads_begin[i] != 0 || window.pads_end[i] > 0) return false;
  const Value::Variant from = builder.real(source);
  if (from.desc.get_ndims() == 0 || element_type(from.desc) != ElementType::kF32) return false;
  const bool blocked = from.desc == builder.blocked_desc(src),
             last = from.desc == channels_last(ElementType::kF32, src);
  if (!from.packed && !blocked && !last) return false;
  kernels::AveragePool what;
  what.pixel = blocked ? static_cast<std::size_t>(builder.channel_block()) : from.packed ? 1 : src[1];
  what.pictures = src[0] * ((src[1] + what.pixel - 1) / what.pixel);
  what.in_height = src[2];
  what.in_width = src[3];
  what.out_height = dst[2];
  what.out_width = dst[3];
  what.window_height = static_cast<std::size_t>(window.kernel[0]);
  what.window_width = static_cast<std::size_t>(window.kernel[1]);
  what.stride_height = static_cast<std::size_t>(window.strides[0]);
  what.stride_width = static_cast<std::size_t>(window.strides[1]);
  if (!what.is_known()) return false;
  const ChannelLayout layout = blocked       ? ChannelLayout::kBlocked
                               : from.packed ? ChannelLayout::kPlain
                                             : ChannelLayout::kChannelsLast;
  const BufferSlice to = builder.define(made, builder.image_desc(dst, ElementType::kF32, layout));
  builder.add_kernel(node, "average", {from.place}, {to}, [what](std::span<void* const> p) {
    kernels::average_pool(what, static_cast<const float*>(p[0]), static_cast<float*>(p[1]));
  });
  return true;
}

/// Windows that slide over axis `i`: the part of each that is inside.
kernels::PoolWindows sliding_windows(const Window& window, std::size_t i, std::size_t extent, std::size_t count) {
  const std::int64_t step = window.dilations[i] + 1, size = static_cast<std::int64_t>(extent);
  kernels::PoolWindows made{{}, extent, static_cast<std::size_t>(step)};
  for (std::size_t o = 0; o < count; ++o) {
    const std::int64_t start = static_cast<std::int64_t>(o) * window.strides[i] - window.pads_begin[i];
    const std::int64_t first = start >= 0 ? 0 : (-start + step - 1) / step,
                       end = start >= size ? 0 : std::min(window.kernel[i], (size - 1 - start) / step + 1);
    if (first < end)
      made.windows.push_back(
          {static_cast<std::uint32_t>(start + first * step), static_cast<std::uint32_t>(end - first)});
    else
      made.windows.push_back({0, 0});
  }
  return made;
}

/// Windows that share out an axis.
kernels::PoolWindows adaptive_windows(std::size_t extent, std::size_t count) {
  kernels::PoolWindows made{{}, extent, 1};
  for (std::size_t o = 0; o < count; ++o) {
    const std::size_t first = o * extent / count, end = ((o + 1) * extent + count - 1) / count;
    made.windows.push_back({static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(end - first)});
  }
  return made;
}

/// Pools of [N, C, spatial...] whose windows along each spatial axis `windows` gives.
template <typename Windows>
bool describe_pool(const Shape& src, const Shape& dst, const Windows& windows, kernels::WindowPool& what) {
  for (std::size_t i = 2; i < src.size(); ++i)
    if (src[i] >= UINT32_MAX) return false;
  what.planes = src[0] * src[1];
  for (std::size_t i = 2; i < src.size(); ++i) what.axes[i + 3 - src.size()] = windows(i - 2, src[i], dst[i]);
  return true;
}

bool add_greatest(PlanBuilder& builder, const std::shared_ptr<Node>& node, const kernels::WindowPool& what,
                  const kernels::GreatestRule& rule) {
  Value &source = builder.input(node, 0), &made = builder.value(node->output(0));
  const bool has_places = node->get_output_size() > 1;
  const bool is_wide = has_places && builder.value(node->output(1)).type == ElementType::kI64;
  const BufferSlice from = builder.plain(source), to = builder.define_plain(made),
                    places = has_places ? builder.define_plain(builder.value(node->output(1)))
                                        : builder.scratch(element_count(made.shape) * sizeof(std::int32_t));
  builder.add_kernel(node, "greatest", {from}, {to, places}, [what, rule, is_wide](std::span<void* const> p) {
    const auto* data = static_cast<const float*>(p[0]);
    if (is_wide)
      kernels::window_greatest(what, rule, data, static_cast<float*>(p[1]), static_cast<std::int64_t*>(p[2]));
    else
      kernels::window_greatest(what, rule, data, static_cast<float*>(p[1]), static_cast<std::int32_t*>(p[2]));
  });
  return true;
}

/// MaxPool with the places of the maxima, or with windows that oneDNN does not have.
bool lower_greatest(PlanBuilder& builder, const std::shared_ptr<Node>& node, const Window& window) {
  const Shape &src = builder.input(node, 0).shape, &dst = builder.value(node->output(0)).shape;
  kernels::WindowPool what;
  const auto windows = [&](std::size_t i, std::size_t extent, std::size_t count) {
    return sliding_windows(window, i, extent, count);
  };
  if (!describe_pool(src, dst, windows, what)) return false;
  std::int64_t axis = node->get_attributes().get_int("axis", 0);
  if (axis < 0) axis += static_cast<std::int64_t>(src.size());
  kernels::GreatestRule rule{true, 1};
  for (auto i = static_cast<std::size_t>(axis); i < src.size(); ++i) rule.places *= src[i];
  return add_greatest(builder, node, what, rule);
}

bool lower_adaptive(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  Value &source = builder.input(node, 0), &made = builder.value(node->output(0));
  const Shape &src = source.shape, &dst = made.shape;
  if (source.type != ElementType::kF32 || element_count(src) == 0 || element_count(dst) == 0) return false;
  kernels::WindowPool what;
  const auto windows = [](std::size_t, std::size_t extent, std::size_t count) {
    return adaptive_windows(extent, count);
  };
  if (!describe_pool(src, dst, windows, what)) return false;
  if (is_op(node, "AdaptiveMaxPool")) return add_greatest(builder, node, what, {false, what.in_plane()});
  // Means are taken in the layout that the source has.
  const Value::Variant from = builder.real(source);
  ChannelLayout layout = ChannelLayout::kPlain;
  if (src.size() == 4 && !from.packed && from.desc == builder.blocked_desc(src)) {
    layout = ChannelLayout::kBlocked;
    what.pixel = static_cast<std::size_t>(builder.channel_block());
    what.planes = src[0] * ((src[1] + what.pixel - 1) / what.pixel);
  } else if (src.size() == 4 && !from.packed && from.desc == channels_last(ElementType::kF32, src)) {
    layout = ChannelLayout::kChannelsLast;
    what.pixel = src[1];
    what.planes = src[0];
  }
  const bool is_plain = layout == ChannelLayout::kPlain;
  const BufferSlice read = is_plain ? builder.plain(source) : from.place,
                    to = is_plain ? builder.define_plain(made)
                                  : builder.define(made, builder.image_desc(dst, ElementType::kF32, layout));
  builder.add_kernel(node, "means", {read}, {to}, [what](std::span<void* const> p) {
    kernels::window_means(what, static_cast<const float*>(p[0]), static_cast<float*>(p[1]));
  });
  return true;
}

bool lower_pool(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  if (node->get_input_element_type(0) != element::f32) return false;
  const Shape src = node->get_input_shape(0), dst = node->get_output_shape(0);
  if (src.size() < 3 || src.size() > 5 || element_count(dst) == 0 || element_count(src) == 0) return false;
  const bool is_max = std::string_view(node->get_type_name()) == "MaxPool";
  const auto& attributes = node->get_attributes();
  const Window window = make_window(*node, spatial(src), spatial(dst), attributes.get_ints("kernel"));
  if (is_max && node->get_output_size() > 1 && !node->get_output_target_inputs(1).empty())
    return lower_greatest(builder, node, window);
  const bool exclude_pad = !is_max && excludes_padding(*node);
  for (std::size_t i = 0; i < window.kernel.size(); ++i) {
    // A window entirely in the padding is undefined in oneDNN.
    const auto extent = (window.kernel[i] - 1) * (window.dilations[i] + 1) + 1;
    if (window.pads_begin[i] >= extent || window.pads_end[i] >= extent)
      return is_max && lower_greatest(builder, node, window);
    // Rounded up, the last window reaches past the declared padding; that part does not count.
    const std::string auto_pad = attributes.get_string("auto_pad", "explicit");
    const auto declared = auto_pad == "explicit" ? attributes.get_ints("pads_end", {}) : std::vector<std::int64_t>();
    const std::int64_t declared_end = i < declared.size() ? declared[i] : 0;
    const bool is_same = auto_pad == "same_upper" || auto_pad == "same_lower";
    if (!is_max && !exclude_pad && !is_same && window.pads_end[i] > declared_end) return false;
  }
  if (!is_max && lower_average(builder, node, window)) return true;
  Value& source = builder.input(node, 0);
  const algorithm algo = is_max        ? algorithm::pooling_max
                         : exclude_pad ? algorithm::pooling_avg_exclude_padding
                                       : algorithm::pooling_avg_include_padding;
  Value& made = builder.value(node->output(0));
  const md native = (is_max ? builder.native(source) : builder.real(source)).desc;
  made.quantization = source.quantization;
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  std::vector<md> layouts{native};
  const ElementType type = element_type(native);
  if (builder.blocked_desc(src).get_ndims()) layouts.push_back(builder.blocked_desc(src, type));
  layouts.push_back(plain_desc(type, src));
  for (const bool accept_slow : {false, true}) {
    for (const md& layout : layouts) {
      const md any(to_dims(dst), layout.get_data_type(), dnnl::memory::format_tag::any);
      const dnnl::pooling_forward::primitive_desc pd(builder.engine(), dnnl::prop_kind::forward_inference, algo, layout,
                                                     any, window.strides, window.kernel, window.dilations,
                                                     window.pads_begin, window.pads_end, attr, true);
      if (!pd || (is_slow(pd.impl_info_str()) && !accept_slow)) continue;
      const BufferSlice from = builder.in_layout(source, pd.src_desc());
      const BufferSlice to = builder.define(made, pd.dst_desc());
      auto& step = builder.add_primitive(node, dnnl::pooling_forward(pd), pd.impl_info_str());
      builder.add_argument(step, DNNL_ARG_SRC, from, pd.src_desc());
      builder.add_argument(step, DNNL_ARG_DST, to, pd.dst_desc(), true);
      builder.add_scratchpad(step, pd.scratchpad_desc());
      return true;
    }
  }
  return false;
}

}  // namespace

void register_pooling(LoweringTable& table) {
  table["MaxPool"] = {lower_pool, false};
  table["AvgPool"] = {lower_pool, false};
  table["AdaptiveAvgPool"] = {lower_adaptive, false};
  table["AdaptiveMaxPool"] = {lower_adaptive, false};
}

}  // namespace tenon::inline v1::engine
