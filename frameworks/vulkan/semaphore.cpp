// SPDX-License-Identifier: Apache-2.0
// Semaphores that are exported, imported, signalled and waited for by the queue.
#include <tenon/frameworks/vulkan/semaphore.hpp>

#include <span>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/frameworks/vulkan/context.hpp>

namespace tenon {
inline namespace v1 {
namespace vulkan {
namespace detail {

TENON_INLINE bool shares(const Native& native, VkExternalSemaphoreHandleTypeFlagBits handle, VkSemaphoreType type,
                         bool out) {
  if (!native.enabled(VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME) || !native.calls().vkGetSemaphoreFdKHR ||
      !native.calls().vkImportSemaphoreFdKHR)
    return false;
  auto kind = typed<VkSemaphoreTypeCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
  kind.semaphoreType = type;
  auto info =
      typed<VkPhysicalDeviceExternalSemaphoreInfo>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_SEMAPHORE_INFO, &kind);
  info.handleType = handle;
  auto properties = typed<VkExternalSemaphoreProperties>(VK_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_PROPERTIES);
  native.instance_calls().vkGetPhysicalDeviceExternalSemaphoreProperties(native.handles().physical_device, &info,
                                                                         &properties);
  return (properties.externalSemaphoreFeatures &
          (out ? VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT : VK_EXTERNAL_SEMAPHORE_FEATURE_IMPORTABLE_BIT)) != 0;
}

TENON_INLINE bool shares_timelines(const Native& native, bool out) {
  return shares(native, VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT, VK_SEMAPHORE_TYPE_TIMELINE, out);
}

TENON_INLINE bool shares_sync_files(const Native& native, bool out) {
  return shares(native, VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT, VK_SEMAPHORE_TYPE_BINARY, out);
}

[[noreturn]] TENON_INLINE void refuse_semaphore(const Native& native, const char* does) {
  throw Error(Code::kUnimplemented,
              "vulkan: " + native.device().name + does +
                  (native.device().has(VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME)
                       ? " (vkGetPhysicalDeviceExternalSemaphoreProperties, or Handles::extensions)"
                       : " (it lacks VK_KHR_external_semaphore_fd)") +
                  "; wait for the point on the host");
}

/// A binary semaphore. @param exported  Handle types; 0: none.
TENON_INLINE Ref<SemaphoreTimeline> make_binary(const Ref<Native>& native,
                                                VkExternalSemaphoreHandleTypeFlags exported) {
  auto handles = typed<VkExportSemaphoreCreateInfo>(VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO);
  handles.handleTypes = exported;
  const auto info =
      typed<VkSemaphoreCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, exported ? &handles : nullptr);
  VkSemaphore made = VK_NULL_HANDLE;
  check(call(native->calls().vkCreateSemaphore, native->handle(), &info, nullptr, &made), "vkCreateSemaphore",
        "making a semaphore for a sync file");
  Probe::handles.fetch_add(1, std::memory_order_relaxed);
  return SemaphoreTimeline::over(native, made, true);
}

TENON_INLINE void import_into(const Native& native, VkSemaphore semaphore, UniqueFd&& fd, bool is_sync_file) {
  auto info = typed<VkImportSemaphoreFdInfoKHR>(VK_STRUCTURE_TYPE_IMPORT_SEMAPHORE_FD_INFO_KHR);
  info.semaphore = semaphore;
  info.flags = is_sync_file ? VK_SEMAPHORE_IMPORT_TEMPORARY_BIT : 0;
  info.handleType =
      is_sync_file ? VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT : VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT;
  info.fd = fd.get();
  check(call(native.calls().vkImportSemaphoreFdKHR, native.handle(), &info), "vkImportSemaphoreFdKHR",
        is_sync_file ? "importing a sync file" : "importing a timeline semaphore");
  (void)fd.release();  // It is the driver's from here on.
}

TENON_INLINE UniqueFd export_from(const Native& native, VkSemaphore semaphore, bool is_sync_file) {
  auto info = typed<VkSemaphoreGetFdInfoKHR>(VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR);
  info.semaphore = semaphore;
  info.handleType =
      is_sync_file ? VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT : VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT;
  int fd = -1;
  check(call(native.calls().vkGetSemaphoreFdKHR, native.handle(), &info, &fd), "vkGetSemaphoreFdKHR",
        is_sync_file ? "exporting a sync file" : "exporting a timeline semaphore");
  return UniqueFd(fd);
}

TENON_INLINE Ref<SemaphoreTimeline> import_fence(const Ref<Native>& native, UniqueFd&& fd) {
  Ref<SemaphoreTimeline> made = make_binary(native, 0);
  import_into(*native, made->semaphore(), std::move(fd), true);
  return made;
}

}  // namespace detail

TENON_INLINE Semaphore Semaphore::make(const Context& context, std::uint64_t value) {
  const Ref<detail::Native>& native = detail::native_of(context, "Semaphore::make");
  if (!detail::shares_timelines(*native, true)) detail::refuse_semaphore(*native, " exports no timeline semaphores");
  auto handles = detail::typed<VkExportSemaphoreCreateInfo>(VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO);
  handles.handleTypes = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT;
  return {native, detail::SemaphoreTimeline::over(native, native->make_semaphore(value, &handles), true)};
}

TENON_INLINE Semaphore Semaphore::import(const Context& context, UniqueFd&& fd) {
  const Ref<detail::Native>& native = detail::native_of(context, "Semaphore::import");
  if (!fd) throw Error(Code::kInvalidArgument, "vulkan::Semaphore::import: no descriptor");
  if (!detail::shares_timelines(*native, false)) detail::refuse_semaphore(*native, " imports no timeline semaphores");
  Ref<detail::SemaphoreTimeline> made = detail::SemaphoreTimeline::over(native, native->make_semaphore(0), true);
  detail::import_into(*native, made->semaphore(), std::move(fd), false);
  return {native, std::move(made)};
}

TENON_INLINE UniqueFd Semaphore::export_fd() const { return detail::export_from(*native_, handle(), false); }

TENON_INLINE TimelinePoint Semaphore::signal(std::uint64_t value) const {
  const detail::SemaphoreValue end{handle(), value};
  detail::keep_until(
      native_->submit([&](VkCommandBuffer commands) { detail::full_barrier(*native_, commands); }, {}, &end),
      timeline_);
  return point(value);
}

TENON_INLINE void Semaphore::wait(std::uint64_t value) const {
  const detail::SemaphoreValue begin{handle(), value};
  detail::keep_until(native_->submit([&](VkCommandBuffer commands) { detail::full_barrier(*native_, commands); },
                                     std::span(&begin, 1)),
                     timeline_);
}

TENON_INLINE UniqueFd export_sync_file(const Context& context) {
  const Ref<detail::Native>& native = detail::native_of(context, "export_sync_file");
  if (!detail::shares_sync_files(*native, true)) detail::refuse_semaphore(*native, " exports no sync files");
  const Ref<detail::SemaphoreTimeline> fence =
      detail::make_binary(native, VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT);
  const detail::SemaphoreValue end{fence->semaphore(), 0};
  const TimelinePoint done =
      native->submit([&](VkCommandBuffer commands) { detail::full_barrier(*native, commands); }, {}, &end);
  detail::keep_until(done, fence);
  return detail::export_from(*native, fence->semaphore(), true);
}

TENON_INLINE void wait_for_sync_file(const Context& context, UniqueFd&& fd) {
  const Ref<detail::Native>& native = detail::native_of(context, "wait_for_sync_file");
  if (!detail::shares_sync_files(*native, false)) detail::refuse_semaphore(*native, " imports no sync files");
  const Ref<detail::SemaphoreTimeline> fence = detail::import_fence(native, std::move(fd));
  const detail::SemaphoreValue begin{fence->semaphore(), 0};
  detail::keep_until(
      native->submit([&](VkCommandBuffer commands) { detail::full_barrier(*native, commands); }, std::span(&begin, 1)),
      fence);
}

}  // namespace vulkan
}  // namespace v1
}  // namespace tenon
