// SPDX-License-Identifier: Apache-2.0
// What holds for the steps of any model that the engine runs.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/graph/exec_model_info.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::engine_test {

/// What the run-time information of a step says under that key; "(none)" if nothing.
inline std::string note(const Node& node, const char* key) {
  const auto found = node.get_rt_info().find(key);
  return found == node.get_rt_info().end() ? "(none)" : found->second.to_text();
}
inline std::uint64_t number(const Node& node, const char* key) { return std::stoull(note(node, key)); }

inline std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream lines(text);
  for (std::string one; std::getline(lines, one, ',');) all.push_back(one);
  return all;
}

/// Names of the inputs that each node's values depend on; a shape says nothing of values.
inline std::map<const Node*, std::set<std::string>> dependencies(const Model& model) {
  std::map<const Node*, std::set<std::string>> all;
  for (const auto& node : model.get_ordered_ops()) {
    std::set<std::string>& own = all[node.get()];
    if (as_type<op::v0::Parameter>(node.get())) own.insert(node->get_friendly_name());
    if (is_op(node, "ShapeOf")) continue;
    for (const auto& source : node->input_values())
      own.insert(all[source.get_node()].begin(), all[source.get_node()].end());
  }
  return all;
}

inline bool has_elements(const Node& node) {
  for (const auto& output : node.outputs())
    if (output.get_partial_shape().is_dynamic() || element_count(output.get_shape()) > 0) return true;
  return false;
}

inline bool has_known_shapes(const Node& node) {
  const auto outputs = node.outputs();
  return std::none_of(outputs.begin(), outputs.end(),
                      [](const auto& each) { return each.get_partial_shape().is_dynamic(); });
}

/// Whether a node takes a part of what it reads, or some output of it does, which then may depend on less.
inline bool has_selection(const Model& model) {
  for (const auto& node : model.get_ordered_ops())
    for (const char* type : {"Slice", "StridedSlice", "Split", "VariadicSplit", "Gather", "Pad", "If", "Loop",
                             "TensorIterator", "SparseFillEmptyRows"})
      if (is_op(node, type)) return true;
  return false;
}

/// Whether a step stands for several kernels that run as one: each of its outputs seems to depend on all that they read.
inline bool has_joined_steps(const Model& made) {
  for (const auto& node : made.get_ordered_ops())
    if (const std::string kernel = note(*node, exec_model_info::IMPL_TYPE);
        kernel == "maps" || kernel == "matmuls" || (kernel == "narrow_rows" && node->get_output_size() > 1))
      return true;
  return false;
}

/// @return the first thing that is wrong; empty if all is well. @param made  The steps of `given`.
inline std::string fault_of(const Model& given, const Model& made) {
  namespace info = exec_model_info;
  if (made.get_parameters().size() != given.get_parameters().size() ||
      made.get_results().size() != given.get_results().size())
    return "another number of inputs or outputs";
  const auto wanted = dependencies(given), found = dependencies(made);
  for (std::size_t i = 0; i < given.get_results().size(); ++i) {
    const auto &theirs = given.get_results()[i], &ours = made.get_results()[i];
    if (ours->get_friendly_name() != theirs->get_friendly_name())
      return "result " + std::to_string(i) + " has another name";
    const auto& inputs = found.at(ours.get());
    for (const std::string& name : inputs)
      if (!wanted.at(theirs.get()).count(name) && !has_joined_steps(made))
        return theirs->describe() + " does not depend on " + name;
    for (const std::string& name : wanted.at(theirs.get()))
      if (!inputs.count(name) && !has_selection(given)) return theirs->describe() + " depends on " + name;
  }
  std::set<std::uint64_t> orders;
  std::set<std::string> names, without_step;
  for (const auto& node : made.get_ordered_ops()) {
    const std::string what = node->get_friendly_name() + " (" + note(*node, info::LAYER_TYPE) + ")";
    for (const char* key : {info::ORIGINAL_NAMES, info::IMPL_TYPE, info::OUTPUT_PRECISIONS, info::OUTPUT_LAYOUTS,
                            info::PERF_COUNTER, info::EXECUTION_ORDER, info::LAYER_TYPE, info::RUNTIME_PRECISION,
                            info::BYTES_READ, info::BYTES_WRITTEN, info::WEIGHT_BYTES})
      if (note(*node, key) == "(none)") return what + " lacks " + key;
    if (node->get_friendly_name().empty()) return what + " has no name";
    if (!orders.insert(number(*node, info::EXECUTION_ORDER)).second) return what + ": another one is at its place";
    for (const auto& source : node->input_values())
      if (number(*source.get_node(), info::EXECUTION_ORDER) >= number(*node, info::EXECUTION_ORDER))
        return what + " runs before what it reads";
    if (split(note(*node, info::OUTPUT_LAYOUTS)).size() != node->get_output_size()) return what + ": layouts";
    const std::string kernel = note(*node, info::IMPL_TYPE);
    const bool moves = kernel != "none" && kernel != "in place" && has_elements(*node);
    // What a node at which the model ends makes of moving shapes has no shape here, and so no bytes.
    if (has_known_shapes(*node) && moves != (number(*node, info::BYTES_WRITTEN) > 0)) return what + ": bytes written";
    if (moves != (number(*node, info::BYTES_READ) + number(*node, info::WEIGHT_BYTES) > 0))
      return what + ": bytes read";
    for (const std::string& name : split(note(*node, info::ORIGINAL_NAMES))) names.insert(name);
    for (const std::string& name : split(note(*node, info::FOLDED_NAMES))) without_step.insert(name);
  }
  if (*orders.rbegin() + 1 != orders.size()) return "the order has gaps";
  for (const std::string& name : split(made.get_rt_info().at(info::OPTIMIZED_OUT_NAMES).to_text()))
    without_step.insert(name);
  // Each node of the given model is somewhere, and nothing else is.
  std::set<std::string> known;
  for (const auto& node : given.get_ordered_ops()) {
    if (as_type<op::v0::Constant>(node.get())) continue;
    known.insert(node->get_friendly_name());
    if (!names.count(node->get_friendly_name()) && !without_step.count(node->get_friendly_name()))
      return node->describe() + " is nowhere";
  }
  for (const std::string& name : names)
    if (!known.count(name)) return "the given model has no '" + name + "'";
  return "";
}

}  // namespace tenon::engine_test
