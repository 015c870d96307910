// SPDX-License-Identifier: Apache-2.0
// The targets of conversions, and the ranges of grey. Expected values are those of the definition of the ranges (ITU-T H.273).
#include <tenon/frameworks/ffmpeg/convert.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <tenon/core/ledger.hpp>
#include <tenon/frameworks/ffmpeg/ffmpeg.hpp>

namespace ffmpeg_convert_test {

namespace ff = tenon::ffmpeg;

ff::FramePtr picture(AVPixelFormat format, int width, int height) {
  ff::FramePtr made = ff::detail::new_frame();
  made->format = format;
  made->width = width;
  made->height = height;
  EXPECT_GE(av_frame_get_buffer(made.get(), 0), 0);
  return made;
}

TEST(FfmpegConvert, EveryPictureHasATargetThatSwscaleWrites) {
  for (const AVPixFmtDescriptor* one = nullptr; (one = av_pix_fmt_desc_next(one));) {
    const AVPixelFormat format = av_pix_fmt_desc_get_id(one);
    if ((one->flags & AV_PIX_FMT_FLAG_HWACCEL) != 0 || !sws_isSupportedInput(format)) continue;
    const AVPixelFormat target = ff::detail::nearest_mapped(format);
    ASSERT_NE(target, AV_PIX_FMT_NONE) << one->name;
    EXPECT_TRUE(sws_isSupportedOutput(target)) << one->name << " to " << av_get_pix_fmt_name(target);
    // RGB and 4:4:4 keep all of their columns of chroma.
    if (one->log2_chroma_w == 0) {
      EXPECT_EQ(av_pix_fmt_desc_get(target)->log2_chroma_w, 0) << one->name;
    }
  }
  EXPECT_EQ(ff::detail::nearest_mapped(AV_PIX_FMT_YUV420P10LE), AV_PIX_FMT_YUV420P10LE);
  EXPECT_EQ(ff::detail::nearest_mapped(AV_PIX_FMT_YUV411P), AV_PIX_FMT_YUV411P);
  EXPECT_EQ(ff::detail::nearest_mapped(AV_PIX_FMT_YUV444P12LE), AV_PIX_FMT_YUV444P12LE);
  EXPECT_EQ(ff::detail::nearest_mapped(AV_PIX_FMT_RGB48LE), AV_PIX_FMT_RGBA64LE);
  EXPECT_EQ(ff::detail::nearest_mapped(AV_PIX_FMT_GRAY12LE), AV_PIX_FMT_GRAY16LE);
}

TEST(FfmpegConvert, DeepColoursKeepTheirEdges) {
  // Columns of red and blue by turns: with halved chroma they would become purple.
  const auto deep = picture(AV_PIX_FMT_RGB48LE, 32, 8);
  for (int y = 0; y < 8; ++y) {
    auto* row = reinterpret_cast<std::uint16_t*>(deep->data[0] + y * deep->linesize[0]);
    for (int x = 0; x < 32; ++x)
      row[3 * x] = x % 2 ? 0xffff : 0, row[3 * x + 1] = 0, row[3 * x + 2] = x % 2 ? 0 : 0xffff;
  }
  const auto out = picture(ff::detail::nearest_mapped(AV_PIX_FMT_RGB48LE), 32, 8);
  tenon::Ledger ledger;
  ff::detail::Converter().convert(*deep, *out, ledger);
  ASSERT_EQ(out->format, AV_PIX_FMT_RGBA64LE);
  const auto* const row = reinterpret_cast<const std::uint16_t*>(out->data[0]);
  for (int x = 0; x < 32; ++x) {
    EXPECT_NEAR(row[4 * x], x % 2 ? 0xffff : 0, 256) << x;
    EXPECT_NEAR(row[4 * x + 2], x % 2 ? 0 : 0xffff, 256) << x;
  }
}

/// Grey of the value `code` (of 255) in `format`, converted; the first sample.
int converted_grey(AVPixelFormat from, AVColorRange range, int code, AVPixelFormat to, bool scaled) {
  const auto grey = picture(from, 64, 48);
  grey->color_range = range;
  for (int y = 0; y < 48; ++y) {
    if (from == AV_PIX_FMT_GRAY8) {
      std::memset(grey->data[0] + y * grey->linesize[0], code, 64);
    } else {
      auto* row = reinterpret_cast<std::uint16_t*>(grey->data[0] + y * grey->linesize[0]);
      for (int x = 0; x < 64; ++x)
        row[x] = static_cast<std::uint16_t>(range == AVCOL_RANGE_MPEG ? code * 256 : code * 257);
    }
  }
  const auto out = picture(to, scaled ? 32 : 64, scaled ? 24 : 48);
  tenon::Ledger ledger;
  ff::detail::Converter().convert(*grey, *out, ledger);
  return out->data[0][out->linesize[0] + 9];
}

TEST(FfmpegConvert, GreyWithoutARangeIsFull) {
  for (const AVPixelFormat from : {AV_PIX_FMT_GRAY8, AV_PIX_FMT_GRAY16LE}) {
    for (const bool scaled : {false, true}) {
      for (const int code : {0, 16, 20, 128, 235, 255}) {
        for (const AVPixelFormat to : {AV_PIX_FMT_RGB24, AV_PIX_FMT_BGR24, AV_PIX_FMT_RGBA}) {
          EXPECT_NEAR(converted_grey(from, AVCOL_RANGE_UNSPECIFIED, code, to, scaled), code, 1)
              << av_get_pix_fmt_name(from) << ' ' << scaled;
          EXPECT_NEAR(converted_grey(from, AVCOL_RANGE_JPEG, code, to, scaled), code, 1)
              << av_get_pix_fmt_name(from) << ' ' << scaled;
        }
        EXPECT_NEAR(converted_grey(from, AVCOL_RANGE_UNSPECIFIED, code, AV_PIX_FMT_GRAY8, scaled), code, 1);
        EXPECT_NEAR(converted_grey(from, AVCOL_RANGE_UNSPECIFIED, code, AV_PIX_FMT_YUV420P, scaled), code, 1);
      }
    }
  }
}

TEST(FfmpegConvert, GreyOfLimitedRangeIsExpanded) {
  for (const AVPixelFormat from : {AV_PIX_FMT_GRAY8, AV_PIX_FMT_GRAY16LE}) {
    for (const bool scaled : {false, true}) {
      for (const AVPixelFormat to : {AV_PIX_FMT_RGB24, AV_PIX_FMT_BGR24, AV_PIX_FMT_RGBA}) {
        EXPECT_NEAR(converted_grey(from, AVCOL_RANGE_MPEG, 16, to, scaled), 0, 1)
            << av_get_pix_fmt_name(from) << scaled;
        EXPECT_NEAR(converted_grey(from, AVCOL_RANGE_MPEG, 126, to, scaled), 128, 1)
            << av_get_pix_fmt_name(from) << scaled;
        EXPECT_NEAR(converted_grey(from, AVCOL_RANGE_MPEG, 235, to, scaled), 255, 1)
            << av_get_pix_fmt_name(from) << scaled;
      }
    }
  }
}

TEST(FfmpegConvert, GreyOfRgbIsFull) {
  const auto rgb = picture(AV_PIX_FMT_RGB24, 64, 48);
  for (int y = 0; y < 48; ++y) std::memset(rgb->data[0] + y * rgb->linesize[0], 250, 192);
  for (const auto& [width, height] : {std::pair{64, 48}, {32, 24}}) {
    const auto out = picture(AV_PIX_FMT_GRAY8, width, height);
    tenon::Ledger ledger;
    ff::detail::Converter().convert(*rgb, *out, ledger);
    EXPECT_NEAR(out->data[0][9], 250, 1);
  }
}

TEST(FfmpegConvert, Smpte240mIsKnown) {
  EXPECT_EQ(ff::colour_space(AVCOL_SPC_SMPTE240M), tenon::ColourSpace::kSmpte240m);
  EXPECT_EQ(ff::av_colour_space(tenon::ColourSpace::kSmpte240m), AVCOL_SPC_SMPTE240M);
  // Pure V: red is 2 (1 - KR) V and green -2 KR (1 - KR) / KG V, with KR 0.212, KB 0.087 (SMPTE 240M).
  const auto yuv = picture(AV_PIX_FMT_YUV444P, 64, 48);
  yuv->colorspace = AVCOL_SPC_SMPTE240M;
  yuv->color_range = AVCOL_RANGE_MPEG;
  for (int y = 0; y < 48; ++y) {
    std::memset(yuv->data[0] + y * yuv->linesize[0], 126, 64);
    std::memset(yuv->data[1] + y * yuv->linesize[1], 128, 64);
    std::memset(yuv->data[2] + y * yuv->linesize[2], 178, 64);
  }
  const auto out = picture(AV_PIX_FMT_RGB24, 64, 48);
  tenon::Ledger ledger;
  ff::detail::Converter().convert(*yuv, *out, ledger);
  const double v = 50 * 255.0 / 224, grey = 110 * 255.0 / 219;
  EXPECT_NEAR(out->data[0][9], grey + 2 * (1 - 0.212) * v, 1.5);
  EXPECT_NEAR(out->data[0][10], grey - 2 * 0.212 * (1 - 0.212) / (1 - 0.212 - 0.087) * v, 1.5);
}

/// A picture of 4:2:0 or 4:2:2 whose blocks have all colours that their luma allows, near the ends of the range too.
ff::FramePtr colours(AVPixelFormat format, AVColorSpace space, AVColorRange range, int width, int height) {
  auto made = picture(AV_PIX_FMT_YUV420P, width, height);
  std::uint32_t state = 5;
  const auto random = [&](int least, int most) {
    state = state * 1664525u + 1013904223u;
    return static_cast<std::uint8_t>(least + static_cast<int>(state >> 8) % (most - least + 1));
  };
  const bool is_full = range == AVCOL_RANGE_JPEG;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x)
      made->data[0][y * made->linesize[0] + x] = is_full ? random(0, 255) : random(16, 235);
  }
  for (int p = 1; p < 3; ++p) {
    for (int y = 0; y < height / 2; ++y)
      for (int x = 0; x < width / 2; ++x) made->data[p][y * made->linesize[p] + x] = random(64, 192);
  }
  made->colorspace = space;
  made->color_range = range;
  if (format == AV_PIX_FMT_YUV420P) return made;
  auto other = picture(format, width, height);
  tenon::Ledger ledger;
  ff::detail::Converter().convert(*made, *other, ledger);
  return other;
}

