// SPDX-License-Identifier: Apache-2.0
// Caps to descriptions of pictures and sound, and back.
#include <tenon/frameworks/gstreamer/caps.hpp>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {
namespace gstreamer {

TENON_INLINE const FormatMapping* find_mapping(GstVideoFormat format) {
  for (const FormatMapping& mapping : detail::kMappings) {
    if (mapping.gst == format) return &mapping;
  }
  return nullptr;
}

TENON_INLINE const FormatMapping* find_mapping(PixelFormat format) {
  for (const FormatMapping& mapping : detail::kMappings) {
    if (mapping.format.fourcc == format.fourcc) return &mapping;
  }
  return nullptr;
}

namespace detail {

TENON_INLINE std::string mapped_names() {
  std::string names;
  for (const FormatMapping& mapping : kMappings) names += std::string(" ") + gst_video_format_to_string(mapping.gst);
  return names;
}

TENON_INLINE ColourSpace colour_space(GstVideoColorMatrix matrix) {
  switch (matrix) {
    case GST_VIDEO_COLOR_MATRIX_BT709:
      return ColourSpace::kBt709;
    case GST_VIDEO_COLOR_MATRIX_BT601:
      return ColourSpace::kBt601;
    case GST_VIDEO_COLOR_MATRIX_BT2020:
      return ColourSpace::kBt2020;
    case GST_VIDEO_COLOR_MATRIX_SMPTE240M:
      return ColourSpace::kSmpte240m;
    default:
      return ColourSpace::kUnknown;
  }
}

TENON_INLINE ColourRange colour_range(GstVideoColorRange range) {
  if (range == GST_VIDEO_COLOR_RANGE_16_235) return ColourRange::kLimited;
  return range == GST_VIDEO_COLOR_RANGE_0_255 ? ColourRange::kFull : ColourRange::kUnknown;
}

TENON_INLINE std::string colorimetry(const FrameInfo& info) {
  if (info.colour_space == ColourSpace::kUnknown && info.colour_range == ColourRange::kUnknown) return {};
  const bool rgb = format_info(info.format).model == ColourModel::kRgb;
  GstVideoColorimetry colours{GST_VIDEO_COLOR_RANGE_16_235, GST_VIDEO_COLOR_MATRIX_RGB, GST_VIDEO_TRANSFER_SRGB,
                              GST_VIDEO_COLOR_PRIMARIES_BT709};
  if (resolved_colour_range(info) == ColourRange::kFull) colours.range = GST_VIDEO_COLOR_RANGE_0_255;
  if (!rgb) {
    switch (resolved_colour_space(info)) {
      case ColourSpace::kBt2020:
        colours.matrix = GST_VIDEO_COLOR_MATRIX_BT2020;
        colours.transfer = GST_VIDEO_TRANSFER_BT2020_12;
        colours.primaries = GST_VIDEO_COLOR_PRIMARIES_BT2020;
        break;
      case ColourSpace::kSmpte240m:
        colours.matrix = GST_VIDEO_COLOR_MATRIX_SMPTE240M;
        colours.transfer = GST_VIDEO_TRANSFER_SMPTE240M;
        colours.primaries = GST_VIDEO_COLOR_PRIMARIES_SMPTE240M;
        break;
      case ColourSpace::kBt709:
        colours.matrix = GST_VIDEO_COLOR_MATRIX_BT709;
        colours.transfer = GST_VIDEO_TRANSFER_BT709;
        break;
      default:
        colours.matrix = GST_VIDEO_COLOR_MATRIX_BT601;
        colours.transfer = GST_VIDEO_TRANSFER_BT601;
        colours.primaries = GST_VIDEO_COLOR_PRIMARIES_SMPTE170M;
        break;
    }
  }
  return take_text(gst_video_colorimetry_to_string(&colours));
}

/// "NV12" or "NV12:0x0100000000000001". @errors kInvalidArgument
TENON_INLINE PixelFormat parse_drm_format(std::string_view text, const GstCaps* caps) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  PixelFormat format;
  bool good = !name.empty() && name.size() <= 4;
  if (good) {
    std::array<char, 4> letters{' ', ' ', ' ', ' '};
    for (std::size_t i = 0; i < name.size(); ++i) letters[i] = name[i];
    format.fourcc = fourcc(letters[0], letters[1], letters[2], letters[3]);
  }
  if (good && colon != std::string_view::npos) {
    std::string_view number = text.substr(colon + 1);
    if (number.starts_with("0x") || number.starts_with("0X")) number.remove_prefix(2);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), format.modifier, 16);
    good = error == std::errc() && end == number.data() + number.size();
  }
  if (!good)
    throw Error(Code::kInvalidArgument, describe(caps) + ": drm-format \"" + std::string(text) +
                                            "\" is no fourcc, or fourcc:0x and a modifier in hexadecimal digits");
  return format;
}

