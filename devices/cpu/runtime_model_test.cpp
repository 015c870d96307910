// SPDX-License-Identifier: Apache-2.0
// get_runtime_model() of the CPU device: static models, imported ones, and dynamic ones.
#include <algorithm>
#include <map>
#include <sstream>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tenon/engine/testing/judged_models.hpp>
#include <tenon/engine/testing/sound_steps.hpp>
#include <tenon/graph/exec_model_info.hpp>
#include <tenon/runtime/runtime.hpp>

namespace tenon {
namespace cpu_runtime_model_test {

namespace info = exec_model_info;
using engine_test::fault_of;
using engine_test::note;
using engine_test::op1;
using engine_test::Out;
using ::testing::HasSubstr;
using Ints = std::vector<std::int64_t>;

Out named(const Out& value, const std::string& name) {
  value.get_node()->set_friendly_name(name);
  return value;
}

/// Types that a pass widens, then a fusion.
std::shared_ptr<Model> network(const PartialShape& shape) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, shape);
  x->set_friendly_name("x");
  x->output(0).set_names({"image"});
  const Out half = named(op1("Convert", 1, {x}, {{"destination_type", element::f16}}), "half");
  const Out full = named(op1("Convert", 1, {half}, {{"destination_type", element::f32}}), "full");
  const Out stem = named(std::make_shared<op::v1::Convolution>(full, engine_test::weights(Shape{16, 3, 3, 3}),
                                                               Ints{1, 1}, Ints{1, 1}, Ints{1, 1}, Ints{1, 1}),
                         "stem");
  const Out gate = named(op1("Sigmoid", 1, {stem}), "gate");
  const Out swish = named(op1("Multiply", 1, {stem, gate}), "swish");
  const Out mean = named(op1("ReduceMean", 1, {swish, engine_test::ints({2, 3})}, {{"keep_dims", true}}), "mean");
  mean.get_tensor().set_names({"features"});
  return std::make_shared<Model>(OutputVector{mean}, ParameterVector{x}, "network");
}

std::shared_ptr<Node> find(const Model& model, const std::string& name) {
  for (const auto& node : model.get_ordered_ops())
    if (node->get_friendly_name() == name) return node;
  return nullptr;
}

Tensor image(const Shape& shape) { return engine_test::random_tensor(ElementType::kF32, shape, 3); }

TEST(CpuRuntimeModel, HasTheProfilesStepsAndTimes) {
  Core core;
  const auto model = network({1, 3, 16, 16});
  auto compiled = core.compile_model(model, "CPU", {enable_profiling(true)});
  auto steps = compiled.get_runtime_model();
  EXPECT_EQ(fault_of(*model, *steps), "");
  EXPECT_EQ(steps->input("image").get_shape(), (Shape{1, 3, 16, 16}));
  EXPECT_EQ(steps->output("features").get_shape(), (Shape{1, 16, 1, 1}));
  for (const auto& node : steps->get_ordered_ops()) EXPECT_EQ(note(*node, info::PERF_COUNTER), info::kNotExecuted);
  auto request = compiled.create_infer_request();
  request.set_tensor("image", image({1, 3, 16, 16}));
  request.infer();
  steps = compiled.get_runtime_model();
  std::size_t executed = 0;
  for (const ProfilingInfo& profiled : request.get_profiling_info()) {
    if (profiled.status != ProfilingInfo::Status::EXECUTED) continue;
    ++executed;
    const auto node = find(*steps, profiled.node_name);
    ASSERT_TRUE(node) << profiled.node_name;
    EXPECT_EQ(note(*node, info::LAYER_TYPE), profiled.node_type);
    EXPECT_EQ(note(*node, info::IMPL_TYPE), profiled.exec_type);
    EXPECT_EQ(note(*node, info::PERF_COUNTER), std::to_string(profiled.real_time.count()));
  }
  const auto ops = steps->get_ordered_ops();
  EXPECT_EQ(executed, static_cast<std::size_t>(std::count_if(
                          ops.begin(), ops.end(), [](const auto& node) { return is_op(node, "ExecutionNode"); })));
}

