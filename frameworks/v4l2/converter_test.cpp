// SPDX-License-Identifier: Apache-2.0
// Conversion from memory to memory on a driver that the test plays: it stalls, fails and goes away. vivid_test has the kernel's vim2m.
#include <tenon/frameworks/v4l2/testing/fake_driver.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

#include <tenon/core/deferred.hpp>
#include <tenon/frameworks/cpu/shared_memory.hpp>
#include <tenon/frameworks/dmabuf/dmabuf.hpp>
#include <tenon/frameworks/v4l2/v4l2.hpp>

#include "support/error_of.hpp"

namespace converter_test {

using namespace tenon;
using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr const char* kPath = "/dev/fake";
const FrameInfo kSmall{kNv12, 64, 48};

v4l2::WantedFormat wanted(PixelFormat format, std::uint32_t width, std::uint32_t height) {
  v4l2::WantedFormat to;
  to.format = format;
  to.width_px = width;
  to.height_px = height;
  return to;
}

/// A picture of one value, in one memory that V4L2 takes by address, or by descriptor as a stand-in for a dma-buf.
Frame picture(int value, bool by_descriptor = false, std::size_t pitch_alignment = 1, const FrameInfo& info = kSmall) {
  Requirements layout;
  layout.pitch_alignment = pitch_alignment;
  layout.alignment = 4096;
  layout.fd = FdKind::kMemfd;
  layout.size_bytes = Frame::size_bytes_for(info, layout);
  const Ref<Memory> memory = by_descriptor ? dmabuf::context()->allocate(layout) : cpu::allocate_memory(layout);
  Frame frame = Frame::over(info, memory, layout);
  for (const Tensor& plane : frame.planes())
    plane.context()->write(plane, std::vector<std::byte>(plane.size_bytes(), static_cast<std::byte>(value)));
  return frame;
}

int value_of(const Frame& frame, std::size_t plane = 0) {
  std::vector<std::byte> bytes(frame.plane(plane).size_bytes());
  frame.plane(plane).context()->read(frame.plane(plane), bytes);
  EXPECT_EQ(bytes, std::vector<std::byte>(bytes.size(), bytes[0]));
  return std::to_integer<int>(bytes[0]);
}

class V4l2Converter : public ::testing::Test {
 protected:
  V4l2Converter() { driver.converts = true; }
  void TearDown() override {
    v4l2::native::fault = nullptr;
    EXPECT_TRUE(drain_deferred(Clock::now() + 10s));
  }
  static Deadline soon() { return Clock::now() + 5s; }

