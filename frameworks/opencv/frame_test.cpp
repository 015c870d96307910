// SPDX-License-Identifier: Apache-2.0
// Pictures: one Mat, one Mat per plane, 4:2:0 in one Mat. OpenCV's own addressing is the reference.
#include <tenon/frameworks/opencv/opencv.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <opencv2/core.hpp>

namespace opencv_frame_test {

using namespace tenon;
using ::testing::HasSubstr;

Code code_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.code();
  }
  return Code::kOk;
}

TEST(OpenCvFrame, PackedFormatsAreOneMat) {
  const std::pair<PixelFormat, int> formats[] = {{kBgr24, CV_8UC3}, {kRgb24, CV_8UC3},   {kBgra, CV_8UC4},
                                                 {kGray8, CV_8UC1}, {kGray16, CV_16UC1}, {kYuy2, CV_8UC2}};
  for (const auto& [format, type] : formats) {
    cv::Mat parent(40, 60, type);
    const cv::Mat picture = parent(cv::Rect(6, 4, 32, 20));
    const Frame frame = opencv::wrap_frame(picture, format);
    EXPECT_EQ(frame.info().format, format);
    EXPECT_EQ(frame.info().width_px, 32u);
    EXPECT_EQ(frame.info().height_px, 20u);
    EXPECT_EQ(frame.plane(0).data(), picture.data) << to_string(format);
    const cv::Mat back = opencv::mat(frame);
    EXPECT_EQ(back.data, picture.data);
    EXPECT_EQ(back.type(), type) << to_string(format);
    EXPECT_EQ(back.step[0], parent.step[0]);
  }
}

TEST(OpenCvFrame, Nv12InOneMatHasItsPlanesWhereOpenCvReadsThem) {
  cv::Mat wide(72, 80, CV_8UC1);
  cv::Mat one = wide.colRange(8, 72);  // 64 wide, padded rows.
  for (int y = 0; y < one.rows; ++y)
    for (int x = 0; x < one.cols; ++x) one.at<uchar>(y, x) = static_cast<uchar>(y * 3 + x * 7);
  const Frame frame = opencv::wrap_frame(one, kNv12);
  ASSERT_EQ(frame.info().height_px, 48u);
  EXPECT_EQ(frame.plane(0).memory(), frame.plane(1).memory()) << "one allocation, two memories";
  const cv::Mat luma = opencv::plane_mat(frame, 0), chroma = opencv::plane_mat(frame, 1);
  EXPECT_EQ(luma.type(), CV_8UC1);
  EXPECT_EQ(chroma.type(), CV_8UC2);
  EXPECT_EQ(chroma.size(), cv::Size(32, 24));
  EXPECT_EQ(luma.at<uchar>(47, 63), one.at<uchar>(47, 63));
  EXPECT_EQ(chroma.at<cv::Vec2b>(23, 31)[1], one.at<uchar>(71, 63));
  const cv::Mat back = opencv::mat(frame);
  EXPECT_EQ(back.data, one.data);
  EXPECT_EQ(back.size(), one.size());
  EXPECT_EQ(back.step[0], one.step[0]);
}

TEST(OpenCvFrame, I420InOneMatHasHalfRows) {
  cv::Mat one(72, 64, CV_8UC1);
  const Frame frame = opencv::wrap_frame(one, kI420);
  ASSERT_EQ(frame.plane_count(), 3u);
  EXPECT_EQ(frame.plane(1).data(), one.ptr(48));
  EXPECT_EQ(frame.plane(1).byte_strides()[0], 32);
  EXPECT_EQ(frame.plane(2).data(), one.ptr(60));
  EXPECT_EQ(static_cast<uchar*>(frame.plane(2).data()) + frame.plane(2).size_bytes(), one.datalimit);
  EXPECT_EQ(opencv::mat(frame).size(), one.size());
  cv::Mat wide(72, 80, CV_8UC1);
  EXPECT_EQ(code_of([&] { opencv::wrap_frame(wide.colRange(0, 64), kI420); }), Code::kInvalidArgument);
}

TEST(OpenCvFrame, TwoMatsAreTwoPlanes) {
  const cv::Mat planes[] = {cv::Mat(48, 64, CV_8UC1), cv::Mat(24, 32, CV_8UC2)};
  Frame frame = opencv::wrap_frame(planes, kNv12);
  EXPECT_EQ(frame.plane(0).data(), planes[0].data);
  EXPECT_EQ(frame.plane(1).data(), planes[1].data);
  EXPECT_EQ(planes[1].u->refcount, 2);
  EXPECT_EQ(code_of([&] { opencv::mat(frame); }), Code::kFailedPrecondition) << "planes in two allocations as one Mat";
  frame = {};
  EXPECT_EQ(planes[1].u->refcount, 1);
  const cv::Mat deep[] = {cv::Mat(48, 64, CV_16UC1), cv::Mat(24, 32, CV_16UC2)};
  EXPECT_EQ(opencv::wrap_frame(deep, kP010).plane(1).element_type(), element::u16);
}

TEST(OpenCvFrame, RefusesWhatTheFormatIsNot) {
  EXPECT_EQ(code_of([] { opencv::wrap_frame(cv::Mat(8, 8, CV_8UC1), kBgr24); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([] { opencv::wrap_frame(cv::Mat(8, 8, CV_16UC3), kBgr24); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([] { opencv::wrap_frame(cv::Mat(50, 64, CV_8UC1), kNv12); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([] { opencv::wrap_frame(cv::Mat(72, 64, CV_8UC3), kNv12); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([] { opencv::wrap_frame(cv::Mat(), kBgr24); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([] { opencv::wrap_frame(cv::Mat(8, 8, CV_8UC1), kRgbPlanar); }), Code::kInvalidArgument);
  const int sizes[] = {2, 8, 8};
  EXPECT_EQ(code_of([&] { opencv::wrap_frame(cv::Mat(3, sizes, CV_8U), kGray8); }), Code::kInvalidArgument);
  const cv::Mat swapped[] = {cv::Mat(24, 32, CV_8UC2), cv::Mat(48, 64, CV_8UC1)};
  EXPECT_EQ(code_of([&] { opencv::wrap_frame(swapped, kNv12); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { opencv::wrap_frame(std::span(swapped, 1), kNv12); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { opencv::wrap_frame(swapped[1], PixelFormat{1234}); }), Code::kUnimplemented);
  EXPECT_EQ(code_of([] { opencv::mat(Frame()); }), Code::kInvalidArgument);
}

}  // namespace opencv_frame_test
