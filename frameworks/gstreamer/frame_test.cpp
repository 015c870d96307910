// SPDX-License-Identifier: Apache-2.0
// GstBuffers to frames and back: real pipelines, layouts, lives, writing, descriptors, devices, and what is refused.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include <tenon/core/router.hpp>
#include <tenon/core/testing/allocation_count.hpp>
#include <tenon/frameworks/cpu/cpu.hpp>
#include <tenon/frameworks/dmabuf/dmabuf.hpp>
#include <tenon/frameworks/dmabuf/testing/dmabuf.hpp>
#include <tenon/frameworks/gstreamer/frame.hpp>
#include <tenon/frameworks/gstreamer/testing/gst_testing.hpp>
#include <tenon/frameworks/gstreamer/testing/lsan.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace gstreamer_frame_test {

using namespace tenon;
using namespace tenon::gstreamer_testing;
namespace gs = tenon::gstreamer;

gs::VideoCaps caps_of(PixelFormat format, std::uint32_t width, std::uint32_t height) {
  gs::start();
  return gs::video_caps(gs::caps(FrameInfo{format, width, height}).get());
}

std::uint8_t* bytes(const Tensor& plane) { return static_cast<std::uint8_t*>(plane.data()); }

/// A memfd as a decoder in another process would hand it over.
dmabuf::UniqueFd memfd(std::size_t size, bool sealed) {
  dmabuf::UniqueFd fd(::memfd_create("gstreamer-test", MFD_ALLOW_SEALING));
  EXPECT_EQ(::ftruncate(fd.get(), static_cast<off_t>(size)), 0);
  if (sealed) {
    EXPECT_EQ(::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
  }
  return fd;
}

TEST(GstPipeline, GivesFramesOfEveryFormat) {
  for (const gs::FormatMapping& mapping : gs::detail::kMappings) {
    const std::string format = gst_video_format_to_string(mapping.gst);
    Pipeline pipeline("videotestsrc num-buffers=2 pattern=smpte ! video/x-raw,format=" + format +
                      ",width=322,height=242,framerate=25/1 ! appsink name=sink");
    pipeline.play();
    gs::CapsCache cache;
    int count = 0;
    while (const SamplePtr sample = pipeline.pull()) {
      const Frame frame = gs::wrap(sample.get(), cache);
      EXPECT_EQ(frame.info().format, mapping.format) << format;
      EXPECT_EQ(frame.timestamp_ns(), count * 40'000'000) << format;
      // As GStreamer itself reads it.
      GstVideoInfo info;
      ASSERT_TRUE(gst_video_info_from_caps(&info, gst_sample_get_caps(sample.get())));
      GstVideoFrame mapped;
      ASSERT_TRUE(gst_video_frame_map(&mapped, &info, gst_sample_get_buffer(sample.get()), GST_MAP_READ));
      for (std::size_t p = 0; p < frame.plane_count(); ++p) {
        EXPECT_EQ(frame.plane(p).data(), mapped.data[p]) << format << ": copied";
        EXPECT_EQ(frame.plane(p).byte_strides()[0], mapped.info.stride[p]) << format;
      }
      gst_video_frame_unmap(&mapped);
      EXPECT_EQ(gs::buffer(frame).get(), gst_sample_get_buffer(sample.get())) << format;
      ++count;
    }
    EXPECT_EQ(count, 2) << format;
  }
}

TEST(GstPipeline, TakesFramesFromTenonInPlace) {
  Pipeline pipeline("appsrc name=source format=time ! identity ! appsink name=sink");
  const auto source = pipeline.element("source");
  const FrameInfo info{kNv12, 64, 48, ColourSpace::kBt709, ColourRange::kLimited};
  gst_app_src_set_caps(GST_APP_SRC(source.get()), gs::caps(info).get());
  pipeline.play();
  Frame frame = Frame::allocate(info);
  frame.set_timestamp_ns(7'000'000);
  bytes(frame.plane(0))[3] = 42;
  void* const address = frame.plane(0).data();
  ASSERT_EQ(gst_app_src_push_buffer(GST_APP_SRC(source.get()), gs::buffer(frame).release()), GST_FLOW_OK);
  frame = {};  // The pipeline keeps the bytes.
  gst_app_src_end_of_stream(GST_APP_SRC(source.get()));
  const SamplePtr sample = pipeline.pull();
  ASSERT_TRUE(sample);
  gs::CapsCache cache;
  const Frame back = gs::wrap(sample.get(), cache);
  EXPECT_EQ(back.info(), info);
  EXPECT_EQ(back.timestamp_ns(), 7'000'000);
  EXPECT_EQ(back.plane(0).data(), address);
  EXPECT_EQ(back.plane(0).kind(), kCpuMemory) << "Tenon's memory comes out as itself";
  EXPECT_EQ(bytes(back.plane(0))[3], 42);
}

TEST(GstPipeline, ReadsWhatTenonLaidOutWithPaddedRows) {
  // videoconvert and GstVideoFrame read by the GstVideoMeta.
  Pipeline pipeline("appsrc name=source format=time ! videoconvert ! video/x-raw,format=GRAY8 ! appsink name=sink");
  const auto source = pipeline.element("source");
  const FrameInfo info{kBgr24, 50, 20};
  gst_app_src_set_caps(GST_APP_SRC(source.get()), gs::caps(info).get());
  pipeline.play();
  Requirements wanted;
  wanted.pitch_alignment = 256;
  Frame frame = Frame::over(info, HostMemory::allocate(Frame::size_bytes_for(info, wanted)), wanted);
  for (std::size_t y = 0; y < 20; ++y) std::memset(bytes(frame.plane(0)) + y * 256, y < 10 ? 255 : 0, 256);
  ASSERT_EQ(gst_app_src_push_buffer(GST_APP_SRC(source.get()), gs::buffer(frame).release()), GST_FLOW_OK);
  gst_app_src_end_of_stream(GST_APP_SRC(source.get()));
  const SamplePtr sample = pipeline.pull();
  ASSERT_TRUE(sample);
  gs::CapsCache cache;
  const Frame grey = gs::wrap(sample.get(), cache);
  const auto pitch = grey.plane(0).byte_strides()[0];
  EXPECT_GT(bytes(grey.plane(0))[9 * pitch + 49], 230);
  EXPECT_LT(bytes(grey.plane(0))[10 * pitch], 20);
}

TEST(GstBufferFrame, KeepsTheBufferUntilTheLastPlaneGoes) {
  std::atomic<int> ended{0};
  const gs::VideoCaps caps = caps_of(kNv12, 64, 48);
  gs::BufferPtr buffer = filled_buffer(caps.size_bytes, 9);
  count_end(buffer.get(), ended);
  Frame frame = gs::wrap(buffer.get(), caps);
  buffer.reset();
  Tensor chroma = frame.plane(1);
  frame = {};
  EXPECT_EQ(ended, 0);
  EXPECT_EQ(bytes(chroma)[0], 9);
  Ref<Memory> memory = chroma.memory();
  chroma = {};
  EXPECT_EQ(ended, 0) << "the memory alone keeps its bytes";
  memory = nullptr;
  EXPECT_EQ(ended, 1);
}

TEST(GstBufferFrame, StaysWhileADeviceReadsIt) {
  std::atomic<int> ended{0};
  const gs::VideoCaps caps = caps_of(kNv12, 64, 48);
  gs::BufferPtr buffer = filled_buffer(caps.size_bytes, 9);
  count_end(buffer.get(), ended);
  auto timeline = make_ref<HostTimeline>("a device");
  {
    const Frame frame = gs::adopt(buffer.release(), caps);
    frame.plane(0).memory()->hazards().read_until(timeline->next());
  }
  EXPECT_EQ(ended, 0);
  timeline->advance(1);
  EXPECT_TRUE(drain_deferred(Clock::now() + std::chrono::seconds(10)));
  EXPECT_EQ(ended, 1);
}

TEST(GstBufferFrame, IsWrittenOnlyWithoutOtherReferences) {
  const gs::VideoCaps caps = caps_of(kNv12, 64, 48);
  gs::BufferPtr buffer = filled_buffer(caps.size_bytes, 0);
  EXPECT_FALSE(gs::wrap(buffer.get(), caps).plane(0).is_writable());
  GstBuffer* const shared = gst_buffer_ref(buffer.get());
  Frame frame = gs::adopt(shared, caps);
  EXPECT_FALSE(frame.plane(0).is_writable());
  Router router;
  router.add(gs::context());
  router.add(host_context());
  EXPECT_THROW(router.map(frame.plane(0), host_context(), {Access::kReadWrite, ZeroCopy::kRequire}), Error);
  frame = {};
  frame = gs::adopt(buffer.release(), caps);
  ASSERT_TRUE(frame.plane(0).is_writable());
  const Tensor writable = router.map(frame.plane(0), host_context(), {Access::kReadWrite, ZeroCopy::kRequire});
  bytes(writable)[0] = 77;
  const gs::BufferPtr back = gs::buffer(frame);
  EXPECT_FALSE(frame.plane(0).is_writable()) << "GStreamer refers to it again";
  guint8 first = 0;
  EXPECT_EQ(gst_buffer_extract(back.get(), 0, &first, 1), 1u);
  EXPECT_EQ(first, 77);
}

TEST(GstBufferFrame, IsNotWrittenByElementsWhileItIsRead) {
  const gs::VideoCaps caps = caps_of(kGray8, 64, 48);
  const gs::BufferPtr buffer = filled_buffer(caps.size_bytes, 0);
  const Frame frame = gs::wrap(buffer.get(), caps);
  GstMapInfo map;
  EXPECT_FALSE(gst_memory_map(gst_buffer_peek_memory(buffer.get(), 0), &map, GST_MAP_WRITE));
}

TEST(GstBufferFrame, HeedsVideoMetaAndCrop) {
  const gs::VideoCaps caps = caps_of(kNv12, 32, 16);
  const gs::BufferPtr buffer = filled_buffer(128 * 64 + 128 * 32 + 10, 0);
  gsize offset[4] = {10, 10 + 128 * 64};
  gint stride[4] = {128, 128};
  gst_buffer_add_video_meta_full(buffer.get(), GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_NV12, 100, 64, 2, offset,
                                 stride);
  GstVideoCropMeta* crop = gst_buffer_add_video_crop_meta(buffer.get());
  crop->x = 8, crop->y = 4, crop->width = 32, crop->height = 16;
  const Frame frame = gs::wrap(buffer.get(), caps);
  EXPECT_EQ(frame.info().width_px, 32u);
  EXPECT_EQ(frame.plane(0).offset(), 10u + 4 * 128 + 8);
  EXPECT_EQ(frame.plane(1).offset(), 10u + 128 * 64 + 2 * 128 + 8);
  EXPECT_EQ(frame.plane(1).shape(), (Shape{8, 16, 2}));
  // Handed on as a buffer of its own, because the meta describes the whole picture.
  const gs::BufferPtr cropped = gs::buffer(frame);
  EXPECT_NE(cropped.get(), buffer.get());
  EXPECT_EQ(gs::wrap(cropped.get(), caps).plane(1).data(), frame.plane(1).data());
  crop->x = 7, crop->y = 3;
  const Frame odd = gs::wrap(buffer.get(), caps);
  EXPECT_EQ(odd.plane(0).offset(), 10u + 3 * 128 + 7);
  EXPECT_EQ(odd.plane(1).offset(), 10u + 128 * 64 + 1 * 128 + 6)
      << "chroma from the sample before, as videocrop writes it";
  crop->x = 80;
  error_of([&] { gs::wrap(buffer.get(), caps); }, Code::kInvalidArgument);
}

TEST(GstBufferFrame, TakesPlanesInMemoriesOfTheirOwn) {
  const gs::VideoCaps caps = caps_of(kI420, 64, 48);
  gs::start();
  const gs::BufferPtr buffer(gst_buffer_new());
  for (std::size_t size : {64u * 48, 32u * 24, 32u * 24})
    gst_buffer_append_memory(buffer.get(), gst_allocator_alloc(nullptr, size, nullptr));
  const std::uint64_t copied = Ledger::process().total().copied;
  const Frame frame = gs::wrap(buffer.get(), caps);
  EXPECT_NE(frame.plane(0).memory(), frame.plane(1).memory());
  EXPECT_NE(frame.plane(1).memory(), frame.plane(2).memory());
  EXPECT_EQ(Ledger::process().total().copied, copied);
}

TEST(GstBufferFrame, BooksTheCopyOfPlanesInPieces) {
  const gs::VideoCaps caps = caps_of(kGray8, 64, 48);
  gs::start();
  const gs::BufferPtr buffer(gst_buffer_new());
  for (int i = 0; i < 3; ++i) {
    gst_buffer_append_memory(buffer.get(), gst_allocator_alloc(nullptr, 64 * 16, nullptr));
    gst_buffer_memset(buffer.get(), static_cast<gsize>(i) * 64 * 16, static_cast<guint8>(i), 64 * 16);
  }
  Ledger ledger;
  const Frame frame = gs::wrap(buffer.get(), caps, &ledger);
  EXPECT_EQ(ledger.total().copied, caps.size_bytes);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(bytes(frame.plane(0))[i * 64 * 16], i);
  EXPECT_NE(gs::buffer(frame).get(), buffer.get()) << "its planes lie elsewhere";
}

TEST(GstBufferFrame, OfSealedMemfdsIsImportedOnce) {
  gs::start();
  const gs::VideoCaps caps = caps_of(kNv12, 64, 48);
  const gs::ObjectPtr<GstAllocator> allocator(gst_dmabuf_allocator_new());
  dmabuf::UniqueFd fd = memfd(8192, true);
  gs::BufferPtr buffer(gst_buffer_new());
  gst_buffer_append_memory(buffer.get(), gst_dmabuf_allocator_alloc(allocator.get(), fd.release(), 8192));
  const Frame first = gs::wrap(buffer.get(), caps), second = gs::wrap(buffer.get(), caps);
  EXPECT_EQ(first.plane(0).kind(), dmabuf::kDmabufMemory);
  EXPECT_EQ(first.plane(0).memory(), second.plane(0).memory()) << "imported again";
  EXPECT_EQ(first.plane(1).offset(), 64u * 48);
  Router router;
  router.add(dmabuf::context());
  router.add(host_context());
  const Frame mapped = router.map(first, host_context(), {Access::kRead, ZeroCopy::kRequire});
  const std::uint8_t five[10] = {5, 5, 5, 5, 5, 5, 5, 5, 5, 5};
  EXPECT_EQ(::pwrite(gst_fd_memory_get_fd(gst_buffer_peek_memory(buffer.get(), 0)), five, 10, 64 * 48), 10);
  EXPECT_EQ(bytes(mapped.plane(1))[9], 5);
  // A part of a memory begins elsewhere in the descriptor.
  const gs::BufferPtr part(gst_buffer_copy_region(buffer.get(), GST_BUFFER_COPY_MEMORY, 1024, 64 * 48 / 2 * 3));
  EXPECT_EQ(gs::wrap(part.get(), caps).plane(0).offset(), 1024u);
}

TEST(GstBufferFrame, OfUnsealedMemfdsIsMapped) {
  gs::start();
  const gs::VideoCaps caps = caps_of(kGray8, 64, 48);
  const gs::ObjectPtr<GstAllocator> allocator(gst_fd_allocator_new());
  dmabuf::UniqueFd fd = memfd(4096, false);
  const gs::BufferPtr buffer(gst_buffer_new());
  gst_buffer_append_memory(buffer.get(),
                           gst_fd_allocator_alloc(allocator.get(), fd.release(), 4096, GST_FD_MEMORY_FLAG_NONE));
  const Frame frame = gs::wrap(buffer.get(), caps);
  EXPECT_EQ(frame.plane(0).kind(), gs::kGstMemory);
  EXPECT_EQ(bytes(frame.plane(0))[0], 0);
  // Nor is it a dma-buf at the second look, whatever its caps say then.
  EXPECT_EQ(gs::wrap(buffer.get(), caps).plane(0).kind(), gs::kGstMemory);
  gs::VideoCaps tiled = caps;
  tiled.info.format.modifier = 0x0100000000000002;
  EXPECT_THROW(gs::wrap(buffer.get(), tiled), Error);
}

TEST(GstBufferFrame, LeavesTenonAsADescriptor) {
  gs::start();
  const FrameInfo info{kNv12, 64, 48, ColourSpace::kBt601, ColourRange::kLimited};
  Requirements wanted;
  const Frame frame = Frame::over(info, dmabuf::allocate(Frame::size_bytes_for(info, wanted)), wanted);
  const gs::BufferPtr buffer = gs::buffer(frame);
  ASSERT_EQ(gst_buffer_n_memory(buffer.get()), 1u);
  GstMemory* const memory = gst_buffer_peek_memory(buffer.get(), 0);
  ASSERT_TRUE(gst_is_fd_memory(memory));
  EXPECT_EQ(gst_is_dmabuf_memory(memory), frame.plane(0).memory()->fd_kind() == FdKind::kDmabuf);
  gst_buffer_memset(buffer.get(), 0, 17, 4);
  const Frame back = gs::wrap(buffer.get(), gs::video_caps(gs::caps(info).get()));
  EXPECT_EQ(back.plane(0).memory(), frame.plane(0).memory());
  dmabuf::CpuAccess access(back.plane(0), Access::kRead);
  EXPECT_EQ(static_cast<std::uint8_t*>(access.data())[3], 17);
}

TEST(GstBufferFrame, OfADeviceIsFetchedAndBooked) {
  std::atomic<int> maps{0};
  const gs::VideoCaps caps = caps_of(kNv12, 64, 48);
  std::vector<std::uint8_t> pixels(caps.size_bytes);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * 7);
  gs::start();
  gs::BufferPtr buffer(gst_buffer_new());
  gst_buffer_append_memory(buffer.get(), device_memory(pixels, maps));
  const Frame frame = gs::wrap(buffer.get(), caps);
  GstMemory* const native = gst_buffer_peek_memory(buffer.get(), 0);
  buffer.reset();
  EXPECT_EQ(maps, 0) << "wrapping touches nothing";
  EXPECT_EQ(frame.plane(0).kind(), gs::kDeviceMemory);
  EXPECT_EQ(gs::native_memory(frame.plane(1)), native);
  EXPECT_FALSE(frame.plane(0).is_host_addressable());
  Ledger ledger;
  Router router;
  router.add(gs::device_context());
  router.add(host_context());
  MapOptions options;
  options.ledger = &ledger;
  const Frame mapped = router.map(frame, host_context(), options);
  EXPECT_EQ(ledger.total().transferred, frame.size_bytes());
  EXPECT_EQ(maps, 2);
  EXPECT_EQ(std::memcmp(mapped.plane(1).data(), &pixels[64 * 48], 64 * 24), 0);
  options.policy = ZeroCopy::kRequire;
  EXPECT_NE(
      error_of([&] { router.map(frame, host_context(), options); }, Code::kFailedPrecondition).find("gstreamer.device"),
      std::string::npos);
  EXPECT_EQ(gst_buffer_peek_memory(gs::buffer(frame).get(), 0), native) << "it leaves as it came";
}

TEST(GstBufferFrame, OfATiledFormatNeedsADmabuf) {
  gs::VideoCaps caps = caps_of(kNv12, 64, 48);
  caps.info.format.modifier = 0x0100000000000002ull;
  const gs::BufferPtr buffer = filled_buffer(caps.size_bytes, 0);
  EXPECT_NE(error_of([&] { gs::wrap(buffer.get(), caps); }, Code::kUnimplemented).find("memory:DMABuf"),
            std::string::npos);
}

TEST(GstBufferFrame, ThatIsWrongIsRefused) {
  const gs::VideoCaps caps = caps_of(kNv12, 64, 48);
  error_of([&] { gs::wrap(static_cast<GstBuffer*>(nullptr), caps); }, Code::kInvalidArgument);
  const gs::BufferPtr empty(gst_buffer_new());
  error_of([&] { gs::wrap(empty.get(), caps); }, Code::kOutOfRange);
  for (std::size_t size : {std::size_t{1}, std::size_t{64 * 48}, caps.size_bytes - 1}) {
    const gs::BufferPtr truncated = filled_buffer(size, 0);
    EXPECT_NE(error_of([&] { gs::wrap(truncated.get(), caps); }, Code::kOutOfRange).find("truncated"),
              std::string::npos);
  }
  // The stream changed, and the caller still has the old caps.
  const gs::BufferPtr other = filled_buffer(caps.size_bytes, 0);
  gst_buffer_add_video_meta(other.get(), GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_I420, 64, 48);
  EXPECT_NE(error_of([&] { gs::wrap(other.get(), caps); }, Code::kInvalidArgument).find("changed"), std::string::npos);
  const gs::BufferPtr smaller = filled_buffer(caps.size_bytes, 0);
  gst_buffer_add_video_meta(smaller.get(), GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_NV12, 32, 24);
  error_of([&] { gs::wrap(smaller.get(), caps); }, Code::kInvalidArgument);
  for (const auto& [stride, offset] : {std::pair<gint, gsize>{-64, 0}, {63, 0}, {64, G_MAXSIZE}, {G_MAXINT, 0}}) {
    const gs::BufferPtr damaged = filled_buffer(caps.size_bytes, 0);
    gsize offsets[4] = {0, offset};
    gint strides[4] = {64, stride};
    gst_buffer_add_video_meta_full(damaged.get(), GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_NV12, 64, 48, 2, offsets,
                                   strides);
    EXPECT_THROW(gs::wrap(damaged.get(), caps), Error) << stride << " " << offset;
  }
}

