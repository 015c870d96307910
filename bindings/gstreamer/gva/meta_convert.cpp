// SPDX-License-Identifier: Apache-2.0
// gvametaconvert: attaches what was found in a frame as JSON.
#include <cstdint>
#include <memory>
#include <string>

#include <gst/video/video.h>

#include <tenon/bindings/gstreamer/gva/frame_json.hpp>
#include <tenon/bindings/gstreamer/gva/gva.hpp>
#include <tenon/bindings/gstreamer/gva/in_place.hpp>
#include <tenon/bindings/gstreamer/media.hpp>
#include <tenon/core/error.hpp>

GST_DEBUG_CATEGORY_STATIC(gva_meta_convert_debug);
#define GST_CAT_DEFAULT gva_meta_convert_debug

namespace tenon {
inline namespace v1 {
namespace gst_plugin {
namespace gva {
namespace {

using Json = nlohmann::json;

/// The seconds from 1900, from which NTP counts, to 1970.
constexpr std::uint64_t kNtpToUnixNs = 2'208'988'800ULL * GST_SECOND;

struct UnrefDateTime {
  void operator()(GDateTime* time) const { g_date_time_unref(time); }
};
using DateTimePtr = std::unique_ptr<GDateTime, UnrefDateTime>;

guint handoff_signal = 0;

class MetaConvert final : public InPlace {
 public:
  using InPlace::InPlace;
  static void init_class(GstBaseTransformClass* base_class, Kind& kind) {
    init_class_of<MetaConvert>(base_class, kind);
    GST_DEBUG_CATEGORY_INIT(gva_meta_convert_debug, "gvametaconvert", 0, "Detections as text");
    handoff_signal = g_signal_new("handoff", G_TYPE_FROM_CLASS(base_class), G_SIGNAL_RUN_LAST, 0, nullptr, nullptr,
                                  nullptr, G_TYPE_NONE, 1, GST_TYPE_BUFFER);
  }

 private:
  bool adds_metas() const override { return true; }
  void start(const elements::Parameters& given) override;
  void stop() override { has_video_ = false; }
  void set_caps(GstCaps* caps) override;
  void process(GstBuffer* buffer) override;

  Json head_of(GstBuffer* buffer) const;
  void put_time_code(GstBuffer* buffer, Json& into) const;

  bool adds_empty_ = false, adds_ntp_ = false, adds_tensors_ = false, dumps_ = false, signals_ = false, is_utc_ = false,
       has_microseconds_ = false;
  int indent_ = -1;
  std::string source_;
  Json tags_;
  bool has_video_ = false;
  FrameInfo info_;
};

void MetaConvert::start(const elements::Parameters& given) {
  adds_empty_ = given.flag("add-empty-results");
  adds_ntp_ = given.flag("add-rtp-timestamp");
  adds_tensors_ = given.flag("add-tensor-data");
  dumps_ = given.text("format") == "dump-detection";
  signals_ = given.flag("signal-handoffs");
  is_utc_ = given.flag("timestamp-utc");
  has_microseconds_ = given.flag("timestamp-microseconds");
  indent_ = static_cast<int>(given.integer("json-indent"));
  source_ = given.text("source");
  tags_ = nullptr;
  if (given.text("tags").empty()) return;
  tags_ = Json::parse(given.text("tags"), nullptr, false);
  if (tags_.is_discarded())
    throw Error(Code::kInvalidArgument, given.owner() + ": tags is no JSON: " + given.text("tags"));
}

void MetaConvert::set_caps(GstCaps* caps) {
  has_video_ = gst_structure_has_name(gst_caps_get_structure(caps, 0), "video/x-raw");
  if (has_video_) info_ = gstreamer::video_caps(caps).info;
}

/// The time of day that timecodestamper gave the buffer.
void MetaConvert::put_time_code(GstBuffer* buffer, Json& into) const {
  const GstVideoTimeCodeMeta* const meta = gst_buffer_get_video_time_code_meta(buffer);
  if (!meta) return;
  DateTimePtr time(gst_video_time_code_to_date_time(&meta->tc));
  if (!time) return;
  if (is_utc_) time.reset(g_date_time_to_utc(time.get()));
  char digits[16];
  const int microseconds = g_date_time_get_microsecond(time.get());
  if (has_microseconds_)
    g_snprintf(digits, sizeof digits, "%06d", microseconds);
  else
    g_snprintf(digits, sizeof digits, "%03d", microseconds / 1000);
  const std::unique_ptr<gchar, decltype(&g_free)> seconds(g_date_time_format(time.get(), "%Y-%m-%dT%H:%M:%S"), &g_free);
  const std::unique_ptr<gchar, decltype(&g_free)> zone(g_date_time_format(time.get(), is_utc_ ? "Z" : ":%z"), &g_free);
  into["system_timestamp"] = std::string(seconds.get()) + "." + digits + zone.get();
}

Json MetaConvert::head_of(GstBuffer* buffer) const {
  Json made = Json::object();
  made["resolution"] = {{"width", info_.width_px}, {"height", info_.height_px}};
  if (!source_.empty()) made["source"] = source_;
  const GstClockTime time = base()->segment.format == GST_FORMAT_TIME
                                ? gst_segment_to_stream_time(&base()->segment, GST_FORMAT_TIME, GST_BUFFER_PTS(buffer))
                                : GST_CLOCK_TIME_NONE;
  if (GST_CLOCK_TIME_IS_VALID(time)) made["timestamp"] = time;
  if (!tags_.is_null()) made["tags"] = tags_;
  put_time_code(buffer, made);
  if (!adds_ntp_) return made;
  const gstreamer::CapsPtr ntp(gst_caps_new_empty_simple("timestamp/x-ntp"));
  const GstReferenceTimestampMeta* const meta = gst_buffer_get_reference_timestamp_meta(buffer, ntp.get());
  if (meta && GST_CLOCK_TIME_IS_VALID(meta->timestamp) && meta->timestamp >= kNtpToUnixNs)
    made["rtp"] = {{"sender_ntp_unix_timestamp_ns", meta->timestamp - kNtpToUnixNs}};
  return made;
}

void MetaConvert::process(GstBuffer* buffer) {
  if (has_video_) {
    const auto known = known_of(buffer, info_);
    if (dumps_) {
      for (const auto& object : known->all<metadata::Detection>())
        GST_INFO_OBJECT(this->object(), "Detection: %s", object->json().c_str());
    } else {
      Json objects = objects_json(*known, info_, adds_tensors_);
      Json tensors = adds_tensors_ ? frame_tensors_json(*known) : Json::array();
      if (!objects.empty() || !tensors.empty() || adds_empty_) {
        Json made = head_of(buffer);
        if (!objects.empty()) made["objects"] = std::move(objects);
        if (!tensors.empty()) made["tensors"] = std::move(tensors);
        add_message(buffer, made.dump(indent_, ' ', false, Json::error_handler_t::replace));
      }
    }
  }
  if (signals_) g_signal_emit(object(), handoff_signal, 0, buffer);
}

}  // namespace

GType meta_convert_type(Kind& kind) {
  return register_type<MetaConvert, GstBaseTransform, GstBaseTransformClass>(GST_TYPE_BASE_TRANSFORM, kind);
}

}  // namespace gva
}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon
