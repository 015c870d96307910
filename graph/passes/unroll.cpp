// SPDX-License-Identifier: Apache-2.0
// Replaces loops by the computations of their iterations.
#include <algorithm>
#include <optional>
#include <vector>

#include <tenon/graph/passes/internal/pass.hpp>
#include <tenon/graph/passes/pass.hpp>
#include <tenon/graph/subgraph.hpp>

namespace tenon {
inline namespace v1 {
namespace pass {

namespace {
using op::util::MultiSubGraphOp;

template <typename T>
const T* as(const auto& description) {
  return dynamic_cast<const T*>(description.get());
}

std::optional<std::int64_t> known_number(const Output<Node>& value) {
  const auto tensor = value.get_tensor().value();
  if (!tensor || tensor->element_count() != 1) return std::nullopt;
  return op::v0::Constant(*tensor).to_integers()[0];
}

/// Copies a body and replaces its parameters by given values.
class Copy {
 public:
  Copy(const Model& body, const std::string& suffix) : model_(body.clone()) {
    for (const auto& node : model_->get_ordered_ops()) node->set_friendly_name(node->get_friendly_name() + suffix);
  }
  void feed(std::size_t parameter, const Output<Node>& value) {
    Output<Node>(model_->get_parameters()[parameter], 0).replace(value);
  }
  /// @pre all parameters are fed.
  Output<Node> result(std::size_t index) const { return model_->get_results()[index]->input_value(0); }

 private:
  std::shared_ptr<Model> model_;
};

Output<Node> list(const std::vector<std::int64_t>& values) {
  return std::make_shared<op::v0::Constant>(element::i64, Shape{values.size()}, values)->output(0);
}

Output<Node> part_of(const MultiSubGraphOp::SliceInputDescription& slice, const Output<Node>& whole,
                     std::int64_t iteration) {
  const Shape shape = whole.get_partial_shape().to_shape();
  const auto rank = static_cast<std::int64_t>(shape.size());
  const std::int64_t axis = slice.m_axis < 0 ? slice.m_axis + rank : slice.m_axis;
  const auto parts = op::util::axis_parts(slice.m_start, slice.m_stride, slice.m_part_size, slice.m_end,
                                          static_cast<std::int64_t>(shape[static_cast<std::size_t>(axis)]));
  const std::int64_t begin = parts.at(iteration);
  return make_node("Slice", 8, {whole, list({begin}), list({begin + slice.m_part_size}), list({1}), list({axis})}, {},
                   "")
      ->output(0);
}

/// One loop, iteration after iteration.
class Unrolling {
 public:
  Unrolling(const op::util::SubGraphOp& node, std::int64_t iterations)
      : node_(node), iterations_(iterations), state_(node.get_function()->get_parameters().size()) {
    if (const auto* loop = as_type<op::v5::Loop>(&node)) special_ = loop->get_special_body_ports();
    for (const auto& input : node.get_input_descriptions())
      if (as<MultiSubGraphOp::MergedInputDescription>(input))
        state_[input->m_body_parameter_index] = node.input_value(input->m_input_index);
  }

  /// @return one value for each output.
  OutputVector run() {
    const auto& outputs = node_.get_output_descriptions();
    std::vector<OutputVector> made(outputs.size());
    for (std::int64_t i = 0; i < iterations_; ++i) {
      const Copy copy = iterate(i);
      for (std::size_t k = 0; k < outputs.size(); ++k) made[k].push_back(copy.result(outputs[k]->m_body_value_index));
      last_.clear();
      for (std::size_t k = 0; k < node_.get_function()->get_results().size(); ++k) last_.push_back(copy.result(k));
    }
    OutputVector values(outputs.size());
    for (std::size_t k = 0; k < outputs.size(); ++k) values[outputs[k]->m_output_index] = joined(*outputs[k], made[k]);
    return values;
  }

  /// After run(): a result of the last iteration's body, and the next value of a merged parameter.
  const Output<Node>& last(std::size_t result) const { return last_[result]; }
  const Output<Node>& state(std::size_t parameter) const { return state_[parameter]; }

 private:
  Copy iterate(std::int64_t iteration) {
    Copy copy(*node_.get_function(), "/" + std::to_string(iteration));
    for (const auto& input : node_.get_input_descriptions()) {
      const Output<Node> whole = node_.input_value(input->m_input_index);
      const auto* slice = as<MultiSubGraphOp::SliceInputDescription>(input);
      const bool is_merged = as<MultiSubGraphOp::MergedInputDescription>(input) != nullptr;
      copy.feed(input->m_body_parameter_index, slice       ? part_of(*slice, whole, iteration)
                                               : is_merged ? state_[input->m_body_parameter_index]
                                                           : whole);
    }
    if (special_.current_iteration_input_idx >= 0) {
      const auto index = static_cast<std::size_t>(special_.current_iteration_input_idx);
      const op::v0::Parameter& parameter = *node_.get_function()->get_parameters()[index];
      const Shape shape = parameter.get_partial_shape().to_shape();
      copy.feed(index, std::make_shared<op::v0::Constant>(parameter.get_element_type(), shape,
                                                          std::vector<std::int64_t>{iteration})
                           ->output(0));
    }
    for (const auto& input : node_.get_input_descriptions())
      if (const auto* merged = as<MultiSubGraphOp::MergedInputDescription>(input))
        state_[merged->m_body_parameter_index] = copy.result(merged->m_body_value_index);
    return copy;
  }

  Output<Node> joined(const MultiSubGraphOp::OutputDescription& output, OutputVector values) const {
    if (const auto* joint = dynamic_cast<const MultiSubGraphOp::ConcatOutputDescription*>(&output)) {
      if (joint->m_stride < 0) std::reverse(values.begin(), values.end());
      return make_node("Concat", 1, values, {{"axis", joint->m_axis}}, "")->output(0);
    }
    const std::int64_t chosen = dynamic_cast<const MultiSubGraphOp::BodyOutputDescription&>(output).m_iteration;
    return chosen < 0 ? values.back() : values[static_cast<std::size_t>(chosen)];
  }

  const op::util::SubGraphOp& node_;
  const std::int64_t iterations_;
  op::v5::Loop::SpecialBodyPorts special_;
  OutputVector state_;  ///< Current values of merged inputs, by parameter.
  OutputVector last_;
};

/// Whether a loop that has begun always runs all its trips: its body's condition is constant true, or passed through.
bool goes_on(const op::v5::Loop& loop) {
  const std::int64_t port = loop.get_special_body_ports().body_condition_output_idx;
  if (port < 0) return false;
  const Output<Node> condition = loop.get_function()->get_results()[static_cast<std::size_t>(port)]->input_value(0);
  if (const auto known = known_number(condition)) return *known != 0;
  const auto& parameters = loop.get_function()->get_parameters();
  const auto& inputs = loop.get_input_descriptions();
  return std::any_of(inputs.begin(), inputs.end(), [&](const auto& input) {
    if (parameters[input->m_body_parameter_index].get() != condition.get_node()) return false;
    const auto* merged = as<MultiSubGraphOp::MergedInputDescription>(input);
    const auto first = known_number(loop.input_value(input->m_input_index));
    return first && *first != 0 && (!merged || merged->m_body_value_index == static_cast<std::uint64_t>(port));
  });
}

/// The trip count of a loop, if it does not depend on computed values.
std::optional<std::int64_t> iterations_of(const op::util::SubGraphOp& node) {
  const auto* loop = as_type<op::v5::Loop>(&node);
  if (!loop) return node.get_num_iterations() >= 0 ? std::optional(node.get_num_iterations()) : std::nullopt;
  const auto trips = known_number(node.input_value(0)), begins = known_number(node.input_value(1));
  if (!trips || *trips < 0 || !begins || *begins == 0 || !goes_on(*loop)) return std::nullopt;
  return trips;
}

bool has_static_slices(const op::util::SubGraphOp& node) {
  const auto& inputs = node.get_input_descriptions();
  return std::all_of(inputs.begin(), inputs.end(), [&](const auto& input) {
    return !as<MultiSubGraphOp::SliceInputDescription>(input) ||
           node.get_input_partial_shape(input->m_input_index).is_static();
  });
}

/// Whether a loop is known to end before its first iteration.
bool never_begins(const op::util::SubGraphOp& node) {
  if (!as_type<op::v5::Loop>(&node)) return node.get_num_iterations() == 0;
  const auto trips = known_number(node.input_value(0)), begins = known_number(node.input_value(1));
  return (trips && *trips == 0) || (begins && *begins == 0);
}

/// Its outputs then: the states that came in, and nothing of what its body would have made. None if the model's inputs will
/// tell extents of that which are not known yet.
OutputVector without_iterations(const op::util::SubGraphOp& node) {
  const auto& inputs = node.get_input_descriptions();
  OutputVector values(node.get_output_descriptions().size());
  const OutputVector given = node.input_values();
  const bool is_open =
      std::any_of(given.begin(), given.end(), [](const auto& value) { return value.get_partial_shape().is_dynamic(); });
  for (const auto& output : node.get_output_descriptions()) {
    const auto state = std::find_if(inputs.begin(), inputs.end(), [&](const auto& input) {
      const auto* merged = as<MultiSubGraphOp::MergedInputDescription>(input);
      return merged && merged->m_body_value_index == output->m_body_value_index;
    });
    const bool is_joint = as<MultiSubGraphOp::ConcatOutputDescription>(output) != nullptr;
    Output<Node>& value = values[output->m_output_index];
    if (state != inputs.end() && !is_joint) {
      value = node.input_value((*state)->m_input_index);
      continue;
    }
    const Output<Node> made = node.get_function()->get_results()[output->m_body_value_index]->input_value(0);
    if (is_open && made.get_partial_shape().is_dynamic()) return {};
    value = std::make_shared<op::v0::Constant>(nothing_of(node, *output))->output(0);
  }
  return values;
}

/// @param left  The number of nodes that may still be created.
OutputVector iterations_as_nodes(const Node& node, std::size_t& left) {
  const auto* loop = dynamic_cast<const op::util::SubGraphOp*>(&node);
  if (loop && never_begins(*loop)) return without_iterations(*loop);
  if (!loop || !has_static_slices(*loop) || !loop->get_function()->get_sinks().empty()) return {};
  const auto count = iterations_of(*loop);
  if (!count || *count < 1) return {};
  const std::size_t each = std::max<std::size_t>(loop->get_function()->get_ordered_ops().size(), 1);
  if (static_cast<std::size_t>(*count) > left / each) return {};
  left -= static_cast<std::size_t>(*count) * each;
  return Unrolling(*loop, *count).run();
}

/// A loop that its body ends, if it is known that the first iteration runs.
class Peeling {
 public:
  /// @param trips  At least 1; negative: until the body's condition ends it.
  Peeling(const op::v5::Loop& loop, std::int64_t trips) : loop_(loop), trips_(trips), first_(loop, 1) {}

  OutputVector run() {
    const OutputVector first = first_.run();
    if (trips_ == 1) return first;
    const std::int64_t port = loop_.get_special_body_ports().body_condition_output_idx;
    const auto branch = std::make_shared<op::v8::If>(first_.last(static_cast<std::size_t>(port)));
    const auto next = go_on();
    OutputVector ends;
    for (std::size_t k = 0; k < first.size(); ++k) ends.push_back(parameter_for(first[k], else_, else_values_));
    OutputVector values(first.size());
    const auto& outputs = loop_.get_output_descriptions();
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const std::size_t index = outputs[k]->m_output_index;
      values[index] = next->output(k);
      const auto* joint = dynamic_cast<const MultiSubGraphOp::ConcatOutputDescription*>(outputs[k].get());
      if (!joint) continue;
      const Output<Node> before = parameter_for(first[index], then_, then_values_);
      values[index] = make_node("Concat", 1, {before, values[index]}, {{"axis", joint->m_axis}}, "")->output(0);
    }
    branch->set_then_body(std::make_shared<Model>(values, then_));
    branch->set_else_body(std::make_shared<Model>(ends, else_));
    for (std::size_t i = 0; i < then_.size(); ++i) branch->set_input(then_values_[i], then_[i], nullptr);
    for (std::size_t i = 0; i < else_.size(); ++i) branch->set_input(else_values_[i], nullptr, else_[i]);
    const auto &then_results = branch->get_then_body()->get_results(),
               &else_results = branch->get_else_body()->get_results();
    for (std::size_t k = 0; k < values.size(); ++k) branch->set_output(then_results[k], else_results[k]);
    branch->validate_and_infer_types();
    return branch->outputs();
  }

 private:
  static Output<Node> parameter_for(const Output<Node>& value, ParameterVector& parameters, OutputVector& values) {
    parameters.push_back(std::make_shared<op::v0::Parameter>(value.get_element_type(), value.get_partial_shape()));
    values.push_back(value);
    return parameters.back()->output(0);
  }

  /// The loop from its second iteration on, over parameters of the branch. Outputs in the order of the descriptions.
  std::shared_ptr<op::v5::Loop> go_on() {
    auto body = loop_.get_function()->clone();
    auto ports = loop_.get_special_body_ports();
    // The iteration number becomes a state that starts at 1.
    std::shared_ptr<op::v0::Parameter> number;
    Output<Node> after;
    if (ports.current_iteration_input_idx >= 0) {
      number = body->get_parameters()[static_cast<std::size_t>(ports.current_iteration_input_idx)];
      after = make_node("Add", 1, {number->output(0), number_like(*number, 1)}, {}, "")->output(0);
      OutputVector results;
      for (const auto& result : body->get_results()) results.push_back(result->input_value(0));
      results.push_back(after);
      body = std::make_shared<Model>(results, body->get_parameters());
      ports.current_iteration_input_idx = -1;
    }
    const auto next = std::make_shared<op::v5::Loop>(
        std::make_shared<op::v0::Constant>(element::i64, Shape{},
                                           std::vector<std::int64_t>{trips_ < 0 ? trips_ : trips_ - 1})
            ->output(0),
        op::v0::Constant::create(element::boolean, Shape{}, {true})->output(0));
    next->set_function(body);
    next->set_special_body_ports(ports);
    const auto value_of = [&](std::uint64_t result) { return body->get_results()[result]->input_value(0); };
    for (const auto& input : loop_.get_input_descriptions()) {
      const auto& parameter = body->get_parameters()[input->m_body_parameter_index];
      const auto* merged = as<MultiSubGraphOp::MergedInputDescription>(input);
      const Output<Node> value =
          parameter_for(merged ? first_.state(input->m_body_parameter_index) : loop_.input_value(input->m_input_index),
                        then_, then_values_);
      if (merged)
        next->set_merged_input(parameter, value, value_of(merged->m_body_value_index));
      else
        next->set_invariant_input(parameter, value);
    }
    if (number) next->set_merged_input(number, number_like(*number, 1), after);
    for (const auto& output : loop_.get_output_descriptions()) {
      const Output<Node> value = value_of(output->m_body_value_index);
      if (const auto* joint = dynamic_cast<const MultiSubGraphOp::ConcatOutputDescription*>(output.get()))
        next->get_concatenated_slices(value, joint->m_start, joint->m_stride, joint->m_part_size, joint->m_end,
                                      joint->m_axis);
      else
        next->get_iter_value(value);
    }
    next->validate_and_infer_types();
    return next;
  }
  static Output<Node> number_like(const op::v0::Parameter& like, std::int64_t value) {
    return std::make_shared<op::v0::Constant>(like.get_element_type(), like.get_partial_shape().to_shape(),
                                              std::vector<std::int64_t>{value})
        ->output(0);
  }

  const op::v5::Loop& loop_;
  const std::int64_t trips_;
  Unrolling first_;
  ParameterVector then_, else_;
  OutputVector then_values_, else_values_;
};

bool peel(const std::shared_ptr<Node>& node) {
  if (!can_peel(*node)) return false;
  const auto trips = known_number(node->input_value(0)), begins = known_number(node->input_value(1));
  if (!trips || *trips == 0 || !begins || *begins == 0) return false;
  const OutputVector values = Peeling(static_cast<const op::v5::Loop&>(*node), *trips).run();
  for (std::size_t i = 0; i < values.size(); ++i) node->output(i).replace(values[i]);
  return true;
}

bool unroll(const std::shared_ptr<Node>& node, std::size_t& left) {
  const OutputVector values = iterations_as_nodes(*node, left);
  for (std::size_t i = 0; i < values.size(); ++i) node->output(i).replace(values[i]);
  // Not what the loop only hands on.
  const OutputVector given = node->input_values();
  if (values.size() == 1 && std::find(given.begin(), given.end(), values[0]) == given.end())
    values[0].get_node()->set_friendly_name(node->get_friendly_name());
  return !values.empty();
}
}  // namespace

bool can_peel(const Node& node) {
  const auto* loop = as_type<op::v5::Loop>(&node);
  if (!loop || loop->get_special_body_ports().body_condition_output_idx < 0 || goes_on(*loop) ||
      !loop->get_function()->get_sinks().empty())
    return false;
  const auto& inputs = loop->get_input_descriptions();
  const auto& outputs = loop->get_output_descriptions();
  return std::none_of(inputs.begin(), inputs.end(),
                      [](const auto& input) { return as<MultiSubGraphOp::SliceInputDescription>(input); }) &&
         std::all_of(outputs.begin(), outputs.end(), [](const auto& output) {
           const auto* joint = dynamic_cast<const MultiSubGraphOp::ConcatOutputDescription*>(output.get());
           const auto* one = dynamic_cast<const MultiSubGraphOp::BodyOutputDescription*>(output.get());
           return joint ? joint->m_stride > 0 : one->m_iteration < 0;
         });
}

Pass peel_loops() { return for_each_node("peel_loops", peel); }

Pass unroll_loops(std::size_t most_nodes) {
  // The limit covers all runs together: a few nested loops could make any number of nodes.
  const auto left = std::make_shared<std::size_t>(most_nodes);
  return for_each_node("unroll_loops", [left](const std::shared_ptr<Node>& node) { return unroll(node, *left); });
}

}  // namespace pass
}  // namespace v1
}  // namespace tenon