/// A buffer over `fd`, which says that it has `size` bytes.
gs::BufferPtr fd_buffer(dmabuf::UniqueFd fd, std::size_t size) {
  gs::start();
  static GstAllocator* const allocator = gst_fd_allocator_new();
  gs::BufferPtr buffer(gst_buffer_new());
  gst_buffer_append_memory(buffer.get(),
                           gst_fd_allocator_alloc(allocator, fd.release(), size, GST_FD_MEMORY_FLAG_NONE));
  return buffer;
}

TEST(GstBufferFrame, OfForeignDescriptorsIsRefusedAndLeaksNone) {
  const gs::VideoCaps caps = caps_of(kNv12, 64, 48);
  fd_buffer(memfd(8192, false), 8192);  // The allocator's own.
  const std::size_t before = dmabuf::test::open_descriptors();
  for (int i = 0; i < 3; ++i) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const dmabuf::UniqueFd writer(ends[1]);
    const gs::BufferPtr pipe = fd_buffer(dmabuf::UniqueFd(ends[0]), 8192);
    error_of([&] { gs::wrap(pipe.get(), caps); }, Code::kFailedPrecondition);
    // Shorter than it says: reading past its end would end the process.
    for (bool sealed : {false, true}) {
      const gs::BufferPtr truncated = fd_buffer(memfd(4096, sealed), 8192);
      EXPECT_THROW(gs::wrap(truncated.get(), caps), Error) << sealed;
    }
    // Good ones, dropped while they are mapped.
    const Frame imported = gs::wrap(fd_buffer(memfd(8192, true), 8192).get(), caps);
    const Frame mapped = gs::wrap(fd_buffer(memfd(8192, false), 8192).get(), caps);
    EXPECT_EQ(bytes(mapped.plane(1))[0], 0);
    // Pixels in tiles are in dma-bufs alone, and an unknown arrangement in none.
    for (std::uint64_t modifier : {std::uint64_t{0x0100000000000002}, kModifierInvalid}) {
      gs::VideoCaps tiled = caps;
      tiled.info.format.modifier = modifier;
      const gs::BufferPtr plain = fd_buffer(memfd(8192, false), 8192);
      EXPECT_THROW(gs::wrap(plain.get(), tiled), Error) << modifier;
    }
  }
  EXPECT_EQ(dmabuf::test::open_descriptors(), before);
}

