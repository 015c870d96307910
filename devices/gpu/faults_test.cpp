// SPDX-License-Identifier: Apache-2.0
// Every OpenCL call of the GPU device made to fail in turn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <tenon/core/policy.hpp>
#include <tenon/devices/gpu/hardware.hpp>
#include <tenon/devices/gpu/public/properties.hpp>
#include <tenon/devices/gpu/testing/gpu.hpp>
#include <tenon/devices/gpu/tuner.hpp>
#include <tenon/frameworks/dmabuf/client.hpp>
#include <tenon/graph/limits.hpp>
#include <tenon/tests/support/fail_each_call.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace tenon::gpu_testing {
namespace gpu_faults_test {

using opencl::client::Probe;

constexpr const char* kInjected = "CL_OUT_OF_RESOURCES";

/// Calls that are made to fail say `code` while this lives.
class Injection {
 public:
  explicit Injection(cl_int code) { opencl::client::injection = code; }
  ~Injection() { opencl::client::injection = CL_OUT_OF_RESOURCES; }
  Injection(const Injection&) = delete;
  Injection& operator=(const Injection&) = delete;
};
constexpr cl_int kCodes[] = {CL_OUT_OF_RESOURCES, CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_DEVICE_NOT_AVAILABLE,
                             opencl::kKernelFault};

std::vector<float> answer(CompiledModel& model) {
  auto request = model.create_infer_request();
  Tensor x = request.get_tensor("x");
  std::fill_n(x.data<float>(), x.element_count(), 4.0f);
  request.infer();
  const Tensor y = request.get_tensor("y");
  return {y.data<float>(), y.data<float>() + y.element_count()};
}

/// In a process that has not looked for devices yet. @return 0 if each call that failed was named with its code, and the next look
/// found the devices.
int look_with_each_call_failing(Core& core) {
  // Bounded by time: how often a look asks whether a kernel has ended depends on the machine.
  const Deadline patience = Clock::now() + std::chrono::seconds(60);
  for (int call = 0; Clock::now() < patience; ++call) {
    Probe::countdown = call + 1;
    const auto missing = core.get_unavailable_devices();
    Probe::countdown = 0;
    const auto gpu = missing.find("GPU");
    if (gpu == missing.end()) return call < 2 ? 1 : core.get_available_devices().empty() ? 2 : 0;
    for (const char* said : {kInjected, "cl", "gave -5"})
      if (gpu->second.find(said) == std::string::npos) return 3;
  }
  return 4;
}

TEST_F(Gpu, LooksForDevicesAgainWhereACallFailed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::exit(look_with_each_call_failing(core)), ::testing::ExitedWithCode(0), "");
}

TEST_F(Gpu, EveryCallOfACompilationMayFail) {
  // The programs used last are kept. With as many as there may be, each new one takes the place of another.
  for (int i = 0; i < 70; ++i) core.compile_model(fresh_model(), "GPU");
  testing::fail_each_call<Probe>(
      kInjected, [&] { return core.compile_model(fresh_model(), "GPU"); },
      [](CompiledModel& made) { ASSERT_THAT(answer(made), ::testing::Each(::testing::FloatNear(-0.7568f, 1e-3f))); });
}

TEST_F(Gpu, EveryCallOfAnInferenceMayFailWithEveryCode) {
  auto compiled = core.compile_model(line_model(), "GPU");
  for (const cl_int code : kCodes) {
    const Injection injection(code);
    const std::string name = opencl::status_name(code);
    testing::fail_each_call<Probe>(
        name.c_str(), [&] { return answer(compiled); },
        [](const std::vector<float>& values) { ASSERT_THAT(values, ::testing::Each(9.0f)); });
  }
}

/// y = 2 * x + 1 of any extent.
TEST_F(Gpu, EveryCallOfAnInferenceOfMovingShapesMayFail) {
  auto model = line_model();
  model->reshape(PartialShape{Dimension::dynamic()});
  auto compiled = core.compile_model(model, "GPU");
  std::size_t count = 7;
  testing::fail_each_call<Probe>(
      kInjected,
      [&] {
        auto request = compiled.create_infer_request();
        count += 2;  // Each needs a plan; an odd one needs no kernel that writes vectors.
        Tensor x(element::f32, Shape{count});
        std::fill_n(x.data<float>(), count, 4.0f);
        request.set_tensor("x", x);
        request.infer();
        const Tensor y = request.get_tensor("y");
        return std::vector<float>(y.data<float>(), y.data<float>() + y.element_count());
      },
      [&](const std::vector<float>& values) {
        ASSERT_EQ(values.size(), count);
        ASSERT_THAT(values, ::testing::Each(9.0f));
      });
}

