// SPDX-License-Identifier: Apache-2.0
// Passes keep values and names, and make the intended changes.
#include <tenon/graph/passes/pass.hpp>

#include <gtest/gtest.h>

#include <cmath>

#include <tenon/core/error.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/subgraph.hpp>

namespace pass_test {
using namespace tenon;
using op::v0::Constant;

std::shared_ptr<Constant> constant(const Shape& shape, std::vector<double> values, element::Type type = element::f32) {
  return std::make_shared<Constant>(type, shape, values);
}
std::shared_ptr<Constant> ints(std::vector<std::int64_t> values) {
  return std::make_shared<Constant>(element::i64, Shape{values.size()}, values);
}
std::vector<double> pattern(std::size_t count, int seed) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i)
    values.push_back(static_cast<double>((i * 7919 + static_cast<std::size_t>(seed) * 104729) % 1009) / 504.5 - 1);
  return values;
}
std::size_t count(const Model& model, std::string_view type) {
  std::size_t found = 0;
  for (const auto& node : model.get_ordered_ops()) found += is_op(node, type);
  return found;
}
std::vector<double> run(const Model& model, const Shape& shape) {
  return Constant(evaluate(model, {constant(shape, pattern(element_count(shape), 5))->get_tensor()}).at(0))
      .to_doubles();
}
/// Runs the pass; checks values, result names and the last node's friendly name.
void expect_same_after(const std::shared_ptr<Model>& model, const pass::Manager& manager, const Shape& input,
                       double tolerance = 1e-5) {
  const auto before = run(*model, input);
  const std::string name = model->get_results()[0]->get_input_node_ptr(0)->get_friendly_name();
  const auto names = model->output(0).get_names();
  EXPECT_TRUE(manager.run(model));
  const auto after = run(*model, input);
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) ASSERT_NEAR(before[i], after[i], tolerance) << i;
  EXPECT_EQ(model->get_results()[0]->get_input_node_ptr(0)->get_friendly_name(), name);
  for (const auto& each : names) EXPECT_TRUE(model->output(0).get_names().count(each)) << each;
}
std::shared_ptr<Model> model_of(const std::shared_ptr<Node>& last, const std::shared_ptr<op::v0::Parameter>& x) {
  last->set_friendly_name("last");
  last->output(0).set_names({"y"});
  return std::make_shared<Model>(OutputVector{last}, ParameterVector{x});
}
pass::Manager only(pass::Pass pass) {
  pass::Manager manager;
  manager.add(std::move(pass));
  return manager;
}

TEST(FoldBatchNorm, GoesIntoTheConvolutionBeforeIt) {
  for (const bool grouped : {false, true}) {
    const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 4, 6, 5});
    const auto w = grouped ? constant({2, 3, 2, 3, 3}, pattern(108, 1)) : constant({6, 4, 3, 3}, pattern(216, 1));
    const auto conv =
        make_node(grouped ? "GroupConvolution" : "Convolution", 1, {x, w},
                  {{"strides", {1, 1}}, {"dilations", {1, 1}}, {"pads_begin", {1, 1}}, {"pads_end", {1, 1}}});
    const auto norm = make_node("BatchNormInference", 5,
                                {conv, constant({6}, pattern(6, 2)), constant({6}, pattern(6, 3)),
                                 constant({6}, pattern(6, 4)), constant({6}, {1, 2, 3, .5, 1, 2})},
                                {{"epsilon", 1e-3}});
    const auto model = model_of(norm, x);
    expect_same_after(model, only(pass::fold_batch_norm()), {1, 4, 6, 5}, 1e-4);
    EXPECT_EQ(count(*model, "BatchNormInference"), 0u);
    EXPECT_EQ(count(*model, "Multiply"), 0u);
    pass::BiasMatch bias;
    const auto add = model->get_results()[0]->get_input_node_shared_ptr(0);
    ASSERT_TRUE(pass::match_bias(*add->get_input_node_shared_ptr(0), bias));
    EXPECT_EQ(bias.add, add);
  }
}

