// SPDX-License-Identifier: Apache-2.0
// Transforms between a source and a sink of the test: buffers, events, queries and metas, one by one.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <gst/video/gstvideometa.h>

#include <tenon/bindings/gstreamer/testing/test_elements.hpp>
#include <tenon/frameworks/gstreamer/metadata.hpp>
#include <tenon/frameworks/gstreamer/pool.hpp>
#include <tenon/frameworks/gstreamer/testing/lsan.hpp>

namespace filter_test {

using namespace tenon;
using namespace tenon::gst_plugin_testing;

std::vector<std::string> events_of(GstHarness* harness) {
  std::vector<std::string> all;
  while (GstEvent* event = gst_harness_try_pull_event(harness)) {
    all.emplace_back(GST_EVENT_TYPE_NAME(event));
    gst_event_unref(event);
  }
  return all;
}

GstEvent* tag() { return gst_event_new_tag(gst_tag_list_new(GST_TAG_TITLE, "title", nullptr)); }

TEST(GstFilter, PassesTheBufferItselfOn) {
  const HarnessPtr h = harness("tenonidentity");
  GstBuffer* const sent = picture(3);
  const GstMemory* const memory = gst_buffer_peek_memory(sent, 0);
  GST_BUFFER_FLAG_SET(sent, GST_BUFFER_FLAG_DELTA_UNIT);
  const gs::BufferPtr got(gst_harness_push_and_pull(h.get(), sent));
  EXPECT_EQ(got.get(), sent);
  EXPECT_EQ(gst_buffer_peek_memory(got.get(), 0), memory);
  EXPECT_EQ(GST_BUFFER_DURATION(got.get()), GST_SECOND / 30);
  EXPECT_TRUE(GST_BUFFER_FLAG_IS_SET(got.get(), GST_BUFFER_FLAG_DELTA_UNIT));
  EXPECT_TRUE(gst_buffer_is_writable(got.get()));
  EXPECT_TRUE(gst_buffer_is_all_memory_writable(got.get()));
  EXPECT_EQ(stat(h->element, "copied"), 0u);
  EXPECT_EQ(stat(h->element, "frames-in"), 1u);
  EXPECT_EQ(stat(h->element, "frames-out"), 1u);
}

TEST(GstFilter, MetadataGoesInAndOut) {
  const HarnessPtr h = harness("tenonmarking");
  GstBuffer* const sent = picture(0);
  gst_buffer_add_video_region_of_interest_meta(sent, "car", 5, 6, 7, 8);
  const gs::BufferPtr got(gst_harness_push_and_pull(h.get(), sent));
  EXPECT_EQ(seen.detections, 1);
  const auto known = gs::read_metadata(got.get(), FrameInfo{kGray8, 64, 32});
  const auto objects = known->all<metadata::Detection>();
  ASSERT_EQ(objects.size(), 2u);
  EXPECT_EQ(objects[0]->label, "car");
  EXPECT_EQ(objects[1]->label, "mark");
  EXPECT_EQ(objects[1]->label_id, 3);
}

TEST(GstFilter, ObjectsFollowACropThatComesAsAMeta) {
  const HarnessPtr h = harness("tenonidentity", "video/x-raw,format=GRAY8,width=32,height=16,framerate=30/1");
  GstBuffer* const sent = picture(0);
  gst_buffer_add_video_meta(sent, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, 64, 32);
  GstVideoCropMeta* const crop = gst_buffer_add_video_crop_meta(sent);
  crop->x = 4, crop->y = 6, crop->width = 32, crop->height = 16;
  gst_buffer_add_video_region_of_interest_meta(sent, "inside", 10, 12, 20, 8);
  gst_buffer_add_video_region_of_interest_meta(sent, "outside", 40, 0, 20, 4);
  const gs::BufferPtr got(gst_harness_push_and_pull(h.get(), sent));
  ASSERT_TRUE(got);
  EXPECT_FALSE(gst_buffer_get_video_crop_meta(got.get()));
  const auto known = gs::read_metadata(got.get(), FrameInfo{kGray8, 32, 16});
  const auto objects = known->all<metadata::Detection>();
  ASSERT_EQ(objects.size(), 1u);
  EXPECT_EQ(objects[0]->label, "inside");
  EXPECT_EQ(objects[0]->box, (metadata::Box{6, 6, 26, 14}));
}

TEST(GstFilter, PropertiesAreTheParameters) {
  load_plugin();
  const gs::ObjectPtr<GstElement> marking(
      GST_ELEMENT(gst_object_ref_sink(gst_element_factory_make("tenonmarking", nullptr))));
  ASSERT_TRUE(marking);
  GObjectClass* const known = G_OBJECT_GET_CLASS(marking.get());
  const auto* alignment = G_PARAM_SPEC_INT64(g_object_class_find_property(known, "alignment"));
  EXPECT_EQ(alignment->minimum, 1);
  EXPECT_EQ(alignment->maximum, 4096);
  EXPECT_EQ(alignment->default_value, 1);
  EXPECT_STREQ(g_param_spec_get_blurb(g_object_class_find_property(known, "alignment")), "Bytes");
  EXPECT_TRUE(G_IS_PARAM_SPEC_INT64(g_object_class_find_property(known, "fail-at")));
  EXPECT_TRUE(G_IS_PARAM_SPEC_STRING(g_object_class_find_property(known, "element-name")));
  EXPECT_EQ(G_PARAM_SPEC_DOUBLE(g_object_class_find_property(known, "ratio"))->maximum, 1.0);
  gst_util_set_object_arg(G_OBJECT(marking.get()), "colour", "blue");
  gst_util_set_object_arg(G_OBJECT(marking.get()), "loud", "false");
  gint colour = -1;
  gboolean is_loud = TRUE;
  gdouble ratio = 0;
  gchar* name = nullptr;
  g_object_get(marking.get(), "colour", &colour, "loud", &is_loud, "ratio", &ratio, "element-name", &name, nullptr);
  EXPECT_EQ(colour, 2);
  EXPECT_FALSE(is_loud);
  EXPECT_EQ(ratio, 0.5);
  EXPECT_STREQ(name, "x");
  g_free(name);
}

TEST(GstFilter, WhatWaitsGoesOnAtTheEnd) {
  const HarnessPtr h = harness("tenonbatching");
  for (int i = 0; i < 6; ++i) ASSERT_EQ(gst_harness_push(h.get(), picture(i)), GST_FLOW_OK);
  EXPECT_EQ(gst_harness_buffers_received(h.get()), 4u);
  gst_harness_push_event(h.get(), gst_event_new_eos());
  EXPECT_EQ(gst_harness_buffers_received(h.get()), 6u);
  for (int i = 0; i < 6; ++i) {
    const gs::BufferPtr got(gst_harness_pull(h.get()));
    EXPECT_EQ(GST_BUFFER_PTS(got.get()), static_cast<GstClockTime>(i) * GST_SECOND / 30);
  }
  EXPECT_EQ(seen.ends, 1);
  EXPECT_EQ(events_of(h.get()).back(), "eos");
}

TEST(GstFilter, WhatWaitsGoesOnWhenItsTimeHasCome) {
  const HarnessPtr h = harness("tenonbatching wait-ms=30");
  ASSERT_EQ(gst_harness_push(h.get(), picture(0)), GST_FLOW_OK);
  const gs::BufferPtr got(gst_harness_pull(h.get()));  // Waits at most 60 s.
  EXPECT_TRUE(got);
  EXPECT_EQ(gst_harness_query_latency(h.get()), 30 * GST_MSECOND);
}

TEST(GstFilter, EventsKeepTheirPlaceAmongFrames) {
  const HarnessPtr h = harness("tenonbatching");
  gst_harness_push(h.get(), picture(0));
  events_of(h.get());
  gst_harness_push_event(h.get(), tag());
  EXPECT_TRUE(events_of(h.get()).empty());
  for (int i = 1; i < 3; ++i) gst_harness_push(h.get(), picture(i));
  EXPECT_TRUE(events_of(h.get()).empty());
  gst_harness_push(h.get(), picture(3));
  EXPECT_EQ(events_of(h.get()), std::vector<std::string>{"tag"});
  gst_harness_push_event(h.get(),
                         gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM, gst_structure_new_empty("unknown")));
  EXPECT_EQ(events_of(h.get()), std::vector<std::string>{"custom-downstream"});
}

