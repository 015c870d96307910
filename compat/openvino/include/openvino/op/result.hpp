// SPDX-License-Identifier: Apache-2.0
// An output of a model.
#pragma once

#include "openvino/core/layout.hpp"
#include "openvino/core/node.hpp"
#include "openvino/core/rtti.hpp"
#include "openvino/op/op.hpp"

namespace ov {
namespace op {
namespace v0 {
class OPENVINO_API Result : public Op {
 public:
  OPENVINO_RTTI("Result", "opset1")
  explicit Result(const Output<Node>& source);
  explicit Result(std::shared_ptr<Impl> impl) : Op(std::move(impl)) {}
  Layout get_layout() const;
  void set_layout(const Layout& layout);
};
}  // namespace v0
}  // namespace op
}  // namespace ov
