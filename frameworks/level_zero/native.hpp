// SPDX-License-Identifier: Apache-2.0
// The Level Zero calls: codes become errors, handles have owners, waits have deadlines, and tests can make any call
// fail. Calls newer than the linked loader are found at run time, or refused by name.
#pragma once

#include <level_zero/loader/ze_loader.h>
#include <level_zero/ze_api.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/native_calls.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/frameworks/level_zero/abi/abi.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero {

/// "ZE_RESULT_ERROR_INVALID_SIZE", for messages; "a Level Zero code" for unpublished ones.
std::string result_name(ze_result_t result);

namespace detail {

/// Every native call below passes through injected(), and every handle is counted.
struct TENON_API LevelZeroCalls;
using Probe = CallProbe<LevelZeroCalls>;
bool injected();
inline constexpr ze_result_t kInjected = ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;

constexpr Code code_of(ze_result_t result) {
  switch (static_cast<std::uint32_t>(result)) {
    case ZE_RESULT_NOT_READY:
      return Code::kDeadlineExceeded;
    case ZE_RESULT_ERROR_DEVICE_LOST:
    case ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET:
      return Code::kAborted;
    case ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY:
    case ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY:
      return Code::kResourceExhausted;
    case ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS:
      return Code::kPermissionDenied;
    case ZE_RESULT_ERROR_NOT_AVAILABLE:
    case ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE:
    case ZE_RESULT_ERROR_UNINITIALIZED:
    case ZE_RESULT_ERROR_DEVICE_IN_LOW_POWER_STATE:
    case abi::kErrorSurvivabilityMode:
      return Code::kUnavailable;
    case ZE_RESULT_ERROR_UNSUPPORTED_VERSION:
    case ZE_RESULT_ERROR_UNSUPPORTED_FEATURE:
    case ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION:
    case ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT:
      return Code::kUnimplemented;
    case ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE:
    case ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT:
      return Code::kFailedPrecondition;
    case abi::kErrorAddressNotFound:
      return Code::kInvalidArgument;
    default: {
      const auto code = static_cast<std::uint32_t>(result);
      return code >= 0x78000004 && code <= abi::kErrorInvalidKernelHandle ? Code::kInvalidArgument : Code::kInternal;
    }
  }
}

/// The drivers' description of this thread's last failed call, as "; the driver says: ..."; those of each, where several have some; empty
/// if they have none.
std::string last_words();

[[noreturn]] void fail(ze_result_t result, const char* call, const std::string& what);

/// The only place where codes become exceptions. `what` is a text, or a function that makes it on demand.
template <typename What>
void check(ze_result_t result, const char* call, const What& what) {
  if (result == ZE_RESULT_SUCCESS) return;
  if constexpr (std::is_invocable_v<What>)
    fail(result, call, what());
  else
    fail(result, call, what);
}

/// Calls a function that returns a code: one of the loader, or of an extension's table.
template <typename Function, typename... Arguments>
ze_result_t call(Function function, Arguments... arguments) {
  return injected() ? kInjected : function(arguments...);
}

/// Destroys handles of each type.
template <typename T>
struct HandleTraits;
#define TENON_LEVEL_ZERO_HANDLE(type, name)                                  \
  template <>                                                                \
  struct HandleTraits<type> {                                                \
    static void destroy(type handle) noexcept { ze##name##Destroy(handle); } \
  };
TENON_LEVEL_ZERO_HANDLE(ze_context_handle_t, Context)
TENON_LEVEL_ZERO_HANDLE(ze_command_queue_handle_t, CommandQueue)
TENON_LEVEL_ZERO_HANDLE(ze_command_list_handle_t, CommandList)
TENON_LEVEL_ZERO_HANDLE(ze_fence_handle_t, Fence)
TENON_LEVEL_ZERO_HANDLE(ze_event_pool_handle_t, EventPool)
TENON_LEVEL_ZERO_HANDLE(ze_event_handle_t, Event)
#undef TENON_LEVEL_ZERO_HANDLE

/// Owns one Level Zero object, or borrows a user's: Level Zero does not count references. Empty when
/// default-constructed.
template <typename T>
class Handle {
 public:
  Handle() = default;
  /// Takes ownership.
  explicit Handle(T handle) noexcept : handle_(handle), owned_(handle != nullptr) {
    if (owned_) Probe::handles.fetch_add(1, std::memory_order_relaxed);
  }
  /// Borrows a handle that its owner keeps alive.
  static Handle borrow(T handle) noexcept {
    Handle borrowed;
    borrowed.handle_ = handle;
    return borrowed;
  }
  Handle(Handle&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), owned_(std::exchange(other.owned_, false)) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      reset();
      handle_ = std::exchange(other.handle_, nullptr);
      owned_ = std::exchange(other.owned_, false);
    }
    return *this;
  }
  ~Handle() { reset(); }

