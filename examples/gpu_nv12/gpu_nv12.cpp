// SPDX-License-Identifier: Apache-2.0
// Two NV12 planes to inference on the GPU: the application has a cl_context, a queue and images; one of its kernels
// stands in for the decoder. Inference reads the images in place, in the same queue, without a host wait in between.
#include <array>
#include <cmath>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <tenon/core/ledger.hpp>
#include <tenon/devices/gpu/public/ocl.hpp>
#include <tenon/devices/gpu/public/properties.hpp>
#include <tenon/runtime/runtime.hpp>

namespace {

using namespace tenon;
using intel_gpu::ocl::ClContext;
using intel_gpu::ocl::ClImage2DTensor;

constexpr int kNotHere = 77;
constexpr std::size_t kWidth = 640, kHeight = 480;
using Bgr = std::array<float, 3>;

template <typename T, cl_int (*kRelease)(T)>
struct Releasing {
  using pointer = T;
  void operator()(T handle) const { kRelease(handle); }
};
template <typename T, cl_int (*kRelease)(T)>
using Owned = std::unique_ptr<T, Releasing<T, kRelease>>;

void check(cl_int status, const char* what) {
  if (status != CL_SUCCESS) throw std::runtime_error(std::string(what) + ": " + std::to_string(status));
}

/// The objects that a pipeline with OpenCL already has.
struct Pipeline {
  cl_device_id device = nullptr;
  Owned<cl_context, clReleaseContext> context;
  Owned<cl_command_queue, clReleaseCommandQueue> queue;
  Owned<cl_program, clReleaseProgram> program;
  Owned<cl_kernel, clReleaseKernel> decode;

  bool open() {
    cl_platform_id platform = nullptr;
    if (clGetPlatformIDs(1, &platform, nullptr) != CL_SUCCESS) return false;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) != CL_SUCCESS) return false;
    context.reset(clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr));
    queue.reset(clCreateCommandQueueWithProperties(context.get(), device, nullptr, nullptr));
    const char* source =
        "__kernel void fill(__write_only image2d_t plane, float first, float second, int alternates) {\n"
        "  const int x = get_global_id(0);\n"
        "  const float value = (alternates && x % 2 ? second : first) / 255;\n"
        "  write_imagef(plane, (int2)(x, (int)get_global_id(1)), (float4)(value, second / 255, 0, 0));\n"
        "}\n";
    program.reset(clCreateProgramWithSource(context.get(), 1, &source, nullptr, nullptr));
    check(clBuildProgram(program.get(), 1, &device, "", nullptr, nullptr), "clBuildProgram");
    decode.reset(clCreateKernel(program.get(), "fill", nullptr));
    return true;
  }
};

using Image = Owned<cl_mem, clReleaseMemObject>;

/// A surface of the decoder. Chroma is CL_RG, or CL_R with U and V side by side if the platform has no CL_RG.
struct Surface {
  Image y, uv;
  bool has_pairs = true;

  explicit Surface(const Pipeline& pipeline) {
    y = image(pipeline, CL_R, kWidth, kHeight);
    uv = image(pipeline, CL_RG, kWidth / 2, kHeight / 2);
    has_pairs = uv != nullptr;
    if (!has_pairs) uv = image(pipeline, CL_R, kWidth, kHeight / 2);
    if (!y || !uv) throw std::runtime_error("the platform has no images of bytes");
  }
  /// Enqueues a picture of one colour; returns at once.
  void decode(const Pipeline& pipeline, float luma, float u, float v) const {
    fill(pipeline, y.get(), kWidth, kHeight, luma, 0, false);
    fill(pipeline, uv.get(), has_pairs ? kWidth / 2 : kWidth, kHeight / 2, u, v, !has_pairs);
  }

