// SPDX-License-Identifier: Apache-2.0
// Nodes and models: connections, names, order, inference, reshape, clone, errors.
#include <tenon/graph/model.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tenon/core/error.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/operation_table.hpp>

namespace graph_model_test {
using namespace tenon;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::shared_ptr<op::v0::Parameter> parameter(PartialShape shape, element::Type type = element::f32) {
  return std::make_shared<op::v0::Parameter>(type, shape);
}
template <typename F>
std::string message_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}
Tensor floats(const Shape& shape, std::vector<double> values) {
  Tensor tensor;
  op::v0::Constant(element::f32, shape, values).get_tensor().copy_to(tensor);
  return tensor;
}

TEST(PartialShapeText, RoundTripsAndRefusesNonsense) {
  for (const char* text : {"[]", "[1,3,224,224]", "[?,1..8,2..,7]", "[...]"})
    EXPECT_EQ(PartialShape(text).to_string(), text);
  EXPECT_EQ(PartialShape("1, 3 ,-1").to_string(), "[1,3,?]");
  for (const char* text : {"[1", "1,,2", "1,", "-2", "3..1", "x", "99999999999999999999"})
    EXPECT_THROW(PartialShape{text}, Error) << text;
}

TEST(DimensionArithmetic, SaturatesInsteadOfOverflowing) {
  const Dimension large(Dimension::kUnbounded - 1);
  EXPECT_TRUE((large * Dimension(2)).is_dynamic());
  EXPECT_EQ((Dimension(2, 3) + Dimension(4, -1)).to_string(), "6..");
  EXPECT_EQ((Dimension(2, 5) - Dimension(3)).to_string(), "..2");
  Dimension merged;
  EXPECT_TRUE(Dimension::merge(merged, Dimension(1, 5), Dimension(3, -1)));
  EXPECT_EQ(merged, Dimension(3, 5));
  EXPECT_FALSE(Dimension::merge(merged, Dimension(1), Dimension(2)));
}

TEST(MakeNode, NamesWhatIsWrong) {
  const auto x = parameter({1, 3, 8, 8});
  const auto w = std::make_shared<op::v0::Constant>(element::f32, Shape{4, 5, 3, 3}, std::vector<double>{0});
  const Attributes window{{"strides", {1, 1}}, {"dilations", {1, 1}}};
  EXPECT_THAT(message_of([&] {
                make_node("Convolution", 1, {x, w}, window, "stem");
              }),
              AllOf(HasSubstr("Convolution node 'stem'"), HasSubstr("5 channels"), HasSubstr("[1,3,8,8]")));
  EXPECT_THAT(message_of([&] { make_node("Convolution", 1, {x}, window, "stem"); }),
              AllOf(HasSubstr("'stem'"), HasSubstr("expected 2 inputs, found 1")));
  EXPECT_THAT(message_of([&] {
                make_node("Relu", 1, {x}, {{"slope", 1}}, "act");
              }),
              AllOf(HasSubstr("unknown attribute 'slope'"), HasSubstr("none")));
  EXPECT_THAT(message_of([&] { make_node("Concat", 1, {x}, {}, "c"); }),
              HasSubstr("attribute 'axis' (integer) is required"));
  EXPECT_THAT(message_of([&] {
                make_node("Concat", 1, {x}, {{"axis", "one"}}, "c");
              }),
              HasSubstr("expected integer, found text \"one\""));
  EXPECT_THAT(message_of([&] {
                make_node("Gelu", 7, {x}, {{"approximation_mode", "SINE"}}, "g");
              }),
              HasSubstr("expected one of ERF, TANH"));
  EXPECT_THAT(message_of([&] { make_node("Frobnicate", 3, {x}, {}, "f"); }),
              AllOf(HasSubstr("Frobnicate"), HasSubstr("no operation set known here has it")));
  EXPECT_THAT(message_of([&] { make_node("MVN", 1, {x}, {}, "m"); }), HasSubstr("exists since opset 2, 6"));
  EXPECT_THAT(message_of([&] {
                make_node("Add", 1, {x, parameter({2, 3, 8, 7})}, {}, "sum");
              }),
              HasSubstr("do not broadcast"));
  EXPECT_THAT(message_of([&] {
                make_node("Add", 1, {x, parameter({1}, element::i32)}, {}, "sum");
              }),
              AllOf(HasSubstr("f32"), HasSubstr("i32")));
}

