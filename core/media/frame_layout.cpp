// SPDX-License-Identifier: Apache-2.0
// The table of components, and the matrices.
#include <tenon/core/frame_layout.hpp>

#include <algorithm>
#include <string>

#include <tenon/core/carried_formats.hpp>
#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {
namespace detail {

/// The plane of each component, and its place in a pixel of that plane (in two pixels where they share chroma in one plane).
struct ComponentOrder {
  std::array<std::uint8_t, 3> plane, offset;
};
constexpr ComponentOrder packed_order(std::uint8_t a, std::uint8_t b, std::uint8_t c) { return {{}, {a, b, c}}; }
inline constexpr ComponentOrder kInOrder{{0, 1, 2}, {}}, kVBeforeU{{0, 2, 1}, {}}, kGbrOrder{{2, 0, 1}, {}};
inline constexpr ComponentOrder kUvPairs{{0, 1, 1}, {0, 0, 1}}, kVuPairs{{0, 1, 1}, {0, 1, 0}};
inline constexpr ComponentOrder kYuyvOrder = packed_order(0, 1, 3), kUyvyOrder = packed_order(1, 0, 2);
inline constexpr ComponentOrder kRgbOrder = packed_order(0, 1, 2), kBgrOrder = packed_order(2, 1, 0);
inline constexpr ComponentOrder kAfterAlpha = packed_order(1, 2, 3), kAlphaAndBgr = packed_order(3, 2, 1);

/// What the table of formats does not say: the order of components, and where the value is in a sample.
struct Placement {
  PixelFormat format;
  ComponentOrder order;
  std::uint8_t bits = 8, shift = 0;
};

inline constexpr Placement kPlacements[] = {
    {kNv12, kUvPairs},
    {kI420, kInOrder},
    {kYv12, kVBeforeU},
    {kNv21, kVuPairs},
    {kP010, kUvPairs, 10, 6},
    {kI420p10, kInOrder, 10},
    {kYuy2, kYuyvOrder},
    {kUyvy, kUyvyOrder},
    {kYvyu, packed_order(0, 3, 1)},
    {kVyuy, packed_order(1, 2, 0)},
    {kI422, kInOrder},
    {kI444, kInOrder},
    {kNv16, kUvPairs},
    {kNv61, kVuPairs},
    {kNv24, kUvPairs},
    {kNv42, kVuPairs},
    {kRgb24, kRgbOrder},
    {kBgr24, kBgrOrder},
    {kRgba, kRgbOrder},
    {kBgra, kBgrOrder},
    {kRgbx, kRgbOrder},
    {kBgrx, kBgrOrder},
    {kArgb, kAfterAlpha},
    {kAbgr, kAlphaAndBgr},
    {kXrgb, kAfterAlpha},
    {kXbgr, kAlphaAndBgr},
    {kRgbPlanar, kInOrder},
    {kBgrPlanar, {{2, 1, 0}, {}}},
    {kGbrPlanar, kGbrOrder},
    {kGbra, kGbrOrder},
    {kI420a, kInOrder},
    {kI422a, kInOrder},
    {kI444a, kInOrder},
    {kNv12a, kUvPairs},
    {kI440, kInOrder},
    {kI411, kInOrder},
    {kI410, kInOrder},
    {kYv410, kVBeforeU},
    {kYuv24, kRgbOrder},
    {kUyv24, packed_order(1, 0, 2)},
    {kVuya, kBgrOrder},
    {kAyuv, kAfterAlpha},
    {kP012, kUvPairs, 12, 4},
    {kP016, kUvPairs, 16},
    {kNv20, kUvPairs, 10},
    {kP210, kUvPairs, 10, 6},
    {kP216, kUvPairs, 16},
    {kP410, kUvPairs, 10, 6},
    {kP416, kUvPairs, 16},
    {kI422p10, kInOrder, 10},
    {kI444p10, kInOrder, 10},
    {kI440p10, kInOrder, 10},
    {kI420p9, kInOrder, 9},
    {kI422p9, kInOrder, 9},
    {kI444p9, kInOrder, 9},
    {kI420p12, kInOrder, 12},
    {kI422p12, kInOrder, 12},
    {kI444p12, kInOrder, 12},
    {kI440p12, kInOrder, 12},
    {kI420p14, kInOrder, 14},
    {kI422p14, kInOrder, 14},
    {kI444p14, kInOrder, 14},
    {kI420p16, kInOrder, 16},
    {kI422p16, kInOrder, 16},
    {kI444p16, kInOrder, 16},
    {kI420ap9, kInOrder, 9},
    {kI422ap9, kInOrder, 9},
    {kI444ap9, kInOrder, 9},
    {kI420ap10, kInOrder, 10},
    {kI422ap10, kInOrder, 10},
    {kI444ap10, kInOrder, 10},
    {kI422ap12, kInOrder, 12},
    {kI444ap12, kInOrder, 12},
    {kI420ap16, kInOrder, 16},
    {kI422ap16, kInOrder, 16},
    {kI444ap16, kInOrder, 16},
    {kY210, kYuyvOrder, 10, 6},
    {kY212, kYuyvOrder, 12, 4},
    {kV216, kUyvyOrder, 16},
    {kAyuv64, kAfterAlpha, 16},
    {kY412, packed_order(1, 0, 2), 12, 4},
    {kRgb48, kRgbOrder, 16},
    {kBgr48, kBgrOrder, 16},
    {kRgba64, kRgbOrder, 16},
    {kBgra64, kBgrOrder, 16},
    {kArgb64, kAfterAlpha, 16},
    {kAbgr64, kAlphaAndBgr, 16},
    {kGbr9, kGbrOrder, 9},
    {kGbr10, kGbrOrder, 10},
    {kGbr12, kGbrOrder, 12},
    {kGbr14, kGbrOrder, 14},
    {kGbr16, kGbrOrder, 16},
    {kGbra10, kGbrOrder, 10},
    {kGbra12, kGbrOrder, 12},
    {kGbra16, kGbrOrder, 16},
    {kGray8, {}},
    {kGrayA8, {}},
    {kGray16, {}, 16},
    {kGray14, {}, 14},
    {kGray12, {}, 12},
    {kGray10, {}, 10},
    {kGray9, {}, 9},
    {kGrayA16, {}, 16},
};

/// Null if the format is not read pixel by pixel.
TENON_INLINE const Placement* find_placement(PixelFormat format) {
  const PixelFormat little{format.fourcc & ~kBigEndian, format.modifier};
  for (const Placement& entry : kPlacements) {
    if (entry.format == little) return !is_big_endian(format) || entry.bits > 8 ? &entry : nullptr;
  }
  return nullptr;
}

TENON_INLINE Error unreadable(PixelFormat format) {
  const std::string what = "frames of " + to_string(format) + " cannot be read pixel by pixel: ";
  const PixelFormatInfo* known = find_format(format.fourcc);
  if (known && format.modifier != kModifierLinear)
    return Error(Code::kUnimplemented, what + "their pixels are tiled; map or convert them to linear memory first");
  if (known && known->sample == ElementType::kF32)
    return Error(Code::kUnimplemented, what + "their samples are real numbers; convert them to whole ones first");
  std::string all;
  for (const Placement& entry : kPlacements) all += " " + to_string(entry.format);
  return Error(Code::kUnimplemented, what + (known ? "several components share a word" : "the format is not known") +
                                         "; convert them to one of those that can:" + all);
}

TENON_INLINE FrameComponent component_at(const PixelFormatInfo& format, const ComponentOrder& order, std::size_t k) {
  const std::uint8_t plane = order.plane[k], offset = order.offset[k];
  if (is_packed_422(format))
    return k == 0 ? FrameComponent{plane, 2, offset, 0, 0} : FrameComponent{plane, 4, offset, 1, 0};
  const PlaneLayout& layout = format.planes[plane];
  return {plane, layout.channels, offset, layout.width_shift, layout.height_shift};
}

}  // namespace detail

