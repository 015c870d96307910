// SPDX-License-Identifier: Apache-2.0
// The model that finds what moves (models/motion.py), on scenes whose motion is known and on the demo's clip, on every
// device that keeps states; OpenVINO's CPU plugin runs the same file beside it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <tenon/frameworks/ffmpeg/video.hpp>
#include <tenon/runtime/runtime.hpp>
#include <tenon/tests/support/named_driver.hpp>
#include <tenon/vision/decode.hpp>
#include <tenon/vision/ground_truth.hpp>
#ifdef HAS_OPENVINO
#include <openvino/openvino.hpp>
#endif

namespace tenon {
namespace motion_test {

using vision::Box;
using vision::Detection;

constexpr std::size_t kWidth = 512, kHeight = 288;

std::string model_file(const std::string& name) {
  const char* folder = std::getenv("TENON_MODELS");
  return std::string(folder ? folder : "models") + "/" + name;
}

/// A filled rectangle of one colour, from whole pixel to whole pixel.
struct Thing {
  Box box;
  float brightness;
};

/// A textured wall seen by a camera with noise, and things in front of it. Reproducible.
class Scene {
 public:
  explicit Scene(unsigned seed = 1) : random_(seed) {
    std::uniform_real_distribution<float> shade(0.2f, 0.8f);
    for (float& cell : wall_) cell = shade(random_);
  }

  /// The next picture, [1,3,288,512] in 0..1. `light` is added everywhere.
  Tensor picture(const std::vector<Thing>& things, float light = 0) {
    Tensor tensor(element::f32, Shape{1, 3, kHeight, kWidth});
    auto* pixels = tensor.data<float>();
    const auto noise = [this] {  // The sum of two bytes: deviation 0.02. Cheap, since there are millions.
      state_ = state_ * 1664525u + 1013904223u;
      return static_cast<float>((state_ >> 24) + (state_ >> 16 & 255)) * (0.1f / 510) - 0.05f;
    };
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t y = 0; y < kHeight; ++y, pixels += kWidth) {
        const float* cells = &wall_[(c * kRows + y / kBlock) * kColumns];
        for (std::size_t x = 0; x < kWidth; x += kBlock) std::fill_n(pixels + x, kBlock, *cells++);
        for (const Thing& thing : things) {
          const auto row = static_cast<float>(y);
          if (row < thing.box.y1 || row >= thing.box.y2) continue;
          std::fill(pixels + static_cast<std::ptrdiff_t>(thing.box.x1),
                    pixels + static_cast<std::ptrdiff_t>(thing.box.x2), thing.brightness);
        }
        for (std::size_t x = 0; x < kWidth; ++x) pixels[x] = pixels[x] + light + noise();
      }
    }
    return tensor;
  }

 private:
  static constexpr std::size_t kBlock = 16, kColumns = kWidth / kBlock, kRows = kHeight / kBlock;
  std::mt19937 random_;
  std::uint32_t state_ = 1;
  std::vector<float> wall_ = std::vector<float>(3 * kRows * kColumns);
};

/// 60 x 50 pixels, from left to right and back, six pixels per picture.
Thing walker(int t) {
  const int way = 2 * (static_cast<int>(kWidth) - 60);
  const int at = (6 * t) % way;
  const auto x = static_cast<float>(std::min(at, way - at));
  return {{x, 100, x + 60, 150}, 0.95f};
}

float best_overlap(const std::vector<Detection>& found, const Box& box) {
  float best = 0;
  for (const Detection& detection : found) best = std::max(best, intersection_over_union(detection.box, box));
  return best;
}

class Motion : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto devices = core.get_available_devices();
    const std::string device = GetParam();
    const bool is_there = std::any_of(devices.begin(), devices.end(), [&](const std::string& name) {
      return name == device || name.rfind(device + ".", 0) == 0;
    });
    if (!is_there && device == "NPU" && driver_is_named()) FAIL() << core.get_unavailable_devices()["NPU"];
    if (!is_there) GTEST_SKIP() << device << " is not here";
    model = core.read_model(model_file("motion.xml"));
    compiled = core.compile_model(model, device);
    request = compiled.create_infer_request();
    decoder.emplace(vision::decode_options(*model));
  }
  std::vector<Detection> find(InferRequest& in, const Tensor& picture) {
    in.set_input_tensor(picture);
    in.infer();
    return vision::detections(in, *decoder);
  }
  std::vector<Detection> find(const Tensor& picture) { return find(request, picture); }

  Core core;
  std::shared_ptr<Model> model;
  CompiledModel compiled;
  InferRequest request;
  std::optional<vision::Decoder> decoder;
};

