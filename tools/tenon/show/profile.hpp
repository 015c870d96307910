// SPDX-License-Identifier: Apache-2.0
// Where the time of an inference goes: the mean of several profiles, node by node.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <tenon/runtime/profiling_info.hpp>
#include <tenon/tools/tenon/show/executed_steps.hpp>
#include <tenon/tools/tenon/show/roof.hpp>

namespace tenon::tool {

/// Adds up profiles of one compiled model.
class Profile {
 public:
  /// Times, what was moved and computed in them, and what the device would need for that at least.
  struct Sum {
    double us = 0, bytes = 0, multiply_adds = 0, least_us = 0;
    Sum& operator+=(const Sum& other);
  };
  struct Node {
    std::string name, type, kernel;
    std::vector<std::string> nodes;  ///< All that the kernel computes; empty where the device does not tell.
    Sum all;                         ///< Of all inferences.
  };
  Profile() = default;
  explicit Profile(Roof roof) : roof_(std::move(roof)) {}
  void add(const std::vector<ProfilingInfo>& infos);
  /// @param steps  What the device says that it executed, in finer steps of time.
  void add(const std::vector<ProfilingInfo>& infos, const ExecutedSteps& steps);

  std::size_t inferences() const { return inferences_; }
  /// Mean time per inference spent in nodes, in microseconds.
  double sum_us() const;
  /// Slowest first.
  std::vector<Node> nodes() const;
  std::size_t optimised_out() const { return optimised_out_; }

  /// Kernels and operations with time and share, at most `most` kernels; what was moved and computed, and the share of the roof,
  /// where they are known. @param width  Of the terminal; 0: no limit.
  std::string to_text(std::size_t most, std::size_t width) const;
  nlohmann::json to_json() const;

 private:
  struct Step;
  std::map<std::string, Step> steps_of(const Model& executed) const;
  Sum mean(const Sum& sum) const;

  Roof roof_;
  std::string no_steps_;               ///< Why the device does not tell bytes and operations; empty if it does.
  std::map<std::string, Node> nodes_;  ///< By name and kernel.
  std::size_t inferences_ = 0, optimised_out_ = 0;
};

}  // namespace tenon::tool
