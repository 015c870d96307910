// SPDX-License-Identifier: Apache-2.0
// GStreamer's own tracer says what is left after frames, pools, metadata, audio and refusals: nothing of theirs.
#include <gtest/gtest.h>

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/deferred.hpp>
#include <tenon/core/router.hpp>
#include <tenon/frameworks/cpu/cpu.hpp>
#include <tenon/frameworks/dmabuf/dmabuf.hpp>
#include <tenon/frameworks/gstreamer/gstreamer.hpp>
#include <tenon/frameworks/gstreamer/testing/gst_testing.hpp>

namespace {

using namespace tenon;
using namespace tenon::gstreamer_testing;
namespace gs = tenon::gstreamer;

void use_pictures() {
  gs::PoolOptions options;
  options.allocator = dmabuf::context();
  Pipeline pipeline("videotestsrc num-buffers=5 ! video/x-raw,format=NV12,width=64,height=48 ! appsink name=sink");
  gs::offer_pool(pipeline.sink(), options);
  pipeline.play();
  gs::CapsCache cache;
  Router router;
  router.add(dmabuf::context());
  router.add(host_context());
  std::vector<Frame> kept;
  while (const SamplePtr sample = pipeline.pull()) {
    Frame frame = gs::wrap(sample.get(), cache);
    metadata::of(frame).add(metadata::Detection{{1, 2, 30, 40}, "car", 7, 0.5f});
    metadata::of(frame).add(metadata::TensorOutput{Tensor(element::f32, {4}), "t", "m", ""});
    const gs::BufferPtr annotated = gs::buffer_with_metadata(frame);
    gs::read_metadata(annotated.get(), frame.info());
    kept.push_back(router.map(frame, host_context()));
  }
  const gs::BufferListPtr list = gs::buffer_list(Frame(kept));
  gs::wrap(list.get(), cache.of(gs::caps(kept[0].info()).get()));
}

void use_sounds() {
  Pipeline pipeline("audiotestsrc num-buffers=3 ! audio/x-raw,format=S16LE,channels=1,rate=8000 ! appsink name=sink");
  pipeline.play();
  while (const SamplePtr sample = pipeline.pull()) gs::buffer(gs::wrap_audio(sample.get()));
}

void use_what_is_wrong() {
  const gs::VideoCaps caps = gs::video_caps(gs::caps(FrameInfo{kNv12, 64, 48}).get());
  const gs::BufferPtr truncated = filled_buffer(100, 0);
  EXPECT_THROW(gs::wrap(truncated.get(), caps), Error);
  EXPECT_THROW(gs::adopt(truncated.get(), caps), Error);
  const gs::CapsPtr open(gst_caps_from_string("video/x-raw,format=NV12,width=[1,64],height=48"));
  EXPECT_THROW(gs::video_caps(open.get()), Error);
  const auto pool = gs::pool();
  EXPECT_THROW(gs::configure(*pool, open.get()), Error);
}

/// Ends the process: 0 if nothing is left, 2 without the tracer.
void count_what_is_left() {
  ::setenv("GST_TRACERS", "leaks", 1);
  gs::start();
  use_pictures();
  use_sounds();
  use_what_is_wrong();
  EXPECT_TRUE(drain_deferred(default_deadline()));
  GList* const tracers = gst_tracing_get_active_tracers();
  if (!tracers) std::_Exit(2);
  GstStructure* live = nullptr;
  g_signal_emit_by_name(tracers->data, "get-live-objects", &live);
  const GValue* list = live ? gst_structure_get_value(live, "live-objects-list") : nullptr;
  int left = 0;
  for (guint i = 0; list && i < gst_value_list_get_size(list); ++i) {
    const GstStructure* one = gst_value_get_structure(gst_value_list_get_value(list, i));
    const GValue* object = gst_structure_get_value(one, "object");
    const char* type =
        G_VALUE_HOLDS_OBJECT(object) ? G_OBJECT_TYPE_NAME(g_value_get_object(object)) : G_VALUE_TYPE_NAME(object);
    // Allocators of descriptors are immortal; GStreamer keeps plugins, factories and clocks itself.
    const std::string_view name(type);
    const bool ours = name == "GstBuffer" || name == "GstBufferList" || name == "GstCaps" || name == "GstMemory" ||
                      name == "GstSample" || name.starts_with("Tenon");
    if (!ours) continue;
    std::fprintf(stderr, "left: %s\n", type);
    ++left;
  }
  std::_Exit(::testing::Test::HasFailure() ? 4 : !list ? 3 : left == 0 ? 0 : 1);
}

bool has_tracer() {
  gs::start();
  const gs::ObjectPtr<GstPluginFeature> leaks(
      gst_registry_find_feature(gst_registry_get(), "leaks", GST_TYPE_TRACER_FACTORY));
  return leaks != nullptr;
}

TEST(GstLeaks, AreNone) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // In a process of its own, which traces from GStreamer's start on.
  const auto is_good = [](int status) {
    return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || (WEXITSTATUS(status) == 2 && !has_tracer()));
  };
  EXPECT_EXIT(count_what_is_left(), is_good, "");
  if (!has_tracer()) GTEST_SKIP() << "GStreamer's plugin coretracers is not installed";
}

}  // namespace
