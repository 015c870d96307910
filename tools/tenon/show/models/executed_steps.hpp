// SPDX-License-Identifier: Apache-2.0
// The steps that a device executes, with kernels, layouts and bytes, as tables and JSON.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <tenon/graph/model.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/runtime/compiled_model.hpp>

namespace tenon::tool {

/// The value of a step under a key of exec_model_info; empty if it has none, and for nodes of other models.
std::string step_note(const Node& node, const char* key);
/// The same as a number; 0 if there is none.
double step_number(const Node& node, const char* key);
/// The nodes of the given model that the step computes.
std::vector<std::string> original_names(const Node& node);

/// The steps that get_runtime_model() reports.
class ExecutedSteps {
 public:
  /// If the device cannot report its steps, or cannot do so yet, the reason is kept.
  explicit ExecutedSteps(const CompiledModel& compiled);

  /// Null if the device does not report steps.
  const std::shared_ptr<const Model>& model() const { return model_; }
  /// Why the device does not report them; empty if it does.
  const std::string& reason() const { return reason_; }

  /// Steps by type with the bytes that they read and write, most bytes first. Empty for a device that reports nodes but no
  /// steps.
  std::string to_text(const std::string& device) const;
  /// Every step in the order of execution.
  nlohmann::json to_json() const;

 private:
  std::shared_ptr<const Model> model_;
  std::string reason_;
};

}  // namespace tenon::tool
