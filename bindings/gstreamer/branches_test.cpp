// SPDX-License-Identifier: Apache-2.0
// tenonaggregate: branches of a tee that meet again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <tenon/bindings/gstreamer/testing/arrived.hpp>
#include <tenon/frameworks/gstreamer/metadata.hpp>

namespace branches_test {

using namespace tenon;
using namespace tenon::gst_plugin_testing;
using ::testing::HasSubstr;

/// What comes to the element "end", whose pictures are 64x32.
struct Found {
  GstClockTime time = 0;
  std::vector<metadata::Detection> objects;
};
Found found_in(GstBuffer* buffer) {
  Found found{GST_BUFFER_PTS(buffer), {}};
  const auto known = gs::read_metadata(buffer, FrameInfo{kGray8, 64, 32});
  for (const auto& object : known->all<metadata::Detection>()) found.objects.push_back(*object.value);
  return found;
}
struct Arrived : Arrivals<Found> {
  explicit Arrived(const Line& line) : Arrivals(line, "end", &found_in) {}
};

std::string source(int buffers) {
  return "videotestsrc num-buffers=" + std::to_string(buffers) +
         " ! video/x-raw,format=GRAY8,width=64,height=32,framerate=30/1 ! tee name=t ";
}
constexpr const char* kEnd = " ! fakesink name=end sync=false ";

TEST(GstBranches, ResultsOfABranchComeToTheFrame) {
  for (const char* const pace : {"", "identity sleep-time=3000 ! "}) {
    Line line(source(30) + "t. ! queue ! tenonidentity ! tenonaggregate name=a" + kEnd + "t. ! queue ! " + pace +
              "tenonmarking ! a.");
    Arrived arrived(line);
    ASSERT_EQ(line.run(), "");
    const auto all = arrived.all();
    ASSERT_EQ(all.size(), 30u);
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(all[i].time, gst_util_uint64_scale(i, GST_SECOND, 30));
      ASSERT_EQ(all[i].objects.size(), 1u) << i;
      EXPECT_EQ(all[i].objects[0].label, "mark");
    }
  }
}

TEST(GstBranches, WhatBothBranchesHaveIsThereOnce) {
  Line line(
      "videotestsrc num-buffers=20 ! video/x-raw,format=GRAY8,width=64,height=32 ! tenonmarking ! tee name=t "
      "t. ! queue ! tenonaggregate name=a" +
      std::string(kEnd) + "t. ! queue ! tenonidentity ! a. t. ! queue ! a.");
  Arrived arrived(line);
  ASSERT_EQ(line.run(), "");
  ASSERT_EQ(arrived.all().size(), 20u);
  for (const auto& one : arrived.all()) EXPECT_EQ(one.objects.size(), 1u);
}

TEST(GstBranches, ABranchOfOtherSizeThatLeavesOutFrames) {
  Line line(source(30) + "t. ! queue ! tenonaggregate name=a" + kEnd + "t. ! queue ! tenonhalving ! tenonmarking ! a.");
  Arrived arrived(line);
  ASSERT_EQ(line.run(), "");
  const auto all = arrived.all();
  ASSERT_EQ(all.size(), 30u);
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(all[i].objects.size(), i % 2 == 0 ? 1u : 0u) << i;
    if (i % 2 == 0) {
      EXPECT_EQ(all[i].objects[0].box, (metadata::Box{2, 4, 22, 24}));
    }
  }
}

TEST(GstBranches, ABranchMayEndOrStayEmpty) {
  {
    Line line(source(30) + "t. ! queue ! tenonaggregate name=a" + kEnd +
              "t. ! queue ! identity eos-after=6 ! tenonmarking ! a.");
    Arrived arrived(line);
    ASSERT_EQ(line.run(), "");
    const auto all = arrived.all();
    ASSERT_GE(all.size(), 5u) << "a tee ends its source where a branch ends, if the source is not done before";
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i == 5) continue;  // It may pass or not.
      EXPECT_EQ(all[i].objects.size(), i < 5 ? 1u : 0u) << i;
    }
  }
  Line line(source(30) + "t. ! queue ! tenonaggregate name=a max-delay-ms=40" + kEnd +
            "t. ! queue ! valve drop=true drop-mode=forward-sticky-events ! a.");
  Arrived arrived(line);
  ASSERT_EQ(line.run(), "");
  EXPECT_EQ(arrived.all().size(), 30u);
}

