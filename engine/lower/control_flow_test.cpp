// SPDX-License-Identifier: Apache-2.0
// Loops, branches and recurrent layers against the reference.
#include <gmock/gmock.h>

#include <tenon/engine/testing/judged_models.hpp>
#include <tenon/graph/subgraph.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon::engine_test {
namespace lower_control_flow_test {

using op::v0::Constant;
using op::v0::Parameter;

std::shared_ptr<Parameter> open_parameter(element::Type type = element::f32) {
  return std::make_shared<Parameter>(type, PartialShape::dynamic());
}
Out truth(bool value) {
  return std::make_shared<Constant>(element::boolean, Shape{}, std::vector<std::int64_t>{value});
}

TEST(EngineLoop, KeepsStateOverAnyNumberOfIterations) {
  // state = tanh(state * W + x), weights invariant and constant; the trip count and the condition come at run time.
  auto trips = parameter(Shape{}, element::i64);
  auto x = parameter(Shape{3, 8}), start = parameter(Shape{3, 8});
  auto number = open_parameter(element::i64), inner_x = open_parameter(), w = open_parameter(),
       state = open_parameter();
  const Out next = op1("Tanh", 1, {op1("Add", 1, {op1("MatMul", 1, {state, w}), inner_x})});
  const Out goes_on = op1("Less", 1, {number, scalar_int(1)});
  auto body = std::make_shared<Model>(OutputVector{goes_on, next}, ParameterVector{number, inner_x, w, state});
  auto loop = std::make_shared<op::v5::Loop>(trips, truth(true));
  loop->set_function(body);
  loop->set_special_body_ports({0, 0});
  loop->set_invariant_input(inner_x, x);
  loop->set_invariant_input(w, weights(Shape{8, 8}));
  loop->set_merged_input(state, start, next);
  const Out y = op1("Relu", 1, {loop->get_iter_value(next)});
  // random_inputs gives trip counts of 0, 1 and 2.
  const Judged judged = judge(y, {trips, x, start});
  EXPECT_TRUE(judged.ran("Loop"));
  EXPECT_EQ(judged.references, 0U);
}

TEST(EngineLoop, JoinsWhatKnownIterationsGive) {
  auto x = parameter(Shape{2, 3}), start = parameter(Shape{2, 3});
  auto number = open_parameter(element::i64), inner_x = open_parameter(), state = open_parameter();
  const Out next = op1(
      "Add", 1,
      {state, op1("Multiply", 1, {inner_x, op1("Convert", 1, {number}, {{"destination_type", ElementType::kF32}})})});
  const Out row = op1("Unsqueeze", 1, {next, ints({0})}), column = op1("Unsqueeze", 1, {next, ints({2})});
  auto body =
      std::make_shared<Model>(OutputVector{truth(true), next, row, column}, ParameterVector{number, inner_x, state});
  auto loop = std::make_shared<op::v5::Loop>(scalar_int(4), truth(true));
  loop->set_function(body);
  loop->set_special_body_ports({0, 0});
  loop->set_invariant_input(inner_x, x);
  loop->set_merged_input(state, start, next);
  const OutputVector outputs{loop->get_iter_value(next), loop->get_concatenated_slices(row, 0, 1, 1, -1, 0),
                             loop->get_concatenated_slices(column, -1, -1, 1, 0, 2), loop->get_iter_value(next, 1)};
  const Judged judged = judge(std::make_shared<Model>(outputs, ParameterVector{x, start}));
  EXPECT_EQ(judged.references, 0U);
}

TEST(EngineTensorIterator, SlicesBothWaysAlongAnyAxis) {
  for (const std::int64_t axis : {0, 1}) {
    for (const std::int64_t stride : {1, -1}) {
      auto x = parameter(Shape{4, 6}), start = parameter(axis == 0 ? Shape{1, 6} : Shape{4, 1});
      auto part = open_parameter(), state = open_parameter();
      const Out sum = op1("Add", 1, {part, state});
      auto iterator = std::make_shared<op::v0::TensorIterator>();
      iterator->set_body(std::make_shared<Model>(OutputVector{sum}, ParameterVector{part, state}));
      const std::int64_t first = stride > 0 ? 0 : -1, last = stride > 0 ? -1 : 0;
      iterator->set_sliced_input(part, x, first, stride, 1, last, axis);
      iterator->set_merged_input(state, start, sum);
      const OutputVector outputs{iterator->get_iter_value(sum),
                                 iterator->get_concatenated_slices(sum, first, stride, 1, last, axis)};
      EXPECT_EQ(judge(std::make_shared<Model>(outputs, ParameterVector{x, start})).references, 0U);
    }
  }
}

TEST(EngineIf, RunsEitherBranch) {
  auto flag = parameter(Shape{}, element::boolean);
  auto x = parameter(Shape{2, 4});
  auto then_x = open_parameter(), else_x = open_parameter(), unused = open_parameter();
  auto then_body = std::make_shared<Model>(OutputVector{op1("Relu", 1, {then_x})}, ParameterVector{then_x, unused});
  auto else_body =
      std::make_shared<Model>(OutputVector{op1("Exp", 1, {op1("Negative", 1, {else_x})})}, ParameterVector{else_x});
  auto branch = std::make_shared<op::v8::If>(flag);
  branch->set_then_body(then_body);
  branch->set_else_body(else_body);
  branch->set_input(op1("Abs", 1, {x}), then_x, else_x);
  branch->set_input(weights(Shape{3}), unused, nullptr);
  const Out y = branch->set_output(then_body->get_results()[0], else_body->get_results()[0]);
  const Judged judged = judge(op1("Add", 1, {y, x}), {flag, x});
  EXPECT_TRUE(judged.ran("If"));
  EXPECT_EQ(judged.references, 0U);
}

TEST(EngineControlFlow, NestsAndSpeaksOfOperationsWithinBodies) {
  auto flag = parameter(Shape{}, element::boolean);
  auto x = parameter(Shape{2, 4});
  auto inner_x = open_parameter(), state = open_parameter(), inner_flag = open_parameter(element::boolean);
  auto then_x = open_parameter(), else_x = open_parameter();
  auto branch = std::make_shared<op::v8::If>(inner_flag);
  branch->set_then_body(
      std::make_shared<Model>(OutputVector{op1("Add", 1, {then_x, scalar(1)})}, ParameterVector{then_x}));
  branch->set_else_body(
      std::make_shared<Model>(OutputVector{op1("Add", 1, {else_x, scalar(-2)})}, ParameterVector{else_x}));
  branch->set_input(state, then_x, else_x);
  const Out chosen =
      branch->set_output(branch->get_then_body()->get_results()[0], branch->get_else_body()->get_results()[0]);
  const Out next = op1("Add", 1, {chosen, inner_x});
  auto loop = std::make_shared<op::v5::Loop>(scalar_int(3), truth(true));
  loop->set_function(
      std::make_shared<Model>(OutputVector{truth(true), next}, ParameterVector{inner_x, state, inner_flag}));
  loop->set_special_body_ports({-1, 0});
  loop->set_invariant_input(inner_x, x);
  loop->set_invariant_input(inner_flag, flag);
  loop->set_merged_input(state, x, next);
  EXPECT_EQ(judge(loop->get_iter_value(next), {flag, x}).references, 0U);
}

TEST(EngineControlFlow, EndsALongLoopWhenCancelled) {
  auto x = parameter(Shape{2});
  auto state = open_parameter();
  const Out next = op1("Add", 1, {state, scalar(1)});
  // Long, not endless: a loop that hears of no end fails the test instead of hanging it.
  auto loop = std::make_shared<op::v5::Loop>(scalar_int(1'000'000), truth(true));
  loop->set_function(std::make_shared<Model>(OutputVector{truth(true), next}, ParameterVector{state}));
  loop->set_special_body_ports({-1, 0});
  loop->set_merged_input(state, x, next);
  const auto model = std::make_shared<Model>(OutputVector{loop->get_iter_value(next)}, ParameterVector{x});
  engine::Workers workers(1);
  engine::Execution execution(engine::Plan::compile(model));
  execution.bind_input(0, random_tensor(ElementType::kF32, Shape{2}, 1));
  int asked = 0;
  EXPECT_FALSE(execution.run(
      workers, [](void* count) { return ++*static_cast<int*>(count) > 1000; }, &asked));
}

TEST(EngineControlFlow, AnErrorInARunIsThrownAndForgotten) {
  const auto trips = parameter(Shape{}, element::i64), x = parameter(Shape{3, 2}), start = parameter(Shape{1, 2});
  auto part = open_parameter(), state = open_parameter();
  const Out next = op1("Add", 1, {state, part});
  auto loop = std::make_shared<op::v5::Loop>(trips, truth(true));
  loop->set_function(std::make_shared<Model>(OutputVector{truth(true), next}, ParameterVector{part, state}));
  loop->set_special_body_ports({-1, 0});
  loop->set_sliced_input(part, x, 0, 1, 1, -1, 0);
  loop->set_merged_input(state, start, next);
  const auto model =
      std::make_shared<Model>(OutputVector{loop->get_iter_value(next)}, ParameterVector{trips, x, start});
  engine::Workers workers(1);
  engine::Execution execution(engine::Plan::compile(model));
  Tensor count(ElementType::kI64, Shape{});
  execution.bind_input(0, count);
  execution.bind_input(1, random_tensor(ElementType::kF32, Shape{3, 2}, 1));
  execution.bind_input(2, random_tensor(ElementType::kF32, Shape{1, 2}, 2));
  for (const std::int64_t turns : {3, 4, 2, 5, 3}) {
    *count.data<std::int64_t>() = turns;
    if (turns <= 3) {
      EXPECT_TRUE(execution.run(workers));
    } else {
      EXPECT_THAT(error_of([&] { execution.run(workers); }, Code::kInvalidArgument),
                  ::testing::HasSubstr("fewer than the iterations"));
    }
  }
}

struct Recurrent {
  const char* type;
  std::int64_t gates, biases;
  std::size_t states;
  bool split = false;
};

void judge_sequence(const Recurrent& what, const std::string& direction, bool is_known_length, std::size_t batch) {
  const std::size_t steps = 5, features = 6, hidden = 8, d = direction == "bidirectional" ? 2 : 1;
  auto x = parameter(Shape{batch, steps, features}), h = parameter(Shape{batch, d, hidden}),
       c = parameter(Shape{batch, d, hidden});
  auto lengths = parameter(Shape{batch}, element::i32);
  const auto gates = static_cast<std::size_t>(what.gates) * hidden,
             biases = static_cast<std::size_t>(what.biases) * hidden;
  OutputVector inputs{x, h};
  ParameterVector parameters{x, h};
  if (what.states == 2) {
    inputs.push_back(c);
    parameters.push_back(c);
  }
  if (is_known_length) {
    inputs.push_back(Constant::create(element::i32, Shape{batch}, std::vector<std::int64_t>(batch, steps)));
  } else {
    inputs.push_back(lengths);
    parameters.push_back(lengths);
  }
  inputs.insert(inputs.end(), {weights(Shape{d, gates, features}, 3), weights(Shape{d, gates, hidden}, 4),
                               weights(Shape{d, biases}, 5)});
  Attributes attributes{{"hidden_size", hidden}, {"direction", direction}};
  if (what.split) attributes.set("linear_before_reset", true);
  const auto node = make_node(what.type, 5, inputs, attributes);
  const Judged judged = judge(std::make_shared<Model>(node->outputs(), parameters));
  EXPECT_EQ(judged.references, is_known_length ? 0U : 1U) << what.type << " " << direction;
  const bool resets_state = std::string_view(what.type) == "GRUSequence" && !what.split;
  EXPECT_EQ(
      std::any_of(judged.infos.begin(), judged.infos.end(), [](const auto& info) { return info.kernel == "steps"; }),
      is_known_length && batch <= 8 && !resets_state)
      << what.type << " of " << batch;
}

TEST(EngineRecurrent, RunsSequencesInEveryDirection) {
  for (const Recurrent& what : {Recurrent{"LSTMSequence", 4, 4, 2}, Recurrent{"GRUSequence", 3, 3, 1},
                                Recurrent{"GRUSequence", 3, 4, 1, true}, Recurrent{"RNNSequence", 1, 1, 1}}) {
    for (const char* direction : {"forward", "reverse", "bidirectional"})
      for (const std::size_t batch : {1, 3, 8, 9}) judge_sequence(what, direction, true, batch);
    judge_sequence(what, "bidirectional", false, 3);
  }
}

TEST(EngineRecurrent, RunsCells) {
  auto x = parameter(Shape{3, 6}), h = parameter(Shape{3, 8}), c = parameter(Shape{3, 8});
  const auto lstm =
      make_node("LSTMCell", 4, {x, h, c, weights(Shape{32, 6}), weights(Shape{32, 8}, 2), weights(Shape{32}, 3)},
                {{"hidden_size", 8}});
  EXPECT_EQ(judge(std::make_shared<Model>(lstm->outputs(), ParameterVector{x, h, c})).references, 0U);
  const auto gru =
      make_node("GRUCell", 3, {x, h, weights(Shape{24, 6}), weights(Shape{24, 8}, 2), weights(Shape{24}, 3)},
                {{"hidden_size", 8}});
  EXPECT_EQ(judge(std::make_shared<Model>(gru->outputs(), ParameterVector{x, h})).references, 0U);
}

}  // namespace lower_control_flow_test
}  // namespace tenon::engine_test
