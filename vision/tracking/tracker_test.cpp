// SPDX-License-Identifier: Apache-2.0
// Ids over synthetic motion: crossings, gaps, weak scores, and the objects of the demo's clip by their true ids.
#include <tenon/vision/tracker.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tenon/core/error.hpp>
#include <tenon/vision/ground_truth.hpp>

namespace tracker_test {

using namespace tenon;
using vision::Detection;
using vision::Tracker;
using vision::TrackerOptions;

Detection at(float x, float y, float size = 40, int label = 0, float score = 0.9f) {
  return {{x - size / 2, y - size / 2, x + size / 2, y + size / 2}, label, score, ""};
}

std::vector<std::int64_t> ids(Tracker& tracker, const std::vector<Detection>& detections) {
  const auto found = tracker.update(detections);
  return {found.begin(), found.end()};
}

TEST(Tracker, KeepsTheIdsOfObjectsThatMove) {
  Tracker tracker;
  for (int i = 0; i < 100; ++i) {
    const auto t = static_cast<float>(i);
    const auto found = ids(tracker, {at(50 + 7 * t, 100), at(600 - 5 * t, 300), at(20 + 2 * t, 500 - 4 * t)});
    EXPECT_EQ(found, (std::vector<std::int64_t>{1, 2, 3})) << i;
  }
}

TEST(Tracker, OrderOfDetectionsDoesNotMatter) {
  Tracker tracker;
  EXPECT_EQ(ids(tracker, {at(50, 50), at(200, 50)}), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(ids(tracker, {at(203, 50), at(53, 50)}), (std::vector<std::int64_t>{2, 1}));
}

TEST(Tracker, CrossingObjectsGoOnWhereTheyWereGoing) {
  // They pass 12 pixels beside each other, so that for some pictures each overlaps the other.
  Tracker tracker;
  for (int i = 0; i < 60; ++i) {
    const auto t = static_cast<float>(i);
    const auto found = ids(tracker, {at(100 + 6 * t, 200), at(460 - 6 * t, 212)});
    EXPECT_EQ(found, (std::vector<std::int64_t>{1, 2})) << i;
  }
}

TEST(Tracker, KeepsAnIdOverAGapAndForgetsItAfterwards) {
  TrackerOptions options;
  options.keep_pictures = 10;
  for (const int gap : {1, 5, 10, 11}) {
    Tracker tracker(options);
    int i = 0;
    const auto there = [&] { return at(100 + 4 * static_cast<float>(i++), 80); };
    for (int k = 0; k < 20; ++k) EXPECT_EQ(ids(tracker, {there()})[0], 1);
    for (int k = 0; k < gap; ++k, ++i) ids(tracker, {});
    EXPECT_EQ(ids(tracker, {there()})[0], gap <= 10 ? 1 : 2) << "after " << gap;
  }
}

TEST(Tracker, LabelsAreTrackedApartUnlessToldOtherwise) {
  Tracker apart;
  EXPECT_EQ(ids(apart, {at(50, 50, 40, 0)})[0], 1);
  EXPECT_EQ(ids(apart, {at(50, 50, 40, 1)})[0], 2);
  TrackerOptions options;
  options.across_labels = true;
  Tracker together(options);
  EXPECT_EQ(ids(together, {at(50, 50, 40, 0)})[0], 1);
  EXPECT_EQ(ids(together, {at(50, 50, 40, 1)})[0], 1);
}

TEST(Tracker, WeakDetectionsContinueATrackAndBeginNone) {
  Tracker tracker;
  EXPECT_EQ(ids(tracker, {at(50, 50, 40, 0, 0.3f)})[0], -1);
  EXPECT_EQ(ids(tracker, {at(50, 50)})[0], 1);
  EXPECT_EQ(ids(tracker, {at(52, 50, 40, 0, 0.2f)})[0], 1);
  EXPECT_EQ(ids(tracker, {at(54, 50)})[0], 1);
}

TEST(Tracker, AnObjectIsConfirmedByPicturesInSequence) {
  TrackerOptions options;
  options.confirm_pictures = 3;
  Tracker tracker(options);
  EXPECT_EQ(ids(tracker, {at(50, 50)})[0], -1);
  EXPECT_EQ(ids(tracker, {at(50, 50)})[0], -1);
  ids(tracker, {});
  EXPECT_EQ(ids(tracker, {at(50, 50)})[0], -1) << "it begins anew";
  EXPECT_EQ(ids(tracker, {at(50, 50)})[0], -1);
  EXPECT_EQ(ids(tracker, {at(50, 50)})[0], 1);
}

TEST(Tracker, PicturesThatWereNotLookedAtDoNotCountAsMissed) {
  for (const int interval : {2, 3, 5}) {
    for (const std::uint32_t confirm : {1u, 2u, 3u}) {
      TrackerOptions options;
      options.confirm_pictures = confirm;
      options.keep_pictures = 1;
      Tracker tracker(options);
      for (int i = 0; i < 60; ++i) {
        const auto x = 100 + 2 * static_cast<float>(i);
        const bool is_known = i >= interval * static_cast<int>(confirm - 1);
        if (i % interval == 0) {
          // Weak ones keep their id as well.
          const bool is_weak = i > interval * 4 && i / interval % 2 == 1;
          EXPECT_EQ(ids(tracker, {at(x, 100, 60, 0, is_weak ? 0.3f : 0.9f)})[0], is_known ? 1 : -1) << i;
        } else {
          const auto expected = tracker.skip();
          ASSERT_EQ(expected.size(), is_known ? 1u : 0u) << i;
          if (i < 20 || !is_known) continue;
          EXPECT_EQ(expected[0].id, 1);
          EXPECT_NEAR(expected[0].box.x1, x - 30, 1);
          EXPECT_NEAR(expected[0].box.y2, 130, 1);
        }
      }
    }
  }
  Tracker tracker;
  ids(tracker, {at(50, 50)});
  ids(tracker, {});
  EXPECT_TRUE(tracker.skip().empty()) << "it was missing when the last picture was looked at";
}

/// How often the only object of a path gets another id. @param place  Its centre in picture f.
template <typename Place>
std::size_t switches_along(Place place) {
  Tracker tracker;
  std::size_t switches = 0;
  std::int64_t last = -1;
  for (int f = 0; f < 100; ++f) {
    const auto [x, y] = place(static_cast<float>(f));
    const std::int64_t id = ids(tracker, {at(x, y, 60)})[0];
    if (last >= 0 && id != last) ++switches;
    last = id;
  }
  return switches;
}

TEST(Tracker, KeepsTheIdsOfObjectsThatTurnFast) {
  // With the same boxes ByteTrack (supervision 0.25.1, gate 0.2) changes 0 to 7 times.
  for (const float speed : {4.0f, 8.0f, 12.0f, 16.0f, 20.0f, 24.0f, 30.0f}) {
    EXPECT_EQ(switches_along([&](float f) {
                const float angle = speed / 150 * f;
                return std::pair(400 + 150 * std::cos(angle), 400 + 150 * std::sin(angle));
              }),
              0u)
        << "circle " << speed;
    EXPECT_EQ(switches_along([&](float f) {
                const float p = std::fmod(speed * f, 800.0f);
                return std::pair(100 + (p < 400 ? p : 800 - p), 300.0f);
              }),
              0u)
        << "bounce " << speed;
    EXPECT_EQ(switches_along([&](float f) {
                const float p = std::fmod(speed * f, 120.0f);
                return std::pair(100 + speed * f / 2, 300 + (p < 60 ? p : 120 - p));
              }),
              0u)
        << "zigzag " << speed;
  }
}

TEST(Tracker, TakesTheAssignmentOfTheLargestOverlapInAll) {
  // A greedy assignment would give the second detection to the first object, and leave the second object without one.
  TrackerOptions options;
  options.iou_threshold = 0.2f;
  Tracker tracker(options);
  EXPECT_EQ(ids(tracker, {at(100, 100), at(118, 100)}), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(ids(tracker, {at(86, 100), at(104, 100)}), (std::vector<std::int64_t>{1, 2}));
}

/// The best assignment, found by trying all of them.
double best_by_trial(const std::vector<Detection>& a, const std::vector<Detection>& b, std::size_t row,
                     std::set<std::size_t>& used) {
  if (row == a.size()) return 0;
  double best = best_by_trial(a, b, row + 1, used);
  for (std::size_t k = 0; k < b.size(); ++k) {
    const float overlap = vision::intersection_over_union(a[row].box, b[k].box);
    if (used.count(k) || overlap < 0.1f) continue;
    used.insert(k);
    best = std::max(best, overlap + best_by_trial(a, b, row + 1, used));
    used.erase(k);
  }
  return best;
}

TEST(Tracker, NoOtherAssignmentOfRandomBoxesIsBetter) {
  std::minstd_rand random(7);
  std::uniform_real_distribution<float> place(0, 90);
  TrackerOptions options;
  options.iou_threshold = 0.1f;
  for (int round = 0; round < 200; ++round) {
    std::vector<Detection> a(1 + random() % 5), b(1 + random() % 5);
    for (auto* all : {&a, &b})
      for (Detection& one : *all) one = at(place(random), place(random));
    Tracker tracker(options);
    const auto first = ids(tracker, a), second = ids(tracker, b);
    double sum = 0;
    for (std::size_t k = 0; k < b.size(); ++k) {
      const auto known = std::find(first.begin(), first.end(), second[k]);
      if (known != first.end())
        sum += vision::intersection_over_union(a[static_cast<std::size_t>(known - first.begin())].box, b[k].box);
    }
    std::set<std::size_t> used;
    EXPECT_NEAR(sum, best_by_trial(a, b, 0, used), 1e-4) << round;
  }
}

/// Rows of two boxes, one below the other, each of which overlaps boxes of the rows beside it.
std::vector<Detection> rows_of_two(int count, float x) {
  std::vector<Detection> boxes;
  for (int i = 0; i < count; ++i)
    for (const float right : {0.0f, 18.0f}) boxes.push_back(at(x + right, 100 + 25 * static_cast<float>(i)));
  return boxes;
}

/// The exact assignment of 1,200 boxes that compete takes seconds a picture.
TEST(Tracker, LargeCrowdsAreAssignedBestFirst) {
  TrackerOptions options;
  options.iou_threshold = 0.2f;
  for (const int rows : {3, 600}) {
    Tracker tracker(options);
    const auto before = ids(tracker, rows_of_two(rows, 100)), after = ids(tracker, rows_of_two(rows, 86));
    // The second box of a row lies nearly where the first one was.
    for (std::size_t i = 0; i < before.size(); i += 2) EXPECT_EQ(after[i + 1], before[rows == 3 ? i + 1 : i]) << i;
  }
}

TEST(Tracker, BoxesThatAreNoneGetNoId) {
  Tracker tracker;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<Detection> none{at(nan, 5), at(5, 5, 0), at(50, 50, 40, 0, nan), {{10, 10, 5, 20}, 0, 0.9f, ""}};
  EXPECT_EQ(ids(tracker, none), (std::vector<std::int64_t>{-1, -1, -1, -1}));
  EXPECT_EQ(tracker.size(), 0u);
  EXPECT_THROW(Tracker({.iou_threshold = 2}), Error);
  EXPECT_THROW(Tracker({.confidence_threshold = nan}), Error);
}

TEST(Tracker, ThousandsOfObjectsTakeNoTimeToSpeakOf) {
  Tracker tracker;
  std::vector<Detection> many;
  for (int i = 0; i < 400; ++i) many.push_back(at(static_cast<float>(i % 20) * 60, static_cast<float>(i / 20) * 60));
  const auto first = ids(tracker, many);
  EXPECT_EQ(ids(tracker, many), first);
}

/// How often objects of the clip got another id than before, and the number of their pictures.
struct Switches {
  std::size_t switches = 0, pictures = 0, objects = 0, ids = 0;
};

/// @param drop  Leaves out every n-th box; 0: none.  @param noise  Pixels by which corners are off.
Switches follow_clip(std::size_t drop, float noise) {
  const auto truth = vision::read_ground_truth(std::string(std::getenv("TENON_MODELS")) + "/demo.json");
  Tracker tracker;
  std::minstd_rand random(3);
  std::normal_distribution<float> off(0, 1);
  std::map<std::int64_t, std::int64_t> known;
  std::set<std::int64_t> all;
  Switches result;
  std::size_t count = 0;
  for (const auto& objects : truth.frames) {
    std::vector<Detection> detections;
    std::vector<std::int64_t> true_ids;
    for (const vision::Truth& one : objects) {
      if (one.difficult || (drop != 0 && ++count % drop == 0)) continue;
      vision::Box box = one.box;
      for (float* corner : {&box.x1, &box.y1, &box.x2, &box.y2}) *corner += noise * off(random);
      detections.push_back({box, one.label_id, 0.9f, ""});
      true_ids.push_back(one.id);
    }
    const auto found = tracker.update(detections);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i] < 0) continue;
      const auto [at, is_new] = known.try_emplace(true_ids[i], found[i]);
      if (!is_new && at->second != found[i]) ++result.switches;
      at->second = found[i];
      all.insert(found[i]);
      ++result.pictures;
    }
  }
  result.objects = known.size();
  result.ids = all.size();
  return result;
}

TEST(Tracker, FollowsTheTrueObjectsOfTheClip) {
  for (const auto& [drop, noise, most] : {std::tuple<std::size_t, float, std::size_t>{0, 0, 5}, {7, 2, 8}}) {
    const Switches found = follow_clip(drop, noise);
    RecordProperty("switches_drop_" + std::to_string(drop), static_cast<int>(found.switches));
    std::printf("drop %zu, noise %.0f px: %zu objects in %zu places, %zu ids, %zu switches\n", drop,
                static_cast<double>(noise), found.objects, found.pictures, found.ids, found.switches);
    EXPECT_GT(found.pictures, 3500u);
    EXPECT_LE(found.switches, most);
  }
}

}  // namespace tracker_test
