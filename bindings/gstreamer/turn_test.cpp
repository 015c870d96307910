// SPDX-License-Identifier: Apache-2.0
// "tenonturn" beside GStreamer's own videoflip, and pictures that tags call sideways.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gst/video/video.h>

#include <tenon/bindings/gstreamer/testing/arrived.hpp>
#include <tenon/bindings/gstreamer/testing/test_elements.hpp>
#include <tenon/frameworks/gstreamer/metadata.hpp>

namespace turn_test {

using namespace tenon;
using namespace tenon::gst_plugin_testing;

/// The bytes of the first picture that comes out of a line, packed, and its caps.
struct Out {
  std::string caps;
  std::vector<std::uint8_t> bytes;
};

Out first_picture(const std::string& line) {
  load_plugin();
  GError* error = nullptr;
  const gs::ObjectPtr<GstElement> pipeline(GST_ELEMENT(
      gst_object_ref_sink(gst_parse_launch((line + " ! fakesink name=out enable-last-sample=true").c_str(), &error))));
  if (error) ADD_FAILURE() << error->message;
  g_clear_error(&error);
  gst_element_set_state(pipeline.get(), GST_STATE_PLAYING);
  const gs::ObjectPtr<GstBus> bus(gst_element_get_bus(pipeline.get()));
  GstMessage* const message = gst_bus_timed_pop_filtered(
      bus.get(), 60 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  EXPECT_TRUE(message && GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS) << line;
  if (message) gst_message_unref(message);
  Out out;
  const gs::ObjectPtr<GstElement> sink(gst_bin_get_by_name(GST_BIN(pipeline.get()), "out"));
  GstSample* sample = nullptr;
  g_object_get(sink.get(), "last-sample", &sample, nullptr);
  if (!sample) {
    ADD_FAILURE() << "no picture came: " << line;
  } else {
    GstVideoInfo info;
    gst_video_info_from_caps(&info, gst_sample_get_caps(sample));
    out.caps = std::to_string(info.width) + "x" + std::to_string(info.height) + " " + std::to_string(info.par_n) + "/" +
               std::to_string(info.par_d);
    GstVideoFrame frame;
    if (gst_video_frame_map(&frame, &info, gst_sample_get_buffer(sample), GST_MAP_READ)) {
      for (guint c = 0; c < GST_VIDEO_FRAME_N_COMPONENTS(&frame); ++c)
        for (int y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT(&frame, c); ++y)
          for (int x = 0; x < GST_VIDEO_FRAME_COMP_WIDTH(&frame, c); ++x)
            out.bytes.push_back(static_cast<const std::uint8_t*>(GST_VIDEO_FRAME_COMP_DATA(
                &frame, c))[y * GST_VIDEO_FRAME_COMP_STRIDE(&frame, c) + x * GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, c)]);
      gst_video_frame_unmap(&frame);
    }
    gst_sample_unref(sample);
  }
  gst_element_set_state(pipeline.get(), GST_STATE_NULL);
  return out;
}

TEST(GstTurn, GivesWhatVideoflipGives) {
  load_plugin();
  const gs::ObjectPtr<GstElementFactory> peer(gst_element_factory_find("videoflip"));
  if (!peer) GTEST_SKIP() << "videoflip is not installed";
  // GStreamer's names of the eight, and ours.
  const std::pair<const char*, const char*> all[] = {{"identity", "degrees=0"},
                                                     {"90r", "degrees=90"},
                                                     {"180", "degrees=180"},
                                                     {"90l", "degrees=270"},
                                                     {"horiz", "flip=horizontal"},
                                                     {"vert", "flip=vertical"},
                                                     {"ul-lr", "flip=horizontal degrees=270"},
                                                     {"ur-ll", "flip=horizontal degrees=90"}};
  for (const char* format : {"NV12", "I420", "BGRx", "RGB", "GRAY8"}) {
    for (const auto& [theirs, ours] : all) {
      const std::string source = std::string("videotestsrc num-buffers=1 pattern=smpte ! video/x-raw,format=") +
                                 format + ",width=320,height=180,pixel-aspect-ratio=4/3 ! ";
      const Out wanted = first_picture(source + "videoflip video-direction=" + theirs),
                found = first_picture(source + "tenonturn " + ours);
      EXPECT_EQ(found.caps, wanted.caps) << format << " " << theirs;
      EXPECT_EQ(found.bytes, wanted.bytes) << format << " " << theirs;
      EXPECT_FALSE(found.bytes.empty());
    }
  }
}

GstEvent* orientation(const char* value) {
  return gst_event_new_tag(gst_tag_list_new(GST_TAG_IMAGE_ORIENTATION, value, GST_TAG_TITLE, "a film", nullptr));
}

/// The last value that the tags of the harness's events have, and the size of its caps.
std::pair<std::string, std::string> told(GstHarness* harness) {
  std::pair<std::string, std::string> last;
  while (GstEvent* event = gst_harness_try_pull_event(harness)) {
    if (GST_EVENT_TYPE(event) == GST_EVENT_TAG) {
      GstTagList* tags = nullptr;
      gst_event_parse_tag(event, &tags);
      gchar* text = nullptr;
      if (gst_tag_list_get_string(tags, GST_TAG_IMAGE_ORIENTATION, &text)) last.first = text;
      EXPECT_GT(gst_tag_list_get_tag_size(tags, GST_TAG_TITLE), 0u) << "other tags stay";
      g_free(text);
    } else if (GST_EVENT_TYPE(event) == GST_EVENT_CAPS) {
      GstCaps* caps = nullptr;
      gst_event_parse_caps(event, &caps);
      gint width = 0, height = 0;
      gst_structure_get_int(gst_caps_get_structure(caps, 0), "width", &width);
      gst_structure_get_int(gst_caps_get_structure(caps, 0), "height", &height);
      last.second = std::to_string(width) + "x" + std::to_string(height);
    }
    gst_event_unref(event);
  }
  return last;
}

TEST(GstTurn, PicturesThatTagsCallSidewaysBecomeUpright) {
  const HarnessPtr h = harness("tenonturn");
  gst_harness_push_event(h.get(), orientation("rotate-90"));
  GstBuffer* const sent = picture(0);
  GstMapInfo map;
  gst_buffer_map(sent, &map, GST_MAP_WRITE);
  map.data[0] = 77;  // The top left pixel comes to the top right.
  gst_buffer_unmap(sent, &map);
  gst_buffer_add_video_region_of_interest_meta(sent, "car", 0, 0, 10, 6);
  const gs::BufferPtr got(gst_harness_push_and_pull(h.get(), sent));
  EXPECT_EQ(told(h.get()), std::pair(std::string("rotate-0"), std::string("32x64")));
  const auto known = gs::read_metadata(got.get(), FrameInfo{kGray8, 32, 64});
  ASSERT_EQ(known->all<metadata::Detection>().size(), 1u);
  EXPECT_EQ(known->all<metadata::Detection>()[0]->box, (metadata::Box{26, 0, 32, 10}));
  gst_buffer_map(got.get(), &map, GST_MAP_READ);
  EXPECT_EQ(map.data[31], 77);
  gst_buffer_unmap(got.get(), &map);
}

TEST(GstTurn, TagsThatComeBeforeTheCapsHoldToo) {
  const HarnessPtr h(gst_harness_new("tenonturn"));
  gst_harness_push_event(h.get(), gst_event_new_stream_start("film"));
  gst_harness_push_event(h.get(), orientation("flip-rotate-270"));
  gst_harness_set_src_caps_str(h.get(), "video/x-raw,format=GRAY8,width=64,height=32,framerate=30/1");
  gst_buffer_unref(gst_harness_push_and_pull(h.get(), picture(0)));
  EXPECT_EQ(told(h.get()), std::pair(std::string("rotate-0"), std::string("32x64")));
}

TEST(GstTurn, OtherElementsPassTheTagOnAndKnowWhereObjectsLie) {
  const HarnessPtr h = harness("tenonmarking");
  gst_harness_push_event(h.get(), orientation("rotate-90"));
  const gs::BufferPtr got(gst_harness_push_and_pull(h.get(), picture(0)));
  EXPECT_EQ(told(h.get()).first, "rotate-90");
  // The element marks (1, 2) to (11, 12) of the upright picture of 32x64, which lies on its side in the buffer.
  const auto known = gs::read_metadata(got.get(), FrameInfo{kGray8, 64, 32});
  ASSERT_EQ(known->all<metadata::Detection>().size(), 1u);
  EXPECT_EQ(known->all<metadata::Detection>()[0]->box, (metadata::Box{2, 21, 12, 31}));
}

std::vector<metadata::Detection> objects_in(GstBuffer* buffer) {
  std::vector<metadata::Detection> found;
  const auto known = gs::read_metadata(buffer, FrameInfo{kGray8, 64, 32});
  for (const auto& object : known->all<metadata::Detection>()) found.push_back(*object.value);
  return found;
}

/// Five pictures come, each with the object of tenonmarking at its place before a turn by 90 degrees.
void expect_turned_object(Line& line) {
  Arrivals<std::vector<metadata::Detection>> arrived(line, "end", &objects_in);
  ASSERT_EQ(line.run(), "");
  ASSERT_EQ(arrived.all().size(), 5u);
  for (const auto& objects : arrived.all()) {
    ASSERT_EQ(objects.size(), 1u);
    EXPECT_EQ(objects[0].box, (metadata::Box{2, 21, 12, 31}));
  }
}

constexpr const char* kGrey = " ! video/x-raw,format=GRAY8,width=64,height=32";

TEST(GstTurn, SourcesTellHowTheirPicturesLie) {
  Line line("tenonslow mode=lying ! tenonmarking ! fakesink name=end");
  expect_turned_object(line);
}

TEST(GstTurn, SinksKnowHowPicturesLie) {
  const std::string pictures = std::string("videotestsrc num-buffers=3") + kGrey + " ! ";
  const std::pair<std::string, Rotation> all[] = {
      {"tenonslow mode=lying", Rotation::k90},
      {pictures + "taginject tags=image-orientation=flip-rotate-270", Rotation::kMirrored270},
      {pictures + "taginject tags=image-orientation=rotate-180 ! tenonturn", Rotation::kNone},
      {pictures + "identity", Rotation::kNone}};
  for (const auto& [source, rotation] : all) {
    Line line(source + " ! tenonrecording");
    ASSERT_EQ(line.run(), "") << source;
    EXPECT_GE(seen.frames, 3) << source;
    EXPECT_EQ(seen.rotation, rotation) << source;
  }
}

/// Pictures of a branch may lie otherwise than those of the first one.
TEST(GstTurn, ABranchThatTurnsPicturesUprightTellsWhereObjectsLieInThoseThatAreNot) {
  Line line(std::string("videotestsrc num-buffers=5") + kGrey +
            " ! taginject tags=image-orientation=rotate-90 ! tee name=t t. ! queue ! tenonaggregate name=a ! fakesink "
            "name=end "
            "t. ! queue ! tenonturn ! tenonmarking ! a.");
  expect_turned_object(line);
}

/// Branches that cut or turn their pictures tell of places in the picture that they were cut or turned from.
TEST(GstTurn, PlacesFoundInABranchComeBack) {
  const std::pair<const char*, metadata::Box> all[] = {
      {"tenonconvert crop-x=16 crop-y=8 crop-width=32 crop-height=16 width=64 height=32", {16.5f, 9, 21.5f, 14}},
      {"tenonturn degrees=90", {2, 21, 12, 31}},
      {"tenonturn flip=horizontal ! videoscale ! video/x-raw,width=32,height=16", {42, 4, 62, 24}}};
  for (const auto& [branch, box] : all) {
    Line line(
        "videotestsrc num-buffers=5 ! video/x-raw,format=GRAY8,width=64,height=32 ! tee name=t t. ! queue ! "
        "tenonaggregate name=a ! fakesink name=end t. ! queue ! " +
        std::string(branch) + " ! tenonmarking ! a.");
    Arrivals<std::vector<metadata::Detection>> arrived(line, "end", &objects_in);
    ASSERT_EQ(line.run(), "") << branch;
    ASSERT_EQ(arrived.all().size(), 5u);
    for (const auto& objects : arrived.all()) {
      ASSERT_EQ(objects.size(), 1u) << branch;
      EXPECT_EQ(objects[0].box, box) << branch;
    }
  }
}

}  // namespace turn_test
