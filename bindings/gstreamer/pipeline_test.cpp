// SPDX-License-Identifier: Apache-2.0
// Lines as users type them, with elements of other plugins: negotiation, memory, errors, seeks, storms of states.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include <tenon/bindings/gstreamer/testing/test_elements.hpp>
#include <tenon/frameworks/gstreamer/testing/leaks.hpp>

namespace gstreamer_pipeline_test {

using namespace tenon;
using namespace tenon::gst_plugin_testing;
using ::testing::HasSubstr;

TEST(GstLines, EveryElementOfOneStreamIsOneButSourcesAndSinksOfSound) {
  load_plugin();
  for (const elements::Description& one : elements::known_elements()) {
    const gs::ObjectPtr<GstElementFactory> factory(gst_element_factory_find(("tenon" + one.name).c_str()));
    if ((one.takes == elements::Takes::kAudio && one.role != Role::kTransform) || one.joins) {
      EXPECT_FALSE(factory) << one.name << " has no place in a line";
      continue;
    }
    ASSERT_TRUE(factory) << one.name;
    EXPECT_EQ(gst_element_factory_get_metadata(factory.get(), GST_ELEMENT_METADATA_DESCRIPTION), one.about);
    const char* const klass = gst_element_factory_get_metadata(factory.get(), GST_ELEMENT_METADATA_KLASS);
    EXPECT_THAT(klass, HasSubstr(one.role == Role::kSource ? "Source" : one.role == Role::kSink ? "Sink" : "Filter"));
  }
}

TEST(GstLines, RunToTheirEnd) {
  Line line("videotestsrc num-buffers=20 ! tenonmarking ! tenonbatching name=b ! tenonrecording name=r");
  EXPECT_EQ(line.run(), "");
  EXPECT_EQ(seen.frames, 40);  // Both counting elements together.
  EXPECT_EQ(seen.detections, 20);
  EXPECT_EQ(seen.finishes, 1);
  EXPECT_EQ(stat(line.element("b").get(), "copied"), 0u);
  EXPECT_EQ(stat(line.element("r").get(), "copied"), 0u);
}

TEST(GstLines, UpstreamWritesWhereTheElementsWantIt) {
  Line line("videotestsrc num-buffers=3 ! tenonidentity ! tenonmarking name=m ! tenonrecording alignment=4096");
  EXPECT_EQ(line.run(), "");
  EXPECT_NE(seen.address, 0u);
  EXPECT_EQ(seen.address % 4096, 0u);
  EXPECT_EQ(stat(line.element("m").get(), "copied"), 0u);
}

TEST(GstLines, FormatsAreNegotiated) {
  Line line("videotestsrc num-buffers=3 ! tenonidentity ! tenongrey_only ! fakesink");
  EXPECT_EQ(line.run(), "");
  Line converted(
      "videotestsrc num-buffers=3 ! video/x-raw,format=NV12 ! videoconvert ! tenongrey_only ! tenonidentity ! "
      "fakesink");
  EXPECT_EQ(converted.run(), "");
}

TEST(GstLines, PicturesOfAnyTransformAreEncoded) {
  Line line(
      "videotestsrc num-buffers=6 ! video/x-raw,width=320,height=240 ! tenonhalving name=h ! videoconvert ! jpegenc ! "
      "fakesink");
  EXPECT_EQ(line.run(), "");
  EXPECT_EQ(stat(line.element("h").get(), "frames-out"), 3u);
  EXPECT_EQ(stat(line.element("h").get(), "copied"), 0u);
}

TEST(GstLines, SourcesOfTenonFeedOthers) {
  Line line("tenontest frames=7 name=t ! videoconvert ! video/x-raw,format=RGB ! tenonrecording");
  EXPECT_EQ(line.run(), "");
  EXPECT_EQ(seen.frames, 7);
  EXPECT_EQ(stat(line.element("t").get(), "copied"), 0u);
}

TEST(GstLines, SourcesAllocateWhatThoseDownstreamWant) {
  Line line("tenonslow ! tenonmarking alignment=512 ! tenonrecording alignment=2048");
  EXPECT_EQ(line.run(), "");
  EXPECT_EQ(seen.detections, 5);
}

TEST(GstLines, LiveSourcesHaveTheClocksTime) {
  Line line("tenonslow mode=live ! tenonmarking ! fakesink name=s sync=true signal-handoffs=true");
  EXPECT_EQ(line.to(GST_STATE_PAUSED), GST_STATE_CHANGE_NO_PREROLL);
  std::atomic<int> frames{0};
  std::atomic<std::uint64_t> last{0};
  struct Told {
    std::atomic<int>* frames;
    std::atomic<std::uint64_t>* last;
  } told{&frames, &last};
  g_signal_connect(line.element("s").get(), "handoff",
                   G_CALLBACK(+[](GstElement*, GstBuffer* buffer, GstPad*, gpointer data) {
                     *static_cast<Told*>(data)->last = GST_BUFFER_PTS(buffer);
                     ++*static_cast<Told*>(data)->frames;
                   }),
                   &told);
  line.to(GST_STATE_PLAYING);
  const auto until = Clock::now() + 60s;
  while (frames < 5 && Clock::now() < until) std::this_thread::sleep_for(5ms);
  line.to(GST_STATE_NULL);
  EXPECT_GE(frames, 5);
  EXPECT_LT(last, 70 * GST_SECOND);
  EXPECT_GT(last, 20 * GST_MSECOND);
}

TEST(GstLines, ASilentSourceStopsAtOnce) {
  Line line("tenonslow mode=silent ! fakesink");
  line.to(GST_STATE_PLAYING);
  std::this_thread::sleep_for(50ms);
  const auto begin = Clock::now();
  line.to(GST_STATE_NULL);
  EXPECT_LT(Clock::now() - begin, 8s);
  EXPECT_GE(seen.interrupts, 1);
}

TEST(GstLines, ErrorsAreTenonsTexts) {
  const auto error_in = [](const std::string& text, GQuark* domain = nullptr) {
    Line line(text);
    std::string error = line.run();
    if (domain) *domain = line.domain;
    return error;
  };
  GQuark domain = 0;
  EXPECT_THAT(error_in("tenonslow mode=absent ! fakesink", &domain), HasSubstr("there is no such camera"));
  EXPECT_EQ(domain, GST_RESOURCE_ERROR);
  EXPECT_THAT(error_in("tenonslow mode=damaged ! fakesink"), HasSubstr("a damaged file"));
  EXPECT_THAT(error_in("videotestsrc ! tenonmarking fail-at=3 ! fakesink"), HasSubstr("told to fail"));
  EXPECT_THAT(error_in("videotestsrc ! tenonneedy ! fakesink"), HasSubstr("model"));
  EXPECT_THAT(error_in("videotestsrc ! video/x-raw,width=8,height=8 ! tenonhalving ! fakesink", &domain),
              HasSubstr("16 pixels and more"));
  EXPECT_EQ(domain, GST_STREAM_ERROR);
  EXPECT_THAT(error_in("videotestsrc num-buffers=2 ! tenonrecording fail-in=finish", &domain),
              HasSubstr("disk is full"));
  EXPECT_EQ(domain, GST_RESOURCE_ERROR);
  EXPECT_THAT(error_in("videotestsrc ! tenonrecording fail-in=write"), HasSubstr("disk is full"));
  EXPECT_EQ(seen.alive, 0);
}

TEST(GstLines, FlushingSeeksStartAnew) {
  Line line("videotestsrc num-buffers=100000 ! tenonbatching ! tenonmarking ! fakesink");
  line.to(GST_STATE_PLAYING);
  ASSERT_EQ(gst_element_get_state(line.get(), nullptr, nullptr, 60 * GST_SECOND), GST_STATE_CHANGE_SUCCESS);
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(gst_element_seek_simple(line.get(), GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH,
                                        static_cast<gint64>(i * 37 % 11) * static_cast<gint64>(GST_SECOND)));
    std::this_thread::sleep_for(3ms);
  }
  EXPECT_EQ(gst_element_get_state(line.get(), nullptr, nullptr, 60 * GST_SECOND), GST_STATE_CHANGE_SUCCESS);
  EXPECT_GE(seen.opens, 20);
  line.to(GST_STATE_NULL);
  EXPECT_EQ(seen.alive, 0);
}

