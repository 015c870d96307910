// SPDX-License-Identifier: Apache-2.0
// Formats that swscale does not know, plane by plane.
#include <tenon/frameworks/ffmpeg/repack.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <tenon/core/carried_formats.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/frame_layout.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/ffmpeg/pixel_format.hpp>

namespace tenon {
inline namespace v1 {
namespace ffmpeg {
namespace detail {

TENON_INLINE bool swscale_reads(PixelFormat format) {
  const FormatMapping* const mapping = find_mapping(format);
  return mapping && sws_isSupportedInput(mapping->av);
}

TENON_INLINE bool swscale_writes(PixelFormat format) {
  const FormatMapping* const mapping = find_mapping(format);
  return mapping && sws_isSupportedOutput(mapping->av);
}

/// Whether `planar` holds the values of `layout` in a plane for each component.
TENON_INLINE bool is_planar_form(const FrameLayout& planar, const FrameLayout& layout) {
  bool is_form = planar.is_yuv == layout.is_yuv && planar.component_count == layout.component_count &&
                 planar.plane_count == planar.component_count && !planar.has_alpha_plane &&
                 planar.bits == layout.bits && planar.shift == 0 && !planar.swapped;
  for (std::size_t k = 0; k < layout.component_count; ++k) {
    const FrameComponent &a = planar.components[k], &b = layout.components[k];
    is_form = is_form && a.step == 1 && a.shift_x == b.shift_x && a.shift_y == b.shift_y;
  }
  return is_form;
}

TENON_INLINE std::optional<PixelFormat> planar_of(PixelFormat format) {
  if (!is_readable(format)) return std::nullopt;
  const FrameLayout layout = frame_layout({format, 1, 1});
  for (const FormatMapping& mapping : kMappings) {
    if (mapping.full_range || !is_readable(mapping.format)) continue;
    if (!sws_isSupportedInput(mapping.av) || !sws_isSupportedOutput(mapping.av)) continue;
    if (is_planar_form(frame_layout({mapping.format, 1, 1}), layout)) return mapping.format;
  }
  return std::nullopt;
}

template <typename T>
T* row_of(const Tensor& plane, std::size_t y) {
  return reinterpret_cast<T*>(static_cast<std::byte*>(plane.data()) +
                              plane.byte_strides()[0] * static_cast<std::ptrdiff_t>(y));
}

template <typename T>
void repack_as(const Frame& from, const FrameLayout& in, const Frame& to, const FrameLayout& out) {
  const auto moved = [&](T sample) {
    if constexpr (sizeof(T) == 1)
      return sample;
    else
      return out.sample_of(in.value_of(sample));
  };
  T opaque = static_cast<T>(-1);
  if constexpr (sizeof(T) == 2) opaque = out.sample_of(static_cast<T>((1u << out.bits) - 1));
  // Alpha is what no component writes.
  for (const Tensor& plane : to.planes()) {
    const std::size_t rows = plane.shape()[0],
                      samples = plane.shape()[1] * (plane.shape().size() == 3 ? plane.shape()[2] : 1);
    for (std::size_t y = 0; y < rows; ++y) std::fill_n(row_of<T>(plane, y), samples, opaque);
  }
  for (std::size_t k = 0; k < in.component_count; ++k) {
    const FrameComponent &a = in.components[k], &b = out.components[k];
    const auto shared = [](std::uint32_t extent, unsigned shift) { return (extent + (1u << shift) - 1) >> shift; };
    const std::size_t columns = shared(from.info().width_px, a.shift_x),
                      rows = shared(from.info().height_px, a.shift_y);
    for (std::size_t y = 0; y < rows; ++y) {
      const T* const source = row_of<T>(from.plane(a.plane), y) + a.offset;
      T* const target = row_of<T>(to.plane(b.plane), y) + b.offset;
      for (std::size_t x = 0; x < columns; ++x) target[x * b.step] = moved(source[x * a.step]);
    }
  }
}

TENON_INLINE void repack(const Frame& from, const Frame& to, Ledger& ledger) {
  static const EdgeId edge = register_edge("ffmpeg.repack");
  const FrameLayout in = frame_layout(from.info()), out = frame_layout(to.info());
  in.bits > 8 ? repack_as<std::uint16_t>(from, in, to, out) : repack_as<std::uint8_t>(from, in, to, out);
  ledger.book_map(edge, false);
  ledger.book_copied(edge, from.size_bytes());
}

}  // namespace detail
}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
