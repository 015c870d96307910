// SPDX-License-Identifier: Apache-2.0
// Zones, lines and directions over objects that move on known ways.
#include <tenon/vision/zones.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/testing/allocation_count.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace zones_test {

using namespace tenon;
using metadata::Zone;
using ::testing::HasSubstr;
using vision::Anchor;
using vision::ZoneRule;
using vision::ZoneWatch;
using What = metadata::ZoneEvent::What;

constexpr std::int64_t kFrame = 100'000'000;  // 10 pictures per second.

ZoneRule square(float x1, float y1, float x2, float y2) {
  return {"square", Zone::Shape::kZone, {{x1, y1}, {x2, y1}, {x2, y2}, {x1, y2}}};
}
ZoneRule line(float x1, float y1, float x2, float y2) { return {"line", Zone::Shape::kLine, {{x1, y1}, {x2, y2}}}; }

/// An object whose bottom centre is at x, y.
ZoneWatch::Object at(float x, float y, std::int64_t id = 1, std::string_view label = "person") {
  return {{x - 5, y - 20, x + 5, y}, label, id};
}

struct Seen {
  std::size_t picture;
  What what;
  double seconds;
};

/// What happens to one object that is at these places, one for each picture.
std::vector<Seen> seen(ZoneWatch& watch, const std::vector<metadata::Point>& places) {
  std::vector<Seen> all;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const ZoneWatch::Object object = at(places[i].x, places[i].y);
    for (const auto& event : watch.update(static_cast<std::int64_t>(i) * kFrame, {&object, 1}))
      if (event.what != What::kInside && event.what != What::kMoves) all.push_back({i, event.what, event.seconds});
  }
  return all;
}

TEST(Zones, CountsStaysAndTheirTime) {
  ZoneRule rule = square(100, 100, 200, 200);
  rule.dwell_s = 0.5;
  ZoneWatch watch({rule});
  std::vector<metadata::Point> way;
  for (int i = 0; i < 20; ++i) way.push_back({50 + 10 * static_cast<float>(i), 150});
  const auto events = seen(watch, way);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].picture, 5u) << "the left side belongs to the zone";
  EXPECT_EQ(events[0].what, What::kEntered);
  EXPECT_EQ(events[1].picture, 10u);
  EXPECT_EQ(events[1].what, What::kStaysLong);
  EXPECT_NEAR(events[1].seconds, 0.5, 1e-9);
  EXPECT_EQ(events[2].picture, 15u) << "the right one does not";
  EXPECT_EQ(events[2].what, What::kLeft);
  EXPECT_NEAR(events[2].seconds, 1.0, 1e-9);
  EXPECT_EQ(watch.counted(0).counts, (std::vector<Zone::Count>{{"person", 0, 1, 1}}));
}

TEST(Zones, AFlickerOfFewerPicturesIsNoStayAndNoLeaving) {
  ZoneRule rule = square(100, 100, 200, 200);
  rule.confirm = 3;
  ZoneWatch watch({rule});
  const metadata::Point in{150, 150}, out{50, 150};
  const auto events = seen(watch, {out, in, in, out, in, in, in, out, out, in, out, out, out});
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].picture, 6u);
  EXPECT_NEAR(events[0].seconds, 0.2, 1e-9) << "the stay began with the first picture of the run";
  EXPECT_EQ(events[1].picture, 12u);
  EXPECT_EQ(events[1].what, What::kLeft);
  EXPECT_NEAR(events[1].seconds, 0.6, 1e-9);
}

TEST(Zones, AMarginKeepsObjectsThatStandOnTheEdge) {
  ZoneRule wide = square(100, 100, 200, 200);
  wide.margin_px = 4;
  ZoneWatch without({square(100, 100, 200, 200)}), with({wide});
  std::vector<metadata::Point> way{{110, 150}};
  for (int i = 0; i < 20; ++i) way.push_back({i % 2 ? 98.0f : 102.0f, 150});
  EXPECT_EQ(seen(without, way).size(), 20u);
  EXPECT_EQ(seen(with, way).size(), 1u);
}

TEST(Zones, LinesCountBothWaysByClass) {
  ZoneWatch watch({line(0, 100, 200, 100)});
  const auto pass = [&](std::int64_t id, const char* label, float from, float to) {
    for (const float y : {from, to}) {
      const ZoneWatch::Object object = at(100, y, id, label);
      watch.update(0, {&object, 1});
    }
  };
  pass(1, "person", 120, 80);
  pass(2, "car", 120, 80);
  pass(3, "car", 80, 120);
  pass(4, "car", 80, 90);
  EXPECT_EQ(watch.counted(0).counts, (std::vector<Zone::Count>{{"person", 0, 1, 0}, {"car", 0, 1, 1}}));
}

