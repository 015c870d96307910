// SPDX-License-Identifier: Apache-2.0
// Transforms of sound as GStreamer elements. They may hold buffers back; events that are bound to a place in the stream wait for them.
#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <gst/audio/audio.h>

#include <tenon/bindings/gstreamer/host.hpp>
#include <tenon/bindings/gstreamer/media.hpp>
#include <tenon/core/audio.hpp>
#include <tenon/core/error.hpp>
#include <tenon/frameworks/gstreamer/audio.hpp>
#include <tenon/frameworks/gstreamer/caps.hpp>
#include <tenon/frameworks/gstreamer/metadata.hpp>

namespace tenon {
inline namespace v1 {
namespace gst_plugin {
namespace {

namespace gs = tenon::gstreamer;
using elements::Item;
using elements::StreamInfo;
using elements::Transform;

class AudioFilter final : public Host, private elements::Output {
 public:
  AudioFilter(GstElement* object, const Kind& kind);
  ~AudioFilter() override;
  static void init_class(GstElementClass* element_class, Kind& kind);

 private:
  static AudioFilter& of(gpointer object) { return host_of<AudioFilter, GstElement>(object); }
  GstStateChangeReturn change_state(GstStateChange change);
  void stop();
  GstFlowReturn chain(const gs::BufferPtr& buffer);
  gboolean event(GstEvent* event);
  gboolean src_query(GstQuery* query);
  /// A buffer of this length is held back: what follows gets the next ones later by as much.
  void set_delay(std::int64_t length_ns);
  bool set_caps(GstCaps* caps);
  /// Ends the stream. What was held back is passed on or dropped.
  void end(bool drop);
  void emit(Item item) override;
  /// Tells the application what was heard.
  void post(const metadata::AudioEvent& heard) const;
  gboolean push_held();
  Transform& transform() const { return *std::get<std::unique_ptr<Transform>>(*element_); }

  GstPad *sink_ = nullptr, *src_ = nullptr;  ///< The pads of the object.
  std::optional<elements::AnyElement> element_;
  /// @name Under the sink pad's stream lock. @{
  AudioInfo info_;
  bool has_caps_ = false, is_open_ = false, is_dropping_ = false, is_waiting_ = false;
  GstFlowReturn flow_ = GST_FLOW_OK;
  std::deque<GstEvent*> held_;
  /// @}
  std::atomic<bool> is_flushing_{false};
  std::atomic<std::int64_t> delay_ns_{0};
};

AudioFilter::AudioFilter(GstElement* object, const Kind& kind) : Host(object, kind) {
  auto* const element_class = reinterpret_cast<GstElementClass*>(reinterpret_cast<GTypeInstance*>(object)->g_class);
  sink_ = gst_pad_new_from_template(gst_element_class_get_pad_template(element_class, "sink"), "sink");
  src_ = gst_pad_new_from_template(gst_element_class_get_pad_template(element_class, "src"), "src");
  gst_pad_set_chain_function(
      sink_, [](GstPad*, GstObject* parent, GstBuffer* buffer) { return of(parent).chain(gs::BufferPtr(buffer)); });
  gst_pad_set_event_function(sink_,
                             [](GstPad*, GstObject* parent, GstEvent* event) { return of(parent).event(event); });
  gst_pad_set_query_function(src_,
                             [](GstPad*, GstObject* parent, GstQuery* query) { return of(parent).src_query(query); });
  GST_PAD_SET_PROXY_CAPS(sink_);  // The samples stay as they are.
  GST_PAD_SET_PROXY_CAPS(src_);
  gst_element_add_pad(object, sink_);
  gst_element_add_pad(object, src_);
}

AudioFilter::~AudioFilter() {
  for (GstEvent* const event : held_) gst_event_unref(event);
}

void AudioFilter::init_class(GstElementClass* element_class, Kind& kind) {
  const gs::CapsPtr caps(gst_caps_from_string(
      "audio/x-raw,format={F32LE,S16LE,S32LE,U8,F64LE},layout={interleaved,non-interleaved},rate=[1,2147483647],"
      "channels=[1,2147483647]"));
  for (const auto& [name, direction] : {std::pair("sink", GST_PAD_SINK), std::pair("src", GST_PAD_SRC)})
    gst_element_class_add_pad_template(element_class,
                                       gst_pad_template_new(name, direction, GST_PAD_ALWAYS, caps.get()));
  describe_class(element_class, kind, "Filter/Analyzer/Audio");
  element_class->change_state = [](GstElement* object, GstStateChange change) {
    return of(object).change_state(change);
  };
}

GstStateChangeReturn AudioFilter::change_state(GstStateChange change) {
  if (change == GST_STATE_CHANGE_READY_TO_PAUSED) {
    is_flushing_ = false;
    flow_ = GST_FLOW_OK;
    delay_ns_ = 0;
    if (!guarded(During::kStart, [&] { element_.emplace(make()); })) return GST_STATE_CHANGE_FAILURE;
  }
  if (change == GST_STATE_CHANGE_PAUSED_TO_READY && element_) {
    is_flushing_ = true;
    transform().interrupt();
  }
  const GstStateChangeReturn result = parent_class(object())->change_state(object(), change);
  const bool has_failed = change == GST_STATE_CHANGE_READY_TO_PAUSED && result == GST_STATE_CHANGE_FAILURE;
  if (change == GST_STATE_CHANGE_PAUSED_TO_READY || has_failed) stop();
  return result;
}

/// @pre The pads are inactive: no data flows.
void AudioFilter::stop() {
  const StreamLock lock(sink_);
  end(true);
  for (GstEvent* const event : std::exchange(held_, {})) gst_event_unref(event);
  has_caps_ = false;
  element_.reset();
}

bool AudioFilter::set_caps(GstCaps* caps) {
  return guarded(During::kNegotiation, [&] {
    info_ = gs::audio_info(caps);
    has_caps_ = true;
  });
}

void AudioFilter::end(bool drop) {
  if (!std::exchange(is_open_, false)) return;
  is_dropping_ = drop;
  guarded(During::kStream, [&] { transform().end(kStream, *this); });
  is_dropping_ = is_waiting_ = false;
  if (!drop) push_held();
}

GstFlowReturn AudioFilter::chain(const gs::BufferPtr& buffer) {
  if (is_flushing_ || !element_) return GST_FLOW_FLUSHING;
  if (!has_caps_) return GST_FLOW_NOT_NEGOTIATED;
  if (const GstFlowReturn earlier = std::exchange(flow_, GST_FLOW_OK); earlier != GST_FLOW_OK) return earlier;
  ++frames_in;
  const bool is_done = guarded(is_open_ ? During::kStream : During::kNegotiation, [&] {
    if (!is_open_) {
      StreamInfo in;
      in.audio = info_;
      transform().open(kStream, in);
      is_open_ = true;
    }
    AudioFrame audio = gs::wrap_audio(buffer.get(), info_);
    gs::read_metadata(buffer.get(), {}, audio.metadata());
    Item item;
    item.audio = std::move(audio);
    is_waiting_ = true;
    const std::int64_t length_ns = item.audio.duration_ns();
    transform().process(std::move(item), *this);
    if (frames_in > frames_out + dropped) set_delay(length_ns);
  });
  if (!is_done) return GST_FLOW_ERROR;
  return std::exchange(flow_, GST_FLOW_OK);
}

void AudioFilter::emit(Item item) {
  if (is_dropping_ || is_flushing_ || flow_ != GST_FLOW_OK) {
    ++dropped;
    return;
  }
  for (const auto& heard : item.audio.metadata().all<metadata::AudioEvent>()) post(*heard.value);
  ++frames_out;
  flow_ = gst_pad_push(src_, gs::buffer(item.audio).release());
  push_held();  // They came behind it.
}

void AudioFilter::post(const metadata::AudioEvent& heard) const {
  gst_element_post_message(
      object(),
      gst_message_new_element(
          GST_OBJECT(object()),
          gst_structure_new("tenon-audio-event", "label", G_TYPE_STRING, heard.label.c_str(), "label-id", G_TYPE_INT,
                            heard.label_id, "confidence", G_TYPE_DOUBLE, static_cast<double>(heard.score), "begin",
                            G_TYPE_INT64, static_cast<gint64>(heard.begin_ns), "end", G_TYPE_INT64,
                            static_cast<gint64>(heard.end_ns), nullptr)));
}

gboolean AudioFilter::push_held() {
  gboolean is_good = TRUE;
  for (GstEvent* const event : std::exchange(held_, {})) is_good = gst_pad_push_event(src_, event) && is_good;
  return is_good;
}

void AudioFilter::set_delay(std::int64_t length_ns) {
  if (length_ns <= delay_ns_) return;
  delay_ns_ = length_ns;
  gst_element_post_message(object(), gst_message_new_latency(GST_OBJECT(object())));
}

gboolean AudioFilter::src_query(GstQuery* query) {
  if (GST_QUERY_TYPE(query) != GST_QUERY_LATENCY) return gst_pad_query_default(src_, GST_OBJECT(object()), query);
  if (!gst_pad_peer_query(sink_, query)) return FALSE;
  gboolean is_live = FALSE;
  GstClockTime least = 0, most = GST_CLOCK_TIME_NONE;
  gst_query_parse_latency(query, &is_live, &least, &most);
  const auto delay = static_cast<GstClockTime>(delay_ns_.load());
  gst_query_set_latency(query, is_live, least + delay, most == GST_CLOCK_TIME_NONE ? most : most + delay);
  return TRUE;
}

gboolean AudioFilter::event(GstEvent* event) {
  switch (GST_EVENT_TYPE(event)) {
    case GST_EVENT_FLUSH_START:
      is_flushing_ = true;
      break;
    case GST_EVENT_FLUSH_STOP:
      end(true);
      for (GstEvent* const one : std::exchange(held_, {})) gst_event_unref(one);
      flow_ = GST_FLOW_OK;
      is_flushing_ = false;
      break;
    case GST_EVENT_CAPS: {
      end(false);
      GstCaps* caps = nullptr;
      gst_event_parse_caps(event, &caps);
      if (set_caps(caps)) break;
      gst_event_unref(event);
      return FALSE;
    }
    case GST_EVENT_SEGMENT:
    case GST_EVENT_STREAM_START:
    case GST_EVENT_EOS:
      end(false);
      break;
    default:
      if (GST_EVENT_IS_SERIALIZED(event) && is_waiting_) {
        held_.push_back(event);
        return TRUE;
      }
  }
  return gst_pad_event_default(sink_, GST_OBJECT(object()), event);
}

}  // namespace

GType audio_filter_type(Kind& kind) {
  return register_type<AudioFilter, GstElement, GstElementClass>(GST_TYPE_ELEMENT, kind);
}

}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon
