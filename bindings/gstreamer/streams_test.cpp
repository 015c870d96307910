// SPDX-License-Identifier: Apache-2.0
// tenonstreammux and tenonstreamdemux: streams of several sources through one element, and apart again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <tenon/bindings/gstreamer/testing/arrived.hpp>
#include <tenon/frameworks/gstreamer/metadata.hpp>

namespace streams_test {

using namespace tenon;
using namespace tenon::gst_plugin_testing;
using ::testing::HasSubstr;

/// What a buffer of pictures of 64x32 says.
struct Told {
  GstClockTime time = 0;
  int first_byte = 0;
  std::size_t marks = 0;
  std::uint64_t source = 0;
};
Told told_by(GstBuffer* buffer) {
  guint8 first = 0;
  gst_buffer_extract(buffer, 0, &first, 1);
  const auto known = gs::read_metadata(buffer, FrameInfo{kGray8, 64, 32});
  const auto source = known->first<metadata::Source>();
  return {GST_BUFFER_PTS(buffer), first, known->all<metadata::Detection>().size(),
          source ? source->stream : UINT64_MAX};
}
struct Arrived : Arrivals<Told> {
  Arrived(const Line& line, const char* element) : Arrivals(line, element, &told_by) {}
};

/// Pictures of one colour: "black" is 16, "white" 235.
std::string source(const std::string& colour, int buffers, int rate = 30, const std::string& more = "") {
  return " videotestsrc pattern=" + colour + " num-buffers=" + std::to_string(buffers) + " " + more +
         " ! video/x-raw,format=GRAY8,width=64,height=32,framerate=" + std::to_string(rate) + "/1 ! ";
}
std::string end(const std::string& name) { return "queue ! fakesink sync=false async=false name=" + name + " "; }

TEST(GstStreams, PassOneElementAndPart) {
  for (const char* const between : {"tenonmarking", "queue ! tenonbatching ! tenonmarking ! queue"}) {
    Line line("tenonstreammux name=m ! " + std::string(between) + " ! tenonstreamdemux name=d d.src_0 ! " + end("a") +
              "d.src_7 ! " + end("b") + source("black", 24) + "m.sink_0" + source("white", 20) + "m.sink_7");
    Arrived a(line, "a"), b(line, "b");
    ASSERT_EQ(line.run(), "");
    ASSERT_EQ(a.all().size(), 24u) << between;
    ASSERT_EQ(b.all().size(), 20u);
    for (auto* const each : {&a, &b}) {
      const auto all = each->all();
      for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(all[i].first_byte > 128, each == &b) << "of the other source";
        EXPECT_EQ(all[i].source, each == &b ? 7u : 0u);
        EXPECT_EQ(all[i].marks, 1u);
        EXPECT_EQ(all[i].time, gst_util_uint64_scale(i, GST_SECOND, 30));
      }
    }
  }
}

TEST(GstStreams, TurnsFollowTheTimes) {
  Line line("tenonstreammux name=m ! fakesink name=all sync=false" + source("black", 30) + "m." +
            source("white", 10, 10) + "m.");
  Arrived all(line, "all");
  ASSERT_EQ(line.run(), "");
  const auto got = all.all();
  ASSERT_EQ(got.size(), 40u);
  for (std::size_t i = 1; i < got.size(); ++i) EXPECT_GE(got[i].time + 20 * GST_MSECOND, got[i - 1].time) << i;
  std::map<std::uint64_t, int> counts;
  for (const auto& one : got) ++counts[one.source];
  EXPECT_EQ(counts, (std::map<std::uint64_t, int>{{0, 30}, {1, 10}}));
  // One of three frames of the fast source is in a turn with a frame of the other.
  EXPECT_EQ(got[0].source, 0u);
  EXPECT_EQ(got[1].source, 1u);
  EXPECT_EQ(got[2].source, 0u);
  EXPECT_EQ(got[3].source, 0u);
}

