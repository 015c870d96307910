// SPDX-License-Identifier: Apache-2.0
// An application's kernel on a buffer that inference then reads: gpu_kernel [device]. The application has no OpenCL
// context of its own; it uses the context of the compiled model, and creates its queue, buffer and kernel there, with
// the classes of CL/opencl.hpp. Exits with 77 if there is no OpenCL device.
#define TENON_OPENCL_HPP
#include <cstddef>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

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
  if (status != CL_SUCCESS) throw std::runtime_error(std::string(call) + " gave " + std::to_string(status));
}

/// y = relu(x)
std::shared_ptr<Model> model() {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{kCount});
  x->output(0).set_names({"x"});
  const auto y = std::make_shared<op::v0::Relu>(x->output(0));
  y->output(0).set_names({"y"});
  return std::make_shared<Model>(ResultVector{std::make_shared<op::v0::Result>(y->output(0))}, ParameterVector{x});
}

/// x = -512, -511...
cl::Kernel ramp(const cl::Context& context, const cl::Buffer& x) {
  const cl::Program program(
      context, "kernel void ramp(global float* x) { x[get_global_id(0)] = (float)get_global_id(0) - 512; }");
  check(program.build(), "clBuildProgram");
  cl_int status = CL_SUCCESS;
  cl::Kernel kernel(program, "ramp", &status);
  check(status, "clCreateKernel");
  check(kernel.setArg(0, x), "clSetKernelArg");
  return kernel;
}

int run(CompiledModel compiled) {
  InferRequest request = compiled.create_infer_request();
  ClContext gpu_context = compiled.get_context().as<ClContext>();
  const cl::Context context = gpu_context;
  const cl::Device device = context.getInfo<CL_CONTEXT_DEVICES>().front();
  const cl::CommandQueue queue(context, device);

  const auto input = compiled.input();
  const cl::Buffer buffer(context, CL_MEM_READ_WRITE, shape_size(input.get_shape()) * sizeof(float));
  request.set_tensor(input, gpu_context.create_tensor(input.get_element_type(), input.get_shape(), buffer));

  check(queue.enqueueNDRangeKernel(ramp(context, buffer), cl::NullRange, cl::NDRange(kCount)),
        "clEnqueueNDRangeKernel");
  check(queue.finish(), "clFinish");  // The model has its own queue, which is not ordered after this one.
  request.infer();

  const float* y = request.get_tensor("y").data<float>();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < kCount; ++i) wrong += y[i] != (i > 512 ? static_cast<float>(i) - 512.0F : 0.0F);
  const LedgerEntry moved = request.ledger().total();
  std::printf("kernel, then model, in the model's context: %zu wrong, %llu bytes copied\n", wrong,
              static_cast<unsigned long long>(moved.copied));
  return wrong || moved.copied ? 1 : 0;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    Core core;
    return run(core.compile_model(model(), count > 1 ? arguments[1] : "GPU"));
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.code() == Code::kUnavailable || error.code() == Code::kNotFound ? kNoDevice : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
