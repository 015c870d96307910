// SPDX-License-Identifier: Apache-2.0
// The Level Zero calls: codes become errors, handles have owners, waits have deadlines, and tests can make any call
#include <tenon/frameworks/level_zero/native.hpp>

#include <dlfcn.h>

#include <chrono>

namespace tenon {
inline namespace v1 {
namespace level_zero {

TENON_INLINE std::string result_name(ze_result_t result) {
  const char* name = abi::find_result_name(static_cast<std::uint32_t>(result));
  return name ? name : "a Level Zero code";
}

namespace detail {

TENON_INLINE bool injected() { return Probe::injected(); }

[[noreturn]] TENON_INLINE void fail(ze_result_t result, const char* call, const std::string& what) {
  throw Error(code_of(result), "level_zero: " + what + ": " + result_name(result) + last_words(), call,
              static_cast<std::int64_t>(result));
}

TENON_INLINE Newer find_newer() {
  // The loader that is already loaded, in whatever scope; never a second copy.
  void* const loader = ::dlopen("libze_loader.so.1", RTLD_LAZY | RTLD_NOLOAD);
  Newer newer;
  const auto find = [&](auto& function, const char* name) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(loader ? loader : RTLD_DEFAULT, name));
  };
  find(newer.init_drivers, "zeInitDrivers");
  find(newer.command_list_host_synchronize, "zeCommandListHostSynchronize");
  find(newer.get_next_command_id, "zeCommandListGetNextCommandIdExp");
  find(newer.update_mutable_commands, "zeCommandListUpdateMutableCommandsExp");
  find(newer.update_mutable_command_signal_event, "zeCommandListUpdateMutableCommandSignalEventExp");
  find(newer.update_mutable_command_wait_events, "zeCommandListUpdateMutableCommandWaitEventsExp");
  find(newer.import_semaphore, "zeDeviceImportExternalSemaphoreExt");
  find(newer.release_semaphore, "zeDeviceReleaseExternalSemaphoreExt");
  find(newer.append_signal_semaphore, "zeCommandListAppendSignalExternalSemaphoreExt");
  find(newer.append_wait_semaphore, "zeCommandListAppendWaitExternalSemaphoreExt");
  find(newer.get_last_error_description, "zeDriverGetLastErrorDescription");
  find(newer.get_vector_widths, "zeDeviceGetVectorWidthPropertiesExt");
  find(newer.event_get_pool, "zeEventGetEventPool");
  find(newer.event_pool_get_context, "zeEventPoolGetContextHandle");
  find(newer.command_list_is_immediate, "zeCommandListIsImmediate");
  if (loader) ::dlclose(loader);  // The program itself still holds a reference.
  return newer;
}

TENON_INLINE const Newer& newer() {
  static const Newer found = find_newer();
  return found;
}

TENON_INLINE ze_driver_handle_t driver_side(ze_driver_handle_t h) { return driver_side(ZEL_HANDLE_DRIVER, h); }

TENON_INLINE ze_device_handle_t driver_side(ze_device_handle_t h) { return driver_side(ZEL_HANDLE_DEVICE, h); }

TENON_INLINE ze_context_handle_t driver_side(ze_context_handle_t h) { return driver_side(ZEL_HANDLE_CONTEXT, h); }

TENON_INLINE ze_command_queue_handle_t driver_side(ze_command_queue_handle_t h) {
  return driver_side(ZEL_HANDLE_COMMAND_QUEUE, h);
}

TENON_INLINE ze_command_list_handle_t driver_side(ze_command_list_handle_t h) {
  return driver_side(ZEL_HANDLE_COMMAND_LIST, h);
}

TENON_INLINE ze_event_handle_t driver_side(ze_event_handle_t h) { return driver_side(ZEL_HANDLE_EVENT, h); }

TENON_INLINE std::string last_words() {
  constexpr const char* kCall = "zeDriverGetLastErrorDescription";
  std::uint32_t count = 0;
  if (zeDriverGet(&count, nullptr) != ZE_RESULT_SUCCESS || count == 0) return {};
  std::vector<ze_driver_handle_t> drivers(count);
  if (zeDriverGet(&count, drivers.data()) != ZE_RESULT_SUCCESS) return {};
  std::string words;
  for (ze_driver_handle_t driver : drivers) {
    auto ask = newer().get_last_error_description;
    if (!ask) {  // Older loaders lack this call; their drivers may have it.
      void* own = nullptr;
      if (zeDriverGetExtensionFunctionAddress(driver, kCall, &own) != ZE_RESULT_SUCCESS || !own) continue;
      ask = reinterpret_cast<decltype(ask)>(own);
      driver = driver_side(driver);
    }
    const char* text = nullptr;
    if (ask(driver, &text) != ZE_RESULT_SUCCESS || !text || !*text) continue;
    // One of two answers is about an older failure; which one, drivers do not tell.
    words += (words.empty() ? "; the driver says: " : "; another driver, of this or an earlier failure: ") +
             std::string(text);
  }
  return words;
}

TENON_INLINE std::uint64_t nanoseconds_left(Deadline deadline) {
  constexpr auto kLongest = std::chrono::hours(1);
  const auto now = Clock::now();
  if (deadline <= now) return 0;
  if (deadline - now >= kLongest) return static_cast<std::uint64_t>(std::chrono::nanoseconds(kLongest).count());
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(deadline - now).count());
}

}  // namespace detail
}  // namespace level_zero
}  // namespace v1
}  // namespace tenon
