// SPDX-License-Identifier: Apache-2.0
// Buffers to frames with their metadata and back, caps of what elements take, and allocation between neighbours.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include <gst/gst.h>

#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/elements/element.hpp>
#include <tenon/frameworks/gstreamer/caps.hpp>

namespace tenon {
inline namespace v1 {
namespace gst_plugin {

/// What pads are registered with: raw video in `formats` (empty: all that Tenon knows), in system memory, dma-bufs, and
/// memory of other kinds.
gstreamer::CapsPtr template_caps(const std::vector<PixelFormat>& formats);

/// What the caps of a stream tell an element. @param peer  A pad to ask whether the stream is live; may be null.
elements::StreamInfo stream_info(const gstreamer::VideoCaps& video, GstPad* sink);

/// Caps of what an element makes of a stream with `in_caps`: those, where nothing that they say changes.
/// @param keeps_memory  False: frames lie in system memory now, wherever they came from.
gstreamer::CapsPtr caps_after(GstCaps* in_caps, const gstreamer::VideoCaps& in, const FrameInfo& out,
                              bool keeps_memory = true);

/// The picture in `buffer`, with what its metas say. Takes over the reference, on failure too. @errors as gstreamer::adopt(),
/// read_metadata()
Frame to_frame(gstreamer::BufferPtr buffer, const gstreamer::VideoCaps& video, Ledger* ledger);

/// `frame` as a buffer, with its metadata as metas (regions of interest, and GstAnalytics where GStreamer has it). Lets go of
/// the frame, so that nobody but the caller refers to the buffer if nobody did before. @errors as gstreamer::buffer()
gstreamer::BufferPtr to_buffer(Frame frame, Ledger* ledger);

/// When a buffer is shown, kept for the buffer that an element makes of it. A ring: as many as an element may hold back.
class Timings {
 public:
  void note(const GstBuffer* buffer);
  /// Sets what `buffer`, a new one, lacks: from the noted buffer with its timestamp.
  void complete(GstBuffer* buffer) const;

 private:
  struct Timing {
    GstClockTime pts = GST_CLOCK_TIME_NONE, dts = GST_CLOCK_TIME_NONE, duration = GST_CLOCK_TIME_NONE;
    guint64 offset = GST_BUFFER_OFFSET_NONE, offset_end = GST_BUFFER_OFFSET_NONE;
  };
  static constexpr std::size_t kKept = 256;
  std::array<Timing, kKept> kept_{};
  std::size_t next_ = 0;
};

/// What elements downstream answered to an allocation query.
struct Downstream {
  bool takes_layouts = false;  ///< They read GstVideoMeta: planes may lie anywhere.
  Requirements wanted;         ///< Of Tenon's elements among them, and alignments that others ask for.
};
Downstream ask_downstream(GstPad* src, GstCaps* caps);

/// Answers an allocation query with a pool of memory that `wanted` describes. @return false: left as it was.
bool answer_allocation(GstQuery* query, const Requirements& wanted);

/// Both at once, if that is possible; else `own`.
Requirements joined(const Requirements& own, const Requirements& downstream);

/// `buffer` as GStreamer lays `caps` out by default, for elements that read no GstVideoMeta: itself, or a copy, which is
/// booked as "gstreamer.pack".
gstreamer::BufferPtr packed(gstreamer::BufferPtr buffer, GstCaps* caps, Ledger& ledger);

}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon
