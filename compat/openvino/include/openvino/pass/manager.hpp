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

/// Types and shapes are inferred again behind each pass that changed the model.
class OPENVINO_API Manager {
 public:
  Manager();
  virtual ~Manager();
  explicit Manager(std::string name);
  explicit Manager(std::shared_ptr<PassConfig> pass_config, std::string name = "UnnamedManager");
  explicit Manager(const PassConfig& pass_config, std::string name = "UnnamedManager");

  template <typename T, bool Enable = true, class... Args>
  std::shared_ptr<T> register_pass(Args&&... args) {
    auto made = std::make_shared<T>(std::forward<Args>(args)...);
    register_pass_instance(made);
    if (!Enable && !config_->template is_enabled<T>()) config_->template disable<T>();
    return made;
  }
  std::shared_ptr<PassBase> register_pass_instance(std::shared_ptr<PassBase> pass);
  /// @return Whether a pass changed the model.
  bool run_passes(const std::shared_ptr<Model>& model);
  /// Whether passes that are registered from now on are followed by an inference of types and shapes.
  void set_per_pass_validation(bool new_state) { validates_ = new_state; }
  std::shared_ptr<PassConfig> get_pass_config() { return config_; }

 private:
  struct Entry {
    std::shared_ptr<PassBase> pass;
    bool validates = true;
  };
  std::string name_ = "UnnamedManager";
  std::shared_ptr<PassConfig> config_ = std::make_shared<PassConfig>();
  bool validates_ = true;
  std::vector<Entry> passes_;
};

}  // namespace pass
}  // namespace ov
