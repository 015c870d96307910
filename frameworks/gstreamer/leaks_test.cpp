// SPDX-License-Identifier: Apache-2.0
// GStreamer's own tracer says what is left after frames, pools, metadata, audio and refusals: nothing of theirs.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include <tenon/core/router.hpp>
#include <tenon/frameworks/cpu/cpu.hpp>
#include <tenon/frameworks/dmabuf/dmabuf.hpp>
#include <tenon/frameworks/gstreamer/gstreamer.hpp>
#include <tenon/frameworks/gstreamer/testing/gst_testing.hpp>
#include <tenon/frameworks/gstreamer/testing/leaks.hpp>

namespace leaks_test {

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

TEST(GstLeaks, AreNone) {
  expect_nothing_left([] {
    use_pictures();
    use_sounds();
    use_what_is_wrong();
  });
}

}  // namespace leaks_test
