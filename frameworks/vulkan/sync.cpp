// SPDX-License-Identifier: Apache-2.0
// Timeline semaphores as points, and semaphores that the host signals for other APIs' points.
#include <tenon/frameworks/vulkan/sync.hpp>

#include <algorithm>
#include <chrono>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/core/relayed_point.hpp>
#include <tenon/frameworks/dmabuf/sync.hpp>
#include <tenon/frameworks/vulkan/context.hpp>
#include <tenon/frameworks/vulkan/image.hpp>
#include <tenon/frameworks/vulkan/memory.hpp>
#include <tenon/frameworks/vulkan/semaphore.hpp>

namespace tenon {
inline namespace v1 {
namespace vulkan {
namespace detail {

/// A semaphore as the signal of a RelayedPoint. It carries no failure: a map of the memory reports that.
struct SemaphoreSignal {
  Ref<SemaphoreTimeline> timeline;
  void set(bool) noexcept {
    auto info = typed<VkSemaphoreSignalInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO);
    info.semaphore = timeline->semaphore();
    info.value = 1;
    timeline->native().calls().vkSignalSemaphore(timeline->native().handle(), &info);
    timeline = {};
  }
};

TENON_INLINE Context context_of(const Tensor& tensor) { return tensor ? tensor.context() : Context(); }

}  // namespace detail

TENON_INLINE std::vector<detail::SemaphoreValue> WaitList::pairs() const {
  std::vector<detail::SemaphoreValue> all;
  for (std::size_t i = 0; i < semaphores_.size(); ++i) all.push_back({semaphores_[i], values_[i]});
  return all;
}

TENON_INLINE void WaitList::until(const TimelinePoint& end) && {
  for (Ref<Timeline>& each : kept_) detail::keep_until(end, std::move(each));
  *this = {};
}

TENON_INLINE void WaitList::add(const Ref<detail::Native>& native, const TimelinePoint& point) {
  if (point.state() == PointState::kFailed) point.wait();
  if (!point.needs_wait()) return;
  if (const auto* file = dynamic_cast<const dmabuf::SyncFileTimeline*>(point.timeline().get());
      file && detail::shares_sync_files(*native, false)) {
    const Ref<detail::SemaphoreTimeline> fence = detail::import_fence(native, file->export_fd());
    semaphores_.push_back(fence->semaphore());
    values_.push_back(0);
    stages_.push_back(VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
    kept_.push_back(fence);
    return;
  }
  const auto* known = dynamic_cast<const detail::SemaphoreTimeline*>(point.timeline().get());
  Ref<detail::SemaphoreTimeline> made;
  if (!known || known->native().handle() != native->handle()) {
    made = detail::SemaphoreTimeline::over(native, native->make_semaphore(0), true);
    known = made.get();
  }
  semaphores_.push_back(known->semaphore());
  values_.push_back(made ? 1 : point.value());
  stages_.push_back(VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
  kept_.push_back(made ? Ref<Timeline>(made) : point.timeline());
  if (made) RelayedPoint<detail::SemaphoreSignal>::relay(point, {made});
}

TENON_INLINE WaitList waits(const Tensor& tensor, Access access) {
  const Ref<detail::Native>& native = detail::native_of(detail::context_of(tensor), "waits");
  WaitList list;
  tensor.memory()->wait_for(access, default_deadline(), nullptr, [&](const TimelinePoint& point) {
    list.add(native, point);
    return true;
  });
  return list;
}

TENON_INLINE TimelinePoint point(const Context& context, VkSemaphore semaphore, std::uint64_t value) {
  const Ref<detail::Native>& native = detail::native_of(context, "point");
  if (!semaphore)
    throw Error(Code::kInvalidArgument, "vulkan::point: a null VkSemaphore; TimelinePoint::ready() needs none");
  return TimelinePoint(detail::SemaphoreTimeline::over(native, semaphore, false), value);
}

TENON_INLINE void wrote(const Tensor& tensor, VkSemaphore semaphore, std::uint64_t value) {
  TimelinePoint end = point(detail::context_of(tensor), semaphore, value);
  tensor.memory()->hazards().wrote(std::move(end), written_bytes(tensor));
}

TENON_INLINE void reads(const Tensor& tensor, VkSemaphore semaphore, std::uint64_t value) {
  TimelinePoint end = point(detail::context_of(tensor), semaphore, value);
  tensor.memory()->hazards().read_until(std::move(end));
}

namespace detail {

TENON_INLINE void record_turn(const Tensor& tensor, VkCommandBuffer commands, bool take, const char* function) {
  const Native& native = *native_of(context_of(tensor), function);
  if (const auto place = find_buffer(tensor))
    return external_barrier(native, commands, place->buffer, place->rests_in, take);
  image_turn(native, commands, *find_image(tensor), take);
}

class QueueStream final : public Stream {
 public:
  explicit QueueStream(Ref<Native> native) : native_(std::move(native)) {}
  std::string_view name() const override { return "vulkan.queue"; }
  bool wait_for(const TimelinePoint& point) override {
    WaitList list;
    list.add(native_, point);
    const auto after = list.pairs();
    // Later submissions in the queue begin after the barrier, whose batch begins after the wait.
    std::move(list).until(native_->submit([&](VkCommandBuffer commands) { full_barrier(*native_, commands); }, after));
    return true;
  }
  TimelinePoint signal() override {
    return native_->submit([&](VkCommandBuffer commands) { full_barrier(*native_, commands); });
  }

 private:
  Ref<Native> native_;
};

}  // namespace detail

TENON_INLINE void record_acquire(const Tensor& tensor, VkCommandBuffer commands) {
  detail::record_turn(tensor, commands, true, "record_acquire");
}
TENON_INLINE void record_release(const Tensor& tensor, VkCommandBuffer commands) {
  detail::record_turn(tensor, commands, false, "record_release");
}

TENON_INLINE Ref<Stream> stream(const Context& context) {
  return Ref<Stream>(new detail::QueueStream(detail::native_of(context, "stream")));
}

}  // namespace vulkan
}  // namespace v1
}  // namespace tenon
