// SPDX-License-Identifier: Apache-2.0
// One descriptor, three APIs. An OpenCL kernel of the application draws a picture into the memory behind a
// descriptor; the NPU infers on that memory, passed as the descriptor, and writes into another; an OpenCV
// UMat reads the result there. The descriptors are dma-bufs if the kernel has them, else memfds. Nothing is copied.
#include <algorithm>
#include <cstdio>

#include <opencv2/core/ocl.hpp>

#include <tenon/bridges/opencv_opencl/opencv_opencl.hpp>
#include <tenon/core/router.hpp>
#include <tenon/devices/npu/public/level_zero.hpp>
#include <tenon/frameworks/dmabuf/contexts.hpp>
#include <tenon/frameworks/opencl/contexts.hpp>
#include <tenon/runtime/runtime.hpp>

namespace {

using namespace tenon;

constexpr int kNotHere = 77;
const Shape kShape{256, 1024};

/// The options of every map: no copy, not even a cheap one.
const MapOptions kInPlace{Access::kReadWrite, ZeroCopy::kRequire};

/// y = relu(x - 100)
std::shared_ptr<Model> model() {
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape(kShape));
  x->output(0).set_names({"x"});
  auto hundred = op::v0::Constant::create(element::f32, Shape{1, 1}, std::vector<float>{100});
  auto less = std::make_shared<op::v1::Subtract>(x->output(0), hundred->output(0));
  auto y = std::make_shared<op::v0::Relu>(less->output(0));
  y->output(0).set_names({"y"});
  return std::make_shared<Model>(ResultVector{std::make_shared<op::v0::Result>(y->output(0))}, ParameterVector{x});
}

Tensor shared_tensor(const char* name) {
  Requirements wanted;
  wanted.size_bytes = element_count(kShape) * sizeof(float);
  Tensor tensor(TensorInfo{element::f32, kShape, {}}, dmabuf::context()->allocate(wanted));
  std::printf("%-8s descriptor %d, a %s, inode %llu\n", name, tensor.memory()->borrow_fd(),
              tensor.memory()->fd_kind() == FdKind::kDmabuf ? "dma-buf" : "memfd",
              static_cast<unsigned long long>(tensor.memory()->identity().low));
  return tensor;
}

/// Row y, column x becomes (x + y) % 200.
void draw_with_opencl(Router& router, const Tensor& target, const Context& context) {
  const Tensor mapped = router.map(target, context, kInPlace);
  const char* source =
      "kernel void draw(global float* p, ulong first) {\n"
      "  const ulong x = get_global_id(0), y = get_global_id(1);\n"
      "  p[first + y * get_global_size(0) + x] = (float)((x + y) % 200);\n"
      "}\n";
  cl_program program = clCreateProgramWithSource(opencl::handle(context), 1, &source, nullptr, nullptr);
  clBuildProgram(program, 0, nullptr, "", nullptr, nullptr);
  cl_kernel kernel = clCreateKernel(program, "draw", nullptr);
  const cl_mem memory = opencl::buffer(mapped);
  const cl_ulong first = mapped.offset() / sizeof(float);
  clSetKernelArg(kernel, 0, sizeof memory, &memory);
  clSetKernelArg(kernel, 1, sizeof first, &first);
  const std::size_t items[] = {kShape[1], kShape[0]};
  cl_event event = nullptr;
  clEnqueueNDRangeKernel(opencl::queue(context), kernel, 2, nullptr, items, nullptr, 0, nullptr, &event);
  opencl::wrote(mapped, event);
  clReleaseEvent(event);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
  // The NPU does not know OpenCL's events: the kernel must be done before it starts.
  mapped.memory()->wait_for(Access::kRead, default_deadline());
  std::printf("OpenCL   drew the picture\n");
}

std::uint64_t infer_on_npu(Core& core, const Tensor& input, const Tensor& output) {
  intel_npu::level_zero::ZeroContext npu(core);
  auto request = core.compile_model(model(), npu, zero_copy(ZeroCopy::kRequire)).create_infer_request();
  request.set_tensor("x", npu.create_tensor(element::f32, kShape, input.memory()->borrow_fd()));
  request.set_tensor("y", npu.create_tensor(element::f32, kShape, output.memory()->borrow_fd()));
  request.infer();
  std::printf("NPU      inferred on both descriptors\n");
  return request.ledger().total().copied;
}

/// Checks the result, by OpenCV's kernels on the memory itself.
bool read_with_opencv(Router& router, const Tensor& result, const Context& opencl) {
  const Context umats = opencv_opencl::make_context(opencl);
  router.add(umats);
  const cv::ocl::OpenCLExecutionContextScope scope(opencv_opencl::execution(umats));
  const Tensor mapped = router.map(result, umats, kInPlace);
  cv::UMat picture = opencv_opencl::umat(mapped, Access::kRead);
  cv::Mat expected(picture.size(), CV_32F);
  for (int y = 0; y < expected.rows; ++y) {
    for (int x = 0; x < expected.cols; ++x)
      expected.at<float>(y, x) = std::max(static_cast<float>((x + y) % 200) - 100.f, 0.f);
  }
  const double difference = cv::norm(picture, expected, cv::NORM_INF);
  std::printf("OpenCV   reads the result: it differs by %g\n", difference);
  return difference == 0;
}

int run() {
  Router router;
  router.add(host_context());
  router.add(dmabuf::context());
  if (opencl::contexts().empty()) return std::printf("no OpenCL device here\n"), kNotHere;
  const Context opencl = opencl::contexts().front();
  router.add(opencl);
  Core core;
  const auto devices = core.get_available_devices();
  if (std::none_of(devices.begin(), devices.end(), [](const std::string& name) { return name.rfind("NPU", 0) == 0; }))
    return std::printf("no NPU here; for the software one: tenon npu-env -- one_fd\n"), kNotHere;

  const Tensor input = shared_tensor("input"), output = shared_tensor("output");
  draw_with_opencl(router, input, opencl);
  std::uint64_t copied = infer_on_npu(core, input, output);
  const bool right = read_with_opencv(router, output, opencl);
  copied += Ledger::process().total().copied;
  std::printf("%llu bytes copied\n", static_cast<unsigned long long>(copied));
  return right && copied == 0 ? 0 : 1;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "one_fd: %s\n", describe(error).c_str());
    return 1;
  }
}
