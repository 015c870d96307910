// SPDX-License-Identifier: Apache-2.0
// The model of the steps that run: names, order, data flow, layouts and bytes.
#include <tenon/engine/runtime_model.hpp>

#include <algorithm>
#include <set>

#include <gmock/gmock.h>

#include <tenon/core/error.hpp>
#include <tenon/engine/packed_model.hpp>
#include <tenon/engine/plan/flow.hpp>
#include <tenon/engine/testing/instruction_sets.hpp>
#include <tenon/engine/testing/judged_models.hpp>
#include <tenon/engine/testing/sound_steps.hpp>
#include <tenon/graph/exec_model_info.hpp>
#include <tenon/graph/subgraph.hpp>

namespace tenon::engine_test {
namespace engine_runtime_model_test {

namespace info = exec_model_info;
using op::v0::Constant;
using ::testing::Contains;
using ::testing::IsSupersetOf;
using ::testing::UnorderedElementsAre;

std::shared_ptr<Node> find(const Model& model, const std::string& name) {
  for (const auto& node : model.get_ordered_ops())
    if (node->get_friendly_name() == name) return node;
  return nullptr;
}
std::vector<std::shared_ptr<Node>> of_type(const Model& model, const std::string& type) {
  std::vector<std::shared_ptr<Node>> all;
  for (const auto& node : model.get_ordered_ops())
    if (note(*node, info::LAYER_TYPE) == type) all.push_back(node);
  return all;
}

std::shared_ptr<Model> executed(const std::shared_ptr<Model>& model, const engine::Options& options = {}) {
  return engine::runtime_model(*engine::Plan::compile(model, options));
}

Out named(const Out& value, const std::string& name) {
  value.get_node()->set_friendly_name(name);
  return value;
}

std::string to_string(const Model& model) {
  std::string text;
  for (const auto& node : model.get_ordered_ops()) {
    text += std::string(node->get_type_name()) + " " + node->get_friendly_name() + " <-";
    for (const auto& source : node->input_values()) text += " " + source.get_node()->get_friendly_name();
    for (const auto& output : node->outputs()) text += " -> " + output.get_partial_shape().to_string();
    for (const auto& [key, value] : node->get_rt_info()) text += "\n    " + key + "=" + value.to_text();
    text += "\n";
  }
  return text + model.get_rt_info().at(info::OPTIMIZED_OUT_NAMES).to_text() + "\n";
}

std::shared_ptr<Model> small_net() {
  auto x = parameter(Shape{1, 16, 14, 14});
  x->set_friendly_name("x");
  const Out first = named(op1("Relu", 1, {named(convolution(x, 32, 3, 1, 1), "first")}), "relu");
  const Out scaled = named(op1("Multiply", 1, {first, named(op1("Exp", 1, {scalar(0.5)}), "constant exp")}), "scaled");
  const Out second = named(convolution(scaled, 32, 3, 1, 1), "second");
  const Out sum = named(op1("Add", 1, {second, scaled}), "sum");
  const Out both = named(op1("Concat", 1, {sum, scaled}, {{"axis", 1}}), "both");
  const Out flat = named(op1("Reshape", 1, {both, ints({1, -1})}, {{"special_zero", false}}), "flat");
  const Out product = named(op1("MatMul", 1, {flat, weights(Shape{64 * 14 * 14, 10})}), "product");
  const Out soft = named(op1("Softmax", 8, {product}, {{"axis", 1}}), "soft");
  return std::make_shared<Model>(OutputVector{soft}, ParameterVector{x}, "small");
}

TEST(RuntimeModel, HasEachStepWithItsNodesBetweenInputsAndOutputs) {
  const auto model = small_net();
  const auto plan = engine::Plan::compile(model);
  const auto made = engine::runtime_model(*plan);
  EXPECT_EQ(fault_of(*model, *made), "") << to_string(*made);
  std::size_t steps = 0;
  for (const auto& node : made->get_ordered_ops()) steps += std::string(node->get_type_name()) == "ExecutionNode";
  EXPECT_EQ(steps, plan->steps().size());
  const auto first = find(*made, "first"), second = find(*made, "second");
  EXPECT_EQ(note(*first, info::LAYER_TYPE), "Convolution");
  EXPECT_THAT(split(note(*first, info::ORIGINAL_NAMES)), IsSupersetOf({"first", "relu"}));
  // What the profile calls the kernel.
  for (const auto& step : plan->steps()) EXPECT_EQ(note(*find(*made, step.node_name), info::IMPL_TYPE), step.kernel);
  // [1, 16, 14, 14] times [32, 16, 3, 3].
  EXPECT_EQ(note(*first, info::MULTIPLY_ADDS), std::to_string(32 * 14 * 14 * 16 * 9));
  EXPECT_EQ(note(*find(*made, "product"), info::MULTIPLY_ADDS), std::to_string(64 * 14 * 14 * 10));
  EXPECT_GE(number(*first, info::WEIGHT_BYTES), 32u * 16 * 9 * 4);
  EXPECT_EQ(number(*find(*made, "soft"), info::BYTES_READ), 40u);
  EXPECT_EQ(number(*find(*made, "soft"), info::BYTES_WRITTEN), 40u);
  EXPECT_EQ(note(*find(*made, "soft"), info::MULTIPLY_ADDS), "(none)");
  // The values that meet in "sum" come from their makers, whatever the steps' order.
  std::set<const Node*> sources;
  for (const auto& source : second->input_values()) sources.insert(source.get_node());
  EXPECT_TRUE(sources.count(first.get())) << to_string(*made);
  EXPECT_THAT(split(made->get_rt_info().at(info::OPTIMIZED_OUT_NAMES).to_text()), Contains("flat")) << "a view";
  EXPECT_EQ(note(*first, info::FOLDED_NAMES), "constant exp");
}

TEST(RuntimeModel, ShowsEveryNodeWithoutFusionAndByReferenceKernels) {
  const auto model = small_net();
  engine::Options plain;
  plain.fuse = false;
  auto made = executed(model, plain);
  EXPECT_EQ(fault_of(*model, *made), "") << to_string(*made);
  EXPECT_EQ(note(*find(*made, "relu"), info::LAYER_TYPE), "Relu");
  engine::Options reference;
  reference.reference_only = true;
  made = executed(model, reference);
  EXPECT_EQ(fault_of(*model, *made), "") << to_string(*made);
  EXPECT_EQ(note(*find(*made, "first"), info::IMPL_TYPE), "reference");
  EXPECT_EQ(number(*find(*made, "first"), info::BYTES_WRITTEN), 32u * 14 * 14 * 4);
  EXPECT_TRUE(of_type(*made, "Reorder").empty());
}

TEST(RuntimeModel, NamesLayoutsAndTheReordersBetweenThem) {
  if (!has_channel_blocks()) GTEST_SKIP() << "no layouts but the plain one";
  const auto model = small_net();
  engine::Options options;
  options.images = engine::Options::Images::kChannelsLast;
  auto made = executed(model, options);
  EXPECT_EQ(note(*find(*made, "x"), info::OUTPUT_LAYOUTS), "abcd");
  EXPECT_EQ(note(*find(*made, "second"), info::OUTPUT_LAYOUTS), "acdb");
  const auto reorders = of_type(*made, "Reorder");
  ASSERT_EQ(reorders.size(), 2u) << to_string(*made);
  EXPECT_EQ(reorders[0]->get_friendly_name(), "x/reorder");
  EXPECT_EQ(note(*reorders[0], info::OUTPUT_LAYOUTS), "acdb");
  EXPECT_EQ(note(*reorders[0], info::ORIGINAL_NAMES), "") << "the engine inserted it";
  EXPECT_EQ(number(*reorders[0], info::BYTES_READ), 16u * 14 * 14 * 4);
  EXPECT_EQ(number(*reorders[0], info::BYTES_WRITTEN), 16u * 14 * 14 * 4);
  EXPECT_EQ(reorders[0]->get_input_node_ptr(0), find(*made, "x").get());
  EXPECT_EQ(find(*made, "first")->get_input_node_ptr(0), reorders[0].get());
  EXPECT_EQ(note(*reorders[1], info::OUTPUT_LAYOUTS), "abcd") << "back, for the product";
  options.images = engine::Options::Images::kBlocks;
  made = executed(model, options);
  const bool wide = dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core;
  EXPECT_EQ(note(*find(*made, "second"), info::OUTPUT_LAYOUTS), wide ? "aBcd16b" : "aBcd8b");
  if (!wide) return;
  // What the engine chooses by itself here.
  EXPECT_EQ(note(*find(*executed(model), "second"), info::OUTPUT_LAYOUTS), "acdb");
}

TEST(RuntimeModel, NamesTypesInWhichValuesLie) {
  if (!engine::has_native_bf16()) GTEST_SKIP() << "no bf16 here";
  engine::Options options;
  options.precision = ElementType::kBf16;
  const auto model = small_net();
  const auto made = executed(model, options);
  EXPECT_EQ(fault_of(*model, *made), "") << to_string(*made);
  const auto second = find(*made, "second");
  EXPECT_EQ(note(*second, info::OUTPUT_PRECISIONS), "bf16");
  EXPECT_EQ(note(*second, info::RUNTIME_PRECISION), "bf16");
  EXPECT_EQ(second->get_output_element_type(0), element::bf16);
  EXPECT_EQ(number(*second, info::BYTES_WRITTEN), 32u * 14 * 14 * 2);
}

TEST(RuntimeModel, LayoutNamesFollowMemory) {
  using tag = dnnl::memory::format_tag;
  using type = dnnl::memory::data_type;
  const dnnl::memory::dims dims{2, 32, 5, 7};
  EXPECT_EQ(engine::layout_name(engine::md(dims, type::f32, tag::nchw), 4), "abcd");
  EXPECT_EQ(engine::layout_name(engine::md(dims, type::f32, tag::nhwc), 4), "acdb");
  EXPECT_EQ(engine::layout_name(engine::md(dims, type::f32, tag::nChw16c), 4), "aBcd16b");
  EXPECT_EQ(engine::layout_name(engine::md(dims, type::f32, tag::OIhw4i16o4i), 4), "ABcd4b16a4b");
  EXPECT_EQ(engine::layout_name(engine::md({8, 3}, type::f32, tag::ba), 2), "ba");
  EXPECT_EQ(engine::layout_name(engine::md({1, 1, 5, 7}, type::f32, tag::nhwc), 4), "abcd") << "the same order";
  EXPECT_EQ(engine::layout_name({}, 3), "abc");
  EXPECT_EQ(engine::layout_name({}, 0), "a");
}

TEST(RuntimeModel, KeepsNamesOfWhatPassesReplace) {
  auto x = parameter(Shape{2, 8, 16});
  x->set_friendly_name("x");
  const Out gate = named(op1("Sigmoid", 1, {x}), "gate");
  const Out swish = named(op1("Multiply", 1, {x, gate}), "swish");
  const Out mean = named(op1("ReduceMean", 1, {swish, ints({-1})}, {{"keep_dims", true}}), "mean");
  const Out centred = named(op1("Subtract", 1, {swish, mean}), "centred");
  const Out square = named(op1("Power", 1, {centred, scalar(2)}), "square");
  const Out variance = named(op1("ReduceMean", 1, {square, ints({-1})}, {{"keep_dims", true}}), "variance");
  const Out safe = named(op1("Add", 1, {variance, scalar(1e-5)}), "safe");
  const Out deviation = named(op1("Sqrt", 1, {safe}), "deviation");
  const Out normal = named(op1("Divide", 1, {centred, deviation}), "normal");
  const Out same = named(op1("Reshape", 1, {normal, ints({2, 8, 16})}, {{"special_zero", false}}), "same");
  const Out shape = named(op1("ShapeOf", 3, {same}, {{"output_type", ElementType::kI64}}), "shape");
  const Out as_it_was = named(op1("Reshape", 1, {op1("Relu", 1, {same}), shape}, {{"special_zero", false}}), "end");
  const auto model = std::make_shared<Model>(OutputVector{as_it_was}, ParameterVector{x}, "normalised");
  const auto made = executed(model);
  EXPECT_EQ(fault_of(*model, *made), "") << to_string(*made);
  const auto swished = find(*made, "swish"), normalised = find(*made, "normal");
  ASSERT_TRUE(swished && normalised) << to_string(*made);
  EXPECT_THAT(split(note(*swished, info::ORIGINAL_NAMES)), IsSupersetOf({"gate", "swish"}));
  EXPECT_THAT(split(note(*normalised, info::ORIGINAL_NAMES)),
              IsSupersetOf({"mean", "centred", "square", "variance", "safe", "deviation", "normal"}));
}

TEST(RuntimeModel, NamesEveryNodeOfALoop) {
  const auto x = parameter({2, 40, 7}), y = parameter({40, 1});
  const Out sum = named(op1("Add", 1, {x, y}), "sum"), whole = named(op1("Floor", 1, {sum}), "whole");
  const Out rest = named(op1("Subtract", 1, {sum, whole}), "rest"), end = named(op1("Maximum", 1, {rest, y}), "end");
  const auto model = std::make_shared<Model>(OutputVector{end}, ParameterVector{x, y}, "loop");
  const auto made = executed(model);
  const auto step = find(*made, "end");
  ASSERT_TRUE(step) << to_string(*made);
  EXPECT_EQ(note(*step, info::IMPL_TYPE), "fused loop");
  EXPECT_THAT(split(note(*step, info::ORIGINAL_NAMES)), UnorderedElementsAre("sum", "whole", "rest", "end"));
  EXPECT_EQ(made->get_rt_info().at(info::OPTIMIZED_OUT_NAMES).to_text(), "");
}

TEST(RuntimeModel, SurvivesPacking) {
  const auto model = small_net();
  const auto plan = engine::Plan::compile(model);
  const auto again = engine::restore_plan(engine::packed_model_of(*plan), plan->options());
  EXPECT_EQ(to_string(*engine::runtime_model(*again)), to_string(*engine::runtime_model(*plan)));
}

TEST(RuntimeModel, JoinsPartsThatAreWrittenInPlace) {
  auto x = parameter(Shape{1, 4, 6}), y = parameter(Shape{1, 2, 6});
  const Out left = named(op1("Tanh", 1, {x}), "left"), right = named(op1("Exp", 1, {y}), "right");
  const Out joined = named(op1("Concat", 1, {left, right}, {{"axis", 1}}), "joined");
  const auto model = std::make_shared<Model>(OutputVector{joined}, ParameterVector{x, y}, "join");
  const auto made = executed(model);
  EXPECT_EQ(fault_of(*model, *made), "") << to_string(*made);
  const auto node = find(*made, "joined");
  ASSERT_TRUE(node) << to_string(*made);
  EXPECT_EQ(note(*node, info::IMPL_TYPE), "in place");
  EXPECT_EQ(number(*node, info::BYTES_WRITTEN), 0u);
  ASSERT_EQ(node->get_input_size(), 2u);
  EXPECT_EQ(node->get_input_node_ptr(0)->get_friendly_name(), "left");
  EXPECT_EQ(node->get_input_node_ptr(1)->get_friendly_name(), "right");
  EXPECT_EQ(node->get_output_partial_shape(0), (PartialShape{1, 6, 6}));
  // A reader of such a value reads from all steps that made it.
  const auto read = std::make_shared<Model>(OutputVector{named(op1("Softmax", 8, {joined}, {{"axis", 1}}), "soft")},
                                            ParameterVector{x, y}, "read");
  const auto soft = find(*executed(read), "soft");
  ASSERT_TRUE(soft);
  EXPECT_EQ(soft->get_input_size(), 2u);
}

TEST(RuntimeModel, CountsOnlyTheCopiedPartsOfAJoin) {
  auto x = parameter(Shape{4, 6}), y = parameter(Shape{2, 6});
  const Out left = named(op1("Tanh", 1, {x}), "left");
  const Out joined = named(op1("Concat", 1, {left, y}, {{"axis", 0}}), "joined");
  const Out soft = named(op1("Softmax", 8, {left}, {{"axis", 1}}), "soft");
  const auto model = std::make_shared<Model>(OutputVector{joined, soft}, ParameterVector{x, y}, "join");
  const auto made = executed(model);
  EXPECT_EQ(fault_of(*model, *made), "") << to_string(*made);
  const auto join = find(*made, "joined");
  ASSERT_TRUE(join) << to_string(*made);
  EXPECT_EQ(number(*join, info::BYTES_READ), 2u * 6 * 4) << "the other part lies there";
  EXPECT_EQ(number(*join, info::BYTES_WRITTEN), 2u * 6 * 4);
  EXPECT_EQ(join->get_input_size(), 2u);
  ASSERT_EQ(find(*made, "soft")->get_input_size(), 1u);
  EXPECT_EQ(find(*made, "soft")->get_input_node_ptr(0), find(*made, "left").get());
}

TEST(RuntimeModel, SumsReadWhatTheyAddTo) {
  auto x = parameter(Shape{1, 16, 8, 8});
  const Out left = named(convolution(x, 32, 3, 1, 1), "left"), right = named(convolution(x, 32, 1, 1, 0), "right");
  const Out sum = named(op1("Add", 1, {right, left}), "sum");
  const auto model = std::make_shared<Model>(OutputVector{sum}, ParameterVector{x}, "sum");
  const auto made = executed(model);
  EXPECT_EQ(fault_of(*model, *made), "") << to_string(*made);
  std::size_t sums = 0;
  for (const auto& node : made->get_ordered_ops()) {
    const auto names = split(note(*node, info::ORIGINAL_NAMES));
    if (std::find(names.begin(), names.end(), "sum") == names.end()) continue;
    ++sums;
    // Beside a picture, the whole of the other product, which it writes over or not.
    EXPECT_EQ(node->get_input_size(), 2u) << to_string(*made);
    EXPECT_GE(number(*node, info::BYTES_READ), (16u + 32) * 8 * 8 * 4);
  }
  EXPECT_EQ(sums, 1u);
}

TEST(RuntimeModel, SaysWhichPartOfAValueIsRead) {
  auto x = parameter(Shape{4, 10});
  const auto split_node = make_node("Split", 1, {x, scalar_int(0)}, {{"num_splits", 2}}, "halves");
  // The first half lies where the whole does.
  const Out half = named(op1("Softmax", 8, {split_node->output(0)}, {{"axis", 1}}), "half");
  const Out other = named(op1("Softmax", 8, {split_node->output(1)}, {{"axis", 1}}), "other");
  const Out whole = named(op1("Softmax", 8, {x}, {{"axis", 1}}), "whole");
  const auto model = std::make_shared<Model>(OutputVector{half, other, whole}, ParameterVector{x}, "halves");
  const auto made = executed(model);
  EXPECT_EQ(fault_of(*model, *made), "") << to_string(*made);
  EXPECT_EQ(number(*find(*made, "half"), info::BYTES_READ), 2u * 10 * 4);
  EXPECT_EQ(number(*find(*made, "other"), info::BYTES_READ), 2u * 10 * 4);
  EXPECT_EQ(number(*find(*made, "whole"), info::BYTES_READ), 4u * 10 * 4);
}

TEST(RuntimeModel, ShowsResultsThatAreOnlyCopied) {
  auto x = parameter(Shape{3}), nothing = parameter(Shape{0});
  const Out known = weights(Shape{5});
  const auto model = std::make_shared<Model>(OutputVector{x, x, known, named(op1("Relu", 1, {nothing}), "empty")},
                                             ParameterVector{x, nothing}, "copies");
  const auto made = executed(model);
  ASSERT_EQ(made->get_results().size(), 4u);
  EXPECT_EQ(made->get_results()[0]->get_input_node_ptr(0), made->get_parameters()[0].get());
  EXPECT_EQ(made->get_results()[1]->get_input_node_ptr(0), made->get_parameters()[0].get());
  EXPECT_EQ(note(*made->get_results()[0], info::IMPL_TYPE), "copy");
  EXPECT_EQ(number(*made->get_results()[0], info::BYTES_WRITTEN), 12u);
  EXPECT_EQ(number(*made->get_results()[2], info::WEIGHT_BYTES), 20u);
  EXPECT_EQ(note(*made->get_results()[2]->get_input_node_ptr(0), info::LAYER_TYPE), "Const");
  EXPECT_EQ(made->get_results()[2]->get_input_partial_shape(0), PartialShape{5});
  EXPECT_EQ(made->get_results()[3]->get_input_partial_shape(0), PartialShape{0});
}

TEST(RuntimeModel, StatesComeFromMemoryAndGoThere) {
  auto x = parameter(Shape{2, 3});
  const auto zero = Constant::create(element::f32, Shape{2, 3}, std::vector<double>(6, 0.0));
  const auto read = make_node(
      "ReadValue", 6, {zero},
      {{"variable_id", "sum"}, {"variable_type", element::f32}, {"variable_shape", PartialShape{2, 3}}}, "read");
  const Out sum = named(op1("Add", 1, {x, read->output(0)}), "sum");
  const auto assign = make_node("Assign", 6, {sum}, {{"variable_id", "sum"}}, "assign");
  const Out out = named(op1("Softmax", 8, {op1("Sqrt", 1, {sum})}, {{"axis", 1}}), "out");
  const auto model = std::make_shared<Model>(OutputVector{out}, SinkVector{assign}, ParameterVector{x}, "state");
  const auto made = executed(model);
  EXPECT_EQ(fault_of(*model, *made), "") << to_string(*made);
  const auto before = of_type(*made, "ReadValue");
  ASSERT_FALSE(before.empty()) << to_string(*made);
  std::set<std::string> sources;
  for (const auto& source : find(*made, "sum")->input_values())
    sources.insert(note(*source.get_node(), info::LAYER_TYPE));
  EXPECT_THAT(sources, Contains("ReadValue")) << to_string(*made);
}

/// A model that is cut at its NonZero.
std::shared_ptr<Model> cut_net() {
  auto x = parameter(Shape{1, 3, 8, 8});
  x->set_friendly_name("x");
  const Out feature = named(op1("Relu", 1, {named(convolution(x, 4, 3, 1, 1), "convolution")}), "relu");
  const Out flat = named(op1("Reshape", 1, {feature, ints({-1})}, {{"special_zero", false}}), "flat");
  const Out where = named(op1("NonZero", 3, {flat}, {{"output_type", ElementType::kI64}}), "where");
  const Out line = named(op1("Squeeze", 1, {where, ints({0})}), "line");
  const Out picked = named(op1("Gather", 8, {flat, line, scalar_int(0)}), "picked");
  const Out scaled = named(op1("Sigmoid", 1, {picked}), "scaled");
  const Out sum = named(op1("ReduceSum", 1, {scaled, ints({0})}, {{"keep_dims", false}}), "sum");
  return std::make_shared<Model>(OutputVector{sum, feature, scaled, where}, ParameterVector{x}, "cut");
}

TEST(RuntimeModel, ShowsStagesAndTheNodesBetweenThem) {
  const auto model = cut_net();
  engine::Options options;
  options.threads = 2;
  options.profile = true;
  engine::Staged staged(options);
  engine::Workers workers(2);
  EXPECT_THROW(engine::runtime_model(*model, {}), Error) << "nothing has run";
  for (unsigned seed = 1; seed < 4; ++seed) {
    const auto results = staged.run(model, {random_tensor(ElementType::kF32, Shape{1, 3, 8, 8}, seed)}, workers);
    const auto made = engine::runtime_model(*model, staged.last_run());
    EXPECT_EQ(fault_of(*model, *made), "") << to_string(*made);
    const auto where = find(*made, "where"), picked = find(*made, "picked"), first = find(*made, "convolution");
    ASSERT_TRUE(where && picked && first) << to_string(*made);
    EXPECT_EQ(note(*where, info::LAYER_TYPE), "NonZero");
    EXPECT_LT(number(*first, info::EXECUTION_ORDER), number(*where, info::EXECUTION_ORDER));
    EXPECT_LT(number(*where, info::EXECUTION_ORDER), number(*picked, info::EXECUTION_ORDER));
    // As many as there were in this run.
    EXPECT_EQ(where->get_output_partial_shape(0), PartialShape(results[3].shape()));
    EXPECT_EQ(find(*made, "scaled")->get_output_partial_shape(0), PartialShape(results[2].shape()));
    for (const auto& step : staged.timed_steps()) {
      if (step.step.node_type == "Result") continue;
      const auto node = find(*made, step.step.node_name);
      ASSERT_TRUE(node) << step.step.node_name;
      EXPECT_EQ(note(*node, info::IMPL_TYPE), step.step.kernel);
      EXPECT_NE(note(*node, info::PERF_COUNTER), info::kNotExecuted) << step.step.node_name;
    }
  }
}

TEST(RuntimeModel, HasTheTimesOfItsSteps) {
  const auto plan = engine::Plan::compile(small_net());
  std::vector<engine::Execution::Timing> times(plan->steps().size());
  for (std::size_t i = 0; i < times.size(); ++i) times[i].duration = std::chrono::microseconds(i + 1);
  const auto made = engine::runtime_model(*plan, times);
  for (std::size_t i = 0; i < times.size(); ++i)
    EXPECT_EQ(note(*find(*made, plan->steps()[i].node_name), info::PERF_COUNTER), std::to_string(i + 1));
  EXPECT_EQ(note(*made->get_parameters()[0], info::PERF_COUNTER), info::kNotExecuted);
}

TEST(RuntimeModel, CannotBeCompiled) {
  const auto made = executed(small_net());
  EXPECT_THROW(engine::Plan::compile(made), Error);
  const auto copy = made->clone();
  EXPECT_EQ(to_string(*copy), to_string(*made));
}

}  // namespace engine_runtime_model_test
}  // namespace tenon::engine_test