TEST(MakeNode, PicksTheVersionThatTheOperationSetContains) {
  EXPECT_EQ(find_operation("Softmax", 1)->opset, 1u);
  EXPECT_EQ(find_operation("Softmax", 13)->opset, 8u);
  EXPECT_EQ(find_operation("MaxPool", 9)->opset, 8u);
  EXPECT_EQ(find_operation("Gelu", 1), nullptr);
  EXPECT_EQ(find_operation("Gelu", 0)->opset, 2u);
  EXPECT_EQ(find_operation("ReLU", 1), find_operation("Relu", 1));
  for (const Operation* row : operations()) {
    EXPECT_FALSE(row->description.empty()) << row->type;
    EXPECT_EQ(row->version, "opset" + std::to_string(row->opset));
  }
}

TEST(MakeNode, RefusesShapesThatMemoryCannotHold) {
  const std::int64_t huge = std::int64_t{1} << 40;
  const auto x = parameter({huge, 1}), y = parameter({1, huge});
  EXPECT_THAT(message_of([&] {
                make_node("Add", 1, {x, y}, {}, "big");
              }),
              AllOf(HasSubstr("'big'"), HasSubstr("memory")));
  EXPECT_THROW(parameter({huge, huge}), Error);
  const auto a = parameter({2, 3});
  const auto ints = [](std::vector<std::int64_t> v) {
    return std::make_shared<op::v0::Constant>(element::i64, Shape{v.size()}, v);
  };
  EXPECT_THROW(make_node("Reshape", 1, {a, ints({huge, huge})}, {{"special_zero", false}}), Error);
  EXPECT_THROW(make_node("Reshape", 1, {a, ints({-7, -1})}, {{"special_zero", false}}), Error);
  EXPECT_THROW(make_node("Tile", 1, {a, ints({huge, huge})}), Error);
  EXPECT_THROW(make_node("Broadcast", 3, {a, ints({huge, huge, 2, 3})}), Error);
  EXPECT_THROW(make_node("Pad", 12, {a, ints({huge, 0}), ints({huge << 22, 0})}, {{"pad_mode", "constant"}}), Error);
  EXPECT_THROW(make_node("Unsqueeze", 1, {a, ints({5})}), Error);
  EXPECT_THROW(make_node("Transpose", 1, {a, ints({0, 0})}), Error);
  EXPECT_THROW(make_node("Gather", 8, {a, ints({0}), ints({2})}), Error);
}

TEST(Nodes, JoinAndSeparate) {
  const auto x = parameter({2, 3});
  const auto relu = std::make_shared<op::v0::Relu>(x);
  const auto sum = std::make_shared<op::v1::Add>(relu, x);
  EXPECT_EQ(x->get_users().size(), 2u);
  EXPECT_EQ(x->output(0).get_target_inputs().size(), 2u);
  EXPECT_TRUE(is_type<op::v1::Add>(sum));
  EXPECT_TRUE(is_type<op::v1::Add>(make_node("Add", 1, {x, x})));
  relu->output(0).set_names({"r"});
  const auto tanh = std::make_shared<op::v0::Tanh>(x);
  relu->output(0).replace(tanh->output(0));
  EXPECT_EQ(sum->get_input_node_shared_ptr(0), tanh);
  EXPECT_EQ(tanh->output(0).get_any_name(), "r");
  EXPECT_TRUE(relu->get_users().empty());
  EXPECT_THROW(x->output(1), Error);
  EXPECT_THROW(sum->input_value(2), Error);
  EXPECT_THROW(
      Output<Node>(make_node(
          "Split", 1, {x, std::make_shared<op::v0::Constant>(element::i64, Shape{}, std::vector<std::int64_t>{1})},
          {{"num_splits", 3}})),
      Error);
}

