// SPDX-License-Identifier: Apache-2.0
// The table of pixel formats.
#include <tenon/drivers/vaapi/objects/format.hpp>

#include <algorithm>

extern "C" {
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
}

namespace tenon::va {
namespace {

constexpr std::uint32_t code(const char (&text)[5]) {
  return VA_FOURCC(static_cast<unsigned char>(text[0]), static_cast<unsigned char>(text[1]),
                   static_cast<unsigned char>(text[2]), static_cast<unsigned char>(text[3]));
}

// DRM's codes by their letters, as drm_fourcc.h writes them: no header of libdrm is needed.
constexpr std::uint32_t kR8 = code("R8  "), kR16 = code("R16 "), kGr88 = code("GR88"), kGr1616 = code("GR32");

constexpr std::array kFormats = {
    Format{VA_FOURCC_NV12, AV_PIX_FMT_NV12, VA_RT_FORMAT_YUV420, code("NV12"), {kR8, kGr88, 0}},
    Format{VA_FOURCC_I420, AV_PIX_FMT_YUV420P, VA_RT_FORMAT_YUV420, code("YU12"), {kR8, kR8, kR8}},
    Format{VA_FOURCC_YV12, AV_PIX_FMT_YUV420P, VA_RT_FORMAT_YUV420, code("YV12"), {kR8, kR8, kR8}, true},
    Format{VA_FOURCC_P010, AV_PIX_FMT_P010LE, VA_RT_FORMAT_YUV420_10, code("P010"), {kR16, kGr1616, 0}},
    Format{VA_FOURCC_YUY2, AV_PIX_FMT_YUYV422, VA_RT_FORMAT_YUV422, code("YUYV"), {code("YUYV"), 0, 0}},
    Format{VA_FOURCC_UYVY, AV_PIX_FMT_UYVY422, VA_RT_FORMAT_YUV422, code("UYVY"), {code("UYVY"), 0, 0}},
    Format{VA_FOURCC_Y210, AV_PIX_FMT_Y210LE, VA_RT_FORMAT_YUV422_10, code("Y210"), {code("Y210"), 0, 0}},
    Format{VA_FOURCC_422H, AV_PIX_FMT_YUV422P, VA_RT_FORMAT_YUV422, code("YU16"), {kR8, kR8, kR8}},
    Format{VA_FOURCC_444P, AV_PIX_FMT_YUV444P, VA_RT_FORMAT_YUV444, code("YU24"), {kR8, kR8, kR8}},
    Format{VA_FOURCC_Y800, AV_PIX_FMT_GRAY8, VA_RT_FORMAT_YUV400, kR8, {kR8, 0, 0}},
    Format{VA_FOURCC_BGRX, AV_PIX_FMT_BGR0, VA_RT_FORMAT_RGB32, code("XR24"), {code("XR24"), 0, 0}},
    Format{VA_FOURCC_BGRA, AV_PIX_FMT_BGRA, VA_RT_FORMAT_RGB32, code("AR24"), {code("AR24"), 0, 0}},
    Format{VA_FOURCC_RGBX, AV_PIX_FMT_RGB0, VA_RT_FORMAT_RGB32, code("XB24"), {code("XB24"), 0, 0}},
    Format{VA_FOURCC_RGBA, AV_PIX_FMT_RGBA, VA_RT_FORMAT_RGB32, code("AB24"), {code("AB24"), 0, 0}},
    Format{VA_FOURCC_XRGB, AV_PIX_FMT_0RGB, VA_RT_FORMAT_RGB32, code("BX24"), {code("BX24"), 0, 0}},
    Format{VA_FOURCC_ARGB, AV_PIX_FMT_ARGB, VA_RT_FORMAT_RGB32, code("BA24"), {code("BA24"), 0, 0}},
};

constexpr std::uint32_t align(std::uint32_t value, std::uint32_t to) { return (value + to - 1) / to * to; }

/// The plane of libavutil's order that holds VA's plane.
std::size_t plane_in_libav(const Format& format, std::size_t plane) {
  return format.v_before_u && plane != 0 ? 3 - plane : plane;
}

}  // namespace

std::span<const Format> formats() noexcept { return kFormats; }

const Format* find_format(std::uint32_t fourcc) noexcept {
  const auto* found =
      std::find_if(kFormats.begin(), kFormats.end(), [&](const Format& f) { return f.fourcc == fourcc; });
  return found == kFormats.end() ? nullptr : found;
}

const Format* default_format(std::uint32_t rt_format) noexcept {
  const auto* found =
      std::find_if(kFormats.begin(), kFormats.end(), [&](const Format& f) { return (f.rt_format & rt_format) != 0; });
  return found == kFormats.end() ? nullptr : found;
}

VAImageFormat Format::image() const noexcept {
  VAImageFormat made{};
  made.fourcc = fourcc;
  made.byte_order = VA_LSB_FIRST;
  const AVPixFmtDescriptor* about = av_pix_fmt_desc_get(pixels);
  made.bits_per_pixel = static_cast<std::uint32_t>(av_get_padded_bits_per_pixel(about));
  if (!(about->flags & AV_PIX_FMT_FLAG_RGB)) return made;
  made.depth = about->nb_components == 4 ? 32 : 24;
  // The masks of a little-endian word of four bytes.
  const auto mask = [&](int component) { return 0xffu << (8 * about->comp[component].offset); };
  made.red_mask = mask(0);
  made.green_mask = mask(1);
  made.blue_mask = mask(2);
  if (about->nb_components == 4) made.alpha_mask = mask(3);
  return made;
}

std::uint32_t Format::sample_bytes() const noexcept { return av_pix_fmt_desc_get(pixels)->comp[0].depth > 8 ? 2 : 1; }

std::uint32_t row_bytes(const Format& format, std::uint32_t plane, std::uint32_t width_px) noexcept {
  const int bytes = av_image_get_linesize(format.pixels, static_cast<int>(width_px), static_cast<int>(plane));
  return bytes > 0 ? static_cast<std::uint32_t>(bytes) : 0;
}

std::uint32_t rows_of(const Format& format, std::uint32_t plane, std::uint32_t height_px) noexcept {
  const unsigned shift = plane == 0 ? 0 : av_pix_fmt_desc_get(format.pixels)->log2_chroma_h;
  return (height_px + (1u << shift) - 1) >> shift;
}

PlaneLayout layout_of(const Format& format, std::uint32_t width_px, std::uint32_t height_px) {
  PlaneLayout layout;
  const std::uint32_t rows_px = align(height_px, 16);
  for (std::uint32_t plane = 0; plane < format.planes(); ++plane) {
    layout.pitch[plane] = align(row_bytes(format, plane, align(width_px, 16)), 64);
    layout.offset[plane] = static_cast<std::uint32_t>(layout.size_bytes);
    layout.size_bytes += std::size_t{layout.pitch[plane]} * rows_of(format, plane, rows_px);
  }
  return layout;
}

Pixels pixels_of(const Format& format, std::uint32_t width_px, std::uint32_t height_px,
                 const std::array<std::uint8_t*, 4>& planes, const std::array<std::uint32_t, 4>& pitch) noexcept {
  Pixels pixels{format.pixels, static_cast<int>(width_px), static_cast<int>(height_px), {}, {}};
  for (std::size_t plane = 0; plane < format.planes(); ++plane) {
    const std::size_t there = plane_in_libav(format, plane);
    pixels.data[there] = planes[plane];
    pixels.pitch[there] = static_cast<int>(pitch[plane]);
  }
  return pixels;
}

Pixels crop(const Pixels& all, int x_px, int y_px, int width_px, int height_px) noexcept {
  Pixels part = all;
  part.width_px = width_px;
  part.height_px = height_px;
  const AVPixFmtDescriptor* about = av_pix_fmt_desc_get(all.format);
  const int x = x_px & ~((1 << about->log2_chroma_w) - 1), y = y_px & ~((1 << about->log2_chroma_h) - 1);
  for (std::size_t plane = 0; plane < 4 && part.data[plane]; ++plane) {
    const int down = plane == 1 || plane == 2 ? y >> about->log2_chroma_h : y;
    part.data[plane] += static_cast<std::ptrdiff_t>(down) * part.pitch[plane] +
                        av_image_get_linesize(all.format, x, static_cast<int>(plane));
  }
  return part;
}

}  // namespace tenon::va
