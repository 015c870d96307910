// SPDX-License-Identifier: Apache-2.0
// Every OpenCL call of the GPU device made to fail in turn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <sstream>
#include <thread>
#include <vector>

#include <tenon/devices/gpu/testing/gpu.hpp>
#include <tenon/tests/support/fail_each_call.hpp>

namespace tenon::gpu_testing {
namespace {

using opencl::client::Probe;

constexpr const char* kInjected = "CL_OUT_OF_RESOURCES";

std::vector<float> answer(CompiledModel& model) {
  auto request = model.create_infer_request();
  Tensor x = request.get_tensor("x");
  std::fill_n(x.data<float>(), x.element_count(), 4.0f);
  request.infer();
  const Tensor y = request.get_tensor("y");
  return {y.data<float>(), y.data<float>() + y.element_count()};
}

TEST_F(Gpu, EveryCallOfACompilationMayFail) {
  // The programs used last are kept. With as many as there may be, each new one takes the place of another.
  for (int i = 0; i < 70; ++i) core.compile_model(fresh_model(), "GPU");
  testing::fail_each_call<Probe>(
      kInjected, [&] { return core.compile_model(fresh_model(), "GPU"); },
      [](CompiledModel& made) { ASSERT_THAT(answer(made), ::testing::Each(::testing::FloatNear(-0.7568f, 1e-3f))); });
}

TEST_F(Gpu, EveryCallOfAnInferenceMayFail) {
  auto compiled = core.compile_model(line_model(), "GPU");
  testing::fail_each_call<Probe>(
      kInjected, [&] { return answer(compiled); },
      [](const std::vector<float>& values) { ASSERT_THAT(values, ::testing::Each(9.0f)); });
}

/// Commands that are enqueued read and write the request's tensors, which their owner may free once infer() has thrown.
TEST_F(Gpu, AnInferenceThatFailsLeavesNothingInTheQueue) {
  intel_gpu::ocl::ClContext context(core, app.queue);
  auto request = core.compile_model(line_model(), context).create_infer_request();
  request.infer();
  int calls = 0;
  for (bool has_failed = true; has_failed; ++calls) {
    // Nothing in the queue can run before this is set.
    const cl_event gate = clCreateUserEvent(app.context, nullptr);
    ASSERT_EQ(clEnqueueBarrierWithWaitList(app.queue, 1, &gate, nullptr), CL_SUCCESS);
    std::atomic<bool> is_open = false;
    std::thread opener([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      is_open = true;
      clSetUserEventStatus(gate, CL_COMPLETE);
    });
    Probe::failed = false;
    Probe::countdown = calls + 1;
    try {
      request.infer();
    } catch (const Error&) {
      EXPECT_TRUE(is_open) << "when call " << calls << " failed";
    }
    Probe::countdown = 0;
    opener.join();
    clReleaseEvent(gate);
    has_failed = Probe::failed;
  }
  EXPECT_GT(calls, 2);
}

TEST_F(Gpu, EveryCallOfRemoteTensorsMayFail) {
  testing::fail_each_call<Probe>(
      kInjected,
      [&] {
        RemoteTensor tensor = core.get_default_context("GPU").create_tensor(element::f32, Shape{16});
        Tensor values(element::f32, Shape{16}), back;
        std::fill_n(values.data<float>(), 16, 3.0f);
        tensor.copy_from(values);
        tensor.copy_to(back);
        return std::vector<float>(back.data<float>(), back.data<float>() + 16);
      },
      [](const std::vector<float>& values) { ASSERT_THAT(values, ::testing::Each(3.0f)); });
}

}  // namespace
}  // namespace tenon::gpu_testing
