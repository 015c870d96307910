// SPDX-License-Identifier: Apache-2.0
// PrePostProcessor as an API: names, order of inputs, run-time information, texts; failures change nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include <tenon/core/tensor.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/layout.hpp>
#include <tenon/runtime/preprocess/pre_post_process.hpp>
#include <tenon/runtime/runtime.hpp>

namespace preprocess_test {
using namespace tenon;
using namespace tenon::preprocess;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

std::shared_ptr<op::v0::Parameter> parameter(const char* name, const PartialShape& shape,
                                             element::Type type = element::f32) {
  auto made = std::make_shared<op::v0::Parameter>(type, shape);
  made->set_friendly_name(name);
  made->output(0).set_names({name});
  return made;
}

/// Two inputs, two outputs: relu of each.
std::shared_ptr<Model> two_inputs() {
  const auto a = parameter("a", {1, 3, 8, 8}), b = parameter("b", {1, 3, 8, 8});
  const auto x = std::make_shared<op::v0::Relu>(a), y = std::make_shared<op::v0::Relu>(b);
  x->set_friendly_name("relu_a");
  x->output(0).set_names({"out_a", "alias"});
  y->set_friendly_name("relu_b");
  y->output(0).set_names({"out_b"});
  return std::make_shared<Model>(OutputVector{x->output(0), y->output(0)}, ParameterVector{a, b}, "two");
}

std::vector<std::string> friendly_names(const Model& model) {
  std::vector<std::string> names;
  for (const auto& p : model.get_parameters()) names.push_back(p->get_friendly_name());
  return names;
}

TEST(PrePostProcessor, PutsPlanesAtTheOldInputsPlaceWithItsName) {
  const auto model = two_inputs();
  PrePostProcessor p(model);
  p.input("a")
      .tensor()
      .set_element_type(element::u8)
      .set_color_format(ColorFormat::NV12_TWO_PLANES, {"y", "uv"})
      .set_memory_type("GPU_SURFACE");
  p.input("a").preprocess().convert_color(ColorFormat::BGR);
  p.input("a").model().set_layout("NCHW");
  EXPECT_EQ(p.build(), model);
  EXPECT_THAT(friendly_names(*model), ElementsAre("a/y", "a/uv", "b"));
  EXPECT_THAT(model->input(0).get_names(), UnorderedElementsAre("a/y"));
  EXPECT_THAT(model->input(1).get_names(), UnorderedElementsAre("a/uv"));
  EXPECT_EQ(model->input(0).get_partial_shape(), PartialShape({1, 8, 8, 1}));
  EXPECT_EQ(model->input(1).get_partial_shape(), PartialShape({1, 4, 4, 2}));
  EXPECT_TRUE(model->input(1).get_element_type() == element::u8);
  EXPECT_EQ(layout::get_layout(model->input(0)), Layout("NHWC"));
  for (std::size_t i : {0, 1}) {
    EXPECT_EQ(model->input(i).get_rt_info().count("memory_type_0"), 1u);
    EXPECT_EQ(TensorInfoMemoryType::of(model->input(i)).value, "GPU_SURFACE");
  }
  EXPECT_EQ(TensorInfoMemoryType::of(model->input(2)).value, "");
}

TEST(PrePostProcessor, OneplaneKeepsTheNameAndPlanesWithoutSubNamesHaveNone) {
  for (const ColorFormat format : {ColorFormat::NV12_SINGLE_PLANE, ColorFormat::I420_SINGLE_PLANE}) {
    const auto model = two_inputs();
    PrePostProcessor p(model);
    p.input("a").tensor().set_element_type(element::u8).set_color_format(format);
    p.input("a").preprocess().convert_color(ColorFormat::RGB);
    p.input("a").model().set_layout("NCHW");
    p.build();
    EXPECT_THAT(friendly_names(*model), ElementsAre("a", "b"));
    EXPECT_THAT(model->input(0).get_names(), UnorderedElementsAre("a"));
    EXPECT_EQ(model->input(0).get_partial_shape(), PartialShape({1, 12, 8, 1}));
  }
  const auto model = two_inputs();
  PrePostProcessor p(model);
  p.input("a").tensor().set_element_type(element::u8).set_color_format(ColorFormat::I420_THREE_PLANES);
  p.input("a").preprocess().convert_color(ColorFormat::RGB);
  p.input("a").model().set_layout("NCHW");
  p.build();
  ASSERT_EQ(model->inputs().size(), 4u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(model->input(i).get_names().empty());
}

TEST(PrePostProcessor, LeavesOutputsTheirNames) {
  const auto model = two_inputs();
  PrePostProcessor p(model);
  p.output("out_a").tensor().set_element_type(element::f16).set_layout("NHWC");
  p.output("out_a").model().set_layout("NCHW");
  p.output(1).postprocess().clamp(0, 1);
  p.build();
  EXPECT_THAT(model->output(0).get_names(), UnorderedElementsAre("out_a", "alias"));
  EXPECT_THAT(model->output(1).get_names(), UnorderedElementsAre("out_b"));
  EXPECT_TRUE(model->output("alias").get_element_type() == element::f16);
  EXPECT_EQ(model->output("out_a").get_partial_shape(), PartialShape({1, 8, 8, 3}));
  EXPECT_EQ(model->get_results()[0]->get_layout(), Layout("NHWC"));
  EXPECT_EQ(model->get_results()[0]->get_input_node_ptr(0)->get_friendly_name(), "relu_a.0");
  Tensor a(element::f32, Shape{1, 3, 8, 8}), b(element::f32, Shape{1, 3, 8, 8});
  for (std::size_t i = 0; i < 192; ++i) a.data<float>()[i] = b.data<float>()[i] = static_cast<float>(i) / 50 - 1;
  const auto results = evaluate(*model, {a, b});
  EXPECT_EQ(results[1].data<float>()[191], 1.0f);
  EXPECT_EQ(results[1].data<float>()[0], 0.0f);
}

// An input that is an output: its name stays with the input.
TEST(PrePostProcessor, KeepsAnInputsNameWhenItIsAnOutputToo) {
  const auto x = parameter("x", {1, 3, 4, 4});
  const auto model = std::make_shared<Model>(OutputVector{x->output(0)}, ParameterVector{x}, "identity");
  PrePostProcessor p(model);
  p.output().postprocess().convert_element_type(element::i32);
  p.build();
  EXPECT_THAT(model->input().get_names(), UnorderedElementsAre("x"));
  EXPECT_TRUE(model->output().get_element_type() == element::i32);
}

TEST(PrePostProcessor, TakesTypeAndShapeFromATensor) {
  const auto model = two_inputs();
  PrePostProcessor p(model);
  p.input("a").tensor().set_from(Tensor(element::u8, Shape{1, 20, 30, 3})).set_layout("NHWC");
  p.input("a").preprocess().convert_element_type().resize(ResizeAlgorithm::RESIZE_NEAREST);
  p.input("a").model().set_layout("NCHW");
  p.build();
  EXPECT_EQ(model->input(0).get_partial_shape(), PartialShape({1, 20, 30, 3}));
  EXPECT_TRUE(model->input(0).get_element_type() == element::u8);
  PrePostProcessor q(two_inputs());
  EXPECT_THROW(q.input(0).tensor().set_from(Tensor()), AssertFailure);
}

TEST(PrePostProcessor, RunsCustomSteps) {
  const auto model = two_inputs();
  PrePostProcessor p(model);
  p.input("a").preprocess().custom(
      [](const Output<Node>& x) { return std::make_shared<op::v0::Negative>(x)->output(0); });
  p.input("b").preprocess().custom([](const Output<Node>&) { return Output<Node>(); });
  EXPECT_THROW(p.build(), AssertFailure);
  PrePostProcessor q(model);
  q.input("a").preprocess().custom(
      [](const Output<Node>& x) { return std::make_shared<op::v0::Negative>(x)->output(0); });
  q.output("out_b").postprocess().custom([](const Output<Node>& x) {
    return make_node("Add", 1, {x, op::v0::Constant::create(element::f32, Shape{}, {1.0})})->output(0);
  });
  q.build();
  Tensor a(element::f32, Shape{1, 3, 8, 8}), b(element::f32, Shape{1, 3, 8, 8});
  for (std::size_t i = 0; i < 192; ++i) a.data<float>()[i] = b.data<float>()[i] = -2;
  const auto results = evaluate(*model, {a, b});
  EXPECT_EQ(results[0].data<float>()[5], 2.0f);
  EXPECT_EQ(results[1].data<float>()[5], 1.0f);
  EXPECT_THAT(model->output(1).get_names(), UnorderedElementsAre("out_b"));
}

std::string text_of(const Model& model) {
  std::ostringstream text;
  for (const auto& node : model.get_ordered_ops()) {
    text << node->get_type_name() << ' ' << node->get_friendly_name();
    for (const auto& output : node->outputs()) {
      text << ' ' << output.get_element_type() << output.get_partial_shape() << output.get_names().size()
           << layout::get_layout(output).to_string();
    }
    text << '\n';
  }
  return text.str();
}

// Input a is built, input b fails, and so do outputs after both inputs: no trace may remain.
TEST(PrePostProcessor, LeavesTheModelAsItWasWhenItFails) {
  const auto model = two_inputs();
  const std::string before = text_of(*model);
  PrePostProcessor p(model);
  p.input("a").tensor().set_element_type(element::u8).set_layout("NHWC");
  p.input("a").model().set_layout("NCHW");
  p.input("b").preprocess().mean({1, 2});
  EXPECT_THROW(p.build(), AssertFailure);
  EXPECT_EQ(text_of(*model), before);
  PrePostProcessor q(model);
  q.input("a").tensor().set_element_type(element::u8);
  q.output(0).model().set_layout("NCHW");
  q.output(0).tensor().set_layout("NHWC").set_element_type(element::f16);
  q.output(1).model().set_layout("NC");
  EXPECT_THROW(q.build(), AssertFailure);
  EXPECT_EQ(text_of(*model), before);
  model->validate_nodes_and_infer_types();
  // It can be built right afterwards.
  PrePostProcessor r(model);
  r.input("a").tensor().set_element_type(element::u8);
  EXPECT_NO_THROW(r.build());
  EXPECT_THROW(r.build(), AssertFailure);
}

TEST(PrePostProcessor, NamesWhatDoesNotExist) {
  EXPECT_THROW(PrePostProcessor(nullptr), AssertFailure);
  PrePostProcessor p(two_inputs());
  const auto message = [](auto call) -> std::string {
    try {
      call();
    } catch (const AssertFailure& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  EXPECT_THAT(message([&] { p.input(); }), HasSubstr("must have exactly one input, got 2"));
  EXPECT_THAT(message([&] { p.output(); }), HasSubstr("must have exactly one output, got 2"));
  EXPECT_THAT(message([&] { p.input("out_a"); }), HasSubstr("'a' 'b'"));
  EXPECT_THAT(
      message([&] { p.input("a").preprocess().resize(ResizeAlgorithm::RESIZE_LINEAR, std::size_t{1} << 40, 1); }),
      HasSubstr("Width/Height dimensions cannot be greater than"));
  p.input("a").preprocess().scale({1, 2});
  p.input("a").tensor().set_layout("NCHW");
  EXPECT_THAT(message([&] { p.build(); }), HasSubstr("input 'a', step 'scale (1,2)'"));
}

TEST(PrePostProcessor, DescribesItsSteps) {
  const auto model = two_inputs();
  const std::string before = text_of(*model);
  PrePostProcessor p(model);
  std::ostringstream nothing;
  nothing << p;
  EXPECT_EQ(nothing.str(), "");
  p.input("a")
      .tensor()
      .set_element_type(element::u8)
      .set_color_format(ColorFormat::NV12_TWO_PLANES, {"y", "uv"})
      .set_memory_type("GPU_SURFACE")
      .set_spatial_static_shape(16, 32);
  p.input("a")
      .preprocess()
      .convert_color(ColorFormat::BGR)
      .convert_element_type(element::f32)
      .resize(ResizeAlgorithm::RESIZE_LINEAR)
      .mean({1, 2, 3})
      .scale(2)
      .reverse_channels()
      .crop({0, 0, 0, 0}, {1, 6, 6, 3})
      .pad({0, 1, 1, 0}, {0, 1, 1, 0}, 1, PaddingMode::CONSTANT);
  p.input("a").model().set_layout("NCHW");
  p.output("out_b").model().set_layout("NCHW");
  p.output("out_b").tensor().set_layout("NHWC").set_element_type(element::f16);
  std::ostringstream text;
  text << p;
  // OpenVINO 2026.4.1 prints the same for these calls.
  EXPECT_EQ(text.str(),
            R"(Input "a" (color NV12 (multi-plane)) memory type=GPU_SURFACE:
    2 user's tensors expected for each plane:
       0: a/y [1,16,32,1], [N,H,W,C], u8
       1: a/uv [1,8,16,2], [N,H,W,C], u8
    Model's expected tensor: [1,3,8,8], [N,C,H,W], f32
    Pre-processing steps (8):
      convert color (BGR): ([1,16,32,1], [N,H,W,C], u8, NV12 (multi-plane)) -> ([1,16,32,3], [N,H,W,C], u8, BGR)
      convert type (f32): ([1,16,32,3], [N,H,W,C], u8, BGR) -> ([1,16,32,3], [N,H,W,C], f32, BGR)
      resize to model width/height: ([1,16,32,3], [N,H,W,C], f32, BGR) -> ([1,8,8,3], [N,H,W,C], f32, BGR)
      mean (1,2,3): ([1,8,8,3], [N,H,W,C], f32, BGR) -> ([1,8,8,3], [N,H,W,C], f32, BGR)
      scale (2): ([1,8,8,3], [N,H,W,C], f32, BGR) -> ([1,8,8,3], [N,H,W,C], f32, BGR)
      reverse channels: ([1,8,8,3], [N,H,W,C], f32, BGR) -> ([1,8,8,3], [N,H,W,C], f32, BGR)
      Crop ([ 0, 0, 0, 0 ],[ 1, 6, 6, 3 ]): ([1,8,8,3], [N,H,W,C], f32, BGR) -> ([1,6,6,3], [N,H,W,C], f32, BGR)
      pad(begin (0,1,1,0), end (0,1,1,0), with (1)): ([1,6,6,3], [N,H,W,C], f32, BGR) -> ([1,8,8,3], [N,H,W,C], f32, BGR)
    Implicit pre-processing steps (1):
      convert layout [N,C,H,W]: ([1,8,8,3], [N,H,W,C], f32, BGR) -> ([1,3,8,8], [N,C,H,W], f32, BGR)
Output "out_b":
    Model's data tensor: [1,3,8,8], [N,C,H,W], f32
    Post-processing implicit steps (2):
      convert type (f16): ([1,3,8,8], [N,C,H,W], f32) -> ([1,3,8,8], [N,C,H,W], f16)
      convert layout [N,H,W,C]: ([1,3,8,8], [N,C,H,W], f16) -> ([1,8,8,3], [N,H,W,C], f16)
    User's output tensor: [1,8,8,3], [N,H,W,C], f16
)");
  EXPECT_EQ(text_of(*model), before) << "describing must not change the model";
  p.input("b").preprocess().mean({1, 2});
  std::ostringstream failed;
  failed << p;
  EXPECT_THAT(failed.str(), HasSubstr("Error occurred: input 'b', step 'mean (1,2)'"));
}

TEST(PrePostProcessor, ConvertsColoursOfOutputs) {
  const auto model = two_inputs();
  PrePostProcessor p(model);
  p.output(0).model().set_layout("NCHW").set_color_format(ColorFormat::RGB);
  p.output(0).postprocess().convert_color(ColorFormat::BGR);
  p.build();
  Tensor a(element::f32, Shape{1, 3, 8, 8}), b(element::f32, Shape{1, 3, 8, 8});
  for (std::size_t i = 0; i < 192; ++i) a.data<float>()[i] = static_cast<float>(i);
  const auto results = evaluate(*model, {a, b});
  EXPECT_EQ(results[0].data<float>()[0], 128.0f);
  EXPECT_EQ(results[0].data<float>()[191], 63.0f);
  PrePostProcessor q(two_inputs());
  q.output(0).model().set_color_format(ColorFormat::RGB);
  q.output(0).postprocess().convert_color(ColorFormat::GRAY);
  EXPECT_THROW(q.build(), AssertFailure);
}

TEST(PrePostProcessor, SurvivesBeingMoved) {
  const auto model = two_inputs();
  PrePostProcessor p(model);
  p.input("a").tensor().set_element_type(element::u8);
  PrePostProcessor moved(std::move(p));
  moved.input("a").preprocess().convert_element_type(element::f32);
  moved.build();
  EXPECT_TRUE(model->input(0).get_element_type() == element::u8);
}

TEST(Layout, ParsesAndPrints) {
  EXPECT_EQ(Layout("nchw").to_string(), "[N,C,H,W]");
  EXPECT_EQ(Layout("NC?").to_string(), "[N,C,?]");
  EXPECT_EQ(Layout("N...C").to_string(), "[N,...,C]");
  EXPECT_EQ(Layout("[Batch, channels, ..., custom_1]").to_string(), "[N,C,...,CUSTOM_1]");
  EXPECT_EQ(Layout().to_string(), "[...]");
  EXPECT_EQ(Layout("...").to_string(), "[...]");
  EXPECT_TRUE(Layout("...").empty());
  EXPECT_TRUE(Layout("").empty());
  EXPECT_EQ(Layout::scalar().to_string(), "**SCALAR**");
  EXPECT_EQ(Layout("N...C").get_index_by_name("channels"), -1);
  EXPECT_EQ(layout::height_idx("NCHW"), 2);
  EXPECT_TRUE(layout::has_depth("NCDHW"));
  EXPECT_FALSE(layout::has_batch("CHW"));
  EXPECT_FALSE(Layout("NCHW") == Layout("NHWC"));
  EXPECT_TRUE(Layout("NC??") == Layout("[N,C,?,?]"));
  for (const char* text : {" ", "[]", "NN", "N-C", "N...C...", "N..C", "[N,,C]", "[N...]", "[_]", "N,C"})
    EXPECT_THROW(Layout{text}, Error) << text;
  EXPECT_THROW(layout::width_idx("NC"), Error);
}

TEST(Layout, StaysWithThePort) {
  const auto x = parameter("x", {1, 3, 8, 8});
  x->set_layout("NCHW");
  EXPECT_EQ(x->get_layout(), Layout("NCHW"));
  const auto model =
      std::make_shared<Model>(OutputVector{std::make_shared<op::v0::Relu>(x)->output(0)}, ParameterVector{x}, "m");
  EXPECT_EQ(layout::get_layout(model->clone()->input()), Layout("NCHW"));
  EXPECT_THROW(x->set_layout("NC"), Error);
  x->set_layout(Layout());
  EXPECT_TRUE(x->get_layout().empty());
  EXPECT_THROW(layout::set_layout(model->get_results()[0]->input_value(0), "NCHW"), Error)
      << "only inputs and outputs have layouts";
}
}  // namespace preprocess_test
