// SPDX-License-Identifier: Apache-2.0
// Converts any frame to a BGR cv::Mat, which most OpenCV code expects; the conversion is booked.
#pragma once

#include <opencv2/core/mat.hpp>

#include <tenon/core/frame.hpp>
#include <tenon/frameworks/opencv/mat.hpp>

namespace tenon {
inline namespace v1 {
namespace opencv {

/// The picture as upright BGR, 8UC3. Always a conversion, since no decoder writes BGR. Reads any format that the input
/// stage reads (readable_formats(): YUV, RGB and grey of 8 to 16 bits) in its own colour space and range; a pixel has
/// the chroma of its block, not interpolated. The bytes read are booked under "opencv.bgr" as converted; rotating a
/// frame is booked there as copied.
/// @param out      Keeps its memory if size and type fit, so a loop allocates once. Must not overlap the frame.
/// @param options  access is ignored: the frame is read. @errors kInvalidArgument: an empty frame or a batch;
///                 kUnimplemented: another format; kFailedPrecondition: planes that the CPU cannot reach;
///                 kDeadlineExceeded. @thread any. @cost one pass, on OpenCV's threads.
void bgr(const Frame& frame, cv::Mat& out, const MatOptions& options = {});
cv::Mat bgr(const Frame& frame, const MatOptions& options = {});

}  // namespace opencv
}  // namespace v1
}  // namespace tenon
