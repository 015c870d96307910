// SPDX-License-Identifier: Apache-2.0
// Measures which of several kernels solves a problem fastest on this device, and remembers it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <tenon/devices/gpu/hardware.hpp>
#include <tenon/devices/gpu/lower/build/choices.hpp>
#include <tenon/devices/gpu/plan/execution.hpp>
#include <tenon/devices/gpu/plan/launch_plan.hpp>
#include <tenon/store/content_hash.hpp>

namespace tenon::inline v1::gpu_device {

/// What is known lives as long as the process, for all models of a device, and in the cache folder for the next one, in one
/// entry (*.cl_tuning) for each device, driver and release.
/// @thread one at a time; tuners of one process and several processes may share a folder.
class Tuner {
 public:
  /// Takes what is known. An entry that is damaged, or whose folder must not be trusted, is as if it were not there, and the
  /// report says why.
  /// @param folder  Empty: nothing is read or kept on disk.
  Tuner(std::shared_ptr<const Gpu> gpu, std::filesystem::path folder);

  const Choices& choices() const { return choices_; }
  /// Measures trials, the costliest first, on a queue of its own, and keeps what it finds. When `bound` is over, it begins nothing
  /// more: no launch, and no kernel's compilation that is likely to end later. Problems that it has not finished by then stay unknown.
  /// @param plan  The plan that was lowered with the trials. @param most_threads  The limit for compiling, as in KernelLibrary::build().
  /// @errors kCancelled: it is not wanted any more (CancellationScope); what was finished is remembered.
  void measure(const LaunchPlan& plan, std::vector<Trial> trials, Constants& constants, std::chrono::milliseconds bound,
               std::int32_t most_threads);
  /// "12 problems: 5 known, 6 measured in 812 ms, 1 left to the rules".
  /// @param taken  Problems of the model that were known.
  std::string report(std::size_t taken) const;
  /// What this process knows, as if another one began: for tests.
  static void forget();

 private:
  using Until = std::chrono::steady_clock::time_point;
  /// The fastest candidate's name; empty: there was no time.
  std::string fastest(const LaunchPlan& plan, const Trial& trial, Constants& constants, Until until,
                      std::int32_t most_threads);
  /// At once, for this process: a compilation that is given up later has not measured in vain.
  void remember(const std::string& problem, const std::string& name);
  void keep() const;

  const std::shared_ptr<const Gpu> gpu_;
  const std::filesystem::path folder_;
  std::string id_;  ///< Names the device, its driver and this release.
  store::ContentHash key_{};
  Choices choices_;
  std::size_t measured_ = 0, left_ = 0;
  std::chrono::milliseconds took_{0};
  std::chrono::nanoseconds longest_{0};  ///< Compilation of a kernel.
  std::string ignored_;                  ///< Why what lay in the folder was not taken.
};

}  // namespace tenon::inline v1::gpu_device
