// SPDX-License-Identifier: Apache-2.0
// What is done with whole models: files of them, nodes that are replaced and visited.
#include <algorithm>
#include <cstring>
#include <set>

#include <openvino/core/graph_util.hpp>
#include <openvino/core/model.hpp>
#include <openvino/core/rt_info.hpp>
#include <openvino/op/util/op_types.hpp>
#include <tenon/graph/passes/compress.hpp>
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>

#include "graph.hpp"

namespace ov {

using detail::guarded;
using detail::model_of;

void serialize(const std::shared_ptr<const Model>& model, const std::filesystem::path& xml_path,
               const std::filesystem::path& bin_path, pass::Serialize::Version version) {
  OPENVINO_ASSERT(version != pass::Serialize::Version::IR_V10, "IR of version 10 is not written, but version 11");
  guarded([&] { tenon::serialize(*model_of(model), xml_path, bin_path); });
}
void save_model(const std::shared_ptr<const Model>& model, const std::filesystem::path& output_model,
                bool compress_to_fp16) {
  guarded([&] {
    const auto copy = model_of(model)->clone();
    if (compress_to_fp16) tenon::pass::compress_to_f16(*copy);
    tenon::serialize(*copy, output_model);
  });
}
void replace_node(const std::shared_ptr<Node>& target, const OutputVector& replacement_values) {
  OPENVINO_ASSERT(target, "replace_node of null");
  OPENVINO_ASSERT(target->get_output_size() == replacement_values.size(), "replace_node: ", *target, " has ",
                  target->get_output_size(), " outputs, the replacement ", replacement_values.size());
  for (std::size_t i = 0; i < replacement_values.size(); ++i) target->output(i).replace(replacement_values[i]);
}
void replace_node(const std::shared_ptr<Node>& target, const std::shared_ptr<Node>& replacement) {
  OPENVINO_ASSERT(target && replacement, "replace_node of null");
  replace_node(target, replacement->outputs());
}
void replace_node(const std::shared_ptr<Node>& target, const std::shared_ptr<Node>& replacement,
                  const std::vector<std::int64_t>& output_order) {
  OPENVINO_ASSERT(target && replacement, "replace_node of null");
  OutputVector values;
  for (const std::int64_t index : output_order) values.push_back(replacement->output(static_cast<std::size_t>(index)));
  replace_node(target, values);
}
void replace_nodes(const std::shared_ptr<Model>& f,
                   const std::unordered_map<std::shared_ptr<op::v0::Parameter>, std::shared_ptr<op::v0::Parameter>>&
                       parameter_replacement_map,
                   const std::unordered_map<std::shared_ptr<Node>, std::shared_ptr<Node>>& body_replacement_map) {
  OPENVINO_ASSERT(f, "the model is null");
  for (const auto& [old, replacement] : parameter_replacement_map) {
    const std::int64_t index = f->get_parameter_index(old);
    if (index >= 0) f->replace_parameter(static_cast<std::size_t>(index), replacement);
  }
  for (const auto& [old, replacement] : body_replacement_map) replace_node(old, replacement);
}
bool replace_node_update_name(const std::shared_ptr<Node>& target, const std::shared_ptr<Node>& replacement) {
  const auto is_result = [](const Input<Node>& input) { return op::util::is_output(input.get_node()); };
  const auto readers = target->output(0).get_target_inputs();
  // A node that the program knows as an output would change its name.
  if (op::util::is_parameter(replacement) && std::any_of(readers.begin(), readers.end(), is_result)) return false;
  replace_node(target, replacement);
  replacement->set_friendly_name(target->get_friendly_name());
  copy_runtime_info(target, replacement);
  return true;
}
bool detail::is_used(const Node& node) {
  std::vector<std::shared_ptr<const Node>> open{node.shared_from_this()};
  std::set<const Node*> seen;
  while (!open.empty()) {
    const auto each = open.back();
    open.pop_back();
    if (op::util::is_output(each.get()) || op::util::is_sink(each.get())) return true;
    if (!seen.insert(each.get()).second) continue;
    for (const auto& user : each->get_users()) open.push_back(user);
  }
  return false;
}
bool replace_output_update_name(Output<Node> node, const Output<Node>& node_input) {
  const auto is_result = [](const Input<Node>& input) { return op::util::is_output(input.get_node()); };
  const auto readers = node.get_target_inputs();
  if (std::any_of(readers.begin(), readers.end(), is_result)) {
    if (op::util::is_parameter(node_input.get_node()) || node_input.get_node()->get_users(true).size() != 1)
      return false;
    node_input.get_node_shared_ptr()->set_friendly_name(node.get_node()->get_friendly_name());
  }
  node.replace(node_input);
  copy_runtime_info({node.get_node_shared_ptr(), node_input.get_node_shared_ptr()}, node_input.get_node_shared_ptr());
  return true;
}
bool replace_outputs_update_name(OutputVector nodes, const OutputVector& node_inputs) {
  OPENVINO_ASSERT(nodes.size() == node_inputs.size(), nodes.size(), " outputs, and ", node_inputs.size(),
                  " to replace them");
  bool all = true;
  for (std::size_t i = 0; i < nodes.size(); ++i) all &= replace_output_update_name(nodes[i], node_inputs[i]);
  return all;
}
void traverse_nodes(const Model* model, const std::function<void(const std::shared_ptr<Node>&)>& f) {
  OPENVINO_ASSERT(model, "the model is null");
  for (const auto& node : model->get_ordered_ops()) f(node);
}
void traverse_nodes(const std::shared_ptr<const Model>& model,
                    const std::function<void(const std::shared_ptr<Node>&)>& f) {
  traverse_nodes(model.get(), f);
}
void traverse_nodes(const NodeVector& results, const std::function<void(const std::shared_ptr<Node>&)>& f,
                    const NodeVector& parameters) {
  for (const auto& node : detail::nodes_up_to(results, parameters)) f(node);
}
NodeVector detail::nodes_up_to(const NodeVector& roots, const NodeVector& stops) {
  // In the original's order: the last root comes first, and a node's first input.
  NodeVector sorted, open = roots;
  std::set<const Node*> done, begun;
  while (!open.empty()) {
    const std::shared_ptr<Node> node = open.back();
    OPENVINO_ASSERT(node, "a node is null");
    if (done.count(node.get())) {
      open.pop_back();
    } else if (begun.insert(node.get()).second && std::find(stops.begin(), stops.end(), node) == stops.end()) {
      const OutputVector sources = node->input_values();
      for (auto source = sources.rbegin(); source != sources.rend(); ++source)
        if (!done.count(source->get_node())) open.push_back(source->get_node_shared_ptr());
    } else {
      done.insert(node.get());
      sorted.push_back(node);
      open.pop_back();
    }
  }
  return sorted;
}
bool compare_constants(const std::shared_ptr<Node>& first, const std::shared_ptr<Node>& second) {
  const auto a = std::dynamic_pointer_cast<op::v0::Constant>(first),
             b = std::dynamic_pointer_cast<op::v0::Constant>(second);
  return a && b && a->get_element_type() == b->get_element_type() && a->get_shape() == b->get_shape() &&
         std::memcmp(a->get_data_ptr(), b->get_data_ptr(), a->get_byte_size()) == 0;
}

}  // namespace ov
