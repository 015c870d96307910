// SPDX-License-Identifier: Apache-2.0
// Rows have libavutil's alignment.
#include <tenon/drivers/vaapi/objects/canvas.hpp>

#include <array>
#include <cstddef>
#include <new>

extern "C" {
#include <libavutil/imgutils.h>
}

namespace tenon::va {

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

}  // namespace tenon::va
