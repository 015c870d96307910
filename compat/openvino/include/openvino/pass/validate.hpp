// SPDX-License-Identifier: Apache-2.0
// Infers types and shapes again.
#pragma once

#include "openvino/pass/pass.hpp"

namespace ov {
namespace pass {

class Validate : public ModelPass {
 public:
  OPENVINO_MODEL_PASS_RTTI("ov::pass::Validate")
  bool run_on_model(const std::shared_ptr<Model>& model) override {
    model->validate_nodes_and_infer_types();
    return false;
  }
};

}  // namespace pass
}  // namespace ov