TEST(Models, FindPortsByNameAndSayWhichExist) {
  const auto x = parameter({1, 3});
  x->output(0).set_names({"image"});
  const auto y = std::make_shared<op::v0::Relu>(x);
  y->output(0).set_names({"scores"});
  Model model(OutputVector{y}, ParameterVector{x}, "net");
  EXPECT_EQ(model.input("image").get_node(), x.get());
  EXPECT_EQ(model.output("scores").get_any_name(), "scores");
  EXPECT_EQ(model.output().get_shape(), (Shape{1, 3}));
  EXPECT_THAT(message_of([&] { model.input("picture"); }), AllOf(HasSubstr("'picture'"), HasSubstr("image")));
  EXPECT_THAT(message_of([&] { model.output(4); }), HasSubstr("it has 1"));
  model.set_rt_info(std::string("yolo"), {"model_info", "model_type"});
  EXPECT_EQ((model.get_rt_info<std::string>("model_info", "model_type")), "yolo");
  EXPECT_FALSE(model.has_rt_info({"model_info", "labels"}));
}

TEST(Models, RefuseCyclesAndUnlistedParameters) {
  const auto x = parameter({1});
  const auto a = std::make_shared<op::v0::Relu>(x), b = std::make_shared<op::v0::Relu>(a);
  EXPECT_THROW(Model(OutputVector{b}, ParameterVector{}), Error);
  Model model(OutputVector{b}, ParameterVector{x});
  a->set_argument(0, b->output(0));
  EXPECT_THAT(message_of([&] { model.get_ordered_ops(); }), HasSubstr("cycle"));
  a->set_argument(0, x->output(0));  // Nodes in a cycle own each other.
}

TEST(Models, OfAMillionNodesNeedNoCallStack) {
  const auto x = parameter({1});
  Output<Node> last = x->output(0);
  for (int i = 0; i < 300000; ++i) last = std::make_shared<op::v0::Relu>(last)->output(0);
  auto model = std::make_shared<Model>(OutputVector{last}, ParameterVector{x});
  last = {};
  EXPECT_EQ(model->get_ordered_ops().size(), 300002u);
  model.reset();  // Releases the chain iteratively, not by recursion.
}

TEST(Models, ReshapeThroughComputedShapesAndUndoOnFailure) {
  // x [1,4,6] -> flattened by a shape computed from x itself: Concat(ShapeOf(x)[0], -1).
  const auto x = parameter({1, 4, 6});
  const auto c = [](std::vector<std::int64_t> v) {
    return std::make_shared<op::v0::Constant>(element::i64, Shape{v.size()}, v);
  };
  const auto zero = std::make_shared<op::v0::Constant>(element::i64, Shape{}, std::vector<std::int64_t>{0});
  const auto batch = make_node("Gather", 8, {make_node("ShapeOf", 3, {x}), c({0}), zero});
  const auto pattern = std::make_shared<op::v0::Concat>(OutputVector{batch, c({-1})}, 0);
  const auto flat = std::make_shared<op::v1::Reshape>(x, pattern, false);
  const auto w = std::make_shared<op::v0::Constant>(element::f32, Shape{24, 5}, std::vector<double>{1});
  const auto y = std::make_shared<op::v0::MatMul>(flat, w);
  Model model(OutputVector{y}, ParameterVector{x});
  EXPECT_EQ(model.get_output_shape(0), (Shape{1, 5}));
  model.reshape(PartialShape{7, 4, 6});
  EXPECT_EQ(model.get_output_shape(0), (Shape{7, 5}));
  model.reshape(PartialShape{Dimension(2, 9), 4, 6});
  EXPECT_EQ(model.get_output_partial_shape(0).to_string(), "[2..9,5]");
  EXPECT_TRUE(model.is_dynamic());
  EXPECT_THROW(model.reshape(PartialShape{1, 5, 6}), Error);
  EXPECT_EQ(model.get_output_partial_shape(0).to_string(), "[2..9,5]");
  const auto out = evaluate(model, {floats({3, 4, 6}, {1})});
  EXPECT_EQ(out[0].shape(), (Shape{3, 5}));
  EXPECT_FLOAT_EQ(out[0].data<float>()[14], 24.0f);
}