TEST(GstFilter, AFlushDropsWhatWaits) {
  const HarnessPtr h = harness("tenonbatching");
  for (int i = 0; i < 3; ++i) gst_harness_push(h.get(), picture(i));
  gst_harness_push_event(h.get(), tag());
  gst_harness_push_event(h.get(), gst_event_new_flush_start());
  gst_harness_push_event(h.get(), gst_event_new_flush_stop(TRUE));
  EXPECT_EQ(gst_harness_buffers_received(h.get()), 0u);
  const std::vector<std::string> events = events_of(h.get());
  EXPECT_EQ(events.back(), "tag");  // Events that hold for the whole stream are kept.
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
  for (int i = 0; i < 4; ++i) ASSERT_EQ(gst_harness_push(h.get(), picture(i)), GST_FLOW_OK);
  EXPECT_EQ(gst_harness_buffers_received(h.get()), 4u);
  EXPECT_EQ(seen.opens, 2);
}

TEST(GstFilter, AChangeOfCapsEndsAndOpens) {
  const HarnessPtr h = harness("tenonbatching");
  for (int i = 0; i < 2; ++i) gst_harness_push(h.get(), picture(i));
  gst_harness_set_src_caps_str(h.get(), "video/x-raw,format=GRAY8,width=32,height=32,framerate=30/1");
  EXPECT_EQ(gst_harness_buffers_received(h.get()), 2u);
  for (int i = 2; i < 6; ++i) ASSERT_EQ(gst_harness_push(h.get(), picture(i, 32 * 32)), GST_FLOW_OK);
  EXPECT_EQ(gst_harness_buffers_received(h.get()), 6u);
  EXPECT_EQ(seen.opens, 2);
  EXPECT_EQ(seen.ends, 1);
}

