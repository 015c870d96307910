// SPDX-License-Identifier: Apache-2.0
// Events of a ze_context that are used again: Level Zero makes them from pools and counts no references.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include <tenon/frameworks/level_zero/native.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero {
namespace detail {

/// Events that host and device may signal and wait for.
/// @thread all members from any thread.
class EventShelf {
 public:
  /// An event that is not signalled. @errors those of native calls.
  ze_event_handle_t take(ze_context_handle_t context, ze_device_handle_t device) {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) grow(context, device);
    const ze_event_handle_t event = idle_.back();
    idle_.pop_back();
    return event;
  }
  /// For an event that no command waits for, or signals, any more. One that cannot be reset is not used again.
  void give_back(ze_event_handle_t event) noexcept {
    if (zeEventHostReset(event) != ZE_RESULT_SUCCESS) return;
    const std::lock_guard lock(mutex_);
    idle_.push_back(event);  // There is room for all.
  }
  /// Releases everything if no event is in use.
  void drop_idle() noexcept {
    const std::lock_guard lock(mutex_);
    if (idle_.size() != events_.size()) return;
    idle_.clear();
    events_.clear();
    pools_.clear();
  }

 private:
  static constexpr std::uint32_t kPerPool = 16;

  void grow(ze_context_handle_t context, ze_device_handle_t device) {
    constexpr const char* kWhat = "making events that commands wait for";
    auto wanted = typed<ze_event_pool_desc_t>(ZE_STRUCTURE_TYPE_EVENT_POOL_DESC);
    wanted.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE;
    wanted.count = kPerPool;
    auto pool = create<ze_event_pool_handle_t>("zeEventPoolCreate", kWhat, zeEventPoolCreate, context, &wanted,
                                               std::uint32_t{1}, &device);
    std::vector<Handle<ze_event_handle_t>> made;
    for (std::uint32_t i = 0; i < kPerPool; ++i) {
      auto event = typed<ze_event_desc_t>(ZE_STRUCTURE_TYPE_EVENT_DESC);
      event.index = i;
      event.signal = event.wait = ZE_EVENT_SCOPE_FLAG_HOST;
      made.push_back(create<ze_event_handle_t>("zeEventCreate", kWhat, zeEventCreate, pool.get(), &event));
    }
    pools_.reserve(pools_.size() + 1);
    events_.reserve(events_.size() + kPerPool);
    idle_.reserve(events_.size() + kPerPool);
    pools_.push_back(std::move(pool));
    for (Handle<ze_event_handle_t>& event : made) {
      idle_.push_back(event.get());
      events_.push_back(std::move(event));
    }
  }

  std::mutex mutex_;
  std::vector<Handle<ze_event_pool_handle_t>> pools_;  // Destroyed after their events.
  std::vector<Handle<ze_event_handle_t>> events_;
  std::vector<ze_event_handle_t> idle_;
};

}  // namespace detail
}  // namespace level_zero
}  // namespace v1
}  // namespace tenon