TENON_INLINE bool is_packed_422(const PixelFormatInfo& format) {
  return format.model == ColourModel::kYuv && format.plane_count == 1 &&
         (format.planes[0].channels == 2 || format.planes[0].width_shift == 1);
}

TENON_INLINE bool is_readable(PixelFormat format) { return detail::find_placement(format) != nullptr; }

TENON_INLINE std::vector<PixelFormat> readable_formats() {
  std::vector<PixelFormat> all;
  for (const detail::Placement& entry : detail::kPlacements) all.push_back(entry.format);
  for (const detail::Placement& entry : detail::kPlacements) {
    if (entry.bits > 8) all.push_back(big_endian(entry.format));
  }
  return all;
}

TENON_INLINE FrameLayout frame_layout(const FrameInfo& info) {
  const detail::Placement* const found = detail::find_placement(info.format);
  if (!found) throw detail::unreadable(info.format);
  const PixelFormatInfo& format = format_info(info.format);
  FrameLayout layout;
  layout.is_yuv = format.model == ColourModel::kYuv;
  layout.pairs = info.format == kYuy2 || info.format == kUyvy;
  layout.component_count = format.model == ColourModel::kGray ? 1 : 3;
  layout.bits = found->bits;
  layout.shift = found->shift;
  layout.swapped = is_big_endian(info.format);
  for (std::size_t k = 0; k < layout.component_count; ++k) {
    layout.components[k] = detail::component_at(format, found->order, k);
    layout.plane_count = std::max<std::uint8_t>(layout.plane_count, layout.components[k].plane + 1);
  }
  layout.has_alpha_plane = layout.plane_count < format.plane_count;
  for (std::size_t plane = 0; plane < layout.plane_count; ++plane) {
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
    case ColourSpace::kSmpte240m:
      return {0.212, 0.087};
    default:
      return {};
  }
}

TENON_INLINE ColourMap rgb_from(const FrameInfo& info, const FrameLayout& layout) {
  ColourMap map;
  const bool full = resolved_colour_range(info) == ColourRange::kFull;
  const double unit = static_cast<double>(1 << (layout.bits - 8));
  const double top = unit * 256 - 1;
  if (!layout.is_yuv && layout.component_count == 3) {
    for (std::size_t c = 0; c < 3; ++c) map.matrix[c][c] = 255 / top;
    return map;
  }
  const double luma = full ? 255 / top : 255 / (219 * unit);
  if (!layout.is_yuv) {
    for (std::size_t c = 0; c < 3; ++c) {
      map.matrix[c] = {luma, 0, 0};
      map.offset[c] = full ? 0.0 : -16 * unit * luma;
    }
    return map;
  }
  const auto [kr, kb] = luma_weights(resolved_colour_space(info));
  const double kg = 1 - kr - kb;
  const double chroma = full ? 255 / top : 255 / (224 * unit);
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
