// SPDX-License-Identifier: Apache-2.0
// The input stage as plain operations: gives the stage's values, and OpenVINO reads and computes it.
#include <tenon/graph/input_stage/expand.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include <tenon/core/carried_formats.hpp>
#include <tenon/core/error.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/input_stage/input_stage.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>

namespace expand_test {

using namespace tenon;
namespace fs = std::filesystem;

constexpr PixelFormat kFormats[] = {kI420,
                                    kYv12,
                                    kI422,
                                    kI444,
                                    kNv12,
                                    kNv21,
                                    kNv16,
                                    kP010,
                                    kYuy2,
                                    kUyvy,
                                    kGray8,
                                    kRgb24,
                                    kBgr24,
                                    kRgba,
                                    kRgbx,
                                    kBgra,
                                    kBgrx,
                                    kRgbPlanar,
                                    kBgrPlanar,
                                    kGbrPlanar,
                                    kI420p10,
                                    kGray16,
                                    kY210,
                                    kArgb,
                                    kI411,
                                    kVuya,
                                    kGbra12,
                                    kRgb48,
                                    kNv12a,
                                    kYvyu,
                                    kI422p16,
                                    big_endian(kI422p16),
                                    big_endian(kP010),
                                    big_endian(kI444p10)};

class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  std::size_t operator()(std::size_t low, std::size_t high) {
    return std::uniform_int_distribution<std::size_t>(low, high)(engine_);
  }
  template <typename T>
  T of(std::initializer_list<T> values) {
    return *(values.begin() + (*this)(0, values.size() - 1));
  }

 private:
  std::mt19937 engine_;
};

InputStageOptions random_options(Dice& dice, PixelFormat format) {
  InputStageOptions o;
  o.source = {format, static_cast<std::uint32_t>(dice(2, 20)), static_cast<std::uint32_t>(dice(2, 20)),
              dice.of({ColourSpace::kBt601, ColourSpace::kBt709, ColourSpace::kBt2020}),
              dice.of({ColourRange::kLimited, ColourRange::kFull})};
  o.packed = dice(0, 3) == 0;
  if (o.packed) o.source.width_px += o.source.width_px % 2, o.source.height_px += o.source.height_px % 2;
  o.width = dice(2, 24);
  o.height = dice(2, 24);
  if (dice(0, 4) == 0) o.width = o.source.width_px, o.height = o.source.height_px;
  o.type = dice.of({ElementType::kF32, ElementType::kF32, ElementType::kF16, ElementType::kU8});
  o.layout = dice.of({ImageLayout::kNchw, ImageLayout::kNhwc});
  o.channels = dice.of({ChannelOrder::kRgb, ChannelOrder::kBgr, ChannelOrder::kGray});
  if (o.type != ElementType::kU8 && dice(0, 1)) o.mean = {123.675, 116.28, 103.53}, o.scale = {58.395, 57.12, 57.375};
  o.resize = dice.of({ResizeMode::kLinear, ResizeMode::kLinear, ResizeMode::kNearest});
  o.fit = dice.of({Fit::kStretch, Fit::kLetterbox, Fit::kTopLeft, Fit::kCrop});
  o.pad = dice(0, 1) ? std::array<double, 3>{114, 114, 114} : std::array<double, 3>{114, 0, 255};
  o.source.rotation = dice.of({Rotation::kNone, Rotation::kNone, Rotation::k90, Rotation::k180, Rotation::k270,
                               Rotation::kMirrored, Rotation::kMirrored90});
  if (dice(0, 2) == 0) o.crop = {1, 0, o.source.upright_width_px() - 1, o.source.upright_height_px()};
  o.colour_rule = dice.of({ColourRule::kBlended, ColourRule::kPerPixel, ColourRule::kPerPixelRounded});
  return o;
}

/// Only the stage, with its planes as inputs.
std::shared_ptr<Model> stage_model(const InputStageOptions& options) {
  const InputStageSpec spec = make_spec(options);
  ParameterVector parameters;
  OutputVector planes;
  for (std::size_t i = 0; i < spec.input_count(); ++i) {
    auto plane = std::make_shared<op::v0::Parameter>(spec.layout.sample_type(), PartialShape(spec.input_shape(i)));
    plane->set_friendly_name("plane" + std::to_string(i));
    plane->output(0).set_names({"plane" + std::to_string(i)});
    planes.push_back(plane->output(0));
    parameters.push_back(std::move(plane));
  }
  const auto stage = make_input_stage(planes, options, "stage");
  return std::make_shared<Model>(OutputVector{stage->output(0)}, parameters, "frames");
}

std::vector<Tensor> noise(const Model& model, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<Tensor> tensors;
  for (const auto& parameter : model.get_parameters()) {
    Tensor tensor(parameter->get_element_type(), parameter->get_output_shape(0));
    auto* bytes = static_cast<std::uint8_t*>(tensor.data());
    for (std::size_t i = 0; i < tensor.size_bytes(); ++i) bytes[i] = static_cast<std::uint8_t>(engine());
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

/// Largest difference that rounding explains: 8 bits, half precision, the order of sums.
double tolerance(const InputStageOptions& o) {
  const double unit = o.mean[0] == 0 ? 1 : 1 / 57.0;
  return o.type == ElementType::kU8 ? 1 : o.type == ElementType::kF16 ? 0.13 * unit : 1e-3 * unit;
}

void expect_near(const Tensor& got, const Tensor& wanted, double tolerance) {
  ASSERT_EQ(got.shape(), wanted.shape());
  ASSERT_EQ(got.element_type(), wanted.element_type());
  const auto a = op::v0::Constant(got).to_doubles(), b = op::v0::Constant(wanted).to_doubles();
  std::size_t apart = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_NEAR(a[i], b[i], tolerance) << "element " << i;
    apart += std::abs(a[i] - b[i]) > tolerance / 2;
  }
  EXPECT_LE(apart, a.size() / 10 + 1) << "halves that fall to the other side are rare";
}

TEST(ExpandInputStage, HasTheStagesValuesForEveryFormatAndOption) {
  std::size_t made = 0;
  for (const PixelFormat format : kFormats) {
    for (unsigned seed = 0; seed < 60; ++seed) {
      Dice dice(seed);
      const InputStageOptions options = random_options(dice, format);
      std::shared_ptr<Model> model;
      try {
        model = stage_model(options);
      } catch (const Error&) {
        continue;  // A combination that the stage refuses.
      }
      ++made;
      SCOPED_TRACE(to_string(format) + ", seed " + std::to_string(seed));
      const auto expanded = expand_input_stages(*model);
      ASSERT_TRUE(expanded);
      for (const auto& node : expanded->get_ordered_ops())
        ASSERT_EQ(std::string_view(node->get_type_info().version_id).substr(0, 5), "opset") << node->describe();
      const auto inputs = noise(*model, seed);
      expect_near(evaluate(*expanded, inputs).at(0), evaluate(*model, inputs).at(0), tolerance(options));
      if (::testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(made, 400u);
}

TEST(ExpandInputStage, KeepsNamesAndLeavesTheModelAsItWas) {
  Dice dice(1);
  InputStageOptions options = random_options(dice, kNv12);
  options.colour_rule = ColourRule::kBlended;
  options.packed = false;
  options.source.rotation = Rotation::kNone;
  const auto model = stage_model(options);
  const auto expanded = expand_input_stages(*model);
  EXPECT_EQ(expanded->input(1).get_any_name(), "plane1");
  EXPECT_EQ(expanded->get_results()[0]->get_input_node_ptr(0)->get_friendly_name(), "stage");
  EXPECT_TRUE(is_op(model->get_results()[0]->get_input_node_ptr(0), "InputStage"));
  EXPECT_FALSE(expand_input_stages(*expanded)) << "there is none left";
}

/// OpenVINO reads and computes the written models: expand_oracle.py, once for all cases.
TEST(ExpandInputStage, OpenVinoReadsItAndComputesTheSame) {
  const char* source = std::getenv("TENON_SOURCE_DIR");
  const char* python = std::getenv("TENON_PYTHON");
  ASSERT_TRUE(source) << "TENON_SOURCE_DIR must name the repository";
  const fs::path folder = fs::temp_directory_path() / ("tenon_expand_" + std::to_string(::getpid()));
  struct Case {
    Tensor wanted;
    double tolerance;
  };
  std::vector<Case> cases;
  fs::create_directories(folder);
  for (unsigned seed = 0; cases.size() < 30; ++seed) {
    Dice dice(seed + 1000);
    const InputStageOptions options = random_options(dice, kFormats[seed % std::size(kFormats)]);
    std::shared_ptr<Model> model;
    try {
      model = stage_model(options);
    } catch (const Error&) {
      continue;
    }
    const std::string name = std::to_string(cases.size());
    serialize(*expand_input_stages(*model), folder / (name + ".xml"));
    const auto inputs = noise(*model, seed);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      std::ofstream(folder / (name + "_" + std::to_string(i) + ".raw"), std::ios::binary)
          .write(static_cast<const char*>(inputs[i].data()), static_cast<std::streamsize>(inputs[i].size_bytes()));
    cases.push_back({evaluate(*model, inputs).at(0), tolerance(options)});
  }
  const std::string command = (python ? std::string(python) : std::string(source) + "/build/venv/bin/python") + " " +
                              source + "/graph/input_stage/expand_oracle.py " + folder.string() + " " +
                              std::to_string(cases.size());
  EXPECT_EQ(std::system(command.c_str()), 0) << "is OpenVINO's Python package there?";
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(i);
    Tensor got(cases[i].wanted.element_type(), cases[i].wanted.shape());
    std::ifstream in(folder / (std::to_string(i) + ".out"), std::ios::binary);
    in.read(static_cast<char*>(got.data()), static_cast<std::streamsize>(got.size_bytes()));
    ASSERT_EQ(static_cast<std::size_t>(in.gcount()), got.size_bytes());
    expect_near(got, cases[i].wanted, cases[i].tolerance);
    if (::testing::Test::HasFailure()) break;
  }
  fs::remove_all(folder);
}

}  // namespace expand_test
