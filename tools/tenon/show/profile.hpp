// SPDX-License-Identifier: Apache-2.0
// Where the time of an inference goes: the profiles of several, node by node.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <tenon/runtime/profiling_info.hpp>

namespace tenon::tool {

/// Adds up profiles of one compiled model.
class Profile {
 public:
  struct Node {
    std::string name, type, kernel;
    double total_us = 0;
    std::size_t runs = 0;
  };
  void add(const std::vector<ProfilingInfo>& infos);

  std::size_t inferences() const { return inferences_; }
  /// Mean time of a whole inference that was spent in nodes, in microseconds.
  double sum_us() const;
  /// Slowest first.
  std::vector<Node> nodes() const;
  std::size_t optimised_out() const { return optimised_out_; }

  /// Nodes and operations with time and share; `most` nodes at most.
  std::string to_text(std::size_t most) const;
  nlohmann::json to_json() const;

 private:
  std::map<std::string, Node> nodes_;  ///< By name and kernel.
  std::size_t inferences_ = 0, optimised_out_ = 0;
};

}  // namespace tenon::tool
