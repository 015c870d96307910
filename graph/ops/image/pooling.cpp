// SPDX-License-Identifier: Apache-2.0
// Pooling over spatial windows.
#include <algorithm>
#include <limits>

#include <tenon/graph/ops/internal/kernel.hpp>
#include <tenon/graph/ops/internal/table_rows.hpp>
#include <tenon/graph/ops/internal/window.hpp>

namespace tenon {
inline namespace v1 {

namespace {
std::vector<WindowAxis> pool_axes(const Node& node, std::size_t spatial) {
  const Attributes& attributes = node.get_attributes();
  auto axes = read_window(attributes, spatial, attributes.has("dilations"));
  const auto& kernel = attributes.get_ints("kernel");
  if (kernel.size() != spatial)
    fail("attribute 'kernel': expected " + std::to_string(spatial) + " values, one per spatial axis, found " +
         std::to_string(kernel.size()));
  for (std::size_t i = 0; i < spatial; ++i) {
    if (kernel[i] < 1 || kernel[i] > (std::int64_t{1} << 30))
      fail("attribute 'kernel': " + std::to_string(kernel[i]) + " is outside 1..2^30");
    if (axes[i].pad_begin < 0 || axes[i].pad_end < 0) fail("pads must not be negative");
    axes[i].kernel = kernel[i];
  }
  return axes;
}

PartialShape pooled_shape(const Node& node) {
  const PartialShape& data = node.get_input_partial_shape(0);
  if (data.rank().is_dynamic()) return PartialShape::dynamic();
  require_rank(node, 0, 3, 5);
  const std::string& rounding = node.get_attributes().get_string("rounding_type");
  const auto axes = pool_axes(node, data.size() - 2);
  PartialShape out = data;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    out[2 + i] = window_count(axes[i], data[2 + i], node.get_attributes().get_string("auto_pad"), rounding == "ceil",
                              rounding == "ceil_torch");
  }
  return out;
}

void infer_pool(Node& node) { set_output(node, 0, pooled_shape(node)); }
void infer_max_pool_8(Node& node) {
  const PartialShape shape = pooled_shape(node);
  const ElementType index = node.get_attributes().get_type("index_element_type");
  if (index != ElementType::kI32 && index != ElementType::kI64)
    fail("attribute 'index_element_type': expected i32 or i64, found " + std::string(name(index)));
  if (node.get_input_partial_shape(0).rank().is_static())
    normalized_axis(node.get_attributes().get_int("axis"), node.get_input_partial_shape(0).size());
  set_output(node, 0, shape);
  node.set_output_type(1, index, shape);
}

/// Calls f(start) for every window of one plane in order: where it begins on each axis, negative in the padding.
template <typename F>
void for_each_window(const Spatial3& s, F f) {
  std::int64_t at[3];
  for (at[0] = 0; at[0] < static_cast<std::int64_t>(s.out[0]); ++at[0]) {
    for (at[1] = 0; at[1] < static_cast<std::int64_t>(s.out[1]); ++at[1]) {
      for (at[2] = 0; at[2] < static_cast<std::int64_t>(s.out[2]); ++at[2]) {
        std::int64_t start[3];
        for (int a = 0; a < 3; ++a) start[a] = at[a] * s.window[a].stride - s.window[a].pad_begin;
        f(start);
      }
    }
  }
}

/// The taps of a window starting at `start` that lie inside the data. Computed, not searched: padding from a file may
/// be huge.
void taps_inside(const WindowAxis& w, std::int64_t start, std::int64_t extent, std::int64_t& first,
                 std::int64_t& last) {
  first = start >= 0 ? 0 : (-start + w.dilation - 1) / w.dilation;
  last = start >= extent ? -1 : std::min(w.kernel - 1, (extent - 1 - start) / w.dilation);
}

void evaluate_max_pool(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape &in = inputs[0].shape(), &out = outputs[0].shape();
  const Spatial3 s = pool_window(node, in, out);
  const std::size_t planes = in[0] * in[1], in_plane = extent_product(in, 2, in.size()),
                    out_plane = extent_product(out, 2, out.size());
  const bool indexed = outputs.size() > 1;
  std::size_t per_axis = 1;
  if (indexed)
    per_axis = extent_product(in, normalized_axis(node.get_attributes().get_int("axis"), in.size()), in.size());
  std::vector<std::int64_t> indices(indexed ? outputs[1].element_count() : 0);
  dispatch_compute(inputs[0].element_type(), [&](auto zero) {
    using T = decltype(zero);
    const Read<T> x(inputs[0]);
    Write<T> y(outputs[0]);
    for (std::size_t p = 0; p < planes && y.size() > 0; ++p) {
      const T* plane = x.data() + p * in_plane;
      std::size_t at = p * out_plane;
      for_each_window(s, [&](const std::int64_t* start) {
        // Remains where ceil rounding adds a window outside the data. Nothing but a greater number replaces it, so that a
        // NaN never does: so do the kernels of oneDNN, OpenVINO and the ONNX reference.
        T best = std::numeric_limits<T>::lowest();
        std::int64_t where = -1, first[3], last[3];
        for (int a = 0; a < 3; ++a)
          taps_inside(s.window[a], start[a], static_cast<std::int64_t>(s.in[a]), first[a], last[a]);
        for (std::int64_t kz = first[0]; kz <= last[0]; ++kz) {
          const std::int64_t z = start[0] + kz * s.window[0].dilation;
          for (std::int64_t ky = first[1]; ky <= last[1]; ++ky) {
            const std::int64_t r = start[1] + ky * s.window[1].dilation;
            for (std::int64_t kx = first[2]; kx <= last[2]; ++kx) {
              const std::int64_t c = start[2] + kx * s.window[2].dilation;
              const std::int64_t i =
                  (z * static_cast<std::int64_t>(s.in[1]) + r) * static_cast<std::int64_t>(s.in[2]) + c;
              if (where < 0) where = i;
              if (plane[i] > best) {
                best = plane[i];
                where = i;
              }
            }
          }
        }
        y[at] = best;
        if (indexed)
          indices[at] =
              static_cast<std::int64_t>((p * in_plane + static_cast<std::size_t>(std::max<std::int64_t>(where, 0))) %
                                        std::max<std::size_t>(per_axis, 1));
        ++at;
      });
    }
    y.commit();
  });
  if (indexed && !indices.empty())
    store_elements(outputs[1].element_type(), indices.data(), indices.size(), outputs[1].data());
}

}  // namespace

bool excludes_padding(const Node& average_pool) {
  // OpenVINO spells the attribute with a hyphen, as its first IR did.
  const Attributes& attributes = average_pool.get_attributes();
  if (attributes.get_bool("exclude-pad") || attributes.get_string("auto_pad") == "valid") return true;
  const auto are_zero = [&](const char* pads) {
    return std::ranges::all_of(attributes.get_ints(pads), [](std::int64_t pad) { return pad == 0; });
  };
  return attributes.get_string("auto_pad") == "explicit" && are_zero("pads_begin") && are_zero("pads_end");
}

namespace {

void evaluate_avg_pool(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape &in = inputs[0].shape(), &out = outputs[0].shape();
  const Spatial3 s = pool_window(node, in, out);
  const bool exclude = excludes_padding(node);
  const bool torch = node.get_attributes().get_string("rounding_type") == "ceil_torch";
  const std::size_t planes = in[0] * in[1], in_plane = extent_product(in, 2, in.size()),
                    out_plane = extent_product(out, 2, out.size());
  dispatch_compute(inputs[0].element_type(), [&](auto zero) {
    using T = decltype(zero);
    const Read<T> x(inputs[0]);
    Write<T> y(outputs[0]);
    for (std::size_t p = 0; p < planes && y.size() > 0; ++p) {
      const T* plane = x.data() + p * in_plane;
      std::size_t at = p * out_plane;
      for_each_window(s, [&](const std::int64_t* start) {
        std::int64_t first[3], last[3], inside = 1, padded = 1;
        for (int a = 0; a < 3; ++a) {
          const WindowAxis& w = s.window[a];
          const auto extent = static_cast<std::int64_t>(s.in[a]);
          taps_inside(w, start[a], extent, first[a], last[a]);
          inside *= std::max<std::int64_t>(0, last[a] - first[a] + 1);
          // PyTorch's rounding ignores positions beyond the padding; OpenVINO's own does not.
          const std::int64_t room = extent + w.pad_end - 1 - start[a];
          padded *= !torch ? w.kernel : room < 0 ? 0 : std::min(w.kernel, room / w.dilation + 1);
        }
        T sum{0};
        for (std::int64_t kz = first[0]; kz <= last[0]; ++kz) {
          for (std::int64_t ky = first[1]; ky <= last[1]; ++ky) {
            const T* row = plane + ((start[0] + kz * s.window[0].dilation) * static_cast<std::int64_t>(s.in[1]) +
                                    start[1] + ky * s.window[1].dilation) *
                                       static_cast<std::int64_t>(s.in[2]);
            for (std::int64_t kx = first[2]; kx <= last[2]; ++kx) sum += row[start[2] + kx * s.window[2].dilation];
          }
        }
        const std::int64_t count = exclude ? inside : padded;
        y[at++] = count > 0 ? static_cast<T>(sum / static_cast<T>(count)) : T{0};
      });
    }
    y.commit();
  });
}

PartialShape adaptive_shape(const Node& node) {
  PartialShape out = node.get_input_partial_shape(0);
  require_rank(node, 0, 3, 5);
  if (out.rank().is_dynamic()) return out;
  const PartialShape target = shape_from_input(node, 1);
  if (target.rank().is_dynamic()) {
    for (std::size_t i = 2; i < out.size(); ++i) out[i] = Dimension::dynamic();
    return out;
  }
  if (target.size() + 2 != out.size())
    fail("the output shape input has " + std::to_string(target.size()) + " values, expected " +
         std::to_string(out.size() - 2));
  for (std::size_t i = 2; i < out.size(); ++i) out[i] = target[i - 2];
  return out;
}
void infer_adaptive_avg(Node& node) { set_output(node, 0, adaptive_shape(node)); }

void evaluate_adaptive_avg(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape &in = inputs[0].shape(), &out = outputs[0].shape();
  const Spatial3 s = spatial3(std::vector<WindowAxis>(in.size() - 2), in, out, 2);
  const std::size_t in_plane = extent_product(in, 2, in.size());
  dispatch_compute(inputs[0].element_type(), [&](auto zero) {
    using T = decltype(zero);
    const Read<T> x(inputs[0]);
    Write<T> y(outputs[0]);
    std::size_t at = 0;
    for (std::size_t p = 0; p < in[0] * in[1] && y.size() > 0; ++p) {
      for (std::size_t o = 0; o < s.out[0] * s.out[1] * s.out[2]; ++o) {
        const std::size_t index[3] = {o / s.out[2] / s.out[1], o / s.out[2] % s.out[1], o % s.out[2]};
        std::size_t first[3], last[3];
        for (int a = 0; a < 3; ++a) {
          first[a] = index[a] * s.in[a] / s.out[a];
          last[a] = ((index[a] + 1) * s.in[a] + s.out[a] - 1) / s.out[a];
        }
        T sum{0};
        std::size_t count = 0;
        for (std::size_t z = first[0]; z < last[0]; ++z) {
          for (std::size_t r = first[1]; r < last[1]; ++r) {
            for (std::size_t c = first[2]; c < last[2]; ++c, ++count)
              sum += x[p * in_plane + (z * s.in[1] + r) * s.in[2] + c];
          }
        }
        y[at++] = count ? static_cast<T>(sum / static_cast<T>(count)) : T{0};
      }
    }
    y.commit();
  });
}

void infer_adaptive_max(Node& node) {
  const ElementType index = node.get_attributes().get_type("index_element_type");
  if (index != ElementType::kI32 && index != ElementType::kI64)
    fail("attribute 'index_element_type': expected i32 or i64, found " + std::string(name(index)));
  const PartialShape shape = adaptive_shape(node);
  set_output(node, 0, shape);
  node.set_output_type(1, index, shape);
}

void evaluate_adaptive_max(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape &in = inputs[0].shape(), &out = outputs[0].shape();
  const Spatial3 s = spatial3(std::vector<WindowAxis>(in.size() - 2), in, out, 2);
  const std::size_t in_plane = extent_product(in, 2, in.size());
  if (in_plane == 0 && outputs[0].element_count() > 0)
    fail("the data " + to_string(in) + " has no elements to take a maximum of");
  dispatch_compute(inputs[0].element_type(), [&](auto zero) {
    using T = decltype(zero);
    const Read<T> x(inputs[0]);
    Write<T> y(outputs[0]);
    Write<std::int64_t> places(outputs[1]);
    std::size_t at = 0;
    for (std::size_t p = 0; p < in[0] * in[1] && y.size() > 0; ++p) {
      for (std::size_t o = 0; o < s.out[0] * s.out[1] * s.out[2]; ++o, ++at) {
        const std::size_t index[3] = {o / s.out[2] / s.out[1], o / s.out[2] % s.out[1], o % s.out[2]};
        std::size_t first[3], last[3];
        for (int a = 0; a < 3; ++a) {
          first[a] = index[a] * s.in[a] / s.out[a];
          last[a] = ((index[a] + 1) * s.in[a] + s.out[a] - 1) / s.out[a];
        }
        std::size_t best = (first[0] * s.in[1] + first[1]) * s.in[2] + first[2];
        for (std::size_t z = first[0]; z < last[0]; ++z) {
          for (std::size_t r = first[1]; r < last[1]; ++r) {
            for (std::size_t c = first[2]; c < last[2]; ++c) {
              const std::size_t place = (z * s.in[1] + r) * s.in[2] + c;
              if (x[p * in_plane + place] > x[p * in_plane + best]) best = place;
            }
          }
        }
        y[at] = x[p * in_plane + best];
        places[at] = static_cast<std::int64_t>(best);
      }
    }
    y.commit();
    places.commit();
  });
}
}  // namespace

Spatial3 pool_window(const Node& node, const Shape& in, const Shape& out) {
  auto axes = pool_axes(node, in.size() - 2);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    resolve_auto_pad(axes[i], node.get_attributes().get_string("auto_pad"), static_cast<std::int64_t>(in[2 + i]));
  }
  return spatial3(axes, in, out, 2);
}