TEST_P(Motion, WhatMovesIsFoundAndNothingElse) {
  Scene scene;
  const Thing still{{300, 200, 340, 250}, 0.05f};
  int found = 0, wrong = 0;
  constexpr int kWarmUp = 60, kPictures = 180;  // The first pictures leave a trace for two seconds.
  for (int t = 0; t < kPictures; ++t) {
    const Thing moving = walker(t);
    const auto detections = find(scene.picture({still, moving}));
    if (t < kWarmUp) continue;
    found += best_overlap(detections, moving.box) >= 0.5f;
    for (const Detection& detection : detections) {
      wrong += intersection_over_union(detection.box, moving.box) < 0.1f;
      EXPECT_EQ(detection.label, "moving");
    }
  }
  EXPECT_GE(found, (kPictures - kWarmUp) * 95 / 100);
  EXPECT_LE(wrong, 2) << "boxes where nothing moves";
}

TEST_P(Motion, TwoThingsHaveTwoBoxes) {
  Scene scene;
  for (int t = 0; t < 90; ++t) {
    Thing upper = walker(t), lower = walker(t + 20);
    lower.box.y1 = 220;
    lower.box.y2 = 260;
    const auto found = find(scene.picture({upper, lower}));
    if (t < 70) continue;
    EXPECT_EQ(found.size(), 2u) << "picture " << t;
    EXPECT_GE(best_overlap(found, upper.box), 0.5f) << "picture " << t;
    EXPECT_GE(best_overlap(found, lower.box), 0.5f) << "picture " << t;
  }
}

TEST_P(Motion, WhatStopsFadesIntoTheBackground) {
  Scene scene;
  for (int t = 0; t < 30; ++t) find(scene.picture({}));
  const Thing parked{{200, 100, 260, 150}, 0.95f};
  EXPECT_GE(best_overlap(find(scene.picture({parked})), parked.box), 0.5f) << "it has just come";
  int seen = 1;
  while (seen < 300 && best_overlap(find(scene.picture({parked})), parked.box) > 0) ++seen;
  EXPECT_GT(seen, 20) << "a moment is no reason to forget it";
  EXPECT_LT(seen, 300) << "it never became background";
  for (int t = 0; t < 50; ++t) find(scene.picture({parked}));
  EXPECT_GE(best_overlap(find(scene.picture({})), parked.box), 0.5f) << "its going is motion again";
}

TEST_P(Motion, LightAndCutsAreNoMotion) {
  Scene scene, other(2);
  for (int t = 0; t < 30; ++t) find(scene.picture({}));
  for (int t = 0; t < 40; ++t)
    EXPECT_THAT(find(scene.picture({}, 0.1f * std::sin(0.3f * static_cast<float>(t)))), ::testing::IsEmpty()) << t;
  for (int t = 0; t < 20; ++t) EXPECT_THAT(find(other.picture({})), ::testing::IsEmpty()) << "after the cut, " << t;
}

TEST_P(Motion, StatesBelongToTheRequestAndResetForgets) {
  const auto run = [&](InferRequest& in) {
    Scene scene;
    std::vector<float> all;
    for (int t = 0; t < 12; ++t) {
      find(in, scene.picture({walker(t)}));
      const Tensor output = in.get_output_tensor();
      all.insert(all.end(), output.data<float>(), output.data<float>() + output.element_count());
    }
    return all;
  };
  const std::vector<float> first = run(request);
  EXPECT_GT(*std::max_element(first.begin(), first.end()), 0) << "nothing was found at all";
  InferRequest other = compiled.create_infer_request();
  EXPECT_EQ(run(other), first) << "a request of its own begins anew";
  EXPECT_NE(run(request), first) << "the background goes on";
  request.reset_state();
  EXPECT_EQ(run(request), first) << "reset_state() forgets";
  std::vector<std::string> names;
  for (VariableState& state : request.query_state()) names.push_back(state.get_name());
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("background", "spread", "age"));
}

