// SPDX-License-Identifier: Apache-2.0
// Sampling positions of ROIPooling along each axis, and PSROIPooling of one region: shared by the reference kernels and
// devices with their own loops.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <tenon/core/export.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/graph/attributes.hpp>

namespace tenon {
inline namespace v1 {

/// One axis of a region: in whole pixels with both ends included, or, for the bilinear method, as fractions of the
/// image.
struct RoiPoolAxis {
  double first = 0, last = 0;    ///< Bounds as in the input.
  double begin = 0, length = 0;  ///< In whole pixels.
  std::size_t cells = 1, extent = 1;

  RoiPoolAxis(float given_first, float given_last, double scale, std::size_t cell_count, std::size_t picture_extent)
      : first(static_cast<double>(given_first)),
        last(static_cast<double>(given_last)),
        begin(std::round(first * scale)),
        length(std::max(std::round(last * scale) - begin + 1, 1.0)),
        cells(cell_count),
        extent(picture_extent) {}
  bool is_finite() const { return std::isfinite(begin + length); }
  /// The pixels of a cell, from the first up to the second.
  std::pair<std::size_t, std::size_t> pixels(std::size_t cell) const {
    const auto bounded = [&](double value) {
      return static_cast<std::size_t>(std::clamp(value, 0.0, static_cast<double>(extent)));
    };
    const auto all = static_cast<double>(cells), index = static_cast<double>(cell);
    return {bounded(begin + std::floor(index * length / all)), bounded(begin + std::ceil((index + 1) * length / all))};
  }
  /// The point that a bilinear cell reads. @return false if it lies outside.
  bool point(std::size_t cell, double& at) const {
    const auto end = static_cast<double>(extent - 1), count = static_cast<double>(cells);
    at = count > 1 ? first * end + static_cast<double>(cell) * (last - first) * end / (count - 1)
                   : (first + last) / 2 * end;
    return at >= 0 && at <= end;
  }
};

/// The image index of a region of ROIPooling and similar operations; -1 if there is none, which ends the list in some
/// models.
/// @errors kInvalidArgument: not the index of an image.
TENON_API std::int64_t roi_picture(float number, std::size_t region, std::size_t pictures);

/// PSROIPooling: each position of the output reads its own channels.
struct PsRoiPooling {
  bool is_average = true;
  double scale = 1;
  std::size_t bins_x = 1, bins_y = 1;
  std::size_t channels = 1, group = 1;  ///< Extents of the result: [regions, channels, group, group].
  std::size_t height = 1, width = 1;    ///< Extents of the images.

  /// @param in, out  Shapes of the images and the result.
  PsRoiPooling(const Attributes& attributes, const Shape& in, const Shape& out)
      : is_average(attributes.get_string("mode") == "average"),
        scale(attributes.get_double("spatial_scale")),
        bins_x(static_cast<std::size_t>(attributes.get_int("spatial_bins_x"))),
        bins_y(static_cast<std::size_t>(attributes.get_int("spatial_bins_y"))),
        channels(out[1]),
        group(out[2]),
        height(in[2]),
        width(in[3]) {}
};
/// Pools one region. picture: [its channels, height, width]; roi: [5]; sums: [channels], scratch; out: [channels,
/// group, group].
/// @errors kInvalidArgument: it is not finite.
TENON_API void ps_roi_pool(const PsRoiPooling& what, const float* picture, const float* roi, std::size_t region,
                           double* sums, float* out);

}  // namespace v1
}  // namespace tenon
