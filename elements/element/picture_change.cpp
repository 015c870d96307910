// SPDX-License-Identifier: Apache-2.0
// Reads crops, sizes and formats from parameters.
#include <tenon/elements/picture_change.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include <tenon/core/carried_formats.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/frame_layout.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/core/orientation.hpp>
#include <tenon/elements/internal/text.hpp>
#include <tenon/elements/moved_places.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace {

std::vector<std::string> format_names() {
  std::size_t count = 0;
  const PixelFormatInfo* all = all_formats(count);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.emplace_back(all[i].name);
  return names;
}

std::optional<PixelFormat> format_of(const Parameters& given) {
  const std::string& name = given.text("format");
  if (name.empty()) return std::nullopt;
  if (const auto format = format_from_name(name)) return format;
  const std::string nearest = nearest_name(name, format_names());
  throw Error(Code::kInvalidArgument, given.owner() + ": there is no format " + in_quotes(name) + "; " +
                                          (nearest.empty() ? "there are: " + joined(format_names())
                                                           : "did you mean " + in_quotes(nearest) + "?"));
}

/// The size of one pixel of the format's coarsest plane, in pixels of the picture.
std::pair<std::uint32_t, std::uint32_t> grain_of(PixelFormat format) {
  const PixelFormatInfo& info = format_info(format);
  std::uint32_t wide = format == kYuy2 || format == kUyvy ? 2 : 1, high = 1;
  for (std::size_t p = 0; p < info.plane_count; ++p) {
    wide = std::max(wide, 1u << info.planes[p].width_shift);
    high = std::max(high, 1u << info.planes[p].height_shift);
  }
  return {wide, high};
}

std::uint32_t pixels(const Parameters& given, const char* name) {
  return static_cast<std::uint32_t>(given.integer(name));
}

std::uint32_t rounded(double extent, std::uint32_t grain) {
  return std::max(grain, static_cast<std::uint32_t>(std::lround(extent / grain)) * grain);
}

}  // namespace

std::vector<PixelFormat> convertible_formats() {
  std::vector<PixelFormat> all = readable_formats();
  for (const PixelFormat format : {kRgb565, kBgr565, kXrgb555, kXbgr555, kXrgb444, kXbgr444, kRgb10a2, kBgr10a2,
                                   kRgb10x2, kBgr10x2, kRgb332, kBgr233})
    all.push_back(format);
  return all;
}

const std::vector<Parameter>& VideoConvertParams::parameters() {
  static const auto& all = *new std::vector<Parameter>{
      {"width", "Width of the result in pixels; 0: unchanged, or in proportion to height if only that is given",
       std::int64_t{0}, false, 0, 16384},
      {"height", "Height of the result in pixels; 0: unchanged, or in proportion to width if only that is given",
       std::int64_t{0}, false, 0, 16384},
      {"format", "Pixel format of the result (rgb, nv12, i420, gray8...); empty: unchanged", std::string()},
      {"crop_x", "Left edge of the crop, in pixels of the input picture", std::int64_t{0}, false, 0, 65535},
      {"crop_y", "Upper edge of the crop, in pixels of the input picture", std::int64_t{0}, false, 0, 65535},
      {"crop_width", "Width of the crop in pixels; 0: up to the right edge of the picture", std::int64_t{0}, false, 0,
       65535},
      {"crop_height", "Height of the crop in pixels; 0: down to the lower edge of the picture", std::int64_t{0}, false,
       0, 65535}};
  return all;
}

const std::vector<Parameter>& VideoConvertParams::cpu_parameters() {
  static const auto& all = *[] {
    auto* const list = new std::vector<Parameter>(parameters());
    list->push_back(
        choice("quality",
               "How the CPU converts; fast: YUV of 8 bits becomes RGB within 2 levels of the rounded value, "
               "each pixel with the chroma of its block, and filters are bilinear; exact: values are "
               "rounded, chroma is interpolated, filters are bicubic",
               "fast", {"fast", "exact"}));
    list->push_back({"threads", "Threads of the CPU that share a picture; 0: one for each processor", std::int64_t{1},
                     false, 0, 256});
    list->push_back({"limit",
                     "Results in host memory that may be in use at a time; the next one waits until one comes back",
                     std::int64_t{64}, false, 1, 1 << 20});
    return list;
  }();
  return all;
}

VideoConvertParams::VideoConvertParams(const Parameters& given)
    : x_(pixels(given, "crop_x")),
      y_(pixels(given, "crop_y")),
      crop_width_(pixels(given, "crop_width")),
      crop_height_(pixels(given, "crop_height")),
      width_(pixels(given, "width")),
      height_(pixels(given, "height")),
      format_(format_of(given)) {}

VideoConvertParams VideoConvertParams::sideways() const {
  VideoConvertParams other = *this;
  std::swap(other.width_, other.height_);
  return other;
}