/// Where values that kernels compute decide shapes, the host reads them in between.
TEST_F(Gpu, EveryCallOfAnInferenceInPartsMayFail) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{8});
  x->output(0).set_names({"x"});
  const auto found = make_node("NonZero", 3, {x}, {}, "found");
  auto sum = make_node("Add", 1, {found, found}, {}, "sum");
  sum->output(0).set_names({"y"});
  auto compiled = core.compile_model(std::make_shared<Model>(OutputVector{found, sum}, ParameterVector{x}), "GPU");
  testing::fail_each_call<Probe>(
      kInjected,
      [&] {
        auto request = compiled.create_infer_request();
        float* values = request.get_tensor("x").data<float>();
        for (int i = 0; i < 8; ++i) values[i] = i % 3 == 1 ? 1.0f : 0.0f;
        request.infer();
        const Tensor y = request.get_tensor("y");
        return std::vector<std::int64_t>(y.data<std::int64_t>(), y.data<std::int64_t>() + y.element_count());
      },
      [](const std::vector<std::int64_t>& places) { ASSERT_THAT(places, ::testing::ElementsAre(2, 8, 14)); });
}

/// value(t) = x + value(t - 1), y = value. @param grows  The state becomes longer by [1] each time instead.
std::shared_ptr<Model> state_model(bool grows) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1});
  x->output(0).set_names({"x"});
  const PartialShape shape{grows ? Dimension::dynamic() : Dimension(1)};
  const Attributes variable{{"variable_id", "held"}, {"variable_shape", shape}, {"variable_type", element::f32}};
  const auto read = make_node("ReadValue", 6, {}, variable);
  const std::shared_ptr<Node> next =
      grows ? make_node("Concat", 0, {read, x}, {{"axis", std::int64_t{0}}}) : make_node("Add", 1, {read, x});
  const auto assign = make_node("Assign", 6, {next}, Attributes{{"variable_id", "held"}});
  const auto y = make_node("Relu", 0, {next});
  y->output(0).set_names({"y"});
  return std::make_shared<Model>(OutputVector{y}, SinkVector{assign}, ParameterVector{x}, "held");
}

TEST_F(Gpu, EveryCallOfAnInferenceWithStatesMayFail) {
  for (const bool grows : {false, true}) {
    auto compiled = core.compile_model(state_model(grows), "GPU");
    testing::fail_each_call<Probe>(
        kInjected,
        [&] {
          auto request = compiled.create_infer_request();
          *request.get_tensor("x").data<float>() = 1;
          for (int i = 0; i < 3; ++i) request.infer();
          Tensor held;
          request.query_state().at(0).get_state().copy_to(held);
          return std::vector<float>(held.data<float>(), held.data<float>() + held.element_count());
        },
        [&](const std::vector<float>& held) {
          ASSERT_EQ(held, grows ? std::vector<float>(3, 1) : std::vector<float>{3});
        });
  }
}

TEST_F(Gpu, AnInferenceThatFailsLeavesTheStateAsItWas) {
  for (const bool grows : {false, true}) {
    auto request = core.compile_model(state_model(grows), "GPU").create_infer_request();
    *request.get_tensor("x").data<float>() = 1;
    auto state = request.query_state().at(0);
    const auto turns = [&] {
      const Tensor value = state.get_state();
      return grows ? value.element_count() : static_cast<std::size_t>(*value.data<float>());
    };
    request.infer();
    int calls = 0;
    for (bool has_failed = true; has_failed; ++calls) {
      const std::size_t before = turns();
      Probe::failed = false;
      Probe::countdown = calls + 1;
      try {
        request.infer();
        Probe::countdown = 0;
        ASSERT_EQ(turns(), before + 1) << "after call " << calls;
      } catch (const Error&) {
        Probe::countdown = 0;
        ASSERT_EQ(turns(), before) << "after call " << calls;
      }
      has_failed = Probe::failed;
    }
    EXPECT_GT(calls, 3);
  }
}

