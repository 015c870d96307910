// SPDX-License-Identifier: Apache-2.0
// Shows where the time of an inference goes: the mean of several profiles, node by node.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <tenon/runtime/profiling_info.hpp>
#include <tenon/tools/tenon/show/models/executed_steps.hpp>
#include <tenon/tools/tenon/show/models/roof.hpp>

namespace tenon::tool {

/// Adds up profiles of one compiled model.
class Profile {
 public:
  /// Times, the bytes moved and the operations computed in them, and the least time that the device would need for these.
  struct Sum {
    double us = 0, bytes = 0, multiply_adds = 0, least_us = 0;
    Sum& operator+=(const Sum& other);
  };
  struct Node {
    std::string name, type, kernel;
    std::vector<std::string> nodes;  ///< All nodes that the kernel computes; empty if the device does not report them.
    Sum all;                         ///< The sum over all inferences.
  };
  Profile() = default;
  explicit Profile(Roof roof) : roof_(std::move(roof)) {}
  void add(const std::vector<ProfilingInfo>& infos);
  /// @param steps  The steps that the device reports as executed.
  void add(const std::vector<ProfilingInfo>& infos, const ExecutedSteps& steps);

  std::size_t inferences() const { return inferences_; }
  /// Mean time per inference spent in nodes, in microseconds.
  double sum_us() const;
  /// The nodes, the slowest first.
  std::vector<Node> nodes() const;
  std::size_t optimised_out() const { return optimised_out_; }

  /// Kernels and operations with time and share, at most `most` kernels; the bytes and operations, and the share of the roof,
  /// where they are known. @param width  The terminal's; 0: no limit.
  std::string to_text(std::size_t most, std::size_t width) const;
  nlohmann::json to_json() const;

 private:
  struct Step;
  std::map<std::string, Step> steps_of(const Model& executed) const;
  Sum mean(const Sum& sum) const;

  Roof roof_;
  std::string no_steps_;               ///< Why the device does not report bytes and operations; empty if it does.
  std::map<std::string, Node> nodes_;  ///< The key is made of name and kernel.
  std::size_t inferences_ = 0, optimised_out_ = 0;
};

}  // namespace tenon::tool
