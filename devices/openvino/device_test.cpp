// SPDX-License-Identifier: Apache-2.0
// OpenVINO's devices through the runtime: names beside Tenon's own, properties, tensors in place, states, blobs, and
// agreement with the CPU device. tests/device_conformance has the requirements of every device.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <set>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tenon/core/ledger.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/runtime/runtime.hpp>

#include <tenon/tests/support/error_of.hpp>

namespace tenon {
namespace openvino_device_test {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kDevice = "OPENVINO.CPU";

Tensor pattern(const Shape& shape, float phase = 0) {
  Tensor tensor(element::f32, shape);
  for (std::size_t i = 0; i < tensor.element_count(); ++i)
    tensor.data<float>()[i] = std::cos(0.1f * static_cast<float>(i) + phase);
  return tensor;
}

/// Two inputs and two outputs of different types and shapes, so that a wrong order is detected.
std::shared_ptr<Model> two_by_two(PartialShape shape = PartialShape{2, 3}) {
  auto a = std::make_shared<op::v0::Parameter>(element::f32, shape);
  auto b = std::make_shared<op::v0::Parameter>(element::i32, PartialShape{3});
  a->output(0).set_names({"a"});
  b->output(0).set_names({"b"});
  auto as_float = std::make_shared<op::v0::Convert>(b->output(0), element::f32);
  auto sum = std::make_shared<op::v1::Add>(a->output(0), as_float->output(0));
  sum->output(0).set_names({"sum"});
  auto twice = std::make_shared<op::v1::Add>(b->output(0), b->output(0));
  twice->output(0).set_names({"twice"});
  // The results are not in the inputs' order.
  return std::make_shared<Model>(OutputVector{twice->output(0), sum->output(0)}, ParameterVector{b, a}, "two_by_two");
}

TEST(OpenVinoDevice, PluginsThatRanStayLoadedWhenTheCoreGoes) {
  const auto loaded = [] {
    std::ifstream maps("/proc/self/maps");
    std::set<std::string> plugins;
    for (std::string line; std::getline(maps, line);)
      if (const auto at = line.find("libopenvino_"); at != line.npos) plugins.insert(line.substr(at));
    return plugins;
  };
  std::set<std::string> before;
  {
    Core core;
    core.get_available_devices();
    core.compile_model(two_by_two(), kDevice).create_infer_request().infer();
    before = loaded();
  }
  EXPECT_GE(before.size(), 2u);
  EXPECT_EQ(loaded(), before) << "plugins' threads and exceptions may outlive the Core";
}

/// A decoder layer in the form of OpenVINO's exporters: keys and values of earlier tokens and of the current one, and
/// attention.
std::shared_ptr<Model> decoder_layer() {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{-1, 4, -1, 64});
  const auto beams = std::make_shared<op::v0::Parameter>(element::i32, PartialShape{-1});
  x->output(0).set_names({"x"});
  beams->output(0).set_names({"beams"});
  const auto zero = op::v0::Constant::create(element::i64, Shape{}, std::vector<std::int64_t>{0});
  // OpenVINO fuses only states with an initial value.
  const auto count = make_node("ShapeOf", 3, {beams->output(0)}, {{"output_type", ElementType::kI64}});
  const auto rest = op::v0::Constant::create(element::i64, Shape{3}, std::vector<std::int64_t>{4, 0, 64});
  const auto shape = std::make_shared<op::v0::Concat>(OutputVector{count->output(0), rest->output(0)}, 0);
  const auto number = op::v0::Constant::create(element::f32, Shape{}, std::vector<float>{0});
  const auto nothing =
      make_node("Broadcast", 3, {number->output(0), shape->output(0)}, {{"mode", std::string("numpy")}});
  SinkVector sinks;
  OutputVector grown;
  for (const char* id : {"keys", "values"}) {
    const auto begin = id[0] == 'k' ? x->output(0) : make_node("Abs", 1, {x->output(0)})->output(0);
    const auto state = make_node(
        "ReadValue", 6, {nothing->output(0)},
        {{"variable_id", id}, {"variable_type", ElementType::kF32}, {"variable_shape", PartialShape{-1, 4, -1, 64}}});
    const auto chosen = make_node("Gather", 8, {state->output(0), beams->output(0), zero->output(0)},
                                  {{"batch_dims", std::int64_t{0}}});
    grown.push_back(std::make_shared<op::v0::Concat>(OutputVector{chosen->output(0), begin}, 2)->output(0));
    sinks.push_back(make_node("Assign", 6, {grown.back()}, {{"variable_id", id}}));
  }
  const auto y = make_node("ScaledDotProductAttention", 13, {x->output(0), grown[0], grown[1]}, {{"causal", false}});
  y->output(0).set_names({"y"});
  return std::make_shared<Model>(OutputVector{y->output(0)}, sinks, ParameterVector{x, beams}, "decoder_layer");
}

TEST(OpenVinoDevice, CachesOf8BitsAgreeWithTheCpuDevices) {
  Core core;
  const auto model = decoder_layer();
  const AnyMap of_8_bits{{"INFERENCE_PRECISION_HINT", "f32"}, {"KV_CACHE_PRECISION", "u8"}};
  AnyMap exact = of_8_bits;
  exact["KV_CACHE_PRECISION"] = "f32";
  InferRequest theirs = core.compile_model(model, kDevice, of_8_bits).create_infer_request(),
               ours = core.compile_model(model, "CPU", of_8_bits).create_infer_request(),
               judge = core.compile_model(model, "CPU", exact).create_infer_request();
  double our_error = 0, their_error = 0;
  const auto infer = [&](std::size_t tokens, std::int32_t first, std::int32_t second, float phase) {
    Tensor beams(element::i32, {2});
    beams.data<std::int32_t>()[0] = first;
    beams.data<std::int32_t>()[1] = second;
    const Tensor x = pattern({2, 4, tokens, 64}, phase);
    for (InferRequest* request : {&theirs, &ours, &judge}) {
      request->set_tensor("x", x);
      request->set_tensor("beams", beams);
      request->infer();
    }
    const Tensor y = judge.get_tensor("y"), our_y = ours.get_tensor("y"), their_y = theirs.get_tensor("y");
    for (std::size_t i = 0; i < y.element_count(); ++i) {
      our_error = std::max(our_error, std::abs(static_cast<double>(our_y.data<float>()[i]) - y.data<float>()[i]));
      their_error = std::max(their_error, std::abs(static_cast<double>(their_y.data<float>()[i]) - y.data<float>()[i]));
      ASSERT_NEAR(our_y.data<float>()[i], their_y.data<float>()[i], 0.012) << tokens << ", " << i;
    }
  };
  const auto states_agree = [&] {
    for (VariableState& state : ours.query_state())
      for (VariableState& other : theirs.query_state()) {
        if (state.get_name() != other.get_name()) continue;
        const Tensor mine = state.get_state(), value = other.get_state();
        ASSERT_EQ(mine.shape(), value.shape());
        ASSERT_EQ(mine.element_type(), value.element_type());
        for (std::size_t i = 0; i < mine.element_count(); ++i)
          ASSERT_NEAR(mine.data<float>()[i], value.data<float>()[i], 0.009) << state.get_name() << i;
      }
  };
  for (int again = 0; again < 2; ++again) {
    infer(11, 0, 1, 0);
    for (int step = 0; step < 100; ++step)
      infer(step % 30 == 29 ? 5 : 1, step % 11 == 10 ? 1 : 0, step % 17 == 16 ? 0 : 1, static_cast<float>(step));
    states_agree();
    for (InferRequest* request : {&theirs, &ours, &judge}) {
      for (VariableState& state : request->query_state()) state.set_state(pattern({2, 4, 7, 64}, 3));
      EXPECT_EQ(request->query_state().size(), 2u);
    }
    infer(1, 0, 1, 5);
    infer(1, 1, 0, 6);
    states_agree();
    for (InferRequest* request : {&theirs, &ours, &judge}) request->reset_state();
  }
  EXPECT_GT(our_error, 1e-5) << "nothing was rounded";
  EXPECT_LE(our_error, 1.5 * their_error + 0.002);
  RecordProperty("our_error", std::to_string(our_error));
  RecordProperty("their_error", std::to_string(their_error));
}

TEST(OpenVinoDevice, StandsBesideTenonsOwnAndShadowsNone) {
  Core core;
  const auto devices = core.get_available_devices();
  ASSERT_THAT(devices, Contains(kDevice));
  EXPECT_THAT(core.get_property(kDevice, device::full_name), Not(::testing::IsEmpty()));
  EXPECT_THAT(core.get_property("OPENVINO", available_devices), Contains("CPU"));
  const Error error = error_of([&] { core.compile_model(two_by_two(), "OPENVINO.GPU.7"); });
  EXPECT_EQ(error.code(), Code::kUnavailable);
  EXPECT_THAT(error.what(), HasSubstr("OPENVINO.CPU"));
}

TEST(OpenVinoDevice, WithoutAnIdMeansTheCpu) {
  Core core;
  auto model = core.compile_model(two_by_two(), "OPENVINO");
  EXPECT_THAT(model.get_property(execution_devices), ::testing::ElementsAre(kDevice));
}

TEST(OpenVinoDevice, BindsPortsInTheModelsOrderWithoutACopy) {
  Core core;
  auto request = core.compile_model(two_by_two(), kDevice, zero_copy(ZeroCopy::kRequire)).create_infer_request();
  alignas(64) float a[6] = {1, 2, 3, 4, 5, 6}, sum[6] = {};
  alignas(64) std::int32_t b[3] = {10, 20, 30}, twice[3] = {};
  request.set_tensor("a", Tensor(element::f32, {2, 3}, a));
  request.set_tensor("b", Tensor(element::i32, {3}, b));
  request.set_tensor("sum", Tensor(element::f32, {2, 3}, sum));
  request.set_tensor("twice", Tensor(element::i32, {3}, twice));
  for (const int round : {1, 2}) {
    b[1] = 20 * round;
    if (round == 1)
      request.infer();
    else
      request.start_async(), request.wait();
    EXPECT_THAT(sum, ::testing::ElementsAre(11, 2 + 20 * round, 33, 14, 5 + 20 * round, 36));
    EXPECT_THAT(twice, ::testing::ElementsAre(20, 40 * round, 60));
  }
  EXPECT_EQ(request.ledger().total().copied, 0u);
}

TEST(OpenVinoDevice, PassesPropertiesThroughAndAnswersThem) {
  Core core;
  auto model = core.compile_model(two_by_two(), kDevice, num_streams(2), inference_num_threads(2),
                                  hint::performance_mode(hint::PerformanceMode::THROUGHPUT),
                                  hint::inference_precision(element::f32));
  EXPECT_EQ(model.get_property(num_streams), streams::Num(2));
  EXPECT_EQ(model.get_property(inference_num_threads), 2);
  EXPECT_EQ(model.get_property(hint::performance_mode), hint::PerformanceMode::THROUGHPUT);
  EXPECT_EQ(model.get_property(hint::inference_precision), element::f32);
  EXPECT_EQ(model.get_property(model_name), "two_by_two");
  EXPECT_NO_THROW(core.get_property(kDevice, range_for_streams));
  EXPECT_NO_THROW(core.get_property(kDevice, range_for_async_infer_requests));
  EXPECT_EQ(error_of([&] { core.get_property(kDevice, std::string("NO_SUCH_PROPERTY")); }).code(), Code::kNotFound);
}

TEST(OpenVinoDevice, PropertiesBelongToOneCoreAndAreSetAllOrNothing) {
  Core core, other;
  const auto before = core.get_property(kDevice, enable_profiling);
  core.set_property(kDevice, enable_profiling(!before));
  EXPECT_EQ(core.get_property(kDevice, enable_profiling), !before);
  EXPECT_EQ(other.get_property(kDevice, enable_profiling), before);
  const AnyMap mixed{{"INFERENCE_NUM_THREADS", 1}, {"NUM_STREAMS", "many"}};
  const auto threads = core.get_property(kDevice, inference_num_threads);
  EXPECT_THROW(core.set_property(kDevice, mixed), Error);
  EXPECT_EQ(core.get_property(kDevice, inference_num_threads), threads);
  EXPECT_EQ(core.get_property(kDevice, enable_profiling), !before);
}

TEST(OpenVinoDevice, DynamicOutputsAreCopiedAndBooked) {
  Core core;
  auto request = core.compile_model(two_by_two(PartialShape{Dimension::dynamic(), 3}), kDevice).create_infer_request();
  Tensor b(element::i32, {3});
  std::fill_n(b.data<std::int32_t>(), 3, 7);
  request.set_tensor("b", b);
  for (const std::size_t rows : {4u, 2u}) {
    const Tensor a = pattern({rows, 3});
    request.set_tensor("a", a);
    request.infer();
    const Tensor sum = request.get_tensor("sum");
    ASSERT_EQ(sum.shape(), (Shape{rows, 3}));
    for (std::size_t i = 0; i < sum.element_count(); ++i) EXPECT_FLOAT_EQ(sum.data<float>()[i], a.data<float>()[i] + 7);
  }
  EXPECT_EQ(request.ledger().total().copied, (4u + 2u) * 3 * 4) << "only the dynamic output's bytes";
}

TEST(OpenVinoDevice, BlobsGoOutAndIn) {
  Core core;
  auto compiled = core.compile_model(two_by_two(), kDevice);
  std::stringstream blob;
  compiled.export_model(blob);
  auto imported = core.import_model(blob, kDevice);
  ASSERT_EQ(imported.inputs().size(), 2u);
  EXPECT_EQ(imported.input("a").get_element_type(), element::f32);
  auto request = imported.create_infer_request();
  const Tensor a = pattern({2, 3});
  Tensor b(element::i32, {3});
  std::fill_n(b.data<std::int32_t>(), 3, 5);
  request.set_tensor("a", a);
  request.set_tensor("b", b);
  request.infer();
  for (int i = 0; i < 6; ++i) EXPECT_FLOAT_EQ(request.get_tensor("sum").data<float>()[i], a.data<float>()[i] + 5);
  std::stringstream rubbish("this is no blob");
  EXPECT_THROW(core.import_model(rubbish, kDevice), Error);
}

TEST(OpenVinoDevice, KeepsStateBetweenInferences) {
  // An accumulator: assigns the value read plus the input.
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 2});
  auto zero = op::v0::Constant::create(element::f32, Shape{1, 2}, {0, 0});
  const auto read = make_node(
      "ReadValue", 6, {zero->output(0)},
      {{"variable_id", std::string("total")}, {"variable_type", element::f32}, {"variable_shape", PartialShape{1, 2}}},
      "read");
  auto sum = std::make_shared<op::v1::Add>(read->output(0), x->output(0));
  const auto assign = make_node("Assign", 6, {sum->output(0)}, {{"variable_id", std::string("total")}}, "assign");
  const auto model =
      std::make_shared<Model>(OutputVector{sum->output(0)}, SinkVector{assign}, ParameterVector{x}, "accumulator");
  Core core;
  auto request = core.compile_model(model, kDevice).create_infer_request();
  Tensor one(element::f32, {1, 2});
  one.data<float>()[0] = 1, one.data<float>()[1] = 2;
  request.set_input_tensor(one);
  for (int i = 1; i <= 3; ++i) {
    request.infer();
    EXPECT_EQ(request.get_output_tensor().data<float>()[1], 2.f * static_cast<float>(i));
  }
  auto states = request.query_state();
  ASSERT_EQ(states.size(), 1u);
  EXPECT_EQ(states[0].get_name(), "total");
  EXPECT_EQ(states[0].get_state().data<float>()[0], 3);
  Tensor forty(element::f32, {1, 2});
  std::fill_n(forty.data<float>(), 2, 40.f);
  states[0].set_state(forty);
  request.infer();
  EXPECT_EQ(request.get_output_tensor().data<float>()[0], 41);
  states[0].reset();
  request.infer();
  EXPECT_EQ(request.get_output_tensor().data<float>()[0], 1);
}

