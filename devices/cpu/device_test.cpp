// SPDX-License-Identifier: Apache-2.0
// The CPU device through the runtime: found by name, configured, run in streams, profiled, with dynamic shapes.
#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/subgraph.hpp>
#include <tenon/runtime/runtime.hpp>

namespace tenon {
namespace cpu_device_test {

using testing::Contains;
using testing::HasSubstr;

std::shared_ptr<Model> small_model(PartialShape shape = PartialShape{1, 3, 16, 16}) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, shape);
  x->output(0).set_names({"image"});
  std::vector<double> values(8 * 3 * 3 * 3);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<double>(i));
  const auto filter = op::v0::Constant::create(element::f32, Shape{8, 3, 3, 3}, values);
  const auto y =
      std::make_shared<op::v1::Convolution>(x, filter, std::vector<std::int64_t>{1, 1}, std::vector<std::int64_t>{1, 1},
                                            std::vector<std::int64_t>{1, 1}, std::vector<std::int64_t>{1, 1});
  y->set_friendly_name("stem");
  const auto relu = std::make_shared<op::v0::Relu>(y);
  relu->set_friendly_name("relu");
  relu->output(0).set_names({"features"});
  return std::make_shared<Model>(OutputVector{relu->output(0)}, ParameterVector{x}, "small");
}

Tensor pattern(const Shape& shape, float phase = 0) {
  Tensor tensor(element::f32, shape);
  for (std::size_t i = 0; i < tensor.element_count(); ++i)
    tensor.data<float>()[i] = std::cos(0.1f * static_cast<float>(i) + phase);
  return tensor;
}

void expect_equal(const Tensor& wanted, const Tensor& got) {
  ASSERT_EQ(wanted.shape(), got.shape());
  for (std::size_t i = 0; i < wanted.element_count(); ++i)
    ASSERT_NEAR(wanted.data<float>()[i], got.data<float>()[i], 1e-3f) << "element " << i;
}

/// Compares results in f32, which is not the device's default on CPUs with native bf16.
struct ExactCore : Core {
  ExactCore() { set_property("CPU", hint::inference_precision(element::f32)); }
};

TEST(CpuDevice, IsFoundAndAnswersItsProperties) {
  Core core;
  ASSERT_THAT(core.get_available_devices(), Contains("CPU"));
  EXPECT_FALSE(core.get_property("CPU", device::full_name).empty());
  EXPECT_THAT(core.get_property("CPU", device::capabilities), Contains("FP32"));
  for (const PropertyName& name : core.get_property("CPU", supported_properties))
    EXPECT_NO_THROW(core.get_property("CPU", name)) << name;
}

TEST(CpuDevice, InfersWhatTheReferenceDoes) {
  ExactCore core;
  const auto model = small_model();
  auto compiled = core.compile_model(model, "CPU");
  auto request = compiled.create_infer_request();
  for (const float phase : {0.f, 1.f}) {
    const Tensor input = pattern({1, 3, 16, 16}, phase);
    request.set_tensor("image", input);
    request.infer();
    expect_equal(evaluate(*model, {input})[0], request.get_tensor("features"));
  }
}

TEST(CpuDevice, SettingsDecideStreamsAndThreads) {
  Core core;
  const auto model = small_model();
  const auto optimal = [&](const AnyMap& properties) {
    return core.compile_model(model, "CPU", properties).get_property(optimal_number_of_infer_requests);
  };
  EXPECT_EQ(optimal({hint::performance_mode(hint::PerformanceMode::LATENCY)}), 1u);
  EXPECT_EQ(optimal({num_streams(3)}), 3u);
  EXPECT_EQ(optimal({hint::performance_mode(hint::PerformanceMode::THROUGHPUT), inference_num_threads(4)}), 4u);
  EXPECT_EQ(optimal({hint::performance_mode(hint::PerformanceMode::THROUGHPUT), inference_num_threads(4),
                     hint::num_requests(2u)}),
            2u);
  EXPECT_EQ(core.compile_model(model, "CPU", {inference_num_threads(1)}).get_property(inference_num_threads), 1);
  core.set_property("CPU", {num_streams(2)});
  EXPECT_EQ(optimal({}), 2u);
  core.set_property("CPU", {num_streams(streams::AUTO)});
}

