// SPDX-License-Identifier: Apache-2.0
// Tests the comparison itself: it must detect each planted error, and accept mere rounding.
#include <functional>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include <tenon/tests/oracle/agreement.hpp>

namespace tenon {
namespace agreement_test {

constexpr Limits kEqual{1 - 1e-12, 0, 0};
constexpr std::size_t kRows = 12, kPlaces = 525;

/// A detector's output: two rows of centres, two of extents, eight of scores that are close to one another.
Tensor detections() {
  Tensor tensor(ElementType::kF32, {1, kRows, kPlaces});
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (std::size_t row = 0; row < kRows; ++row)
    for (std::size_t i = 0; i < kPlaces; ++i)
      tensor.data<float>()[row * kPlaces + i] = row < 2   ? 4.f + 4.f * static_cast<float>(i % 160)
                                                : row < 4 ? 2.f + std::abs(normal(random))
                                                          : 0.5f + 0.02f * normal(random);
  return tensor;
}

using Change = std::function<float(float value, std::size_t row, std::size_t place)>;
Tensor changed(const Tensor& tensor, const Change& change) {
  Tensor copy(ElementType::kF32, tensor.shape());
  for (std::size_t i = 0; i < tensor.element_count(); ++i)
    copy.data<float>()[i] = change(tensor.data<float>()[i], i / kPlaces % kRows, i % kPlaces);
  return copy;
}

struct Planted {
  const char* name;
  Change change;
};

const std::vector<Planted>& planted() {
  static const std::vector<Planted> all = {
      {"all scores are zero", [](float v, std::size_t row, std::size_t) { return row < 4 ? v : 0.f; }},
      {"all scores are their mean", [](float v, std::size_t row, std::size_t) { return row < 4 ? v : 0.5f; }},
      {"scores a tenth less", [](float v, std::size_t row, std::size_t) { return row < 4 ? v : 0.9f * v; }},
      {"one class is zero", [](float v, std::size_t row, std::size_t) { return row == 7 ? 0.f : v; }},
      {"extents are zero", [](float v, std::size_t row, std::size_t) { return row == 2 || row == 3 ? 0.f : v; }},
      {"one centre is off", [](float v, std::size_t row, std::size_t i) { return row == 0 && i == 9 ? v + 300 : v; }},
      {"nothing at all", [](float, std::size_t, std::size_t) { return 0.f; }},
      {"the other sign", [](float v, std::size_t, std::size_t) { return -v; }},
      {"one is no number", [](float v, std::size_t row, std::size_t i) { return row == 11 && i == 524 ? NAN : v; }},
      {"all are no numbers", [](float, std::size_t, std::size_t) { return NAN; }},
      {"one is infinite", [](float v, std::size_t row, std::size_t i) { return row == 5 && i == 0 ? INFINITY : v; }}};
  return all;
}

TEST(Agreement, SeesEveryPlantedError) {
  const Tensor expected = detections();
  for (const Planted& error : planted()) {
    const Agreement found = agreement(changed(expected, error.change), expected);
    EXPECT_FALSE(agrees(found, limits_of("yolo"))) << error.name;
    EXPECT_FALSE(agrees(found, limits_of("yolo_int8")))
        << error.name << ": cosine " << found.cosine << ", relative " << found.max_relative_error << ", deviation "
        << found.deviation_error;
  }
}

TEST(Agreement, SeesScoresOfOtherPlaces) {
  const Tensor expected = detections();
  Tensor moved(ElementType::kF32, expected.shape());
  for (std::size_t i = 0; i < expected.element_count(); ++i) {
    const std::size_t row = i / kPlaces, place = i % kPlaces;
    moved.data<float>()[i] = expected.data<float>()[row < 4 ? i : row * kPlaces + (place + 1) % kPlaces];
  }
  EXPECT_FALSE(agrees(agreement(moved, expected), limits_of("yolo_int8")));
}

TEST(Agreement, LetsRoundingPass) {
  const Tensor expected = detections();
  std::mt19937 random(9);
  std::uniform_real_distribution<float> unit(-1, 1);
  EXPECT_TRUE(agrees(agreement(expected, expected), kEqual));
  const Tensor sums =
      changed(expected, [&](float v, std::size_t, std::size_t) { return v * (1 + 1e-6f * unit(random)); });
  EXPECT_TRUE(agrees(agreement(sums, expected), limits_of("yolo")));
  // One step in 255 of each row's range, for a few values.
  const Tensor steps = changed(expected, [&](float v, std::size_t row, std::size_t) {
    const float step = (row < 2 ? 640.f : row < 4 ? 6.f : 1.f) / 255;
    return unit(random) > 0.95f ? v + (row < 4 ? step : step / 4) : v;
  });
  EXPECT_TRUE(agrees(agreement(steps, expected), limits_of("yolo_int8")));
  EXPECT_FALSE(agrees(agreement(steps, expected), limits_of("yolo")));
}

TEST(Agreement, ConstantsAndNothingAreJudgedByTheirSize) {
  const auto all = [](float value) {
    Tensor tensor(ElementType::kF32, {1, 4, 32});
    std::fill_n(tensor.data<float>(), 128, value);
    return tensor;
  };
  EXPECT_TRUE(agrees(agreement(all(2), all(2)), kEqual));
  EXPECT_TRUE(agrees(agreement(all(0), all(0)), kEqual));
  EXPECT_TRUE(agrees(agreement(all(2.000001f), all(2)), {}));
  EXPECT_FALSE(agrees(agreement(all(2.1f), all(2)), {}));
  EXPECT_FALSE(agrees(agreement(all(0.1f), all(0)), {}));
  EXPECT_FALSE(agrees(agreement(all(0), all(1)), limits_of("_int8")));
}

}  // namespace agreement_test
}  // namespace tenon
