// SPDX-License-Identifier: Apache-2.0
// "tenonrecord": events of pictures, written as the packets of its second pad.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <tenon/bindings/gstreamer/testing/arrived.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace record_test {

using namespace tenon;
using namespace tenon::gst_plugin_testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class GstRecord : public ::testing::Test {
 protected:
  void SetUp() override {
    load_plugin();
    for (const char* const name : {"vp8enc", "vp8dec", "tenonregions", "tenonrecord"}) {
      if (!gs::ObjectPtr<GstElementFactory>(gst_element_factory_find(name))) GTEST_SKIP() << "no " << name;
    }
  }
  std::string path_of(const std::string& name) const { return (folder_.path() / name).string(); }
  /// Ten seconds with a keyframe in each, and regions of the label "gate" in the seconds 4 to 5.
  static std::string line(const std::string& record, const std::string& before_packets = "") {
    return "videotestsrc num-buffers=100 ! video/x-raw,format=I420,width=64,height=48,framerate=10/1 ! vp8enc "
           "deadline=1 "
           "keyframe-max-dist=10 ! tee name=t t. ! queue max-size-time=0 ! vp8dec ! "
           "tenonregions "
           "boxes=\"[{\\\"box\\\":[0,0,9,9],\\\"label\\\":\\\"gate\\\",\\\"from_s\\\":4,\\\"to_s\\\":5}]\" ! r. "
           "t. ! queue max-size-time=0 ! " +
           before_packets + "r. tenonrecord name=r " + record;
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  /// The number of pictures in a file.
  static std::size_t pictures(const std::string& path) {
    Line line("tenonfile path=" + path + " ! fakesink name=end");
    Arrivals<GstClockTime> arrived(line, "end", [](GstBuffer* buffer) { return GST_BUFFER_PTS(buffer); });
    EXPECT_EQ(line.run(), "");
    return arrived.all().size();
  }

  TemporaryFolder folder_;
};

TEST_F(GstRecord, AFileHasWhatCameBeforeAndAfterAnEvent) {
  Line line(GstRecord::line("labels=gate before-s=1.5 after-s=1 path=" + path_of("{number}.mkv")));
  ASSERT_EQ(line.run(), "");
  line.to(GST_STATE_NULL);
  ASSERT_EQ(files().size(), 1u);
  // From the keyframe before 2.5 s, at most ten pictures earlier, to the event's end and a second more.
  const std::size_t count = pictures(path_of(files()[0]));
  EXPECT_GE(count, 35u);
  EXPECT_LE(count, 47u);
}

TEST_F(GstRecord, WithoutEventsAllIsRecordedAgainAndAgain) {
  Line line(GstRecord::line("segment-s=5 path=" + path_of("{number}.mkv")));
  for (int round = 0; round < 2; ++round) {
    ASSERT_EQ(line.run(), "");
    line.to(GST_STATE_NULL);
    ASSERT_EQ(files().size(), 2u) << "numbers begin anew";
    EXPECT_EQ(pictures(path_of(files()[0])) + pictures(path_of(files()[1])), 100u);
    for (const std::string& name : files()) std::filesystem::remove(path_of(name));
  }
}

TEST_F(GstRecord, ALineGoesOnFromReady) {
  Line line(GstRecord::line("path=" + path_of("{number}.mkv")));
  for (const std::size_t round : {1, 2}) {
    ASSERT_EQ(line.run(), "");
    line.to(GST_STATE_READY);
    ASSERT_EQ(files().size(), round);
  }
  line.to(GST_STATE_NULL);
  for (const std::string& name : files()) EXPECT_EQ(pictures(path_of(name)), 100u) << name;
}

TEST_F(GstRecord, PacketsMayComeAsTheyAreInAFile) {
  for (const char* const name : {"qtdemux", "h264parse", "openh264dec"}) {
    if (!gs::ObjectPtr<GstElementFactory>(gst_element_factory_find(name))) GTEST_SKIP() << "no " << name;
  }
  const std::string clip = std::string(std::getenv("TENON_MODELS")) + "/demo.mp4";
  for (const char* const form : {"{number}.mp4", "{number}.ts"}) {
    Line line("filesrc location=" + clip +
              " ! qtdemux ! h264parse ! identity eos-after=50 ! tee name=t t. ! queue ! h264parse ! openh264dec ! r. "
              "t. ! queue ! "
              "r.packets tenonrecord name=r path=" +
              path_of(form));
    ASSERT_EQ(line.run(), "") << form;
  }
  ASSERT_EQ(files().size(), 2u);
  for (const std::string& name : files()) EXPECT_EQ(pictures(path_of(name)), 49u) << name;
}

TEST_F(GstRecord, AFileSaysHowItsPicturesAreToBeTurned) {
  for (const char* const name : {"qtdemux", "h264parse", "openh264dec"}) {
    if (!gs::ObjectPtr<GstElementFactory>(gst_element_factory_find(name))) GTEST_SKIP() << "no " << name;
  }
  const std::string clip = std::string(std::getenv("TENON_MODELS")) + "/demo.mp4";
  Line line("filesrc location=" + clip +
            " ! qtdemux ! h264parse ! identity eos-after=50 ! taginject tags=image-orientation=rotate-270 ! tee name=t "
            "t. ! queue ! "
            "h264parse ! openh264dec ! r. t. ! queue ! r.packets tenonrecord name=r path=" +
            path_of("{number}.mp4"));
  ASSERT_EQ(line.run(), "");
  line.to(GST_STATE_NULL);
  ASSERT_THAT(files(), ElementsAre("000001.mp4"));
  EXPECT_EQ(pictures(path_of("000001.mp4")), 49u);
  Line read("tenonfile path=" + path_of("000001.mp4") + " ! tenonrecording");
  ASSERT_EQ(read.run(), "");
  EXPECT_EQ(seen.rotation, Rotation::k270);
}

TEST_F(GstRecord, PicturesWithoutPacketsAreAnError) {
  Line line("videotestsrc num-buffers=5 ! tenonrecord path=" + path_of("{number}.mkv"));
  EXPECT_THAT(line.run(), HasSubstr("link the encoded stream to the pad 'packets'"));
  Line none(GstRecord::line("path=" + path_of("none/{number}.mkv")));
  EXPECT_THAT(none.run(), HasSubstr("no folder"));
  Line wrong(GstRecord::line("path=" + path_of("{number}.ts")));
  EXPECT_THAT(wrong.run(), HasSubstr("does not hold vp8"));
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(GstRecord, PacketsThatNeverEndDoNotHoldTheEnd) {
  // The branch of packets stops in the middle, and its end does not come.
  Line line(GstRecord::line("path=" + path_of("{number}.mkv"), "valve name=v ! "));
  line.lose_the_end_of("v");
  ASSERT_EQ(line.run(), "");
  line.to(GST_STATE_NULL);
  ASSERT_EQ(files().size(), 1u);
  EXPECT_EQ(pictures(path_of(files()[0])), 100u);
}

}  // namespace record_test
