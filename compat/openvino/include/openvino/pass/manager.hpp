// SPDX-License-Identifier: Apache-2.0
// Passes in order.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "openvino/pass/pass.hpp"

namespace ov {
namespace pass {

class Manager {
 public:
  template <typename T, typename... Args>
  std::shared_ptr<T> register_pass(Args&&... args) {
    auto made = std::make_shared<T>(std::forward<Args>(args)...);
    passes_.push_back(made);
    return made;
  }
  std::shared_ptr<ModelPass> register_pass_instance(std::shared_ptr<ModelPass> pass) {
    passes_.push_back(pass);
    return pass;
  }
  /// @return Whether a pass changed the model.
  bool run_passes(const std::shared_ptr<Model>& model) {
    bool changed = false;
    for (const std::shared_ptr<ModelPass>& pass : passes_) changed |= pass->run_on_model(model);
    return changed;
  }

 private:
  std::vector<std::shared_ptr<ModelPass>> passes_;
};

}  // namespace pass
}  // namespace ov