TEST(CpuRuntimeModel, IsThatOfTheModelThatWasExported) {
  Core core;
  for (const PartialShape& shape : {PartialShape{1, 3, 16, 16}, PartialShape{Dimension(), 3, 16, 16}}) {
    const auto model = network(shape);
    auto compiled = core.compile_model(model, "CPU");
    std::stringstream blob;
    compiled.export_model(blob);
    auto imported = core.import_model(blob, "CPU");
    std::map<std::string, std::string> all[2];
    for (int i = 0; i < 2; ++i) {
      auto request = (i ? imported : compiled).create_infer_request();
      request.set_tensor("image", image({1, 3, 16, 16}));
      request.infer();
      const auto steps = (i ? imported : compiled).get_runtime_model();
      EXPECT_EQ(fault_of(*model, *steps), "") << (i ? "imported" : "compiled");
      for (const auto& node : steps->get_ordered_ops())
        for (const auto& [key, value] : node->get_rt_info())
          all[i][node->get_friendly_name() + " " + key] = value.to_text();
    }
    EXPECT_EQ(all[0], all[1]);
  }
}

TEST(CpuRuntimeModel, IsOfTheShapesThatRanLast) {
  Core core;
  const auto model = network({Dimension(), 3, Dimension(), Dimension()});
  auto compiled = core.compile_model(model, "CPU");
  try {
    compiled.get_runtime_model();
    FAIL() << "nothing has run";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kFailedPrecondition);
    EXPECT_THAT(error.what(), HasSubstr("'network'"));
    EXPECT_THAT(error.what(), HasSubstr("infer once"));
  }
  auto one = compiled.create_infer_request(), other = compiled.create_infer_request();
  const auto shape_after = [&](InferRequest& request, const Shape& shape) {
    request.set_tensor("image", image(shape));
    request.infer();
    const auto steps = compiled.get_runtime_model();
    EXPECT_EQ(fault_of(*model, *steps), "");
    return steps->input().get_shape();
  };
  const Shape large{2, 3, 20, 24}, small{1, 3, 16, 16};
  EXPECT_EQ(shape_after(one, large), large);
  EXPECT_EQ(shape_after(one, small), small);
  EXPECT_EQ(shape_after(other, small), small);
  EXPECT_EQ(shape_after(other, large), large);
  EXPECT_EQ(shape_after(one, small), small) << "of a plan that its request has already";
}

TEST(CpuRuntimeModel, MayBeAskedForWhileRequestsRun) {
  Core core;
  auto compiled = core.compile_model(network({Dimension(), 3, Dimension(), Dimension()}), "CPU");
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      auto request = compiled.create_infer_request();
      for (std::size_t i = 0; i < 20; ++i) {
        request.set_tensor("image", image({1, 3, 8 + (i * (t + 1)) % 9, 8 + i}));
        request.infer();
        EXPECT_GT(compiled.get_runtime_model()->get_ordered_ops().size(), 3u);
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

/// Keys that grow by the input and are read as a whole: a cache of a language model.
TEST(CpuRuntimeModel, ShowsCachesThatGrow) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, Dimension(), 8});
  x->set_friendly_name("x");
  const auto none = op::v0::Constant::create(element::f32, Shape{1, 0, 8}, std::vector<double>{});
  const auto cache = make_node(
      "ReadValue", 6, {none},
      {{"variable_id", "keys"}, {"variable_type", element::f32}, {"variable_shape", PartialShape{1, Dimension(), 8}}},
      "read");
  const Out grown = named(op1("Concat", 1, {cache->output(0), x}, {{"axis", 1}}), "grown");
  const auto assign = make_node("Assign", 6, {grown}, {{"variable_id", "keys"}}, "assign");
  const Out sum = named(op1("ReduceSum", 1, {grown, engine_test::ints({1})}, {{"keep_dims", false}}), "sum");
  sum.get_tensor().set_names({"sum"});
  const auto model = std::make_shared<Model>(OutputVector{sum}, SinkVector{assign}, ParameterVector{x}, "cache");
  Core core;
  auto compiled = core.compile_model(model, "CPU");
  auto request = compiled.create_infer_request();
  for (std::size_t rows : {3, 1, 1}) {
    request.set_input_tensor(image({1, rows, 8}));
    request.infer();
  }
  const auto steps = compiled.get_runtime_model();
  const auto append = find(*steps, "grown"), read = find(*steps, "keys");
  ASSERT_TRUE(append && read);
  EXPECT_EQ(note(*read, info::LAYER_TYPE), "ReadValue");
  EXPECT_EQ(note(*append, info::BYTES_WRITTEN), "32") << "one row, behind those that are there";
  std::vector<std::string> sources;
  for (const auto& source : append->input_values()) sources.push_back(source.get_node()->get_friendly_name());
  EXPECT_THAT(sources, ::testing::UnorderedElementsAre("x", "keys"));
  EXPECT_EQ(find(*steps, "sum")->get_input_node_ptr(0), append.get());
}

}  // namespace cpu_runtime_model_test
}  // namespace tenon
