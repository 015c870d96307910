// SPDX-License-Identifier: Apache-2.0
// Every driver call made to fail in turn; and machines without loader, driver or device.
#include <cstdlib>
#include <sstream>

#include <tenon/devices/npu/testing/npu.hpp>

namespace tenon::npu_testing {
namespace npu_faults_test {

using level_zero::client::Probe;
using ::testing::HasSubstr;

/// y = max(x, 0), for any request.
void expect_it_computes(InferRequest& request) {
  Tensor x = request.get_tensor("x");
  for (std::size_t i = 0; i < x.element_count(); ++i) x.data<float>()[i] = i % 2 ? 3.f : -3.f;
  request.infer();
  const auto y = values_of(request.get_tensor("y"));
  ASSERT_EQ(y.size(), x.element_count());
  for (std::size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], i % 2 ? 3.f : 0.f) << i;
}

TEST_F(Npu, EveryCallOfACompilationMayFail) {
  fail_each_call([&] { return core.compile_model(relu(), "NPU"); },
                 [](CompiledModel& made) {
                   auto request = made.create_infer_request();
                   expect_it_computes(request);
                 });
}

TEST_F(Npu, EveryCallOfARequestMayFail) {
  auto compiled = core.compile_model(relu({1, 1024}), "NPU");
  const Pages pages(4096);
  using Outputs = std::vector<std::vector<float>>;
  fail_each_call(
      [&] {
        Outputs outputs;
        auto request = compiled.create_infer_request();
        const auto run = [&](float value, bool is_async) {
          Tensor x = request.get_tensor("x");
          std::fill_n(x.data<float>(), 1024, value);
          std::fill_n(request.get_tensor("y").data<float>(), 1024, -7.f);
          is_async ? (request.start_async(), request.wait()) : request.infer();
          outputs.push_back(values_of(request.get_tensor("y")));
        };
        request.set_tensor("x", Tensor(element::f32, {1, 1024}, pages.data()));
        run(5, false);
        run(6, true);
        request.set_tensor("x", floats({1, 1024}, std::vector<float>(1024, 1)));
        run(-1, false);
        return outputs;
      },
      [](const Outputs& outputs) {
        const float expected[] = {5, 6, 0};
        ASSERT_EQ(outputs.size(), 3u);
        for (std::size_t i = 0; i < 3; ++i) ASSERT_THAT(outputs[i], ::testing::Each(expected[i])) << i;
      });
}

TEST_F(Npu, EveryCallOfAProfileMayFail) {
  TENON_NEEDS("profiling");
  auto compiled = core.compile_model(relu(), "NPU", enable_profiling(true));
  fail_each_call(
      [&] {
        auto request = compiled.create_infer_request();
        request.infer();
        return request.get_profiling_info();
      },
      [](const std::vector<ProfilingInfo>& infos) {
        ASSERT_TRUE(std::any_of(infos.begin(), infos.end(), [](const ProfilingInfo& info) {
          return info.status == ProfilingInfo::Status::EXECUTED && info.node_type == "Relu";
        }));
      });
}

TEST_F(Npu, EveryCallOfBlobsMayFail) {
  fail_each_call(
      [&] {
        std::stringstream blob;
        core.compile_model(relu(), "NPU").export_model(blob);
        return core.import_model(blob, "NPU").create_infer_request();
      },
      expect_it_computes);
}

TEST_F(Npu, EveryCallOfRemoteTensorsMayFail) {
  TENON_NEEDS("sysmem");
  auto context = core.get_default_context("NPU");
  const Pages pages(4096);
  fail_each_call(
      [&] {
        return std::vector<Tensor>{
            context.create_tensor(element::f32, {1, 4}), context.create_host_tensor(element::f32, {1, 4}),
            context.create_tensor(
                element::f32, {1024},
                {intel_npu::mem_type(intel_npu::MemType::CPU_VA), intel_npu::mem_handle(pages.data())})};
      },
      [&](const std::vector<Tensor>& made) {
        ASSERT_EQ(made.size(), 3u);
        const Tensor four = floats({1, 4}, {1, 2, 3, 4});
        Tensor device = made[0];
        RemoteTensor(device).copy_from(four);
        ASSERT_THAT(values_of(device), ::testing::ElementsAre(1, 2, 3, 4));
        ASSERT_EQ(made[1].size_bytes(), 16u);
        pages.floats()[1000] = 17;
        ASSERT_EQ(values_of(made[2])[1000], 17) << "it is the user's own memory";
      });
}

TEST_F(Npu, ARequestWhoseInferenceFailedWorksAgain) {
  auto request = core.compile_model(relu(), "NPU").create_infer_request();
  Tensor x = request.get_tensor("x");
  std::fill_n(x.data<float>(), 4, 5.f);
  request.infer();
  int failed = 0;
  for (int call = 1; call < 6; ++call) {
    Probe::failed = false;
    Probe::countdown = call;
    x.data<float>()[0] = static_cast<float>(-call);
    bool has_thrown = false;
    try {
      request.infer();
    } catch (const Error&) {
      has_thrown = true;
    }
    Probe::countdown = 0;
    EXPECT_EQ(has_thrown, Probe::failed.load()) << "no call of an inference can be done without, call " << call;
    failed += has_thrown;
    x.data<float>()[0] = static_cast<float>(call);
    request.infer();
    ASSERT_EQ(request.get_tensor("y").data<float>()[0], static_cast<float>(call));
  }
  EXPECT_GE(failed, 3) << "submitting, waiting, making the fence ready";
}

/// Run without a driver: ctest sets ZE_ENABLE_ALT_DRIVERS to a missing file.
TEST(NpuMissing, SaysThatThereIsNoBackend) {
  const char* expected = std::getenv("TENON_NPU_EXPECT_NONE");
  if (!expected) GTEST_SKIP() << "a driver is here";
  register_device(*tenon_device_module());
  Core core;
  EXPECT_THAT(core.get_available_devices(), ::testing::Not(::testing::Contains("NPU")));
  EXPECT_THAT(core.get_unavailable_devices()["NPU"], HasSubstr("Level zero backend is not found!"));
  EXPECT_THAT(core.get_unavailable_devices()["NPU"], HasSubstr(expected));
  const auto words = [&](auto call) { return error_of(call, Code::kUnavailable); };
  EXPECT_THAT(words([&] { core.compile_model(testing::relu_model(), "NPU"); }),
              HasSubstr("Level zero backend is not found!"));
  EXPECT_THAT(words([&] { core.get_default_context("NPU"); }), HasSubstr("Level zero backend is not found!"));
  std::stringstream blob("x");
  EXPECT_THAT(words([&] { core.import_model(blob, "NPU"); }), HasSubstr("Level zero backend is not found!"));
}

/// Run with TENON_NPU_PLATFORM=4000,3720,4000.
TEST(NpuSeveral, AreDevicesOfTheirOwn) {
  const char* platforms = std::getenv("TENON_NPU_PLATFORM");
  if (!platforms || std::string(platforms) != "4000,3720,4000") GTEST_SKIP() << "one NPU is here";
  register_device(*tenon_device_module());
  Core core;
  EXPECT_THAT(core.get_available_devices(), ::testing::IsSupersetOf({"NPU.4000", "NPU.3720", "NPU.4000.1"}));
  for (const char* id : {"4000", "3720", "4000.1"}) {
    const std::string name = std::string("NPU.") + id;
    EXPECT_EQ(core.get_property(name, device::architecture), std::string(id).substr(0, 4));
    auto compiled = core.compile_model(testing::relu_model(), name);
    EXPECT_THAT(compiled.get_property(execution_devices), ::testing::ElementsAre(name));
    auto request = compiled.create_infer_request();
    request.set_tensor("x", floats({1, 4}, {1, -1, 2, -2}));
    request.infer();
    EXPECT_THAT(values_of(request.get_tensor("y")), ::testing::ElementsAre(1, 0, 2, 0));
  }
  EXPECT_EQ(core.get_property("NPU.3720", intel_npu::max_tiles), 2);
  auto wide =
      core.compile_model(testing::relu_model(), "NPU.3720", hint::performance_mode(hint::PerformanceMode::THROUGHPUT));
  EXPECT_EQ(wide.get_property(optimal_number_of_infer_requests), 4u);
  // A blob for one platform on another.
  std::stringstream blob;
  wide.export_model(blob);
  EXPECT_THAT(error_of([&] { core.import_model(blob, "NPU.4000"); }, Code::kFailedPrecondition), HasSubstr("3720"));
  EXPECT_EQ(core.get_default_context("NPU.3720").get_device_name(), "NPU.3720");
}

}  // namespace npu_faults_test
}  // namespace tenon::npu_testing
