// SPDX-License-Identifier: Apache-2.0
// The layer over a runtime that this test is: what reaches the runtime, what comes back, and what a GPU would refuse.
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <tenon/drivers/gpu/testing/runtime.hpp>

namespace tenon::gpu_layer::testing {
namespace {

constexpr const char* kPlain = "kernel void k() {}";
constexpr const char* kGroups = "kernel void k() { sub_group_barrier(CLK_LOCAL_MEM_FENCE); }";

TEST_F(GpuLayer, PresentsTheCpuAndNoOtherDevice) {
  cl_device_type type = 0;
  ASSERT_EQ(layer().clGetDeviceInfo(kCpu, CL_DEVICE_TYPE, sizeof type, &type, nullptr), CL_SUCCESS);
  EXPECT_EQ(type, cl_device_type{CL_DEVICE_TYPE_GPU});
  EXPECT_EQ(text(kCpu, CL_DEVICE_NAME), "Intel(R) Iris(R) Xe Graphics (software)");
  EXPECT_EQ(text(kOther, CL_DEVICE_NAME), "Some CPU");
  EXPECT_EQ(text(kCpu, CL_DEVICE_EXTENSIONS),
            "cl_khr_icd cl_khr_fp64 cl_khr_subgroups cl_khr_pci_bus_info cl_khr_external_memory "
            "cl_khr_external_memory_dma_buf cl_intel_va_api_media_sharing");
  cl_ulong local = 0;
  ASSERT_EQ(layer().clGetDeviceInfo(kCpu, CL_DEVICE_LOCAL_MEM_SIZE, sizeof local, &local, nullptr), CL_SUCCESS);
  EXPECT_EQ(local, 12345u) << "what kernels cannot have is not promised";
  cl_uint version = 0;
  EXPECT_EQ(layer().clGetDeviceInfo(kCpu, 0x4250, 2, &version, nullptr), CL_INVALID_VALUE) << "too small";
  EXPECT_EQ(layer().clGetDeviceInfo(kCpu, 0x4250, sizeof version, &version, nullptr), CL_SUCCESS);
  EXPECT_EQ(version, 12u << 22 | 30u << 14);
  EXPECT_EQ(layer().clGetDeviceInfo(kOther, 0x4250, sizeof version, &version, nullptr), CL_INVALID_VALUE);
  EXPECT_EQ(layer().clGetDeviceInfo(nullptr, CL_DEVICE_TYPE, sizeof type, &type, nullptr), CL_INVALID_DEVICE);
}

TEST_F(GpuLayer, ACpuOfAnotherRuntimeStaysOneAndTheReasonIsSaidOnce) {
  runtime.vendor = "GenuineIntel";
  runtime.extensions = "cl_khr_icd cl_intel_required_subgroup_size";
  cl_device_id device = nullptr;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(layer().clGetDeviceIDs(kPlatform, CL_DEVICE_TYPE_CPU, 1, &device, nullptr), CL_SUCCESS);
  EXPECT_EQ(layer().clGetDeviceIDs(kPlatform, CL_DEVICE_TYPE_GPU, 1, &device, nullptr), CL_DEVICE_NOT_FOUND);
  EXPECT_EQ(
      ::testing::internal::GetCapturedStderr(),
      "tenon gpu: the device 'Some CPU' (OpenCL 3.0 some) is not presented as a GPU: it lacks cl_intel_subgroups, "
      "cl_intel_unified_shared_memory; take Intel's runtime for CPUs (pip install intel-opencl-rt)\n");
  EXPECT_EQ(text(kCpu, CL_DEVICE_NAME), "Some CPU");
}

TEST_F(GpuLayer, IsFoundAsAGpuAndNotAsACpu) {
  cl_device_id device = nullptr;
  for (const cl_device_type type :
       {CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_DEFAULT, CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_GPU})
    EXPECT_EQ(layer().clGetDeviceIDs(kPlatform, type, 1, &device, nullptr), CL_SUCCESS) << type;
  EXPECT_EQ(layer().clGetDeviceIDs(kPlatform, CL_DEVICE_TYPE_CPU, 1, &device, nullptr), CL_DEVICE_NOT_FOUND);
  EXPECT_EQ(layer().clGetDeviceIDs(kPlatform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr), CL_SUCCESS);
  EXPECT_EQ(runtime.asked_type, cl_device_type{CL_DEVICE_TYPE_ALL});
}

TEST_F(GpuLayer, TakesNameAndMemoryFromTheEnvironment) {
  ::setenv("TENON_GPU_NAME", "A GPU", 1);
  ::setenv("TENON_GPU_MEMORY", "1000000", 1);
  cl_ulong bytes = 0;
  EXPECT_EQ(text(kCpu, CL_DEVICE_NAME), "A GPU");
  layer().clGetDeviceInfo(kCpu, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof bytes, &bytes, nullptr);
  EXPECT_EQ(bytes, 1000000u);
  ::setenv("TENON_GPU_MEMORY", "much", 1);
  layer().clGetDeviceInfo(kCpu, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof bytes, &bytes, nullptr);
  EXPECT_EQ(bytes, cl_ulong{1} << 34) << "what is not understood changes nothing";
  ::unsetenv("TENON_GPU_NAME");
  ::unsetenv("TENON_GPU_MEMORY");
}

TEST_F(GpuLayer, LaunchesKernelsOfSubGroupsFlat) {
  const cl_kernel with = kernel(kGroups), without = kernel(kPlain);
  ASSERT_EQ(run(without, {32, 4}, {8, 2}), CL_SUCCESS);
  EXPECT_EQ(runtime.launches[0].local, (std::vector<std::size_t>{8, 2}));
  ASSERT_EQ(run(with, {32, 4, 3}, {8, 2, 1}, {5, 0, 7}), CL_SUCCESS);
  const Launch& flat = runtime.launches[1];
  EXPECT_EQ(flat.dims, 3u);
  EXPECT_EQ(flat.local, (std::vector<std::size_t>{16, 1, 1}));
  EXPECT_EQ(flat.global, (std::vector<std::size_t>{64, 2, 3}));
  EXPECT_EQ(flat.offset, (std::vector<std::size_t>{5 << 14 | 3 << 12 | 8, 3 << 12 | 2, 7 << 14 | 3 << 12 | 1}));
  ASSERT_EQ(run(with, {48}, {}), CL_SUCCESS) << "the layer chooses the local size";
  EXPECT_EQ(runtime.launches[2].local, (std::vector<std::size_t>{16, 1, 1}));
}

TEST_F(GpuLayer, TasksTellFlatKernelsTheirSizes) {
  const cl_kernel with = kernel(kGroups), without = kernel(kPlain);
  ASSERT_EQ(layer().clEnqueueTask(kQueue, without, 0, nullptr, nullptr), CL_SUCCESS);
  EXPECT_EQ(runtime.calls, std::vector<std::string>{"task"});
  ASSERT_EQ(layer().clEnqueueTask(kQueue, with, 0, nullptr, nullptr), CL_SUCCESS);
  ASSERT_EQ(runtime.launches.size(), 1u);
  EXPECT_EQ(runtime.launches[0].local, (std::vector<std::size_t>{1, 1, 1}));
  EXPECT_EQ(runtime.launches[0].offset, std::vector<std::size_t>(3, 1 << 12 | 1));
}

TEST_F(GpuLayer, RefusesWorkGroupsThatAGpuRefuses) {
  const cl_kernel with = kernel(kGroups), without = kernel(kPlain);
  for (const cl_kernel each : {with, without}) {
    EXPECT_EQ(run(each, {1024}, {1024}), CL_INVALID_WORK_GROUP_SIZE);
    EXPECT_EQ(run(each, {64, 64}, {32, 32}), CL_INVALID_WORK_GROUP_SIZE);
    EXPECT_EQ(run(each, {64}, {0}), CL_INVALID_WORK_GROUP_SIZE);
    const std::size_t huge = std::size_t{1} << 32;
    EXPECT_EQ(run(each, {huge, huge}, {huge, huge}), CL_INVALID_WORK_GROUP_SIZE) << "a product that overflows";
  }
  EXPECT_EQ(run(with, {17}, {16}), CL_INVALID_WORK_GROUP_SIZE);
  EXPECT_EQ(run(with, {16}, {16}, {std::numeric_limits<std::size_t>::max()}), CL_INVALID_GLOBAL_OFFSET);
  EXPECT_TRUE(runtime.launches.empty());
  std::size_t group = 0;
  ASSERT_EQ(layer().clGetKernelWorkGroupInfo(with, kCpu, CL_KERNEL_WORK_GROUP_SIZE, sizeof group, &group, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(group, 512u);
  // What is wrong for every device is the runtime's to refuse.
  const std::size_t one = 1;
  EXPECT_EQ(layer().clEnqueueNDRangeKernel(kQueue, with, 4, nullptr, &one, &one, 0, nullptr, nullptr), CL_SUCCESS);
  EXPECT_EQ(layer().clEnqueueNDRangeKernel(kQueue, nullptr, 1, nullptr, &one, &one, 0, nullptr, nullptr), CL_SUCCESS);
  EXPECT_EQ(runtime.launches.size(), 2u);
}

TEST_F(GpuLayer, GivesBackTheSourceThatItWasGiven) {
  const cl_program with = program(kGroups);
  EXPECT_TRUE(runtime.sources[with].ends_with(std::string("#line 1\n") + kGroups)) << "the build log's lines";
  char text[200] = "";
  std::size_t size = 0;
  ASSERT_EQ(layer().clGetProgramInfo(with, CL_PROGRAM_SOURCE, sizeof text, text, &size), CL_SUCCESS);
  EXPECT_STREQ(text, kGroups);
  EXPECT_EQ(size, std::strlen(kGroups) + 1);
  EXPECT_EQ(runtime.sources[program(kPlain)], kPlain);
  const std::string assembly = std::string(kGroups) + " kernel void a() { __asm__(\"mov\"); }";
  const cl_program both = program(assembly);
  EXPECT_TRUE(runtime.sources[both].starts_with("#define __asm__ ")) << "which would end the process";
  ASSERT_EQ(layer().clGetProgramInfo(both, CL_PROGRAM_SOURCE, sizeof text, text, nullptr), CL_SUCCESS);
  EXPECT_EQ(text, assembly);
  const char* none = nullptr;
  cl_int status = 0;
  EXPECT_EQ(layer().clCreateProgramWithSource(kContext, 1, &none, nullptr, &status), nullptr);
  EXPECT_EQ(status, CL_INVALID_VALUE);
  EXPECT_EQ(layer().clCreateProgramWithSource(kContext, 1, nullptr, nullptr, &status), nullptr);
}

TEST_F(GpuLayer, BlocksAreWrittenByStoresOfEachWorkItem) {
  const std::string source = "kernel void k(global uint* p) { intel_sub_group_block_write(p, 1); }";
  const cl_program made = program(source);
  const std::string& given = runtime.sources[made];
  EXPECT_NE(given.find("#define intel_sub_group_block_write(...)"), std::string::npos);
  EXPECT_TRUE(given.ends_with("#line 1\n" + source)) << "the build log's lines";
  EXPECT_EQ(runtime.sources[program(kGroups)].find("block_write"), std::string::npos)
      << "a preamble that it does not need";
  char text[200] = "";
  ASSERT_EQ(layer().clGetProgramInfo(made, CL_PROGRAM_SOURCE, sizeof text, text, nullptr), CL_SUCCESS);
  EXPECT_EQ(text, source);
}

TEST_F(GpuLayer, IsBuiltForAGpuThatIsNotKnown) {
  const cl_program asks = program("kernel void _ngen_hw_detect(){}");
  std::size_t size = 0;
  ASSERT_EQ(layer().clGetProgramInfo(asks, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr), CL_SUCCESS);
  std::string binary(size, '?');
  void* place = binary.data();
  EXPECT_EQ(layer().clGetProgramInfo(asks, CL_PROGRAM_BINARIES, sizeof place - 1, &place, nullptr), CL_INVALID_VALUE);
  ASSERT_EQ(layer().clGetProgramInfo(asks, CL_PROGRAM_BINARIES, sizeof place, &place, &size), CL_SUCCESS);
  EXPECT_EQ(size, sizeof place);
  // As oneDNN reads it.
  Elf64_Ehdr header;
  ASSERT_GE(binary.size(), sizeof header);
  std::memcpy(&header, binary.data(), sizeof header);
  EXPECT_EQ(binary.substr(0, SELFMAG), ELFMAG);
  ASSERT_EQ(header.e_shnum, 1);
  Elf64_Shdr section;
  ASSERT_LE(header.e_shoff + sizeof section, binary.size());
  std::memcpy(&section, binary.data() + header.e_shoff, sizeof section);
  EXPECT_EQ(section.sh_type, 0xff000005u);
  std::uint32_t words[7];
  ASSERT_GE(section.sh_size, sizeof words);
  ASSERT_LE(section.sh_offset + section.sh_size, binary.size());
  std::memcpy(words, binary.data() + section.sh_offset, sizeof words);
  EXPECT_EQ(std::string(binary.substr(section.sh_offset, 4)), "CTNI");
  EXPECT_EQ(words[2], 0u) << "the family of no GPU";
  EXPECT_EQ(words[4], 1u) << "kernels";
  // The same program of another device has what its runtime gives.
  runtime.device = kOther;
  ASSERT_EQ(layer().clGetProgramInfo(asks, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr), CL_SUCCESS);
  EXPECT_EQ(size, runtime.binary.size());
}

TEST_F(GpuLayer, BinariesRemainFlat) {
  const cl_program with = program(kGroups);
  std::size_t size = 0;
  ASSERT_EQ(layer().clGetProgramInfo(with, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr), CL_SUCCESS);
  ASSERT_EQ(size, runtime.binary.size() + 8);
  std::string binary(size, '\0');
  // A client may pass more room than there are devices.
  void* places[4] = {binary.data(), handle<void*>(1), handle<void*>(1), handle<void*>(1)};
  ASSERT_EQ(layer().clGetProgramInfo(with, CL_PROGRAM_BINARIES, sizeof places, places, nullptr), CL_SUCCESS);
  const auto* bytes = reinterpret_cast<const unsigned char*>(binary.data());
  const cl_program again = layer().clCreateProgramWithBinary(kContext, 1, &kCpu, &size, &bytes, nullptr, nullptr);
  EXPECT_EQ(runtime.sources[again], runtime.binary) << "the runtime gets its own bytes";
  run(layer().clCreateKernel(again, "k", nullptr), {16, 2}, {8, 2});
  ASSERT_EQ(runtime.launches.size(), 1u);
  EXPECT_EQ(runtime.launches[0].local, (std::vector<std::size_t>{16, 1, 1}));
  cl_int status = 0;
  EXPECT_EQ(layer().clCreateProgramWithBinary(kContext, 1, &kCpu, nullptr, nullptr, nullptr, &status), nullptr);
  EXPECT_EQ(status, CL_INVALID_VALUE);
}

TEST_F(GpuLayer, AProgramLivesAsLongAsItsKernels) {
  const cl_kernel made = kernel(kPlain);
  const cl_program program = runtime.kernels[made];
  layer().clReleaseProgram(program);
  EXPECT_EQ(runtime.programs[program], 1);
  layer().clRetainKernel(made);
  layer().clReleaseKernel(made);
  EXPECT_EQ(runtime.programs[program], 1);
  layer().clReleaseKernel(made);
  EXPECT_EQ(runtime.programs[program], 0);
}

TEST_F(GpuLayer, BlockingCommandsWaitForTheirEvent) {
  const int value = 1;
  const auto write = [&](cl_bool blocking, std::size_t size, cl_event* event) {
    return layer().clEnqueueWriteBuffer(kQueue, kMemory, blocking, 0, size, &value, 0, nullptr, event);
  };
  using Calls = std::vector<std::string>;
  EXPECT_EQ(write(CL_FALSE, 4, nullptr), CL_SUCCESS);
  EXPECT_EQ(std::exchange(runtime.calls, {}), (Calls{"write"}));
  EXPECT_EQ(write(CL_TRUE, 4, nullptr), CL_SUCCESS);
  EXPECT_EQ(std::exchange(runtime.calls, {}), (Calls{"write with an event", "wait", "release"}));
  cl_event event = nullptr;
  EXPECT_EQ(write(CL_TRUE, 4, &event), CL_SUCCESS);
  EXPECT_EQ(event, kEvent);
  EXPECT_EQ(std::exchange(runtime.calls, {}), (Calls{"write with an event", "wait"}));
  EXPECT_EQ(write(CL_TRUE, 0, nullptr), CL_INVALID_VALUE);
  EXPECT_EQ(runtime.calls, (Calls{"write with an event"}));
}

TEST_F(GpuLayer, ImportsDescriptorsThatCannotShrink) {
  const int fd = ::memfd_create("gpu layer", MFD_ALLOW_SEALING | MFD_CLOEXEC);
  ASSERT_EQ(::ftruncate(fd, 8192), 0);
  cl_int status = 0;
  const auto import = [&](cl_mem_properties key, int handle, std::size_t size, void* host = nullptr) {
    const cl_mem_properties properties[] = {key, static_cast<cl_mem_properties>(handle), 0};
    return layer().clCreateBufferWithProperties(kContext, properties, CL_MEM_READ_WRITE, size, host, &status);
  };
  EXPECT_EQ(import(0x2067, fd, 4096), nullptr);
  EXPECT_EQ(status, CL_INVALID_PROPERTY) << "a file that another process can cut short";
  ASSERT_EQ(::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
  EXPECT_EQ(import(0x2067, fd, 8193), nullptr);
  EXPECT_EQ(status, CL_INVALID_BUFFER_SIZE);
  EXPECT_EQ(import(0x2067, fd, 0), nullptr);
  EXPECT_EQ(status, CL_INVALID_BUFFER_SIZE);
  EXPECT_EQ(import(0x2067, -1, 4096), nullptr);
  EXPECT_EQ(status, CL_INVALID_PROPERTY);
  EXPECT_EQ(import(0x2060, fd, 4096), nullptr) << "opaque descriptors are of other APIs' drivers";
  EXPECT_EQ(status, CL_INVALID_PROPERTY);
  EXPECT_EQ(import(0x2067, fd, 4096, &status), nullptr);
  EXPECT_EQ(status, CL_INVALID_HOST_PTR);
  ASSERT_EQ(import(0x2067, fd, 4096), kMemory);
  EXPECT_EQ(status, CL_SUCCESS);
  ASSERT_EQ(runtime.flags, cl_mem_flags{CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR});
  // The same memory, and the caller may close its descriptor.
  const int value = 42;
  ASSERT_EQ(::pwrite(fd, &value, sizeof value, 100), ssize_t{sizeof value});
  ::close(fd);
  EXPECT_EQ(std::memcmp(static_cast<char*>(runtime.host) + 100, &value, sizeof value), 0);
  ASSERT_NE(runtime.destroyed, nullptr);
  runtime.destroyed(kMemory, runtime.destroyed_data);
  unsigned char resident = 0;
  EXPECT_EQ(::mincore(runtime.host, 1, &resident), -1) << "unmapped with the buffer";
}

TEST_F(GpuLayer, MemoryWithoutALimitIsAskedForWithoutTheFlag) {
  constexpr cl_mem_flags kUnrestricted = cl_mem_flags{1} << 23;
  cl_int status = -1;
  const auto alloc = reinterpret_cast<clHostMemAllocINTEL_fn>(
      layer().clGetExtensionFunctionAddressForPlatform(kPlatform, "clHostMemAllocINTEL"));
  ASSERT_NE(alloc, nullptr);
  EXPECT_EQ(layer().clGetExtensionFunctionAddressForPlatform(kPlatform, "clSharedMemAllocINTEL"), nullptr)
      << "what the runtime lacks";
  const auto given = [&](std::vector<cl_mem_properties_intel> properties) {
    EXPECT_EQ(alloc(kContext, properties.empty() ? nullptr : properties.data(), 16, 0, &status), &runtime);
    return runtime.properties;
  };
  using Properties = std::vector<cl_context_properties>;
  EXPECT_EQ(given({CL_MEM_FLAGS, kUnrestricted, 0}), Properties{});
  EXPECT_EQ(given({CL_MEM_FLAGS, kUnrestricted | CL_MEM_READ_ONLY, 0x4195, 1, 0}),
            (Properties{CL_MEM_FLAGS, CL_MEM_READ_ONLY, 0x4195, 1}));
  EXPECT_EQ(given({}), Properties{});
  EXPECT_EQ(layer().clCreateBuffer(kContext, kUnrestricted | CL_MEM_READ_ONLY, 16, nullptr, &status), kMemory);
  EXPECT_EQ(runtime.flags, cl_mem_flags{CL_MEM_READ_ONLY});
  runtime.device = kOther;
  EXPECT_EQ(layer().clCreateBuffer(kContext, kUnrestricted, 16, nullptr, &status), kMemory);
  EXPECT_EQ(runtime.flags, kUnrestricted) << "another device's flags";
}

TEST_F(GpuLayer, OtherDevicesAreLeftAlone) {
  cl_int status = -1;
  EXPECT_EQ(layer().clCreateBufferWithProperties(kContext, nullptr, 0, 16, nullptr, &status), kMemory);
  runtime.device = kOther;
  const cl_mem_properties properties[] = {0x2067, 0, 0};
  EXPECT_EQ(layer().clCreateBufferWithProperties(kContext, properties, 0, 16, nullptr, &status), kMemory);
  EXPECT_EQ(runtime.calls, (std::vector<std::string>{"plain", "plain"}));
  const cl_kernel made = kernel(kGroups);
  EXPECT_EQ(runtime.sources[runtime.kernels[made]], kGroups);
  EXPECT_EQ(run(made, {1024}, {1024}), CL_SUCCESS) << "another device's limits";
}

}  // namespace
}  // namespace tenon::gpu_layer::testing
