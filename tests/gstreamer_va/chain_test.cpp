// SPDX-License-Identifier: Apache-2.0
// GStreamer -> VAAPI -> DMA -> OpenCL -> OpenVINO: a picture that vah264dec decodes, a kernel of the user's that reads it where
// it lies, and a model of OpenVINO's that reads what the kernel wrote. Found by the router, and by hand, hop by hop.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <tenon/bridges/gstreamer_vaapi/gstreamer_vaapi.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/frameworks/ffmpeg/ffmpeg.hpp>
#include <tenon/frameworks/opencl/contexts.hpp>
#include <tenon/frameworks/opencl/opencl.hpp>
#include <tenon/tests/gstreamer_va/va_elements.hpp>
#include <tenon/tests/support/opencl_installed.hpp>
#ifdef HAS_OPENVINO
#include <openvino/openvino.hpp>
#include <openvino/opsets/opset13.hpp>

#include <tenon/frameworks/openvino/openvino.hpp>
#endif

namespace tenon::gstreamer_va_test {
namespace gstreamer_va_chain_test {

using namespace tenon::gstreamer_testing;

constexpr std::size_t kFrames = 5;

std::vector<std::uint8_t> bytes_of(const Tensor& tensor) {
  std::vector<std::uint8_t> bytes(tensor.size_bytes());
  tensor.context()->read(tensor, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

/// A kernel that makes numbers from 0 to 1 of a picture's brightness.
class ToNumbers {
 public:
  explicit ToNumbers(const Context& context) : queue_(opencl::queue(context)) {
    const char* source =
        "kernel void to_numbers(global const uchar* y, ulong at, ulong pitch, global float* out, ulong out_at) {"
        "  const size_t column = get_global_id(0), row = get_global_id(1);"
        "  out[out_at / 4 + row * get_global_size(0) + column] = y[at + row * pitch + column] / 255.0f; }";
    program_ = clCreateProgramWithSource(opencl::handle(context), 1, &source, nullptr, nullptr);
    EXPECT_EQ(clBuildProgram(program_, 0, nullptr, "", nullptr, nullptr), CL_SUCCESS);
    kernel_ = clCreateKernel(program_, "to_numbers", nullptr);
  }
  ~ToNumbers() {
    clReleaseKernel(kernel_);
    clReleaseProgram(program_);
  }
  ToNumbers(const ToNumbers&) = delete;
  ToNumbers& operator=(const ToNumbers&) = delete;

  /// Starts it on new `numbers`, and says to Tenon what runs. It does not wait.
  void start(const Tensor& luma, const Tensor& numbers) const {
    const cl_mem from = opencl::buffer(luma), to = opencl::buffer(numbers);
    const cl_ulong at = luma.offset(), pitch = static_cast<cl_ulong>(luma.byte_strides()[0]), out_at = numbers.offset();
    clSetKernelArg(kernel_, 0, sizeof from, &from);
    clSetKernelArg(kernel_, 1, sizeof at, &at);
    clSetKernelArg(kernel_, 2, sizeof pitch, &pitch);
    clSetKernelArg(kernel_, 3, sizeof to, &to);
    clSetKernelArg(kernel_, 4, sizeof out_at, &out_at);
    const std::size_t items[] = {luma.shape()[1], luma.shape()[0]};
    const opencl::WaitList after = opencl::wait_list(luma, Access::kRead);
    cl_event event = nullptr;
    ASSERT_EQ(clEnqueueNDRangeKernel(queue_, kernel_, 2, nullptr, items, nullptr, after.size(), after.data(), &event),
              CL_SUCCESS);
    opencl::reads(luma, event);
    opencl::wrote(numbers, event);
    clReleaseEvent(event);
  }

 private:
  cl_command_queue queue_;
  cl_program program_ = nullptr;
  cl_kernel kernel_ = nullptr;
};

/// New memory of `device` for a picture's numbers.
Tensor numbers_of(const Context& device, const Shape& picture) {
  Requirements wanted;
  wanted.size_bytes = picture[0] * picture[1] * sizeof(float);
  wanted.alignment = 64;
  return Tensor({element::f32, {1, 1, picture[0], picture[1]}, {}}, device->allocate(wanted));
}

#ifdef HAS_OPENVINO
/// The mean of each square of 8 by 8 numbers.
ov::CompiledModel means_of_squares(const Shape& picture) {
  const auto numbers =
      std::make_shared<ov::opset13::Parameter>(ov::element::f32, ov::Shape{1, 1, picture[0], picture[1]});
  const auto means = std::make_shared<ov::opset13::AvgPool>(numbers, ov::Strides{8, 8}, ov::Shape{0, 0},
                                                            ov::Shape{0, 0}, ov::Shape{8, 8}, true);
  return ov::Core().compile_model(std::make_shared<ov::Model>(ov::OutputVector{means}, ov::ParameterVector{numbers}),
                                  "CPU", ov::hint::inference_precision(ov::element::f32));
}

void expect_means(const ov::Tensor& result, const std::vector<std::uint8_t>& luma, const Shape& picture) {
  const std::size_t rows = picture[0] / 8, columns = picture[1] / 8;
  ASSERT_EQ(result.get_size(), rows * columns);
  for (std::size_t y = 0; y < rows; ++y) {
    for (std::size_t x = 0; x < columns; ++x) {
      unsigned sum = 0;
      for (std::size_t i = 0; i < 64; ++i) sum += luma[(8 * y + i / 8) * picture[1] + 8 * x + i % 8];
      ASSERT_NEAR(result.data<float>()[y * columns + x], static_cast<float>(sum) / 64 / 255, 1e-5) << y << ',' << x;
    }
  }
}
#endif

/// All hops in the memory of `device`.
void expect_chain(Router& router, const Context& device) {
  Pipeline pipeline(decoding("video/x-raw(memory:VAMemory),format=NV12"));
  pipeline.play();
  ffmpeg::Video software(clip());
  gs::CapsCache cache;
  gstreamer_vaapi::Surfaces surfaces;
  Ledger ledger;
  MapOptions options;
  options.policy = ZeroCopy::kRequire;
  options.ledger = &ledger;
  router.add(device);
#ifdef HAS_OPENVINO
  router.add(openvino::context());
  ov::InferRequest request;
#endif
  const ToNumbers kernel(device);
  for (std::size_t i = 0; i < kFrames; ++i) {
    const SamplePtr sample = pipeline.pull();
    const std::optional<Frame> expected = software.read();
    ASSERT_TRUE(sample && expected) << i;
    const Frame surface =
        surfaces.wrap(gst_sample_get_buffer(sample.get()), cache.of(gst_sample_get_caps(sample.get())));
    if (i == 0) router.add(surfaces.context());
    const Tensor luma = router.map(surface, device, options).plane(0);
    const std::vector<std::uint8_t> wanted = bytes_of(expected->plane(0));
    EXPECT_EQ(bytes_of(luma), wanted) << i;
    EXPECT_EQ(luma.memory(), surface.plane(0).memory());
    // The same by hand.
    const Frame descriptors = router.map(surface, dmabuf::context(), options);
    EXPECT_EQ(descriptors.plane(0).kind(), dmabuf::kDmabufMemory);
    EXPECT_EQ(opencl::buffer(router.map(descriptors, device, options).plane(0)), opencl::buffer(luma)) << i;

    const Tensor numbers = numbers_of(device, luma.shape());
    kernel.start(luma, numbers);
#ifdef HAS_OPENVINO
    if (i == 0) request = means_of_squares(luma.shape()).create_infer_request();
    const Tensor input = router.map(numbers, openvino::context(), options);
    EXPECT_EQ(input.memory(), numbers.memory());
    request.set_input_tensor(openvino::tensor(input));
    request.infer();
    expect_means(request.get_output_tensor(), wanted, luma.shape());
#else
    const Tensor input = router.map(numbers, host_context(), options);
    for (std::size_t k = 0; k < wanted.size(); ++k)
      ASSERT_NEAR(input.data<float>()[k], static_cast<float>(wanted[k]) / 255, 1e-6) << k;
#endif
  }
  EXPECT_EQ(ledger.total().copied + ledger.total().transferred, 0u) << ledger.report();
}

#ifdef HAS_OPENVINO
TEST_F(VaElements, GstVaapiDmaOpenclOpenVino) {
#else
TEST_F(VaElements, GstVaapiDmaOpencl) {
#endif
  std::size_t tried = 0;
  for (const Context& each : opencl::contexts()) {
    if (each->kind() != opencl::kBufferMemory || opencl::coherency(each) != opencl::Coherency::kStanding) continue;
    SCOPED_TRACE(each->name());
    expect_chain(router, each);
    ++tried;
  }
  if (tried == 0) {
    ASSERT_FALSE(opencl_is_installed()) << "a driver of OpenCL is installed, and none works in the host's memory";
    GTEST_SKIP() << "no OpenCL device is here";
  }
}

}  // namespace gstreamer_va_chain_test
}  // namespace tenon::gstreamer_va_test
