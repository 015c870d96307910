// SPDX-License-Identifier: Apache-2.0
// The ways in which kernels get into a queue: the same results, fewer calls, and which one is taken.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <tenon/core/ledger.hpp>
#include <tenon/devices/gpu/hardware.hpp>
#include <tenon/devices/gpu/plan/launch_trial.hpp>
#include <tenon/devices/gpu/public/properties.hpp>
#include <tenon/devices/gpu/testing/gpu.hpp>
#include <tenon/tests/device_conformance/allocation_count.hpp>
#include <tenon/tests/support/error_of.hpp>
#include <tenon/tests/support/fail_each_call.hpp>

namespace tenon::gpu_testing {
namespace launches_test {

using gpu_device::LaunchTrial;
using gpu_device::LaunchWay;
using intel_gpu::ocl::ClContext;
using opencl::client::Probe;
using std::chrono::nanoseconds;
using ::testing::Each;
using ::testing::HasSubstr;

/// OpenCL calls of one start_async(): the least of some, since the thread that ends inferences calls, too.
long calls_of(InferRequest& request) {
  constexpr long kMany = 1000000;
  long least = kMany;
  for (int i = 0; i < 50; ++i) {
    Probe::countdown = kMany;
    request.start_async();
    least = std::min(least, kMany - Probe::countdown.exchange(0));
    request.wait();
  }
  return least;
}

/// Those that the first device has.
std::vector<std::string> ways() {
  std::vector<std::string> all{gpu::launch::singly, gpu::launch::held};
  if (gpu_device::find_gpu("")->command_buffers().take(0)) all.emplace_back(gpu::launch::command_buffer);
  return all;
}

/// How many of them the default tries.
std::size_t tried() {
  const auto gpu = gpu_device::find_gpu("");
  return ways().size() - (gpu->native().device.is_cpu() ? 0 : 1) + (gpu->use_twin() ? 1 : 0);
}

TEST(LaunchTrial, TheCheapestWayStays) {
  LaunchTrial trial({LaunchWay::kSingly, LaunchWay::kHeld, LaunchWay::kBuffer});
  std::vector<std::size_t> turns(3);
  // The first time of each counts for nothing, nor do those in which the machine was busy.
  const auto cost = [&](LaunchWay way, std::size_t turn) {
    if (turn == 0) return nanoseconds(1);
    if (turn % 2) return nanoseconds(100000);
    return nanoseconds(way == LaunchWay::kSingly ? 1000 : way == LaunchWay::kHeld ? 500 : 800);
  };
  for (int i = 0; i < 1000 && !trial.is_over(); ++i) {
    const LaunchWay way = trial.way();
    trial.note(way, 10, cost(way, turns[static_cast<std::size_t>(way)]++), nanoseconds(1));
  }
  ASSERT_TRUE(trial.is_over());
  EXPECT_EQ(trial.way(), LaunchWay::kHeld);
  EXPECT_THAT(turns, Each(LaunchTrial::kRounds + 1));
  trial.note(LaunchWay::kBuffer, 10, nanoseconds(1), nanoseconds(1));
  EXPECT_EQ(trial.way(), LaunchWay::kHeld) << "it is over";
}

TEST(LaunchTrial, TheFirstWayStaysUnlessAnotherIsMuchCheaper) {
  LaunchTrial trial({LaunchWay::kSingly, LaunchWay::kHeld});
  while (!trial.is_over()) {
    const LaunchWay way = trial.way();
    trial.note(way, 10, nanoseconds(way == LaunchWay::kSingly ? 1000 : 950), nanoseconds(1));
  }
  EXPECT_EQ(trial.way(), LaunchWay::kSingly);
  LaunchTrial only({LaunchWay::kBuffer});
  EXPECT_TRUE(only.is_over());
  EXPECT_EQ(only.way(), LaunchWay::kBuffer);
}

/// Its kernels may be faster, or slower: what the host has to do is not all.
TEST(LaunchTrial, AGraphIsTakenWhereInferencesAreOverAsSoon) {
  for (const auto& [whole, chosen] :
       {std::pair(9000, LaunchWay::kGraph), {10100, LaunchWay::kGraph}, {11000, LaunchWay::kHeld}}) {
    LaunchTrial trial({LaunchWay::kSingly, LaunchWay::kGraph, LaunchWay::kHeld});
    while (!trial.is_over()) {
      const LaunchWay way = trial.way();
      const int host = way == LaunchWay::kHeld ? 500 : 1000;
      trial.note(way, 10, nanoseconds(host), nanoseconds(way == LaunchWay::kGraph ? whole : 10000));
    }
    EXPECT_EQ(trial.way(), chosen) << whole;
  }
}

/// As many shapes as ways, one after the other: none of the ways is to have the costly ones alone.
TEST(LaunchTrial, ShapesThatAlternateDecideNothing) {
  for (const LaunchWay costly : {LaunchWay::kSingly, LaunchWay::kGraph}) {
    LaunchTrial trial({LaunchWay::kSingly, LaunchWay::kGraph});
    bool is_costly = costly == LaunchWay::kSingly;
    for (; !trial.is_over(); is_costly = !is_costly) {
      const LaunchWay way = trial.way();
      trial.note(way, 10, nanoseconds(1000),
                 nanoseconds((is_costly ? 20000 : 10000) + (way == LaunchWay::kGraph ? 0 : 3000)));
    }
    EXPECT_EQ(trial.way(), LaunchWay::kGraph);
  }
}

TEST(LaunchTrial, AWayThatFailsIsNotTriedAgain) {
  LaunchTrial trial({LaunchWay::kSingly, LaunchWay::kBuffer});
  trial.note(LaunchWay::kSingly, 10, nanoseconds(1000), nanoseconds(1));
  EXPECT_EQ(trial.way(), LaunchWay::kBuffer);
  trial.drop(LaunchWay::kBuffer);
  EXPECT_TRUE(trial.is_over());
  EXPECT_EQ(trial.way(), LaunchWay::kSingly);
}

/// Another request's graph is refused while this one asks whose turn it is: with one way left, there are no turns to count.
TEST(LaunchTrial, AWayMayFailWhileAnotherRequestAsksForOne) {
  for (int i = 0; i < 200; ++i) {
    LaunchTrial trial({LaunchWay::kSingly, LaunchWay::kGraph});
    trial.note(LaunchWay::kSingly, 10, nanoseconds(1000), nanoseconds(1));
    std::atomic<bool> has_begun{false};
    std::thread other([&] {
      while (!trial.is_over()) trial.way(), has_begun = true;
    });
    while (!has_begun) std::this_thread::yield();
    trial.drop(LaunchWay::kGraph);
    other.join();
    ASSERT_EQ(trial.way(), LaunchWay::kSingly);
  }
}

TEST_F(Gpu, EveryWayOfLaunchingComputesTheSame) {
  for (const std::string& way : ways()) {
    auto compiled = core.compile_model(steps_model(), "GPU", gpu::launches(way));
    EXPECT_EQ(compiled.get_property(gpu::launches.name()).as<std::string>(), way);
    auto request = compiled.create_infer_request(), other = compiled.create_infer_request();
    for (int i = 0; i < 50; ++i) {  // Also at once after the one before.
      ASSERT_THAT(answer(request, static_cast<float>(i)), Each(static_cast<float>(i + 20))) << way;
      ASSERT_THAT(answer(other, static_cast<float>(-i)), Each(static_cast<float>(20 - i))) << way;
    }
    // Kernels that use the tensors are not recorded: others take effect.
    Tensor y(element::f32, Shape{1, kCount});
    request.set_tensor("y", y);
    answer(request, 7);
    EXPECT_EQ(y.data<float>()[9], 27) << way;
  }
}

TEST_F(Gpu, TheWayOfLaunchingDecidesWhichCallsAreMade) {
  const auto calls = [&](const std::string& way) {
    auto request = core.compile_model(steps_model(), "GPU", gpu::launches(way)).create_infer_request();
    request.infer();
    return calls_of(request);
  };
  const long singly = calls(gpu::launch::singly);
  EXPECT_GE(singly, static_cast<long>(kKernels));
  EXPECT_EQ(calls(gpu::launch::held), singly + 3) << "an event, a barrier, and setting the event";
  if (ways().size() < 3) GTEST_SKIP() << "no command buffers here";
  // The first and the last kernel use the request's tensors.
  EXPECT_EQ(calls(gpu::launch::command_buffer), singly - static_cast<long>(kKernels) + 3);
}

TEST_F(Gpu, ByDefaultTheFirstInferencesTryTheWays) {
  if (std::getenv("TENON_GPU_TWIN")) GTEST_SKIP() << "here the twin is not tried but taken";
  auto compiled = core.compile_model(steps_model(), "GPU");
  const auto way = [&] { return compiled.get_property(gpu::launches.name()).as<std::string>(); };
  auto request = compiled.create_infer_request();
  EXPECT_EQ(way(), tried() > 1 ? gpu::launch::automatic : gpu::launch::singly);
  for (std::size_t i = 0; i < tried() * (LaunchTrial::kRounds + 1); ++i) ASSERT_THAT(answer(request, 1), Each(21.0f));
  // Where a twin's programs are compiled meanwhile, its turns come later.
  const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (way() == gpu::launch::automatic && std::chrono::steady_clock::now() < late) answer(request, 1);
  std::vector<std::string> known = ways();
  known.emplace_back(gpu::launch::cuda_graph);
  EXPECT_THAT(known, ::testing::Contains(way()));
  EXPECT_THAT(answer(request, 2), Each(22.0f));
}

TEST_F(Gpu, ModelsOfFewKernelsHaveNothingToTry) {
  if (std::getenv("TENON_GPU_TWIN")) GTEST_SKIP() << "here the twin is not tried but taken";
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 4});
  const auto model = std::make_shared<Model>(make_node("Relu", 1, {x})->outputs(), ParameterVector{x}, "one kernel");
  EXPECT_EQ(core.compile_model(model, "GPU").get_property(gpu::launches), gpu::launch::singly);
}

