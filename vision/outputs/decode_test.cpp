// SPDX-License-Identifier: Apache-2.0
// Decoding of each model type: values by hand, mapping back to the frame, and outputs that are damaged or enormous.
#include <tenon/vision/decode.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tenon/core/error.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/graph/input_stage/input_stage.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>

namespace vision_decode_test {

using namespace tenon;
using vision::DecodeOptions;
using vision::Decoder;

DecodeOptions options(const std::string& type, std::vector<std::string> labels = {"cat", "dog"}) {
  DecodeOptions o;
  o.model_type = type;
  o.labels = std::move(labels);
  o.input_width = 64;
  o.input_height = 32;
  return o;
}

Tensor tensor(const Shape& shape, float value = 0) {
  Tensor made(ElementType::kF32, shape);
  std::fill_n(made.data<float>(), made.element_count(), value);
  return made;
}

/// What `work` throws.
template <typename Work>
std::string message(Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// 64x32: 8 x 4 cells of 8, 4 x 2 of 16, 2 x 1 of 32.
constexpr std::size_t kCells = 32 + 8 + 2;

TEST(DecodeYolox, PutsBoxesWhereTheGridSays) {
  const Tensor out = tensor({1, kCells, 7});
  float* row = out.data<float>() + (8 * 2 + 3) * 7;  // stride 8, cell (3, 2)
  const float values[7] = {0.5f, 0.25f, std::log(2.0f), 0, 0.8f, 0.1f, 0.9f};
  std::copy_n(values, 7, row);
  const float big[7] = {0, 0.5f, 0, std::log(0.5f), 0.9f, 1.0f, 0};
  std::copy_n(big, 7, out.data<float>() + (32 + 8 + 1) * 7);  // stride 32, cell (1, 0)
  const auto found = vision::detections(out, options("YOLOX"));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].label, "cat");
  EXPECT_FLOAT_EQ(found[0].score, 0.9f);
  EXPECT_NEAR(found[0].box.x1, 16, 1e-4);
  EXPECT_NEAR(found[0].box.y1, 8, 1e-4);
  EXPECT_NEAR(found[0].box.x2, 48, 1e-4);
  EXPECT_NEAR(found[0].box.y2, 24, 1e-4);
  EXPECT_EQ(found[1].label, "dog");
  EXPECT_FLOAT_EQ(found[1].score, 0.72f);
  EXPECT_NEAR(found[1].box.x1, 20, 1e-4);
  EXPECT_NEAR(found[1].box.x2, 36, 1e-4);
  EXPECT_NEAR(found[1].box.y1, 14, 1e-4);
  EXPECT_NEAR(found[1].box.y2, 22, 1e-4);
}

TEST(DecodeYolox, MapsThroughALetterboxBackToTheFrame) {
  auto o = options("yolox");
  o.geometry = make_geometry(100, 100, {}, 64, 32, Fit::kLetterbox);  // 32x32 in the middle, from x = 16
  o.frame_width = o.frame_height = 100;
  const Tensor out = tensor({1, kCells, 7});
  const float values[7] = {0, 0.5f, 0, 0, 1, 1, 0};  // centre (32, 16), 32 wide: exactly the picture
  std::copy_n(values, 7, out.data<float>() + (32 + 8 + 1) * 7);
  const auto found = vision::detections(out, o);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].box, (vision::Box{0, 0, 100, 100}));
}

TEST(DecodeYolox, GivesEveryLabelOnlyWhenAsked) {
  const Tensor out = tensor({1, kCells, 7});
  const float values[7] = {0, 0, 0, 0, 1, 0.7f, 0.8f};
  std::copy_n(values, 7, out.data<float>() + 19 * 7);
  auto o = options("YOLOX");
  EXPECT_EQ(vision::detections(out, o).size(), 1u);
  o.multi_label = true;
  EXPECT_EQ(vision::detections(out, o).size(), 2u);
}