 private:
  static Image image(const Pipeline& pipeline, cl_channel_order order, std::size_t width, std::size_t height) {
    const cl_image_format format{order, CL_UNORM_INT8};
    cl_image_desc desc{};
    desc.image_type = CL_MEM_OBJECT_IMAGE2D;
    desc.image_width = width;
    desc.image_height = height;
    return Image(clCreateImage(pipeline.context.get(), CL_MEM_READ_WRITE, &format, &desc, nullptr, nullptr));
  }
  static void fill(const Pipeline& pipeline, cl_mem plane, std::size_t width, std::size_t height, float first,
                   float second, cl_int alternates) {
    cl_kernel const kernel = pipeline.decode.get();
    check(clSetKernelArg(kernel, 0, sizeof plane, &plane), "clSetKernelArg");
    check(clSetKernelArg(kernel, 1, sizeof first, &first), "clSetKernelArg");
    check(clSetKernelArg(kernel, 2, sizeof second, &second), "clSetKernelArg");
    check(clSetKernelArg(kernel, 3, sizeof alternates, &alternates), "clSetKernelArg");
    const std::size_t size[] = {width, height};
    check(clEnqueueNDRangeKernel(pipeline.queue.get(), kernel, 2, nullptr, size, nullptr, 0, nullptr, nullptr),
          "clEnqueueNDRangeKernel");
  }
};

/// The mean colour of pictures: [batch, 3] of BGR. @param batch  Number of pictures per inference, each in its own
/// images.
std::shared_ptr<Model> mean_colour(std::size_t batch) {
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape(Shape{batch, 3, 224, 224}));
  x->set_friendly_name("picture");
  x->output(0).set_names({"picture"});
  const auto axes = op::v0::Constant::create(element::i64, Shape{2}, std::vector<std::int64_t>{2, 3});
  auto mean = make_node("ReduceMean", 1, {x->output(0), axes->output(0)}, {{"keep_dims", false}}, "mean");
  mean->output(0).set_names({"mean"});
  preprocess::PrePostProcessor p(std::make_shared<Model>(mean->outputs(), ParameterVector{x}, "mean_colour"));
  p.input()
      .tensor()
      .set_element_type(element::u8)
      .set_color_format(preprocess::ColorFormat::NV12_TWO_PLANES, {"y", "uv"})
      .set_memory_type(intel_gpu::memory_type::surface)
      .set_spatial_static_shape(kHeight, kWidth);
  p.input().preprocess().convert_color(preprocess::ColorFormat::BGR).resize(preprocess::ResizeAlgorithm::RESIZE_LINEAR);
  p.input().model().set_layout("NCHW");
  return p.build();
}

bool is_near(const float* found, const Bgr& wanted) {
  std::printf("  blue %.0f, green %.0f, red %.0f\n", found[0], found[1], found[2]);
  bool is_right = true;
  for (std::size_t c = 0; c < 3; ++c) is_right &= std::abs(found[c] - wanted[c]) < 2;
  return is_right;
}

bool run(Core& core, const Pipeline& pipeline) {
  const Bgr red{0, 0, 255}, blue{255, 0, 0};  // 81, 90, 240 and 41, 240, 110 in BT.601.
  const Surface first(pipeline), second(pipeline);
  ClContext context(core, pipeline.queue.get());

  auto one = core.compile_model(mean_colour(1), context).create_infer_request();
  auto [y, uv] = context.create_tensor_nv12(first.y.get(), first.uv.get());
  one.set_tensor("picture/y", y);
  one.set_tensor("picture/uv", uv);
  first.decode(pipeline, 81, 90, 240);
  one.start_async();  // Behind the decoder in the queue.
  const auto waits = one.ledger().total().waits;
  one.wait();
  std::printf("one surface:\n");
  bool is_right = is_near(one.get_tensor("mean").data<float>(), red);

  auto two = core.compile_model(mean_colour(2), context).create_infer_request();
  auto [other_y, other_uv] = context.create_tensor_nv12(second.y.get(), second.uv.get());
  two.set_tensors("picture/y", {y, other_y});
  two.set_tensors("picture/uv", {uv, other_uv});
  second.decode(pipeline, 41, 240, 110);
  two.infer();
  std::printf("a batch of two surfaces:\n");
  const float* means = two.get_tensor("mean").data<float>();
  is_right &= is_near(means, red) && is_near(means + 3, blue);

  const auto a = one.ledger().total(), b = two.ledger().total();
  std::printf("%llu bytes copied, %llu transferred, %llu waits before the result was asked for\n",
              static_cast<unsigned long long>(a.copied + b.copied),
              static_cast<unsigned long long>(a.transferred + b.transferred), static_cast<unsigned long long>(waits));
  return is_right;
}

}  // namespace

int main() {
  try {
    Pipeline pipeline;
    if (!pipeline.open()) {
      std::printf("there is no OpenCL device\n");
      return kNotHere;
    }
    Core core;
    return run(core, pipeline) ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
