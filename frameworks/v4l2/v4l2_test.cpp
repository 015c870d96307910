// SPDX-License-Identifier: Apache-2.0
// Drivers that lie, fail and go away, which no real one does on request; and the tables of formats and colour.
#include <tenon/frameworks/v4l2/testing/fake_driver.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>
#include <vector>

#include <tenon/core/deferred.hpp>
#include <tenon/core/router.hpp>
#include <tenon/frameworks/dmabuf/dmabuf.hpp>
#include <tenon/frameworks/v4l2/v4l2.hpp>

#include "support/error_of.hpp"

namespace v4l2_test {

using namespace tenon;
using namespace std::chrono_literals;
using ::testing::HasSubstr;
using v4l2::test::FakeDriver;

constexpr const char* kPath = "/dev/fake";

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

v4l2::Options small(PixelFormat format = kNv12) {
  v4l2::Options options;
  options.format.format = format;
  options.format.width_px = 64;
  options.format.height_px = 48;
  options.read_timeout = 5s;
  return options;
}

class V4l2 : public ::testing::Test {
 protected:
  void TearDown() override {
    v4l2::native::fault = nullptr;
    EXPECT_TRUE(drain_deferred(Clock::now() + 10s));
  }
  /// The error of opening the camera and reading one picture with `tamper` in place.
  Error error_with(std::function<int(unsigned long, void*)> tamper) {
    driver.tamper = std::move(tamper);
    const Error error = error_of([&] {
      v4l2::Options options = small();
      options.read_timeout = 300ms;
      v4l2::Camera(kPath, options).read();
    });
    driver.tamper = {};
    return error;
  }
  /// The error when the driver says something else of its format.
  template <typename Change>
  Error error_with_format(Change change) {
    return error_with([change](unsigned long request, void* argument) {
      if (request == VIDIOC_S_FMT) change(*static_cast<v4l2_format*>(argument));
      return 0;
    });
  }

