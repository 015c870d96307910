// SPDX-License-Identifier: Apache-2.0
// The model that names colours (models/colour.py): what it says of colours that have names, on every device, and beside OpenVINO's CPU plugin.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <tenon/runtime/runtime.hpp>
#include <tenon/tests/support/named_driver.hpp>
#ifdef HAS_OPENVINO
#include <openvino/openvino.hpp>
#endif

namespace tenon {
namespace colour_test {

constexpr std::size_t kSide = 32;
using Colour = std::array<int, 3>;

std::string model_file() {
  const char* folder = std::getenv("TENON_MODELS");
  return std::string(folder ? folder : "models") + "/colour.xml";
}

/// [1,3,32,32] in 0..1: a disc of one colour on a ground of another.
Tensor picture(const Colour& disc, const Colour& ground) {
  Tensor tensor(element::f32, Shape{1, 3, kSide, kSide});
  auto* pixels = tensor.data<float>();
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t y = 0; y < kSide; ++y) {
      for (std::size_t x = 0; x < kSide; ++x) {
        const double dx = static_cast<double>(x) + 0.5 - kSide / 2.0, dy = static_cast<double>(y) + 0.5 - kSide / 2.0;
        const Colour& colour = dx * dx + dy * dy < kSide * kSide / 4.0 ? disc : ground;
        *pixels++ = static_cast<float>(colour[c]) / 255;
      }
    }
  }
  return tensor;
}

class ColourModel : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto devices = core.get_available_devices();
    const std::string device = GetParam();
    const bool is_there = std::any_of(devices.begin(), devices.end(), [&](const std::string& name) {
      return name == device || name.rfind(device + ".", 0) == 0;
    });
    if (!is_there && device == "NPU" && driver_is_named()) FAIL() << core.get_unavailable_devices()["NPU"];
    if (!is_there) GTEST_SKIP() << device << " is not here";
    const auto model = core.read_model(model_file());
    std::istringstream names(model->get_rt_info<std::string>("model_info", "labels"));
    for (std::string name; names >> name;) labels.push_back(name);
    // A CPU with matrices of bf16 would compute in those.
    const AnyMap exact = std::string(device) == "CPU" ? AnyMap{hint::inference_precision(element::f32)} : AnyMap{};
    request = core.compile_model(model, device, exact).create_infer_request();
  }
  std::vector<float> scores(const Tensor& image) {
    request.set_input_tensor(image);
    request.infer();
    const Tensor output = request.get_output_tensor();
    return {output.data<float>(), output.data<float>() + output.element_count()};
  }
  std::string name_of(const Tensor& image) {
    const std::vector<float> all = scores(image);
    return labels.at(static_cast<std::size_t>(std::max_element(all.begin(), all.end()) - all.begin()));
  }

  Core core;
  std::vector<std::string> labels;
  InferRequest request;
};

TEST_P(ColourModel, NamesWhatPeopleWouldCallSo) {
  const Colour ground{140, 150, 160};
  const std::map<std::string, Colour> known{
      {"black", {10, 12, 8}},    {"white", {245, 240, 238}}, {"red", {220, 30, 35}},     {"yellow", {235, 220, 40}},
      {"green", {40, 170, 60}},  {"blue", {40, 70, 220}},    {"violet", {140, 50, 200}}, {"orange", {240, 130, 20}},
      {"grey", {125, 130, 128}}, {"cyan", {40, 200, 215}},   {"pink", {240, 120, 185}},  {"brown", {120, 75, 40}}};
  ASSERT_EQ(labels.size(), known.size());
  for (const auto& [name, colour] : known) EXPECT_EQ(name_of(picture(colour, ground)), name);
}

TEST_P(ColourModel, ScoresAreProbabilitiesAndTheMiddleCounts) {
  const Colour red{205, 45, 45}, blue{50, 80, 200};
  const std::vector<float> all = scores(picture(red, blue));
  float sum = 0;
  for (const float score : all) sum += score;
  EXPECT_NEAR(sum, 1, 1e-3f);
  EXPECT_EQ(name_of(picture(red, blue)), "red");
  EXPECT_EQ(name_of(picture(blue, red)), "blue");
}

#ifdef HAS_OPENVINO
TEST_P(ColourModel, AgreesWithOpenVinosCpuPlugin) {
  ov::Core judge_core;
  auto judge = judge_core
                   .compile_model(model_file(), "CPU", ov::hint::inference_precision(ov::element::f32),
                                  ov::inference_num_threads(1))
                   .create_infer_request();
  std::mt19937 random(1);
  std::uniform_int_distribution<int> sample(0, 255);
  const auto any = [&] { return Colour{sample(random), sample(random), sample(random)}; };
  // The NPU computes in 16 bits, of which scores between two colours show the last ones.
  const float tolerance = std::string(GetParam()) == "NPU" ? 0.05f : 1e-4f;
  for (int i = 0; i < 40; ++i) {
    const Tensor image = picture(any(), any());
    const std::vector<float> ours = scores(image);
    judge.set_input_tensor(
        ov::Tensor(ov::element::f32, ov::Shape(image.shape().begin(), image.shape().end()), image.data()));
    judge.infer();
    ov::Tensor theirs = judge.get_output_tensor();
    ASSERT_EQ(theirs.get_size(), ours.size());
    for (std::size_t j = 0; j < ours.size(); ++j) EXPECT_NEAR(ours[j], theirs.data<float>()[j], tolerance) << labels[j];
  }
}
#endif

INSTANTIATE_TEST_SUITE_P(Devices, ColourModel, ::testing::Values("CPU", "NPU"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace colour_test
}  // namespace tenon