/// What ITU-T H.273 makes of a pixel of 4:2:0 with the chroma of its block, rounded.
std::array<int, 3> defined(const AVFrame& yuv, int x, int y, double kr, double kb) {
  const bool is_full = yuv.color_range == AVCOL_RANGE_JPEG;
  const double luma =
      is_full ? yuv.data[0][y * yuv.linesize[0] + x] : (yuv.data[0][y * yuv.linesize[0] + x] - 16) * 255.0 / 219;
  const double scale = is_full ? 1 : 255.0 / 224;
  const double u = (yuv.data[1][y / 2 * yuv.linesize[1] + x / 2] - 128) * scale,
               v = (yuv.data[2][y / 2 * yuv.linesize[2] + x / 2] - 128) * scale, kg = 1 - kr - kb;
  const double rgb[] = {luma + 2 * (1 - kr) * v, luma - 2 * kr * (1 - kr) / kg * v - 2 * kb * (1 - kb) / kg * u,
                        luma + 2 * (1 - kb) * u};
  std::array<int, 3> rounded{};
  for (std::size_t c = 0; c < 3; ++c) rounded[c] = static_cast<int>(std::lround(std::clamp(rgb[c], 0.0, 255.0)));
  return rounded;
}

constexpr int kWide = 72, kHigh = 50;  // Not a whole number of vectors: rows need room behind them.

