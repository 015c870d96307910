// SPDX-License-Identifier: Apache-2.0
// Dma-bufs that are announced as such. The VM has dma-bufs; on other machines the test skips.
#include <gtest/gtest.h>

#include <cstdlib>
#include <utility>

#include <gst/allocators/gstdmabuf.h>

#include <tenon/bindings/gstreamer/testing/test_elements.hpp>
#include <tenon/core/error.hpp>
#include <tenon/frameworks/cpu/pool.hpp>
#include <tenon/frameworks/dmabuf/context.hpp>
#include <tenon/frameworks/gstreamer/caps.hpp>
#include <tenon/frameworks/gstreamer/frame.hpp>

namespace gstreamer_dmabuf_test {

using namespace tenon;
using namespace tenon::gst_plugin_testing;

TEST(GstDmabuf, FramesOfDmabufCapsPassAsTheyAre) {
  load_plugin();
  gs::VideoCaps video;
  video.info = {kNv12, 64, 32};
  video.rate_num = 30;
  video.memory = "memory:DMABuf";
  Requirements wanted;
  wanted.fd = FdKind::kDmabuf;
  wanted.host_access = true;
  cpu::FramePool pool(video.info, wanted, 2, [](const Requirements& all) { return dmabuf::context()->allocate(all); });
  gs::BufferPtr buffer;
  try {
    buffer = gs::buffer(pool.acquire());
  } catch (const Error& error) {
    ASSERT_EQ(std::getenv("TENON_EXPECT_DMABUFS"), nullptr) << error.what();
    GTEST_SKIP() << error.what() << "; ./dev test-vm has them";
  }
  ASSERT_TRUE(gst_is_dmabuf_memory(gst_buffer_peek_memory(buffer.get(), 0)));
  GST_BUFFER_PTS(buffer.get()) = 0;
  const HarnessPtr h = harness("tenonmarking ! tenonmarking name=last", nullptr);
  gst_harness_set_src_caps(h.get(), gs::caps(video).release());
  GstBuffer* const sent = buffer.release();
  const GstMemory* const memory = gst_buffer_peek_memory(sent, 0);
  const gs::BufferPtr got(gst_harness_push_and_pull(h.get(), sent));
  ASSERT_TRUE(got);
  EXPECT_EQ(gst_buffer_peek_memory(got.get(), 0), memory);
  EXPECT_EQ(seen.detections, 1);
  const gs::CapsPtr caps(gst_pad_get_current_caps(h->sinkpad));
  ASSERT_TRUE(caps);
  EXPECT_TRUE(gst_caps_features_contains(gst_caps_get_features(caps.get(), 0), "memory:DMABuf"));
  const gs::ObjectPtr<GstElement> last(gst_bin_get_by_name(GST_BIN(h->element), "last"));
  EXPECT_EQ(stat(last.get(), "copied"), 0u);
  EXPECT_EQ(stat(last.get(), "frames-out"), 1u);
}

}  // namespace gstreamer_dmabuf_test