TEST(GstStreams, ALiveSourceDoesNotWaitForOneThatIsSilent) {
  Line line("tenonstreammux name=m latency=50000000 ! fakesink name=all sync=false" +
            source("black", 15, 30, "is-live=true") + "m." + source("white", 15, 30, "is-live=true") +
            "valve drop=true drop-mode=forward-sticky-events ! m.");
  Arrived all(line, "all");
  ASSERT_EQ(line.run(), "");
  EXPECT_EQ(all.all().size(), 15u);
}

TEST(GstStreams, PicturesOfOtherKindsAreRefused) {
  Line line("tenonstreammux name=m ! fakesink" + source("black", 10) + "m." +
            " videotestsrc num-buffers=10 ! video/x-raw,format=GRAY8,width=32,height=32 ! m.");
  EXPECT_THAT(line.run(), HasSubstr("convert and scale all to one kind before it"));
}

/// Where the object of tenonmarking lies in the buffer.
metadata::Box marked(GstBuffer* buffer) {
  const auto known = gs::read_metadata(buffer, FrameInfo{kGray8, 64, 32});
  const auto object = known->first<metadata::Detection>();
  return object ? object->box : metadata::Box();
}

TEST(GstStreams, PicturesOfOneOrientationKeepIt) {
  const auto line_of = [](const std::string& one, const std::string& other) {
    return "tenonstreammux name=m ! tenonmarking ! tenonstreamdemux name=d d.src_0 ! " + end("a") + "d.src_1 ! " +
           end("b") + source("black", 6) + one + "m.sink_0" + source("white", 6) + other + "m.sink_1";
  };
  const std::string turned = "taginject tags=image-orientation=rotate-90 ! ";
  Line line(line_of(turned, turned));
  Arrivals<metadata::Box> a(line, "a", &marked), b(line, "b", &marked);
  ASSERT_EQ(line.run(), "");
  for (auto* const each : {&a, &b}) {
    ASSERT_EQ(each->all().size(), 6u);
    for (const metadata::Box& box : each->all()) EXPECT_EQ(box, (metadata::Box{2, 21, 12, 31}));
  }
  for (const auto& [one, other] : {std::pair(turned, std::string()), std::pair(std::string(), turned)}) {
    Line mixed(line_of(one, other));
    EXPECT_THAT(mixed.run(), HasSubstr("put tenonturn before it"));
  }
  Line upright(line_of(turned + "tenonturn ! videoscale ! video/x-raw,width=64,height=32 ! ", ""));
  EXPECT_EQ(upright.run(), "");
}

TEST(GstStreams, SourcesThatNoPadTakesAreDropped) {
  Line line("tenonstreammux name=m ! tenonstreamdemux name=d d.src_1 ! " + end("b") + source("black", 8) + "m.sink_0" +
            source("white", 8) + "m.sink_1");
  Arrived b(line, "b");
  ASSERT_EQ(line.run(), "");
  EXPECT_EQ(b.all().size(), 8u);
  EXPECT_EQ(stat(line.element("d").get(), "dropped"), 8u);
}

TEST(GstStreams, WhatNoMuxJoinedIsAnError) {
  Line line(source("black", 8) + "tenonstreamdemux name=d d.src_0 ! " + end("a"));
  EXPECT_THAT(line.run(), HasSubstr("does not say which source it is of; tenonstreammux"));
}

TEST(GstStreams, StatesAndSeeks) {
  Line line("tenonstreammux name=m ! tenonmarking ! tenonstreamdemux name=d d.src_0 ! " + end("a") + "d.src_1 ! " +
            end("b") + source("black", 10) + "m.sink_0" + source("white", 10) + "m.sink_1");
  Arrived a(line, "a"), b(line, "b");
  for (std::size_t round = 1; round <= 3; ++round) {
    ASSERT_EQ(line.run(), "");
    line.to(GST_STATE_NULL);
    EXPECT_EQ(a.all().size(), 10 * round);
    EXPECT_EQ(b.all().size(), 10 * round);
  }
}

}  // namespace streams_test
