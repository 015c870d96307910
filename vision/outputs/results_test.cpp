// SPDX-License-Identifier: Apache-2.0
// Masks, points, texts and events: exact cases by hand.
#include <tenon/vision/results.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tenon/core/error.hpp>
#include <tenon/tests/support/error_of.hpp>
#include <tenon/vision/audio_events.hpp>
#include <tenon/vision/ctc.hpp>
#include <tenon/vision/keypoints.hpp>
#include <tenon/vision/masks.hpp>
#include <tenon/vision/oriented.hpp>

namespace results_test {

using namespace tenon;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using vision::DecodeOptions;

Tensor reals(const Shape& shape, const std::vector<float>& values = {}) {
  Tensor made(ElementType::kF32, shape);
  std::fill_n(made.data<float>(), made.element_count(), 0.0f);
  std::copy(values.begin(), values.end(), made.data<float>());
  return made;
}

/// An input of 64x32, into which a frame of 128x128 was put at (16, 0), 32x32.
DecodeOptions letterboxed(const std::string& type, std::vector<std::string> labels = {"cat", "dog"}) {
  DecodeOptions o;
  o.model_type = type;
  o.labels = std::move(labels);
  o.input_width = 64, o.input_height = 32;
  o.frame_width = o.frame_height = 128;
  o.geometry = FrameGeometry{{0, 0, 128, 128}, {16, 0, 32, 32}};
  return o;
}

std::vector<int> bytes(const Tensor& mask) {
  const auto* values = static_cast<const std::uint8_t*>(mask.data());
  return {values, values + mask.element_count()};
}

TEST(Segmentation, TakesTheBestClassOfEachPixelOverTheFrameOnly) {
  // 8x4 cells of 8 pixels: the frame lies over columns 2 to 5.
  const Tensor scores = reals({1, 3, 4, 8});
  float* at = scores.data<float>();
  at[1 * 32 + 0 * 8 + 2] = 1;  // class 1 at column 2, row 0: the frame's corner
  at[2 * 32 + 3 * 8 + 5] = 1;  // class 2 at its other corner
  at[2 * 32 + 0 * 8 + 0] = 1;  // in the padding
  const auto found = vision::segment({&scores, 1}, letterboxed("Segmentation", {"none", "a", "b"}));
  EXPECT_EQ(found.box, (metadata::Box{0, 0, 128, 128}));
  EXPECT_EQ(found.mask.shape(), (Shape{4, 4}));
  EXPECT_THAT(bytes(found.mask), ElementsAre(1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2));
  EXPECT_THAT(found.labels, ElementsAre("none", "a", "b"));
}

TEST(Segmentation, OfOneClassComparesWithTheThreshold) {
  DecodeOptions options = letterboxed("Segmentation");
  options.geometry.reset();
  const Tensor probabilities = reals({1, 1, 1, 4}, {0.2f, 0.5f, 0.9f, 0});
  EXPECT_THAT(bytes(vision::segment({&probabilities, 1}, options).mask), ElementsAre(0, 1, 1, 0));
  const Tensor logits = reals({1, 1, 1, 4}, {-3, 0.1f, 5, -0.1f});
  EXPECT_THAT(bytes(vision::segment({&logits, 1}, options).mask), ElementsAre(0, 1, 1, 0));
}

TEST(Segmentation, ReadsClassesAsIntegers) {
  DecodeOptions options = letterboxed("Segmentation");
  options.geometry.reset();
  Tensor classes(ElementType::kI64, Shape{1, 2, 2});
  const std::int64_t values[] = {0, 3, 300, -1};
  std::copy_n(values, 4, static_cast<std::int64_t*>(classes.data()));
  EXPECT_THAT(bytes(vision::segment({&classes, 1}, options).mask), ElementsAre(0, 3, 0, 0));
  const Tensor flat = reals({1, 4});
  EXPECT_THAT(error_of([&] { vision::segment({&flat, 1}, options); }).what(), HasSubstr("[1,classes,h,w]"));
}

TEST(Segmentation, SoftPredictionsAreTheScoresOverTheFrame) {
  const Tensor scores = reals({1, 3, 4, 8});
  for (std::size_t i = 0; i < 96; ++i) scores.data<float>()[i] = static_cast<float>(i) - 40;  // Logits may be negative.
  DecodeOptions options = letterboxed("Segmentation", {"none", "a", "b"});
  const auto read = [&](const Tensor& output) {
    metadata::Collection all;
    vision::ResultReader(options, "m").read({&output, 1}, all, all.add(metadata::Detection{}));
    EXPECT_EQ(all.all<metadata::Segmentation>().size(), 1u);
    return all.all<metadata::TensorOutput>();
  };
  EXPECT_TRUE(read(scores).empty()) << "they cost memory, and are there where they are asked for";
  options.parameters["soft_predictions"] = "YES";
  const auto found = read(scores);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].parent, 1u);
  EXPECT_EQ(found[0]->name, "soft_prediction");
  EXPECT_EQ(found[0]->format, "class_scores");
  EXPECT_EQ(found[0]->model, "m");
  ASSERT_EQ(found[0]->tensor.shape(), (Shape{3, 4, 4})) << "a map for each class, with the cells of the mask";
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t y = 0; y < 4; ++y)
      for (std::size_t x = 0; x < 4; ++x)
        EXPECT_EQ(found[0]->tensor.data<float>()[(c * 4 + y) * 4 + x], scores.data<float>()[c * 32 + y * 8 + x + 2]);
  Tensor classes(ElementType::kU8, Shape{1, 4, 8});
  std::memset(classes.data(), 0, classes.size_bytes());
  EXPECT_THAT(error_of([&] { read(classes); }, Code::kInvalidArgument), HasSubstr("soft predictions"));
}

