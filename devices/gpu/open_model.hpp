// SPDX-License-Identifier: Apache-2.0
// A model whose shapes, or whose kernels' constants, are known only with its inputs.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <tenon/core/tensor.hpp>
#include <tenon/devices/gpu/lower/builder.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::inline v1::gpu_device {

/// What a plan is made for, of one input.
struct InputState {
  Tensor tensor;  ///< Empty if it is a batch in several tensors.
  Shape shape;    ///< Of all of it.
  InputForm form;
};

/// Inputs that say what others are shaped like (a Reshape's shape, a Slice's positions, a resize's scales) are read on
/// the host, and become constants of the plan.
/// @thread all members from any thread.
class OpenModel {
 public:
  /// @param prepared  After run_passes().
  OpenModel(std::shared_ptr<const Model> prepared, const Target& target)
      : prepared_(std::move(prepared)), target_(target) {}

  /// Whether the model needs its inputs to be planned.
  static bool is_open(const Model& model, const Target& target);
  /// What a plan is for: the inputs' shapes, and the values of those that decide.
  struct Key {
    std::vector<Shape> shapes;
    std::vector<std::string> values;  ///< Their bytes.
    friend bool operator==(const Key&, const Key&) = default;
  };
  /// @cost a read of each input whose values decide.
  Key key_of(const std::vector<InputState>& inputs) const;
  /// The model with these inputs' shapes and values; inputs that decide are read by nobody in it.
  /// @errors those of shape inference; kUnimplemented: shapes depend on values that kernels compute, naming the nodes.
  std::shared_ptr<Model> closed(const std::vector<InputState>& inputs);

 private:
  const std::shared_ptr<const Model> prepared_;
  const Target target_;
  mutable std::mutex mutex_;
  std::set<std::size_t> deciding_;  ///< Inputs.
};

}  // namespace tenon::inline v1::gpu_device
