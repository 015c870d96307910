// SPDX-License-Identifier: Apache-2.0
// Sampling positions of ROIAlign along each axis, shared by the reference kernel and devices with their own loops.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include <tenon/graph/attributes.hpp>

namespace tenon {
inline namespace v1 {

/// Bounds the number of samples of a region much larger than the image; samples outside the image are zero anyway.
inline constexpr double kMaxRoiSamples = 4096;

/// The two pixels around a position on an axis. Nothing is read if the position is more than one pixel outside.
struct RoiTap {
  std::int64_t low = 0, high = 0;
  double rest = 0;  ///< The weight of `high`.
  bool is_inside = false;
};

inline RoiTap roi_tap(double at, std::int64_t extent) {
  if (at < -1 || at > static_cast<double>(extent)) return {};
  at = std::max(at, 0.0);
  RoiTap tap;
  tap.low = std::min(static_cast<std::int64_t>(at), extent - 1);
  tap.high = std::min(tap.low + 1, extent - 1);
  tap.rest = tap.low == extent - 1 ? 0 : at - static_cast<double>(tap.low);
  tap.is_inside = true;
  return tap;
}

/// The samples of a region along one axis: `samples` in each of its cells. In f32, as ONNX Runtime and OpenVINO compute
/// them: whether a sample on a border counts depends on the rounding.
struct RoiAxis {
  float begin = 0, cell = 0;  ///< In pixels.
  std::int64_t samples = 0;
  bool is_finite() const { return std::isfinite(cell); }
  double at(std::size_t index, std::int64_t sample) const {
    const float start = begin + static_cast<float>(index) * cell;
    return static_cast<double>(start + (static_cast<float>(sample) + 0.5f) * cell / static_cast<float>(samples));
  }
};

/// The sampling attributes of a ROIAlign.
struct RoiAlignRule {
  float before = 0, after = 0, scale = 1;
  bool is_a_pixel_at_least = false;
  std::int64_t ratio = 0;  ///< Samples per cell and axis; 0: as many as a cell has pixels.

  explicit RoiAlignRule(const Attributes& attributes)
      : scale(static_cast<float>(attributes.get_double("spatial_scale"))), ratio(attributes.get_int("sampling_ratio")) {
    const std::string aligned = attributes.get_string("aligned_mode", "asymmetric");
    before = aligned == "half_pixel" ? 0.5f : 0;
    after = aligned == "asymmetric" ? 0 : -0.5f;
    is_a_pixel_at_least = aligned == "asymmetric";
  }
  /// The samples of a region from `first` to `last`, divided into `cells`.
  RoiAxis axis(float first, float last, std::size_t cells) const {
    RoiAxis axis;
    axis.begin = (first + before) * scale + after;
    float length = (last + before) * scale + after - axis.begin;
    if (is_a_pixel_at_least) length = std::max(length, 1.0f);
    axis.cell = length / static_cast<float>(cells);
    if (ratio > 0)
      axis.samples = ratio;
    else if (axis.is_finite())
      axis.samples =
          static_cast<std::int64_t>(std::clamp(static_cast<double>(std::ceil(axis.cell)), 0.0, kMaxRoiSamples));
    return axis;
  }
};

/// Sampling positions of ROIAlignRotated in a region: `rows` times `columns` samples in each cell.
struct RotatedRoi {
  double x = 0, y = 0, width = 0, height = 0, cosine = 1, sine = 0;  ///< In pixels.
  std::size_t cells_down = 1, cells_across = 1;
  std::int64_t rows = 1, columns = 1;

  bool is_finite() const {
    return std::isfinite(height / static_cast<double>(cells_down) + width / static_cast<double>(cells_across) + cosine +
                         sine);
  }
  std::int64_t samples() const { return rows * columns; }
  struct Point {
    double y, x;
  };
  Point at(std::size_t cell, std::int64_t sample) const {
    const auto part = [](std::size_t index, std::int64_t of, std::int64_t count) {
      return static_cast<double>(index) + (static_cast<double>(of) + 0.5) / static_cast<double>(count);
    };
    const double v =
        part(cell / cells_across, sample / columns, rows) * (height / static_cast<double>(cells_down)) - height / 2;
    const double u =
        part(cell % cells_across, sample % columns, columns) * (width / static_cast<double>(cells_across)) - width / 2;
    return {y + v * cosine + u * sine, x + u * cosine - v * sine};
  }
};

/// The sampling attributes of a ROIAlignRotated.
struct RotatedRoiRule {
  double scale = 1, turn = -1;
  std::int64_t ratio = 0;  ///< Samples per cell and axis; 0: as many as a cell has pixels.

  explicit RotatedRoiRule(const Attributes& attributes)
      : scale(attributes.get_double("spatial_scale")),
        turn(attributes.get_bool("clockwise_mode") ? 1 : -1),
        ratio(attributes.get_int("sampling_ratio")) {}
  /// @param box  Centre, width, height and angle.
  template <typename T>
  RotatedRoi region(const T* box, std::size_t cells_down, std::size_t cells_across) const {
    const auto number = [&](std::size_t i) { return static_cast<double>(box[i]); };
    RotatedRoi made{number(0) * scale - 0.5,    number(1) * scale - 0.5,    number(2) * scale, number(3) * scale,
                    std::cos(turn * number(4)), std::sin(turn * number(4)), cells_down,        cells_across};
    const auto grid = [&](double cell) {
      return ratio > 0 ? ratio : static_cast<std::int64_t>(std::clamp(std::ceil(cell), 1.0, kMaxRoiSamples));
    };
    if (!made.is_finite()) return made;
    made.rows = grid(made.height / static_cast<double>(cells_down));
    made.columns = grid(made.width / static_cast<double>(cells_across));
    return made;
  }
};

}  // namespace v1
}  // namespace tenon