TEST(Segmentation, NeighboursCountWhereTheModelSaysSo) {
  DecodeOptions options = letterboxed("Segmentation");
  options.geometry.reset();
  // One row: the second class is alone among cells of the first.
  const Tensor scores = reals({1, 2, 1, 5}, {0.9f, 0.9f, 0.3f, 0.9f, 0.9f, 0.1f, 0.1f, 0.7f, 0.1f, 0.1f});
  const auto classes = [&](std::map<std::string, std::string> parameters) {
    options.parameters = std::move(parameters);
    metadata::Collection all;
    vision::ResultReader(options, "m").read({&scores, 1}, all);
    return bytes(all.first<metadata::Segmentation>()->mask);
  };
  EXPECT_THAT(classes({}), ElementsAre(0, 0, 1, 0, 0));
  EXPECT_THAT(classes({{"blur_strength", "3"}}), ElementsAre(0, 0, 0, 0, 0)) << "means of the second: 0.1 to 0.3";
  EXPECT_THAT(classes({{"blur_strength", "3"}, {"soft_threshold", "inf"}}), ElementsAre(0, 0, 1, 0, 0));
  EXPECT_THAT(classes({{"soft_threshold", "0.95"}}), ElementsAre(0, 0, 1, 0, 0)) << "it is of means alone";
  EXPECT_THAT(classes({{"blur_strength", "1"}, {"soft_threshold", "0.8"}}), ElementsAre(0, 0, 0, 0, 0))
      << "0.7 is no more than nothing";
  // Mirrored at the ends without repeating these: the first mean is (0.5 + 0 + 0.5) / 3.
  const Tensor edge = reals({1, 2, 1, 3}, {0.32f, 0.32f, 0.32f, 0, 0.5f, 0});
  EXPECT_THAT(bytes(vision::segment({&edge, 1}, options, {3, 0}).mask), ElementsAre(1, 0, 1));
  const Tensor one = reals({1, 2, 1, 1}, {1, 2});
  EXPECT_THAT(bytes(vision::segment({&one, 1}, options, {255, 0}).mask), ElementsAre(1));
  for (const auto& [name, value] : {std::pair("blur_strength", "2.5"), std::pair("blur_strength", "256"),
                                    std::pair("soft_threshold", "half"), std::pair("soft_predictions", "maybe")})
    EXPECT_THAT(error_of(
                    [&, n = name, v = value] {
                      classes({{n, v}});
                    },
                    Code::kInvalidArgument),
                HasSubstr(std::string(name) + " is \"" + value + "\""));
}

/// The mask of 16x16 pixels that `is_in(x, y)` has.
template <typename IsIn>
std::vector<int> square_mask(IsIn is_in) {
  std::vector<int> made;
  for (int y = 0; y < 16; ++y)
    for (int x = 0; x < 16; ++x) made.push_back(is_in(x, y));
  return made;
}

