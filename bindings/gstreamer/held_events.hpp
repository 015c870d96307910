// SPDX-License-Identifier: Apache-2.0
// Events that are bound to a place in the stream, and wait for the frames before them.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include <gst/gst.h>

#include <tenon/core/frame.hpp>

namespace tenon {
inline namespace v1 {
namespace gst_plugin {

struct UnrefEvent {
  void operator()(GstEvent* event) const { gst_event_unref(event); }
};
using EventPtr = std::unique_ptr<GstEvent, UnrefEvent>;

/// @thread under the sink pad's stream lock.
class HeldEvents {
 public:
  bool empty() const { return held_.empty(); }
  /// @param after_ns  The time of the frame before it; kNoTimestamp: unknown, or none.
  void hold(EventPtr event, std::int64_t after_ns) { held_.push_back({std::move(event), after_ns}); }
  void clear() { held_.clear(); }

  /// Sends the events that stand before a frame of this time; without a time, all events.
  void release(GstPad* src, std::optional<std::int64_t> before_ns) {
    while (!held_.empty()) {
      const std::int64_t after_ns = held_.front().after_ns;
      if (before_ns && after_ns != kNoTimestamp && *before_ns != kNoTimestamp && *before_ns <= after_ns) return;
      EventPtr event = std::move(held_.front().event);
      held_.pop_front();
      gst_pad_push_event(src, event.release());
    }
  }

  /// After a flush. Events that hold for the stream survive, and are sent; those that belong to its frames do not.
  void flush(GstPad* src) {
    for (Held& one : std::exchange(held_, {})) {
      const GstEventType type = GST_EVENT_TYPE(one.event.get());
      if (GST_EVENT_IS_STICKY(one.event.get()) && type != GST_EVENT_SEGMENT && type != GST_EVENT_EOS)
        gst_pad_push_event(src, one.event.release());
    }
  }

 private:
  struct Held {
    EventPtr event;
    std::int64_t after_ns;
  };
  std::deque<Held> held_;
};

}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon
