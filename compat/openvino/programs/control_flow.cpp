// SPDX-License-Identifier: Apache-2.0
// Loops and branches that are built by code.
#include <memory>
#include <vector>

#include <openvino/op/ops.hpp>
#include <openvino/opsets/opset8.hpp>

#include "programs.hpp"

namespace {

using ov::op::util::MultiSubGraphOp;
using ov::op::v0::Constant;
using ov::op::v0::Parameter;
using ov::op::v0::Result;

std::shared_ptr<Parameter> floats(const ov::PartialShape& shape) {
  return std::make_shared<Parameter>(ov::element::f32, shape);
}
ov::Tensor tensor(const ov::Shape& shape, const std::vector<float>& values) {
  ov::Tensor made(ov::element::f32, shape);
  std::copy(values.begin(), values.end(), made.data<float>());
  return made;
}
void run(ov::Core& core, const std::shared_ptr<ov::Model>& model, const std::vector<ov::Tensor>& inputs) {
  ov::InferRequest request =
      core.compile_model(model, "CPU", ov::hint::inference_precision(ov::element::f32)).create_infer_request();
  for (std::size_t i = 0; i < inputs.size(); ++i) request.set_input_tensor(i, inputs[i]);
  request.infer();
  for (std::size_t i = 0; i < model->outputs().size(); ++i) print_values("output", request.get_output_tensor(i), 12);
}
void show(const MultiSubGraphOp::InputDescription& each) {
  if (const auto* slice = dynamic_cast<const MultiSubGraphOp::SliceInputDescription*>(&each)) {
    line("slice ", each.m_input_index, " for ", each.m_body_parameter_index, ": ", slice->m_start, ' ', slice->m_stride,
         ' ', slice->m_part_size, ' ', slice->m_end, " axis ", slice->m_axis, ' ', each.get_type_info().name);
  } else if (const auto* merged = dynamic_cast<const MultiSubGraphOp::MergedInputDescription*>(&each)) {
    line("merged ", each.m_input_index, " for ", each.m_body_parameter_index, " from ", merged->m_body_value_index);
  } else {
    line("invariant ", each.m_input_index, " for ", each.m_body_parameter_index);
  }
}
void show(const MultiSubGraphOp::OutputDescription& each) {
  if (const auto* joint = dynamic_cast<const MultiSubGraphOp::ConcatOutputDescription*>(&each)) {
    line("joined ", each.m_body_value_index, " to ", each.m_output_index, ": ", joint->m_part_size, " axis ",
         joint->m_axis);
  } else {
    const auto& one = dynamic_cast<const MultiSubGraphOp::BodyOutputDescription&>(each);
    line("value ", each.m_body_value_index, " to ", each.m_output_index, " of ", one.m_iteration);
  }
}

/// y[i] = y[i - 1] + x[i], for each column.
void sums(ov::Core& core) {
  auto x = floats({2, 3}), start = floats({2, 1}), part = floats({2, 1}), state = floats({2, 1});
  auto sum = std::make_shared<ov::op::v1::Add>(part, state);
  auto result = std::make_shared<Result>(sum);
  auto body = std::make_shared<ov::Model>(ov::ResultVector{result}, ov::ParameterVector{part, state}, "sum");
  auto iterator = std::make_shared<ov::op::v0::TensorIterator>();
  iterator->set_body(body);
  iterator->set_sliced_input(part, x, 0, 1, 1, -1, 1);
  iterator->set_merged_input(state, start, result);
  auto last = iterator->get_iter_value(result, -1);
  auto all = iterator->get_concatenated_slices(result, 0, 1, 1, -1, 1);
  line(iterator->get_type_name(), ' ', iterator->get_num_iterations(), ' ', last.get_shape(), all.get_shape(), ' ',
       iterator->get_body() == body, ' ', iterator->get_function() == body, ' ',
       iterator->get_internal_subgraphs_size(), iterator->get_input_descriptions_size(),
       iterator->get_output_descriptions_size());
  for (const auto& each : iterator->get_input_descriptions()) show(*each);
  for (const auto& each : iterator->get_output_descriptions()) show(*each);
  auto model = std::make_shared<ov::Model>(ov::OutputVector{last, all}, ov::ParameterVector{x, start}, "sums");
  run(core, model, {tensor({2, 3}, {1, 2, 3, 10, 20, 30}), tensor({2, 1}, {0, 100})});
  for (const auto& node : model->get_ordered_ops()) {
    if (auto found = ov::as_type_ptr<ov::op::util::SubGraphOp>(node))
      line("found ", found->get_type_name(), ' ', found->get_function()->get_parameters().size());
  }
  auto copy = model->clone();
  copy->reshape(std::map<std::size_t, ov::PartialShape>{{0, {2, 5}}});
  line("reshaped ", copy->output(1).get_partial_shape(), ' ', model->output(1).get_partial_shape());
  // The program turns the direction by the descriptions.
  for (const auto& each : iterator->get_input_descriptions()) {
    if (auto slice = ov::as_type_ptr<MultiSubGraphOp::SliceInputDescription>(each)) {
      slice->m_start = -1;
      slice->m_stride = -1;
      slice->m_end = 0;
    }
  }
  model->validate_nodes_and_infer_types();
  run(core, model, {tensor({2, 3}, {1, 2, 3, 10, 20, 30}), tensor({2, 1}, {0, 100})});
}

/// Doubles x until its sum is above 100, at most `trips` times.
void doubles(ov::Core& core, std::int64_t trips) {
  auto x = floats({2}), state = floats({2});
  auto number = std::make_shared<Parameter>(ov::element::i64, ov::PartialShape{1});
  auto twice = std::make_shared<ov::op::v1::Add>(state, state);
  auto axis = Constant::create(ov::element::i64, {1}, {0});
  auto total = std::make_shared<ov::op::v1::ReduceSum>(twice, axis, true);
  auto goes_on = std::make_shared<ov::op::v1::Less>(total, Constant::create(ov::element::f32, {1}, {100.0F}));
  auto as_float = std::make_shared<ov::op::v0::Convert>(number, ov::element::f32);
  auto body = std::make_shared<ov::Model>(ov::OutputVector{goes_on, twice, as_float},
                                          ov::ParameterVector{number, state}, "double");
  auto loop = std::make_shared<ov::opset8::Loop>(Constant::create(ov::element::i64, {1}, {trips}),
                                                 Constant::create(ov::element::boolean, {1}, {true}));
  loop->set_function(body);
  loop->set_special_body_ports(ov::op::v5::Loop::SpecialBodyPorts{0, 0});
  loop->set_merged_input(state, x, body->get_results()[1]);
  auto last = loop->get_iter_value(body->get_results()[1], -1);
  auto numbers = loop->get_concatenated_slices(body->get_results()[2], 0, 1, 1, -1, 0);
  line("Loop ", last.get_partial_shape(), numbers.get_partial_shape(), ' ',
       loop->get_special_body_ports().current_iteration_input_idx, ' ',
       loop->get_special_body_ports().body_condition_output_idx);
  for (const auto& each : loop->get_input_descriptions()) show(*each);
  run(core, std::make_shared<ov::Model>(ov::OutputVector{last, numbers}, ov::ParameterVector{x}, "doubles"),
      {tensor({2}, {1, 4})});
}

/// x + y or x * 10.
void branches(ov::Core& core) {
  auto x = floats({2}), y = floats({2}), then_x = floats({2}), then_y = floats({2}), else_x = floats({2});
  auto condition = std::make_shared<Parameter>(ov::element::boolean, ov::PartialShape{1});
  auto sum = std::make_shared<Result>(std::make_shared<ov::op::v1::Add>(then_x, then_y));
  auto ten = Constant::create(ov::element::f32, {1}, {10});
  auto product = std::make_shared<Result>(std::make_shared<ov::op::v1::Multiply>(else_x, ten));
  auto branch = std::make_shared<ov::op::v8::If>(condition);
  branch->set_then_body(std::make_shared<ov::Model>(ov::ResultVector{sum}, ov::ParameterVector{then_x, then_y}));
  branch->set_else_body(std::make_shared<ov::Model>(ov::ResultVector{product}, ov::ParameterVector{else_x}));
  branch->set_input(x, then_x, else_x);
  branch->set_input(y, then_y, nullptr);
  auto output = branch->set_output(sum, product);
  line("If ", branch->get_input_size(), ' ', output.get_index(), ' ', output.get_shape(), ' ',
       branch->get_input_descriptions(0).size(), branch->get_input_descriptions(1).size(), ' ',
       branch->get_function(1) == branch->get_else_body(), ' ',
       ov::is_type<MultiSubGraphOp>(std::static_pointer_cast<ov::Node>(branch)));
  auto model = std::make_shared<ov::Model>(ov::OutputVector{output}, ov::ParameterVector{condition, x, y}, "branches");
  for (const bool chosen : {true, false}) {
    ov::Tensor flag(ov::element::boolean, {1});
    flag.data<char>()[0] = chosen;
    run(core, model, {flag, tensor({2}, {1, 2}), tensor({2}, {30, 40})});
  }
}

}  // namespace

void control_flow() {
  ov::Core core;
  sums(core);
  doubles(core, 3);
  doubles(core, -1);
  branches(core);
}