TENON_INLINE std::string drm_format_text(PixelFormat format) {
  std::string text;
  for (int shift = 0; shift < 32; shift += 8) text += static_cast<char>(format.fourcc >> shift & 0xff);
  if (format.modifier == kModifierLinear) return text;
  char number[24];
  std::snprintf(number, sizeof number, ":0x%016llx", static_cast<unsigned long long>(format.modifier));
  return text + number;
}

/// Whether elements of this GStreamer write linear dma-bufs of the format with a drm-format.
TENON_INLINE bool writes_drm_format(const FormatMapping& mapping) {
#if GST_CHECK_VERSION(1, 24, 0)
  return gst_video_dma_drm_fourcc_from_format(mapping.gst) == mapping.format.fourcc;
#else
  static_cast<void>(mapping);
  return false;
#endif
}

TENON_INLINE void copy_layout(const GstVideoInfo& from, VideoCaps& to) {
  to.size_bytes = from.size;
  for (std::size_t p = 0; p < 4; ++p) {
    to.offset[p] = from.offset[p];
    to.stride[p] = from.stride[p];
  }
}

/// The first structure of fixed caps named `name`. @errors kInvalidArgument
TENON_INLINE const GstStructure* fixed_structure(const GstCaps* caps, const char* name) {
  if (!caps) throw Error(Code::kInvalidArgument, "gstreamer: no caps; the stream has not been negotiated yet");
  if (!gst_caps_is_fixed(caps))
    throw Error(Code::kInvalidArgument,
                describe(caps) +
                    " are not fixed, so they describe no one stream; take those of a sample or of a "
                    "CAPS event");
  const GstStructure* structure = gst_caps_get_structure(caps, 0);
  if (!gst_structure_has_name(structure, name))
    throw Error(Code::kInvalidArgument, describe(caps) + " are not " + name + "; decode the stream first");
  return structure;
}

/// The video info of caps whose format is "DMA_DRM": that of the linear format with the same fourcc.
TENON_INLINE GstVideoInfo drm_video_info(const GstCaps* caps, const GstStructure* structure, PixelFormat& format) {
  const char* text = gst_structure_get_string(structure, "drm-format");
  if (!text)
    throw Error(Code::kInvalidArgument, describe(caps) + ": format DMA_DRM needs a drm-format, and there is none");
  format = parse_drm_format(text, caps);
  const FormatMapping* mapping = find_mapping(format);
  if (!mapping)
    throw Error(Code::kUnimplemented, describe(caps) +
                                          ": Tenon does not know the planes of this drm-format; those "
                                          "that it knows are the fourccs of" +
                                          mapped_names());
  const CapsPtr linear(gst_caps_copy(caps));
  gst_caps_set_simple(linear.get(), "format", G_TYPE_STRING, gst_video_format_to_string(mapping->gst), nullptr);
  GstStructure* plain = gst_caps_get_structure(linear.get(), 0);
  gst_structure_remove_field(plain, "drm-format");
  GstVideoInfo video;
  if (!gst_video_info_from_caps(&video, linear.get()))
    throw Error(Code::kInvalidArgument, describe(caps) + ": GStreamer finds no video in them",
                "gst_video_info_from_caps", 0);
  return video;
}

