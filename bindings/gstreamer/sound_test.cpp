// SPDX-License-Identifier: Apache-2.0
// "tenonaudio_events": what a model hears in a line of sound, as metas and as messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include <tenon/bindings/gstreamer/testing/test_elements.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/frameworks/gstreamer/metadata.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/ops.hpp>
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace sound_test {

using namespace tenon;
using namespace tenon::gst_plugin_testing;
using ::testing::HasSubstr;

constexpr const char* kSoundCaps = "audio/x-raw,format=F32LE,layout=interleaved,rate=8000,channels=1";

/// An element with a model of the mean loudness of 100 ms.
class GstSound : public ::testing::Test {
 protected:
  void SetUp() override {
    load_plugin();
    const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 800});
    const auto loud = std::make_shared<op::v0::Abs>(x);
    const auto axes = op::v0::Constant::create(element::i64, Shape{1}, std::vector<std::int64_t>{1});
    const auto mean = std::make_shared<op::v1::ReduceMean>(loud, axes, true);
    const std::string path = (folder_.path() / "loudness.xml").string();
    serialize(Model(OutputVector{mean->output(0)}, ParameterVector{x}, "loudness"), path);
    element_ = "tenonaudio_events name=e rate=8000 labels=loud model=" + path;
  }
  /// 50 ms of noise or of silence.
  static GstBuffer* sound(int number, bool is_loud) {
    GstBuffer* const buffer = gst_buffer_new_allocate(nullptr, 400 * sizeof(float), nullptr);
    GstMapInfo map;
    gst_buffer_map(buffer, &map, GST_MAP_WRITE);
    for (int i = 0; i < 400; ++i) reinterpret_cast<float*>(map.data)[i] = is_loud ? (i % 2 ? 0.75f : -0.75f) : 0.01f;
    gst_buffer_unmap(buffer, &map);
    GST_BUFFER_PTS(buffer) = static_cast<GstClockTime>(number) * 50 * GST_MSECOND;
    return buffer;
  }
  static std::vector<metadata::AudioEvent> events_in(GstBuffer* buffer) {
    std::vector<metadata::AudioEvent> found;
    metadata::Collection known;
    gs::read_metadata(buffer, {}, known);
    for (const auto& event : known.all<metadata::AudioEvent>()) found.push_back(*event.value);
    return found;
  }

  TemporaryFolder folder_;
  std::string element_;
};

TEST_F(GstSound, EventsAreMetasOfTheBuffersInWhichTheyEnd) {
  const HarnessPtr h = harness(element_.c_str(), kSoundCaps);
  std::vector<metadata::AudioEvent> heard;
  std::vector<GstClockTime> times;
  const auto pull = [&](const gs::BufferPtr& buffer) {
    times.push_back(GST_BUFFER_PTS(buffer.get()));
    EXPECT_EQ(gst_buffer_get_size(buffer.get()), 1600u);
    for (const auto& event : events_in(buffer.get())) heard.push_back(event);
  };
  for (int i = 0; i < 40; ++i) {
    ASSERT_EQ(gst_harness_push(h.get(), sound(i, (i >= 10 && i < 16) || i >= 38)), GST_FLOW_OK);
    if (i == 20)  // It stays between the buffers where it was sent.
      gst_harness_push_event(h.get(),
                             gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM, gst_structure_new_empty("mark")));
    while (GstBuffer* const buffer = gst_harness_try_pull(h.get())) pull(gs::BufferPtr(buffer));
    EXPECT_EQ(times.size(), static_cast<std::size_t>(i)) << "one is held back";
  }
  EXPECT_EQ(gst_harness_query_latency(h.get()), GstClockTime{50'000'000}) << "of what is held back";
  gst_harness_push_event(h.get(), gst_event_new_eos());
  while (GstBuffer* const buffer = gst_harness_try_pull(h.get())) pull(gs::BufferPtr(buffer));
  ASSERT_EQ(times.size(), 40u);
  for (std::size_t i = 0; i < times.size(); ++i) EXPECT_EQ(times[i], i * 50 * GST_MSECOND);
  ASSERT_EQ(heard.size(), 2u);
  EXPECT_EQ(heard[0].label, "loud");
  EXPECT_EQ(heard[0].begin_ns, 500'000'000);
  EXPECT_EQ(heard[0].end_ns, 800'000'000);
  EXPECT_EQ(heard[1].begin_ns, 1'900'000'000);
  EXPECT_EQ(heard[1].end_ns, 2'000'000'000);
  bool has_mark = false;
  while (GstEvent* const event = gst_harness_try_pull_event(h.get())) {
    has_mark = has_mark || GST_EVENT_TYPE(event) == GST_EVENT_CUSTOM_DOWNSTREAM;
    gst_event_unref(event);
  }
  EXPECT_TRUE(has_mark);
}

TEST_F(GstSound, AFlushDropsWhatIsHeldAndAnotherStreamBegins) {
  const HarnessPtr h = harness(element_.c_str(), kSoundCaps);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 4; ++i) ASSERT_EQ(gst_harness_push(h.get(), sound(i, true)), GST_FLOW_OK);
    gst_harness_push_event(h.get(), gst_event_new_flush_start());
    gst_harness_push_event(h.get(), gst_event_new_flush_stop(TRUE));
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
  }
  int count = 0;
  while (GstBuffer* const buffer = gst_harness_try_pull(h.get())) {
    ++count;
    EXPECT_TRUE(events_in(buffer).empty()) << "no event has ended";
    gst_buffer_unref(buffer);
  }
  EXPECT_EQ(count, 9);
  EXPECT_EQ(stat(h->element, "dropped"), 3u);
}

TEST_F(GstSound, ALineTellsTheApplication) {
  Line line("audiotestsrc num-buffers=20 samplesperbuffer=400 wave=square volume=1 ! " + std::string(kSoundCaps) +
            " ! " + element_ + " ! fakesink");
  for (int round = 0; round < 2; ++round) {
    line.to(GST_STATE_PLAYING);
    const gs::ObjectPtr<GstBus> bus(gst_element_get_bus(line.get()));
    GstMessage* const message = gst_bus_timed_pop_filtered(
        bus.get(), 60 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_ELEMENT | GST_MESSAGE_ERROR));
    ASSERT_TRUE(message);
    const GstStructure* const told = gst_message_get_structure(message);
    EXPECT_STREQ(gst_structure_get_name(told), "tenon-audio-event");
    EXPECT_STREQ(gst_structure_get_string(told, "label"), "loud");
    gint64 end = 0;
    EXPECT_TRUE(gst_structure_get_int64(told, "end", &end));
    EXPECT_EQ(end, 1'000'000'000);
    gst_message_unref(message);
    EXPECT_EQ(line.wait(), "");
    line.to(GST_STATE_NULL);
  }
}

TEST_F(GstSound, WhatDoesNotFitIsNamed) {
  EXPECT_THAT(Line("audiotestsrc num-buffers=3 ! tenonaudio_events model=/none ! fakesink").run(),
              HasSubstr("there is no model"));
  Line other("audiotestsrc num-buffers=3 ! " + std::string(kSoundCaps) + " ! " + element_ + " ! fakesink");
  g_object_set(other.element("e").get(), "labels", "loud,quiet", nullptr);
  EXPECT_THAT(other.run(), HasSubstr("labels or labels_file must name each score"));
}

}  // namespace sound_test
