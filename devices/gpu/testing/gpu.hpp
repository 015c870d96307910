// SPDX-License-Identifier: Apache-2.0
// Shared by the GPU device's tests: the device linked in, a model, and an application's own OpenCL objects.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <tenon/core/deferred.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/devices/gpu/native.hpp>
#include <tenon/devices/gpu/public/ocl.hpp>
#include <tenon/frameworks/opencl/testing/queue.hpp>
#include <tenon/graph/ops.hpp>
#include <tenon/runtime/device/device.hpp>
#include <tenon/runtime/device/device_registry.hpp>
#include <tenon/runtime/runtime.hpp>

extern "C" TENON_API const tenon::DeviceModule* tenon_device_module();

namespace tenon::gpu_testing {

inline constexpr std::size_t kCount = 1024;

/// y = 2 * x + 1 of [1024].
inline std::shared_ptr<Model> line_model() {
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{kCount});
  x->set_friendly_name("x");
  x->output(0).set_names({"x"});
  const auto number = [](double value) { return op::v0::Constant::create(element::f32, Shape{}, {value}); };
  auto product = make_node("Multiply", 1, {x, number(2)}, {}, "product");
  auto sum = make_node("Add", 1, {product, number(1)}, {}, "sum");
  sum->output(0).set_names({"y"});
  return std::make_shared<Model>(OutputVector{sum}, ParameterVector{x}, "line");
}

/// y = sin(x) of [1024], within wider bounds each time: programs are shared by all models of a process, and this one has a text of its own.
inline std::shared_ptr<Model> fresh_model() {
  static int made = 0;
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{kCount});
  x->output(0).set_names({"x"});
  std::shared_ptr<Node> y = make_node("Sin", 1, {x}, {}, "sine");
  y = make_node("Clamp", 1, {y}, {{"min", -1.0 - 0.001 * ++made}, {"max", 2.0}}, "clamp");
  y->output(0).set_names({"y"});
  return std::make_shared<Model>(OutputVector{y}, ParameterVector{x}, "fresh");
}

inline constexpr std::size_t kKernels = 20;

/// y = x + 20 of [1024], by a kernel for each 1: between them is a maximum over an axis of one.
inline std::shared_ptr<Model> steps_model() {
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, kCount});
  x->output(0).set_names({"x"});
  Output<Node> y = x;
  const auto one = op::v0::Constant::create(element::f32, Shape{}, {1.0});
  const auto axis = op::v0::Constant::create(element::i64, Shape{1}, {0});
  for (std::size_t i = 0; i < kKernels; ++i)
    y = make_node("ReduceMax", 1, {make_node("Add", 1, {y, one}, {}, "")->output(0), axis}, {{"keep_dims", true}}, "");
  y.get_node()->output(0).set_names({"y"});
  return std::make_shared<Model>(OutputVector{y}, ParameterVector{x}, "steps");
}

inline std::vector<float> answer(InferRequest& request, float value) {
  Tensor x = request.get_tensor("x");
  std::fill_n(x.data<float>(), x.element_count(), value);
  request.infer();
  const Tensor y = request.get_tensor("y");
  return {y.data<float>(), y.data<float>() + y.element_count()};
}

/// The application's own objects: a context and an in-order queue of the first device.
struct Application {
  cl_device_id device = nullptr;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
  cl_program program = nullptr;

  explicit Application(cl_command_queue_properties properties = 0) {
    const auto devices = opencl::client::all_devices();
    if (devices.empty()) return;
    device = devices.front();
    context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
    queue = opencl::new_queue(context, device, properties);
    const char* source =
        "__kernel void fill(__global float* x, float v) { x[get_global_id(0)] = v + get_global_id(0); }\n"
        "__kernel void twice(__global const float* x, __global float* y) { y[get_global_id(0)] = 2 * "
        "x[get_global_id(0)]; }";
    program = clCreateProgramWithSource(context, 1, &source, nullptr, nullptr);
    clBuildProgram(program, 1, &device, "", nullptr, nullptr);
  }
  ~Application() {
    if (program) clReleaseProgram(program);
    if (queue) clReleaseCommandQueue(queue);
    if (context) clReleaseContext(context);
  }
  cl_mem buffer(std::size_t bytes) const { return clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, nullptr, nullptr); }
  /// Null if the platform has no such format. @param pixels  Packed, or null.
  cl_mem image(cl_channel_order order, cl_channel_type type, std::size_t width, std::size_t height,
               const void* pixels) const {
    const cl_image_format format{order, type};
    cl_image_desc desc{};
    desc.image_type = CL_MEM_OBJECT_IMAGE2D;
    desc.image_width = width;
    desc.image_height = height;
    const cl_mem_flags copies = pixels ? CL_MEM_COPY_HOST_PTR : 0;
    return clCreateImage(context, CL_MEM_READ_ONLY | copies, &format, &desc, const_cast<void*>(pixels), nullptr);
  }
  cl_uint references() const {
    cl_uint count = 0;
    clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof count, &count, nullptr);
    return count;
  }
  /// Waits up to a minute: drivers let go of finished commands a moment later.
  bool references_fall_to(cl_uint count) const {
    for (int i = 0; i < 6000 && references() > count; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return references() <= count;
  }
  void run(const char* name, std::vector<cl_mem> memory, const float* number = nullptr,
           cl_event after = nullptr) const {
    const cl_kernel kernel = clCreateKernel(program, name, nullptr);
    cl_uint at = 0;
    for (cl_mem each : memory) clSetKernelArg(kernel, at++, sizeof each, &each);
    if (number) clSetKernelArg(kernel, at, sizeof *number, number);
    const std::size_t count = kCount;
    ASSERT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &count, nullptr, after ? 1 : 0,
                                     after ? &after : nullptr, nullptr),
              CL_SUCCESS);
    clReleaseKernel(kernel);
  }
  std::vector<float> read(cl_mem buffer) const {
    std::vector<float> values(kCount);
    EXPECT_EQ(
        clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, kCount * sizeof(float), values.data(), 0, nullptr, nullptr),
        CL_SUCCESS);
    return values;
  }
};

/// Bytes that inferences moved, but for results that the host reads, which a device with memory of its own hands out.
inline std::uint64_t moved_beside_results(const Ledger& ledger) {
  std::uint64_t bytes = 0;
  for (const LedgerEntry& entry : ledger.snapshot())
    if (entry.name != "GPU: download") bytes += entry.copied + entry.transferred;
  return bytes;
}

/// The device, linked into this program so that its calls and handles can be counted and made to fail.
class Gpu : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    static const bool registered = [] {
      register_device(*tenon_device_module());
      return true;
    }();
    (void)registered;
  }
  void SetUp() override {
    if (!app.device) GTEST_SKIP() << "no OpenCL device";
  }
  Application app;
  Core core;
};

}  // namespace tenon::gpu_testing
