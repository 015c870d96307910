// SPDX-License-Identifier: Apache-2.0
// What remote contexts and tensors say of themselves, how they grow, and files as tensors.
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>

#include <tenon/devices/gpu/hardware.hpp>
#include <tenon/devices/gpu/testing/gpu.hpp>
#include <tenon/frameworks/opencl/context.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon::gpu_testing {
namespace remote_remote_test {

using intel_gpu::AccessMode;
using intel_gpu::FileDescriptor;
using intel_gpu::ocl::ClBufferTensor;
using intel_gpu::ocl::ClContext;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(Gpu, ContextsOfSubDevicesAreNamedAfterTheirDevice) {
  const auto devices = opencl::client::all_devices();
  const std::string last = gpu_device::id_of(devices.back());
  const cl_device_partition_property halves[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
  cl_device_id parts[64] = {};
  cl_uint count = 0;
  if (clCreateSubDevices(devices.back(), halves, 64, parts, &count) != CL_SUCCESS || count < 2)
    GTEST_SKIP() << "the device is not divided";
  const cl_context own = clCreateContext(nullptr, 1, &parts[1], nullptr, nullptr, nullptr);
  {
    ClContext context(core, own);
    EXPECT_EQ(context.get_device_name(), "GPU." + last);
    auto compiled = core.compile_model(line_model(), context);
    EXPECT_THAT(compiled.get_property(execution_devices), ::testing::ElementsAre("GPU." + last));
    auto request = compiled.create_infer_request();
    std::fill_n(request.get_tensor("x").data<float>(), kCount, 3.0F);
    request.infer();
    EXPECT_EQ(request.get_tensor("y").data<float>()[kCount - 1], 7.0F);
  }
  clReleaseContext(own);
  for (cl_uint i = 0; i < count; ++i) clReleaseDevice(parts[i]);
}

TEST_F(Gpu, TilesAreNotChosenInSilence) {
  const auto context = [&](int tile) {
    return core.create_context("GPU", {{"CONTEXT_TYPE", "OCL"},
                                       {"OCL_CONTEXT", static_cast<void*>(app.context)},
                                       {"OCL_CONTEXT_DEVICE_ID", 0},
                                       {"TILE_ID", tile}});
  };
  EXPECT_TRUE(context(-1));
  EXPECT_TRUE(context(0));
  EXPECT_THAT(error_of([&] { context(1); }, Code::kUnimplemented), AllOf(HasSubstr("TILE_ID 1"), HasSubstr("GPU.0.1")));
}

TEST_F(Gpu, TensorsThatTheDeviceMadeGrow) {
  ClContext context(core);
  auto request = core.compile_model(line_model(), context).create_infer_request();
  Tensor made[] = {context.create_tensor(element::f32, Shape{16}),
                   context.create_usm_host_tensor(element::f32, Shape{16}),
                   context.create_usm_device_tensor(element::f32, Shape{16})};
  for (Tensor& tensor : made) {
    const Tensor before = tensor;
    tensor.set_shape(Shape{8});
    EXPECT_EQ(tensor.memory(), before.memory());
    tensor.set_shape(Shape{kCount});
    EXPECT_EQ(tensor.shape(), Shape{kCount});
    EXPECT_NE(tensor.memory(), before.memory());
    EXPECT_EQ(RemoteTensor(tensor).get_params().at("SHARED_MEM_TYPE").as<std::string>(),
              RemoteTensor(before).get_params().at("SHARED_MEM_TYPE").as<std::string>());
    const Tensor values(element::f32, Shape{kCount});
    std::iota(values.data<float>(), values.data<float>() + kCount, 0.0f);
    RemoteTensor(tensor).copy_from(values);
    request.set_tensor("x", tensor);
    request.infer();
    EXPECT_EQ(request.get_tensor("y").data<float>()[kCount - 1], 2.0f * (kCount - 1) + 1);
    tensor.set_shape(Shape{4 * kCount});
    EXPECT_EQ(tensor.shape(), Shape{4 * kCount});
    // A part of one is no memory of its own.
    RemoteTensor part(RemoteTensor(tensor), Shape{kCount}, Shape{2 * kCount});
    EXPECT_THAT(error_of([&] { part.set_shape(Shape{8 * kCount}); }).what(), HasSubstr("preallocated memory"));
    EXPECT_THROW(tensor.set_shape(Shape{SIZE_MAX / 8}), Error);
    EXPECT_EQ(tensor.shape(), Shape{4 * kCount});
  }
}

/// A file of floats that count, the first page being something else.
class GpuFiles : public Gpu {
 protected:
  static constexpr std::size_t kBytes = kCount * sizeof(float);
  void SetUp() override {
    Gpu::SetUp();
    if (IsSkipped()) return;
    std::vector<float> values(page / sizeof(float) + kCount, -1.0f);
    std::iota(values.end() - kCount, values.end(), 0.0f);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(float)));
  }
  void TearDown() override { std::filesystem::remove(path); }
  /// Null where the device has memory of its own, which is refused.
  RemoteTensor over(ClContext& context, AccessMode access) {
    if (opencl::coherency(opencl::make_context(app.device)) == opencl::Coherency::kStanding)
      return context.create_tensor(element::f32, Shape{kCount}, FileDescriptor(path, page, access));
    EXPECT_THAT(error_of([&] {
                  context.create_tensor(element::f32, Shape{kCount}, FileDescriptor(path, page, access));
                }).what(),
                HasSubstr("map_file()"));
    return {};
  }
  std::vector<float> read() const {
    std::vector<float> values(kCount);
    std::ifstream file(path, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(page));
    file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(kBytes));
    return values;
  }
  const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::filesystem::path path = ::testing::TempDir() + "gpu_file_" + std::to_string(::getpid());
};

TEST_F(GpuFiles, AreReadAndWrittenInPlace) {
  ClContext context(core);
  auto request = core.compile_model(line_model(), context).create_infer_request();
  RemoteTensor x = over(context, AccessMode::READ);
  if (!x) GTEST_SKIP() << "the device has memory of its own";
  EXPECT_EQ(x.get_params().at("SHARED_MEM_TYPE").as<std::string>(), "MMAPED_FILE");
  request.set_tensor("x", x);
  request.infer();
  for (std::size_t i = 0; i < kCount; ++i)
    ASSERT_EQ(request.get_tensor("y").data<float>()[i], 2 * static_cast<float>(i) + 1);
  EXPECT_THROW(request.set_tensor("y", x), Error) << "a file that is only read cannot take a result";
  const std::vector<float> before = read();
  request.set_tensor("y", over(context, AccessMode::READ_WRITE));
  request.infer();
  EXPECT_EQ(request.ledger().total().copied + request.ledger().total().transferred, 0u);
  request = {};
  for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(read()[i], 2 * before[i] + 1);
}

TEST_F(GpuFiles, StayMappedAsLongAsTheirMemoryLives) {
  ClContext context(core, app.queue);
  const auto is_mapped = [&] {
    std::ifstream maps("/proc/self/maps");
    const std::string all((std::istreambuf_iterator<char>(maps)), {});
    return all.find(path.filename()) != std::string::npos;
  };
  RemoteTensor x = over(context, AccessMode::READ);
  if (!x) GTEST_SKIP() << "the device has memory of its own";
  const cl_mem kept = x.as<ClBufferTensor>();
  clRetainMemObject(kept);
  x = {};
  drain_deferred(default_deadline());
  EXPECT_TRUE(is_mapped()) << "the application still has the cl_mem";
  EXPECT_EQ(app.read(kept)[7], 7.0f);
  clReleaseMemObject(kept);
  for (int i = 0; i < 6000 && is_mapped(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(is_mapped());
}

TEST_F(GpuFiles, AreRefusedWithTheReason) {
  ClContext context(core);
  if (!over(context, AccessMode::READ)) GTEST_SKIP() << "the device has memory of its own";
  const auto words = [&](const FileDescriptor& file, const Shape& shape) {
    return std::string(error_of([&] { context.create_tensor(element::f32, shape, file); }).what());
  };
  const Shape fits{kCount};
  EXPECT_THAT(words(FileDescriptor(path, page), Shape{kCount + 1}),
              AllOf(HasSubstr(std::to_string(page + kBytes)), HasSubstr(std::to_string(kBytes + 4))));
  EXPECT_THAT(words(FileDescriptor(path, 64 * page), fits), HasSubstr("has " + std::to_string(page + kBytes)));
  EXPECT_THAT(words(FileDescriptor(path, 12), fits), HasSubstr("multiple of " + std::to_string(page)));
  EXPECT_THAT(words(FileDescriptor("/none/such"), fits), AllOf(HasSubstr("/none/such"), HasSubstr("open")));
  EXPECT_THAT(words(FileDescriptor("/proc"), fits), HasSubstr("regular file"));
  EXPECT_THAT(error_of([] { FileDescriptor(""); }).what(), HasSubstr("path is empty"));
  EXPECT_THAT(
      error_of([&] {
        static_cast<RemoteContext&>(context).create_tensor(element::f32, fits, {{"SHARED_MEM_TYPE", "MMAPED_FILE"}});
      }).what(),
      HasSubstr("FILE_DESCRIPTOR"));
  // By its path alone: from the first byte.
  EXPECT_EQ(
      static_cast<RemoteContext&>(context)
          .create_tensor(element::f32, fits, {{"SHARED_MEM_TYPE", "MMAPED_FILE"}, {"FILE_DESCRIPTOR", path.string()}})
          .shape(),
      fits);
}

}  // namespace remote_remote_test
}  // namespace tenon::gpu_testing
