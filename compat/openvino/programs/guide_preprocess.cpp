// SPDX-License-Identifier: Apache-2.0
// Small programs of the form of the documentation's snippets: layouts, shapes, pre- and postprocessing.
#include <cstring>
#include <sstream>

#include <openvino/opsets/opset8.hpp>

#include "programs.hpp"

namespace guides {
namespace {

/// Two pictures and a table: image [?,3,?,?], other [1,8,8,1], table [2,4]; each output is named.
std::shared_ptr<ov::Model> three_inputs() {
  using namespace ov::opset8;
  auto image = std::make_shared<Parameter>(ov::element::f32, ov::PartialShape{-1, 3, -1, -1});
  auto other = std::make_shared<Parameter>(ov::element::f32, ov::PartialShape{1, 8, 8, 1});
  auto table = std::make_shared<Parameter>(ov::element::f32, ov::PartialShape{2, 4});
  image->set_friendly_name("image");
  image->output(0).set_names({"image", "data"});
  other->set_friendly_name("other");
  other->output(0).set_names({"other"});
  table->set_friendly_name("table");
  table->output(0).set_names({"table"});
  auto a = std::make_shared<Relu>(image);
  a->set_friendly_name("a");
  a->output(0).set_names({"a_out"});
  auto b = std::make_shared<Abs>(other);
  b->output(0).set_names({"b_out"});
  auto c = std::make_shared<Softmax>(table, 1);
  c->output(0).set_names({"c_out"});
  return std::make_shared<ov::Model>(ov::OutputVector{a, b, c}, ov::ParameterVector{image, other, table}, "three");
}
std::shared_ptr<ov::Model> picture_model(const ov::PartialShape& shape = {1, 3, 4, 4}) {
  using namespace ov::opset8;
  auto image = std::make_shared<Parameter>(ov::element::f32, shape);
  image->set_friendly_name("image");
  image->output(0).set_names({"image"});
  auto doubled = std::make_shared<Add>(image, image);
  doubled->output(0).set_names({"twice"});
  return std::make_shared<ov::Model>(ov::OutputVector{doubled}, ov::ParameterVector{image}, "twice");
}
void ports(const std::shared_ptr<ov::Model>& model) {
  for (const auto& input : model->inputs())
    line("  in ", input.get_any_name(), ' ', input.get_element_type(), ' ', input.get_partial_shape(), ' ',
         ov::layout::get_layout(input).to_string());
  for (const auto& output : model->outputs())
    line("  out ", output.get_any_name(), ' ', output.get_element_type(), ' ', output.get_partial_shape(), ' ',
         ov::layout::get_layout(output).to_string());
}
template <typename T>
ov::Tensor counted(const ov::element::Type& type, const ov::Shape& shape, int step = 1) {
  ov::Tensor tensor(type, shape);
  for (std::size_t i = 0; i < tensor.get_size(); ++i)
    tensor.data<T>()[i] = static_cast<T>(static_cast<int>(i) * step % 251);
  return tensor;
}
void compute(const std::shared_ptr<ov::Model>& model, const ov::Tensor& input, const char* name,
             std::size_t most = 12) {
  ov::Core core;
  ov::InferRequest request =
      core.compile_model(model, "CPU", ov::hint::inference_precision(ov::element::f32)).create_infer_request();
  request.set_input_tensor(input);
  request.infer();
  const ov::Tensor output = request.get_output_tensor();
  if (output.get_element_type() == ov::element::f32) {
    print_values(name, output, most);
    return;
  }
  std::ostringstream text;
  for (std::size_t i = 0; i < std::min(most, output.get_byte_size()); ++i)
    text << ' ' << static_cast<int>(static_cast<const std::uint8_t*>(output.data())[i]);
  line(name, ' ', output.get_element_type(), output.get_shape(), " bytes:", text.str());
}

void layouts() {
  for (const char* text : {"NCHW", "nhwc", "NC...", "...C", "N...C", "N?HW", "[N,C,H,W]", "[batch,time,...]", "?",
                           "...", "**SCALAR**", "[ N , height ]", "NCDHW", "C"}) {
    const ov::Layout layout(text);
    line(text, " is ", layout.to_string(), ", batch ", ov::layout::has_batch(layout), ", channels ",
         ov::layout::has_channels(layout), ", depth ", ov::layout::has_depth(layout), ", height ",
         ov::layout::has_height(layout), ", width ", ov::layout::has_width(layout), ", empty ", layout.empty());
  }
  for (const char* text : {"NCHWN", "[N,", "N..C..", "....", "N C", "[N,N]", "N[C]", "", "N-C", "[?..]"})
    refused(text, [&] {
      const ov::Layout layout(text);
      line("made of '", text, "': ", layout.to_string());
    });
  line(ov::layout::batch_idx("N...C"), ov::layout::channels_idx("N...C"), ov::layout::width_idx("...HW"),
       ov::layout::height_idx("...HW"), ov::layout::depth_idx("NCDHW"));
  refused("no height", [] { ov::layout::height_idx("NC"); });
  line(ov::Layout("[batch,time]").get_index_by_name("time"), ov::Layout("[batch,time]").has_name("TIME"),
       ov::Layout("NCHW") == ov::Layout("nchw"), ov::Layout("NCHW") != ov::Layout("NHWC"), ov::Layout() == "");
  auto model = picture_model();
  ov::layout::set_layout(model->input("image"), "NCHW");
  ov::layout::set_layout(model->output("twice"), "N...");
  ports(model);
  refused("a layout of another rank", [&] { ov::layout::set_layout(model->input(), "NC"); });
  model->get_parameters()[0]->set_layout("NC??");
  line(model->get_parameters()[0]->get_layout().to_string(), ' ', model->get_results()[0]->get_layout().to_string());
}

void batches() {
  auto model = picture_model({1, 3, 4, 4});
  refused(
      "a batch without a layout", [&] { ov::set_batch(model, 2); }, "layout");
  ov::layout::set_layout(model->input(), "NCHW");
  line(ov::get_batch(model));
  ov::set_batch(model, {1, 8});
  ports(model);
  line(ov::get_batch(model));
  ov::set_batch(model, ov::Dimension::dynamic());
  ports(model);
  auto other = three_inputs();
  other->get_parameters()[0]->set_layout("NCHW");
  other->get_parameters()[1]->set_layout("NHWC");
  refused("batches that differ", [&] { line(ov::get_batch(other)); });
  auto none = picture_model({3, 4});
  none->get_parameters()[0]->set_layout("HW");
  refused("no batch", [&] { line(ov::get_batch(none)); });
}

void by_ports() {
  using namespace ov::preprocess;
  auto model = three_inputs();
  PrePostProcessor ppp(model);
  ppp.input("image").tensor().set_element_type(ov::element::u8).set_layout("NHWC").set_spatial_static_shape(6, 8);
  ppp.input("image").preprocess().convert_element_type(ov::element::f32).resize(ResizeAlgorithm::RESIZE_LINEAR, 3, 4);
  ppp.input("image").model().set_layout("NCHW");
  ppp.input(1).tensor().set_element_type(ov::element::f16).set_shape({1, 8, 8, 1});
  ppp.input(2).preprocess().mean(2.0F).scale(4.0F);
  ppp.output("a_out").tensor().set_element_type(ov::element::f16).set_layout("NHWC");
  ppp.output("a_out").model().set_layout("NCHW");
  ppp.output(1).postprocess().convert_element_type(ov::element::i32);
  ppp.output(2).postprocess().custom(
      [](const ov::Output<ov::Node>& node) { return std::make_shared<ov::opset8::Negative>(node); });
  std::ostringstream dump;
  dump << ppp;
  std::istringstream lines(dump.str());
  for (std::string each; std::getline(lines, each);) line("| ", each);
  model = ppp.build();
  ports(model);
  refused("no such input", [&] { PrePostProcessor(model).input("nothing"); });
  refused("no such index", [&] { PrePostProcessor(model).output(7); });
  refused("which of three", [&] { PrePostProcessor(model).input(); });
}

void steps() {
  using namespace ov::preprocess;
  const auto with = [](const char* name, const ov::Tensor& input, auto&& change,
                       const ov::PartialShape& shape = {1, 3, 4, 4}) {
    refused(name, [&] {
      PrePostProcessor ppp(picture_model(shape));
      change(ppp);
      auto model = ppp.build();
      line(name);
      ports(model);
      compute(model, input, "  values");
    });
  };
  const ov::Tensor nhwc = counted<std::uint8_t>(ov::element::u8, {1, 4, 4, 3});
  with("mean and scale by channel", nhwc, [](PrePostProcessor& ppp) {
    ppp.input().tensor().set_element_type(ov::element::u8).set_layout("NHWC");
    ppp.input().preprocess().convert_element_type(ov::element::f32).mean({1, 2, 3}).scale({2, 4, 8});
    ppp.input().model().set_layout("NCHW");
  });
  with("channels turned", nhwc, [](PrePostProcessor& ppp) {
    ppp.input().tensor().set_element_type(ov::element::u8).set_layout("NHWC");
    ppp.input().preprocess().reverse_channels().convert_element_type().convert_layout();
    ppp.input().model().set_layout("NCHW");
  });
  with("BGR to RGB", nhwc, [](PrePostProcessor& ppp) {
    ppp.input().tensor().set_element_type(ov::element::u8).set_layout("NHWC").set_color_format(ColorFormat::BGR);
    ppp.input().preprocess().convert_color(ColorFormat::RGB);
    ppp.input().model().set_layout("NCHW");
  });
  with("a layout by numbers", counted<float>(ov::element::f32, {1, 4, 4, 3}), [](PrePostProcessor& ppp) {
    ppp.input().tensor().set_shape({1, 4, 4, 3});
    ppp.input().preprocess().convert_layout({0, 3, 1, 2});
  });
  for (const auto& [name, algorithm] : std::initializer_list<std::pair<const char*, ResizeAlgorithm>>{
           {"nearest", ResizeAlgorithm::RESIZE_NEAREST},
           {"linear", ResizeAlgorithm::RESIZE_LINEAR},
           {"cubic", ResizeAlgorithm::RESIZE_CUBIC},
           {"bilinear of Pillow", ResizeAlgorithm::RESIZE_BILINEAR_PILLOW},
           {"bicubic of Pillow", ResizeAlgorithm::RESIZE_BICUBIC_PILLOW}})
    with(name, counted<float>(ov::element::f32, {1, 3, 7, 5}, 3), [&, algorithm = algorithm](PrePostProcessor& ppp) {
      ppp.input().tensor().set_spatial_static_shape(7, 5);
      ppp.input().preprocess().resize(algorithm);
      ppp.input().model().set_layout("NCHW");
    });
  with("cut out", counted<float>(ov::element::f32, {1, 3, 6, 8}), [](PrePostProcessor& ppp) {
    ppp.input().tensor().set_shape({1, 3, 6, 8});
    ppp.input().preprocess().crop({0, 0, 1, 2}, {1, 3, 5, 6});
  });
  with("cut from the end", counted<float>(ov::element::f32, {1, 3, 6, 8}), [](PrePostProcessor& ppp) {
    ppp.input().tensor().set_shape({1, 3, 6, 8});
    ppp.input().preprocess().crop({0, 0, -5, -6}, {1, 3, -1, -2});
  });
  for (const auto& [name, mode] :
       std::initializer_list<std::pair<const char*, PaddingMode>>{{"padded by a value", PaddingMode::CONSTANT},
                                                                  {"padded by the edge", PaddingMode::EDGE},
                                                                  {"padded by reflection", PaddingMode::REFLECT},
                                                                  {"padded by symmetry", PaddingMode::SYMMETRIC}})
    with(name, counted<float>(ov::element::f32, {1, 3, 2, 3}), [&, mode = mode](PrePostProcessor& ppp) {
      ppp.input().tensor().set_shape({1, 3, 2, 3});
      ppp.input().preprocess().pad({0, 0, 1, 0}, {0, 0, 1, 1}, 5.0F, mode);
    });
  with("values cut off", counted<float>(ov::element::f32, {1, 3, 4, 4}),
       [](PrePostProcessor& ppp) { ppp.input().preprocess().clamp(3, 9); });
  with("a step of the program's own", counted<float>(ov::element::f32, {1, 3, 4, 4}), [](PrePostProcessor& ppp) {
    ppp.input().preprocess().custom(
        [](const ov::Output<ov::Node>& node) { return std::make_shared<ov::opset8::Sqrt>(node)->output(0); });
  });
  with("gray to one channel", counted<std::uint8_t>(ov::element::u8, {1, 4, 4, 3}, 5),
       [](PrePostProcessor& ppp) {
         ppp.input().tensor().set_element_type(ov::element::u8).set_layout("NHWC").set_color_format(ColorFormat::RGB);
         ppp.input().preprocess().convert_color(ColorFormat::GRAY).convert_element_type(ov::element::f32);
         ppp.input().model().set_layout("NCHW");
       },
       {1, 1, 4, 4});
  with("NV12 in one plane", counted<std::uint8_t>(ov::element::u8, {1, 6, 4, 1}, 7), [](PrePostProcessor& ppp) {
    ppp.input().tensor().set_element_type(ov::element::u8).set_color_format(ColorFormat::NV12_SINGLE_PLANE);
    ppp.input().preprocess().convert_color(ColorFormat::RGB).convert_element_type(ov::element::f32);
    ppp.input().model().set_layout("NCHW");
  });
  with("I420 in one plane", counted<std::uint8_t>(ov::element::u8, {1, 6, 4, 1}, 7), [](PrePostProcessor& ppp) {
    ppp.input().tensor().set_element_type(ov::element::u8).set_color_format(ColorFormat::I420_SINGLE_PLANE);
    ppp.input().preprocess().convert_color(ColorFormat::BGR).convert_element_type(ov::element::f32);
    ppp.input().model().set_layout("NCHW");
  });
  with("of a tensor that is there", counted<std::uint8_t>(ov::element::u8, {1, 3, 4, 4}), [](PrePostProcessor& ppp) {
    ppp.input().tensor().set_from(ov::Tensor(ov::element::u8, {1, 3, 4, 4}));
  });
  with("bytes out of it", counted<float>(ov::element::f32, {1, 3, 4, 4}), [](PrePostProcessor& ppp) {
    ppp.output().tensor().set_element_type(ov::element::u8);
    ppp.output().postprocess().clamp(0, 40).convert_layout({0, 2, 3, 1});
  });
  with("names of planes", counted<float>(ov::element::f32, {1, 3, 4, 4}), [](PrePostProcessor& ppp) {
    ppp.input().tensor().set_layout("NCHW").set_memory_type("");
    ppp.output().model().set_layout("NCHW");
    ppp.output().tensor().set_layout("NHWC");
  });
}

void wrong_steps() {
  using namespace ov::preprocess;
  const auto wrong = [](const char* name, auto&& change) {
    refused(name, [&] {
      PrePostProcessor ppp(picture_model());
      change(ppp);
      ports(ppp.build());
    });
  };
  wrong("color of floats without conversion",
        [](PrePostProcessor& ppp) { ppp.input().preprocess().convert_color(ColorFormat::RGB); });
  wrong("resize without a layout",
        [](PrePostProcessor& ppp) { ppp.input().preprocess().resize(ResizeAlgorithm::RESIZE_LINEAR, 2, 2); });
  wrong("mean by channel without a layout", [](PrePostProcessor& ppp) { ppp.input().preprocess().mean({1, 2, 3}); });
  wrong("two values for three channels", [](PrePostProcessor& ppp) {
    ppp.input().model().set_layout("NCHW");
    ppp.input().preprocess().mean({1, 2});
  });
  wrong("a shape that does not fit", [](PrePostProcessor& ppp) { ppp.input().tensor().set_shape({1, 3, 9, 9}); });
  wrong("a mean of bytes", [](PrePostProcessor& ppp) {
    ppp.input().tensor().set_element_type(ov::element::u8);
    ppp.input().preprocess().mean(1.0F);
  });
  wrong("planes of three colors", [](PrePostProcessor& ppp) {
    ppp.input().tensor().set_color_format(ColorFormat::NV12_TWO_PLANES, {"y", "u", "v"});
  });
  wrong("planes that are not converted", [](PrePostProcessor& ppp) {
    ppp.input().tensor().set_element_type(ov::element::u8).set_color_format(ColorFormat::NV12_TWO_PLANES);
  });
  wrong("an order that does not fit", [](PrePostProcessor& ppp) {
    ppp.input().preprocess().convert_layout({0, 1, 1, 2});
  });
  wrong("a layout and numbers of another rank", [](PrePostProcessor& ppp) {
    ppp.input().tensor().set_layout("NHWC");
    ppp.input().model().set_layout("NCW");
  });
  wrong("both shapes", [](PrePostProcessor& ppp) {
    ppp.input().tensor().set_spatial_dynamic_shape().set_shape({1, 3, 4, 4});
  });
  wrong("a spatial shape without a layout",
        [](PrePostProcessor& ppp) { ppp.input().tensor().set_spatial_static_shape(8, 8); });
}

/// Planes of their own, batches of them.
void planes() {
  using namespace ov::preprocess;
  for (const auto format : {ColorFormat::NV12_TWO_PLANES, ColorFormat::I420_THREE_PLANES}) {
    PrePostProcessor ppp(picture_model());
    if (format == ColorFormat::NV12_TWO_PLANES)
      ppp.input().tensor().set_element_type(ov::element::u8).set_color_format(format, {"y", "uv"});
    else
      ppp.input().tensor().set_element_type(ov::element::u8).set_color_format(format, {"y", "u", "v"});
    ppp.input().preprocess().convert_color(ColorFormat::RGB).convert_element_type(ov::element::f32);
    ppp.input().model().set_layout("NCHW");
    auto model = ppp.build();
    ports(model);
    ov::set_batch(model, 2);
    ports(model);
    ov::Core core;
    ov::CompiledModel compiled = core.compile_model(model, "CPU", ov::hint::inference_precision(ov::element::f32));
    ov::InferRequest request = compiled.create_infer_request();
    for (std::size_t i = 0; i < compiled.inputs().size(); ++i) {
      const ov::Shape shape = compiled.input(i).get_shape();
      request.set_input_tensor(i, counted<std::uint8_t>(ov::element::u8, shape, 11 + static_cast<int>(i)));
    }
    request.infer();
    print_values("  planes", request.get_output_tensor(), 16);
  }
}

/// Extents that move.
void shapes() {
  line(ov::Dimension(3), ' ', ov::Dimension(1, 4), ' ', ov::Dimension(2, -1), ' ', ov::Dimension(-1, 5), ' ',
       ov::Dimension::dynamic(), ' ', ov::Dimension("7"), ' ', ov::Dimension("1..9"), ' ', ov::Dimension("?"));
  line(ov::PartialShape{1, {2, 5}, -1}, ' ', ov::PartialShape("[1,?,3..4,..7]"), ' ', ov::PartialShape::dynamic(), ' ',
       ov::PartialShape::dynamic(2), ' ', ov::PartialShape{}, ' ', ov::PartialShape("..."));
  line(ov::Dimension(1, 4) == ov::Dimension(1, 4), ov::Dimension(2).compatible(ov::Dimension(1, 4)),
       ov::Dimension(1, 4).is_static(), ' ', ov::Dimension(1, 4) + ov::Dimension(2), ' ',
       ov::Dimension(1, 4) * ov::Dimension(2, 3), ' ', ov::Dimension(8) / 2, ' ', ov::Dimension(5, 7) - 2, ' ',
       (ov::Dimension(1, 4) & ov::Dimension(3, 9)));
  refused("a length of an open extent", [] { ov::Dimension(1, 2).get_length(); });
  refused("a text that is no extent", [] { ov::Dimension("a"); });
  refused("a text that is no shape", [] { ov::PartialShape("[1,"); });
  refused("the shape of an open one", [] { ov::PartialShape({1, -1}).to_shape(); });
  auto model = picture_model({-1, 3, -1, -1});
  line(model->is_dynamic(), ' ', model->input().get_partial_shape());
  model->reshape(ov::PartialShape{{1, 4}, 3, 4, {2, 8}});
  ports(model);
  model->reshape({{"image", ov::PartialShape{1, 3, 4, -1}}});
  ports(model);
  model->reshape({{model->input(), {2, 3, {4, 6}, -1}}});
  ports(model);
  model->reshape(std::map<std::size_t, ov::PartialShape>{{0, {-1, -1, 2, 2}}});
  ports(model);
  refused("another rank", [&] {
    model->reshape(ov::PartialShape{1, 2});
    ports(model);
  });
  refused("no such name", [&] { model->reshape({{"nothing", ov::PartialShape{1, 3, 4, 4}}}); });
  model->reshape(ov::PartialShape{{1, 3}, 3, -1, 2});
  ov::Core core;
  ov::CompiledModel compiled = core.compile_model(model, "CPU");
  ov::InferRequest request = compiled.create_infer_request();
  line(compiled.input().get_partial_shape(), ' ', compiled.output().get_partial_shape());
  for (const std::size_t batch : {1, 3, 2}) {
    ov::Tensor input = request.get_input_tensor();
    input.set_shape({batch, 3, batch, 2});
    std::fill_n(input.data<float>(), input.get_size(), static_cast<float>(batch));
    request.infer();
    print_values("moving", request.get_output_tensor(), 3);
  }
  refused("beyond the bound", [&] { request.set_input_tensor(ov::Tensor(ov::element::f32, {4, 3, 1, 2})); });
  refused("another rank of a tensor", [&] { request.set_input_tensor(ov::Tensor(ov::element::f32, {3, 2})); });
  refused("the shape of an open port", [&] { compiled.input().get_shape(); });
}

}  // namespace
}  // namespace guides

void guide_preprocess() {
  guides::layouts();
  guides::batches();
  guides::by_ports();
  guides::steps();
  guides::wrong_steps();
  guides::planes();
  guides::shapes();
}