TEST(CpuDevice, RefusesSettingsThatItCannotKeep) {
  Core core;
  const auto model = small_model();
  const auto refusal = [&](const AnyMap& properties) {
    try {
      core.compile_model(model, "CPU", properties);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refusal({{"NO_SUCH_SETTING", 1}}), HasSubstr("NO_SUCH_SETTING"));
  EXPECT_THAT(refusal({{"NUM_STREAMS", "-7"}}), HasSubstr("NUM_STREAMS"));
  EXPECT_THAT(refusal({{"INFERENCE_NUM_THREADS", -1}}), HasSubstr("INFERENCE_NUM_THREADS"));
  EXPECT_THAT(refusal({hint::inference_precision(element::i8)}), HasSubstr("f32"));
  EXPECT_THAT(refusal({{"DEVICE_ID", "5"}}), HasSubstr("DEVICE_ID"));
}

TEST(CpuDevice, RunsRequestsInParallelStreams) {
  ExactCore core;
  const auto model = small_model();
  auto compiled = core.compile_model(model, "CPU", {num_streams(2), inference_num_threads(2)});
  std::vector<InferRequest> requests;
  std::vector<Tensor> wanted;
  for (int i = 0; i < 6; ++i) {
    const Tensor input = pattern({1, 3, 16, 16}, static_cast<float>(i));
    wanted.push_back(evaluate(*model, {input})[0]);
    requests.push_back(compiled.create_infer_request());
    requests.back().set_tensor("image", input);
  }
  for (int round = 0; round < 20; ++round) {
    for (auto& request : requests) request.start_async();
    for (auto& request : requests) request.wait();
  }
  for (std::size_t i = 0; i < requests.size(); ++i) expect_equal(wanted[i], requests[i].get_tensor("features"));
}

TEST(CpuDevice, WritesIntoTheUsersOutput) {
  ExactCore core;
  const auto model = small_model();
  auto request = core.compile_model(model, "CPU").create_infer_request();
  const Tensor input = pattern({1, 3, 16, 16}), output(element::f32, Shape{1, 8, 16, 16});
  request.set_tensor("image", input);
  request.set_tensor("features", output);
  request.infer();
  expect_equal(evaluate(*model, {input})[0], output);
}

TEST(CpuDevice, ReportsTimesWhenAsked) {
  Core core;
  auto request = core.compile_model(small_model(), "CPU", {enable_profiling(true)}).create_infer_request();
  request.set_tensor("image", pattern({1, 3, 16, 16}));
  request.infer();
  std::set<std::string> executed, removed;
  for (const auto& info : request.get_profiling_info())
    (info.status == ProfilingInfo::Status::EXECUTED ? executed : removed).insert(info.node_name);
  EXPECT_THAT(executed, Contains("stem"));
  EXPECT_THAT(removed, Contains("relu"));
  auto silent = core.compile_model(small_model(), "CPU").create_infer_request();
  silent.set_tensor("image", pattern({1, 3, 16, 16}));
  silent.infer();
  EXPECT_THROW(silent.get_profiling_info(), Error);
}

TEST(CpuDevice, FollowsShapesThatChange) {
  ExactCore core;
  const auto model = small_model(PartialShape{Dimension(1, 4), 3, Dimension::dynamic(), Dimension::dynamic()});
  auto request = core.compile_model(model, "CPU").create_infer_request();
  for (const Shape& shape : {Shape{1, 3, 8, 9}, Shape{2, 3, 12, 5}, Shape{1, 3, 8, 9}}) {
    const Tensor input = pattern(shape);
    request.set_tensor("image", input);
    request.infer();
    expect_equal(evaluate(*model, {input})[0], request.get_tensor("features"));
  }
}

TEST(CpuDevice, PrecisionFollowsTheCpuTheModeAndWhatIsAsked) {
  Core core;
  const auto model = small_model();
  const auto precision = [&](const AnyMap& properties) {
    return core.compile_model(model, "CPU", properties).get_property(hint::inference_precision);
  };
  const auto capabilities = core.get_property("CPU", device::capabilities);
  const bool has_bf16 =
      std::find(capabilities.begin(), capabilities.end(), device::capability::BF16) != capabilities.end();
  EXPECT_EQ(precision({}), has_bf16 ? element::bf16 : element::f32);
  EXPECT_EQ(precision({hint::execution_mode(hint::ExecutionMode::ACCURACY)}), element::f32);
  EXPECT_EQ(precision({hint::inference_precision(element::f32)}), element::f32);
  EXPECT_EQ(precision({hint::inference_precision(element::f16)}), element::f32);
  EXPECT_EQ(precision({hint::inference_precision(element::bf16), hint::execution_mode(hint::ExecutionMode::ACCURACY)}),
            element::bf16);
  // The setting has an effect: results differ by bf16's rounding, and by no more.
  const Tensor input(element::f32, Shape{1, 3, 16, 16});
  for (std::size_t i = 0; i < input.get_size(); ++i)
    const_cast<float*>(input.data<float>())[i] = std::cos(static_cast<float>(i));
  const auto results = [&](element::Type type) {
    auto request = core.compile_model(model, "CPU", {hint::inference_precision(type)}).create_infer_request();
    request.set_input_tensor(input);
    request.infer();
    const Tensor output = request.get_output_tensor();
    return std::vector<float>(output.data<float>(), output.data<float>() + output.get_size());
  };
  const auto exact = results(element::f32), rounded = results(element::bf16);
  float largest = 0, difference = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    largest = std::max(largest, std::abs(exact[i]));
    difference = std::max(difference, std::abs(exact[i] - rounded[i]));
  }
  if (has_bf16) {
    EXPECT_GT(difference, 0);
  }
  EXPECT_LE(difference, 0.01f * largest);
}

