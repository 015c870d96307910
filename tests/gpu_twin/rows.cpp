// SPDX-License-Identifier: Apache-2.0
// The rows of OpenVINO's document on GPU remote tensors, as one program that is compiled twice: against Tenon (TWIN_OURS) and
// against OpenVINO. Each row runs in a process of its own and prints one line, "row<TAB>outcome". compare.py says which
// outcomes differ, and docs/guide/gpu_oracle.md why they may.
#ifdef TWIN_OURS
#define TENON_OPENCL_HPP
#include <tenon/devices/gpu/public/ocl.hpp>
#include <tenon/runtime/runtime.hpp>
namespace api = tenon;
using At = tenon::Shape;
#else
#define CL_HPP_MINIMUM_OPENCL_VERSION 200
#define CL_HPP_TARGET_OPENCL_VERSION 300
#define CL_TARGET_OPENCL_VERSION 300
#define OV_GPU_USE_OPENCL_HPP
#include <openvino/openvino.hpp>
#include <openvino/runtime/intel_gpu/ocl/ocl.hpp>
namespace api = ov;
using At = ov::Coordinate;
#endif

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "models.hpp"

namespace {

using api::intel_gpu::ocl::ClContext;
using Floats = std::vector<float>;
using Row = std::function<std::string()>;

constexpr unsigned kRowTimeout_s = 150;
constexpr std::size_t kCount = 16, kBytes = kCount * sizeof(float);

std::vector<std::pair<std::string, Row>>& rows() {
  static std::vector<std::pair<std::string, Row>> all;
  return all;
}
struct Add {
  Add(const char* name, Row row) { rows().emplace_back(name, std::move(row)); }
};
#define TWIN_ROW(name)                     \
  std::string row_##name();                \
  const Add add_##name(#name, row_##name); \
  std::string row_##name()

std::string folder;  // Of this process, for models.

/// An application's own objects, on the only device.
struct App {
  cl_device_id device = nullptr;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
  cl_program program = nullptr;

  explicit App(cl_command_queue_properties properties = 0) {
    cl_platform_id platform = nullptr;
    clGetPlatformIDs(1, &platform, nullptr);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr);
    context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
    const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, properties, 0};
    queue = clCreateCommandQueueWithProperties(context, device, list, nullptr);
    const char* source =
        "kernel void fill(global float* x, float v) { x[get_global_id(0)] = v + get_global_id(0); }\n"
        "kernel void twice(global float* x) { x[get_global_id(0)] *= 2; }";
    program = clCreateProgramWithSource(context, 1, &source, nullptr, nullptr);
    clBuildProgram(program, 1, &device, "", nullptr, nullptr);
  }
  cl_mem buffer(std::size_t bytes) const { return clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, nullptr, nullptr); }
  cl_mem image(cl_channel_order order, std::size_t width, std::size_t height, const void* pixels) const {
    const cl_image_format format{order, CL_UNORM_INT8};
    cl_image_desc desc{};
    desc.image_type = CL_MEM_OBJECT_IMAGE2D;
    desc.image_width = width;
    desc.image_height = height;
    return clCreateImage(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, &format, &desc, const_cast<void*>(pixels),
                         nullptr);
  }
  void run(const char* name, cl_mem x, const float* number = nullptr) const {
    const cl_kernel kernel = clCreateKernel(program, name, nullptr);
    clSetKernelArg(kernel, 0, sizeof x, &x);
    if (number) clSetKernelArg(kernel, 1, sizeof *number, number);
    const std::size_t count = kCount;
    clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &count, nullptr, 0, nullptr, nullptr);
  }
  void write(cl_mem x, const Floats& values) const {
    clEnqueueWriteBuffer(queue, x, CL_TRUE, 0, values.size() * sizeof(float), values.data(), 0, nullptr, nullptr);
  }
  Floats read(cl_mem x, std::size_t count = kCount) const {
    Floats values(count);
    clEnqueueReadBuffer(queue, x, CL_TRUE, 0, count * sizeof(float), values.data(), 0, nullptr, nullptr);
    return values;
  }
};

Floats counted(std::size_t count, float begin = 0) {
  Floats values(count);
  std::iota(values.begin(), values.end(), begin);
  return values;
}
/// The first values, and a sum that depends on the places of all.
std::string text_of(const Floats& values) {
  std::ostringstream text;
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += values[i] * static_cast<double>(i % 97 + 1);
  for (std::size_t i = 0; i < std::min<std::size_t>(values.size(), 4); ++i) text << values[i] << ' ';
  text << "(" << values.size() << ", sum " << sum << ")";
  return text.str();
}
Floats floats_of(const api::Tensor& tensor) {
  const float* data = static_cast<const float*>(tensor.data());
  return Floats(data, data + tensor.get_size());
}
api::Tensor tensor_of(const api::Shape& shape, const Floats& values) {
  api::Tensor tensor(api::element::f32, shape);
  std::memcpy(tensor.data(), values.data(), values.size() * sizeof(float));
  return tensor;
}
/// OpenVINO's copies and inferences may return before they are done (see the guide): both sides get the time.
void settle() { std::this_thread::sleep_for(std::chrono::milliseconds(100)); }
void run(api::InferRequest& request) {
  request.infer();
  settle();
}
void put(api::RemoteTensor tensor, const api::Tensor& from) {
  tensor.copy_from(from);
  settle();
}
void put(api::RemoteTensor tensor, const Floats& values) { put(tensor, tensor_of(tensor.get_shape(), values)); }
Floats taken(const api::RemoteTensor& tensor) {
  api::Tensor back(api::element::f32, tensor.get_shape());
  tensor.copy_to(back);
  settle();
  return floats_of(back);
}
std::string shape_text(const api::Shape& shape) {
  std::string text;
  for (const auto dim : shape) text += (text.empty() ? "" : "x") + std::to_string(dim);
  return "[" + text + "]";
}
std::string yes(bool value) { return value ? "yes" : "no"; }
/// "throws", or what `body` says.
template <typename Body>
std::string tried(Body body) {
  try {
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      return "accepted";
    } else {
      return body();
    }
  } catch (const std::exception& error) {
    if (std::getenv("TWIN_VERBOSE")) std::cerr << error.what() << '\n';
    return "throws";
  }
}
std::string keys_of(const api::AnyMap& params) {
  std::string text;
  for (const auto& [key, value] : params) text += (text.empty() ? "" : ",") + std::string(key);
  return text;
}
std::string text_at(const api::AnyMap& params, const char* key) { return params.at(key).template as<std::string>(); }
void* pointer_at(const api::AnyMap& params, const char* key) { return params.at(key).template as<void*>(); }