TEST_P(Motion, TheDemosMovingShapesAreFound) {
  const vision::GroundTruth truth = vision::read_ground_truth(model_file("demo.json"));
  ffmpeg::Video video = ffmpeg::open(model_file("demo.mp4"));
  Requirements wanted;
  wanted.fd = FdKind::kMemfd;  // Whole pages, which every device can use in place.
  wanted.pitch_alignment = 64;
  video.use_pool(wanted);
  const FrameInfo info = video.info();
  vision::Decoder in_frame(vision::decode_options(*model, info));
  auto in = core.compile_model(model, GetParam(), input_frames(info)).create_infer_request();
  std::size_t index = 0, shapes = 0, found = 0, boxes = 0, on_shapes = 0;
  for (const Frame& frame : video) {
    in.set_frame(0, frame);
    in.infer();
    const auto& detections = vision::detections(in, in_frame);
    const auto& truths = truth.frames.at(index++);
    boxes += detections.size();
    for (const Detection& detection : detections) {
      on_shapes += std::any_of(truths.begin(), truths.end(), [&](const vision::Truth& shape) {
        return intersection_over_union(shape.box, detection.box) > 0;
      });
    }
    for (const vision::Truth& shape : truths) {
      if (shape.difficult) continue;
      const float x = (shape.box.x1 + shape.box.x2) / 2, y = (shape.box.y1 + shape.box.y2) / 2;
      ++shapes;
      found += std::any_of(detections.begin(), detections.end(), [&](const Detection& detection) {
        const Box& b = detection.box;
        return b.x1 <= x && x <= b.x2 && b.y1 <= y && y <= b.y2;
      });
    }
  }
  const double recall = static_cast<double>(found) / static_cast<double>(shapes);
  const double precision = static_cast<double>(on_shapes) / static_cast<double>(boxes);
  std::printf("%s on demo.mp4: %zu boxes, %.3f of them on a moving shape; %.3f of the shapes lie in one\n", GetParam(),
              boxes, precision, recall);
  RecordProperty("recall", std::to_string(recall));
  EXPECT_EQ(index, 600u);
  EXPECT_GE(recall, 0.5);
  EXPECT_GE(precision, 0.95);
  EXPECT_EQ(in.ledger().total().copied, 0u);
}

#ifdef HAS_OPENVINO
TEST_P(Motion, AgreesWithOpenVinosCpuPlugin) {
  ov::Core judge_core;
  auto judge = judge_core
                   .compile_model(model_file("motion.xml"), "CPU", ov::hint::inference_precision(ov::element::f32),
                                  ov::inference_num_threads(1))
                   .create_infer_request();
  Scene scene;
  std::size_t pictures = 0, alike = 0;
  for (int t = 0; t < 60; ++t, ++pictures) {
    const Tensor picture = scene.picture({walker(t), Thing{{300, 200, 340, 250}, 0.05f}});
    const auto ours = find(picture);
    judge.set_input_tensor(
        ov::Tensor(ov::element::f32, ov::Shape(picture.shape().begin(), picture.shape().end()), picture.data()));
    judge.infer();
    ov::Tensor output = judge.get_output_tensor();
    const Tensor wrapped(element::f32, Shape(output.get_shape().begin(), output.get_shape().end()), output.data());
    const auto theirs = vision::detections(wrapped, decoder->options());
    // Cells at the threshold may go either way by the last bit: a box is then one cell larger or smaller.
    const bool agree =
        ours.size() == theirs.size() && std::all_of(theirs.begin(), theirs.end(), [&](const Detection& detection) {
          return best_overlap(ours, detection.box) >= 0.8f;
        });
    alike += agree;
  }
  EXPECT_GE(alike, pictures - 2);
  // The background is the same, picture by picture.
  for (auto& state : judge.query_state()) {
    for (VariableState& ours : request.query_state()) {
      if (ours.get_name() != state.get_name()) continue;
      const Tensor mine = ours.get_state();
      const ov::Tensor its = state.get_state();
      ASSERT_EQ(mine.element_count(), its.get_size()) << state.get_name();
      std::size_t differing = 0;
      for (std::size_t i = 0; i < its.get_size(); ++i)
        differing += !(std::abs(mine.data<float>()[i] - its.data<const float>()[i]) <= 0.01f);
      EXPECT_LE(differing, its.get_size() / 500) << state.get_name();
    }
  }
}
#endif

INSTANTIATE_TEST_SUITE_P(Devices, Motion, ::testing::Values("CPU", "NPU"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace motion_test
}  // namespace tenon