TEST_F(Gpu, NoWayOfLaunchingWaitsOrAllocates) {
  for (const std::string& way : ways()) {
    ClContext context(core, app.queue);
    auto request = core.compile_model(steps_model(), context, gpu::launches(way)).create_infer_request();
    const cl_mem x = app.buffer(kCount * 4), y = app.buffer(kCount * 4), z = app.buffer(kCount * 4);
    request.set_tensor("x", context.create_tensor(element::f32, Shape{1, kCount}, x));
    request.set_tensor("y", context.create_tensor(element::f32, Shape{1, kCount}, y));
    const float begin = 3;
    app.run("fill", {x}, &begin);
    request.infer();
    const cl_event gate = clCreateUserEvent(app.context, nullptr);
    app.run("fill", {x}, &begin, gate);
    const auto waits = request.ledger().total().waits;
    request.start_async();
    app.run("twice", {y, z});
    EXPECT_FALSE(request.wait_for(std::chrono::milliseconds(5))) << way << " ran before its input was written";
    clSetUserEventStatus(gate, CL_COMPLETE);
    request.wait();
    EXPECT_EQ(request.ledger().total().waits, waits) << way;
    const auto values = app.read(z);
    for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(values[i], 2 * (3 + static_cast<float>(i) + 20)) << way;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (int attempt = 0; attempt < 3; ++attempt) {  // A thread of an earlier test may still end.
      const std::int64_t before = testing::own_allocations();
      for (int i = 0; i < 20; ++i) request.infer();
      least = std::min(least, testing::own_allocations() - before);
    }
    EXPECT_EQ(least, 0) << way;
    for (cl_mem each : {x, y, z}) clReleaseMemObject(each);
    clReleaseEvent(gate);
  }
}

