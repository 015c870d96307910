// SPDX-License-Identifier: Apache-2.0
// Slots for handles: their pages are never unmapped and reuse is delayed, so that stale handles stay invalid.
#include <pthread.h>
#include <unistd.h>
#include <array>
#include <cstddef>
#include <string>

#include <tenon/drivers/handles/slots.hpp>
#include <tenon/drivers/npu/objects/dispatch.hpp>
#include <tenon/drivers/npu/objects/object.hpp>
#include <tenon/drivers/npu/objects/result.hpp>

namespace tenon::npu {
namespace {

constexpr std::uint64_t kValid = std::uint64_t{1} << 63;
constexpr std::uint64_t kReferences = (std::uint64_t{1} << 48) - 1;
constexpr std::size_t kSlots = std::size_t{1} << 22;       // 256 MiB of addresses; pages are committed on use.
constexpr std::size_t kQuarantine = std::size_t{1} << 14;  // Number of free slots kept before the first is reused.

constexpr std::uint64_t word(Kind kind) { return kValid | std::uint64_t{static_cast<std::uint8_t>(kind)} << 48; }
constexpr std::uint64_t kind_bits(std::uint64_t state) { return state & ~kReferences; }

using Slots = handles::SlotTable<Slot>;

/// Never destroyed: clients call from their own destructors, which may run after ours.
Slots& slots() {
  static Slots& all = *new Slots(kSlots, kQuarantine);
  return all;
}
std::atomic<std::size_t> live{0};
std::atomic<bool> is_forked{false};
pid_t maker = 0;  ///< The process that created the driver.

ze_result_t no_such_handle() noexcept {
  return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "a handle was destroyed before, is of another kind, or never was one");
}

}  // namespace

void guard_against_fork() noexcept {
  maker = ::getpid();
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

bool attach_slot(Object* object, Kind kind) noexcept try {
  Slot* slot = slots().take();
  if (!slot) return false;
  set_dispatch(slot->dispatch);
  slot->object = object;
  object->slot_ = slot;
  live.fetch_add(1, std::memory_order_relaxed);
  slot->state.store(word(kind) + 1, std::memory_order_release);
  return true;
} catch (...) {
  return false;
}

void destroy_object(Slot* slot) noexcept {
  Object* object = std::exchange(slot->object, nullptr);
  slot->state.store(0, std::memory_order_release);
  delete object;  // Its destructor may release other references.
  slots().give_back(slot);
}

void Object::drop_reference() const noexcept {
  Slot* slot = slot_;
  if ((slot->state.fetch_sub(1, std::memory_order_acq_rel) & kReferences) == 1) destroy_object(slot);
}

ze_result_t acquire_object(const void* handle, Kind kind, Object** object) noexcept {
  if (const ze_result_t result = check_not_forked()) return result;
  if (!handle) return fail(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, "a handle is null");
  Slot* slot = slots().find(handle);
  if (!slot) return no_such_handle();
  std::uint64_t state = slot->state.load(std::memory_order_acquire);
  do {
    if (kind_bits(state) != word(kind)) return no_such_handle();
  } while (!slot->state.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel));
  *object = slot->object;
  return ZE_RESULT_SUCCESS;
}

ze_result_t destroy_handle(void* handle, Kind kind) noexcept {
  if (const ze_result_t result = check_not_forked()) return result;
  if (!handle) return fail(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, "a handle is null");
  Slot* slot = slots().find(handle);
  if (!slot) return no_such_handle();
  std::uint64_t state = slot->state.load(std::memory_order_acquire);
  do {
    if (kind_bits(state) != word(kind)) return no_such_handle();
  } while (!slot->state.compare_exchange_weak(state, state & ~kValid, std::memory_order_acq_rel));
  live.fetch_sub(1, std::memory_order_relaxed);
  slot->object->drop_reference();
  return ZE_RESULT_SUCCESS;
}

std::int64_t handle_number(const void* handle) noexcept { return slots().number(slots().find(handle)); }

std::size_t live_handles() noexcept { return live.load(std::memory_order_relaxed); }

}  // namespace tenon::npu