TEST(MaskedObjects, AreCoefficientsTimesPrototypesOverTheBox) {
  // Two boxes: columns are boxes, rows are x, y, w, h, two scores, two coefficients.
  const Tensor rows = reals({1, 8, 2}, {24, 40, 8, 8, 16, 16, 16, 16,  // centres (24, 8), (40, 8), both 16x16
                                        0.9f, 0.1f, 0, 0.8f, 1, 0, 0, -1});
  // Two prototypes of 8x4 cells of 8 pixels.
  const Tensor prototypes = reals({1, 2, 4, 8});
  float* at = prototypes.data<float>();
  at[0 * 32 + 0 * 8 + 2] = 1;                                           // of the first, cell (2, 0): in the first box
  at[0 * 32 + 0 * 8 + 6] = 1;                                           // outside of it
  for (int i = 0; i < 32; ++i) at[32 + i] = i % 8 == 5 ? -1.0f : 1.0f;  // of the second, times -1: column 5
  const std::vector<Tensor> outputs{prototypes, rows};
  const auto found = vision::masked_objects(outputs, letterboxed("YOLOv8-seg"));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].object.label, "cat");
  EXPECT_EQ(found[0].object.box, (metadata::Box{0, 0, 64, 64}));
  EXPECT_EQ(found[0].mask.box, (metadata::Box{0, 0, 64, 64}));
  // In pixels of the input: the sum falls to 0 at the centres of the cells around the first one, and changes its sign between two columns.
  EXPECT_EQ(found[0].mask.mask.shape(), (Shape{16, 16}));
  EXPECT_EQ(bytes(found[0].mask.mask), square_mask([](int x, int y) { return x < 12 && y < 12; }));
  EXPECT_EQ(found[1].object.label, "dog");
  EXPECT_EQ(bytes(found[1].mask.mask), square_mask([](int x, int) { return x >= 8; }));
  EXPECT_THAT(error_of([&] {
                vision::masked_objects({&rows, 1}, letterboxed("YOLOv8-seg"));
              }).what(),
              HasSubstr("[1,m,h,w]"));
}

TEST(Keypoints, OfHeatMapsLeanToTheHigherNeighbour) {
  // 16x8 cells of 4 pixels.
  const Tensor maps = reals({1, 2, 8, 16});
  float* at = maps.data<float>();
  at[3 * 16 + 6] = 0.9f;        // cell (6, 3)
  at[3 * 16 + 7] = 0.3f;        // to the right
  at[2 * 16 + 6] = 0.2f;        // above
  at[128 + 0 * 16 + 4] = 0.7f;  // at the upper border: no lean there
  const Tensor found = vision::keypoints_of_maps({&maps, 1}, letterboxed("Heatmaps"));
  ASSERT_EQ(found.shape(), (Shape{2, 3}));
  const float* row = found.data<float>();
  EXPECT_FLOAT_EQ(row[0], ((6.5f + 0.25f) * 4 - 16) * 4);
  EXPECT_FLOAT_EQ(row[1], (3.5f - 0.25f) * 4 * 4);
  EXPECT_FLOAT_EQ(row[2], 0.9f);
  EXPECT_FLOAT_EQ(row[3], (4.5f * 4 - 16) * 4);
  EXPECT_FLOAT_EQ(row[4], 0.5f * 4 * 4);
}

