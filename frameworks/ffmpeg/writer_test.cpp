// SPDX-License-Identifier: Apache-2.0
#include <tenon/frameworks/ffmpeg/writer.hpp>

#include <cmath>
#include <cstring>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tenon/core/host.hpp>
#include <tenon/frameworks/ffmpeg/testing/clip.hpp>
#include <tenon/frameworks/ffmpeg/video.hpp>

namespace writer_test {

using tenon::Code;
using tenon::Error;
using tenon::Frame;
using tenon::FrameInfo;
using tenon_test::Folder;
namespace ff = tenon::ffmpeg;

Frame gradient(tenon::PixelFormat format, std::uint32_t width, std::uint32_t height, int index) {
  Frame frame = Frame::allocate({format, width, height, tenon::ColourSpace::kBt601, tenon::ColourRange::kLimited});
  for (const tenon::Tensor& plane : frame.planes()) {
    auto* data = static_cast<std::uint8_t*>(plane.data());
    const std::size_t row = plane.size_bytes() / plane.shape()[0];
    for (std::size_t y = 0; y < plane.shape()[0]; ++y) {
      for (std::size_t x = 0; x < row; ++x)
        data[y * static_cast<std::size_t>(plane.byte_strides()[0]) + x] =
            static_cast<std::uint8_t>(60 + (x + y) / 4 + index);
    }
  }
  return frame;
}

template <typename Function>
Code code_of(Function function, const std::string& named = "") {
  try {
    function();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(named));
    return error.code();
  }
  return Code::kOk;
}

std::size_t files_in(const Folder& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder.path()), {}));
}

/// Samples of component `c`, row by row.
std::vector<std::uint16_t> samples(const AVFrame& picture, int c) {
  const auto* d = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(picture.format));
  const bool chroma = (d->flags & AV_PIX_FMT_FLAG_RGB) == 0 && (c == 1 || c == 2);
  const int width = chroma ? -((-picture.width) >> d->log2_chroma_w) : picture.width;
  const int height = chroma ? -((-picture.height) >> d->log2_chroma_h) : picture.height;
  std::vector<std::uint16_t> values(static_cast<std::size_t>(width * height));
  for (int y = 0; y < height; ++y)
    av_read_image_line(&values[static_cast<std::size_t>(y * width)], const_cast<const std::uint8_t**>(picture.data),
                       picture.linesize, d, 0, y, c, width, 0);
  return values;
}

TEST(FfmpegConverter, BooksAsCopiedWhatChangesNoValue) {
  int pairs = 0;
  for (const ff::FormatMapping& a : ff::detail::kMappings) {
    for (const ff::FormatMapping& b : ff::detail::kMappings) {
      if (a.av == b.av || a.full_range || b.full_range || !ff::detail::is_other_layout(a.av, b.av)) continue;
      if (!sws_isSupportedInput(a.av) || !sws_isSupportedOutput(b.av)) continue;
      SCOPED_TRACE(ff::to_string(a.av) + " to " + ff::to_string(b.av));
      ff::FramePtr in = ff::detail::new_frame(), out = ff::detail::new_frame();
      in->format = a.av, out->format = b.av;
      for (AVFrame* frame : {in.get(), out.get()}) {
        frame->width = 64, frame->height = 48;
        ASSERT_EQ(av_frame_get_buffer(frame, 0), 0);
      }
      std::uint32_t state = 1;
      for (int p = 0; p < 4 && in->buf[p]; ++p)
        for (std::size_t i = 0; i < in->buf[p]->size; ++i)
          in->buf[p]->data[i] = static_cast<std::uint8_t>((state = state * 1664525u + 1013904223u) >> 24);
      tenon::Ledger ledger;
      ff::detail::Converter().convert(*in, *out, ledger);
      EXPECT_EQ(ledger.total().converted, 0u);
      EXPECT_EQ(ledger.total().copied,
                static_cast<std::uint64_t>(av_image_get_buffer_size(a.av, in->width, in->height, 1)));
      for (int c = 0; c < av_pix_fmt_desc_get(a.av)->nb_components; ++c) EXPECT_EQ(samples(*out, c), samples(*in, c));
      ++pairs;
    }
  }
  EXPECT_GE(pairs, 4);
}

TEST(FfmpegWriter, BooksAnotherLayoutAsCopied) {
  Folder folder;
  tenon::Ledger ledger;
  ff::WriterOptions options;
  options.codec = "mpeg4";
  options.ledger = &ledger;
  const Frame frame = gradient(tenon::kNv12, 64, 48, 1);
  ff::Writer writer(folder.file("layout.mp4"), frame.info(), options);
  writer.write(frame);
  writer.finish();
  EXPECT_EQ(ledger.total().copied, 64u * 48 * 3 / 2);
  EXPECT_EQ(ledger.total().converted, 0u);
}

