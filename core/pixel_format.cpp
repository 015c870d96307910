// SPDX-License-Identifier: Apache-2.0
// The table of pixel formats.
#include <tenon/core/pixel_format.hpp>

#include <cstdio>

#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {
namespace detail {

inline constexpr auto kYuvModel = ColourModel::kYuv;
inline constexpr auto kRgbModel = ColourModel::kRgb;
inline constexpr PlaneLayout kOne{1, 0, 0};

inline constexpr PixelFormatInfo kFormats[] = {
    {kGray8, "gray8", ColourModel::kGray, ElementType::kU8, 1, {{kOne}}},
    {kGray16, "gray16", ColourModel::kGray, ElementType::kU16, 1, {{kOne}}},
    {kNv12, "nv12", kYuvModel, ElementType::kU8, 2, {{kOne, {2, 1, 1}}}},
    {kNv21, "nv21", kYuvModel, ElementType::kU8, 2, {{kOne, {2, 1, 1}}}},
    {kNv16, "nv16", kYuvModel, ElementType::kU8, 2, {{kOne, {2, 1, 0}}}},
    {kP010, "p010", kYuvModel, ElementType::kU16, 2, {{kOne, {2, 1, 1}}}},
    {kI420, "i420", kYuvModel, ElementType::kU8, 3, {{kOne, {1, 1, 1}, {1, 1, 1}}}},
    {kYv12, "yv12", kYuvModel, ElementType::kU8, 3, {{kOne, {1, 1, 1}, {1, 1, 1}}}},
    {kI422, "i422", kYuvModel, ElementType::kU8, 3, {{kOne, {1, 1, 0}, {1, 1, 0}}}},
    {kI444, "i444", kYuvModel, ElementType::kU8, 3, {{kOne, kOne, kOne}}},
    {kYuy2, "yuy2", kYuvModel, ElementType::kU8, 1, {{{2, 0, 0}}}},
    {kUyvy, "uyvy", kYuvModel, ElementType::kU8, 1, {{{2, 0, 0}}}},
    {kRgb24, "rgb", kRgbModel, ElementType::kU8, 1, {{{3, 0, 0}}}},
    {kBgr24, "bgr", kRgbModel, ElementType::kU8, 1, {{{3, 0, 0}}}},
    {kRgba, "rgba", kRgbModel, ElementType::kU8, 1, {{{4, 0, 0}}}},
    {kBgra, "bgra", kRgbModel, ElementType::kU8, 1, {{{4, 0, 0}}}},
    {kRgbx, "rgbx", kRgbModel, ElementType::kU8, 1, {{{4, 0, 0}}}},
    {kBgrx, "bgrx", kRgbModel, ElementType::kU8, 1, {{{4, 0, 0}}}},
    {kRgbPlanar, "rgbp", kRgbModel, ElementType::kU8, 3, {{kOne, kOne, kOne}}},
    {kBgrPlanar, "bgrp", kRgbModel, ElementType::kU8, 3, {{kOne, kOne, kOne}}},
    {kGbrPlanar, "gbrp", kRgbModel, ElementType::kU8, 3, {{kOne, kOne, kOne}}},
};

}  // namespace detail

TENON_INLINE const PixelFormatInfo* all_formats(std::size_t& count) {
  count = std::size(detail::kFormats);
  return detail::kFormats;
}

TENON_INLINE const PixelFormatInfo* find_format(std::uint32_t fourcc) {
  for (const auto& entry : detail::kFormats) {
    if (entry.format.fourcc == fourcc) return &entry;
  }
  return nullptr;
}

TENON_INLINE std::optional<PixelFormat> format_from_name(std::string_view name) {
  for (const auto& entry : detail::kFormats) {
    if (entry.name == name) return entry.format;
  }
  return std::nullopt;
}

TENON_INLINE const PixelFormatInfo& format_info(PixelFormat format) {
  if (const PixelFormatInfo* found = find_format(format.fourcc)) return *found;
  std::string known;
  for (const auto& entry : detail::kFormats) known += " " + std::string(entry.name);
  throw Error(Code::kUnimplemented, "pixel format " + to_string(format) + " is not known; known are:" + known);
}

TENON_INLINE std::string to_string(PixelFormat format) {
  std::string text;
  if (const PixelFormatInfo* found = find_format(format.fourcc)) {
    text = found->name;
  } else {
    for (int shift = 0; shift < 32; shift += 8) {
      const char c = static_cast<char>(format.fourcc >> shift);
      text += c >= 32 && c < 127 ? c : '?';
    }
  }
  if (format.modifier == kModifierLinear) return text;
  char modifier[32];
  std::snprintf(modifier, sizeof modifier, ":0x%016llx", static_cast<unsigned long long>(format.modifier));
  return text + modifier;
}

TENON_INLINE PlaneExtent plane_extent(const FrameInfo& info, std::size_t plane) {
  const PixelFormatInfo& format = format_info(info.format);
  if (plane >= format.plane_count) {
    throw Error(Code::kOutOfRange, to_string(info.format) + " has " + std::to_string(format.plane_count) +
                                       " planes, plane " + std::to_string(plane) + " was asked for");
  }
  return plane_extent(info, format, plane);
}

TENON_INLINE ColourSpace resolved_colour_space(const FrameInfo& info) {
  if (info.colour_space != ColourSpace::kUnknown) return info.colour_space;
  return info.height_px >= 720 ? ColourSpace::kBt709 : ColourSpace::kBt601;
}

TENON_INLINE ColourRange resolved_colour_range(const FrameInfo& info) {
  if (info.colour_range != ColourRange::kUnknown) return info.colour_range;
  return format_info(info.format).model == ColourModel::kYuv ? ColourRange::kLimited : ColourRange::kFull;
}

}  // namespace v1
}  // namespace tenon
