// SPDX-License-Identifier: Apache-2.0
// PrePostProcessor: pictures of two planes, types, layouts, sizes, steps of the program's own.
#include <algorithm>
#include <cmath>

#include "programs.hpp"

namespace {

using namespace ov::preprocess;

std::shared_ptr<ov::Model> picture_model(ov::Core& core) { return small_model(core, "1,3,8,8"); }

void print_rounded(const std::string& name, const ov::Tensor& tensor) {
  std::cout << name << ' ' << tensor.get_element_type() << tensor.get_shape() << ':';
  for (std::size_t i = 0; i < tensor.get_size(); i += 17) std::cout << ' ' << std::lround(tensor.data<float>()[i]);
  std::cout << '\n';
}

void two_planes() {
  ov::Core core;
  auto model = picture_model(core);
  PrePostProcessor p(model);
  p.input()
      .tensor()
      .set_element_type(ov::element::u8)
      .set_color_format(ColorFormat::NV12_TWO_PLANES, {"y", "uv"})
      .set_spatial_static_shape(16, 16);
  p.input().preprocess().convert_color(ColorFormat::BGR).resize(ResizeAlgorithm::RESIZE_LINEAR);
  p.input().model().set_layout("NCHW");
  model = p.build();
  for (const auto& input : model->inputs())
    line(input.get_any_name(), ' ', input.get_node()->get_friendly_name(), ' ', input.get_element_type(),
         input.get_shape());
  ov::InferRequest request = core.compile_model(model, "CPU").create_infer_request();
  ov::Tensor y(ov::element::u8, {1, 16, 16, 1}), uv(ov::element::u8, {1, 8, 8, 2});
  for (std::size_t i = 0; i < y.get_size(); ++i) y.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(40 + i % 150);
  for (std::size_t i = 0; i < uv.get_size(); ++i) uv.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(100 + i % 60);
  request.set_tensor("x/y", y);
  request.set_tensor(model->get_parameters().at(1), uv);
  request.infer();
  print_rounded("NV12", request.get_output_tensor());
}

void bytes() {
  ov::Core core;
  auto model = picture_model(core);
  PrePostProcessor p(model);
  p.input("x")
      .tensor()
      .set_element_type(ov::element::u8)
      .set_layout("NHWC")
      .set_memory_type("GPU_SURFACE")
      .set_memory_type("");
  p.input("x").preprocess().convert_element_type(ov::element::f32).mean({1, 2, 3}).scale({2, 2, 4}).reverse_channels();
  p.input("x").model().set_layout("NCHW");
  p.output().tensor().set_element_type(ov::element::f32);
  p.output().model().set_layout("NCHW");
  p.output().tensor().set_layout("NHWC");
  model = p.build();
  line(model->input().get_element_type(), model->input().get_shape(), ' ', model->output().get_shape(), ' ',
       model->input().get_any_name(), ' ', ov::layout::get_layout(model->input()).to_string());
  ov::InferRequest request = core.compile_model(model, "CPU").create_infer_request();
  ov::Tensor x(ov::element::u8, {1, 8, 8, 3});
  for (std::size_t i = 0; i < x.get_size(); ++i) x.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i);
  request.set_input_tensor(x);
  request.infer();
  print_rounded("bytes", request.get_output_tensor());
}

void own_steps() {
  ov::Core core;
  auto model = picture_model(core);
  PrePostProcessor p(model);
  ov::element::Type seen;
  p.input().tensor().set_shape({1, 3, 10, 10});
  p.input()
      .preprocess()
      .custom([&](const ov::Output<ov::Node>& node) {
        seen = node.get_element_type();
        return node;
      })
      .crop({0, 0, 1, 1}, {1, 3, 9, 9})
      .mean(2)
      .clamp(-1, 50);
  p.output().postprocess().custom([](const ov::Output<ov::Node>& node) { return node; }).clamp(0, 40);
  model = p.build();
  line(seen, ' ', model->input().get_shape());
  ov::InferRequest request = core.compile_model(model, "CPU").create_infer_request();
  ov::Tensor x = request.get_input_tensor();
  for (std::size_t i = 0; i < x.get_size(); ++i) x.data<float>()[i] = static_cast<float>(i % 71);
  request.infer();
  print_rounded("own steps", request.get_output_tensor());
}

}  // namespace

void preprocessing() {
  two_planes();
  bytes();
  own_steps();
  ov::Core core;
  refused("null model", [] { PrePostProcessor(std::shared_ptr<ov::Model>()); });
  refused("unknown input", [&] {
    PrePostProcessor p(picture_model(core));
    p.input("nothing");
  });
  refused(
      "planes that are not joined",
      [&] {
        auto model = picture_model(core);
        PrePostProcessor p(model);
        p.input().tensor().set_color_format(ColorFormat::NV12_TWO_PLANES);
        p.build();
      },
      "Multiple plane");
  refused("another number of names", [&] {
    PrePostProcessor p(picture_model(core));
    p.input().tensor().set_color_format(ColorFormat::NV12_TWO_PLANES, {"only"});
  });
  refused("mean of integers", [&] {
    auto model = picture_model(core);
    PrePostProcessor p(model);
    p.input().tensor().set_element_type(ov::element::u8);
    p.input().preprocess().mean(1.0F);
    p.build();
  });
}
