// SPDX-License-Identifier: Apache-2.0
// The state of a device that is made to fail: lost, hung, or with less memory than the machine.
#pragma once

#include <atomic>
#include <cstdint>

#include <tenon/drivers/npu/objects/wait.hpp>

namespace tenon::npu {

/// One for the process: its devices fail together.
/// @thread all members from any thread.
class Faults {
 public:
  static Faults& get() noexcept;

  bool is_lost() const noexcept { return is_lost_.load(std::memory_order_relaxed); }
  /// From now on calls and executions fail with ZE_RESULT_ERROR_DEVICE_LOST, but those that destroy or describe.
  void lose() noexcept { is_lost_.store(true); }
  void recover() noexcept { is_lost_.store(false); }

  /// False from the time of the reset on, whether anything waited for it or not.
  bool is_hung() noexcept;
  /// Nothing computes until the device is reset, which happens TENON_NPU_RESET_MS (2000) later, or by reset().
  void hang() noexcept;
  /// Ends a hang: what ran or waited meanwhile has failed, what is submitted later runs.
  void reset() noexcept;
  /// Waits for the end of a hang, for at most `slice_ns`. @return whether it is over.
  bool wait_for_reset(std::uint64_t slice_ns) noexcept;
  /// Counts the executions of lists, for the control socket.
  void note_execution() noexcept { executions_.fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t executions() const noexcept { return executions_.load(std::memory_order_relaxed); }
  std::uint32_t resets() const noexcept { return resets_.load(); }

 private:
  /// As reset(), for the hang that was to end at `hang_ns`, and for none that began since.
  void end(std::uint64_t hang_ns) noexcept;

  std::atomic<bool> is_lost_{false};
  std::atomic<std::uint64_t> executions_{0};
  std::atomic<std::uint64_t> reset_ns_{0};  ///< When the hang ends; 0: there is none.
  Futex resets_;
};

}  // namespace tenon::npu
