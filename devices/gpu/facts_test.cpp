// SPDX-License-Identifier: Apache-2.0
// What properties say of a device, and of the batches that it takes.
#include <algorithm>
#include <bit>
#include <memory>
#include <string>

#include <tenon/core/platform/testing/environment.hpp>
#include <tenon/devices/gpu/facts.hpp>
#include <tenon/devices/gpu/public/properties.hpp>
#include <tenon/devices/gpu/testing/gpu.hpp>
#include <tenon/frameworks/opencl/context.hpp>

namespace tenon::gpu_testing {
namespace facts_test {

using ::testing::Contains;
using ::testing::Not;

/// y = relu(x) of [batch, columns].
std::shared_ptr<Model> relu_model(Dimension batch, std::int64_t columns) {
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{batch, columns});
  return std::make_shared<Model>(OutputVector{make_node("Relu", 1, {x}, {}, "y")}, ParameterVector{x}, "relu");
}

/// The device with other kernels, as the variable asks for them.
std::unique_ptr<gpu_device::Gpu> with_kernels(cl_device_id device, const char* kernels) {
  const platform::ScopedVariable wanted("TENON_GPU_KERNELS", kernels);
  return std::make_unique<gpu_device::Gpu>(opencl::make_context(device), "0", false);
}

TEST_F(Gpu, CapabilitiesNameWhatKernelsUse) {
  if (!opencl::device(opencl::make_context(app.device)).is_cpu()) GTEST_SKIP() << "for kernels that a CPU imitates";
  const auto plain = gpu_device::capabilities_of(*with_kernels(app.device, ""));
  EXPECT_THAT(plain, Contains("FP32"));
  EXPECT_THAT(plain, Contains(device::capability::HOST_CPU));
  EXPECT_THAT(plain, Not(Contains(intel_gpu::capability::HW_MATMUL)));
  const auto matrices = gpu_device::capabilities_of(*with_kernels(app.device, "sub_groups_8"));
  EXPECT_THAT(matrices, Contains("FP16"));
  EXPECT_THAT(matrices, Contains(intel_gpu::capability::HW_MATMUL));
}

TEST_F(Gpu, NamesOfTheHardwareAreTheDrivers) {
  const auto text = opencl::client::info_text(clGetDeviceInfo, "clGetDeviceInfo", app.device, CL_DEVICE_EXTENSIONS);
  const auto bytes = core.get_property("GPU", device::uuid).uuid;
  const bool is_known = std::any_of(bytes.begin(), bytes.end(), [](auto byte) { return byte != 0; });
  EXPECT_EQ(is_known, text.find("cl_khr_device_uuid") != std::string::npos);
  core.get_property("GPU", device::luid);
  if (text.find("cl_khr_pci_bus_info") == std::string::npos) {
    EXPECT_EQ(core.get_property("GPU", device::pci_info).bus, 0u);
  }
}

TEST_F(Gpu, BatchesAreAsLargeAsMemoryTakesThem) {
  EXPECT_EQ(core.get_property("GPU", max_batch_size), 1u);
  EXPECT_EQ(core.get_property("GPU", optimal_batch_size), 1u);
  constexpr std::int64_t kColumns = 1 << 20;
  const auto batch = [&](const std::shared_ptr<Model>& model) {
    return core.get_property("GPU", max_batch_size.name(), {hint::model(model)}).as<std::uint32_t>();
  };
  const std::uint32_t most = batch(relu_model(4, kColumns));
  EXPECT_TRUE(std::has_single_bit(most));
  EXPECT_EQ(batch(relu_model(1, kColumns)), most) << "of one item, whatever the model's batch";
  const auto total = core.get_property("GPU", intel_gpu::device_total_mem_size);
  EXPECT_LE(most, total / (2 * sizeof(float) * kColumns)) << "an input and an output";
  EXPECT_GE(4 * batch(relu_model(1, 2 * kColumns)), most);
  EXPECT_LT(batch(relu_model(1, 4 * kColumns)), most);
  EXPECT_EQ(batch(relu_model(Dimension::dynamic(), kColumns)), 1u);
  const auto as_gpu = with_kernels(app.device, "gpu");
  EXPECT_EQ(gpu_device::optimal_batch(*as_gpu, relu_model(1, 16), as_gpu->target()), 32u);
}

/// A platform that does not say when buffers are gone has none of them counted.
bool counts_memory() { return gpu_device::all_gpus().front()->native().tells_of_release; }

TEST_F(Gpu, MemoryOfRemoteTensorsIsCounted) {
  if (!counts_memory()) GTEST_SKIP() << "the platform does not say when buffers are gone";
  const auto held = [&] { return core.get_property("GPU", intel_gpu::memory_statistics).at("cl_mem"); };
  intel_gpu::ocl::ClContext context(core);
  drain_deferred(default_deadline());
  const auto before = held();
  {
    RemoteTensor tensor = context.create_tensor(element::f32, Shape{kCount});
    EXPECT_EQ(held(), before + kCount * sizeof(float));
    tensor.set_shape(Shape{2 * kCount});
    for (int i = 0; i < 6000 && held() > before + 2 * kCount * sizeof(float); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(held(), before + 2 * kCount * sizeof(float));
  }
  drain_deferred(default_deadline());
  for (int i = 0; i < 6000 && held() > before; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(held(), before);
}

/// A product packs its weights in the form that its kernel reads; what the model has them in stays on the host.
TEST_F(Gpu, WeightsOfAProductLieThereOnce) {
  if (!counts_memory()) GTEST_SKIP() << "the platform does not say when buffers are gone";
  constexpr std::size_t kRows = 512, kColumns = 2048;
  const auto held = [&] { return core.get_property("GPU", intel_gpu::memory_statistics).at("cl_mem"); };
  for (const Dimension& count : {Dimension(16), Dimension::dynamic()}) {
    const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{count, kRows});
    const auto weights = op::v0::Constant::create(element::f32, Shape{kRows, kColumns}, std::vector<double>{0.5});
    const auto y = make_node("MatMul", 0, {x, weights}, {{"transpose_a", false}, {"transpose_b", false}});
    drain_deferred(default_deadline());
    const auto before = held();
    auto request = core.compile_model(std::make_shared<Model>(OutputVector{y}, ParameterVector{x}, "product"), "GPU")
                       .create_infer_request();
    request.set_input_tensor(Tensor(element::f32, Shape{16, kRows}));
    request.infer();
    EXPECT_LT(held() - before, kRows * kColumns * sizeof(float) * 5 / 4) << count;
    EXPECT_GT(held() - before, kRows * kColumns);
  }
}

}  // namespace facts_test
}  // namespace tenon::gpu_testing