TEST(DecodeYolov8, ReadsBothLayouts) {
  const std::size_t n = 50;
  const Tensor major = tensor({1, 6, n}), minor = tensor({1, n, 6});
  const float values[6] = {20, 10, 8, 4, 0.2f, 0.7f};
  for (std::size_t k = 0; k < 6; ++k) {
    major.data<float>()[k * n + 7] = values[k];
    minor.data<float>()[7 * 6 + k] = values[k];
  }
  for (bool multi : {false, true}) {
    for (const Tensor& out : {major, minor}) {
      auto o = options("YOLOv8");
      o.multi_label = multi;
      const auto found = vision::detections(out, o);
      ASSERT_EQ(found.size(), 1u);
      EXPECT_EQ(found[0].label_id, 1);
      EXPECT_FLOAT_EQ(found[0].score, 0.7f);
      EXPECT_EQ(found[0].box, (vision::Box{16, 8, 24, 12}));
    }
  }
  EXPECT_EQ(vision::detections(major, options("yolo_v8", {})).size(), 1u)
      << "without labels the longer axis is the boxes'";
  EXPECT_EQ(vision::detections(major, options("yolo_v8", {})).at(0).label, "#1");
}

/// Rows of x1 y1 x2 y2 score class, the rest of them 0.
Tensor finished_rows(std::size_t count, const std::vector<std::vector<float>>& rows) {
  const Tensor out = tensor({1, count, rows.at(0).size()});
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::copy(rows[i].begin(), rows[i].end(), out.data<float>() + i * rows[i].size());
  return out;
}

std::vector<std::string> numbered(std::size_t count) {
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < count; ++i) labels.push_back("c" + std::to_string(i));
  return labels;
}

TEST(DecodeFinished, ReadsRowsWithSuppressionInsideWhateverTheLabels) {
  // The first two overlap by more than any threshold: the model itself has kept both.
  const Tensor out =
      finished_rows(300, {{100, 50, 200, 150, 0.9f, 0}, {101, 50, 200, 150, 0.8f, 0}, {300, 100, 400, 300, 0.7f, 1}});
  for (const char* type : {"YOLOv8", "YOLOv5", "YOLOv10", "YOLO26", "yolo_v10", "YOLO"}) {
    for (const std::size_t labels : {0, 2, 80}) {
      auto o = options(type, numbered(labels));
      o.input_width = o.input_height = 640;
      const auto found = vision::detections(out, o);
      ASSERT_EQ(found.size(), 3u) << type << labels;
      EXPECT_EQ(found[0].box, (vision::Box{100, 50, 200, 150}));
      EXPECT_FLOAT_EQ(found[0].score, 0.9f);
      EXPECT_EQ(found[2].label_id, 1);
    }
  }
  auto one = options("YOLOv8", {"only"});
  one.input_width = one.input_height = 640;
  EXPECT_EQ(vision::detections(finished_rows(300, {{100, 50, 200, 150, 0.9f, 0}}), one).at(0).label, "only");
}

TEST(DecodeFinished, LeavesHeadsOfTwoClassesAlone) {
  // 8400 cells for 640x640: a raw head in rows. With another number of rows the values decide.
  for (const std::size_t rows : {8400, 300}) {
    auto o = options("YOLOv8");
    o.input_width = o.input_height = 640;
    const auto found = vision::detections(finished_rows(rows, {{100, 50, 20, 10, 0.2f, 0.75f}}), o);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].box, (vision::Box{90, 45, 110, 55}));
    EXPECT_EQ(found[0].label, "dog");
  }
}

TEST(DecodeFinished, StatedByTheModelNeedsNoGuess) {
  auto o = options("YOLOv8");
  o.end_to_end = true;
  const Tensor out = finished_rows(kCells, {{1, 2, 3, 4, 0.75f, 1}});
  EXPECT_EQ(vision::detections(out, o).at(0).box, (vision::Box{1, 2, 3, 4})) << "42 rows are also the cells of a grid";
  o.end_to_end = false;
  EXPECT_EQ(vision::detections(out, o).at(0).box, (vision::Box{0, 0, 2.5f, 4}));
}

TEST(DecodeFinished, SurvivesAnyValues) {
  for (const float odd : {NAN, INFINITY, -INFINITY, -1.0f, 1e30f, 0.5f}) {
    for (std::size_t at = 0; at < 6; ++at) {
      std::vector<float> row{1, 2, 3, 4, 0.9f, 1};
      row[at] = odd;
      for (const char* type : {"YOLOv8", "YOLOv10"}) {
        for (const auto& found : vision::detections(finished_rows(300, {row}), options(type))) {
          EXPECT_TRUE(std::isfinite(found.score));
          EXPECT_GE(found.label_id, 0);
        }
      }
    }
  }
}

