// SPDX-License-Identifier: Apache-2.0
// The targets of conversions, and the ranges of grey. Expected values are those of the definition of the ranges (ITU-T H.273).
#include <tenon/frameworks/ffmpeg/convert.hpp>

#include <cstdint>
#include <cstring>
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

}  // namespace ffmpeg_convert_test