TEST(Keypoints, BesideBoxesAreMappedToTheFrame) {
  const Tensor rows = reals({1, 11, 1}, {32, 16, 8, 8, 0.9f, 20, 4, 0.5f, 30, 6, 0.25f});
  const auto found = vision::posed_objects({&rows, 1}, letterboxed("YOLOv8-pose", {"person"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].object.box, (metadata::Box{48, 48, 80, 80}));
  const float* row = found[0].points.data<float>();
  EXPECT_THAT(std::vector<float>(row, row + 6), ElementsAre(16, 16, 0.5f, 56, 24, 0.25f));
}

TEST(Keypoints, ScoresThatAreLogitsBecomeProbabilities) {
  const Tensor rows = reals({1, 8, 3}, {32, 24, 40,  16, 16, 16, 8,    8,    8,   8, 8, 8,  // the boxes
                                        2,  -4, NAN,                                        // their scores
                                        20, 20, 20,  4,  4,  4,  0.5f, 0.5f, 0.5f});
  const auto found = vision::posed_objects({&rows, 1}, letterboxed("YOLOv8-pose", {"person"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(found[0].object.score, 0.880797, 1e-5);
  const Tensor finished = reals({1, 1, 9}, {8, 8, 24, 24, 2.5f, 0, 20, 4, 0.5f});
  EXPECT_THAT(error_of([&] {
                vision::posed_objects({&finished, 1}, letterboxed("YOLOv8-pose", {"person"}));
              }).what(),
              HasSubstr("score 2.5"));
}

TEST(MaskedObjects, WithSuppressionInsideAreRows) {
  // The same two boxes as above, as rows of two corners, score, class, two coefficients.
  const Tensor rows = reals({1, 300, 8}, {16, 0, 32, 16, 0.9f, 0, 1, 0, 32, 0, 48, 16, 0.8f, 1, 0, -1});
  const Tensor prototypes = reals({1, 2, 4, 8});
  float* at = prototypes.data<float>();
  at[0 * 32 + 0 * 8 + 2] = 1;
  for (int i = 0; i < 32; ++i) at[32 + i] = i % 8 == 5 ? -1.0f : 1.0f;
  const std::vector<Tensor> outputs{rows, prototypes};
  const auto found = vision::masked_objects(outputs, letterboxed("YOLOv8-seg"));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].object.label, "cat");
  EXPECT_EQ(found[0].object.box, (metadata::Box{0, 0, 64, 64}));
  EXPECT_EQ(bytes(found[0].mask.mask), square_mask([](int x, int y) { return x < 12 && y < 12; }));
  EXPECT_EQ(found[1].object.label, "dog");
  EXPECT_EQ(bytes(found[1].mask.mask), square_mask([](int x, int) { return x >= 8; }));
}

TEST(MaskedObjects, OfPrototypesFinerThanTheInputHaveTheirCells) {
  const Tensor rows = reals({1, 300, 7}, {16, 0, 32, 16, 0.9f, 0, 1});
  const Tensor prototypes = reals({1, 1, 64, 128});
  prototypes.data<float>()[0 * 128 + 33] = 1;
  const std::vector<Tensor> outputs{rows, prototypes};
  const auto found = vision::masked_objects(outputs, letterboxed("YOLOv8-seg"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].mask.mask.shape(), (Shape{32, 32}));
  const std::vector<int> cells = bytes(found[0].mask.mask);
  EXPECT_EQ(std::accumulate(cells.begin(), cells.end(), 0), 1);
  EXPECT_EQ(cells[1], 1);
}

TEST(MaskedObjects, WithoutBoundsOrNumbersSpoilNoNeighbours) {
  const Tensor rows = reals({1, 300, 7}, {16, 0, 32, 16, 0.9f, 0, 1});
  const Tensor prototypes = reals({1, 1, 4, 8});
  float* at = prototypes.data<float>();
  std::fill(at, at + 32, 1.0f);
  at[2] = INFINITY, at[8 + 2] = -INFINITY, at[8 + 3] = NAN;
  const std::vector<Tensor> outputs{rows, prototypes};
  const auto found = vision::masked_objects(outputs, letterboxed("YOLOv8-seg"));
  ASSERT_EQ(found.size(), 1u);
  const std::vector<int> pixels = bytes(found[0].mask.mask);
  EXPECT_EQ(pixels[0], 1);             // the cell without bounds
  EXPECT_EQ(pixels[12 * 16], 0);       // the one below it
  EXPECT_EQ(pixels[15], 1);            // beside it
  EXPECT_EQ(pixels[12 * 16 + 12], 0);  // what is no number belongs to nothing
}

TEST(MaskedObjects, AsManyAsFillTheMemoryHaveCellsOfThePrototypes) {
  // 40 objects over a whole input of 1920x1088 are more than 64 million pixels.
  DecodeOptions options;
  options.model_type = "YOLOv8-seg";
  options.labels = {"cat"};
  options.input_width = 1920, options.input_height = 1088;
  std::vector<float> values;
  for (int i = 0; i < 40; ++i) {
    for (const float value : {0.0f, 0.0f, 1920.0f, 1088.0f, 0.9f, 0.0f, 1.0f}) values.push_back(value);
  }
  const Tensor rows = reals({1, 40, 7}, values), prototypes = reals({1, 1, 4, 8});
  const std::vector<Tensor> outputs{rows, prototypes};
  const auto found = vision::masked_objects(outputs, options);
  ASSERT_EQ(found.size(), 40u);
  EXPECT_EQ(found.front().mask.mask.shape(), (Shape{1088, 1920}));
  EXPECT_EQ(found.back().mask.mask.shape(), (Shape{4, 8}));
  EXPECT_EQ(found.back().mask.box, found.front().mask.box);
}

TEST(Keypoints, WithSuppressionInsideAreRows) {
  const Tensor rows = reals({1, 300, 12}, {28, 12, 36, 20, 0.9f, 0, 20, 4, 0.5f, 30, 6, 0.25f});
  const auto found = vision::posed_objects({&rows, 1}, letterboxed("YOLOv8-pose", {"person"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].object.box, (metadata::Box{48, 48, 80, 80}));
  const float* row = found[0].points.data<float>();
  EXPECT_THAT(std::vector<float>(row, row + 6), ElementsAre(16, 16, 0.5f, 56, 24, 0.25f));
}

TEST(Keypoints, AreAsManyAsTheModelSays) {
  // 50 rows of 6 + 51 numbers are also 57 columns of 4 + 1 + 45: the number of points decides.
  DecodeOptions options = letterboxed("YOLOv8-pose", {"person"});
  options.keypoint_count = 17;
  std::vector<float> row(57, 8);
  const std::vector<float> first{28, 12, 36, 20, 0.9f, 0};
  std::copy(first.begin(), first.end(), row.begin());
  const Tensor rows = reals({1, 50, 57}, row);
  const auto found = vision::posed_objects({&rows, 1}, options);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].points.shape(), (Shape{17, 3}));
  EXPECT_EQ(found[0].object.box, (metadata::Box{48, 48, 80, 80}));
}

TEST(Keypoints, MayHaveNoScore) {
  DecodeOptions options = letterboxed("YOLOv8-pose", {"person"});
  options.keypoint_values = 2;
  const Tensor rows = reals({1, 9, 1}, {32, 16, 8, 8, 0.9f, 20, 4, 30, 6});
  const auto found = vision::posed_objects({&rows, 1}, options);
  ASSERT_EQ(found.size(), 1u);
  const float* row = found[0].points.data<float>();
  EXPECT_THAT(std::vector<float>(row, row + 6), ElementsAre(16, 16, 1, 56, 24, 1));
}

TEST(BoxMaskedObjects, HaveAMaskOverTheirBox) {
  // Model API's MaskRCNN: labels count from the one behind the background's.
  const Tensor boxes = reals({2, 5}, {16, 0, 32, 16, 0.9f, 32, 0, 48, 16, 0.1f});
  const Tensor masks = reals({2, 2, 2}, {0.9f, 0.2f, 0.5f, 0.1f, 1, 1, 1, 1});
  Tensor labels(ElementType::kI64, Shape{2});
  static_cast<std::int64_t*>(labels.data())[0] = 0, static_cast<std::int64_t*>(labels.data())[1] = 1;
  const std::vector<Tensor> outputs{labels, masks, boxes};
  const auto found = vision::box_masked_objects(outputs, letterboxed("MaskRCNN", {"background", "cat", "dog"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].object.label, "cat");
  EXPECT_EQ(found[0].object.box, (metadata::Box{0, 0, 64, 64}));
  EXPECT_EQ(found[0].mask.box, (metadata::Box{0, 0, 64, 64}));
  EXPECT_THAT(bytes(found[0].mask.mask), ElementsAre(1, 0, 1, 0));
  EXPECT_THAT(error_of([&] {
                vision::box_masked_objects({&boxes, 1}, letterboxed("MaskRCNN"));
              }).what(),
              HasSubstr("masks [n,h,w]"));
}

TEST(Anomaly, ComparesTheLargestDifferenceWithTheThreshold) {
  // Expected scores: Model API's (value - threshold) / scale + 0.5, of a normal picture 1 minus that.
  DecodeOptions options = letterboxed("AnomalyDetection", {"good", "bad"});
  options.geometry.reset();
  options.image_threshold = 10, options.pixel_threshold = 8, options.normalization_scale = 20;
  const Tensor map = reals({1, 1, 1, 4}, {2, 8, 14, 7});
  const vision::Anomaly bad = vision::anomaly({&map, 1}, options);
  EXPECT_EQ(bad.label, "bad");
  EXPECT_FLOAT_EQ(bad.score, 0.7f);
  ASSERT_TRUE(bad.places);
  EXPECT_THAT(bytes(bad.places->mask), ElementsAre(0, 1, 1, 0));
  const Tensor score = reals({1}, {4});
  const vision::Anomaly good = vision::anomaly({&score, 1}, options);
  EXPECT_EQ(good.label, "good");
  EXPECT_FLOAT_EQ(good.score, 0.8f);
  EXPECT_FALSE(good.places);
  const Tensor scalar = reals({}, {4}), none = reals({1}, {NAN}), some = reals({1, 1, 1, 3}, {NAN, 14, NAN});
  EXPECT_FLOAT_EQ(vision::anomaly({&scalar, 1}, options).score, 0.8f);
  EXPECT_FLOAT_EQ(vision::anomaly({&none, 1}, options).score, 0.5f);
  EXPECT_FLOAT_EQ(vision::anomaly({&some, 1}, options).score, 0.7f);
  const Tensor row = reals({1, 7});
  EXPECT_THAT(error_of([&] { vision::anomaly({&row, 1}, options); }).what(), HasSubstr("[1,1,h,w]"));
}

TEST(Keypoints, OfTwoAxesAreTheirBestPlaces) {
  // SimCC over an input of 64x32, two places a pixel.
  const Tensor x = reals({1, 2, 128}), y = reals({1, 2, 64});
  x.data<float>()[40] = 0.8f, y.data<float>()[10] = 0.6f;
  x.data<float>()[128 + 97] = 0.3f, y.data<float>()[64 + 63] = 0.7f;
  const std::vector<Tensor> outputs{x, y};
  const Tensor found = vision::keypoints_of_maps(outputs, letterboxed("keypoint_detection"));
  const float* row = found.data<float>();
  EXPECT_THAT(std::vector<float>(row, row + 6),
              ElementsAre((20 - 16) * 4, 5 * 4, 0.6f, (48.5f - 16) * 4, 31.5f * 4, 0.3f));
}

TEST(OrientedObjects, HaveTheCornersOfTheirBox) {
  // A box of 16x8 around (32, 16), turned by 90 degrees: 8 wide and 16 high.
  constexpr float kQuarter = 1.57079633f;
  const Tensor raw = reals({1, 7, 1}, {32, 16, 16, 8, 0.1f, 0.9f, kQuarter});
  const Tensor rows = reals({1, 300, 7}, {32, 16, 16, 8, 0.9f, 1, kQuarter});
  for (const Tensor& output : {raw, rows}) {
    const auto found = vision::oriented_objects({&output, 1}, letterboxed("YOLOv8-obb"));
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].object.label, "dog");
    EXPECT_NEAR(found[0].object.box.x1, 48, 1e-3);
    EXPECT_NEAR(found[0].object.box.x2, 80, 1e-3);
    EXPECT_NEAR(found[0].object.box.y1, 32, 1e-3);
    EXPECT_NEAR(found[0].object.box.y2, 96, 1e-3);
    const float* at = found[0].corners.data<float>();
    EXPECT_NEAR(at[0], 80, 1e-3) << "the upper left corner of the box before the turn";
    EXPECT_NEAR(at[1], 32, 1e-3);
  }
}

