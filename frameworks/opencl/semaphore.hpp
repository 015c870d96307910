// SPDX-License-Identifier: Apache-2.0
// Semaphores of other APIs by descriptor (cl_khr_external_semaphore), for queues that wait for and signal them.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include <tenon/core/context.hpp>
#include <tenon/core/fd.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/opencl/context.hpp>
#include <tenon/frameworks/opencl/extensions.hpp>
#include <tenon/frameworks/opencl/native.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {

/// What the descriptor of a semaphore is.
enum class SemaphoreKind : std::uint8_t {
  kOpaqueFd,  ///< What the driver's other APIs export (Vulkan): one wait for each signal.
  kSyncFile,  ///< A fence of the kernel, from any driver.
};

namespace detail {

bool imports(const Native& native, SemaphoreKind kind);
bool exports(const Native& native, SemaphoreKind kind);

/// One reference to a cl_semaphore_khr.
class OwnedSemaphore {
 public:
  OwnedSemaphore() = default;
  OwnedSemaphore(SemaphoreHandle handle, ExtensionCalls::CountSemaphore release) : handle_(handle), release_(release) {
    Probe::handles.fetch_add(1, std::memory_order_relaxed);
  }
  OwnedSemaphore(OwnedSemaphore&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), release_(other.release_) {}
  OwnedSemaphore& operator=(OwnedSemaphore&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(release_, other.release_);
    return *this;
  }
  ~OwnedSemaphore() {
    if (!handle_) return;
    release_(handle_);
    Probe::handles.fetch_sub(1, std::memory_order_relaxed);
  }
  SemaphoreHandle get() const { return handle_; }

 private:
  SemaphoreHandle handle_ = nullptr;
  ExtensionCalls::CountSemaphore release_ = nullptr;
};

/// Takes `fd` over on success only: the extension does. @errors those of the call.
OwnedSemaphore import_semaphore(const Native& native, UniqueFd&& fd, SemaphoreKind kind);

/// Enqueues a wait for, or a signal of, one semaphore. @return its event; flushed.
Handle<cl_event> pass(ExtensionCalls::PassSemaphores function, const char* name, SemaphoreHandle semaphore,
                      cl_command_queue queue);

}  // namespace detail

/// A semaphore shared with another API: queues wait for it and signal it; the host does neither.
/// @thread distinct objects from distinct threads.
class Semaphore {
 public:
  /// @param fd  Taken over on success only; unchanged and still the caller's when this throws.
  /// @errors kUnimplemented: the device lacks the extension (named); kInvalidArgument: a context of another framework;
  /// those of the import.
  static Semaphore import(const Context& context, UniqueFd&& fd, SemaphoreKind kind);
  /// A new one that can be exported. @errors as import().
  static Semaphore make(const Context& context, SemaphoreKind kind);

  /// A descriptor of it for another API, the caller's to close. A sync file stands for the last signal(), which must have
  /// been enqueued before. @errors kUnimplemented; those of the call.
  UniqueFd export_fd() const;
  /// Commands that are enqueued in `queue` from now on wait until it is signalled. In a queue that is out of order only
  /// those that wait for the returned point do, or a barrier. @errors those of the call.
  TimelinePoint wait(cl_command_queue queue) const;
  /// Signals it when what was enqueued in `queue` until now is done. @return that point. @errors those of the call.
  TimelinePoint signal(cl_command_queue queue) const;

 private:
  Semaphore(Ref<detail::Native> native, detail::OwnedSemaphore semaphore, SemaphoreKind kind)
      : native_(std::move(native)), semaphore_(std::move(semaphore)), kind_(kind) {}
  [[noreturn]] static void refuse(const detail::Native& native, SemaphoreKind kind, const char* does);
  static TimelinePoint over(detail::Handle<cl_event> event);

  Ref<detail::Native> native_;
  detail::OwnedSemaphore semaphore_;
  SemaphoreKind kind_;
};

}  // namespace opencl
}  // namespace v1
}  // namespace tenon
