// SPDX-License-Identifier: Apache-2.0
// Sinks as GStreamer elements on GstBaseSink, which keeps the clock, prerolls and flushes.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <gst/base/gstbasesink.h>

#include <tenon/bindings/gstreamer/host.hpp>
#include <tenon/bindings/gstreamer/media.hpp>
#include <tenon/bindings/gstreamer/packet_pad.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/elements/packet_sink.hpp>
#include <tenon/frameworks/gstreamer/orientation.hpp>

namespace tenon {
inline namespace v1 {
namespace gst_plugin {
namespace {

namespace gs = tenon::gstreamer;
using elements::Sink;

class SinkHost final : public Host {
 public:
  SinkHost(GstElement* object, const Kind& kind) : Host(object, kind) {
    gst_base_sink_set_sync(GST_BASE_SINK(object), FALSE);
    if (kind.description.takes_packets) packets_.emplace(object);
  }
  static void init_class(GstBaseSinkClass* sink_class, Kind& kind);

 private:
  static SinkHost& of(gpointer object) { return host_of<SinkHost, GstBaseSink>(object); }
  GstBaseSinkClass& base() const {
    return *static_cast<GstBaseSinkClass*>(
        g_type_class_peek_parent(reinterpret_cast<GTypeInstance*>(object())->g_class));
  }
  Sink& sink() const { return *std::get<std::unique_ptr<Sink>>(*element_); }

  GstStateChangeReturn change_state(GstStateChange change);
  bool begin_again();
  bool start();
  bool stop();
  bool set_caps(GstCaps* caps);
  bool open();
  bool end();
  bool turn(Rotation rotation);
  bool finish();
  /// Whether the packets of the pictures come, too. An error has been posted if they cannot.
  bool has_packets();
  bool event(GstEvent* event);
  bool propose_allocation(GstQuery* query);
  GstFlowReturn render(GstBuffer* buffer);

  std::optional<PacketPad> packets_;             ///< For sinks that write packets.
  std::optional<elements::AnyElement> element_;  ///< Set between start and stop.
  gs::CapsPtr caps_;
  gs::VideoCaps video_;
  Rotation rotation_ = Rotation::kNone;  ///< What tags say that must be done to make pictures upright.
  std::unique_ptr<Surfaces> surfaces_;   ///< Set for streams in VA memory.
  bool is_open_ = false;
  bool is_interrupted_ = false;  ///< By the way to READY. @thread changes of state, one at a time.
  bool has_written_ = false;     ///< Since the last finish().
};

void SinkHost::init_class(GstBaseSinkClass* sink_class, Kind& kind) {
  auto* const element_class = GST_ELEMENT_CLASS(sink_class);
  gst_element_class_add_pad_template(
      element_class,
      gst_pad_template_new("sink", GST_PAD_SINK, GST_PAD_ALWAYS, template_caps(kind.description.formats).get()));
  if (kind.description.takes_packets) PacketPad::add_template(element_class);
  describe_class(element_class, kind, "Sink/Video");
  element_class->change_state = [](GstElement* object, GstStateChange change) {
    return of(object).change_state(change);
  };
  sink_class->start = [](GstBaseSink* object) -> gboolean { return of(object).start(); };
  sink_class->stop = [](GstBaseSink* object) -> gboolean { return of(object).stop(); };
  sink_class->set_caps = [](GstBaseSink* object, GstCaps* caps) -> gboolean { return of(object).set_caps(caps); };
  sink_class->event = [](GstBaseSink* object, GstEvent* event) -> gboolean { return of(object).event(event); };
  sink_class->propose_allocation = [](GstBaseSink* object, GstQuery* query) -> gboolean {
    return of(object).propose_allocation(query);
  };
  sink_class->render = [](GstBaseSink* object, GstBuffer* buffer) { return of(object).render(buffer); };
}

GstStateChangeReturn SinkHost::change_state(GstStateChange change) {
  if (change == GST_STATE_CHANGE_READY_TO_PAUSED && !begin_again()) return GST_STATE_CHANGE_FAILURE;
  if (change == GST_STATE_CHANGE_PAUSED_TO_READY && element_) {
    is_interrupted_ = true;
    sink().interrupt();
    if (packets_) packets_->interrupt();
  }
  return GST_ELEMENT_CLASS(&base())->change_state(object(), change);
}

/// The element stays from READY to READY, with its connections and the numbers of its files; what interrupted it does not.
bool SinkHost::begin_again() {
  if (packets_) packets_->begin_again();
  if (!is_interrupted_) return true;
  const StreamLock lock(GST_BASE_SINK_PAD(object()));
  // Where this fails, the next try does it.
  is_interrupted_ = !end() || !guarded(During::kStart, [&] { sink().resume(); });
  return !is_interrupted_;
}

bool SinkHost::start() {
  return guarded(During::kStart, [&] {
    elements::AnyElement made = make();
    const StreamLock lock(GST_BASE_SINK_PAD(object()));
    element_.emplace(std::move(made));
    if (packets_) packets_->start(dynamic_cast<elements::PacketSink&>(sink()));
  });
}

bool SinkHost::stop() {
  const StreamLock lock(GST_BASE_SINK_PAD(object()));
  const bool is_good = !element_ || finish();
  if (packets_) packets_->stop();
  element_.reset();
  caps_.reset();
  rotation_ = Rotation::kNone;
  return is_good;
}

bool SinkHost::set_caps(GstCaps* caps) {
  if (is_open_ && caps_ && gst_caps_is_equal(caps_.get(), caps)) return true;
  if (!end()) return false;
  return guarded(During::kNegotiation,
                 [&] {
                   video_ = gs::video_caps(caps);
                   video_.info.rotation = rotation_;
                   caps_.reset(gst_caps_ref(caps));
                   if (video_.memory == "memory:VAMemory" && !surfaces_)
                     surfaces_ = elements::gstreamer::load_surfaces();
                 }) &&
         open();
}

bool SinkHost::open() {
  is_open_ =
      guarded(During::kNegotiation, [&] { sink().open(kStream, stream_info(video_, GST_BASE_SINK_PAD(object()))); });
  has_written_ = has_written_ || is_open_;
  return is_open_;
}

bool SinkHost::end() {
  if (!std::exchange(is_open_, false)) return true;
  return guarded(During::kStream, [&] { sink().end(kStream); });
}

/// Pictures that lie otherwise are another stream, which the next of them opens.
bool SinkHost::turn(Rotation rotation) {
  if (std::exchange(rotation_, rotation) == rotation) return true;
  video_.info.rotation = rotation;
  return end();
}

/// Completes what the sink has written.
bool SinkHost::finish() {
  bool is_good = end();
  if (std::exchange(has_written_, false)) is_good = guarded(During::kStream, [&] { sink().finish(); }) && is_good;
  return is_good;
}

bool SinkHost::has_packets() {
  if (!packets_ || packets_->has_begun()) return true;
  if (packets_->is_linked()) return false;  // They come by a thread of their own.
  post_error(
      object(),
      Error(Code::kFailedPrecondition,
            "element '" + name() + "' (" + kind().description.name +
                "): no packets come with the pictures; link the encoded stream to the pad 'packets', behind a parser "
                "(h264parse) and a tee with a queue for each branch"),
      During::kStream);
  return false;
}

bool SinkHost::event(GstEvent* event) {
  bool is_good = true;
  if (element_ && GST_EVENT_TYPE(event) == GST_EVENT_EOS) {
    if (packets_ && packets_->is_linked()) packets_->wait_for_end(Clock::now() + std::chrono::seconds(2));
    is_good = finish();
  }
  if (element_ && GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP) is_good = end();
  if (element_ && GST_EVENT_TYPE(event) == GST_EVENT_STREAM_START) is_good = turn(Rotation::kNone);
  if (element_) is_good = turn(gs::orientation_of(event).value_or(rotation_)) && is_good;
  // After an error the end of the stream is not announced, since applications would take that for success.
  if (!is_good) {
    gst_event_unref(event);
    return false;
  }
  return base().event(GST_BASE_SINK(object()), event);
}

bool SinkHost::propose_allocation(GstQuery* query) {
  GstCaps* caps = nullptr;
  gst_query_parse_allocation(query, &caps, nullptr);
  if (!element_ || !caps) return false;
  bool is_answered = false;
  guarded(During::kNegotiation,
          [&] { is_answered = answer_allocation(query, sink().wanted(stream_info(gs::video_caps(caps), nullptr))); });
  return is_answered;
}

GstFlowReturn SinkHost::render(GstBuffer* buffer) {
  if (!caps_) {
    post_error(object(), Error(Code::kFailedPrecondition, "a buffer came before any caps, so its format is not known"),
               During::kNegotiation);
    return GST_FLOW_NOT_NEGOTIATED;
  }
  if (!is_open_ && !open()) return GST_FLOW_ERROR;
  ++frames_in;
  if (!has_packets()) {
    ++dropped;
    return packets_->is_linked() ? GST_FLOW_OK : GST_FLOW_ERROR;
  }
  const bool is_done = guarded(During::kStream, [&] {
    sink().write(kStream, to_frame(gs::BufferPtr(gst_buffer_ref(buffer)), video_, surfaces_, &ledger));
  });
  return is_done ? GST_FLOW_OK : GST_FLOW_ERROR;
}

}  // namespace

GType sink_type(Kind& kind) { return register_type<SinkHost, GstBaseSink, GstBaseSinkClass>(GST_TYPE_BASE_SINK, kind); }

}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon
