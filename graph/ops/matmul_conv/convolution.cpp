// SPDX-License-Identifier: Apache-2.0
// Convolutions: plain, grouped, and their transposes.
#include <algorithm>

#include <tenon/graph/ops/internal/kernel.hpp>
#include <tenon/graph/ops/internal/table_rows.hpp>
#include <tenon/graph/ops/internal/window.hpp>

namespace tenon {
inline namespace v1 {

namespace {
/// Filters are [O, I, spatial...], with groups [G, O/G, I/G, spatial...]; transposed ones are [I, O, ...] and [G, I/G,
/// O/G, ...].
struct Layout {
  bool grouped = false, transposed = false;
  std::size_t first_spatial() const { return grouped ? 3 : 2; }
};

/// Checks data and filters against each other. @return the number of spatial axes, nothing when both ranks are dynamic.
std::optional<std::size_t> spatial_axes(const Node& node, const Layout& layout) {
  common_type(node, 0, 2);
  const auto data = static_rank(node, 0);
  const auto filters = static_rank(node, 1);
  if (!data && !filters) return std::nullopt;
  if (data) require_rank(node, 0, 3, 5);
  if (filters) require_rank(node, 1, layout.grouped ? 4 : 3, layout.grouped ? 6 : 5);
  const std::size_t spatial = data ? *data - 2 : *filters - layout.first_spatial();
  if (data && filters && *filters - layout.first_spatial() != spatial) {
    fail("data " + node.get_input_partial_shape(0).to_string() + " and filters " +
         node.get_input_partial_shape(1).to_string() + " differ in their number of spatial axes");
  }
  return spatial;
}

void check_channels(const Node& node, const Layout& layout) {
  const PartialShape& data = node.get_input_partial_shape(0);
  const PartialShape& filters = node.get_input_partial_shape(1);
  if (data.rank().is_dynamic() || filters.rank().is_dynamic()) return;
  Dimension expected = layout.transposed ? filters[layout.grouped ? 1 : 0] : filters[layout.grouped ? 2 : 1];
  if (layout.grouped) expected = expected * filters[0];
  if (!expected.compatible(data[1])) {
    fail("the filters " + filters.to_string() + " take " + expected.to_string() + " channels, the data " +
         data.to_string() + " has " + data[1].to_string());
  }
}

Dimension output_channels(const PartialShape& filters, const Layout& layout) {
  const Dimension own = filters[(layout.grouped ? 1 : 0) + (layout.transposed ? 1 : 0)];
  return layout.grouped ? own * filters[0] : own;
}

template <bool kGrouped>
void infer_convolution(Node& node) {
  const Layout layout{kGrouped, false};
  const auto spatial = spatial_axes(node, layout);
  const element::Type type = common_type(node, 0, 2);
  if (!spatial) return node.set_output_type(0, type, PartialShape::dynamic());
  check_channels(node, layout);
  const PartialShape data = node.get_input_partial_shape(0).rank().is_static()
                                ? node.get_input_partial_shape(0)
                                : PartialShape::dynamic(static_cast<std::int64_t>(*spatial + 2));
  const PartialShape& filters = node.get_input_partial_shape(1);
  const bool known = filters.rank().is_static();
  auto axes = read_window(node.get_attributes(), *spatial, true);
  const std::string& auto_pad = node.get_attributes().get_string("auto_pad");
  PartialShape out = PartialShape::dynamic(static_cast<std::int64_t>(*spatial + 2));
  out[0] = data[0];
  if (known) out[1] = output_channels(filters, layout);
  for (std::size_t i = 0; i < *spatial; ++i) {
    if (!known || filters[layout.first_spatial() + i].is_dynamic()) continue;
    axes[i].kernel = filters[layout.first_spatial() + i].get_length();
    if (axes[i].kernel < 1 || axes[i].kernel > (std::int64_t{1} << 30))
      fail("filters " + filters.to_string() + " have an empty or oversized window");
    out[2 + i] = window_count(axes[i], data[2 + i], auto_pad);
  }
  node.set_output_type(0, type, out);
}

std::vector<std::int64_t> output_padding(const Node& node, std::size_t spatial) {
  auto values = node.get_attributes().get_ints("output_padding");
  if (values.empty()) values.assign(spatial, 0);
  if (values.size() != spatial)
    fail("attribute 'output_padding': expected " + std::to_string(spatial) + " values, found " +
         std::to_string(values.size()));
  for (std::int64_t value : values) {
    if (value < 0 || value > (std::int64_t{1} << 30))
      fail("attribute 'output_padding': " + std::to_string(value) + " is negative or too large");
  }
  return values;
}

/// Pads of a transposed convolution with a given output extent.
void pads_for_output(WindowAxis& axis, std::int64_t in, std::int64_t out, std::int64_t extra,
                     const std::string& auto_pad) {
  const std::int64_t full = (in - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1 + extra;
  const std::int64_t total = std::max<std::int64_t>(0, full - out);
  // The reverse of a plain convolution: a transposed one crops the positions that are padding in its counterpart's
  // input.
  if (auto_pad == "same_upper")
    axis.pad_begin = total - total / 2;
  else if (auto_pad == "same_lower")
    axis.pad_begin = total / 2;
  else
    return;
  axis.pad_end = total - axis.pad_begin;
}

template <bool kGrouped>
void infer_backprop(Node& node) {
  const Layout layout{kGrouped, true};
  const auto spatial = spatial_axes(node, layout);
  const element::Type type = common_type(node, 0, 2);
  if (!spatial) return node.set_output_type(0, type, PartialShape::dynamic());
  check_channels(node, layout);
  const PartialShape data = node.get_input_partial_shape(0).rank().is_static()
                                ? node.get_input_partial_shape(0)
                                : PartialShape::dynamic(static_cast<std::int64_t>(*spatial + 2));
  const PartialShape& filters = node.get_input_partial_shape(1);
  const bool known = filters.rank().is_static();
  const auto axes = read_window(node.get_attributes(), *spatial, true);
  const auto extra = output_padding(node, *spatial);
  const std::string& auto_pad = node.get_attributes().get_string("auto_pad");
  PartialShape out = PartialShape::dynamic(static_cast<std::int64_t>(*spatial + 2));
  out[0] = data[0];
  if (known) out[1] = output_channels(filters, layout);
  std::optional<PartialShape> target;
  if (node.get_input_size() > 2) {
    target = shape_from_input(node, 2);
    if (target->rank().is_static() && target->size() != *spatial) {
      fail("the output shape input has " + std::to_string(target->size()) + " values, expected " +
           std::to_string(*spatial));
    }
    if (target->rank().is_dynamic()) target = PartialShape::dynamic(static_cast<std::int64_t>(*spatial));
  }
  for (std::size_t i = 0; i < *spatial; ++i) {
    if (target) {
      out[2 + i] = (*target)[i];
      continue;
    }
    if (!known || filters[layout.first_spatial() + i].is_dynamic()) continue;
    const std::int64_t kernel = filters[layout.first_spatial() + i].get_length();
    if (kernel < 1 || kernel > (std::int64_t{1} << 30))
      fail("filters " + filters.to_string() + " have an empty or oversized window");
    if (auto_pad == "same_upper" || auto_pad == "same_lower") {
      out[2 + i] = data[2 + i] * Dimension(axes[i].stride);
      continue;
    }
    const bool valid = auto_pad == "valid";
    const auto extent = [&](std::int64_t in) {
      std::int64_t scaled = 0;
      if (__builtin_mul_overflow(in - 1, axes[i].stride, &scaled) || scaled > (std::int64_t{1} << 61))
        fail("extent " + std::to_string(in) + " is too large");
      const std::int64_t result =
          scaled + (kernel - 1) * axes[i].dilation + 1 + extra[i] - (valid ? 0 : axes[i].pad_begin + axes[i].pad_end);
      if (result < 0)
        fail("padding leaves a negative extent " + std::to_string(result) + " on spatial axis " + std::to_string(i));
      return result;
    };
    const Dimension& in = data[2 + i];
    if (in.is_static())
      out[2 + i] = Dimension(extent(in.get_length()));
    else if (in.get_max_length() > 0)
      out[2 + i] = Dimension(0, extent(in.get_max_length()));
  }
  node.set_output_type(0, type, out);
}

/// The range of output positions whose input position pos * stride + offset lies in [0, in).
void valid_range(std::int64_t offset, std::int64_t stride, std::int64_t in, std::int64_t out, std::int64_t& first,
                 std::int64_t& last) {
  first = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
  last = in - 1 - offset < 0 ? -1 : std::min(out - 1, (in - 1 - offset) / stride);
}

/// Computes one output plane tap by tap, so that the inner loop runs over adjacent pixels.
template <typename T>
void convolve_plane(const Spatial3& s, const T* in, const T* taps, T* out) {
  const auto* w = s.window;
  const auto id = static_cast<std::int64_t>(s.in[0]), ih = static_cast<std::int64_t>(s.in[1]),
             iw = static_cast<std::int64_t>(s.in[2]);
  const auto od = static_cast<std::int64_t>(s.out[0]), oh = static_cast<std::int64_t>(s.out[1]),
             ow = static_cast<std::int64_t>(s.out[2]);
  for (std::int64_t kz = 0; kz < w[0].kernel; ++kz) {
    for (std::int64_t ky = 0; ky < w[1].kernel; ++ky) {
      for (std::int64_t kx = 0; kx < w[2].kernel; ++kx) {
        const T tap = taps[(kz * w[1].kernel + ky) * w[2].kernel + kx];
        const std::int64_t offset = kx * w[2].dilation - w[2].pad_begin;
        std::int64_t first, last;
        valid_range(offset, w[2].stride, iw, ow, first, last);
        for (std::int64_t z = 0; z < od; ++z) {
          const std::int64_t iz = z * w[0].stride + kz * w[0].dilation - w[0].pad_begin;
          if (iz < 0 || iz >= id) continue;
          for (std::int64_t y = 0; y < oh; ++y) {
            const std::int64_t iy = y * w[1].stride + ky * w[1].dilation - w[1].pad_begin;
            if (iy < 0 || iy >= ih) continue;
            const T* row = in + (iz * ih + iy) * iw + offset;
            T* to = out + (z * oh + y) * ow;
            const std::int64_t step = w[2].stride;
            if (step == 1) {
              for (std::int64_t x = first; x <= last; ++x) to[x] += tap * row[x];
            } else {
              for (std::int64_t x = first; x <= last; ++x) to[x] += tap * row[x * step];
            }
          }
        }
      }
    }
  }
}

template <bool kGrouped>
void evaluate_convolution(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Layout layout{kGrouped, false};
  const Shape &data = inputs[0].shape(), &filters = inputs[1].shape(), &out = outputs[0].shape();
  const std::size_t first = layout.first_spatial();
  const Spatial3 s = convolution_window(node, data, filters, out);
  const std::size_t groups = kGrouped ? filters[0] : 1;
  const std::size_t out_channels = out[1] / std::max<std::size_t>(groups, 1), in_channels = filters[first - 1];
  const std::size_t in_plane = extent_product(data, 2, data.size()), out_plane = extent_product(out, 2, out.size());
  const std::size_t taps = extent_product(filters, first, filters.size());
  dispatch_compute(inputs[0].element_type(), [&](auto zero) {
    using T = decltype(zero);
    const Read<T> x(inputs[0]), weights(inputs[1]);
    Write<T> y(outputs[0]);
    std::fill(y.data(), y.data() + y.size(), T{0});
    for (std::size_t n = 0; n < out[0] && y.size() > 0; ++n) {
      for (std::size_t g = 0; g < groups; ++g) {
        for (std::size_t o = 0; o < out_channels; ++o) {
          T* to = y.data() + (n * out[1] + g * out_channels + o) * out_plane;
          for (std::size_t c = 0; c < in_channels; ++c) {
            convolve_plane(s, x.data() + (n * data[1] + g * in_channels + c) * in_plane,
                           weights.data() + ((g * out_channels + o) * in_channels + c) * taps, to);
          }
        }
      }
    }
    y.commit();
  });
}

/// The transposed form: every input pixel adds its multiple of the taps to the output.
template <typename T>
void scatter_plane(const Spatial3& s, const T* in, const T* taps, T* out) {
  const auto* w = s.window;
  const auto ih = static_cast<std::int64_t>(s.in[1]), iw = static_cast<std::int64_t>(s.in[2]);
  const auto od = static_cast<std::int64_t>(s.out[0]), oh = static_cast<std::int64_t>(s.out[1]),
             ow = static_cast<std::int64_t>(s.out[2]);
  for (std::int64_t z = 0; z < static_cast<std::int64_t>(s.in[0]); ++z) {
    for (std::int64_t y = 0; y < ih; ++y) {
      const T* row = in + (z * ih + y) * iw;
      for (std::int64_t kz = 0; kz < w[0].kernel; ++kz) {
        const std::int64_t oz = z * w[0].stride + kz * w[0].dilation - w[0].pad_begin;
        if (oz < 0 || oz >= od) continue;
        for (std::int64_t ky = 0; ky < w[1].kernel; ++ky) {
          const std::int64_t oy = y * w[1].stride + ky * w[1].dilation - w[1].pad_begin;
          if (oy < 0 || oy >= oh) continue;
          T* to = out + (oz * oh + oy) * ow;
          for (std::int64_t kx = 0; kx < w[2].kernel; ++kx) {
            const T tap = taps[(kz * w[1].kernel + ky) * w[2].kernel + kx];
            const std::int64_t offset = kx * w[2].dilation - w[2].pad_begin;
            std::int64_t first, last;
            valid_range(offset, w[2].stride, ow, iw, first, last);
            for (std::int64_t x = first; x <= last; ++x) to[x * w[2].stride + offset] += tap * row[x];
          }
        }
      }
    }
  }
}

template <bool kGrouped>
void evaluate_backprop(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Layout layout{kGrouped, true};
  const Shape &data = inputs[0].shape(), &filters = inputs[1].shape(), &out = outputs[0].shape();
  const std::size_t first = layout.first_spatial();
  const Spatial3 s = convolution_window(node, data, filters, out);
  const std::size_t groups = kGrouped ? filters[0] : 1;
  const std::size_t in_channels = filters[first - 2], out_channels = filters[first - 1];
  const std::size_t in_plane = extent_product(data, 2, data.size()), out_plane = extent_product(out, 2, out.size());
  const std::size_t taps = extent_product(filters, first, filters.size());
  dispatch_compute(inputs[0].element_type(), [&](auto zero) {
    using T = decltype(zero);
    const Read<T> x(inputs[0]), weights(inputs[1]);
    Write<T> y(outputs[0]);
    std::fill(y.data(), y.data() + y.size(), T{0});
    for (std::size_t n = 0; n < out[0] && y.size() > 0 && x.size() > 0; ++n) {
      for (std::size_t g = 0; g < groups; ++g) {
        for (std::size_t c = 0; c < in_channels; ++c) {
          for (std::size_t o = 0; o < out_channels; ++o) {
            scatter_plane(s, x.data() + (n * data[1] + g * in_channels + c) * in_plane,
                          weights.data() + ((g * in_channels + c) * out_channels + o) * taps,
                          y.data() + (n * out[1] + g * out_channels + o) * out_plane);
          }
        }
      }
    }
    y.commit();
  });
}
}  // namespace

Spatial3 convolution_window(const Node& node, const Shape& data, const Shape& filters, const Shape& out) {
  const bool is_transposed = is_op(&node, "ConvolutionBackpropData") || is_op(&node, "GroupConvolutionBackpropData");
  const std::size_t spatial = data.size() - 2, first = filters.size() - spatial;
  const std::string& auto_pad = node.get_attributes().get_string("auto_pad");
  auto axes = read_window(node.get_attributes(), spatial, true);
  const auto extra = is_transposed ? output_padding(node, spatial) : std::vector<std::int64_t>();
  for (std::size_t i = 0; i < spatial; ++i) {
    axes[i].kernel = static_cast<std::int64_t>(filters[first + i]);
    const auto in = static_cast<std::int64_t>(data[2 + i]);
    if (!is_transposed) {
      resolve_auto_pad(axes[i], auto_pad, in);
      continue;
    }
    if (auto_pad == "valid") axes[i].pad_begin = axes[i].pad_end = 0;
    pads_for_output(axes[i], in, static_cast<std::int64_t>(out[2 + i]), extra[i], auto_pad);
  }
  return spatial3(axes, data, out, 2);
}

void add_convolution_rows(OperationTable& table) {
  const std::vector<std::string> pads = {"explicit", "same_upper", "same_lower", "valid"};
  const auto windows = [&](OperationTable::Row row) {
    row.ints("strides")
        .ints("dilations")
        .ints("pads_begin", std::vector<std::int64_t>{})
        .ints("pads_end", std::vector<std::int64_t>{})
        .text("auto_pad", "explicit", pads);
    return row;
  };
  windows(table.add("Convolution", 1, 2, 2, infer_convolution<false>, evaluate_convolution<false>,
                    "Convolution of [N, C, spatial...] with [O, C, window...]."));
  windows(table.add("GroupConvolution", 1, 2, 2, infer_convolution<true>, evaluate_convolution<true>,
                    "Convolution in groups of channels; filters [G, O/G, C/G, window...]."));
  windows(table.add(
              "ConvolutionBackpropData", 1, 2, 3, infer_backprop<false>, evaluate_backprop<false>,
              "Transposed convolution; filters [C, O, window...]; a third input prescribes the spatial output shape."))
      .ints("output_padding", std::vector<std::int64_t>{});
  windows(table.add("GroupConvolutionBackpropData", 1, 2, 3, infer_backprop<true>, evaluate_backprop<true>,
                    "Transposed convolution in groups of channels; filters [G, C/G, O/G, window...]."))
      .ints("output_padding", std::vector<std::int64_t>{});
}

}  // namespace v1
}  // namespace tenon
