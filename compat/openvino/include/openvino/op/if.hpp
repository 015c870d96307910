// SPDX-License-Identifier: Apache-2.0
// A branch.
#pragma once

#include <memory>
#include <utility>

#include "openvino/op/util/multi_subgraph_base.hpp"

namespace ov {
namespace op {
namespace v8 {
/// Runs one of two bodies.
class OPENVINO_API If : public util::MultiSubGraphOp {
 public:
  OPENVINO_OP("If", "opset8", util::MultiSubGraphOp)
  enum BodyIndexes { THEN_BODY_INDEX = 0, ELSE_BODY_INDEX = 1 };
  If();
  If(const Output<Node>& execution_condition);
  explicit If(std::shared_ptr<Impl> impl) : MultiSubGraphOp(std::move(impl)) {}
  const std::shared_ptr<Model>& get_then_body() const { return get_function(THEN_BODY_INDEX); }
  const std::shared_ptr<Model>& get_else_body() const { return get_function(ELSE_BODY_INDEX); }
  void set_then_body(const std::shared_ptr<Model>& body) { set_function(THEN_BODY_INDEX, body); }
  void set_else_body(const std::shared_ptr<Model>& body) { set_function(ELSE_BODY_INDEX, body); }
  /// Either parameter may be null: that body does not see the value.
  void set_input(const Output<Node>& value, const std::shared_ptr<v0::Parameter>& then_parameter,
                 const std::shared_ptr<v0::Parameter>& else_parameter);
  Output<Node> set_output(const std::shared_ptr<v0::Result>& then_result,
                          const std::shared_ptr<v0::Result>& else_result);
};
}  // namespace v8
}  // namespace op
}  // namespace ov
