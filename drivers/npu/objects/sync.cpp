// SPDX-License-Identifier: Apache-2.0
// Fences and events: state machines in one word each.
#include <tenon/drivers/npu/objects/sync.hpp>

namespace tenon::npu {

bool Fence::begin(std::uint32_t* token) noexcept {
  std::uint32_t state = state_.load();
  std::uint32_t taken = 0;
  do {
    if ((state & kStates) == kPending) return false;
    taken = (state & ~kStates) + kNextEpoch + kPending;
  } while (!state_.compare_exchange(state, taken));
  *token = taken;
  return true;
}

void Fence::complete(std::uint32_t token, ze_result_t result) noexcept {
  result_.store(result, std::memory_order_relaxed);
  std::uint32_t expected = token;
  state_.compare_exchange(expected, token - kPending + kSignalled);  // Fails if it was reset meanwhile.
}

void Fence::abandon(std::uint32_t token) noexcept {
  std::uint32_t expected = token;
  state_.compare_exchange(expected, token - kPending + kReset);
}

void Fence::reset() noexcept {
  std::uint32_t state = state_.load();
  while (!state_.compare_exchange(state, (state & ~kStates) + kNextEpoch + kReset)) {
  }
}

ze_result_t Fence::wait(Deadline deadline) noexcept {
  const bool signalled =
      state_.wait([](std::uint32_t state) { return (state & kStates) == kSignalled; }, deadline, default_spin_ns());
  if (!signalled) return ZE_RESULT_NOT_READY;
  const ze_result_t result = result_.load(std::memory_order_relaxed);
  if (result != ZE_RESULT_SUCCESS) told_.store(state_.load() & ~std::uint32_t{kStates});
  return result;
}

bool EventPool::has_timestamps() const noexcept {
  constexpr ze_event_pool_flags_t kMapped = 1u << 3;  // Newer than the packaged header.
  return (flags_ & (ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP | kMapped)) != 0;
}

bool EventPool::take(std::uint32_t index) {
  std::lock_guard lock(mutex_);
  if (index >= taken_.size() || taken_[index]) return false;
  taken_[index] = true;
  return true;
}

void EventPool::give_back(std::uint32_t index) noexcept {
  std::lock_guard lock(mutex_);
  taken_[index] = false;
}

void Event::signal(ze_result_t result, Timestamps when) noexcept {
  result_.store(result, std::memory_order_relaxed);
  start_ns_.store(when.start_ns, std::memory_order_relaxed);
  end_ns_.store(when.end_ns, std::memory_order_relaxed);
  state_.store(kSignalled);
}

void Event::refuse(ze_result_t result) noexcept {
  refusal_.store(result, std::memory_order_relaxed);
  std::uint32_t expected = kReset;
  state_.compare_exchange(expected, kRefused);
}

void Event::expect() noexcept {
  std::uint32_t expected = kRefused;
  state_.compare_exchange(expected, kReset);
}

ze_result_t Event::wait(Deadline deadline, std::uint64_t spin_ns) noexcept {
  const bool is_over = state_.wait([](std::uint32_t state) { return state != kReset; }, deadline, spin_ns);
  if (!is_over) return ZE_RESULT_NOT_READY;
  return (state_.load() == kRefused ? refusal_ : result_).load(std::memory_order_relaxed);
}

Timestamps Event::timestamps() const noexcept {
  return {start_ns_.load(std::memory_order_relaxed), end_ns_.load(std::memory_order_relaxed)};
}

}  // namespace tenon::npu
