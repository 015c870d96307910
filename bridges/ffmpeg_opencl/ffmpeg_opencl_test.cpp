// SPDX-License-Identifier: Apache-2.0
// FFmpeg's OpenCL frames and images, both ways; FFmpeg's own transfers are the oracle. I420: PoCL has no images of two channels.
#include <gtest/gtest.h>

#include <tenon/core/deferred.hpp>
#include <tenon/core/host.hpp>

#include <tenon/bridges/ffmpeg_opencl/ffmpeg_opencl.hpp>
#include <tenon/frameworks/ffmpeg/ffmpeg.hpp>
#include <tenon/frameworks/opencl/opencl.hpp>

namespace tenon {
namespace ffmpeg_opencl_test {

namespace ff = tenon::ffmpeg;

class FfmpegOpencl : public ::testing::Test {
 protected:
  void SetUp() override {
    ff::silence_log();
    try {
      context = opencl::make_context();
      opencl::images(context);
    } catch (const Error& error) {
      if (error.code() != Code::kUnavailable) throw;
      GTEST_SKIP() << error.what();
    }
  }
  void TearDown() override { EXPECT_TRUE(drain_deferred(default_deadline())); }
  Context context;
};

Frame painted(const FrameInfo& info, unsigned seed) {
  Frame frame = Frame::allocate(info);
  for (std::size_t p = 0; p < frame.plane_count(); ++p) {
    std::vector<std::byte> bytes(frame.plane(p).size_bytes());
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 251 + seed + p);
    frame.plane(p).context()->write(frame.plane(p), bytes);
  }
  return frame;
}
std::vector<std::byte> read(const Tensor& plane) {
  std::vector<std::byte> bytes(plane.size_bytes());
  plane.context()->read(plane, bytes);
  return bytes;
}
void expect_same(const Frame& a, const Frame& b) {
  ASSERT_EQ(a.plane_count(), b.plane_count());
  for (std::size_t p = 0; p < a.plane_count(); ++p) EXPECT_EQ(read(a.plane(p)), read(b.plane(p))) << "plane " << p;
}
/// Also into a frame that FFmpeg refers to.
void copy_into(const Frame& from, const Frame& to) {
  for (std::size_t p = 0; p < from.plane_count(); ++p) {
    const Tensor target = to.plane(p).with_lease({});
    target.context()->write(target, read(from.plane(p)));
  }
}
Frame downloaded(const AVFrame* frame, AVPixelFormat format) {
  ff::FramePtr host(av_frame_alloc());
  host->format = format;
  EXPECT_GE(av_hwframe_transfer_data(host.get(), frame, 0), 0);
  return ff::wrap(host.get());
}
template <typename Call>
Code code_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  return Code::kOk;
}

TEST_F(FfmpegOpencl, FramesOfFfmpegsPoolAreImagesInPlace) {
  const FrameInfo info{kI420, 64, 48};
  const ffmpeg_opencl::HardwareFrames frames(context, info);
  ff::FramePtr pooled(av_frame_alloc());
  ASSERT_GE(av_hwframe_get_buffer(frames.buffer(), pooled.get(), 0), 0);
  const Frame first = painted(info, 1), second = painted(info, 90);
  ASSERT_GE(av_hwframe_transfer_data(pooled.get(), ff::av_frame(first).get(), 0), 0);
  Frame seen = ffmpeg_opencl::wrap(context, pooled.get());
  EXPECT_EQ(seen.plane(0).kind(), opencl::images(context)->kind());
  expect_same(seen, first);
  EXPECT_FALSE(seen.plane(0).is_writable()) << "FFmpeg refers to it";
  copy_into(second, seen);
  expect_same(downloaded(pooled.get(), AV_PIX_FMT_YUV420P), second);
  pooled.reset();
  expect_same(seen, second);
}

TEST_F(FfmpegOpencl, ImagesAreFramesOfFfmpegInPlace) {
  const FrameInfo info{kI420, 64, 48};
  const Frame first = painted(info, 2), second = painted(info, 91);
  Frame images = opencl::allocate_image_frame(opencl::images(context), info);
  copy_into(first, images);
  images.set_timestamp_ns(9);
  const ffmpeg_opencl::HardwareFrames frames(context, info);
  const ff::FramePtr given = frames.av_frame(images);
  EXPECT_EQ(given->pts, 9);
  expect_same(downloaded(given.get(), AV_PIX_FMT_YUV420P), first);
  ASSERT_GE(av_hwframe_transfer_data(given.get(), ff::av_frame(second).get(), 0), 0);
  expect_same(images, second);
  const Frame back = ffmpeg_opencl::wrap(context, given.get());
  EXPECT_EQ(opencl::image(back.plane(0)), opencl::image(images.plane(0)));
  EXPECT_EQ(back.timestamp_ns(), 9);
  images = {};
  expect_same(back, second);
}

TEST_F(FfmpegOpencl, DevicesAreMadeOfEachOther) {
  const ff::HardwareDevice device = ffmpeg_opencl::device(context);
  EXPECT_EQ(device.kind(), "opencl");
  const Context back = ffmpeg_opencl::context(device);
  EXPECT_EQ(opencl::handle(back), opencl::handle(context));
  EXPECT_EQ(code_of([] { ffmpeg_opencl::device(host_context()); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([] { ffmpeg_opencl::context({}); }), Code::kInvalidArgument);
}

TEST_F(FfmpegOpencl, RefusesWhatIsNone) {
  const FrameInfo info{kI420, 64, 48};
  const ffmpeg_opencl::HardwareFrames frames(context, info);
  EXPECT_EQ(code_of([&] { ffmpeg_opencl::wrap(context, nullptr); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { ffmpeg_opencl::wrap(context, ff::av_frame(painted(info, 1)).get()); }),
            Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { frames.av_frame(painted(info, 1)); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { frames.av_frame(Frame()); }), Code::kInvalidArgument);
  const Context other = opencl::make_context();
  const Frame foreign = opencl::allocate_image_frame(opencl::images(other), info);
  EXPECT_EQ(code_of([&] { frames.av_frame(foreign); }), Code::kInvalidArgument) << "of another cl_context";
  const Frame small = opencl::allocate_image_frame(opencl::images(context), {kI420, 32, 32});
  EXPECT_EQ(code_of([&] { frames.av_frame(small); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] {
              ffmpeg_opencl::wrap(other,
                                  frames.av_frame(opencl::allocate_image_frame(opencl::images(context), info)).get());
            }),
            Code::kInvalidArgument);
}

}  // namespace ffmpeg_opencl_test
}  // namespace tenon
