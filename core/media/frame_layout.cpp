// SPDX-License-Identifier: Apache-2.0
// The table of components, and the matrices.
#include <tenon/core/frame_layout.hpp>

#include <string>

#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {
namespace detail {

/// Location of each component; the extents of planes come from the table of formats.
struct Placement {
  PixelFormat format;
  std::uint8_t count;
  std::array<FrameComponent, 3> components;
};

constexpr FrameComponent component_at(std::uint8_t plane, std::uint8_t step = 1, std::uint8_t offset = 0,
                                      std::uint8_t shift_x = 0, std::uint8_t shift_y = 0) {
  return {plane, step, offset, shift_x, shift_y};
}

inline constexpr Placement kPlacements[] = {
    {kI420, 3, {component_at(0), component_at(1, 1, 0, 1, 1), component_at(2, 1, 0, 1, 1)}},
    {kYv12, 3, {component_at(0), component_at(2, 1, 0, 1, 1), component_at(1, 1, 0, 1, 1)}},
    {kI422, 3, {component_at(0), component_at(1, 1, 0, 1, 0), component_at(2, 1, 0, 1, 0)}},
    {kI444, 3, {component_at(0), component_at(1), component_at(2)}},
    {kNv12, 3, {component_at(0), component_at(1, 2, 0, 1, 1), component_at(1, 2, 1, 1, 1)}},
    {kNv21, 3, {component_at(0), component_at(1, 2, 1, 1, 1), component_at(1, 2, 0, 1, 1)}},
    {kNv16, 3, {component_at(0), component_at(1, 2, 0, 1, 0), component_at(1, 2, 1, 1, 0)}},
    {kP010, 3, {component_at(0), component_at(1, 2, 0, 1, 1), component_at(1, 2, 1, 1, 1)}},
    {kYuy2, 3, {component_at(0, 2, 0), component_at(0, 4, 1, 1, 0), component_at(0, 4, 3, 1, 0)}},
    {kUyvy, 3, {component_at(0, 2, 1), component_at(0, 4, 0, 1, 0), component_at(0, 4, 2, 1, 0)}},
    {kGray8, 1, {component_at(0)}},
    {kRgb24, 3, {component_at(0, 3, 0), component_at(0, 3, 1), component_at(0, 3, 2)}},
    {kBgr24, 3, {component_at(0, 3, 2), component_at(0, 3, 1), component_at(0, 3, 0)}},
    {kRgba, 3, {component_at(0, 4, 0), component_at(0, 4, 1), component_at(0, 4, 2)}},
    {kRgbx, 3, {component_at(0, 4, 0), component_at(0, 4, 1), component_at(0, 4, 2)}},
    {kBgra, 3, {component_at(0, 4, 2), component_at(0, 4, 1), component_at(0, 4, 0)}},
    {kBgrx, 3, {component_at(0, 4, 2), component_at(0, 4, 1), component_at(0, 4, 0)}},
    {kRgbPlanar, 3, {component_at(0), component_at(1), component_at(2)}},
    {kBgrPlanar, 3, {component_at(2), component_at(1), component_at(0)}},
    {kGbrPlanar, 3, {component_at(2), component_at(0), component_at(1)}},
};

}  // namespace detail

TENON_INLINE FrameLayout frame_layout(const FrameInfo& info) {
  const detail::Placement* found = nullptr;
  std::string known;
  for (const detail::Placement& entry : detail::kPlacements) {
    if (entry.format == info.format) found = &entry;
    known += " " + to_string(entry.format);
  }
  if (!found)
    throw Error(Code::kUnimplemented,
                "frames of " + to_string(info.format) + " cannot be read pixel by pixel; those that can:" + known);
  const PixelFormatInfo& format = format_info(info.format);
  FrameLayout layout;
  layout.is_yuv = format.model == ColourModel::kYuv;
  layout.pairs = info.format == kYuy2 || info.format == kUyvy;
  layout.component_count = found->count;
  layout.components = found->components;
  layout.plane_count = format.plane_count;
  layout.bits = format.sample == ElementType::kU16 ? 10 : 8;
  for (std::size_t plane = 0; plane < format.plane_count; ++plane) {
    const PlaneLayout& p = format.planes[plane];
    layout.planes[plane] = {p.channels, p.width_shift, p.height_shift};
  }
  return layout;
}

TENON_INLINE LumaWeights luma_weights(ColourSpace space) {
  switch (space) {
    case ColourSpace::kBt709:
      return {0.2126, 0.0722};
    case ColourSpace::kBt2020:
      return {0.2627, 0.0593};
    default:
      return {};
  }
}

TENON_INLINE ColourMap rgb_from(const FrameInfo& info, const FrameLayout& layout) {
  ColourMap map;
  const bool full = resolved_colour_range(info) == ColourRange::kFull;
  if (!layout.is_yuv && layout.component_count == 3) {
    for (std::size_t c = 0; c < 3; ++c) map.matrix[c][c] = 1;
    return map;
  }
  if (!layout.is_yuv) {
    for (std::size_t c = 0; c < 3; ++c) {
      map.matrix[c] = {full ? 1.0 : 255.0 / 219, 0, 0};
      map.offset[c] = full ? 0.0 : -16 * 255.0 / 219;
    }
    return map;
  }
  const auto [kr, kb] = luma_weights(resolved_colour_space(info));
  const double kg = 1 - kr - kb;
  const double unit = static_cast<double>(1 << (layout.bits - 8));
  const double top = unit * 256 - 1;
  const double luma = full ? 255 / top : 255 / (219 * unit), chroma = full ? 255 / top : 255 / (224 * unit);
  const double black = full ? 0 : 16 * unit, grey = 128 * unit;
  const double u[3] = {0, -2 * kb * (1 - kb) / kg, 2 * (1 - kb)}, v[3] = {2 * (1 - kr), -2 * kr * (1 - kr) / kg, 0};
  for (std::size_t c = 0; c < 3; ++c) {
    map.matrix[c] = {luma, chroma * u[c], chroma * v[c]};
    map.offset[c] = -luma * black - chroma * (u[c] + v[c]) * grey;
  }
  return map;
}
}  // namespace v1
}  // namespace tenon