/// The feature that says where buffers lie; empty for system memory.
TENON_INLINE std::string memory_feature(const GstCaps* caps) {
  static const GQuark kSystem = g_quark_from_static_string(GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY);
  const GstCapsFeatures* features = gst_caps_get_features(caps, 0);
  if (!features || gst_caps_features_is_any(features)) return {};
  for (guint i = 0; i < gst_caps_features_get_size(features); ++i) {
    if (gst_caps_features_get_nth_id(features, i) == kSystem) continue;
    const std::string_view name(gst_caps_features_get_nth(features, i));
    if (name.starts_with("memory:")) return std::string(name);
  }
  return {};
}

inline constexpr gint kMostPx = 1 << 20;

struct FreeStructure {
  void operator()(GstStructure* structure) const { gst_structure_free(structure); }
};
using StructurePtr = std::unique_ptr<GstStructure, FreeStructure>;

/// The fields that VideoCaps has no member for, as text.
TENON_INLINE std::string other_fields(const GstStructure* structure) {
  const StructurePtr others(gst_structure_copy(structure));
  gst_structure_remove_fields(others.get(), "format", "width", "height", "framerate", "pixel-aspect-ratio",
                              "drm-format", "colorimetry", nullptr);
  return gst_structure_n_fields(others.get()) == 0 ? std::string() : take_text(gst_structure_to_string(others.get()));
}

/// Adds VideoCaps::others to caps, but for what `video` says otherwise.
TENON_INLINE void add_others(const VideoCaps& video, GstVideoFormat format, GstCaps* caps) {
  const StructurePtr others(video.others.empty() ? nullptr : gst_structure_from_string(video.others.c_str(), nullptr));
  if (!others) return;
  const char* const mode = gst_structure_get_string(others.get(), "interlace-mode");
  if (mode && (std::string_view(mode) != "progressive") != video.interlaced)
    gst_structure_remove_fields(others.get(), "interlace-mode", "field-order", nullptr);
  const GstVideoFormatInfo* const info = gst_video_format_get_info(format);
  const bool shares_chroma = GST_VIDEO_FORMAT_INFO_IS_YUV(info) && GST_VIDEO_FORMAT_INFO_W_SUB(info, 1) != 0;
  if (!shares_chroma) gst_structure_remove_field(others.get(), "chroma-site");
  gst_structure_foreach(
      others.get(),
      [](GQuark field, const GValue* value, gpointer to) -> gboolean {
        gst_structure_id_set_value(static_cast<GstStructure*>(to), field, value);
        return TRUE;
      },
      gst_caps_get_structure(caps, 0));
}

/// VideoCaps::colorimetry as long as it says the same as `info`; else what follows from `info`.
TENON_INLINE std::string colorimetry(const VideoCaps& video) {
  GstVideoColorimetry known;
  if (!video.colorimetry.empty() && gst_video_colorimetry_from_string(&known, video.colorimetry.c_str())) {
    const bool is_rgb = format_info(video.info.format).model == ColourModel::kRgb;
    if (is_rgb == (known.matrix == GST_VIDEO_COLOR_MATRIX_RGB) &&
        colour_space(known.matrix) == video.info.colour_space && colour_range(known.range) == video.info.colour_range)
      return video.colorimetry;
  }
  return colorimetry(video.info);
}

}  // namespace detail

