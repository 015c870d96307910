// SPDX-License-Identifier: Apache-2.0
// PrePostProcessor's nodes become one input stage where the results are equal, and stay as they are elsewhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include <tenon/core/ledger.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/input_stage/input_stage.hpp>
#include <tenon/graph/layout.hpp>
#include <tenon/graph/passes/pass.hpp>
#include <tenon/runtime/preprocess/pre_post_process.hpp>
#include <tenon/runtime/runtime.hpp>

namespace fold_test {
using namespace tenon;
using namespace tenon::preprocess;

using Told = std::function<void(InputInfo&)>;

std::shared_ptr<Model> make_model(const PartialShape& shape, element::Type type = element::f32) {
  const auto x = std::make_shared<op::v0::Parameter>(type, shape);
  x->set_friendly_name("image");
  x->output(0).set_names({"image"});
  const auto y = std::make_shared<op::v0::Abs>(x);
  y->output(0).set_names({"out"});
  return std::make_shared<Model>(OutputVector{y->output(0)}, ParameterVector{x}, "m");
}

std::shared_ptr<Model> build(const PartialShape& shape, const Told& setup, element::Type type = element::f32) {
  PrePostProcessor p(make_model(shape, type));
  setup(p.input());
  return p.build();
}

std::shared_ptr<Model> folded(const Model& model) {
  const auto copy = model.clone();
  pass::common_passes().add(pass::fold_input_stage()).run(copy);
  return copy;
}

std::size_t count(const Model& model, std::string_view type) {
  std::size_t found = 0;
  for (const auto& node : model.get_ordered_ops()) found += is_op(node, type);
  return found;
}
/// The number of nodes other than parameters, constants and results.
std::size_t work(const Model& model) {
  return model.get_ordered_ops().size() - count(model, "Parameter") - count(model, "Constant") - count(model, "Result");
}

std::vector<Tensor> noise(const Model& model, std::uint32_t seed = 5) {
  std::vector<Tensor> tensors;
  for (const auto& input : model.inputs()) {
    Tensor tensor(element::u8, input.get_shape());
    auto* bytes = static_cast<std::uint8_t*>(tensor.data());
    for (std::size_t i = 0; i < tensor.size_bytes(); ++i) {
      seed = seed * 1664525u + 1013904223u;
      bytes[i] = static_cast<std::uint8_t>(seed >> 24);
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

/// Full-range noise saturates most colours: converting after the resize instead of before would be off by tens.
void expect_equal(const Model& a, const Model& b, const std::vector<Tensor>& inputs, double tolerance) {
  const auto x = evaluate(a, inputs).at(0), y = evaluate(b, inputs).at(0);
  ASSERT_EQ(x.element_type(), y.element_type());
  ASSERT_EQ(to_string(x.shape()), to_string(y.shape()));
  const auto from = op::v0::Constant(x).to_doubles(), to = op::v0::Constant(y).to_doubles();
  for (std::size_t i = 0; i < from.size(); ++i) ASSERT_NEAR(from[i], to[i], tolerance) << "element " << i;
}

struct Chain {
  const char* name;
  PartialShape shape;
  Told setup;
  element::Type type = element::f32;
};

const std::vector<Chain>& chains() {
  using R = ResizeAlgorithm;
  using F = ColorFormat;
  static const std::vector<Chain> all = {
      {"nv12",
       {1, 3, 20, 30},
       [](InputInfo& i) {
         i.tensor()
             .set_element_type(element::u8)
             .set_color_format(F::NV12_TWO_PLANES, {"y", "uv"})
             .set_spatial_static_shape(48, 62);
         i.preprocess()
             .convert_color(F::BGR)
             .convert_element_type(element::f32)
             .resize(R::RESIZE_LINEAR)
             .mean({104, 117, 123})
             .scale({57, 58, 59});
         i.model().set_layout("NCHW");
       }},
      {"nv12 in real numbers",
       {1, 3, 20, 30},
       [](InputInfo& i) {
         i.tensor().set_element_type(element::u8).set_color_format(F::NV12_TWO_PLANES).set_spatial_static_shape(48, 62);
         i.preprocess().convert_element_type(element::f32).convert_color(F::RGB).resize(R::RESIZE_LINEAR).scale(255);
         i.model().set_layout("NCHW");
       }},
      {"nv12 in one tensor, reversed later",
       {1, 3, 20, 30},
       [](InputInfo& i) {
         i.tensor()
             .set_element_type(element::u8)
             .set_color_format(F::NV12_SINGLE_PLANE)
             .set_spatial_static_shape(48, 62);
         i.preprocess()
             .convert_color(F::RGB)
             .convert_element_type(element::f32)
             .mean({1, 2, 3})
             .resize(R::RESIZE_LINEAR)
             .convert_layout("NCHW")
             .reverse_channels()
             .scale({4, 5, 6});
         i.model().set_layout("NCHW");
       }},
      {"i420, enlarged, nearest",
       {1, 70, 90, 3},
       [](InputInfo& i) {
         i.tensor()
             .set_element_type(element::u8)
             .set_color_format(F::I420_THREE_PLANES, {"y", "u", "v"})
             .set_spatial_static_shape(48, 62);
         i.preprocess().convert_color(F::RGB).resize(R::RESIZE_NEAREST).convert_element_type(element::f32).mean(128);
         i.model().set_layout("NHWC");
       }},
      {"i420 in one tensor, no resize, bytes",
       {1, 16, 24, 3},
       [](InputInfo& i) {
         i.tensor().set_element_type(element::u8).set_color_format(F::I420_SINGLE_PLANE);
         i.preprocess().convert_color(F::BGR);
         i.model().set_layout("NHWC");
       },
       element::u8},
      {"rgb letterbox",
       {1, 3, 32, 32},
       [](InputInfo& i) {
         i.tensor().set_element_type(element::u8).set_layout("NHWC").set_shape({1, 36, 64, 3});
         i.preprocess()
             .convert_element_type(element::f32)
             .resize(R::RESIZE_LINEAR, 18, 32)
             .pad({0, 7, 0, 0}, {0, 7, 0, 0}, 114, PaddingMode::CONSTANT)
             .scale(255)
             .reverse_channels();
         i.model().set_layout("NCHW");
       }},
      {"cropped rgbx",
       {1, 3, 16, 16},
       [](InputInfo& i) {
         i.tensor().set_element_type(element::u8).set_color_format(F::RGBX).set_shape({1, 40, 50, 4});
         i.preprocess()
             .crop({0, 4, 5, 0}, {1, 36, -3, 4})
             .convert_color(F::BGR)
             .convert_element_type(element::f32)
             .resize(R::RESIZE_LINEAR)
             .mean({1, 2, 3});
         i.model().set_layout("NCHW");
       }},
      {"planar rgb to half",
       {1, 3, 20, 30},
       [](InputInfo& i) {
         i.tensor().set_element_type(element::u8).set_layout("NCHW").set_spatial_static_shape(33, 47);
         i.preprocess()
             .convert_element_type(element::f32)
             .resize(R::RESIZE_LINEAR)
             .scale(255)
             .convert_element_type(element::f16);
         i.model().set_layout("NCHW");
       },
       element::f16},
      {"grey",
       {1, 1, 20, 30},
       [](InputInfo& i) {
         i.tensor().set_element_type(element::u8).set_color_format(F::GRAY).set_spatial_static_shape(33, 47);
         i.preprocess().convert_element_type(element::f32).resize(R::RESIZE_LINEAR).mean(12);
         i.model().set_layout("NCHW");
       }},
      {"bgr, no resize",
       {1, 3, 20, 30},
       [](InputInfo& i) {
         i.tensor().set_element_type(element::u8).set_color_format(F::BGR);
         i.preprocess().convert_color(F::RGB).convert_element_type(element::f32).mean({1, 2, 3}).scale({4, 5, 6});
         i.model().set_layout("NCHW");
       }},
  };
  return all;
}

TEST(FoldInputStage, MakesOneStageWithTheSameResults) {
  for (const Chain& chain : chains()) {
    SCOPED_TRACE(chain.name);
    const auto model = build(chain.shape, chain.setup, chain.type);
    const auto one = folded(*model);
    EXPECT_EQ(count(*one, "InputStage"), 1u);
    EXPECT_EQ(work(*one), 2u) << "the stage and the model's own node";
    EXPECT_EQ(one->inputs().size(), model->inputs().size());
    for (std::size_t i = 0; i < one->inputs().size(); ++i)
      EXPECT_EQ(one->input(i).get_names(), model->input(i).get_names());
    EXPECT_EQ(one->output().get_names(), model->output().get_names());
    // u8 must be equal; f16 has a precision of its own.
    const double tolerance = chain.type == element::f16 ? 1e-3 : chain.type == element::u8 ? 0 : 1e-3;
    expect_equal(*model, *one, noise(*model), tolerance);
  }
}

TEST(FoldInputStage, CpuAgreesWithTheReference) {
  Core core;
  const auto devices = core.get_available_devices();
  if (std::find(devices.begin(), devices.end(), "CPU") == devices.end()) GTEST_SKIP() << "the CPU device is not built";
  for (const Chain& chain : chains()) {
    SCOPED_TRACE(chain.name);
    const auto model = build(chain.shape, chain.setup, chain.type);
    const auto inputs = noise(*model);
    auto request = core.compile_model(model, "CPU", enable_profiling(true)).create_infer_request();
    for (std::size_t i = 0; i < inputs.size(); ++i) request.set_input_tensor(i, inputs[i]);
    request.infer();
    const auto got = op::v0::Constant(request.get_output_tensor()).to_doubles();
    const auto wanted = op::v0::Constant(evaluate(*model, inputs).at(0)).to_doubles();
    ASSERT_EQ(got.size(), wanted.size());
    const double tolerance = chain.type == element::u8 ? 1 : chain.type == element::f16 ? 2e-3 : 0.02;
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], tolerance) << "element " << i;
    std::size_t stages = 0;
    for (const auto& info : request.get_profiling_info()) stages += info.exec_type == "input stage";
    EXPECT_EQ(stages, 1u);
  }
}

// A decoder's rows are longer than the picture: the stage reads them in place.
TEST(FoldInputStage, ReadsPitchedPlanesInPlace) {
  Core core;
  const auto devices = core.get_available_devices();
  if (std::find(devices.begin(), devices.end(), "CPU") == devices.end()) GTEST_SKIP() << "the CPU device is not built";
  const auto model = build(chains()[0].shape, chains()[0].setup);
  const auto packed = noise(*model);
  std::vector<std::vector<std::uint8_t>> rooms;
  std::vector<Tensor> pitched;
  for (const Tensor& plane : packed) {
    const Shape& shape = plane.shape();
    const auto pixel = static_cast<std::ptrdiff_t>(shape[3]);
    const std::ptrdiff_t pitch = static_cast<std::ptrdiff_t>(shape[2]) * pixel + 66;
    rooms.emplace_back(static_cast<std::size_t>(pitch) * shape[1], 0x5a);
    Tensor view(element::u8, shape, rooms.back().data(),
                ByteStrides{pitch * static_cast<std::ptrdiff_t>(shape[1]), pitch, pixel, 1});
    copy_strided(ElementType::kU8, shape, plane.data(), plane.byte_strides(), view.data(), view.byte_strides());
    pitched.push_back(view);
  }
  auto request = core.compile_model(model, "CPU").create_infer_request();
  for (std::size_t i = 0; i < pitched.size(); ++i) request.set_input_tensor(i, pitched[i]);
  request.infer();
  EXPECT_EQ(request.ledger().total().copied, 0u);
  const auto got = op::v0::Constant(request.get_output_tensor()).to_doubles();
  const auto wanted = op::v0::Constant(evaluate(*model, packed).at(0)).to_doubles();
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], 1e-3) << "element " << i;
}

