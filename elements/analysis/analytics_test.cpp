// SPDX-License-Identifier: Apache-2.0
// The element "analytics": zones from JSON, objects from metadata, results in metadata.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/core/zones.hpp>
#include <tenon/elements/pipeline_spec.hpp>
#include <tenon/elements/registry.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon::elements {
namespace analytics_test {

using metadata::Zone;
using metadata::ZoneEvent;
using ::testing::HasSubstr;
using Given = std::map<std::string, std::string>;

constexpr const char* kDoor = R"([{"name": "door", "points": [[10,10],[90,10],[90,90],[10,90]]}])";

std::unique_ptr<TransformInplace> analytics(const Given& given) {
  auto made = std::get<std::unique_ptr<TransformInplace>>(make_element("analytics", given, {"count", nullptr}));
  made->open(0, {{kGray8, 100, 100}, 10, false});
  return made;
}

/// A frame with one object whose bottom centre is at x, y.
Frame frame_with(float x, float y, std::int64_t time_ns, std::int64_t id = 1, const char* label = "person") {
  static const Frame picture = Frame::allocate({kGray8, 100, 100});
  Frame frame(picture.info(), {picture.plane(0)}, time_ns);
  metadata::of(frame).add(metadata::Detection{{x - 5, y - 10, x + 5, y}, label, 0, 0.9f, id});
  return frame;
}

std::string refusal(const Given& given) {
  return error_of([&] { analytics(given); }, Code::kInvalidArgument);
}

TEST(Analytics, AddsCountsToTheFrameAndEventsToObjects) {
  const auto element = analytics({{"zones", kDoor}, {"lines", R"([{"points": [[0,50],[100,50]]}])"}});
  Frame outside = frame_with(5, 40, 0), inside = frame_with(50, 40, 100'000'000),
        across = frame_with(50, 60, 200'000'000);
  for (Frame* frame : {&outside, &inside, &across}) element->process(0, *frame);
  const auto known = metadata::find(across);
  const auto zones = known->all<Zone>();
  ASSERT_EQ(zones.size(), 2u);
  EXPECT_EQ(zones[0]->name, "door");
  EXPECT_EQ(zones[0]->counts, (std::vector<Zone::Count>{{"person", 1, 1, 0}}));
  EXPECT_EQ(zones[1]->name, "line1");
  EXPECT_EQ(zones[1]->counts, (std::vector<Zone::Count>{{"person", 0, 0, 1}}));
  const auto object = known->all<metadata::Detection>()[0];
  std::vector<ZoneEvent> events;
  for (const auto& event : known->of<ZoneEvent>(object.id)) events.push_back(*event.value);
  EXPECT_EQ(events, (std::vector<ZoneEvent>{{"door", ZoneEvent::What::kInside, 0.1, 1},
                                            {"line1", ZoneEvent::What::kCrossedOut, 0, 1}}));
  EXPECT_THAT(metadata::json_line(across),
              HasSubstr(R"("kind":"zone_event","zone":"door","what":"inside","seconds":0.1,"track_id":1)"));
  EXPECT_THAT(
      metadata::json_line(across),
      HasSubstr(
          R"("name":"line1","shape":"line","points":[[0,50],[100,50]],"entered":0,"left":1,"by_label":{"person":{"entered":0,"left":1}})"));
}

TEST(Analytics, ReadsAFileAndDlStreamersNames) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("tenon_zones_" + std::to_string(::getpid()))).string();
  std::ofstream(path)
      << R"({"zones": [{"id": "a", "type": "polygon", "points": [{"x":0,"y":0},{"x":50,"y":0},{"x":0,"y":50}]}],
    "tripwires": [{"id": "b", "points": [{"x":0,"y":0},{"x":50,"y":0}]}], // A comment.
    "directions": [{"name": "c", "points": [[0,1],[0,0]], "tolerance": 30}]})";
  const auto element = analytics({{"config", path}, {"zones", kDoor}});
  Frame frame = frame_with(50, 50, 0);
  element->process(0, frame);
  std::string names;
  for (const auto& zone : metadata::find(frame)->all<Zone>()) names += zone->name + " ";
  EXPECT_EQ(names, "a b c door ");
  EXPECT_EQ(find_element("analytics")
                .files(Parameters("x", find_element("analytics").parameters, {{"config", path}}), {})
                .read,
            std::vector<std::string>{path});
  std::filesystem::remove(path);
}

TEST(Analytics, TakesListsInPipelineFiles) {
  const PipelineSpec spec = parse_pipeline(
      R"({"nodes": [{"element": "analytics", "parameters": {"zones": [{"points": [[0,0],[9,0],[0,9]]}], "margin": 3}},
                    {"element": "blur", "parameters": {"labels": ["face", "plate"]}}]})");
  EXPECT_EQ(spec.nodes[0].parameters.at("zones"), R"([{"points":[[0,0],[9,0],[0,9]]}])");
  EXPECT_EQ(spec.nodes[0].parameters.at("margin"), "3");
  EXPECT_EQ(spec.nodes[1].parameters.at("labels"), "face,plate");
}

TEST(Analytics, FractionsFollowThePicture) {
  const auto element = analytics({{"zones", R"([{"points": [[0.5,0],[1,0],[1,1],[0.5,1]]}])"}, {"units", "fractions"}});
  Frame small = frame_with(60, 50, 0);
  element->process(0, small);
  EXPECT_EQ(metadata::find(small)->first<Zone>()->total().inside, 1u);
  Frame large = Frame::allocate({kGray8, 400, 200});
  metadata::of(large).add(metadata::Detection{{50, 50, 70, 100}, "person", 0, 0.9f, 1});
  element->process(0, large);
  const auto zone = metadata::find(large)->first<Zone>();
  EXPECT_EQ(zone->points[0], (metadata::Point{200, 0}));
  EXPECT_EQ(zone->total().inside, 0u);
  EXPECT_EQ(zone->total().left, 1u);
}

TEST(Analytics, WhatNoModelLookedAtIsNotMissing) {
  const auto element = analytics({{"zones", kDoor}, {"forget_s", "0"}});
  Frame seen = frame_with(50, 50, 0), skipped = Frame::allocate({kGray8, 100, 100}),
        missing = Frame::allocate({kGray8, 100, 100});
  metadata::of(skipped).add(metadata::NotLookedAt{"model"});
  skipped.set_timestamp_ns(100'000'000);
  missing.set_timestamp_ns(200'000'000);
  element->process(0, seen);
  element->process(0, skipped);
  EXPECT_EQ(metadata::find(skipped)->first<Zone>()->total().inside, 1u);
  element->process(0, missing);
  EXPECT_EQ(metadata::find(missing)->first<Zone>()->total().inside, 0u);
  const auto events = metadata::find(missing)->of<ZoneEvent>(metadata::kFrame);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]->what, ZoneEvent::What::kLeft);
}

TEST(Analytics, ClocksThatGoBackOrStandGiveNoNegativeStays) {
  const auto element = analytics({{"zones", kDoor}});
  double longest = 0;
  for (const std::int64_t time_ns :
       {std::int64_t{5'000'000'000}, std::int64_t{5'100'000'000}, std::int64_t{100'000'000}, kNoTimestamp,
        std::numeric_limits<std::int64_t>::max(), std::int64_t{0}, kNoTimestamp}) {
    Frame frame = frame_with(50, 50, time_ns);
    element->process(0, frame);
    for (const auto& event : metadata::find(frame)->all<ZoneEvent>()) {
      EXPECT_GE(event->seconds, 0);
      if (time_ns != std::numeric_limits<std::int64_t>::max()) longest = event->seconds;
    }
  }
  EXPECT_GT(longest, 0);
  // A stream without any times: an object that is gone is forgotten all the same.
  element->open(0, {{kGray8, 100, 100}, 0, false});
  Frame first = frame_with(50, 50, kNoTimestamp, 2);
  element->process(0, first);
  std::uint64_t inside = 1;
  for (int i = 0; i < 30; ++i) {
    Frame empty = Frame::allocate({kGray8, 100, 100});
    element->process(0, empty);
    inside = metadata::find(empty)->first<Zone>()->total().inside;
  }
  EXPECT_EQ(inside, 0u);
}

TEST(Analytics, SaysWhatIsWrongWithZones) {
  EXPECT_THAT(refusal({}),
              HasSubstr("'count' (analytics): there are no zones, lines or directions; give them in 'zones'"));
  EXPECT_THAT(refusal({{"zones", "[{]"}}), HasSubstr("parameter 'zones': is not JSON at line 1, column 3: "));
  EXPECT_THAT(refusal({{"lines", "["}}), HasSubstr("; it must be a list: [{\"name\": \"gate\""));
  EXPECT_THAT(refusal({{"zones", R"([{"name": "x"}])"}}), HasSubstr("parameter 'zones': /0: has no points"));
  EXPECT_THAT(refusal({{"zones", R"([{"point": [[1,2]]}])"}}),
              HasSubstr("/0/point: is not known; did you mean 'points'?"));
  EXPECT_THAT(refusal({{"zones", R"([{"points": [[1,2],[3,"4"],[5,6]]}])"}}),
              HasSubstr("/0/points/1/1: must be a number from -1e+06 to 1e+06, and is string"));
  EXPECT_THAT(refusal({{"zones", R"([{"points": [[1,2],[3],[5,6]]}])"}}),
              HasSubstr("/0/points/1: must be two numbers, x and y"));
  EXPECT_THAT(refusal({{"zones", R"([{"points": [[0,0],[9,9],[9,0],[0,9]]}])"}}),
              HasSubstr("'count' (analytics): zone \"zone1\" crosses itself"));
  EXPECT_THAT(refusal({{"zones", R"([{"points": [[0,0],[9,0],[0,9]], "anchor": "middle"}])"}}),
              HasSubstr("is 'middle'; it must be one of bottom, centre, top, corners"));
  EXPECT_THAT(refusal({{"lines", R"([{"points": [[0,0],[9,0]], "dwell_s": 3}])"}}),
              HasSubstr("/0/dwell_s: is not known"));
  EXPECT_THAT(refusal({{"zones", R"([{"name": "far", "points": [[200,0],[300,0],[300,90]]}])"}}),
              HasSubstr("zone \"far\" lies outside of the picture of 100x100; its points are pixels of the upright "
                        "picture; units=fractions"));
  EXPECT_THAT(refusal({{"zones", R"([{"points": [[2,0],[3,0],[3,2]]}])"}, {"units", "fractions"}}),
              HasSubstr("lies outside of the picture of 100x100; its points are fractions"));
  EXPECT_THAT(error_of(
                  [] {
                    analytics({{"config", "/nowhere/zones.json"}});
                  },
                  Code::kNotFound),
              HasSubstr("cannot be read"));
}

TEST(Analytics, NoObjectsAndThousands) {
  const auto element = analytics({{"zones", kDoor}});
  bool is_late = false;  // Objects that were there once stay for a second.
  for (const int count : {0, 5000, 0}) {
    is_late |= count != 0;
    Frame frame = Frame::allocate({kGray8, 100, 100});
    for (int i = 0; i < count; ++i) {
      const float x = static_cast<float>(i % 100);
      metadata::of(frame).add(metadata::Detection{{x, 20, x, 50}, "ant", 0, 0.9f, i});
    }
    element->process(0, frame);
    EXPECT_EQ(metadata::find(frame)->first<Zone>()->total().inside, 50u * 80 * (is_late ? 1 : 0));
  }
}

}  // namespace analytics_test
}  // namespace tenon::elements
