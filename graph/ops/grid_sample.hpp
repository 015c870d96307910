// SPDX-License-Identifier: Apache-2.0
// Sampling positions of GridSample along each axis, shared by the reference kernel and devices with their own loops.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include <tenon/graph/attributes.hpp>

namespace tenon {
inline namespace v1 {

/// The pixels of an axis that a coordinate reads, -1 for zero, and their weights.
struct GridTaps {
  std::int64_t at[4] = {-1, -1, -1, -1};
  double weight[4] = {};
  int count = 0;
};

/// Sampling of one axis: maps coordinates to positions, and handles positions outside.
struct GridAxis {
  enum class Mode : std::uint8_t { kNearest, kBilinear, kBicubic };
  enum class Padding : std::uint8_t { kZeros, kBorder, kReflection };
  Mode mode = Mode::kBilinear;
  Padding padding = Padding::kZeros;
  bool aligns_corners = false;
  std::int64_t extent = 0;

  GridAxis(const Attributes& attributes, std::size_t pixels)
      : aligns_corners(attributes.get_bool("align_corners")), extent(static_cast<std::int64_t>(pixels)) {
    const std::string &how = attributes.get_string("mode"), &outside = attributes.get_string("padding_mode");
    mode = how == "nearest" ? Mode::kNearest : how == "bicubic" ? Mode::kBicubic : Mode::kBilinear;
    padding = outside == "border" ? Padding::kBorder : outside == "reflection" ? Padding::kReflection : Padding::kZeros;
  }

  /// The position of coordinate `g`, in pixels.
  double place(double g) const {
    const auto n = static_cast<double>(extent);
    return aligns_corners ? (g + 1) / 2 * (n - 1) : ((g + 1) * n - 1) / 2;
  }
  /// A position moved inside the axis, for modes that do so before they interpolate.
  double inside(double at) const {
    const auto last = static_cast<double>(extent - 1);
    if (padding == Padding::kBorder) return std::clamp(at, 0.0, last);
    if (padding != Padding::kReflection) return at;
    const double low = aligns_corners ? 0 : -0.5, span = aligns_corners ? last : static_cast<double>(extent);
    if (span <= 0) return 0;
    double offset = std::fmod(at - low, 2 * span);
    if (offset < 0) offset += 2 * span;
    return std::clamp(low + span - std::abs(offset - span), 0.0, last);
  }
  /// The pixel at an integer position, or -1 for zero.
  std::int64_t pixel(double at) const {
    if (!(std::abs(at) < 1e15)) return -1;
    const double moved = std::nearbyint(inside(at));
    return moved >= 0 && moved < static_cast<double>(extent) ? static_cast<std::int64_t>(moved) : -1;
  }
  GridTaps taps(double g) const {
    GridTaps taps;
    double at = place(g);
    if (mode == Mode::kNearest) {
      taps.count = 1;
      taps.at[0] = pixel(std::nearbyint(inside(at)));
      taps.weight[0] = 1;
      return taps;
    }
    const bool cubic = mode == Mode::kBicubic;
    if (!cubic) at = inside(at);
    const double base = std::floor(at), t = at - base;
    taps.count = cubic ? 4 : 2;
    for (int i = 0; i < taps.count; ++i) taps.at[i] = pixel(base + i - (cubic ? 1 : 0));
    if (!cubic) {
      taps.weight[0] = 1 - t;
      taps.weight[1] = t;
      return taps;
    }
    constexpr double a = -0.75;
    const auto near = [](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
    const auto far = [](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
    taps.weight[0] = far(t + 1), taps.weight[1] = near(t), taps.weight[2] = near(1 - t), taps.weight[3] = far(2 - t);
    return taps;
  }
};

}  // namespace v1
}  // namespace tenon
