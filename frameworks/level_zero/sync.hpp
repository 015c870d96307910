// SPDX-License-Identifier: Apache-2.0
// How users' commands and Tenon's tensors wait for each other; external semaphores.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/ledger.hpp>
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
  tensor.memory()->hazards().wrote(point(signal, std::move(owner)));
}
/// Declares that a command reads the tensor's memory until `signal`: writers wait for it. @errors as wrote().
template <typename T>
void reads(const Tensor& tensor, T signal, Ref<RefCounted> owner = {}) {
  usm_pointer(tensor);
  tensor.memory()->hazards().read_until(point(signal, std::move(owner)));
}

/// What a command must wait for before it accesses a tensor, as its phWaitEvents.
class WaitList {
 public:
  std::uint32_t size() const { return static_cast<std::uint32_t>(events_.size()); }
  /// Null when empty, as Level Zero requires.
  ze_event_handle_t* data() { return events_.empty() ? nullptr : events_.data(); }

 private:
  friend WaitList wait_list(const Tensor&, Access, Deadline, Ledger*);
  std::vector<TimelinePoint> points_;  // Keep the events' owners alive.
  std::vector<ze_event_handle_t> events_;
};

/// The wait list for a command. A last write to the tensor's memory that is a ze_event is passed on without waiting.
/// Other writes, and for write access also reads in progress, are waited for on the host. @errors kDeadlineExceeded;
/// the failure that a point carries.
inline WaitList wait_list(const Tensor& tensor, Access access, Deadline deadline = default_deadline(),
                          Ledger* ledger = nullptr) {
  usm_pointer(tensor);
  WaitList list;
  Hazards& hazards = tensor.memory()->hazards();
  TimelinePoint last = hazards.last_write();
  const auto* event = dynamic_cast<const EventTimeline*>(last.timeline().get());
  if (writes(access) || !event) {
    hazards.wait_for(access, deadline, ledger);
    return list;
  }
  if (last.state() == PointState::kReached) return list;
  list.events_.push_back(event->handle());
  list.points_.push_back(std::move(last));
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
