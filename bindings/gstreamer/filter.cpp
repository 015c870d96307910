// SPDX-License-Identifier: Apache-2.0
// Transforms as GStreamer elements with a chain function of their own: they may hold frames back, merge and drop them.
// Events that are bound to a place in the stream wait for the frames before them.
#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include <tenon/bindings/gstreamer/alarm.hpp>
#include <tenon/bindings/gstreamer/branch_pads.hpp>
#include <tenon/bindings/gstreamer/held_events.hpp>
#include <tenon/bindings/gstreamer/host.hpp>
#include <tenon/bindings/gstreamer/media.hpp>
#include <tenon/core/error.hpp>
#include <tenon/elements/places.hpp>
#include <tenon/frameworks/gstreamer/orientation.hpp>

namespace tenon {
inline namespace v1 {
namespace gst_plugin {
namespace {

namespace gs = tenon::gstreamer;
using elements::AnyElement;
using elements::Item;
using elements::StreamInfo;
using elements::Transform;
using elements::TransformInplace;

constexpr guint kQosProperty = 1000;

class Filter final : public Host, private elements::Output, private BranchPads::Owner {
 public:
  Filter(GstElement* object, const Kind& kind);
  ~Filter() override;
  static void init_class(GstElementClass* element_class, Kind& kind);

  bool set_property(guint number, const GValue* value) override;
  bool get_property(guint number, GValue* value) const override;
  std::uint32_t branches() const override { return branches_ ? branches_->count() : 1; }

 private:
  static Filter& of(GstObject* object) { return host_of<Filter, GstElement>(object); }

  GstStateChangeReturn change_state(GstStateChange change);
  bool start();
  void stop();

  GstFlowReturn chain(gs::BufferPtr buffer);
  gboolean sink_event(EventPtr event);
  gboolean src_event(EventPtr event);
  gboolean sink_query(GstQuery* query);
  gboolean src_query(GstQuery* query);

  bool set_caps(GstCaps* caps);
  bool propose_allocation(GstQuery* query);
  bool open();
  /// Ends the stream. Frames that were held back are passed on or dropped.
  void end(bool drop);
  bool push_caps(gs::CapsPtr caps);
  void emit(Item item) override;
  void push(Frame frame);
  GstFlowReturn branch_buffer(std::uint32_t branch, gs::BufferPtr buffer, gs::VideoCaps video) override;
  void branch_ended(std::uint32_t branch) override;
  void branch_skips(std::uint32_t branch, std::int64_t until_ns) override;
  gboolean end_of_stream(EventPtr event);
  bool pass_end();
  gboolean send_in_order(EventPtr event);
  gboolean tags(EventPtr event);
  /// Sends the events that stand before a frame of this time; without a time, all events.
  void release_events(std::optional<std::int64_t> before);
  void proceed();
  void arm();
  bool is_late(GstBuffer* buffer);
  gs::CapsPtr possible_caps(GstPad* pad, GstPad* other, GstCaps* filter);

  Transform* transform() const {
    const auto* held = element_ ? std::get_if<std::unique_ptr<Transform>>(&*element_) : nullptr;
    return held ? held->get() : nullptr;
  }
  TransformInplace* inplace() const {
    const auto* held = element_ ? std::get_if<std::unique_ptr<TransformInplace>>(&*element_) : nullptr;
    return held ? held->get() : nullptr;
  }
  bool is_inplace() const { return kind().description.role == elements::Role::kTransformInplace; }

  GstPad *sink_ = nullptr, *src_ = nullptr;  ///< The pads of the object.
  std::optional<AnyElement> element_;        ///< Set in READY and above.
  std::optional<Alarm> alarm_;               ///< For transforms only.
  std::optional<BranchPads> branches_;       ///< For elements that join branches; the sink pad is the first one's.

  /// @name The state of the stream, under the sink pad's stream lock. @{
  gs::CapsPtr in_caps_, out_caps_;
  gs::VideoCaps in_video_;
  Rotation rotation_ = Rotation::kNone;  ///< What tags say that must be done to make pictures upright.
  EventPtr early_tags_;                  ///< Tags with a rotation that came before the caps.
  StreamInfo out_info_;
  FrameInfo pushed_info_;
  Downstream downstream_;
  std::unique_ptr<Surfaces> surfaces_;  ///< Set for streams in VA memory.
  GstSegment segment_{};
  bool keeps_memory_ = true;
  bool is_open_ = false, is_dropping_ = false, was_late_ = false;
  GstFlowReturn flow_ = GST_FLOW_OK;
  std::int64_t last_in_ = kNoTimestamp, last_out_ = kNoTimestamp;
  Timings timings_;
  HeldEvents held_;
  EventPtr last_event_;          ///< The end of the first branch, while frames wait for others.
  bool has_passed_end_ = false;  ///< The first branch has ended: what others bring belongs to no frame.
  /// @}
  std::atomic<bool> is_flushing_{false};
  std::atomic<std::int64_t> delay_ns_{0};
  std::atomic<bool> qos_{false};
  std::atomic<GstClockTime> earliest_{GST_CLOCK_TIME_NONE};
};

Filter::Filter(GstElement* object, const Kind& kind) : Host(object, kind) {
  auto* const element_class = reinterpret_cast<GstElementClass*>(reinterpret_cast<GTypeInstance*>(object)->g_class);
  const bool joins = kind.description.joins_branches;
  sink_ = gst_pad_new_from_template(gst_element_class_get_pad_template(element_class, joins ? "sink_%u" : "sink"),
                                    joins ? "sink_0" : "sink");
  src_ = gst_pad_new_from_template(gst_element_class_get_pad_template(element_class, "src"), "src");
  gst_pad_set_chain_function(
      sink_, [](GstPad*, GstObject* parent, GstBuffer* buffer) { return of(parent).chain(gs::BufferPtr(buffer)); });
  gst_pad_set_event_function(
      sink_, [](GstPad*, GstObject* parent, GstEvent* event) { return of(parent).sink_event(EventPtr(event)); });
  gst_pad_set_event_function(
      src_, [](GstPad*, GstObject* parent, GstEvent* event) { return of(parent).src_event(EventPtr(event)); });
  gst_pad_set_query_function(sink_,
                             [](GstPad*, GstObject* parent, GstQuery* query) { return of(parent).sink_query(query); });
  gst_pad_set_query_function(src_,
                             [](GstPad*, GstObject* parent, GstQuery* query) { return of(parent).src_query(query); });
  GST_PAD_SET_ACCEPT_INTERSECT(sink_);
  gst_object_ref_sink(sink_);
  if (joins)
    branches_.emplace(object, sink_, static_cast<BranchPads::Owner&>(*this));
  else
    gst_element_add_pad(object, sink_);
  gst_element_add_pad(object, src_);
  gst_segment_init(&segment_, GST_FORMAT_UNDEFINED);
}

Filter::~Filter() { gst_object_unref(sink_); }

void Filter::init_class(GstElementClass* element_class, Kind& kind) {
  const auto add = [&](const char* name, GstPadDirection direction, GstPadPresence presence,
                       const std::vector<PixelFormat>& formats) {
    gst_element_class_add_pad_template(element_class,
                                       gst_pad_template_new(name, direction, presence, template_caps(formats).get()));
  };
  if (kind.description.joins_branches) {
    add("sink_%u", GST_PAD_SINK, GST_PAD_REQUEST, kind.description.formats);
    element_class->request_new_pad = [](GstElement* object, GstPadTemplate* like, const gchar* name, const GstCaps*) {
      Filter& own = host_of<Filter, GstElement>(object);
      return own.element_ ? nullptr : own.branches_->request(like, name);
    };
    element_class->release_pad = [](GstElement* object, GstPad* pad) {
      host_of<Filter, GstElement>(object).branches_->release(pad);
    };
  } else {
    add("sink", GST_PAD_SINK, GST_PAD_ALWAYS, kind.description.formats);
  }
  add("src", GST_PAD_SRC, GST_PAD_ALWAYS, {});
  describe_class(element_class, kind, "Filter/Video");
  element_class->change_state = [](GstElement* object, GstStateChange change) {
    return host_of<Filter, GstElement>(object).change_state(change);
  };
  g_object_class_install_property(
      G_OBJECT_CLASS(element_class), kQosProperty,
      g_param_spec_boolean("qos", "qos", "Drop frames that come too late for the sink, before any work is done on them",
                           FALSE, static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS)));
}

bool Filter::set_property(guint number, const GValue* value) {
  if (number != kQosProperty) return Host::set_property(number, value);
  qos_ = g_value_get_boolean(value);
  return true;
}

bool Filter::get_property(guint number, GValue* value) const {
  if (number != kQosProperty) return Host::get_property(number, value);
  g_value_set_boolean(value, qos_);
  return true;
}

GstStateChangeReturn Filter::change_state(GstStateChange change) {
  if (change == GST_STATE_CHANGE_READY_TO_PAUSED && !start()) return GST_STATE_CHANGE_FAILURE;
  if (change == GST_STATE_CHANGE_PAUSED_TO_READY && element_) {
    is_flushing_ = true;
    std::visit([](auto& one) { one->interrupt(); }, *element_);
  }
  const GstStateChangeReturn result = parent_class(object())->change_state(object(), change);
  const bool has_failed = change == GST_STATE_CHANGE_READY_TO_PAUSED && result == GST_STATE_CHANGE_FAILURE;
  if (change == GST_STATE_CHANGE_PAUSED_TO_READY || has_failed) stop();
  return result;
}

bool Filter::start() {
  is_flushing_ = false;
  flow_ = GST_FLOW_OK;
  earliest_ = GST_CLOCK_TIME_NONE;
  last_in_ = last_out_ = kNoTimestamp;
  gst_segment_init(&segment_, GST_FORMAT_UNDEFINED);
  if (branches_) branches_->begin();
  const bool is_made = guarded(During::kStart, [&] {
    AnyElement made = make();
    const StreamLock lock(sink_);
    element_.emplace(std::move(made));
  });
  if (!is_made) return false;
  if (transform()) alarm_.emplace([this] { proceed(); });
  return true;
}

/// @pre The pads are inactive: no data flows.
void Filter::stop() {
  alarm_.reset();
  const StreamLock lock(sink_);
  if (element_) end(true);
  held_.clear();
  last_event_.reset();
  has_passed_end_ = false;
  early_tags_.reset();
  rotation_ = Rotation::kNone;
  in_caps_.reset();
  out_caps_.reset();
  element_.reset();
}

/// Tags say whether pictures are stored sideways. An element that stores them upright says so to those after it.
gboolean Filter::tags(EventPtr event) {
  const std::optional<Rotation> said = gs::orientation_of(event.get());
  if (!said) return send_in_order(std::move(event));
  if (*said != rotation_) {
    rotation_ = *said;
    if (in_caps_) {
      end(false);
      in_video_.info.rotation = rotation_;
      open();  // A failure has been posted, and the next buffer gets it, too.
    }
  }
  if (!in_caps_) {
    early_tags_ = std::move(event);
    return TRUE;
  }
  const bool is_known = is_open_ && out_info_.frame.format.fourcc != 0;
  if (is_known && out_info_.frame.rotation != rotation_)
    event.reset(gs::with_orientation(event.get(), out_info_.frame.rotation));
  return send_in_order(std::move(event));
}

bool Filter::set_caps(GstCaps* caps) {
  if (is_open_ && in_caps_ && gst_caps_is_equal(in_caps_.get(), caps)) return true;
  end(false);
  return guarded(During::kNegotiation,
                 [&] {
                   in_video_ = gs::video_caps(caps);
                   in_video_.info.rotation = rotation_;
                   in_caps_.reset(gst_caps_ref(caps));
                   if (in_video_.memory == "memory:VAMemory" && !surfaces_)
                     surfaces_ = elements::gstreamer::load_surfaces();
                 }) &&
         open();
}

bool Filter::open() {
  const bool has_opened = guarded(During::kNegotiation, [&] {
    const StreamInfo in = stream_info(in_video_, sink_);
    if (Transform* one = transform())
      out_info_ = one->open(kStream, in);
    else
      out_info_ = inplace()->open(kStream, in);
  });
  if (!has_opened) return false;
  is_open_ = true;
  if (delay_ns_.exchange(out_info_.delay.count()) != out_info_.delay.count())
    gst_element_post_message(object(), gst_message_new_latency(GST_OBJECT(object())));
  bool is_agreed = true;
  const bool is_good = guarded(During::kNegotiation, [&] {
    if (out_info_.frame.format.fourcc != 0) {  // Otherwise the first frame tells it.
      pushed_info_ = out_info_.frame;
      keeps_memory_ = true;
      is_agreed = push_caps(caps_after(in_caps_.get(), in_video_, out_info_));
    }
    if (Transform* one = transform()) one->allocate(kStream, downstream_.wanted, {});
    if (!branches_) return;
    for (const std::uint32_t branch : branches_->ended()) transform()->end_branch(kStream, branch, *this);
  });
  return is_good && is_agreed;
}

bool Filter::push_caps(gs::CapsPtr caps) {
  if (out_caps_ && gst_caps_is_equal(out_caps_.get(), caps.get())) return true;
  out_caps_ = std::move(caps);
  downstream_ = {};
  if (!gst_pad_push_event(src_, gst_event_new_caps(out_caps_.get()))) {
    out_caps_.reset();
    return false;
  }
  downstream_ = ask_downstream(src_, out_caps_.get());
  release_events(last_out_);
  return true;
}

void Filter::end(bool drop) {
  if (!std::exchange(is_open_, false)) return;
  is_dropping_ = drop;
  guarded(During::kStream, [&] {
    if (Transform* one = transform())
      one->end(kStream, *this);
    else
      inplace()->end(kStream);
  });
  is_dropping_ = false;
  if (alarm_) alarm_->set(std::nullopt);
  last_out_ = last_in_;
  if (!drop) release_events(std::nullopt);
}

GstFlowReturn Filter::chain(gs::BufferPtr buffer) {
  if (is_flushing_) return GST_FLOW_FLUSHING;
  if (!in_caps_) {
    post_error(object(), Error(Code::kFailedPrecondition, "a buffer came before any caps, so its format is not known"),
               During::kNegotiation);
    return GST_FLOW_NOT_NEGOTIATED;
  }
  if (!is_open_ && !open()) return is_flushing_ ? GST_FLOW_FLUSHING : GST_FLOW_NOT_NEGOTIATED;
  if (const GstFlowReturn earlier = std::exchange(flow_, GST_FLOW_OK); earlier != GST_FLOW_OK) return earlier;
  if (is_late(buffer.get())) return GST_FLOW_OK;
  if (std::exchange(was_late_, false)) {
    buffer.reset(gst_buffer_make_writable(buffer.release()));
    GST_BUFFER_FLAG_SET(buffer.get(), GST_BUFFER_FLAG_DISCONT);
  }
  ++frames_in;
  if (gst_pad_check_reconfigure(src_) && out_caps_) downstream_ = ask_downstream(src_, out_caps_.get());
  timings_.note(buffer.get());
  const bool is_done = guarded(During::kStream, [&] {
    Frame frame = to_frame(std::move(buffer), in_video_, surfaces_, &ledger);
    last_in_ = frame.timestamp_ns();
    if (transform()) metadata::of(frame);  // For the placement of what is cut from it.
    if (Transform* one = transform()) return one->process({kStream, std::move(frame)}, *this);
    inplace()->process(kStream, frame);
    push(std::move(frame));
  });
  arm();
  if (!is_done) return GST_FLOW_ERROR;
  return std::exchange(flow_, GST_FLOW_OK);
}

bool Filter::is_late(GstBuffer* buffer) {
  const GstClockTime earliest = earliest_;
  if (!qos_ || segment_.format != GST_FORMAT_TIME || earliest == GST_CLOCK_TIME_NONE) return false;
  const GstClockTime time = gst_segment_to_running_time(&segment_, GST_FORMAT_TIME, GST_BUFFER_PTS(buffer));
  if (time == GST_CLOCK_TIME_NONE || time > earliest) return false;
  was_late_ = true;
  ++dropped;
  GstMessage* const told = gst_message_new_qos(
      GST_OBJECT(object()), FALSE, time, gst_segment_to_stream_time(&segment_, GST_FORMAT_TIME, GST_BUFFER_PTS(buffer)),
      GST_BUFFER_PTS(buffer), GST_BUFFER_DURATION(buffer));
  gst_message_set_qos_stats(told, GST_FORMAT_BUFFERS, frames_in, dropped);
  gst_element_post_message(object(), told);
  return true;
}

void Filter::emit(Item item) { push(std::move(item.frame)); }

/// Stores the answer of downstream in flow_. Buffers that are pushed after a refusal are dropped.
void Filter::push(Frame frame) {
  if (is_dropping_ || is_flushing_ || flow_ != GST_FLOW_OK) {
    if (is_flushing_ && flow_ == GST_FLOW_OK) flow_ = GST_FLOW_FLUSHING;
    ++dropped;
    return;
  }
  const std::int64_t time = frame.timestamp_ns();
  const bool keeps_memory = is_of_kind(frame, in_video_.memory);
  if (!out_caps_ || frame.info() != pushed_info_ || keeps_memory != keeps_memory_) {
    pushed_info_ = frame.info();
    keeps_memory_ = keeps_memory;
    StreamInfo now = out_info_;
    now.frame = pushed_info_;
    if (!push_caps(caps_after(in_caps_.get(), in_video_, now, keeps_memory))) {
      flow_ = is_flushing_ ? GST_FLOW_FLUSHING : GST_FLOW_NOT_NEGOTIATED;
      return;
    }
  }
  release_events(time);
  last_out_ = time;
  gs::BufferPtr buffer = to_buffer(std::move(frame), &ledger);
  if (!GST_BUFFER_DURATION_IS_VALID(buffer.get()) && gst_buffer_is_writable(buffer.get()))
    timings_.complete(buffer.get());
  if (!downstream_.takes_layouts) buffer = packed(std::move(buffer), out_caps_.get(), ledger);
  ++frames_out;
  flow_ = gst_pad_push(src_, buffer.release());
}

/// What another branch found. Results may come before the first branch has begun.
GstFlowReturn Filter::branch_buffer(std::uint32_t branch, gs::BufferPtr buffer, gs::VideoCaps video) {
  const StreamLock lock(sink_);
  if (is_flushing_ || !element_) return GST_FLOW_FLUSHING;
  if (has_passed_end_) return GST_FLOW_EOS;
  const bool is_done = guarded(During::kStream, [&] {
    transform()->process({kStream, to_frame(std::move(buffer), video, surfaces_, &ledger), {}, {}, branch}, *this);
  });
  pass_end();
  arm();
  return is_done ? GST_FLOW_OK : GST_FLOW_ERROR;  // What downstream says is returned to the first branch.
}

void Filter::branch_ended(std::uint32_t branch) {
  const StreamLock lock(sink_);
  if (!is_open_) return;  // open() tells the element.
  guarded(During::kStream, [&] { transform()->end_branch(kStream, branch, *this); });
  pass_end();
}

void Filter::branch_skips(std::uint32_t branch, std::int64_t until_ns) {
  const StreamLock lock(sink_);
  if (is_flushing_ || !element_) return;
  guarded(During::kStream, [&] { transform()->skip_branch(kStream, branch, until_ns, *this); });
  pass_end();
}

gboolean Filter::end_of_stream(EventPtr event) {
  last_event_ = std::move(event);
  return pass_end();
}

/// The first branch has ended: its end is passed on when no frame waits for others, which each does for a time at most.
bool Filter::pass_end() {
  if (!last_event_ || (branches_ && is_open_ && flow_ == GST_FLOW_OK && transform()->due())) return true;
  end(false);
  has_passed_end_ = true;
  return gst_pad_push_event(src_, last_event_.release());
}

gboolean Filter::send_in_order(EventPtr event) {
  const bool waits_for_caps = is_open_ && !out_caps_;
  const bool has_frames_before = is_open_ && transform() && last_in_ != last_out_;
  if (!waits_for_caps && !has_frames_before && held_.empty()) return gst_pad_push_event(src_, event.release());
  held_.hold(std::move(event), last_in_);
  return TRUE;
}

void Filter::release_events(std::optional<std::int64_t> before) {
  if (!is_open_ || out_caps_) held_.release(src_, before);
}

gboolean Filter::sink_event(EventPtr event) {
  switch (GST_EVENT_TYPE(event.get())) {
    case GST_EVENT_FLUSH_START:
      is_flushing_ = true;
      return gst_pad_push_event(src_, event.release());
    case GST_EVENT_FLUSH_STOP: {
      end(true);
      last_event_.reset();
      has_passed_end_ = false;
      gst_segment_init(&segment_, GST_FORMAT_UNDEFINED);
      last_in_ = last_out_ = kNoTimestamp;
      earliest_ = GST_CLOCK_TIME_NONE;
      flow_ = GST_FLOW_OK;
      is_flushing_ = false;
      const gboolean result = gst_pad_push_event(src_, event.release());
      held_.flush(src_);
      return result;
    }
    case GST_EVENT_CAPS: {
      GstCaps* caps = nullptr;
      gst_event_parse_caps(event.get(), &caps);
      const bool is_set = element_ && set_caps(caps);
      if (is_set && early_tags_) tags(std::move(early_tags_));
      return is_set;
    }
    case GST_EVENT_TAG:
      return tags(std::move(event));
    case GST_EVENT_STREAM_START:
      end(false);
      last_event_.reset();
      has_passed_end_ = false;
      rotation_ = Rotation::kNone;
      early_tags_.reset();
      return gst_pad_push_event(src_, event.release());
    case GST_EVENT_SEGMENT:
      if (transform() && last_in_ != last_out_) end(false);  // Held frames belong to the previous segment.
      gst_event_copy_segment(event.get(), &segment_);
      return send_in_order(std::move(event));
    case GST_EVENT_EOS:
      return end_of_stream(std::move(event));
    default:
      if (GST_EVENT_IS_SERIALIZED(event.get())) return send_in_order(std::move(event));
      return gst_pad_event_default(sink_, GST_OBJECT(object()), event.release());
  }
}

gboolean Filter::src_event(EventPtr event) {
  if (GST_EVENT_TYPE(event.get()) == GST_EVENT_QOS) {
    GstClockTimeDiff jitter = 0;
    GstClockTime time = GST_CLOCK_TIME_NONE;
    gst_event_parse_qos(event.get(), nullptr, nullptr, &jitter, &time);
    if (time != GST_CLOCK_TIME_NONE) {
      // Skip as much time again as the sink is behind, so that the next frame is in time.
      const auto sum = static_cast<gint64>(time) + (jitter > 0 ? 2 * jitter : jitter);
      earliest_ = sum > 0 ? static_cast<GstClockTime>(sum) : 0;
    }
  }
  return gst_pad_event_default(src_, GST_OBJECT(object()), event.release());
}

/// For transforms in place: the caps that the other side can handle, too. For other transforms: those caps first, since most
/// transforms do not change the format.
gs::CapsPtr Filter::possible_caps(GstPad* pad, GstPad* other, GstCaps* filter) {
  const gs::CapsPtr own(gst_pad_get_pad_template_caps(pad));
  const gs::CapsPtr theirs(gst_pad_peer_query_caps(other, nullptr));
  gs::CapsPtr all(gst_caps_intersect_full(theirs.get(), own.get(), GST_CAPS_INTERSECT_FIRST));
  if (!is_inplace()) all.reset(gst_caps_merge(all.release(), gst_caps_ref(own.get())));
  if (!filter) return all;
  return gs::CapsPtr(gst_caps_intersect_full(filter, all.get(), GST_CAPS_INTERSECT_FIRST));
}

/// Answers an allocation query. An element with requirements on the memory offers a pool, which also meets the requirements of
/// the elements downstream. Frames that only pass through lie in the memory that downstream asks for.
bool Filter::propose_allocation(GstQuery* query) {
  GstCaps* caps = nullptr;
  gst_query_parse_allocation(query, &caps, nullptr);
  if (!element_ || !caps) return false;
  bool is_answered = false;
  guarded(During::kNegotiation, [&] {
    const StreamInfo in = stream_info(gs::video_caps(caps), nullptr);
    const Requirements own = std::visit([&](auto& one) { return one->wanted(in); }, *element_);
    const bool passes_through = out_caps_ && gst_caps_is_equal(out_caps_.get(), caps);
    if (passes_through && elements::takes_any_memory(own) && gst_pad_peer_query(src_, query) &&
        gst_query_get_n_allocation_pools(query) > 0) {
      is_answered = true;
      return;
    }
    is_answered = answer_allocation(query, passes_through ? joined(own, ask_downstream(src_, caps).wanted) : own);
  });
  return is_answered;
}

gboolean Filter::sink_query(GstQuery* query) {
  switch (GST_QUERY_TYPE(query)) {
    case GST_QUERY_CAPS: {
      GstCaps* filter = nullptr;
      gst_query_parse_caps(query, &filter);
      gst_query_set_caps_result(query, possible_caps(sink_, src_, filter).get());
      return TRUE;
    }
    case GST_QUERY_ALLOCATION:
      return propose_allocation(query);
    default:
      return gst_pad_query_default(sink_, GST_OBJECT(object()), query);
  }
}

gboolean Filter::src_query(GstQuery* query) {
  switch (GST_QUERY_TYPE(query)) {
    case GST_QUERY_CAPS: {
      GstCaps* filter = nullptr;
      gst_query_parse_caps(query, &filter);
      gst_query_set_caps_result(query, possible_caps(src_, sink_, filter).get());
      return TRUE;
    }
    case GST_QUERY_LATENCY: {
      if (!gst_pad_peer_query(sink_, query)) return FALSE;
      gboolean is_live = FALSE;
      GstClockTime least = 0, most = GST_CLOCK_TIME_NONE;
      gst_query_parse_latency(query, &is_live, &least, &most);
      if (branches_) least = std::max(least, branches_->latency());
      const auto delay = static_cast<GstClockTime>(delay_ns_.load());
      gst_query_set_latency(query, is_live, least + delay, most == GST_CLOCK_TIME_NONE ? most : most + delay);
      return TRUE;
    }
    default:
      return gst_pad_query_default(src_, GST_OBJECT(object()), query);
  }
}

void Filter::arm() {
  if (!alarm_) return;
  // Its thread starts here, which may fail.
  if (!guarded(During::kStream, [&] { alarm_->set(transform()->due()); })) flow_ = GST_FLOW_ERROR;
}

/// Called in the alarm's thread. It does the same as when a frame comes.
void Filter::proceed() {
  const StreamLock lock(sink_);
  const std::optional<Deadline> due = is_open_ && !is_flushing_ ? transform()->due() : std::nullopt;
  if (due && *due <= Clock::now() && flow_ == GST_FLOW_OK) {
    // A refusal now is returned as the answer to the next frame.
    if (!guarded(During::kStream, [&] { transform()->proceed(*this); })) flow_ = GST_FLOW_ERROR;
    pass_end();
  }
  if (is_open_ && flow_ == GST_FLOW_OK) arm();
}

}  // namespace

GType filter_type(Kind& kind) { return register_type<Filter, GstElement, GstElementClass>(GST_TYPE_ELEMENT, kind); }

}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon
