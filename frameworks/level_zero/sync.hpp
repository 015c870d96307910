// SPDX-License-Identifier: Apache-2.0
// How users' commands and Tenon's tensors wait for each other; external semaphores.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <tenon/core/context.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/hazards.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/level_zero/event.hpp>
#include <tenon/frameworks/level_zero/make.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero {

/// Declares that a command writes the tensor's memory until `signal` (a ze_event or ze_fence): host accesses and maps
/// then wait for it and raise its failure. The object stays the caller's: see point().
/// @errors kInvalidArgument: null, a tensor outside Level Zero.
template <typename T>
void wrote(const Tensor& tensor, T signal, Ref<RefCounted> owner = {}) {
  usm_pointer(tensor);
  tensor.memory()->hazards().wrote(point(signal, std::move(owner)), written_bytes(tensor));
}
/// Declares that a command reads the tensor's memory until `signal`: writers wait for it. @errors as wrote().
template <typename T>
void reads(const Tensor& tensor, T signal, Ref<RefCounted> owner = {}) {
  usm_pointer(tensor);
  tensor.memory()->hazards().read_until(point(signal, std::move(owner)));
}

/// What a command must wait for before it accesses a tensor, as its phWaitEvents. Allocates nothing.
class WaitList {
 public:
  std::uint32_t size() const { return static_cast<std::uint32_t>(size_); }
  /// Null when empty, as Level Zero requires.
  ze_event_handle_t* data() { return size_ == 0 ? nullptr : events_.data(); }
  /// Adds `point` if it is a ze_event; false if it is not.
  bool add(const TimelinePoint& point) {
    const auto* event = dynamic_cast<const EventTimeline*>(point.timeline().get());
    if (!event) return false;
    points_[size_] = point;
    events_[size_++] = event->handle();
    return true;
  }

 private:
  static constexpr std::size_t kMost = 2 * Hazards::kMaxPoints;
  std::array<TimelinePoint, kMost> points_;  // Keep the events' owners alive.
  std::array<ze_event_handle_t, kMost> events_{};
  std::size_t size_ = 0;
};

/// The wait list for a command that accesses `tensor`: all work on its memory that `access` must wait for. ze_events
/// are passed on; the host waits for other points. @errors kDeadlineExceeded; the failure that a point carries.
inline WaitList wait_list(const Tensor& tensor, Access access, Deadline deadline = default_deadline(),
                          Ledger* ledger = nullptr) {
  usm_pointer(tensor);
  WaitList list;
  tensor.memory()->wait_for(access, deadline, ledger, [&](const TimelinePoint& point) { return list.add(point); });
  return list;
}

/// A semaphore of another API, imported by its descriptor. Command lists can signal it and wait for it.
/// @thread as its command list.
class Semaphore {
 public:
  /// @param fd  Stays the caller's. @param type  Its type: opaque, or a Vulkan timeline semaphore.
  /// @errors kUnimplemented, saying which is too old: a loader before 1.19, or a driver without the extension.
  Semaphore(const Context& context, int fd, abi::SemaphoreType type) {
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
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;
  ~Semaphore() {
    release_(handle_);
    detail::Probe::handles.fetch_sub(1, std::memory_order_relaxed);
  }
  abi::SemaphoreHandle handle() const { return handle_; }

  /// Appends to a command list; `value` is used only by timeline semaphores.
  void append_signal(ze_command_list_handle_t list, std::uint64_t value) const {
    const auto append =
        detail::need(detail::newer().append_signal_semaphore, "zeCommandListAppendSignalExternalSemaphoreExt");
    abi::SemaphoreHandle handle = handle_;
    abi::SemaphoreSignal parameters;
    parameters.value = value;
    detail::check(detail::call(append, list, std::uint32_t{1}, &handle, &parameters, ze_event_handle_t{nullptr},
                               std::uint32_t{0}, static_cast<ze_event_handle_t*>(nullptr)),
                  "zeCommandListAppendSignalExternalSemaphoreExt", "signalling a semaphore");
  }
  void append_wait(ze_command_list_handle_t list, std::uint64_t value) const {
    const auto append =
        detail::need(detail::newer().append_wait_semaphore, "zeCommandListAppendWaitExternalSemaphoreExt");
    abi::SemaphoreHandle handle = handle_;
    abi::SemaphoreWait parameters;
    parameters.value = value;
    detail::check(detail::call(append, list, std::uint32_t{1}, &handle, &parameters, ze_event_handle_t{nullptr},
                               std::uint32_t{0}, static_cast<ze_event_handle_t*>(nullptr)),
                  "zeCommandListAppendWaitExternalSemaphoreExt", "waiting for a semaphore");
  }

 private:
  abi::SemaphoreHandle handle_ = nullptr;
  abi::DeviceReleaseExternalSemaphoreExt release_ = nullptr;
};

}  // namespace level_zero
}  // namespace v1
}  // namespace tenon
