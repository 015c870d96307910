// SPDX-License-Identifier: Apache-2.0
#include <tenon/frameworks/ffmpeg/video.hpp>

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tenon/core/carried_formats.hpp>
#include <tenon/core/testing/bytes_of.hpp>
#include <tenon/frameworks/ffmpeg/testing/clip.hpp>

namespace video_test {

using tenon::Error;
using tenon::Frame;
using tenon_test::bytes_of;
using tenon_test::ClipSpec;
using tenon_test::Folder;
namespace ff = tenon::ffmpeg;

const tenon::LedgerEntry booked(const tenon::Ledger& ledger, std::string_view name) {
  for (const tenon::LedgerEntry& entry : ledger.snapshot()) {
    if (entry.name == name) return entry;
  }
  return {};
}

TEST(FfmpegVideo, SaysHowItsPicturesAreToBeTurned) {
  Folder folder;
  tenon_test::ClipSpec spec;
  spec.width = 64;
  spec.height = 48;
  spec.frames = 5;
  tenon_test::make_clip(folder.file("stored.mp4"), spec);
  for (const int clockwise : {0, 90, 180, 270}) {
    const std::string path = folder.file("turned" + std::to_string(clockwise) + ".mp4");
    tenon_test::remux_turned(folder.file("stored.mp4"), path, clockwise);
    const auto decoded = tenon_test::decode_by_ffmpeg(path);
    for (const bool pool : {false, true}) {
      ff::Video video = ff::open(path);
      if (pool) video.use_pool();
      EXPECT_EQ(degrees(video.info().rotation), static_cast<unsigned>(clockwise)) << "before the first picture";
      std::size_t frames = 0;
      for (const Frame& frame : video) {
        EXPECT_EQ(degrees(frame.info().rotation), static_cast<unsigned>(clockwise));
        EXPECT_EQ(frame.info().width_px, 64u);
        EXPECT_EQ(frame.info().upright_width_px(), clockwise % 180 ? 48u : 64u);
        EXPECT_EQ(bytes_of(frame), decoded[frames++]) << "the pixels lie as they are stored";
      }
      EXPECT_EQ(frames, 5u);
      EXPECT_EQ(video.size_changes(), 0u);
    }
  }
}

/// Frame threads, slice threads, with pool or without.
struct DecodeCase {
  const char* name;
  bool frame_threads;
  int threads;
  bool pool;
};
class DecodeTest : public testing::TestWithParam<DecodeCase> {};

TEST_P(DecodeTest, IsBitExactWithFfmpegsOwn) {
  Folder folder;
  const std::string clip = folder.file("clip.mp4");
  ClipSpec spec;
  spec.width = 322;  // Not a multiple of 16: the stream is cropped.
  tenon_test::make_clip(clip, spec, "g=12:slices=2");
  const auto expected = tenon_test::decode_by_ffmpeg(clip);
  ASSERT_EQ(expected.size(), 40u);
  tenon::Ledger ledger;
  ff::Options options;
  options.frame_threads = GetParam().frame_threads;
  options.threads = GetParam().threads;
  options.ledger = &ledger;
  ff::Video video = ff::open(clip, options);
  if (GetParam().pool) video.use_pool();
  std::size_t i = 0;
  for (const Frame& frame : video) {
    ASSERT_LT(i, expected.size());
    EXPECT_EQ(bytes_of(frame), expected[i]) << "frame " << i;
    EXPECT_EQ(frame.timestamp_ns(), static_cast<std::int64_t>(i) * 40'000'000);
    EXPECT_EQ(frame.plane(0).kind() == tenon::kCpuMemory, GetParam().pool);
    ++i;
  }
  EXPECT_EQ(i, expected.size());
  EXPECT_EQ(ledger.total().copied + ledger.total().converted, 0u);
  EXPECT_FALSE(video.read()) << "the end stays the end";
}
INSTANTIATE_TEST_SUITE_P(All, DecodeTest,
                         testing::Values(DecodeCase{"OneThread", false, 1, false},
                                         DecodeCase{"OneThreadPool", false, 1, true},
                                         DecodeCase{"SlicesPool", false, 2, true}, DecodeCase{"Frames", true, 4, false},
                                         DecodeCase{"FramesPool", true, 4, true}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(FfmpegVideo, SaysWhatItIs) {
  Folder folder;
  const std::string clip = folder.file("clip.mp4");
  ClipSpec spec;
  spec.space = AVCOL_SPC_BT709;
  spec.range = AVCOL_RANGE_MPEG;
  tenon_test::make_clip(clip, spec);
  ff::Video video = ff::open(clip);
  EXPECT_EQ(video.info(),
            (tenon::FrameInfo{tenon::kI420, 320, 180, tenon::ColourSpace::kBt709, tenon::ColourRange::kLimited}));
  EXPECT_DOUBLE_EQ(video.fps(), 25);
  EXPECT_EQ(video.frame_count(), 40u);
  EXPECT_EQ(video.duration(), std::chrono::milliseconds(1600));
  EXPECT_EQ(video.codec(), "h264");
  EXPECT_FALSE(video.live());
  EXPECT_EQ(video.path(), "h264 -> ffmpeg");
  const auto frame = video.read();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->info(), video.info());
}

TEST(FfmpegVideo, FramesOutliveTheVideo) {
  Folder folder;
  const std::string clip = folder.file("clip.mp4");
  tenon_test::make_clip(clip);
  const auto expected = tenon_test::decode_by_ffmpeg(clip);
  std::vector<Frame> frames;
  {
    ff::Video video = ff::open(clip);
    video.use_pool();
    for (const Frame& frame : video) frames.push_back(frame);
  }
  ASSERT_EQ(frames.size(), expected.size());
  for (std::size_t i = 0; i < frames.size(); ++i) EXPECT_EQ(bytes_of(frames[i]), expected[i]);
}

TEST(FfmpegVideo, AFileIsReadWholeHoweverShortTheDeadlines) {
  Folder folder;
  const std::string clip = folder.file("clip.mp4");
  tenon_test::ClipSpec spec;
  tenon_test::make_clip(clip, spec);
  ff::Video video = ff::open(clip);
  int frames = 0;
  // On a busy machine a step of 200 ms may pass before the first byte has come.
  while (video.read(tenon::Clock::now() - std::chrono::seconds(1))) ++frames;
  EXPECT_EQ(frames, spec.frames);
}

TEST(FfmpegVideo, ADecoderWithoutDirectRenderingCopiesAndSaysSo) {
  Folder folder;
  const std::string clip = folder.file("raw.mkv");
  ClipSpec spec;
  spec.codec = "rawvideo";
  spec.frames = 5;
  tenon_test::make_clip(clip, spec);
  const auto expected = tenon_test::decode_by_ffmpeg(clip);
  tenon::Ledger ledger;
  ff::Options options;
  options.ledger = &ledger;
  {
    ff::Video video = ff::open(clip, options);
    std::size_t i = 0;
    for (const Frame& frame : video) EXPECT_EQ(bytes_of(frame), expected[i++]);
    EXPECT_EQ(ledger.total().copied, 0u) << "without a pool the packet's bytes are the frame's";
  }
  ff::Video video = ff::open(clip, options);
  video.use_pool();
  EXPECT_THAT(video.path(), testing::HasSubstr("copy"));
  std::size_t i = 0;
  for (const Frame& frame : video) EXPECT_EQ(bytes_of(frame), expected[i++]);
  EXPECT_EQ(booked(ledger, "ffmpeg.decoder-copy").copied, 5u * 320 * 180 * 3 / 2);
  options.policy = tenon::ZeroCopy::kRequire;
  ff::Video strict = ff::open(clip, options);
  EXPECT_THROW(strict.use_pool(), Error);
}

TEST(FfmpegVideo, PicturesOfMoreBitsAreReadInPlace) {
  Folder folder;
  const std::string clip = folder.file("ten.mkv");
  ClipSpec spec;
  spec.codec = "ffv1";
  spec.format = AV_PIX_FMT_YUV422P10LE;
  spec.frames = 2;
  tenon_test::make_clip(clip, spec);
  tenon::Ledger ledger;
  ff::Options options;
  options.ledger = &ledger;
  options.policy = tenon::ZeroCopy::kRequire;
  ff::Video video = ff::open(clip, options);
  for (const Frame& frame : video) EXPECT_EQ(frame.info().format, tenon::kI422p10);
  EXPECT_EQ(ledger.total().converted + ledger.total().copied, 0u);
}

TEST(FfmpegVideo, AFormatThatIsNotReadIsConvertedAndBooked) {
  Folder folder;
  const std::string clip = folder.file("words.nut");
  ClipSpec spec;
  spec.codec = "rawvideo";
  spec.format = AV_PIX_FMT_RGB565LE;
  spec.frames = 3;
  tenon_test::make_clip(clip, spec);
  for (const bool pool : {false, true}) {
    tenon::Ledger ledger;
    ff::Options options;
    options.ledger = &ledger;
    ff::Video video = ff::open(clip, options);
    if (pool) video.use_pool();
    EXPECT_THAT(video.path(), testing::HasSubstr("swscale"));
    std::size_t count = 0;
    for (const Frame& frame : video) {
      EXPECT_EQ(frame.info(), video.info());
      EXPECT_EQ(frame.plane(0).kind() == tenon::kCpuMemory, pool);
      ++count;
    }
    EXPECT_EQ(count, 3u);
    EXPECT_EQ(booked(ledger, "ffmpeg.swscale").converted, 3u * 320 * 180 * 2);
    EXPECT_EQ(ledger.total().copied, 0u);
  }
  ff::Options strict;
  strict.policy = tenon::ZeroCopy::kRequire;
  try {
    ff::open(clip, strict);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                testing::AllOf(testing::HasSubstr("rgb565le"), testing::HasSubstr("zero copy is required")));
  }
}

TEST(FfmpegVideo, AChangeOfSizeGetsANewPoolAndIsFlagged) {
  Folder folder;
  // Two elementary streams in sequence, like a broadcaster's switch to another programme.
  ClipSpec small, large;
  small.frames = large.frames = 20;
  large.width = 480;
  large.height = 270;
  tenon_test::make_clip(folder.file("a.h264"), small);
  tenon_test::make_clip(folder.file("b.h264"), large);
  const std::string both = folder.file("both.h264");
  {
    std::ofstream out(both, std::ios::binary);
    for (const char* part : {"a.h264", "b.h264"}) out << std::ifstream(folder.file(part), std::ios::binary).rdbuf();
  }
  const auto expected = tenon_test::decode_by_ffmpeg(both);
  ASSERT_EQ(expected.size(), 40u);
  for (const int threads : {1, 4}) {
    ff::Options options;
    options.threads = threads;
    ff::Video video = ff::open(both, options);
    video.use_pool();
    std::size_t i = 0, flagged = 0;
    for (const Frame& frame : video) {
      EXPECT_EQ(bytes_of(frame), expected[i]) << i;
      EXPECT_EQ(frame.info().width_px, i < 20 ? 320u : 480u);
      if (frame.metadata().count("size_changed")) {
        ++flagged;
        EXPECT_EQ(i, 20u);
      }
      ++i;
    }
    EXPECT_EQ(i, 40u);
    EXPECT_EQ(flagged, 1u);
    EXPECT_EQ(video.size_changes(), 1u);
  }
}

TEST(FfmpegVideo, DecodesWhatOtherCodecsGive) {
  Folder folder;
  const struct {
    const char* codec;
    AVPixelFormat format;
    const char* file;
    tenon::PixelFormat expected;
  } cases[] = {{"mpeg4", AV_PIX_FMT_YUV420P, "a.mp4", tenon::kI420},
               {"mjpeg", AV_PIX_FMT_YUVJ422P, "b.mkv", tenon::kI422},
               {"ffv1", AV_PIX_FMT_GRAY8, "c.mkv", tenon::kGray8},
               {"ffv1", AV_PIX_FMT_GRAY16LE, "d.mkv", tenon::kGray16},
               {"png", AV_PIX_FMT_RGB24, "e.mkv", tenon::kRgb24},
               {"png", AV_PIX_FMT_RGBA, "f.mkv", tenon::kRgba},
               {"libx264rgb", AV_PIX_FMT_BGR24, "g.mkv", tenon::kGbrPlanar},
               {"libx264", AV_PIX_FMT_YUV444P, "h.mkv", tenon::kI444},
               // Its decoder writes four bytes past the last row of each plane.
               {"cfhd", AV_PIX_FMT_YUV422P10LE, "i.mov", tenon::kI422p10},
               // Its demuxer calls the end of the file an error of reading.
               {"roqvideo", AV_PIX_FMT_YUVJ444P, "j.roq", tenon::kI444}};
  for (const auto& c : cases) {
    SCOPED_TRACE(std::string(c.codec) + " " + c.file);
    ClipSpec spec;
    spec.codec = c.codec;
    spec.format = c.format;
    spec.frames = 4;
    spec.width = 128;
    spec.height = 96;
    tenon_test::make_clip(folder.file(c.file), spec);
    const auto expected = tenon_test::decode_by_ffmpeg(folder.file(c.file));
    ff::Video video = ff::open(folder.file(c.file));
    video.use_pool();
    EXPECT_EQ(video.info().format, c.expected);
    std::size_t i = 0;
    for (const Frame& frame : video) EXPECT_EQ(bytes_of(frame), expected[i++]);
    EXPECT_EQ(i, 4u);
  }
}

}  // namespace video_test
