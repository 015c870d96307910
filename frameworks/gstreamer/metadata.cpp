// SPDX-License-Identifier: Apache-2.0
// Metadata of frames to GStreamer's metas; metadata_reader.cpp reads them.
#include <tenon/frameworks/gstreamer/metadata.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/orientation.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/placement.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/core/zones.hpp>

namespace tenon {
inline namespace v1 {
namespace gstreamer {
namespace detail {

TENON_INLINE void copy_fields(const GstStructure* from, GstCustomMeta* into) {
  gst_structure_foreach(
      from,
      [](GQuark id, const GValue* value, gpointer target) -> gboolean {
        gst_structure_id_set_value(static_cast<GstStructure*>(target), id, value);
        return TRUE;
      },
      gst_custom_meta_get_structure(into));
}

TENON_INLINE gboolean transform_picture_meta(GstBuffer* into, GstCustomMeta* meta, GstBuffer*, GQuark type,
                                             gpointer data, gpointer) {
  const bool whole = GST_META_TRANSFORM_IS_COPY(type) && !static_cast<GstMetaTransformCopy*>(data)->region;
  if (!whole && !GST_VIDEO_META_TRANSFORM_IS_SCALE(type)) return FALSE;
  copy_fields(gst_custom_meta_get_structure(meta), gst_buffer_add_custom_meta(into, kPictureMetaName));
  return TRUE;
}

TENON_INLINE void register_metas() {
  static const bool once = [] {
    start();
    static const gchar* none[] = {nullptr};
    if (!gst_meta_get_info(kMetaName)) gst_meta_register_custom(kMetaName, none, nullptr, nullptr, nullptr);
    if (!gst_meta_get_info(kPictureMetaName)) {
      static const gchar* tags[] = {GST_META_TAG_VIDEO_STR, GST_META_TAG_VIDEO_SIZE_STR,
                                    GST_META_TAG_VIDEO_ORIENTATION_STR, nullptr};
      gst_meta_register_custom(kPictureMetaName, tags, &transform_picture_meta, nullptr, nullptr);
    }
    return true;
  }();
  static_cast<void>(once);
}

TENON_INLINE void put_class(GstStructure* into, const std::string& label, int label_id, float score) {
  gst_structure_set(into, "label", G_TYPE_STRING, label.c_str(), "label_id", G_TYPE_INT, label_id, "confidence",
                    G_TYPE_DOUBLE, static_cast<double>(score), nullptr);
}

TENON_INLINE void put(GstStructure* into, const metadata::Classification& value) {
  put_class(into, value.label, value.label_id, value.score);
  gst_structure_set(into, "model_name", G_TYPE_STRING, value.model.c_str(), nullptr);
}

/// The tensor's bytes travel as a GstBuffer over them.
TENON_INLINE void put_tensor(GstStructure* into, const Tensor& tensor) {
  Tensor packed = tensor;
  if (tensor && (!tensor.is_contiguous() || !tensor.is_host_addressable())) {
    packed = Tensor();
    tensor.copy_to(packed);
  }
  if (!packed || packed.size_bytes() == 0) return;
  std::string extents;
  for (std::size_t extent : packed.shape()) extents += (extents.empty() ? "" : ",") + std::to_string(extent);
  const BufferPtr bytes = buffer(packed);
  gst_structure_set(into, "type", G_TYPE_STRING, std::string(name(packed.element_type())).c_str(), "shape",
                    G_TYPE_STRING, extents.c_str(), "data", GST_TYPE_BUFFER, bytes.get(), nullptr);
}

TENON_INLINE void put(GstStructure* into, const metadata::TensorOutput& value) {
  gst_structure_set(into, "layer_name", G_TYPE_STRING, value.name.c_str(), "model_name", G_TYPE_STRING,
                    value.model.c_str(), "format", G_TYPE_STRING, value.format.c_str(), nullptr);
  put_tensor(into, value.tensor);
}

/// The box as fractions of the picture, which stay true when it is scaled.
TENON_INLINE void put_box(GstStructure* into, const metadata::Box& box, const FrameInfo& info) {
  const double width = std::max(info.upright_width_px(), 1u), height = std::max(info.upright_height_px(), 1u);
  gst_structure_set(into, "x_min", G_TYPE_DOUBLE, static_cast<double>(box.x1) / width, "x_max", G_TYPE_DOUBLE,
                    static_cast<double>(box.x2) / width, "y_min", G_TYPE_DOUBLE, static_cast<double>(box.y1) / height,
                    "y_max", G_TYPE_DOUBLE, static_cast<double>(box.y2) / height, nullptr);
}

TENON_INLINE void put(GstStructure* into, const metadata::Segmentation& value, const FrameInfo& info) {
  put_box(into, value.box, info);
  put_tensor(into, value.mask);
  std::string labels;
  for (const std::string& label : value.labels) labels += label + "\n";
  gst_structure_set(into, "labels", G_TYPE_STRING, labels.c_str(), nullptr);
}

TENON_INLINE void put(GstStructure* into, const metadata::AudioEvent& value) {
  put_class(into, value.label, value.label_id, value.score);
  gst_structure_set(into, "begin_ns", G_TYPE_INT64, static_cast<gint64>(value.begin_ns), "end_ns", G_TYPE_INT64,
                    static_cast<gint64>(value.end_ns), nullptr);
}

TENON_INLINE void put(GstStructure* into, const metadata::Json& value) {
  gst_structure_set(into, "message", G_TYPE_STRING, value.text.c_str(), nullptr);
}

TENON_INLINE void put(GstStructure* into, const metadata::ZoneEvent& value) {
  gst_structure_set(into, "zone", G_TYPE_STRING, value.zone.c_str(), "what", G_TYPE_INT, static_cast<gint>(value.what),
                    "seconds", G_TYPE_DOUBLE, value.seconds, "track_id", G_TYPE_INT64,
                    static_cast<gint64>(value.track_id), nullptr);
}

TENON_INLINE void put(GstStructure* into, const metadata::NotLookedAt& value) {
  gst_structure_set(into, "model", G_TYPE_STRING, value.model.c_str(), nullptr);
}

TENON_INLINE void put(GstStructure* into, const metadata::Source& value) {
  gst_structure_set(into, "uri", G_TYPE_STRING, value.uri.c_str(), "stream", G_TYPE_UINT64,
                    static_cast<guint64>(value.stream), "sequence", G_TYPE_UINT64, static_cast<guint64>(value.sequence),
                    nullptr);
}

/// Whether reading gives everything of `meta` and writing puts it there again, so that writing first removes it.
TENON_INLINE bool is_ours(const GstMeta* meta) {
  return meta->info->api == GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE ||
         meta->info->api == GST_REFERENCE_TIMESTAMP_META_API_TYPE || meta->info->api == GST_PROTECTION_META_API_TYPE ||
         gst_meta_info_is_custom(meta->info);
}

/// The fields of a new custom meta. @param region  Id of the region of interest that it is about; kFrame: none.
TENON_INLINE GstStructure* new_custom(GstBuffer* buffer, const char* meta_name, metadata::Kind kind,
                                      metadata::Id region) {
  GstCustomMeta* meta = gst_buffer_add_custom_meta(buffer, meta_name);
  if (!meta) throw Error(Code::kInternal, "gstreamer: no custom meta", "gst_buffer_add_custom_meta", 0);
  GstStructure* fields = gst_custom_meta_get_structure(meta);
  gst_structure_set(fields, "kind", G_TYPE_STRING, std::string(kind.name()).c_str(), "region", G_TYPE_INT,
                    static_cast<gint>(region), nullptr);
  return fields;
}

template <typename T>
void add_custom(GstBuffer* buffer, const T& value, metadata::Id region) {
  put(new_custom(buffer, kMetaName, T::kKind, region), value);
}

TENON_INLINE void add_tensor(GstBuffer* buffer, const metadata::TensorOutput& value, const FrameInfo& info,
                             metadata::Id region) {
  if (!value.has_points()) return add_custom(buffer, value, region);
  GstStructure* fields = new_custom(buffer, kPictureMetaName, value.kKind, region);
  put(fields, value);
  gst_structure_set(fields, "picture_width", G_TYPE_UINT, static_cast<guint>(info.upright_width_px()), "picture_height",
                    G_TYPE_UINT, static_cast<guint>(info.upright_height_px()), nullptr);
}

TENON_INLINE void put(GstStructure* into, const metadata::Detection& object, const FrameInfo& info) {
  put_class(into, object.label, object.label_id, object.score);
  put_box(into, object.box, info);
}

/// The points travel as keypoints do, which follow a picture that is scaled.
TENON_INLINE void add_zone(GstBuffer* buffer, const metadata::Zone& zone, const FrameInfo& info) {
  GstStructure* fields = new_custom(buffer, kPictureMetaName, zone.kKind, metadata::kFrame);
  metadata::TensorOutput points{Tensor(ElementType::kF32, {zone.points.size(), 2}), "", "", "keypoints"};
  auto* value = zone.points.empty() ? nullptr : points.tensor.data<float>();
  for (const metadata::Point& point : zone.points) *value++ = point.x, *value++ = point.y;
  put(fields, points);
  std::string counts;
  for (const metadata::Zone::Count& one : zone.counts)
    counts += std::to_string(one.inside) + " " + std::to_string(one.entered) + " " + std::to_string(one.left) + " " +
              one.label + "\n";
  gst_structure_set(fields, "picture_width", G_TYPE_UINT, static_cast<guint>(info.upright_width_px()), "picture_height",
                    G_TYPE_UINT, static_cast<guint>(info.upright_height_px()), "name", G_TYPE_STRING, zone.name.c_str(),
                    "form", G_TYPE_INT, static_cast<gint>(zone.shape), "crowded", G_TYPE_BOOLEAN,
                    static_cast<gboolean>(zone.is_crowded), "counts", G_TYPE_STRING, counts.c_str(), nullptr);
}

/// It has the size of its picture beside it, as points have.
TENON_INLINE void put(GstStructure* into, const metadata::Placement& value, const FrameInfo& info) {
  const metadata::Affine& map = value.map;
  gst_structure_set(into, "x0", G_TYPE_DOUBLE, map.x0, "xx", G_TYPE_DOUBLE, map.xx, "xy", G_TYPE_DOUBLE, map.xy, "y0",
                    G_TYPE_DOUBLE, map.y0, "yx", G_TYPE_DOUBLE, map.yx, "yy", G_TYPE_DOUBLE, map.yy, "width",
                    G_TYPE_DOUBLE, value.width_px, "height", G_TYPE_DOUBLE, value.height_px, "picture_width",
                    G_TYPE_UINT, static_cast<guint>(info.upright_width_px()), "picture_height", G_TYPE_UINT,
                    static_cast<guint>(info.upright_height_px()), nullptr);
}

TENON_INLINE guint rounded(double value) {
  return static_cast<guint>(std::clamp(std::round(value), 0.0, 2147483647.0));
}

TENON_INLINE void add_region(GstBuffer* buffer, const metadata::Entry<metadata::Detection>& entry,
                             const FrameInfo& info, const metadata::Collection& known) {
  const metadata::Detection& object = *entry.value;
  // A region is a part of the buffer's picture, as it is stored; the fields beside it are of the upright one.
  const metadata::Box& box = object.box;
  const Area<float> part = stored_area<float>({box.x1, box.y1, box.x2 - box.x1, box.y2 - box.y1}, info.rotation,
                                              static_cast<float>(info.width_px), static_cast<float>(info.height_px));
  const guint x = rounded(part.x), y = rounded(part.y);
  const guint right = rounded(part.x + part.width), bottom = rounded(part.y + part.height);
  GstVideoRegionOfInterestMeta* region =
      gst_buffer_add_video_region_of_interest_meta(buffer, object.label.empty() ? "object" : object.label.c_str(), x, y,
                                                   right > x ? right - x : 0, bottom > y ? bottom - y : 0);
  region->id = static_cast<gint>(entry.id);
  region->parent_id = static_cast<gint>(entry.parent);
  // As DL Streamer's elements write and read it; GStreamer 1.22 and earlier drop parameters when a picture is converted.
  GstStructure* fields = gst_structure_new_empty("detection");
  put(fields, object, info);
  gst_video_region_of_interest_meta_add_param(region, fields);
  if (object.track_id >= 0) {
    gst_video_region_of_interest_meta_add_param(
        region, gst_structure_new("object_id", "id", G_TYPE_INT, static_cast<gint>(object.track_id), nullptr));
  }
  for (const auto& child : known.of<metadata::Classification>(entry.id)) {
    GstStructure* param = gst_structure_new_empty("classification");
    put(param, *child.value);
    gst_video_region_of_interest_meta_add_param(region, param);
  }
  // So that nothing is lost where parameters are: the same again, by the region's id.
  GstStructure* custom = new_custom(buffer, kMetaName, object.kKind, entry.id);
  put(custom, object, info);
  gst_structure_set(custom, "track_id", G_TYPE_INT64, static_cast<gint64>(object.track_id), nullptr);
}

/// Whether `parent` is an object, so that what belongs to it is written with its region.
TENON_INLINE bool is_object(const std::vector<metadata::Entry<metadata::Detection>>& objects, metadata::Id parent) {
  return std::any_of(objects.begin(), objects.end(), [&](const auto& object) { return object.id == parent; });
}

TENON_INLINE void add_time(GstBuffer* buffer, const metadata::ReferenceTime& time) {
  const bool is_caps = time.clock.find('/') != std::string::npos;
  const CapsPtr reference(gst_caps_from_string(is_caps ? time.clock.c_str() : ("timestamp/x-" + time.clock).c_str()));
  if (!reference)
    throw Error(Code::kInvalidArgument, "gstreamer: \"" + time.clock +
                                            "\" is no name of a clock; letters, digits and "
                                            "hyphens are, such as ntp or unix");
  if (time.time_ns < 0)
    throw Error(Code::kInvalidArgument,
                "gstreamer: a reference time of " + std::to_string(time.time_ns) + " ns; GstClockTime begins at 0");
  gst_buffer_add_reference_timestamp_meta(
      buffer, reference.get(), static_cast<GstClockTime>(time.time_ns),
      time.duration_ns < 0 ? GST_CLOCK_TIME_NONE : static_cast<GstClockTime>(time.duration_ns));
}

/// A record read from a GstStructure becomes the same meta again.
TENON_INLINE void add_record(GstBuffer* buffer, const metadata::Record& record) {
  struct FreeStructure {
    void operator()(GstStructure* structure) const { gst_structure_free(structure); }
  };
  std::unique_ptr<GstStructure, FreeStructure> fields(gst_structure_from_string(record.text.c_str(), nullptr));
  if (!fields)
    throw Error(Code::kInvalidArgument, "gstreamer: the record \"" + record.name + "\" is no GstStructure's text");
  if (record.name == "GstProtectionMeta") {
    gst_buffer_add_protection_meta(buffer, fields.release());
    return;
  }
  const GstMetaInfo* info = gst_meta_get_info(record.name.c_str());
  if (!info || !gst_meta_info_is_custom(info))
    throw Error(Code::kNotFound, "gstreamer: no custom meta is registered as \"" + record.name + "\" in this process");
  copy_fields(fields.get(), gst_buffer_add_custom_meta(buffer, record.name.c_str()));
}

}  // namespace detail

TENON_INLINE void write_metadata(const metadata::Collection& known, const FrameInfo& info, GstBuffer* buffer) {
  detail::register_metas();
  if (!buffer || !gst_buffer_is_writable(buffer))
    throw Error(Code::kFailedPrecondition,
                "gstreamer::write_metadata: no buffer, or one with other references; gst_buffer_make_writable() "
                "gives one of your own");
  gst_buffer_foreach_meta(
      buffer,
      [](GstBuffer*, GstMeta** meta, gpointer) -> gboolean {
        if (detail::is_ours(*meta)) *meta = nullptr;
        return TRUE;
      },
      nullptr);
  const auto objects = known.all<metadata::Detection>();
  for (const auto& object : objects) detail::add_region(buffer, object, info, known);
  const auto parent_of = [&](metadata::Id id) { return detail::is_object(objects, id) ? id : metadata::kFrame; };
  for (const auto& each : known.all<metadata::Classification>())
    detail::add_custom(buffer, *each.value, parent_of(each.parent));
  for (const auto& each : known.all<metadata::TensorOutput>())
    detail::add_tensor(buffer, *each.value, info, parent_of(each.parent));
  for (const auto& each : known.all<metadata::Segmentation>())
    detail::put(detail::new_custom(buffer, kPictureMetaName, each->kKind, parent_of(each.parent)), *each.value, info);
  for (const auto& each : known.all<metadata::AudioEvent>())
    detail::add_custom(buffer, *each.value, parent_of(each.parent));
  for (const auto& each : known.all<metadata::Json>()) detail::add_custom(buffer, *each.value, parent_of(each.parent));
  for (const auto& each : known.all<metadata::Zone>()) detail::add_zone(buffer, *each.value, info);
  for (const auto& each : known.all<metadata::ZoneEvent>())
    detail::add_custom(buffer, *each.value, parent_of(each.parent));
  for (const auto& each : known.all<metadata::NotLookedAt>()) detail::add_custom(buffer, *each.value, metadata::kFrame);
  for (const auto& each : known.all<metadata::Placement>())
    detail::put(detail::new_custom(buffer, kPictureMetaName, each->kKind, metadata::kFrame), *each.value, info);
  for (const auto& each : known.all<metadata::Source>()) detail::add_custom(buffer, *each.value, metadata::kFrame);
  for (const auto& each : known.all<metadata::ReferenceTime>()) detail::add_time(buffer, *each.value);
  for (const auto& each : known.all<metadata::Record>()) detail::add_record(buffer, *each.value);
}

TENON_INLINE BufferPtr buffer_with_metadata(const Frame& frame, Deadline deadline) {
  BufferPtr made = buffer(frame, deadline);
  const auto known = metadata::find(frame);
  if (!known) return made;
  made.reset(gst_buffer_make_writable(made.release()));
  write_metadata(*known, frame.info(), made.get());
  return made;
}

}  // namespace gstreamer
}  // namespace v1
}  // namespace tenon
