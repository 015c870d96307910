// SPDX-License-Identifier: Apache-2.0
// Pictures of a camera or a capture card.
#include <tenon/frameworks/v4l2/camera.hpp>

#include <linux/videodev2.h>
#include <poll.h>

#include <algorithm>
#include <thread>
#include <utility>

#include <tenon/frameworks/v4l2/context.hpp>
#include <tenon/frameworks/v4l2/native.hpp>

namespace tenon {
inline namespace v1 {
namespace v4l2 {

TENON_INLINE Camera::Camera(const std::string& path, Options options) : options_(std::move(options)), device_(path) {
  if (!device_.captures())
    throw Error(Code::kInvalidArgument, "v4l2: " + device_.what() +
                                            " does not capture pictures into buffers; `v4l2-ctl --list-devices` names "
                                            "the nodes that do");
  detail::check_buffers(device_, options_.buffers);
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

TENON_INLINE void Camera::use_pool(const Requirements& wanted, Context allocator, std::uint32_t buffers) {
  if (buffers) detail::check_buffers(device_, buffers);
  ring_ = {};
  if (buffers) options_.buffers = buffers;
  WantedFormat again = options_.format;
  again.format = layout_.info.format;
  again.width_px = layout_.info.width_px;
  again.height_px = layout_.info.height_px;
  again.pitch_alignment = std::max(again.pitch_alignment, wanted.pitch_alignment);
  layout_ = device_.negotiate(type(), again);
  fps_ = device_.negotiate_rate(type(), layout_, options_.format.fps);  // Some drivers forget it with the format.
  detail::Pool pool(device_, wanted, std::move(allocator));
  pool.check(device_, layout_);
  pool_ = std::move(pool);
  try {
    start();
  } catch (...) {
    pool_ = {};
    ring_ = {};
    throw;
  }
}

TENON_INLINE void Camera::use_pool(const AllocationPlan& plan, std::uint32_t buffers) {
  if (!plan.possible)
    throw Error(Code::kFailedPrecondition,
                "v4l2: " + device_.what() + ": use_pool(): the plan is not possible: " + plan.explanation);
  use_pool(plan.requirements, plan.allocator, buffers);
}

TENON_INLINE Frame Camera::read(Deadline deadline) {
  for (std::uint64_t spoilt = 0;;) {
    if (changed_) follow_source();
    if (!ring_) start();
    ring_->queue_idle();
    if (ring_->queued() == 0) {
      if (!ring_->wait_idle(deadline, options_.ledger)) throw all_out();
      continue;
    }
    const short events = detail::wait_for(device_, POLLIN | POLLPRI, deadline);
    if (events == 0) throw late(spoilt);
    if (events & POLLPRI) take_events();
    if (changed_) {
      // A source that changes again and again must not hold this thread beyond its deadline.
      if (Clock::now() >= deadline) throw late(spoilt);
      continue;
    }
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

TENON_INLINE void Camera::start() {
  ring_ = {};
  ring_ = detail::OpenRing(pool_.make(device_, type(), layout_, options_.buffers));
  try {
    ring_->queue_idle();
    ring_->start();
  } catch (...) {
    ring_ = {};
    throw;
  }
  numbered_ = false;
}

TENON_INLINE void Camera::note_gap(std::uint32_t sequence) {
  const std::uint32_t step = sequence - last_sequence_;  // Numbers wrap around.
  if (std::exchange(numbered_, true) && step > 1 && step < UINT32_MAX / 2) {
    lost_ += step - 1;
    lost_before_ += step - 1;
  }
  last_sequence_ = sequence;
}

TENON_INLINE detail::Ring::Filled Camera::take() {
  try {
    return ring_->take();
  } catch (...) {
    ring_ = {};
    throw;
  }
}

TENON_INLINE void Camera::take_events() {
  for (int i = 0; i < 64; ++i) {
    v4l2_event event{};
    if (native::ioctl(device_.fd().get(), VIDIOC_DQEVENT, &event)) return;
    if (event.type == V4L2_EVENT_SOURCE_CHANGE && (event.u.src_change.changes & V4L2_EVENT_SRC_CH_RESOLUTION))
      changed_ = true;
  }
}

TENON_INLINE void Camera::follow_source() {
  ring_ = {};
  v4l2_dv_timings timings{};
  const int error = native::ioctl(device_.fd().get(), VIDIOC_QUERY_DV_TIMINGS, &timings);
  // Other inputs have no such timings; of those the driver has adapted the format already.
  if (error == 0)
    native::require(device_.fd().get(), VIDIOC_S_DV_TIMINGS, &timings, device_.what() + ": the timings of its source");
  else if (error != ENOTTY && error != ENODATA && error != EINVAL)
    native::fail(device_.what() + ": its source changed", native::name(VIDIOC_QUERY_DV_TIMINGS), error);
  const BufferLayout now = make_layout(device_.format(type()), device_.what());
  if (!(now.info == layout_.info)) {
    tell_change_ = true;
    ++size_changes_;
  }
  layout_ = now;
  if (!pool_.of_driver()) pool_.check(device_, layout_);
  fps_ = device_.negotiate_rate(type(), layout_, 0);
  changed_ = false;
}

TENON_INLINE Error Camera::all_out() const {
  return Error(Code::kDeadlineExceeded,
               "v4l2: " + device_.what() + ": all " + std::to_string(ring_->size()) +
                   " buffers are in use by pictures, and none came back in time; drop pictures "
                   "earlier, or raise Options::buffers");
}

TENON_INLINE Error Camera::late(std::uint64_t spoilt) const {
  return Error(Code::kDeadlineExceeded,
               "v4l2: " + device_.what() + " gave no picture in time" +
                   (spoilt ? ", only " + std::to_string(spoilt) + " damaged ones" : std::string()) +
                   "; it is slow, stalled or without a signal",
               "poll", 0);
}

TENON_INLINE Camera open(const std::string& path, Options options) { return Camera(path, std::move(options)); }

}  // namespace v4l2
}  // namespace v1
}  // namespace tenon
