// SPDX-License-Identifier: Apache-2.0
// Times of written pictures: bursts, jitter and gaps, in containers with times and in those that count pictures.
#include <tenon/frameworks/ffmpeg/writer.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <tenon/core/context.hpp>
#include <tenon/frameworks/ffmpeg/testing/clip.hpp>
#include <tenon/frameworks/ffmpeg/video.hpp>

namespace writer_times_test {

using tenon::Frame;
using tenon_test::Folder;
namespace ff = tenon::ffmpeg;

/// A frame of one brightness, which tells it apart.
Frame numbered(int number, std::int64_t time_ns) {
  Frame frame = Frame::allocate({tenon::kI420, 64, 64, tenon::ColourSpace::kBt601, tenon::ColourRange::kLimited});
  for (const tenon::Tensor& plane : frame.planes())
    plane.context()->write(plane, std::vector(plane.size_bytes(), std::byte{128}));
  const tenon::Tensor& luma = frame.plane(0);
  luma.context()->write(luma, std::vector(luma.size_bytes(), static_cast<std::byte>(40 + 8 * number)));
  frame.set_timestamp_ns(time_ns);
  return frame;
}

/// The numbers of the pictures in a file, with their times in ms by FFmpeg's frame rate or timestamps.
std::vector<std::pair<int, double>> numbers_in(const std::string& path) {
  std::vector<std::pair<int, double>> found;
  ff::Video video = ff::open(path);
  while (const auto frame = video.read()) {
    const tenon::Tensor& luma = frame->plane(0);
    const int value = static_cast<const std::uint8_t*>(luma.data())[24 * luma.byte_strides()[0] + 32];
    EXPECT_NE(frame->timestamp_ns(), tenon::kNoTimestamp) << path;
    found.emplace_back((value - 40 + 4) / 8, static_cast<double>(frame->timestamp_ns()) / 1e6);
  }
  return found;
}

TEST(FfmpegWriter, KeepsTheTimesOfTheFrames) {
  Folder folder;
  const std::string path = folder.file("out.mkv");
  ff::Writer writer(path, {tenon::kI420, 64, 64});
  const std::int64_t times[] = {5'000'000'000, 5'010'000'000, 5'200'000'000, 5'200'000'000, 5'900'000'000};
  for (const std::int64_t time : times) {
    writer.write(numbered(0, time));
  }
  writer.finish();
  std::vector<std::int64_t> read;
  ff::Video video = ff::open(path);
  for (const Frame& frame : video) read.push_back(frame.timestamp_ns());
  ASSERT_EQ(read.size(), 5u);
  EXPECT_NEAR(static_cast<double>(read[1] - read[0]), 1e7, 1.1e6);
  EXPECT_NEAR(static_cast<double>(read[4] - read[0]), 9e8, 1.1e6);
}

TEST(FfmpegWriter, KeepsBurstsOfVariableRateWhereTheyWere) {
  ff::silence_log();
  Folder folder;
  const std::int64_t times[] = {0, 40, 50, 60, 70, 80, 90, 100, 110, 120, 400, 440, 900};
  for (const auto& [file, codec] :
       {std::pair{"o.mp4", "libx264"}, std::pair{"o.mp4", "libx265"}, std::pair{"o.mkv", "libvpx-vp9"},
        std::pair{"o.mp4", "mpeg4"}, std::pair{"o.mkv", "mjpeg"}, std::pair{"o.mkv", "ffv1"},
        std::pair{"o.mkv", "libsvtav1"}, std::pair{"o.mkv", "libaom-av1"}}) {
    if (!avcodec_find_encoder_by_name(codec)) continue;
    ff::WriterOptions options;
    options.codec = codec;
    if (std::string(codec) == "libaom-av1") options.encoder["cpu-used"] = "8";
    ff::Writer writer(folder.file(file), {tenon::kI420, 64, 64}, options);
    for (const std::int64_t time : times) {
      writer.write(numbered(static_cast<int>(time / 50), time * 1'000'000));
    }
    writer.finish();
    std::vector<std::int64_t> read;
    ff::Video video = ff::open(folder.file(file));
    while (const auto frame = video.read()) read.push_back(frame->timestamp_ns());
    ASSERT_EQ(read.size(), std::size(times)) << codec;
    for (std::size_t i = 0; i < std::size(times); ++i)
      EXPECT_NEAR(static_cast<double>(read[i] - read[0]) / 1e6, static_cast<double>(times[i]), 1.1)
          << codec << " " << i;
  }
}

TEST(FfmpegWriter, ShowsBurstsInTimeWherePicturesAreCounted) {
  ff::silence_log();
  Folder folder;
  const std::vector<int> times{0, 40, 50, 60, 70, 80, 90, 100, 110, 120, 400, 440, 440, 440, 440, 900};
  for (const auto& [file, codec, fills] :
       {std::tuple{"o.avi", "mpeg4", false}, std::tuple{"o.avi", "rawvideo", false},
        std::tuple{"o.mxf", "mpeg2video", true}, std::tuple{"o.mpg", "mpeg2video", false},
        std::tuple{"o.ts", "mpeg2video", false}, std::tuple{"o.y4m", "", true},
        std::tuple{"o.m2v", "mpeg2video", true}}) {
    SCOPED_TRACE(std::string(file) + " by " + codec);
    ff::WriterOptions options;
    options.codec = codec;
    options.quality = 12;
    ff::Writer writer(folder.file(file), numbered(0, 0).info(), options);
    for (std::size_t i = 0; i < times.size(); ++i)
      writer.write(numbered(static_cast<int>(i), 7'000'000'000 + times[i] * 1'000'000ll));
    writer.finish();
    const auto read = numbers_in(folder.file(file));
    ASSERT_FALSE(read.empty());
    std::vector<int> kept;
    for (std::size_t i = 0; i < read.size(); ++i) {
      const auto [number, time] = read[i];
      if (!kept.empty() && kept.back() == number) continue;
      kept.push_back(number);
      ASSERT_TRUE(number >= 0 && number < 16) << number << " at " << i << " of " << read.size();
      EXPECT_NEAR(time - read[0].second, times.at(static_cast<std::size_t>(number)), 45) << number;
    }
    EXPECT_EQ(writer.frames_written(), kept.size());
    EXPECT_EQ(kept.front(), 0);
    EXPECT_EQ(kept.back(), 15);
    EXPECT_GE(kept.size(), 7u);
    EXPECT_LT(kept.size(), times.size()) << "there is no room for all";
    if (fills) {
      EXPECT_NEAR(static_cast<double>(read.size()), 900 / 40 + 1, 1) << "the pictures before fill the gaps";
    }
  }
}

TEST(FfmpegWriter, FillsLongGapsAndClosesThoseOfHours) {
  ff::silence_log();
  Folder folder;
  for (const auto& [file, codec, seconds, expected] :
       {std::tuple{"o.avi", "mjpeg", 3000, 3000}, std::tuple{"o.avi", "mjpeg", 7200, 0},
        std::tuple{"o.y4m", "", 7200, 0}, std::tuple{"o.mkv", "mpeg2video", 7200, 7200}}) {
    ff::WriterOptions options;
    options.codec = codec;
    ff::Writer writer(folder.file(file), numbered(0, 0).info(), options);
    writer.write(numbered(8, 0));
    writer.write(numbered(9, 40'000'000));
    writer.write(numbered(10, seconds * 1'000'000'000ll));
    writer.finish();
    const auto read = numbers_in(folder.file(file));
    ASSERT_GE(read.size(), 3u) << file;
    EXPECT_NEAR((read.back().second - read.front().second) / 1000, expected, 0.1) << file << " " << seconds;
  }
}

TEST(FfmpegWriter, JitterDropsNoPictures) {
  ff::silence_log();
  Folder folder;
  for (const char* file : {"o.avi", "o.mxf"}) {
    ff::WriterOptions options;
    options.codec = "mpeg2video";
    ff::Writer writer(folder.file(file), numbered(0, 0).info(), options);
    for (int i = 0; i < 50; ++i) writer.write(numbered(i % 20, (i * 40 + (i * 7919) % 37 - 18) * 1'000'000ll));
    writer.finish();
    EXPECT_EQ(writer.frames_written(), 50u);
    EXPECT_NEAR(static_cast<double>(numbers_in(folder.file(file)).size()), 50, 1) << file;
  }
}

TEST(FfmpegWriter, PicturesKeepTheirPaceWhereAnEncoderHasOtherRates) {
  ff::silence_log();
  Folder folder;
  for (const bool has_times : {true, false}) {  // MPEG-2 has 23.976 and more.
    ff::WriterOptions options;
    options.codec = "mpeg2video";
    options.fps = 10;
    ff::Writer writer(folder.file("o.mxf"), numbered(0, 0).info(), options);
    for (int i = 0; i < 20; ++i) writer.write(numbered(i, has_times ? i * 100'000'000ll : tenon::kNoTimestamp));
    writer.finish();
    const auto read = numbers_in(folder.file("o.mxf"));
    EXPECT_NEAR(static_cast<double>(read.size()), 1.9 * 24000 / 1001 + 1, 1.5);
    EXPECT_EQ(read.back().first, 19);
  }
}

}  // namespace writer_times_test
