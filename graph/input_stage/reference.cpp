// SPDX-License-Identifier: Apache-2.0
// The input stage's reference kernel.
#include <algorithm>
#include <cmath>

#include <tenon/core/error.hpp>
#include <tenon/graph/input_stage/spec.hpp>

namespace tenon {
inline namespace v1 {
namespace {

double sample(const InputStageSpec& spec, std::span<const PlaneView> planes, const FrameComponent& component, int x,
              int y) {
  const PlaneView& plane = planes[component.plane];
  const auto* row = static_cast<const std::uint8_t*>(plane.data) + (y >> component.shift_y) * plane.pitch_bytes;
  const std::size_t at = static_cast<std::size_t>(x >> component.shift_x) * component.step + component.offset;
  if (spec.layout.bits == 8) return row[at];
  return spec.layout.value_of(static_cast<std::uint16_t>(row[2 * at] | row[2 * at + 1] << 8));
}

void store(const InputStageSpec& spec, void* target, std::size_t at, double value) {
  switch (spec.type) {
    case ElementType::kF32:
      static_cast<float*>(target)[at] = static_cast<float>(value);
      break;
    case ElementType::kF16:
      static_cast<_Float16*>(target)[at] = static_cast<_Float16>(static_cast<float>(value));
      break;
    case ElementType::kU8:
      static_cast<std::uint8_t*>(target)[at] = static_cast<std::uint8_t>(std::nearbyint(std::clamp(value, 0.0, 255.0)));
      break;
    default:
      throw Error(Code::kUnimplemented,
                  "input stage: cannot write " + std::string(name(spec.type)) + "; it writes f32, f16 and u8");
  }
}

/// Channels 0..255 of a source pixel, as NV12toRGB and similar operations compute them.
void convert_pixel(const InputStageSpec& spec, const double* samples, double* channels) {
  const float luma = static_cast<float>(samples[0]) - 16, u = static_cast<float>(samples[1]) - 128,
              v = static_cast<float>(samples[2]) - 128;
  for (std::size_t c = 0; c < 3; ++c) {
    float value = static_cast<float>(spec.matrix[c][0]) * luma;
    value += static_cast<float>(spec.matrix[c][1]) * u;
    value += static_cast<float>(spec.matrix[c][2]) * v;
    value = std::clamp(value, 0.0f, 255.0f);
    channels[c] = spec.round_first ? std::nearbyint(value) : value;
  }
}

/// Channels 0..255 of samples.
void convert(const InputStageSpec& spec, const double* samples, double* channels) {
  for (std::size_t c = 0; c < spec.channels; ++c) {
    double value = spec.offset[c];
    for (std::size_t k = 0; k < spec.layout.component_count; ++k) value += spec.matrix[c][k] * samples[k];
    channels[c] = std::clamp(value, 0.0, 255.0);
  }
}

/// Channels of the target pixel at a column and line of geometry.placed.
void pixel(const InputStageSpec& spec, std::span<const PlaneView> planes, std::size_t column, std::size_t line,
           double* channels) {
  const int xs[2] = {spec.columns.low[column], spec.columns.high[column]};
  const int ys[2] = {spec.rows.low[line], spec.rows.high[line]};
  double corner[4][3] = {};
  for (std::size_t i = 0; i < 4; ++i) {
    double samples[3] = {};
    for (std::size_t k = 0; k < spec.layout.component_count; ++k)
      samples[k] = sample(spec, planes, spec.layout.components[k], xs[i % 2], ys[i / 2]);
    if (spec.convert_first)
      convert_pixel(spec, samples, corner[i]);
    else
      std::copy(samples, samples + 3, corner[i]);
  }
  double blended[3] = {};
  const double fx = spec.columns.weight[column], fy = spec.rows.weight[line];
  for (std::size_t k = 0; k < 3; ++k) {
    const double left = std::lerp(corner[0][k], corner[2][k], fy), right = std::lerp(corner[1][k], corner[3][k], fy);
    blended[k] = std::lerp(left, right, fx);
  }
  if (spec.convert_first)
    std::copy(blended, blended + 3, channels);
  else
    convert(spec, blended, channels);
}

}  // namespace

void run_input_stage_reference(const InputStageSpec& spec, std::span<const PlaneView> planes, void* target) {
  const PixelRect& placed = spec.geometry.placed;
  for (std::size_t y = 0; y < spec.height; ++y) {
    for (std::size_t x = 0; x < spec.width; ++x) {
      const bool inside = x >= placed.x && x - placed.x < placed.width && y >= placed.y && y - placed.y < placed.height;
      double channels[3] = {spec.pad[0], spec.pad[1], spec.pad[2]};
      if (inside) pixel(spec, planes, x - placed.x, y - placed.y, channels);
      for (std::size_t c = 0; c < std::min<std::size_t>(spec.channels, std::size(channels)); ++c) {
        const std::size_t at =
            spec.planar ? (c * spec.height + y) * spec.width + x : (y * spec.width + x) * spec.channels + c;
        store(spec, target, at, (channels[c] - spec.mean[c]) / spec.scale[c]);
      }
    }
  }
}

}  // namespace v1
}  // namespace tenon