TEST(Models, ReshapeMovesABatchThatReshapeNodesState) {
  const auto ints = [](const std::vector<std::int64_t>& v) {
    return std::make_shared<op::v0::Constant>(element::i64, Shape{v.size()}, v);
  };
  for (const std::vector<std::int64_t>& pattern : {std::vector<std::int64_t>{2, 24}, {2, -1}}) {
    const auto x = parameter({2, 4, 6});
    const auto flat = std::make_shared<op::v1::Reshape>(x, ints(pattern), false);
    const auto w = std::make_shared<op::v0::Constant>(element::f32, Shape{24, 5}, std::vector<double>{1});
    Model model(OutputVector{std::make_shared<op::v0::MatMul>(flat, w)}, ParameterVector{x});
    model.reshape(PartialShape{7, 4, 6});
    EXPECT_EQ(model.get_output_shape(0), (Shape{7, 5}));
    EXPECT_FLOAT_EQ(evaluate(model, {floats({7, 4, 6}, {1})})[0].data<float>()[34], 24.0f);
    model.reshape(PartialShape{2, 4, 6});
    EXPECT_EQ(model.get_output_shape(0), (Shape{2, 5}));
  }
  // Two rows for each of the batch.
  const auto x = parameter({2, 4, 6});
  Model rows(OutputVector{std::make_shared<op::v1::Reshape>(x, ints({4, 12}), false)}, ParameterVector{x});
  rows.reshape(PartialShape{7, 4, 6});
  EXPECT_EQ(rows.get_output_shape(0), (Shape{14, 12}));
  // Nothing stays changed where the new shape is wrong for another reason, nor where the stated extent is not of a batch.
  for (const std::vector<std::int64_t>& pattern : {std::vector<std::int64_t>{2, 24}, {3, 16}}) {
    const auto input = parameter({2, 4, 6});
    const auto stated = ints(pattern);
    const auto flat = std::make_shared<op::v1::Reshape>(input, stated, false);
    const auto extent = static_cast<std::size_t>(pattern[1]);
    const auto w = std::make_shared<op::v0::Constant>(element::f32, Shape{extent, 5}, std::vector<double>{1});
    Model model(OutputVector{std::make_shared<op::v0::MatMul>(flat, w)}, ParameterVector{input});
    EXPECT_THROW(model.reshape(pattern[0] == 2 ? PartialShape{7, 5, 5} : PartialShape{7, 4, 6}), Error);
    EXPECT_EQ(flat->input_value(1).get_node(), stated.get());
    EXPECT_EQ(model.get_output_shape(0), (Shape{static_cast<std::size_t>(pattern[0]), 5}));
  }
}