TEST(OrientedObjects, SuppressByTheTurnedBoxes) {
  // Crossed bars share their upright middle only; a bar beside its double is suppressed. Overlap of the crossed ones by Ultralytics'
  // probiou: 0.2155, of the doubles: 0.9388.
  const Tensor raw =
      reals({1, 6, 3}, {32, 32, 33, 16, 16, 16, 20, 20, 20, 4, 4, 4, 0.9f, 0.8f, 0.7f, 0, 1.57079633f, 0});
  DecodeOptions options = letterboxed("YOLOv8-obb", {"bar"});
  const auto found = vision::oriented_objects({&raw, 1}, options);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_FLOAT_EQ(found[1].object.score, 0.8f);
  options.iou_threshold = 0.95f;
  EXPECT_EQ(vision::oriented_objects({&raw, 1}, options).size(), 3u);
  options.iou_threshold = 0.2f;
  EXPECT_EQ(vision::oriented_objects({&raw, 1}, options).size(), 1u);
}

vision::CtcOptions letters() {
  vision::CtcOptions options;
  options.alphabet = {"a", "b"};
  return options;
}

TEST(Ctc, GreedyJoinsRepeatsAndDropsBlanks) {
  // a a - a b b -
  const Tensor steps = reals({7, 1, 3}, {.8f, .1f, .1f, .8f, .1f, .1f, .1f, .1f, .8f, .8f, .1f,
                                         .1f, .1f, .8f, .1f, .1f, .8f, .1f, .1f, .1f, .8f});
  const auto found = vision::ctc_text({&steps, 1}, letters());
  EXPECT_EQ(found.text, "aab");
  EXPECT_NEAR(found.probability, std::pow(0.8, 7), 1e-6);
}

