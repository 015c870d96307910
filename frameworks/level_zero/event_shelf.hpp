// SPDX-License-Identifier: Apache-2.0
// Events of a ze_context that are used again: Level Zero makes them from pools and counts no references.
#pragma once

#include <cstdint>
#include <mutex>
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
  ze_event_handle_t take(ze_context_handle_t context, ze_device_handle_t device);
  /// For an event that no command waits for, or signals, any more. One that cannot be reset is not used again.
  void give_back(ze_event_handle_t event) noexcept;
  /// Releases everything if no event is in use.
  void drop_idle() noexcept;

 private:
  static constexpr std::uint32_t kPerPool = 16;

  void grow(ze_context_handle_t context, ze_device_handle_t device);

  std::mutex mutex_;
  std::vector<Handle<ze_event_pool_handle_t>> pools_;  // Destroyed after their events.
  std::vector<Handle<ze_event_handle_t>> events_;
  std::vector<ze_event_handle_t> idle_;
};

}  // namespace detail
}  // namespace level_zero
}  // namespace v1
}  // namespace tenon
