// SPDX-License-Identifier: Apache-2.0
// GstBuffer, GstMemory, GstVideoFrame and buffer lists to Frame and Tensor, and back, never copying where planes lie whole.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/gstreamer/caps.hpp>
#include <tenon/frameworks/gstreamer/context.hpp>  // IWYU pragma: export
#include <tenon/frameworks/gstreamer/device.hpp>   // IWYU pragma: export
#include <tenon/frameworks/gstreamer/gst.hpp>
#include <tenon/frameworks/gstreamer/lease.hpp>

namespace tenon {
inline namespace v1 {
namespace gstreamer {
namespace detail {

/// The memory noted at `memory` or at the one that it is a part of; null where there is none.
Memory* noted_memory(GstMemory* memory);

std::int64_t timestamp_ns(const GstBuffer* buffer);

}  // namespace detail

/// Wraps the picture in `buffer` in place, for reading. Takes its own reference: the caller may unref theirs, and the
/// buffer returns to its pool when the last plane goes and nothing runs on it. Memory of Tenon's pool (pool.hpp) comes out
/// as that memory with its views; dma-bufs and sealed memfds have kind "dmabuf", memory of devices "gstreamer.device", all
/// other "gstreamer". GstVideoMeta and GstVideoCropMeta are heeded; a crop between chroma samples has luma where it says and
/// chroma from the sample before, as videocrop writes it (packed 4:2:2: a copy, booked as "gstreamer.crop").
///
/// While the frame lives its memory is mapped for reading, so GStreamer refuses to map it for writing.
/// @param caps    The caps of the buffer's stream: CapsCache::of(gst_sample_get_caps(sample)).
/// @param ledger  Where a copy is booked that GStreamer makes because a plane lies in several memories ("gstreamer.merge");
/// null: the process ledger.
/// @errors kInvalidArgument: null, a GstVideoMeta or a crop that contradicts `caps`; kOutOfRange: a plane past the
/// buffer's end; kUnimplemented: bottom-up pictures, tiled pixels in no dma-buf, a crop within a group of packed pixels that share chroma
/// (YUY2, UYVY and such) where the CPU cannot copy it;
/// kFailedPrecondition: GStreamer does not map it.
/// @thread any. @cost a reference, a map per memory; allocates nothing in the steady state, moves no bytes.
Frame wrap(GstBuffer* buffer, const VideoCaps& caps, Ledger* ledger = nullptr);

/// As wrap(), as a frame of the host's context, which every edge from "cpu" takes: for buffers in system memory, without a
/// router. @errors as wrap(); kFailedPrecondition: memory of a device, or a descriptor whose CPU access is bracketed.
Frame wrap_for_cpu(GstBuffer* buffer, const VideoCaps& caps, Ledger* ledger = nullptr);

/// As wrap(), but takes over the caller's reference. If there is no other one, the frame may be written. On failure the
/// reference stays the caller's. @errors as wrap()
Frame adopt(GstBuffer* buffer, const VideoCaps& caps, Ledger* ledger = nullptr);

/// The picture in the buffer of `sample`, in place; `cache` belongs to the stream. @errors as wrap(); kInvalidArgument:
/// a sample without buffer.
Frame wrap(GstSample* sample, CapsCache& cache, Ledger* ledger = nullptr);

/// The picture that `frame` has mapped; its buffer is referenced again, so `frame` may be unmapped at once.
/// @errors as wrap(); kInvalidArgument: not mapped.
Frame wrap(const GstVideoFrame& frame, Ledger* ledger = nullptr);

/// All pictures of `list` as a batch. @errors as wrap(); kInvalidArgument: null, or empty.
Frame wrap(GstBufferList* list, const VideoCaps& caps, Ledger* ledger = nullptr);

/// Bytes of `buffer` as a tensor: samples of audio, results of inference. As wrap() for pictures.
/// @param offset  Byte of the buffer at which the tensor begins.
/// @errors kInvalidArgument: null; kOutOfRange: `info` reaches past the end of the memory in which it begins (map buffers
/// of several memories with gst_buffer_map first); kFailedPrecondition: GStreamer does not map it.
Tensor wrap(GstBuffer* buffer, const TensorInfo& info, std::size_t offset = 0);

/// Bytes of `memory` as a tensor. Takes its own reference. @errors as above.
Tensor wrap(GstMemory* memory, const TensorInfo& info, std::size_t offset = 0);

namespace detail {

/// A GstMemory over the whole of `memory`: by its descriptor, if it has one that GStreamer knows, else by its address.
/// It keeps the memory and the lease. @errors kFailedPrecondition: it has neither
MemoryPtr gst_memory_over(const Ref<Memory>& memory, const Lease& lease, void* host, bool writable);

}  // namespace detail

/// `frame` as a GstBuffer over the same bytes, which keeps memory and leases: a pool buffer returns only after GStreamer
/// releases it too. A frame from wrap() or adopt() gives the buffer that it came from. Memory is read-only unless the
/// planes are writable. Dma-bufs come out as such (gst_is_dmabuf_memory). Waits for the last write to the memory, because
/// GStreamer knows no fences. Caps are caps(frame.info()).
/// @errors kUnimplemented: no such format in GStreamer; kFailedPrecondition: neither a host address nor a dma-buf, or
/// strides that GstVideoMeta cannot express; kInvalidArgument: an empty frame or a batch; kDeadlineExceeded.
BufferPtr buffer(const Frame& frame, Deadline deadline = default_deadline(), Ledger* ledger = nullptr);

/// The frames of a batch as a list of buffers, one each. @errors as buffer()
BufferListPtr buffer_list(const Frame& batch, Deadline deadline = default_deadline(), Ledger* ledger = nullptr);

/// The bytes of `tensor`, which must be contiguous, as a GstBuffer. @errors kInvalidArgument: empty;
/// kFailedPrecondition: not contiguous, or neither a host address nor a dma-buf; kDeadlineExceeded.
BufferPtr buffer(const Tensor& tensor, Deadline deadline = default_deadline(), Ledger* ledger = nullptr);

/// A GstVideoFrame over a frame, mapped while this object lives. @thread one at a time.
class VideoFrame {
 public:
  /// @errors as buffer(); kFailedPrecondition: GStreamer does not map it so.
  explicit VideoFrame(const Frame& frame, GstMapFlags flags = GST_MAP_READ);
  VideoFrame(const VideoFrame&) = delete;
  VideoFrame& operator=(const VideoFrame&) = delete;
  ~VideoFrame() { gst_video_frame_unmap(&mapped_); }
  GstVideoFrame* get() { return &mapped_; }

 private:
  BufferPtr buffer_;
  GstVideoFrame mapped_;
};

}  // namespace gstreamer
}  // namespace v1
}  // namespace tenon
