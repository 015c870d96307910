// SPDX-License-Identifier: Apache-2.0
// AVFrame to Frame and back; the leases of AVFrames.
#include <tenon/frameworks/ffmpeg/frame.hpp>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/frameworks/ffmpeg/convert.hpp>
#include <tenon/frameworks/ffmpeg/pool.hpp>
#include <tenon/frameworks/ffmpeg/rotation.hpp>

namespace tenon {
inline namespace v1 {
namespace ffmpeg {
namespace detail {

/// The mapping of a picture that can be wrapped. @errors kUnimplemented, kInvalidArgument: with the reason.
TENON_INLINE const FormatMapping& check_wrappable(const AVFrame& frame) {
  const auto format = static_cast<AVPixelFormat>(frame.format);
  const AVPixFmtDescriptor* descriptor = av_pix_fmt_desc_get(format);
  if (!descriptor || frame.width <= 0 || frame.height <= 0) {
    throw Error(Code::kInvalidArgument, describe(frame) + ": no picture in it");
  }
  const FormatMapping* mapping = find_mapping(format);
  if (!mapping) {
    throw Error(Code::kUnimplemented, describe(frame) + ": " + reason_against(format) + "; convert it to " +
                                          ffmpeg::to_string(nearest_mapped(format)) + " with swscale");
  }
  if (!frame.buf[0]) {
    throw Error(Code::kInvalidArgument, describe(frame) +
                                            " is not reference-counted, so nothing would keep its bytes alive; "
                                            "give it buffers with av_frame_get_buffer");
  }
  return *mapping;
}

/// Index of the frame's buffer that holds `data`.
TENON_INLINE int buffer_of(const AVFrame& frame, const std::uint8_t* data) {
  for (int i = 0; i < AV_NUM_DATA_POINTERS && frame.buf[i]; ++i) {
    if (data >= frame.buf[i]->data && data < frame.buf[i]->data + frame.buf[i]->size) return i;
  }
  return -1;
}

/// The planes of the frame in `lease`. @errors as wrap().
TENON_INLINE Frame build(const Ref<FrameLease>& lease, const FormatMapping& mapping, AVRational time_base) {
  AVFrame& frame = *lease->frame();
  if (frame.crop_top | frame.crop_bottom | frame.crop_left | frame.crop_right) {
    // Changes the pointers of our own reference only; the unaligned flag makes the crop exact.
    if (const int error = av_frame_apply_cropping(&frame, AV_FRAME_CROP_UNALIGNED); error < 0) {
      throw make_error(error, describe(frame) + ": its cropping leaves the picture", "av_frame_apply_cropping");
    }
  }
  FrameInfo info = make_info(mapping, frame.width, frame.height, frame.colorspace, frame.color_range);
  if (frame.nb_side_data != 0) info.rotation = rotation_of(frame);
  const PixelFormatInfo& format = format_info(info.format);
  const auto sample = static_cast<int>(size_bytes(format.sample));
  std::array<PlanePlace, 4> planes;
  std::array<int, 4> buffers{-1, -1, -1, -1};
  for (std::size_t p = 0; p < format.plane_count; ++p) {
    const std::size_t from = mapping.planes[p];
    std::uint8_t* const data = frame.data[from];
    const int linesize = frame.linesize[from];
    const auto complain = [&](Code code, const std::string& what) {
      return Error(code, describe(frame) + ": plane " + std::to_string(from) + what);
    };
    if (linesize < 0) {
      throw complain(Code::kUnimplemented, " is stored bottom-up (linesize " + std::to_string(linesize) +
                                               "); flip it with the filter vflip twice, or av_frame_copy it");
    }
    if (const std::size_t row = plane_extent(info, format, p).row_bytes;
        !data || static_cast<std::size_t>(linesize) < row) {
      throw complain(Code::kInvalidArgument,
                     " has a linesize of " + std::to_string(linesize) + " bytes, a row has " + std::to_string(row));
    }
    if (reinterpret_cast<std::uintptr_t>(data) % static_cast<std::size_t>(sample) != 0 || linesize % sample != 0) {
      throw complain(Code::kInvalidArgument, " is not aligned to its samples of " + std::to_string(sample) + " bytes");
    }
    buffers[p] = buffer_of(frame, data);
    if (buffers[p] < 0) throw complain(Code::kInvalidArgument, " lies in none of the frame's buffers");
    const AVBufferRef* buffer = frame.buf[buffers[p]];
    Ref<Memory> memory;
    for (std::size_t earlier = 0; earlier < p && !memory; ++earlier) {
      if (buffers[earlier] == buffers[p]) memory = planes[earlier].memory;
    }
    if (PoolView* const pooled = memory ? nullptr : pooled_at(buffer->data)) {
      pooled->end_write();
      memory = Ref<Memory>(&pooled->memory());
    }
    if (!memory) memory = BufferMemory::over(buffer, lease);
    planes[p] = {std::move(memory), static_cast<std::size_t>(data - buffer->data), static_cast<std::size_t>(linesize)};
  }
  const std::int64_t time = frame.best_effort_timestamp != AV_NOPTS_VALUE ? frame.best_effort_timestamp : frame.pts;
  return Frame(info, std::span(planes).first(format.plane_count), lease,
               to_ns(time, time_base.num > 0 ? time_base : frame.time_base));
}

}  // namespace detail

TENON_INLINE Frame wrap(const AVFrame* frame, AVRational time_base) {
  if (!frame) throw Error(Code::kInvalidArgument, "ffmpeg::wrap: a null AVFrame");
  if (detail::is_hardware(*frame)) return wrap_hardware(frame, time_base);
  const FormatMapping& mapping = detail::check_wrappable(*frame);
  Ref<FrameLease> lease = FrameLease::take();
  if (const int error = av_frame_ref(lease->frame(), frame); error < 0) {
    throw detail::make_error(error, "ffmpeg::wrap of " + detail::describe(*frame), "av_frame_ref");
  }
  return detail::build(lease, mapping, time_base);
}

TENON_INLINE Frame adopt(AVFrame* frame, AVRational time_base) {
  if (!frame) throw Error(Code::kInvalidArgument, "ffmpeg::adopt: a null AVFrame");
  if (detail::is_hardware(*frame)) return adopt_hardware(frame, time_base);
  const FormatMapping& mapping = detail::check_wrappable(*frame);
  Ref<FrameLease> lease = FrameLease::take();
  av_frame_move_ref(lease->frame(), frame);
  try {
    return detail::build(lease, mapping, time_base);
  } catch (...) {
    av_frame_move_ref(frame, lease->frame());
    throw;
  }
}

namespace detail {

/// Held by an AVBuffer over Tenon memory: the memory and its lease.
struct BufferOwner {
  Ref<Memory> memory;
  Lease lease;
  static void release(void* opaque, std::uint8_t*) { delete static_cast<BufferOwner*>(opaque); }
};

/// The lease shared by all planes, if they come from one AVFrame and still lie in its buffers.
TENON_INLINE const FrameLease* common_lease(const Frame& frame) {
  const auto* lease = dynamic_cast<const FrameLease*>(frame.plane(0).lease().get());
  if (!lease) return nullptr;
  for (const Tensor& plane : frame.planes()) {
    if (plane.lease().get() != lease || buffer_of(*lease->frame(), static_cast<const std::uint8_t*>(plane.data())) < 0)
      return nullptr;
  }
  return lease;
}

TENON_INLINE void set_planes(AVFrame& out, const Frame& frame, const FormatMapping& mapping) {
  const PixelFormatInfo& format = format_info(frame.info().format);
  const auto sample = static_cast<std::ptrdiff_t>(size_bytes(format.sample));
  out.format = mapping.av;
  out.width = static_cast<int>(frame.info().width_px);
  out.height = static_cast<int>(frame.info().height_px);
  out.colorspace = format.model == ColourModel::kRgb ? AVCOL_SPC_RGB : av_colour_space(frame.info().colour_space);
  out.color_range = av_colour_range(frame.info().colour_range);
  out.crop_top = out.crop_bottom = out.crop_left = out.crop_right = 0;
  for (int p = 0; p < AV_NUM_DATA_POINTERS; ++p) out.data[p] = nullptr, out.linesize[p] = 0;
  for (std::size_t p = 0; p < frame.plane_count(); ++p) {
    const Tensor& plane = frame.plane(p);
    const ByteStrides& strides = plane.byte_strides();
    const std::ptrdiff_t pixel =
        plane.shape().size() == 3 ? sample * static_cast<std::ptrdiff_t>(plane.shape()[2]) : sample;
    if (strides[1] != pixel || strides[strides.size() - 1] != sample || strides[0] > INT_MAX) {
      throw Error(Code::kFailedPrecondition, "ffmpeg::av_frame: plane " + std::to_string(p) + " has byte strides " +
                                                 to_string(strides) +
                                                 "; an AVFrame takes rows of packed pixels of at most 2^31-1 bytes");
    }
    out.data[mapping.planes[p]] = static_cast<std::uint8_t*>(plane.data());
    out.linesize[mapping.planes[p]] = static_cast<int>(strides[0]);
  }
  out.extended_data = out.data;
}

}  // namespace detail

TENON_INLINE FramePtr av_frame(const Frame& frame, Deadline deadline, Ledger* ledger) {
  if (frame.plane_count() == 0) {
    throw Error(Code::kInvalidArgument, "ffmpeg::av_frame: an empty frame or a batch; give it single pictures");
  }
  const FormatMapping* mapping = find_mapping(frame.info().format);
  if (!mapping) {
    throw Error(Code::kUnimplemented, "ffmpeg::av_frame: FFmpeg has no format like " + to_string(frame.info().format));
  }
  FramePtr out = detail::new_frame();
  for (const Tensor& plane : frame.planes()) plane.memory()->wait_for(Access::kRead, deadline, ledger);
  if (const FrameLease* lease = detail::common_lease(frame)) {
    // The frame came from an AVFrame: keeps its references, side data and time.
    if (const int error = av_frame_ref(out.get(), lease->frame()); error < 0) {
      throw detail::make_error(error, "ffmpeg::av_frame", "av_frame_ref");
    }
  } else {
    std::size_t count = 0;
    for (std::size_t p = 0; p < frame.plane_count(); ++p) {
      const Tensor& plane = frame.plane(p);
      bool held = false;
      for (std::size_t earlier = 0; earlier < p; ++earlier) {
        held =
            held || (frame.plane(earlier).memory() == plane.memory() && frame.plane(earlier).lease() == plane.lease());
      }
      if (held) continue;
      auto* base = static_cast<std::uint8_t*>(plane.data()) - plane.offset();
      auto owner = std::make_unique<detail::BufferOwner>(detail::BufferOwner{plane.memory(), plane.lease()});
      const int flags = plane.is_writable() ? 0 : AV_BUFFER_FLAG_READONLY;
      out->buf[count] =
          av_buffer_create(base, plane.memory()->size_bytes(), &detail::BufferOwner::release, owner.get(), flags);
      if (!out->buf[count])
        throw detail::make_error(AVERROR(ENOMEM), "ffmpeg::av_frame: no AVBuffer", "av_buffer_create");
      static_cast<void>(owner.release());  // The AVBuffer's now.
      ++count;
    }
  }
  detail::set_planes(*out, frame, *mapping);
  if (frame.timestamp_ns() != kNoTimestamp) {
    out->pts = frame.timestamp_ns();
    out->best_effort_timestamp = frame.timestamp_ns();
    out->time_base = AVRational{1, 1'000'000'000};
  }
  set_rotation(*out, frame.info().rotation);
  return out;
}

struct FrameLease::FreeList {
  std::atomic<FrameLease*> hot{nullptr};
  std::mutex mutex;
  std::array<FrameLease*, 64> items{};
  std::size_t size = 0;
};

TENON_INLINE Ref<FrameLease> FrameLease::take() {
  FreeList& list = free_list();
  // One is kept where a single exchange gets it: a loop that uses one frame at a time takes no lock.
  if (FrameLease* hot = list.hot.exchange(nullptr, std::memory_order_acquire)) return Ref<FrameLease>(hot);
  {
    std::lock_guard lock(list.mutex);
    if (list.size != 0) return Ref<FrameLease>(list.items[--list.size]);
  }
  return Ref<FrameLease>(new FrameLease(detail::new_frame()));
}

TENON_INLINE void FrameLease::dispose() noexcept {
  av_frame_unref(frame_.get());
  FreeList& list = free_list();
  FrameLease* none = nullptr;
  if (list.hot.compare_exchange_strong(none, this, std::memory_order_release, std::memory_order_relaxed)) return;
  {
    std::lock_guard lock(list.mutex);
    if (list.size != list.items.size()) {
      list.items[list.size++] = this;
      return;
    }
  }
  delete this;
}

TENON_INLINE FrameLease::FreeList& FrameLease::free_list() {
  static FreeList* list = new FreeList;
  return *list;
}

TENON_INLINE std::int64_t to_ns(std::int64_t time, AVRational base) {
  if (time == AV_NOPTS_VALUE || base.num <= 0 || base.den <= 0) return kNoTimestamp;
  return av_rescale_q(time, base, AVRational{1, 1'000'000'000});
}

namespace detail {

TENON_INLINE std::string describe(const AVFrame& frame) {
  return "AVFrame " + ffmpeg::to_string(static_cast<AVPixelFormat>(frame.format)) + " " + std::to_string(frame.width) +
         "x" + std::to_string(frame.height);
}

}  // namespace detail
}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
