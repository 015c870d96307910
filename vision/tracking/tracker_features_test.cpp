// SPDX-License-Identifier: Apache-2.0
// The tracker with features, and with a camera that moves: ids that overlap alone loses.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <tenon/core/error.hpp>
#include <tenon/core/testing/allocation_count.hpp>
#include <tenon/vision/tracker.hpp>

namespace tracker_features_test {

using namespace tenon;
using vision::Appearance;
using vision::Detection;
using vision::Tracker;
using vision::TrackerOptions;
using Ids = std::vector<std::int64_t>;

constexpr std::size_t kLength = 64;

Detection at(float x, float y, float size = 40) {
  return {{x - size / 2, y - size / 2, x + size / 2, y + size / 2}, 0, 0.9f, ""};
}

/// What persons look like: a direction for each, and noise that differs from picture to picture.
class Looks {
 public:
  explicit Looks(std::size_t count, float noise = 0.3f) : known_(count * kLength), noise_(noise) {
    std::normal_distribution<float> any(0, 1);
    for (float& value : known_) value = any(random_);
  }
  void add(std::size_t person) {
    std::normal_distribution<float> off(0, noise_);
    for (std::size_t i = 0; i < kLength; ++i) rows_.push_back(7 * (known_[person * kLength + i] + off(random_)));
  }
  void add_nothing() { rows_.insert(rows_.end(), kLength, 0); }
  Appearance take() {
    given_ = std::move(rows_);
    rows_.clear();
    return {given_, kLength};
  }

