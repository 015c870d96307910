// SPDX-License-Identifier: Apache-2.0
// A runtime for CPUs that a test is, and the layer over it: what reaches the runtime, and what it shall answer.
#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#define CL_TARGET_OPENCL_VERSION 300
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

namespace tenon::gpu_layer::testing {

/// Objects of the runtime are addresses that are never read.
template <typename T>
T handle(std::uintptr_t value) {
  return reinterpret_cast<T>(value);
}
inline const auto kCpu = handle<cl_device_id>(0x10), kOther = handle<cl_device_id>(0x20);
inline const auto kPlatform = handle<cl_platform_id>(0x30), kOtherPlatform = handle<cl_platform_id>(0x31);
inline const auto kQueue = handle<cl_command_queue>(0x40);
inline const auto kContext = handle<cl_context>(0x50);
inline const auto kEvent = handle<cl_event>(0x60);
inline const auto kMemory = handle<cl_mem>(0x70);

struct Launch {
  cl_uint dims = 0;
  std::vector<std::size_t> offset, global, local;
};

/// What the runtime was told, and what it shall answer.
struct Runtime {
  std::map<cl_program, std::string> sources;
  std::map<cl_kernel, cl_program> kernels;
  std::map<cl_program, int> programs;  // References.
  std::uintptr_t made = 0x1000;
  std::vector<Launch> launches;
  std::vector<std::string> calls;
  std::string binary = "machine code";
  cl_device_type asked_type = 0;
  void* host = nullptr;
  cl_mem_flags flags = 0;
  void(CL_CALLBACK* destroyed)(cl_mem, void*) = nullptr;
  void* destroyed_data = nullptr;
  cl_device_id device = kCpu;
  std::string vendor = "Intel(R) Corporation", extensions = "cl_khr_icd cl_khr_fp64 ";
  std::vector<cl_context_properties> properties;  // A context's, or memory's.
  cl_image_format format{};
  cl_image_desc desc{};
};
inline Runtime runtime;

template <typename T>
cl_int put(const T& thing, std::size_t size, void* value, std::size_t* size_ret) {
  if (size_ret) *size_ret = sizeof thing;
  if (!value) return CL_SUCCESS;
  if (size < sizeof thing) return CL_INVALID_VALUE;
  std::memcpy(value, &thing, sizeof thing);
  return CL_SUCCESS;
}
inline cl_int put_text(const std::string& text, std::size_t size, void* value, std::size_t* size_ret) {
  if (size_ret) *size_ret = text.size() + 1;
  if (!value) return CL_SUCCESS;
  if (size < text.size() + 1) return CL_INVALID_VALUE;
  std::memcpy(value, text.c_str(), text.size() + 1);
  return CL_SUCCESS;
}

inline cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info key, std::size_t size, void* value,
                                      std::size_t* size_ret) {
  if (device != kCpu && device != kOther) return CL_INVALID_DEVICE;
  switch (key) {
    case CL_DEVICE_TYPE:
      return put(device == kCpu ? cl_device_type{CL_DEVICE_TYPE_CPU} : cl_device_type{CL_DEVICE_TYPE_GPU}, size, value,
                 size_ret);
    case CL_DEVICE_VENDOR:
      return put_text(runtime.vendor, size, value, size_ret);
    case CL_DEVICE_NAME:
      return put_text("Some CPU", size, value, size_ret);
    case CL_DEVICE_VERSION:
      return put_text("OpenCL 3.0 some", size, value, size_ret);
    case CL_DEVICE_EXTENSIONS:
      return put_text(runtime.extensions, size, value, size_ret);
    case CL_DEVICE_LOCAL_MEM_SIZE:
      return put(cl_ulong{12345}, size, value, size_ret);
    case CL_DEVICE_GLOBAL_MEM_SIZE:
      return put(cl_ulong{1} << 34, size, value, size_ret);
    default:
      return CL_INVALID_VALUE;
  }
}
inline cl_int CL_API_CALL device_ids(cl_platform_id platform, cl_device_type type, cl_uint entries,
                                     cl_device_id* devices, cl_uint* count) {
  if (platform == kOtherPlatform) return CL_DEVICE_NOT_FOUND;
  runtime.asked_type = type;
  if (!(type & (CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_DEFAULT))) return CL_DEVICE_NOT_FOUND;
  if (count) *count = 1;
  if (devices && entries) *devices = kCpu;
  return CL_SUCCESS;
}
inline cl_program CL_API_CALL create_program(cl_context, cl_uint count, const char** strings,
                                             const std::size_t* lengths, cl_int* status) {
  if (!strings || count == 0) {
    if (status) *status = CL_INVALID_VALUE;
    return nullptr;
  }
  const auto program = handle<cl_program>(runtime.made++);
  for (cl_uint i = 0; i < count; ++i) {
    if (!strings[i]) {
      if (status) *status = CL_INVALID_VALUE;
      return nullptr;
    }
    runtime.sources[program].append(strings[i], lengths && lengths[i] ? lengths[i] : std::strlen(strings[i]));
  }
  runtime.programs[program] = 1;
  if (status) *status = CL_SUCCESS;
  return program;
}
inline cl_program CL_API_CALL create_binary(cl_context, cl_uint, const cl_device_id*, const std::size_t* lengths,
                                            const unsigned char** binaries, cl_int*, cl_int* status) {
  const auto program = handle<cl_program>(runtime.made++);
  if (lengths && binaries) runtime.sources[program].assign(reinterpret_cast<const char*>(binaries[0]), lengths[0]);
  runtime.programs[program] = 1;
  if (status) *status = lengths && binaries ? CL_SUCCESS : CL_INVALID_VALUE;
  return lengths && binaries ? program : nullptr;
}
inline cl_int CL_API_CALL program_info(cl_program program, cl_program_info key, std::size_t size, void* value,
                                       std::size_t* size_ret) {
  switch (key) {
    case CL_PROGRAM_NUM_DEVICES:
      return put(cl_uint{1}, size, value, size_ret);
    case CL_PROGRAM_DEVICES:
      return put(runtime.device, size, value, size_ret);
    case CL_PROGRAM_SOURCE:
      return put_text(runtime.sources[program], size, value, size_ret);
    case CL_PROGRAM_BINARY_SIZES:
      return put(runtime.binary.size(), size, value, size_ret);
    case CL_PROGRAM_BINARIES:
      if (size_ret) *size_ret = sizeof(void*);
      if (value && *static_cast<void**>(value))
        std::memcpy(*static_cast<void**>(value), runtime.binary.data(), runtime.binary.size());
      return CL_SUCCESS;
    default:
      return CL_INVALID_VALUE;
  }
}
inline cl_int CL_API_CALL retain_program(cl_program program) { return ++runtime.programs[program], CL_SUCCESS; }
inline cl_int CL_API_CALL release_program(cl_program program) { return --runtime.programs[program], CL_SUCCESS; }
inline cl_kernel CL_API_CALL create_kernel(cl_program program, const char*, cl_int* status) {
  const auto kernel = handle<cl_kernel>(runtime.made++);
  runtime.kernels[kernel] = program;
  if (status) *status = CL_SUCCESS;
  return kernel;
}
inline cl_int CL_API_CALL kernel_info(cl_kernel kernel, cl_kernel_info key, std::size_t size, void* value,
                                      std::size_t* size_ret) {
  return key == CL_KERNEL_PROGRAM ? put(runtime.kernels[kernel], size, value, size_ret) : CL_INVALID_VALUE;
}
inline cl_int CL_API_CALL work_group_info(cl_kernel, cl_device_id, cl_kernel_work_group_info, std::size_t size,
                                          void* value, std::size_t* size_ret) {
  return put(std::size_t{8192}, size, value, size_ret);
}
inline cl_int CL_API_CALL one_kernel(cl_kernel) { return CL_SUCCESS; }
inline cl_int CL_API_CALL launch(cl_command_queue, cl_kernel, cl_uint dims, const std::size_t* offset,
                                 const std::size_t* global, const std::size_t* local, cl_uint, const cl_event*,
                                 cl_event*) {
  Launch made{dims, {}, {}, {}};
  if (offset) made.offset.assign(offset, offset + dims);
  if (global) made.global.assign(global, global + dims);
  if (local) made.local.assign(local, local + dims);
  runtime.launches.push_back(made);
  return CL_SUCCESS;
}
inline cl_int CL_API_CALL task(cl_command_queue, cl_kernel, cl_uint, const cl_event*, cl_event*) {
  return runtime.calls.push_back("task"), CL_SUCCESS;
}
inline cl_int CL_API_CALL write_buffer(cl_command_queue, cl_mem, cl_bool, std::size_t, std::size_t size, const void*,
                                       cl_uint, const cl_event*, cl_event* event) {
  runtime.calls.push_back(event ? "write with an event" : "write");
  if (size == 0) return CL_INVALID_VALUE;
  if (event) *event = kEvent;
  return CL_SUCCESS;
}
inline cl_int CL_API_CALL wait_for(cl_uint, const cl_event*) { return runtime.calls.push_back("wait"), CL_SUCCESS; }
inline cl_int CL_API_CALL release_event(cl_event) { return runtime.calls.push_back("release"), CL_SUCCESS; }
inline cl_int CL_API_CALL context_info(cl_context, cl_context_info, std::size_t size, void* value,
                                       std::size_t* size_ret) {
  return put(runtime.device, size, value, size_ret);
}
inline cl_mem CL_API_CALL create_buffer(cl_context, cl_mem_flags flags, std::size_t, void* host, cl_int* status) {
  runtime.flags = flags;
  runtime.host = host;
  *status = CL_SUCCESS;
  return kMemory;
}
inline cl_mem CL_API_CALL plain_buffer(cl_context, const cl_mem_properties*, cl_mem_flags, std::size_t, void*,
                                       cl_int* status) {
  runtime.calls.push_back("plain");
  if (status) *status = CL_SUCCESS;
  return kMemory;
}
inline cl_int CL_API_CALL on_destroy(cl_mem, void(CL_CALLBACK* call)(cl_mem, void*), void* data) {
  runtime.destroyed = call;
  runtime.destroyed_data = data;
  return CL_SUCCESS;
}

inline cl_context CL_API_CALL make_context(const cl_context_properties* properties, cl_uint, const cl_device_id*,
                                           void(CL_CALLBACK*)(const char*, const void*, std::size_t, void*), void*,
                                           cl_int* status) {
  runtime.properties.clear();
  for (; properties && *properties; properties += 2)
    runtime.properties.insert(runtime.properties.end(), properties, properties + 2);
  *status = CL_SUCCESS;
  return kContext;
}
inline cl_context CL_API_CALL make_context_of_type(const cl_context_properties* properties, cl_device_type type,
                                                   void(CL_CALLBACK* notify)(const char*, const void*, std::size_t,
                                                                             void*),
                                                   void* data, cl_int* status) {
  runtime.asked_type = type;
  return make_context(properties, 0, nullptr, notify, data, status);
}
inline cl_mem CL_API_CALL create_image(cl_context, cl_mem_flags flags, const cl_image_format* format,
                                       const cl_image_desc* desc, void* host, cl_int* status) {
  runtime.flags = flags;
  runtime.format = *format;
  runtime.desc = *desc;
  runtime.host = host;
  *status = CL_SUCCESS;
  return kMemory;
}
inline cl_int CL_API_CALL marker(cl_command_queue, cl_uint, const cl_event*, cl_event*) {
  return runtime.calls.push_back("marker"), CL_SUCCESS;
}
inline cl_int CL_API_CALL finish(cl_command_queue) { return runtime.calls.push_back("finish"), CL_SUCCESS; }
inline cl_int CL_API_CALL memory_info(cl_mem, cl_mem_info, std::size_t, void*, std::size_t*) {
  return CL_INVALID_VALUE;
}

inline void* CL_API_CALL alloc_host(cl_context, const cl_mem_properties_intel* properties, std::size_t, cl_uint,
                                    cl_int* status) {
  runtime.properties.clear();
  for (; properties && *properties; properties += 2)
    for (int i = 0; i < 2; ++i) runtime.properties.push_back(static_cast<cl_context_properties>(properties[i]));
  *status = CL_SUCCESS;
  return &runtime;
}
inline void* CL_API_CALL extension(cl_platform_id, const char* name) {
  return std::string(name) == "clHostMemAllocINTEL" ? reinterpret_cast<void*>(&alloc_host) : nullptr;
}

/// The layer's table, over the functions above.
inline const cl_icd_dispatch& layer() {
  static const cl_icd_dispatch* table = [] {
    static cl_icd_dispatch target{};
    target.clGetDeviceInfo = device_info;
    target.clGetDeviceIDs = device_ids;
    target.clCreateProgramWithSource = create_program;
    target.clCreateProgramWithBinary = create_binary;
    target.clGetProgramInfo = program_info;
    target.clRetainProgram = retain_program;
    target.clReleaseProgram = release_program;
    target.clCreateKernel = create_kernel;
    target.clGetKernelInfo = kernel_info;
    target.clGetKernelWorkGroupInfo = work_group_info;
    target.clRetainKernel = one_kernel;
    target.clReleaseKernel = one_kernel;
    target.clEnqueueNDRangeKernel = launch;
    target.clEnqueueTask = task;
    target.clEnqueueWriteBuffer = write_buffer;
    target.clWaitForEvents = wait_for;
    target.clReleaseEvent = release_event;
    target.clGetContextInfo = context_info;
    target.clCreateBuffer = create_buffer;
    target.clCreateBufferWithProperties = plain_buffer;
    target.clSetMemObjectDestructorCallback = on_destroy;
    target.clCreateContext = make_context;
    target.clCreateContextFromType = make_context_of_type;
    target.clGetExtensionFunctionAddressForPlatform = extension;
    target.clCreateImage = create_image;
    target.clEnqueueMarkerWithWaitList = marker;
    target.clFinish = finish;
    target.clGetMemObjectInfo = memory_info;
    target.clGetImageInfo = memory_info;
    void* library = ::dlopen(std::getenv("TENON_GPU_LAYER"), RTLD_NOW | RTLD_LOCAL);
    const auto init = reinterpret_cast<pfn_clInitLayer>(library ? ::dlsym(library, "clInitLayer") : nullptr);
    const cl_icd_dispatch* made = nullptr;
    cl_uint entries = sizeof target / sizeof(void*), given = 0;
    if (!init) return made;
    EXPECT_EQ(init(entries - 1, &target, &given, &made), CL_INVALID_VALUE) << "a loader that is too old";
    EXPECT_EQ(init(entries, nullptr, &given, &made), CL_INVALID_VALUE);
    EXPECT_EQ(init(entries, &target, &given, &made), CL_SUCCESS);
    EXPECT_EQ(given, entries);
    return made;
  }();
  return *table;
}

class GpuLayer : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::getenv("TENON_GPU_LAYER")) GTEST_SKIP() << "TENON_GPU_LAYER is not set: run the test through ctest";
    runtime = Runtime{};
    runtime.made = next_handle += 0x1000;  // Each test's handles are new to the layer.
  }
  cl_program program(const std::string& source) {
    const char* text = source.c_str();
    cl_int status = -1;
    const cl_program made = layer().clCreateProgramWithSource(kContext, 1, &text, nullptr, &status);
    EXPECT_EQ(status, CL_SUCCESS);
    return made;
  }
  cl_kernel kernel(const std::string& source) { return layer().clCreateKernel(program(source), "k", nullptr); }
  cl_int run(cl_kernel kernel, std::vector<std::size_t> global, std::vector<std::size_t> local,
             std::vector<std::size_t> offset = {}) {
    return layer().clEnqueueNDRangeKernel(kQueue, kernel, static_cast<cl_uint>(global.size()),
                                          offset.empty() ? nullptr : offset.data(), global.data(),
                                          local.empty() ? nullptr : local.data(), 0, nullptr, nullptr);
  }
  std::string text(cl_device_id device, cl_device_info key) {
    std::size_t size = 0;
    if (layer().clGetDeviceInfo(device, key, 0, nullptr, &size)) return "no size";
    std::string value(size, '?');
    if (layer().clGetDeviceInfo(device, key, size, value.data(), nullptr)) return "no value";
    value.pop_back();
    return value;
  }
  static inline std::uintptr_t next_handle = 0x10000;
};

}  // namespace tenon::gpu_layer::testing