TEST(DecodeRtDetr, ReadsRowsOfTheBestClassWhateverTheLabels) {
  for (const std::size_t labels : {0, 2, 80}) {
    const auto found = vision::detections(
        finished_rows(300, {{0.5f, 0.5f, 0.25f, 0.5f, 0.9f, 1}, {0.5f, 0.5f, 0.25f, 0.5f, NAN, NAN}}),
        options("RT-DETR", numbered(labels)));
    ASSERT_EQ(found.size(), 1u) << labels;
    EXPECT_EQ(found[0].box, (vision::Box{24, 8, 40, 24}));
    EXPECT_EQ(found[0].label_id, 1);
  }
}

TEST(DecodeRtDetr, ReadsQueriesInFractionsOfTheInput) {
  const std::vector<float> row{0.5f, 0.5f, 0.25f, 0.5f, 0.1f, 0.9f};
  auto found = vision::detections(finished_rows(300, {row, row}), options("RT-DETR"));
  ASSERT_EQ(found.size(), 2u) << "nothing is suppressed";
  EXPECT_EQ(found[0].box, (vision::Box{24, 8, 40, 24}));
  EXPECT_EQ(found[0].label, "dog");
  found = vision::detections(finished_rows(1, {{0.5f, 0.5f, 0.25f, 0.5f, -3, 3}}), options("rtdetr"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(found[0].score, 0.952574, 1e-5) << "logits";
}

/// The same head as probabilities and as logits.
std::vector<vision::Detection> found_in(const std::string& type, bool has_objectness, bool is_transposed,
                                        bool are_logits, bool multi_label, float damage = 0) {
  const auto score = [&](float probability) {
    return are_logits ? std::log(probability / (1 - probability)) : probability;
  };
  const std::size_t count = type == "YOLOX" ? kCells : 70, width = (has_objectness ? 5 : 4) + 2;
  const Tensor made = tensor(is_transposed ? Shape{1, width, count} : Shape{1, count, width});
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_object = i % 9 == 4;
    const bool is_part = type == "YOLOX" || type == "RT-DETR";  // In cells or parts of the input; else pixels.
    const float box[] = {is_part ? 0.5f : 0.5f + static_cast<float>(i % 60), is_part ? 0.5f : 10, is_part ? 0.2f : 4,
                         is_part ? 0.2f : 4};
    for (std::size_t n = 0; n < width; ++n) {
      const std::size_t first = width - 2;
      float value = n < 4                             ? box[n]
                    : n < first                       ? score(is_object ? 0.95f : 0.02f)
                    : is_object && n == first + i % 2 ? score(0.6f + 0.005f * static_cast<float>(i))
                                                      : score(0.01f);
      if (damage != 0 && i == 5 && n >= 4) value = damage;
      made.data<float>()[is_transposed ? n * count + i : i * width + n] = value;
    }
  }
  auto o = options(type);
  o.multi_label = multi_label;
  return vision::detections(made, o);
}

TEST(Decoder, LogitsBecomeProbabilities) {
  const std::tuple<const char*, bool, bool> heads[] = {{"YOLOv8", false, true}, {"YOLOv8", false, false},
                                                       {"YOLOv5", true, false}, {"YOLOv5", false, true},
                                                       {"YOLOX", true, false},  {"RT-DETR", false, false}};
  for (const auto& [type, has_objectness, is_transposed] : heads) {
    for (const bool multi : {false, true}) {
      SCOPED_TRACE(std::string(type) + (is_transposed ? " transposed" : "") + (multi ? " of several labels" : ""));
      const auto expected = found_in(type, has_objectness, is_transposed, false, multi);
      ASSERT_GE(expected.size(), 4u);
      for (const float damage : {0.0f, NAN, INFINITY, -INFINITY, 1e30f}) {
        const auto found = found_in(type, has_objectness, is_transposed, true, multi, damage);
        ASSERT_EQ(found.size(), expected.size()) << damage;
        for (std::size_t i = 0; i < found.size(); ++i) {
          EXPECT_NEAR(found[i].score, expected[i].score, 1e-5);
          EXPECT_EQ(found[i].label, expected[i].label);
          EXPECT_EQ(found[i].box, expected[i].box);
        }
        EXPECT_EQ(found_in(type, has_objectness, is_transposed, false, multi, damage).size(), expected.size())
            << "damage makes no logits of probabilities: " << damage;
      }
    }
  }
}

TEST(Decoder, RoundedProbabilitiesStayThem) {
  const Tensor made = tensor({1, 6, 100});
  for (std::size_t i = 0; i < 100; ++i) {
    const float values[] = {32, 16, 8, 8, i == 7 ? 1.004f : -0.004f, -0.004f};
    for (std::size_t n = 0; n < 6; ++n) made.data<float>()[n * 100 + i] = values[n];
  }
  const auto found = vision::detections(made, options("YOLOv8"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].score, 1.0f);
}

TEST(DecodeFinished, RefusesScoresThatAreNoProbabilities) {
  const Tensor rows = finished_rows(300, {{4, 4, 20, 20, 3.25f, 1}});
  EXPECT_THAT(message([&] { vision::detections(rows, options("YOLOv10")); }), testing::HasSubstr("score 3.25"));
  const Tensor ssd = tensor({1, 1, 1, 7});
  const float row[] = {0, 1, 4.5f, 0.1f, 0.1f, 0.5f, 0.5f};
  std::copy_n(row, 7, ssd.data<float>());
  EXPECT_THAT(message([&] { vision::detections(ssd, options("SSD")); }), testing::HasSubstr("sigmoid"));
}

Tensor labels_of(const Shape& shape, std::vector<std::int64_t> values) {
  Tensor made(ElementType::kI64, shape);
  std::copy(values.begin(), values.end(), static_cast<std::int64_t*>(made.data()));
  return made;
}

TEST(DecodeLabelledBoxes, AreReadWhereNoOutputFits) {
  for (const char* type : {"SSD", "YOLOX"}) {
    for (const bool has_batch : {false, true}) {
      const Tensor boxes = tensor(has_batch ? Shape{1, 2, 5} : Shape{2, 5});
      const float values[10] = {4, 2, 20, 10, 0.9f, 5, 2, 21, 10, 0.8f};
      std::copy_n(values, 10, boxes.data<float>());
      const std::vector<Tensor> outputs{labels_of(has_batch ? Shape{1, 2} : Shape{2}, {1, 1}), boxes};
      const auto found = vision::detections(outputs, options(type));
      ASSERT_EQ(found.size(), 2u) << "the model itself has suppressed";
      EXPECT_EQ(found[0].box, (vision::Box{4, 2, 20, 10}));
      EXPECT_EQ(found[0].label, "dog");
    }
  }
  // Boxes, scores and labels; the boxes as parts of the input, or in pixels.
  for (const float unit : {1.0f, 64.0f}) {
    const Tensor boxes = tensor({1, 1, 4}), scores = tensor({1, 1}, 0.75f);
    const float values[4] = {0.25f * unit, 0.25f * unit, 0.5f * unit, 0.5f * unit};
    std::copy_n(values, 4, boxes.data<float>());
    const std::vector<Tensor> outputs{boxes, scores, labels_of({1, 1}, {0})};
    const auto found = vision::detections(outputs, options("SSD"));
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].box, unit == 1 ? (vision::Box{16, 8, 32, 16}) : (vision::Box{16, 16, 32, 32}));
    EXPECT_EQ(found[0].label, "cat");
  }
}

