// SPDX-License-Identifier: Apache-2.0
// Passes in order.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "openvino/pass/pass.hpp"
#include "openvino/pass/validate.hpp"

namespace ov {
namespace pass {

class Manager {
 public:
  Manager() = default;
  explicit Manager(std::string) {}
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
    for (const std::shared_ptr<ModelPass>& pass : passes_) {
      const bool by_this = pass->run_on_model(model);
      if (by_this && validates_) model->validate_nodes_and_infer_types();
      changed |= by_this;
    }
    return changed;
  }
  /// Whether types and shapes are inferred again after each pass that changed the model.
  void set_per_pass_validation(bool validates) { validates_ = validates; }

 private:
  bool validates_ = true;
  std::vector<std::shared_ptr<ModelPass>> passes_;
};

}  // namespace pass
}  // namespace ov
