// SPDX-License-Identifier: Apache-2.0
// Replaces what depends on no input by its values.
#pragma once

#include <memory>

#include "openvino/core/runtime_attribute.hpp"
#include "openvino/pass/pass.hpp"

namespace ov {
namespace pass {

class OPENVINO_API ConstantFolding : public ModelPass {
 public:
  OPENVINO_MODEL_PASS_RTTI("ConstantFolding")
  bool run_on_model(const std::shared_ptr<Model>& model) override;
};
/// The mark of a node that ConstantFolding leaves as it is. A node that replaces it does not get it.
class OPENVINO_API DisableConstantFolding : public RuntimeAttribute {
 public:
  OPENVINO_RTTI("DisableConstantFolding", "0", RuntimeAttribute)
  using RuntimeAttribute::is_copyable;
  bool is_copyable() const override { return false; }
};
OPENVINO_API void disable_constant_folding(const std::shared_ptr<Node>& node);
OPENVINO_API void enable_constant_folding(const std::shared_ptr<Node>& node);
OPENVINO_API bool constant_folding_is_disabled(const std::shared_ptr<Node>& node);
OPENVINO_API bool constant_folding_is_disabled(const Node* node);

}  // namespace pass
}  // namespace ov