TEST(DecodeYolov5, ReadsTheHeadOfYolov8Too) {
  const Tensor out = tensor({1, 6, kCells});
  const float values[6] = {20, 10, 8, 4, 0.2f, 0.7f};
  for (std::size_t k = 0; k < 6; ++k) out.data<float>()[k * kCells + 7] = values[k];
  EXPECT_EQ(vision::detections(out, options("YOLOv5")).at(0).box, (vision::Box{16, 8, 24, 12}));
}

TEST(Decoder, SuppressesBeforeItClips) {
  // [-100,0,50,100] and [-20,0,50,100] overlap by 0.467; their parts in the picture are equal. cv2.dnn.NMSBoxes keeps both at 0.5.
  const Tensor out = tensor({1, 5, 6});
  const float values[2][5] = {{-25, 50, 150, 100, 0.9f}, {15, 50, 70, 100, 0.8f}};
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t k = 0; k < 5; ++k) out.data<float>()[k * 6 + i] = values[i][k];
  }
  auto o = options("YOLOv8", {"x"});
  o.input_width = o.input_height = 640;
  const auto found = vision::detections(out, o);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].box, (vision::Box{0, 0, 50, 100}));
  EXPECT_EQ(found[1].box, (vision::Box{0, 0, 50, 100}));
}

