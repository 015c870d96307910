// SPDX-License-Identifier: Apache-2.0
// Programs for pictures that lie in images of the GPU: NV12 in two planes and in one, luma alone, one picture and a batch of them.
#include <openvino/runtime/intel_gpu/properties.hpp>

#include "opencl.hpp"
#include "remote.hpp"

namespace picture_programs {
namespace {

using ov::intel_gpu::ocl::ClContext;
using namespace ov::preprocess;

std::shared_ptr<ov::Model> two_planes(const ov::Shape& shape) {
  PrePostProcessor p(sum_model(shape));
  p.input()
      .tensor()
      .set_element_type(ov::element::u8)
      .set_color_format(ColorFormat::NV12_TWO_PLANES, {"y", "uv"})
      .set_memory_type(ov::intel_gpu::memory_type::surface);
  p.input().preprocess().convert_color(ColorFormat::BGR);
  p.input().model().set_layout("NCHW");
  return p.build();
}
std::shared_ptr<ov::Model> one_plane(const ov::Shape& shape) {
  PrePostProcessor p(sum_model(shape));
  p.input()
      .tensor()
      .set_element_type(ov::element::u8)
      .set_color_format(ColorFormat::NV12_SINGLE_PLANE)
      .set_memory_type(ov::intel_gpu::memory_type::surface);
  p.input().preprocess().convert_color(ColorFormat::BGR);
  p.input().model().set_layout("NCHW");
  return p.build();
}
/// The model has one channel, which luma is.
std::shared_ptr<ov::Model> to_gray(const ov::Shape& shape) {
  PrePostProcessor p(sum_model(shape));
  p.input()
      .tensor()
      .set_element_type(ov::element::u8)
      .set_layout("NHWC")
      .set_memory_type(ov::intel_gpu::memory_type::surface);
  p.input().model().set_layout("NCHW");
  return p.build();
}

ov::InferRequest request_of(ov::Core& core, const std::shared_ptr<ov::Model>& model, ClContext& context) {
  for (const auto& input : model->inputs()) line(input.get_element_type(), input.get_partial_shape());
  return core.compile_model(model, context, ov::hint::inference_precision(ov::element::f32)).create_infer_request();
}
/// The first element of each picture.
void print_pictures(ov::InferRequest& request, std::size_t batch) {
  const ov::Tensor result = request.get_output_tensor();
  std::ostringstream text;
  for (std::size_t i = 0; i < batch; ++i)
    text << ' ' << static_cast<int>(result.data<float>()[i * result.get_size() / batch] + 0.5F);
  line(result.get_shape(), text.str());
}
constexpr unsigned char kShades[] = {16, 126, 235};

void of_two_planes(ov::Core& core) {
  const OpenCl cl;
  ClContext context(core, cl.queue.get());
  const auto model = two_planes({1, 3, 4, 4});
  ov::InferRequest request = request_of(core, model, context);
  const auto y = model->get_parameters().at(0), uv = model->get_parameters().at(1);
  for (const unsigned char shade : kShades) {
    auto planes = context.create_tensor_nv12(cl.image(4, 4, shade), cl.image(4, 2, 128, true));
    request.set_tensor(y->get_friendly_name(), planes.first);
    request.set_tensor(uv->get_friendly_name(), planes.second);
    request.infer();
    print_pictures(request, 1);
  }
}

void batch_of_two_planes(ov::Core& core) {
  const OpenCl cl;
  ClContext context(core, cl.queue.get());
  const auto model = two_planes({3, 3, 4, 4});
  ov::InferRequest request = request_of(core, model, context);
  const auto y = model->get_parameters().at(0), uv = model->get_parameters().at(1);
  std::vector<ov::Tensor> luma, chroma;
  for (const unsigned char shade : kShades) {
    auto planes = context.create_tensor_nv12(cl.image(4, 4, shade), cl.image(4, 2, 128, true));
    luma.push_back(planes.first);
    chroma.push_back(planes.second);
  }
  request.set_tensors(y->get_friendly_name(), luma);
  request.set_tensors(uv->get_friendly_name(), chroma);
  request.infer();
  print_pictures(request, 3);
}

/// Rows of Y, then rows of UV, in one image.
void of_one_plane(ov::Core& core) {
  const OpenCl cl;
  ClContext context(core, cl.queue.get());
  const auto model = one_plane({1, 3, 4, 4});
  ov::InferRequest request = request_of(core, model, context);
  const auto input = model->get_parameters().at(0);
  auto picture = context.create_tensor(input->get_element_type(), input->get_shape(), cl.image(4, 6, 128));
  request.set_tensor(input->get_friendly_name(), picture);
  request.infer();
  print_pictures(request, 1);
}

void batch_of_one_plane(ov::Core& core) {
  const OpenCl cl;
  ClContext context(core, cl.queue.get());
  const auto model = one_plane({2, 3, 4, 4});
  ov::InferRequest request = request_of(core, model, context);
  const auto input = model->get_parameters().at(0);
  ov::Shape shape = input->get_shape();
  shape[0] = 1;
  std::vector<ov::Tensor> pictures;
  for (const unsigned char shade : {128, 120})
    pictures.push_back(context.create_tensor(input->get_element_type(), shape, cl.image(4, 6, shade)));
  request.set_tensors(input->get_friendly_name(), pictures);
  request.infer();
  print_pictures(request, 2);
}

void of_luma(ov::Core& core) {
  const OpenCl cl;
  ClContext context(core, cl.queue.get());
  const auto model = to_gray({1, 1, 4, 4});
  ov::InferRequest request = request_of(core, model, context);
  const auto input = model->get_parameters().at(0);
  for (const unsigned char shade : kShades) {
    request.set_tensor(input->get_friendly_name(),
                       context.create_tensor(input->get_element_type(), input->get_shape(), cl.image(4, 4, shade)));
    request.infer();
    line(request.get_output_tensor().get_shape(), luma_text(request.get_output_tensor().data<float>()[15], shade));
  }
}

void batch_of_luma(ov::Core& core) {
  const OpenCl cl;
  ClContext context(core, cl.queue.get());
  const auto model = to_gray({3, 1, 4, 4});
  ov::InferRequest request = request_of(core, model, context);
  const auto input = model->get_parameters().at(0);
  ov::Shape shape = input->get_shape();
  shape[0] = 1;
  std::vector<ov::Tensor> pictures;
  for (const unsigned char shade : kShades)
    pictures.push_back(context.create_tensor(input->get_element_type(), shape, cl.image(4, 4, shade)));
  request.set_tensors(input->get_friendly_name(), pictures);
  request.infer();
  for (std::size_t i = 0; i < 3; ++i)
    line(i, luma_text(request.get_output_tensor().data<float>()[16 * i + 15], kShades[i]));
}

}  // namespace
}  // namespace picture_programs

void gpu_pictures(ov::Core& core) {
  run("pictures of two planes", [&] { picture_programs::of_two_planes(core); });
  run("a batch of two planes", [&] { picture_programs::batch_of_two_planes(core); });
  run("pictures of one plane", [&] { picture_programs::of_one_plane(core); });
  run("a batch of one plane", [&] { picture_programs::batch_of_one_plane(core); });
  run("pictures of luma", [&] { picture_programs::of_luma(core); });
  run("a batch of luma", [&] { picture_programs::batch_of_luma(core); });
}
