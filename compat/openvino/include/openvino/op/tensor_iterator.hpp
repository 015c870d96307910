// SPDX-License-Identifier: Apache-2.0
// A loop over the parts of its inputs.
#pragma once

#include <memory>
#include <utility>

#include "openvino/op/util/sub_graph_base.hpp"

namespace ov {
namespace op {
namespace v0 {
/// Runs its body once for each part of its sliced inputs.
class OPENVINO_API TensorIterator : public util::SubGraphOp {
 public:
  OPENVINO_OP("TensorIterator", "opset1", util::SubGraphOp)
  TensorIterator();
  explicit TensorIterator(const OutputVector& values);
  explicit TensorIterator(std::shared_ptr<Impl> impl) : SubGraphOp(std::move(impl)) {}
  std::shared_ptr<Model> get_body() const { return get_function(); }
  void set_body(const std::shared_ptr<Model>& body) { set_function(body); }
  void revalidate_and_infer_types_for_body_ops() { validate_and_infer_types(); }
};
}  // namespace v0
}  // namespace op
}  // namespace ov