TEST(Ctc, TheBlankMayComeFirstAndLogitsAreNormalised) {
  vision::CtcOptions options = letters();
  options.blank_first = true;
  const Tensor steps = reals({1, 3, 3}, {0, 9, 0, 9, 0, 0, 0, 0, 9});
  const auto found = vision::ctc_text({&steps, 1}, options);
  EXPECT_EQ(found.text, "ab");
  const double one = std::exp(9) / (std::exp(9) + 2);
  EXPECT_NEAR(found.probability, one * one * one, 1e-6);
}

TEST(Ctc, BeamsFindATextThatNoStepPrefers) {
  // The best path is two blanks (0.36), yet the paths of "a" together have 0.64.
  vision::CtcOptions options = letters();
  const Tensor steps = reals({2, 1, 3}, {.4f, 0, .6f, .4f, 0, .6f});
  EXPECT_EQ(vision::ctc_text({&steps, 1}, options).text, "");
  options.beam_width = 8;
  const auto found = vision::ctc_text({&steps, 1}, options);
  EXPECT_EQ(found.text, "a");
  EXPECT_NEAR(found.probability, 0.64, 1e-6);
}

TEST(Ctc, WideBeamsAreAsGoodAsAllPaths) {
  std::minstd_rand random(5);
  std::uniform_real_distribution<float> logit(-2, 2);
  for (int round = 0; round < 30; ++round) {
    constexpr std::size_t kSteps = 5;
    std::vector<float> values(kSteps * 3);
    for (float& value : values) value = logit(random);
    std::vector<double> shares(values.size());
    for (std::size_t t = 0; t < kSteps; ++t) {
      double sum = 0;
      for (std::size_t c = 0; c < 3; ++c) sum += std::exp(values[t * 3 + c]);
      for (std::size_t c = 0; c < 3; ++c) shares[t * 3 + c] = std::exp(values[t * 3 + c]) / sum;
    }
    std::map<std::string, double> texts;
    for (std::size_t path = 0; path < 243; ++path) {
      std::string text;
      double share = 1;
      std::size_t rest = path, last = 2;
      for (std::size_t t = 0; t < kSteps; ++t, rest /= 3) {
        const std::size_t c = rest % 3;
        share *= shares[t * 3 + c];
        if (c != 2 && c != last) text += c == 0 ? "a" : "b";
        last = c;
      }
      texts[text] += share;
    }
    const auto best =
        std::max_element(texts.begin(), texts.end(), [](auto& a, auto& b) { return a.second < b.second; });
    vision::CtcOptions options = letters();
    options.beam_width = 1000;
    const Tensor steps = reals({kSteps, 1, 3}, values);
    const auto found = vision::ctc_text({&steps, 1}, options);
    EXPECT_EQ(found.text, best->first) << round;
    EXPECT_NEAR(found.probability, best->second, 1e-6) << round;
  }
}

