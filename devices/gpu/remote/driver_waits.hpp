// SPDX-License-Identifier: Apache-2.0
// Waits in the driver that end at a deadline.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>

#include <tenon/core/policy.hpp>
#include <tenon/devices/gpu/native.hpp>

namespace tenon::inline v1::gpu_device {

/// Threads that wait in the driver (clWaitForEvents) for callers that wait for them. The driver's wait has no deadline: a caller goes on at
/// its own, and the thread stays until its event is complete. Where commands run on the host's cores, drivers lend them the thread that
/// waits, but none to a host that asks again and again whether they are over: on Intel's runtime and two cores, a copy of 4 MB took 0.24 ms
/// so, 0.23 ms with the caller itself in the driver, and 0.48 ms asked for (2026-12-01).
/// @thread all members from any thread.
class DriverWaits {
 public:
  static constexpr std::size_t kMost = 8;  ///< Threads of the process.
  static DriverWaits& process();

  /// Returns when `event` is complete or has failed, at the deadline, or at once if all threads still wait or none can be started: which of
  /// these is for the caller to ask the event. @pre its queue was flushed.
  /// @cost two thread switches, 10 us; the first ones start a thread.
  void wait(const opencl::EventTimeline& event, Deadline deadline) noexcept;
  /// Threads that wait for nothing.
  std::size_t idle() const noexcept;
  /// How many waits threads have begun.
  std::size_t begun() const noexcept;

 private:
  struct Waiter;
  DriverWaits() = default;
  /// Null: there is none.
  Waiter* take() noexcept;
  void give_back(Waiter& waiter) noexcept;
  void run(Waiter& waiter) noexcept;

  mutable std::mutex mutex_;
  std::array<Waiter*, kMost> idle_{};
  std::size_t idle_count_ = 0, count_ = 0, begun_ = 0;
};

}  // namespace tenon::inline v1::gpu_device