TEST(GstBufferFrame, ForTheCpuNeedsNoRouter) {
  const gs::VideoCaps caps = caps_of(kNv12, 64, 48);
  std::atomic<int> ended{0}, maps{0};
  gs::BufferPtr buffer = filled_buffer(caps.size_bytes, 9);
  count_end(buffer.get(), ended);
  Frame frame = gs::wrap_for_cpu(buffer.get(), caps);
  EXPECT_EQ(frame.plane(0).kind(), kCpuMemory);
  EXPECT_EQ(frame.plane(1).context(), host_context());
  EXPECT_EQ(bytes(frame.plane(1))[5], 9);
  EXPECT_FALSE(frame.plane(0).is_writable());
  Router router;
  router.add(host_context());
  EXPECT_EQ(router.map(frame, host_context()).plane(0).memory(), frame.plane(0).memory());
  buffer.reset();
  EXPECT_EQ(ended, 0);
  frame = {};
  EXPECT_EQ(ended, 1);
  const gs::BufferPtr sealed = fd_buffer(memfd(8192, true), 8192);
  error_of([&] { gs::wrap_for_cpu(sealed.get(), caps); }, Code::kFailedPrecondition);
  const gs::BufferPtr device(gst_buffer_new());
  gst_buffer_append_memory(device.get(), device_memory(std::vector<std::uint8_t>(caps.size_bytes), maps));
  error_of([&] { gs::wrap_for_cpu(device.get(), caps); }, Code::kFailedPrecondition);
  error_of([&] { gs::wrap_for_cpu(nullptr, caps); }, Code::kInvalidArgument);
}

