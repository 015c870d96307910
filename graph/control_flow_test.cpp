// SPDX-License-Identifier: Apache-2.0
// Loops and branches: types, values, copies, writing and reading IR, and refusals.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/passes/pass.hpp>
#include <tenon/graph/readers/openvino_ir/ir_reader.hpp>
#include <tenon/graph/subgraph.hpp>
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon {
namespace graph_control_flow_test {

using op::v0::Constant;
using op::v0::Parameter;
using op::v0::Result;
using ::testing::HasSubstr;

Tensor floats(const Shape& shape, std::vector<float> values) {
  Tensor tensor(ElementType::kF32, shape);
  std::copy(values.begin(), values.end(), tensor.data<float>());
  return tensor;
}
std::vector<float> values(const Tensor& tensor) {
  return {tensor.data<float>(), tensor.data<float>() + tensor.element_count()};
}
Tensor whole(std::int64_t value) {
  Tensor tensor(ElementType::kI64, Shape{});
  *tensor.data<std::int64_t>() = value;
  return tensor;
}
std::shared_ptr<Constant> truth(bool value) {
  return std::make_shared<Constant>(element::boolean, Shape{}, std::vector<std::int64_t>{value});
}

/// acc, all = loop(trips): acc += x + i, until acc's sum exceeds a limit.
std::shared_ptr<Model> counting_model(double limit) {
  auto trips = std::make_shared<Parameter>(element::i64, PartialShape(Shape{}));
  auto x = std::make_shared<Parameter>(element::f32, PartialShape(Shape{2}));
  auto start = std::make_shared<Parameter>(element::f32, PartialShape(Shape{2}));
  auto number = std::make_shared<Parameter>(element::i64, PartialShape(Shape{}));
  auto inner_x = std::make_shared<Parameter>(element::f32, PartialShape::dynamic());
  auto acc = std::make_shared<Parameter>(element::f32, PartialShape::dynamic());
  auto as_float = std::make_shared<op::v0::Convert>(number, element::f32);
  auto sum = std::make_shared<op::v1::Add>(std::make_shared<op::v1::Add>(acc, inner_x), as_float);
  auto total =
      make_node("ReduceSum", 1, {sum, Constant::create(element::i64, Shape{1}, {0.0})}, {{"keep_dims", false}});
  auto goes_on = make_node("Less", 1, {total, Constant::create(element::f32, Shape{}, {limit})});
  auto row = make_node("Unsqueeze", 1, {sum, Constant::create(element::i64, Shape{1}, {0.0})});
  auto body = std::make_shared<Model>(OutputVector{goes_on, sum, row}, ParameterVector{number, inner_x, acc});
  auto loop = std::make_shared<op::v5::Loop>(trips, truth(true));
  loop->set_friendly_name("count");
  loop->set_function(body);
  loop->set_special_body_ports({0, 0});
  loop->set_invariant_input(inner_x, x);
  loop->set_merged_input(acc, start, sum);
  const auto last = loop->get_iter_value(sum), all = loop->get_concatenated_slices(row, 0, 1, 1, -1, 0);
  return std::make_shared<Model>(OutputVector{last, all}, ParameterVector{trips, x, start}, "counting");
}

TEST(Loop, RunsUntilTheTripCountOrTheConditionEndsIt) {
  const auto model = counting_model(100);
  EXPECT_EQ(model->output(0).get_partial_shape().to_string(), "[2]");
  EXPECT_EQ(model->output(1).get_partial_shape().to_string(), "[?,2]");
  const auto x = floats({2}, {1, 2}), start = floats({2}, {0, 10});
  auto out = evaluate(*model, {whole(3), x, start});
  EXPECT_EQ(values(out[0]), (std::vector<float>{6, 19}));
  EXPECT_EQ(values(out[1]), (std::vector<float>{1, 12, 3, 15, 6, 19}));
  out = evaluate(*model, {whole(-1), x, start});
  EXPECT_GE(values(out[0])[0] + values(out[0])[1], 100);
  EXPECT_EQ(out[1].shape()[0], 9U);
}

TEST(Loop, HandsOutItsInitialStateWhenItDoesNotRun) {
  const auto out = evaluate(*counting_model(100), {whole(0), floats({2}, {1, 2}), floats({2}, {3, 4})});
  EXPECT_EQ(values(out[0]), (std::vector<float>{3, 4}));
  EXPECT_EQ(out[1].shape(), (Shape{0, 2}));
}

TEST(Loop, IsCopiedWithItsBodyAndReshaped) {
  const auto model = counting_model(1e9);
  const auto copy = model->clone();
  copy->reshape(std::map<std::size_t, PartialShape>{{1, PartialShape{3}}, {2, PartialShape{3}}});
  EXPECT_EQ(copy->output(0).get_partial_shape().to_string(), "[3]");
  EXPECT_EQ(model->output(0).get_partial_shape().to_string(), "[2]");
  const auto out = evaluate(*copy, {whole(2), floats({3}, {1, 1, 1}), floats({3}, {0, 0, 0})});
  EXPECT_EQ(values(out[0]), (std::vector<float>{3, 3, 3}));
}

TEST(Loop, WidensAStateWhoseShapeGrows) {
  auto start = std::make_shared<Parameter>(element::f32, PartialShape(Shape{1}));
  auto state = std::make_shared<Parameter>(element::f32, PartialShape::dynamic());
  auto grown = std::make_shared<op::v0::Concat>(OutputVector{state, state}, 0);
  auto goes_on = truth(true);
  auto loop = std::make_shared<op::v5::Loop>(Constant::create(element::i64, Shape{}, {3.0}), truth(true));
  loop->set_function(std::make_shared<Model>(OutputVector{goes_on, grown}, ParameterVector{state}));
  loop->set_special_body_ports({-1, 0});
  loop->set_merged_input(state, start, grown);
  const auto out = loop->get_iter_value(grown);
  EXPECT_EQ(loop->get_num_iterations(), 3);
  EXPECT_EQ(out.get_partial_shape().to_string(), "[?]");
  const Model model(OutputVector{out}, ParameterVector{start});
  EXPECT_EQ(evaluate(model, {floats({1}, {5})})[0].shape(), Shape{8});
}

std::shared_ptr<Model> iterator_model(std::int64_t stride) {
  auto x = std::make_shared<Parameter>(element::f32, PartialShape(Shape{2, 3}));
  auto start = std::make_shared<Parameter>(element::f32, PartialShape(Shape{2, 1}));
  auto part = std::make_shared<Parameter>(element::f32, PartialShape::dynamic());
  auto state = std::make_shared<Parameter>(element::f32, PartialShape::dynamic());
  auto sum = std::make_shared<op::v1::Add>(part, state);
  auto iterator = std::make_shared<op::v0::TensorIterator>();
  iterator->set_body(std::make_shared<Model>(OutputVector{sum}, ParameterVector{part, state}));
  const bool forward = stride > 0;
  iterator->set_sliced_input(part, x, forward ? 0 : -1, stride, 1, forward ? -1 : 0, 1);
  iterator->set_merged_input(state, start, sum);
  const auto last = iterator->get_iter_value(sum, -1);
  const auto all = iterator->get_concatenated_slices(sum, forward ? 0 : -1, stride, 1, forward ? -1 : 0, 1);
  return std::make_shared<Model>(OutputVector{last, all}, ParameterVector{x, start}, "iterating");
}

TEST(TensorIterator, SlicesAndJoinsForwardsAndBackwards) {
  const auto x = floats({2, 3}, {1, 2, 3, 10, 20, 30}), zero = floats({2, 1}, {0, 0});
  auto out = evaluate(*iterator_model(1), {x, zero});
  EXPECT_EQ(values(out[0]), (std::vector<float>{6, 60}));
  EXPECT_EQ(values(out[1]), (std::vector<float>{1, 3, 6, 10, 30, 60}));
  out = evaluate(*iterator_model(-1), {x, zero});
  EXPECT_EQ(values(out[0]), (std::vector<float>{6, 60}));
  EXPECT_EQ(values(out[1]), (std::vector<float>{6, 5, 3, 60, 50, 30}));
}

TEST(AxisParts, CountsPartsAndRefusesWhatLiesOutside) {
  const auto three = op::util::axis_parts(0, 2, 2, -1, 7);
  EXPECT_EQ(three.count, 3);
  EXPECT_EQ(three.at(2), 4);
  const auto back = op::util::axis_parts(-1, -2, 2, 0, 6);
  EXPECT_EQ(back.count, 3);
  EXPECT_EQ(back.at(0), 4);
  EXPECT_EQ(back.at(2), 0);
  EXPECT_EQ(op::util::axis_parts(0, 1, 1, -1, 0).count, 0);
  EXPECT_THROW(op::util::axis_parts(0, 0, 1, -1, 4), Error);
  EXPECT_THROW(op::util::axis_parts(9, 1, 1, -1, 4), Error);
  EXPECT_THROW(op::util::axis_parts(0, 1, 0, -1, 4), Error);
}

struct Branching {
  std::shared_ptr<Model> model;
  std::shared_ptr<op::v8::If> node;
};
Branching branching(const std::shared_ptr<Node>& condition, const ParameterVector& conditions) {
  auto x = std::make_shared<Parameter>(element::f32, PartialShape(Shape{2}));
  auto then_x = std::make_shared<Parameter>(element::f32, PartialShape::dynamic());
  auto else_x = std::make_shared<Parameter>(element::f32, PartialShape::dynamic());
  auto then_body =
      std::make_shared<Model>(OutputVector{std::make_shared<op::v0::Negative>(then_x)}, ParameterVector{then_x});
  auto doubled = std::make_shared<op::v0::Concat>(OutputVector{else_x, else_x}, 0);
  auto else_body = std::make_shared<Model>(OutputVector{doubled}, ParameterVector{else_x});
  auto branch = std::make_shared<op::v8::If>(condition);
  branch->set_then_body(then_body);
  branch->set_else_body(else_body);
  branch->set_input(x, then_x, else_x);
  const auto y = branch->set_output(then_body->get_results()[0], else_body->get_results()[0]);
  ParameterVector parameters = conditions;
  parameters.push_back(x);
  return {std::make_shared<Model>(OutputVector{y}, parameters, "branching"), branch};
}

TEST(If, RunsTheBranchThatItsConditionNames) {
  auto condition = std::make_shared<Parameter>(element::boolean, PartialShape(Shape{}));
  const auto made = branching(condition, {condition});
  EXPECT_EQ(made.model->output().get_partial_shape().to_string(), "[?]");
  Tensor flag(ElementType::kBool, Shape{});
  *flag.data<bool>() = true;
  EXPECT_EQ(values(evaluate(*made.model, {flag, floats({2}, {1, 2})})[0]), (std::vector<float>{-1, -2}));
  *flag.data<bool>() = false;
  EXPECT_EQ(values(evaluate(*made.model, {flag, floats({2}, {1, 2})})[0]), (std::vector<float>{1, 2, 1, 2}));
}

TEST(If, GivesWayToTheBranchThatIsAlwaysTaken) {
  const auto made = branching(truth(false), {});
  EXPECT_EQ(made.model->output().get_partial_shape().to_string(), "[4]");
  pass::fold_constants({}).run(*made.model);
  for (const auto& node : made.model->get_ordered_ops()) EXPECT_FALSE(is_op(node, "If"));
  EXPECT_EQ(values(evaluate(*made.model, {floats({2}, {1, 2})})[0]), (std::vector<float>{1, 2, 1, 2}));
}

/// Squeezes axis 0, or negates: exporters ask the extent which of both fits. @param condition  As by branching().
Branching squeezing(const std::shared_ptr<Node>& condition, const ParameterVector& conditions, const char* shape) {
  auto x = std::make_shared<Parameter>(element::f32, PartialShape(shape));
  auto then_x = std::make_shared<Parameter>(element::f32, PartialShape::dynamic(2)),
       else_x = std::make_shared<Parameter>(element::f32, PartialShape::dynamic(2));
  const auto axis = std::make_shared<op::v0::Constant>(element::i64, Shape{1}, std::vector<std::int64_t>{0});
  const auto then_body =
      std::make_shared<Model>(make_node("Squeeze", 1, {then_x, axis})->outputs(), ParameterVector{then_x});
  const auto else_body =
      std::make_shared<Model>(OutputVector{std::make_shared<op::v0::Negative>(else_x)}, ParameterVector{else_x});
  auto branch = std::make_shared<op::v8::If>(condition);
  branch->set_then_body(then_body);
  branch->set_else_body(else_body);
  branch->set_input(x, then_x, else_x);
  const auto y = branch->set_output(then_body->get_results()[0], else_body->get_results()[0]);
  ParameterVector parameters = conditions;
  parameters.push_back(x);
  return {std::make_shared<Model>(OutputVector{y}, parameters, "squeezing"), branch};
}

TEST(If, MayHaveABranchThatDoesNotFitTheShapesOfNow) {
  auto condition = std::make_shared<Parameter>(element::boolean, PartialShape(Shape{}));
  const auto made = squeezing(condition, {condition}, "[?,2]");
  EXPECT_TRUE(made.model->output().get_partial_shape().rank().is_dynamic());
  Tensor flag(ElementType::kBool, Shape{});
  *flag.data<bool>() = true;
  EXPECT_EQ(values(evaluate(*made.model, {flag, floats({1, 2}, {1, 2})})[0]), (std::vector<float>{1, 2}));
  EXPECT_THAT(error_of(
                  [&] {
                    evaluate(*made.model, {flag, floats({2, 2}, {1, 2, 3, 4})});
                  },
                  Code::kInvalidArgument),
              HasSubstr("Squeeze"));
  *flag.data<bool>() = false;
  EXPECT_EQ(values(evaluate(*made.model, {flag, floats({2, 2}, {1, 2, 3, 4})})[0]),
            (std::vector<float>{-1, -2, -3, -4}));
  const auto parameter = made.model->get_parameters()[1];
  for (const char* shape : {"[2,2]", "[1,2]", "[?,2]", "[3,2]"}) {
    parameter->set_partial_shape(PartialShape(shape));
    made.model->validate_nodes_and_infer_types();
    const PartialShape out = made.model->output().get_partial_shape();
    EXPECT_TRUE(out.rank().is_dynamic() || out == PartialShape(shape)) << out;
    EXPECT_EQ(out.rank().is_static(), shape[1] == '2' || shape[1] == '3') << shape;
  }
  // The branch that is taken must fit.
  EXPECT_EQ(squeezing(truth(false), {}, "[2,2]").model->output().get_partial_shape().to_string(), "[2,2]");
  EXPECT_THAT(error_of([&] { squeezing(truth(true), {}, "[2,2]"); }, Code::kInvalidArgument), HasSubstr("Squeeze"));
}

TEST(ControlFlow, IsWrittenAsIrAndReadAgain) {
  auto condition = std::make_shared<Parameter>(element::boolean, PartialShape(Shape{}));
  Tensor flag(ElementType::kBool, Shape{});
  *flag.data<bool>() = true;
  const auto x = floats({2}, {1, 2}), start = floats({2}, {0, 10});
  const std::vector<std::pair<std::shared_ptr<Model>, std::vector<Tensor>>> models = {
      {counting_model(100), {whole(4), x, start}},
      {iterator_model(-1), {floats({2, 3}, {1, 2, 3, 4, 5, 6}), floats({2, 1}, {1, 1})}},
      {branching(condition, {condition}).model, {flag, x}}};
  for (const auto& [model, inputs] : models) {
    const SerializedModel written = serialize(*model);
    const auto again = read_ir(written.xml, written.weights);
    const auto expected = evaluate(*model, inputs), actual = evaluate(*again, inputs);
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
      EXPECT_EQ(actual[i].shape(), expected[i].shape());
      EXPECT_EQ(values(actual[i]), values(expected[i])) << model->get_friendly_name();
    }
    EXPECT_EQ(serialize(*again).xml, written.xml);
  }
}

TEST(ControlFlow, RefusesBodiesThatAreMissingUnfedOrInACircle) {
  auto x = std::make_shared<Parameter>(element::f32, PartialShape(Shape{2}));
  EXPECT_THAT(error_of([&] { make_node("Loop", 5, {x, x}); }, Code::kInvalidArgument), HasSubstr("op::v5::Loop"));
  auto a = std::make_shared<Parameter>(element::f32, PartialShape::dynamic());
  auto b = std::make_shared<Parameter>(element::f32, PartialShape::dynamic());
  auto sum = std::make_shared<op::v1::Add>(a, b);
  auto iterator = std::make_shared<op::v0::TensorIterator>();
  EXPECT_THAT(error_of([&] { iterator->set_invariant_input(a, x); }, Code::kInvalidArgument), HasSubstr("not set yet"));
  iterator->set_body(std::make_shared<Model>(OutputVector{sum}, ParameterVector{a, b}));
  iterator->set_invariant_input(a, x);
  EXPECT_THAT(error_of([&] { iterator->validate_and_infer_types(); }, Code::kInvalidArgument),
              HasSubstr("fed by nothing"));
  iterator->set_invariant_input(b, x);
  iterator->set_invariant_input(b, x);
  EXPECT_THAT(error_of([&] { iterator->validate_and_infer_types(); }, Code::kInvalidArgument), HasSubstr("fed twice"));
  iterator->get_input_descriptions().pop_back();
  const auto y = iterator->get_iter_value(sum);
  const auto outer = std::make_shared<Model>(OutputVector{y}, ParameterVector{x});
  iterator->set_body(outer);
  iterator->get_input_descriptions().pop_back();
  EXPECT_THAT(error_of([&] { outer->validate_nodes_and_infer_types(); }, Code::kInvalidArgument),
              HasSubstr("contain each other"));
  EXPECT_THAT(error_of([&] { for_each_node(*outer, [](const auto&) {}); }, Code::kInvalidArgument),
              HasSubstr("contain each other"));
  iterator->set_body(std::make_shared<Model>(OutputVector{sum}, ParameterVector{a, b}));  // Frees the cycle.
}

TEST(ControlFlow, RefusesStatesWithinBodies) {
  auto x = std::make_shared<Parameter>(element::f32, PartialShape(Shape{2}));
  auto a = std::make_shared<Parameter>(element::f32, PartialShape::dynamic());
  const auto held = make_node("ReadValue", 3, {a}, {{"variable_id", "s"}});
  auto iterator = std::make_shared<op::v0::TensorIterator>();
  iterator->set_body(std::make_shared<Model>(OutputVector{held}, ParameterVector{a}));
  iterator->set_invariant_input(a, x);
  EXPECT_THAT(error_of([&] { iterator->get_iter_value(held); }, Code::kUnimplemented), HasSubstr("state"));
}

}  // namespace graph_control_flow_test
}  // namespace tenon
