// SPDX-License-Identifier: Apache-2.0
// AUTO: which device runs, when it changes, and what happens on failures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <thread>

#include <tenon/devices/auto/public/properties.hpp>
#include <tenon/runtime/runtime.hpp>
#include <tenon/tests/composite_devices/gated_device.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace tenon::testing {
namespace auto_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Auto : public ::testing::Test {
 protected:
  void SetUp() override {
    register_gated_device();
    gate.reset();
  }
  void TearDown() override { gate.reset(); }

  static std::vector<std::string> running(const CompiledModel& model) { return model.get_property(execution_devices); }
  static bool becomes(const CompiledModel& model, const std::string& device) {
    for (int i = 0; i < 12000; ++i) {
      if (running(model) == std::vector<std::string>{device}) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }
  static void expect_right(InferRequest& request) {
    Tensor x(element::f32, {1, 4});
    const float values[4] = {-1, 2, -3, 4};
    std::copy_n(values, 4, x.data<float>());
    request.set_input_tensor(x);
    request.infer();
    const float* y = request.get_output_tensor().data<float>();
    EXPECT_THAT(std::vector<float>(y, y + 4), ElementsAre(0, 2, 0, 4));
  }
  template <typename F>
  static std::string failure(F&& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "no failure";
  }
  Core core;
};

TEST_F(Auto, InfersOnTheCpuWhileTheFirstDeviceCompilesAndThenMovesOver) {
  gate.set_open(false);
  auto model = core.compile_model(relu_model(), "AUTO:GATED,CPU");
  EXPECT_THAT(running(model), ElementsAre("(CPU)"));
  auto request = model.create_infer_request();
  expect_right(request);
  EXPECT_EQ(gate.inferred, 0);
  const Tensor kept = request.get_input_tensor();
  gate.set_open(true);
  ASSERT_TRUE(becomes(model, "GATED"));
  expect_right(request);
  EXPECT_EQ(gate.inferred, 1) << "a request made before moves with the model";
  auto later = model.create_infer_request();
  expect_right(later);
  EXPECT_EQ(gate.inferred, 2);
}

TEST_F(Auto, ShowsTheStepsOfTheDeviceThatRanLast) {
  gate.set_open(false);
  auto model = core.compile_model(relu_model(), "AUTO:GATED,CPU");
  auto request = model.create_infer_request();
  expect_right(request);
  gate.set_open(true);
  ASSERT_TRUE(becomes(model, "GATED"));
  EXPECT_EQ(model.get_runtime_model()->get_parameters().size(), 1u) << "the CPU's, though another device is in use now";
  expect_right(request);
  EXPECT_THROW(model.get_runtime_model(), NotImplemented) << "the gated device shows none";
}

TEST_F(Auto, TensorsStayBoundWhenARequestMoves) {
  gate.set_open(false);
  auto model = core.compile_model(relu_model(), "AUTO:GATED,CPU");
  auto request = model.create_infer_request();
  alignas(64) float in[4] = {1, -1, 2, -2}, out[4] = {};
  request.set_input_tensor(Tensor(element::f32, {1, 4}, in));
  request.set_output_tensor(Tensor(element::f32, {1, 4}, out));
  gate.set_open(true);
  ASSERT_TRUE(becomes(model, "GATED"));
  request.infer();
  EXPECT_THAT(out, ElementsAre(1, 0, 2, 0));
  EXPECT_EQ(gate.inferred, 1);
}

TEST_F(Auto, StatesMoveWithTheRequest) {
  Tensor step(element::f32, {4});
  std::fill_n(step.data<float>(), 4, 2.f);
  // 1, the initial value, and twice 2; 1 and 2 after a reset; the value that was set and 2.
  for (const auto& [change, expected] : {std::pair{"none", 5.f}, std::pair{"reset", 3.f}, std::pair{"set", 52.f}}) {
    gate.set_open(false);
    auto model = core.compile_model(stateful(), "AUTO:GATED,CPU", hint::inference_precision(element::f32));
    auto request = model.create_infer_request();
    request.set_tensor("x", step);
    request.infer();
    auto state = request.query_state().at(0);
    Tensor fifty(element::f32, {4});
    std::fill_n(fifty.data<float>(), 4, 50.f);
    if (std::string_view(change) == "reset") state.reset();
    if (std::string_view(change) == "set") state.set_state(fifty);
    gate.set_open(true);
    ASSERT_TRUE(becomes(model, "GATED"));
    request.infer();
    EXPECT_EQ(request.get_tensor("y").data<float>()[0], expected) << change;
  }
}

TEST_F(Auto, AsynchronousRequestsUseTheStreamsOfTheDeviceThatTookOver) {
  gate.set_open(false);
  gate.streams = 3;
  auto model = core.compile_model(relu_model(), "AUTO:GATED,CPU");
  std::vector<InferRequest> requests;
  for (int i = 0; i < 3; ++i) requests.push_back(model.create_infer_request());
  requests[0].start_async();  // On the fallback device, which has one stream.
  requests[0].wait();
  gate.together = 3;
  gate.set_open(true);
  ASSERT_TRUE(becomes(model, "GATED"));
  for (auto& request : requests) request.start_async();
  for (auto& request : requests) request.wait();
  EXPECT_EQ(gate.most_inside, 3);
}

TEST_F(Auto, CancelMeetsARequestThatMoves) {
  for (int round = 0; round < 20; ++round) {
    gate.set_open(false);
    auto model = core.compile_model(relu_model(), "AUTO:GATED,CPU");
    auto request = model.create_infer_request();
    std::atomic<bool> stop{false};
    std::thread other([&] {
      while (!stop) request.cancel();
    });
    const auto infer = [&] {
      try {
        request.infer();
      } catch (const Cancelled&) {
      }
    };
    for (int i = 0; i < 20; ++i) infer();
    gate.set_open(true);
    EXPECT_TRUE(becomes(model, "GATED"));
    for (int i = 0; i < 20; ++i) infer();
    stop = true;
    other.join();
    expect_right(request);
  }
}

TEST_F(Auto, WhatCannotLoadIsNamedWithItsReason) {
  const TemporaryFolder folder;
  const std::string before = std::getenv("TENON_DEVICE_PATH");
  std::ofstream(folder.path() / "libtenon_device_broken.so") << "no library";
  ::setenv("TENON_DEVICE_PATH", (folder.path().string() + ':' + before).c_str(), 1);
  const std::string none =
      failure([&] { core.compile_model(relu_model(), "AUTO:-CPU,-GPU,-OPENVINO,-TEMPLATE,-GATED"); });
  EXPECT_THAT(none, HasSubstr("no device is left of \"-CPU"));
  EXPECT_THAT(none, HasSubstr("BROKEN: "));
  EXPECT_THAT(none, HasSubstr("libtenon_device_broken.so: "));
  const std::string all = failure([&] { core.compile_model(relu_model(), "AUTO:BROKEN"); });
  EXPECT_THAT(all, HasSubstr("libtenon_device_broken.so: "));
  // It is skipped if there is another, whatever the call's properties.
  auto model = core.compile_model(relu_model(), "AUTO:BROKEN,CPU", enable_profiling(true));
  ::setenv("TENON_DEVICE_PATH", before.c_str(), 1);
  ASSERT_TRUE(becomes(model, "CPU"));
  auto request = model.create_infer_request();
  expect_right(request);
  EXPECT_FALSE(request.get_profiling_info().empty());
}

TEST_F(Auto, WithoutStartupFallbackItWaits) {
  auto model = core.compile_model(relu_model(), "AUTO:GATED,CPU", intel_auto::enable_startup_fallback(false));
  EXPECT_THAT(running(model), ElementsAre("GATED"));
  EXPECT_EQ(gate.compiled, 1);
}

TEST_F(Auto, FailureAtCompileGoesOnWithTheNext) {
  gate.fail_compile = true;
  auto model = core.compile_model(relu_model(), "AUTO:GATED,CPU");
  ASSERT_TRUE(becomes(model, "CPU"));
  auto request = model.create_infer_request();
  expect_right(request);
  auto waiting = core.compile_model(relu_model(), "AUTO:GATED,TEMPLATE", intel_auto::enable_startup_fallback(false));
  EXPECT_THAT(running(waiting), ElementsAre("TEMPLATE"));
  const std::string all = failure([&] { core.compile_model(relu_model(), "AUTO:GATED"); });
  EXPECT_THAT(all, HasSubstr("no device runs this model"));
  EXPECT_THAT(all, HasSubstr("GATED does not want to"));
}

TEST_F(Auto, FailureInUseGoesOnWithTheNext) {
  auto model = core.compile_model(relu_model(), "AUTO:GATED,CPU", intel_auto::enable_startup_fallback(false));
  auto request = model.create_infer_request();
  expect_right(request);
  gate.fail_infer = true;
  expect_right(request);
  EXPECT_THAT(running(model), ElementsAre("CPU"));
  gate.fail_infer = false;
  auto strict = core.compile_model(
      relu_model(), "AUTO:GATED,CPU",
      AnyMap{intel_auto::enable_startup_fallback(false), intel_auto::enable_runtime_fallback(false)});
  auto failing = strict.create_infer_request();
  gate.fail_infer = true;
  EXPECT_THAT(failure([&] { failing.infer(); }), HasSubstr("lost its device"));
  EXPECT_THAT(running(strict), ElementsAre("GATED"));
}

TEST_F(Auto, PrioritiesNameAndLeaveOutDevices) {
  EXPECT_THAT(
      running(core.compile_model(relu_model(), "AUTO:TEMPLATE,CPU", intel_auto::enable_startup_fallback(false))),
      ElementsAre("TEMPLATE"));
  EXPECT_THAT(running(core.compile_model(relu_model(), "AUTO", device::priorities("TEMPLATE"))),
              ElementsAre("TEMPLATE"));
  EXPECT_THAT(running(core.compile_model(relu_model())), ElementsAre("CPU"))
      << "of those that are here the CPU comes first";
  const auto without = running(core.compile_model(relu_model(), "AUTO:-CPU,-GPU,-OPENVINO"));
  EXPECT_THAT(without, ElementsAre(::testing::AnyOf("TEMPLATE", "GATED")));
  EXPECT_THAT(failure([&] { core.compile_model(relu_model(), "AUTO:-CPU,-GPU,-OPENVINO,-TEMPLATE,-GATED"); }),
              HasSubstr("no device is left"));
  EXPECT_THAT(failure([&] { core.compile_model(relu_model(), "AUTO:NOSUCH"); }), HasSubstr("NOSUCH"));
  EXPECT_THAT(failure([&] {
                core.compile_model(relu_model(), "AUTO:CPU", AnyMap{{"NO_SUCH", 1}});
              }),
              HasSubstr("NO_SUCH"));
  EXPECT_THAT(failure([&] { core.compile_model(relu_model(), "CPU:GATED"); }), HasSubstr("not made of others"));
}

TEST_F(Auto, AModelOfHighPriorityKeepsItsDevice) {
  const AnyMap waits{intel_auto::enable_startup_fallback(false)};
  const auto with = [&](hint::Priority priority) {
    AnyMap properties = waits;
    properties.insert(hint::model_priority(priority));
    return core.compile_model(relu_model(), "AUTO:GATED,CPU", properties);
  };
  auto low_before = with(hint::Priority::LOW);
  EXPECT_THAT(running(low_before), ElementsAre("GATED"));
  {
    auto high = with(hint::Priority::HIGH);
    EXPECT_THAT(running(high), ElementsAre("GATED"));
    EXPECT_THAT(running(with(hint::Priority::LOW)), ElementsAre("CPU")) << "leaves the better device alone";
    EXPECT_THAT(running(with(hint::Priority::HIGH)), ElementsAre("GATED"));
  }
  EXPECT_THAT(running(with(hint::Priority::LOW)), ElementsAre("GATED")) << "the high one is gone";
}

TEST_F(Auto, CumulativeThroughputRunsOnAll) {
  auto model = core.compile_model(relu_model(), "AUTO:GATED,CPU",
                                  AnyMap{hint::performance_mode(hint::PerformanceMode::CUMULATIVE_THROUGHPUT),
                                         intel_auto::schedule_policy(intel_auto::SchedulePolicy::ROUND_ROBIN)});
  EXPECT_THAT(running(model), ElementsAre("GATED", "CPU"));
  EXPECT_GE(model.get_property(optimal_number_of_infer_requests), 2u);
  for (int i = 0; i < 4; ++i) {
    auto request = model.create_infer_request();
    expect_right(request);
  }
  EXPECT_EQ(gate.inferred, 2) << "every other request";
  auto lost = model.create_infer_request();
  gate.fail_infer = true;
  expect_right(lost);
  EXPECT_THAT(running(model), ElementsAre("CPU")) << "where the others run";
}

TEST_F(Auto, MultiIsItsNameWhereAllDevicesRun) {
  auto model = core.compile_model(relu_model(), "MULTI:GATED,CPU");
  EXPECT_THAT(running(model), ElementsAre("GATED", "CPU"));
  EXPECT_EQ(model.get_property(hint::performance_mode), hint::PerformanceMode::CUMULATIVE_THROUGHPUT);
  std::vector<InferRequest> requests;
  for (std::uint32_t i = 0; i < model.get_property(optimal_number_of_infer_requests); ++i)
    requests.push_back(model.create_infer_request());
  for (InferRequest& request : requests) expect_right(request);
  EXPECT_GT(gate.inferred, 0);
  EXPECT_LT(gate.inferred, static_cast<int>(requests.size())) << "the CPU has some";
  // A hint is one for the devices.
  auto fast =
      core.compile_model(relu_model(), "MULTI:CPU,GATED", hint::performance_mode(hint::PerformanceMode::LATENCY));
  EXPECT_EQ(fast.get_property(num_streams), 1);
  EXPECT_EQ(fast.get_property(hint::performance_mode), hint::PerformanceMode::CUMULATIVE_THROUGHPUT);
  auto request = fast.create_infer_request();
  expect_right(request);
  EXPECT_FALSE(core.query_model(relu_model(), "MULTI:GATED,CPU").empty());
}

/// Alike are devices of one name; there is one of each here, so the first has all requests, as without the property.
TEST_F(Auto, ThroughputSpreadsOverDevicesOfOneName) {
  const AnyMap throughput{hint::performance_mode(hint::PerformanceMode::THROUGHPUT),
                          auto_device::spreads_throughput(true), intel_auto::enable_startup_fallback(false)};
  auto model = core.compile_model(relu_model(), "AUTO:GATED,CPU", throughput);
  EXPECT_THAT(running(model), ElementsAre("GATED"));
  EXPECT_TRUE(model.get_property(auto_device::spreads_throughput));
}

TEST_F(Auto, HintsAndPropertiesReachTheDevices) {
  auto model = core.compile_model(relu_model(), "AUTO:CPU", hint::performance_mode(hint::PerformanceMode::THROUGHPUT));
  EXPECT_EQ(model.get_property(hint::performance_mode), hint::PerformanceMode::THROUGHPUT);
  auto streams = core.compile_model(relu_model(), "AUTO:CPU", device::properties("CPU", num_streams(2)));
  EXPECT_EQ(streams.get_property(num_streams), 2);
  auto profiled = core.compile_model(relu_model(), "AUTO:CPU", enable_profiling(true)).create_infer_request();
  profiled.infer();
  EXPECT_FALSE(profiled.get_profiling_info().empty());
}

TEST_F(Auto, ItsSettingsReachTheDevicesThatKnowThem) {
  core.set_property("AUTO", {enable_profiling(true), hint::execution_mode(hint::ExecutionMode::ACCURACY)});
  auto model = core.compile_model(relu_model(), "AUTO:CPU");
  const auto members = model.get_property(device::properties.name()).as<AnyMap>();
  const auto cpu = members.at("CPU").as<AnyMap>();
  EXPECT_TRUE(cpu.at(enable_profiling.name()).as<bool>());
  EXPECT_EQ(cpu.at(hint::execution_mode.name()).to_text(), "ACCURACY");
  // TEMPLATE has no such mode.
  EXPECT_THAT(running(core.compile_model(relu_model(), "AUTO:TEMPLATE")), ElementsAre("TEMPLATE"));
  EXPECT_THAT(failure([&] {
                core.compile_model(relu_model(), "AUTO:TEMPLATE", hint::execution_mode(hint::ExecutionMode::ACCURACY));
              }),
              HasSubstr("EXECUTION_MODE_HINT is known to none"));
}

TEST_F(Auto, ACoreMayGoWhileADeviceStillCompiles) {
  gate.set_open(false);
  std::optional<CompiledModel> model;
  {
    Core temporary;
    model = temporary.compile_model(relu_model(), "AUTO:GATED,CPU");
  }
  auto request = model->create_infer_request();
  expect_right(request);
  std::thread opener([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    gate.set_open(true);
  });
  request = {};
  model.reset();  // Waits for the compilation.
  opener.join();
}

TEST_F(Auto, WhatNobodyWantsAnyMoreIsNotCompiledToItsEnd) {
  gate.set_open(false);
  const auto begin = std::chrono::steady_clock::now();
  {
    auto request = core.compile_model(relu_model(), "AUTO:GATED,CPU").create_infer_request();
    expect_right(request);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15)) << "the device compiles for 30 s";
  EXPECT_EQ(gate.compiled, 0);
}

TEST_F(Auto, WithOpenVinosDeviceWhereThereIsOne) {
  const auto all = core.get_available_devices();
  if (std::find(all.begin(), all.end(), "OPENVINO.CPU") == all.end()) GTEST_SKIP() << "no OpenVINO here";
  auto model = core.compile_model(relu_model(), "AUTO:OPENVINO.CPU,CPU");
  auto request = model.create_infer_request();
  expect_right(request);
  ASSERT_TRUE(becomes(model, "OPENVINO.CPU"));
  expect_right(request);
}

TEST_F(Auto, RequestsOnManyThreadsMoveWhileTheyRun) {
  gate.set_open(false);
  auto model = core.compile_model(relu_model(), "AUTO:GATED,CPU");
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      auto request = model.create_infer_request();
      while (!stop) expect_right(request);
      expect_right(request);
    });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  gate.set_open(true);
  EXPECT_TRUE(becomes(model, "GATED"));
  stop = true;
  for (auto& thread : threads) thread.join();
  EXPECT_GE(gate.inferred, 4);
}

}  // namespace auto_test
}  // namespace tenon::testing
