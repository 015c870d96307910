// SPDX-License-Identifier: Apache-2.0
// The sink pad for the packets of which a sink's pictures were decoded.
#pragma once

#include <condition_variable>
#include <mutex>

#include <gst/gst.h>

#include <tenon/core/pixel_format.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/elements/packet_sink.hpp>
#include <tenon/frameworks/gstreamer/gst.hpp>

namespace tenon {
inline namespace v1 {
namespace gst_plugin {

/// The pad "packets" beside the pad of pictures. @thread any.
class PacketPad {
 public:
  static void add_template(GstElementClass* element_class);
  /// Adds the pad to `object`, which must be gone before this is.
  explicit PacketPad(GstElement* object);
  PacketPad(const PacketPad&) = delete;
  PacketPad& operator=(const PacketPad&) = delete;

  /// Packets go to `sink` until stop().
  void start(elements::PacketSink& sink);
  void stop();
  /// Ends a wait, and refuses packets until begin_again().
  void interrupt();
  /// Data will flow: nothing has come yet.
  void begin_again();
  bool is_linked() const { return gst_pad_is_linked(pad_); }
  /// Whether a stream of packets has begun.
  bool has_begun() const;
  /// Waits until all packets have come.
  void wait_for_end(Deadline deadline);

 private:
  GstFlowReturn chain(const gstreamer::BufferPtr& buffer);
  gboolean event(GstEvent* event);
  void begin(GstCaps* caps);
  bool begin_stream(GstCaps* caps);

  GstElement* const object_;
  GstPad* pad_ = nullptr;  ///< The element owns it.
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  elements::PacketSink* sink_ = nullptr;
  Rotation rotation_ = Rotation::kNone;  ///< What tags say that must be done to make the pictures upright.
  bool has_begun_ = false, has_ended_ = false, is_interrupted_ = false;
};

}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon
