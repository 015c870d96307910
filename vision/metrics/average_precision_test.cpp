// SPDX-License-Identifier: Apache-2.0
// Compares mAP with hand-computed areas and with the numbers of models/metrics.py; the ground-truth reader on good and bad
// files.
#include <tenon/vision/average_precision.hpp>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include <tenon/core/error.hpp>
#include <tenon/vision/ground_truth.hpp>

namespace average_precision_test {

using namespace tenon;
using vision::Detection;
using vision::PrecisionMeter;
using vision::Truth;

constexpr vision::Box kA{0, 0, 10, 10}, kB{20, 0, 30, 10}, kC{40, 0, 50, 10};

Detection found(const vision::Box& box, float score, int label = 0) { return {box, label, score, ""}; }

TEST(PrecisionMeter, IsOneWhenEverythingIsFoundAndZeroWhenNothingIs) {
  PrecisionMeter meter;
  meter.add(std::vector{found(kA, 0.9f), found(kB, 0.3f)}, std::vector<Truth>{{kA}, {kB}});
  EXPECT_DOUBLE_EQ(meter.result().map50, 1);
  EXPECT_DOUBLE_EQ(meter.result().map, 1);
  PrecisionMeter blind;
  blind.add({}, std::vector<Truth>{{kA}});
  EXPECT_DOUBLE_EQ(blind.result().map50, 0);
  EXPECT_DOUBLE_EQ(PrecisionMeter().result().map50, 0);
  EXPECT_EQ(meter.pictures(), 1u);
}

TEST(PrecisionMeter, IntegratesTheEnvelope) {
  // Ranked: right, wrong, right, and one object missed. Recall 1/3 at precision 1, 2/3 at 2/3: 1/3 + 1/3 * 2/3.
  PrecisionMeter meter;
  meter.add(std::vector{found(kA, 0.9f), found({60, 60, 70, 70}, 0.8f), found(kB, 0.7f)},
            std::vector<Truth>{{kA}, {kB}, {kC}});
  EXPECT_NEAR(meter.result().map50, 1.0 / 3 + 2.0 / 9, 1e-12);
  // A wrong detection that ranks last costs nothing.
  PrecisionMeter late;
  late.add(std::vector{found(kA, 0.9f), found(kC, 0.1f)}, std::vector<Truth>{{kA}});
  EXPECT_DOUBLE_EQ(late.result().map50, 1);
}

TEST(PrecisionMeter, CountsASecondDetectionOfOneObjectAsWrong) {
  PrecisionMeter meter;
  meter.add(std::vector{found(kA, 0.9f), found({1, 0, 11, 10}, 0.8f), found(kB, 0.7f)}, std::vector<Truth>{{kA}, {kB}});
  EXPECT_NEAR(meter.result().map50, 0.5 + 0.5 * 2 / 3, 1e-12);
}

TEST(PrecisionMeter, NeitherDemandsNorPunishesTheDifficult) {
  const std::vector<Truth> truths{{kA, 0, false}, {kB, 0, true}};
  PrecisionMeter seen, unseen;
  seen.add(std::vector{found(kB, 0.9f), found({21, 0, 31, 10}, 0.8f), found(kA, 0.7f)}, truths);
  unseen.add(std::vector{found(kA, 0.7f)}, truths);
  EXPECT_DOUBLE_EQ(seen.result().map50, 1);
  EXPECT_DOUBLE_EQ(unseen.result().map50, 1);
  PrecisionMeter only;
  only.add(std::vector{found(kA, 0.9f)}, std::vector<Truth>{{kB, 0, true}});
  EXPECT_TRUE(only.result().labels.empty());
}

TEST(PrecisionMeter, JudgesLabelsAndPicturesApart) {
  PrecisionMeter meter;
  meter.add(std::vector{found(kA, 0.9f, 0)}, std::vector<Truth>{{kA, 0}});
  meter.add(std::vector{found(kA, 0.9f, 0)}, std::vector<Truth>{{kA, 1}});
  const auto result = meter.result();
  ASSERT_EQ(result.labels.size(), 2u);
  EXPECT_DOUBLE_EQ(result.labels[0].ap50, 1);  // Equal scores rank by order: the right one first.
  EXPECT_DOUBLE_EQ(result.labels[1].ap50, 0);
  EXPECT_DOUBLE_EQ(result.map50, 0.5);
  EXPECT_EQ(result.labels[0].objects, 1u);
  EXPECT_EQ(result.labels[0].detections, 2u);
}

TEST(PrecisionMeter, AveragesTenOverlaps) {
  // Shifted by 2 of 10: overlap 8 / 12 = 0.667, right at 0.50, 0.55, 0.60, 0.65.
  PrecisionMeter meter;
  meter.add(std::vector{found({2, 0, 12, 10}, 0.9f)}, std::vector<Truth>{{kA}});
  EXPECT_DOUBLE_EQ(meter.result().map50, 1);
  EXPECT_NEAR(meter.result().map, 0.4, 1e-12);
}

TEST(PrecisionMeter, LeavesOutScoresThatAreNoNumbers) {
  PrecisionMeter meter;
  meter.add(std::vector{found(kC, NAN), found(kA, 0.1f)}, std::vector<Truth>{{kA}});
  EXPECT_DOUBLE_EQ(meter.result().map50, 1);
}

TEST(PrecisionMeter, AgreesWithTheTrainingScripts) {
  // The same generator as in average_precision_oracle.py, and the numbers that it prints.
  std::uint32_t state = 11;
  const auto next = [&] { return state = state * 1664525u + 1013904223u, (state >> 16) % 1000; };
  PrecisionMeter meter;
  for (int picture = 0; picture < 40; ++picture) {
    std::vector<Truth> truths;
    std::vector<Detection> detections;
    for (int i = 0; i < 6; ++i) {
      const float x = static_cast<float>(next()), y = static_cast<float>(next());
      const float w = 20.37f + static_cast<float>(next() % 80), h = 20.61f + static_cast<float>(next() % 80);
      const int label = static_cast<int>(next() % 3);
      const bool difficult = next() < 150;
      truths.push_back({{x, y, x + w, y + h}, label, difficult});
      for (int k = 0; k < 2; ++k) {
        const float dx = static_cast<float>(next() % 40) - 20, dy = static_cast<float>(next() % 40) - 20;
        const float score = static_cast<float>(next()) / 1000;
        const int guess = next() < 850 ? label : static_cast<int>(next() % 3);
        if (next() < 700) detections.push_back({{x + dx, y + dy, x + w + dx, y + h + dy}, guess, score, ""});
      }
    }
    meter.add(detections, truths);
  }
  const auto result = meter.result();
  EXPECT_NEAR(result.map50, 0.180583825297, 1e-6);
  EXPECT_NEAR(result.map, 0.060685435712, 1e-6);
}

TEST(GroundTruth, ReadsTheDemosFile) {
  const char* models = std::getenv("TENON_MODELS");
  ASSERT_NE(models, nullptr) << "set TENON_MODELS to the folder models";
  const auto truth = vision::read_ground_truth(std::string(models) + "/demo.json");
  EXPECT_EQ(truth.width, 1280u);
  EXPECT_EQ(truth.height, 720u);
  EXPECT_EQ(truth.frames.size(), 600u);
  ASSERT_FALSE(truth.labels.empty());
  PrecisionMeter perfect;
  for (const auto& frame : truth.frames) {
    std::vector<Detection> all;
    for (const Truth& object : frame) all.push_back(found(object.box, 0.5f, object.label_id));
    perfect.add(all, frame);
  }
  EXPECT_NEAR(perfect.result().map, 1, 1e-9);
}

TEST(GroundTruth, SaysWhereAFileIsWrong) {
  const std::string head = R"({"video":{"width":8,"height":8,"fps":25,"frames":2},"labels":["a"],"frames":)";
  const auto message = [](const std::string& text) -> std::string {
    try {
      vision::parse_ground_truth(text, "t.json");
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  const auto has = [&](const std::string& text, const std::string& part) {
    const std::string found = message(text);
    EXPECT_NE(found.find(part), std::string::npos) << found;
  };
  const auto good = vision::parse_ground_truth(head + R"([{"index":1,"objects":[{"label":"a","box":[1,2,3,4]}]}]})");
  ASSERT_EQ(good.frames.size(), 2u);
  EXPECT_TRUE(good.frames[0].empty());
  EXPECT_EQ(good.frames[1].at(0).box, (vision::Box{1, 2, 3, 4}));
  has("", "not valid JSON");
  has("{", "not valid JSON");
  has("\xff\xfe", "not valid JSON");
  has("[]", "the document must be an object");
  has("{}", "\"video\"");
  has(head + "7}", "frames must be a list");
  has(head + R"([{"index":2,"objects":[]}]})", "frames[0].index");
  has(head + R"([{"index":-1,"objects":[]}]})", "frames[0].index");
  has(head + R"([{"index":0,"objects":[{"label":"b","box":[1,2,3,4]}]}]})", "frames[0].objects[0].label");
  has(head + R"([{"index":0,"objects":[{"label":"a","box":[1,2,3]}]}]})", "frames[0].objects[0].box");
  has(head + R"([{"index":0,"objects":[{"label":"a","box":[1,2,"x",4]}]}]})", "frames[0].objects[0].box[2]");
  has(head + R"([{"index":0,"objects":[{"label":"a","box":[5,2,3,4]}]}]})", "x2 >= x1");
  has(head + R"([{"index":0,"objects":[{"label":"a","box":[1,2,3,4],"difficult":3}]}]})", "difficult");
  has(R"({"video":{"width":8,"height":8,"fps":25,"frames":1e300},"labels":[],"frames":[]})", "video.frames");
  has(std::string(100000, '['), "nested deeper");
  EXPECT_THROW(vision::read_ground_truth("/nonexistent/truth.json"), Error);
}

}  // namespace average_precision_test
