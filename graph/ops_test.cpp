// SPDX-License-Identifier: Apache-2.0
// Operation classes construct the same nodes as make_node, and infer shapes from their arguments.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/operation_table.hpp>
#include <tenon/graph/ops.hpp>

namespace tenon {
namespace ops_test {

using op::v0::Constant;
using op::v0::Parameter;

std::shared_ptr<Parameter> input(const PartialShape& shape, element::Type type = element::f32) {
  return std::make_shared<Parameter>(type, shape);
}
Output<Node> ints(const std::vector<std::int64_t>& values) {
  return Constant::create(element::i64, Shape{values.size()}, values)->output(0);
}
Output<Node> integer(std::int64_t value) {
  return Constant::create(element::i64, Shape{}, std::vector<std::int64_t>{value})->output(0);
}
Output<Node> real(double value) { return Constant::create(element::f32, Shape{}, {value})->output(0); }

/// Checks that the node's operation is T's; returns its first output's shape as text.
template <typename T, typename... Arguments>
std::string shape_of(Arguments&&... arguments) {
  const auto node = std::make_shared<T>(std::forward<Arguments>(arguments)...);
  EXPECT_TRUE(is_type<T>(std::shared_ptr<Node>(node)));
  return node->get_output_partial_shape(0).to_string();
}

TEST(Ops, OfOneOrTwoTensorsKeepOrBroadcastShapes) {
  const auto x = input({2, 3}), y = input({3});
  EXPECT_EQ(shape_of<op::v0::Erf>(x), "[2,3]");
  EXPECT_EQ(shape_of<op::v4::SoftPlus>(x), "[2,3]");
  EXPECT_EQ(shape_of<op::v5::HSigmoid>(x), "[2,3]");
  EXPECT_EQ(shape_of<op::v9::SoftSign>(x), "[2,3]");
  EXPECT_EQ(shape_of<op::v10::IsNaN>(x), "[2,3]");
  EXPECT_EQ(shape_of<op::v7::Gelu>(x, op::GeluApproximationMode::TANH), "[2,3]");
  EXPECT_EQ(shape_of<op::v1::Power>(x, y), "[2,3]");
  EXPECT_EQ(shape_of<op::v1::LessEqual>(x, y), "[2,3]");
  EXPECT_EQ(shape_of<op::v0::Clamp>(x, 0.0, 6.0), "[2,3]");
  EXPECT_EQ(shape_of<op::v1::Select>(std::make_shared<op::v1::Less>(x, y), x, y), "[2,3]");
  EXPECT_EQ(shape_of<op::v0::FakeQuantize>(x, real(0), real(1), real(0), real(1), 256), "[2,3]");
  EXPECT_EQ(shape_of<op::v5::LogSoftmax>(x, -1), "[2,3]");
}

TEST(Ops, InverseErrorFunctionHasTheDigitsOfItsType) {
  // OpenVINO 2026.4.1's CPU plugin at -1, -0.5, 0, 0.3, 0.999999, 1 and 1.5; SciPy 1.15's erfinv in f64.
  const std::vector<double> at = {-1, -0.5, 0, 0.3, 0.999999, 1, 1.5};
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> wanted = {
      -infinity, -0.4769362762044699, 0, 0.27246271472675443, 3.458910737275499, infinity, NAN};
  for (const element::Type type : {element::f64, element::f32}) {
    const auto x = Constant::create(type, Shape{7}, at);
    const auto y = Constant(evaluate_node(*make_node("ErfInv", 17, {x}), {x->get_tensor()})[0]).to_doubles();
    for (std::size_t i = 0; i < at.size(); ++i) {
      const double near = type == element::f64 ? 1e-10 : at[i] == 0.999999 ? 1e-2 : 1e-6;
      if (std::isfinite(wanted[i]))
        EXPECT_NEAR(y[i], wanted[i], near) << at[i];
      else
        EXPECT_TRUE(y[i] == wanted[i] || (std::isnan(y[i]) && std::isnan(wanted[i]))) << at[i];
    }
  }
}

TEST(Ops, GroupsOfRowsHaveMatricesOfTheirOwn) {
  const auto rows = Constant::create(element::f32, Shape{4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto matrices = Constant::create(element::f32, Shape{3, 1, 2}, {1, 0, 0, 1, 1, 1});
  const auto made = [](const OutputVector& inputs) {
    std::vector<Tensor> values;
    for (const auto& each : inputs) values.push_back(as_type<Constant>(each.get_node())->get_tensor());
    return Constant(evaluate_node(*make_node("GroupedMatMul", 17, inputs), values)[0]).to_doubles();
  };
  // The second group is empty, and the last row belongs to none.
  EXPECT_EQ(made({rows, matrices, ints({1, 1, 3})}), (std::vector<double>{1, 7, 11, 0}));
  const auto batches = Constant::create(element::f32, Shape{3, 1, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(made({batches, matrices}), (std::vector<double>{1, 4, 11}));
}

TEST(Ops, ThatMoveAndReduce) {
  const auto x = input({2, 3, 4});
  EXPECT_EQ(shape_of<op::v1::ReduceMean>(x, ints({1}), true), "[2,1,4]");
  EXPECT_EQ(shape_of<op::v4::ReduceL2>(x, ints({0, 2})), "[3]");
  EXPECT_EQ(shape_of<op::v0::Unsqueeze>(x, ints({0})), "[1,2,3,4]");
  EXPECT_EQ(shape_of<op::v0::Tile>(x, ints({1, 1, 2})), "[2,3,8]");
  EXPECT_EQ(shape_of<op::v1::Split>(x, integer(2), 2), "[2,3,2]");
  EXPECT_EQ(shape_of<op::v1::VariadicSplit>(x, integer(1), ints({1, 2})), "[2,1,4]");
  EXPECT_EQ(shape_of<op::v8::Slice>(x, ints({1}), ints({3}), ints({1}), ints({2})), "[2,3,2]");
  EXPECT_EQ(shape_of<op::v1::StridedSlice>(x, ints({0, 1, 0}), ints({0, 3, 0}), ints({1, 1, 1}),
                                           std::vector<std::int64_t>{1, 0, 1}, std::vector<std::int64_t>{1, 0, 1}),
            "[2,2,4]");
  EXPECT_EQ(shape_of<op::v8::Gather>(x, ints({0, 0, 1}), integer(1)), "[2,3,4]");
  EXPECT_EQ(shape_of<op::v3::Broadcast>(input({4}), ints({2, 4})), "[2,4]");
  EXPECT_EQ(shape_of<op::v1::Pad>(x, ints({0, 0, 1}), ints({0, 0, 1}), real(0), op::PadMode::CONSTANT), "[2,3,6]");
  EXPECT_EQ(shape_of<op::v3::TopK>(x, integer(2), -1, op::TopKMode::MAX, op::TopKSortType::SORT_VALUES), "[2,3,2]");
  EXPECT_EQ(shape_of<op::v4::Range>(integer(0), integer(5), integer(1), element::i64), "[5]");
  EXPECT_EQ(shape_of<op::v3::ShapeOf>(x, element::i32), "[3]");
  EXPECT_EQ(shape_of<op::v10::Unique>(input({5})), "[1..5]");
  EXPECT_EQ(shape_of<op::v1::OneHot>(input({2}, element::i64), integer(7), real(1), real(0), -1), "[2,7]");
}

TEST(Ops, OfPicturesAndSequences) {
  const auto x = input({1, 4, 8, 8});
  EXPECT_EQ(shape_of<op::v1::MaxPool>(x, Strides{2, 2}, Shape{0, 0}, Shape{0, 0}, Shape{2, 2}), "[1,4,4,4]");
  EXPECT_EQ(shape_of<op::v1::AvgPool>(x, Strides{1, 1}, Shape{1, 1}, Shape{1, 1}, Shape{3, 3}, true,
                                      op::RoundingType::CEIL, op::PadType::EXPLICIT),
            "[1,4,8,8]");
  EXPECT_EQ(shape_of<op::v1::GroupConvolution>(x, input({2, 3, 2, 3, 3}), Strides{1, 1}, CoordinateDiff{1, 1},
                                               CoordinateDiff{1, 1}, Strides{1, 1}),
            "[1,6,8,8]");
  EXPECT_EQ(shape_of<op::v1::ConvolutionBackpropData>(x, input({4, 2, 2, 2}), Strides{2, 2}, CoordinateDiff{0, 0},
                                                      CoordinateDiff{0, 0}, Strides{1, 1}),
            "[1,2,16,16]");
  op::util::InterpolateBase::InterpolateAttrs attributes;
  attributes.mode = "linear_onnx";
  EXPECT_EQ(shape_of<op::v4::Interpolate>(x, ints({16, 24}), Constant::create(element::f32, Shape{2}, {2, 3}),
                                          ints({2, 3}), attributes),
            "[1,4,16,24]");
  EXPECT_EQ(shape_of<op::v0::DepthToSpace>(x, "blocks_first", 2), "[1,1,16,16]");
  EXPECT_EQ(shape_of<op::v6::MVN>(x, ints({2, 3}), true, 1e-6F, op::MVNEpsMode::INSIDE_SQRT), "[1,4,8,8]");
  EXPECT_EQ(shape_of<op::v12::GroupNormalization>(x, input({4}), input({4}), 2, 1e-5), "[1,4,8,8]");
  EXPECT_EQ(shape_of<op::v5::LSTMSequence>(input({2, 5, 3}), input({2, 2, 7}), input({2, 2, 7}),
                                           input({2}, element::i32), input({2, 28, 3}), input({2, 28, 7}),
                                           input({2, 28}), 7, op::RecurrentSequenceDirection::BIDIRECTIONAL),
            "[2,2,5,7]");
  EXPECT_EQ(shape_of<op::v3::GRUCell>(input({2, 3}), input({2, 7}), input({21, 3}), input({21, 7}), input({28}), 7,
                                      std::vector<std::string>{"sigmoid", "tanh"}, std::vector<float>{},
                                      std::vector<float>{}, 0.0F, true),
            "[2,7]");
  EXPECT_EQ(shape_of<op::v13::ScaledDotProductAttention>(input({1, 2, 5, 4}), input({1, 2, 6, 4}), input({1, 2, 6, 3}),
                                                         false),
            "[1,2,5,3]");
  const auto with_sink = [](const PartialShape& sink) {
    const auto q = input({1, 2, 5, 4})->output(0);
    return make_node("ScaledDotProductAttention", 13,
                     {q, q, q, input({})->output(0), input({})->output(0), input(sink)->output(0)},
                     {{"causal", false}});
  };
  EXPECT_EQ(with_sink({1, 2, 1, 1})->get_output_partial_shape(0).to_string(), "[1,2,5,4]");
  for (const PartialShape& sink :
       {PartialShape{2, 1, 1}, PartialShape{1, 3, 1, 1}, PartialShape{1, 2, 1, 4}, PartialShape{2, 2, 1, 1}})
    EXPECT_THROW(with_sink(sink), Error) << sink;
}

// Under auto_pad "valid" there are no pads, whatever the lists say, and OpenVINO infers the same for known extents.
TEST(Ops, ValidWindowsHaveNoPadsForOpenExtentsEither) {
  const auto pooled = [](const Dimension& extent) {
    const auto x = input({1, 1, extent});
    return make_node("AvgPool", 1, {x->output(0)},
                     {{"kernel", std::vector<std::int64_t>{3}},
                      {"strides", std::vector<std::int64_t>{2}},
                      {"pads_begin", std::vector<std::int64_t>{1}},
                      {"pads_end", std::vector<std::int64_t>{1}},
                      {"exclude-pad", false},
                      {"auto_pad", "valid"}})
        ->get_output_partial_shape(0)
        .to_string();
  };
  EXPECT_EQ(pooled(7), "[1,1,3]");
  EXPECT_EQ(pooled(Dimension(1, 7)), "[1,1,1..3]");
  EXPECT_EQ(pooled(Dimension(1, -1)), "[1,1,1..]");
}

// Copied extents cancel, also those of 0, as in OpenVINO.
TEST(Ops, ReshapeOfNothingKnowsTheOtherExtents) {
  const auto reshaped = [](const PartialShape& shape, const std::vector<std::int64_t>& pattern) {
    const auto x = input(shape);
    return make_node("Reshape", 1, {x->output(0), ints(pattern)}, {{"special_zero", true}})
        ->get_output_partial_shape(0)
        .to_string();
  };
  EXPECT_EQ(reshaped({0, 3, 4}, {0, -1}), "[0,12]");
  EXPECT_EQ(reshaped({-1, 3, 4}, {0, -1}), "[?,12]");
  EXPECT_EQ(reshaped({2, 0, 4}, {2, -1}), "[2,0]");
}

TEST(Ops, SqueezeMaySkipAxesWhoseExtentIsNotOne) {
  const auto squeezed = [](const char* shape) {
    const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape(shape));
    const auto axis = std::make_shared<op::v0::Constant>(element::i64, Shape{1}, std::vector<std::int64_t>{1});
    return make_node("Squeeze", 15, {x, axis}, {{"allow_axis_skip", true}})->get_output_partial_shape(0).to_string();
  };
  EXPECT_EQ(squeezed("[2,1,4]"), "[2,4]");
  EXPECT_EQ(squeezed("[2,3,4]"), "[2,3,4]");
  EXPECT_EQ(squeezed("[2,2..5,?]"), "[2,2..5,?]");
  EXPECT_EQ(squeezed("[2,?,4]"), "[...]");
}

TEST(Ops, KeepStateWithAndWithoutAnInitialValue) {
  const auto variable =
      std::make_shared<op::util::Variable>(op::util::VariableInfo{PartialShape{2}, element::f32, "sum"});
  const auto x = input({2});
  const auto held = std::make_shared<op::v6::ReadValue>(variable);
  const auto sum = std::make_shared<op::v1::Add>(held, x);
  const auto kept = std::make_shared<op::v6::Assign>(sum, variable);
  const Model model(OutputVector{sum}, SinkVector{kept}, ParameterVector{x});
  Tensor ones(ElementType::kF32, Shape{2});
  ones.data<float>()[0] = ones.data<float>()[1] = 1;
  VariableMap state;
  evaluate(model, {ones}, &state);
  EXPECT_EQ(evaluate(model, {ones}, &state)[0].data<float>()[1], 2.0F);
  EXPECT_EQ(std::make_shared<op::v6::ReadValue>(real(3), std::make_shared<op::util::Variable>(
                                                             op::util::VariableInfo{PartialShape{}, element::f32, "s"}))
                ->get_input_size(),
            1U);
  EXPECT_THROW(std::make_shared<op::v6::Assign>(sum, nullptr), Error);
}

}  // namespace ops_test
}  // namespace tenon
