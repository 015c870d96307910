// SPDX-License-Identifier: Apache-2.0
// Pixel formats of surfaces and images: names in VA-API, DRM and libavutil for the same bytes, and the layout of
// planes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <va/va.h>

extern "C" {
#include <libavutil/pixfmt.h>
}

namespace tenon::va {

struct Format {
  std::uint32_t fourcc;                     ///< VA_FOURCC_*
  AVPixelFormat pixels;                     ///< The same bytes; for YV12 with the chroma planes exchanged.
  std::uint32_t rt_format;                  ///< The VA_RT_FORMAT_* that it serves.
  std::uint32_t drm_format;                 ///< The whole picture, DRM_FORMAT_*.
  std::array<std::uint32_t, 3> drm_planes;  ///< Each plane as a picture of its own; 0: no such plane.
  bool v_before_u = false;
  VAImageFormat image() const noexcept;
  std::uint32_t sample_bytes() const noexcept;
  std::uint32_t planes() const noexcept { return drm_planes[2] ? 3 : drm_planes[1] ? 2 : 1; }
};

/// All formats; the first that serves an RT format is the default for it.
std::span<const Format> formats() noexcept;
/// Null for an unknown one.
const Format* find_format(std::uint32_t fourcc) noexcept;
const Format* default_format(std::uint32_t rt_format) noexcept;

inline constexpr std::uint32_t kMaxSide_px = 16384;

/// Offsets and pitches of planes in one memory.
struct PlaneLayout {
  std::array<std::uint32_t, 4> pitch{}, offset{};
  std::size_t size_bytes = 0;
};
/// Rows aligned to 64 bytes, planes to whole macroblocks.
PlaneLayout layout_of(const Format& format, std::uint32_t width_px, std::uint32_t height_px);
/// Bytes per row of a plane, and its number of rows.
std::uint32_t row_bytes(const Format& format, std::uint32_t plane, std::uint32_t width_px) noexcept;
std::uint32_t rows_of(const Format& format, std::uint32_t plane, std::uint32_t height_px) noexcept;

/// Planes in memory, in libavutil's order. Owns nothing.
struct Pixels {
  AVPixelFormat format = AV_PIX_FMT_NONE;
  int width_px = 0, height_px = 0;
  std::array<std::uint8_t*, 4> data{};
  std::array<int, 4> pitch{};
};
/// @param planes  The first byte of each plane, in VA's order.
Pixels pixels_of(const Format& format, std::uint32_t width_px, std::uint32_t height_px,
                 const std::array<std::uint8_t*, 4>& planes, const std::array<std::uint32_t, 4>& pitch) noexcept;
/// A part of the picture. With subsampled chroma, x and y are rounded down to whole chroma samples.
Pixels crop(const Pixels& all, int x_px, int y_px, int width_px, int height_px) noexcept;

}  // namespace tenon::va
