// SPDX-License-Identifier: Apache-2.0
// A decoded frame as a BGR Mat, compared with FFmpeg's conversion of the same pictures.
#include <tenon/frameworks/ffmpeg/ffmpeg.hpp>
#include <tenon/frameworks/opencv/opencv.hpp>

#include <gtest/gtest.h>

#include <opencv2/core.hpp>

#include <tenon/frameworks/ffmpeg/testing/clip.hpp>

extern "C" {
#include <libswscale/swscale.h>
}

namespace decoded_test {

using namespace tenon;

/// Converted by swscale alone, in the colours that the picture names.
cv::Mat by_swscale(const AVFrame& picture, int space) {
  cv::Mat out(picture.height, picture.width, CV_8UC3);
  SwsContext* context = sws_getContext(picture.width, picture.height, static_cast<AVPixelFormat>(picture.format),
                                       picture.width, picture.height, AV_PIX_FMT_BGR24,
                                       SWS_POINT | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT, nullptr, nullptr, nullptr);
  const bool full = picture.color_range == AVCOL_RANGE_JPEG;
  sws_setColorspaceDetails(context, sws_getCoefficients(space), full, sws_getCoefficients(space), 1, 0, 1 << 16,
                           1 << 16);
  std::uint8_t* const data[] = {out.data};
  const int pitch[] = {static_cast<int>(out.step[0])};
  sws_scale(context, picture.data, picture.linesize, 0, picture.height, data, pitch);
  sws_freeContext(context);
  return out;
}

TEST(DecodedFrames, BecomeTheSameBgrAsBySwscale) {
  tenon_test::Folder folder;
  struct Case {
    const char* name;
    AVPixelFormat format;
    AVColorSpace space;
    AVColorRange range;
    int swscale_space;
  };
  for (const Case& each :
       {Case{"limited 601", AV_PIX_FMT_YUV420P, AVCOL_SPC_SMPTE170M, AVCOL_RANGE_MPEG, SWS_CS_ITU601},
        Case{"limited 709", AV_PIX_FMT_YUV420P, AVCOL_SPC_BT709, AVCOL_RANGE_MPEG, SWS_CS_ITU709},
        Case{"full 709", AV_PIX_FMT_YUV420P, AVCOL_SPC_BT709, AVCOL_RANGE_JPEG, SWS_CS_ITU709},
        Case{"4:4:4", AV_PIX_FMT_YUV444P, AVCOL_SPC_SMPTE170M, AVCOL_RANGE_MPEG, SWS_CS_ITU601}}) {
    tenon_test::ClipSpec spec;
    spec.width = 320;
    spec.height = 176;
    spec.frames = 3;
    spec.format = each.format;
    spec.space = each.space;
    spec.range = each.range;
    const std::string path = folder.file("clip.mkv");
    tenon_test::make_clip(path, spec);
    Ledger ledger;
    std::size_t frames = 0;
    ffmpeg::Video video = ffmpeg::open(path);
    for (const Frame& frame : video) {
      const cv::Mat ours = opencv::bgr(frame, {Access::kRead, &ledger, Deadline::max()});
      const ffmpeg::FramePtr picture = ffmpeg::av_frame(frame);
      const cv::Mat theirs = by_swscale(*picture, each.swscale_space);
      ASSERT_EQ(ours.size(), theirs.size());
      // Chroma blocks begin at the same pixels in both, so only rounding differs. Exceptions are a few colours far
      // outside of the valid ones, where swscale's sums overflow (in 4:4:4 more often).
      EXPECT_LE(cv::norm(ours, theirs, cv::NORM_L1) / static_cast<double>(3 * ours.total()), 0.6) << each.name;
      const cv::Mat a = ours.reshape(1), b = theirs.reshape(1);
      std::size_t apart = 0;
      for (int y = 0; y < a.rows; ++y)
        for (int x = 0; x < a.cols; ++x) apart += std::abs(a.at<uchar>(y, x) - b.at<uchar>(y, x)) > 3;
      EXPECT_LE(apart, a.total() / (each.format == AV_PIX_FMT_YUV444P ? 200 : 1000)) << each.name;
      ++frames;
    }
    EXPECT_EQ(frames, 3u);
    EXPECT_EQ(ledger.total().converted, 3 * 320u * 176 * (each.format == AV_PIX_FMT_YUV444P ? 6 : 3) / 2);
  }
}

}  // namespace decoded_test
