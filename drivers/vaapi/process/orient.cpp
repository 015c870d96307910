// SPDX-License-Identifier: Apache-2.0
// Loops over whole pixels of each plane.
#include <tenon/drivers/vaapi/process/orient.hpp>

#include <array>
#include <cstdint>
#include <cstring>

#include <tenon/drivers/vaapi/process/planes.hpp>

namespace tenon::va {
namespace {

template <int kBytes>
void turn_plane(const Plane& to, const Plane& from, int quarters, bool mirror_across, bool mirror_down) {
  for (int y = 0; y < to.height; ++y) {
    for (int x = 0; x < to.width; ++x) {
      const int across = mirror_across ? to.width - 1 - x : x, down = mirror_down ? to.height - 1 - y : y;
      int from_x = across, from_y = down;
      if (quarters == 1) from_x = down, from_y = from.height - 1 - across;
      if (quarters == 2) from_x = from.width - 1 - across, from_y = from.height - 1 - down;
      if (quarters == 3) from_x = from.width - 1 - down, from_y = across;
      std::memcpy(to.data + y * to.pitch + std::ptrdiff_t{x} * kBytes,
                  from.data + from_y * from.pitch + std::ptrdiff_t{from_x} * kBytes, kBytes);
    }
  }
}

}  // namespace

AVPixelFormat turnable(AVPixelFormat format) {
  switch (format) {
    case AV_PIX_FMT_YUYV422:
    case AV_PIX_FMT_UYVY422:
    case AV_PIX_FMT_YUV422P:
      return AV_PIX_FMT_YUV444P;
    default:
      return format;
  }
}

void turn(const Pixels& to, const Pixels& from, int quarters, bool mirror_across, bool mirror_down) {
  std::array<Plane, 4> sources{};
  each_plane(from, [&](std::size_t plane, const Plane& one) { sources[plane] = one; });
  each_plane(to, [&](std::size_t plane, const Plane& one) {
    const auto turn_one = one.bytes == 1 ? turn_plane<1> : one.bytes == 2 ? turn_plane<2> : turn_plane<4>;
    turn_one(one, sources[plane], quarters, mirror_across, mirror_down);
  });
}

void mix(const Pixels& to, const Pixels& from, int alpha) {
  std::array<Plane, 4> sources{};
  const bool wide = is_wide(to);
  each_plane(from, [&](std::size_t plane, const Plane& one) { sources[plane] = one; });
  each_plane(to, [&](std::size_t plane, const Plane& one) {
    const int count = samples_per_row(to, plane);
    for (int y = 0; y < one.height; ++y) {
      const auto mix_row = [&](auto* row, const auto* source) {
        for (int x = 0; x < count; ++x)
          row[x] = static_cast<std::remove_reference_t<decltype(*row)>>(
              (source[x] * alpha + row[x] * (256 - alpha) + 128) >> 8);
      };
      std::uint8_t* row = one.data + y * one.pitch;
      const std::uint8_t* source = sources[plane].data + y * sources[plane].pitch;
      if (wide)
        mix_row(reinterpret_cast<std::uint16_t*>(row), reinterpret_cast<const std::uint16_t*>(source));
      else
        mix_row(row, source);
    }
  });
}

}  // namespace tenon::va
