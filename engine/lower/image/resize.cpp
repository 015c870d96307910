// SPDX-License-Identifier: Apache-2.0
// Interpolate over the spatial axes of images: nearest and two-tap linear, also on blocks of channels.
#include <cmath>
#include <cstring>

#include <tenon/engine/kernels/image/linear_resize.hpp>
#include <tenon/engine/kernels/simd/broadcast.hpp>
#include <tenon/engine/lower/build/builder.hpp>
#include <tenon/engine/lower/build/table.hpp>
#include <tenon/engine/lower/image/image.hpp>
#include <tenon/graph/operation_table.hpp>

namespace tenon::inline v1::engine {
namespace {

using Tap = kernels::LinearTap;
using Taps = std::vector<Tap>;

/// Coordinate in the input for output position `x`. @return NaN for an unknown mode.
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

// `pixel` channels lie side by side; kLanes is their number if known at compile time.
template <std::size_t kLanes, typename T>
void nearest_row(const T* from, const Taps& columns, std::size_t pixel, T* out) {
  const std::size_t lanes = kLanes ? kLanes : pixel;
  for (const Tap& tap : columns) {
    for (std::size_t lane = 0; lane < lanes; ++lane) out[lane] = from[tap.first * lanes + lane];
    out += lanes;
  }
}

template <std::size_t kLanes, typename T>
KernelStep::Kernel nearest_kernel(std::size_t pictures, std::size_t in_height, std::size_t in_width, std::size_t pixel,
                                  const Taps& rows, const Taps& columns) {
  return [=](std::span<void* const> p) {
    const T* x = static_cast<const T*>(p[0]);
    T* out = static_cast<T*>(p[1]);
    const std::size_t in_row = in_width * pixel, out_row = columns.size() * pixel, height = rows.size();
    kernels::parallel(pictures * height, pictures * height * out_row * 2 * sizeof(T),
                      [&](std::size_t begin, std::size_t end) {
                        for (std::size_t i = begin; i < end; ++i) {
                          const Tap& tap = rows[i % height];
                          const T* picture = x + i / height * in_height * in_row;
                          T* to = out + i * out_row;
                          // Repeated rows are copied from the one above, if this worker made that.
                          if (i > begin && i % height > 0 && rows[i % height - 1].first == tap.first)
                            std::copy(to - out_row, to, to);
                          else
                            nearest_row<kLanes>(picture + tap.first * in_row, columns, pixel, to);
                        }
                      });
  };
}

template <typename T>
KernelStep::Kernel linear_kernel(std::size_t pictures, std::size_t in_height, std::size_t in_width, std::size_t pixel,
                                 const Taps& rows, const Taps& columns) {
  const auto resize =
      std::make_shared<const kernels::LinearResize>(pictures, in_height, in_width, pixel, rows, columns);
  return [resize](std::span<void* const> p) { resize->run(static_cast<const T*>(p[0]), static_cast<T*>(p[1])); };
}

/// Keeps 8-bit numbers with the channels innermost as they are: whole pixels are copied.
bool lower_nearest_channels_last(PlanBuilder& builder, const std::shared_ptr<Node>& node, Value& source, Value& made,
                                 const Taps& rows, const Taps& columns) {
  const auto variant = builder.native(source);
  const ElementType type = element_type(variant.desc);
  if (!source.quantization || size_bytes(type) != 1 || variant.desc != channels_last(type, source.shape)) return false;
  made.quantization = source.quantization;
  const BufferSlice to = builder.define(made, channels_last(type, made.shape));
  const std::size_t pixel = source.shape[1], in_height = source.shape[2], in_width = source.shape[3];
  const std::size_t pictures = source.shape[0], height = rows.size(), width = columns.size();
  builder.add_kernel(node, "nearest", {variant.place}, {to}, [=](std::span<void* const> p) {
    const char* from = static_cast<const char*>(p[0]);
    char* out = static_cast<char*>(p[1]);
    kernels::parallel(pictures * height, 2 * pictures * height * width * pixel,
                      [&](std::size_t begin, std::size_t end) {
                        for (std::size_t i = begin; i < end; ++i) {
                          const char* row = from + (i / height * in_height + rows[i % height].first) * in_width * pixel;
                          char* target = out + i * width * pixel;
                          for (std::size_t x = 0; x < width; ++x)
                            std::memcpy(target + x * pixel, row + columns[x].first * pixel, pixel);
                        }
                      });
  });
  return true;
}

bool lower_interpolate(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  Value& source = builder.input(node, 0);
  Value& made = builder.value(node->output(0));
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
  // Scales: given, or the ratio of the extents.
  float scales[4] = {1, 1, 1, 1};
  for (std::size_t i = 0; i < 4; ++i)
    scales[i] = static_cast<float>(made.shape[i]) / static_cast<float>(source.shape[i]);
  if (attributes.get_string("shape_calculation_mode", "sizes") == "scales") {
    const bool four = std::string_view(node->operation().version) == "opset4";
    const Tensor given = builder.constant_input(node, four ? 2 : 1);
    std::vector<std::int64_t> axes{0, 1, 2, 3};
    const std::size_t axes_index = four ? 3 : 2;
    if (node->get_input_size() > axes_index && !builder.constant_ints(node, axes_index, axes)) return false;
    if (!given || given.element_type() != ElementType::kF32 || given.element_count() != axes.size()) return false;
    for (std::size_t i = 0; i < axes.size(); ++i)
      scales[static_cast<std::size_t>(axes[i] < 0 ? axes[i] + 4 : axes[i])] = given.data<float>()[i];
  }
  Taps rows, columns;
  if (!make_taps(rows, attributes, nearest, source.shape[2], made.shape[2], scales[2])) return false;
  if (!make_taps(columns, attributes, nearest, source.shape[3], made.shape[3], scales[3])) return false;

  if (nearest && lower_nearest_channels_last(builder, node, source, made, rows, columns)) return true;
  const std::size_t block = static_cast<std::size_t>(std::max(builder.channel_block(), 1));
  const auto variant = builder.real(source);
  const ElementType type = element_type(variant.desc) == ElementType::kBf16 ? ElementType::kBf16 : ElementType::kF32;
  bool blocked = !variant.packed && variant.desc == builder.blocked_desc(source.shape, type);
  bool last = !variant.packed && variant.desc == channels_last(type, source.shape);
  // A picture that grows is brought into the layout of convolutions before it does.
  const bool grows = element_count(made.shape) >= 2 * element_count(source.shape);
  if (last && grows && block > 1 && source.shape[1] % block == 0 && !builder.prefers_channels_last()) {
    blocked = true;
    last = false;
  }
  const std::size_t lanes = blocked ? block : last ? source.shape[1] : 1;
  const std::size_t pictures = source.shape[0] * ((source.shape[1] + lanes - 1) / lanes);
  const std::size_t height = source.shape[2], width = source.shape[3];
  const auto make = [&]<typename T>(T) {
    if (!nearest) return linear_kernel<T>(pictures, height, width, lanes, rows, columns);
    const auto compiled = [&]<std::size_t kLanes>(std::integral_constant<std::size_t, kLanes>) {
      return nearest_kernel<kLanes, T>(pictures, height, width, lanes, rows, columns);
    };
    return lanes == 16  ? compiled(std::integral_constant<std::size_t, 16>())
           : lanes == 8 ? compiled(std::integral_constant<std::size_t, 8>())
           : lanes == 1 ? compiled(std::integral_constant<std::size_t, 1>())
                        : compiled(std::integral_constant<std::size_t, 0>());
  };
  KernelStep::Kernel kernel = type == ElementType::kBf16 ? make(std::uint16_t{}) : make(0.f);
  const ChannelLayout layout = blocked ? ChannelLayout::kBlocked
                               : last  ? ChannelLayout::kChannelsLast
                                       : ChannelLayout::kPlain;
  const BufferSlice from = builder.in_layout(source, builder.image_desc(source.shape, type, layout));
  const BufferSlice to = builder.define(made, builder.image_desc(made.shape, type, layout));
  builder.add_kernel(node, nearest ? "nearest" : "linear", {from}, {to}, std::move(kernel));
  return true;
}

}  // namespace

void register_resize(LoweringTable& table) {
  table["Interpolate"] = {[](PlanBuilder& builder, const Chain& chain) {
                            return lower_interpolate(builder, chain) || lower_resize_by_taps(builder, chain) ||
                                   lower_resize_by_axes(builder, chain);
                          },
                          false};
}

}  // namespace tenon::inline v1::engine
