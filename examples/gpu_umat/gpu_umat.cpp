// SPDX-License-Identifier: Apache-2.0
// OpenCV's GPU pictures into a model: gpu_umat. OpenCV works on a cv::UMat in the model's cl_context, and the model
// reads the UMat in place. Exits with 77 if there is no OpenCL device, or an OpenCV without OpenCL.
#include <cstddef>
#include <cstdio>
#include <memory>

#include <opencv2/core.hpp>

#include <tenon/bridges/opencv_opencl/opencv_opencl.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/devices/gpu/public/ocl.hpp>
#include <tenon/frameworks/opencl/opencl.hpp>
#include <tenon/graph/ops.hpp>
#include <tenon/runtime/runtime.hpp>

namespace {

using namespace tenon;

constexpr int kRows = 48, kColumns = 64, kNotHere = 77;

/// y = relu(x) of a picture of one channel.
std::shared_ptr<Model> model() {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{kRows, kColumns});
  x->output(0).set_names({"x"});
  const auto y = std::make_shared<op::v0::Relu>(x->output(0));
  y->output(0).set_names({"y"});
  return std::make_shared<Model>(ResultVector{std::make_shared<op::v0::Result>(y->output(0))}, ParameterVector{x});
}

int run() {
  Core core;
  intel_gpu::ocl::ClContext gpu(core);
  // OpenCV gets a context of its own over the model's cl_context.
  const Context umats = opencv_opencl::make_context(opencl::wrap(gpu.get(), nullptr));
  const cv::ocl::OpenCLExecutionContextScope scope(opencv_opencl::execution(umats));

  InferRequest request = core.compile_model(model(), gpu).create_infer_request();
  cv::UMat picture(kRows, kColumns, CV_32FC1), shifted;
  picture.setTo(cv::Scalar(3));
  cv::subtract(picture, cv::Scalar(5), shifted);
  cv::multiply(shifted, cv::Scalar(-2), shifted);  // 4, by kernels of OpenCV's

  request.set_tensor("x", opencv_opencl::wrap(umats, shifted));
  request.infer();
  const Tensor y = request.get_tensor("y");
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < y.element_count(); ++i) wrong += y.data<float>()[i] != 4.0F;
  const LedgerEntry total = request.ledger().total();
  std::printf("cv::UMat to the model: %zu wrong, %llu bytes copied\n", wrong,
              static_cast<unsigned long long>(total.copied));
  return wrong || total.copied ? 1 : 0;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.code() == Code::kUnavailable || error.code() == Code::kNotFound ? kNotHere : 1;
  }
}
