// SPDX-License-Identifier: Apache-2.0
// Pictures as planes of rows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <tenon/drivers/vaapi/objects/format.hpp>

extern "C" {
#include <libavutil/common.h>
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
}

namespace tenon::va {

/// A plane as rows of pixels.
struct Plane {
  std::uint8_t* data;
  std::ptrdiff_t pitch;
  int width, height, bytes;
  std::uint8_t* row(int y) const { return data + y * pitch; }
};

/// Calls visit(number, plane) for each plane.
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

/// Whether a sample has two bytes.
inline bool is_wide(const Pixels& pixels) { return av_pix_fmt_desc_get(pixels.format)->comp[0].depth > 8; }

/// Number of samples, not pixels: in packed 4:2:2 two pixels share four samples.
inline int samples_per_row(const Pixels& pixels, std::size_t plane) {
  return av_image_get_linesize(pixels.format, pixels.width_px, static_cast<int>(plane)) / (is_wide(pixels) ? 2 : 1);
}

}  // namespace tenon::va
