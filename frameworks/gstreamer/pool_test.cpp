// SPDX-License-Identifier: Apache-2.0
// The allocator and the pool: upstream elements write into Tenon's memory, buffers return when all uses have ended.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <tenon/core/router.hpp>
#include <tenon/frameworks/cpu/cpu.hpp>
#include <tenon/frameworks/dmabuf/dmabuf.hpp>
#include <tenon/frameworks/gstreamer/pool.hpp>
#include <tenon/frameworks/gstreamer/testing/gst_testing.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace gstreamer_pool_test {

using namespace tenon;
using namespace tenon::gstreamer_testing;
namespace gs = tenon::gstreamer;

gs::BufferPtr acquire(GstBufferPool& pool, GstFlowReturn* flow = nullptr) {
  GstBuffer* buffer = nullptr;
  GstBufferPoolAcquireParams params{};
  params.flags = GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT;
  const GstFlowReturn result = gst_buffer_pool_acquire_buffer(&pool, &buffer, &params);
  if (flow) *flow = result;
  return gs::BufferPtr(buffer);
}

gs::CapsPtr nv12_caps(std::uint32_t width = 64, std::uint32_t height = 48) {
  gs::start();
  return gs::caps(FrameInfo{kNv12, width, height, ColourSpace::kBt601, ColourRange::kLimited});
}

TEST(GstAllocator, GivesTenonsMemory) {
  gs::PoolOptions options;
  options.wanted.fd = FdKind::kMemfd;
  options.wanted.alignment = 4096;
  const auto allocator = gs::allocator(options);
  GstAllocationParams params;
  gst_allocation_params_init(&params);
  params.prefix = 16, params.padding = 32;
  const gs::MemoryPtr memory(gst_allocator_alloc(allocator.get(), 1000, &params));
  ASSERT_TRUE(memory);
  gsize offset = 0, whole = 0;
  EXPECT_EQ(gst_memory_get_sizes(memory.get(), &offset, &whole), 1000u);
  EXPECT_EQ(offset, 16u);
  EXPECT_GE(whole, 1048u);
  const Tensor tensor = gs::wrap(memory.get(), {ElementType::kU8, {1000}, {}});
  EXPECT_EQ(tensor.memory()->fd_kind(), FdKind::kMemfd);
  EXPECT_EQ(tensor.offset(), 16u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.memory()->host()) % 4096, 0u);
}

TEST(GstAllocator, GivesNothingWhereThereIsNothing) {
  gs::PoolOptions options;
  options.wanted.fd = FdKind::kMemfd;
  const auto allocator = gs::allocator(options);
  EXPECT_EQ(gst_allocator_alloc(allocator.get(), G_MAXSIZE / 2, nullptr), nullptr);
}

TEST(GstPool, GivesThePaddingThatADecoderAsksFor) {
  gs::PoolOptions options;
  options.wanted.pitch_alignment = 128;
  options.wanted.height_alignment = 16;
  const auto pool = gs::pool(options);
  const gs::CapsPtr caps = nv12_caps(100, 50);
  GstStructure* config = gst_buffer_pool_get_config(pool.get());
  gst_buffer_pool_config_set_params(config, caps.get(), 0, 0, 0);
  gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT);
  GstVideoAlignment padding;
  gst_video_alignment_reset(&padding);
  padding.padding_top = 4, padding.padding_left = 16, padding.padding_right = 12, padding.padding_bottom = 2;
  for (guint& mask : padding.stride_align) mask = 31;
  gst_buffer_pool_config_set_video_alignment(config, &padding);
  ASSERT_TRUE(gst_buffer_pool_set_config(pool.get(), config));
  ASSERT_TRUE(gst_buffer_pool_set_active(pool.get(), TRUE));
  const gs::BufferPtr buffer = acquire(*pool);
  const GstVideoMeta* const meta = gst_buffer_get_video_meta(buffer.get());
  ASSERT_TRUE(meta);
  EXPECT_EQ(meta->stride[0] % 128, 0);
  EXPECT_GE(meta->stride[0], 16 + 100 + 12);
  EXPECT_EQ(meta->offset[0], 4u * static_cast<gsize>(meta->stride[0]) + meta->alignment.padding_left);
  EXPECT_GE(meta->alignment.padding_left, 16u);  // GStreamer keeps the first pixel aligned.
  EXPECT_EQ(meta->alignment.padding_top, 4u);
  EXPECT_EQ((50u + meta->alignment.padding_top + meta->alignment.padding_bottom) % 16, 0u);
  const Frame frame = gs::wrap(buffer.get(), gs::video_caps(caps.get()));
  EXPECT_EQ(frame.info().width_px, 100u);
  EXPECT_EQ(frame.plane(0).offset(), meta->offset[0]);
  EXPECT_EQ(frame.plane(1).offset(), meta->offset[1]);
  EXPECT_EQ(frame.plane(0).memory().get(), frame.plane(1).memory().get());
}

