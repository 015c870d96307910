// SPDX-License-Identifier: Apache-2.0
// Nodes of executed models.
#include <tenon/graph/exec_model_info.hpp>

#include <tenon/graph/operation_table.hpp>

namespace tenon {
inline namespace v1 {
namespace exec_model_info {
namespace {

/// Not in the operation table: such nodes are neither read from files nor compiled.
const Operation& execution_operation() {
  static const Operation operation = [] {
    Operation made;
    made.type = "ExecutionNode";
    made.version = "util";
    made.type_info = {"ExecutionNode", "util"};
    made.description = "A step of a model as a device executes it";
    made.max_inputs = kManyInputs;
    return made;
  }();
  return operation;
}

}  // namespace

ExecutionNode::ExecutionNode(const OutputVector& arguments, std::size_t output_size)
    : Node(execution_operation(), arguments, {}, Deferred{}) {
  set_output_size(output_size);
}

const DiscreteTypeInfo& ExecutionNode::get_type_info_static() { return execution_operation().type_info; }

std::shared_ptr<Node> ExecutionNode::clone_with_new_inputs(const OutputVector& inputs) const {
  auto copy = std::make_shared<ExecutionNode>(inputs, get_output_size());
  for (std::size_t i = 0; i < get_output_size(); ++i)
    copy->set_output_type(i, get_output_element_type(i), get_output_partial_shape(i));
  if (has_friendly_name()) copy->set_friendly_name(get_friendly_name());
  copy->get_rt_info() = get_rt_info();
  return copy;
}

}  // namespace exec_model_info
}  // namespace v1
}  // namespace tenon