TEST(Ctc, DamagedStepsAreLeftOut) {
  for (const std::size_t width : {1u, 4u}) {
    vision::CtcOptions options = letters();
    options.beam_width = width;
    const Tensor some = reals({3, 1, 3}, {1, 0, 0, NAN, 0, 1, 0, INFINITY, 1});
    EXPECT_EQ(vision::ctc_text({&some, 1}, options).text, "a");
    EXPECT_EQ(vision::ctc_text({&some, 1}, options).probability, 1);
    const Tensor all = reals({1, 1, 3}, {-INFINITY, -INFINITY, -INFINITY});
    EXPECT_EQ(vision::ctc_text({&all, 1}, options).probability, 0);
  }
}

TEST(Ctc, RefusesOutputsOfAnotherAlphabet) {
  const Tensor steps = reals({2, 1, 4});
  EXPECT_THAT(error_of([&] {
                vision::ctc_text({&steps, 1}, letters());
              }).what(),
              HasSubstr("[steps,1,3] or [1,steps,3]"));
}

TEST(AudioEvents, AreJoinedWindowsOfOneLabel) {
  vision::AudioEventOptions options;
  options.labels = {"speech", "dog"};
  options.thresholds = {0.5f, 0.8f};
  vision::AudioEvents events(options);
  const auto add = [&](float speech, float dog, std::int64_t begin) {
    return events.add(std::vector<float>{speech, dog}, begin, begin + 100);
  };
  EXPECT_TRUE(add(0.6f, 0.7f, 0).empty());
  EXPECT_TRUE(add(0.9f, 0.2f, 50).empty());
  EXPECT_TRUE(add(0.2f, 0.9f, 100).empty()) << "it may go on where the window before ended";
  const auto ended = add(0.1f, 0.1f, 200);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0], (metadata::AudioEvent{"speech", 0, 0.9f, 0, 150}));
  const auto rest = events.finish();
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0], (metadata::AudioEvent{"dog", 1, 0.9f, 100, 200}));
  EXPECT_TRUE(events.finish().empty());
  EXPECT_THROW(events.add(std::vector<float>{1}, 0, 1), Error);
}

