// SPDX-License-Identifier: Apache-2.0
// tenonstreammux: the buffers of several sources in one stream, in turn and in the order of their times.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gst/base/gstaggregator.h>

#include <tenon/bindings/gstreamer/held_events.hpp>
#include <tenon/bindings/gstreamer/host.hpp>
#include <tenon/bindings/gstreamer/media.hpp>
#include <tenon/bindings/gstreamer/streams.hpp>
#include <tenon/core/error.hpp>
#include <tenon/frameworks/gstreamer/metadata.hpp>
#include <tenon/frameworks/gstreamer/orientation.hpp>

namespace tenon {
inline namespace v1 {
namespace gst_plugin {
namespace {

namespace gs = tenon::gstreamer;

/// A turn takes from each source that has a buffer within the tolerance of the earliest one that buffer. GstAggregator has the queues,
/// the waiting for live sources (its property latency), flushes and ends.
class StreamMux final : public Host {
 public:
  using Host::Host;
  static void init_class(GstAggregatorClass* mux_class, Kind& kind);

 private:
  static StreamMux& of(gpointer object) { return host_of<StreamMux, GstAggregator>(object); }
  GstAggregator* base() const { return GST_AGGREGATOR(object()); }

  bool start();
  struct Unref {
    void operator()(GstAggregatorPad* pad) const { gst_object_unref(pad); }
  };
  using PadPtr = std::unique_ptr<GstAggregatorPad, Unref>;
  /// A pad, and the time of the buffer that waits there.
  struct Head {
    PadPtr pad;
    std::optional<GstClockTime> time;
  };

  /// All sink pads by their numbers.
  std::vector<Head> heads() const;
  static GstClockTime earliest(const std::vector<Head>& all);
  GstFlowReturn aggregate();
  bool set_caps(GstAggregatorPad* pad, GstCaps* caps);
  void note_orientation(GstAggregatorPad* pad, GstEvent* event);
  void join_orientation(GstAggregatorPad* pad);
  GstPadProbeReturn send_tag();
  GstFlowReturn push(GstAggregatorPad* pad, GstClockTime time);
  GstFlowReturn src_caps(GstCaps** made) const;

  /// The time of the buffer that waits on a pad; nothing: none waits.
  static std::optional<GstClockTime> time_of(GstAggregatorPad* pad);
  static std::uint32_t number_of(const GstAggregatorPad* pad) {
    return static_cast<std::uint32_t>(g_ascii_strtoull(GST_PAD_NAME(pad) + 5, nullptr, 10));  // Behind "sink_".
  }

  GstClockTime tolerance_ = 0;
  mutable std::mutex mutex_;
  gs::CapsPtr caps_;                           ///< Those of the first pad that has any, without its rate. Under mutex_.
  std::optional<gs::VideoCaps> video_;         ///< Under mutex_.
  std::map<std::string, Rotation> rotations_;  ///< By pad: what its tags say, if that is not "none". Under mutex_.
  EventPtr tag_;                               ///< To be sent before the next buffer. Under mutex_.
  gulong probe_ = 0;                           ///< Calls send_tag().
  std::optional<Rotation> joined_;             ///< That of the joined stream. Under mutex_.
  std::uint64_t sequence_ = 0;
};

void StreamMux::init_class(GstAggregatorClass* mux_class, Kind& kind) {
  auto* const element_class = GST_ELEMENT_CLASS(mux_class);
  const auto add = [&](const char* name, GstPadDirection direction, GstPadPresence presence) {
    gst_element_class_add_pad_template(
        element_class,
        gst_pad_template_new_with_gtype(name, direction, presence, template_caps({}).get(), GST_TYPE_AGGREGATOR_PAD));
  };
  add("sink_%u", GST_PAD_SINK, GST_PAD_REQUEST);
  add("src", GST_PAD_SRC, GST_PAD_ALWAYS);
  describe_class(element_class, kind, "Video/Muxer");
  mux_class->start = [](GstAggregator* object) -> gboolean { return of(object).start(); };
  mux_class->aggregate = [](GstAggregator* object, gboolean) { return of(object).aggregate(); };
  // With live sources a buffer waits for the others until its own time and the latency are over; where none waits, nothing is due.
  mux_class->get_next_time = [](GstAggregator* object) { return earliest(of(object).heads()); };
  mux_class->update_src_caps = [](GstAggregator* object, GstCaps*, GstCaps** made) {
    return of(object).src_caps(made);
  };
  mux_class->sink_event = [](GstAggregator* object, GstAggregatorPad* pad, GstEvent* event) -> gboolean {
    if (GST_EVENT_TYPE(event) == GST_EVENT_CAPS) {
      GstCaps* caps = nullptr;
      gst_event_parse_caps(event, &caps);
      if (!of(object).set_caps(pad, caps)) {
        gst_event_unref(event);
        return FALSE;
      }
    }
    of(object).note_orientation(pad, event);
    auto* const own = reinterpret_cast<GTypeInstance*>(object)->g_class;
    return static_cast<GstAggregatorClass*>(g_type_class_peek_parent(own))->sink_event(object, pad, event);
  };
  // Sources write into the memory that the model asks for.
  mux_class->propose_allocation = [](GstAggregator* object, GstAggregatorPad*, GstQuery*, GstQuery* query) -> gboolean {
    return gst_pad_peer_query(object->srcpad, query);
  };
}

bool StreamMux::start() {
  return guarded(During::kStart, [&] {
    const elements::Parameters given("element '" + name() + "' (streammux)", kind().description.parameters,
                                     checked_settings());
    // Under DL Streamer's name a turn takes a buffer of each source, whatever their times are.
    tolerance_ = kind().description.name == "streammux"
                     ? static_cast<GstClockTime>(given.integer("tolerance_ms")) * GST_MSECOND
                     : GST_CLOCK_TIME_NONE;
    const std::lock_guard lock(mutex_);
    caps_.reset();
    video_.reset();
    sequence_ = 0;
    rotations_.clear();
    joined_.reset();
    tag_.reset();
    if (probe_ != 0) return;
    probe_ = gst_pad_add_probe(
        base()->srcpad, GST_PAD_PROBE_TYPE_BUFFER,
        [](GstPad*, GstPadProbeInfo*, gpointer mux) { return static_cast<StreamMux*>(mux)->send_tag(); }, this,
        nullptr);
  });
}

/// All sources must give pictures of one kind: a model's batch is made of them without a conversion.
bool StreamMux::set_caps(GstAggregatorPad* pad, GstCaps* caps) {
  return guarded(During::kNegotiation, [&] {
    const gs::VideoCaps video = gs::video_caps(caps);
    gs::CapsPtr plain(gst_caps_copy(caps));
    gst_caps_set_simple(plain.get(), "framerate", GST_TYPE_FRACTION, 0, 1, nullptr);  // That of all together varies.
    const std::lock_guard lock(mutex_);
    if (!caps_) {
      caps_ = std::move(plain);
      video_ = video;
      gst_pad_mark_reconfigure(base()->srcpad);
    } else if (!(video.info == video_->info) || video.memory != video_->memory) {
      const auto text = [](const gs::VideoCaps& one) {
        return std::to_string(one.info.width_px) + "x" + std::to_string(one.info.height_px) + " " +
               to_string(one.info.format) + (one.memory.empty() ? "" : " in " + one.memory);
      };
      throw Error(Code::kInvalidArgument, "element '" + name() + "' (streammux): the pictures of " + GST_PAD_NAME(pad) +
                                              " are " + text(video) + ", and those of others " + text(*video_) +
                                              "; convert and scale all to one kind before it");
    }
  });
}

void StreamMux::note_orientation(GstAggregatorPad* pad, GstEvent* event) {
  const std::lock_guard lock(mutex_);
  if (GST_EVENT_TYPE(event) == GST_EVENT_STREAM_START) rotations_.erase(GST_PAD_NAME(pad));
  if (const auto said = gs::orientation_of(event)) rotations_[GST_PAD_NAME(pad)] = *said;
}

/// One tag holds for the joined stream, so the pictures of all sources must lie alike.
void StreamMux::join_orientation(GstAggregatorPad* pad) {
  const std::lock_guard lock(mutex_);
  const auto said = rotations_.find(GST_PAD_NAME(pad));
  const Rotation own = said != rotations_.end() ? said->second : Rotation::kNone;
  if (joined_ == own) return;
  if (joined_)
    throw Error(Code::kInvalidArgument, "element '" + name() + "' (streammux): the pictures of " + GST_PAD_NAME(pad) +
                                            " are to be turned otherwise than those of others, as the tag "
                                            "image-orientation says; put tenonturn before it");
  joined_ = own;
  if (own == Rotation::kNone) return;
  tag_.reset(gs::orientation_event(own));
}

/// GstAggregator sends its segment with the first buffer, and tags stand behind that.
GstPadProbeReturn StreamMux::send_tag() {
  EventPtr tag;
  {
    const std::lock_guard lock(mutex_);
    tag = std::move(tag_);
  }
  if (tag) gst_pad_push_event(base()->srcpad, tag.release());
  return GST_PAD_PROBE_OK;
}

GstFlowReturn StreamMux::src_caps(GstCaps** made) const {
  const std::lock_guard lock(mutex_);
  if (!caps_) return GST_AGGREGATOR_FLOW_NEED_DATA;
  *made = gst_caps_ref(caps_.get());
  return GST_FLOW_OK;
}

std::optional<GstClockTime> StreamMux::time_of(GstAggregatorPad* pad) {
  const gs::BufferPtr head(gst_aggregator_pad_peek_buffer(pad));
  if (!head) return std::nullopt;
  const GstClockTime time = gst_segment_to_running_time(&pad->segment, GST_FORMAT_TIME, GST_BUFFER_PTS(head.get()));
  return time == GST_CLOCK_TIME_NONE ? 0 : time;  // Without a time it is due.
}

std::vector<StreamMux::Head> StreamMux::heads() const {
  std::vector<Head> all;
  GST_OBJECT_LOCK(object());
  for (GList* at = object()->sinkpads; at; at = at->next)
    all.push_back({PadPtr(GST_AGGREGATOR_PAD(gst_object_ref(at->data))), {}});
  GST_OBJECT_UNLOCK(object());
  for (Head& head : all) head.time = time_of(head.pad.get());
  const auto is_before = [](const Head& a, const Head& b) { return number_of(a.pad.get()) < number_of(b.pad.get()); };
  std::sort(all.begin(), all.end(), is_before);
  return all;
}

GstClockTime StreamMux::earliest(const std::vector<Head>& all) {
  GstClockTime found = GST_CLOCK_TIME_NONE;  // The greatest time.
  for (const Head& head : all) found = std::min(found, head.time.value_or(found));
  return found;
}

GstFlowReturn StreamMux::aggregate() {
  const std::vector<Head> all = heads();
  const GstClockTime first = earliest(all);
  const auto has_ended = [](const Head& head) { return !head.time && gst_aggregator_pad_is_eos(head.pad.get()); };
  if (std::all_of(all.begin(), all.end(), has_ended)) return GST_FLOW_EOS;
  for (const Head& head : all) {
    if (!head.time || *head.time - first > tolerance_) continue;
    if (const GstFlowReturn flow = push(head.pad.get(), *head.time); flow != GST_FLOW_OK) return flow;
  }
  return GST_FLOW_OK;
}

GstFlowReturn StreamMux::push(GstAggregatorPad* pad, GstClockTime time) {
  gs::BufferPtr buffer(gst_aggregator_pad_pop_buffer(pad));
  if (!buffer) return GST_FLOW_OK;
  ++frames_in;
  std::optional<FrameInfo> info;
  {
    const std::lock_guard lock(mutex_);
    if (video_) info = video_->info;
  }
  if (!info) return GST_FLOW_NOT_NEGOTIATED;
  const bool is_marked = guarded(During::kStream, [&] {
    join_orientation(pad);
    const auto known = known_of(buffer.get(), *info);
    known->add(metadata::Source{name(), number_of(pad), sequence_++});
    buffer.reset(gst_buffer_make_writable(buffer.release()));
    gs::write_metadata(*known, *info, buffer.get());
    if (GST_BUFFER_PTS_IS_VALID(buffer.get())) GST_BUFFER_PTS(buffer.get()) = time;
    GST_BUFFER_DTS(buffer.get()) = GST_CLOCK_TIME_NONE;
  });
  if (!is_marked) return GST_FLOW_ERROR;
  ++frames_out;
  return gst_aggregator_finish_buffer(base(), buffer.release());
}

}  // namespace

GType stream_mux_type(Kind& kind) {
  return register_type<StreamMux, GstAggregator, GstAggregatorClass>(GST_TYPE_AGGREGATOR, kind);
}

std::vector<Kind> stream_kinds() {
  Kind mux, demux;
  mux.description.name = "streammux";
  mux.description.about = "Joins the streams of several sources, so that one model serves them all";
  mux.description.parameters = {{"tolerance_ms",
                                 "Buffers whose times differ by no more than this many milliseconds leave in one turn",
                                 std::int64_t{20}, false, 0, 60'000}};
  demux.description.name = "streamdemux";
  demux.description.about = "Parts the streams that streammux joined: what came in by its sink_3 leaves by src_3";
  std::vector<Kind> all;
  all.push_back(std::move(mux));
  all.push_back(std::move(demux));
  return all;
}

}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon
