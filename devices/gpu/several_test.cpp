// SPDX-License-Identifier: Apache-2.0
// Several devices: their order and names, models and tensors on each, and AUTO and HETERO over two. On PoCL behind the layer of
// frameworks/opencl that presents its devices as GPUs (gpu_several_test), and on machines with several GPUs.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <tenon/devices/auto/public/properties.hpp>
#include <tenon/devices/gpu/hardware.hpp>
#include <tenon/devices/gpu/public/properties.hpp>
#include <tenon/devices/gpu/testing/gpu.hpp>
#include <tenon/frameworks/opencl/context.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon::gpu_testing {
namespace several_test {

using intel_gpu::ocl::ClContext;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

class SeveralGpus : public Gpu {
 protected:
  void SetUp() override {
    Gpu::SetUp();
    if (IsSkipped()) return;
    gpus = gpu_device::all_gpus();
    if (gpus.size() < 2)
      GTEST_SKIP() << "there is one OpenCL device, " << core.get_property("GPU", device::full_name)
                   << "; these tests want two";
  }
  /// Those of a module that this program does not link.
  void need(const char* composite) {
    try {
      core.get_property(composite, device::full_name);
    } catch (const Error& error) {
      GTEST_SKIP() << composite << " is not there (TENON_DEVICE_PATH): " << error.what();
    }
  }
  static void expect_right(InferRequest& request, float x = 3) {
    std::fill_n(request.get_tensor("x").data<float>(), kCount, x);
    request.infer();
    EXPECT_EQ(request.get_tensor("y").data<float>()[kCount - 1], 2 * x + 1);
  }
  static std::vector<std::string> devices_of(const CompiledModel& model) {
    return model.get_property(execution_devices);
  }
  static std::vector<float> counted(float begin) {
    std::vector<float> values(kCount);
    std::iota(values.begin(), values.end(), begin);
    return values;
  }
  static Tensor over(std::vector<float>& values) { return Tensor(element::f32, Shape{values.size()}, values.data()); }
  static int kind_of(const gpu_device::Gpu& gpu) {
    const auto& found = gpu.native().device;
    return found.is_cpu() ? 3 : !found.is_gpu() ? 2 : found.host_unified ? 1 : 0;
  }

  std::vector<std::shared_ptr<const gpu_device::Gpu>> gpus;
};

/// For the next test, which runs it in a process of its own.
TEST_F(Gpu, ACpuIsSilentWhenAsked) { core.compile_model(line_model(), "GPU", log::level(log::Level::NO)); }

TEST_F(Gpu, ACpuThatIsCalledGpuIsToldOnce) {
  const auto told = [](const char* test) {
    const std::string program = std::filesystem::read_symlink("/proc/self/exe");
    const std::string command = "'" + program + "' --gtest_filter=Gpu." + test + " 2>&1 >/dev/null";
    std::unique_ptr<FILE, int (*)(FILE*)> output(::popen(command.c_str(), "r"), &::pclose);
    std::string all;
    for (int c = 0; output && (c = std::fgetc(output.get())) != EOF;) all += static_cast<char>(c);
    int lines = 0;
    for (std::size_t at = 0; (at = all.find("\"GPU\" is a CPU under OpenCL", at)) != all.npos; ++at) ++lines;
    return lines;
  };
  const bool is_cpu = gpu_device::find_gpu("")->native().device.is_cpu();
  EXPECT_EQ(told("TheDefaultContextIsOne"), is_cpu ? 1 : 0) << "it compiles models and asks for contexts";
  EXPECT_EQ(told("ACpuIsSilentWhenAsked"), 0);
}

TEST_F(SeveralGpus, ComeBeforeCpusAndInTheOrderOfTheirAddresses) {
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    EXPECT_EQ(gpus[i]->id(), std::to_string(i));
    if (i == 0) continue;
    const int before = kind_of(*gpus[i - 1]), kind = kind_of(*gpus[i]);
    EXPECT_LE(before, kind);
    const auto address = [&](std::size_t which) {
      const auto found = core.get_property("GPU." + std::to_string(which), device::pci_info);
      return std::tuple(found.domain, found.bus, found.device, found.function);
    };
    if (before == kind && address(i) > std::tuple(0u, 0u, 0u, 0u)) {
      EXPECT_LE(address(i - 1), address(i));
    }
  }
  EXPECT_EQ(core.get_property("GPU", device::full_name), core.get_property("GPU.0", device::full_name));
  const auto names = core.get_available_devices();
  EXPECT_THAT(names, IsSupersetOf({"GPU.0", "GPU.1"}));
  // An application that asks the framework gets the same device.
  EXPECT_EQ(app.device, gpus.front()->native().device.id);
  EXPECT_EQ(opencl::device(opencl::make_context()).id, app.device);
}

/// Whatever order the platform lists them in: ctest gives two.
TEST_F(SeveralGpus, AreOrderedTheSameHoweverTheyAreListed) {
  const char* const roles = std::getenv("TENON_OPENCL_DEVICES");
  if (!roles) GTEST_SKIP() << "for the devices of the tests' layer";
  std::vector<std::string> names;
  for (const auto& gpu : gpus) names.push_back(core.get_property(gpu->device_name(), device::full_name));
  EXPECT_THAT(names, ElementsAre(HasSubstr("a discrete device on bus 2 (dGPU"),
                                 HasSubstr("a discrete device on bus 3 (dGPU"), HasSubstr("a integrated device (iGPU"),
                                 HasSubstr("a accelerator device (accelerator"), HasSubstr("a cpu device (CPU")));
  EXPECT_EQ(core.get_property("GPU.1", device::pci_info).bus, 3u);
  EXPECT_EQ(core.get_property("GPU.1", device::uuid).uuid.back(), 3u);
  EXPECT_EQ(core.get_property("GPU.2", device::pci_info).bus, 0u) << "not stated";
  EXPECT_EQ(core.get_property("GPU.0", device::type), device::Type::DISCRETE);
  EXPECT_EQ(core.get_property("GPU.2", device::type), device::Type::INTEGRATED);
  const auto is_cpu = Contains(std::string(device::capability::HOST_CPU));
  EXPECT_THAT(core.get_property("GPU.4", device::capabilities), is_cpu);
  EXPECT_THAT(core.get_property("GPU.0", device::capabilities), Not(is_cpu));
}

TEST_F(SeveralGpus, RunModelsOnEach) {
  for (const auto& gpu : gpus) {
    const std::string name = gpu->device_name();
    auto compiled = core.compile_model(line_model(), name);
    EXPECT_THAT(devices_of(compiled), ElementsAre(name));
    EXPECT_EQ(compiled.get_context().get_device_name(), name);
    EXPECT_EQ(compiled.get_context().as<ClContext>().get(), gpu->native().context.get());
    auto request = compiled.create_infer_request();
    expect_right(request);
  }
  auto by_id = core.compile_model(line_model(), "GPU", device::id("1"));
  EXPECT_THAT(devices_of(by_id), ElementsAre("GPU.1"));
  EXPECT_THAT(error_of([&] { core.compile_model(line_model(), "GPU.99"); }).what(),
              AllOf(HasSubstr("GPU.99"), HasSubstr("GPU.0, GPU.1")));
}

TEST_F(SeveralGpus, AreFoundByAContextOfTheApplications) {
  for (const auto& gpu : gpus) {
    const cl_device_id id = gpu->native().device.id;
    const cl_context own = clCreateContext(nullptr, 1, &id, nullptr, nullptr, nullptr);
    ASSERT_NE(own, nullptr);
    {
      ClContext context(core, own);
      EXPECT_EQ(context.get_device_name(), gpu->device_name());
      auto compiled = core.compile_model(line_model(), context);
      EXPECT_THAT(devices_of(compiled), ElementsAre(gpu->device_name()));
      auto request = compiled.create_infer_request();
      expect_right(request);
    }
    clReleaseContext(own);
  }
}

TEST_F(SeveralGpus, OfOneContextAreNamedByQueueOrNumber) {
  const cl_device_id both[] = {gpus[1]->native().device.id, gpus[0]->native().device.id};
  if (gpus[0]->native().device.platform != gpus[1]->native().device.platform) GTEST_SKIP() << "of two platforms";
  const cl_context own = clCreateContext(nullptr, 2, both, nullptr, nullptr, nullptr);
  ASSERT_NE(own, nullptr);
  const cl_command_queue queue = clCreateCommandQueueWithProperties(own, both[1], nullptr, nullptr);
  {
    EXPECT_THAT(error_of([&] {
                  core.create_context("GPU", {{"CONTEXT_TYPE", "OCL"}, {"OCL_CONTEXT", static_cast<void*>(own)}});
                }).what(),
                AllOf(HasSubstr("Exactly one device expected"), HasSubstr("from 0 to ")));
    EXPECT_EQ(ClContext(core, own, 0).get_device_name(), "GPU.1");
    ClContext first(core, queue);
    EXPECT_EQ(first.get_device_name(), "GPU.0");
    auto request = core.compile_model(line_model(), first).create_infer_request();
    expect_right(request);
  }
  clReleaseCommandQueue(queue);
  clReleaseContext(own);
}

TEST_F(SeveralGpus, HaveTensorsThatSayWhereTheyLieAndCopyToEachOther) {
  RemoteContext first = core.get_default_context("GPU.0"), second = core.get_default_context("GPU.1");
  EXPECT_EQ(core.get_default_context("GPU").get_device_name(), "GPU.0");
  RemoteTensor there = first.create_tensor(element::f32, Shape{kCount});
  RemoteTensor here = second.create_tensor(element::f32, Shape{kCount});
  EXPECT_EQ(there.get_device_name(), "GPU.0");
  EXPECT_EQ(here.get_device_name(), "GPU.1");
  EXPECT_NE(there.get_params().at("OCL_CONTEXT").as<void*>(), here.get_params().at("OCL_CONTEXT").as<void*>());
  std::vector<float> values = counted(5), back(kCount);
  there.copy_from(over(values));
  here.copy_from(there);
  Tensor result = over(back);
  here.copy_to(result);
  EXPECT_EQ(back, values);
  // And by the side that has the bytes.
  std::vector<float> others = counted(-7);
  here.copy_from(over(others));
  here.copy_to(there);
  there.copy_to(result);
  EXPECT_EQ(back, others);
}

/// A buffer of another device is read by way of the host, as the ledger says; nothing is written there, and pointers are not read.
TEST_F(SeveralGpus, RouteInputsOfOthersAndRefuseTheirOutputs) {
  ClContext second(core, std::string("GPU.1"));
  RemoteTensor other = second.create_tensor(element::f32, Shape{kCount});
  std::vector<float> values = counted(5);
  other.copy_from(over(values));
  auto request = core.compile_model(line_model(), "GPU.0").create_infer_request();
  const auto says_where = AllOf(HasSubstr("GPU.1"), HasSubstr("GPU.0"), HasSubstr("get_context()"));
  EXPECT_THAT(error_of([&] { request.set_tensor("y", other); }, Code::kFailedPrecondition), says_where);
  const RemoteTensor pointer = second.create_usm_device_tensor(element::f32, Shape{kCount});
  EXPECT_THAT(error_of([&] { request.set_tensor("x", pointer); }, Code::kFailedPrecondition), says_where);
  request.set_tensor("x", other);
  request.infer();
  EXPECT_EQ(request.get_tensor("y").data<float>()[kCount - 1], 2 * values.back() + 1);
  const auto total = request.ledger().total();
  EXPECT_GE(total.copied + total.transferred, kCount * sizeof(float));
  auto strict = core.compile_model(line_model(), "GPU.0", zero_copy(ZeroCopy::kRequire)).create_infer_request();
  EXPECT_THAT(error_of([&] { strict.set_tensor("x", other); }, Code::kFailedPrecondition), says_where);
}

TEST_F(SeveralGpus, KeepTheirOwnCounts) {
  const auto held = [&](const char* name) {
    return core.get_property(name, intel_gpu::memory_statistics).at("cl_mem");
  };
  const auto first = held("GPU.0"), second = held("GPU.1");
  const RemoteTensor kept = core.get_default_context("GPU.1").create_tensor(element::f32, Shape{kCount});
  EXPECT_EQ(held("GPU.0"), first);
  EXPECT_EQ(held("GPU.1"), second + kCount * sizeof(float));
}

