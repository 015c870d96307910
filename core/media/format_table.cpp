// SPDX-License-Identifier: Apache-2.0
// The table of pixel formats.
#include <tenon/core/pixel_format.hpp>

#include <algorithm>
#include <array>
#include <cstdio>

#include <tenon/core/carried_formats.hpp>
#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {
namespace detail {

inline constexpr auto kYuvModel = ColourModel::kYuv;
inline constexpr auto kRgbModel = ColourModel::kRgb;
inline constexpr PlaneLayout kOne{1, 0, 0}, kFour{4, 0, 0};
inline constexpr PlaneLayout kPair{4, 1, 0};  // Two pixels in four samples.

inline constexpr PixelFormatInfo kLittle[] = {
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
    {kArgb, "argb", kRgbModel, ElementType::kU8, 1, {{kFour}}},
    {kAbgr, "abgr", kRgbModel, ElementType::kU8, 1, {{kFour}}},
    {kXrgb, "xrgb", kRgbModel, ElementType::kU8, 1, {{kFour}}},
    {kXbgr, "xbgr", kRgbModel, ElementType::kU8, 1, {{kFour}}},
    {kRgb565, "rgb565", kRgbModel, ElementType::kU16, 1, {{kOne}}},
    {kBgr565, "bgr565", kRgbModel, ElementType::kU16, 1, {{kOne}}},
    {kXrgb555, "xrgb555", kRgbModel, ElementType::kU16, 1, {{kOne}}},
    {kXbgr555, "xbgr555", kRgbModel, ElementType::kU16, 1, {{kOne}}},
    {kRgb10a2, "rgb10a2", kRgbModel, ElementType::kU32, 1, {{kOne}}},
    {kBgr10a2, "bgr10a2", kRgbModel, ElementType::kU32, 1, {{kOne}}},
    {kRgba64, "rgba64", kRgbModel, ElementType::kU16, 1, {{kFour}}},
    {kBgra64, "bgra64", kRgbModel, ElementType::kU16, 1, {{kFour}}},
    {kArgb64, "argb64", kRgbModel, ElementType::kU16, 1, {{kFour}}},
    {kAbgr64, "abgr64", kRgbModel, ElementType::kU16, 1, {{kFour}}},
    {kGbra, "gbrap", kRgbModel, ElementType::kU8, 4, {{kOne, kOne, kOne, kOne}}},
    {kGbr10, "gbrp10", kRgbModel, ElementType::kU16, 3, {{kOne, kOne, kOne}}},
    {kGbr12, "gbrp12", kRgbModel, ElementType::kU16, 3, {{kOne, kOne, kOne}}},
    {kGbra10, "gbrap10", kRgbModel, ElementType::kU16, 4, {{kOne, kOne, kOne, kOne}}},
    {kGbra12, "gbrap12", kRgbModel, ElementType::kU16, 4, {{kOne, kOne, kOne, kOne}}},
    {kNv61, "nv61", kYuvModel, ElementType::kU8, 2, {{kOne, {2, 1, 0}}}},
    {kNv24, "nv24", kYuvModel, ElementType::kU8, 2, {{kOne, {2, 0, 0}}}},
    {kNv12a, "nv12a", kYuvModel, ElementType::kU8, 3, {{kOne, {2, 1, 1}, kOne}}},
    {kP012, "p012", kYuvModel, ElementType::kU16, 2, {{kOne, {2, 1, 1}}}},
    {kP016, "p016", kYuvModel, ElementType::kU16, 2, {{kOne, {2, 1, 1}}}},
    {kI411, "i411", kYuvModel, ElementType::kU8, 3, {{kOne, {1, 2, 0}, {1, 2, 0}}}},
    {kI410, "i410", kYuvModel, ElementType::kU8, 3, {{kOne, {1, 2, 2}, {1, 2, 2}}}},
    {kYv410, "yv410", kYuvModel, ElementType::kU8, 3, {{kOne, {1, 2, 2}, {1, 2, 2}}}},
    {kI420a, "i420a", kYuvModel, ElementType::kU8, 4, {{kOne, {1, 1, 1}, {1, 1, 1}, kOne}}},
    {kI420p10, "i420p10", kYuvModel, ElementType::kU16, 3, {{kOne, {1, 1, 1}, {1, 1, 1}}}},
    {kI422p10, "i422p10", kYuvModel, ElementType::kU16, 3, {{kOne, {1, 1, 0}, {1, 1, 0}}}},
    {kI444p10, "i444p10", kYuvModel, ElementType::kU16, 3, {{kOne, kOne, kOne}}},
    {kI420p12, "i420p12", kYuvModel, ElementType::kU16, 3, {{kOne, {1, 1, 1}, {1, 1, 1}}}},
    {kI422p12, "i422p12", kYuvModel, ElementType::kU16, 3, {{kOne, {1, 1, 0}, {1, 1, 0}}}},
    {kI444p12, "i444p12", kYuvModel, ElementType::kU16, 3, {{kOne, kOne, kOne}}},
    {kI444p16, "i444p16", kYuvModel, ElementType::kU16, 3, {{kOne, kOne, kOne}}},
    {kI420ap10, "i420ap10", kYuvModel, ElementType::kU16, 4, {{kOne, {1, 1, 1}, {1, 1, 1}, kOne}}},
    {kI422ap10, "i422ap10", kYuvModel, ElementType::kU16, 4, {{kOne, {1, 1, 0}, {1, 1, 0}, kOne}}},
    {kI444ap10, "i444ap10", kYuvModel, ElementType::kU16, 4, {{kOne, kOne, kOne, kOne}}},
    {kYvyu, "yvyu", kYuvModel, ElementType::kU8, 1, {{kPair}}},
    {kVyuy, "vyuy", kYuvModel, ElementType::kU8, 1, {{kPair}}},
    {kY210, "y210", kYuvModel, ElementType::kU16, 1, {{kPair}}},
    {kY212, "y212", kYuvModel, ElementType::kU16, 1, {{kPair}}},
    {kYuv24, "yuv24", kYuvModel, ElementType::kU8, 1, {{{3, 0, 0}}}},
    {kUyv24, "uyv24", kYuvModel, ElementType::kU8, 1, {{{3, 0, 0}}}},
    {kVuya, "vuya", kYuvModel, ElementType::kU8, 1, {{kFour}}},
    {kAyuv, "ayuv", kYuvModel, ElementType::kU8, 1, {{kFour}}},
    {kAyuv64, "ayuv64", kYuvModel, ElementType::kU16, 1, {{kFour}}},
    {kY410, "y410", kYuvModel, ElementType::kU32, 1, {{kOne}}},
    {kY412, "y412", kYuvModel, ElementType::kU16, 1, {{kFour}}},
    {kV216, "v216", kYuvModel, ElementType::kU16, 1, {{kPair}}},
    {kUyyvyy, "uyyvyy", kYuvModel, ElementType::kU8, 1, {{{6, 2, 0}}}},
    {kRgb48, "rgb48", kRgbModel, ElementType::kU16, 1, {{{3, 0, 0}}}},
    {kBgr48, "bgr48", kRgbModel, ElementType::kU16, 1, {{{3, 0, 0}}}},
    {kGray9, "gray9", ColourModel::kGray, ElementType::kU16, 1, {{kOne}}},
    {kGray10, "gray10", ColourModel::kGray, ElementType::kU16, 1, {{kOne}}},
    {kGray12, "gray12", ColourModel::kGray, ElementType::kU16, 1, {{kOne}}},
    {kGray14, "gray14", ColourModel::kGray, ElementType::kU16, 1, {{kOne}}},
    {kGrayF32, "grayf32", ColourModel::kGray, ElementType::kF32, 1, {{kOne}}},
    {kGrayA8, "graya8", ColourModel::kGray, ElementType::kU8, 1, {{{2, 0, 0}}}},
    {kGrayA16, "graya16", ColourModel::kGray, ElementType::kU16, 1, {{{2, 0, 0}}}},
    {kGbr9, "gbrp9", kRgbModel, ElementType::kU16, 3, {{kOne, kOne, kOne}}},
    {kGbr14, "gbrp14", kRgbModel, ElementType::kU16, 3, {{kOne, kOne, kOne}}},
    {kGbr16, "gbrp16", kRgbModel, ElementType::kU16, 3, {{kOne, kOne, kOne}}},
    {kGbra16, "gbrap16", kRgbModel, ElementType::kU16, 4, {{kOne, kOne, kOne, kOne}}},
    {kGbrF32, "gbrpf32", kRgbModel, ElementType::kF32, 3, {{kOne, kOne, kOne}}},
    {kGbraF32, "gbrapf32", kRgbModel, ElementType::kF32, 4, {{kOne, kOne, kOne, kOne}}},
    {kI440, "i440", kYuvModel, ElementType::kU8, 3, {{kOne, {1, 0, 1}, {1, 0, 1}}}},
    {kI440p10, "i440p10", kYuvModel, ElementType::kU16, 3, {{kOne, {1, 0, 1}, {1, 0, 1}}}},
    {kI440p12, "i440p12", kYuvModel, ElementType::kU16, 3, {{kOne, {1, 0, 1}, {1, 0, 1}}}},
    {kI420p9, "i420p9", kYuvModel, ElementType::kU16, 3, {{kOne, {1, 1, 1}, {1, 1, 1}}}},
    {kI422p9, "i422p9", kYuvModel, ElementType::kU16, 3, {{kOne, {1, 1, 0}, {1, 1, 0}}}},
    {kI444p9, "i444p9", kYuvModel, ElementType::kU16, 3, {{kOne, kOne, kOne}}},
    {kI420p14, "i420p14", kYuvModel, ElementType::kU16, 3, {{kOne, {1, 1, 1}, {1, 1, 1}}}},
    {kI422p14, "i422p14", kYuvModel, ElementType::kU16, 3, {{kOne, {1, 1, 0}, {1, 1, 0}}}},
    {kI444p14, "i444p14", kYuvModel, ElementType::kU16, 3, {{kOne, kOne, kOne}}},
    {kI420p16, "i420p16", kYuvModel, ElementType::kU16, 3, {{kOne, {1, 1, 1}, {1, 1, 1}}}},
    {kI422p16, "i422p16", kYuvModel, ElementType::kU16, 3, {{kOne, {1, 1, 0}, {1, 1, 0}}}},
    {kI422a, "i422a", kYuvModel, ElementType::kU8, 4, {{kOne, {1, 1, 0}, {1, 1, 0}, kOne}}},
    {kI444a, "i444a", kYuvModel, ElementType::kU8, 4, {{kOne, kOne, kOne, kOne}}},
    {kI420ap9, "i420ap9", kYuvModel, ElementType::kU16, 4, {{kOne, {1, 1, 1}, {1, 1, 1}, kOne}}},
    {kI422ap9, "i422ap9", kYuvModel, ElementType::kU16, 4, {{kOne, {1, 1, 0}, {1, 1, 0}, kOne}}},
    {kI444ap9, "i444ap9", kYuvModel, ElementType::kU16, 4, {{kOne, kOne, kOne, kOne}}},
    {kI422ap12, "i422ap12", kYuvModel, ElementType::kU16, 4, {{kOne, {1, 1, 0}, {1, 1, 0}, kOne}}},
    {kI444ap12, "i444ap12", kYuvModel, ElementType::kU16, 4, {{kOne, kOne, kOne, kOne}}},
    {kI420ap16, "i420ap16", kYuvModel, ElementType::kU16, 4, {{kOne, {1, 1, 1}, {1, 1, 1}, kOne}}},
    {kI422ap16, "i422ap16", kYuvModel, ElementType::kU16, 4, {{kOne, {1, 1, 0}, {1, 1, 0}, kOne}}},
    {kI444ap16, "i444ap16", kYuvModel, ElementType::kU16, 4, {{kOne, kOne, kOne, kOne}}},
    {kNv20, "nv20", kYuvModel, ElementType::kU16, 2, {{kOne, {2, 1, 0}}}},
    {kNv42, "nv42", kYuvModel, ElementType::kU8, 2, {{kOne, {2, 0, 0}}}},
    {kP210, "p210", kYuvModel, ElementType::kU16, 2, {{kOne, {2, 1, 0}}}},
    {kP216, "p216", kYuvModel, ElementType::kU16, 2, {{kOne, {2, 1, 0}}}},
    {kP410, "p410", kYuvModel, ElementType::kU16, 2, {{kOne, {2, 0, 0}}}},
    {kP416, "p416", kYuvModel, ElementType::kU16, 2, {{kOne, {2, 0, 0}}}},
    {kRgb10x2, "rgb10x2", kRgbModel, ElementType::kU32, 1, {{kOne}}},
    {kBgr10x2, "bgr10x2", kRgbModel, ElementType::kU32, 1, {{kOne}}},
    {kXrgb444, "xrgb444", kRgbModel, ElementType::kU16, 1, {{kOne}}},
    {kXbgr444, "xbgr444", kRgbModel, ElementType::kU16, 1, {{kOne}}},
    {kRgb332, "rgb332", kRgbModel, ElementType::kU8, 1, {{kOne}}},
    {kBgr233, "bgr233", kRgbModel, ElementType::kU8, 1, {{kOne}}},
    {kRgb121, "rgb121", kRgbModel, ElementType::kU8, 1, {{kOne}}},
    {kBgr121, "bgr121", kRgbModel, ElementType::kU8, 1, {{kOne}}},
};

inline constexpr std::size_t kBigCount = static_cast<std::size_t>(
    std::ranges::count_if(kLittle, [](const PixelFormatInfo& one) { return one.sample != ElementType::kU8; }));

/// The names of big-endian formats, which no literal holds.
struct BigNames {
  std::array<std::array<char, 12>, kBigCount> text{};
  std::array<std::size_t, kBigCount> size{};
};
constexpr BigNames big_names() {
  BigNames made;
  std::size_t next = 0;
  for (const PixelFormatInfo& one : kLittle) {
    if (one.sample == ElementType::kU8) continue;
    const auto end =
        std::ranges::copy(std::string_view("be"), std::ranges::copy(one.name, made.text[next].begin()).out).out;
    made.size[next] = static_cast<std::size_t>(end - made.text[next].begin());
    ++next;
  }
  return made;
}
inline constexpr BigNames kBigNames = big_names();

/// Each format, and after them those whose samples have several bytes once more, in big-endian order.
constexpr auto every_format() {
  std::array<PixelFormatInfo, std::size(kLittle) + kBigCount> made{};
  auto next = std::ranges::copy(kLittle, made.begin()).out;
  std::size_t big = 0;
  for (const PixelFormatInfo& one : kLittle) {
    if (one.sample == ElementType::kU8) continue;
    *next = one;
    next->format = big_endian(one.format);
    next->name = {kBigNames.text[big].data(), kBigNames.size[big]};
    ++next, ++big;
  }
  return made;
}
inline constexpr auto kFormats = every_format();

}  // namespace detail

TENON_INLINE const PixelFormatInfo* all_formats(std::size_t& count) {
  count = std::size(detail::kFormats);
  return detail::kFormats.data();
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

TENON_INLINE std::string to_string(Rotation rotation) {
  std::string text = is_mirrored(rotation) ? "mirrored" : "";
  if (const unsigned turn = degrees(rotation); turn != 0)
    text += (text.empty() ? "turned by " : " and turned by ") + std::to_string(turn) + " degrees";
  return text;
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
