// SPDX-License-Identifier: Apache-2.0
// Ways to compute the same, among which a measurement may decide.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <tenon/devices/gpu/program/kept_choices.hpp>  // IWYU pragma: export
#include <tenon/devices/gpu/program/kernel.hpp>
#include <tenon/devices/gpu/program/launch.hpp>

namespace tenon::inline v1::gpu_device {

/// One way: a template with its tiles.
struct Candidate {
  std::string name;  ///< Among those for the problem.
  std::function<Kernel()> make;
};

/// A problem of which nothing is known yet, with the kernels that can solve it: the rules' choice first. Their places are in
/// the plan that was lowered with them.
struct Trial {
  std::string problem;
  std::vector<std::string> names;
  std::vector<Launch> launches;
  std::size_t uses = 1;  ///< Nodes of the model that have this problem.
};

/// What lowering does about choices.
struct Choosing {
  const Choices* known = nullptr;  ///< Null: rules decide.
  /// Problems that are not known are added here; null: they are left to the rules.
  std::vector<Trial>* trials = nullptr;
  /// The model's problems that are known are added here; null: they are not collected.
  std::set<std::string>* taken = nullptr;
};

}  // namespace tenon::inline v1::gpu_device