TEST(GstBranches, TheFirstPadMayEndFirst) {
  Line line(source(30) + "t. ! queue ! identity eos-after=6 ! tenonaggregate name=a" + kEnd +
            "t. ! queue ! identity sleep-time=2000 ! tenonmarking ! a.");
  Arrived arrived(line);
  ASSERT_EQ(line.run(), "");
  const auto all = arrived.all();
  ASSERT_GE(all.size(), 5u);
  ASSERT_LE(all.size(), 7u);
  for (const auto& one : all) EXPECT_EQ(one.objects.size(), 1u) << "they waited for the other branch";
}

TEST(GstBranches, ABranchThatNeverEndsDoesNotHoldTheEnd) {
  // Its source is another one, so that nothing ends it.
  Line line(
      source(10) + "t. ! queue ! tenonaggregate name=a max-delay-ms=100" + kEnd +
      "videotestsrc is-live=true ! video/x-raw,format=GRAY8,width=64,height=32,framerate=30/1 ! tenonmarking ! a. "
      "t. ! queue ! tenonmarking ! a.");
  Arrived arrived(line);
  ASSERT_EQ(line.run(), "");
  EXPECT_EQ(arrived.all().size(), 10u);
}

TEST(GstBranches, TheEndFollowsTheLastResult) {
  // The first branch has ended when the results come, and the other one's end does not come.
  Line line(source(10) + "t. ! queue ! tenonaggregate name=a max-delay-ms=60000" + kEnd +
            "t. ! queue ! identity sleep-time=20000 ! tenonmarking name=m ! a.");
  line.lose_the_end_of("m");
  Arrived arrived(line);
  ASSERT_EQ(line.run(), "");
  const auto all = arrived.all();
  ASSERT_EQ(all.size(), 10u);
  for (const auto& one : all) EXPECT_EQ(one.objects.size(), 1u);
}

TEST(GstBranches, AGapIsNotWaitedFor) {
  Line line(source(30) + "t. ! queue ! tenonaggregate name=a max-delay-ms=60000" + kEnd +
            "t. ! queue ! valve drop=true drop-mode=transform-to-gap ! a.");
  Arrived arrived(line);
  ASSERT_EQ(line.run(), "") << "each frame would wait for a minute";
  EXPECT_EQ(arrived.all().size(), 30u);
}

TEST(GstBranches, SeeksAndStates) {
  Line line(source(-1) + "t. ! queue ! tenonaggregate name=a" + kEnd + "t. ! queue ! tenonmarking ! a.");
  Arrived arrived(line);
  for (int round = 0; round < 3; ++round) {
    line.to(GST_STATE_PAUSED);
    ASSERT_EQ(gst_element_get_state(line.get(), nullptr, nullptr, 60 * GST_SECOND), GST_STATE_CHANGE_SUCCESS);
    ASSERT_TRUE(gst_element_seek(line.get(), 1, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, GST_SEEK_TYPE_SET, 0,
                                 GST_SEEK_TYPE_SET, GST_SECOND));
    ASSERT_EQ(line.run(), "");
    const auto all = arrived.all();
    ASSERT_GE(all.size(), 30u) << "and those before the seek";
    for (std::size_t i = all.size() - 30; i < all.size(); ++i) {
      EXPECT_EQ(all[i].time, gst_util_uint64_scale(i + 30 - all.size(), GST_SECOND, 30));
      EXPECT_EQ(all[i].objects.size(), 1u);
    }
    line.to(GST_STATE_NULL);
  }
}

TEST(GstBranches, PadsAreRequestedBeforeItRuns) {
  Line line(source(5) + "t. ! queue ! a.sink_3 tenonaggregate name=a" + kEnd + "t. ! queue ! tenonmarking ! a.sink_1");
  Arrived arrived(line);
  const auto joins = line.element("a");
  GstPad* const more = gst_element_request_pad_simple(joins.get(), "sink_%u");
  ASSERT_NE(more, nullptr);
  EXPECT_STREQ(GST_PAD_NAME(more), "sink_0");
  gst_element_release_request_pad(joins.get(), more);
  gst_object_unref(more);
  line.to(GST_STATE_PAUSED);
  ASSERT_EQ(gst_element_get_state(line.get(), nullptr, nullptr, 60 * GST_SECOND), GST_STATE_CHANGE_SUCCESS);
  EXPECT_EQ(gst_element_request_pad_simple(joins.get(), "sink_%u"), nullptr);
  ASSERT_EQ(line.run(), "");
  ASSERT_EQ(arrived.all().size(), 5u);
  for (const auto& one : arrived.all()) EXPECT_EQ(one.objects.size(), 1u);
}

TEST(GstBranches, AnErrorInABranchIsTheLines) {
  Line line(source(30) + "t. ! queue ! tenonaggregate name=a" + kEnd + "t. ! queue ! tenonmarking fail-at=3 ! a.");
  EXPECT_THAT(line.run(), HasSubstr("told to fail"));
}

}  // namespace branches_test
