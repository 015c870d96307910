// SPDX-License-Identifier: Apache-2.0
// tenonstreamdemux: each source's buffers of a joined stream on a pad of their own.
#include <mutex>
#include <optional>
#include <string>

#include <gst/base/gstflowcombiner.h>

#include <tenon/bindings/gstreamer/host.hpp>
#include <tenon/bindings/gstreamer/media.hpp>
#include <tenon/bindings/gstreamer/streams.hpp>
#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {
namespace gst_plugin {
namespace {

namespace gs = tenon::gstreamer;

class StreamDemux final : public Host {
 public:
  StreamDemux(GstElement* object, const Kind& kind);
  ~StreamDemux() override { gst_flow_combiner_free(flows_); }
  static void init_class(GstElementClass* element_class, Kind& kind);

 private:
  static StreamDemux& of(gpointer object) { return host_of<StreamDemux, GstElement>(object); }

  GstPad* request(GstPadTemplate* like, const gchar* name);
  void release(GstPad* pad);
  GstFlowReturn chain(gs::BufferPtr buffer);
  gboolean event(GstEvent* event);
  /// The number of the source's pad. @errors kFailedPrecondition: the buffer does not say it.
  std::uint64_t source_of(GstBuffer* buffer) const;

  GstPad* sink_ = nullptr;
  std::optional<FrameInfo> info_;  ///< Under the sink pad's stream lock.
  std::mutex mutex_;
  GstFlowCombiner* const flows_ = gst_flow_combiner_new();  ///< Under mutex_.
};

StreamDemux::StreamDemux(GstElement* object, const Kind& kind) : Host(object, kind) {
  auto* const element_class = reinterpret_cast<GstElementClass*>(reinterpret_cast<GTypeInstance*>(object)->g_class);
  sink_ = gst_pad_new_from_template(gst_element_class_get_pad_template(element_class, "sink"), "sink");
  gst_pad_set_chain_function(
      sink_, [](GstPad*, GstObject* parent, GstBuffer* buffer) { return of(parent).chain(gs::BufferPtr(buffer)); });
  gst_pad_set_event_function(sink_,
                             [](GstPad*, GstObject* parent, GstEvent* event) { return of(parent).event(event); });
  GST_PAD_SET_PROXY_CAPS(sink_);  // All pads have the same caps.
  gst_element_add_pad(object, sink_);
}

void StreamDemux::init_class(GstElementClass* element_class, Kind& kind) {
  const auto add = [&](const char* name, GstPadDirection direction, GstPadPresence presence) {
    gst_element_class_add_pad_template(element_class,
                                       gst_pad_template_new(name, direction, presence, template_caps({}).get()));
  };
  add("sink", GST_PAD_SINK, GST_PAD_ALWAYS);
  add("src_%u", GST_PAD_SRC, GST_PAD_REQUEST);
  describe_class(element_class, kind, "Video/Demuxer");
  element_class->request_new_pad = [](GstElement* object, GstPadTemplate* like, const gchar* name, const GstCaps*) {
    return of(object).request(like, name);
  };
  element_class->release_pad = [](GstElement* object, GstPad* pad) { of(object).release(pad); };
  element_class->change_state = [](GstElement* object, GstStateChange change) {
    const StreamDemux& own = of(object);
    if (change == GST_STATE_CHANGE_READY_TO_PAUSED && !own.guarded(During::kStart, [&] { own.checked_settings(); }))
      return GST_STATE_CHANGE_FAILURE;
    return parent_class(object)->change_state(object, change);
  };
}

GstPad* StreamDemux::request(GstPadTemplate* like, const gchar* name) {
  const std::string text = name_of_new_pad(object(), name, "src_");
  if (text.empty()) return nullptr;
  GstPad* const pad = gst_pad_new_from_template(like, text.c_str());
  gst_pad_set_active(pad, TRUE);
  // A pad that comes late has the stream's begin, caps and segment all the same.
  gst_pad_sticky_events_foreach(
      sink_,
      [](GstPad*, GstEvent** event, gpointer to) -> gboolean {
        gst_pad_store_sticky_event(static_cast<GstPad*>(to), *event);
        return TRUE;
      },
      pad);
  gst_element_add_pad(object(), pad);
  const std::lock_guard lock(mutex_);
  gst_flow_combiner_add_pad(flows_, pad);
  return pad;
}

void StreamDemux::release(GstPad* pad) {
  {
    const std::lock_guard lock(mutex_);
    gst_flow_combiner_remove_pad(flows_, pad);
  }
  gst_pad_set_active(pad, FALSE);
  gst_element_remove_pad(object(), pad);
}

gboolean StreamDemux::event(GstEvent* event) {
  if (GST_EVENT_TYPE(event) == GST_EVENT_CAPS) {
    GstCaps* caps = nullptr;
    gst_event_parse_caps(event, &caps);
    info_.reset();
    if (!guarded(During::kNegotiation, [&] { info_ = gs::video_caps(caps).info; })) {
      gst_event_unref(event);
      return FALSE;
    }
  }
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP) {
    const std::lock_guard lock(mutex_);
    gst_flow_combiner_reset(flows_);
  }
  return gst_pad_event_default(sink_, GST_OBJECT(object()), event);  // To all pads.
}

std::uint64_t StreamDemux::source_of(GstBuffer* buffer) const {
  const auto sources = known_of(buffer, *info_)->all<metadata::Source>();
  if (sources.empty())
    throw Error(Code::kFailedPrecondition,
                "element '" + name() +
                    "' (streamdemux): a buffer does not say which source it is of; tenonstreammux must join the "
                    "streams, and elements between must keep metadata");
  return sources.back()->stream;  // That of the last mux, if there are several.
}

GstFlowReturn StreamDemux::chain(gs::BufferPtr buffer) {
  ++frames_in;
  if (!info_) return GST_FLOW_NOT_NEGOTIATED;
  std::uint64_t source = 0;
  if (!guarded(During::kStream, [&] { source = source_of(buffer.get()); })) return GST_FLOW_ERROR;
  const gs::ObjectPtr<GstPad> pad(gst_element_get_static_pad(object(), ("src_" + std::to_string(source)).c_str()));
  if (!pad) {  // No pad was requested for that source.
    ++dropped;
    return GST_FLOW_OK;
  }
  const GstFlowReturn flow = gst_pad_push(pad.get(), buffer.release());
  if (flow == GST_FLOW_OK) ++frames_out;
  const std::lock_guard lock(mutex_);
  return gst_flow_combiner_update_pad_flow(flows_, pad.get(), flow);
}

}  // namespace

GType stream_demux_type(Kind& kind) {
  return register_type<StreamDemux, GstElement, GstElementClass>(GST_TYPE_ELEMENT, kind);
}

}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon
