// SPDX-License-Identifier: Apache-2.0
// Single calls of the runtime's API on command, line by line: one source, compiled against Tenon, against compat/openvino and
// against OpenVINO. The driver (compat.py) interleaves short rounds of the three processes.
//
//   gpu MODEL own|buffers   a context of the program's own queue, MODEL compiled there, and remote tensors of 4 MB in the
//                           device's own memory or over the program's buffers; answers "ok"
//   cpu MODEL               MODEL compiled for one thread in f32; answers "ok"
//
// The others answer the total ns of N calls. On the GPU:
//   copy_from N | copy_to N | copy_remote N   4 MB from the host, to the host, from one remote tensor to another
//   request N               create_infer_request(), and its end
//   async N                 start_async() and wait(), with remote tensors
//   create N                create_tensor() over a buffer of the program's, and its end
// On the CPU:
//   infer N | async N
//   set N | set_port N      set_tensor, in turn with 4 tensors that were set before, by name or by port
//   get N | get_index N     get_tensor by name, get_output_tensor by index
//   create N | wrap N       a tensor of 16 floats, in memory of its own or over the program's, and its end
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <tenon/bench/worker.hpp>
#ifdef PEER_OPENVINO
#include <openvino/runtime/intel_gpu/ocl/ocl.hpp>
#else
#include <tenon/devices/gpu/public/ocl.hpp>
#endif

namespace {

using Clock = std::chrono::steady_clock;
using Context = api::intel_gpu::ocl::ClContext;

constexpr std::size_t kBytes = 4 << 20;

struct Release {
  void operator()(cl_context context) const { clReleaseContext(context); }
  void operator()(cl_command_queue queue) const { clReleaseCommandQueue(queue); }
  void operator()(cl_mem memory) const { clReleaseMemObject(memory); }
};
template <typename Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Release>;

void check(cl_int code, const char* call) {
  if (code != CL_SUCCESS) throw std::runtime_error(std::string(call) + ": " + std::to_string(code));
}

/// What a program has before it asks for a model.
struct OpenCl {
  OpenCl() {
    cl_platform_id platform = nullptr;
    cl_device_id device = nullptr;
    check(clGetPlatformIDs(1, &platform, nullptr), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr), "clGetDeviceIDs");
    cl_int code = CL_SUCCESS;
    context.reset(clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code));
    check(code, "clCreateContext");
    queue.reset(clCreateCommandQueueWithProperties(context.get(), device, nullptr, &code));
    check(code, "clCreateCommandQueueWithProperties");
  }
  Owned<cl_mem> buffer(std::size_t bytes) const {
    cl_int code = CL_SUCCESS;
    Owned<cl_mem> made(clCreateBuffer(context.get(), CL_MEM_READ_WRITE, bytes, nullptr, &code));
    check(code, "clCreateBuffer");
    return made;
  }
  Owned<cl_context> context;
  Owned<cl_command_queue> queue;
};

struct Gpu {
  Gpu(api::Core& core, const std::string& path, bool own_memory) : context(core, cl.queue.get()) {
    model = core.compile_model(core.read_model(path), context, {api::hint::inference_precision(api::element::f32)});
    request = model.create_infer_request();
    const auto input = model.inputs()[0], output = model.outputs()[0];
    request.set_tensor(input, remote(input.get_element_type(), input.get_shape(), own_memory));
    request.set_tensor(output, remote(output.get_element_type(), output.get_shape(), own_memory));
    host = api::Tensor(api::element::f32, api::Shape{kBytes / sizeof(float)});
    std::fill_n(host.data<float>(), host.get_size(), 1.0F);
    for (auto& each : large) {
      each = remote(host.get_element_type(), host.get_shape(), own_memory);
      each.copy_from(host);
    }
    small = cl.buffer(16 * sizeof(float));
    request.infer();
  }
  api::RemoteTensor remote(const api::element::Type& type, const api::Shape& shape, bool own_memory) {
    if (own_memory) return context.create_tensor(type, shape);
    std::size_t bytes = type.size();
    for (const std::size_t extent : shape) bytes *= extent;
    buffers.push_back(cl.buffer(bytes));
    return context.create_tensor(type, shape, buffers.back().get());
  }

  OpenCl cl;
  std::vector<Owned<cl_mem>> buffers;
  Owned<cl_mem> small;
  Context context;
  api::CompiledModel model;
  api::InferRequest request;
  api::Tensor host;
  std::array<api::RemoteTensor, 2> large;
};

struct Cpu {
  Cpu(api::Core& core, const std::string& path) {
    model = core.compile_model(path, "CPU",
                               {api::hint::performance_mode(api::hint::PerformanceMode::LATENCY),
                                api::hint::inference_precision(api::element::f32), api::inference_num_threads(1)});
    request = model.create_infer_request();
    for (auto& each : known) {
      each = api::Tensor(model.input().get_element_type(), model.input().get_shape());
      std::fill_n(each.data<float>(), each.get_size(), 1.0F);
      request.set_input_tensor(each);
    }
    request.infer();
    input = model.input().get_any_name();
    output = model.output().get_any_name();
  }

  api::CompiledModel model;
  api::InferRequest request;
  std::array<api::Tensor, 4> known;
  std::string input, output;
  std::array<float, 16> memory{};
};

template <typename Once>
bool time(long count, Once once) {
  const auto begin = Clock::now();
  for (long i = 0; i < count; ++i) once(static_cast<std::size_t>(i));
  std::printf("%lld\n", static_cast<long long>((Clock::now() - begin) / std::chrono::nanoseconds(1)));
  return true;
}

bool on_gpu(Gpu& gpu, const std::string& verb, long count) {
  if (verb == "copy_from") return time(count, [&](std::size_t) { gpu.large[0].copy_from(gpu.host); });
  if (verb == "copy_to") return time(count, [&](std::size_t) { gpu.large[0].copy_to(gpu.host); });
  if (verb == "copy_remote") return time(count, [&](std::size_t) { gpu.large[0].copy_to(gpu.large[1]); });
  if (verb == "request") return time(count, [&](std::size_t) { gpu.model.create_infer_request(); });
  if (verb == "async")
    return time(count, [&](std::size_t) {
      gpu.request.start_async();
      gpu.request.wait();
    });
  const api::Shape shape{16};
  if (verb == "create")
    return time(count, [&](std::size_t) { gpu.context.create_tensor(api::element::f32, shape, gpu.small.get()); });
  return false;
}

bool on_cpu(Cpu& cpu, const std::string& verb, long count) {
  if (verb == "infer") return time(count, [&](std::size_t) { cpu.request.infer(); });
  if (verb == "async")
    return time(count, [&](std::size_t) {
      cpu.request.start_async();
      cpu.request.wait();
    });
  if (verb == "set") return time(count, [&](std::size_t i) { cpu.request.set_tensor(cpu.input, cpu.known[i % 4]); });
  const auto port = cpu.model.input();
  if (verb == "set_port") return time(count, [&](std::size_t i) { cpu.request.set_tensor(port, cpu.known[i % 4]); });
  if (verb == "get") return time(count, [&](std::size_t) { cpu.request.get_tensor(cpu.output); });
  if (verb == "get_index") return time(count, [&](std::size_t) { cpu.request.get_output_tensor(0); });
  const api::Shape shape{16};
  if (verb == "create") return time(count, [&](std::size_t) { api::Tensor(api::element::f32, shape); });
  if (verb == "wrap")
    return time(count, [&](std::size_t) { api::Tensor(api::element::f32, shape, cpu.memory.data()); });
  return false;
}

}  // namespace

int main() {
  api::Core core;
  std::unique_ptr<Gpu> gpu;
  std::unique_ptr<Cpu> cpu;
  return bench::serve([&](const std::string& verb, std::istream& words) {
    std::string path, memory;
    long count = 0;
    if (verb == "gpu" && words >> path >> memory) {
      gpu.reset();
      gpu = std::make_unique<Gpu>(core, path, memory == "own");
    } else if (verb == "cpu" && words >> path) {
      cpu = std::make_unique<Cpu>(core, path);
    } else {
      return words >> count && ((gpu && on_gpu(*gpu, verb, count)) || (cpu && on_cpu(*cpu, verb, count)));
    }
    std::printf("ok\n");
    return true;
  });
}
