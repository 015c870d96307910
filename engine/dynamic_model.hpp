// SPDX-License-Identifier: Apache-2.0
// A model whose shapes are open, and copies of it that get shapes.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include <tenon/core/tensor.hpp>
#include <tenon/engine/lower/relowering.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/planning/shaped_copy.hpp>

namespace tenon::inline v1::engine {

/// A model after its passes. Plans for shapes are made from copies of it, which go from one maker to the next: giving
/// one other shapes costs much less than copying.
/// @thread all members from any thread.
class DynamicModel {
 public:
  /// @param prepared  Not changed from now on. Without states.
  explicit DynamicModel(std::shared_ptr<const Model> prepared);

  /// Unique in the process, unlike an address.
  std::uint64_t id() const { return id_; }
  const Model& model() const { return *prepared_; }
  /// A copy, and what its last plan left.
  struct Copy {
    planning::ShapedCopy shaped;
    Relowering before;
  };
  /// A copy with these types and shapes. @errors those of shape inference, which name the node.
  Copy take(std::span<const Tensor> inputs);
  /// For the next one, when nothing refers to its shapes any more.
  void give_back(Copy copy);

 private:
  const std::uint64_t id_;
  const std::shared_ptr<const Model> prepared_;
  std::mutex mutex_;
  std::vector<Copy> idle_;
};

}  // namespace tenon::inline v1::engine
