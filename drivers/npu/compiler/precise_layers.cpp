// SPDX-License-Identifier: Apache-2.0
#include <tenon/drivers/npu/compiler/precise_layers.hpp>

#include <algorithm>
#include <cctype>
#include <string_view>

#include <tenon/graph/operation_table.hpp>
#include <tenon/graph/precise.hpp>
#include <tenon/graph/subgraph.hpp>

namespace tenon::npu::compiler {
namespace {

constexpr std::string_view kAddOfRmsNorm = "add_rmsnorm";

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

/// Whether the node is mean(x^2) + epsilon, followed by a root.
bool is_add_of_rms_norm(const Node& node) {
  if (!is_op(&node, "Add")) return false;
  bool reads_mean = false, makes_root = false;
  for (std::size_t i = 0; i < node.get_input_size(); ++i) reads_mean |= is_op(node.get_input_node_ptr(i), "ReduceMean");
  for (const auto& user : node.get_users()) makes_root |= is_op(user, "Sqrt") || is_op(user, "Power");
  return reads_mean && makes_root;
}

bool is_wanted(const Node& node, const std::vector<std::string>& types) {
  const std::string type = lower_case(node.get_type_name());
  return std::any_of(types.begin(), types.end(), [&](const std::string& wanted) {
    return wanted == kAddOfRmsNorm ? is_add_of_rms_norm(node) : wanted == type;
  });
}

void mark(const Model& model, const std::vector<std::string>& types) {
  for (const auto& node : model.get_ordered_ops()) {
    if (is_wanted(*node, types)) mark_precise(*node);
    if (const auto* flow = dynamic_cast<const op::util::MultiSubGraphOp*>(node.get()))
      for (const auto& body : flow->get_functions()) mark(*body, types);
  }
}

}  // namespace

std::vector<std::string> mark_precise_layers(Model& model, const std::vector<std::string>& given) {
  std::vector<std::string> types, warnings;
  for (const std::string& name : given) {
    std::string type = lower_case(name);
    if (type == "fullyconnected") type = "matmul";
    const auto known = operations();
    const bool is_known = type == kAddOfRmsNorm ||
                          std::any_of(known.begin(), known.end(),
                                      [&](const Operation* operation) { return lower_case(operation->type) == type; });
    if (is_known)
      types.push_back(std::move(type));
    else
      warnings.push_back("compute-layers-with-higher-precision: no operation set has a type \"" + name + "\"");
  }
  if (!types.empty()) mark(model, types);
  return warnings;
}

}  // namespace tenon::npu::compiler
