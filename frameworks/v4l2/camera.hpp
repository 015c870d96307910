// SPDX-License-Identifier: Apache-2.0
// A camera: pictures from a V4L2 device, in its own buffers or straight in Tenon's memory.
#pragma once

#include <linux/videodev2.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <tenon/core/context.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/router.hpp>
#include <tenon/frameworks/cpu/cpu.hpp>
#include <tenon/frameworks/cpu/fd.hpp>
#include <tenon/frameworks/cpu/shared_memory.hpp>
#include <tenon/frameworks/v4l2/context.hpp>
#include <tenon/frameworks/v4l2/device.hpp>
#include <tenon/frameworks/v4l2/native.hpp>
#include <tenon/frameworks/v4l2/pixel_format.hpp>
#include <tenon/frameworks/v4l2/ring.hpp>

namespace tenon {
inline namespace v1 {
namespace v4l2 {

/// How to open a camera. 0: as the device has it.
struct Options {
  WantedFormat format;
  std::optional<std::uint32_t> input;  ///< Of a capture card: its connector.
  std::uint32_t buffers = 6;           ///< Pictures in flight, at the user and at the driver together.
  Ledger* ledger = nullptr;            ///< Where waits are booked; null: the process ledger.
  std::chrono::nanoseconds read_timeout = std::chrono::seconds(10);  ///< For read() without a deadline.
};

/// Pictures of a V4L2 capture device, in the order of capture. Nothing is copied: a picture lies where the driver wrote it,
/// in a buffer that is not given back to the driver before the last copy of the picture goes. Pictures may outlive the
/// camera. The stream starts with the first read().
/// @thread one at a time; pictures may go to others.
class Camera {
 public:
  /// Opens the device and agrees on a format. @errors as Device and Device::negotiate; kInvalidArgument: it does not
  /// capture.
  explicit Camera(const std::string& path, Options options = {}) : options_(std::move(options)), device_(path) {
    if (!device_.captures())
      throw Error(Code::kInvalidArgument,
                  "v4l2: " + device_.what() +
                      " does not capture pictures into buffers; `v4l2-ctl --list-devices` names "
                      "the nodes that do");
    if (options_.buffers == 0 || options_.buffers > VIDEO_MAX_FRAME)
      throw Error(Code::kInvalidArgument, "v4l2: " + device_.what() + ": " + std::to_string(options_.buffers) +
                                              " buffers; give 1.." + std::to_string(VIDEO_MAX_FRAME));
    if (options_.input) device_.select_input(*options_.input);
    layout_ = device_.negotiate(type(), options_.format);
    fps_ = device_.negotiate_rate(type(), layout_, options_.format.fps);
    int input = 0;
    static_cast<void>(native::ioctl(device_.fd().get(), VIDIOC_G_INPUT, &input));
    v4l2_event_subscription changes{};
    changes.type = V4L2_EVENT_SOURCE_CHANGE;
    changes.id = static_cast<std::uint32_t>(input);
    static_cast<void>(native::ioctl(device_.fd().get(), VIDIOC_SUBSCRIBE_EVENT, &changes));  // Webcams have none.
  }
  Camera(Camera&&) = default;
  Camera& operator=(Camera&&) = default;

  const Device& device() const { return device_; }
  /// Of the next picture: format, size, colour.
  const FrameInfo& info() const { return layout_.info; }
  /// Where planes lie in a buffer, and the order of fields.
  const BufferLayout& layout() const { return layout_; }
  /// Pictures per second; 0 where the device does not say.
  double fps() const { return fps_; }
  /// Where pictures lie, for reports: "YUYV -> v4l2(mmap)", "NV12 -> pool(memfd)".
  std::string path() const {
    const std::string from = fourcc_name(layout_.fourcc) + " -> ";
    if (!allocator_) return from + "v4l2(mmap)";
    return from + "pool(" + std::string(wanted_.fd == FdKind::kNone ? allocator_->kind().name() : wanted_.fd.name()) +
           ")";
  }
  /// How the driver gets its buffers; nothing before the first read().
  std::optional<Transfer> transfer() const { return ring_ ? std::optional(ring_->transfer()) : std::nullopt; }
  /// Buffers of the stream; 0 before the first read().
  std::size_t buffers() const { return ring_ ? ring_->size() : 0; }

  /// Makes the driver write straight into memory that meets `wanted`: one allocation for the camera and all who read its
  /// pictures. By descriptor where it has a dma-buf, by address otherwise. Starts the stream anew.
  /// @param allocator  Makes the memory; null: the host, as a memfd if wanted.fd asks for it. This camera's own context:
  /// the driver's buffers.
  /// @param buffers    How many; 0: as before.
  /// @errors kFailedPrecondition: rows and planes that the driver does not lay out so, or memory that it cannot take.
  void use_pool(const Requirements& wanted, Context allocator = {}, std::uint32_t buffers = 0) {
    if (!allocator) allocator = host_context();
    if (buffers > VIDEO_MAX_FRAME)
      throw Error(Code::kInvalidArgument, "v4l2: " + device_.what() + ": use_pool(): " + std::to_string(buffers) +
                                              " buffers; give 1.." + std::to_string(VIDEO_MAX_FRAME));
    ring_ = {};
    if (buffers) options_.buffers = buffers;
    WantedFormat again = options_.format;
    again.format = layout_.info.format;
    again.width_px = layout_.info.width_px;
    again.height_px = layout_.info.height_px;
    again.pitch_alignment = std::max(again.pitch_alignment, wanted.pitch_alignment);
    layout_ = device_.negotiate(type(), again);
    check_layout(wanted);
    wanted_ = wanted;
    const bool own = allocator == v4l2::context(device_.path());
    allocator_ = own ? Context() : std::move(allocator);
    try {
      start();
    } catch (...) {
      allocator_ = {};
      ring_ = {};
      throw;
    }
  }
  /// The same with what Router::plan() found to serve the camera and all who read its pictures.
  /// @errors as above; kFailedPrecondition: a plan that is not possible, with its explanation.
  void use_pool(const AllocationPlan& plan, std::uint32_t buffers = 0) {
    if (!plan.possible)
      throw Error(Code::kFailedPrecondition,
                  "v4l2: " + device_.what() + ": use_pool(): the plan is not possible: " + plan.explanation);
    use_pool(plan.requirements, plan.allocator, buffers);
  }

  /// The next picture. Damaged ones are left out and counted. One after pictures that the driver lost has their number as
  /// metadata "lost_frames" (std::uint64_t). A source that changes size or format in flight
  /// (V4L2_EVENT_SOURCE_CHANGE) is followed: the picture's info() says so, and once its metadata "size_changed".
  /// @errors kDeadlineExceeded: no picture in time, or all buffers are with the user, call again; kUnavailable: unplugged,
  /// no signal, the driver failed; kUnimplemented: the source changed to what Tenon cannot describe; errors of
  /// use_pool()'s allocator. @cost a poll and two ioctls; no allocation, no copy.
  Frame read(Deadline deadline) {
    for (std::uint64_t spoilt = 0;;) {
      if (changed_) follow_source();
      if (!ring_) start();
      ring_->queue_idle();
      if (ring_->queued() == 0) {
        if (!ring_->wait_idle(deadline, options_.ledger)) throw all_out();
        continue;
      }
      const short events = wait(deadline);
      if (events == 0) throw late(spoilt);
      if (events & POLLPRI) take_events();
      if (changed_) continue;
      const detail::Ring::Filled filled = take();
      if (!filled.slot) {
        // A device that reports an error or an event again and again must not keep this thread busy.
        if (!(events & POLLIN)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (Clock::now() >= deadline) throw late(spoilt);
        continue;
      }
      note_gap(filled.sequence);
      if (filled.damaged) {
        ring_->put_back(filled.slot);
        ++damaged_, ++spoilt;
        if (Clock::now() >= deadline) throw late(spoilt);
        continue;
      }
      ++frames_;
      Frame frame = ring_->frame_of(filled);
      if (std::exchange(tell_change_, false)) frame.metadata()["size_changed"] = true;
      if (lost_before_) frame.metadata()["lost_frames"] = std::exchange(lost_before_, 0);
      return frame;
    }
  }
  Frame read() { return read(Clock::now() + options_.read_timeout); }

  /// Pictures read; those that the driver marked as damaged or too short; those that it lost because no buffer was free
  /// (gaps in its numbers); how often the source changed size or format.
  std::uint64_t frames_read() const { return frames_; }
  std::uint64_t damaged_frames() const { return damaged_; }
  std::uint64_t lost_frames() const { return lost_; }
  std::uint64_t size_changes() const { return size_changes_; }

  /// Stops the stream and gives the device's queue up; pictures that are out stay valid. The next read() starts it again.
  void stop() { ring_ = {}; }

 private:
  std::uint32_t type() const { return device_.capture_type(); }

  void start() {
    ring_ = {};
    ring_ = detail::OpenRing(make_ring());
    try {
      ring_->queue_idle();
      ring_->start();
    } catch (...) {
      ring_ = {};
      throw;
    }
    numbered_ = false;
  }

  Ref<detail::Ring> make_ring() {
    if (!allocator_) return detail::Ring::of_driver(device_, type(), layout_, options_.buffers);
    const auto allocate = [this](std::size_t bytes) {
      Requirements wanted = wanted_;
      wanted.size_bytes = std::max(wanted.size_bytes, bytes);
      wanted.alignment = std::max(wanted.alignment, cpu::page_bytes());
      return allocator_ == host_context() ? cpu::allocate_memory(wanted) : allocator_->allocate(wanted);
    };
    // The first memory says how the device can take it; it is the allocator's business that all are alike.
    const Ref<Memory> sample = allocate(layout_.size_bytes[0]);
    const std::optional<Transfer> way = detail::Ring::way_for(*sample);
    if (!way)
      throw Error(Code::kFailedPrecondition, "v4l2: " + device_.what() + ": memory of " +
                                                 std::string(allocator_->name()) +
                                                 " has neither a dma-buf nor an address of whole pages, so the driver "
                                                 "cannot write into it; pass another allocator");
    return detail::Ring::of_memory(device_, type(), layout_, *way, options_.buffers, allocate);
  }

  /// @errors kFailedPrecondition naming what the driver lays out otherwise.
  void check_layout(const Requirements& wanted) const {
    const auto refuse = [&](const std::string& why) {
      return Error(Code::kFailedPrecondition,
                   "v4l2: " + device_.what() + ": use_pool(): " + why +
                       "; its driver decides where rows lie: let the consumer take them so, or "
                       "choose another size");
    };
    for (std::size_t p = 0; p < layout_.planes; ++p) {
      const BufferLayout::Plane& plane = layout_.plane[p];
      const std::size_t row = plane_extent(layout_.info, p).row_bytes;
      const std::string label =
          "plane " + std::to_string(p) + " has rows of " + std::to_string(plane.pitch_bytes) + " bytes";
      if (plane.pitch_bytes % wanted.pitch_alignment != 0)
        throw refuse(label + ", a consumer wants multiples of " + std::to_string(wanted.pitch_alignment));
      if (plane.pitch_bytes > wanted.max_pitch)
        throw refuse(label + ", a consumer takes at most " + std::to_string(wanted.max_pitch));
      if (wanted.contiguous && plane.pitch_bytes != row)
        throw refuse(label + ", a consumer wants them without padding: " + std::to_string(row));
    }
    if (layout_.planes > 1 && layout_.memories == 1 && layout_.info.height_px % wanted.height_alignment != 0)
      throw refuse("planes follow each other after " + std::to_string(layout_.info.height_px) +
                   " rows, a consumer wants multiples of " + std::to_string(wanted.height_alignment));
  }

  /// @return what poll said; 0 at the deadline.
  short wait(Deadline deadline) const {
    short said = 0;
    const bool ready = cpu::poll_until(deadline, device_.fd().get(), POLLIN | POLLPRI,
                                       [&](struct pollfd* entries, nfds_t count, int timeout_ms) {
                                         const int result = native::poll(entries, count, timeout_ms);
                                         said = entries->revents;
                                         return result;
                                       });
    return ready ? said : short{0};
  }

  /// Counts what is missing between the last picture of this stream and number `sequence`.
  void note_gap(std::uint32_t sequence) {
    const std::uint32_t step = sequence - last_sequence_;  // Numbers wrap around.
    if (std::exchange(numbered_, true) && step > 1 && step < UINT32_MAX / 2) {
      lost_ += step - 1;
      lost_before_ += step - 1;
    }
    last_sequence_ = sequence;
  }

  /// A stream that failed ends: the next read() starts another.
  detail::Ring::Filled take() {
    try {
      return ring_->take();
    } catch (...) {
      ring_ = {};
      throw;
    }
  }

  void take_events() {
    for (int i = 0; i < 64; ++i) {
      v4l2_event event{};
      if (native::ioctl(device_.fd().get(), VIDIOC_DQEVENT, &event)) return;
      if (event.type == V4L2_EVENT_SOURCE_CHANGE && (event.u.src_change.changes & V4L2_EVENT_SRC_CH_RESOLUTION))
        changed_ = true;
    }
  }

  /// The source has another size, format or timing: takes it over, with new buffers. Pictures of before keep theirs.
  void follow_source() {
    ring_ = {};
    v4l2_dv_timings timings{};
    const int error = native::ioctl(device_.fd().get(), VIDIOC_QUERY_DV_TIMINGS, &timings);
    // Other inputs have no such timings; of those the driver has adapted the format already.
    if (error == 0)
      native::require(device_.fd().get(), VIDIOC_S_DV_TIMINGS, &timings,
                      device_.what() + ": the timings of its source");
    else if (error != ENOTTY && error != ENODATA && error != EINVAL)
      native::fail(device_.what() + ": its source changed", native::name(VIDIOC_QUERY_DV_TIMINGS), error);
    const BufferLayout now = make_layout(device_.format(type()), device_.what());
    if (!(now.info == layout_.info)) {
      tell_change_ = true;
      ++size_changes_;
    }
    layout_ = now;
    if (allocator_) check_layout(wanted_);
    fps_ = device_.negotiate_rate(type(), layout_, 0);
    changed_ = false;
  }

  Error all_out() const {
    return Error(Code::kDeadlineExceeded,
                 "v4l2: " + device_.what() + ": all " + std::to_string(ring_->size()) +
                     " buffers are in use by pictures, and none came back in time; drop pictures "
                     "earlier, or raise Options::buffers");
  }
  Error late(std::uint64_t spoilt) const {
    return Error(Code::kDeadlineExceeded,
                 "v4l2: " + device_.what() + " gave no picture in time" +
                     (spoilt ? ", only " + std::to_string(spoilt) + " damaged ones" : std::string()) +
                     "; it is slow, stalled or without a signal",
                 "poll", 0);
  }

  Options options_;
  Device device_;
  BufferLayout layout_;
  double fps_ = 0;
  Requirements wanted_;
  Context allocator_;  ///< Null: the driver's own buffers.
  bool changed_ = false, tell_change_ = false;
  bool numbered_ = false;  ///< last_sequence_ is of this stream.
  std::uint32_t last_sequence_ = 0;
  std::uint64_t frames_ = 0, damaged_ = 0, lost_ = 0, lost_before_ = 0, size_changes_ = 0;
  detail::OpenRing ring_;  ///< Last: closed before the device.
};

/// Opens a camera ("/dev/video0"). @errors as Camera. @thread any
inline Camera open(const std::string& path, Options options = {}) { return Camera(path, std::move(options)); }

}  // namespace v4l2
}  // namespace v1
}  // namespace tenon
