// SPDX-License-Identifier: Apache-2.0
// Frames to cv::Mat and back: one Mat per picture, one Mat per plane, and OpenCV's NV12 and I420 in one Mat.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <opencv2/core/mat.hpp>

#include <tenon/core/frame.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/frameworks/cpu/cpu.hpp>
#include <tenon/frameworks/opencv/mat.hpp>

namespace tenon {
inline namespace v1 {
namespace opencv {

/// A picture in one cv::Mat: packed formats (BGR, RGB, BGRA, grey, YUY2...), or 4:2:0 with the chroma rows below the
/// luma rows, height * 3/2 in all, as cv::cvtColor takes NV12, NV21, I420 and YV12. Keeps regions and steps.
/// @errors kInvalidArgument: the Mat's type or extents do not fit the format (both named), I420 with padded rows; as
///         wrap(). @cost as wrap().
Frame wrap_frame(const cv::Mat& mat, PixelFormat format, cpu::Wrapped access = cpu::Wrapped::kWritable);

/// A picture with one cv::Mat per plane, wherever each lies: NV12 as for cv::cvtColorTwoPlane (8UC1 luma, 8UC2 chroma),
/// I420 as three, P010 as 16UC1 and 16UC2. The first plane gives the extents.
/// @errors as above.
Frame wrap_frame(std::span<const cv::Mat> planes, PixelFormat format, cpu::Wrapped access = cpu::Wrapped::kWritable);

/// One plane as a cv::Mat: [h,w] has one channel, [h,w,c] has c. Keeps the frame's bytes alive. @errors as mat();
/// kOutOfRange: no such plane.
cv::Mat plane_mat(const Frame& frame, std::size_t plane, const MatOptions& options = {});

/// The whole picture in one cv::Mat, in the forms that wrap_frame() takes: packed formats, and 4:2:0 with its planes
/// one below the other without a gap.
/// @errors kFailedPrecondition: planes that lie elsewhere (take them one by one with plane_mat(), or convert with
/// bgr()); as mat().
cv::Mat mat(const Frame& frame, const MatOptions& options = {});

namespace detail {

/// "NV12 64x48", for messages.
std::string describe(const FrameInfo& info);

}  // namespace detail

}  // namespace opencv
}  // namespace v1
}  // namespace tenon