const api::AnyMap kPrecise{{"INFERENCE_PRECISION_HINT", api::element::f32}};

ClContext default_context(api::Core& core) { return core.get_default_context("GPU").as<ClContext>(); }
api::CompiledModel compiled(api::Core& core, const std::string& path, const api::RemoteContext& context) {
  return core.compile_model(core.read_model(path), context, kPrecise);
}
std::string line16() { return twin::line(folder, "line16", {16}); }

// Contexts

TWIN_ROW(context_default_is_one) {
  api::Core core;
  ClContext first = default_context(core), second = default_context(core);
  return "same " + yes(first.get() == second.get()) + ", a cl_context " + yes(first.get() != nullptr);
}
TWIN_ROW(context_of_compiled_model_is_the_default) {
  api::Core core;
  ClContext context = default_context(core);
  auto of_model = core.compile_model(line16(), "GPU", kPrecise).get_context().as<ClContext>();
  return yes(of_model.get() == context.get());
}
TWIN_ROW(context_default_params) {
  api::Core core;
  const auto params = core.get_default_context("GPU").get_params();
  return keys_of(params) + " " + text_at(params, "CONTEXT_TYPE");
}
TWIN_ROW(context_default_queue_is_null) {
  api::Core core;
  return yes(pointer_at(core.get_default_context("GPU").get_params(), "OCL_QUEUE") == nullptr);
}
TWIN_ROW(context_device_name) {
  api::Core core;
  return core.get_default_context("GPU").get_device_name();
}
TWIN_ROW(context_from_cl_context) {
  App app;
  api::Core core;
  ClContext context(core, app.context);
  return yes(context.get() == app.context) + " " + keys_of(context.get_params()) + " " + context.get_device_name();
}
TWIN_ROW(context_from_queue) {
  App app;
  api::Core core;
  ClContext context(core, app.queue);
  return yes(context.get() == app.context) + ", its queue " +
         yes(pointer_at(context.get_params(), "OCL_QUEUE") == app.queue);
}
TWIN_ROW(context_retains_handles) {
  App app;
  api::Core core;
  ClContext context(core, app.context);
  clReleaseContext(app.context);
  clReleaseCommandQueue(app.queue);
  auto request = compiled(core, line16(), context).create_infer_request();
  request.set_tensor("x", tensor_of({16}, counted(16)));
  run(request);
  return text_of(floats_of(request.get_tensor("y")));
}
TWIN_ROW(context_null_cl_context) {
  api::Core core;
  return tried([&] { ClContext context(core, static_cast<cl_context>(nullptr)); });
}
TWIN_ROW(context_by_map) {
  App app;
  api::Core core;
  const auto context =
      core.create_context("GPU", {{"CONTEXT_TYPE", "OCL"}, {"OCL_CONTEXT", static_cast<void*>(app.context)}});
  return yes(pointer_at(context.get_params(), "OCL_CONTEXT") == app.context);
}
TWIN_ROW(context_without_type) {
  App app;
  api::Core core;
  return tried([&] { core.create_context("GPU", {{"OCL_CONTEXT", static_cast<void*>(app.context)}}); });
}
TWIN_ROW(context_of_unknown_type) {
  App app;
  api::Core core;
  return tried([&] {
    core.create_context("GPU", {{"CONTEXT_TYPE", "METAL"}, {"OCL_CONTEXT", static_cast<void*>(app.context)}});
  });
}
TWIN_ROW(context_with_unknown_key) {
  App app;
  api::Core core;
  return tried([&] {
    core.create_context(
        "GPU", {{"CONTEXT_TYPE", "OCL"}, {"OCL_CONTEXT", static_cast<void*>(app.context)}, {"COLOUR", "blue"}});
  });
}
TWIN_ROW(context_device_number_out_of_range) {
  App app;
  api::Core core;
  return tried([&] { ClContext context(core, app.context, 7); });
}
TWIN_ROW(context_of_null_display) {
  api::Core core;
  return tried([&] {
    core.create_context("GPU", {{"CONTEXT_TYPE", "VA_SHARED"}, {"VA_DEVICE", static_cast<void*>(nullptr)}});
  });
}
TWIN_ROW(context_as_other_type) {
  api::Core core;
  const auto context = core.get_default_context("GPU");
  return yes(context.is<ClContext>());
}

// Tensors