TEST(FoldInputStage, LeavesWhatItDoesNotEqual) {
  using R = ResizeAlgorithm;
  const auto stages = [](const PartialShape& shape, const Told& setup) {
    const auto model = build(shape, setup);
    const auto one = folded(*model);
    expect_equal(*model, *one, noise(*model), 1e-3);
    return count(*one, "InputStage");
  };
  // Linear resize on integers rounds before the mean, so only colours may be folded, and here there are none.
  EXPECT_EQ(stages({1, 3, 20, 30},
                   [](InputInfo& i) {
                     i.tensor().set_element_type(element::u8).set_layout("NCHW").set_spatial_static_shape(33, 47);
                     i.preprocess().resize(R::RESIZE_LINEAR).convert_element_type(element::f32).mean(3);
                   }),
            0u);
  EXPECT_EQ(stages({1, 3, 20, 30},
                   [](InputInfo& i) {
                     i.tensor().set_element_type(element::u8).set_layout("NCHW").set_spatial_static_shape(33, 47);
                     i.preprocess().convert_element_type(element::f32).resize(R::RESIZE_CUBIC);
                   }),
            0u);
  EXPECT_EQ(stages({2, 3, 20, 30},
                   [](InputInfo& i) {
                     i.tensor().set_element_type(element::u8).set_layout("NHWC");
                     i.model().set_layout("NCHW");
                   }),
            0u);
  // The stage takes the steps before the cubic resize.
  EXPECT_EQ(
      stages(
          {1, 3, 20, 30},
          [](InputInfo& i) {
            i.tensor()
                .set_element_type(element::u8)
                .set_color_format(ColorFormat::NV12_TWO_PLANES)
                .set_spatial_static_shape(32, 46);
            i.preprocess().convert_color(ColorFormat::RGB).convert_element_type(element::f32).resize(R::RESIZE_CUBIC);
            i.model().set_layout("NCHW");
          }),
      1u);
}

// Through the IR writer and OpenVINO's own reader and kernels, if OpenVINO is installed.
TEST(FoldInputStage, OpenVinoMakesTheSameOfTheSameModel) {
  Core core;
  const auto devices = core.get_available_devices();
  const auto has = [&](const char* name) { return std::find(devices.begin(), devices.end(), name) != devices.end(); };
  if (!has("CPU") || !has("OPENVINO.CPU")) GTEST_SKIP() << "the devices CPU and OPENVINO are not both built";
  for (const Chain& chain : chains()) {
    if (chain.type == element::f16) continue;  // OpenVINO's plugin computes f16 as it likes.
    SCOPED_TRACE(chain.name);
    const auto model = build(chain.shape, chain.setup, chain.type);
    const auto inputs = noise(*model);
    std::vector<std::vector<double>> results;
    for (const char* device : {"CPU", "OPENVINO.CPU"}) {
      // The plugin's default is bf16 if the processor has it.
      auto request = core.compile_model(model, device, hint::inference_precision(element::f32)).create_infer_request();
      for (std::size_t i = 0; i < inputs.size(); ++i) request.set_input_tensor(i, inputs[i]);
      request.infer();
      results.push_back(op::v0::Constant(request.get_output_tensor()).to_doubles());
    }
    ASSERT_EQ(results[0].size(), results[1].size());
    double span = 1;
    for (double value : results[1]) span = std::max(span, std::abs(value));
    const double tolerance = chain.type == element::u8 ? 1 : 1e-4 * span;
    for (std::size_t i = 0; i < results[0].size(); ++i)
      ASSERT_NEAR(results[0][i], results[1][i], tolerance) << "element " << i;
  }
}

