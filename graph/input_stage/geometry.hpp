// SPDX-License-Identifier: Apache-2.0
// How pixels of a frame map to a model's input and back: resize, letterbox, crop.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/orientation.hpp>
#include <tenon/core/pixel_format.hpp>

namespace tenon {
inline namespace v1 {

enum class ResizeMode : std::uint8_t {
  kLinear,   ///< Two taps per axis, pixel centres aligned, no antialiasing: OpenVINO's "linear", ONNX "half_pixel".
  kNearest,  ///< Pixel centres aligned, ties to the lower index: OpenVINO's and ONNX's "round_prefer_floor".
};

/// How the aspect ratio is handled; the names in rt_info are those of OpenVINO's Model API.
enum class Fit : std::uint8_t {
  kStretch,    ///< "standard": fills the target, aspect ratio is lost.
  kLetterbox,  ///< "fit_to_window_letterbox": scaled to fit, centred, padded on both sides.
  kTopLeft,    ///< "fit_to_window": scaled to fit, at the top left, padded right or below.
  kCrop,       ///< "crop": uses the largest centred part of the frame with the target's aspect ratio.
};

/// Pixels, top left and extent.
struct PixelRect {
  std::size_t x = 0, y = 0, width = 0, height = 0;
  friend bool operator==(const PixelRect&, const PixelRect&) = default;
};

/// Converts `rect` from the upright picture to the stored one, whose extents are `width` x `height`.
inline PixelRect stored_rect(const PixelRect& rect, Rotation rotation, std::size_t width, std::size_t height) {
  const Area<std::size_t> area =
      stored_area<std::size_t>({rect.x, rect.y, rect.width, rect.height}, rotation, width, height);
  return {area.x, area.y, area.width, area.height};
}

/// The part of the source that is used, and the part of the target that it fills.
struct FrameGeometry {
  PixelRect crop;
  PixelRect placed;

  /// From target pixels to source pixels; continuous coordinates, pixel i covers [i, i+1).
  double source_x(double x) const { return (x - placed.x) * crop.width / placed.width + crop.x; }
  double source_y(double y) const { return (y - placed.y) * crop.height / placed.height + crop.y; }
  double target_x(double x) const { return (x - crop.x) * placed.width / crop.width + placed.x; }
  double target_y(double y) const { return (y - crop.y) * placed.height / crop.height + placed.y; }
};

/// Places `crop` of the source (all of it if its width is 0) in a target.
/// @errors kInvalidArgument an extent is 0, above 65536, or the crop leaves the source.
inline FrameGeometry make_geometry(std::size_t source_width, std::size_t source_height, PixelRect crop,
                                   std::size_t width, std::size_t height, Fit fit) {
  constexpr std::size_t kMax = 65536;
  const auto text = [](std::size_t w, std::size_t h) { return std::to_string(w) + "x" + std::to_string(h); };
  if (source_width == 0 || source_height == 0 || source_width > kMax || source_height > kMax)
    throw Error(Code::kInvalidArgument, "input stage: a frame of " + text(source_width, source_height) +
                                            " pixels cannot be read; each extent must be 1 to 65536");
  if (width == 0 || height == 0 || width > kMax || height > kMax)
    throw Error(Code::kInvalidArgument, "input stage: a model input of " + text(width, height) +
                                            " pixels cannot be filled; each extent must be 1 to 65536");
  if (crop.width == 0 && crop.height == 0 && crop.x == 0 && crop.y == 0) crop = {0, 0, source_width, source_height};
  if (crop.width == 0 || crop.height == 0 || crop.x >= source_width || crop.y >= source_height ||
      crop.width > source_width - crop.x || crop.height > source_height - crop.y)
    throw Error(Code::kInvalidArgument, "input stage: the crop of " + text(crop.width, crop.height) + " at (" +
                                            std::to_string(crop.x) + "," + std::to_string(crop.y) +
                                            ") leaves the frame of " + text(source_width, source_height));
  FrameGeometry geometry{crop, {0, 0, width, height}};
  const double ratio_x = static_cast<double>(width) / crop.width, ratio_y = static_cast<double>(height) / crop.height;
  const auto rounded = [](double value, std::size_t limit) {
    return std::clamp<std::size_t>(static_cast<std::size_t>(std::lround(value)), 1, limit);
  };
  if (fit == Fit::kLetterbox || fit == Fit::kTopLeft) {
    const double ratio = std::min(ratio_x, ratio_y);
    geometry.placed.width = rounded(crop.width * ratio, width);
    geometry.placed.height = rounded(crop.height * ratio, height);
    if (fit == Fit::kLetterbox) {
      geometry.placed.x = (width - geometry.placed.width) / 2;
      geometry.placed.y = (height - geometry.placed.height) / 2;
    }
  } else if (fit == Fit::kCrop) {
    const double ratio = std::max(ratio_x, ratio_y);
    geometry.crop.width = rounded(width / ratio, crop.width);
    geometry.crop.height = rounded(height / ratio, crop.height);
    geometry.crop.x += (crop.width - geometry.crop.width) / 2;
    geometry.crop.y += (crop.height - geometry.crop.height) / 2;
  }
  return geometry;
}

/// The two source positions of each target position along one axis, and the weight of the second, in pixels of the
/// frame.
struct AxisTaps {
  std::vector<std::int32_t> low, high;
  std::vector<float> weight;
};

/// Taps for `target` positions over source positions [begin, begin + count); the end positions repeat beyond the ends.
inline AxisTaps make_taps(std::size_t begin, std::size_t count, std::size_t target, ResizeMode mode) {
  AxisTaps taps;
  taps.low.resize(target);
  taps.high.resize(target);
  taps.weight.resize(target);
  const double step = static_cast<double>(count) / target;
  const double last = static_cast<double>(count - 1);
  for (std::size_t i = 0; i < target; ++i) {
    const double centre = std::clamp((i + 0.5) * step - 0.5, 0.0, last);
    std::size_t low = 0, high = 0;
    double weight = 0;
    if (mode == ResizeMode::kNearest) {
      low = high = static_cast<std::size_t>(std::ceil(centre - 0.5));
    } else {
      low = static_cast<std::size_t>(centre);
      weight = centre - static_cast<double>(low);
      high = weight > 0 ? std::min(low + 1, count - 1) : low;
    }
    taps.low[i] = static_cast<std::int32_t>(begin + low);
    taps.high[i] = static_cast<std::int32_t>(begin + high);
    taps.weight[i] = static_cast<float>(weight);
  }
  return taps;
}

/// Mirrors the taps over the same positions.
inline void mirror_taps(AxisTaps& taps, std::size_t begin, std::size_t count) {
  const auto mirrored = [&](std::int32_t position) {
    return static_cast<std::int32_t>(2 * begin + count - 1) - position;
  };
  for (std::size_t i = 0; i < taps.low.size(); ++i) {
    const std::int32_t low = taps.low[i], high = taps.high[i];
    taps.low[i] = mirrored(high);
    taps.high[i] = mirrored(low);
    if (low != high) taps.weight[i] = 1 - taps.weight[i];
  }
}

}  // namespace v1
}  // namespace tenon
