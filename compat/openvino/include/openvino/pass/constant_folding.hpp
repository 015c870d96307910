// SPDX-License-Identifier: Apache-2.0
// Replaces what depends on no input by its values.
#pragma once

#include "openvino/pass/pass.hpp"

namespace ov {
namespace pass {

class OPENVINO_API ConstantFolding : public ModelPass {
 public:
  bool run_on_model(const std::shared_ptr<Model>& model) override;
};

}  // namespace pass
}  // namespace ov
