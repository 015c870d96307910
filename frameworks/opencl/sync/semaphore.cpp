// SPDX-License-Identifier: Apache-2.0
// Calls of cl_khr_external_semaphore.
#include <tenon/frameworks/opencl/semaphore.hpp>

#include <string>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/frameworks/opencl/device.hpp>
#include <tenon/frameworks/opencl/event.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {
namespace detail {

TENON_INLINE cl_uint handle_type_of(SemaphoreKind kind) {
  return kind == SemaphoreKind::kSyncFile ? kSemaphoreSyncFd : kSemaphoreOpaqueFd;
}

TENON_INLINE const char* extension_of(SemaphoreKind kind) {
  return kind == SemaphoreKind::kSyncFile ? "cl_khr_external_semaphore_sync_fd" : "cl_khr_external_semaphore_opaque_fd";
}

TENON_INLINE bool imports(const Native& native, SemaphoreKind kind) {
  return native.extensions.has_semaphores() && contains(native.device.semaphore_imports, handle_type_of(kind));
}

TENON_INLINE bool exports(const Native& native, SemaphoreKind kind) {
  return native.extensions.has_semaphores() && native.extensions.export_semaphore &&
         contains(native.device.semaphore_exports, handle_type_of(kind));
}

TENON_INLINE OwnedSemaphore make_semaphore(const Native& native, const cl_properties* properties, const char* what) {
  const auto make = native.extensions.make_semaphore;
  return {create(
              "clCreateSemaphoreWithPropertiesKHR", [&] { return std::string(what) + " on " + native.device.name; },
              make, native.context.get(), properties),
          native.extensions.release_semaphore};
}

TENON_INLINE OwnedSemaphore import_semaphore(const Native& native, UniqueFd&& fd, SemaphoreKind kind) {
  const cl_properties properties[] = {CL_SEMAPHORE_TYPE_KHR, CL_SEMAPHORE_TYPE_BINARY_KHR, handle_type_of(kind),
                                      static_cast<cl_properties>(fd.get()), 0};
  OwnedSemaphore made = make_semaphore(native, properties, "importing a semaphore");
  (void)fd.release();
  return made;
}

TENON_INLINE Handle<cl_event> pass(ExtensionCalls::PassSemaphores function, const char* name, SemaphoreHandle semaphore,
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

TENON_INLINE Semaphore Semaphore::import(const Context& context, UniqueFd&& fd, SemaphoreKind kind) {
  const FacetContext& facet = detail::facet(context, "Semaphore::import");
  if (!detail::imports(facet.native(), kind)) refuse(facet.native(), kind, "imports");
  return Semaphore(facet.native_ref(), detail::import_semaphore(facet.native(), std::move(fd), kind), kind);
}

TENON_INLINE Semaphore Semaphore::make(const Context& context, SemaphoreKind kind) {
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

TENON_INLINE UniqueFd Semaphore::export_fd() const {
  if (!detail::exports(*native_, kind_)) refuse(*native_, kind_, "exports");
  int fd = -1;
  detail::check(detail::call(native_->extensions.export_semaphore, semaphore_.get(), native_->device.id,
                             detail::handle_type_of(kind_), sizeof fd, static_cast<void*>(&fd),
                             static_cast<std::size_t*>(nullptr)),
                "clGetSemaphoreHandleForTypeKHR", "exporting a semaphore");
  return UniqueFd(fd);
}

TENON_INLINE TimelinePoint Semaphore::wait(cl_command_queue queue) const {
  return over(detail::pass(native_->extensions.wait, "clEnqueueWaitSemaphoresKHR", semaphore_.get(), queue));
}

TENON_INLINE TimelinePoint Semaphore::signal(cl_command_queue queue) const {
  return over(detail::pass(native_->extensions.signal, "clEnqueueSignalSemaphoresKHR", semaphore_.get(), queue));
}

TENON_INLINE void Semaphore::refuse(const detail::Native& native, SemaphoreKind kind, const char* does) {
  throw Error(Code::kUnimplemented, "opencl::Semaphore: " + native.device.name + " (" + native.device.platform_name +
                                        ") " + does + " no such semaphores: it lacks " + detail::extension_of(kind) +
                                        "; wait for an event or on the host");
}

TENON_INLINE TimelinePoint Semaphore::over(detail::Handle<cl_event> event) {
  return TimelinePoint(EventTimeline::over(std::move(event)), 1);
}

}  // namespace opencl
}  // namespace v1
}  // namespace tenon