void add_pooling_rows(OperationTable& table) {
  const std::vector<std::string> pads = {"explicit", "same_upper", "same_lower", "valid"};
  const std::vector<std::int64_t> none;
  const auto window = [&](OperationTable::Row row, bool dilated, std::vector<std::string> rounding) {
    row.ints("strides");
    if (dilated) row.ints("dilations", none);
    row.ints("pads_begin", none)
        .ints("pads_end", none)
        .ints("kernel")
        .text("rounding_type", "floor", std::move(rounding))
        .text("auto_pad", "explicit", pads);
    return row;
  };
  const auto indexed = [&](OperationTable::Row row) {
    row.type("index_element_type", ElementType::kI64).integer("axis", 0);
  };
  window(table.add("MaxPool", 1, 1, 1, infer_pool, evaluate_max_pool, "Maximum of each window."), false,
         {"floor", "ceil"});
  indexed(window(
      table.add("MaxPool", 8, 1, 1, infer_max_pool_8, evaluate_max_pool, "Maximum of each window, and its index."),
      true, {"floor", "ceil"}));
  indexed(window(
      table.add("MaxPool", 14, 1, 1, infer_max_pool_8, evaluate_max_pool, "Maximum of each window, and its index."),
      true, {"floor", "ceil", "ceil_torch"}));
  window(table.add("AvgPool", 1, 1, 1, infer_pool, evaluate_avg_pool, "Mean of each window."), false, {"floor", "ceil"})
      .flag("exclude-pad");
  window(table.add("AvgPool", 14, 1, 1, infer_pool, evaluate_avg_pool, "Mean of each window."), false,
         {"floor", "ceil", "ceil_torch"})
      .flag("exclude-pad");
  window(table.add("AvgPool", 16, 1, 1, infer_pool, evaluate_avg_pool, "Mean of each window."), true,
         {"floor", "ceil", "ceil_torch"})
      .flag("exclude-pad");
  table.add("AdaptiveAvgPool", 8, 2, 2, infer_adaptive_avg, evaluate_adaptive_avg,
            "Means over windows that divide the data into a given shape.");
  table
      .add("AdaptiveMaxPool", 8, 2, 2, infer_adaptive_max, evaluate_adaptive_max,
           "Maxima over windows that divide the data into a given shape, and their positions.")
      .type("index_element_type", ElementType::kI64);
}

}  // namespace v1
}  // namespace tenon