TWIN_ROW(tensor_new_buffer) {
  api::Core core;
  ClContext context = default_context(core);
  auto tensor = context.create_tensor(api::element::f32, api::Shape{4, 8});
  return keys_of(tensor.get_params()) + " " + text_at(tensor.get_params(), "SHARED_MEM_TYPE") + " " +
         std::to_string(tensor.get_byte_size()) + " " + shape_text(tensor.get_shape()) + " " + tensor.get_device_name();
}
TWIN_ROW(tensor_new_buffer_strides) {
  api::Core core;
  ClContext context = default_context(core);
  const api::Tensor tensor = context.create_tensor(api::element::f32, api::Shape{4, 8});
  std::string text;
  for (const auto stride : tensor.get_strides()) text += std::to_string(stride) + " ";
  return text;
}
TWIN_ROW(tensor_wraps_cl_mem) {
  App app;
  api::Core core;
  ClContext context(core, app.context);
  const cl_mem buffer = app.buffer(kBytes);
  auto tensor = context.create_tensor(api::element::f32, api::Shape{16}, buffer);
  cl_uint references = 0;
  clGetMemObjectInfo(buffer, CL_MEM_REFERENCE_COUNT, sizeof references, &references, nullptr);
  return yes(tensor.get() == buffer) + ", retained " + yes(references > 1) + " " +
         text_at(tensor.get_params(), "SHARED_MEM_TYPE");
}
TWIN_ROW(tensor_wraps_cl_buffer) {
  App app;
  api::Core core;
  ClContext context(core, app.context);
  const cl::Buffer buffer(app.buffer(kBytes));
  auto tensor = context.create_tensor(api::element::f32, api::Shape{16}, buffer);
  cl::Buffer back = tensor;
  return yes(back() == buffer());
}
TWIN_ROW(tensor_cl_mem_too_small) {
  App app;
  api::Core core;
  ClContext context(core, app.context);
  return tried([&] { context.create_tensor(api::element::f32, api::Shape{17}, app.buffer(kBytes)); });
}
TWIN_ROW(tensor_cl_mem_larger) {
  App app;
  api::Core core;
  ClContext context(core, app.context);
  return tried([&] {
    return shape_text(context.create_tensor(api::element::f32, api::Shape{3}, app.buffer(kBytes)).get_shape());
  });
}
TWIN_ROW(tensor_null_cl_mem) {
  api::Core core;
  ClContext context = default_context(core);
  return tried([&] { context.create_tensor(api::element::f32, api::Shape{16}, static_cast<cl_mem>(nullptr)); });
}
TWIN_ROW(tensor_cl_mem_of_other_context) {
  App app, other;
  api::Core core;
  ClContext context(core, app.context);
  return tried([&] { context.create_tensor(api::element::f32, api::Shape{16}, other.buffer(kBytes)); });
}
TWIN_ROW(tensor_usm_host) {
  api::Core core;
  ClContext context = default_context(core);
  auto tensor = context.create_usm_host_tensor(api::element::f32, api::Shape{16});
  return text_at(tensor.get_params(), "SHARED_MEM_TYPE") + " " + yes(tensor.get() != nullptr);
}
TWIN_ROW(tensor_usm_host_is_the_hosts) {
  api::Core core;
  ClContext context = default_context(core);
  auto tensor = context.create_usm_host_tensor(api::element::f32, api::Shape{16});
  std::fill_n(static_cast<float*>(tensor.get()), 16, 3.0f);
  auto request = compiled(core, line16(), context).create_infer_request();
  request.set_tensor("x", tensor);
  run(request);
  return text_of(floats_of(request.get_tensor("y")));
}
TWIN_ROW(tensor_usm_device) {
  api::Core core;
  ClContext context = default_context(core);
  auto tensor = context.create_usm_device_tensor(api::element::f32, api::Shape{16});
  return text_at(tensor.get_params(), "SHARED_MEM_TYPE") + " " + yes(tensor.get() != nullptr);
}
TWIN_ROW(tensor_usm_user) {
  api::Core core;
  ClContext context = default_context(core);
  auto owner = context.create_usm_device_tensor(api::element::f32, api::Shape{16});
  auto tensor = context.create_tensor(api::element::f32, api::Shape{16}, owner.get());
  return text_at(tensor.get_params(), "SHARED_MEM_TYPE") + " " + yes(tensor.get() == owner.get());
}
TWIN_ROW(tensor_usm_user_too_small) {
  api::Core core;
  ClContext context = default_context(core);
  auto owner = context.create_usm_device_tensor(api::element::f32, api::Shape{16});
  return tried([&] { context.create_tensor(api::element::f32, api::Shape{1 << 20}, owner.get()); });
}
TWIN_ROW(tensor_usm_null) {
  api::Core core;
  ClContext context = default_context(core);
  return tried([&] { context.create_tensor(api::element::f32, api::Shape{16}, static_cast<void*>(nullptr)); });
}
TWIN_ROW(tensor_of_unknown_memory) {
  api::Core core;
  return tried([&] {
    core.get_default_context("GPU").create_tensor(api::element::f32, api::Shape{16}, {{"SHARED_MEM_TYPE", "FOG"}});
  });
}
TWIN_ROW(tensor_surface_in_ocl_context) {
  api::Core core;
  return tried([&] {
    core.get_default_context("GPU").create_tensor(
        api::element::u8, api::Shape{1, 8, 16, 1},
        {{"SHARED_MEM_TYPE", "VA_SURFACE"}, {"DEV_OBJECT_HANDLE", 5u}, {"VA_PLANE", 0u}});
  });
}
TWIN_ROW(tensor_handle_without_type) {
  App app;
  api::Core core;
  ClContext context(core, app.context);
  return tried([&] {
    static_cast<api::RemoteContext&>(context).create_tensor(api::element::f32, api::Shape{16},
                                                            {{"MEM_HANDLE", static_cast<void*>(app.buffer(kBytes))}});
  });
}
TWIN_ROW(tensor_data_is_hidden) {
  api::Core core;
  ClContext context = default_context(core);
  auto tensor = context.create_tensor(api::element::f32, api::Shape{16});
  return tried([&] { static_cast<void>(static_cast<api::Tensor&>(tensor).data()); });
}
TWIN_ROW(tensor_as_other_type) {
  api::Core core;
  ClContext context = default_context(core);
  const api::Tensor tensor = context.create_tensor(api::element::f32, api::Shape{16});
  return "buffer " + yes(tensor.is<api::intel_gpu::ocl::ClBufferTensor>()) + ", USM " +
         yes(tensor.is<api::intel_gpu::ocl::USMTensor>()) + ", as USM " +
         tried([&] { static_cast<void>(tensor.as<api::intel_gpu::ocl::USMTensor>()); });
}
TWIN_ROW(tensor_host_is_not_remote) {
  const api::Tensor tensor(api::element::f32, api::Shape{16});
  return yes(tensor.is<api::RemoteTensor>());
}
TWIN_ROW(tensor_copy_both_ways) {
  api::Core core;
  ClContext context = default_context(core);
  api::RemoteTensor tensor = context.create_tensor(api::element::f32, api::Shape{4, 8});
  put(tensor, counted(32));
  return text_of(taken(tensor));
}
TWIN_ROW(tensor_copy_between_remotes) {
  api::Core core;
  ClContext context = default_context(core);
  api::RemoteTensor first = context.create_tensor(api::element::f32, api::Shape{32});
  api::RemoteTensor second = context.create_usm_device_tensor(api::element::f32, api::Shape{32});
  put(first, counted(32));
  put(second, first);
  return text_of(taken(second));
}
TWIN_ROW(tensor_copy_of_other_shape) {
  api::Core core;
  ClContext context = default_context(core);
  api::RemoteTensor tensor = context.create_tensor(api::element::f32, api::Shape{32});
  return tried([&] {
    put(tensor, counted(16));
    return shape_text(tensor.get_shape());
  });
}
TWIN_ROW(tensor_copy_of_other_type) {
  api::Core core;
  ClContext context = default_context(core);
  api::RemoteTensor tensor = context.create_tensor(api::element::f32, api::Shape{32});
  return tried([&] { tensor.copy_from(api::Tensor(api::element::i32, api::Shape{32})); });
}
TWIN_ROW(tensor_roi) {
  api::Core core;
  ClContext context = default_context(core);
  api::RemoteTensor tensor = context.create_tensor(api::element::f32, api::Shape{4, 8});
  put(tensor, counted(32));
  api::RemoteTensor part(tensor, At{1, 2}, At{3, 6});
  return shape_text(part.get_shape()) + " " + text_of(taken(part));
}
TWIN_ROW(tensor_roi_is_written_in_place) {
  api::Core core;
  ClContext context = default_context(core);
  api::RemoteTensor tensor = context.create_tensor(api::element::f32, api::Shape{4, 8});
  put(tensor, counted(32));
  api::RemoteTensor part(tensor, At{1, 2}, At{3, 6});
  put(part, counted(8, 100));
  return text_of(taken(tensor));
}
TWIN_ROW(tensor_roi_outside) {
  api::Core core;
  ClContext context = default_context(core);
  api::RemoteTensor tensor = context.create_tensor(api::element::f32, api::Shape{4, 8});
  return tried([&] { api::RemoteTensor part(tensor, At{1, 2}, At{5, 6}); });
}
TWIN_ROW(tensor_set_shape_smaller) {
  api::Core core;
  ClContext context = default_context(core);
  auto tensor = context.create_tensor(api::element::f32, api::Shape{4, 8});
  return tried([&] {
    tensor.set_shape({2, 8});
    return shape_text(tensor.get_shape());
  });
}
TWIN_ROW(tensor_set_shape_larger) {
  api::Core core;
  ClContext context = default_context(core);
  auto tensor = context.create_tensor(api::element::f32, api::Shape{4, 8});
  return tried([&] {
    tensor.set_shape({8, 8});
    return shape_text(tensor.get_shape());
  });
}
TWIN_ROW(tensor_set_shape_larger_wrapped) {
  App app;
  api::Core core;
  ClContext context(core, app.context);
  auto tensor = context.create_tensor(api::element::f32, api::Shape{16}, app.buffer(kBytes));
  return tried([&] {
    tensor.set_shape({32});
    return shape_text(tensor.get_shape());
  });
}
TWIN_ROW(tensor_without_elements) {
  api::Core core;
  ClContext context = default_context(core);
  return tried([&] { return shape_text(context.create_tensor(api::element::f32, api::Shape{0, 8}).get_shape()); });
}
TWIN_ROW(tensor_host_of_context) {
  api::Core core;
  ClContext context = default_context(core);
  auto tensor = context.create_host_tensor(api::element::f32, api::Shape{16});
  std::fill_n(static_cast<float*>(tensor.data()), 16, 2.0f);
  auto request = compiled(core, line16(), context).create_infer_request();
  request.set_tensor("x", tensor);
  run(request);
  return text_of(floats_of(request.get_tensor("y")));
}
TWIN_ROW(tensor_outlives_its_context) {
  api::RemoteTensor tensor;
  {
    api::Core core;
    ClContext context = default_context(core);
    tensor = context.create_tensor(api::element::f32, api::Shape{16});
  }
  put(tensor, counted(16));
  return text_of(taken(tensor));
}
TWIN_ROW(tensor_from_bad_descriptor) {
  api::Core core;
  return tried([&] {
    core.get_default_context("GPU").create_tensor(
        api::element::f32, api::Shape{16},
        {{"SHARED_MEM_TYPE", "BUFFER_FROM_HANDLE"}, {"MEM_HANDLE", reinterpret_cast<void*>(std::intptr_t{-1})}});
  });
}
TWIN_ROW(tensor_wraps_image) {
  App app;
  api::Core core;
  ClContext context(core, app.context);
  const std::vector<unsigned char> pixels(8 * 16, 1);
  const cl_mem image = app.image(CL_R, 16, 8, pixels.data());
  return tried([&] {
    const auto tensor = static_cast<api::RemoteContext&>(context).create_tensor(
        api::element::u8, api::Shape{1, 8, 16, 1},
        {{"SHARED_MEM_TYPE", "OCL_IMAGE2D"}, {"MEM_HANDLE", static_cast<void*>(image)}});
    return text_at(tensor.get_params(), "SHARED_MEM_TYPE") + " " +
           yes(pointer_at(tensor.get_params(), "MEM_HANDLE") == image);
  });
}