TEST(FoldBatchNorm, TakesWeightsThatAreConvertedOnTheWay) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 4, 6, 5});
  std::vector<double> values;
  for (int i = 0; i < 6 * 4 * 9; ++i) values.push_back(0.125 * (i % 11 - 5));
  const auto half = op::v0::Constant::create(element::f16, Shape{6, 4, 3, 3}, values);
  const auto w = make_node("Convert", 1, {half->output(0)}, {{"destination_type", element::f32}}, "");
  const auto conv =
      make_node("Convolution", 1, {x, w},
                {{"strides", {1, 1}}, {"dilations", {1, 1}}, {"pads_begin", {1, 1}}, {"pads_end", {1, 1}}});
  const auto norm = make_node("BatchNormInference", 5,
                              {conv, constant({6}, pattern(6, 2)), constant({6}, pattern(6, 3)),
                               constant({6}, pattern(6, 4)), constant({6}, {1, 2, 3, .5, 1, 2})},
                              {{"epsilon", 1e-3}});
  const auto model = model_of(norm, x);
  expect_same_after(model, only(pass::fold_batch_norm()), {1, 4, 6, 5}, 1e-4);
  EXPECT_EQ(count(*model, "BatchNormInference"), 0u);
}

TEST(FoldBatchNorm, BecomesScaleAndShiftWhereTheConvolutionHasOtherReaders) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{2, 3, 4});
  const auto norm = make_node(
      "BatchNormInference", 1,
      {constant({3}, {1, 2, 3}), constant({3}, {0, 1, 0}), x, constant({3}, {1, 1, 2}), constant({3}, {1, 4, 9})},
      {{"epsilon", 0.0}});
  const auto model = model_of(norm, x);
  expect_same_after(model, only(pass::fold_batch_norm()), {2, 3, 4});
  EXPECT_EQ(count(*model, "Multiply"), 1u);
}

TEST(FoldConstants, ComputesWhatDependsOnNoInputAndKeepsHalfWeights) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{3, 4});
  const auto half = std::make_shared<op::v0::Convert>(constant({4, 2}, pattern(8, 1), element::f16), element::f32);
  const auto product = std::make_shared<op::v0::MatMul>(x, half);
  const auto bias = std::make_shared<op::v0::Sqrt>(constant({2}, {4, 9}));
  const auto model = model_of(std::make_shared<op::v1::Add>(product, bias), x);
  expect_same_after(model, only(pass::fold_constants()), {3, 4});
  EXPECT_EQ(count(*model, "Sqrt"), 0u);
  EXPECT_EQ(count(*model, "Convert"), 1u);
  EXPECT_TRUE(half->get_rt_info().at("decompression").as<bool>());
  expect_same_after(model, only(pass::fold_constants({.keep_decompression = false})), {3, 4});
  EXPECT_EQ(count(*model, "Convert"), 0u);
}

TEST(FoldConstants, LeavesResultsThatWouldGrowTheModel) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1});
  const auto large = make_node("Broadcast", 3, {constant({1}, {2}), ints({1024, 1024})});
  const auto model = model_of(std::make_shared<op::v1::Add>(x, large), x);
  EXPECT_FALSE(only(pass::fold_constants()).run(model));
}

TEST(FuseSwish, TakesEitherOrder) {
  for (const bool swapped : {false, true}) {
    const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{2, 8});
    const auto sigmoid = std::make_shared<op::v0::Sigmoid>(x);
    const auto model = model_of(
        swapped ? std::make_shared<op::v1::Multiply>(sigmoid, x) : std::make_shared<op::v1::Multiply>(x, sigmoid), x);
    expect_same_after(model, only(pass::fuse_swish()), {2, 8});
    EXPECT_EQ(count(*model, "Swish"), 1u);
  }
}

