// SPDX-License-Identifier: Apache-2.0
// Metadata of frames to GstAnalytics' metas and back. For GStreamer 1.26 and later; link gstreamer-analytics-1.0 yourself.
#pragma once

#include <gst/gst.h>

#if GST_CHECK_VERSION(1, 26, 0) && __has_include(<gst/analytics/analytics.h>)
/// Defined where this header has something to offer.
#define TENON_GSTREAMER_ANALYTICS 1

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gst/analytics/analytics.h>

#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/core/zones.hpp>
#include <tenon/frameworks/gstreamer/frame.hpp>
#include <tenon/frameworks/gstreamer/gst.hpp>
#include <tenon/frameworks/gstreamer/turned_box.hpp>

namespace tenon {
inline namespace v1 {
namespace gstreamer {
namespace detail {

struct TensorMapping {
  GstTensorDataType gst;
  ElementType type;
};
inline constexpr TensorMapping kTensorTypes[] = {
    {GST_TENSOR_DATA_TYPE_INT8, ElementType::kI8},       {GST_TENSOR_DATA_TYPE_INT16, ElementType::kI16},
    {GST_TENSOR_DATA_TYPE_INT32, ElementType::kI32},     {GST_TENSOR_DATA_TYPE_INT64, ElementType::kI64},
    {GST_TENSOR_DATA_TYPE_UINT8, ElementType::kU8},      {GST_TENSOR_DATA_TYPE_UINT16, ElementType::kU16},
    {GST_TENSOR_DATA_TYPE_UINT32, ElementType::kU32},    {GST_TENSOR_DATA_TYPE_UINT64, ElementType::kU64},
    {GST_TENSOR_DATA_TYPE_FLOAT16, ElementType::kF16},   {GST_TENSOR_DATA_TYPE_FLOAT32, ElementType::kF32},
    {GST_TENSOR_DATA_TYPE_BFLOAT16, ElementType::kBf16}, {GST_TENSOR_DATA_TYPE_FLOAT64, ElementType::kF64},
};

/// GStreamer's quarks are texts that live as long as the process: an empty one has none.
inline GQuark quark_of(const std::string& text) { return text.empty() ? 0 : g_quark_from_string(text.c_str()); }
inline std::string text_of(GQuark quark) {
  const char* text = quark ? g_quark_to_string(quark) : nullptr;
  return text ? text : "";
}

/// Writes one collection into a relation meta.
class AnalyticsWriter {
 public:
  AnalyticsWriter(GstBuffer* buffer, GstAnalyticsRelationMeta* meta, const metadata::Collection& known)
      : buffer_(buffer), meta_(meta), known_(known) {}

  /// An object whose outline is a turned rectangle is written with its angle.
  void add(const metadata::Entry<metadata::Detection>& entry) {
    const metadata::Detection& object = *entry.value;
    const auto whole = [](float value) {
      return static_cast<gint>(std::clamp(std::round(value), -2147483520.0f, 2147483520.0f));
    };
    std::optional<TurnedBox> turned;
    for (const auto& outline : known_.of<metadata::TensorOutput>(entry.id)) {
      if (!turned) turned = turned_box(*outline.value);
    }
    const metadata::Box& box = turned ? turned->upright : object.box;
    const gint x = whole(box.x1), y = whole(box.y1), width = whole(box.x2) - x, height = whole(box.y2) - y;
    const GQuark label = quark_of(object.label);
    GstAnalyticsMtd made;
    if (turned)
      check(gst_analytics_relation_meta_add_oriented_od_mtd(meta_, label, x, y, width, height, turned->angle,
                                                            object.score, &made),
            "gst_analytics_relation_meta_add_oriented_od_mtd");
    else
      check(gst_analytics_relation_meta_add_od_mtd(meta_, label, x, y, width, height, object.score, &made),
            "gst_analytics_relation_meta_add_od_mtd");
    made_[entry.id] = made.id;
    if (const auto parent = made_.find(entry.parent); parent != made_.end()) {
      gst_analytics_relation_meta_set_relation(meta_, GST_ANALYTICS_REL_TYPE_IS_PART_OF, made.id, parent->second);
      gst_analytics_relation_meta_set_relation(meta_, GST_ANALYTICS_REL_TYPE_CONTAIN, parent->second, made.id);
    }
    if (object.track_id < 0) return;
    GstAnalyticsMtd track;
    check(gst_analytics_relation_meta_add_tracking_mtd(meta_, static_cast<guint64>(object.track_id),
                                                       GST_BUFFER_PTS(buffer_), &track),
          "gst_analytics_relation_meta_add_tracking_mtd");
    relate(made.id, track.id);
  }

  void add(const metadata::Entry<metadata::Classification>& entry) {
    GstAnalyticsMtd made;
    check(gst_analytics_relation_meta_add_one_cls_mtd(meta_, entry->score, quark_of(entry->label), &made),
          "gst_analytics_relation_meta_add_one_cls_mtd");
    relate_to_parent(made.id, entry.parent);
  }

  /// The mask's bytes are shared where they are packed. Regions are numbered as labels are; labels stay behind.
  void add(const metadata::Entry<metadata::Segmentation>& entry) {
    const metadata::Segmentation& value = *entry.value;
    if (!value.mask || value.mask.element_type() != ElementType::kU8 || value.mask.shape().size() != 2) return;
    const auto rows = static_cast<std::uint32_t>(value.mask.shape()[0]);
    const auto columns = static_cast<std::uint32_t>(value.mask.shape()[1]);
    Tensor packed = value.mask;
    if (!packed.is_contiguous()) {
      packed = Tensor();
      value.mask.copy_to(packed);
    }
    BufferPtr mask = gstreamer::buffer(packed);
    gsize offset[GST_VIDEO_MAX_PLANES] = {0};
    gint stride[GST_VIDEO_MAX_PLANES] = {static_cast<gint>(columns)};  // Not rounded up, as GStreamer would.
    gst_buffer_add_video_meta_full(mask.get(), GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, columns, rows, 1,
                                   offset, stride);
    std::vector<guint> ids(std::max<std::size_t>(value.labels.size(), 2));
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<guint>(i);
    const auto extent = [](float low, float high) {
      return static_cast<guint>(std::max(0.0f, std::round(high - low)));
    };
    GstAnalyticsMtd made;
    check(gst_analytics_relation_meta_add_segmentation_mtd(
              meta_, mask.release(), GST_SEGMENTATION_TYPE_SEMANTIC, ids.size(), ids.data(),
              static_cast<gint>(std::round(value.box.x1)), static_cast<gint>(std::round(value.box.y1)),
              extent(value.box.x1, value.box.x2), extent(value.box.y1, value.box.y2), &made),
          "gst_analytics_relation_meta_add_segmentation_mtd");
    relate_to_parent(made.id, entry.parent);
  }

 private:
  static void check(gboolean done, const char* call) {
    if (!done) throw Error(Code::kInternal, "gstreamer: no entry in a GstAnalyticsRelationMeta", call, 0);
  }
  void relate(guint a, guint b) {
    gst_analytics_relation_meta_set_relation(meta_, GST_ANALYTICS_REL_TYPE_RELATE_TO, a, b);
    gst_analytics_relation_meta_set_relation(meta_, GST_ANALYTICS_REL_TYPE_RELATE_TO, b, a);
  }
  void relate_to_parent(guint made, metadata::Id parent) {
    if (const auto found = made_.find(parent); found != made_.end()) relate(found->second, made);
  }

  GstBuffer* buffer_;
  GstAnalyticsRelationMeta* meta_;
  const metadata::Collection& known_;
  std::map<metadata::Id, guint> made_;  ///< Detections' ids in the meta.
};

/// Reads one relation meta.
class AnalyticsReader {
 public:
  AnalyticsReader(GstAnalyticsRelationMeta* meta, metadata::Collection& known) : meta_(meta), known_(known) {}

  void read() {
    for (guint id : ids_of(gst_analytics_od_mtd_get_mtd_type())) detection(id, 0);
    for (guint id : ids_of(gst_analytics_cls_mtd_get_mtd_type())) classification(id);
    for (guint id : ids_of(gst_analytics_segmentation_mtd_get_mtd_type())) segmentation(id);
  }

 private:
  std::vector<guint> ids_of(GstAnalyticsMtdType type) const {
    std::vector<guint> ids;
    gpointer state = nullptr;
    GstAnalyticsMtd found;
    while (gst_analytics_relation_meta_iterate(meta_, &state, type, &found)) ids.push_back(found.id);
    return ids;
  }
  bool related(guint id, GstAnalyticsRelTypes relation, GstAnalyticsMtdType type, GstAnalyticsMtd& found) const {
    gpointer state = nullptr;
    return gst_analytics_relation_meta_get_direct_related(meta_, id, relation, type, &state, &found);
  }
  metadata::Id object_of(guint id) const {
    GstAnalyticsMtd object;
    if (!related(id, GST_ANALYTICS_REL_TYPE_RELATE_TO, gst_analytics_od_mtd_get_mtd_type(), object))
      return metadata::kFrame;
    const auto found = read_.find(object.id);
    return found == read_.end() ? metadata::kFrame : found->second;
  }

  /// Those that an object is a part of come first. @param depth  Ends circles of relations.
  metadata::Id detection(guint id, guint depth) {
    if (const auto found = read_.find(id); found != read_.end()) return found->second;
    const GstAnalyticsMtdType type = gst_analytics_od_mtd_get_mtd_type();
    metadata::Id parent = metadata::kFrame;
    GstAnalyticsMtd other;
    if (depth < gst_analytics_relation_get_length(meta_) && related(id, GST_ANALYTICS_REL_TYPE_IS_PART_OF, type, other))
      parent = detection(other.id, depth + 1);
    if (const auto found = read_.find(id); found != read_.end()) return found->second;  // It is a part of itself.
    GstAnalyticsMtd from;
    gint x = 0, y = 0, width = 0, height = 0;
    gfloat score = 0, angle = 0;
    if (!gst_analytics_relation_meta_get_od_mtd(meta_, id, &from) ||
        !gst_analytics_od_mtd_get_oriented_location(&from, &x, &y, &width, &height, &angle, &score))
      throw Error(Code::kInvalidArgument, "gstreamer: a detection of a GstAnalyticsRelationMeta cannot be read",
                  "gst_analytics_od_mtd_get_oriented_location", static_cast<std::int64_t>(id));
    const TurnedBox place{
        {static_cast<float>(x), static_cast<float>(y), static_cast<float>(x) + static_cast<float>(width),
         static_cast<float>(y) + static_cast<float>(height)},
        std::isfinite(angle) ? angle : 0};
    metadata::Detection object;
    object.box = place.angle == 0 ? place.upright : place.around();
    object.label = text_of(gst_analytics_od_mtd_get_obj_type(&from));
    object.score = score;
    if (related(id, GST_ANALYTICS_REL_TYPE_RELATE_TO, gst_analytics_tracking_mtd_get_mtd_type(), other)) {
      guint64 track = 0;
      GstClockTime first = 0, last = 0;
      gboolean lost = FALSE;
      if (gst_analytics_tracking_mtd_get_info(&other, &track, &first, &last, &lost) && track <= INT64_MAX)
        object.track_id = static_cast<std::int64_t>(track);
    }
    const metadata::Id made = read_.emplace(id, known_.add(std::move(object), parent)).first->second;
    if (place.angle != 0) add_outline(place, score, made);
    return made;
  }

  void add_outline(const TurnedBox& place, float score, metadata::Id object) {
    Tensor corners(ElementType::kF32, Shape{4, 3});
    auto* value = corners.data<float>();
    for (const metadata::Point& corner : place.corners()) *value++ = corner.x, *value++ = corner.y, *value++ = score;
    known_.add(metadata::TensorOutput{std::move(corners), "corners", "", "polygon"}, object);
  }

  /// Reads the likeliest class of the entry.
  void classification(guint id) {
    GstAnalyticsMtd from;
    if (!gst_analytics_relation_meta_get_cls_mtd(meta_, id, &from)) return;
    const gsize count = gst_analytics_cls_mtd_get_length(&from);
    if (count == 0) return;
    gsize best = 0;
    for (gsize i = 1; i < count; ++i) {
      if (gst_analytics_cls_mtd_get_level(&from, i) > gst_analytics_cls_mtd_get_level(&from, best)) best = i;
    }
    known_.add(metadata::Classification{text_of(gst_analytics_cls_mtd_get_quark(&from, best)),
                                        count > 1 ? static_cast<int>(best) : -1,
                                        gst_analytics_cls_mtd_get_level(&from, best), ""},
               object_of(id));
  }

  /// @errors kInvalidArgument: a mask that says no size; kOutOfRange: one that is shorter
  void segmentation(guint id) {
    GstAnalyticsMtd from;
    gint x = 0, y = 0;
    guint width = 0, height = 0;
    if (!gst_analytics_relation_meta_get_segmentation_mtd(meta_, id, &from)) return;
    const BufferPtr mask(gst_analytics_segmentation_mtd_get_mask(&from, &x, &y, &width, &height));
    const GstVideoMeta* video = mask ? gst_buffer_get_video_meta(mask.get()) : nullptr;
    if (!video || video->format != GST_VIDEO_FORMAT_GRAY8 || video->stride[0] < 0)
      throw Error(Code::kInvalidArgument, "gstreamer: a segmentation's mask is no GRAY8 picture with a GstVideoMeta");
    const metadata::Box box{static_cast<float>(x), static_cast<float>(y),
                            static_cast<float>(x) + static_cast<float>(width ? width : video->width),
                            static_cast<float>(y) + static_cast<float>(height ? height : video->height)};
    std::vector<std::string> labels;
    for (gsize i = 0; i < gst_analytics_segmentation_mtd_get_region_count(&from); ++i)
      labels.push_back(std::to_string(gst_analytics_segmentation_mtd_get_region_id(&from, i)));
    const TensorInfo info{ElementType::kU8, {video->height, video->width}, {video->stride[0], 1}};
    known_.add(metadata::Segmentation{box, wrap(mask.get(), info, video->offset[0]), std::move(labels)}, object_of(id));
  }

  GstAnalyticsRelationMeta* meta_;
  metadata::Collection& known_;
  std::map<guint, metadata::Id> read_;  ///< Detections' entries by their ids in the meta.
};

struct FreeTensor {
  void operator()(GstTensor* tensor) const { gst_tensor_free(tensor); }
};

inline std::unique_ptr<GstTensor, FreeTensor> gst_tensor(const metadata::TensorOutput& value) {
  Tensor packed = value.tensor;
  if (packed && (!packed.is_contiguous() || !packed.is_host_addressable())) {
    packed = Tensor();
    value.tensor.copy_to(packed);
  }
  const auto* mapping = std::find_if(std::begin(kTensorTypes), std::end(kTensorTypes), [&](const TensorMapping& each) {
    return packed && each.type == packed.element_type();
  });
  if (mapping == std::end(kTensorTypes)) return nullptr;
  std::vector<gsize> extents(packed.shape().begin(), packed.shape().end());
  return std::unique_ptr<GstTensor, FreeTensor>(
      gst_tensor_new_simple(quark_of(value.name), mapping->gst, gstreamer::buffer(packed).release(),
                            GST_TENSOR_DIM_ORDER_ROW_MAJOR, extents.size(), extents.data()));
}

/// @errors kUnimplemented: 4 bits, columns first; kOutOfRange: fewer bytes than its extents say
inline metadata::TensorOutput tensor_output(const GstTensor& from) {
  const auto* mapping = std::find_if(std::begin(kTensorTypes), std::end(kTensorTypes),
                                     [&](const TensorMapping& each) { return each.gst == from.data_type; });
  if (mapping == std::end(kTensorTypes) || from.dims_order != GST_TENSOR_DIM_ORDER_ROW_MAJOR)
    throw Error(Code::kUnimplemented, "gstreamer: a GstTensor \"" + text_of(from.id) +
                                          "\" of 4 bits, or with its columns first, has no tensor in Tenon");
  Shape shape;
  for (gsize i = 0; i < from.num_dims; ++i) shape.push_back(from.dims[i]);
  return {wrap(from.data, TensorInfo{mapping->type, shape, {}}), text_of(from.id), "", ""};
}

}  // namespace detail

/// Writes detections, their classes, tracks and masks as a GstAnalyticsRelationMeta, and tensors of the frame as a
/// GstTensorMeta, instead of those that `buffer` has. An object whose outline (format "polygon") is a turned rectangle has its angle there;
/// other outlines stay behind, and the object has its upright box. Boxes are whole pixels there; labels of masks, models' names, tensors
/// of objects and all other types stay behind: write_metadata() carries them.
/// @errors kFailedPrecondition: no buffer, or one with other references; as buffer(const Tensor&) for tensors and masks.
/// @thread any, one at a time for each buffer.
inline void write_analytics(const metadata::Collection& known, GstBuffer* buffer) {
  if (!buffer || !gst_buffer_is_writable(buffer))
    throw Error(Code::kFailedPrecondition,
                "gstreamer::write_analytics: no buffer, or one with other references; gst_buffer_make_writable() "
                "gives one of your own");
  start();
  if (auto* old = gst_buffer_get_analytics_relation_meta(buffer)) gst_buffer_remove_meta(buffer, GST_META_CAST(old));
  if (auto* old = gst_buffer_get_tensor_meta(buffer)) gst_buffer_remove_meta(buffer, &old->meta);
  const auto objects = known.all<metadata::Detection>();
  const auto classes = known.all<metadata::Classification>();
  const auto masks = known.all<metadata::Segmentation>();
  if (!objects.empty() || !classes.empty() || !masks.empty()) {
    detail::AnalyticsWriter writer(buffer, gst_buffer_add_analytics_relation_meta(buffer), known);
    for (const auto& each : objects) writer.add(each);
    for (const auto& each : classes) writer.add(each);
    for (const auto& each : masks) writer.add(each);
  }
  std::vector<GstTensor*> tensors;
  for (const auto& each : known.of<metadata::TensorOutput>(metadata::kFrame)) {
    if (auto made = detail::gst_tensor(*each.value)) tensors.push_back(made.release());
  }
  if (tensors.empty()) return;
  auto* held = static_cast<GstTensor**>(g_malloc_n(tensors.size(), sizeof(GstTensor*)));
  std::copy(tensors.begin(), tensors.end(), held);
  gst_tensor_meta_set(gst_buffer_add_tensor_meta(buffer), static_cast<guint>(tensors.size()), held);
}

/// Adds what the GstAnalyticsRelationMeta and the GstTensorMeta of `buffer` say to `known`. A turned object gets the upright box around it,
/// and its corners as an outline, "corners" of the format "polygon". Tensors and masks are not
/// copied: they keep their buffers. If an object has many classes, the likeliest is read.
/// @errors kInvalidArgument: a null buffer, a mask that is no picture; kUnimplemented, kOutOfRange: a tensor that Tenon
/// cannot have, or with too few bytes.
inline void read_analytics(GstBuffer* buffer, metadata::Collection& known) {
  if (!buffer) throw Error(Code::kInvalidArgument, "gstreamer::read_analytics: a null GstBuffer");
  if (auto* meta = gst_buffer_get_analytics_relation_meta(buffer)) detail::AnalyticsReader(meta, known).read();
  if (const GstTensorMeta* meta = gst_buffer_get_tensor_meta(buffer)) {
    for (gsize i = 0; i < meta->num_tensors; ++i) known.add(detail::tensor_output(*meta->tensors[i]));
  }
}

}  // namespace gstreamer
}  // namespace v1
}  // namespace tenon
#endif
