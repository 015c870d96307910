// SPDX-License-Identifier: Apache-2.0
// Loops over whole pixels of each plane.
#include <tenon/drivers/vaapi/process/orient.hpp>

#include <cstring>
#include <new>

extern "C" {
#include <libavutil/common.h>
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
}

namespace tenon::va {
namespace {

/// A plane as rows of pixels.
struct Plane {
  std::uint8_t* data;
  std::ptrdiff_t pitch;
  int width, height, bytes;
};

template <class Visit>
void each_plane(const Pixels& pixels, Visit visit) {
  const AVPixFmtDescriptor* about = av_pix_fmt_desc_get(pixels.format);
  std::array<int, 4> step{};
  av_image_fill_max_pixsteps(step.data(), nullptr, about);
  for (std::size_t plane = 0; plane < 4 && pixels.data[plane]; ++plane) {
    const bool chroma = plane == 1 || plane == 2;
    visit(plane, Plane{pixels.data[plane], pixels.pitch[plane],
                       AV_CEIL_RSHIFT(pixels.width_px, chroma ? about->log2_chroma_w : 0),
                       AV_CEIL_RSHIFT(pixels.height_px, chroma ? about->log2_chroma_h : 0), step[plane]});
  }
}

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

const Pixels& Canvas::prepare(AVPixelFormat format, int width_px, int height_px) {
  std::array<std::uint8_t*, 4> data{};
  std::array<int, 4> pitch{};
  const int size = av_image_get_buffer_size(format, width_px, height_px, 64);
  if (size < 0) throw std::bad_alloc();
  bytes_.resize(static_cast<std::size_t>(size) + 64);  // Room for libswscale's last vector.
  av_image_fill_arrays(data.data(), pitch.data(), bytes_.data(), format, width_px, height_px, 64);
  pixels_ = {format, width_px, height_px, data, pitch};
  return pixels_;
}

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
  const bool wide = av_pix_fmt_desc_get(to.format)->comp[0].depth > 8;
  each_plane(from, [&](std::size_t plane, const Plane& one) { sources[plane] = one; });
  each_plane(to, [&](std::size_t plane, const Plane& one) {
    const int count = one.width * one.bytes / (wide ? 2 : 1);
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
