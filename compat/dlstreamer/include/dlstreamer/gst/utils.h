// SPDX-License-Identifier: Apache-2.0
// GStreamer's formats and caps as descriptions.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gst/gst.h>
#include <gst/video/video.h>

#include <tenon/frameworks/gstreamer/gstreamer.hpp>

#include "dlstreamer/base/native.h"
#include "dlstreamer/element.h"
#include "dlstreamer/utils.h"

#define DLS_TENSOR_MEDIA_NAME "other/tensors"

namespace dlstreamer {
namespace detail {

inline constexpr std::pair<ImageFormat, GstVideoFormat> kGstFormats[] = {
    {ImageFormat::BGR, GST_VIDEO_FORMAT_BGR},   {ImageFormat::RGB, GST_VIDEO_FORMAT_RGB},
    {ImageFormat::BGRX, GST_VIDEO_FORMAT_BGRx}, {ImageFormat::RGBX, GST_VIDEO_FORMAT_RGBx},
    {ImageFormat::BGRP, GST_VIDEO_FORMAT_BGRP}, {ImageFormat::RGBP, GST_VIDEO_FORMAT_RGBP},
    {ImageFormat::NV12, GST_VIDEO_FORMAT_NV12}, {ImageFormat::I420, GST_VIDEO_FORMAT_I420},
    {ImageFormat::BGRX, GST_VIDEO_FORMAT_BGRA}, {ImageFormat::RGBX, GST_VIDEO_FORMAT_RGBA},
};
inline constexpr std::pair<MemoryType, const char*> kGstFeatures[] = {
    {MemoryType::DMA, "memory:DMABuf"},        {MemoryType::VAAPI, "memory:VASurface"},
    {MemoryType::VA, "memory:VAMemory"},       {MemoryType::OpenCL, "memory:OpenCL"},
    {MemoryType::OpenVINO, "memory:OpenVINO"}, {MemoryType::USM, "memory:USM"},
};

}  // namespace detail

/// @errors std::runtime_error: ImageFormat has no such format.
inline ImageFormat gst_format_to_video_format(int format) {
  for (const auto& [ours, gst] : detail::kGstFormats)
    if (gst == format) return ours;
  throw std::runtime_error(std::string("gst_format_to_video_format: ImageFormat has no ") +
                           gst_video_format_to_string(static_cast<GstVideoFormat>(format)));
}
inline GstVideoFormat video_format_to_gst_format(ImageFormat format) {
  for (const auto& [ours, gst] : detail::kGstFormats)
    if (ours == format) return gst;
  throw std::runtime_error("video_format_to_gst_format: no ImageFormat of number " +
                           std::to_string(static_cast<Format>(format)));
}

/// Format and planes: [h, w, c] each, planar RGB as one tensor [3, h, w].
inline FrameInfo gst_video_info_to_frame_info(const GstVideoInfo* vinfo) {
  FrameInfo info(gst_format_to_video_format(GST_VIDEO_INFO_FORMAT(vinfo)), MemoryType::GST);
  const auto at = [&](int plane) { return static_cast<size_t>(GST_VIDEO_INFO_PLANE_OFFSET(vinfo, plane)); };
  const auto pitch = [&](int plane) { return static_cast<size_t>(GST_VIDEO_INFO_PLANE_STRIDE(vinfo, plane)); };
  const auto format = static_cast<ImageFormat>(info.format);
  if (format == ImageFormat::RGBP || format == ImageFormat::BGRP) {
    info.tensors.emplace_back(
        std::vector<size_t>{3, static_cast<size_t>(vinfo->height), static_cast<size_t>(vinfo->width)}, DataType::UInt8,
        std::vector<size_t>{at(1) - at(0), pitch(0), 1});
    return info;
  }
  for (int plane = 0; plane < static_cast<int>(GST_VIDEO_INFO_N_PLANES(vinfo)); ++plane) {
    int component[GST_VIDEO_MAX_COMPONENTS];
    gst_video_format_info_component(vinfo->finfo, static_cast<guint>(plane), component);
    const auto pixel = static_cast<size_t>(GST_VIDEO_INFO_COMP_PSTRIDE(vinfo, component[0]));
    info.tensors.emplace_back(
        std::vector<size_t>{static_cast<size_t>(GST_VIDEO_INFO_COMP_HEIGHT(vinfo, component[0])),
                            static_cast<size_t>(GST_VIDEO_INFO_COMP_WIDTH(vinfo, component[0])), pixel},
        DataType::UInt8, std::vector<size_t>{pitch(plane), pixel, 1});
  }
  return info;
}

namespace detail {

/// The layout that GStreamer gives pictures of this size. @errors std::runtime_error: no image with a size.
inline GstVideoInfo gst_video_info_of(const FrameInfo& info) {
  if (info.media_type != MediaType::Image || info.tensors.empty())
    throw std::runtime_error("dlstreamer: a GstVideoInfo needs the format and the size of an image");
  const ImageInfo image(info.tensors.front());
  GstVideoInfo made;
  gst_video_info_set_format(&made, video_format_to_gst_format(static_cast<ImageFormat>(info.format)),
                            static_cast<guint>(image.width()), static_cast<guint>(image.height()));
  return made;
}

}  // namespace detail

/// The caps feature; null for system memory. The caller owns it.
inline GstCapsFeatures* memory_type_to_gst_caps_feature(MemoryType memory_type) {
  for (const auto& [type, feature] : detail::kGstFeatures)
    if (type == memory_type) return gst_caps_features_new(feature, nullptr);
  return nullptr;
}

/// What one structure of caps says; media type, format and sizes where it says them.
/// @errors std::runtime_error: null, or no such structure.
inline FrameInfo gst_caps_to_frame_info(const GstCaps* caps, guint index = 0) {
  if (!caps || index >= gst_caps_get_size(caps))
    throw std::runtime_error("gst_caps_to_frame_info: no structure " + std::to_string(index) + " in the caps");
  const GstStructure* structure = gst_caps_get_structure(caps, index);
  FrameInfo info;
  info.memory_type = MemoryType::CPU;
  const GstCapsFeatures* features = gst_caps_get_features(caps, index);
  for (const auto& [type, feature] : detail::kGstFeatures)
    if (features && gst_caps_features_contains(features, feature)) info.memory_type = type;
  if (gst_structure_has_name(structure, "video/x-raw")) {
    info.media_type = MediaType::Image;
    const char* format = gst_structure_get_string(structure, "format");
    int width = 0, height = 0;
    if (format) info.format = static_cast<Format>(gst_format_to_video_format(gst_video_format_from_string(format)));
    if (format && gst_structure_get_int(structure, "width", &width) &&
        gst_structure_get_int(structure, "height", &height)) {
      GstVideoInfo video;
      gst_video_info_set_format(&video, gst_video_format_from_string(format), static_cast<guint>(width),
                                static_cast<guint>(height));
      info.tensors = gst_video_info_to_frame_info(&video).tensors;
    }
  } else if (gst_structure_has_name(structure, DLS_TENSOR_MEDIA_NAME)) {
    info.media_type = MediaType::Tensors;
    const char *types = gst_structure_get_string(structure, "types"),
               *shapes = gst_structure_get_string(structure, "dimensions");
    // GStreamer's tensors have their innermost extent first.
    const std::vector<std::string> all_types = split_string(types ? types : ""),
                                   all_shapes = split_string(shapes ? shapes : "");
    for (size_t i = 0; i < all_types.size() && i < all_shapes.size(); ++i) {
      std::vector<size_t> shape = transform_vector<size_t>(split_string(all_shapes[i], ':'),
                                                           [](const std::string& part) { return std::stoull(part); });
      info.tensors.emplace_back(std::vector<size_t>(shape.rbegin(), shape.rend()), datatype_from_string(all_types[i]));
    }
  } else if (gst_structure_has_name(structure, "audio/x-raw")) {
    info.media_type = MediaType::Audio;
  }
  return info;
}

/// Caps that say what `info` says. The caller owns them.
inline GstCaps* frame_info_to_gst_caps(const FrameInfo& info) {
  GstStructure* structure = nullptr;
  if (info.media_type == MediaType::Tensors) {
    std::vector<std::string> types, shapes;
    for (const TensorInfo& tensor : info.tensors) {
      types.push_back(datatype_to_string(tensor.dtype));
      shapes.push_back(join_strings(tensor.shape.rbegin(), tensor.shape.rend(), ':'));
    }
    structure = gst_structure_new_empty(DLS_TENSOR_MEDIA_NAME);
    if (!types.empty())
      gst_structure_set(structure, "num_tensors", G_TYPE_INT, static_cast<int>(types.size()), "types", G_TYPE_STRING,
                        join_strings(types.begin(), types.end()).c_str(), "dimensions", G_TYPE_STRING,
                        join_strings(shapes.begin(), shapes.end()).c_str(), nullptr);
  } else if (info.media_type == MediaType::Image) {
    structure = gst_structure_new_empty("video/x-raw");
    if (info.format)
      gst_structure_set(structure, "format", G_TYPE_STRING,
                        gst_video_format_to_string(video_format_to_gst_format(static_cast<ImageFormat>(info.format))),
                        nullptr);
    if (!info.tensors.empty()) {
      const ImageInfo image(info.tensors.front());
      gst_structure_set(structure, "width", G_TYPE_INT, static_cast<int>(image.width()), "height", G_TYPE_INT,
                        static_cast<int>(image.height()), nullptr);
    }
  } else {
    throw std::runtime_error("frame_info_to_gst_caps: no caps for frames of " + media_type_to_string(info.media_type));
  }
  GstCaps* caps = gst_caps_new_full(structure, nullptr);
  if (GstCapsFeatures* feature = memory_type_to_gst_caps_feature(info.memory_type))
    gst_caps_set_features(caps, 0, feature);
  return caps;
}
inline GstCaps* frame_info_vector_to_gst_caps(const FrameInfoVector& infos) {
  GstCaps* caps = gst_caps_new_empty();
  for (const FrameInfo& info : infos) gst_caps_append(caps, frame_info_to_gst_caps(info));
  return caps;
}

inline AccessMode gst_map_flags_to_access_mode(GstMapFlags flags) {
  const int mode = ((flags & GST_MAP_READ) ? 1 : 0) | ((flags & GST_MAP_WRITE) ? 2 : 0);
  if (mode == 0) throw std::runtime_error("gst_map_flags_to_access_mode: flags that neither read nor write");
  return static_cast<AccessMode>(mode);
}

/// What a GValue holds; nothing where Any has no such type. Widths are kept: 64 bits signed are intptr_t, unsigned size_t.
inline std::optional<Any> gvalue_to_any(const GValue* value, const ParamDesc* /*desc*/ = nullptr) noexcept {
  if (!value) return std::nullopt;
  if (G_VALUE_HOLDS_INT(value)) return g_value_get_int(value);
  if (G_VALUE_HOLDS_UINT(value)) return static_cast<size_t>(g_value_get_uint(value));
  if (G_VALUE_HOLDS_INT64(value)) return static_cast<intptr_t>(g_value_get_int64(value));
  if (G_VALUE_HOLDS_UINT64(value)) return static_cast<size_t>(g_value_get_uint64(value));
  if (G_VALUE_HOLDS_DOUBLE(value)) return g_value_get_double(value);
  if (G_VALUE_HOLDS_FLOAT(value)) return static_cast<double>(g_value_get_float(value));
  if (G_VALUE_HOLDS_BOOLEAN(value)) return static_cast<bool>(g_value_get_boolean(value));
  if (G_VALUE_HOLDS_STRING(value)) return std::string(g_value_get_string(value) ? g_value_get_string(value) : "");
  if (GST_VALUE_HOLDS_FRACTION(value))
    return std::pair(gst_value_get_fraction_numerator(value), gst_value_get_fraction_denominator(value));
  if (!GST_VALUE_HOLDS_ARRAY(value)) return std::nullopt;
  const auto list_of = [&]<typename T>(T) -> std::optional<Any> {
    std::vector<T> all;
    for (guint i = 0; i < gst_value_array_get_size(value); ++i) {
      const std::optional<Any> each = gvalue_to_any(gst_value_array_get_value(value, i));
      if (!each || !any_holds_type<T>(*each)) return std::nullopt;
      all.push_back(std::get<T>(*each));
    }
    return all;
  };
  if (auto numbers = list_of(int())) return numbers;
  if (auto numbers = list_of(double())) return numbers;
  if (auto numbers = list_of(size_t())) return numbers;
  return list_of(std::string());
}

/// The reverse. @param init  Whether `gvalue` is still to be given its type.
inline void any_to_gvalue(const Any& value, GValue* gvalue, bool init = true,
                          const ParamDesc* desc = nullptr) noexcept {
  const auto typed = [&](GType type) {
    if (init) g_value_init(gvalue, type);
    return gvalue;
  };
  std::visit(
      [&](const auto& held) {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, bool>)
          g_value_set_boolean(typed(G_TYPE_BOOLEAN), held);
        else if constexpr (std::is_same_v<T, int>)
          g_value_set_int(typed(G_TYPE_INT), held);
        else if constexpr (std::is_same_v<T, double>)
          g_value_set_double(typed(G_TYPE_DOUBLE), held);
        else if constexpr (std::is_same_v<T, size_t>)
          g_value_set_uint64(typed(G_TYPE_UINT64), held);
        else if constexpr (std::is_same_v<T, intptr_t>)
          g_value_set_int64(typed(G_TYPE_INT64), held);
        else if constexpr (std::is_same_v<T, std::string>)
          g_value_set_string(typed(G_TYPE_STRING), held.c_str());
        else if constexpr (std::is_same_v<T, std::pair<int, int>>)
          gst_value_set_fraction(typed(GST_TYPE_FRACTION), held.first, held.second);
        else {
          GValue* const list = typed(GST_TYPE_ARRAY);
          for (const auto& each : held) {
            GValue element = G_VALUE_INIT;
            any_to_gvalue(Any(each), &element, true, desc);
            gst_value_array_append_and_take_value(list, &element);
          }
        }
      },
      value);
}

}  // namespace dlstreamer
