// SPDX-License-Identifier: Apache-2.0
// Rows of control flow, and how bodies are run.
#include <limits>

#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/ops/internal/kernel.hpp>
#include <tenon/graph/ops/internal/table_rows.hpp>
#include <tenon/graph/subgraph.hpp>

namespace tenon {
inline namespace v1 {

namespace {
using op::util::MultiSubGraphOp;

void infer_control_flow(Node& node) {
  auto* op = as_type<MultiSubGraphOp>(&node);
  if (!op) fail("its bodies are missing: make it by the classes op::v0::TensorIterator, op::v5::Loop, op::v8::If");
  op->infer_bodies();
}

void evaluate_control_flow(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const auto* op = as_type<MultiSubGraphOp>(&node);
  if (!op) fail("its bodies are missing");
  auto made = run_subgraph(*op, inputs, [op](std::size_t body, const std::vector<Tensor>& values) {
    return evaluate(*op->get_function(body), values);
  });
  for (std::size_t i = 0; i < made.size(); ++i) {
    const bool fits = outputs[i] && outputs[i].shape() == made[i].shape();
    if (fits)
      move_tensor(made[i], outputs[i]);
    else
      outputs[i] = std::move(made[i]);
  }
}

bool is_true(const Tensor& value) {
  const auto values = to_vector<std::int64_t>(value);
  require(values.size() == 1, "a condition must have exactly one element");
  return values[0] != 0;
}

Tensor part_of(const Tensor& whole, std::size_t axis, std::int64_t begin, std::int64_t size) {
  Shape from(whole.shape().size(), 0), to = whole.shape();
  from[axis] = static_cast<std::size_t>(begin);
  to[axis] = static_cast<std::size_t>(begin + size);
  return Tensor(whole, from, to);
}

/// The state of one run of a loop.
class LoopRun {
 public:
  LoopRun(const op::util::SubGraphOp& node, std::span<const Tensor> inputs)
      : node_(node), inputs_(inputs), body_(*node.get_function()), values_(body_.get_parameters().size()) {
    if (const auto* loop = as_type<op::v5::Loop>(&node)) {
      special_ = loop->get_special_body_ports();
      const auto trips = to_vector<std::int64_t>(inputs[0]);
      require(trips.size() == 1, "the trip count must have exactly one element");
      limit_ = trips[0] < 0 ? std::numeric_limits<std::int64_t>::max() : trips[0];
      goes_on_ = is_true(inputs[1]);
    } else {
      limit_ = sliced_parts();
    }
  }

  std::vector<Tensor> run(const BodyRunner& body) {
    start();
    std::int64_t iteration = 0;
    for (; iteration < limit_ && goes_on_; ++iteration) {
      feed(iteration);
      std::vector<Tensor> results = body(0, values_);
      if (results.size() != body_.get_results().size()) fail("its body gave a wrong number of results");
      keep(std::move(results), iteration);
    }
    return finish(iteration);
  }

 private:
  template <typename T>
  static const T* as(const auto& description) {
    return dynamic_cast<const T*>(description.get());
  }

  std::int64_t sliced_parts() const {
    std::int64_t count = -1;
    for (const auto& description : node_.get_input_descriptions()) {
      const auto* slice = as<MultiSubGraphOp::SliceInputDescription>(description);
      if (!slice) continue;
      const Shape& shape = inputs_[slice->m_input_index].shape();
      const std::size_t axis = normalized_axis(slice->m_axis, shape.size());
      const std::int64_t parts = op::util::axis_parts(slice->m_start, slice->m_stride, slice->m_part_size, slice->m_end,
                                                      static_cast<std::int64_t>(shape[axis]))
                                     .count;
      if (count >= 0 && parts != count) fail("its sliced inputs have different numbers of parts");
      count = parts;
    }
    return count >= 0 ? count : node_.get_num_iterations();
  }

  void start() {
    for (const auto& description : node_.get_input_descriptions()) {
      if (!as<MultiSubGraphOp::SliceInputDescription>(description))
        values_[description->m_body_parameter_index] = inputs_[description->m_input_index];
    }
    joined_.resize(node_.get_output_descriptions().size());
    chosen_.resize(joined_.size());
  }

  void feed(std::int64_t iteration) {
    for (const auto& description : node_.get_input_descriptions()) {
      const auto* slice = as<MultiSubGraphOp::SliceInputDescription>(description);
      if (!slice) continue;
      const Tensor& whole = inputs_[slice->m_input_index];
      const std::size_t axis = normalized_axis(slice->m_axis, whole.shape().size());
      const auto parts = op::util::axis_parts(slice->m_start, slice->m_stride, slice->m_part_size, slice->m_end,
                                              static_cast<std::int64_t>(whole.shape()[axis]));
      if (iteration >= parts.count) fail("a sliced input has fewer parts than the loop has iterations");
      values_[slice->m_body_parameter_index] = part_of(whole, axis, parts.at(iteration), slice->m_part_size);
    }
    if (special_.current_iteration_input_idx < 0) return;
    const auto index = static_cast<std::size_t>(special_.current_iteration_input_idx);
    const op::v0::Parameter& parameter = *body_.get_parameters()[index];
    // A separate tensor, because the body may return it.
    Tensor number(parameter.get_element_type(), parameter.get_partial_shape().to_shape());
    store_elements(number.element_type(), &iteration, 1, number.data());
    values_[index] = number;
  }

  void keep(std::vector<Tensor> results, std::int64_t iteration) {
    const auto& outputs = node_.get_output_descriptions();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Tensor& value = results[outputs[i]->m_body_value_index];
      if (as<MultiSubGraphOp::ConcatOutputDescription>(outputs[i])) joined_[i].push_back(value);
      const auto* single = as<MultiSubGraphOp::BodyOutputDescription>(outputs[i]);
      if (single && (single->m_iteration < 0 || single->m_iteration == iteration)) chosen_[i] = value;
    }
    for (const auto& description : node_.get_input_descriptions()) {
      const auto* merged = as<MultiSubGraphOp::MergedInputDescription>(description);
      if (merged) values_[merged->m_body_parameter_index] = results[merged->m_body_value_index];
    }
    if (special_.body_condition_output_idx >= 0)
      goes_on_ = is_true(results[static_cast<std::size_t>(special_.body_condition_output_idx)]);
  }

  std::vector<Tensor> finish(std::int64_t iterations) {
    const auto& outputs = node_.get_output_descriptions();
    std::vector<Tensor> made(outputs.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const auto* joint = as<MultiSubGraphOp::ConcatOutputDescription>(outputs[i]);
      made[outputs[i]->m_output_index] = joint        ? join(*joint, joined_[i])
                                         : chosen_[i] ? chosen_[i]
                                                      : untouched(*outputs[i]);
    }
    static_cast<void>(iterations);
    return made;
  }

  /// The value of an output when no iteration set it: the incoming state, else nothing.
  Tensor untouched(const MultiSubGraphOp::OutputDescription& output) const {
    for (const auto& description : node_.get_input_descriptions()) {
      const auto* merged = as<MultiSubGraphOp::MergedInputDescription>(description);
      if (merged && merged->m_body_value_index == output.m_body_value_index) return inputs_[merged->m_input_index];
    }
    return nothing_of(node_, output);
  }

  Tensor join(const MultiSubGraphOp::ConcatOutputDescription& joint, const std::vector<Tensor>& parts) const {
    if (parts.empty()) return nothing_of(node_, joint);
    Shape shape = parts[0].shape();
    const std::size_t axis = normalized_axis(joint.m_axis, shape.size());
    if (shape[axis] != static_cast<std::size_t>(joint.m_part_size))
      fail("a part of a joined output has " + std::to_string(shape[axis]) + " elements along axis " +
           std::to_string(axis) + ", expected " + std::to_string(joint.m_part_size));
    shape[axis] *= parts.size();
    Tensor whole(parts[0].element_type(), shape);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!(parts[i].shape() == parts[0].shape()))
        fail("the parts of a joined output have different shapes: " + to_string(parts[0].shape()) + " and " +
             to_string(parts[i].shape()));
      if (whole.element_count() == 0) continue;
      const std::size_t place = joint.m_stride > 0 ? i : parts.size() - 1 - i;
      move_tensor(parts[i],
                  part_of(whole, axis, static_cast<std::int64_t>(place) * joint.m_part_size, joint.m_part_size));
    }
    return whole;
  }