TEST(CpuDevice, CancelEndsAModelThatIsInterpreted) {
  // A growing state of dynamic shape, and a loop that takes minutes.
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 2});
  const Attributes variable{
      {"variable_id", "all"}, {"variable_shape", PartialShape{Dimension(), 2}}, {"variable_type", element::f32}};
  const auto none = op::v0::Constant::create(element::f32, Shape{1, 2}, {0, 0});
  const auto read = make_node("ReadValue", 6, {none->output(0)}, variable);
  const auto grown = make_node("Concat", 1, {read->output(0), x->output(0)}, Attributes{{"axis", 0}});
  const auto assign = make_node("Assign", 6, {grown->output(0)}, Attributes{{"variable_id", "all"}});
  const auto state = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{Dimension(), 2});
  const auto next = std::make_shared<op::v0::Relu>(state);
  const auto truth = [] { return op::v0::Constant::create(element::boolean, Shape{}, {1}); };
  const auto turns = op::v0::Constant::create(element::i64, Shape{}, {100'000'000});
  const auto loop = std::make_shared<op::v5::Loop>(turns->output(0), truth()->output(0));
  loop->set_function(
      std::make_shared<Model>(OutputVector{truth()->output(0), next->output(0)}, ParameterVector{state}));
  loop->set_special_body_ports({-1, 0});
  loop->set_merged_input(state, grown->output(0), next->output(0));
  const auto model = std::make_shared<Model>(OutputVector{loop->get_iter_value(next->output(0))}, SinkVector{assign},
                                             ParameterVector{x}, "slow");
  auto request = Core().compile_model(model, "CPU").create_infer_request();
  request.start_async();
  EXPECT_FALSE(request.wait_for(std::chrono::milliseconds(20))) << "too fast to be cancelled";
  const auto begin = std::chrono::steady_clock::now();
  request.cancel();
  EXPECT_THROW(request.wait(), Cancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

TEST(CpuDevice, QueriesWhatItSupports) {
  Core core;
  const auto supported = core.query_model(small_model(), "CPU");
  EXPECT_EQ(supported.at("stem"), "CPU");
  EXPECT_EQ(supported.at("relu"), "CPU");
}

/// Sums each of two inputs of dynamic length in its own state.
std::shared_ptr<Model> two_sums() {
  ParameterVector parameters;
  OutputVector outputs;
  SinkVector sinks;
  for (const char* id : {"a", "b"}) {
    const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{-1});
    x->output(0).set_names({id});
    // Opset 3: states have the shape of their initial value, so with known inputs there is a plan.
    const auto zero = std::make_shared<op::v1::Subtract>(x, x);
    const auto sum =
        std::make_shared<op::v1::Add>(make_node("ReadValue", 3, {zero}, {{"variable_id", id}})->output(0), x);
    sum->output(0).set_names({std::string("sum_") + id});
    parameters.push_back(x);
    outputs.push_back(sum->output(0));
    sinks.push_back(make_node("Assign", 3, {sum->output(0)}, {{"variable_id", id}}));
  }
  return std::make_shared<Model>(outputs, sinks, parameters);
}