TEST(FoldInputStage, NearestNeighboursAreTheNodesOwn) {
  for (std::size_t in = 3; in < 60; in += 7) {
    for (std::size_t out = 2; out < 90; out += 5) {
      const auto model = build(PartialShape(Shape{1, 3, out, out}), [&](InputInfo& i) {
        i.tensor().set_element_type(element::u8).set_layout("NHWC").set_spatial_static_shape(in, in);
        i.preprocess().convert_element_type(element::f32).resize(ResizeAlgorithm::RESIZE_NEAREST);
        i.model().set_layout("NCHW");
      });
      expect_equal(*model, *folded(*model), noise(*model), 0);
    }
  }
}

class Dice {
 public:
  explicit Dice(std::uint32_t seed) : state_(seed * 747796405u + 2891336453u) {}
  int operator()(int low, int high) {
    state_ = state_ * 1664525u + 1013904223u;
    return low + static_cast<int>((state_ >> 16) % static_cast<std::uint32_t>(high - low + 1));
  }
  template <typename T>
  T of(std::initializer_list<T> values) {
    return values.begin()[(*this)(0, static_cast<int>(values.size()) - 1)];
  }

 private:
  std::uint32_t state_;
};

void random_step(Dice& dice, PreProcessSteps& steps) {
  using R = ResizeAlgorithm;
  const auto real = [&] { return static_cast<float>(dice(1, 200)) / 8; };
  switch (dice(0, 10)) {
    case 0:
      steps.convert_element_type(dice.of({element::f32, element::f32, element::f16, element::u8, element::i32}));
      break;
    case 1:
      steps.convert_color(dice.of({ColorFormat::RGB, ColorFormat::BGR, ColorFormat::GRAY}));
      break;
    case 2:
      steps.resize(
          dice.of({R::RESIZE_LINEAR, R::RESIZE_LINEAR, R::RESIZE_NEAREST, R::RESIZE_CUBIC, R::RESIZE_BILINEAR_PILLOW}),
          static_cast<std::size_t>(dice(1, 40)), static_cast<std::size_t>(dice(1, 40)));
      break;
    case 3:
      steps.mean(std::vector<float>{real(), real(), real()});
      break;
    case 4:
      steps.scale(std::vector<float>{real(), real(), real()});
      break;
    case 5:
      dice(0, 1) ? steps.mean(real()) : steps.scale(real());
      break;
    case 6:
      steps.convert_layout(dice.of({"NHWC", "NCHW"}));
      break;
    case 7:
      steps.reverse_channels();
      break;
    case 8:
      steps.pad({0, dice(0, 2), dice(0, 2), 0}, {0, dice(0, 2), dice(0, 2), 0}, real(),
                dice.of({PaddingMode::CONSTANT, PaddingMode::CONSTANT, PaddingMode::EDGE}));
      break;
    case 9:
      steps.crop({0, dice(0, 5), dice(0, 5), 0}, {1, dice(6, 30), dice(-5, 30), 4});
      break;
    default:
      steps.clamp(real(), 200);
  }
}

