// SPDX-License-Identifier: Apache-2.0
// States of a model between inferences of one request.
#pragma once

#include <memory>
#include <string>

#include "openvino/runtime/tensor.hpp"

namespace ov {

class IVariableState;

class OPENVINO_RUNTIME_API VariableState {
 public:
  VariableState() = default;
  explicit VariableState(std::shared_ptr<IVariableState> impl) : _impl(std::move(impl)) {}
  /// Back to the initial value.
  void reset();
  std::string get_name() const;
  Tensor get_state() const;
  void set_state(const Tensor& state);

 private:
  IVariableState& checked() const;
  std::shared_ptr<IVariableState> _impl;
};

}  // namespace ov