TENON_INLINE VideoCaps video_caps(const GstVideoInfo& video) {
  const GstVideoFormat format = GST_VIDEO_INFO_FORMAT(&video);
  const FormatMapping* mapping = find_mapping(format);
  if (!mapping)
    throw Error(Code::kUnimplemented, std::string("gstreamer: no Tenon format has the planes of ") +
                                          gst_video_format_to_string(format) +
                                          "; put videoconvert before it, to one of" + detail::mapped_names());
  if (video.interlace_mode == GST_VIDEO_INTERLACE_MODE_ALTERNATE)
    throw Error(Code::kUnimplemented,
                "gstreamer: interlace-mode=alternate has one field in each buffer; put deinterlace before it");
  if (video.width <= 0 || video.height <= 0 || video.width > detail::kMostPx || video.height > detail::kMostPx)
    throw Error(Code::kInvalidArgument, "gstreamer: video of " + std::to_string(video.width) + "x" +
                                            std::to_string(video.height) + " px: extents must be 1.." +
                                            std::to_string(detail::kMostPx));
  VideoCaps caps;
  caps.info.format = mapping->format;
  caps.info.width_px = static_cast<std::uint32_t>(video.width);
  caps.info.height_px = static_cast<std::uint32_t>(video.height);
  caps.info.colour_space = detail::colour_space(video.colorimetry.matrix);
  caps.info.colour_range = detail::colour_range(video.colorimetry.range);
  caps.rate_num = video.fps_n;
  caps.rate_den = video.fps_d > 0 ? video.fps_d : 1;
  caps.aspect_num = video.par_n;
  caps.aspect_den = video.par_d;
  caps.interlaced = video.interlace_mode != GST_VIDEO_INTERLACE_MODE_PROGRESSIVE;
  detail::copy_layout(video, caps);
  return caps;
}

TENON_INLINE VideoCaps video_caps(const GstCaps* caps) {
  const GstStructure* structure = detail::fixed_structure(caps, "video/x-raw");
  GstVideoInfo video;
  PixelFormat drm_format;
  bool drm = false;
  const bool read = gst_video_info_from_caps(&video, caps);
  // From 1.24 on GStreamer reads caps with a drm-format, as a format without planes; before that it does not.
  if (!read || !find_mapping(GST_VIDEO_INFO_FORMAT(&video))) {
    const char* format = gst_structure_get_string(structure, "format");
    drm = format && std::string_view(format) == "DMA_DRM";
    if (drm)
      video = detail::drm_video_info(caps, structure, drm_format);
    else if (!read)
      throw Error(Code::kInvalidArgument,
                  detail::describe(caps) + ": GStreamer finds no video in them; format, width and height are needed",
                  "gst_video_info_from_caps", 0);
  }
  VideoCaps result = video_caps(video);
  if (drm) result.info.format.modifier = drm_format.modifier;
  result.memory = detail::memory_feature(caps);
  if (const char* colours = gst_structure_get_string(structure, "colorimetry")) result.colorimetry = colours;
  result.others = detail::other_fields(structure);
  return result;
}

TENON_INLINE const VideoCaps& CapsCache::of(GstCaps* caps, Rotation rotation) {
  if (!caps || caps != held_.get()) {
    VideoCaps made = video_caps(caps);
    value_ = std::move(made);
    held_.reset(gst_caps_ref(caps));  // Held, so that no other caps get its address.
  }
  value_.info.rotation = rotation;
  return value_;
}