// Inference

TWIN_ROW(infer_buffers_in_user_context) {
  App app;
  api::Core core;
  ClContext context(core, app.context);
  auto request = compiled(core, line16(), context).create_infer_request();
  const cl_mem x = app.buffer(kBytes), y = app.buffer(kBytes);
  app.write(x, counted(16));
  request.set_tensor("x", context.create_tensor(api::element::f32, api::Shape{16}, x));
  request.set_tensor("y", context.create_tensor(api::element::f32, api::Shape{16}, y));
  run(request);
  return text_of(app.read(y));
}
TWIN_ROW(infer_usm_in_default_context) {
  api::Core core;
  ClContext context = default_context(core);
  auto request = compiled(core, line16(), context).create_infer_request();
  auto x = context.create_usm_device_tensor(api::element::f32, api::Shape{16});
  auto y = context.create_usm_device_tensor(api::element::f32, api::Shape{16});
  put(x, counted(16));
  request.set_tensor("x", x);
  request.set_tensor("y", y);
  run(request);
  return text_of(taken(y));
}
TWIN_ROW(infer_tensor_stays_remote) {
  api::Core core;
  ClContext context = default_context(core);
  auto request = compiled(core, line16(), context).create_infer_request();
  const bool before = request.get_tensor("x").is<api::RemoteTensor>();
  request.set_tensor("x", context.create_tensor(api::element::f32, api::Shape{16}));
  return "own " + yes(before) + ", set " + yes(request.get_tensor("x").is<api::RemoteTensor>());
}
TWIN_ROW(infer_wrong_shape) {
  api::Core core;
  ClContext context = default_context(core);
  auto request = compiled(core, line16(), context).create_infer_request();
  return tried([&] { request.set_tensor("x", context.create_tensor(api::element::f32, api::Shape{8})); });
}
TWIN_ROW(infer_wrong_type) {
  api::Core core;
  ClContext context = default_context(core);
  auto request = compiled(core, line16(), context).create_infer_request();
  return tried([&] { request.set_tensor("x", context.create_tensor(api::element::i32, api::Shape{16})); });
}
TWIN_ROW(infer_tensor_of_other_context) {
  App app;
  api::Core core;
  ClContext context(core, app.context), own = default_context(core);
  auto request = compiled(core, line16(), context).create_infer_request();
  auto x = own.create_tensor(api::element::f32, api::Shape{16});
  put(x, counted(16));
  return tried([&] {
    request.set_tensor("x", x);
    run(request);
    return text_of(floats_of(request.get_tensor("y")));
  });
}
TWIN_ROW(infer_roi_rows) {
  api::Core core;
  ClContext context = default_context(core);
  auto request = compiled(core, twin::line(folder, "rows", {2, 8}), context).create_infer_request();
  api::RemoteTensor whole = context.create_tensor(api::element::f32, api::Shape{4, 8});
  put(whole, counted(32));
  return tried([&] {
    request.set_tensor("x", api::RemoteTensor(whole, At{1, 0}, At{3, 8}));
    run(request);
    return text_of(floats_of(request.get_tensor("y")));
  });
}
TWIN_ROW(infer_roi_columns) {
  api::Core core;
  ClContext context = default_context(core);
  auto request = compiled(core, twin::line(folder, "columns", {2, 4}), context).create_infer_request();
  api::RemoteTensor whole = context.create_tensor(api::element::f32, api::Shape{4, 8});
  put(whole, counted(32));
  return tried([&] {
    request.set_tensor("x", api::RemoteTensor(whole, At{1, 2}, At{3, 6}));
    run(request);
    return text_of(floats_of(request.get_tensor("y")));
  });
}
TWIN_ROW(infer_roi_output) {
  api::Core core;
  ClContext context = default_context(core);
  auto request = compiled(core, twin::line(folder, "rows_out", {2, 8}), context).create_infer_request();
  api::RemoteTensor whole = context.create_tensor(api::element::f32, api::Shape{4, 8});
  put(whole, Floats(32, 0));
  return tried([&] {
    request.set_tensor("x", tensor_of({2, 8}, counted(16)));
    request.set_tensor("y", api::RemoteTensor(whole, At{1, 0}, At{3, 8}));
    run(request);
    return text_of(taken(whole));
  });
}
TWIN_ROW(infer_chain_of_requests) {
  api::Core core;
  ClContext context = default_context(core);
  auto model = compiled(core, line16(), context);
  auto first = model.create_infer_request(), second = model.create_infer_request();
  auto between = context.create_tensor(api::element::f32, api::Shape{16});
  first.set_tensor("x", tensor_of({16}, counted(16)));
  first.set_tensor("y", between);
  second.set_tensor("x", between);
  run(first);
  run(second);
  return text_of(floats_of(second.get_tensor("y")));
}
TWIN_ROW(infer_batch_of_tensors) {
  api::Core core;
  ClContext context = default_context(core);
  auto model = core.read_model(twin::relu(folder, "batch", {2, 3, 4, 4}));
  model->get_parameters()[0]->set_layout("NCHW");
  auto request = core.compile_model(model, context, kPrecise).create_infer_request();
  std::vector<api::Tensor> each;
  for (int i = 0; i < 2; ++i) {
    auto tensor = context.create_tensor(api::element::f32, api::Shape{1, 3, 4, 4});
    put(tensor, counted(48, static_cast<float>(-24 + 100 * i)));
    each.push_back(tensor);
  }
  return tried([&] {
    request.set_tensors("x", each);
    run(request);
    return text_of(floats_of(request.get_tensor("y")));
  });
}
TWIN_ROW(infer_moving_shape) {
  api::Core core;
  ClContext context = default_context(core);
  auto request = compiled(core, twin::line(folder, "moving", {-1, 4}), context).create_infer_request();
  std::string text;
  for (std::size_t count : {2, 5, 1}) {
    request.set_tensor("x", tensor_of({count, 4}, counted(count * 4)));
    run(request);
    text += shape_text(request.get_tensor("y").get_shape()) + " " + text_of(floats_of(request.get_tensor("y"))) + "; ";
  }
  return text;
}
TWIN_ROW(infer_moving_shape_remote_output) {
  App app;
  api::Core core;
  ClContext context(core, app.context);
  auto request = compiled(core, twin::line(folder, "moving_out", {-1, 4}), context).create_infer_request();
  const cl_mem y = app.buffer(256);
  auto out = context.create_tensor(api::element::f32, api::Shape{16, 4}, y);
  return tried([&] {
    request.set_tensor("x", tensor_of({2, 4}, counted(8)));
    request.set_tensor("y", out);
    run(request);
    return shape_text(request.get_tensor("y").get_shape()) + " " + text_of(app.read(y, 8));
  });
}
TWIN_ROW(infer_moving_shape_wrapped_output_too_small) {
  App app;
  api::Core core;
  ClContext context(core, app.context);
  auto request = compiled(core, twin::line(folder, "moving_small", {-1, 4}), context).create_infer_request();
  auto out = context.create_tensor(api::element::f32, api::Shape{1, 4}, app.buffer(16));
  return tried([&] {
    request.set_tensor("x", tensor_of({2, 4}, counted(8)));
    request.set_tensor("y", out);
    run(request);
  });
}
TWIN_ROW(infer_count_that_values_decide) {
  api::Core core;
  return tried([&] {
    auto request = core.compile_model(twin::positions(folder), "GPU", kPrecise).create_infer_request();
    Floats values(16, 0);
    values[3] = values[9] = 1;
    request.set_tensor("x", tensor_of({16}, values));
    run(request);
    return text_of(floats_of(request.get_tensor("y")));
  });
}
TWIN_ROW(infer_after_core_is_gone) {
  api::InferRequest request;
  {
    api::Core core;
    ClContext context = default_context(core);
    request = compiled(core, line16(), context).create_infer_request();
  }
  request.set_tensor("x", tensor_of({16}, counted(16)));
  run(request);
  return text_of(floats_of(request.get_tensor("y")));
}
TWIN_ROW(infer_imported_into_context) {
  App app;
  api::Core core;
  ClContext context(core, app.context);
  std::stringstream blob;
  compiled(core, line16(), context).export_model(blob);
  auto request = core.import_model(blob, context).create_infer_request();
  request.set_tensor("x", tensor_of({16}, counted(16)));
  run(request);
  return text_of(floats_of(request.get_tensor("y")));
}
TWIN_ROW(infer_execution_devices) {
  api::Core core;
  ClContext context = default_context(core);
  const auto model = compiled(core, line16(), context);
  const std::vector<std::string> names = model.get_property("EXECUTION_DEVICES").as<std::vector<std::string>>();
  std::string text;
  for (const std::string& name : names) text += name + " ";
  return text;
}

// Queues

std::string chain_in(App& app, bool barriers) {
  api::Core core;
  ClContext context(core, app.queue);
  auto request = compiled(core, line16(), context).create_infer_request();
  const cl_mem x = app.buffer(kBytes), y = app.buffer(kBytes);
  request.set_tensor("x", context.create_tensor(api::element::f32, api::Shape{16}, x));
  request.set_tensor("y", context.create_tensor(api::element::f32, api::Shape{16}, y));
  const auto barrier = [&] {
    if (barriers) clEnqueueBarrierWithWaitList(app.queue, 0, nullptr, nullptr);
  };
  const float begin = 3;
  app.run("fill", x, &begin);
  barrier();
  request.start_async();
  barrier();
  app.run("twice", y);
  clFinish(app.queue);
  const std::string text = text_of(app.read(y));
  request.wait();
  return text;
}
TWIN_ROW(queue_kernel_inference_kernel) {
  App app;
  return chain_in(app, false);
}
TWIN_ROW(queue_out_of_order_with_barriers) {
  App app(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  return chain_in(app, true);
}
TWIN_ROW(queue_start_async_only_enqueues) {
  App app;
  api::Core core;
  ClContext context(core, app.queue);
  auto request = compiled(core, line16(), context).create_infer_request();
  const cl_mem x = app.buffer(kBytes), y = app.buffer(kBytes);
  request.set_tensor("x", context.create_tensor(api::element::f32, api::Shape{16}, x));
  request.set_tensor("y", context.create_tensor(api::element::f32, api::Shape{16}, y));
  const cl_event gate = clCreateUserEvent(app.context, nullptr);
  clEnqueueBarrierWithWaitList(app.queue, 1, &gate, nullptr);
  const float begin = 3;
  app.run("fill", x, &begin);
  request.start_async();  // Returns although nothing can run yet.
  const bool waits = !request.wait_for(std::chrono::milliseconds(20));
  clSetUserEventStatus(gate, CL_COMPLETE);
  request.wait();
  return "pending " + yes(waits) + " " + text_of(app.read(y));
}
TWIN_ROW(queue_streams_are_one) {
  App app;
  api::Core core;
  ClContext context(core, app.queue);
  return compiled(core, line16(), context).get_property("NUM_STREAMS").as<std::string>();
}
TWIN_ROW(queue_refuses_throughput_streams) {
  App app;
  api::Core core;
  ClContext context(core, app.queue);
  return tried([&] {
    core.compile_model(core.read_model(line16()), context,
                       {{"NUM_STREAMS", "4"}, {"INFERENCE_PRECISION_HINT", api::element::f32}});
  });
}
TWIN_ROW(queue_null) {
  api::Core core;
  return tried([&] { ClContext context(core, static_cast<cl_command_queue>(nullptr)); });
}
TWIN_ROW(queue_of_other_context) {
  App app, other;
  api::Core core;
  return tried([&] {
    core.create_context("GPU", {{"CONTEXT_TYPE", "OCL"},
                                {"OCL_CONTEXT", static_cast<void*>(app.context)},
                                {"OCL_QUEUE", static_cast<void*>(other.queue)}});
  });
}

// Pictures. Images are made by keys, so that these rows need no typed wrapper.

constexpr std::size_t kWidth = 16, kHeight = 8;
std::vector<unsigned char> luma() {
  std::vector<unsigned char> pixels(kWidth * kHeight);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<unsigned char>(16 + i * 7 % 200);
  return pixels;
}
std::vector<unsigned char> chroma() {
  std::vector<unsigned char> pixels(kWidth * kHeight / 2);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<unsigned char>(64 + i * 13 % 128);
  return pixels;
}
/// Rounded, because colours may differ by one step.
std::string colours_of(const api::Tensor& tensor) {
  const Floats values = floats_of(tensor);
  double sum = 0;
  for (float value : values) sum += value;
  std::ostringstream text;
  text << shape_text(tensor.get_shape()) << " mean " << std::lround(sum / static_cast<double>(values.size()) / 4) * 4;
  return text.str();
}
api::Tensor bytes_tensor(const api::Shape& shape, const std::vector<unsigned char>& bytes) {
  api::Tensor tensor(api::element::u8, shape);
  std::memcpy(tensor.data(), bytes.data(), bytes.size());
  return tensor;
}
std::shared_ptr<api::Model> picture_model(api::Core& core, api::preprocess::ColorFormat format,
                                          const std::vector<std::string>& parts, bool surface, int pictures = 1) {
  auto model = core.read_model(
      twin::relu(folder, "picture", {pictures, 3, static_cast<int>(kHeight), static_cast<int>(kWidth)}));
  api::preprocess::PrePostProcessor stage(model);
  auto& tensor = stage.input().tensor().set_element_type(api::element::u8).set_layout("NHWC");
  if (parts.empty())
    tensor.set_color_format(format);
  else
    tensor.set_color_format(format, parts);
  if (surface) tensor.set_memory_type("GPU_SURFACE");
  stage.input().preprocess().convert_color(api::preprocess::ColorFormat::BGR);
  stage.input().model().set_layout("NCHW");
  return stage.build();
}
TWIN_ROW(picture_two_planes_on_the_host) {
  api::Core core;
  auto request =
      core.compile_model(picture_model(core, api::preprocess::ColorFormat::NV12_TWO_PLANES, {"y", "uv"}, false), "GPU",
                         kPrecise)
          .create_infer_request();
  request.set_input_tensor(0, bytes_tensor({1, kHeight, kWidth, 1}, luma()));
  request.set_input_tensor(1, bytes_tensor({1, kHeight / 2, kWidth / 2, 2}, chroma()));
  run(request);
  return colours_of(request.get_output_tensor(0));
}
TWIN_ROW(picture_single_plane_buffer) {
  App app;
  api::Core core;
  ClContext context(core, app.context);
  auto model = picture_model(core, api::preprocess::ColorFormat::NV12_SINGLE_PLANE, {}, false);
  std::vector<unsigned char> all = luma();
  const auto colours = chroma();
  all.insert(all.end(), colours.begin(), colours.end());
  auto tensor = context.create_tensor(api::element::u8, api::Shape{1, kHeight * 3 / 2, kWidth, 1});
  put(tensor, bytes_tensor({1, kHeight * 3 / 2, kWidth, 1}, all));
  return tried([&] {
    auto request = core.compile_model(model, context, kPrecise).create_infer_request();
    request.set_input_tensor(0, tensor);
    run(request);
    return colours_of(request.get_output_tensor(0));
  });
}
api::RemoteTensor image_tensor(api::RemoteContext& context, const App& app, cl_channel_order order, std::size_t width,
                               std::size_t height, const std::vector<unsigned char>& pixels) {
  const cl_mem image = app.image(order, width, height, pixels.data());
  return context.create_tensor(api::element::u8, api::Shape{1, height, width, order == CL_R ? std::size_t{1} : 2},
                               {{"SHARED_MEM_TYPE", "OCL_IMAGE2D"}, {"MEM_HANDLE", static_cast<void*>(image)}});
}
TWIN_ROW(picture_two_planes_of_images) {
  App app;
  api::Core core;
  ClContext context(core, app.context);
  auto model = picture_model(core, api::preprocess::ColorFormat::NV12_TWO_PLANES, {"y", "uv"}, true);
  return tried([&] {
    auto request = core.compile_model(model, context, kPrecise).create_infer_request();
    request.set_input_tensor(0, image_tensor(context, app, CL_R, kWidth, kHeight, luma()));
    request.set_input_tensor(1, image_tensor(context, app, CL_RG, kWidth / 2, kHeight / 2, chroma()));
    run(request);
    return colours_of(request.get_output_tensor(0));
  });
}
TWIN_ROW(picture_surface_input_has_no_own_tensor) {
  App app;
  api::Core core;
  ClContext context(core, app.context);
  auto model = picture_model(core, api::preprocess::ColorFormat::NV12_TWO_PLANES, {"y", "uv"}, true);
  return tried([&] {
    auto request = core.compile_model(model, context, kPrecise).create_infer_request();
    return shape_text(request.get_input_tensor(0).get_shape());
  });
}
/// The Y plane alone, as grey.
TWIN_ROW(picture_grey_of_an_image) {
  App app;
  api::Core core;
  ClContext context(core, app.context);
  auto model = core.read_model(twin::relu(folder, "grey", {1, 1, static_cast<int>(kHeight), static_cast<int>(kWidth)}));
  api::preprocess::PrePostProcessor stage(model);
  stage.input().tensor().set_element_type(api::element::u8).set_layout("NHWC").set_memory_type("GPU_SURFACE");
  stage.input().model().set_layout("NCHW");
  model = stage.build();
  return tried([&] {
    auto request = core.compile_model(model, context, kPrecise).create_infer_request();
    request.set_input_tensor(0, image_tensor(context, app, CL_R, kWidth, kHeight, luma()));
    run(request);
    return colours_of(request.get_output_tensor(0));
  });
}
TWIN_ROW(picture_batch_of_images) {
  App app;
  api::Core core;
  ClContext context(core, app.context);
  return tried([&] {
    auto model = picture_model(core, api::preprocess::ColorFormat::NV12_TWO_PLANES, {"y", "uv"}, true, 2);
    auto request = core.compile_model(model, context, kPrecise).create_infer_request();
    std::vector<api::Tensor> y, uv;
    for (int i = 0; i < 2; ++i) {
      y.push_back(image_tensor(context, app, CL_R, kWidth, kHeight, luma()));
      uv.push_back(image_tensor(context, app, CL_RG, kWidth / 2, kHeight / 2, chroma()));
    }
    request.set_input_tensors(0, y);
    request.set_input_tensors(1, uv);
    run(request);
    return colours_of(request.get_output_tensor(0));
  });
}
TWIN_ROW(picture_three_planes_on_the_host) {
  api::Core core;
  auto request =
      core.compile_model(picture_model(core, api::preprocess::ColorFormat::I420_THREE_PLANES, {"y", "u", "v"}, false),
                         "GPU", kPrecise)
          .create_infer_request();
  const std::vector<unsigned char> quarter(kWidth * kHeight / 4, 90);
  request.set_input_tensor(0, bytes_tensor({1, kHeight, kWidth, 1}, luma()));
  request.set_input_tensor(1, bytes_tensor({1, kHeight / 2, kWidth / 2, 1}, quarter));
  request.set_input_tensor(2, bytes_tensor({1, kHeight / 2, kWidth / 2, 1}, quarter));
  run(request);
  return colours_of(request.get_output_tensor(0));
}
TWIN_ROW(picture_image_as_plain_input) {
  App app;
  api::Core core;
  ClContext context(core, app.context);
  auto request = compiled(core, line16(), context).create_infer_request();
  return tried([&] { request.set_tensor("x", image_tensor(context, app, CL_R, kWidth, kHeight, luma())); });
}

/// Runs one row in a process of its own: what a row breaks, the next one does not see.
std::string outcome_of(const Row& row) {
  int pipes[2];
  if (::pipe(pipes) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(pipes[0]);
    ::alarm(kRowTimeout_s);
    std::string text;
    try {
      text = row();
    } catch (const std::exception& error) {
      text = std::string("fails: ") + error.what();
    }
    const ssize_t written = ::write(pipes[1], text.data(), text.size());
    ::_exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  ::close(pipes[1]);
  std::string text(1 << 16, '\0');
  std::size_t size = 0;
  for (ssize_t got = 0; (got = ::read(pipes[0], text.data() + size, text.size() - size)) > 0;)
    size += static_cast<std::size_t>(got);
  ::close(pipes[0]);
  text.resize(size);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGALRM ? "hangs" : "crashes";
  std::replace(text.begin(), text.end(), '\n', ' ');
  std::replace(text.begin(), text.end(), '\t', ' ');
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

}  // namespace

/// rows [PART]: the rows whose names contain PART.
int main(int argc, char** argv) {
  folder = std::filesystem::temp_directory_path() / ("gpu_twin_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  for (const auto& [name, row] : rows()) {
    if (argc > 1 && name.find(argv[1]) == std::string::npos) continue;
    std::cout << name << '\t' << outcome_of(row) << std::endl;
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}
