// SPDX-License-Identifier: Apache-2.0
// Metadata of frames from GStreamer's metas; metadata.cpp writes them.
#include <tenon/frameworks/gstreamer/metadata.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <locale>
#include <map>
#include <memory>
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

TENON_INLINE metadata::Classification classification(const GstStructure* from) {
  return {field(from, "label"), integer(from, "label_id", -1), static_cast<float>(number(from, "confidence", 0)),
          field(from, "model_name")};
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

TENON_INLINE metadata::AudioEvent audio_event(const GstStructure* from) {
  return {field(from, "label"), integer(from, "label_id", -1), static_cast<float>(number(from, "confidence", 0)),
          integer64(from, "begin_ns", 0), integer64(from, "end_ns", 0)};
}

TENON_INLINE metadata::ZoneEvent zone_event(const GstStructure* from) {
  constexpr int kLast = static_cast<int>(metadata::ZoneEvent::What::kMoves);
  return {field(from, "zone"), static_cast<metadata::ZoneEvent::What>(std::clamp(integer(from, "what", 0), 0, kLast)),
          number(from, "seconds", 0), integer64(from, "track_id", -1)};
}

TENON_INLINE metadata::Source source(const GstStructure* from) {
  guint64 stream = 0, sequence = 0;
  gst_structure_get_uint64(from, "stream", &stream);
  gst_structure_get_uint64(from, "sequence", &sequence);
  return {field(from, "uri"), stream, sequence};
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

}  // namespace gstreamer
}  // namespace v1
}  // namespace tenon
