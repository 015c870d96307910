// SPDX-License-Identifier: Apache-2.0
// Any caps and any metas of a GStreamer buffer, as another element might make them: fields of any type, planes and crops anywhere, objects that
// are each other's parents. The picture lies inside its memory, and what the metas say is read and written again, or there is an Error.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>

#include <gst/gst.h>
#include <gst/video/video.h>

#include <tenon/core/error.hpp>
#include <tenon/frameworks/gstreamer/audio.hpp>
#include <tenon/frameworks/gstreamer/gstreamer.hpp>
#include <tenon/frameworks/gstreamer/testing/lsan.hpp>
#include <tenon/fuzz/bytes.hpp>

namespace {

using namespace tenon;
namespace gs = tenon::gstreamer;

/// Texts and numbers of caps and metas.
class Bytes : public fuzz::Bytes {
 public:
  using fuzz::Bytes::Bytes;
  /// Letters that GStreamer's texts may have.
  std::string text() {
    std::string made(byte() % 24, ' ');
    for (char& letter : made) letter = static_cast<char>(' ' + byte() % 95);
    return made;
  }
  /// Mostly small, sometimes any.
  int number() {
    const std::uint8_t kind = byte();
    return kind < 224 ? kind % 65 : next<std::int32_t>();
  }
  template <std::size_t N>
  const char* one_of(const char* const (&all)[N]) {
    return all[byte() % N];
  }
};

constexpr const char* kCapsFields[] = {
    "format",         "width",       "height",     "framerate", "pixel-aspect-ratio", "colorimetry", "interlace-mode",
    "multiview-mode", "drm-format",  "views",      "rate",      "channels",           "layout",      "channel-mask",
    "max-framerate",  "chroma-site", "field-order"};
constexpr const char* kMetaFields[] = {"kind",
                                       "type",
                                       "shape",
                                       "data",
                                       "label",
                                       "label_id",
                                       "labels",
                                       "confidence",
                                       "x_min",
                                       "x_max",
                                       "y_min",
                                       "y_max",
                                       "format",
                                       "keypoints",
                                       "counts",
                                       "begin_ns",
                                       "end_ns",
                                       "form",
                                       "height",
                                       "width",
                                       "id",
                                       "model",
                                       "model_name",
                                       "layer_name",
                                       "message",
                                       "name",
                                       "object",
                                       "object_id",
                                       "picture_height",
                                       "picture_width",
                                       "region",
                                       "seconds",
                                       "sequence",
                                       "stream",
                                       "track_id",
                                       "uri",
                                       "what",
                                       "xx",
                                       "xy",
                                       "yx",
                                       "yy",
                                       "zone",
                                       "crowded"};
constexpr const char* kTexts[] = {"NV12",
                                  "RGB",
                                  "GRAY8",
                                  "I420",
                                  "P010_10LE",
                                  "DMA_DRM",
                                  "NV12:0x0100000000000001",
                                  "bt709",
                                  "progressive",
                                  "alternate",
                                  "mixed",
                                  "F32LE",
                                  "S16LE",
                                  "interleaved",
                                  "non-interleaved",
                                  "tensor",
                                  "mask",
                                  "keypoints",
                                  "detection",
                                  "classification",
                                  "track",
                                  "text",
                                  "embedding",
                                  "zone",
                                  "lines",
                                  "source",
                                  "message",
                                  "timing",
                                  "f32",
                                  "u8",
                                  "f16",
                                  "2,2",
                                  "1,16",
                                  "4",
                                  "18446744073709551615,2",
                                  "2,x",
                                  "",
                                  "a,b"};

gs::BufferPtr bytes_of(std::size_t size) {
  gs::BufferPtr made(gst_buffer_new());
  if (size > 0) gst_buffer_append_memory(made.get(), gst_allocator_alloc(nullptr, size, nullptr));
  gst_buffer_memset(made.get(), 0, 7, size);
  return made;
}

void set_any(GstStructure* fields, const char* name, Bytes& bytes) {
  switch (bytes.byte() % 10) {
    case 0:
      return gst_structure_set(fields, name, G_TYPE_INT, bytes.number(), nullptr);
    case 1:
      return gst_structure_set(fields, name, G_TYPE_INT64, static_cast<gint64>(bytes.next<std::int64_t>()), nullptr);
    case 2:
      return gst_structure_set(fields, name, G_TYPE_UINT64, static_cast<guint64>(bytes.next<std::uint64_t>()), nullptr);
    case 3:
      return gst_structure_set(fields, name, G_TYPE_DOUBLE, static_cast<double>(bytes.next<float>()), nullptr);
    case 4:
      return gst_structure_set(fields, name, GST_TYPE_FRACTION, bytes.number(), std::max(bytes.number(), 1), nullptr);
    case 5:
      return gst_structure_set(fields, name, G_TYPE_BOOLEAN, bytes.byte() % 2, nullptr);
    case 6:
      return gst_structure_set(fields, name, GST_TYPE_BUFFER, bytes_of(bytes.byte()).get(), nullptr);
    case 7:
      return gst_structure_set(fields, name, G_TYPE_STRING, bytes.text().c_str(), nullptr);
    default:
      return gst_structure_set(fields, name, G_TYPE_STRING, bytes.one_of(kTexts), nullptr);
  }
}

gs::CapsPtr any_caps(Bytes& bytes) {
  constexpr const char* kNames[] = {"video/x-raw", "audio/x-raw", "image/jpeg"};
  const std::uint8_t kind = bytes.byte();
  GstStructure* fields = gst_structure_new_empty(kind < 192 ? kNames[0] : kNames[kind % 3]);
  if (kind % 2)
    gst_structure_set(fields, "format", G_TYPE_STRING, bytes.one_of(kTexts), "width", G_TYPE_INT, bytes.number(),
                      "height", G_TYPE_INT, bytes.number(), "framerate", GST_TYPE_FRACTION, 25, 1, nullptr);
  for (unsigned left = bytes.byte() % 4; left > 0; --left) set_any(fields, bytes.one_of(kCapsFields), bytes);
  gs::CapsPtr made(gst_caps_new_empty());
  GstCapsFeatures* features = kind % 16 == 3 ? gst_caps_features_new("memory:DMABuf", nullptr) : nullptr;
  gst_caps_append_structure_full(made.get(), fields, features);
  return made;
}

void add_object(GstBuffer* buffer, Bytes& bytes) {
  auto* const meta = gst_buffer_add_video_region_of_interest_meta(
      buffer, bytes.one_of(kTexts), static_cast<guint>(bytes.number()), static_cast<guint>(bytes.number()),
      static_cast<guint>(bytes.number()), static_cast<guint>(bytes.number()));
  meta->id = static_cast<gint>(bytes.byte() % 4);
  meta->parent_id = static_cast<gint>(bytes.byte() % 5) - 1;
  for (unsigned left = bytes.byte() % 3; left > 0; --left) {
    GstStructure* const fields = gst_structure_new_empty(bytes.byte() % 2 ? "detection" : "classification");
    for (unsigned more = bytes.byte() % 6; more > 0; --more) set_any(fields, bytes.one_of(kMetaFields), bytes);
    gst_video_region_of_interest_meta_add_param(meta, fields);
  }
}

void add_metas(GstBuffer* buffer, Bytes& bytes) {
  for (unsigned left = bytes.byte() % 4; left > 0; --left) {
    const std::uint8_t kind = bytes.byte();
    if (kind % 8 == 0) {
      auto* const crop = gst_buffer_add_video_crop_meta(buffer);
      crop->x = static_cast<guint>(bytes.number()), crop->y = static_cast<guint>(bytes.number());
      crop->width = static_cast<guint>(bytes.number()), crop->height = static_cast<guint>(bytes.number());
    } else if (kind % 8 < 4) {
      add_object(buffer, bytes);
    } else {
      GstStructure* const fields = gst_custom_meta_get_structure(
          gst_buffer_add_custom_meta(buffer, kind % 2 ? gs::kMetaName : gs::kPictureMetaName));
      for (unsigned more = bytes.byte() % 8; more > 0; --more) set_any(fields, bytes.one_of(kMetaFields), bytes);
    }
  }
}

/// A meta of planes that is any, in a buffer of one memory or of some.
gs::BufferPtr any_buffer(const gs::VideoCaps& caps, Bytes& bytes) {
  const std::uint8_t kind = bytes.byte();
  const std::size_t whole = std::min<std::size_t>(caps.size_bytes, 1 << 20);
  gs::BufferPtr made = bytes_of(kind % 4 ? whole : bytes.next<std::uint16_t>());
  for (unsigned left = kind / 4 % 3; left > 0; --left)
    gst_buffer_append_memory(made.get(), gst_allocator_alloc(nullptr, bytes.next<std::uint16_t>() % 4096u, nullptr));
  const gs::FormatMapping* mapping = gs::find_mapping(caps.info.format);
  if (kind < 128 || !mapping) return made;
  gsize offset[4] = {};
  gint stride[4] = {};
  const guint planes = bytes.byte() % 5;
  for (guint p = 0; p < 4; ++p) {
    offset[p] = kind % 2 ? caps.offset[p] + bytes.byte() % 3 : static_cast<gsize>(bytes.number());
    stride[p] = kind % 2 ? caps.stride[p] + bytes.byte() % 3 : bytes.number();
  }
  gst_buffer_add_video_meta_full(made.get(), GST_VIDEO_FRAME_FLAG_NONE, mapping->gst, caps.info.width_px,
                                 caps.info.height_px, planes, offset, stride);
  return made;
}

unsigned sum(const Frame& frame) {
  unsigned total = 0;
  for (const Tensor& plane : frame.planes()) {
    if (plane.element_count() == 0 || plane.shape().empty() || !plane.data()) continue;
    const std::size_t rows = plane.shape()[0], bytes = plane.size_bytes() / rows;
    for (std::size_t y = 0; y < rows; ++y) {
      const auto* row =
          static_cast<const std::uint8_t*>(plane.data()) + static_cast<std::ptrdiff_t>(y) * plane.byte_strides()[0];
      for (std::size_t i = 0; i < bytes; ++i) total += row[i];
    }
  }
  return total;
}

template <typename Work>
void attempt(Work work) {
  try {
    work();
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  // What GStreamer and GLib say of wrong values is no finding.
  g_log_set_default_handler([](const gchar*, GLogLevelFlags, const gchar*, gpointer) {}, nullptr);
  gs::start();
  gs::write_metadata({}, {kNv12, 64, 48}, bytes_of(16).get());  // Registers the custom metas.
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  const gs::CapsPtr caps = any_caps(bytes);
  attempt([&] { gs::audio_info(caps.get()); });
  gs::VideoCaps known = gs::video_caps(gs::caps(FrameInfo{kNv12, 64, 48}).get());
  attempt([&] {
    known = gs::video_caps(caps.get());
    gs::caps(known);
  });
  if (known.info.width_px > 4096 || known.info.height_px > 4096) return 0;
  const gs::BufferPtr buffer = any_buffer(known, bytes);
  add_metas(buffer.get(), bytes);
  attempt([&] {
    Ledger ledger;
    [[maybe_unused]] volatile unsigned total = sum(gs::wrap(buffer.get(), known, &ledger));
  });
  attempt([&] {
    const auto metadata = gs::read_metadata(buffer.get(), known.info);
    if (!metadata) return;
    const gs::BufferPtr copy = bytes_of(16);
    gs::write_metadata(*metadata, known.info, copy.get());
    gs::read_metadata(copy.get(), known.info);
  });
  return 0;
}