TEST(Zones, LinesEndAtTheirEnds) {
  ZoneWatch watch({line(0, 100, 200, 100)});
  EXPECT_TRUE(seen(watch, {{300, 120}, {300, 80}, {300, 120}}).empty());
  // One that goes around the line's end was seen on both sides of it, so it has changed sides.
  EXPECT_EQ(seen(watch, {{100, 120}, {300, 120}, {300, 80}, {100, 80}}).size(), 1u);
}

TEST(Zones, ABoxOnTheLineIsOnNoSideOfIt) {
  ZoneRule rule = line(0, 100, 200, 100);
  rule.anchor = Anchor::kCorners;
  ZoneWatch watch({rule});
  const auto events = seen(watch, {{100, 130}, {100, 110}, {100, 105}, {100, 110}, {100, 90}});
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].picture, 4u);
  EXPECT_EQ(events[0].what, What::kCrossedIn);
}

TEST(Zones, DirectionsAreThoseOfTheWayNotOfTheShaking) {
  ZoneWatch watch({{"east", Zone::Shape::kDirection, {{0, 0}, {1, 0}}}});
  std::vector<std::size_t> moving;
  for (std::size_t i = 0; i < 60; ++i) {
    const float shake = i % 2 ? 3 : -3, x = i < 20 ? 4 * static_cast<float>(i) : 80;
    const ZoneWatch::Object object = at(100 + x, 100 + shake);
    for (const auto& event : watch.update(static_cast<std::int64_t>(i) * kFrame, {&object, 1}))
      if (event.what == What::kMoves) moving.push_back(i);
  }
  ASSERT_FALSE(moving.empty());
  EXPECT_LE(moving.front(), 6u);
  EXPECT_GE(moving.back(), 20u);
  EXPECT_LE(moving.back(), 41u) << "it stands since picture 20";
  EXPECT_EQ(moving.size(), moving.back() - moving.front() + 1);
  EXPECT_EQ(watch.counted(0).total().entered, 1u);
  EXPECT_EQ(watch.counted(0).total().left, 1u);
}

TEST(Zones, CrowdsNeedSoManyObjectsForSoManyPictures) {
  ZoneRule rule = square(0, 0, 1000, 1000);
  rule.crowd = 3;
  rule.confirm = 2;
  ZoneWatch watch({rule});
  std::vector<bool> crowded;
  for (const int count : {2, 3, 2, 3, 3, 3, 2, 3, 2, 2}) {
    std::vector<ZoneWatch::Object> objects;
    for (int i = 0; i < count; ++i) objects.push_back(at(100 + 50 * static_cast<float>(i), 100, -1));
    watch.update(0, objects);
    crowded.push_back(watch.counted(0).is_crowded);
  }
  EXPECT_EQ(crowded, (std::vector<bool>{false, false, false, false, true, true, true, true, true, false}));
}

TEST(Zones, ObjectsThatVanishLeaveWhenTheyWereSeenLast) {
  ZoneWatch watch({square(0, 0, 100, 100)}, 1.0);
  const ZoneWatch::Object object = at(50, 50, 7);
  for (int i = 0; i < 5; ++i) watch.update(i * kFrame, {&object, 1});
  for (int i = 5; i < 14; ++i) EXPECT_TRUE(watch.update(i * kFrame, {}).empty());
  EXPECT_EQ(watch.counted(0).total().inside, 1u);
  watch.update(14 * kFrame, {});
  const auto events = watch.update(15 * kFrame, {});
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].what, What::kLeft);
  EXPECT_EQ(events[0].object, ZoneWatch::kNone);
  EXPECT_EQ(events[0].track_id, 7);
  EXPECT_NEAR(events[0].seconds, 0.4, 1e-9);
  EXPECT_EQ(watch.counted(0).total().inside, 0u);
  EXPECT_EQ(watch.size(), 0u);
}

TEST(Zones, ATimeThatGoesBackStandsStill) {
  ZoneWatch watch({square(0, 0, 100, 100)}, 1.0);
  const ZoneWatch::Object object = at(50, 50);
  for (const std::int64_t time :
       std::initializer_list<std::int64_t>{0, 10, 5, -1'000'000'000'000, std::numeric_limits<std::int64_t>::lowest()})
    for (const auto& event : watch.update(time, {&object, 1})) EXPECT_GE(event.seconds, 0);
  EXPECT_EQ(watch.counted(0).total().entered, 1u);
  const auto last = watch.update(std::numeric_limits<std::int64_t>::max(), {&object, 1});
  ASSERT_EQ(last.size(), 1u);
  EXPECT_GT(last[0].seconds, 9e9);
}

TEST(Zones, AnOddlyShapedZoneIsItsInterior) {
  ZoneRule rule{"u",
                Zone::Shape::kZone,
                {{0, 0}, {30, 0}, {30, 100}, {70, 100}, {70, 0}, {100, 0}, {100, 130}, {0, 130}, {0, 0}}};
  ZoneWatch watch({rule});
  const auto is_in = [&](float x, float y) {
    const ZoneWatch::Object object = at(x, y, -1);
    return !watch.update(0, {&object, 1}).empty();
  };
  for (float x = 0.5f; x < 120; x += 1) {
    for (float y = 0.5f; y < 140; y += 1) {
      const bool wanted = x < 100 && y < 130 && !(x > 30 && x < 70 && y < 100);
      ASSERT_EQ(is_in(x, y), wanted) << x << ", " << y;
    }
  }
}

TEST(Zones, RefusesWhatNoZoneIs) {
  const auto message = [](ZoneRule rule) {
    return error_of([&] { ZoneWatch({std::move(rule)}); }, Code::kInvalidArgument);
  };
  ZoneRule rule = square(0, 0, 10, 10);
  std::swap(rule.points[1], rule.points[2]);
  EXPECT_THAT(message(rule),
              HasSubstr("zone \"square\" crosses itself: its sides 1 and 3 meet; give its corners in their order"));
  EXPECT_THAT(message({"a", Zone::Shape::kZone, {{0, 0}, {10, 0}, {5, 0}}}), HasSubstr("crosses itself"));
  EXPECT_THAT(message({"a", Zone::Shape::kZone, {{0, 0}, {10, 0}}}),
              HasSubstr("has 2 corners; it needs at least three"));
  EXPECT_THAT(message({"a", Zone::Shape::kZone, {{0, 0}, {10, 0}, {10, 0}, {0, 0}}}), HasSubstr("has 2 corners"));
  EXPECT_THAT(message({"a", Zone::Shape::kLine, {{3, 3}, {3, 3}}}),
              HasSubstr("line \"a\" begins and ends at one point"));
  EXPECT_THAT(message({"a", Zone::Shape::kDirection, {{3, 3}}}), HasSubstr("has 1 points; it needs two"));
  EXPECT_THAT(message({"", Zone::Shape::kLine, {{3, 3}, {4, 4}}}), HasSubstr("has no name"));
  EXPECT_THAT(message(line(0, std::numeric_limits<float>::quiet_NaN(), 1, 1)), HasSubstr("is no number"));
  EXPECT_THAT(error_of(
                  [&] {
                    ZoneWatch({line(0, 0, 1, 1), line(0, 0, 2, 2)});
                  },
                  Code::kInvalidArgument),
              HasSubstr("is there twice"));
}

TEST(Zones, ThousandsOfObjectsAndBoxesThatAreNoNumbers) {
  ZoneWatch watch(
      {square(0, 0, 500, 500), line(0, 250, 500, 250), {"south", Zone::Shape::kDirection, {{0, 0}, {0, 1}}}}, 0.5);
  std::mt19937 random(1);
  std::uniform_real_distribution<float> place(-100, 700);
  std::vector<ZoneWatch::Object> objects;
  for (int i = 0; i < 50; ++i) {
    objects.clear();
    for (int k = 0; k < 2000; ++k) objects.push_back(at(place(random), place(random), 1000 * i + k));
    objects[3].box.x1 = std::numeric_limits<float>::quiet_NaN();
    objects[4].box.y2 = std::numeric_limits<float>::infinity();
    watch.update(i * kFrame, objects);
    EXPECT_LE(watch.size(), 2000u + 1000u * 6);
    for (std::size_t rule = 0; rule < 3; ++rule) {
      const Zone::Count total = watch.counted(rule).total();
      if (rule != 1) {
        EXPECT_EQ(total.inside, total.entered - total.left);
      }
    }
  }
  for (int i = 0; i < 20; ++i) watch.update((100 + i) * kFrame, {});
  EXPECT_EQ(watch.size(), 0u);
  EXPECT_EQ(watch.counted(0).total().entered, watch.counted(0).total().left);
}