TEST(GstFilter, OtherFramesHaveOtherCapsAndTheSameTimes) {
  const HarnessPtr h = harness("tenonhalving");
  const gs::BufferPtr got(gst_harness_push_and_pull(h.get(), picture(7)));
  const gs::ObjectPtr<GstPad> pad(gst_element_get_static_pad(h->element, "src"));
  const gs::CapsPtr caps(gst_pad_get_current_caps(pad.get()));
  const gs::VideoCaps video = gs::video_caps(caps.get());
  EXPECT_EQ(video.info.width_px, 32u);
  EXPECT_EQ(video.info.format, kGray8);
  EXPECT_EQ(video.rate_num, 30);
  EXPECT_EQ(GST_BUFFER_PTS(got.get()), GstClockTime{7} * GST_SECOND / 30);
  EXPECT_EQ(GST_BUFFER_DURATION(got.get()), GST_SECOND / 30);
  // Rows of 32 bytes at a pitch of 64 are packed for a sink that does not read GstVideoMeta, and the ledger counts that.
  EXPECT_EQ(gst_buffer_get_size(got.get()), 32u * 16u);
  EXPECT_EQ(stat(h->element, "copied"), 32u * 16u);
}

TEST(GstFilter, LayoutsAreLeftToThoseWhoReadThem) {
  load_plugin();
  const HarnessPtr h(gst_harness_new_parse("tenonhalving"));
  gst_harness_add_propose_allocation_meta(h.get(), GST_VIDEO_META_API_TYPE, nullptr);
  gst_harness_set_src_caps_str(h.get(), kGreyCaps);
  const gs::BufferPtr got(gst_harness_push_and_pull(h.get(), picture(0)));
  const GstVideoMeta* const meta = gst_buffer_get_video_meta(got.get());
  ASSERT_TRUE(meta);
  EXPECT_EQ(meta->stride[0], 64);
  EXPECT_EQ(stat(h->element, "copied"), 0u);
}