/// Converts fast; expects each value near its definition, and the mean of the differences near 0.
void expect_near_definition(const AVFrame& source, const AVFrame& planar, AVPixelFormat to, double kr, double kb) {
  const auto out = picture(to, 96, kHigh);
  out->width = kWide;
  tenon::Ledger ledger;
  ff::detail::Converter(ff::detail::Quality::kFast).convert(source, *out, ledger);
  const bool is_blue_first = to == AV_PIX_FMT_BGR24 || to == AV_PIX_FMT_BGRA;
  const int step = to == AV_PIX_FMT_RGB24 || to == AV_PIX_FMT_BGR24 ? 3 : 4;
  int most = 0, sum = 0;
  for (int y = 0; y < kHigh; ++y) {
    for (int x = 0; x < kWide; ++x) {
      const std::array<int, 3> wanted = defined(planar, x, y, kr, kb);
      const std::uint8_t* const pixel = out->data[0] + y * out->linesize[0] + step * x;
      for (int c = 0; c < 3; ++c) {
        const int difference = pixel[is_blue_first ? 2 - c : c] - wanted[static_cast<std::size_t>(c)];
        most = std::max(most, std::abs(difference));
        sum += difference;
      }
      if (step == 4) {
        ASSERT_EQ(pixel[3], 255);
      }
    }
  }
  EXPECT_LE(most, 2);
  // Without the half level of luma it is more than one level.
  EXPECT_LT(std::abs(static_cast<double>(sum) / (3 * kWide * kHigh)), 0.75);
}

