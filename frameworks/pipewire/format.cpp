// SPDX-License-Identifier: Apache-2.0
// PipeWire's raw video formats, and where planes lie in a buffer.
#include <tenon/frameworks/pipewire/format.hpp>

#include <cmath>
#include <cstring>
#include <iterator>

#include <spa/buffer/meta.h>
#include <spa/param/buffers.h>
#include <spa/param/format.h>
#include <spa/param/param.h>
#include <spa/param/video/format-utils.h>
#include <spa/pod/builder.h>
#include <spa/pod/iter.h>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {
namespace pipewire {
namespace detail {

struct FormatMapping {
  std::uint32_t spa;
  PixelFormat format;
};

/// Names of SPA's formats follow memory order.
inline constexpr FormatMapping kMappings[] = {
    {SPA_VIDEO_FORMAT_NV12, kNv12},     {SPA_VIDEO_FORMAT_I420, kI420},      {SPA_VIDEO_FORMAT_YUY2, kYuy2},
    {SPA_VIDEO_FORMAT_BGRx, kBgrx},     {SPA_VIDEO_FORMAT_BGRA, kBgra},      {SPA_VIDEO_FORMAT_RGBx, kRgbx},
    {SPA_VIDEO_FORMAT_RGBA, kRgba},     {SPA_VIDEO_FORMAT_RGB, kRgb24},      {SPA_VIDEO_FORMAT_BGR, kBgr24},
    {SPA_VIDEO_FORMAT_GRAY8, kGray8},   {SPA_VIDEO_FORMAT_NV21, kNv21},      {SPA_VIDEO_FORMAT_YV12, kYv12},
    {SPA_VIDEO_FORMAT_UYVY, kUyvy},     {SPA_VIDEO_FORMAT_NV16, kNv16},      {SPA_VIDEO_FORMAT_Y42B, kI422},
    {SPA_VIDEO_FORMAT_Y444, kI444},     {SPA_VIDEO_FORMAT_P010_10LE, kP010}, {SPA_VIDEO_FORMAT_GRAY16_LE, kGray16},
    {SPA_VIDEO_FORMAT_GBR, kGbrPlanar},
};

inline constexpr Rotation kRotations[] = {Rotation::kNone,        Rotation::k90,        Rotation::k180,
                                          Rotation::k270,         Rotation::kMirrored,  Rotation::kMirrored270,
                                          Rotation::kMirrored180, Rotation::kMirrored90};

/// Builds one pod in memory that is large enough for each that this folder makes.
class PodBuilder {
 public:
  PodBuilder(std::uint32_t type, std::uint32_t id) : bytes_(512) {
    spa_pod_builder_init(&builder_, bytes_.data(), static_cast<std::uint32_t>(bytes_.size() * sizeof(bytes_[0])));
    spa_pod_builder_push_object(&builder_, &object_, type, id);
  }
  PodBuilder(const PodBuilder&) = delete;
  PodBuilder& operator=(const PodBuilder&) = delete;

  PodBuilder& id(std::uint32_t key, std::uint32_t value) {
    spa_pod_builder_prop(&builder_, key, 0);
    spa_pod_builder_id(&builder_, value);
    return *this;
  }
  PodBuilder& number(std::uint32_t key, std::size_t value) {
    spa_pod_builder_prop(&builder_, key, 0);
    spa_pod_builder_int(&builder_, static_cast<std::int32_t>(value));
    return *this;
  }
  PodBuilder& rectangle(std::uint32_t key, std::uint32_t width, std::uint32_t height) {
    spa_pod_builder_prop(&builder_, key, 0);
    spa_pod_builder_rectangle(&builder_, width, height);
    return *this;
  }
  /// @param add  Writes one value of the choice. @param values  The default first.
  template <typename Values, typename Add>
  PodBuilder& choice(std::uint32_t key, std::uint32_t flags, std::uint32_t kind, const Values& values, Add add) {
    spa_pod_frame frame;
    spa_pod_builder_prop(&builder_, key, flags);
    spa_pod_builder_push_choice(&builder_, &frame, kind, 0);
    for (const auto& value : values) add(&builder_, value);
    spa_pod_builder_pop(&builder_, &frame);
    return *this;
  }
  PodBuilder& range(std::uint32_t key, std::size_t usual, std::size_t least, std::size_t most) {
    const std::size_t values[] = {usual, least, most};
    return choice(key, 0, SPA_CHOICE_Range, values, [](spa_pod_builder* builder, std::size_t value) {
      spa_pod_builder_int(builder, static_cast<std::int32_t>(value));
    });
  }
  PodBuilder& flags(std::uint32_t key, std::uint32_t bits) {
    const std::uint32_t values[] = {bits};
    return choice(key, 0, SPA_CHOICE_Flags, values, [](spa_pod_builder* builder, std::uint32_t value) {
      spa_pod_builder_int(builder, static_cast<std::int32_t>(value));
    });
  }
  PodBuilder& rates(std::uint32_t key, double usual, bool is_fixed) {
    const std::uint32_t num = usual > 0 ? static_cast<std::uint32_t>(std::lround(usual * 1000)) : 0;
    spa_fraction value{num % 1000 == 0 ? num / 1000 : num, num % 1000 == 0 ? 1u : 1000u};
    if (is_fixed && num != 0) {
      spa_pod_builder_prop(&builder_, key, 0);
      spa_pod_builder_fraction(&builder_, value.num, value.denom);
      return *this;
    }
    if (num == 0) value = {25, 1};
    const spa_fraction values[] = {value, {0, 1}, {1000, 1}};
    return choice(key, 0, SPA_CHOICE_Range, values, [](spa_pod_builder* builder, const spa_fraction& rate) {
      spa_pod_builder_fraction(builder, rate.num, rate.denom);
    });
  }
  /// @errors kInternal: it became too large.
  Pod done() {
    Pod pod;
    const void* made = spa_pod_builder_pop(&builder_, &object_);
    if (!made || builder_.state.offset > builder_.size)
      throw Error(Code::kInternal, "pipewire: a parameter has more than " + std::to_string(builder_.size) + " bytes");
    pod.bytes_ = std::move(bytes_);
    return pod;
  }