TEST(Decoder, BoxesOutsideOfThePictureAreNotAmongTheBest) {
  auto o = options("YOLOv10");
  o.input_width = o.input_height = 640;
  o.top_k = 1;
  Decoder decoder(o);
  const Tensor out = finished_rows(300, {{-90, 0, -10, 50, 0.9f, 0}, {10, 0, 20, 50, 0.8f, 1}});
  ASSERT_EQ(decoder.decode({&out, 1}).size(), 1u);
  EXPECT_EQ(decoder.decode({&out, 1})[0].label_id, 1);
  EXPECT_FALSE(decoder.left_out());
}

TEST(Decoder, SaysWhetherItLeftOutObjects) {
  std::vector<std::vector<float>> rows;
  for (int i = 0; i < 400; ++i) rows.push_back({i * 10.0f, 10, 8, 8, 0.9f, 0.1f});
  auto o = options("YOLOv8");
  o.input_width = o.input_height = 6400;
  Decoder decoder(o);
  const Tensor many = finished_rows(400, rows);
  EXPECT_EQ(decoder.decode({&many, 1}).size(), 300u) << "Ultralytics' max_det";
  EXPECT_TRUE(decoder.left_out());
  rows.resize(300);
  const Tensor few = finished_rows(400, rows);
  EXPECT_EQ(decoder.decode({&few, 1}).size(), 300u);
  EXPECT_FALSE(decoder.left_out());
}

TEST(DecodeYolov5, MultipliesObjectness) {
  const Tensor out = tensor({1, 3, 7});
  const float values[7] = {20, 10, 8, 4, 0.8f, 0.9f, 0.2f};
  std::copy_n(values, 7, out.data<float>() + 7);
  const auto found = vision::detections(out, options("YOLOv5"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FLOAT_EQ(found[0].score, 0.72f);
}

TEST(DecodeSsd, StopsAtANegativeImage) {
  const Tensor out = tensor({1, 1, 4, 7});
  const float values[28] = {0,  1, 0.9f, 0.25f, 0.5f, 0.5f, 1, 0, 0, 0.6f,  -1, -1, 2, 2,
                            -1, 0, 0,    0,     0,    0,    0, 0, 1, 0.99f, 0,  0,  1, 1};
  std::copy_n(values, 28, out.data<float>());
  const auto found = vision::detections(out, options("SSD"));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].label, "dog");
  EXPECT_EQ(found[0].box, (vision::Box{16, 16, 32, 32}));
  EXPECT_EQ(found[1].box, (vision::Box{0, 0, 64, 32})) << "clipped to the picture";
}

TEST(DecodeClassification, RanksProbabilitiesAndLogits) {
  auto o = options("Classification", {"a", "b", "c"});
  o.confidence_threshold = 0;
  o.top_k = 2;
  const Tensor out = tensor({1, 3});
  out.data<float>()[0] = 0.2f, out.data<float>()[1] = 0.7f, out.data<float>()[2] = 0.1f;
  auto found = vision::detections(out, o);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].label, "b");
  EXPECT_FLOAT_EQ(found[0].score, 0.7f);
  EXPECT_EQ(found[1].label, "a");
  out.data<float>()[0] = 0, out.data<float>()[1] = 1000, out.data<float>()[2] = 1000 + std::log(3.0f);
  found = vision::detections(out, o);
  EXPECT_EQ(found.at(0).label, "c");
  EXPECT_NEAR(found.at(0).score, 0.75, 1e-4);
  EXPECT_NEAR(found.at(1).score, 0.25, 1e-4);
}

TEST(DecodeClassification, IndependentLabelsAreSigmoids) {
  auto o = options("Classification", {"a", "b", "c"});
  o.multi_label = true;
  const Tensor out = tensor({1, 3});
  out.data<float>()[0] = 2, out.data<float>()[1] = -1, out.data<float>()[2] = 0.5f;
  const auto found = vision::detections(out, o);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NEAR(found[0].score, 0.880797, 1e-6);
  EXPECT_NEAR(found[1].score, 0.622459, 1e-6);
  o.has_sigmoid = true;
  const Tensor shares = tensor({1, 3}, 0.75f);
  EXPECT_EQ(vision::detections(shares, o).size(), 3u);
  EXPECT_FLOAT_EQ(vision::detections(shares, o)[0].score, 0.75f);
}

