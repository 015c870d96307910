// SPDX-License-Identifier: Apache-2.0
// What the rows share: an application's own OpenCL objects, tensors and texts. The rows of OpenVINO's document on GPU remote
// tensors are one program that is compiled twice: against Tenon (TWIN_OURS) and against OpenVINO. Each row says in a line
// what came of it. compare.py says which outcomes differ, and docs/guide/gpu_oracle.md why they may.
#pragma once

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

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "models.hpp"

namespace twin {

using api::intel_gpu::ocl::ClContext;
using Floats = std::vector<float>;
using Row = std::function<std::string()>;

constexpr std::size_t kCount = 16, kBytes = kCount * sizeof(float);

inline std::vector<std::pair<std::string, Row>>& rows() {
  static std::vector<std::pair<std::string, Row>> all;
  return all;
}
struct Add {
  Add(const char* name, Row row) { rows().emplace_back(name, std::move(row)); }
};
#define TWIN_ROW(name)                            \
  static std::string row_##name();                \
  static const Add add_##name(#name, row_##name); \
  static std::string row_##name()

inline std::string folder;  // This process's, for models.

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

inline Floats counted(std::size_t count, float begin = 0) {
  Floats values(count);
  std::iota(values.begin(), values.end(), begin);
  return values;
}
/// The first values, and a sum that depends on the places of all.
inline std::string text_of(const Floats& values) {
  std::ostringstream text;
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += values[i] * static_cast<double>(i % 97 + 1);
  for (std::size_t i = 0; i < std::min<std::size_t>(values.size(), 4); ++i) text << values[i] << ' ';
  text << "(" << values.size() << ", sum " << sum << ")";
  return text.str();
}
inline Floats floats_of(const api::Tensor& tensor) {
  const float* data = static_cast<const float*>(tensor.data());
  return Floats(data, data + tensor.get_size());
}
inline api::Tensor tensor_of(const api::Shape& shape, const Floats& values) {
  api::Tensor tensor(api::element::f32, shape);
  std::memcpy(tensor.data(), values.data(), values.size() * sizeof(float));
  return tensor;
}
inline void run(api::InferRequest& request) { request.infer(); }
inline void put(api::RemoteTensor tensor, const api::Tensor& from) { tensor.copy_from(from); }
inline void put(api::RemoteTensor tensor, const Floats& values) { put(tensor, tensor_of(tensor.get_shape(), values)); }
inline Floats taken(const api::RemoteTensor& tensor) {
  api::Tensor back(api::element::f32, tensor.get_shape());
  tensor.copy_to(back);
  return floats_of(back);
}
inline std::string shape_text(const api::Shape& shape) {
  std::string text;
  for (const auto dim : shape) text += (text.empty() ? "" : "x") + std::to_string(dim);
  return "[" + text + "]";
}
inline std::string yes(bool value) { return value ? "yes" : "no"; }
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
inline std::string keys_of(const api::AnyMap& params) {
  std::string text;
  for (const auto& [key, value] : params) text += (text.empty() ? "" : ",") + std::string(key);
  return text;
}
inline std::string text_at(const api::AnyMap& params, const char* key) {
  return params.at(key).template as<std::string>();
}
inline void* pointer_at(const api::AnyMap& params, const char* key) { return params.at(key).template as<void*>(); }

inline const api::AnyMap kPrecise{{"INFERENCE_PRECISION_HINT", api::element::f32}};

inline ClContext default_context(api::Core& core) { return core.get_default_context("GPU").as<ClContext>(); }
inline api::CompiledModel compiled(api::Core& core, const std::string& path, const api::RemoteContext& context) {
  return core.compile_model(core.read_model(path), context, kPrecise);
}
inline std::string line16() { return line(folder, "line16", {16}); }

}  // namespace twin