 private:
  std::vector<std::uint64_t> bytes_;
  spa_pod_builder builder_{};
  spa_pod_frame object_{};
};

TENON_INLINE PodBuilder& begin_video(PodBuilder& builder) {
  return builder.id(SPA_FORMAT_mediaType, SPA_MEDIA_TYPE_video).id(SPA_FORMAT_mediaSubtype, SPA_MEDIA_SUBTYPE_raw);
}

inline constexpr auto kAddLong = [](spa_pod_builder* builder, std::uint64_t value) {
  spa_pod_builder_long(builder, static_cast<std::int64_t>(value));
};

TENON_INLINE std::vector<Pod> format_choices(const WantedFormat& wanted, std::span<const std::uint64_t> modifiers) {
  std::vector<std::uint32_t> formats;  // The default, then each.
  for (const PixelFormat format : wanted.formats)
    if (const auto known = to_spa(format)) formats.push_back(*known);
  if (wanted.formats.empty())
    for (const FormatMapping& mapping : kMappings) formats.push_back(mapping.spa);
  if (formats.empty())
    throw Error(Code::kUnimplemented, "pipewire: PipeWire has no format like " + to_string(wanted.formats.front()));
  formats.insert(formats.begin(), formats.front());
  std::vector<Pod> made;
  for (const bool with_modifiers : {true, false}) {
    if (with_modifiers && modifiers.empty()) continue;
    PodBuilder builder(SPA_TYPE_OBJECT_Format, SPA_PARAM_EnumFormat);
    begin_video(builder).choice(SPA_FORMAT_VIDEO_format, 0, SPA_CHOICE_Enum, formats,
                                [](spa_pod_builder* to, std::uint32_t value) { spa_pod_builder_id(to, value); });
    if (with_modifiers) {
      std::vector<std::uint64_t> values(modifiers.begin(), modifiers.end());
      values.insert(values.begin(), values.front());
      builder.choice(SPA_FORMAT_VIDEO_modifier, SPA_POD_PROP_FLAG_MANDATORY, SPA_CHOICE_Enum, values, kAddLong);
    }
    if (wanted.width_px && wanted.height_px) {
      builder.rectangle(SPA_FORMAT_VIDEO_size, wanted.width_px, wanted.height_px);
    } else {
      const spa_rectangle sizes[] = {{1280, 720}, {1, 1}, {65535, 65535}};
      builder.choice(SPA_FORMAT_VIDEO_size, 0, SPA_CHOICE_Range, sizes,
                     [](spa_pod_builder* to, const spa_rectangle& size) {
                       spa_pod_builder_rectangle(to, size.width, size.height);
                     });
    }
    builder.rates(SPA_FORMAT_VIDEO_framerate, wanted.fps, wanted.fps > 0);
    made.push_back(builder.done());
  }
  return made;
}

TENON_INLINE std::vector<Pod> one_format(const FrameInfo& info, double fps, bool has_modifier) {
  const auto format = to_spa(info.format);
  if (!format)
    throw Error(Code::kUnimplemented,
                "pipewire: PipeWire has no raw video format like " + to_string(info.format) +
                    "; convert the frames (nv12, i420, yuy2, bgra, rgb24 and gray8 are usual ones)");
  PodBuilder builder(SPA_TYPE_OBJECT_Format, SPA_PARAM_EnumFormat);
  begin_video(builder).id(SPA_FORMAT_VIDEO_format, *format);
  if (has_modifier) {
    const std::uint64_t values[] = {info.format.modifier, info.format.modifier};
    builder.choice(SPA_FORMAT_VIDEO_modifier, SPA_POD_PROP_FLAG_MANDATORY, SPA_CHOICE_Enum, values, kAddLong);
  }
  builder.rectangle(SPA_FORMAT_VIDEO_size, info.width_px, info.height_px).rates(SPA_FORMAT_VIDEO_framerate, fps, false);
  if (info.colour_range != ColourRange::kUnknown)
    builder.id(SPA_FORMAT_VIDEO_colorRange,
               info.colour_range == ColourRange::kFull ? SPA_VIDEO_COLOR_RANGE_0_255 : SPA_VIDEO_COLOR_RANGE_16_235);
  std::uint32_t matrix = SPA_VIDEO_COLOR_MATRIX_UNKNOWN;
  if (info.colour_space == ColourSpace::kBt601) matrix = SPA_VIDEO_COLOR_MATRIX_BT601;
  if (info.colour_space == ColourSpace::kBt709) matrix = SPA_VIDEO_COLOR_MATRIX_BT709;
  if (info.colour_space == ColourSpace::kBt2020) matrix = SPA_VIDEO_COLOR_MATRIX_BT2020;
  if (info.colour_space == ColourSpace::kSmpte240m) matrix = SPA_VIDEO_COLOR_MATRIX_SMPTE240M;
  if (matrix != SPA_VIDEO_COLOR_MATRIX_UNKNOWN) builder.id(SPA_FORMAT_VIDEO_colorMatrix, matrix);
  std::vector<Pod> made;
  made.push_back(builder.done());
  return made;
}

TENON_INLINE Format parse_format(const spa_pod* pod) {
  std::uint32_t type = 0, subtype = 0;
  spa_video_info_raw raw{};
  const int parsed = spa_format_parse(pod, &type, &subtype);
  if (parsed < 0 || type != SPA_MEDIA_TYPE_video || subtype != SPA_MEDIA_SUBTYPE_raw)
    throw Error(Code::kUnimplemented,
                "pipewire: the peer's format is no raw video (media type " + std::to_string(type) + ", subtype " +
                    std::to_string(subtype) + "); let it decode, or read it with GStreamer",
                "spa_format_parse", parsed);
  if (const int error = spa_format_video_raw_parse(pod, &raw); error < 0)
    throw Error(Code::kInvalidArgument, "pipewire: the peer's format cannot be read", "spa_format_video_raw_parse",
                error);
  const auto format = from_spa(static_cast<std::uint32_t>(raw.format));
  if (!format)
    throw Error(Code::kUnimplemented, "pipewire: no Tenon format has the planes of SPA's video format " +
                                          std::to_string(static_cast<std::uint32_t>(raw.format)));
  if (raw.size.width == 0 || raw.size.height == 0 || raw.size.width > 65535 || raw.size.height > 65535)
    throw Error(Code::kInvalidArgument, "pipewire: the peer's pictures have " + std::to_string(raw.size.width) + "x" +
                                            std::to_string(raw.size.height) + " pixels; 1..65535 are possible");
  Format found;
  found.info.format = *format;
  found.has_modifier = spa_pod_find_prop(pod, nullptr, SPA_FORMAT_VIDEO_modifier) != nullptr;
  if (found.has_modifier) found.info.format.modifier = static_cast<std::uint64_t>(raw.modifier);
  found.info.width_px = raw.size.width;
  found.info.height_px = raw.size.height;
  if (raw.framerate.denom != 0) found.fps = static_cast<double>(raw.framerate.num) / raw.framerate.denom;
  if (raw.color_range == SPA_VIDEO_COLOR_RANGE_0_255) found.info.colour_range = ColourRange::kFull;
  if (raw.color_range == SPA_VIDEO_COLOR_RANGE_16_235) found.info.colour_range = ColourRange::kLimited;
  if (format_info(*format).model == ColourModel::kYuv) {
    if (raw.color_matrix == SPA_VIDEO_COLOR_MATRIX_BT601) found.info.colour_space = ColourSpace::kBt601;
    if (raw.color_matrix == SPA_VIDEO_COLOR_MATRIX_BT709) found.info.colour_space = ColourSpace::kBt709;
    if (raw.color_matrix == SPA_VIDEO_COLOR_MATRIX_BT2020) found.info.colour_space = ColourSpace::kBt2020;
    if (raw.color_matrix == SPA_VIDEO_COLOR_MATRIX_SMPTE240M) found.info.colour_space = ColourSpace::kSmpte240m;
  }
  return found;
}

TENON_INLINE std::vector<Pod> buffer_params(std::span<const BufferWish> wishes) {
  std::vector<Pod> made;
  for (const BufferWish& wish : wishes) {
    PodBuilder buffers(SPA_TYPE_OBJECT_ParamBuffers, SPA_PARAM_Buffers);
    buffers.range(SPA_PARAM_BUFFERS_buffers, wish.count, wish.least, wish.most);
    if (wish.least_blocks == wish.most_blocks)
      buffers.number(SPA_PARAM_BUFFERS_blocks, wish.least_blocks);
    else
      buffers.range(SPA_PARAM_BUFFERS_blocks, wish.least_blocks, wish.least_blocks, wish.most_blocks);
    made.push_back(buffers.range(SPA_PARAM_BUFFERS_size, wish.size_bytes, wish.size_bytes, INT32_MAX)
                       .range(SPA_PARAM_BUFFERS_stride, wish.pitch_bytes, 0, INT32_MAX)
                       .flags(SPA_PARAM_BUFFERS_dataType, wish.types)
                       .done());
  }
  const std::pair<std::uint32_t, std::size_t> metas[] = {{SPA_META_Header, sizeof(spa_meta_header)},
                                                         {SPA_META_VideoCrop, sizeof(spa_meta_region)},
                                                         {SPA_META_VideoTransform, sizeof(spa_meta_videotransform)}};
  for (const auto& [type, size] : metas)
    made.push_back(PodBuilder(SPA_TYPE_OBJECT_ParamMeta, SPA_PARAM_Meta)
                       .id(SPA_PARAM_META_type, type)
                       .number(SPA_PARAM_META_size, size)
                       .done());
  return made;
}

}  // namespace detail

TENON_INLINE std::optional<std::uint32_t> to_spa(PixelFormat format) {
  for (const detail::FormatMapping& mapping : detail::kMappings)
    if (mapping.format.fourcc == format.fourcc) return mapping.spa;
  return std::nullopt;
}

TENON_INLINE std::optional<PixelFormat> from_spa(std::uint32_t format) {
  for (const detail::FormatMapping& mapping : detail::kMappings)
    if (mapping.spa == format) return mapping.format;
  return std::nullopt;
}

TENON_INLINE Rotation rotation_of(std::uint32_t transform) {
  return transform < std::size(detail::kRotations) ? detail::kRotations[transform] : Rotation::kNone;
}

TENON_INLINE std::uint32_t transform_of(Rotation rotation) {
  for (std::uint32_t t = 0; t < std::size(detail::kRotations); ++t)
    if (detail::kRotations[t] == rotation) return t;
  return SPA_META_TRANSFORMATION_None;
}

TENON_INLINE Layout one_block(const FrameInfo& info, std::size_t pitch_bytes) {
  const auto up = [](std::size_t value, std::size_t multiple) { return (value + multiple - 1) / multiple * multiple; };
  const PixelFormatInfo& format = format_info(info.format);
  const std::size_t least = up(plane_extent(info, format, 0).row_bytes, 4);
  // A producer may leave the padding of the last row out, so the pitch may be that of bare rows.
  const std::size_t first = pitch_bytes ? pitch_bytes : least;
  if (first < plane_extent(info, format, 0).row_bytes)
    throw Error(Code::kInvalidArgument, "pipewire: a pitch of " + std::to_string(first) + " bytes, and a row has " +
                                            std::to_string(plane_extent(info, format, 0).row_bytes));
  bool is_subsampled = false;
  for (std::size_t p = 0; p < format.plane_count; ++p) is_subsampled |= format.planes[p].height_shift != 0;
  Layout layout;
  layout.planes = format.plane_count;
  for (std::size_t p = 0; p < layout.planes; ++p) {
    const PlaneExtent extent = plane_extent(info, format, p);
    layout.offset[p] = layout.size_bytes;
    layout.pitch_bytes[p] = p == 0           ? first
                            : first == least ? up(extent.row_bytes, 4)
                                             : first * format.planes[p].channels >> format.planes[p].width_shift;
    if (layout.pitch_bytes[p] < extent.row_bytes)
      throw Error(Code::kInvalidArgument, "pipewire: a pitch of " + std::to_string(first) +
                                              " bytes makes rows of plane " + std::to_string(p) + " overlap");
    const std::size_t rows = p == 0 && is_subsampled ? up(info.height_px, 2) : extent.height_px;
    layout.size_bytes += layout.pitch_bytes[p] * rows;
  }
  return layout;
}

}  // namespace pipewire
}  // namespace v1
}  // namespace tenon
