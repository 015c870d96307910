// SPDX-License-Identifier: Apache-2.0
// Every OpenCL call of the GPU device made to fail in turn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
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