TEST(Zones, AllocateNothingOnceTheyHaveGrown) {
  ZoneWatch watch(
      {square(0, 0, 500, 500), line(0, 250, 500, 250), {"south", Zone::Shape::kDirection, {{0, 0}, {0, 1}}}}, 0.5);
  std::mt19937 random(2);
  std::uniform_real_distribution<float> place(0, 600);
  std::vector<ZoneWatch::Object> objects(100);
  std::size_t before = 0;
  for (std::int64_t picture = 0; picture < 400; ++picture) {
    if (picture == 200) {
      before = tenon_test::allocations_of_this_thread();
      random.seed(2);  // The same places again: no picture has more events than one before.
    }
    // Every object is another one after 20 pictures.
    for (std::size_t i = 0; i < objects.size(); ++i)
      objects[i] = at(place(random), place(random), static_cast<std::int64_t>(i) + 100 * (picture / 20));
    watch.update(picture * kFrame, objects);
  }
  EXPECT_EQ(tenon_test::allocations_of_this_thread() - before, 0u);
}

/// The same walks as in zones_oracle.py, which prints the numbers by the package supervision.
TEST(Zones, CountsAsSupervisionDoes) {
  std::uint32_t state = 11;
  const auto following = [&] {
    state = state * 1664525 + 1013904223;
    return static_cast<int>((state >> 16) % 1000);
  };
  std::array<std::array<int, 2>, 120> places{};
  for (auto& place : places)
    for (const int axis : {0, 1}) place[static_cast<std::size_t>(axis)] = following() % (axis == 0 ? 60 : 40);
  std::vector<ZoneRule> rules{
      {"l", Zone::Shape::kZone, {{100, 100}, {300, 100}, {300, 200}, {200, 200}, {200, 300}, {100, 300}}},
      {"diamond", Zone::Shape::kZone, {{305, 100}, {405, 200}, {305, 300}, {205, 200}}}};
  for (const auto& [from, to] :
       {std::pair<metadata::Point, metadata::Point>{{100, 200}, {500, 200}}, {{451, 52}, {148, 353}}}) {
    for (const Anchor anchor : {Anchor::kBottom, Anchor::kCorners}) {
      for (const std::uint32_t confirm : {1u, 3u})
        rules.push_back({std::to_string(rules.size()), Zone::Shape::kLine, {from, to}, {}, anchor, confirm});
    }
  }
  ZoneWatch watch(rules, 1e9);
  std::array<std::size_t, 2> inside{};
  constexpr const char* kLabels[] = {"a", "b", "c"};
  for (int picture = 0; picture < 400; ++picture) {
    std::vector<ZoneWatch::Object> objects;
    for (int i = 0; i < 120; ++i) {
      auto& place = places[static_cast<std::size_t>(i)];
      for (const int axis : {0, 1}) {
        int& at = place[static_cast<std::size_t>(axis)];
        at = std::clamp(at + following() % 7 - 3, 0, axis == 0 ? 59 : 39);
      }
      if ((picture + i) % 7 == 3) continue;
      const float x = static_cast<float>(place[0] * 10 + 5), y = static_cast<float>(place[1] * 10 + 5);
      objects.push_back({{x - 4, y - 24, x + 4, y}, kLabels[i % 3], i});
    }
    for (const auto& event : watch.update(picture, objects))
      if (event.what == What::kInside) ++inside[event.rule];
  }
  EXPECT_EQ(inside, (std::array<std::size_t, 2>{4897, 3332}));
  const std::array<std::uint64_t, 3> wanted[][2] = {{{204, 183, 206}, {213, 181, 216}}, {{89, 80, 79}, {92, 77, 90}},
                                                    {{128, 121, 125}, {137, 121, 136}}, {{67, 64, 65}, {71, 61, 78}},
                                                    {{165, 210, 240}, {162, 210, 244}}, {{72, 98, 91}, {67, 98, 94}},
                                                    {{94, 122, 137}, {91, 123, 140}},   {{58, 73, 75}, {52, 71, 77}}};
  for (std::size_t line = 0; line < 8; ++line) {
    std::array<std::uint64_t, 3> in{}, out{};
    for (const Zone::Count& one : watch.counted(line + 2).counts) {
      const auto label = static_cast<std::size_t>(one.label[0] - 'a');
      in[label] = one.entered, out[label] = one.left;
    }
    EXPECT_EQ(in, wanted[line][0]) << line;
    EXPECT_EQ(out, wanted[line][1]) << line;
  }
}

}  // namespace zones_test