TEST(CpuDevice, AStateMayGrowFromRunToRun) {
  ExactCore core;
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 2});
  x->output(0).set_names({"x"});
  const auto state = make_node("ReadValue", 3, {x}, {{"variable_id", "s"}});
  const auto longer = std::make_shared<op::v0::Concat>(OutputVector{state->output(0), x}, 0);
  const auto rows = op::v0::Constant::create(element::i64, Shape{1}, std::vector<std::int64_t>{0});
  const auto y = make_node("ReduceSum", 1, {longer, rows}, {{"keep_dims", true}});
  y->output(0).set_names({"y"});
  const SinkVector sinks{make_node("Assign", 3, {longer}, {{"variable_id", "s"}})};
  const auto model = std::make_shared<Model>(OutputVector{y->output(0)}, sinks, ParameterVector{x});
  auto request = core.compile_model(model, "CPU").create_infer_request();
  VariableMap variables;
  for (int round = 0; round < 4; ++round) {
    const Tensor input = pattern({1, 2}, static_cast<float>(round));
    const auto wanted = evaluate(*model, {input}, &variables);
    request.set_tensor("x", input);
    request.infer();
    expect_equal(variables.at("s"), request.query_state().at(0).get_state());
    expect_equal(wanted[0], request.get_tensor("y"));
    EXPECT_EQ(variables.at("s").shape(), (Shape{static_cast<std::size_t>(round) + 2, 2}));
  }
}

/// A layer of attention over a cache that grows by the inputs' rows, in the form of a decoder after MakeStateful:
/// without initial values, and reordered by beam indices before it grows.
std::shared_ptr<Model> cached_attention() {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{2, 2, -1, 8});
  const auto beam = std::make_shared<op::v0::Parameter>(element::i32, PartialShape{2});
  x->output(0).set_names({"x"});
  beam->output(0).set_names({"beam"});
  const auto zero = op::v0::Constant::create(element::i64, Shape{}, std::vector<std::int64_t>{0});
  SinkVector sinks;
  OutputVector grown;
  for (const char* id : {"keys", "values"}) {
    const auto state = make_node(
        "ReadValue", 6, {},
        {{"variable_id", id}, {"variable_type", ElementType::kF32}, {"variable_shape", PartialShape{2, 2, -1, 8}}});
    const auto chosen = make_node("Gather", 8, {state->output(0), beam->output(0), zero->output(0)});
    grown.push_back(std::make_shared<op::v0::Concat>(OutputVector{chosen->output(0), x->output(0)}, 2)->output(0));
    sinks.push_back(make_node("Assign", 6, {grown.back()}, {{"variable_id", id}}));
  }
  const auto scores = make_node("MatMul", 1, {x->output(0), grown[0]}, {{"transpose_b", true}});
  const auto weights = make_node("Softmax", 8, {scores->output(0)}, {{"axis", std::int64_t{-1}}});
  const auto y = make_node("MatMul", 1, {weights->output(0), grown[1]});
  y->output(0).set_names({"y"});
  return std::make_shared<Model>(OutputVector{y->output(0)}, sinks, ParameterVector{x, beam});
}