TEST(GstPool, BufferReturnsAfterTheLastLeaseAndTheLastReference) {
  gs::PoolOptions options;
  options.max_buffers = 1;
  const auto pool = gs::pool(options);
  const gs::CapsPtr caps = nv12_caps();
  gs::configure(*pool, caps.get());
  const gs::VideoCaps video = gs::video_caps(caps.get());
  gs::BufferPtr buffer = acquire(*pool);
  ASSERT_TRUE(buffer);
  Frame frame = gs::wrap(buffer.get(), video);
  const Memory* const memory = frame.plane(0).memory().get();
  EXPECT_EQ(frame.plane(0).kind(), kCpuMemory);
  Tensor chroma = frame.plane(1);
  buffer.reset();
  EXPECT_FALSE(acquire(*pool)) << "a frame still refers to it";
  frame = {};
  EXPECT_FALSE(acquire(*pool)) << "a plane still refers to it";
  chroma = {};
  buffer = acquire(*pool);
  ASSERT_TRUE(buffer);
  EXPECT_EQ(gs::wrap(buffer.get(), video).plane(0).memory().get(), memory) << "memory and views persist";
  // A GstBuffer reference alone holds it, too.
  EXPECT_FALSE(acquire(*pool));
  buffer.reset();
  EXPECT_TRUE(acquire(*pool));
  gst_buffer_pool_set_active(pool.get(), FALSE);
}

TEST(GstPool, BufferReturnsWhenTheDeviceIsDone) {
  gs::PoolOptions options;
  options.max_buffers = 1;
  const auto pool = gs::pool(options);
  const gs::CapsPtr caps = nv12_caps();
  gs::configure(*pool, caps.get());
  auto timeline = make_ref<HostTimeline>("a device");
  const Memory* memory = nullptr;
  {
    gs::BufferPtr buffer = acquire(*pool);
    ASSERT_TRUE(buffer);
    const Frame frame = gs::adopt(buffer.release(), gs::video_caps(caps.get()));
    memory = frame.plane(0).memory().get();
    frame.plane(0).memory()->hazards().read_until(timeline->next());
  }
  EXPECT_FALSE(acquire(*pool)) << "given out while a device reads it";
  timeline->advance(1);
  ASSERT_TRUE(drain_deferred(Clock::now() + std::chrono::seconds(10)));
  const gs::BufferPtr buffer = acquire(*pool);
  ASSERT_TRUE(buffer);
  EXPECT_EQ(gs::wrap(buffer.get(), gs::video_caps(caps.get())).plane(0).memory().get(), memory);
}

TEST(GstPool, LaysPlanesOutAsTheConsumerWants) {
  gs::PoolOptions options;
  options.wanted.pitch_alignment = 256;
  options.wanted.height_alignment = 64;
  const auto pool = gs::pool(options);
  const gs::CapsPtr caps = nv12_caps(100, 50);
  gs::configure(*pool, caps.get(), 2);
  const gs::BufferPtr buffer = acquire(*pool);
  ASSERT_TRUE(buffer);
  const Frame frame = gs::wrap(buffer.get(), gs::video_caps(caps.get()));
  EXPECT_EQ(frame.plane(0).byte_strides()[0], 256);
  EXPECT_EQ(frame.plane(1).offset(), 256u * 64);
  EXPECT_EQ(gs::buffer(frame).get(), buffer.get());
}