TEST(FuseGelu, TakesTheFormsThatExportersWrite) {
  for (int form = 0; form < 3; ++form) {
    const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{2, 8});
    const auto half = constant({}, {0.5}), one = constant({}, {1});
    const std::shared_ptr<Node> scaled =
        form == 1 ? std::shared_ptr<Node>(std::make_shared<op::v1::Multiply>(x, constant({}, {std::sqrt(0.5)})))
                  : std::make_shared<op::v1::Divide>(x, constant({}, {std::sqrt(2.0)}));
    const auto gate = std::make_shared<op::v1::Add>(make_node("Erf", 1, {scaled}), one);
    std::shared_ptr<Node> last;
    if (form == 0)
      last = std::make_shared<op::v1::Multiply>(std::make_shared<op::v1::Multiply>(x, gate), half);
    else if (form == 1)
      last = std::make_shared<op::v1::Multiply>(x, std::make_shared<op::v1::Multiply>(half, gate));
    else
      last = std::make_shared<op::v1::Multiply>(std::make_shared<op::v1::Multiply>(x, half), gate);
    const auto model = model_of(last, x);
    expect_same_after(model, only(pass::fuse_gelu()), {2, 8});
    EXPECT_EQ(count(*model, "Gelu"), 1u) << form;
    EXPECT_EQ(count(*model, "Erf"), 0u) << form;
  }
}

TEST(EliminateNoOps, RemovesWhatChangesNothingAndKeepsWhatDoes) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{2, 3, 4});
  std::shared_ptr<Node> y = std::make_shared<op::v0::Relu>(x);
  y = std::make_shared<op::v1::Transpose>(y, ints({1, 0, 2}));
  y = std::make_shared<op::v1::Transpose>(y, ints({1, 0, 2}));
  y = std::make_shared<op::v0::Convert>(y, element::f32);
  y = std::make_shared<op::v1::Reshape>(y, ints({2, -1}), false);
  y = std::make_shared<op::v1::Reshape>(y, ints({4, 6}), false);
  y = std::make_shared<op::v0::Concat>(OutputVector{y}, 0);
  y = std::make_shared<op::v1::Transpose>(y, ints({1, 0}));
  const auto model = model_of(y, x);
  expect_same_after(model, only(pass::eliminate_no_ops()), {2, 3, 4});
  EXPECT_EQ(count(*model, "Transpose"), 1u);
  EXPECT_EQ(count(*model, "Reshape"), 1u);
  EXPECT_EQ(count(*model, "Concat") + count(*model, "Convert"), 0u);
}

TEST(EliminateNoOps, NeverJoinsAnInputToAnOutput) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{2, 3});
  const auto model = model_of(std::make_shared<op::v1::Reshape>(x, ints({2, 3}), false), x);
  EXPECT_FALSE(only(pass::eliminate_no_ops()).run(model));
  EXPECT_EQ(count(*model, "Reshape"), 1u);
}

TEST(FoldConstants, FoldsWhatDecidesItsOwnExtents) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{4});
  const auto places = make_node("NonZero", 3, {constant({4}, {0, 2, 0, 5})});
  const auto list = make_node("Squeeze", 1, {places, ints({0})});
  const auto model = model_of(make_node("Gather", 8, {x, list, ints({0})}), x);
  expect_same_after(model, only(pass::fold_constants()), {4});
  EXPECT_EQ(count(*model, "NonZero"), 0u);
  EXPECT_EQ(model->output(0).get_shape(), Shape{2});
}

