// SPDX-License-Identifier: Apache-2.0
// Which way of getting a model's kernels into a queue is best: its first inferences find out.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace tenon::inline v1::gpu_device {

/// How the kernels of a plan get into a queue.
enum class LaunchWay : std::uint8_t {
  kSingly,  ///< Each is enqueued; the device begins with the first.
  kHeld,    ///< Each is enqueued, behind an event; the device begins when the last one is there.
  kBuffer,  ///< Recorded once, and enqueued as one command; those that use an application's memory singly.
  kGraph,   ///< By the device's twin, as one graph (twin/twin.hpp); by OpenCL, one by one, what the twin cannot run.
};

/// @thread all members from any thread. @cost one load when the trial is over.
class LaunchTrial {
 public:
  /// Fewer kernels cost too little to be worth a choice.
  static constexpr std::size_t kLeastKernels = 8;
  /// Inferences by each way; the cheapest counts, since a busy machine only adds to it.
  static constexpr std::size_t kRounds = 8;

  /// @param ways  The first one stays unless another costs the host a tenth less. A graph is taken where inferences are over as soon by it:
  /// it may have other kernels, too.
  explicit LaunchTrial(const std::vector<LaunchWay>& ways);

  bool is_over() const noexcept { return over_.load(std::memory_order_acquire); }
  /// The one that was found, or whose turn it is.
  LaunchWay way() const;
  /// One inference of this many kernels. @param host  The host's time for enqueueing it. @param whole  The time until it was over.
  void note(LaunchWay way, std::size_t kernels, std::chrono::nanoseconds host, std::chrono::nanoseconds whole);
  /// There is nothing to gain: the first way is taken.
  void end();
  /// This way failed, or can run no plan of the model's: it is not taken again, unless it is the only one.
  void drop(LaunchWay way);

 private:
  struct Tried {
    LaunchWay way;
    std::size_t rounds = 0;
    double host = 0, whole = 0;  ///< The least, ns a kernel.
  };
  /// @pre the mutex is held.
  void decide();

  mutable std::mutex mutex_;
  std::vector<Tried> tried_;
  std::atomic<LaunchWay> chosen_{LaunchWay::kSingly};
  std::atomic<bool> over_{false};
};

}  // namespace tenon::inline v1::gpu_device