/// Attention as exporters write it that know all extents: rows of all items in one product, heads apart, heads in the batch.
std::shared_ptr<Model> attention_of_stated_extents(std::int64_t batch, std::int64_t length) {
  constexpr std::int64_t kHeads = 3, kSize = 4, kWidth = kHeads * kSize;
  const auto ints = [](const std::vector<std::int64_t>& v) {
    return std::make_shared<op::v0::Constant>(element::i64, Shape{v.size()}, v);
  };
  const auto reshaped = [&](const Output<Node>& x, const std::vector<std::int64_t>& pattern) -> Output<Node> {
    return std::make_shared<op::v1::Reshape>(x, ints(pattern), false);
  };
  const auto turned = [&](const Output<Node>& x, const std::vector<std::int64_t>& order) -> Output<Node> {
    return make_node("Transpose", 1, {x, ints(order)});
  };
  const auto x = parameter({batch, length, kWidth});
  std::vector<double> weights(static_cast<std::size_t>(kWidth * kWidth));
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<double>(i * 7 % 11) / 20 - 0.2;
  const auto w = std::make_shared<op::v0::Constant>(element::f32, Shape{kWidth, kWidth}, weights);
  const Output<Node> rows = std::make_shared<op::v0::MatMul>(reshaped(x, {batch * length, kWidth}), w);
  const auto heads = turned(reshaped(rows, {batch, length, kHeads, kSize}), {0, 2, 1, 3});
  const auto many = reshaped(heads, {batch * kHeads, length, kSize});
  const auto scores = make_node("MatMul", 1, {many, many}, {{"transpose_a", false}, {"transpose_b", true}});
  const auto mixed = make_node("MatMul", 1, {make_node("Softmax", 8, {scores}, {{"axis", -1}}), many});
  const auto apart = turned(reshaped(mixed, {batch, kHeads, length, kSize}), {0, 2, 1, 3});
  return std::make_shared<Model>(OutputVector{reshaped(apart, {batch, length, kWidth})}, ParameterVector{x});
}

TEST(Models, ReshapeMovesAllExtentsThatReshapeNodesState) {
  for (const std::int64_t old_batch : {1, 2}) {
    for (const auto& [batch, length] : {std::pair{1, 9}, {4, 5}, {4, 10}, {3, 7}, {1, 1}}) {
      SCOPED_TRACE(std::to_string(old_batch) + " to " + std::to_string(batch) + " items of " + std::to_string(length));
      const PartialShape wanted{batch, length, 12};
      std::vector<double> values(12 * static_cast<std::size_t>(batch * length));
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i * 13 % 29) / 10 - 1;
      const Tensor x = floats(wanted.to_shape(), values);
      const auto expected = evaluate(*attention_of_stated_extents(batch, length), {x});
      for (const PartialShape& shape : {wanted, PartialShape{-1, -1, 12}}) {
        const auto model = attention_of_stated_extents(old_batch, 5);
        model->reshape(shape);
        EXPECT_EQ(model->get_output_partial_shape(0).rank().get_length(), 3);
        const auto made = evaluate(*model, {x});
        ASSERT_EQ(made[0].shape(), wanted.to_shape());
        for (std::size_t i = 0; i < values.size(); ++i)
          ASSERT_EQ(made[0].data<float>()[i], expected[0].data<float>()[i]) << i;
      }
    }
  }
  // A batch of 1 behind the length may be of the rows or of the heads: nothing is guessed.
  const auto x = parameter({5, 1, 12});
  const auto pattern = std::make_shared<op::v0::Constant>(element::i64, Shape{3}, std::vector<std::int64_t>{5, 3, 4});
  Model model(OutputVector{std::make_shared<op::v1::Reshape>(x, pattern, false)}, ParameterVector{x});
  EXPECT_THROW(model.reshape(PartialShape{5, 4, 12}), Error);
  EXPECT_EQ(model.get_output_shape(0), (Shape{5, 3, 4}));
}

TEST(Models, CloneSharesWeightsAndNothingElse) {
  const auto x = parameter({2, 2});
  x->set_friendly_name("in");
  const auto w = std::make_shared<op::v0::Constant>(element::f32, Shape{2, 2}, std::vector<double>{1, 2, 3, 4});
  const auto y = std::make_shared<op::v0::MatMul>(x, w);
  y->set_friendly_name("out");
  y->output(0).set_names({"t"});
  Model model(OutputVector{y}, ParameterVector{x}, "m");
  const auto copy = model.clone();
  EXPECT_EQ(copy->get_friendly_name(), "m");
  EXPECT_NE(copy->get_parameters()[0], x);
  EXPECT_EQ(copy->get_parameters()[0]->get_friendly_name(), "in");
  EXPECT_EQ(copy->output("t").get_shape(), (Shape{2, 2}));
  const auto cloned = copy->get_results()[0]->get_input_node_shared_ptr(0)->get_input_node_shared_ptr(1);
  EXPECT_EQ(as_type_ptr<op::v0::Constant>(cloned)->get_data_ptr(), w->get_data_ptr());
  copy->reshape(PartialShape{5, 2});
  EXPECT_EQ(model.get_output_shape(0), (Shape{2, 2}));
}