TEST(FfmpegConvert, FastIsWithinTwoLevelsOfTheDefinition) {
  struct Space {
    AVColorSpace space;
    double kr, kb;
  };
  for (const auto& [space, kr, kb] : {Space{AVCOL_SPC_BT709, 0.2126, 0.0722}, {AVCOL_SPC_SMPTE170M, 0.299, 0.114}}) {
    for (const AVColorRange range : {AVCOL_RANGE_MPEG, AVCOL_RANGE_JPEG}) {
      const auto planar = colours(AV_PIX_FMT_YUV420P, space, range, kWide, kHigh);
      for (const AVPixelFormat to : {AV_PIX_FMT_RGB24, AV_PIX_FMT_BGR24, AV_PIX_FMT_RGBA, AV_PIX_FMT_BGRA}) {
        for (const AVPixelFormat from : {AV_PIX_FMT_YUV420P, AV_PIX_FMT_NV12, AV_PIX_FMT_NV21}) {
          SCOPED_TRACE(std::string(av_get_pix_fmt_name(from)) + " to " + av_get_pix_fmt_name(to));
          expect_near_definition(*colours(from, space, range, kWide, kHigh), *planar, to, kr, kb);
        }
      }
    }
  }
}

TEST(FfmpegConvert, FastKeepsBlackWhiteAndGrey) {
  for (const AVPixelFormat from : {AV_PIX_FMT_YUV420P, AV_PIX_FMT_NV12, AV_PIX_FMT_YUV422P, AV_PIX_FMT_YUYV422}) {
    for (const auto& [width, height] : {std::pair{64, 48}, {61, 47}}) {  // The second by filters.
      const auto planar = picture(AV_PIX_FMT_YUV420P, width, height), grey = picture(from, width, height),
                 out = picture(AV_PIX_FMT_RGB24, width, height);
      planar->color_range = AVCOL_RANGE_MPEG;
      ff::detail::Converter exact, fast(ff::detail::Quality::kFast);
      for (int code = 16; code <= 235; ++code) {
        std::memset(planar->data[0], code, static_cast<std::size_t>(planar->linesize[0] * height));
        for (int p = 1; p < 3; ++p)
          std::memset(planar->data[p], 128, static_cast<std::size_t>(planar->linesize[p] * ((height + 1) / 2)));
        tenon::Ledger ledger;
        exact.convert(*planar, *grey, ledger);
        fast.convert(*grey, *out, ledger);
        const int wanted = static_cast<int>(std::lround((code - 16) * 255.0 / 219));
        const int tolerance = code == 16 || code == 235 ? 0 : 1;
        for (const int row : {0, height / 2, height - 1}) {
          for (const int column : {0, width / 2, width - 1}) {
            EXPECT_NEAR(out->data[0][row * out->linesize[0] + 3 * column], wanted, tolerance)
                << av_get_pix_fmt_name(from) << ' ' << width << ' ' << code;
          }
        }
      }
    }
  }
}

