// SPDX-License-Identifier: Apache-2.0
// Launches that do not depend on each other become one: the products that read one row, or the same rows, small maps side by side.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include <tenon/devices/gpu/program/launch.hpp>
#include <tenon/devices/gpu/program/recipe.hpp>

namespace tenon::inline v1::gpu_device {

using Launches = std::vector<std::shared_ptr<const Launch>>;

/// How many launches become one at most.
constexpr std::size_t kMostJoined = 4;

/// Joins launches of a plan, and knows those that it joined for the plan before. @thread one at a time.
class LaunchJoins {
 public:
  /// @param launches  In order. @param counters  A buffer of zeros that kernels count in, each SET for itself, and leave as zeros.
  /// @return as many or fewer, in an order that means the same.
  Launches run(const Launches& launches, planning::BufferId counters, KernelTexts& texts);

 private:
  std::map<Launches, std::shared_ptr<const Launch>> known_;
};

}  // namespace tenon::inline v1::gpu_device
