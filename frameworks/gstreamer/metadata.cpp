// SPDX-License-Identifier: Apache-2.0
// Metadata of frames to GStreamer's metas and back.
#include <tenon/frameworks/gstreamer/metadata.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <locale>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/orientation.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/placement.hpp>
#include <tenon/core/shape.hpp>
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

TENON_INLINE std::string field(const GstStructure* from, const char* name) {
  const char* text = gst_structure_get_string(from, name);
  return text ? text : "";
}

TENON_INLINE double number(const GstStructure* from, const char* name, double missing) {
  double value = missing;
  gst_structure_get_double(from, name, &value);
  return value;
}

TENON_INLINE int integer(const GstStructure* from, const char* name, int missing) {
  gst_structure_get_int(from, name, &missing);
  return missing;
}

TENON_INLINE std::int64_t integer64(const GstStructure* from, const char* name, std::int64_t missing) {
  gint64 value = missing;
  gst_structure_get_int64(from, name, &value);
  return value;
}

// What entries of each type write into a structure, and read from it.

TENON_INLINE void put_class(GstStructure* into, const std::string& label, int label_id, float score) {
  gst_structure_set(into, "label", G_TYPE_STRING, label.c_str(), "label_id", G_TYPE_INT, label_id, "confidence",
                    G_TYPE_DOUBLE, static_cast<double>(score), nullptr);
}

TENON_INLINE void put(GstStructure* into, const metadata::Classification& value) {
  put_class(into, value.label, value.label_id, value.score);
  gst_structure_set(into, "model_name", G_TYPE_STRING, value.model.c_str(), nullptr);
}