TEST(GstLines, AnyOrderOfStatesIsSurvived) {
  Line line(
      "videotestsrc ! tee name=t t. ! queue ! tenonmarking ! tenonbatching wait-ms=1 ! tenonrecording "
      "tenonslow mode=live ! tenonidentity ! tenonhalving ! fakesink");
  std::mt19937 random(7);
  const GstState states[] = {GST_STATE_NULL, GST_STATE_READY, GST_STATE_PAUSED, GST_STATE_PLAYING};
  for (int i = 0; i < 120; ++i) {
    line.to(states[random() % 4]);
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 4));
  }
  line.to(GST_STATE_NULL);
  EXPECT_EQ(seen.alive, 0);
}

TEST(GstLines, ASinkWritesAgainAfterReady) {
  Line line("videotestsrc num-buffers=3 ! tenonrecording");
  for (const int round : {1, 2, 3}) {
    ASSERT_EQ(line.run(), "");
    line.to(GST_STATE_READY);
    EXPECT_EQ(seen.frames, 3 * round);
    EXPECT_EQ(seen.finishes, round);
    EXPECT_EQ(seen.opens, round);
    EXPECT_EQ(seen.alive, 1) << "the element stays, with its connections and numbers";
  }
  // Stopped in the middle of a stream, which begins again.
  Line endless("videotestsrc ! tenonrecording");
  for (int round = 0; round < 2; ++round) {
    const int before = seen.frames;
    endless.to(GST_STATE_PLAYING);
    const auto end = std::chrono::steady_clock::now() + 60s;
    while (seen.frames == before && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(1ms);
    EXPECT_GT(seen.frames, before);
    endless.to(GST_STATE_READY);
  }
  EXPECT_EQ(seen.opens, 2);
  EXPECT_EQ(seen.ends, 1) << "of the first stream, as the second began";
  endless.to(GST_STATE_NULL);
  EXPECT_EQ(seen.ends, 2);
}

TEST(GstLines, ASinkThatCannotEndItsStreamWritesAtTheNextTry) {
  Line line("videotestsrc ! tenonrecording fail-in=end");
  const auto writes_more_than = [](int before) {
    const auto end = std::chrono::steady_clock::now() + 60s;
    while (seen.frames == before && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(1ms);
    return seen.frames > before;
  };
  line.to(GST_STATE_PLAYING);
  ASSERT_TRUE(writes_more_than(0));
  line.to(GST_STATE_READY);
  const int before = seen.frames;
  EXPECT_EQ(line.to(GST_STATE_PLAYING), GST_STATE_CHANGE_FAILURE) << "the stream before could not be ended";
  line.to(GST_STATE_READY);
  line.to(GST_STATE_PLAYING);
  EXPECT_TRUE(writes_more_than(before)) << "it is still interrupted";
}

/// Upstream elements stop after those downstream, and may query a pad that is not active any more.
TEST(GstLines, AllocationIsAskedForWhileStatesChange) {
  load_plugin();
  for (const char* name : {"tenonmarking", "tenonrecording"}) {
    const gs::ObjectPtr<GstElement> element(GST_ELEMENT(gst_object_ref_sink(gst_element_factory_make(name, nullptr))));
    ASSERT_TRUE(element);
    const gs::ObjectPtr<GstPad> pad(gst_element_get_static_pad(element.get(), "sink"));
    std::atomic<bool> is_over{false};
    const auto ask = [&] {
      const gs::CapsPtr caps(gst_caps_from_string(kGreyCaps));
      while (!is_over) {
        GstQuery* const query = gst_query_new_allocation(caps.get(), TRUE);
        gst_pad_query(pad.get(), query);
        gst_query_unref(query);
        std::this_thread::sleep_for(20us);  // The lock is not fair.
      }
    };
    // Two threads, so that one waits for the lock while the code that deactivates the pad holds it.
    std::thread one(ask), other(ask);
    for (int i = 0; i < 200; ++i) {
      gst_element_set_state(element.get(), GST_STATE_PAUSED);
      std::this_thread::sleep_for(100us);
      gst_element_set_state(element.get(), GST_STATE_NULL);
    }
    is_over = true;
    one.join(), other.join();
  }
  EXPECT_GT(seen.asked, 0);
  EXPECT_EQ(seen.torn, 0) << "an element ended while it was asked what it wants";
}

TEST(GstLines, LeaveNothingBehind) {
  gstreamer_testing::expect_nothing_left([] {
    EXPECT_EQ(Line("videotestsrc num-buffers=9 ! tenonmarking ! tenonbatching ! tenonhalving ! tenonrecording").run(),
              "");
    EXPECT_EQ(Line("tenontest frames=5 ! tenonmarking alignment=64 ! videoconvert ! tenonnull").run(), "");
    EXPECT_NE(Line("tenonslow mode=damaged ! tenonbatching ! fakesink").run(), "");
    EXPECT_NE(Line("videotestsrc ! tenonmarking fail-at=2 ! fakesink").run(), "");
    Line stopped("videotestsrc ! tenonbatching ! tenonidentity ! fakesink");
    stopped.to(GST_STATE_PLAYING);
    std::this_thread::sleep_for(20ms);
  });
}

}  // namespace gstreamer_pipeline_test
