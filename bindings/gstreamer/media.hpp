// SPDX-License-Identifier: Apache-2.0
// Converts buffers to frames with their metadata and back, and handles caps and allocation queries.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gst/gst.h>

#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/elements/element.hpp>
#include <tenon/elements/gstreamer/surfaces.hpp>
#include <tenon/frameworks/gstreamer/caps.hpp>

namespace tenon {
inline namespace v1 {
namespace gst_plugin {

/// The caps with which pads are registered: raw video in `formats` (empty: all that Tenon knows), in system memory, dma-bufs,
/// and other kinds of memory.
gstreamer::CapsPtr template_caps(const std::vector<PixelFormat>& formats);

/// The stream info that follows from caps. @param peer  A pad to ask whether the stream is live; may be null.
elements::StreamInfo stream_info(const gstreamer::VideoCaps& video, GstPad* sink);

/// The caps of the stream that an element makes of a stream with `in_caps`. They are `in_caps` if nothing that caps say changes.
/// @param keeps_memory  False: the frames lie in system memory now, wherever they came from.
gstreamer::CapsPtr caps_after(GstCaps* in_caps, const gstreamer::VideoCaps& in, const elements::StreamInfo& out,
                              bool keeps_memory = true);

/// Exports buffers in VA memory by the descriptors of their surfaces.
using Surfaces = elements::gstreamer::Surfaces;

/// What the metas of `buffer` say, at the places of its picture. @errors as gstreamer::read_metadata()
std::shared_ptr<metadata::Collection> known_of(GstBuffer* buffer, const FrameInfo& info);

/// The picture in `buffer`, with the metadata from its metas. Takes over the reference, on failure too. @errors as
/// gstreamer::adopt() and read_metadata()
/// @param surfaces  Null, or what gives buffers in VA memory without a copy; made null where that does not work.
Frame to_frame(gstreamer::BufferPtr buffer, const gstreamer::VideoCaps& video, std::unique_ptr<Surfaces>& surfaces,
               Ledger* ledger);

/// `frame` as a buffer, with its metadata as metas (regions of interest, and GstAnalytics if GStreamer has it). Releases the
/// frame, so that only the caller refers to the buffer unless there were other references before. @errors as gstreamer::buffer()
gstreamer::BufferPtr to_buffer(Frame frame, Ledger* ledger);

/// Whether the frame lies in the memory that the caps' feature names. Dma-bufs may be addressable by the host, too. With any other
/// feature, a frame that the host can address is a new picture, which the element has made in host memory.
bool is_of_kind(const Frame& frame, const std::string& feature);

/// Keeps the times of buffers for the buffers that an element makes of them. It is a ring with room for as many buffers as an
/// element may hold back.
class Timings {
 public:
  void note(const GstBuffer* buffer);
  /// Sets the times that `buffer`, a new one, lacks. They come from the noted buffer with the same timestamp.
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

/// The answer of downstream elements to an allocation query.
struct Downstream {
  bool takes_layouts = false;  ///< Downstream reads GstVideoMeta: planes may lie anywhere.
  Requirements
      wanted;  ///< The requirements of Tenon's elements downstream, and alignments that other elements ask for.
};
Downstream ask_downstream(GstPad* src, GstCaps* caps);

/// Answers an allocation query with a pool of memory that meets `wanted`. @return False: the query was not changed.
bool answer_allocation(GstQuery* query, const Requirements& wanted);

/// The joined requirements, if they can be joined; else `own`.
Requirements joined(const Requirements& own, const Requirements& downstream);

/// `buffer` in GStreamer's default layout for `caps`, for elements that do not read GstVideoMeta. It is `buffer` itself, or a copy,
/// which is booked as "gstreamer.pack".
gstreamer::BufferPtr packed(gstreamer::BufferPtr buffer, GstCaps* caps, Ledger& ledger);

}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon
