// SPDX-License-Identifier: Apache-2.0
// How set_shape() on a tensor that a request gave away reaches the request.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include <tenon/core/memory.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/runtime/request/model_state.hpp>

namespace tenon {
inline namespace v1 {

/// Lent with the tensor of one port. All copies of the tensor carry this lease; through it the request learns that
/// one of them was given another shape. It may outlive the request and the model.
/// @thread all members from any thread.
class SlotLease final : public LeaseState {
 public:
  /// @param changed  Set when take() has something; shared with the request.
  SlotLease(std::weak_ptr<ModelState> model, PortRef port, std::shared_ptr<std::atomic<bool>> changed)
      : model_(std::move(model)), port_(port), changed_(std::move(changed)) {}

  /// Sets the tensor that the request uses now; tensors lent before, and regions of it, no longer affect the port.
  void lend(const Tensor& tensor);
  /// Stops tracking: the port has another tensor now, or none whose shape may change.
  void detach() { lend(Tensor()); }
  /// The tensor that set_shape() made since the last call; empty if none.
  Tensor take();

  /// @errors kInvalidArgument: a shape that the port does not take.
  bool reshape(Tensor& tensor, const Shape& shape) override;

 private:
  Tensor resized(const Tensor& tensor, const Shape& shape) const;

  std::weak_ptr<ModelState> model_;
  PortRef port_;
  std::shared_ptr<std::atomic<bool>> changed_;
  std::mutex mutex_;
  Tensor current_;  ///< The tensor without this lease, which would otherwise keep itself alive.
  Tensor made_;
};

}  // namespace v1
}  // namespace tenon
