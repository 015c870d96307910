// SPDX-License-Identifier: Apache-2.0
// Compares suppression with results by hand, and with a brute-force definition.
#include <tenon/vision/nms.hpp>

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace nms_test {

using namespace tenon;
using vision::Box;
using vision::Candidate;

TEST(IntersectionOverUnion, OfKnownBoxes) {
  EXPECT_FLOAT_EQ(vision::intersection_over_union({0, 0, 2, 2}, {1, 1, 3, 3}), 1.0f / 7);
  EXPECT_FLOAT_EQ(vision::intersection_over_union({0, 0, 2, 2}, {0, 0, 2, 2}), 1);
  EXPECT_EQ(vision::intersection_over_union({0, 0, 2, 2}, {2, 0, 4, 2}), 0);
  EXPECT_EQ(vision::intersection_over_union({1, 1, 1, 1}, {1, 1, 1, 1}), 0);
  EXPECT_EQ(vision::intersection_over_union({3, 3, 1, 1}, {0, 0, 4, 4}), 0) << "an inverted box has no area";
}

TEST(Suppress, KeepsTheBestOfEachLabelAndThoseThatDoNotOverlap) {
  std::vector<Candidate> c = {{{0, 0, 10, 10}, 0.5f, 0, 0},
                              {{1, 0, 11, 10}, 0.9f, 0, 1},
                              {{1, 0, 11, 10}, 0.8f, 1, 2},
                              {{20, 0, 30, 10}, 0.4f, 0, 3}};
  vision::suppress(c, 0.5f, 100);
  ASSERT_EQ(c.size(), 3u);
  EXPECT_EQ(c[0].index, 1u);
  EXPECT_EQ(c[1].index, 2u);
  EXPECT_EQ(c[2].index, 3u);
}

TEST(Suppress, BreaksTiesByIndexAndStopsAtTopK) {
  std::vector<Candidate> c;
  for (std::uint32_t i = 0; i < 6; ++i) c.push_back({{i * 20.0f, 0, i * 20.0f + 10, 10}, 0.5f, 0, 5 - i});
  vision::suppress(c, 0.5f, 3);
  ASSERT_EQ(c.size(), 3u);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(c[i].index, i);
  vision::suppress(c, 0.5f, 0);
  EXPECT_TRUE(c.empty());
}

TEST(Suppress, AThresholdOfOneKeepsEverything) {
  std::vector<Candidate> c(5, {{0, 0, 1, 1}, 0.5f, 0, 0});
  vision::suppress(c, 1.0f, 100);
  EXPECT_EQ(c.size(), 5u);
}

/// The definition: keep the best candidate of all, drop those that overlap it too much, and repeat.
std::vector<std::uint32_t> brute_force(std::vector<Candidate> left, float threshold) {
  std::vector<std::uint32_t> kept;
  while (!left.empty()) {
    const auto best = *std::max_element(left.begin(), left.end(), [](const Candidate& a, const Candidate& b) {
      return a.score != b.score ? a.score < b.score : a.index > b.index;
    });
    kept.push_back(best.index);
    std::erase_if(left, [&](const Candidate& c) {
      return c.index == best.index ||
             (c.label_id == best.label_id && vision::intersection_over_union(c.box, best.box) > threshold);
    });
  }
  return kept;
}

TEST(Suppress, EqualsTheDefinitionOnRandomBoxes) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<Candidate> c;
    for (std::uint32_t i = 0; i < random() % 60; ++i) {
      const float x = static_cast<float>(random() % 40), y = static_cast<float>(random() % 40);
      c.push_back({{x, y, x + static_cast<float>(random() % 20), y + static_cast<float>(random() % 20)},
                   static_cast<float>(random() % 10) / 10,
                   static_cast<std::int32_t>(random() % 3),
                   i});
    }
    const float threshold = static_cast<float>(random() % 10) / 10;
    const auto expected = brute_force(c, threshold);
    vision::suppress(c, threshold, 1000);
    std::vector<std::uint32_t> found;
    for (const Candidate& candidate : c) found.push_back(candidate.index);
    EXPECT_EQ(found, expected);
  }
}

}  // namespace nms_test
