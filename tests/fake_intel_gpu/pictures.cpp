// SPDX-License-Identifier: Apache-2.0
// Pictures: planes in buffers, images and host memory. Images are made by keys, so that these rows need no typed wrapper.
#include "rows.hpp"

namespace twin {

constexpr std::size_t kWidth = 16, kHeight = 8;
static std::vector<unsigned char> luma() {
  std::vector<unsigned char> pixels(kWidth * kHeight);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<unsigned char>(16 + i * 7 % 200);
  return pixels;
}
static std::vector<unsigned char> chroma() {
  std::vector<unsigned char> pixels(kWidth * kHeight / 2);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<unsigned char>(64 + i * 13 % 128);
  return pixels;
}
/// Rounded, because colours may differ by one step.
static std::string colours_of(const api::Tensor& tensor) {
  const Floats values = floats_of(tensor);
  double sum = 0;
  for (float value : values) sum += value;
  std::ostringstream text;
  text << shape_text(tensor.get_shape()) << " mean " << std::lround(sum / static_cast<double>(values.size()) / 4) * 4;
  return text.str();
}
static api::Tensor bytes_tensor(const api::Shape& shape, const std::vector<unsigned char>& bytes) {
  api::Tensor tensor(api::element::u8, shape);
  std::memcpy(tensor.data(), bytes.data(), bytes.size());
  return tensor;
}
static std::shared_ptr<api::Model> picture_model(api::Core& core, api::preprocess::ColorFormat format,
                                                 const std::vector<std::string>& parts, bool surface,
                                                 int pictures = 1) {
  auto model =
      core.read_model(relu(folder, "picture", {pictures, 3, static_cast<int>(kHeight), static_cast<int>(kWidth)}));
  api::preprocess::PrePostProcessor stage(model);
  auto& tensor = stage.input().tensor().set_element_type(api::element::u8).set_layout("NHWC");
  if (parts.empty())
    tensor.set_color_format(format);
  else
    tensor.set_color_format(format, parts);
  if (surface) tensor.set_memory_type("GPU_SURFACE");
  stage.input().preprocess().convert_color(api::preprocess::ColorFormat::BGR);
  stage.input().model().set_layout("NCHW");
  return stage.build();
}
TWIN_ROW(picture_two_planes_on_the_host) {
  api::Core core;
  auto request =
      core.compile_model(picture_model(core, api::preprocess::ColorFormat::NV12_TWO_PLANES, {"y", "uv"}, false), "GPU",
                         kPrecise)
          .create_infer_request();
  request.set_input_tensor(0, bytes_tensor({1, kHeight, kWidth, 1}, luma()));
  request.set_input_tensor(1, bytes_tensor({1, kHeight / 2, kWidth / 2, 2}, chroma()));
  run(request);
  return colours_of(request.get_output_tensor(0));
}
TWIN_ROW(picture_single_plane_buffer) {
  App app;
  api::Core core;
  ClContext context(core, app.context);
  auto model = picture_model(core, api::preprocess::ColorFormat::NV12_SINGLE_PLANE, {}, false);
  std::vector<unsigned char> all = luma();
  const auto colours = chroma();
  all.insert(all.end(), colours.begin(), colours.end());
  auto tensor = context.create_tensor(api::element::u8, api::Shape{1, kHeight * 3 / 2, kWidth, 1});
  put(tensor, bytes_tensor({1, kHeight * 3 / 2, kWidth, 1}, all));
  return tried([&] {
    auto request = core.compile_model(model, context, kPrecise).create_infer_request();
    request.set_input_tensor(0, tensor);
    run(request);
    return colours_of(request.get_output_tensor(0));
  });
}
static api::RemoteTensor image_tensor(api::RemoteContext& context, const App& app, cl_channel_order order,
                                      std::size_t width, std::size_t height, const std::vector<unsigned char>& pixels) {
  const cl_mem image = app.image(order, width, height, pixels.data());
  return context.create_tensor(api::element::u8, api::Shape{1, height, width, order == CL_R ? std::size_t{1} : 2},
                               {{"SHARED_MEM_TYPE", "OCL_IMAGE2D"}, {"MEM_HANDLE", static_cast<void*>(image)}});
}
TWIN_ROW(picture_two_planes_of_images) {
  App app;
  api::Core core;
  ClContext context(core, app.context);
  auto model = picture_model(core, api::preprocess::ColorFormat::NV12_TWO_PLANES, {"y", "uv"}, true);
  return tried([&] {
    auto request = core.compile_model(model, context, kPrecise).create_infer_request();
    request.set_input_tensor(0, image_tensor(context, app, CL_R, kWidth, kHeight, luma()));
    request.set_input_tensor(1, image_tensor(context, app, CL_RG, kWidth / 2, kHeight / 2, chroma()));
    run(request);
    return colours_of(request.get_output_tensor(0));
  });
}
TWIN_ROW(picture_surface_input_has_no_own_tensor) {
  App app;
  api::Core core;
  ClContext context(core, app.context);
  auto model = picture_model(core, api::preprocess::ColorFormat::NV12_TWO_PLANES, {"y", "uv"}, true);
  return tried([&] {
    auto request = core.compile_model(model, context, kPrecise).create_infer_request();
    return shape_text(request.get_input_tensor(0).get_shape());
  });
}
/// The Y plane alone, as grey.
TWIN_ROW(picture_grey_of_an_image) {
  App app;
  api::Core core;
  ClContext context(core, app.context);
  auto model = core.read_model(relu(folder, "grey", {1, 1, static_cast<int>(kHeight), static_cast<int>(kWidth)}));
  api::preprocess::PrePostProcessor stage(model);
  stage.input().tensor().set_element_type(api::element::u8).set_layout("NHWC").set_memory_type("GPU_SURFACE");
  stage.input().model().set_layout("NCHW");
  model = stage.build();
  return tried([&] {
    auto request = core.compile_model(model, context, kPrecise).create_infer_request();
    request.set_input_tensor(0, image_tensor(context, app, CL_R, kWidth, kHeight, luma()));
    run(request);
    return colours_of(request.get_output_tensor(0));
  });
}
TWIN_ROW(picture_batch_of_images) {
  App app;
  api::Core core;
  ClContext context(core, app.context);
  return tried([&] {
    auto model = picture_model(core, api::preprocess::ColorFormat::NV12_TWO_PLANES, {"y", "uv"}, true, 2);
    auto request = core.compile_model(model, context, kPrecise).create_infer_request();
    std::vector<api::Tensor> y, uv;
    for (int i = 0; i < 2; ++i) {
      y.push_back(image_tensor(context, app, CL_R, kWidth, kHeight, luma()));
      uv.push_back(image_tensor(context, app, CL_RG, kWidth / 2, kHeight / 2, chroma()));
    }
    request.set_input_tensors(0, y);
    request.set_input_tensors(1, uv);
    run(request);
    return colours_of(request.get_output_tensor(0));
  });
}
TWIN_ROW(picture_three_planes_on_the_host) {
  api::Core core;
  auto request =
      core.compile_model(picture_model(core, api::preprocess::ColorFormat::I420_THREE_PLANES, {"y", "u", "v"}, false),
                         "GPU", kPrecise)
          .create_infer_request();
  const std::vector<unsigned char> quarter(kWidth * kHeight / 4, 90);
  request.set_input_tensor(0, bytes_tensor({1, kHeight, kWidth, 1}, luma()));
  request.set_input_tensor(1, bytes_tensor({1, kHeight / 2, kWidth / 2, 1}, quarter));
  request.set_input_tensor(2, bytes_tensor({1, kHeight / 2, kWidth / 2, 1}, quarter));
  run(request);
  return colours_of(request.get_output_tensor(0));
}
TWIN_ROW(picture_image_as_plain_input) {
  App app;
  api::Core core;
  ClContext context(core, app.context);
  auto request = compiled(core, line16(), context).create_infer_request();
  return tried([&] { request.set_tensor("x", image_tensor(context, app, CL_R, kWidth, kHeight, luma())); });
}

}  // namespace twin
