// SPDX-License-Identifier: Apache-2.0
// How users' commands and Tenon's tensors wait for each other; external semaphores.
#include <tenon/frameworks/level_zero/sync.hpp>

#include <atomic>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/core/free_list.hpp>
#include <tenon/core/relayed_point.hpp>
#include <tenon/frameworks/level_zero/transfer.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero {
namespace detail {

TENON_INLINE void Waits::add(const TimelinePoint& point, Ref<OwnedEvent> relay) {
  points_[size_] = point;
  relays_[size_++] = std::move(relay);
}

TENON_INLINE void Waits::dispose() noexcept {
  for (std::size_t i = 0; i < size_; ++i) {
    if (relays_[i] && !relays_[i]->is_signalled()) relays_[i]->abandon();
    relays_[i] = {};
    points_[i] = {};
  }
  size_ = 0;
  FreeList<Waits>::instance().give_back(this);
}

TENON_INLINE TimelinePoint point_in(const Tensor& tensor, ze_event_handle_t event, Ref<RefCounted> owner,
                                    const char* function) {
  usm_pointer(tensor);
  if (!event) throw Error(Code::kInvalidArgument, std::string("level_zero::") + function + ": a null ze_event");
  const Native& native = usm_context(tensor.context(), function).native();
  if (native.event_origin.ask(event, native.context.get()) == EventOrigin::Answer::kElsewhere)
    throw Error(Code::kInvalidArgument, std::string("level_zero::") + function +
                                            ": the event belongs to another ze_context than " + to_string(tensor));
  return TimelinePoint(EventTimeline::over(event, std::move(owner), native.context.get()), 1);
}

TENON_INLINE TimelinePoint point_in(const Tensor& tensor, ze_fence_handle_t fence, Ref<RefCounted> owner, const char*) {
  usm_pointer(tensor);
  return point(fence, std::move(owner));
}

}  // namespace detail

TENON_INLINE void WaitList::add(const Ref<detail::Native>& native, const TimelinePoint& point) {
  if (!waits_) waits_ = detail::Waits::make();
  detail::Waited waited = detail::event_for(native, point);
  static_cast<detail::Waits&>(*waits_).add(point, std::move(waited.relay));
  events_[size_++] = waited.event;
}

TENON_INLINE WaitList wait_list(const Tensor& tensor, Access access) {
  usm_pointer(tensor);
  const auto& native = detail::usm_context(tensor.context(), "wait_list").native_ref();
  WaitList list;
  tensor.memory()->wait_for(access, default_deadline(), nullptr, [&](const TimelinePoint& point) {
    list.add(native, point);
    return true;
  });
  return list;
}

TENON_INLINE Semaphore::Semaphore(const Context& context, int fd, abi::SemaphoreType type) {
  const Device& device = level_zero::device(context);
  if (!device.driver->has(abi::kSemaphoreExtension))
    throw Error(Code::kUnimplemented, "level_zero: external semaphores are not offered by the driver of " +
                                          device.name + " (" + abi::kSemaphoreExtension +
                                          "); wait on the host instead");
  const auto import = detail::need(detail::newer().import_semaphore, "zeDeviceImportExternalSemaphoreExt");
  release_ = detail::need(detail::newer().release_semaphore, "zeDeviceReleaseExternalSemaphoreExt");
  abi::SemaphoreFd by_fd;
  by_fd.fd = fd;
  abi::SemaphoreDescriptor descriptor;
  descriptor.next = &by_fd;
  descriptor.flags = type;
  detail::check(detail::call(import, device.handle, &descriptor, &handle_), "zeDeviceImportExternalSemaphoreExt",
                [&] { return "importing descriptor " + std::to_string(fd) + " as a semaphore"; });
  detail::Probe::handles.fetch_add(1, std::memory_order_relaxed);
}

TENON_INLINE Semaphore::~Semaphore() {
  release_(handle_);
  detail::Probe::handles.fetch_sub(1, std::memory_order_relaxed);
}

TENON_INLINE void Semaphore::append_signal(ze_command_list_handle_t list, std::uint64_t value) const {
  const auto append =
      detail::need(detail::newer().append_signal_semaphore, "zeCommandListAppendSignalExternalSemaphoreExt");
  abi::SemaphoreHandle handle = handle_;
  abi::SemaphoreSignal parameters;
  parameters.value = value;
  detail::check(detail::call(append, list, std::uint32_t{1}, &handle, &parameters, ze_event_handle_t{nullptr},
                             std::uint32_t{0}, static_cast<ze_event_handle_t*>(nullptr)),
                "zeCommandListAppendSignalExternalSemaphoreExt", "signalling a semaphore");
}

TENON_INLINE void Semaphore::append_wait(ze_command_list_handle_t list, std::uint64_t value) const {
  const auto append =
      detail::need(detail::newer().append_wait_semaphore, "zeCommandListAppendWaitExternalSemaphoreExt");
  abi::SemaphoreHandle handle = handle_;
  abi::SemaphoreWait parameters;
  parameters.value = value;
  detail::check(detail::call(append, list, std::uint32_t{1}, &handle, &parameters, ze_event_handle_t{nullptr},
                             std::uint32_t{0}, static_cast<ze_event_handle_t*>(nullptr)),
                "zeCommandListAppendWaitExternalSemaphoreExt", "waiting for a semaphore");
}

TENON_INLINE TimelinePoint point(ze_event_handle_t event, Ref<RefCounted> owner) {
  if (!event)
    throw Error(Code::kInvalidArgument, "level_zero::point: a null ze_event; TimelinePoint::ready() needs none");
  return TimelinePoint(EventTimeline::over(event, std::move(owner)), 1);
}

TENON_INLINE TimelinePoint point(ze_fence_handle_t fence, Ref<RefCounted> owner) {
  if (!fence)
    throw Error(Code::kInvalidArgument, "level_zero::point: a null ze_fence; TimelinePoint::ready() needs none");
  return TimelinePoint(FenceTimeline::over(fence, std::move(owner)), 1);
}

namespace detail {

TENON_INLINE Ref<OwnedEvent> OwnedEvent::take(const Ref<Native>& native) {
  Ref<OwnedEvent> made(FreeList<OwnedEvent>::instance().take());
  made->event_ = native->events.take(native->context.get(), native->device.handle);
  made->native_ = native;
  return made;
}

TENON_INLINE void OwnedEvent::dispose() noexcept {
  const Ref<Native> native = std::move(native_);
  const Use use = std::exchange(use_, Use::kNone);
  if (native && (use == Use::kNone || (use == Use::kLent && is_signalled()))) native->events.give_back(event_);
  FreeList<OwnedEvent>::instance().give_back(this);
}

TENON_INLINE Waited event_for(const Ref<Native>& native, const TimelinePoint& point) {
  if (const auto* timeline = dynamic_cast<const EventTimeline*>(point.timeline().get())) {
    const ze_context_handle_t here = native->context.get();
    if (timeline->context() == here ||
        (!timeline->context() && native->event_origin.ask(timeline->handle(), here) == EventOrigin::Answer::kHere))
      return {timeline->handle(), {}};
  }
  Ref<OwnedEvent> event = OwnedEvent::take(native);
  event->lend();
  RelayedPoint<HostSignal>::relay(point, {event});
  return {event->handle(), std::move(event)};
}

}  // namespace detail
}  // namespace level_zero
}  // namespace v1
}  // namespace tenon