TENON_INLINE CapsPtr caps(const VideoCaps& video) {
  const FrameInfo& info = video.info;
  const FormatMapping* mapping = find_mapping(info.format);
  if (!mapping)
    throw Error(Code::kUnimplemented, "gstreamer::caps: GStreamer has no format like " + to_string(info.format));
  if (video.rate_den <= 0 || video.rate_num < 0 || video.aspect_num <= 0 || video.aspect_den <= 0)
    throw Error(Code::kInvalidArgument, "gstreamer::caps: a frame rate of " + std::to_string(video.rate_num) + "/" +
                                            std::to_string(video.rate_den) + " or a pixel aspect of " +
                                            std::to_string(video.aspect_num) + "/" + std::to_string(video.aspect_den));
  start();
  const bool tiled = info.format.modifier != kModifierLinear;
  const bool drm = tiled || (video.memory == "memory:DMABuf" && detail::writes_drm_format(*mapping));
  CapsPtr made(gst_caps_new_simple(
      "video/x-raw", "format", G_TYPE_STRING, drm ? "DMA_DRM" : gst_video_format_to_string(mapping->gst), "width",
      G_TYPE_INT, static_cast<gint>(info.width_px), "height", G_TYPE_INT, static_cast<gint>(info.height_px),
      "framerate", GST_TYPE_FRACTION, video.rate_num, video.rate_den, "pixel-aspect-ratio", GST_TYPE_FRACTION,
      video.aspect_num, video.aspect_den, "interlace-mode", G_TYPE_STRING,
      video.interlaced ? "interleaved" : "progressive", nullptr));
  if (drm)
    gst_caps_set_simple(made.get(), "drm-format", G_TYPE_STRING, detail::drm_format_text(info.format).c_str(), nullptr);
  if (const std::string colours = detail::colorimetry(video); !colours.empty())
    gst_caps_set_simple(made.get(), "colorimetry", G_TYPE_STRING, colours.c_str(), nullptr);
  detail::add_others(video, mapping->gst, made.get());
  const std::string memory = video.memory.empty() && tiled ? "memory:DMABuf" : video.memory;
  if (!memory.empty()) gst_caps_set_features(made.get(), 0, gst_caps_features_new(memory.c_str(), nullptr));
  return made;
}

TENON_INLINE CapsPtr caps(const FrameInfo& info) {
  VideoCaps video;
  video.info = info;
  return caps(video);
}

TENON_INLINE AudioInfo audio_info(const GstCaps* caps) {
  detail::fixed_structure(caps, "audio/x-raw");
  GstAudioInfo audio;
  if (!gst_audio_info_from_caps(&audio, caps))
    throw Error(Code::kInvalidArgument,
                detail::describe(caps) +
                    ": GStreamer finds no audio in them; format, rate and channels (above two, a "
                    "channel-mask) are needed",
                "gst_audio_info_from_caps", 0);
  for (const detail::SampleMapping& mapping : detail::kSamples) {
    if (mapping.gst != GST_AUDIO_INFO_FORMAT(&audio)) continue;
    return {mapping.type, static_cast<std::uint32_t>(audio.channels), static_cast<std::uint32_t>(audio.rate),
            audio.layout == GST_AUDIO_LAYOUT_NON_INTERLEAVED};
  }
  throw Error(Code::kUnimplemented, detail::describe(caps) +
                                        ": no element type has these samples; put audioconvert before it, to one of "
                                        "U8 S8 S16LE U16LE S32LE U32LE F32LE F64LE");
}

TENON_INLINE CapsPtr caps(const AudioInfo& info) {
  constexpr std::uint32_t kMostChannels = 64, kMostRate = 1u << 30;
  if (info.channels == 0 || info.channels > kMostChannels || info.rate_hz == 0 || info.rate_hz > kMostRate)
    throw Error(Code::kInvalidArgument, "gstreamer::caps: audio of " + std::to_string(info.channels) + " channels at " +
                                            std::to_string(info.rate_hz) +
                                            " Hz; 1 to 64 channels and a rate are needed");
  start();
  for (const detail::SampleMapping& mapping : detail::kSamples) {
    if (mapping.type != info.sample) continue;
    CapsPtr made(gst_caps_new_simple("audio/x-raw", "format", G_TYPE_STRING, gst_audio_format_to_string(mapping.gst),
                                     "layout", G_TYPE_STRING, info.planar ? "non-interleaved" : "interleaved", "rate",
                                     G_TYPE_INT, static_cast<gint>(info.rate_hz), "channels", G_TYPE_INT,
                                     static_cast<gint>(info.channels), nullptr));
    if (info.channels > 2) gst_caps_set_simple(made.get(), "channel-mask", GST_TYPE_BITMASK, guint64{0}, nullptr);
    return made;
  }
  throw Error(Code::kUnimplemented,
              "gstreamer::caps: GStreamer has no audio samples of type " + std::string(name(info.sample)));
}

}  // namespace gstreamer
}  // namespace v1
}  // namespace tenon
