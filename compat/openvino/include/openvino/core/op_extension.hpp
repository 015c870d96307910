// SPDX-License-Identifier: Apache-2.0
// Operations of a program's own. They compile, and are refused when they are added or made: devices compute the operations of Tenon's table,
// and know no other kernel.
#pragma once

#include <memory>
#include <vector>

#include "openvino/core/attribute_visitor.hpp"
#include "openvino/core/extension.hpp"
#include "openvino/core/node.hpp"

namespace ov {

class OPENVINO_API BaseOpExtension : public Extension {
 public:
  using Ptr = std::shared_ptr<BaseOpExtension>;
  ~BaseOpExtension() override;
  virtual OutputVector create(const OutputVector& inputs, AttributeVisitor& visitor) const = 0;
  virtual std::vector<Extension::Ptr> get_attached_extensions() const = 0;
};
template <typename T>
class OpExtension : public BaseOpExtension {
 public:
  const DiscreteTypeInfo& get_type_info() const override { return T::get_type_info_static(); }
  OutputVector create(const OutputVector& inputs, AttributeVisitor& visitor) const override {
    auto node = std::make_shared<T>();
    node->set_arguments(inputs);
    if (node->visit_attributes(visitor)) node->constructor_validate_and_infer_types();
    return node->outputs();
  }
  std::vector<Extension::Ptr> get_attached_extensions() const override { return {}; }
};

}  // namespace ov
