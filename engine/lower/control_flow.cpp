// SPDX-License-Identifier: Apache-2.0
// Loops and branches: bodies become plans, port maps become addresses.
#include <algorithm>

#include <tenon/core/error.hpp>
#include <tenon/engine/lower/build/builder.hpp>
#include <tenon/engine/lower/build/step_info.hpp>
#include <tenon/engine/lower/build/table.hpp>
#include <tenon/engine/lower/passes.hpp>
#include <tenon/engine/plan/control_flow.hpp>
#include <tenon/graph/subgraph.hpp>

namespace tenon::inline v1::engine {
namespace {

using Op = op::util::MultiSubGraphOp;

/// A body prepared for compiling: constants that the node passes in become its own, so that kernels can pack them.
struct Body {
  std::shared_ptr<const Plan> plan;
  std::vector<std::ptrdiff_t> parameters;  ///< New number of each old parameter; -1: became a constant.
};

Body compile_body(PlanBuilder& builder, const std::shared_ptr<Node>& node, int index) {
  const auto& op = *as_type<Op>(node.get());
  const auto model = op.get_function(static_cast<std::size_t>(index))->clone();
  const ParameterVector before = model->get_parameters();
  for (const auto& description : op.get_input_descriptions(index)) {
    const auto* invariant = dynamic_cast<const Op::InvariantInputDescription*>(description.get());
    if (!invariant) continue;
    const Tensor known = builder.constant_input(node, invariant->m_input_index);
    if (!known || !(before[invariant->m_body_parameter_index]->get_element_type() == known.element_type())) continue;
    const auto& parameter = before[invariant->m_body_parameter_index];
    auto constant = std::make_shared<op::v0::Constant>(known);
    constant->set_friendly_name(parameter->get_friendly_name());
    parameter->output(0).replace(constant->output(0));
    model->remove_parameter(parameter);
  }
  model->validate_nodes_and_infer_types();
  Body body;
  for (const auto& parameter : before)
    body.parameters.push_back(static_cast<std::ptrdiff_t>(model->get_parameter_index(parameter)));
  Options options = builder.options();
  options.profile = false;
  SharedParts* const shared = builder.plan().shared;
  body.plan = shared ? Plan::compile_prepared(run_passes(*model, options, TimeLimit(model_limits().compile_seconds)),
                                              options, *shared)
                     : Plan::compile(model, options);
  return body;
}

/// Fails for a body whose shapes change from run to run; the reference runs that.
bool compile_bodies(PlanBuilder& builder, const std::shared_ptr<Node>& node, std::span<Body> bodies,
                    std::span<const bool> wanted) {
  try {
    for (std::size_t i = 0; i < bodies.size(); ++i)
      if (wanted[i]) bodies[i] = compile_body(builder, node, static_cast<int>(i));
  } catch (const Error& error) {
    if (error.code() == Code::kFailedPrecondition) return false;
    throw;
  }
  return true;
}

PartLayout part_layout(const Shape& whole, std::size_t axis, std::int64_t part_size, ElementType type) {
  PartLayout layout;
  for (std::size_t i = 0; i < axis; ++i) layout.outer *= whole[i];
  layout.axis_bytes = size_bytes(type);
  for (std::size_t i = axis + 1; i < whole.size(); ++i) layout.axis_bytes *= whole[i];
  layout.run_bytes = static_cast<std::size_t>(part_size) * layout.axis_bytes;
  layout.pitch_bytes = whole[axis] * layout.axis_bytes;
  return layout;
}

/// Operands: the node's inputs, then its outputs.
void add_operands(PlanBuilder& builder, const std::shared_ptr<Node>& node, Step& step) {
  for (std::size_t i = 0; i < node->get_input_size(); ++i)
    step.operands.push_back({builder.plain(builder.input(node, i)), false});
  for (std::size_t i = 0; i < node->get_output_size(); ++i)
    step.operands.push_back({builder.define_plain(builder.value(node->output(i))), true});
  step.info = step_info(*node, "compiled body");
}

/// Sub-byte elements have no address of their own.
bool has_packed_types(const Node& node) {
  for (std::size_t i = 0; i < node.get_input_size(); ++i)
    if (bit_width(node.get_input_element_type(i)) < 8) return true;
  for (std::size_t i = 0; i < node.get_output_size(); ++i)
    if (bit_width(node.get_output_element_type(i)) < 8) return true;
  return false;
}

bool fits(const Port& port, ElementType type, const Shape& shape) { return port.type == type && port.shape == shape; }

void join_inputs(PlanBuilder& builder, const std::shared_ptr<Node>& node, const Body& body, LoopStep& step) {
  for (const auto& description : as_type<op::util::SubGraphOp>(node.get())->get_input_descriptions()) {
    const std::ptrdiff_t at = body.parameters[description->m_body_parameter_index];
    if (at < 0) continue;
    const auto parameter = static_cast<std::size_t>(at), operand = static_cast<std::size_t>(description->m_input_index);
    if (const auto* merged = dynamic_cast<const Op::MergedInputDescription*>(description.get())) {
      step.merges.push_back({parameter, operand, merged->m_body_value_index});
    } else if (const auto* slice = dynamic_cast<const Op::SliceInputDescription*>(description.get())) {
      const Value& value = builder.input(node, operand);
      const auto axis = static_cast<std::size_t>(
          slice->m_axis < 0 ? slice->m_axis + static_cast<std::int64_t>(value.shape.size()) : slice->m_axis);
      const auto parts = op::util::axis_parts(slice->m_start, slice->m_stride, slice->m_part_size, slice->m_end,
                                              static_cast<std::int64_t>(value.shape[axis]));
      step.slices.push_back({parameter, operand, parts.first, parts.step, parts.count,
                             part_layout(value.shape, axis, slice->m_part_size, value.type)});
    } else {
      step.fixed.push_back({parameter, operand});
    }
  }
}

void join_outputs(PlanBuilder& builder, const std::shared_ptr<Node>& node, LoopStep& step) {
  for (const auto& description : as_type<op::util::SubGraphOp>(node.get())->get_output_descriptions()) {
    const auto result = static_cast<std::size_t>(description->m_body_value_index);
    const std::size_t operand = node->get_input_size() + description->m_output_index;
    if (const auto* joint = dynamic_cast<const Op::ConcatOutputDescription*>(description.get())) {
      const Value& value = builder.value(node->output(description->m_output_index));
      const auto axis = static_cast<std::size_t>(
          joint->m_axis < 0 ? joint->m_axis + static_cast<std::int64_t>(value.shape.size()) : joint->m_axis);
      step.joins.push_back({result, operand, joint->m_part_size,
                            static_cast<std::int64_t>(value.shape[axis]) / joint->m_part_size, joint->m_stride < 0,
                            part_layout(value.shape, axis, joint->m_part_size, value.type)});
    } else {
      const auto& single = dynamic_cast<const Op::BodyOutputDescription&>(*description);
      step.singles.push_back({result, operand, single.m_iteration});
    }
  }
}

/// Whether state keeps its shape from iteration to iteration, from the first value on.
bool is_steady(const Node& node, const LoopStep& step) {
  for (const auto& merge : step.merges) {
    const Port& parameter = step.body->inputs()[merge.parameter];
    const Port& result = step.body->outputs()[merge.result];
    if (!fits(parameter, result.type, result.shape) ||
        !fits(parameter, node.get_input_element_type(merge.operand), node.get_input_shape(merge.operand)))
      return false;
  }
  return true;
}

bool is_index(ElementType type) { return type == ElementType::kI64 || type == ElementType::kI32; }

bool lower_loop(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  const auto& op = *as_type<op::util::SubGraphOp>(node.get());
  if (has_packed_types(*node)) return false;
  auto step = std::make_unique<LoopStep>();
  Body body;
  const bool wanted = true;
  if (!compile_bodies(builder, node, {&body, 1}, {&wanted, 1})) return false;
  step->body = body.plan;
  step->node_text = node->describe();
  step->iterations = op.get_num_iterations();
  if (const auto* loop = as_type<op::v5::Loop>(node.get())) {
    const auto special = loop->get_special_body_ports();
    step->trips_type = node->get_input_element_type(0);
    step->has_condition = true;
    step->goes_on = static_cast<std::ptrdiff_t>(special.body_condition_output_idx);
    if (special.current_iteration_input_idx >= 0) {
      step->number = body.parameters[static_cast<std::size_t>(special.current_iteration_input_idx)];
      step->number_type = body.plan->inputs()[static_cast<std::size_t>(step->number)].type;
    }
    if (!is_index(step->trips_type) || (step->number >= 0 && !is_index(step->number_type))) return false;
  } else if (step->iterations < 0) {
    return false;
  }
  join_inputs(builder, node, body, *step);
  if (!is_steady(*node, *step)) return false;
  add_operands(builder, node, *step);
  join_outputs(builder, node, *step);
  builder.plan().steps.push_back(std::move(step));
  return true;
}

bool lower_branch(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  const auto& op = *as_type<op::v8::If>(node.get());
  if (has_packed_types(*node)) return false;
  bool wanted[2] = {true, true};
  if (const Tensor known = builder.constant_input(node, 0)) wanted[*known.data<bool>() ? 1 : 0] = false;
  Body bodies[2];
  if (!compile_bodies(builder, node, bodies, wanted)) return false;
  auto step = std::make_unique<BranchStep>();
  for (int i = 0; i < 2; ++i) {
    if (!wanted[i]) continue;
    auto& branch = step->branches[i];
    branch.body = bodies[i].plan;
    std::vector<bool> used(branch.body->outputs().size(), false);
    for (const auto& description : op.get_input_descriptions(i)) {
      const std::ptrdiff_t parameter = bodies[i].parameters[description->m_body_parameter_index];
      if (parameter >= 0) branch.inputs.emplace_back(static_cast<std::size_t>(parameter), description->m_input_index);
    }
    for (const auto& description : op.get_output_descriptions(i)) {
      const auto result = static_cast<std::size_t>(description->m_body_value_index);
      if (used[result]) return false;
      used[result] = true;
      const std::size_t output = description->m_output_index;
      if (!fits(branch.body->outputs()[result], node->get_output_element_type(output), node->get_output_shape(output)))
        return false;
      branch.outputs.emplace_back(result, node->get_input_size() + output);
    }
    if (std::find(used.begin(), used.end(), false) != used.end()) return false;
  }
  add_operands(builder, node, *step);
  builder.plan().steps.push_back(std::move(step));
  return true;
}

}  // namespace

void register_control_flow(LoweringTable& table) {
  table["TensorIterator"] = {lower_loop, false};
  table["Loop"] = {lower_loop, false};
  table["If"] = {lower_branch, false};
}

}  // namespace tenon::inline v1::engine