TEST(GstBufferFrame, OfOneDescriptorIsOneMemoryToManyThreads) {
  const gs::VideoCaps caps = caps_of(kNv12, 64, 48);
  for (int round = 0; round < 50; ++round) {
    const gs::BufferPtr shared = fd_buffer(memfd(8192, true), 8192);
    std::array<Frame, 4> frames;
    std::vector<std::thread> threads;
    for (Frame& frame : frames) {
      threads.emplace_back([&] {
        frame = gs::wrap(shared.get(), caps);
        frame = gs::wrap(shared.get(), caps);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Frame& frame : frames) EXPECT_EQ(frame.plane(0).memory(), frames[0].plane(0).memory());
  }
}

/// What a program may call first, before it has anything of GStreamer's.
void use_gstreamer_first(int which) {
  ::setenv("G_DEBUG", "fatal-criticals", 1);
  const Frame frame = Frame::allocate({kGray8, 64, 48});
  switch (which) {
    case 0:
      gs::buffer(frame);
      break;
    case 1:
      gs::buffer(frame.plane(0));
      break;
    case 2:
      gs::buffer_list(Frame(std::vector<Frame>{frame}));
      break;
    case 3:
      gs::caps(frame.info());
      break;
    case 4:
      gs::caps(AudioInfo{ElementType::kI16, 2, 8000, false});
      break;
    default: {
      Router router;
      router.add(gs::context());
      router.add(host_context());
      const Tensor seen = router.map(frame.plane(0), gs::context());
      std::vector<std::byte> packed(seen.size_bytes());
      seen.context()->read(seen, packed);
      seen.context()->write(seen, packed);
    }
  }
  std::_Exit(0);
}

TEST(GstStart, IsNotTheProgramsTask) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // In a process of its own, where GStreamer has not started.
  for (int which = 0; which < 6; ++which)
    EXPECT_EXIT(use_gstreamer_first(which), ::testing::ExitedWithCode(0), "") << which;
}

TEST(GstBufferFrame, IsTheCallersAfterAFailedAdopt) {
  std::atomic<int> ended{0};
  const gs::VideoCaps caps = caps_of(kNv12, 64, 48);
  gs::BufferPtr truncated = filled_buffer(100, 0);
  count_end(truncated.get(), ended);
  EXPECT_THROW(gs::adopt(truncated.get(), caps), Error);
  EXPECT_EQ(GST_MINI_OBJECT_REFCOUNT_VALUE(truncated.get()), 1);
  GstMapInfo map;
  ASSERT_TRUE(gst_buffer_map(truncated.get(), &map, GST_MAP_WRITE)) << "a mapping was left";
  gst_buffer_unmap(truncated.get(), &map);
  truncated.reset();
  EXPECT_EQ(ended, 1);
}

TEST(GstBufferFrame, ThatSomebodyWritesCannotBeWrapped) {
  const gs::VideoCaps caps = caps_of(kGray8, 64, 48);
  const gs::BufferPtr buffer = filled_buffer(caps.size_bytes, 0);
  GstMapInfo map;
  ASSERT_TRUE(gst_memory_map(gst_buffer_peek_memory(buffer.get(), 0), &map, GST_MAP_WRITE));
  const Error error = error_of([&] { gs::wrap(buffer.get(), caps); });
  EXPECT_EQ(error.code(), Code::kFailedPrecondition);
  EXPECT_EQ(error.native_api(), "gst_memory_map");
  gst_memory_unmap(map.memory, &map);
  EXPECT_NO_THROW(gs::wrap(buffer.get(), caps));
}

TEST(GstLists, AreBatches) {
  const gs::VideoCaps caps = caps_of(kGray8, 64, 48);
  gs::start();
  const gs::BufferListPtr list(gst_buffer_list_new());
  for (int i = 0; i < 3; ++i) gst_buffer_list_add(list.get(), filled_buffer(caps.size_bytes, i).release());
  const Frame batch = gs::wrap(list.get(), caps);
  ASSERT_EQ(batch.batch().size(), 3u);
  EXPECT_EQ(bytes(batch.batch()[2].plane(0))[0], 2);
  const gs::BufferListPtr back = gs::buffer_list(batch);
  ASSERT_EQ(gst_buffer_list_length(back.get()), 3u);
  EXPECT_EQ(gst_buffer_list_get(back.get(), 1), gst_buffer_list_get(list.get(), 1));
  const gs::BufferListPtr none(gst_buffer_list_new());
  error_of([&] { gs::wrap(none.get(), caps); }, Code::kInvalidArgument);
  error_of([&] { gs::buffer_list(batch.batch()[0]); }, Code::kInvalidArgument);
  error_of([&] { gs::buffer(batch); }, Code::kInvalidArgument);
}

TEST(GstVideoFrames, GoBothWays) {
  const FrameInfo info{kI420, 64, 48, ColourSpace::kBt601, ColourRange::kLimited};
  const Frame frame = Frame::allocate(info);
  gs::VideoFrame mapped(frame);
  for (std::size_t p = 0; p < 3; ++p) EXPECT_EQ(mapped.get()->data[p], frame.plane(p).data());
  const Frame back = gs::wrap(*mapped.get());
  EXPECT_EQ(back.plane(2).data(), frame.plane(2).data());
}

TEST(GstTensors, GoBothWays) {
  const Tensor tensor(ElementType::kF32, {2, 3});
  tensor.data<float>()[5] = 1.5f;
  const gs::BufferPtr buffer = gs::buffer(tensor);
  EXPECT_EQ(gst_buffer_get_size(buffer.get()), 24u);
  const Tensor back = gs::wrap(buffer.get(), tensor.info());
  EXPECT_EQ(back.data(), tensor.data());
  EXPECT_EQ(back.memory(), tensor.memory());
  const gs::BufferPtr row = gs::buffer(tensor.slice({1, 0}, {2, 3}));
  EXPECT_EQ(gst_buffer_get_size(row.get()), 12u);
  EXPECT_EQ(gs::wrap(row.get(), {ElementType::kF32, {3}, {}}).data<float>()[2], 1.5f);
  error_of([&] { gs::buffer(tensor.slice({0, 0}, {2, 2})); }, Code::kFailedPrecondition);
  error_of([&] { gs::wrap(buffer.get(), TensorInfo{ElementType::kF32, {7}, {}}); }, Code::kOutOfRange);
  const Tensor of_memory = gs::wrap(gst_buffer_peek_memory(buffer.get(), 0), {ElementType::kU8, {24}, {}});
  EXPECT_EQ(of_memory.data(), tensor.data());
}

TEST(GstBufferFrame, AllocatesNothingAgain) {
  // Leases and memories come from free lists: the objects of the last frame serve the next.
  const gs::VideoCaps caps = caps_of(kNv12, 64, 48);
  const gs::BufferPtr buffer = filled_buffer(caps.size_bytes, 0);
  const Memory* const first = gs::wrap(buffer.get(), caps).plane(0).memory().get();
  gs::wrap_for_cpu(buffer.get(), caps);
  const Memory* seen = first;
  const std::size_t before = tenon_test::allocations_of_this_thread();
  for (int i = 0; i < 100 && seen == first; ++i) seen = gs::wrap(buffer.get(), caps).plane(0).memory().get();
  for (int i = 0; i < 100; ++i) gs::wrap_for_cpu(buffer.get(), caps);
  EXPECT_EQ(tenon_test::allocations_of_this_thread() - before, 0u);
  EXPECT_EQ(seen, first);
}

TEST(GstBufferFrame, IsWrappedByManyThreads) {
  const gs::VideoCaps caps = caps_of(kNv12, 64, 48);
  gs::start();
  const gs::ObjectPtr<GstAllocator> allocator(gst_dmabuf_allocator_new());
  const gs::BufferPtr shared(gst_buffer_new());
  gst_buffer_append_memory(shared.get(),
                           gst_dmabuf_allocator_alloc(allocator.get(), memfd(8192, true).release(), 8192));
  const gs::BufferPtr plain = filled_buffer(caps.size_bytes, 3);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        const Frame frame = gs::wrap(i % 2 ? shared.get() : plain.get(), caps);
        if (i % 2 == 0) {
          EXPECT_EQ(bytes(frame.plane(1))[0], 3);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(GST_MINI_OBJECT_REFCOUNT_VALUE(plain.get()), 1);
  EXPECT_EQ(GST_MINI_OBJECT_REFCOUNT_VALUE(shared.get()), 1);
}

}  // namespace gstreamer_frame_test