TEST_F(Gpu, EveryCallOfACompilationWithACacheMayFail) {
  const TemporaryFolder folder;
  testing::fail_each_call<Probe>(
      kInjected, [&] { return core.compile_model(fresh_model(), "GPU", cache_dir(folder.path().string())); },
      [](CompiledModel& made) { ASSERT_THAT(answer(made), ::testing::Each(::testing::FloatNear(-0.7568f, 1e-3f))); },
      true);
}

/// A program that is loaded, not built: what fails on the way is built instead.
TEST_F(Gpu, EveryCallOfALoadedProgramMayFail) {
  const TemporaryFolder folder;
  const gpu_device::KernelLibrary::Texts texts{std::make_shared<const gpu_device::KernelText>(
      gpu_device::KernelText{"test", "loaded", "__kernel void loaded(__global float* x) { x[0] = 7; }"})};
  const auto native = gpu_device::find_gpu("")->native_ref();
  testing::fail_each_call<Probe>(
      kInjected,
      [&] {
        gpu_device::KernelLibrary library(native);
        return library.build(texts, folder.path(), TimeLimit(0));
      },
      [&](const auto& programs) { ASSERT_TRUE(programs.at(0)->make(*texts[0])); }, true);
}

/// What the tuner tries fails without harm; the model is compiled as rules say.
TEST_F(Gpu, EveryCallOfTuningMayFail) {
  const auto model = [](std::int64_t wide) {
    const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, wide});
    x->output(0).set_names({"x"});
    const auto weights =
        op::v0::Constant::create(element::f32, Shape(2, static_cast<std::size_t>(wide)), std::vector<double>{1.0});
    const auto y = make_node("MatMul", 0, {x, weights}, {{"transpose_a", false}, {"transpose_b", true}});
    y->output(0).set_names({"y"});
    return std::make_shared<Model>(OutputVector{y}, ParameterVector{x}, "product");
  };
  testing::fail_each_call<Probe>(
      kInjected,
      [&] {
        gpu_device::Tuner::forget();
        return core.compile_model(model(64), "GPU", gpu::tuning_ms(30));
      },
      [](CompiledModel& made) { ASSERT_THAT(answer(made), ::testing::Each(::testing::FloatNear(256, 0.5f))); }, true);
}

TEST_F(Gpu, EveryCallOfTensorsOverOtherMemoryMayFail) {
  intel_gpu::ocl::ClContext context(core);
  auto compiled = core.compile_model(line_model(), context);
  constexpr std::size_t kBytes = kCount * sizeof(float);
  const std::unique_ptr<float, decltype(&std::free)> pages(static_cast<float*>(std::aligned_alloc(4096, kBytes)),
                                                           &std::free);
  std::fill_n(pages.get(), kCount, 4.0f);
  const auto fail_each = [&](const std::function<RemoteTensor()>& wrap) {
    testing::fail_each_call<Probe>(
        kInjected,
        [&] {
          auto request = compiled.create_infer_request();
          request.set_tensor("x", wrap());
          request.infer();
          const Tensor y = request.get_tensor("y");
          return std::vector<float>(y.data<float>(), y.data<float>() + y.element_count());
        },
        [](const std::vector<float>& values) { ASSERT_THAT(values, ::testing::Each(9.0f)); });
  };
  if (opencl::coherency(opencl::make_context(app.device)) == opencl::Coherency::kStanding)
    fail_each([&] {
      return context.create_tensor(element::f32, Shape{kCount}, intel_gpu::VirtualAddressMemory(pages.get(), kBytes));
    });
  const UniqueFd memory = dmabuf::client::sealed_memfd(kBytes);
  ASSERT_EQ(::pwrite(memory.get(), pages.get(), kBytes, 0), static_cast<ssize_t>(kBytes));
  if (opencl::imports(opencl::make_context(app.device), FdKind::kMemfd))
    fail_each([&] {
      return context.create_tensor(element::f32, Shape{kCount}, intel_gpu::SharedBufferHandle{memory.get()});
    });
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

}  // namespace gpu_faults_test
}  // namespace tenon::gpu_testing