TEST(Decoder, PicksTheOutputThatFitsAndReadsHalfPrecision) {
  Tensor half(ElementType::kF16, {1, 3});
  const _Float16 values[3] = {_Float16(0.25), _Float16(0.5), _Float16(0.25)};
  std::copy_n(values, 3, static_cast<_Float16*>(half.data()));
  auto o = options("Classification", {"a", "b", "c"});
  const std::vector<Tensor> outputs{tensor({1, 7}), Tensor(), tensor({3}), half};
  EXPECT_EQ(vision::detections(outputs, o).at(0).label, "b");
}

TEST(Decoder, SaysWhatItKnowsAndWhatItFound) {
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(message([] { Decoder d(options("rainbow")); }), "YOLOX, YOLOv5, YOLOv8, YOLOv10");
  has(message([] { Decoder d(options("")); }), "model_type");
  has(message([] { vision::detections(tensor({1, 41, 7}), options("YOLOX")); }), "[1,41,7]");
  has(message([] { vision::detections(tensor({1, kCells, 9}), options("YOLOX")); }), "2 labels");
  has(message([] { vision::detections(std::span<const Tensor>(), options("SSD")); }), "none");
  has(message([] { vision::detections(Tensor(ElementType::kI32, {1, 2}), options("Classification")); }), "i32");
  auto o = options("YOLOX");
  o.input_width = 0;
  has(message([&] { Decoder d(o); }), "input_width");
  o = options("YOLOX");
  o.iou_threshold = NAN;
  has(message([&] { Decoder d(o); }), "finite");
}

TEST(Decoder, SurvivesAnyValues) {
  const float odd[] = {NAN, INFINITY, -INFINITY, 1e38f, -1e38f, std::numeric_limits<float>::denorm_min(), 0, 1, 0.9f};
  for (const char* type : {"YOLOX", "YOLOv5", "YOLOv8", "SSD", "Classification"}) {
    for (std::size_t shift = 0; shift < std::size(odd); ++shift) {
      for (bool multi : {false, true}) {
        const std::string name = type;
        const Tensor out = tensor(name == "SSD"              ? Shape{1, 1, kCells, 7}
                                  : name == "Classification" ? Shape{1, 2}
                                  : name == "YOLOv8"         ? Shape{1, 6, 60}
                                                             : Shape{1, kCells, 7});
        for (std::size_t i = 0; i < out.element_count(); ++i)
          out.data<float>()[i] = odd[(i * 7 + i / 7 + shift) % std::size(odd)];
        auto o = options(type);
        o.multi_label = multi;
        o.confidence_threshold = 0;
        o.geometry = make_geometry(1280, 720, {}, 64, 32, Fit::kLetterbox);
        o.frame_width = 1280;
        o.frame_height = 720;
        for (const auto& d : vision::detections(out, o)) {
          EXPECT_TRUE(std::isfinite(d.score));
          EXPECT_GE(d.box.x1, 0);
          EXPECT_LE(d.box.x2, 1280);
          EXPECT_GE(d.box.y1, 0);
          EXPECT_LE(d.box.y2, 720);
          EXPECT_LT(d.box.x1, d.box.x2);
        }
      }
    }
  }
}

TEST(Decoder, TakesEmptyAndEnormousOutputs) {
  EXPECT_TRUE(vision::detections(Tensor(ElementType::kF32, {1, 1, 0, 7}), options("SSD")).empty());
  EXPECT_TRUE(vision::detections(Tensor(ElementType::kF32, {1, 0, 7}), options("YOLOv5")).empty());
  EXPECT_TRUE(vision::detections(Tensor(ElementType::kF32, {1, 6, 0}), options("YOLOv8")).empty());
  const std::size_t many = 500000;
  const Tensor out = tensor({1, many, 7}, 0.9f);
  for (std::size_t i = 0; i < many; ++i)
    out.data<float>()[i * 7] = static_cast<float>(i % 1000),
                          out.data<float>()[i * 7 + 1] = static_cast<float>(i / 1000);
  auto o = options("YOLOv5");
  o.confidence_threshold = 0.1f;
  EXPECT_EQ(vision::detections(out, o).size(), 300u);
}

