// SPDX-License-Identifier: Apache-2.0
// Models of f16 values computed in f32: which values are rounded; ports and states keep their types.
#include <tenon/graph/passes/pass.hpp>

#include <gtest/gtest.h>

#include <cmath>

#include <tenon/core/tensor.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/subgraph.hpp>

namespace widen_test {
using namespace tenon;
using op::v0::Constant;
using op::v0::Parameter;
using Out = Output<Node>;

Out op(const char* type, unsigned version, const OutputVector& inputs, const Attributes& attributes = {}) {
  return make_node(type, version, inputs, attributes)->output(0);
}
Out halves(const Shape& shape, double first) {
  std::vector<double> values;
  for (std::size_t i = 0; i < element_count(shape); ++i)
    values.push_back(first + 0.37 * static_cast<double>(i % 7) - 0.9);
  return std::make_shared<Constant>(element::f16, shape, values);
}
Out converted(const Out& x, ElementType type) { return op("Convert", 1, {x}, {{"destination_type", type}}); }
Tensor tensor(ElementType type, const Shape& shape, const std::vector<double>& values) {
  return std::make_shared<Constant>(type, shape, values)->get_tensor();
}
std::vector<double> values_of(const Tensor& tensor) { return Constant(tensor).to_doubles(); }
bool widen(const std::shared_ptr<Model>& model) { return pass::Manager().add(pass::widen_reals()).run(model); }
std::size_t narrow_values(const Model& model) {
  std::size_t found = 0;
  for_each_node(model, [&](const auto& node) {
    if (is_op(node, "Parameter") || is_op(node, "Constant") || is_op(node, "Result") || is_op(node, "Convert")) return;
    for (std::size_t i = 0; i < node->get_output_size(); ++i)
      found += node->get_output_element_type(i) == element::f16 || node->get_output_element_type(i) == element::bf16;
  });
  return found;
}

TEST(WidenReals, NothingBetweenInAndOutIsRounded) {
  const auto x = std::make_shared<Parameter>(element::f16, PartialShape{2, 16});
  Out y = x;
  // Each of these would lose digits in f16, where 2048 + 1 is 2048.
  for (const double step : {2048.0, -2047.0, 1.0 / 3})
    y = op("Add", 1, {y, std::make_shared<Constant>(element::f16, Shape{}, std::vector<double>{step})});
  y = op("Subtract", 1, {y, x});
  y.get_node()->output(0).set_names({"y"});
  const auto model = std::make_shared<Model>(OutputVector{y}, ParameterVector{x});
  const Tensor in = tensor(ElementType::kF16, {2, 16}, std::vector<double>(32, 0.625));
  const double third = values_of(tensor(ElementType::kF16, {1}, {1.0 / 3}))[0];
  const double wanted = values_of(tensor(ElementType::kF16, {1}, {1 + third}))[0];
  EXPECT_NE(values_of(evaluate(*model, {in})[0])[0], wanted) << "the test shows nothing";
  EXPECT_TRUE(widen(model));
  EXPECT_EQ(narrow_values(*model), 0u);
  EXPECT_EQ(model->get_parameters()[0]->get_element_type(), element::f16);
  EXPECT_EQ(model->output(0).get_element_type(), element::f16);
  EXPECT_TRUE(model->output(0).get_names().count("y"));
  for (const double value : values_of(evaluate(*model, {in})[0])) EXPECT_EQ(value, wanted);
  EXPECT_FALSE(widen(model)) << "a second time changes nothing";
}

TEST(WidenReals, RoundingThatWasAskedForStays) {
  const auto x = std::make_shared<Parameter>(element::f32, PartialShape{3});
  const Out rounded = converted(converted(x, ElementType::kF16), ElementType::kF32);
  const Out sum = converted(op("Add", 1, {converted(x, ElementType::kF16), halves({3}, 0.5)}), ElementType::kF32);
  const auto model =
      std::make_shared<Model>(OutputVector{rounded, converted(x, ElementType::kBf16), sum}, ParameterVector{x});
  const Tensor in = tensor(ElementType::kF32, {3}, {1.0001, -3.14159, 1e6});
  const auto before = evaluate(*model, {in});
  EXPECT_TRUE(widen(model));
  const auto after = evaluate(*model, {in});
  EXPECT_EQ(values_of(before[0]), values_of(after[0]));
  EXPECT_TRUE(std::isinf(values_of(after[0])[2]));
  EXPECT_EQ(after[1].element_type(), ElementType::kBf16);
  EXPECT_EQ(values_of(before[1]), values_of(after[1]));
  // Before arithmetic, the conversion only selects the compute type.
  const double added = values_of(Tensor(as_type<Constant>(halves({3}, 0.5).get_node())->get_tensor()))[0];
  EXPECT_NEAR(values_of(after[2])[0], static_cast<double>(1.0001f) + added, 1e-6);
}

TEST(WidenReals, BodiesAndStatesToo) {
  const auto x = std::make_shared<Parameter>(element::f16, PartialShape{4});
  const auto inner = std::make_shared<Parameter>(element::f16, PartialShape{4});
  const auto more = std::make_shared<Constant>(element::boolean, Shape{}, std::vector<double>{1});
  const Out next = op("Add", 1, {inner, std::make_shared<Constant>(element::f16, Shape{}, std::vector<double>{1})});
  const auto body = std::make_shared<Model>(OutputVector{next, more}, ParameterVector{inner});
  const auto trips = std::make_shared<Constant>(element::i64, Shape{}, std::vector<double>{3});
  const auto loop = std::make_shared<op::v5::Loop>(trips, more);
  loop->set_function(body);
  loop->set_special_body_ports({-1, 1});
  const Out big = op("Add", 1, {x, std::make_shared<Constant>(element::f16, Shape{}, std::vector<double>{2048})});
  loop->set_merged_input(inner, big, next);
  const Out looped = loop->get_iter_value(next);
  const Out state =
      op("ReadValue", 6, {x},
         {{"variable_id", "v"}, {"variable_type", ElementType::kF16}, {"variable_shape", PartialShape{4}}});
  const Out kept = op("Add", 1, {state, looped});
  const auto assign =
      make_node("Assign", 6, {kept},
                {{"variable_id", "v"}, {"variable_type", ElementType::kF16}, {"variable_shape", PartialShape{4}}});
  const auto result = std::make_shared<op::v0::Result>(
      op("Subtract", 1, {looped, std::make_shared<Constant>(element::f16, Shape{}, std::vector<double>{2048})}));
  const auto model = std::make_shared<Model>(ResultVector{result}, SinkVector{assign}, ParameterVector{x});
  EXPECT_TRUE(widen(model));
  VariableMap states;
  const auto out = evaluate(*model, {tensor(ElementType::kF16, {4}, {1, 2, 3, 0.5})}, &states);
  EXPECT_EQ(values_of(out[0]), (std::vector<double>{4, 5, 6, 3.5}));  // f16 would lose the odd ones.
  EXPECT_EQ(states.at("v").element_type(), ElementType::kF16);
  EXPECT_EQ(loop->get_function()->get_parameters()[0]->get_element_type(), element::f32);
}

}  // namespace widen_test
