// SPDX-License-Identifier: Apache-2.0
// Interpolate over the spatial axes of images: nearest and two-tap linear, on blocks of channels as they lie.
#include <cmath>

#include <tenon/devices/cpu/engine/kernels/broadcast.hpp>
#include <tenon/devices/cpu/engine/lower_pictures.hpp>
#include <tenon/devices/cpu/engine/lowering.hpp>

namespace tenon::inline v1::engine {
namespace {

struct Tap {
  std::uint32_t first, second;
  float weight;  ///< Of `second`.
};
using Taps = std::vector<Tap>;

/// Coordinate in the input of output position `x`. @return NaN for a mode that is not known here.
float source_coordinate(const std::string& mode, float x, float scale, float in, float out) {
  if (scale == 1 || in == out) return x;
  if (mode == "half_pixel") return (x + 0.5f) / scale - 0.5f;
  if (mode == "pytorch_half_pixel") return out > 1 ? (x + 0.5f) / scale - 0.5f : 0;
  if (mode == "asymmetric") return x / scale;
  if (mode == "tf_half_pixel_for_nn") return (x + 0.5f) / scale;
  if (mode == "align_corners") return out == 1 ? 0 : x * (in - 1) / (out - 1);
  return std::nanf("");
}

float nearest_index(const std::string& mode, float x, bool is_downsample) {
  if (mode == "floor") return std::floor(x);
  if (mode == "ceil") return std::ceil(x);
  if (mode == "round_prefer_ceil") return std::floor(x + 0.5f);
  if (mode == "round_prefer_floor") return std::ceil(x - 0.5f);
  return is_downsample ? std::ceil(x) : std::trunc(x);  // simple
}

bool make_taps(Taps& taps, const Attributes& attributes, bool nearest, std::size_t in, std::size_t out, float scale) {
  const std::string coordinate = attributes.get_string("coordinate_transformation_mode", "half_pixel");
  const std::string rounding = attributes.get_string("nearest_mode", "round_prefer_floor");
  const auto last = static_cast<float>(in) - 1;
  for (std::size_t i = 0; i < out; ++i) {
    const float x =
        source_coordinate(coordinate, static_cast<float>(i), scale, static_cast<float>(in), static_cast<float>(out));
    if (std::isnan(x)) return false;
    if (nearest) {
      const auto index = static_cast<std::uint32_t>(std::clamp(nearest_index(rounding, x, scale < 1), 0.f, last));
      taps.push_back({index, index, 0});
    } else {
      const float inside = std::clamp(x, 0.f, last), floor = std::floor(inside);
      taps.push_back(
          {static_cast<std::uint32_t>(floor), static_cast<std::uint32_t>(std::min(floor + 1, last)), inside - floor});
    }
  }
  return true;
}

template <std::size_t kLanes>
void resize_row(const float* top, const float* bottom, float vertical, const Taps& columns, float* out) {
  for (const Tap& tap : columns) {
    const float *a = top + tap.first * kLanes, *b = top + tap.second * kLanes;
    const float *c = bottom + tap.first * kLanes, *d = bottom + tap.second * kLanes;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float upper = a[lane] + (b[lane] - a[lane]) * tap.weight,
                  lower = c[lane] + (d[lane] - c[lane]) * tap.weight;
      out[lane] = upper + (lower - upper) * vertical;
    }
    out += kLanes;
  }
}

template <std::size_t kLanes>
void nearest_row(const float* from, const Taps& columns, float* out) {
  for (const Tap& tap : columns) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) out[lane] = from[tap.first * kLanes + lane];
    out += kLanes;
  }
}

template <std::size_t kLanes>
KernelStep::Kernel resize_kernel(std::size_t pictures, std::size_t in_height, std::size_t in_width, Taps rows,
                                 Taps columns, bool nearest) {
  return [=](std::span<void* const> p) {
    const float* x = static_cast<const float*>(p[0]);
    float* out = static_cast<float*>(p[1]);
    const std::size_t in_row = in_width * kLanes, out_row = columns.size() * kLanes, height = rows.size();
    kernels::parallel(pictures * height, pictures * height * out_row * 8, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const Tap& tap = rows[i % height];
        const float* picture = x + i / height * in_height * in_row;
        float* to = out + i * out_row;
        if (nearest) {
          // Rows that repeat are copied from the one above, when that is this worker's own.
          if (i > begin && i % height > 0 && rows[i % height - 1].first == tap.first)
            std::copy(to - out_row, to, to);
          else
            nearest_row<kLanes>(picture + tap.first * in_row, columns, to);
        } else {
          resize_row<kLanes>(picture + tap.first * in_row, picture + tap.second * in_row, tap.weight, columns, to);
        }
      }
    });
  };
}

