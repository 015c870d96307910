// SPDX-License-Identifier: Apache-2.0
// Reads a runtime model's steps.
#include <tenon/tools/tenon/show/models/executed_steps.hpp>

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <tenon/core/error.hpp>
#include <tenon/graph/exec_model_info.hpp>

#include <tenon/tools/tenon/show/text/progress.hpp>
#include <tenon/tools/tenon/show/text/text_table.hpp>

namespace tenon::tool {
namespace {

namespace info = exec_model_info;

/// The steps of a device that reports them.
NodeVector steps_of(const Model& model) {
  NodeVector steps;
  for (const auto& node : model.get_ordered_ops())
    if (!step_note(*node, info::EXECUTION_ORDER).empty()) steps.push_back(node);
  std::ranges::sort(steps, {}, [](const auto& node) { return step_number(*node, info::EXECUTION_ORDER); });
  return steps;
}

/// Inputs, outputs and memory are shown but do nothing.
bool does_something(const Node& node) {
  return step_number(node, info::BYTES_READ) + step_number(node, info::BYTES_WRITTEN) +
             step_number(node, info::WEIGHT_BYTES) >
         0;
}

struct Sum {
  std::string type;
  std::size_t steps = 0;
  double read = 0, written = 0, weights = 0, multiply_adds = 0;
  double bytes() const { return read + written + weights; }
  void add(const Node& node) {
    ++steps;
    read += step_number(node, info::BYTES_READ);
    written += step_number(node, info::BYTES_WRITTEN);
    weights += step_number(node, info::WEIGHT_BYTES);
    multiply_adds += step_number(node, info::MULTIPLY_ADDS);
  }
  std::vector<std::string> row() const {
    return {type,
            std::to_string(steps),
            in_bytes(read),
            in_bytes(written),
            in_bytes(weights),
            multiply_adds > 0 ? fmt::format("{:.1f} M", multiply_adds / 1e6) : ""};
  }
};

}  // namespace

std::string step_note(const Node& node, const char* key) {
  const auto found = node.get_rt_info().find(key);
  return found == node.get_rt_info().end() ? "" : found->second.to_text();
}

double step_number(const Node& node, const char* key) {
  const std::string text = step_note(node, key);
  return text.empty() ? 0 : std::stod(text);
}

std::vector<std::string> original_names(const Node& node) {
  std::vector<std::string> names;
  const std::string all = step_note(node, info::ORIGINAL_NAMES);
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t end = std::min(all.find(',', begin), all.size());
    names.push_back(all.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

ExecutedSteps::ExecutedSteps(const CompiledModel& compiled) {
  try {
    model_ = compiled.get_runtime_model();
  } catch (const Error& error) {
    reason_ = error.what();
  }
}

std::string ExecutedSteps::to_text(const std::string& device) const {
  if (!model_) return fmt::format("the steps that {} executes are not known: {}\n", device, reason_);
  std::map<std::string, Sum> sums;
  Sum all{"all"};
  for (const auto& node : steps_of(*model_)) {
    if (!does_something(*node)) continue;
    Sum& sum = sums[step_note(*node, info::LAYER_TYPE)];
    sum.type = step_note(*node, info::LAYER_TYPE);
    sum.add(*node);
    all.add(*node);
  }
  if (all.steps == 0) return "";
  std::vector<Sum> sorted;
  for (const auto& [type, sum] : sums) sorted.push_back(sum);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Sum& a, const Sum& b) { return a.bytes() > b.bytes(); });
  std::vector<std::vector<std::string>> rows{{device + " executes", "steps", "reads", "writes", "weights", "mul-adds"}};
  for (const Sum& sum : sorted) rows.push_back(sum.row());
  rows.push_back(all.row());
  return text_table(rows);
}

nlohmann::json ExecutedSteps::to_json() const {
  if (!model_) return {{"unknown", reason_}};
  nlohmann::json steps = nlohmann::json::array();
  for (const auto& node : steps_of(*model_)) {
    nlohmann::json inputs = nlohmann::json::array();
    for (const auto& source : node->input_values()) inputs.push_back(source.get_node()->get_friendly_name());
    nlohmann::json step{{"name", node->get_friendly_name()},
                        {"type", step_note(*node, info::LAYER_TYPE)},
                        {"kernel", step_note(*node, info::IMPL_TYPE)},
                        {"nodes", step_note(*node, info::ORIGINAL_NAMES)},
                        {"inputs", std::move(inputs)},
                        {"precisions", step_note(*node, info::OUTPUT_PRECISIONS)},
                        {"layouts", step_note(*node, info::OUTPUT_LAYOUTS)},
                        {"bytes_read", step_number(*node, info::BYTES_READ)},
                        {"bytes_written", step_number(*node, info::BYTES_WRITTEN)},
                        {"weight_bytes", step_number(*node, info::WEIGHT_BYTES)}};
    if (const double count = step_number(*node, info::MULTIPLY_ADDS); count > 0) step["multiply_adds"] = count;
    steps.push_back(std::move(step));
  }
  return {{"steps", std::move(steps)}};
}

}  // namespace tenon::tool
