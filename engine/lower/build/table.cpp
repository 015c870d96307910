// SPDX-License-Identifier: Apache-2.0
// Registers every kernel family, and says what the engine can run.
#include <tenon/engine/lower/build/table.hpp>

#include <tenon/graph/operation_table.hpp>
#include <tenon/graph/subgraph.hpp>

namespace tenon::inline v1::engine {

const LoweringTable& lowering_table() {
  static const LoweringTable table = [] {
    LoweringTable made;
    register_convolution(made);
    register_matmul(made);
    register_grouped_matmul(made);
    register_pooling(made);
    register_elementwise(made);
    register_normalization(made);
    register_movement(made);
    register_gather(made);
    register_resize(made);
    register_reduction(made);
    register_state(made);
    register_attention(made);
    register_input_stage(made);
    register_control_flow(made);
    register_recurrent(made);
    register_quantization(made);
    register_colours(made);
    register_rearrange(made);
    register_sorting(made);
    register_indexing(made);
    register_regions(made);
    return made;
  }();
  return table;
}

bool is_port_or_constant(const Node& node) {
  const std::string_view type = node.get_type_name();
  return type == "Parameter" || type == "Result" || type == "Constant";
}

bool is_supported(const Node& node) {
  if (const auto* outer = as_type<op::util::MultiSubGraphOp>(&node)) {
    bool all = true;
    for (const auto& body : outer->get_functions())
      for_each_node(*body, [&](const auto& inner) {
        all &= is_port_or_constant(*inner) || inner->operation().evaluate ||
               lowering_table().count(inner->get_type_name()) > 0;
      });
    return all;
  }
  return is_port_or_constant(node) || node.operation().evaluate != nullptr ||
         lowering_table().count(node.get_type_name()) > 0;
}

}  // namespace tenon::inline v1::engine
