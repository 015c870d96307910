// SPDX-License-Identifier: Apache-2.0
// Cameras that the kernel plays (its module vivid): every format, all ways into memory, faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include <tenon/core/router.hpp>
#include <tenon/core/testing/allocation_count.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/cpu/shared_memory.hpp>
#include <tenon/frameworks/dmabuf/dmabuf.hpp>
#include <tenon/frameworks/v4l2/testing/vivid_fixture.hpp>

#include "support/error_of.hpp"

namespace vivid_test {

using namespace tenon;
using namespace std::chrono_literals;
using namespace tenon::v4l2::test;
using ::testing::HasSubstr;

/// The samples of the pixel in the middle, as the format's planes hold them: 8 bits each.
std::vector<int> middle_of(const Frame& frame) {
  std::vector<int> samples;
  for (const Tensor& plane : frame.planes()) {
    std::vector<std::byte> bytes(plane.size_bytes());
    plane.context()->read(plane, bytes);
    const std::size_t sample = size_bytes(plane.element_type());
    const std::size_t channels = plane.shape().size() == 3 ? plane.shape()[2] : 1;
    const std::size_t x = plane.shape()[1] / 2 / 2 * 2, y = plane.shape()[0] / 2;
    // Packed 4:2:2 has two pixels in two positions.
    const bool pairs = frame.info().format == kYuy2 || frame.info().format == kUyvy;
    for (std::size_t c = 0; c < (pairs ? 4 : channels); ++c) {
      const std::size_t at = ((y * plane.shape()[1] + x) * channels + c) * sample;
      samples.push_back(std::to_integer<int>(bytes[at + sample - 1]));  // The high byte of 16 bits.
    }
  }
  return samples;
}

/// What a picture of pure red must hold there.
std::vector<int> red_in(PixelFormat format) {
  const int y = 81, u = 90, v = 240;  // BT.601, limited range.
  if (format == kNv12 || format == kNv16 || format == kP010) return {y, u, v};
  if (format == kNv21) return {y, v, u};
  if (format == kI420 || format == kI422 || format == kI444) return {y, u, v};
  if (format == kYv12) return {y, v, u};
  if (format == kYuy2) return {y, u, y, v};
  if (format == kUyvy) return {u, y, v, y};
  if (format == kRgb24) return {255, 0, 0};
  if (format == kBgr24) return {0, 0, 255};
  if (format == kRgba || format == kRgbx) return {255, 0, 0, -1};
  if (format == kBgra || format == kBgrx) return {0, 0, 255, -1};
  return {-1};  // Grey: brightness only.
}

TEST_F(Vivid, SaysWhatItGives) {
  const v4l2::Device device(single());
  EXPECT_TRUE(device.captures());
  EXPECT_FALSE(device.multiplanar());
  EXPECT_TRUE(v4l2::Device(several()).multiplanar());
  const auto formats = device.formats(device.capture_type());
  const auto nv12 =
      std::find_if(formats.begin(), formats.end(), [](const auto& each) { return each.fourcc == V4L2_PIX_FMT_NV12; });
  ASSERT_NE(nv12, formats.end());
  EXPECT_EQ(nv12->mapping->format, kNv12);
  ASSERT_FALSE(nv12->sizes.empty());
  EXPECT_EQ(nv12->sizes.front().min_width_px, kWidth);
  EXPECT_FALSE(device.rates(V4L2_PIX_FMT_NV12, kWidth, kHeight).empty());
}

TEST_F(Vivid, EveryFormatHasItsColoursInItsPlaces) {
  std::size_t seen = 0;
  for (const std::string& path : {single(), several()}) {
    const v4l2::Device device(path);
    device.set("test_pattern", std::string("100% Red"));
    device.set("osd_text_mode", std::string("None"));
    for (const v4l2::OfferedFormat& offered : device.formats(device.capture_type())) {
      if (!offered.mapping || v4l2::find_mapping(offered.mapping->format) == nullptr) continue;
      // negotiate() takes the first mapping of a format; those of several buffers are tried by their own test.
      v4l2::Camera camera(path, small(offered.mapping->format));
      const Frame frame = camera.read();
      ASSERT_EQ(frame.info().format, offered.mapping->format);
      EXPECT_EQ(frame.info().width_px, kWidth);
      const std::vector<int> got = middle_of(frame), wanted = red_in(frame.info().format);
      ASSERT_LE(wanted.size(), got.size());
      for (std::size_t i = 0; i < wanted.size(); ++i)
        if (wanted[i] >= 0) {
          EXPECT_NEAR(got[i], wanted[i], 6)
              << path << " " << v4l2::fourcc_name(camera.layout().fourcc) << " sample " << i;
        }
      ++seen;
    }
    device.set("test_pattern", 0);
  }
  EXPECT_GE(seen, 24u);
}

TEST_F(Vivid, APictureOfSeveralBuffersHasThemAll) {
  const v4l2::Device device(several());
  device.set("test_pattern", std::string("100% Red"));
  device.set("osd_text_mode", std::string("None"));
  // YUV444M exists in several buffers only.
  v4l2::Camera camera(several(), small(kI444));
  EXPECT_EQ(camera.layout().memories, 3u);
  for (const bool ours : {false, true}) {
    if (ours) {
      Requirements wanted;
      wanted.fd = FdKind::kMemfd;
      camera.use_pool(wanted);
    }
    const Frame frame = camera.read();
    EXPECT_EQ(camera.transfer(), ours ? v4l2::Transfer::kUserptr : v4l2::Transfer::kMmap);
    EXPECT_NE(frame.plane(0).memory(), frame.plane(1).memory());
    EXPECT_NE(frame.plane(1).memory(), frame.plane(2).memory());
    const std::vector<int> got = middle_of(frame), red = red_in(kI444);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(got[i], red[i], 6) << i;
  }
  device.set("test_pattern", 0);
}

TEST_F(Vivid, ItsBuffersAreSharedWithDmabufsAndTheCpu) {
  v4l2::Camera camera(single(), small());
  const Frame frame = camera.read();
  EXPECT_EQ(frame.plane(0).kind(), v4l2::kV4l2Memory);
  EXPECT_EQ(frame.plane(0).memory()->fd_kind(), FdKind::kDmabuf);
  Router router;
  router.add(frame.plane(0).context());
  router.add(dmabuf::context());
  router.add(host_context());
  Ledger ledger;
  MapOptions options;
  options.policy = ZeroCopy::kRequire;
  options.access = Access::kReadWrite;
  options.ledger = &ledger;
  const Frame as_dmabuf = router.map(frame, dmabuf::context(), options),
              as_host = router.map(frame, host_context(), options);
  for (std::size_t p = 0; p < 2; ++p) {
    const std::size_t size = frame.plane(p).size_bytes();
    std::vector<std::byte> written(size, std::byte{0x5a}), read(size);
    dmabuf::context()->write(as_dmabuf.plane(p), written);
    host_context()->read(as_host.plane(p), read);
    EXPECT_EQ(read, written);
    std::fill(written.begin(), written.end(), std::byte{0xa5});
    host_context()->write(as_host.plane(p), written);
    dmabuf::context()->read(as_dmabuf.plane(p), read);
    EXPECT_EQ(read, written);
  }
  EXPECT_EQ(ledger.total().copied, 0u);
}

/// Captures into memory of ours and proves that the driver wrote there: through a second mapping of the descriptor.
void expect_captured_in_place(v4l2::Camera& camera, v4l2::Transfer transfer) {
  std::optional<Frame> kept;
  for (int i = 0; i < 12; ++i) {
    const Frame frame = camera.read();
    EXPECT_EQ(camera.transfer(), transfer);
    const Memory& memory = *frame.plane(0).memory();
    ASSERT_GE(memory.borrow_fd(), 0);
    void* const second =
        ::mmap(nullptr, memory.size_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, memory.borrow_fd(), 0);
    ASSERT_NE(second, MAP_FAILED);
    const std::vector<std::byte> seen = bytes_of(frame);
    std::size_t at = 0;
    for (const Tensor& plane : frame.planes()) {
      for (std::size_t y = 0; y < plane.shape()[0]; ++y, at += kWidth)
        EXPECT_EQ(std::memcmp(static_cast<std::byte*>(second) + plane.offset() +
                                  y * static_cast<std::size_t>(plane.byte_strides()[0]),
                              &seen[at], kWidth),
                  0);
    }
    // A poison byte that is still there when the buffer comes back was not written by the driver.
    EXPECT_NE(seen, std::vector<std::byte>(seen.size(), std::byte{0xee}));
    std::memset(second, 0xee, memory.size_bytes());
    ::munmap(second, memory.size_bytes());
  }
}

TEST_F(Vivid, CapturesIntoAMemfdByAddress) {
  v4l2::Camera camera(single(), small());
  Requirements wanted;
  wanted.fd = FdKind::kMemfd;
  camera.use_pool(wanted, {}, 4);
  EXPECT_EQ(camera.path(), "NV12 -> pool(memfd)");
  EXPECT_EQ(camera.buffers(), 4u);
  expect_captured_in_place(camera, v4l2::Transfer::kUserptr);
}

TEST_F(Vivid, CapturesIntoADmabufByDescriptor) {
  v4l2::Camera camera(single(), small());
  Requirements wanted;
  wanted.fd = FdKind::kDmabuf;
  camera.use_pool(wanted, dmabuf::context(), 4);
  expect_captured_in_place(camera, v4l2::Transfer::kDmabuf);
}

TEST_F(Vivid, CapturesIntoBuffersOfAnotherCamera) {
  // A foreign descriptor, of another driver's memory.
  v4l2::Camera camera(single(), small());
  Requirements wanted;
  wanted.fd = FdKind::kDmabuf;
  camera.use_pool(wanted, v4l2::context(several()), 4);
  expect_captured_in_place(camera, v4l2::Transfer::kDmabuf);
}

TEST_F(Vivid, APlanForCameraAndReaderCopiesNothing) {
  v4l2::Camera camera(single(), small());
  Router router;
  router.add(host_context());
  router.add(dmabuf::context());
  const Context device = v4l2::context(single());
  router.add(device);
  Requirements reader;
  reader.fd = FdKind::kMemfd;
  const AllocationPlan plan =
      router.plan({device, device->requirements(), Access::kWrite},
                  std::vector<Party>{{host_context(), reader, Access::kRead}}, camera.info(), ZeroCopy::kRequire);
  ASSERT_TRUE(plan.possible) << plan.explanation;
  camera.use_pool(plan);
  Ledger ledger;
  MapOptions options;
  options.policy = ZeroCopy::kRequire;
  options.ledger = &ledger;
  for (int i = 0; i < 5; ++i) {
    const Frame frame = camera.read();
    const Frame seen = router.map(frame, host_context(), options);
    EXPECT_NE(seen.plane(0).data(), nullptr);
  }
  EXPECT_EQ(ledger.total().copied, 0u);
}

TEST_F(Vivid, ReadingAllocatesNothing) {
  v4l2::Options options = small(kI444);  // Three buffers per picture.
  options.format.fps = 5;                // A busy machine loses none.
  v4l2::Camera camera(several(), options);
  for (int i = 0; i < 3; ++i) camera.read();
  for (int quiet = 0, all = 0; quiet < 10; ++all) {
    ASSERT_LT(all, 100) << "the driver loses too many pictures to tell";
    const std::size_t before = tenon_test::allocations_of_this_thread();
    const std::uint64_t lost = camera.lost_frames();
    {
      const Frame frame = camera.read();
      const Frame copy = frame;
    }
    if (camera.lost_frames() != lost) continue;  // Their number is metadata, which is made then.
    EXPECT_EQ(tenon_test::allocations_of_this_thread(), before);
    ++quiet;
  }
}

TEST_F(Vivid, APictureInUseIsNotWrittenAgain) {
  v4l2::Camera camera(single(), small());
  Frame held = camera.read();
  const std::vector<std::byte> before = bytes_of(held);
  const Memory* const memory = held.plane(0).memory().get();
  for (int i = 0; i < 20; ++i) EXPECT_NE(camera.read().plane(0).memory().get(), memory);
  EXPECT_EQ(bytes_of(held), before);
  Tensor chroma = held.plane(1);
  held = {};  // One plane holds the buffer, too.
  for (int i = 0; i < 10; ++i) EXPECT_NE(camera.read().plane(0).memory().get(), memory);
  chroma = {};
  bool again = false;
  for (int i = 0; i < 20 && !again; ++i) again = camera.read().plane(0).memory().get() == memory;
  EXPECT_TRUE(again) << "the buffer was not queued again";
}

TEST_F(Vivid, ABufferThatADeviceReadsIsNotQueued) {
  v4l2::Options options = small();
  options.buffers = 3;
  v4l2::Camera camera(single(), options);
  const auto timeline = make_ref<HostTimeline>("a reader");
  const TimelinePoint point = timeline->next();
  const Memory* memory;
  {
    const Frame frame = camera.read();
    memory = frame.plane(0).memory().get();
    frame.plane(0).memory()->hazards().read_until(point);
  }
  for (int i = 0; i < 10; ++i) EXPECT_NE(camera.read().plane(0).memory().get(), memory);
  timeline->advance(point.value());
  bool again = false;
  for (int i = 0; i < 10 && !again; ++i) again = camera.read().plane(0).memory().get() == memory;
  EXPECT_TRUE(again);
}

TEST_F(Vivid, WithAllBuffersOutReadEndsAtItsDeadline) {
  v4l2::Options options = small();
  options.buffers = 3;
  v4l2::Camera camera(single(), options);
  std::vector<Frame> all;
  for (std::size_t i = 0; i < 3 || all.size() < camera.buffers(); ++i) all.push_back(camera.read());
  const auto begin = Clock::now();
  const Error error = error_of([&] { camera.read(Clock::now() + 200ms); });
  EXPECT_EQ(error.code(), Code::kDeadlineExceeded);
  EXPECT_THAT(error.what(), HasSubstr("buffers are in use"));
  EXPECT_LT(Clock::now() - begin, 10s);
  std::thread later([&] {
    std::this_thread::sleep_for(50ms);
    all.pop_back();
  });
  EXPECT_NO_THROW(camera.read());
  later.join();
}

TEST_F(Vivid, PicturesOutliveTheCameraWhichOthersMayUseAtOnce) {
  std::vector<Frame> kept;
  {
    v4l2::Camera camera(single(), small());
    kept.push_back(camera.read());
    kept.push_back(camera.read());
    EXPECT_EQ(error_of([&] { v4l2::Camera(single(), small()).read(); }).code(), Code::kUnavailable);
  }
  const std::vector<std::byte> before = bytes_of(kept[1]);
  v4l2::Camera next(single(), small());
  for (int i = 0; i < 10; ++i) next.read();
  EXPECT_EQ(bytes_of(kept[1]), before);
}

TEST_F(Vivid, NoFreeBufferLosesPicturesAndCountsThem) {
  v4l2::Options options = small();
  options.buffers = 2;
  v4l2::Camera camera(single(), options);
  {
    const Frame first = camera.read();
    std::this_thread::sleep_for(500ms);
  }
  for (int i = 0; i < 6; ++i) camera.read();
  EXPECT_GT(camera.lost_frames(), 0u);
}

TEST_F(Vivid, TimestampsAreThoseOfTheMonotonicClock) {
  v4l2::Camera camera(single(), small());
  std::int64_t last = 0;
  for (int i = 0; i < 4; ++i) {
    const Frame frame = camera.read();
    EXPECT_GT(frame.timestamp_ns(), last);
    last = frame.timestamp_ns();
  }
  const auto now = Clock::now().time_since_epoch();
  EXPECT_LT(std::chrono::abs(now - std::chrono::nanoseconds(last)), 10s);
}

TEST_F(Vivid, ControlsGoByName) {
  const v4l2::Device device(single());
  const v4l2::Control brightness = device.control("Brightness");
  EXPECT_EQ(brightness.name, "brightness");
  device.set("brightness", 77);
  EXPECT_EQ(device.get("brightness"), 77);
  device.set("brightness", brightness.default_value);
  EXPECT_EQ(device.get("brightness"), brightness.default_value);
  const Error range = error_of([&] { device.set("brightness", 100'000); });
  EXPECT_EQ(range.code(), Code::kOutOfRange);
  EXPECT_THAT(range.what(), HasSubstr("0..255"));
  const Error unknown = error_of([&] { device.get("brightnes"); });
  EXPECT_EQ(unknown.code(), Code::kNotFound);
  EXPECT_THAT(unknown.what(), HasSubstr("contrast"));
  const Error entry = error_of([&] { device.set("test_pattern", std::string("Kittens")); });
  EXPECT_EQ(entry.code(), Code::kInvalidArgument);
  EXPECT_THAT(entry.what(), HasSubstr("100% Red"));
}

TEST_F(Vivid, WhatItDoesNotGiveIsRefusedWithTheNearest) {
  const auto refusal = [&](PixelFormat format, std::uint32_t width, std::uint32_t height, double fps = 0) {
    v4l2::Options options = small(format);
    options.format.width_px = width;
    options.format.height_px = height;
    options.format.fps = fps;
    return error_of([&] { v4l2::Camera(single(), options); });
  };
  const Error size = refusal(kNv12, 1000, 700);
  EXPECT_EQ(size.code(), Code::kUnimplemented);
  EXPECT_THAT(size.what(), HasSubstr("does not give nv12 1000x700; nearest: nv12 1280x720"));
  const Error format = refusal(kRgbPlanar, kWidth, kHeight);
  EXPECT_EQ(format.code(), Code::kUnimplemented);
  EXPECT_THAT(format.what(), HasSubstr("320x180"));
  const Error tiled = refusal({kNv12.fourcc, 0x0100000000000001ull}, kWidth, kHeight);
  EXPECT_EQ(tiled.code(), Code::kUnimplemented);
  const Error rate = refusal(kNv12, kWidth, kHeight, 1234);
  EXPECT_EQ(rate.code(), Code::kUnimplemented);
  EXPECT_THAT(rate.what(), HasSubstr("it gives:"));
}

TEST_F(Vivid, GivesTheRateThatIsAsked) {
  v4l2::Options options = small();
  const auto rates = v4l2::Device(single()).rates(V4L2_PIX_FMT_NV12, kWidth, kHeight);
  ASSERT_FALSE(rates.empty());
  options.format.fps = rates.front();
  EXPECT_NEAR(v4l2::Camera(single(), options).fps(), rates.front(), rates.front() * 0.01);
}

TEST_F(Vivid, ColourIsWhatTheDeviceSays) {
  const v4l2::Device device(single());
  const auto colour = [&](const char* space, const char* encoding, const char* range) {
    device.set("colorspace", std::string(space));
    device.set("y_cbcr_encoding", std::string(encoding));
    device.set("quantization", std::string(range));
    return v4l2::Camera(single(), small()).info();
  };
  const FrameInfo hd = colour("Rec. 709", "Default", "Limited Range");
  EXPECT_EQ(hd.colour_space, ColourSpace::kBt709);
  EXPECT_EQ(hd.colour_range, ColourRange::kLimited);
  const FrameInfo wide = colour("BT.2020", "Default", "Full Range");
  EXPECT_EQ(wide.colour_space, ColourSpace::kBt2020);
  EXPECT_EQ(wide.colour_range, ColourRange::kFull);
  const FrameInfo web = colour("sRGB", "Default", "Default");
  EXPECT_EQ(web.colour_space, ColourSpace::kBt601);
}

TEST_F(Vivid, DamagedPicturesAreLeftOut) {
  v4l2::Camera camera(single(), small());
  camera.read();
  camera.device().set("inject_v4l2_buf_flag_error", 1);
  for (int i = 0; i < 10 && camera.damaged_frames() == 0; ++i) EXPECT_TRUE(camera.read());
  EXPECT_EQ(camera.damaged_frames(), 1u);
}

TEST_F(Vivid, ADriverThatFailsIsAnErrorAndTheNextReadStartsAnew) {
  v4l2::Camera camera(single(), small());
  const Frame kept = camera.read();
  camera.device().set("inject_fatal_streaming_error", 1);
  const Error fatal = error_of([&] {
    for (int i = 0; i < 10; ++i) camera.read();
  });
  EXPECT_EQ(fatal.code(), Code::kUnavailable) << fatal.what();
  EXPECT_NO_THROW(camera.read());
  for (const char* fault :
       {"inject_vidioc_reqbufs_error", "inject_vidioc_qbuf_error", "inject_vidioc_streamon_error"}) {
    camera.stop();
    camera.device().set(fault, 1);
    const Error error = error_of([&] { camera.read(); });
    EXPECT_FALSE(error.native_api().empty()) << fault;
    EXPECT_NO_THROW(camera.read()) << fault;
  }
}

TEST_F(Vivid, NoPictureInTimeIsADeadline) {
  v4l2::Camera camera(single(), small());
  camera.read();
  camera.device().set("percentage_of_dropped_buffers", 100);
  const Error error = error_of([&] {
    for (int i = 0; i < 10; ++i) camera.read(Clock::now() + 500ms);
  });
  camera.device().set("percentage_of_dropped_buffers", 0);
  EXPECT_EQ(error.code(), Code::kDeadlineExceeded);
  EXPECT_NO_THROW(camera.read());
}

TEST_F(Vivid, ASourceThatChangesInFlightIsFollowed) {
  v4l2::Options options;
  options.read_timeout = 30s;
  options.input = 3;  // HDMI
  options.format.format = kNv12;
  v4l2::Camera camera(single(), options);
  const Frame before = camera.read();
  const v4l2::Control timings = camera.device().control("dv_timings");
  const std::int64_t other =
      camera.device().get("dv_timings") == timings.minimum ? timings.minimum + 2 : timings.minimum;
  camera.device().set("dv_timings", other);
  camera.device().set("dv_timings_signal_mode", std::string("Selected DV Timings"));
  Frame after;
  for (int i = 0; i < 30 && camera.size_changes() == 0; ++i) after = camera.read();
  EXPECT_EQ(camera.size_changes(), 1u);
  EXPECT_FALSE(after.info() == before.info());
  EXPECT_EQ(after.metadata().count("size_changed"), 1u);
  EXPECT_EQ(camera.read().metadata().count("size_changed"), 0u);
  EXPECT_NO_THROW(bytes_of(before));
  // No signal at all: an error that says so, and pictures again when it is back.
  camera.device().set("dv_timings_signal_mode", std::string("No Signal"));
  const Error none = error_of([&] {
    for (int i = 0; i < 30; ++i) camera.read();
  });
  EXPECT_EQ(none.code(), Code::kUnavailable);
  EXPECT_THAT(none.what(), HasSubstr("no signal"));
  camera.device().set("dv_timings_signal_mode", std::string("Current DV Timings"));
  EXPECT_NO_THROW(camera.read());
  camera.stop();
  camera.device().select_input(0);
}

TEST_F(Vivid, ThereIsNoSuchInput) {
  v4l2::Options options = small();
  options.input = 17;
  const Error error = error_of([&] { v4l2::Camera(single(), options); });
  EXPECT_EQ(error.code(), Code::kInvalidArgument);
  EXPECT_THAT(error.what(), HasSubstr("HDMI"));
}

}  // namespace vivid_test
