// SPDX-License-Identifier: Apache-2.0
// Slots for handles: their pages are never unmapped and reuse is delayed, so that stale handles stay invalid.
#include <pthread.h>
#include <unistd.h>
#include <atomic>
#include <cstddef>
#include <string>

#include <tenon/drivers/npu/objects/dispatch.hpp>
#include <tenon/drivers/npu/objects/object.hpp>
#include <tenon/drivers/npu/objects/result.hpp>

namespace tenon::npu {
namespace {

constexpr std::size_t kSlots = std::size_t{1} << 22;       // 256 MiB of addresses; pages are committed on use.
constexpr std::size_t kQuarantine = std::size_t{1} << 14;  // Number of free slots kept before the first is reused.

std::atomic<bool> is_forked{false};
pid_t maker = 0;  ///< The process that created the driver.

ze_result_t no_such_handle() noexcept {
  return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "a handle was destroyed before, is of another kind, or never was one");
}

}  // namespace

void guard_against_fork() noexcept {
  maker = ::getpid();
  [[maybe_unused]] static const int once =
      ::pthread_atfork(nullptr, nullptr, [] { is_forked.store(true, std::memory_order_relaxed); });
}

bool is_forked_process() noexcept { return is_forked.load(std::memory_order_relaxed); }

ze_result_t check_not_forked() noexcept {
  if (!is_forked_process()) return ZE_RESULT_SUCCESS;
  try {
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                "the driver was initialised by process " + std::to_string(maker) +
                    ", and this one was forked from it: fork before zeInit, or exec another program");
  } catch (...) {
    return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
  }
}

Slot::Slot() noexcept { set_dispatch(dispatch); }

handles::ObjectTable<Slot>& Slot::table() noexcept {
  static const handles::Immortal<handles::ObjectTable<Slot>> all(kSlots, kQuarantine);
  return *all;
}

ze_result_t acquire_object(const void* handle, Kind kind, Object** object) noexcept {
  if (const ze_result_t result = check_not_forked()) return result;
  if (!handle) return fail(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, "a handle is null");
  handles::ObjectTable<Slot>& slots = Slot::table();
  auto* found = slots.acquire(slots.find(handle), static_cast<std::uint8_t>(kind));
  if (!found) return no_such_handle();
  *object = static_cast<Object*>(found);
  return ZE_RESULT_SUCCESS;
}

ze_result_t destroy_handle(void* handle, Kind kind) noexcept {
  if (const ze_result_t result = check_not_forked()) return result;
  if (!handle) return fail(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, "a handle is null");
  handles::ObjectTable<Slot>& slots = Slot::table();
  return slots.invalidate(slots.find(handle), static_cast<std::uint8_t>(kind)) ? ZE_RESULT_SUCCESS : no_such_handle();
}

std::int64_t handle_number(const void* handle) noexcept { return Slot::table().number(Slot::table().find(handle)); }

std::size_t live_handles() noexcept { return Slot::table().live(); }

}  // namespace tenon::npu