TEST(GstPool, IsRefusedWhatItCannotHold) {
  const auto pool = gs::pool();
  const gs::CapsPtr audio(gst_caps_from_string("audio/x-raw,format=S16LE,rate=8000,channels=1,layout=interleaved"));
  error_of([&] { gs::configure(*pool, audio.get()); }, Code::kInvalidArgument);
  error_of([&] { gs::offer_pool(static_cast<GstPad*>(nullptr), {}); }, Code::kInvalidArgument);
}

/// Upstream elements of `line` write into the pool's memory: each frame's memory is one of few, and Tenon's.
void expect_pooled(const std::string& line, const gs::PoolOptions& options, MemoryKind kind, std::size_t frames) {
  Pipeline pipeline(line);
  gs::offer_pool(pipeline.sink(), options);
  pipeline.play();
  gs::CapsCache cache;
  std::set<const Memory*> memories;
  std::size_t count = 0;
  while (const SamplePtr sample = pipeline.pull()) {
    const Frame frame = gs::wrap(sample.get(), cache);
    EXPECT_EQ(frame.plane(0).kind(), kind) << line << " frame " << count;
    EXPECT_EQ(frame.plane(0).byte_strides()[0] % static_cast<std::ptrdiff_t>(options.wanted.pitch_alignment), 0)
        << line;
    memories.insert(frame.plane(0).memory().get());
    ++count;
  }
  EXPECT_EQ(count, frames) << line;
  EXPECT_LE(memories.size(), 8u) << line << ": buffers are not reused";
}

TEST(GstPool, IsUsedByVideotestsrc) {
  gs::PoolOptions options;
  options.wanted.pitch_alignment = 256;
  expect_pooled(
      "videotestsrc num-buffers=40 ! video/x-raw,format=NV12,width=322,height=242 ! appsink name=sink max-buffers=2",
      options, kCpuMemory, 40);
}

TEST(GstPool, IsUsedByVideoconvert) {
  gs::PoolOptions options;
  options.wanted.pitch_alignment = 128;
  expect_pooled(
      "videotestsrc num-buffers=40 ! video/x-raw,format=I420,width=322,height=242 ! videoconvert ! "
      "video/x-raw,format=BGR ! appsink name=sink max-buffers=2",
      options, kCpuMemory, 40);
}

TEST(GstPool, OfDescriptorsIsUsedByUpstream) {
  gs::PoolOptions options;
  options.allocator = dmabuf::context();
  options.wanted.pitch_alignment = 64;
  expect_pooled(
      "videotestsrc num-buffers=20 ! video/x-raw,format=NV12,width=320,height=240 ! appsink name=sink max-buffers=2",
      options, dmabuf::kDmabufMemory, 20);
}

/// The camera that TENON_CAMERA names, such as vivid's in the test VM.
std::string camera(const std::string& mode) {
  const char* device = std::getenv("TENON_CAMERA");
  if (!device) return {};
  return std::string("v4l2src device=") + device + " io-mode=" + mode +
         " num-buffers=8 ! video/x-raw,format=NV12,width=640,height=360 ! appsink name=sink max-buffers=1";
}

TEST(GstPool, IsUsedByV4l2src) {
  const std::string line = camera("dmabuf-import");
  if (line.empty()) GTEST_SKIP() << "TENON_CAMERA names no camera";
  gs::PoolOptions options;
  options.allocator = dmabuf::context();
  options.min_buffers = 4;
  Pipeline pipeline(line);
  gs::offer_pool(pipeline.sink(), options);
  pipeline.play();
  gs::CapsCache cache;
  std::size_t count = 0;
  while (const SamplePtr sample = pipeline.pull()) {
    GstBuffer* const buffer = gst_sample_get_buffer(sample.get());
    const Frame frame = gs::wrap(buffer, cache.of(gst_sample_get_caps(sample.get())));
    EXPECT_EQ(frame.plane(0).kind(), dmabuf::kDmabufMemory);
    EXPECT_NE(gs::detail::noted_memory(gst_buffer_peek_memory(buffer, 0)), nullptr);
    EXPECT_STREQ(buffer->pool ? G_OBJECT_TYPE_NAME(buffer->pool) : "no pool", "TenonBufferPool1");
    ++count;
  }
  EXPECT_EQ(count, 8u);
}