TEST(Decoder, KeepsItsMemoryFromPictureToPicture) {
  Decoder decoder(options("YOLOX"));
  const Tensor out = tensor({1, kCells, 7});
  const float values[7] = {0, 0, 0, 0, 1, 1, 0};
  std::copy_n(values, 7, out.data<float>());
  const auto* first = decoder.decode({&out, 1}).data();
  const Tensor none = tensor({1, kCells, 7});
  EXPECT_TRUE(decoder.decode({&none, 1}).empty());
  EXPECT_EQ(decoder.decode({&out, 1}).data(), first);
  EXPECT_EQ(decoder.decode({&out, 1}).size(), 1u);
}

std::shared_ptr<Model> model(const AnyMap& info) {
  auto image = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 3, 32, 64});
  image->output(0).set_names({"image"});
  auto out = std::make_shared<op::v0::Relu>(image->output(0));
  auto made = std::make_shared<Model>(OutputVector{out->output(0)}, ParameterVector{image}, "m");
  for (const auto& [key, value] : info) made->set_rt_info(value, {"model_info", key});
  return made;
}

TEST(DecodeOptions, ComeFromTheModel) {
  const auto m = model({{"model_type", "YOLOX"},
                        {"labels", "circle square"},
                        {"confidence_threshold", "0.3"},
                        {"iou_threshold", "0.45"},
                        {"resize_type", "fit_to_window_letterbox"}});
  auto o = vision::decode_options(*m);
  EXPECT_EQ(o.model_type, "YOLOX");
  EXPECT_EQ(o.labels, (std::vector<std::string>{"circle", "square"}));
  EXPECT_FLOAT_EQ(o.confidence_threshold, 0.3f);
  EXPECT_FLOAT_EQ(o.iou_threshold, 0.45f);
  EXPECT_EQ(o.input_width, 64u);
  EXPECT_EQ(o.input_height, 32u);
  EXPECT_FALSE(o.geometry);
  const FrameInfo info{kNv12, 100, 100};
  for (const auto& framed :
       {vision::decode_options(*m, info), vision::decode_options(*with_input_stage(*m, {}, options_from(*m, info)))}) {
    ASSERT_TRUE(framed.geometry);
    EXPECT_EQ(framed.geometry->placed, (PixelRect{16, 0, 32, 32}));
    EXPECT_EQ(framed.frame_width, 100u);
    EXPECT_EQ(framed.input_width, 64u);
  }
  EXPECT_THROW(vision::decode_options(*model({{"confidence_threshold", "high"}})), Error);
  EXPECT_THROW(vision::decode_options(*model({{"iou_threshold", "-1"}})), Error);
  EXPECT_EQ(vision::decode_options(*model({{"model_type", "Classification"}})).top_k, 5u);
  EXPECT_EQ(vision::decode_options(*model({{"model_type", "YOLOX"}})).top_k, 300u);
}

TEST(DecodeOptions, OfIndependentLabels) {
  const auto m = model({{"model_type", "Classification"}, {"multilabel", "True"}});
  const auto o = vision::decode_options(*m);
  EXPECT_TRUE(o.multi_label);
  EXPECT_FALSE(o.has_sigmoid);
  EXPECT_FLOAT_EQ(o.confidence_threshold, 0.5f) << "as OpenVINO's Model API";
  EXPECT_THROW(vision::decode_options(*model({{"model_type", "Classification"}, {"multilabel", "maybe"}})), Error);
  EXPECT_FALSE(vision::decode_options(*model({{"model_type", "YOLOX"}, {"multilabel", "True"}})).multi_label);
  const auto image = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 3, 32, 64});
  const auto made = std::make_shared<Model>(
      OutputVector{std::make_shared<op::v0::Sigmoid>(image->output(0))->output(0)}, ParameterVector{image}, "m");
  made->set_rt_info(std::string("Classification"), {"model_info", "model_type"});
  made->set_rt_info(std::string("True"), {"model_info", "multilabel"});
  EXPECT_TRUE(vision::decode_options(*made).has_sigmoid);
}

}  // namespace vision_decode_test