TEST(Evaluate, AStateOfOpenShapeBeginsEmpty) {
  const auto x = parameter({1, 2});
  const auto state =
      make_node("ReadValue", 6, {},
                {{"variable_id", "s"}, {"variable_type", element::f32}, {"variable_shape", PartialShape{-1, 2}}});
  const auto longer = make_node("Concat", 1, {state, x}, {{"axis", std::int64_t{0}}});
  const auto assign = make_node("Assign", 6, {longer}, {{"variable_id", "s"}});
  Model model(OutputVector{longer}, SinkVector{assign}, ParameterVector{x});
  VariableMap variables;
  EXPECT_EQ(evaluate(model, {floats({1, 2}, {1, 2})}, &variables)[0].shape(), (Shape{1, 2}));
  EXPECT_EQ(evaluate(model, {floats({1, 2}, {3, 4})}, &variables)[0].shape(), (Shape{2, 2}));
  EXPECT_FLOAT_EQ(variables.at("s").data<float>()[3], 4);
}

TEST(Evaluate, KeepsStateBetweenRuns) {
  const auto x = parameter({1});
  const auto zero = std::make_shared<op::v0::Constant>(element::f32, Shape{1}, std::vector<double>{10});
  const auto state =
      make_node("ReadValue", 6, {zero},
                {{"variable_id", "s"}, {"variable_type", element::f32}, {"variable_shape", PartialShape{1}}});
  const auto sum = std::make_shared<op::v1::Add>(state, x);
  const auto assign = make_node("Assign", 6, {sum}, {{"variable_id", "s"}});
  Model model(OutputVector{sum}, SinkVector{assign}, ParameterVector{x});
  VariableMap variables;
  EXPECT_FLOAT_EQ(evaluate(model, {floats({1}, {1})}, &variables)[0].data<float>()[0], 11);
  EXPECT_FLOAT_EQ(evaluate(model, {floats({1}, {2})}, &variables)[0].data<float>()[0], 13);
  EXPECT_FLOAT_EQ(evaluate(model, {floats({1}, {2})})[0].data<float>()[0], 12);
}

TEST(Evaluate, TakesEmptyTensorsAndScalars) {
  const auto x = parameter({Dimension::dynamic(), 3});
  const auto one = std::make_shared<op::v0::Constant>(element::f32, Shape{}, std::vector<double>{1});
  const auto y = std::make_shared<op::v1::Add>(x, one);
  const auto axes = std::make_shared<op::v0::Constant>(element::i64, Shape{1}, std::vector<std::int64_t>{0});
  const auto z = make_node("ReduceSum", 1, {y, axes}, {{"keep_dims", false}});
  Model model(OutputVector{y, z}, ParameterVector{x});
  const auto out = evaluate(model, {Tensor(element::f32, Shape{0, 3})});
  EXPECT_EQ(out[0].shape(), (Shape{0, 3}));
  EXPECT_EQ(out[1].shape(), (Shape{3}));
  EXPECT_EQ(out[1].data<float>()[2], 0.0f);
  EXPECT_THAT(message_of([&] { evaluate(model, {Tensor(element::f32, Shape{2, 4})}); }), HasSubstr("[?,3]"));
  EXPECT_THAT(message_of([&] { evaluate(model, {Tensor(element::i32, Shape{2, 3})}); }), HasSubstr("i32"));
}

