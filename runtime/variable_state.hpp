// SPDX-License-Identifier: Apache-2.0
// State of a stateful model between inferences of one request.
#pragma once

#include <memory>
#include <string>

#include <tenon/core/export.hpp>
#include <tenon/core/tensor.hpp>

namespace tenon {
inline namespace v1 {

class VariableStateImpl;
class RequestHandle;

/// Handle on one variable of one request; the same objects for the request's life, which it extends.
/// @errors Busy  while the request runs
/// @thread as its request.
class TENON_API VariableState {
 public:
  VariableState() = default;
  /// Back to the initial value: the next inference computes the model's initialiser again.
  void reset();
  std::string get_name() const;
  Tensor get_state() const;
  /// Values of another element type are converted. @errors kInvalidArgument: an empty tensor, or one of another shape.
  void set_state(const Tensor& state);

 private:
  friend class InferRequest;
  VariableState(std::shared_ptr<VariableStateImpl> impl, std::shared_ptr<RequestHandle> owner);
  VariableStateImpl& impl() const;
  std::shared_ptr<VariableStateImpl> impl_;
  std::shared_ptr<RequestHandle> owner_;
};

}  // namespace v1
}  // namespace tenon