TEST(CpuDevice, ACacheGrowsIsReorderedAndReset) {
  ExactCore core;
  const auto model = cached_attention();
  auto compiled = core.compile_model(model, "CPU");
  auto request = compiled.create_infer_request(), other = compiled.create_infer_request();
  for (int again = 0; again < 2; ++again) {
    VariableMap variables, others;
    for (int round = 0; round < 40; ++round) {
      const Tensor x = pattern({2, 2, round == 0 ? 5U : 1U, 8}, static_cast<float>(round % 7));
      Tensor beam(ElementType::kI32, Shape{2});
      beam.data<std::int32_t>()[0] = round % 3 == 2 ? 1 : 0;
      beam.data<std::int32_t>()[1] = round % 5 == 4 ? 0 : 1;
      const auto wanted = evaluate(*model, {x, beam}, &variables);
      request.set_tensor("x", x);
      request.set_tensor("beam", beam);
      request.infer();
      expect_equal(wanted[0], request.get_tensor("y"));
      if (round % 8 == 0) expect_equal(variables.at("keys"), request.query_state().at(0).get_state());
      if (round % 4) continue;
      // Each request has its own cache, with the same plans.
      const auto slower = evaluate(*model, {x, beam}, &others);
      other.set_tensor("x", x);
      other.set_tensor("beam", beam);
      other.infer();
      expect_equal(slower[0], other.get_tensor("y"));
    }
    request.reset_state();
    other.reset_state();
  }
}

TEST(CpuDevice, ManyRequestsOfOneModelFollowManyShapes) {
  ExactCore core;
  const auto model = small_model(PartialShape{1, 3, -1, -1});
  auto compiled = core.compile_model(model, "CPU", hint::performance_mode(hint::PerformanceMode::THROUGHPUT));
  std::vector<Tensor> images, wanted;
  for (std::size_t i = 0; i < 9; ++i) {
    images.push_back(pattern({1, 3, 4 + i % 3, 5 + i / 3}, static_cast<float>(i)));
    wanted.push_back(evaluate(*model, {images.back()})[0]);
  }
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 6; ++t)
    threads.emplace_back([&, t, request = compiled.create_infer_request()]() mutable {
      for (std::size_t i = 0; i < 30; ++i) {
        const std::size_t which = (i * (t + 1) + t) % images.size();
        request.set_tensor("image", images[which]);
        if (t % 2) {
          request.infer();
        } else {
          request.start_async();
          request.wait();
        }
        expect_equal(wanted[which], request.get_tensor("features"));
      }
    });
  for (auto& thread : threads) thread.join();
}

TEST(CpuDevice, AStateThatDoesNotFitLeavesTheOthersAsTheyWere) {
  ExactCore core;
  auto request = core.compile_model(two_sums(), "CPU").create_infer_request();
  const auto run = [&](std::size_t a, std::size_t b) {
    request.set_tensor("a", pattern({a}));
    request.set_tensor("b", pattern({b}));
    request.infer();
  };
  run(2, 2);
  run(2, 2);
  // b's state has a different length from these inputs.
  EXPECT_THROW(run(2, 3), Error);
  for (VariableState& state : request.query_state())
    EXPECT_EQ(state.get_state().shape(), (Shape{2})) << state.get_name();
  run(2, 2);
  for (const char* sum : {"sum_a", "sum_b"}) {
    const Tensor got = request.get_tensor(sum);
    EXPECT_FLOAT_EQ(got.data<float>()[0], 3 * pattern({2}).data<float>()[0]) << sum;
  }
}

}  // namespace cpu_device_test
}  // namespace tenon
