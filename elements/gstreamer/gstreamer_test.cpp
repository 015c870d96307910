// SPDX-License-Identifier: Apache-2.0
// GStreamer's elements at both ends of a pipeline.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include <tenon/core/error.hpp>
#include <tenon/elements/testing/run.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace tenon::elements {
namespace {

using namespace std::chrono_literals;
using tenon_test::Arrived;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kSmall = "video/x-raw,format=NV12,width=320,height=180,framerate=25/1";

NodeSpec source(const std::string& line) { return {"gst_source", "", {{"line", line}}}; }
NodeSpec sink(const std::string& line) { return {"gst_sink", "", {{"line", line}}}; }
std::string bars(int count) { return "videotestsrc num-buffers=" + std::to_string(count) + " ! " + kSmall; }

TEST(GstSource, GivesPicturesThatNobodyCopies) {
  Arrived arrived;
  Pipeline pipeline({{source(bars(12)), arrived.sink()}});
  EXPECT_THAT(tenon_test::run(pipeline), IsEmpty());
  ASSERT_EQ(arrived.frames[0].size(), 12u);
  EXPECT_EQ(arrived.frames[0][5].timestamp_ns, 200'000'000);
  EXPECT_EQ(arrived.frames[0][0].info.width_px, 320u);
  EXPECT_EQ(pipeline.stats()[0].moved.copied + pipeline.stats()[0].moved.converted, 0u);
}

TEST(GstSource, OffersMemoryThatAReaderWants) {
  Requirements wanted;
  wanted.fd = FdKind::kMemfd;
  wanted.pitch_alignment = 512;
  Arrived arrived;
  arrived.holds = true;
  EXPECT_THAT(tenon_test::run(PipelineSpec{{source(bars(4)), arrived.sink(wanted)}}), IsEmpty());
  ASSERT_EQ(arrived.held.size(), 4u);
  for (const Frame& frame : arrived.held) {
    EXPECT_TRUE(frame.plane(0).memory()->fd_kind().serves(FdKind::kMemfd));
    EXPECT_EQ(frame.plane(0).byte_strides()[0] % 512, 0);
  }
}

TEST(GstSource, SaysWhatIsWrongWithTheLine) {
  const auto failures = [](const std::string& line) { return tenon_test::run(PipelineSpec{{source(line), {"null"}}}); };
  EXPECT_THAT(failures("no_such_element ! fakesink"), ElementsAre(HasSubstr("no_such_element")));
  EXPECT_THAT(failures("filesrc location=/none.mp4 ! decodebin"), ElementsAre(HasSubstr("/none.mp4")));
  EXPECT_THAT(failures("videotestsrc num-buffers=0 ! " + std::string(kSmall)), ElementsAre(HasSubstr("first picture")));
}

TEST(GstSource, StopsSoonWhileItIsSilent) {
  PipelineSpec spec{{source("appsrc ! " + std::string(kSmall)), {"null"}}};
  spec.patience = 1s;
  Pipeline pipeline(spec);
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(Clock::now() + 20s));
  ASSERT_EQ(pipeline.failures().size(), 1u);
  EXPECT_THAT(pipeline.failures()[0].message, HasSubstr("no picture in time"));
}

/// What stop(now) takes when the pipeline runs for a while.
Clock::duration stopping_time(Pipeline& pipeline) {
  pipeline.start();
  std::this_thread::sleep_for(500ms);
  EXPECT_FALSE(pipeline.wait(Clock::now())) << "it does not wait, and this is no trial";
  const auto begin = Clock::now();
  pipeline.stop(begin);
  return Clock::now() - begin;
}

TEST(GstSource, StopsAtOnceBeforeItsFirstPicture) {
  Pipeline pipeline({{source("appsrc ! " + std::string(kSmall)), {"null"}}});
  EXPECT_LT(stopping_time(pipeline), 2s);
  EXPECT_TRUE(pipeline.failures().empty());
}

TEST(GstSink, StopsAtOnceWhenItsElementsTakeNothing) {
  NodeSpec test{"test", "", {{"width", "64"}, {"height", "32"}, {"fps", "0.1"}}};
  for (const NodeSpec& end :
       {sink("fakesink sync=true"), NodeSpec{"display", "", {{"sink", "fakesink"}, {"sync", "true"}}}}) {
    Pipeline pipeline({{test, end}});
    EXPECT_LT(stopping_time(pipeline), 2s) << end.element;
    EXPECT_TRUE(pipeline.failures().empty());
  }
}

TEST(GstSink, GivesAllPicturesToTheLine) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "raw.yuv").string();
  NodeSpec test{"test", "", {{"frames", "7"}, {"width", "64"}, {"height", "32"}}};
  EXPECT_THAT(tenon_test::run(PipelineSpec{{test, sink("filesink location=" + file)}}), IsEmpty());
  EXPECT_EQ(std::filesystem::file_size(file), 7u * 64 * 32 * 3 / 2);
}

TEST(GstSink, CopiesNothing) {
  Pipeline pipeline({{source(bars(20)), sink("fakesink")}});
  EXPECT_THAT(tenon_test::run(pipeline), IsEmpty());
  EXPECT_EQ(pipeline.stats()[1].moved.copied + pipeline.stats()[1].moved.converted, 0u);
}

TEST(GstSink, WhatItsElementsReportFailsTheStream) {
  NodeSpec test{"test", "", {{"frames", "7"}, {"width", "64"}, {"height", "32"}}};
  EXPECT_THAT(tenon_test::run(PipelineSpec{{test, sink("filesink location=/none/x")}}),
              ElementsAre(HasSubstr("/none/x")));
  EXPECT_THAT(tenon_test::run(PipelineSpec{{test, sink("no_such")}}), ElementsAre(HasSubstr("no_such")));
}

TEST(Display, ShowsOrSaysThatAScreenIsNeeded) {
  NodeSpec test{"test", "", {{"frames", "3"}, {"width", "64"}, {"height", "32"}}};
  EXPECT_THAT(tenon_test::run(PipelineSpec{{test, {"display", "", {{"sink", "fakesink"}}}}}), IsEmpty());
  EXPECT_THAT(tenon_test::run(PipelineSpec{{test, {"display", "", {{"sink", "no_such"}}}}}),
              ElementsAre(HasSubstr("a screen is needed")));
}

}  // namespace
}  // namespace tenon::elements
