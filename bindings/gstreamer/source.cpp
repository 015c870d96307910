// SPDX-License-Identifier: Apache-2.0
// Sources as GStreamer elements on GstPushSrc, which owns the thread. A source opens before its pad is active, so that GStreamer
// knows in time whether it is live.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include <gst/base/gstpushsrc.h>

#include <tenon/bindings/gstreamer/host.hpp>
#include <tenon/bindings/gstreamer/media.hpp>
#include <tenon/core/error.hpp>
#include <tenon/frameworks/gstreamer/orientation.hpp>

namespace tenon {
inline namespace v1 {
namespace gst_plugin {
namespace {

namespace gs = tenon::gstreamer;
using elements::Source;
using elements::StreamInfo;
using namespace std::chrono_literals;

constexpr auto kPatience = 10s;  ///< The time limit for opening, and between two frames.
constexpr auto kStep = 100ms;    ///< How soon a silent source notices that it must stop.

class SourceHost final : public Host {
 public:
  SourceHost(GstElement* object, const Kind& kind) : Host(object, kind) {
    gst_base_src_set_format(GST_BASE_SRC(object), GST_FORMAT_TIME);
  }
  static void init_class(GstPushSrcClass* push_class, Kind& kind);

 private:
  static SourceHost& of(gpointer object) { return host_of<SourceHost, GstPushSrc>(object); }
  GstBaseSrc* base() const { return GST_BASE_SRC(object()); }
  Source& source() const { return *std::get<std::unique_ptr<Source>>(*element_); }

  GstStateChangeReturn change_state(GstStateChange change);
  bool open();
  void close();
  /// The caps of the stream, as far as they are known.
  gs::CapsPtr caps() const;
  bool negotiate();
  bool decide_allocation(GstQuery* query);
  GstFlowReturn create(GstBuffer** out);
  bool follow(const FrameInfo& info);
  void tell_orientation(Rotation rotation);
  void set_time(GstBuffer* buffer);

  std::optional<elements::AnyElement> element_;  ///< Set from the change to PAUSED until the change back to READY.
  StreamInfo info_;
  gs::CapsPtr pushed_;
  Requirements wanted_;
  Rotation told_ = Rotation::kNone;  ///< What tags say that must be done to make pictures upright.
  bool has_allocated_ = false, takes_layouts_ = false;
  std::atomic<bool> is_unlocked_{false};
};

void SourceHost::init_class(GstPushSrcClass* push_class, Kind& kind) {
  auto* const element_class = GST_ELEMENT_CLASS(push_class);
  gst_element_class_add_pad_template(element_class,
                                     gst_pad_template_new("src", GST_PAD_SRC, GST_PAD_ALWAYS, template_caps({}).get()));
  describe_class(element_class, kind, "Source/Video");
  element_class->change_state = [](GstElement* object, GstStateChange change) {
    return of(object).change_state(change);
  };
  auto* const base_class = GST_BASE_SRC_CLASS(push_class);
  base_class->get_caps = [](GstBaseSrc* object, GstCaps* filter) -> GstCaps* {
    SourceHost& self = of(object);
    const gs::CapsPtr known = self.element_ ? self.caps() : gs::CapsPtr(gst_pad_get_pad_template_caps(object->srcpad));
    return filter ? gst_caps_intersect_full(filter, known.get(), GST_CAPS_INTERSECT_FIRST) : gst_caps_ref(known.get());
  };
  base_class->negotiate = [](GstBaseSrc* object) -> gboolean { return of(object).negotiate(); };
  base_class->is_seekable = [](GstBaseSrc*) -> gboolean { return FALSE; };
  base_class->unlock = [](GstBaseSrc* object) -> gboolean { return of(object).is_unlocked_ = true; };
  base_class->unlock_stop = [](GstBaseSrc* object) -> gboolean {
    of(object).is_unlocked_ = false;
    return TRUE;
  };
  push_class->create = [](GstPushSrc* object, GstBuffer** out) { return of(object).create(out); };
}

GstStateChangeReturn SourceHost::change_state(GstStateChange change) {
  if (change == GST_STATE_CHANGE_READY_TO_PAUSED && !open()) {
    close();
    return GST_STATE_CHANGE_FAILURE;
  }
  if (change == GST_STATE_CHANGE_PAUSED_TO_READY && element_) source().interrupt();
  const GstStateChangeReturn result = parent_class(object())->change_state(object(), change);
  const bool has_failed = change == GST_STATE_CHANGE_READY_TO_PAUSED && result == GST_STATE_CHANGE_FAILURE;
  if (change == GST_STATE_CHANGE_PAUSED_TO_READY || has_failed) close();
  return result;
}

bool SourceHost::open() {
  has_allocated_ = false;
  told_ = Rotation::kNone;
  return guarded(During::kStart, [&] {
    element_.emplace(make());
    info_ = source().open(Clock::now() + kPatience);
    gst_base_src_set_live(base(), info_.is_live);
  });
}

void SourceHost::close() {
  pushed_.reset();
  element_.reset();
}

gs::CapsPtr SourceHost::caps() const {
  if (info_.frame.format.fourcc == 0) return gs::CapsPtr(gst_pad_get_pad_template_caps(base()->srcpad));
  gs::VideoCaps video;
  video.info = info_.frame;
  if (info_.frames_per_second > 0)
    gst_util_double_to_fraction(info_.frames_per_second, &video.rate_num, &video.rate_den);
  video.aspect_num = static_cast<int>(info_.aspect_num), video.aspect_den = static_cast<int>(info_.aspect_den);
  return gs::caps(video);
}

/// If the format is unknown, caps are negotiated when the first frame is there.
bool SourceHost::negotiate() {
  if (info_.frame.format.fourcc == 0) return true;
  bool is_agreed = false;
  guarded(During::kNegotiation, [&] { is_agreed = follow(info_.frame); });
  return is_agreed;
}

/// Sends the caps of frames like `info` downstream, and tells the source which memory downstream wants.
bool SourceHost::follow(const FrameInfo& info) {
  info_.frame = info;
  gs::CapsPtr made = caps();
  if (!pushed_ || !gst_caps_is_equal(pushed_.get(), made.get())) {
    if (!gst_base_src_set_caps(base(), made.get())) return false;
    pushed_ = std::move(made);
  }
  const Downstream downstream = ask_downstream(base()->srcpad, pushed_.get());
  takes_layouts_ = downstream.takes_layouts;
  if (!std::exchange(has_allocated_, true)) source().allocate(downstream.wanted, {});
  return true;
}

GstFlowReturn SourceHost::create(GstBuffer** out) {
  GstFlowReturn flow = GST_FLOW_ERROR;
  guarded(During::kStream, [&] {
    std::optional<Frame> frame;
    const Deadline silent_until = Clock::now() + kPatience;
    if (!std::exchange(has_allocated_, true)) source().allocate({}, {});
    while (!frame) {
      if (is_unlocked_) {
        flow = GST_FLOW_FLUSHING;
        return;
      }
      try {
        frame = source().read(std::min<Deadline>(Clock::now() + kStep, silent_until));
      } catch (const Error& error) {
        if (is_unlocked_) continue;
        if (error.code() != Code::kDeadlineExceeded || Clock::now() >= silent_until) throw;
        continue;
      }
      if (!frame) {
        flow = GST_FLOW_EOS;
        return;
      }
    }
    if ((!pushed_ || frame->info() != info_.frame) && !follow(frame->info())) {
      flow = is_unlocked_ ? GST_FLOW_FLUSHING : GST_FLOW_NOT_NEGOTIATED;
      return;
    }
    tell_orientation(frame->info().rotation);
    gs::BufferPtr buffer = to_buffer(std::move(*frame), &ledger);
    if (!takes_layouts_) buffer = packed(std::move(buffer), pushed_.get(), ledger);
    buffer.reset(gst_buffer_make_writable(buffer.release()));
    set_time(buffer.get());
    ++frames_out;
    *out = buffer.release();
    flow = GST_FLOW_OK;
  });
  return flow;
}

/// Caps do not say how pictures lie; a tag does, which the base class sends between its segment and the next buffer.
void SourceHost::tell_orientation(Rotation rotation) {
  if (std::exchange(told_, rotation) != rotation) gst_element_send_event(object(), gs::orientation_event(rotation));
}

/// Live frames get times of the pipeline's clock; other frames keep the times of their file.
void SourceHost::set_time(GstBuffer* buffer) {
  GST_BUFFER_OFFSET(buffer) = frames_out;
  if (info_.frames_per_second > 0)
    GST_BUFFER_DURATION(buffer) = static_cast<GstClockTime>(GST_SECOND / info_.frames_per_second);
  if (!info_.is_live) return;
  const gs::ObjectPtr<GstClock> clock(gst_element_get_clock(object()));
  if (!clock) return;
  const GstClockTime now = gst_clock_get_time(clock.get()), base_time = gst_element_get_base_time(object());
  GST_BUFFER_PTS(buffer) = now > base_time ? now - base_time : 0;
}

}  // namespace

GType source_type(Kind& kind) {
  return register_type<SourceHost, GstPushSrc, GstPushSrcClass>(GST_TYPE_PUSH_SRC, kind);
}

}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon
