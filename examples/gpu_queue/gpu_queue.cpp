// SPDX-License-Identifier: Apache-2.0
// A model between two kernels of the application: gpu_queue [device]. The application has its own cl_context, queue, buffers
// and kernels; the model uses them, in the order of the queue, and the host waits only at the end. Exits with 77 if
// there is no OpenCL device.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <CL/cl.h>

#include <tenon/core/ledger.hpp>
#include <tenon/devices/gpu/public/ocl.hpp>
#include <tenon/graph/ops.hpp>
#include <tenon/runtime/runtime.hpp>

namespace {

using namespace tenon;
using tenon::intel_gpu::ocl::ClContext;

constexpr std::size_t kCount = 1024;
constexpr int kNoDevice = 77;

void check(cl_int status, const char* call) {
  if (status == CL_SUCCESS) return;
  std::fprintf(stderr, "%s gave %d\n", call, status);
  std::exit(1);
}

/// An application without Tenon.
struct Application {
  explicit Application(cl_device_id of) : device(of) {
    cl_int status = CL_SUCCESS;
    context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &status);
    check(status, "clCreateContext");
    queue = clCreateCommandQueueWithProperties(context, device, nullptr, &status);
    check(status, "clCreateCommandQueueWithProperties");
    const char* const source =
        "__kernel void ramp(__global float* x) { x[get_global_id(0)] = (float)get_global_id(0) - 512; }\n"
        "__kernel void negate(__global const float* y, __global float* z) { z[get_global_id(0)] = "
        "-y[get_global_id(0)]; }";
    program = clCreateProgramWithSource(context, 1, const_cast<const char**>(&source), nullptr, &status);
    check(status, "clCreateProgramWithSource");
    check(clBuildProgram(program, 1, &device, "", nullptr, nullptr), "clBuildProgram");
  }
  ~Application() {
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
  }
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;

  cl_mem buffer() const {
    cl_int status = CL_SUCCESS;
    const cl_mem made = clCreateBuffer(context, CL_MEM_READ_WRITE, kCount * sizeof(float), nullptr, &status);
    check(status, "clCreateBuffer");
    return made;
  }
  void enqueue(const char* name, const std::vector<cl_mem>& memory) const {
    cl_int status = CL_SUCCESS;
    const cl_kernel kernel = clCreateKernel(program, name, &status);
    check(status, "clCreateKernel");
    for (cl_uint i = 0; i < memory.size(); ++i)
      check(clSetKernelArg(kernel, i, sizeof memory[i], &memory[i]), "clSetKernelArg");
    check(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &kCount, nullptr, 0, nullptr, nullptr), name);
    clReleaseKernel(kernel);
  }

  cl_device_id device;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
  cl_program program = nullptr;
};

/// y = relu(x)
std::shared_ptr<Model> model() {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{kCount});
  x->output(0).set_names({"x"});
  const auto y = std::make_shared<op::v0::Relu>(x->output(0));
  y->output(0).set_names({"y"});
  return std::make_shared<Model>(ResultVector{std::make_shared<op::v0::Result>(y->output(0))}, ParameterVector{x});
}

int run(Core& core, cl_device_id device) {
  const Application app(device);
  const cl_mem x = app.buffer(), y = app.buffer(), z = app.buffer();
  LedgerEntry moved;
  {
    ClContext context(core, app.queue);  // The queue's cl_context, and all inferences in that queue.
    InferRequest request = core.compile_model(model(), context).create_infer_request();
    request.set_tensor("x", context.create_tensor(element::f32, Shape{kCount}, x));
    request.set_tensor("y", context.create_tensor(element::f32, Shape{kCount}, y));
    app.enqueue("ramp", {x});       // x = -512, -511...
    request.start_async();          // y = relu(x), when x is there
    app.enqueue("negate", {y, z});  // z = -y, when y is there
    request.wait();
    moved = request.ledger().total();
  }
  std::vector<float> values(kCount);
  check(clEnqueueReadBuffer(app.queue, z, CL_TRUE, 0, kCount * sizeof(float), values.data(), 0, nullptr, nullptr),
        "clEnqueueReadBuffer");
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < kCount; ++i) wrong += values[i] != (i > 512 ? 512.0F - static_cast<float>(i) : 0.0F);
  for (const cl_mem each : {x, y, z}) clReleaseMemObject(each);
  std::printf("kernel, model, kernel in one queue: %zu wrong, %llu bytes copied, %llu transferred\n", wrong,
              static_cast<unsigned long long>(moved.copied), static_cast<unsigned long long>(moved.transferred));
  return wrong || moved.copied || moved.transferred ? 1 : 0;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    Core core;
    ClContext own(core, count > 1 ? arguments[1] : "GPU");  // The device's context names the OpenCL device.
    cl_device_id device = nullptr;
    check(clGetContextInfo(own.get(), CL_CONTEXT_DEVICES, sizeof device, &device, nullptr), "clGetContextInfo");
    return run(core, device);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.code() == Code::kUnavailable || error.code() == Code::kNotFound ? kNoDevice : 1;
  }
}
