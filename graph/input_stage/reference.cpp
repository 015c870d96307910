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
  const unsigned value = row[2 * at] | row[2 * at + 1] << 8;
  return value >> (16 - spec.layout.bits);
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

}  // namespace

void run_input_stage_reference(const InputStageSpec& spec, std::span<const PlaneView> planes, void* target) {
  const PixelRect& placed = spec.geometry.placed;
  for (std::size_t y = 0; y < spec.height; ++y) {
    for (std::size_t x = 0; x < spec.width; ++x) {
      const bool inside = x >= placed.x && x - placed.x < placed.width && y >= placed.y && y - placed.y < placed.height;
      double samples[3] = {};
      if (inside) {
        const std::size_t column = x - placed.x, line = y - placed.y;
        const int x0 = spec.columns.low[column], x1 = spec.columns.high[column];
        const int y0 = spec.rows.low[line], y1 = spec.rows.high[line];
        const double fx = spec.columns.weight[column], fy = spec.rows.weight[line];
        for (std::size_t k = 0; k < spec.layout.component_count; ++k) {
          const FrameComponent& c = spec.layout.components[k];
          const double left = std::lerp(sample(spec, planes, c, x0, y0), sample(spec, planes, c, x0, y1), fy);
          const double right = std::lerp(sample(spec, planes, c, x1, y0), sample(spec, planes, c, x1, y1), fy);
          samples[k] = std::lerp(left, right, fx);
        }
      }
      for (std::size_t c = 0; c < spec.channels; ++c) {
        double value = spec.pad[c];
        if (inside) {
          value = spec.offset[c];
          for (std::size_t k = 0; k < spec.layout.component_count; ++k) value += spec.matrix[c][k] * samples[k];
          value = std::clamp(value, 0.0, 255.0);
        }
        const std::size_t at =
            spec.planar ? (c * spec.height + y) * spec.width + x : (y * spec.width + x) * spec.channels + c;
        store(spec, target, at, (value - spec.mean[c]) / spec.scale[c]);
      }
    }
  }
}

}  // namespace v1
}  // namespace tenon