TEST(Evaluate, DividesIntegersAsAskedAndNeverByZero) {
  const auto a = parameter({4}, element::i32), b = parameter({4}, element::i32);
  const auto tensor = [](std::vector<std::int64_t> v) {
    Tensor t;
    op::v0::Constant(element::i32, Shape{4}, v).get_tensor().copy_to(t);
    return t;
  };
  const auto floor = make_node("Divide", 1, {a, b}), trunc = make_node("Divide", 1, {a, b}, {{"m_pythondiv", false}});
  const std::vector<Tensor> in{tensor({-7, 7, 6, -2147483648LL}), tensor({2, -2, 3, -1})};
  const auto f = evaluate_node(*floor, in)[0], t = evaluate_node(*trunc, in)[0];
  EXPECT_THAT(std::vector<int>(f.data<int>(), f.data<int>() + 4), ::testing::ElementsAre(-4, -4, 2, -2147483648));
  EXPECT_THAT(std::vector<int>(t.data<int>(), t.data<int>() + 3), ::testing::ElementsAre(-3, -3, 2));
  EXPECT_THROW(evaluate_node(*floor, {in[0], tensor({0, 0, 0, 0})}), Error);
}

TEST(Evaluate, InfersAgainWhenAValueThatShapesDependOnDiffers) {
  const auto x = parameter({2, 3});
  const auto order = [](std::vector<std::int64_t> v) {
    return std::make_shared<op::v0::Constant>(element::i64, Shape{2}, v);
  };
  const auto node = make_node("Transpose", 1, {x, order({0, 1})});
  EXPECT_EQ(evaluate_node(*node, {floats({2, 3}, {1}), order({1, 0})->get_tensor()})[0].shape(), (Shape{3, 2}));
}

TEST(Evaluate, IsNotHeldUpByHugeWindowsNorLedAstrayByOddInputs) {
  const auto x = parameter({1, 1, 4});
  const std::int64_t large = std::int64_t{1} << 28;
  const auto pool =
      make_node("MaxPool", 1, {x},
                {{"strides", {1}}, {"pads_begin", {large}}, {"pads_end", {large}}, {"kernel", {2 * large + 4}}});
  EXPECT_EQ(evaluate_node(*pool, {floats({1, 1, 4}, {1, 5, 2, 3})})[0].data<float>()[0], 5.0f);
  const auto q = parameter({1, 2, 3});
  EXPECT_THROW(make_node("ScaledDotProductAttention", 13, {q, q, q, parameter({7, 5, 2, 2})}, {{"causal", false}}),
               Error);
  const auto depth = std::make_shared<op::v0::Constant>(element::i64, Shape{}, std::vector<std::int64_t>{3});
  EXPECT_THROW(
      make_node("OneHot", 1, {parameter({2}, element::i64), depth, parameter({0}), parameter({1})}, {{"axis", 0}}),
      Error);
}

TEST(Evaluate, AntialiasedLinearIsPillowsBilinear) {
  // OpenVINO's CPU plugin ignores antialias, so it cannot be the reference; the two modes use one filter.
  const auto x = parameter({1, 1, 9, 11});
  const auto sizes = std::make_shared<op::v0::Constant>(element::i64, Shape{2}, std::vector<std::int64_t>{4, 5});
  const auto axes = std::make_shared<op::v0::Constant>(element::i64, Shape{2}, std::vector<std::int64_t>{2, 3});
  std::vector<double> values;
  for (int i = 0; i < 99; ++i) values.push_back(i * 37 % 101 / 10.0);
  const auto run = [&](const char* mode, bool antialias) {
    const auto node = make_node("Interpolate", 11, {x, sizes, axes},
                                {{"mode", mode}, {"shape_calculation_mode", "sizes"}, {"antialias", antialias}});
    return op::v0::Constant(
               evaluate_node(*node, {floats({1, 1, 9, 11}, values), sizes->get_tensor(), axes->get_tensor()})[0])
        .to_doubles();
  };
  const auto a = run("linear", true), b = run("bilinear_pillow", false);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-4) << i;
}
}  // namespace graph_model_test
