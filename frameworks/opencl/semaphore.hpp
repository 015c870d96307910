// SPDX-License-Identifier: Apache-2.0
// Semaphores of other APIs by descriptor (cl_khr_external_semaphore), for queues that wait for and signal them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <tenon/core/context.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/fd.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/opencl/context.hpp>
#include <tenon/frameworks/opencl/device.hpp>
#include <tenon/frameworks/opencl/event.hpp>
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

inline cl_uint handle_type_of(SemaphoreKind kind) {
  return kind == SemaphoreKind::kSyncFile ? kSemaphoreSyncFd : kSemaphoreOpaqueFd;
}
inline const char* extension_of(SemaphoreKind kind) {
  return kind == SemaphoreKind::kSyncFile ? "cl_khr_external_semaphore_sync_fd" : "cl_khr_external_semaphore_opaque_fd";
}

inline bool imports(const Native& native, SemaphoreKind kind) {
  return native.extensions.has_semaphores() && contains(native.device.semaphore_imports, handle_type_of(kind));
}
inline bool exports(const Native& native, SemaphoreKind kind) {
  return native.extensions.has_semaphores() && native.extensions.export_semaphore &&
         contains(native.device.semaphore_exports, handle_type_of(kind));
}

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

inline OwnedSemaphore make_semaphore(const Native& native, const cl_properties* properties, const char* what) {
  const auto make = native.extensions.make_semaphore;
  return {create(
              "clCreateSemaphoreWithPropertiesKHR", [&] { return std::string(what) + " on " + native.device.name; },
              make, native.context.get(), properties),
          native.extensions.release_semaphore};
}

/// Takes `fd` over on success only: the extension does. @errors those of the call.
inline OwnedSemaphore import_semaphore(const Native& native, UniqueFd&& fd, SemaphoreKind kind) {
  const cl_properties properties[] = {CL_SEMAPHORE_TYPE_KHR, CL_SEMAPHORE_TYPE_BINARY_KHR, handle_type_of(kind),
                                      static_cast<cl_properties>(fd.get()), 0};
  OwnedSemaphore made = make_semaphore(native, properties, "importing a semaphore");
  (void)fd.release();
  return made;
}

/// Enqueues a wait for, or a signal of, one semaphore. @return its event; flushed.
inline Handle<cl_event> pass(ExtensionCalls::PassSemaphores function, const char* name, SemaphoreHandle semaphore,
                             cl_command_queue queue) {
  cl_event event = nullptr;
  check(call(function, queue, cl_uint{1}, static_cast<const SemaphoreHandle*>(&semaphore),
             static_cast<const cl_ulong*>(nullptr), cl_uint{0}, static_cast<const cl_event*>(nullptr), &event),
        name, "passing a semaphore");
  Handle<cl_event> made(event);
  check(call(clFlush, queue), "clFlush", "passing a semaphore");
  return made;
}

}  // namespace detail

/// A semaphore shared with another API: queues wait for it and signal it; the host does neither.
/// @thread distinct objects from distinct threads.
class Semaphore {
 public:
  /// @param fd  Taken over on success only; unchanged and still the caller's when this throws.
  /// @errors kUnimplemented: the device lacks the extension (named); kInvalidArgument: a context of another framework;
  /// those of the import.
  static Semaphore import(const Context& context, UniqueFd&& fd, SemaphoreKind kind) {
    const FacetContext& facet = detail::facet(context, "Semaphore::import");
    if (!detail::imports(facet.native(), kind)) refuse(facet.native(), kind, "imports");
    return Semaphore(facet.native_ref(), detail::import_semaphore(facet.native(), std::move(fd), kind), kind);
  }
  /// A new one that can be exported. @errors as import().
  static Semaphore make(const Context& context, SemaphoreKind kind) {
    const FacetContext& facet = detail::facet(context, "Semaphore::make");
    if (!detail::exports(facet.native(), kind)) refuse(facet.native(), kind, "exports");
    const cl_properties properties[] = {CL_SEMAPHORE_TYPE_KHR,
                                        CL_SEMAPHORE_TYPE_BINARY_KHR,
                                        CL_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR,
                                        detail::handle_type_of(kind),
                                        CL_SEMAPHORE_EXPORT_HANDLE_TYPES_LIST_END_KHR,
                                        0};
    return Semaphore(
        facet.native_ref(),
        detail::make_semaphore(facet.native(), static_cast<const cl_properties*>(properties), "a semaphore for export"),
        kind);
  }

  /// A descriptor of it for another API, the caller's to close. A sync file stands for the last signal(), which must have
  /// been enqueued before. @errors kUnimplemented; those of the call.
  UniqueFd export_fd() const {
    if (!detail::exports(*native_, kind_)) refuse(*native_, kind_, "exports");
    int fd = -1;
    detail::check(detail::call(native_->extensions.export_semaphore, semaphore_.get(), native_->device.id,
                               detail::handle_type_of(kind_), sizeof fd, static_cast<void*>(&fd),
                               static_cast<std::size_t*>(nullptr)),
                  "clGetSemaphoreHandleForTypeKHR", "exporting a semaphore");
    return UniqueFd(fd);
  }
  /// Commands that are enqueued in `queue` from now on wait until it is signalled. In a queue that is out of order only
  /// those that wait for the returned point do, or a barrier. @errors those of the call.
  TimelinePoint wait(cl_command_queue queue) const {
    return over(detail::pass(native_->extensions.wait, "clEnqueueWaitSemaphoresKHR", semaphore_.get(), queue));
  }
  /// Signals it when what was enqueued in `queue` until now is done. @return that point. @errors those of the call.
  TimelinePoint signal(cl_command_queue queue) const {
    return over(detail::pass(native_->extensions.signal, "clEnqueueSignalSemaphoresKHR", semaphore_.get(), queue));
  }

 private:
  Semaphore(Ref<detail::Native> native, detail::OwnedSemaphore semaphore, SemaphoreKind kind)
      : native_(std::move(native)), semaphore_(std::move(semaphore)), kind_(kind) {}
  [[noreturn]] static void refuse(const detail::Native& native, SemaphoreKind kind, const char* does) {
    throw Error(Code::kUnimplemented, "opencl::Semaphore: " + native.device.name + " (" + native.device.platform_name +
                                          ") " + does + " no such semaphores: it lacks " + detail::extension_of(kind) +
                                          "; wait for an event or on the host");
  }
  static TimelinePoint over(detail::Handle<cl_event> event) {
    return TimelinePoint(EventTimeline::over(std::move(event)), 1);
  }

  Ref<detail::Native> native_;
  detail::OwnedSemaphore semaphore_;
  SemaphoreKind kind_;
};

}  // namespace opencl
}  // namespace v1
}  // namespace tenon