bool lower_interpolate(Lowering& lowering, const Chain& chain) {
  const auto& node = chain.anchor();
  Value& source = lowering.input(node, 0);
  Value& made = lowering.value(node->output(0));
  const auto& attributes = node->get_attributes();
  if (source.type != ElementType::kF32 || source.shape.size() != 4 || element_count(made.shape) == 0) return false;
  if (source.shape[0] != made.shape[0] || source.shape[1] != made.shape[1]) return false;
  const std::string mode = attributes.get_string("mode");
  const bool nearest = mode == "nearest";
  if (!nearest && mode != "linear" && mode != "linear_onnx" && mode != "bilinear_pillow") return false;
  if (mode == "bilinear_pillow" || attributes.get_bool("antialias", false)) return false;
  for (const char* name : {"pads_begin", "pads_end"})
    for (auto pad : attributes.get_ints(name, {}))
      if (pad != 0) return false;
  // Scales: given, or what the extents say.
  float scales[4] = {1, 1, 1, 1};
  for (std::size_t i = 0; i < 4; ++i)
    scales[i] = static_cast<float>(made.shape[i]) / static_cast<float>(source.shape[i]);
  if (attributes.get_string("shape_calculation_mode", "sizes") == "scales") {
    const bool four = std::string_view(node->operation().version) == "opset4";
    const Tensor given = lowering.constant_input(node, four ? 2 : 1);
    std::vector<std::int64_t> axes{0, 1, 2, 3};
    const std::size_t axes_index = four ? 3 : 2;
    if (node->get_input_size() > axes_index && !lowering.constant_ints(node, axes_index, axes)) return false;
    if (!given || given.element_type() != ElementType::kF32 || given.element_count() != axes.size()) return false;
    for (std::size_t i = 0; i < axes.size(); ++i)
      scales[static_cast<std::size_t>(axes[i] < 0 ? axes[i] + 4 : axes[i])] = given.data<float>()[i];
  }
  Taps rows, columns;
  if (!make_taps(rows, attributes, nearest, source.shape[2], made.shape[2], scales[2])) return false;
  if (!make_taps(columns, attributes, nearest, source.shape[3], made.shape[3], scales[3])) return false;

  const std::size_t block = static_cast<std::size_t>(std::max(lowering.channel_block(), 1));
  const auto variant = lowering.native(source);
  const bool blocked = !variant.plain && variant.desc == lowering.blocked_desc(source.shape);
  const std::size_t lanes = blocked ? block : 1;
  const std::size_t pictures = source.shape[0] * ((source.shape[1] + lanes - 1) / lanes);
  const std::size_t height = source.shape[2], width = source.shape[3];
  KernelStep::Kernel kernel = lanes == 16  ? resize_kernel<16>(pictures, height, width, rows, columns, nearest)
                              : lanes == 8 ? resize_kernel<8>(pictures, height, width, rows, columns, nearest)
                                           : resize_kernel<1>(pictures, height, width, rows, columns, nearest);
  const Place from = blocked ? variant.place : lowering.plain(source);
  const Place to = blocked ? lowering.define(made, lowering.blocked_desc(made.shape)) : lowering.define_plain(made);
  lowering.add_kernel(node, nearest ? "nearest" : "linear", {from}, {to}, std::move(kernel));
  return true;
}

}  // namespace

void register_resize(LoweringTable& table) {
  table["Interpolate"] = {[](Lowering& lowering, const Chain& chain) {
                            return lower_interpolate(lowering, chain) || lower_resize_by_taps(lowering, chain);
                          },
                          false};
}

}  // namespace tenon::inline v1::engine