TEST(GstPipeline, GivesACamerasDmabufs) {
  const std::string line = camera("dmabuf");
  if (line.empty()) GTEST_SKIP() << "TENON_CAMERA names no camera";
  Pipeline pipeline(line);
  pipeline.play();
  gs::CapsCache cache;
  Router router;
  router.add(dmabuf::context());
  router.add(host_context());
  std::size_t count = 0;
  while (const SamplePtr sample = pipeline.pull()) {
    const Frame frame = gs::wrap(sample.get(), cache);
    EXPECT_EQ(frame.plane(0).kind(), dmabuf::kDmabufMemory);
    EXPECT_EQ(frame.plane(0).memory()->fd_kind(), FdKind::kDmabuf);
    EXPECT_NO_THROW(router.map(frame, host_context(), {Access::kRead, ZeroCopy::kRequire}));
    ++count;
  }
  EXPECT_EQ(count, 8u);
}

TEST(GstPool, HoldsWhatUpstreamWrote) {
  // The same picture, with and without the pool.
  const std::string line =
      "videotestsrc num-buffers=1 pattern=smpte ! video/x-raw,format=NV12,width=322,height=242 ! appsink name=sink";
  Pipeline plain(line), pooled(line);
  gs::PoolOptions options;
  options.allocator = dmabuf::context();
  options.wanted.pitch_alignment = 512;
  gs::offer_pool(pooled.sink(), options);
  plain.play();
  pooled.play();
  const SamplePtr a = plain.pull(), b = pooled.pull();
  ASSERT_TRUE(a && b);
  gs::CapsCache cache;
  Router router;
  router.add(host_context());
  router.add(gs::context());
  router.add(dmabuf::context());
  const Frame expected = gs::wrap(a.get(), cache);
  const Frame frame = router.map(gs::wrap(b.get(), cache), host_context(), {Access::kRead, ZeroCopy::kRequire});
  EXPECT_EQ(frame.plane(0).byte_strides()[0], 512);
  for (std::size_t p = 0; p < 2; ++p) {
    Tensor left, right;
    expected.plane(p).copy_to(left);
    frame.plane(p).copy_to(right);
    EXPECT_EQ(std::memcmp(left.data(), right.data(), left.size_bytes()), 0) << "plane " << p;
  }
}

TEST(GstPool, FollowsAStreamThatChanges) {
  Pipeline pipeline("appsrc name=source format=time ! videoconvert ! video/x-raw,format=NV12 ! appsink name=sink");
  gs::offer_pool(pipeline.sink(), {});
  const auto source = pipeline.element("source");
  pipeline.play();
  gs::CapsCache cache;
  for (const auto& [width, height] : {std::pair{64u, 48u}, std::pair{160u, 120u}, std::pair{32u, 16u}}) {
    const FrameInfo info{kBgrx, width, height};
    const gs::CapsPtr caps = gs::caps(info);
    gst_app_src_set_caps(GST_APP_SRC(source.get()), caps.get());
    ASSERT_EQ(gst_app_src_push_buffer(GST_APP_SRC(source.get()), gs::buffer(Frame::allocate(info)).release()),
              GST_FLOW_OK);
    const SamplePtr sample = pipeline.pull();
    ASSERT_TRUE(sample) << width;
    const Frame frame = gs::wrap(sample.get(), cache);
    EXPECT_EQ(frame.info().width_px, width);
    EXPECT_EQ(frame.info().height_px, height);
    EXPECT_EQ(frame.plane(0).kind(), kCpuMemory);
  }
}

TEST(GstPool, OutlivesItsPipelineInFrames) {
  Frame kept;
  {
    Pipeline pipeline(
        "videotestsrc num-buffers=3 pattern=white ! video/x-raw,format=GRAY8,width=64,height=48 ! appsink name=sink");
    gs::offer_pool(pipeline.sink(), {});
    pipeline.play();
    gs::CapsCache cache;
    kept = gs::wrap(pipeline.pull().get(), cache);
  }
  EXPECT_GT(static_cast<std::uint8_t*>(kept.plane(0).data())[64 * 48 - 1], 200);
}

}  // namespace gstreamer_pool_test