  FakeDriver driver;
};

TEST_F(V4l2, PicturesAreTheDriversBuffers) {
  v4l2::Camera camera(kPath, small());
  EXPECT_EQ(camera.info().format, kNv12);
  EXPECT_EQ(camera.info().colour_space, ColourSpace::kBt709);
  EXPECT_EQ(camera.path(), "NV12 -> v4l2(mmap)");
  for (int i = 0; i < 300; ++i) {
    const Frame frame = camera.read();
    ASSERT_EQ(*static_cast<const std::uint8_t*>(frame.plane(0).data()), i & 0xff);
    ASSERT_EQ(*static_cast<const std::uint8_t*>(frame.plane(1).data()), i & 0xff);
  }
  EXPECT_EQ(camera.frames_read(), 300u);
  EXPECT_EQ(camera.lost_frames(), 0u);
}

TEST_F(V4l2, ADriverThatExportsNothingIsMappedByItself) {
  driver.exports = false;
  v4l2::Camera camera(kPath, small());
  const Frame frame = camera.read();
  EXPECT_EQ(frame.plane(0).memory()->fd_kind(), FdKind::kNone);
  EXPECT_EQ(*static_cast<const std::uint8_t*>(frame.plane(1).data()), 0);
  Router router;
  router.add(frame.plane(0).context());
  router.add(dmabuf::context());
  MapOptions options;
  options.policy = ZeroCopy::kRequire;
  const Error error = error_of([&] { router.map(frame, dmabuf::context(), options); });
  EXPECT_THAT(error.what(), HasSubstr("VIDIOC_EXPBUF"));
}

TEST_F(V4l2, WhatADriverSaysOfItsPicturesIsChecked) {
  const auto expect_lie = [&](const Error& error, const char* text) {
    EXPECT_EQ(error.code(), Code::kInternal) << error.what();
    EXPECT_THAT(error.what(), HasSubstr("Fake camera"));
    EXPECT_THAT(error.what(), HasSubstr(text));
  };
  expect_lie(error_with_format([](v4l2_format& format) { format.fmt.pix.bytesperline = 63; }), "pitch of 63");
  expect_lie(error_with_format([](v4l2_format& format) { format.fmt.pix.bytesperline = 0; }), "pitch of 0");
  expect_lie(error_with_format([](v4l2_format& format) { format.fmt.pix.sizeimage = 64 * 48; }), "of a buffer of 3072");
  expect_lie(error_with_format([](v4l2_format& format) { format.fmt.pix.bytesperline = UINT32_MAX; }),
             "of a buffer of");
  EXPECT_EQ(error_with_format([](v4l2_format& format) { format.fmt.pix.field = V4L2_FIELD_ALTERNATE; }).code(),
            Code::kUnimplemented);
  EXPECT_EQ(error_with_format([](v4l2_format& format) { format.fmt.pix.width = 65; }).code(), Code::kUnimplemented);
  EXPECT_EQ(error_with_format([](v4l2_format& format) { format.fmt.pix.pixelformat = V4L2_PIX_FMT_YUYV; }).code(),
            Code::kUnimplemented);
}

TEST_F(V4l2, ASourceThatChangesAgainAndAgainHoldsNoReadBeyondItsDeadline) {
  v4l2::Camera camera(kPath, small());
  driver.tamper = [&](unsigned long request, void*) {
    if (request == VIDIOC_STREAMON) driver.change_source(V4L2_PIX_FMT_NV12, 64, 48);
    return 0;
  };
  const Error error = error_of([&] { camera.read(Clock::now() + 200ms); });
  EXPECT_EQ(error.code(), Code::kDeadlineExceeded) << error.what();
  driver.tamper = {};
  EXPECT_EQ(camera.read().info().width_px, 64u) << "the next read goes on";
}

TEST_F(V4l2, ATimeThatNoNumberHoldsIsNone) {
  v4l2::Camera camera(kPath, small());
  timeval time{};
  driver.tamper = [&](unsigned long request, void* argument) {
    if (request == VIDIOC_DQBUF) static_cast<v4l2_buffer*>(argument)->timestamp = time;
    return 0;
  };
  for (const timeval& wrong :
       {timeval{INT64_MAX, 0}, timeval{INT64_MIN, 0}, timeval{0, INT64_MAX}, timeval{9'223'372'036, 999'999}}) {
    time = wrong;
    EXPECT_EQ(camera.read().timestamp_ns(), kNoTimestamp) << wrong.tv_sec << " " << wrong.tv_usec;
  }
  time = {3, 4};
  EXPECT_EQ(camera.read().timestamp_ns(), 3'000'004'000);
  driver.tamper = {};
}

TEST_F(V4l2, WhatADriverSaysOfItsBuffersIsChecked) {
  const Error small_buffer = error_with([](unsigned long request, void* argument) {
    if (request == VIDIOC_QUERYBUF) static_cast<v4l2_buffer*>(argument)->length = 4000;
    return 0;
  });
  EXPECT_EQ(small_buffer.code(), Code::kInternal);
  EXPECT_THAT(small_buffer.what(), HasSubstr("needs 4608 bytes"));
  for (const std::uint32_t count : {0u, 100'000u}) {
    const Error none = error_with([count](unsigned long request, void* argument) {
      auto& wanted = *static_cast<v4l2_requestbuffers*>(argument);
      if (request == VIDIOC_REQBUFS && wanted.count) wanted.count = count;
      return 0;
    });
    EXPECT_EQ(none.code(), Code::kInternal) << none.what();
  }
  for (const std::uint32_t index : {6u, UINT32_MAX}) {
    const Error wild = error_with([index](unsigned long request, void* argument) {
      if (request == VIDIOC_DQBUF) static_cast<v4l2_buffer*>(argument)->index = index;
      return 0;
    });
    EXPECT_EQ(wild.code(), Code::kInternal);
    EXPECT_THAT(wild.what(), HasSubstr("which it did not have"));
  }
  int count = 0;
  driver.tamper = [&](unsigned long request, void* argument) {
    if (request == VIDIOC_DQBUF && ++count > 1) static_cast<v4l2_buffer*>(argument)->index = 0;
    return 0;
  };
  v4l2::Camera camera(kPath, small());
  const Frame held = camera.read();
  EXPECT_THAT(error_of([&] { camera.read(); }, Code::kInternal), HasSubstr("buffer 0, which it did not have"));
}

TEST_F(V4l2, TornAndDamagedPicturesAreLeftOutUntilTheDeadline) {
  int spoil = 3;
  driver.tamper = [&](unsigned long request, void* argument) {
    auto& buffer = *static_cast<v4l2_buffer*>(argument);
    if (request != VIDIOC_DQBUF || spoil == 0) return 0;
    if (--spoil % 2)
      buffer.bytesused = 4000;
    else
      buffer.flags |= V4L2_BUF_FLAG_ERROR;
    return 0;
  };
  v4l2::Camera camera(kPath, small());
  EXPECT_EQ(*static_cast<const std::uint8_t*>(camera.read().plane(0).data()), 3);
  EXPECT_EQ(camera.damaged_frames(), 3u);
  spoil = INT_MAX;
  EXPECT_THAT(error_of([&] { camera.read(Clock::now() + 50ms); }, Code::kDeadlineExceeded), HasSubstr("damaged ones"));
  spoil = 0;
  EXPECT_NO_THROW(camera.read());
}

TEST_F(V4l2, PicturesThatTheDriverLostAreCountedAndToldOnceAlsoWhereNumbersWrap) {
  std::uint32_t jump = UINT32_MAX - 2;  // Three pictures before the numbers begin again.
  driver.tamper = [&](unsigned long request, void* argument) {
    if (request == VIDIOC_DQBUF) static_cast<v4l2_buffer*>(argument)->sequence += jump;
    return 0;
  };
  v4l2::Camera camera(kPath, small());
  for (int i = 0; i < 6; ++i) EXPECT_EQ(camera.read().metadata().count("lost_frames"), 0u);
  EXPECT_EQ(camera.lost_frames(), 0u);
  jump += 4;
  const Frame after = camera.read();
  ASSERT_EQ(after.metadata().count("lost_frames"), 1u);
  EXPECT_EQ(after.metadata().at("lost_frames").as<std::uint64_t>(), 4u);
  EXPECT_EQ(camera.read().metadata().count("lost_frames"), 0u);
  EXPECT_EQ(camera.lost_frames(), 4u);
  camera.stop();  // Another stream numbers anew.
  jump += 1000;
  camera.read();
  EXPECT_EQ(camera.lost_frames(), 4u);
}

TEST_F(V4l2, AnEndlessListEnds) {
  driver.tamper = [](unsigned long request, void* argument) {
    if (request == VIDIOC_ENUM_FMT) static_cast<v4l2_fmtdesc*>(argument)->pixelformat = V4L2_PIX_FMT_NV12;
    return 0;
  };
  const v4l2::Device device(kPath);
  EXPECT_LE(device.formats(device.capture_type()).size(), 512u);
}

TEST_F(V4l2, NothingInTimeIsADeadlineAndNotTheEnd) {
  driver.silent = true;
  v4l2::Camera camera(kPath, small());
  const auto begin = Clock::now();
  EXPECT_THAT(error_of([&] { camera.read(begin + 100ms); }, Code::kDeadlineExceeded), HasSubstr("no picture in time"));
  EXPECT_LT(Clock::now() - begin, 5s);
  EXPECT_EQ(error_of([&] { camera.read(begin); }).code(), Code::kDeadlineExceeded);
  driver.silent = false;
  EXPECT_NO_THROW(camera.read());
}

TEST_F(V4l2, AnUnpluggedCameraIsAnErrorAtOnceAndItsPicturesStay) {
  v4l2::Camera camera(kPath, small());
  Frame kept = camera.read();
  std::thread unplug([&] {
    std::this_thread::sleep_for(50ms);
    driver.unplugged = true;
  });
  driver.silent = true;
  EXPECT_THAT(error_of([&] { camera.read(); }, Code::kUnavailable), HasSubstr("unplugged"));
  unplug.join();
  EXPECT_EQ(error_of([&] { camera.read(); }).code(), Code::kUnavailable);
  EXPECT_EQ(*static_cast<const std::uint8_t*>(kept.plane(0).data()), 0);
  kept = {};  // While the ring is closed already.
  EXPECT_EQ(error_of([&] { v4l2::Camera again(kPath); }).code(), Code::kUnavailable);
}

TEST_F(V4l2, ASourceThatChangesToWhatNoFormatDescribesIsAnErrorUntilItChangesBack) {
  v4l2::Camera camera(kPath, small());
  const Frame before = camera.read();
  driver.change_source(V4L2_PIX_FMT_YUYV, 128, 96);
  const Frame after = camera.read();
  EXPECT_EQ(after.info().format, kYuy2);
  EXPECT_EQ(after.info().width_px, 128u);
  EXPECT_EQ(after.metadata().count("size_changed"), 1u);
  EXPECT_EQ(*static_cast<const std::uint8_t*>(before.plane(0).data()), 0);
  driver.change_source(V4L2_PIX_FMT_MJPEG, 128, 96);
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT(error_of([&] { camera.read(); }, Code::kUnimplemented), HasSubstr("MJPG 128x96"));
  driver.change_source(V4L2_PIX_FMT_NV12, 64, 48);
  EXPECT_EQ(camera.read().info().format, kNv12);
  EXPECT_EQ(camera.size_changes(), 2u);
}

TEST_F(V4l2, ACameraOfCompressedPicturesNamesWhoDecodesThem) {
  driver.tamper = [](unsigned long request, void* argument) {
    if (request == VIDIOC_ENUM_FMT) static_cast<v4l2_fmtdesc*>(argument)->pixelformat = V4L2_PIX_FMT_MJPEG;
    return 0;
  };
  EXPECT_THAT(error_of([&] { v4l2::Camera camera(kPath); }, Code::kUnimplemented), HasSubstr("ffmpeg::open"));
}

TEST_F(V4l2, PoolMemoryGoesByAddressOrDescriptor) {
  v4l2::Camera camera(kPath, small());
  Requirements memfd;
  memfd.fd = FdKind::kMemfd;
  camera.use_pool(memfd, {}, 3);
  EXPECT_EQ(camera.transfer(), v4l2::Transfer::kUserptr);
  const std::uint8_t first = *static_cast<const std::uint8_t*>(camera.read().plane(0).data());
  EXPECT_EQ(first, 0);
  EXPECT_EQ(camera.path(), "NV12 -> pool(memfd)");
  camera.use_pool(memfd, dmabuf::context(), 3);
  EXPECT_EQ(camera.transfer(), v4l2::Transfer::kDmabuf);
  const Frame frame = camera.read();
  EXPECT_EQ(frame.plane(0).kind(), dmabuf::kDmabufMemory);
  std::vector<std::byte> bytes(frame.plane(1).size_bytes());
  dmabuf::context()->read(frame.plane(1), bytes);
  EXPECT_EQ(bytes, std::vector<std::byte>(bytes.size(), std::byte{1}));
}

TEST_F(V4l2, WhatADriverCannotGiveAConsumerIsRefused) {
  v4l2::Camera camera(kPath, small());
  Requirements pitch;
  pitch.pitch_alignment = 128;
  EXPECT_NO_THROW(camera.use_pool(pitch)) << "this driver takes a pitch";
  EXPECT_EQ(camera.layout().plane[0].pitch_bytes, 128u);
  Requirements narrow;
  narrow.max_pitch = 32;
  EXPECT_THAT(error_of([&] { camera.use_pool(narrow); }, Code::kFailedPrecondition), HasSubstr("at most 32"));
  Requirements tall;
  tall.height_alignment = 32;
  EXPECT_THAT(error_of([&] { camera.use_pool(tall); }, Code::kFailedPrecondition), HasSubstr("multiples of 32"));
  driver.has_userptr = false;
  EXPECT_THAT(error_of([&] { camera.use_pool(Requirements()); }, Code::kUnimplemented),
              HasSubstr("no buffers by userptr"));
  EXPECT_NO_THROW(camera.read()) << "it goes on with its own buffers";
  EXPECT_EQ(camera.transfer(), v4l2::Transfer::kMmap);
  EXPECT_EQ(error_of([&] { camera.use_pool(Requirements(), {}, 1000); }).code(), Code::kInvalidArgument);
}

TEST_F(V4l2, WrongModifiersAndStandInsAreRefusedByTheEdge) {
  const Context device = v4l2::context(kPath);
  const Edge* import = nullptr;
  for (const Edge* edge : device->edges())
    if (edge->name() == "dmabuf->v4l2") import = edge;
  ASSERT_TRUE(import);
  Description description;
  description.kind = dmabuf::kDmabufMemory;
  description.fd = FdKind::kDmabuf;
  description.modifier = 0x0100000000000002ull;
  const Step tiled = import->step(description, device, Access::kRead);
  ASSERT_TRUE(std::holds_alternative<Refusal>(tiled));
  EXPECT_THAT(std::get<Refusal>(tiled).reason, HasSubstr("no DRM modifiers"));
  description.modifier = 0;
  EXPECT_TRUE(std::holds_alternative<Reached>(import->step(description, device, Access::kRead)));
  v4l2::native::driver = &v4l2::native::kKernel;
  description.fd = FdKind::kMemfd;
  EXPECT_TRUE(std::holds_alternative<Refusal>(import->step(description, device, Access::kRead)));
}

std::atomic<long> countdown{0};
int fail_nth(const char*) {
  long left = countdown.load();
  while (left > 0 && !countdown.compare_exchange_weak(left, left - 1)) {
  }
  return left == 1 ? EIO : 0;
}

TEST_F(V4l2, EveryCallMayFailAndNothingIsLeftBehind) {
  const auto work = [&](bool ours) {
    v4l2::Camera camera(kPath, small());
    Requirements wanted;
    wanted.fd = FdKind::kMemfd;
    if (ours) camera.use_pool(wanted);
    const Frame kept = camera.read();
    camera.read();
  };
  for (const bool ours : {false, true}) {
    work(ours);
    const std::size_t before = open_descriptors();
    long n = 1, thrown = 0;
    for (;; ++n) {
      countdown = n;
      v4l2::native::fault = &fail_nth;
      try {
        work(ours);
      } catch (const Error& error) {
        ++thrown;
        EXPECT_FALSE(error.native_api().empty()) << error.what();
        EXPECT_EQ(error.native_code(), EIO) << error.what();
      }
      v4l2::native::fault = nullptr;
      ASSERT_EQ(driver.open_nodes(), 0u);
      ASSERT_EQ(open_descriptors(), before) << "call " << n;
      if (countdown.load() > 0) break;
      ASSERT_LT(n, 500);
    }
    EXPECT_GT(thrown, n / 3) << "of " << n;
  }
}

TEST_F(V4l2, PicturesAreDroppedOnAnyThreadWhileOthersAreRead) {
  v4l2::Options options = small();
  options.buffers = 8;
  v4l2::Camera camera(kPath, options);
  std::mutex mutex;
  std::vector<Frame> out;
  std::atomic<bool> done{false};
  std::thread consumer([&] {
    while (!done || !out.empty()) {
      Frame one;
      std::lock_guard lock(mutex);
      if (!out.empty()) {
        one = std::move(out.back());
        out.pop_back();
      }
    }
  });
  for (int i = 0; i < 2000; ++i) {
    Frame frame = camera.read();
    std::lock_guard lock(mutex);
    out.push_back(std::move(frame));
  }
  camera.stop();  // With pictures out.
  done = true;
  consumer.join();
}

TEST(V4l2Format, MappingsGoBothWaysAndAgreeOnTheirBuffers) {
  for (const v4l2::FormatMapping& mapping : v4l2::detail::kMappings) {
    EXPECT_EQ(v4l2::find_mapping(mapping.v4l2)->format, mapping.format);
    EXPECT_EQ(v4l2::find_mapping(mapping.format, mapping.memories)->v4l2, mapping.v4l2);
    FrameInfo info{mapping.format, 66, 34};
    info.colour_space = ColourSpace::kBt709;
    info.colour_range = ColourRange::kFull;
    v4l2_format format = v4l2::make_format(V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE, info, mapping);
    EXPECT_EQ(format.fmt.pix_mp.num_planes, mapping.memories);
    for (std::size_t m = 0; m < mapping.memories; ++m) {
      format.fmt.pix_mp.plane_fmt[m].bytesperline = static_cast<std::uint32_t>(
          m ? plane_extent(info, m).row_bytes : (plane_extent(info, 0).row_bytes + 3) / 4 * 4);
      format.fmt.pix_mp.plane_fmt[m].sizeimage = 1 << 20;
    }
    const v4l2::BufferLayout layout = v4l2::make_layout(format, "a test");
    const bool yuv = format_info(mapping.format).model == ColourModel::kYuv;
    EXPECT_EQ(layout.info.format, info.format);
    EXPECT_EQ(layout.info.colour_range, info.colour_range);
    EXPECT_EQ(layout.info.colour_space, yuv ? info.colour_space : ColourSpace::kUnknown);
    EXPECT_EQ(layout.memories, mapping.memories);
    for (std::size_t p = 1; p < layout.planes; ++p) EXPECT_EQ(layout.plane[p].memory, mapping.memories > 1 ? p : 0u);
  }
  EXPECT_EQ(v4l2::find_mapping(V4L2_PIX_FMT_MJPEG), nullptr);
  EXPECT_EQ(v4l2::find_mapping(kRgbPlanar), nullptr);
}

TEST(V4l2Format, ColourGoesBothWays) {
  for (const ColourSpace space :
       {ColourSpace::kUnknown, ColourSpace::kBt601, ColourSpace::kBt709, ColourSpace::kBt2020, ColourSpace::kSmpte240m})
    for (const ColourRange range : {ColourRange::kUnknown, ColourRange::kLimited, ColourRange::kFull}) {
      const v4l2::Colorimetry colour = v4l2::colorimetry(space, range);
      EXPECT_EQ(v4l2::colour_space(colour), space);
      EXPECT_EQ(v4l2::colour_range(colour), range);
    }
  EXPECT_EQ(v4l2::colour_range({V4L2_COLORSPACE_JPEG}), ColourRange::kFull);
  EXPECT_EQ(v4l2::colour_space({V4L2_COLORSPACE_SMPTE240M}), ColourSpace::kSmpte240m);
  EXPECT_EQ(v4l2::colour_space({V4L2_COLORSPACE_REC709, V4L2_YCBCR_ENC_601}), ColourSpace::kBt601);
}

TEST(V4l2Device, WhatIsNoCameraIsRefused) {
  EXPECT_EQ(error_of([] { v4l2::Device("/dev/video4711"); }).code(), Code::kNotFound);
  EXPECT_EQ(error_of([] { v4l2::Device("/dev/null"); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(error_of([] { v4l2::Device("/dev"); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(error_of([] { v4l2::Device("/proc/version"); }).code(), Code::kInvalidArgument);
}

}  // namespace v4l2_test
