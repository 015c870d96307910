// SPDX-License-Identifier: Apache-2.0
// Copies of turned pictures.
#include <tenon/core/upright.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/core/frame_layout.hpp>
#include <tenon/core/orientation.hpp>
#include <tenon/core/tensor.hpp>

namespace tenon {
inline namespace v1 {
namespace detail {

/// The offset of the upright picture's top left pixel in a plane, and the byte steps from it to the right and down.
struct UprightWalk {
  const std::byte* first;
  std::ptrdiff_t right, down;
  std::size_t width_px, height_px;
};

TENON_INLINE UprightWalk upright_walk(const Tensor& plane, const PlaneExtent& extent, Rotation rotation) {
  const std::ptrdiff_t row = plane.byte_strides()[0], pixel = plane.byte_strides()[1];
  const auto* const base = static_cast<const std::byte*>(plane.data());
  const std::size_t w = extent.width_px, h = extent.height_px;
  const std::ptrdiff_t last_row = row * static_cast<std::ptrdiff_t>(h - 1);
  const std::ptrdiff_t last_pixel = pixel * static_cast<std::ptrdiff_t>(w - 1);
  const bool is_back = flips_columns(rotation), is_up = flips_rows(rotation);
  const std::byte* const first = base + (is_back ? last_pixel : 0) + (is_up ? last_row : 0);
  const std::ptrdiff_t along = is_back ? -pixel : pixel, down = is_up ? -row : row;
  if (is_quarter_turn(rotation)) return {first, down, along, h, w};
  return {first, along, down, w, h};
}

/// Transposes in tiles, so that a cache line that is read across serves several rows.
template <std::size_t kPixel>
void copy_turned(const UprightWalk& from, std::byte* to, std::ptrdiff_t pitch, std::size_t width, std::size_t height) {
  constexpr std::size_t kTile = 32;
  for (std::size_t top = 0; top < height; top += kTile) {
    for (std::size_t left = 0; left < width; left += kTile) {
      for (std::size_t y = top; y < std::min(top + kTile, height); ++y) {
        const std::byte* source =
            from.first + from.down * static_cast<std::ptrdiff_t>(y) + from.right * static_cast<std::ptrdiff_t>(left);
        std::byte* target = to + pitch * static_cast<std::ptrdiff_t>(y) + left * kPixel;
        for (std::size_t x = left; x < std::min(left + kTile, width); ++x, source += from.right, target += kPixel)
          std::memcpy(target, source, kPixel);
      }
    }
  }
}

/// @param pixel_bytes  A sample of up to 16 bits, or a whole packed pixel of up to 4 samples.
TENON_INLINE void copy_plane_upright(const UprightWalk& from, std::size_t pixel_bytes, std::byte* to,
                                     std::ptrdiff_t pitch, std::size_t width, std::size_t height) {
  if (from.right == static_cast<std::ptrdiff_t>(pixel_bytes)) {
    for (std::size_t y = 0; y < height; ++y)
      std::memcpy(to + pitch * static_cast<std::ptrdiff_t>(y), from.first + from.down * static_cast<std::ptrdiff_t>(y),
                  width * pixel_bytes);
    return;
  }
  if (pixel_bytes == 1) return copy_turned<1>(from, to, pitch, width, height);
  if (pixel_bytes == 2) return copy_turned<2>(from, to, pitch, width, height);
  if (pixel_bytes == 3) return copy_turned<3>(from, to, pitch, width, height);
  if (pixel_bytes == 4) return copy_turned<4>(from, to, pitch, width, height);
  if (pixel_bytes == 6) return copy_turned<6>(from, to, pitch, width, height);
  if (pixel_bytes == 8) return copy_turned<8>(from, to, pitch, width, height);
  throw Error(Code::kUnimplemented, "a picture of " + std::to_string(pixel_bytes) + " bytes a pixel is not turned");
}

}  // namespace detail

TENON_INLINE bool turns_into_itself(PixelFormat format) {
  const PixelFormatInfo& info = format_info(format);
  if (is_packed_422(info)) return false;
  return std::all_of(info.planes.begin(), info.planes.begin() + info.plane_count,
                     [](const PlaneLayout& plane) { return plane.width_shift == plane.height_shift; });
}

TENON_INLINE std::uint64_t copy_upright(const Frame& from, const Frame& to) {
  return copy_upright(from, from.info().rotation, to);
}

TENON_INLINE std::uint64_t copy_upright(const Frame& from, Rotation change, const Frame& to) {
  std::uint64_t bytes = 0;
  for (std::size_t p = 0; p < from.plane_count(); ++p) {
    const PlaneExtent extent = plane_extent(to.info(), p);
    const detail::UprightWalk walk = detail::upright_walk(from.plane(p), plane_extent(from.info(), p), change);
    const std::size_t width = std::min<std::size_t>(walk.width_px, extent.width_px);
    const std::size_t height = std::min<std::size_t>(walk.height_px, extent.height_px);
    const std::size_t pixel = extent.row_bytes / extent.width_px;
    const Tensor& plane = to.plane(p);
    detail::copy_plane_upright(walk, pixel, static_cast<std::byte*>(plane.data()), plane.byte_strides()[0], width,
                               height);
    bytes += width * height * pixel;
  }
  return bytes;
}

}  // namespace v1
}  // namespace tenon