TEST(AudioEvents, AreJoinedOverGapsIfToldSo) {
  for (const std::int64_t gap : {0, 60}) {
    vision::AudioEventOptions options;
    options.labels = {"speech"};
    options.merge_gap_ns = gap;
    vision::AudioEvents events(options);
    std::size_t ended = 0;
    const float loud = 0.9f, still = 0;
    ended += events.add({&loud, 1}, 0, 100).size();
    ended += events.add({&still, 1}, 50, 150).size();
    ended += events.add({&loud, 1}, 150, 250).size();
    ended += events.finish().size();
    EXPECT_EQ(ended, gap == 0 ? 2u : 1u);
  }
}

/// The metadata that a reader adds to a frame.
metadata::Collection& read(vision::ResultReader& reader, const std::vector<Tensor>& outputs, metadata::Collection& into,
                           metadata::Id parent = metadata::kFrame) {
  reader.read(outputs, into, parent);
  return into;
}

TEST(ResultReader, MakesEachKindTheMetadataThatItIs) {
  {
    metadata::Collection all;
    const metadata::Id object = all.add(metadata::Detection{});
    vision::ResultReader reader(letterboxed("classification"), "kinds");
    read(reader, {reals({1, 2}, {0.25f, 0.75f})}, all, object);
    const auto found = all.of<metadata::Classification>(object);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(*found[0].value, (metadata::Classification{"dog", 1, 0.75f, "kinds"}));
  }
  {
    metadata::Collection all;
    vision::ResultReader reader(letterboxed("YOLOv8-pose", {"person"}), "poses");
    read(reader, {reals({1, 8, 1}, {32, 16, 8, 8, 0.9f, 20, 4, 0.5f})}, all);
    ASSERT_EQ(all.all<metadata::Detection>().size(), 1u);
    const auto points = all.of<metadata::TensorOutput>(all.all<metadata::Detection>()[0].id);
    ASSERT_EQ(points.size(), 1u);
    EXPECT_EQ(points[0]->format, "keypoints");
  }
  {
    metadata::Collection all;
    vision::ResultReader reader(letterboxed("YOLOv8-obb", {"ship"}), "turned");
    read(reader, {reals({1, 6, 1}, {32, 16, 8, 8, 0.9f, 0})}, all);
    ASSERT_EQ(all.all<metadata::Detection>().size(), 1u);
    const auto corners = all.of<metadata::TensorOutput>(all.all<metadata::Detection>()[0].id);
    ASSERT_EQ(corners.size(), 1u);
    EXPECT_TRUE(corners[0]->has_points());
    EXPECT_EQ(corners[0]->format, "polygon");
  }
  {
    metadata::Collection all;
    DecodeOptions options = letterboxed("YOLOv10", {"x"});
    options.top_k = 1;
    vision::ResultReader reader(options, "many");
    const Tensor two = reals({1, 2, 6}, {20, 0, 30, 9, 0.9f, 0, 30, 0, 40, 9, 0.8f, 0});
    read(reader, {two}, all);
    ASSERT_TRUE(all.first<vision::LeftOut>());
    EXPECT_THAT(all.json(), HasSubstr("\"kind\":\"left_out\",\"top_k\":1,\"model\":\"many\""));
  }
  {
    metadata::Collection all;
    vision::ResultReader reader(letterboxed("CTC", {"a", "b"}), "reads");
    read(reader, {reals({2, 1, 3}, {1, 0, 0, 0, 1, 0})}, all);
    EXPECT_EQ(all.first<metadata::Classification>()->label, "ab");
  }
  {
    metadata::Collection all;
    vision::ResultReader reader(letterboxed("LabelSequence", {"A", "7"}), "plates");
    read(reader, {reals({1, 5, 1, 1}, {1, 0, 9, 1, -1})}, all);
    EXPECT_EQ(all.first<metadata::Classification>()->label, "7A7") << "9 is no label, and -1 ends the text";
  }
  {
    metadata::Collection all;
    DecodeOptions none;
    vision::ResultReader reader(none, "any", {"x"});
    EXPECT_TRUE(reader.keeps_tensors());
    read(reader, {reals({1, 2})}, all);
    EXPECT_EQ(all.first<metadata::TensorOutput>()->name, "x");
  }
  EXPECT_THAT(error_of([] { vision::ResultReader(letterboxed("YOLO77"), "m"); }).what(),
              HasSubstr("YOLOv8-pose, Heatmaps"));
}

}  // namespace results_test