TEST(FfmpegWriter, SaysWhatRangeConvertedPicturesHave) {
  Folder folder;
  const std::string path = folder.file("range.mp4");
  for (const auto& format : {tenon::kI420, tenon::kNv21, tenon::kRgb24}) {
    const tenon::FrameInfo info{format, 64, 48, tenon::ColourSpace::kBt601, tenon::ColourRange::kFull};
    Frame frame = Frame::allocate(info);
    for (const tenon::Tensor& plane : frame.planes()) std::memset(plane.data(), 128, plane.size_bytes());
    std::memset(frame.plane(0).data(), 250, frame.plane(0).size_bytes());
    ff::Writer writer(path, info);
    writer.write(frame);
    writer.finish();
    const auto read = ff::open(path).read();
    ASSERT_TRUE(read);
    const bool is_full = format != tenon::kRgb24;
    EXPECT_EQ(read->info().colour_range == tenon::ColourRange::kFull, is_full) << tenon::to_string(format);
    EXPECT_NEAR(read->plane(0).data<std::uint8_t>()[32], is_full ? 250 : 16 + 250 * 219 / 255, 3)
        << tenon::to_string(format);
  }
}

TEST(FfmpegWriter, SaysThatItsPicturesAreToBeTurned) {
  Folder folder;
  for (const tenon::Rotation rotation :
       {tenon::Rotation::kNone, tenon::Rotation::k90, tenon::Rotation::k180, tenon::Rotation::k270,
        tenon::Rotation::kMirrored, tenon::Rotation::kMirrored90, tenon::Rotation::kMirrored270}) {
    Frame frame = gradient(tenon::kI420, 64, 48, 1);
    FrameInfo info = frame.info();
    info.rotation = rotation;
    frame = Frame(info, std::vector<tenon::Tensor>(frame.planes().begin(), frame.planes().end()));
    const std::string path = folder.file("turned.mp4");
    ff::Writer writer(path, info);
    for (int i = 0; i < 3; ++i) writer.write(frame);
    writer.finish();
    ff::Video video = ff::open(path);
    EXPECT_EQ(video.info().rotation, rotation);
    const auto read = video.read();
    ASSERT_TRUE(read);
    EXPECT_EQ(read->info().rotation, rotation);
    EXPECT_EQ(read->info().width_px, 64u);
    if (rotation == tenon::Rotation::kNone) continue;
    EXPECT_EQ(code_of([&] { ff::Writer(folder.file("turned.avi"), info); },
                      "pictures are to be " + tenon::to_string(rotation)),
              Code::kUnimplemented);
    ff::Writer upright(folder.file("upright.mp4"), gradient(tenon::kI420, 64, 48, 1).info());
    EXPECT_EQ(code_of([&] { upright.write(frame); }, "that is to be " + tenon::to_string(rotation)),
              Code::kInvalidArgument);
  }
}

TEST(FfmpegWriter, StreamsAreOfH264WhereTheirFormatDoesNotSayWhatItTakes) {
  Folder folder;
  const tenon::FrameInfo info{tenon::kI420, 160, 96, tenon::ColourSpace::kBt601, tenon::ColourRange::kLimited};
  EXPECT_EQ(ff::Writer(folder.file("stream.ts"), info).codec(), "libx264");
  EXPECT_EQ(ff::Writer(folder.file("disc.vob"), info).codec(), "mpeg2video");
}

TEST(FfmpegWriter, WritesWhatCanBeReadBack) {
  Folder folder;
  for (const auto& [format, codec] :
       {std::pair{tenon::kI420, ""}, std::pair{tenon::kNv12, ""}, std::pair{tenon::kI420, "mpeg4"}}) {
    const std::string path = folder.file("out.mp4");
    tenon::Ledger ledger;
    ff::WriterOptions options;
    options.fps = 30;
    options.codec = codec;
    options.ledger = &ledger;
    ff::Writer writer(path, {format, 160, 96, tenon::ColourSpace::kBt601, tenon::ColourRange::kLimited}, options);
    EXPECT_EQ(writer.codec(), *codec ? "mpeg4" : "libx264");
    for (int i = 0; i < 30; ++i) writer.write(gradient(format, 160, 96, i));
    writer.finish();
    EXPECT_EQ(ledger.total().converted + ledger.total().copied, 0u) << "the encoder reads the frame's own bytes";
    EXPECT_EQ(files_in(folder), 1u) << "no temporary is left";

    ff::Video video = ff::open(path);
    EXPECT_NEAR(video.fps(), 30, 0.01);
    std::size_t count = 0;
    for (const Frame& frame : video) {
      const auto expected = gradient(format, 160, 96, static_cast<int>(count));
      const double got = frame.plane(0).data<std::uint8_t>()[40 * frame.plane(0).byte_strides()[0] + 80];
      EXPECT_NEAR(got, expected.plane(0).data<std::uint8_t>()[40 * expected.plane(0).byte_strides()[0] + 80], 8);
      EXPECT_NEAR(static_cast<double>(frame.timestamp_ns()), static_cast<double>(count) * 1e9 / 30, 1e6);
      ++count;
    }
    EXPECT_EQ(count, 30u);
  }
}