  v4l2::test::FakeDriver driver;
};

TEST_F(V4l2Converter, ReadsAndWritesPicturesWhereTheyLie) {
  Ledger ledger;
  v4l2::Converter converter(kPath, kSmall, wanted(kYuy2, 128, 96), 4, &ledger);
  EXPECT_EQ(converter.info().format, kYuy2);
  EXPECT_EQ(converter.info().width_px, 128u);
  Frame source = picture(0x11);
  source.set_timestamp_ns(77);
  const Frame first = converter.convert(source, soon());
  EXPECT_EQ(value_of(first), 0xee);
  EXPECT_EQ(first.timestamp_ns(), 77);
  EXPECT_EQ(converter.read_by(), v4l2::Transfer::kUserptr);
  EXPECT_EQ(converter.written_by(), v4l2::Transfer::kMmap);
  EXPECT_EQ(value_of(converter.convert(picture(0x22, true), soon())), 0xdd);
  EXPECT_EQ(converter.read_by(), v4l2::Transfer::kDmabuf);
  Requirements memfd;
  memfd.fd = FdKind::kMemfd;
  converter.use_pool(memfd);
  const Frame pooled = converter.convert(source, soon());
  EXPECT_EQ(converter.written_by(), v4l2::Transfer::kUserptr);
  EXPECT_EQ(pooled.plane(0).memory()->fd_kind(), FdKind::kMemfd);
  EXPECT_EQ(value_of(pooled), 0xee);
  EXPECT_EQ(value_of(first), 0xee) << "pictures of before stay";
  EXPECT_EQ(ledger.total().copied, 0u);
}

TEST_F(V4l2Converter, ACamerasPictureGoesOnInPlace) {
  const Frame source = [&] {
    driver.converts = false;
    v4l2::Options options;
    options.format = wanted(kNv12, 64, 48);
    v4l2::Camera camera("/dev/other", options);
    camera.read();
    return camera.read();
  }();
  driver.converts = true;
  Ledger ledger;
  v4l2::Converter converter(kPath, source.info(), wanted(kNv12, 128, 96), 4, &ledger);
  const Frame result = converter.convert(source, soon());
  EXPECT_EQ(ledger.total().copied, 0u);
  EXPECT_EQ(value_of(result), 0xfe);
  EXPECT_EQ(value_of(result, 1), 0xfe);
}

TEST_F(V4l2Converter, AnotherSizeFormatOrPitchIsAgreedOnAnew) {
  v4l2::Converter converter(kPath, kSmall, wanted(kNv12, 64, 48));
  EXPECT_EQ(value_of(converter.convert(picture(1), soon())), 0xfe);
  EXPECT_EQ(value_of(converter.convert(picture(2, false, 256), soon())), 0xfd);
  EXPECT_EQ(converter.input_layout().plane[0].pitch_bytes, 256u);
  EXPECT_EQ(value_of(converter.convert(picture(3, false, 1, {kYuy2, 128, 96}), soon())), 0xfc);
  EXPECT_EQ(converter.input_layout().info.format, kYuy2);
  EXPECT_THAT(error_of(
                  [&] {
                    converter.convert(picture(4, false, 1, {kYuy2, 32, 32}), soon());
                  },
                  Code::kUnimplemented),
              HasSubstr("nearest"));
  EXPECT_EQ(value_of(converter.convert(picture(5), soon())), 0xfa);
}

TEST_F(V4l2Converter, PicturesThatTheDeviceCannotReadInPlaceAreRefused) {
  v4l2::Converter converter(kPath, kSmall, wanted(kNv12, 64, 48));
  const Frame whole = picture(1, false, 1, {kNv12, 64, 96});
  PlanePlace below[] = {{whole.plane(0).memory(), 64 * 48, 64}, {whole.plane(1).memory(), 64 * 96, 64}};
  const Frame other = picture(1);
  PlanePlace apart[] = {{whole.plane(0).memory(), 0, 64}, {other.plane(0).memory(), 64 * 48, 64}};
  const Frame in_the_middle(kSmall, below), in_two(kSmall, apart);
  EXPECT_THAT(error_of([&] { converter.convert(in_the_middle, soon()); }, Code::kFailedPrecondition),
              HasSubstr("begins at byte 3072"));
  EXPECT_THAT(error_of([&] { converter.convert(in_two, soon()); }, Code::kFailedPrecondition),
              HasSubstr("a memory of its own"));
  driver.has_userptr = false;
  EXPECT_THAT(error_of([&] { converter.convert(other, soon()); }, Code::kUnimplemented), HasSubstr("userptr"));
  EXPECT_EQ(error_of([&] { converter.convert(Frame(), soon()); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(value_of(converter.convert(picture(6, true), soon())), 0xf9) << "it goes on";
}

TEST_F(V4l2Converter, ADeviceThatStallsIsADeadlineAndOneThatIsGoneAnError) {
  v4l2::Converter converter(kPath, kSmall, wanted(kNv12, 64, 48), 2);
  const Frame source = picture(7);
  driver.silent = true;
  const auto begin = Clock::now();
  EXPECT_THAT(error_of([&] { converter.convert(source, begin + 50ms); }, Code::kDeadlineExceeded),
              HasSubstr("stalled"));
  EXPECT_LT(Clock::now() - begin, 5s);
  driver.silent = false;
  std::vector<Frame> out;
  for (int i = 0; i < 2; ++i) out.push_back(converter.convert(source, soon()));
  EXPECT_THAT(error_of([&] { converter.convert(source, Clock::now() + 50ms); }, Code::kDeadlineExceeded),
              HasSubstr("all 2 buffers"));
  EXPECT_EQ(value_of(out[1]), 0xf8);
  out.clear();
  EXPECT_EQ(value_of(converter.convert(source, soon())), 0xf8);
  driver.tamper = [](unsigned long request, void* argument) {
    auto& buffer = *static_cast<v4l2_buffer*>(argument);
    if (request == VIDIOC_DQBUF && buffer.type == V4L2_BUF_TYPE_VIDEO_CAPTURE) buffer.flags |= V4L2_BUF_FLAG_ERROR;
    return 0;
  };
  EXPECT_EQ(error_of([&] { converter.convert(source, soon()); }).code(), Code::kDataLoss);
  driver.tamper = {};
  std::thread unplug([&] {
    std::this_thread::sleep_for(50ms);
    driver.unplugged = true;
  });
  driver.silent = true;
  EXPECT_EQ(error_of([&] { converter.convert(source, soon()); }).code(), Code::kUnavailable);
  unplug.join();
}

TEST_F(V4l2Converter, CamerasAndConvertersAreNotMistakenForEachOther) {
  EXPECT_THAT(error_of([&] { v4l2::Camera camera(kPath); }, Code::kInvalidArgument), HasSubstr("does not capture"));
  driver.converts = false;
  EXPECT_THAT(error_of([&] { v4l2::Converter converter(kPath, kSmall, {}); }, Code::kInvalidArgument),
              HasSubstr("does not turn pictures"));
}

std::atomic<long> countdown{0};
int fail_nth(const char*) {
  long left = countdown.load();
  while (left > 0 && !countdown.compare_exchange_weak(left, left - 1)) {
  }
  return left == 1 ? EIO : 0;
}

TEST_F(V4l2Converter, EveryCallMayFailAndNothingIsLeftBehind) {
  const auto open_descriptors = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  const auto work = [] {
    v4l2::Converter converter(kPath, kSmall, wanted(kNv12, 64, 48), 2);
    const Frame kept = converter.convert(picture(1), soon());
    converter.convert(picture(2, true), soon());
  };
  work();
  const auto before = open_descriptors();
  long n = 1, thrown = 0;
  for (;; ++n) {
    countdown = n;
    v4l2::native::fault = &fail_nth;
    try {
      work();
    } catch (const Error& error) {
      ++thrown;
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

}  // namespace converter_test