TEST(FfmpegConvert, FastWritesNothingBehindARow) {
  // Rows without padding; behind the last one is a mark.
  for (const int width : {8, 12, 16, 24, 70, 72}) {
    const auto yuv = colours(AV_PIX_FMT_YUV420P, AVCOL_SPC_BT709, AVCOL_RANGE_MPEG, width, 16);
    const auto out = ff::detail::new_frame();
    out->format = AV_PIX_FMT_RGB24;
    out->width = yuv->width;
    out->height = 16;
    const std::size_t size = static_cast<std::size_t>(yuv->width * 3 * 16);
    std::vector<std::uint8_t> bytes(size + 64, 0xa5);
    out->data[0] = bytes.data();
    out->linesize[0] = yuv->width * 3;
    tenon::Ledger ledger;
    ff::detail::Converter(ff::detail::Quality::kFast).convert(*yuv, *out, ledger);
    EXPECT_EQ(std::vector<std::uint8_t>(bytes.begin() + static_cast<std::ptrdiff_t>(size), bytes.end()),
              std::vector<std::uint8_t>(64, 0xa5));
    out->data[0] = nullptr;
  }
}

TEST(FfmpegConvert, SideDataIsThatOfItsOwnPicture) {
  const auto nv12 = colours(AV_PIX_FMT_NV12, AVCOL_SPC_BT709, AVCOL_RANGE_MPEG, 64, 48);
  ASSERT_NE(av_frame_new_side_data(nv12.get(), AV_FRAME_DATA_A53_CC, 16), nullptr);
  ff::detail::Converter converter(ff::detail::Quality::kFast);
  for (int i = 0; i < 3; ++i) {
    const auto out = picture(AV_PIX_FMT_RGB24, 64, 48);
    tenon::Ledger ledger;
    converter.convert(*nv12, *out, ledger);
    EXPECT_EQ(out->nb_side_data, 1) << "picture " << i;
  }
}

TEST(FfmpegConvert, ThreadsChangeNothing) {
  const auto yuv = colours(AV_PIX_FMT_YUV420P, AVCOL_SPC_BT709, AVCOL_RANGE_MPEG, 320, 240);
  for (const auto quality : {ff::detail::Quality::kExact, ff::detail::Quality::kFast}) {
    for (const auto& [width, height] : {std::pair{320, 240}, {200, 130}}) {
      const auto one = picture(AV_PIX_FMT_RGB24, width, height), several = picture(AV_PIX_FMT_RGB24, width, height);
      tenon::Ledger a, b;
      ff::detail::Converter(quality).convert(*yuv, *one, a);
      ff::detail::Converter shared(quality, 3);
      for (int again = 0; again < 3; ++again) shared.convert(*yuv, *several, b);
      for (int y = 0; y < height; ++y)
        ASSERT_EQ(std::memcmp(one->data[0] + y * one->linesize[0], several->data[0] + y * several->linesize[0],
                              static_cast<std::size_t>(3 * width)),
                  0)
            << y;
      EXPECT_EQ(3 * a.total().converted, b.total().converted);
    }
  }
}

}  // namespace ffmpeg_convert_test