VideoConvertParams::Part VideoConvertParams::part_of(const FrameInfo& in) const {
  const auto fits = [](std::uint32_t at, std::uint32_t size, std::uint32_t whole) {
    return at < whole && size <= whole - at;
  };
  if (!fits(x_, crop_width_, in.width_px) || !fits(y_, crop_height_, in.height_px))
    throw Error(Code::kOutOfRange, "a crop of " + std::to_string(crop_width_) + "x" + std::to_string(crop_height_) +
                                       " at " + std::to_string(x_) + "," + std::to_string(y_) +
                                       " does not lie in a picture of " + std::to_string(in.width_px) + "x" +
                                       std::to_string(in.height_px));
  return {x_, y_, crop_width_ ? crop_width_ : in.width_px - x_, crop_height_ ? crop_height_ : in.height_px - y_};
}

FrameInfo VideoConvertParams::result_of(const FrameInfo& in) const {
  const Part part = part_of(in);
  const auto keeps = [](std::uint32_t wanted, std::uint32_t extent, std::uint32_t whole) {
    return (wanted == 0 || wanted == whole) && extent == whole;
  };
  // Nothing changes: the same picture, whose matrix and range may be unknown, and whose extents odd.
  if ((!format_ || *format_ == in.format) && keeps(width_, part.width, in.width_px) &&
      keeps(height_, part.height, in.height_px))
    return in;
  FrameInfo out = in;
  if (format_) out.format = *format_;
  const bool was_rgb = format_info(in.format).model == ColourModel::kRgb;
  const bool is_rgb = format_info(out.format).model == ColourModel::kRgb;
  if (was_rgb != is_rgb) {
    // RGB has no colour matrix, and YUV that is made from RGB has limited range. The matrix of YUV follows from its size before
    // scaling.
    out.colour_space = is_rgb ? ColourSpace::kUnknown : resolved_colour_space(in);
    out.colour_range = ColourRange::kUnknown;
  } else if (!is_rgb && (format_info(in.format).model == ColourModel::kYuv || !(out.format == in.format))) {
    out.colour_space = resolved_colour_space(in);
    out.colour_range = resolved_colour_range(in);
  }
  const auto [wide, high] = grain_of(out.format);
  double width = width_ ? width_ : part.width, height = height_ ? height_ : part.height;
  if (width_ && !height_) height = width * part.height / part.width;
  if (height_ && !width_) width = height * part.width / part.height;
  out.width_px = rounded(width, wide);
  out.height_px = rounded(height, high);
  return out;
}

StreamInfo VideoConvertParams::stream_of(const StreamInfo& in) const {
  StreamInfo out = in;
  if (in.frame.format.fourcc == 0 || in.frame.width_px == 0) return out;
  out.frame = result_of(in.frame);
  if (width_ == 0 || height_ == 0) return out;
  const Part part = part_of(in.frame);
  std::uint64_t num = std::uint64_t{part.width} * out.frame.height_px,
                den = std::uint64_t{part.height} * out.frame.width_px;
  const auto reduce = [](std::uint64_t& a, std::uint64_t& b) {
    const std::uint64_t common = std::gcd(a, b);
    if (common != 0) a /= common, b /= common;
  };
  std::uint64_t in_num = in.aspect_num, in_den = in.aspect_den;
  reduce(num, den), reduce(num, in_den), reduce(in_num, den);
  constexpr double kMost = std::numeric_limits<std::int32_t>::max();
  const double whole_num = static_cast<double>(num) * static_cast<double>(in_num),
               whole_den = static_cast<double>(den) * static_cast<double>(in_den);
  const double scale = std::max({whole_num / kMost, whole_den / kMost, 1.0});
  out.aspect_num = static_cast<std::uint32_t>(std::max(1.0, whole_num / scale));
  out.aspect_den = static_cast<std::uint32_t>(std::max(1.0, whole_den / scale));
  return out;
}

void VideoConvertParams::carry(const Frame& source, const Part& used, Frame& result) {
  result.set_timestamp_ns(source.timestamp_ns());
  if (source.metadata().empty()) return;
  result.metadata() = source.metadata();
  const auto found = metadata::find(source);
  if (!found) return;
  const FrameInfo& from = source.info();
  const bool is_all = used.width == from.width_px && used.height == from.height_px;
  // Boxes refer to the upright picture.
  const auto at = [](std::uint32_t value) { return static_cast<float>(value); };
  const Area<float> seen = upright_area<float>({at(used.x), at(used.y), at(used.width), at(used.height)}, from.rotation,
                                               at(from.width_px), at(from.height_px));
  std::shared_ptr<metadata::Collection> scaled = found->copy();
  if (!is_all) {
    keep_placement(*scaled, from);
    scaled = scaled->cropped({seen.x, seen.y, seen.x + seen.width, seen.y + seen.height});
  }
  float x = static_cast<float>(result.info().width_px) / static_cast<float>(used.width);
  float y = static_cast<float>(result.info().height_px) / static_cast<float>(used.height);
  if (is_quarter_turn(from.rotation)) std::swap(x, y);
  move_places(*scaled, [x, y](float& at_x, float& at_y) { at_x *= x, at_y *= y; });
  metadata::set(result, scaled);
}

}  // namespace elements
}  // namespace v1
}  // namespace tenon
