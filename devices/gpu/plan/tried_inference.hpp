// SPDX-License-Identifier: Apache-2.0
// What one inference costs by the way that its kernels were enqueued, for the trial of ways.
#pragma once

#include <chrono>
#include <cstddef>

#include <tenon/devices/gpu/plan/launch_trial.hpp>

namespace tenon::inline v1::gpu_device {

/// Measures a request's inferences as long as ways are tried. @thread one at a time. @cost one load when the trial is over.
class TriedInference {
 public:
  explicit TriedInference(LaunchTrial& trial) : trial_(trial) {}

  /// Another inference, of which nothing counts yet.
  void begin() noexcept { kernels_ = 0; }
  /// Its kernels are to be enqueued next, from this thread.
  void before_enqueue();
  /// They were, by this way.
  void enqueued(LaunchWay way, std::size_t kernels);
  /// The inference is over. @param whole  The time since it began.
  void end(std::chrono::nanoseconds whole);

 private:
  LaunchTrial& trial_;
  LaunchWay way_ = LaunchWay::kSingly;
  std::size_t kernels_ = 0;  ///< 0: nothing is to be noted.
  std::chrono::nanoseconds before_{}, host_{};
};

}  // namespace tenon::inline v1::gpu_device