TEST_F(Gpu, WaysOfLaunchingThatCannotBeAreRefused) {
  const auto message = [&](const auto& where, const AnyMap& settings) {
    return std::string(error_of([&] { core.compile_model(steps_model(), where, settings); }).what());
  };
  const std::string device = "GPU";
  EXPECT_THAT(message(device, {{"GPU_LAUNCHES", "ALL_AT_ONCE"}}), HasSubstr("COMMAND_BUFFER"));
  const AnyMap recorded{gpu::launches(gpu::launch::command_buffer)};
  if (ways().size() < 3) {
    EXPECT_THAT(message(device, recorded), HasSubstr("cl_khr_command_buffer"));
    return;
  }
  AnyMap with_times = recorded;
  with_times.insert(enable_profiling(true));
  EXPECT_THAT(message(device, with_times), HasSubstr("PERF_COUNT"));
  Application loose(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  EXPECT_THAT(message(ClContext(core, loose.queue), recorded), HasSubstr("out of order"));
}

TEST_F(Gpu, AnOutOfOrderQueueIsHeld) {
  Application loose(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  ClContext context(core, loose.queue);
  auto request = core.compile_model(steps_model(), context, gpu::launches(gpu::launch::held)).create_infer_request();
  for (int i = 0; i < 20; ++i) ASSERT_THAT(answer(request, static_cast<float>(i)), Each(static_cast<float>(i + 20)));
}

TEST_F(Gpu, EveryCallOfEveryWayOfLaunchingMayFail) {
  for (const std::string& way : ways()) {
    auto compiled = core.compile_model(steps_model(), "GPU", gpu::launches(way));
    testing::fail_each_call<Probe>(
        "CL_OUT_OF_RESOURCES",
        [&] {
          auto request = compiled.create_infer_request();
          return answer(request, 4);
        },
        [&](const std::vector<float>& values) { ASSERT_THAT(values, Each(24.0f)) << way; });
  }
}

TEST_F(Gpu, CommandBuffersThatNobodyAskedForFailNoInference) {
  if (ways().size() < 3) GTEST_SKIP() << "no command buffers here";
  if (opencl::coherency(opencl::make_context(app.device)) != opencl::Coherency::kStanding)
    GTEST_SKIP() << "the first call moves the input";
  auto compiled = core.compile_model(steps_model(), "GPU");
  auto request = compiled.create_infer_request();
  // Up to the turn of the last way, which records first.
  for (std::size_t i = 0; i + 1 < tried(); ++i) request.infer();
  Probe::countdown = 1;
  EXPECT_NO_THROW(request.infer());
  EXPECT_EQ(Probe::countdown.exchange(0), 0) << "a call failed";
  EXPECT_THAT(answer(request, 5), Each(25.0f));
}

TEST_F(Gpu, CommandBuffersAreThereWholeOrNotAtAll) {
  const auto device = gpu_device::find_gpu("")->native().device;
  for (int call = 1; call < 8; ++call) {
    Probe::countdown = call;
    const auto calls = gpu_device::command_buffer_calls(device);
    const bool has_failed = Probe::countdown.exchange(0) == 0;
    EXPECT_FALSE(has_failed && call <= 5 && calls.take(0)) << "a function is missing";
  }
  EXPECT_FALSE(gpu_device::find_gpu("")->command_buffers().take(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE));
}

}  // namespace launches_test
}  // namespace tenon::gpu_testing