TEST_F(SeveralGpus, AutoTakesTheFirstAndThroughputSpreadsOverAll) {
  need("AUTO");
  if (IsSkipped()) return;
  const char* const list = "AUTO:GPU.0,GPU.1,CPU";
  const auto throughput = hint::performance_mode(hint::PerformanceMode::THROUGHPUT);
  const auto plain = core.compile_model(line_model(), list, {intel_auto::enable_startup_fallback(false), throughput});
  EXPECT_THAT(devices_of(plain), ElementsAre("GPU.0"));
  auto spread = core.compile_model(line_model(), list, {throughput, auto_device::spreads_throughput(true)});
  EXPECT_THAT(devices_of(spread), ElementsAre("GPU.0", "GPU.1")) << "and not the CPU";
  EXPECT_TRUE(spread.get_property(auto_device::spreads_throughput));
  const auto optimal = [&](const char* name) {
    return core.compile_model(line_model(), name, throughput).get_property(optimal_number_of_infer_requests);
  };
  EXPECT_EQ(spread.get_property(optimal_number_of_infer_requests), optimal("GPU.0") + optimal("GPU.1"));
  // One request on each: they take turns from the first on.
  const auto held = [&](const char* name) {
    return core.get_property(name, intel_gpu::memory_statistics).at("cl_mem");
  };
  std::vector<InferRequest> requests;
  for (int i = 0; i < 2; ++i) {
    const auto first = held("GPU.0"), second = held("GPU.1");
    requests.push_back(spread.create_infer_request());
    expect_right(requests.back(), static_cast<float>(i));
    EXPECT_EQ(held("GPU.0") > first, i == 0);
    EXPECT_EQ(held("GPU.1") > second, i == 1);
  }
  for (int round = 0; round < 20; ++round) {
    for (auto& request : requests) request.start_async();
    for (auto& request : requests) request.wait();
  }
  EXPECT_EQ(requests[1].get_tensor("y").data<float>()[0], 3);
  // CUMULATIVE_THROUGHPUT is all of the list.
  const auto all = core.compile_model(line_model(), "AUTO:GPU.1,GPU.0",
                                      hint::performance_mode(hint::PerformanceMode::CUMULATIVE_THROUGHPUT));
  EXPECT_THAT(devices_of(all), ElementsAre("GPU.1", "GPU.0"));
}

TEST_F(SeveralGpus, AutoPrefersThemInTheirOrder) {
  need("AUTO");
  if (IsSkipped()) return;
  if (kind_of(*gpus.front()) == 3) GTEST_SKIP() << "all are CPUs, to which AUTO prefers the CPU device";
  const auto model = core.compile_model(line_model(), "AUTO", intel_auto::enable_startup_fallback(false));
  EXPECT_THAT(devices_of(model), ElementsAre("GPU.0"));
}

TEST_F(SeveralGpus, PropertiesOfOneAreNoneOfTheOthers) {
  need("AUTO");
  if (IsSkipped()) return;
  const auto model = core.compile_model(
      line_model(), "AUTO:GPU.1",
      {device::properties("GPU.0", enable_profiling(true)), intel_auto::enable_startup_fallback(false)});
  EXPECT_FALSE(model.get_property(enable_profiling));
  const auto other = core.compile_model(
      line_model(), "AUTO:GPU.1",
      {device::properties("GPU.1", enable_profiling(true)), intel_auto::enable_startup_fallback(false)});
  EXPECT_TRUE(other.get_property(enable_profiling));
  core.set_property("GPU.1", enable_profiling(true));
  EXPECT_THAT(devices_of(core.compile_model(line_model(), "GPU")), ElementsAre("GPU.0"));
  EXPECT_FALSE(core.compile_model(line_model(), "GPU").get_property(enable_profiling));
  EXPECT_TRUE(core.compile_model(line_model(), "GPU.1").get_property(enable_profiling));
  EXPECT_FALSE(core.get_property("GPU.0", enable_profiling));
  EXPECT_TRUE(core.get_property("GPU.1", enable_profiling));
  core.set_property("GPU.1", cache_dir(std::string()));
  EXPECT_EQ(core.get_default_context("GPU").get_device_name(), "GPU.0") << "nothing for the device";
}

TEST_F(SeveralGpus, HeteroRunsPartsOfAModelOnEach) {
  need("HETERO");
  if (IsSkipped()) return;
  for (const bool first_on_second : {false, true}) {
    const auto model = line_model();
    for (const auto& node : model->get_ordered_ops())
      node->get_rt_info()["affinity"] =
          std::string((node->get_friendly_name() == "sum") != first_on_second ? "GPU.1" : "GPU.0");
    auto compiled = core.compile_model(model, "HETERO:GPU.0,GPU.1");
    auto devices = devices_of(compiled);
    EXPECT_EQ(std::set<std::string>(devices.begin(), devices.end()), (std::set<std::string>{"GPU.0", "GPU.1"}));
    auto request = compiled.create_infer_request();
    expect_right(request);
    expect_right(request, -4);
  }
}

}  // namespace several_test
}  // namespace tenon::gpu_testing