TEST(OpenVinoDevice, MayBeDroppedInItsOwnCallback) {
  Core core;
  auto compiled = core.compile_model(two_by_two(), kDevice);
  for (int i = 0; i < 20; ++i) {
    std::promise<void> done;
    auto request = std::make_shared<InferRequest>(compiled.create_infer_request());
    InferRequest* const raw = request.get();
    raw->set_callback([&done, &request](std::exception_ptr) {
      request.reset();
      done.set_value();
    });
    raw->start_async();
    ASSERT_EQ(done.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
  }
}

TEST(OpenVinoDevice, ManyStartsFromWaitersLoseNoCallback) {
  // OpenVINO removes the callback while calling it; a start from another thread at that moment needs one too.
  Core core;
  auto request = core.compile_model(two_by_two(), kDevice).create_infer_request();
  for (int i = 0; i < 3000; ++i) {
    request.start_async();
    ASSERT_TRUE(request.wait_for(std::chrono::milliseconds(20000))) << "inference " << i << " never ended";
  }
}

TEST(OpenVinoDevice, HasNoRemoteContextOnTheCpuAndSaysSo) {
  Core core;
  const Error error = error_of([&] { core.get_default_context(kDevice); });
  EXPECT_THAT(error.what(), HasSubstr("CPU"));
}

}  // namespace openvino_device_test
}  // namespace tenon