/// Five times x + x * i, joined, and the last.
std::shared_ptr<Model> loop_model(const Output<Node>& condition, const std::shared_ptr<op::v0::Parameter>& x) {
  const auto state = std::make_shared<op::v0::Parameter>(element::f32, x->get_partial_shape()),
             number = std::make_shared<op::v0::Parameter>(element::i64, PartialShape{}),
             goes_on = std::make_shared<op::v0::Parameter>(element::boolean, PartialShape{});
  const auto next = make_node(
      "Add", 1, {state, make_node("Multiply", 1, {state, std::make_shared<op::v0::Convert>(number, element::f32)})});
  const auto loop = std::make_shared<op::v5::Loop>(ints({5}), condition);
  loop->set_function(std::make_shared<Model>(OutputVector{goes_on, next}, ParameterVector{number, goes_on, state}));
  loop->set_special_body_ports({0, 0});
  loop->set_invariant_input(goes_on, condition);
  loop->set_merged_input(state, x, next);
  const auto joined = loop->get_concatenated_slices(next, 0, 1, 1, -1, 0);
  loop->validate_and_infer_types();
  return model_of(std::make_shared<op::v0::Concat>(OutputVector{joined, x}, 0), x);
}

TEST(UnrollLoops, MakesACopyOfTheBodyForEachIteration) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 3});
  const auto model = loop_model(constant({}, {1}, element::boolean), x);
  expect_same_after(model, only(pass::unroll_loops()), {1, 3});
  EXPECT_EQ(count(*model, "Loop"), 0u);
  EXPECT_EQ(count(*model, "Add"), 5u);
}

TEST(UnrollLoops, LeavesLoopsThatAreTooLargeOrMayEnd) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 3});
  EXPECT_FALSE(only(pass::unroll_loops(10)).run(loop_model(constant({}, {1}, element::boolean), x)));
  const auto goes_on = make_node("Greater", 1, {make_node("ReduceSum", 1, {x, ints({0, 1})}), constant({}, {0})});
  const auto model = loop_model(goes_on, x);
  EXPECT_FALSE(only(pass::unroll_loops()).run(model));
  EXPECT_EQ(count(*model, "Loop"), 1u);
}

TEST(UnrollLoops, ALoopThatNeverBeginsStaysUntilItsExtentsAreKnown) {
  const auto never = [](const PartialShape& shape) {
    return loop_model(constant({}, {0}, element::boolean), std::make_shared<op::v0::Parameter>(element::f32, shape));
  };
  EXPECT_FALSE(only(pass::unroll_loops()).run(never(PartialShape{1, Dimension::dynamic()})))
      << "nothing of an unknown extent would have an extent of 0";
  const auto model = never(PartialShape{1, 3});
  expect_same_after(model, only(pass::unroll_loops()), {1, 3});
  EXPECT_EQ(count(*model, "Loop"), 0u);
}

TEST(UnrollLoops, MakesNoMoreNodesInAllThanItMay) {
  const auto model = [] {
    const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 3});
    return loop_model(constant({}, {1}, element::boolean), x);
  };
  std::size_t nodes = 0;
  for (const auto& node : model()->get_ordered_ops())
    if (const auto* loop = dynamic_cast<const op::util::SubGraphOp*>(node.get()))
      nodes = 5 * loop->get_function()->get_ordered_ops().size();
  const auto unroll = only(pass::unroll_loops(nodes * 3 / 2));
  EXPECT_TRUE(unroll.run(model()));
  EXPECT_FALSE(unroll.run(model())) << "what is left is not enough for another";
}

TEST(Manager, ShowsEachPassToTheHookAndNamesTheOneThatFails) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{2});
  const auto model = model_of(std::make_shared<op::v0::Relu>(x), x);
  auto manager = pass::common_passes();
  std::vector<std::string> seen;
  manager.set_hook([&](const Model&, const std::string& name, bool) { seen.push_back(name); });
  EXPECT_FALSE(manager.run(model));
  EXPECT_EQ(seen.size(), manager.passes().size());
  try {
    only({"broken", [](Model&) -> bool { throw Error(Code::kInternal, "oh"); }}).run(model);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("pass broken"), std::string::npos);
  }
}
}  // namespace pass_test
