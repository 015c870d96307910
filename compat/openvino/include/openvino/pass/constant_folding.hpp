// SPDX-License-Identifier: Apache-2.0
// Replaces what depends on no input by its values.
#pragma once

#include "openvino/pass/pass.hpp"

namespace ov {
namespace pass {

class OPENVINO_API ConstantFolding : public ModelPass {
 public:
  OPENVINO_MODEL_PASS_RTTI("ov::pass::ConstantFolding")
  bool run_on_model(const std::shared_ptr<Model>& model) override;
};

}  // namespace pass
}  // namespace ov
