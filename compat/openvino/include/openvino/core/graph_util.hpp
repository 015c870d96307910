// SPDX-License-Identifier: Apache-2.0
// What is done with whole models.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "openvino/core/core_visibility.hpp"
#include "openvino/core/model.hpp"
#include "openvino/core/rt_info.hpp"
#include "openvino/pass/serialize.hpp"

namespace ov {

/// Writes an IR: the file.xml that is named, and file.bin beside it. @errors Exception
OPENVINO_API void save_model(const std::shared_ptr<const Model>& model, const std::filesystem::path& output_model,
                             bool compress_to_fp16 = true);
/// As save_model, unchanged.
OPENVINO_API void serialize(const std::shared_ptr<const Model>& model, const std::filesystem::path& xml_path,
                            const std::filesystem::path& bin_path = {},
                            pass::Serialize::Version version = pass::Serialize::Version::UNSPECIFIED);
/// All readers of the node's outputs read those of the replacement.
OPENVINO_API void replace_node(const std::shared_ptr<Node>& target, const std::shared_ptr<Node>& replacement);
OPENVINO_API void replace_node(const std::shared_ptr<Node>& target, const OutputVector& replacement_values);
/// Output i of the target becomes output output_order[i] of the replacement.
OPENVINO_API void replace_node(const std::shared_ptr<Node>& target, const std::shared_ptr<Node>& replacement,
                               const std::vector<std::int64_t>& output_order);
/// Replaces parameters of the model and nodes with one output each.
OPENVINO_API void replace_nodes(
    const std::shared_ptr<Model>& f,
    const std::unordered_map<std::shared_ptr<op::v0::Parameter>, std::shared_ptr<op::v0::Parameter>>&
        parameter_replacement_map,
    const std::unordered_map<std::shared_ptr<Node>, std::shared_ptr<Node>>& body_replacement_map);
/// The replacement gets the target's friendly name and rt_info, too. @return Whether it was replaced.
OPENVINO_API bool replace_node_update_name(const std::shared_ptr<Node>& target,
                                           const std::shared_ptr<Node>& replacement);
/// The reader of a node with one input reads what the node reads. The source gets its name, where a result needs it.
OPENVINO_API bool replace_output_update_name(Output<Node> node, const Output<Node>& node_input);
OPENVINO_API bool replace_outputs_update_name(OutputVector nodes, const OutputVector& node_inputs);
/// Calls f for each node from the results on. @errors Exception: null.
OPENVINO_API void traverse_nodes(const std::shared_ptr<const Model>& model,
                                 const std::function<void(const std::shared_ptr<Node>&)>& f);
OPENVINO_API void traverse_nodes(const Model* model, const std::function<void(const std::shared_ptr<Node>&)>& f);
OPENVINO_API void traverse_nodes(const NodeVector& subgraph_results,
                                 const std::function<void(const std::shared_ptr<Node>&)>& f,
                                 const NodeVector& subgraph_params = {});
/// Whether both are Constants of the same type, shape and values.
OPENVINO_API bool compare_constants(const std::shared_ptr<Node>& first, const std::shared_ptr<Node>& second);
namespace detail {
OPENVINO_API NodeVector nodes_up_to(const NodeVector& roots, const NodeVector& stops = {});
}  // namespace detail
/// Nodes from which the roots are computed, and the roots, each behind its inputs.
template <typename Roots>
NodeVector topological_sort(Roots roots) {
  return detail::nodes_up_to(NodeVector(roots.begin(), roots.end()));
}

}  // namespace ov
