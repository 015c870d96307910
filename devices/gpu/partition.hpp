// SPDX-License-Identifier: Apache-2.0
// Partitions a model where kernels compute what decides shapes.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <tenon/devices/gpu/target.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::inline v1::gpu_device {

/// Whether a plan can be made of the node: shapes and deciding values are known, or its output has a bound.
bool is_decided(const Node& node, const Target& target);

struct Partition {
  std::shared_ptr<Model> before;  ///< Its results: those of the model that it computes, then what the rest reads.
  std::shared_ptr<Model> rest;    ///< Null: nothing is left.
  static constexpr std::size_t kRest = ~std::size_t{0};
  std::vector<std::size_t>
      results;  ///< For each result of the model, which result of `before` it is; kRest: the rest's next one.
  /// Where a parameter of the rest comes from.
  struct Input {
    bool is_parameter = false;  ///< It is a parameter of the model, else a result of `before`.
    std::size_t index = 0;
  };
  std::vector<Input> rest_inputs;
};

/// @param model  After run_passes(), its inputs' shapes known; taken apart.
/// @errors kUnimplemented: the part before would compute nothing that helps; names the nodes.
Partition partition(const std::shared_ptr<Model>& model, const Target& target);

}  // namespace tenon::inline v1::gpu_device