TENON_INLINE metadata::Classification classification(const GstStructure* from) {
  return {field(from, "label"), integer(from, "label_id", -1), static_cast<float>(number(from, "confidence", 0)),
          field(from, "model_name")};
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

TENON_INLINE bool parse_shape(std::string_view text, Shape& shape) {
  while (!text.empty()) {
    std::size_t extent = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
    if (error != std::errc()) return false;
    shape.push_back(extent);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (!text.empty() && text.front() == ',') text.remove_prefix(1);
  }
  return true;
}

/// Empty where the structure has no tensor. @errors kInvalidArgument, kOutOfRange: one that is damaged
TENON_INLINE Tensor tensor(const GstStructure* from) {
  GstBuffer* bytes = nullptr;
  if (!gst_structure_get(from, "data", GST_TYPE_BUFFER, &bytes, nullptr) || !bytes) return {};
  const BufferPtr held(bytes);
  Shape shape;
  const std::string type_name = field(from, "type"), extents = field(from, "shape");
  const auto type = element_type_from_name(type_name);
  if (!type || !parse_shape(extents, shape))
    throw Error(Code::kInvalidArgument, "gstreamer: a tensor's meta says type \"" + type_name + "\" and shape \"" +
                                            extents + "\"; expected such as \"f32\" and \"1,3,4\"");
  return wrap(bytes, TensorInfo{*type, shape, {}});
}

TENON_INLINE void put(GstStructure* into, const metadata::TensorOutput& value) {
  gst_structure_set(into, "layer_name", G_TYPE_STRING, value.name.c_str(), "model_name", G_TYPE_STRING,
                    value.model.c_str(), "format", G_TYPE_STRING, value.format.c_str(), nullptr);
  put_tensor(into, value.tensor);
}

/// Points that were written for a picture of another size have been scaled since.
TENON_INLINE metadata::TensorOutput tensor_output(const GstStructure* from, const FrameInfo& info) {
  metadata::TensorOutput value{tensor(from), field(from, "layer_name"), field(from, "model_name"),
                               field(from, "format")};
  const guint own_width = info.upright_width_px(), own_height = info.upright_height_px();
  guint width = own_width, height = own_height;
  gst_structure_get(from, "picture_width", G_TYPE_UINT, &width, "picture_height", G_TYPE_UINT, &height, nullptr);
  if ((width == own_width && height == own_height) || width == 0 || height == 0 || !value.has_points()) return value;
  const float by_x = static_cast<float>(own_width) / static_cast<float>(width);
  const float by_y = static_cast<float>(own_height) / static_cast<float>(height);
  return value.moved([&](float& x, float& y) { x *= by_x, y *= by_y; });
}

/// The box as fractions of the picture, which stay true when it is scaled.
TENON_INLINE void put_box(GstStructure* into, const metadata::Box& box, const FrameInfo& info) {
  const double width = std::max(info.upright_width_px(), 1u), height = std::max(info.upright_height_px(), 1u);
  gst_structure_set(into, "x_min", G_TYPE_DOUBLE, static_cast<double>(box.x1) / width, "x_max", G_TYPE_DOUBLE,
                    static_cast<double>(box.x2) / width, "y_min", G_TYPE_DOUBLE, static_cast<double>(box.y1) / height,
                    "y_max", G_TYPE_DOUBLE, static_cast<double>(box.y2) / height, nullptr);
}

/// False where there is none.
TENON_INLINE bool get_box(const GstStructure* from, const FrameInfo& info, metadata::Box& box) {
  double x_min = 0, x_max = 0, y_min = 0, y_max = 0;
  if (!gst_structure_get(from, "x_min", G_TYPE_DOUBLE, &x_min, "x_max", G_TYPE_DOUBLE, &x_max, "y_min", G_TYPE_DOUBLE,
                         &y_min, "y_max", G_TYPE_DOUBLE, &y_max, nullptr))
    return false;
  const double width = info.upright_width_px(), height = info.upright_height_px();
  box = {static_cast<float>(x_min * width), static_cast<float>(y_min * height), static_cast<float>(x_max * width),
         static_cast<float>(y_max * height)};
  return true;
}

TENON_INLINE void put(GstStructure* into, const metadata::Segmentation& value, const FrameInfo& info) {
  put_box(into, value.box, info);
  put_tensor(into, value.mask);
  std::string labels;
  for (const std::string& label : value.labels) labels += label + "\n";
  gst_structure_set(into, "labels", G_TYPE_STRING, labels.c_str(), nullptr);
}

TENON_INLINE metadata::Segmentation segmentation(const GstStructure* from, const FrameInfo& info) {
  metadata::Segmentation value{{}, tensor(from), {}};
  get_box(from, info, value.box);
  const std::string text = field(from, "labels");
  for (std::string_view labels = text; !labels.empty();) {
    const std::size_t end = std::min(labels.find('\n'), labels.size());
    value.labels.emplace_back(labels.substr(0, end));
    labels.remove_prefix(std::min(end + 1, labels.size()));
  }
  return value;
}

TENON_INLINE void put(GstStructure* into, const metadata::AudioEvent& value) {
  put_class(into, value.label, value.label_id, value.score);
  gst_structure_set(into, "begin_ns", G_TYPE_INT64, static_cast<gint64>(value.begin_ns), "end_ns", G_TYPE_INT64,
                    static_cast<gint64>(value.end_ns), nullptr);
}

TENON_INLINE metadata::AudioEvent audio_event(const GstStructure* from) {
  return {field(from, "label"), integer(from, "label_id", -1), static_cast<float>(number(from, "confidence", 0)),
          integer64(from, "begin_ns", 0), integer64(from, "end_ns", 0)};
}

TENON_INLINE void put(GstStructure* into, const metadata::Json& value) {
  gst_structure_set(into, "message", G_TYPE_STRING, value.text.c_str(), nullptr);
}

TENON_INLINE void put(GstStructure* into, const metadata::ZoneEvent& value) {
  gst_structure_set(into, "zone", G_TYPE_STRING, value.zone.c_str(), "what", G_TYPE_INT, static_cast<gint>(value.what),
                    "seconds", G_TYPE_DOUBLE, value.seconds, "track_id", G_TYPE_INT64,
                    static_cast<gint64>(value.track_id), nullptr);
}

TENON_INLINE metadata::ZoneEvent zone_event(const GstStructure* from) {
  constexpr int kLast = static_cast<int>(metadata::ZoneEvent::What::kMoves);
  return {field(from, "zone"), static_cast<metadata::ZoneEvent::What>(std::clamp(integer(from, "what", 0), 0, kLast)),
          number(from, "seconds", 0), integer64(from, "track_id", -1)};
}

TENON_INLINE void put(GstStructure* into, const metadata::NotLookedAt& value) {
  gst_structure_set(into, "model", G_TYPE_STRING, value.model.c_str(), nullptr);
}

TENON_INLINE void put(GstStructure* into, const metadata::Source& value) {
  gst_structure_set(into, "uri", G_TYPE_STRING, value.uri.c_str(), "stream", G_TYPE_UINT64,
                    static_cast<guint64>(value.stream), "sequence", G_TYPE_UINT64, static_cast<guint64>(value.sequence),
                    nullptr);
}

TENON_INLINE metadata::Source source(const GstStructure* from) {
  guint64 stream = 0, sequence = 0;
  gst_structure_get_uint64(from, "stream", &stream);
  gst_structure_get_uint64(from, "sequence", &sequence);
  return {field(from, "uri"), stream, sequence};
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

TENON_INLINE metadata::Zone zone(const GstStructure* from, const FrameInfo& info) {
  metadata::Zone value;
  value.name = field(from, "name");
  value.shape = static_cast<metadata::Zone::Shape>(std::clamp(integer(from, "form", 0), 0, 2));
  gboolean is_crowded = FALSE;
  value.is_crowded = gst_structure_get_boolean(from, "crowded", &is_crowded) && is_crowded;
  if (const auto points = tensor_output(from, info); points.has_points()) {
    const auto* at = points.tensor.data<float>();
    for (std::size_t i = 0; i < points.tensor.shape()[0]; ++i, at += points.tensor.shape()[1])
      value.points.push_back({at[0], at[1]});
  }
  std::istringstream counts(field(from, "counts"));
  counts.imbue(std::locale::classic());
  for (metadata::Zone::Count one;
       counts >> one.inside >> one.entered >> one.left && counts.get() == ' ' && std::getline(counts, one.label);)
    value.counts.push_back(one);
  return value;
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

TENON_INLINE metadata::Placement placement(const GstStructure* from, const FrameInfo& info) {
  metadata::Placement value{{number(from, "x0", 0), number(from, "xx", 1), number(from, "xy", 0), number(from, "y0", 0),
                             number(from, "yx", 0), number(from, "yy", 1)},
                            number(from, "width", 0),
                            number(from, "height", 0)};
  guint width = 0, height = 0;
  gst_structure_get(from, "picture_width", G_TYPE_UINT, &width, "picture_height", G_TYPE_UINT, &height, nullptr);
  const double by_x = static_cast<double>(width) / std::max(info.upright_width_px(), 1u),
               by_y = static_cast<double>(height) / std::max(info.upright_height_px(), 1u);
  value.map = metadata::Affine{0, by_x, 0, 0, 0, by_y}.then(value.map);
  return value;
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

namespace detail {

/// Reads one buffer's metas into a collection.
class MetaReader {
 public:
  MetaReader(const FrameInfo& info, metadata::Collection& known) : info_(info), known_(known) {}

  /// Regions may come in any order, and what they belong to after them: those are read first, parents before children.
  void read(GstBuffer* buffer) {
    std::vector<const GstVideoRegionOfInterestMeta*> regions;
    gpointer state = nullptr;
    while (GstMeta* meta = gst_buffer_iterate_meta(buffer, &state)) note_details(meta);
    state = nullptr;
    while (GstMeta* meta = gst_buffer_iterate_meta_filtered(buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE))
      regions.push_back(reinterpret_cast<const GstVideoRegionOfInterestMeta*>(meta));
    // Each round reads those whose parents are known; where no parent is there, or they form a circle, the frame is.
    for (bool any = true; !regions.empty();) {
      const bool force = !any;
      any = false;
      for (auto at = regions.begin(); at != regions.end();) {
        const gint parent = (*at)->parent_id;
        const bool waits = parent > 0 && parent != (*at)->id && !ids_.count(parent) &&
                           std::any_of(regions.begin(), regions.end(), [&](const auto* r) { return r->id == parent; });
        if (waits && !force) {
          ++at;
          continue;
        }
        read_region(**at);
        at = regions.erase(at);
        any = true;
      }
    }
    state = nullptr;
    while (GstMeta* meta = gst_buffer_iterate_meta(buffer, &state)) read_other(meta);
  }

 private:
  metadata::Id entry_of(gint region) const {
    const auto found = ids_.find(region);
    return found == ids_.end() ? metadata::kFrame : found->second;
  }

  void read_region(const GstVideoRegionOfInterestMeta& region) {
    metadata::Detection object;
    const auto at = [](guint value) { return static_cast<float>(value); };
    const Area<float> part = upright_area<float>({at(region.x), at(region.y), at(region.w), at(region.h)},
                                                 info_.rotation, at(info_.width_px), at(info_.height_px));
    object.box = {part.x, part.y, part.x + part.width, part.y + part.height};
    const char* type = g_quark_to_string(region.roi_type);
    object.label = type ? type : "";
    const auto details = details_.find(region.id);
    const bool ours = region.id > 0 && details != details_.end();
    if (ours) {
      read_detection(details->second, object);
      object.track_id = integer64(details->second, "track_id", -1);
    }
    for (const GList* at = region.params; at && !ours; at = at->next) {
      const auto* param = static_cast<const GstStructure*>(at->data);
      if (gst_structure_has_name(param, "detection")) read_detection(param, object);
      if (gst_structure_has_name(param, "object_id")) object.track_id = integer(param, "id", -1);
    }
    const metadata::Id id = known_.add(std::move(object), entry_of(region.parent_id));
    if (region.id > 0) ids_.emplace(region.id, id);
    for (const GList* at = region.params; at; at = at->next)
      read_param(static_cast<const GstStructure*>(at->data), id, ours);
  }

  /// @param ours  Classifications are read from custom metas.
  void read_param(const GstStructure* param, metadata::Id object, bool ours) {
    if (gst_structure_has_name(param, "detection") || gst_structure_has_name(param, "object_id")) return;
    if (ours && gst_structure_has_name(param, "classification")) return;
    if (gst_structure_has_field(param, "data"))
      known_.add(tensor_output(param, info_), object);
    else if (gst_structure_has_field(param, "label"))
      known_.add(classification(param), object);
    else
      known_.add(metadata::Record{"GstVideoRegionOfInterestMeta", take_text(gst_structure_to_string(param))}, object);
  }

  static const GstStructure* fields_of(GstMeta* meta) {
    if (!gst_meta_info_is_custom(meta->info)) return nullptr;
    auto* custom = reinterpret_cast<GstCustomMeta*>(meta);
    const bool ours = gst_custom_meta_has_name(custom, kMetaName) || gst_custom_meta_has_name(custom, kPictureMetaName);
    return ours ? gst_custom_meta_get_structure(custom) : nullptr;
  }
  void note_details(GstMeta* meta) {
    const GstStructure* fields = fields_of(meta);
    if (fields && field(fields, "kind") == metadata::Detection::kKind.name())
      details_[integer(fields, "region", 0)] = fields;
  }

  /// The exact box, unless an element has moved the region since it was written; scaling rounds it.
  void read_detection(const GstStructure* from, metadata::Detection& object) {
    if (gst_structure_has_field(from, "label")) object.label = field(from, "label");
    object.label_id = integer(from, "label_id", -1);
    object.score = static_cast<float>(number(from, "confidence", 0));
    metadata::Box exact;
    if (!get_box(from, info_, exact)) return;
    const auto near = [](float a, float b) { return std::abs(a - b) <= 1; };
    if (near(exact.x1, object.box.x1) && near(exact.y1, object.box.y1) && near(exact.x2, object.box.x2) &&
        near(exact.y2, object.box.y2))
      object.box = exact;
  }

  void read_other(GstMeta* meta) {
    if (meta->info->api == GST_REFERENCE_TIMESTAMP_META_API_TYPE) {
      read_time(*reinterpret_cast<const GstReferenceTimestampMeta*>(meta));
    } else if (meta->info->api == GST_PROTECTION_META_API_TYPE) {
      const GstStructure* info = reinterpret_cast<const GstProtectionMeta*>(meta)->info;
      known_.add(metadata::Record{"GstProtectionMeta", take_text(gst_structure_to_string(info))});
    } else if (gst_meta_info_is_custom(meta->info)) {
      if (const GstStructure* fields = fields_of(meta)) return read_custom(fields);
      const GstStructure* fields = gst_custom_meta_get_structure(reinterpret_cast<GstCustomMeta*>(meta));
      known_.add(metadata::Record{gst_structure_get_name(fields), take_text(gst_structure_to_string(fields))});
    }
  }

  void read_time(const GstReferenceTimestampMeta& time) {
    constexpr std::string_view kPrefix = "timestamp/x-";
    std::string clock = take_text(gst_caps_to_string(time.reference));
    if (std::string_view(clock).starts_with(kPrefix) && clock.find_first_of(", (") == std::string::npos)
      clock.erase(0, kPrefix.size());
    const auto ns = [](GstClockTime value, std::int64_t none) {
      return value > static_cast<GstClockTime>(INT64_MAX) ? none : static_cast<std::int64_t>(value);
    };
    known_.add(metadata::ReferenceTime{std::move(clock), ns(time.timestamp, 0), ns(time.duration, -1)});
  }

  void read_custom(const GstStructure* fields) {
    const std::string kind = field(fields, "kind");
    const metadata::Id parent = entry_of(integer(fields, "region", 0));
    if (kind == metadata::Detection::kKind.name()) return;  // Read with its region, and gone where that is gone.
    if (kind == metadata::Classification::kKind.name())
      known_.add(classification(fields), parent);
    else if (kind == metadata::TensorOutput::kKind.name())
      known_.add(tensor_output(fields, info_), parent);
    else if (kind == metadata::Segmentation::kKind.name())
      known_.add(segmentation(fields, info_), parent);
    else if (kind == metadata::AudioEvent::kKind.name())
      known_.add(audio_event(fields), parent);
    else if (kind == metadata::Json::kKind.name())
      known_.add(metadata::Json{field(fields, "message")}, parent);
    else if (kind == metadata::Source::kKind.name())
      known_.add(source(fields), parent);
    else if (kind == metadata::Zone::kKind.name())
      known_.add(zone(fields, info_), parent);
    else if (kind == metadata::ZoneEvent::kKind.name())
      known_.add(zone_event(fields), parent);
    else if (kind == metadata::Placement::kKind.name())
      known_.add(placement(fields, info_), parent);
    else if (kind == metadata::NotLookedAt::kKind.name())
      known_.add(metadata::NotLookedAt{field(fields, "model")}, parent);
    else
      throw Error(Code::kInvalidArgument, std::string("gstreamer: a ") + gst_structure_get_name(fields) +
                                              " says kind \"" + kind + "\", which this version does not know");
  }

  const FrameInfo& info_;
  metadata::Collection& known_;
  std::map<gint, metadata::Id> ids_;             ///< By ids of regions.
  std::map<gint, const GstStructure*> details_;  ///< What write_metadata() wrote of a region beside it.
};

}  // namespace detail

TENON_INLINE void read_metadata(GstBuffer* buffer, const FrameInfo& info, metadata::Collection& known) {
  if (!buffer) throw Error(Code::kInvalidArgument, "gstreamer::read_metadata: a null GstBuffer");
  detail::MetaReader(info, known).read(buffer);
}

TENON_INLINE FrameInfo whole_picture(GstBuffer* buffer, const FrameInfo& info) {
  FrameInfo whole = info;
  const GstVideoMeta* const meta = gst_buffer_get_video_crop_meta(buffer) ? gst_buffer_get_video_meta(buffer) : nullptr;
  if (meta) whole.width_px = meta->width, whole.height_px = meta->height;
  return whole;
}

TENON_INLINE std::shared_ptr<metadata::Collection> cropped(GstBuffer* buffer,
                                                           std::shared_ptr<metadata::Collection> known) {
  const GstVideoCropMeta* const crop = gst_buffer_get_video_crop_meta(buffer);
  if (!crop || known->empty()) return known;
  const auto left = static_cast<float>(crop->x), top = static_cast<float>(crop->y);
  return known->cropped({left, top, left + static_cast<float>(crop->width), top + static_cast<float>(crop->height)});
}

TENON_INLINE std::shared_ptr<metadata::Collection> read_metadata(GstBuffer* buffer, const FrameInfo& info) {
  auto known = std::make_shared<metadata::Collection>();
  if (!buffer) throw Error(Code::kInvalidArgument, "gstreamer::read_metadata: a null GstBuffer");
  read_metadata(buffer, whole_picture(buffer, info), *known);
  return cropped(buffer, std::move(known));
}

TENON_INLINE Frame wrap_with_metadata(GstSample* sample, CapsCache& cache) {
  Frame frame = wrap(sample, cache);
  auto known = read_metadata(gst_sample_get_buffer(sample), frame.info());
  if (!known->empty()) metadata::set(frame, std::move(known));
  return frame;
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