  const op::util::SubGraphOp& node_;
  std::span<const Tensor> inputs_;
  const Model& body_;
  op::v5::Loop::SpecialBodyPorts special_;
  std::int64_t limit_ = 0;
  bool goes_on_ = true;
  std::vector<Tensor> values_;
  std::vector<std::vector<Tensor>> joined_;
  std::vector<Tensor> chosen_;
};

std::vector<Tensor> run_branch(const op::v8::If& node, std::span<const Tensor> inputs, const BodyRunner& run) {
  const int branch = is_true(inputs[0]) ? op::v8::If::THEN_BODY_INDEX : op::v8::If::ELSE_BODY_INDEX;
  const auto& body = node.get_function(static_cast<std::size_t>(branch));
  std::vector<Tensor> values(body->get_parameters().size());
  for (const auto& description : node.get_input_descriptions(branch))
    values[description->m_body_parameter_index] = inputs[description->m_input_index];
  const std::vector<Tensor> results = run(static_cast<std::size_t>(branch), values);
  std::vector<Tensor> outputs(node.get_output_size());
  for (const auto& description : node.get_output_descriptions(branch))
    outputs[description->m_output_index] = results.at(description->m_body_value_index);
  return outputs;
}
}  // namespace

Tensor nothing_of(const op::util::SubGraphOp& loop, const MultiSubGraphOp::OutputDescription& output) {
  const op::v0::Result& result = *loop.get_function()->get_results()[output.m_body_value_index];
  const PartialShape& known = result.get_output_partial_shape(0);
  Shape shape(known.rank().is_static() ? known.size() : 1, 0);
  for (std::size_t axis = 0; known.rank().is_static() && axis < known.size(); ++axis)
    if (known[axis].is_static()) shape[axis] = static_cast<std::size_t>(known[axis].get_length());
  const auto* joint = dynamic_cast<const MultiSubGraphOp::ConcatOutputDescription*>(&output);
  if (joint && !shape.empty()) shape[normalized_axis(joint->m_axis, shape.size())] = 0;
  return zero_tensor(result.get_output_element_type(0), shape);
}

std::vector<Tensor> run_subgraph(const MultiSubGraphOp& node, std::span<const Tensor> inputs, const BodyRunner& run) {
  if (const auto* branch = as_type<op::v8::If>(&node)) return run_branch(*branch, inputs, run);
  return LoopRun(dynamic_cast<const op::util::SubGraphOp&>(node), inputs).run(run);
}

void add_control_flow_rows(OperationTable& table) {
  table.add("TensorIterator", 1, 0, kManyInputs, infer_control_flow, evaluate_control_flow,
            "Runs its body for each part of its sliced inputs.");
  table.add("Loop", 5, 0, kManyInputs, infer_control_flow, evaluate_control_flow,
            "Runs its body a number of times, and while a condition holds.");
  table.add("If", 8, 0, kManyInputs, infer_control_flow, evaluate_control_flow, "Runs one of two bodies.");
}

}  // namespace v1
}  // namespace tenon