 private:
  std::minstd_rand random_{4};
  std::vector<float> known_, rows_, given_;
  float noise_;
};

Ids ids(Tracker& tracker, const std::vector<Detection>& objects, const Appearance& looks = {}) {
  const auto found = tracker.update(objects, looks);
  return {found.begin(), found.end()};
}

/// Two persons walk towards a pillar, are hidden for 20 pictures, and come back the way they came, the other one first.
Ids after_the_pillar(bool has_features) {
  Tracker tracker;
  Looks looks(2);
  const auto picture = [&](const std::vector<Detection>& objects, const std::vector<std::size_t>& persons) {
    for (const std::size_t person : persons) looks.add(person);
    const Appearance all = looks.take();
    return ids(tracker, objects, has_features ? all : Appearance{});
  };
  for (int i = 0; i < 20; ++i)
    picture({at(100 + 5 * static_cast<float>(i), 200), at(500 - 5 * static_cast<float>(i), 200)}, {0, 1});
  for (int i = 0; i < 20; ++i) picture({}, {});
  return picture({at(210, 330), at(390, 60)}, {1, 0});
}

TEST(TrackerFeatures, KnowObjectsAfterAnOcclusionThatOverlapLoses) {
  EXPECT_EQ(after_the_pillar(false), (Ids{3, 4}));
  EXPECT_EQ(after_the_pillar(true), (Ids{2, 1}));
}

TEST(TrackerFeatures, ReachAndThresholdKeepOthersApart) {
  for (const auto& [reach, threshold, person, expected] : {std::tuple{0.0f, 0.25f, 0, 1},
                                                           {2.0f, 0.25f, 0, 2},
                                                           {10.0f, 0.25f, 0, 1},
                                                           {0.0f, 0.25f, 1, 2},
                                                           {0.0f, 0.0f, 0, 2}}) {
    TrackerOptions options;
    options.appearance_reach = reach;
    options.appearance_threshold = threshold;
    Tracker tracker(options);
    Looks looks(2);
    for (int i = 0; i < 5; ++i) looks.add(0), ids(tracker, {at(100, 100)}, looks.take());
    for (int i = 0; i < 5; ++i) ids(tracker, {});
    looks.add(static_cast<std::size_t>(person));
    EXPECT_EQ(ids(tracker, {at(300, 100)}, looks.take()), (Ids{expected}))
        << reach << " " << threshold << " " << person;
  }
}

TEST(TrackerFeatures, AfterAJumpTheObjectIsExpectedWhereItIs) {
  Tracker tracker;
  Looks looks(1);
  for (int i = 0; i < 10; ++i) looks.add(0), ids(tracker, {at(100 + 8 * static_cast<float>(i), 100)}, looks.take());
  for (int i = 0; i < 3; ++i) ids(tracker, {});
  looks.add(0);
  EXPECT_EQ(ids(tracker, {at(600, 400)}, looks.take()), (Ids{1}));
  for (int i = 1; i < 5; ++i) EXPECT_EQ(ids(tracker, {at(600 - 6 * static_cast<float>(i), 400)}), (Ids{1})) << i;
}

TEST(TrackerFeatures, TellObjectsApartThatSwapPlaces) {
  // From one picture to the next each lies where the other one was a little more than where it was itself.
  for (const bool has_features : {false, true}) {
    Tracker tracker;
    Looks looks(2);
    for (int i = 0; i < 10; ++i) {
      looks.add(0), looks.add(1);
      const Appearance all = looks.take();
      ids(tracker, {at(100, 100), at(114, 100)}, has_features ? all : Appearance{});
    }
    looks.add(0), looks.add(1);
    const Appearance all = looks.take();
    EXPECT_EQ(ids(tracker, {at(108, 100), at(106, 100)}, has_features ? all : Appearance{}),
              has_features ? (Ids{1, 2}) : (Ids{2, 1}));
  }
}

TEST(TrackerFeatures, AnExponentialAverageFollowsALookThatChanges) {
  // The look turns by 12 degrees from picture to picture: far from the first, near to the average.
  for (const auto& [momentum, expected] : {std::pair{0.5f, 1}, {1.0f, 2}}) {
    TrackerOptions options;
    options.appearance_momentum = momentum;
    options.appearance_threshold = 0.1f;
    Tracker tracker(options);
    const auto look = [](int i) {
      const float angle = static_cast<float>(i) * 0.2f;
      return std::vector<float>{std::cos(angle), std::sin(angle)};
    };
    for (int i = 0; i < 10; ++i) ids(tracker, {at(100, 100)}, {look(i), 2});
    ids(tracker, {});
    EXPECT_EQ(ids(tracker, {at(500, 100)}, {look(10), 2}), (Ids{expected})) << momentum;
  }
}

TEST(TrackerFeatures, RowsThatSayNothingCountAsNone) {
  Tracker tracker;
  Looks looks(1);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(ids(tracker, {at(100, 100)}, {std::vector<float>(kLength, nan), kLength}), (Ids{1}));
  looks.add_nothing();
  EXPECT_EQ(ids(tracker, {at(104, 100)}, looks.take()), (Ids{1}));
  ids(tracker, {});
  looks.add_nothing();
  EXPECT_EQ(ids(tracker, {at(400, 100)}, looks.take()), (Ids{2}));
  // Another model: what was known says nothing any more.
  EXPECT_EQ(ids(tracker, {at(400, 100)}, {std::vector<float>{1, 0}, 2}), (Ids{2}));
  EXPECT_THROW(ids(tracker, {at(1, 1)}, {std::vector<float>{1, 0, 1}, 2}), Error);
  EXPECT_THROW(ids(tracker, {at(1, 1)}, {std::vector<float>{1}, 0}), Error);
  EXPECT_THROW(Tracker({.appearance_threshold = 2}), Error);
  EXPECT_THROW(Tracker({.appearance_reach = -1}), Error);
}

TEST(TrackerFeatures, ACameraThatJerksDoesNotChangeIds) {
  const auto run = [](bool is_told) {
    Tracker tracker;
    std::size_t switches = 0;
    double shake_x = 0, shake_y = 0;
    std::minstd_rand random(2);
    for (int f = 0; f < 60; ++f) {
      const double dx = static_cast<double>(random() % 161) - 80, dy = static_cast<double>(random() % 81) - 40;
      shake_x += dx, shake_y += dy;
      std::vector<Detection> objects;
      for (int k = 0; k < 6; ++k)
        objects.push_back(
            at(static_cast<float>(200 + 90 * k + 2 * f + shake_x), static_cast<float>(300 + 20 * k + shake_y)));
      if (is_told) tracker.camera_moved({1, 0, dx, dy});
      const Ids found = ids(tracker, objects);
      for (int k = 0; k < 6; ++k) switches += f > 0 && found[static_cast<std::size_t>(k)] != k + 1;
    }
    return switches;
  };
  EXPECT_EQ(run(true), 0u);
  EXPECT_GT(run(false), 50u);
}

TEST(TrackerFeatures, ATurnOfTheCameraMovesBoxesAndVelocities) {
  Tracker tracker;
  for (int i = 0; i < 30; ++i) ids(tracker, {at(100 + 6 * static_cast<float>(i), 50)});
  // By 90 degrees and to twice the size: (x, y) to (500 - 2 y, 2 x).
  tracker.camera_moved({0, 2, 500, 0});
  const auto expected = tracker.skip();
  ASSERT_EQ(expected.size(), 1u);
  EXPECT_NEAR((expected[0].box.x1 + expected[0].box.x2) / 2, 400, 1);
  EXPECT_NEAR((expected[0].box.y1 + expected[0].box.y2) / 2, 2 * (100 + 6 * 30), 2);
  EXPECT_NEAR(expected[0].box.width(), 80, 1);
}

TEST(TrackerFeatures, TheSteadyStateAllocatesNothing) {
  Tracker tracker;
  Looks looks(40);
  std::vector<std::vector<Detection>> pictures(60);
  std::vector<std::vector<float>> rows(pictures.size());
  std::vector<Appearance> all(pictures.size());
  for (std::size_t f = 0; f < pictures.size(); ++f) {
    for (std::size_t k = 0; k < 40; ++k) {
      if ((f / 5 + k) % 8 == 0) continue;  // Hidden for some pictures.
      pictures[f].push_back(at(static_cast<float>(k % 8 * 30 + f), static_cast<float>(k / 8 * 60)));
      looks.add(k);
    }
    const Appearance one = looks.take();
    rows[f].assign(one.rows.begin(), one.rows.end());
    all[f] = {rows[f], kLength};
  }
  for (std::size_t f = 0; f < 45; ++f) tracker.update(pictures[f], all[f]);
  const auto before = tenon_test::allocations_of_this_thread();
  for (std::size_t f = 45; f < 60; ++f) tracker.update(pictures[f], all[f]);
  EXPECT_EQ(tenon_test::allocations_of_this_thread() - before, 0u);
}

}  // namespace tracker_features_test