  T get() const noexcept { return handle_; }
  explicit operator bool() const noexcept { return handle_ != nullptr; }
  bool owned() const noexcept { return owned_; }
  void reset() noexcept {
    const T handle = std::exchange(handle_, nullptr);
    if (!std::exchange(owned_, false)) return;
    HandleTraits<T>::destroy(handle);
    Probe::handles.fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  T handle_ = nullptr;
  bool owned_ = false;
};

/// Calls a function that writes a new object's handle through its last argument.
template <typename T, typename What, typename Function, typename... Arguments>
Handle<T> create(const char* name, const What& what, Function function, Arguments... arguments) {
  T made = nullptr;
  check(call(function, arguments..., &made), name, what);
  if (!made) check(ZE_RESULT_ERROR_UNKNOWN, name, what);  // "Success", but no object.
  return Handle<T>(made);
}

/// An empty struct with its type set, as all Level Zero calls require.
template <typename T>
T typed(std::uint32_t structure_type, const void* next = nullptr) {
  T value{};
  value.stype = abi::structure_type(structure_type);
  value.pNext = const_cast<std::remove_const_t<std::remove_pointer_t<decltype(value.pNext)>>*>(next);
  return value;
}

/// Reads a list with two calls: one for its length, one for its entries.
/// @param ask  (std::uint32_t* count, T* entries) -> ze_result_t
template <typename T, typename Ask, typename What>
std::vector<T> list(const char* name, const What& what, const T& blank, const Ask& ask) {
  std::uint32_t count = 0;
  check(injected() ? kInjected : ask(&count, static_cast<T*>(nullptr)), name, what);
  std::vector<T> entries(count, blank);
  if (count == 0) return entries;
  check(injected() ? kInjected : ask(&count, entries.data()), name, what);
  entries.resize(std::min<std::size_t>(count, entries.size()));  // It may have shrunk meanwhile.
  return entries;
}

/// @name Calls newer than Debian 12's loader
/// Looked up in the process's loader at run time. Null: that loader lacks the call.
struct Newer {
  abi::InitDrivers init_drivers = nullptr;
  abi::CommandListHostSynchronize command_list_host_synchronize = nullptr;
  abi::CommandListGetNextCommandIdExp get_next_command_id = nullptr;
  abi::CommandListUpdateMutableCommandsExp update_mutable_commands = nullptr;
  abi::CommandListUpdateMutableCommandSignalEventExp update_mutable_command_signal_event = nullptr;
  abi::CommandListUpdateMutableCommandWaitEventsExp update_mutable_command_wait_events = nullptr;
  abi::DeviceImportExternalSemaphoreExt import_semaphore = nullptr;
  abi::DeviceReleaseExternalSemaphoreExt release_semaphore = nullptr;
  abi::CommandListAppendSignalExternalSemaphoreExt append_signal_semaphore = nullptr;
  abi::CommandListAppendWaitExternalSemaphoreExt append_wait_semaphore = nullptr;
  abi::DriverGetLastErrorDescription get_last_error_description = nullptr;
  abi::DeviceGetVectorWidthPropertiesExt get_vector_widths = nullptr;
  abi::EventGetEventPool event_get_pool = nullptr;
  abi::EventPoolGetContextHandle event_pool_get_context = nullptr;
  abi::CommandListIsImmediate command_list_is_immediate = nullptr;
};
const Newer& newer();

/// @errors kUnimplemented, naming the call, when it is missing here.
template <typename Function>
Function need(Function function, const char* name, const char* from = "the Level Zero loader of this process") {
  if (!function)
    throw Error(Code::kUnimplemented, std::string("level_zero: ") + name + " is not offered by " + from +
                                          "; a newer loader or driver may have it");
  return function;
}

/// Asks the driver for an extension's table or function by name. Null: the driver has none of that name.
template <typename Table>
const Table* extension_table(ze_driver_handle_t driver, const char* name) {
  void* found = nullptr;
  const ze_result_t result = call(zeDriverGetExtensionFunctionAddress, driver, name, &found);
  if (result == kInjected) check(result, "zeDriverGetExtensionFunctionAddress", name);
  return result == ZE_RESULT_SUCCESS ? static_cast<const Table*>(found) : nullptr;
}

/// The driver's own handle. With several drivers in a process, a loader may wrap handles; extension tables belong to
/// the drivers and expect theirs.
template <typename T>
T driver_side(zel_handle_type_t type, T handle) {
  void* own = nullptr;
  if (!handle || zelLoaderTranslateHandle(type, handle, &own) != ZE_RESULT_SUCCESS || !own) return handle;
  return static_cast<T>(own);
}
ze_driver_handle_t driver_side(ze_driver_handle_t h);
ze_device_handle_t driver_side(ze_device_handle_t h);
ze_context_handle_t driver_side(ze_context_handle_t h);
ze_command_queue_handle_t driver_side(ze_command_queue_handle_t h);
ze_command_list_handle_t driver_side(ze_command_list_handle_t h);
ze_event_handle_t driver_side(ze_event_handle_t h);

/// Nanoseconds until `deadline`, as the waiting calls take them; never their value for "infinite".
std::uint64_t nanoseconds_left(Deadline deadline);

/// Waits with one of the ze*Synchronize calls.
/// @errors kDeadlineExceeded; other errors of the call: kAborted for a lost device.
template <typename Function, typename T, typename What>
void synchronize(const char* name, Function function, T handle, Deadline deadline, const What& what) {
  for (;;) {
    const std::uint64_t left = nanoseconds_left(deadline);
    const ze_result_t result = call(function, handle, left);
    if (result == ZE_RESULT_SUCCESS) return;
    if (result == ZE_RESULT_NOT_READY && Clock::now() < deadline)
      continue;  // Woke early, or the deadline exceeds one wait's range.
    std::string text = "level_zero: ";
    if constexpr (std::is_invocable_v<What>)
      text += what();
    else
      text += what;
    // The failure was in a driver's thread; the description for this thread would be about another call.
    text += ": " + (result == ZE_RESULT_NOT_READY ? std::string("it was not done in time") : result_name(result));
    throw Error(code_of(result), text, name, static_cast<std::int64_t>(result));
  }
}

}  // namespace detail
}  // namespace level_zero
}  // namespace v1
}  // namespace tenon