TEST(GstFilter, TooLateFramesAreDroppedIfAskedFor) {
  const HarnessPtr h = harness("tenonidentity qos=true");
  ASSERT_EQ(gst_harness_push(h.get(), picture(0)), GST_FLOW_OK);
  // The sink got frame 1 100 ms late: frames that are due earlier than twice that time after frame 1 would be late, too.
  gst_harness_push_upstream_event(h.get(),
                                  gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 2.0, 100 * GST_MSECOND, GST_SECOND / 30));
  for (int i = 1; i < 10; ++i) ASSERT_EQ(gst_harness_push(h.get(), picture(i)), GST_FLOW_OK);
  EXPECT_EQ(stat(h->element, "dropped"), 7u);
  EXPECT_EQ(gst_harness_buffers_received(h.get()), 3u);
  gs::BufferPtr last;
  while (GstBuffer* one = gst_harness_try_pull(h.get())) {
    last.reset(one);
    const bool is_first = GST_BUFFER_PTS(one) == GstClockTime{8} * GST_SECOND / 30;
    EXPECT_EQ(GST_BUFFER_FLAG_IS_SET(one, GST_BUFFER_FLAG_DISCONT), is_first);
  }
}

TEST(GstFilter, MemoryIsOfferedUpstreamAsAllDownstreamWantIt) {
  const HarnessPtr h = harness("tenonmarking alignment=256 ! tenonmarking alignment=1024 ! tenonidentity");
  const gs::CapsPtr caps(gst_caps_from_string(kGreyCaps));
  GstQuery* const query = gst_query_new_allocation(caps.get(), TRUE);
  ASSERT_TRUE(gst_pad_peer_query(h->srcpad, query));
  ASSERT_EQ(gst_query_get_n_allocation_pools(query), 1u);
  GstBufferPool* offered = nullptr;
  gst_query_parse_nth_allocation_pool(query, 0, &offered, nullptr, nullptr, nullptr);
  const gs::ObjectPtr<GstBufferPool> pool(offered);
  ASSERT_TRUE(gs::options_of(pool.get()));
  EXPECT_EQ(gs::options_of(pool.get())->wanted.alignment, 1024u);
  gst_query_unref(query);
}

TEST(GstFilter, ABufferBeforeCapsIsRefusedInWords) {
  const HarnessPtr h = harness("tenonidentity", nullptr);
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(h.get(), gst_event_new_stream_start("s"));
  gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
  EXPECT_EQ(gst_harness_push(h.get(), picture(0)), GST_FLOW_NOT_NEGOTIATED);
}

TEST(GstFilter, ATruncatedBufferIsAnErrorOfTheStream) {
  const HarnessPtr h = harness("tenonidentity");
  const gs::ObjectPtr<GstBus> bus(gst_bus_new());
  gst_element_set_bus(h->element, bus.get());
  EXPECT_EQ(gst_harness_push(h.get(), picture(0, 100)), GST_FLOW_ERROR);
  GstMessage* const message = gst_bus_pop_filtered(bus.get(), GST_MESSAGE_ERROR);
  ASSERT_TRUE(message);
  GError* error = nullptr;
  gst_message_parse_error(message, &error, nullptr);
  EXPECT_NE(std::string(error->message).find("truncated"), std::string::npos) << error->message;
  g_clear_error(&error);
  gst_message_unref(message);
  gst_element_set_bus(h->element, nullptr);
}

TEST(GstFilter, StatesChangeWhileFramesPass) {
  const HarnessPtr h = harness("tenonbatching wait-ms=1");
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  const gs::CapsPtr caps(gst_caps_from_string(kGreyCaps));
  guint changes = 0;
  for (int round = 0; round < 20 && changes <= 5;
       ++round) {  // On a busy machine the other thread may have no turn in one.
    GstHarnessThread* const storm = gst_harness_stress_statechange_start_full(h.get(), 500);
    const auto until = Clock::now() + 300ms;
    for (int i = 0; Clock::now() < until; ++i) {
      gst_harness_push_event(h.get(),
                             gst_event_new_stream_start("storm"));  // Pads forget the event on their way through READY.
      gst_harness_push_event(h.get(), gst_event_new_caps(caps.get()));
      gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
      gst_harness_push(h.get(), picture(i));
      if (i % 16 == 0) {
        gst_harness_push_event(h.get(), gst_event_new_flush_start());
        gst_harness_push_event(h.get(), gst_event_new_flush_stop(TRUE));
      }
      std::this_thread::sleep_for(200us);
    }
    changes += gst_harness_stress_thread_stop(storm);
  }
  EXPECT_GT(changes, 5u);
}

}  // namespace filter_test