// Random sequences of steps: either they are refused, or the folded model is equal, on the CPU as well. The
// model's own shape is dynamic so that most chains fit.
TEST(FoldInputStage, RandomChainsAreRefusedOrEqual) {
  using F = ColorFormat;
  Core core;
  const auto devices = core.get_available_devices();
  const bool has_cpu = std::find(devices.begin(), devices.end(), "CPU") != devices.end();
  int built = 0, with_stage = 0;
  for (std::uint32_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    std::shared_ptr<Model> model;
    try {
      PrePostProcessor p(make_model(PartialShape::dynamic(4)));
      const F format = dice.of({F::NV12_SINGLE_PLANE, F::NV12_TWO_PLANES, F::I420_SINGLE_PLANE, F::I420_THREE_PLANES,
                                F::RGB, F::BGR, F::RGBX, F::BGRX, F::GRAY, F::UNDEFINED});
      auto& tensor = p.input().tensor().set_element_type(element::u8).set_color_format(format);
      const int channels = format == F::GRAY ? 1 : format == F::RGBX || format == F::BGRX ? 4 : 3;
      tensor.set_layout("NHWC").set_shape({1, 2 * dice(1, 18), 2 * dice(1, 18), channels});
      auto& steps = p.input().preprocess();
      const int yuv = format <= F::I420_THREE_PLANES && format != F::UNDEFINED;
      if (yuv && dice(0, 3) == 0) steps.convert_element_type(element::f32);
      if (format != F::UNDEFINED) steps.convert_color(dice.of({F::RGB, F::BGR}));
      for (int count = dice(0, 6); count > 0; --count) {
        if (count == 3 && dice(0, 1)) steps.convert_element_type(element::f32);
        random_step(dice, steps);
      }
      p.input().model().set_layout(dice.of({"NHWC", "NCHW"}));
      model = p.build();
    } catch (const Error&) {
      continue;
    }
    ++built;
    const auto one = folded(*model);
    with_stage += count(*one, "InputStage") > 0;
    const auto inputs = noise(*model, seed);
    std::vector<double> wanted;
    try {
      wanted = op::v0::Constant(evaluate(*model, inputs).at(0)).to_doubles();
    } catch (const Error&) {
      // A crop left nothing to resize, which is known only at run time.
      EXPECT_THROW(evaluate(*one, inputs), Error);
      continue;
    }
    const auto got = op::v0::Constant(evaluate(*one, inputs).at(0)).to_doubles();
    ASSERT_EQ(wanted.size(), got.size());
    double span = 1;
    for (double value : wanted) span = std::max(span, std::abs(value));
    // Chains through f16 round at other places; those that go back to integers turn the fast kernel's error of a
    // hundredth of a step into a whole one.
    bool half = false, whole = false;
    for (const auto& node : model->get_ordered_ops()) {
      if (node->get_output_size() == 0) continue;
      const element::Type type = node->get_output_element_type(0);
      half |= type == element::f16;
      whole |= !type.is_real() && (is_op(node, "Convert") || is_op(node, "Interpolate"));
    }
    const double tolerance = span * (half ? 4e-3 : 2e-5);
    for (std::size_t i = 0; i < wanted.size(); ++i) ASSERT_NEAR(got[i], wanted[i], tolerance) << "element " << i;
    if (!has_cpu || whole) continue;
    auto request = core.compile_model(model, "CPU").create_infer_request();
    for (std::size_t i = 0; i < inputs.size(); ++i) request.set_input_tensor(i, inputs[i]);
    request.infer();
    const auto cpu = op::v0::Constant(request.get_output_tensor()).to_doubles();
    for (std::size_t i = 0; i < wanted.size(); ++i)
      ASSERT_NEAR(cpu[i], wanted[i], span * (half ? 6e-3 : 1e-4)) << "element " << i << " on the CPU";
  }
  EXPECT_GT(built, 200);
  EXPECT_GT(with_stage, 100);
  RecordProperty("built", built);
  RecordProperty("with_stage", with_stage);
}

// The picture has two readers: the nodes that both need stay.
TEST(FoldInputStage, KeepsWhatOthersRead) {
  const auto x = std::make_shared<op::v0::Parameter>(element::u8, PartialShape{1, 8, 10, 3});
  const auto real = std::make_shared<op::v0::Convert>(x, element::f32);
  const auto order = op::v0::Constant::create(element::i64, Shape{4}, std::vector<std::int64_t>{0, 3, 1, 2});
  const auto planar = std::make_shared<op::v1::Transpose>(real, order);
  const auto model = std::make_shared<Model>(OutputVector{planar->output(0), real->output(0)}, ParameterVector{x});
  const auto one = folded(*model);
  EXPECT_EQ(count(*one, "InputStage"), 0u);
  expect_equal(*model, *one, noise(*model), 0);
}
}  // namespace fold_test