TEST(FfmpegWriter, KeepsTheTimesOfTheFrames) {
  Folder folder;
  const std::string path = folder.file("out.mkv");
  ff::Writer writer(path, {tenon::kI420, 64, 64});
  const std::int64_t times[] = {5'000'000'000, 5'010'000'000, 5'200'000'000, 5'200'000'000, 5'900'000'000};
  for (const std::int64_t time : times) {
    Frame frame = gradient(tenon::kI420, 64, 64, 0);
    frame.set_timestamp_ns(time);
    writer.write(frame);
  }
  writer.finish();
  std::vector<std::int64_t> read;
  ff::Video video = ff::open(path);
  for (const Frame& frame : video) read.push_back(frame.timestamp_ns());
  ASSERT_EQ(read.size(), 5u);
  EXPECT_NEAR(static_cast<double>(read[1] - read[0]), 1e7, 1.1e6);
  EXPECT_NEAR(static_cast<double>(read[4] - read[0]), 9e8, 1.1e6);
}

TEST(FfmpegWriter, ConvertsOtherFormatsAndBooksIt) {
  Folder folder;
  tenon::Ledger ledger;
  ff::WriterOptions options;
  options.ledger = &ledger;
  ff::Writer writer(folder.file("out.mp4"), {tenon::kRgb24, 64, 64}, options);
  writer.write(gradient(tenon::kRgb24, 64, 64, 0));
  writer.finish();
  EXPECT_EQ(ledger.total().converted, 64u * 64 * 3);
}

TEST(FfmpegWriter, ReEncodesDecodedFramesInPlace) {
  Folder folder;
  tenon_test::make_clip(folder.file("in.mp4"));
  tenon::Ledger ledger;
  ff::Options options;
  options.ledger = &ledger;
  ff::Video video = ff::open(folder.file("in.mp4"), options);
  video.use_pool();
  ff::WriterOptions writer_options;
  writer_options.ledger = &ledger;
  ff::Writer writer(folder.file("out.mp4"), video.info(), writer_options);
  for (const Frame& frame : video) writer.write(frame);
  writer.finish();
  EXPECT_EQ(ledger.total().copied + ledger.total().converted, 0u);
  EXPECT_EQ(ff::open(folder.file("out.mp4")).frame_count(), 40u);
}

TEST(FfmpegWriter, LeavesNothingHalfWritten) {
  Folder folder;
  const std::string path = folder.file("out.mp4");
  std::ofstream(path) << "precious";
  {
    ff::Writer writer(path, {tenon::kI420, 64, 64});
    writer.write(gradient(tenon::kI420, 64, 64, 0));
    EXPECT_EQ(files_in(folder), 2u);
  }
  EXPECT_EQ(files_in(folder), 1u);
  std::ifstream in(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "precious") << "without finish() the old file stays";
}

TEST(FfmpegWriter, RefusesAtOpenWhatCannotBeWritten) {
  Folder folder;
  const std::size_t descriptors = tenon_test::open_descriptors();
  const FrameInfo info{tenon::kI420, 64, 64};
  const auto open = [&](const std::string& path, const FrameInfo& of, const std::string& codec = "") {
    return code_of([&] { ff::Writer writer(path, of, {25, codec}); }, path);
  };
  EXPECT_EQ(open(folder.file("no/such/folder.mp4"), info), Code::kNotFound);
  EXPECT_EQ(open(folder.path().string(), info), Code::kInvalidArgument);
  EXPECT_EQ(open("/proc/out.mp4", info) == Code::kOk, false);
  EXPECT_EQ(open(folder.file("out.unknown"), info), Code::kInvalidArgument);
  EXPECT_EQ(open(folder.file("out.wav"), info), Code::kInvalidArgument);
  EXPECT_EQ(open(folder.file("out.mp4"), {tenon::kI420, 63, 64}), Code::kInvalidArgument);
  EXPECT_EQ(open(folder.file("out.mp4"), {tenon::kI420, 0, 64}), Code::kInvalidArgument);
  EXPECT_EQ(open(folder.file("out.mp4"), info, "no-such-encoder"), Code::kUnimplemented);
  EXPECT_EQ(files_in(folder), 0u);
  EXPECT_EQ(tenon_test::open_descriptors(), descriptors);
}

TEST(FfmpegWriter, RefusesFramesThatDoNotFit) {
  Folder folder;
  ff::Writer writer(folder.file("out.mp4"), {tenon::kI420, 64, 64});
  EXPECT_EQ(code_of([&] { writer.write(gradient(tenon::kI420, 32, 32, 0)); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { writer.write(Frame()); }), Code::kInvalidArgument);
  writer.write(gradient(tenon::kI420, 64, 64, 0));
  writer.finish();
  EXPECT_EQ(code_of([&] { writer.write(gradient(tenon::kI420, 64, 64, 0)); }), Code::kFailedPrecondition);
}

}  // namespace writer_test
