// SPDX-License-Identifier: Apache-2.0
// Pacing: inferences take as long as they would on the NPU that is imitated.
#pragma once

#include <atomic>
#include <cstdint>

#include <tenon/drivers/npu/objects/wait.hpp>

namespace tenon::npu {

/// @thread all members from any thread.
class Pace {
 public:
  /// From TENON_NPU_PACE, read once: 1: as long as on the NPU; 10: ten times as long, for machines that compute slower than it; unset, empty or
  /// 0: off. Anything else is reported on the standard error, and off.
  static Pace& get() noexcept;
  bool is_on() const noexcept { return factor_ > 0; }
  double factor() const noexcept { return factor_; }

  /// Waits until an inference that began at `begin_ns` has taken as long as it should, and counts it. @param stop  Asked every millisecond; may be null.
  /// @return false if it ended the wait.
  bool hold(std::uint64_t begin_ns, std::uint64_t estimated_ns, bool (*stop)(void*), void* context) noexcept;
  /// The same for loading a graph, which is not counted.
  void hold_loading(std::uint64_t begin_ns, std::uint64_t estimated_ns) noexcept;

  std::uint64_t paced() const noexcept { return paced_.load(std::memory_order_relaxed); }
  /// How many inferences took longer than they should, since this machine was slower.
  std::uint64_t late() const noexcept { return late_.load(std::memory_order_relaxed); }

 private:
  Pace() noexcept;
  std::uint64_t end_ns(std::uint64_t begin_ns, std::uint64_t estimated_ns) const noexcept;
  double factor_ = 0;
  std::atomic<std::uint64_t> paced_{0}, late_{0};
};

}  // namespace tenon::npu
