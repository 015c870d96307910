// SPDX-License-Identifier: Apache-2.0
// An input of a model.
#pragma once

#include "openvino/core/layout.hpp"
#include "openvino/core/node.hpp"
#include "openvino/core/rtti.hpp"
#include "openvino/op/op.hpp"

namespace ov {
namespace op {
namespace v0 {
class OPENVINO_API Parameter : public Op {
 public:
  OPENVINO_RTTI("Parameter", "opset1")
  Parameter(const element::Type& type, const PartialShape& shape);
  explicit Parameter(std::shared_ptr<Impl> impl) : Op(std::move(impl)) {}
  const PartialShape& get_partial_shape() const { return get_output_partial_shape(0); }
  void set_partial_shape(const PartialShape& shape);
  const element::Type& get_element_type() const { return get_output_element_type(0); }
  void set_element_type(const element::Type& type);
  Layout get_layout() const;
  void set_layout(const Layout& layout);
};
}  // namespace v0
}  // namespace op
}  // namespace ov
