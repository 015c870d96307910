// SPDX-License-Identifier: Apache-2.0
#include <tenon/frameworks/ffmpeg/writer.hpp>

#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <tuple>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tenon/core/host.hpp>
#include <tenon/frameworks/ffmpeg/testing/clip.hpp>
#include <tenon/frameworks/ffmpeg/video.hpp>
#include <tenon/tests/support/error_of.hpp>

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

TEST(FfmpegConverter, KeepsWhatPicturesHaveThatAreNotHandedOn) {
  const auto target = [](AVPixelFormat from) { return ff::to_string(ff::detail::nearest_mapped(from)); };
  // By the depth, the chroma and the colours of the descriptors: no less of any.
  for (const AVPixelFormat from : {AV_PIX_FMT_RGB48BE, AV_PIX_FMT_GRAY16BE, AV_PIX_FMT_GBRP16LE, AV_PIX_FMT_YUV420P9LE,
                                   AV_PIX_FMT_YUV422P10BE, AV_PIX_FMT_YUV444P12BE, AV_PIX_FMT_RGB565LE, AV_PIX_FMT_PAL8,
                                   AV_PIX_FMT_YUV440P, AV_PIX_FMT_GRAY10LE, AV_PIX_FMT_P210LE}) {
    const AVPixelFormat to = ff::detail::nearest_mapped(from);
    const AVPixFmtDescriptor *a = av_pix_fmt_desc_get(from), *b = av_pix_fmt_desc_get(to);
    EXPECT_TRUE(ff::detail::find_common(to)) << target(from);
    EXPECT_TRUE(sws_isSupportedOutput(to)) << target(from);
    EXPECT_GE(b->comp[0].depth, a->comp[0].depth) << ff::to_string(from) << " to " << target(from);
    EXPECT_LE(b->log2_chroma_w, a->log2_chroma_w) << ff::to_string(from) << " to " << target(from);
    EXPECT_LE(b->log2_chroma_h, a->log2_chroma_h) << ff::to_string(from) << " to " << target(from);
  }
  EXPECT_EQ(target(AV_PIX_FMT_GRAY16BE), "gray16le");
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

/// Writes three frames and reads them back.
std::vector<Frame> written(const std::string& path, const Frame& frame, const ff::WriterOptions& options) {
  ff::Writer writer(path, frame.info(), options);
  for (int i = 0; i < 3; ++i) writer.write(frame);
  writer.finish();
  std::vector<Frame> read;
  ff::Video video = ff::open(path);
  while (auto each = video.read()) read.push_back(*each);
  return read;
}

/// The colour of a pixel of any frame, by swscale: R, G, B.
std::array<int, 3> rgb_at(const Frame& frame, int x, int y) {
  const ff::FramePtr in = ff::av_frame(frame);
  ff::FramePtr out = ff::detail::new_frame();
  out->format = AV_PIX_FMT_RGB24;
  out->width = in->width, out->height = in->height;
  EXPECT_EQ(av_frame_get_buffer(out.get(), 0), 0);
  ff::detail::Converter().convert(*in, *out, tenon::Ledger::process());
  const std::uint8_t* pixel = out->data[0] + y * out->linesize[0] + 3 * x;
  return {pixel[0], pixel[1], pixel[2]};
}

/// One colour: Y 110, Cb 90, Cr 160 of limited range, or what stands for it in RGB.
Frame plain(tenon::PixelFormat format, std::uint32_t width, std::uint32_t height) {
  Frame yuv = Frame::allocate({tenon::kI420, width, height, tenon::ColourSpace::kBt601, tenon::ColourRange::kLimited});
  const int values[] = {110, 90, 160};
  for (std::size_t p = 0; p < 3; ++p) {
    const tenon::Tensor& plane = yuv.plane(p);
    for (std::size_t y = 0; y < plane.shape()[0]; ++y)
      std::memset(static_cast<std::uint8_t*>(plane.data()) + static_cast<std::ptrdiff_t>(y) * plane.byte_strides()[0],
                  values[p], plane.shape()[1]);
  }
  if (format == tenon::kI420) return yuv;
  const ff::FramePtr in = ff::av_frame(yuv);
  ff::FramePtr out = ff::detail::new_frame();
  out->format = ff::find_mapping(format)->av;
  out->width = in->width, out->height = in->height;
  EXPECT_EQ(av_frame_get_buffer(out.get(), 0), 0);
  ff::detail::Converter().convert(*in, *out, tenon::Ledger::process());
  return ff::wrap(out.get());
}

TEST(FfmpegWriter, GivesEachEncoderPicturesOfAFormatThatItTakes) {
  ff::silence_log();
  Folder folder;
  const auto near = [](const std::array<int, 3>& a, const std::array<int, 3>& b, int most) {
    return std::abs(a[0] - b[0]) <= most && std::abs(a[1] - b[1]) <= most && std::abs(a[2] - b[2]) <= most;
  };
  struct Case {
    const char *file, *codec;
    int most = 6;
  };
  const Case cases[] = {
      {"o.avi", "mjpeg"},      {"o.mkv", "huffyuv"},  {"o.mov", "png"},        {"o.mov", "prores_ks"},
      {"o.mkv", "libx264rgb"}, {"o.gif", "", 60},     {"o.mov", "qtrle"},      {"o.mov", "dnxhd"},
      {"o.mkv", "ffv1"},       {"o.avi", "rawvideo"}, {"o.mkv", "libvpx-vp9"}, {"o.mp4", "libx265"},
      {"o.mp4", "mpeg4"},      {"o.mkv", "mjpeg"},    {"o.mkv", "utvideo"},    {"o.mpg", "mpeg2video"},
      {"o.webm", "libvpx"},    {"o.mkv", "libx264"},  {"o.avi", "libx264"},    {"o.avi", "magicyuv"}};
  for (const Case& each : cases) {
    if (*each.codec && !avcodec_find_encoder_by_name(each.codec)) continue;
    for (const auto& format : {tenon::kI420, tenon::kNv12, tenon::kRgb24, tenon::kBgra, tenon::kYuy2, tenon::kP010}) {
      SCOPED_TRACE(std::string(each.codec) + " in " + each.file + " of " + tenon::to_string(format));
      const Frame frame = plain(format, 320, 180);
      ff::WriterOptions options;
      options.codec = each.codec;
      const std::vector<Frame> read = written(folder.file(each.file), frame, options);
      ASSERT_EQ(read.size(), 3u);
      EXPECT_EQ(read[1].info().width_px, 320u);
      EXPECT_TRUE(near(rgb_at(read[1], 100, 100), rgb_at(frame, 100, 100), each.most))
          << testing::PrintToString(rgb_at(read[1], 100, 100)) << " for "
          << testing::PrintToString(rgb_at(frame, 100, 100));
    }
  }
}

/// The frame's bytes as FFmpeg packs them.
std::vector<std::uint8_t> packed(const Frame& frame) {
  const ff::FramePtr picture = ff::av_frame(frame);
  return tenon_test::packed(picture.get());
}

TEST(FfmpegWriter, WritesPicturesAsTheyAreWhereReadersKnowWhichTheyAre) {
  ff::silence_log();
  Folder folder;
  for (const char* file : {"o.y4m", "o.avi", "o.mkv", "o.mov", "o.nut"}) {
    const std::string name = file;
    const AVOutputFormat* container = av_guess_format(nullptr, file, nullptr);
    const AVCodec& encoder = *avcodec_find_encoder_by_name(name == "o.y4m" ? "wrapped_avframe" : "rawvideo");
    for (const auto& format : {tenon::kI420, tenon::kNv12, tenon::kNv21, tenon::kYuy2, tenon::kUyvy, tenon::kRgb24,
                               tenon::kBgra, tenon::kRgba, tenon::kGray8, tenon::kGray16, tenon::kP010}) {
      SCOPED_TRACE(name + " of " + tenon::to_string(format));
      const Frame frame = gradient(format, 64, 48, 3);
      ff::WriterOptions options;
      if (name != "o.y4m") options.codec = "rawvideo";
      ff::Writer writer(folder.file(file), frame.info(), options);
      for (int i = 0; i < 3; ++i) writer.write(frame);
      writer.finish();
      // FFmpeg alone reads the frame, or what swscale makes of it.
      ff::FramePtr expected = ff::av_frame(frame);
      const AVPixelFormat wanted =
          ff::detail::encoder_format(encoder, static_cast<AVPixelFormat>(expected->format), container->name);
      if (expected->format != wanted) {
        const ff::FramePtr in = std::exchange(expected, ff::detail::new_frame());
        expected->format = wanted;
        expected->width = 64, expected->height = 48;
        ASSERT_EQ(av_frame_get_buffer(expected.get(), 0), 0);
        ff::detail::Converter().convert(*in, *expected, tenon::Ledger::process());
      }
      const auto read = tenon_test::decode_by_ffmpeg(folder.file(file));
      ASSERT_EQ(read.size(), 3u);
      EXPECT_EQ(read[1], tenon_test::packed(expected.get()));
    }
  }
}

TEST(FfmpegWriter, SaysInTheHeaderOfY4mWhatThePicturesAre) {
  ff::silence_log();
  Folder folder;
  const auto header = [&](const FrameInfo& info, double fps) {
    ff::WriterOptions options;
    options.fps = fps;
    ff::Writer writer(folder.file("o.y4m"), info, options);
    writer.write(Frame::allocate(info));
    writer.finish();
    std::ifstream in(folder.file("o.y4m"));
    std::string line;
    std::getline(in, line);
    return line;
  };
  const auto of = [](tenon::PixelFormat format, tenon::ColourRange range = tenon::ColourRange::kLimited) {
    return FrameInfo{format, 62, 47, tenon::ColourSpace::kBt601, range};
  };
  // As `ffmpeg -i IN -strict -1 o.y4m` writes them.
  EXPECT_THAT(header(of(tenon::kNv12), 30000.0 / 1001),
              testing::StartsWith("YUV4MPEG2 W62 H47 F30000:1001 Ip A1:1 C420jpeg XYSCSS=420JPEG"));
  EXPECT_THAT(header(of(tenon::kI420), 12.5), testing::StartsWith("YUV4MPEG2 W62 H47 F25:2 Ip A1:1 C420jpeg"));
  EXPECT_THAT(header(of(tenon::kYuy2), 25), testing::HasSubstr(" C422 XYSCSS=422"));
  EXPECT_THAT(header(of(tenon::kP010), 25), testing::HasSubstr(" C420p10 XYSCSS=420P10"));
  EXPECT_THAT(header(of(tenon::kGray8), 25), testing::HasSubstr(" Cmono"));
  EXPECT_THAT(header(of(tenon::kRgb24), 25), testing::HasSubstr(" C444 XYSCSS=444"));
  const auto read = [&] { return ff::open(folder.file("o.y4m")).info().colour_range; };
  for (const tenon::ColourRange range : {tenon::ColourRange::kLimited, tenon::ColourRange::kFull}) {
    header(of(tenon::kI420, range), 25);
    EXPECT_EQ(read(), range);
  }
}

TEST(FfmpegWriter, WritesRawFilesOfTheFramesOwnBytes) {
  ff::silence_log();
  Folder folder;
  for (const auto& [file, format] : {std::pair{"o.yuv", tenon::kI420}, std::pair{"o.yuv", tenon::kNv12},
                                     std::pair{"o.rgb", tenon::kRgb24}, std::pair{"o.yuv", tenon::kP010}}) {
    const Frame frame = gradient(format, 63, 47, 1);
    ff::Writer writer(folder.file(file), frame.info());
    for (int i = 0; i < 2; ++i) writer.write(frame);
    writer.finish();
    std::ifstream in(folder.file(file), std::ios::binary);
    const std::vector<std::uint8_t> bytes(std::istreambuf_iterator<char>(in), {}), one = packed(frame);
    ASSERT_EQ(bytes.size(), 2 * one.size()) << tenon::to_string(format);
    EXPECT_TRUE(std::equal(one.begin(), one.end(), bytes.begin() + static_cast<std::ptrdiff_t>(one.size())));
  }
}

TEST(FfmpegWriter, RefusesPointersInAFile) {
  Folder folder;
  ff::WriterOptions options;
  options.codec = "wrapped_avframe";
  EXPECT_EQ(code_of(
                [&] {
                  ff::Writer(folder.file("o.nut"), {tenon::kI420, 64, 48}, options);
                },
                "rawvideo"),
            Code::kInvalidArgument);
}

TEST(FfmpegWriter, RefusesCodecsThatReadersOfTheContainerDoNotKnow) {
  Folder folder;
  const Frame frame = gradient(tenon::kI420, 352, 288, 0);
  int written = 0, refused = 0;
  for (const std::string extension : {".avi", ".mpg", ".vob", ".ts"}) {
    for (const std::string name : {"mpeg4", "mpeg2video", "libx264", "libx265", "apng", "png", "asv1", "gif", "mjpeg",
                                   "ffv1", "prores_ks", "qtrle", "tiff", "bmp", "huffyuv", "snow", "vc2"}) {
      const AVCodec* const encoder = avcodec_find_encoder_by_name(name.c_str());
      if (!encoder) continue;
      const std::string path = folder.file(name + extension);
      ff::WriterOptions options;
      options.codec = name;
      const auto write = [&] {
        ff::Writer writer(path, frame.info(), options);
        for (int i = 0; i < 4; ++i) writer.write(frame);
        writer.finish();
      };
      const bool is_written = code_of(write, " does not hold ") == Code::kOk;
      ++(is_written ? written : refused);
      if (!is_written) continue;
      auto video = ff::open(path);
      int frames = 0;
      while (video.read()) ++frames;
      EXPECT_EQ(video.codec(), avcodec_get_name(encoder->id)) << path;
      EXPECT_EQ(frames, 4) << path;
    }
  }
  EXPECT_GT(written, 4);
  EXPECT_GT(refused, 4);
}

TEST(FfmpegWriter, ChoosesTheNearestFormat) {
  const auto of = [](const char* encoder, AVPixelFormat from) {
    return ff::to_string(ff::detail::encoder_format(*avcodec_find_encoder_by_name(encoder), from));
  };
  // FFmpeg's own choice for these (`ffmpeg -i IN -c:v ENCODER`), but for RGB to H.264, where it takes yuv444p.
  EXPECT_EQ(of("mjpeg", AV_PIX_FMT_NV12), "yuvj420p");
  EXPECT_EQ(of("mjpeg", AV_PIX_FMT_YUV422P), "yuvj422p");
  EXPECT_EQ(of("huffyuv", AV_PIX_FMT_NV12), "yuv422p");
  EXPECT_EQ(of("huffyuv", AV_PIX_FMT_RGB24), "rgb24");
  EXPECT_EQ(of("png", AV_PIX_FMT_NV12), "rgb24");
  EXPECT_EQ(of("png", AV_PIX_FMT_GRAY8), "gray");
  EXPECT_EQ(of("png", AV_PIX_FMT_RGBA), "rgba");
  EXPECT_EQ(of("prores_ks", AV_PIX_FMT_NV12), "yuv422p10le");
  EXPECT_EQ(of("mpeg4", AV_PIX_FMT_P010LE), "yuv420p");
  if (avcodec_find_encoder_by_name("libx264")) {
    EXPECT_EQ(of("libx264", AV_PIX_FMT_RGB24), "yuv420p");
    EXPECT_EQ(of("libx264", AV_PIX_FMT_GRAY8), "yuv420p");
    EXPECT_EQ(of("libx264", AV_PIX_FMT_P010LE), "yuv420p10le");
    EXPECT_EQ(of("libx264", AV_PIX_FMT_NV12), "nv12");
  }
}

TEST(FfmpegWriter, MakesAPictureOfEachFrame) {
  ff::silence_log();
  Folder folder;
  for (const char* name : {"shot%03d.png", "shot%d.jpg", "s%d.bmp", "s%d.tiff"}) {
    const std::string path = folder.file(name);
    ff::Writer writer(path, {tenon::kI420, 64, 48});
    for (int i = 0; i < 3; ++i) writer.write(plain(tenon::kI420, i == 2 ? 31 : 64, 48));
    writer.finish();
    EXPECT_EQ(writer.frames_written(), 3u);
    for (int i = 1; i <= 3; ++i) {
      char numbered[4096];
      ASSERT_EQ(av_get_frame_filename(numbered, sizeof numbered, path.c_str(), i), 0);
      const auto read = ff::open(numbered).read();
      ASSERT_TRUE(read) << numbered;
      EXPECT_EQ(read->info().width_px, i == 3 ? 31u : 64u);
      EXPECT_NEAR(rgb_at(*read, 10, 10)[0], rgb_at(plain(tenon::kI420, 64, 48), 10, 10)[0], 4) << numbered;
    }
  }
  EXPECT_EQ(files_in(folder), 12u) << "no temporary is left";
  ff::Writer one(folder.file("one.png"), {tenon::kI420, 64, 48});
  one.write(plain(tenon::kI420, 64, 48));
  EXPECT_EQ(code_of([&] { one.write(plain(tenon::kI420, 64, 48)); }, "one%04d.png"), Code::kInvalidArgument);
}

TEST(FfmpegWriter, SaysWhatTheEncoderSays) {
  ff::silence_log();
  Folder folder;
  const auto refusal = [&](const std::string& codec, const std::map<std::string, std::string>& options) {
    ff::WriterOptions given;
    given.codec = codec;
    for (const auto& [key, value] : options) given.encoder[key] = value;
    return std::string(tenon::error_of([&] {
                         ff::Writer(folder.file("o.mkv"), {tenon::kI420, 64, 48}, given);
                       }).what());
  };
  if (avcodec_find_encoder_by_name("libx264")) {
    EXPECT_THAT(refusal("libx264", {{"preset", "fastish"}}), ::testing::HasSubstr("preset/tune fastish"));
    EXPECT_THAT(refusal("libx264", {{"x264-params", "keyint=10:keyimt=1"}}),
                ::testing::HasSubstr("does not take \"keyimt\": "));
    EXPECT_THAT(refusal("libx264", {{"x264-params", "bframes=many"}}), ::testing::HasSubstr("not take \"bframes\""));
    ff::WriterOptions right;
    right.codec = "libx264", right.encoder["x264-params"] = "keyint=10:bframes=0";
    ff::Writer(folder.file("o.mkv"), {tenon::kI420, 64, 64}, right);
    right.encoder["x264-params"] = "level=1";  // "frame MB size (40x30) > level limit (99)" is no refusal.
    ff::Writer(folder.file("o.mkv"), {tenon::kI420, 640, 480}, right);
  }
  EXPECT_THAT(refusal("ffv1", {{"level", "3"}, {"slices", "7"}}), ::testing::HasSubstr("(FFmpeg: "));
  EXPECT_EQ(files_in(folder), 0u);
}

TEST(FfmpegWriter, TakesOddExtents) {
  ff::silence_log();
  Folder folder;
  for (const auto& [file, codec, width] :
       {std::tuple{"o.mp4", "libx264", 62u}, std::tuple{"o.mp4", "mpeg4", 63u}, std::tuple{"o.avi", "mjpeg", 63u},
        std::tuple{"o.mkv", "ffv1", 63u}, std::tuple{"o.mkv", "huffyuv", 62u}, std::tuple{"o.mp4", "libx265", 62u}}) {
    if (!avcodec_find_encoder_by_name(codec)) continue;
    ff::WriterOptions options;
    options.codec = codec;
    for (const auto& format : {tenon::kI420, tenon::kNv12}) {
      const std::vector<Frame> read = written(folder.file(file), plain(format, 63, 47), options);
      ASSERT_EQ(read.size(), 3u) << codec;
      EXPECT_EQ(read[0].info().width_px, width) << codec;
      const tenon::Tensor& luma = read[0].plane(0);
      for (const int x : {0, 30, 61})
        EXPECT_NEAR(static_cast<const std::uint8_t*>(luma.data())[45 * luma.byte_strides()[0] + x], 110, 3)
            << codec << " " << tenon::to_string(format) << " " << x;
    }
  }
}

TEST(FfmpegWriter, TurnsPicturesUprightWhereTheContainerCannotSayIt) {
  ff::silence_log();
  Folder folder;
  for (const auto& format : {tenon::kI420, tenon::kNv12, tenon::kYuy2, tenon::kRgb24}) {
    for (const tenon::Rotation rotation : {tenon::Rotation::k90, tenon::Rotation::k180, tenon::Rotation::k270}) {
      Frame stored = plain(format, 64, 48);
      for (int y = 24; y < 48; ++y) {
        auto* row = static_cast<std::uint8_t*>(stored.plane(0).data()) + y * stored.plane(0).byte_strides()[0];
        std::memset(row + 32 * stored.plane(0).byte_strides()[1], 0,
                    32 * static_cast<std::size_t>(stored.plane(0).byte_strides()[1]));
      }
      FrameInfo info = stored.info();
      info.rotation = rotation;
      const Frame frame(info, std::vector<tenon::Tensor>(stored.planes().begin(), stored.planes().end()));
      ff::WriterOptions options;
      options.codec = "ffv1";
      const std::vector<Frame> read = written(folder.file("upright.mkv"), frame, options);
      ASSERT_EQ(read.size(), 3u);
      EXPECT_EQ(read[0].info().rotation, tenon::Rotation::kNone);
      const bool is_quarter = tenon::is_quarter_turn(rotation);
      ASSERT_EQ(read[0].info().width_px, is_quarter ? 48u : 64u);
      // The stored picture's bottom right is dark: turned by 90 degrees clockwise it is at the bottom left.
      const int width = is_quarter ? 48 : 64, height = is_quarter ? 64 : 48;
      const bool is_left = rotation != tenon::Rotation::k270, is_bottom = rotation == tenon::Rotation::k90;
      const auto dark = rgb_at(read[0], is_left ? 2 : width - 3, is_bottom ? height - 3 : 2);
      const auto light = rgb_at(read[0], is_left ? width - 3 : 2, is_bottom ? 2 : height - 3);
      EXPECT_LT(dark[0] + 40, light[0]) << tenon::to_string(format) << " " << static_cast<int>(rotation);
    }
  }
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
    EXPECT_TRUE(std::filesystem::exists(writer.temporary_path()));
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
  EXPECT_EQ(open(folder.file("out.m3u8"), info), Code::kUnimplemented);
  EXPECT_EQ(open(folder.file("out.mpd"), info), Code::kUnimplemented);
  EXPECT_EQ(open(folder.file("none/out%d.png"), info), Code::kNotFound);
  EXPECT_EQ(open(folder.file("out%d.png"), info, "mpeg4"), Code::kInvalidArgument) << "files that are no pictures";
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
