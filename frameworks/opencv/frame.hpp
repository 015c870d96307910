// SPDX-License-Identifier: Apache-2.0
// Frames to cv::Mat and back: one Mat per picture, one Mat per plane, and OpenCV's NV12 and I420 in one Mat.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/cpu/cpu.hpp>
#include <tenon/frameworks/opencv/layout.hpp>
#include <tenon/frameworks/opencv/mat.hpp>

namespace tenon {
inline namespace v1 {
namespace opencv {
namespace detail {

inline std::string describe(const FrameInfo& info) {
  return to_string(info.format) + " " + std::to_string(info.width_px) + "x" + std::to_string(info.height_px);
}

/// `plane` with the extents given by the format: [h,w,1] and [h,w] are the same to a Mat.
inline Tensor as_plane(const Tensor& plane, const FrameInfo& info, std::size_t index) {
  const Shape wanted = plane_shape(info, index);
  const ElementType sample = format_info(info.format).sample;
  if (plane.element_type() != sample || plane.shape() != wanted) {
    throw Error(Code::kInvalidArgument, "opencv::wrap_frame " + describe(info) + ": plane " + std::to_string(index) +
                                            " is " + to_string(plane) + ", expected " + std::string(name(sample)) +
                                            " " + to_string(wanted));
  }
  return plane;
}

/// Whether all planes of `format` can be stacked in one Mat, as OpenCV's colour conversions take 4:2:0: chroma rows as
/// wide as luma rows (NV12), or two chroma rows in one (I420).
inline bool stacks(const PixelFormatInfo& format) {
  if (format.plane_count < 2 || format.planes[0].channels != 1) return false;
  for (std::size_t p = 1; p < format.plane_count; ++p) {
    if (format.planes[p].width_shift != 1 || format.planes[p].height_shift != 1) return false;
  }
  return true;
}

/// The planes of a stacked 4:2:0 picture.
inline Frame unstack(const Tensor& whole, const cv::Mat& mat, const FrameInfo& info) {
  const PixelFormatInfo& format = format_info(info.format);
  const auto item = static_cast<std::ptrdiff_t>(size_bytes(format.sample));
  const auto pitch = static_cast<std::ptrdiff_t>(mat.step[0]);
  const bool interleaved = format.plane_count == 2;
  if (!interleaved && !mat.isContinuous()) {
    throw Error(Code::kInvalidArgument, "opencv::wrap_frame " + describe(info) +
                                            ": in one Mat its chroma planes have two rows in each of the Mat's, which "
                                            "only a continuous Mat allows; pass one Mat per plane");
  }
  std::vector<Tensor> planes;
  std::size_t offset = whole.offset();
  for (std::size_t p = 0; p < format.plane_count; ++p) {
    TensorInfo plane{format.sample, plane_shape(info, p), {}};
    const std::ptrdiff_t row = p == 0 || interleaved ? pitch : pitch / 2;
    plane.strides.push_back(row);
    if (plane.shape.size() == 3) plane.strides.push_back(item * static_cast<std::ptrdiff_t>(plane.shape[2]));
    plane.strides.push_back(item);
    planes.emplace_back(plane, whole.memory(), offset, whole.lease(), whole.view());
    offset += static_cast<std::size_t>(row) * plane.shape[0];
  }
  return Frame(info, std::move(planes));
}

}  // namespace detail

/// A picture in one cv::Mat: packed formats (BGR, RGB, BGRA, grey, YUY2...), or 4:2:0 with the chroma rows below the
/// luma rows, height * 3/2 in all, as cv::cvtColor takes NV12, NV21, I420 and YV12. Keeps regions and steps.
/// @errors kInvalidArgument: the Mat's type or extents do not fit the format (both named), I420 with padded rows; as
///         wrap(). @cost as wrap().
inline Frame wrap_frame(const cv::Mat& mat, PixelFormat format, cpu::Wrapped access = cpu::Wrapped::kWritable) {
  const PixelFormatInfo& known = format_info(format);
  const Tensor whole = wrap(mat, access);
  FrameInfo info{format, static_cast<std::uint32_t>(mat.cols), static_cast<std::uint32_t>(mat.rows)};
  if (mat.dims != 2) {
    throw Error(Code::kInvalidArgument, "opencv::wrap_frame " + std::string(known.name) + ": " + detail::describe(mat) +
                                            " is not a picture; it must have two dimensions");
  }
  if (known.plane_count == 1) return Frame(info, {detail::as_plane(whole, info, 0)});
  if (!detail::stacks(known) || mat.channels() != 1 || whole.element_type() != known.sample || mat.rows % 3 != 0 ||
      mat.rows % 2 != 0 || mat.cols % 2 != 0) {
    throw Error(Code::kInvalidArgument,
                "opencv::wrap_frame " + std::string(known.name) + ": " + detail::describe(mat) +
                    " does not hold all of its planes; expected one channel of " + std::string(name(known.sample)) +
                    ", an even width and height * 3/2 rows of a 4:2:0 format, or one Mat per plane");
  }
  info.height_px = static_cast<std::uint32_t>(mat.rows / 3 * 2);
  return detail::unstack(whole, mat, info);
}

/// A picture with one cv::Mat per plane, wherever each lies: NV12 as for cv::cvtColorTwoPlane (8UC1 luma, 8UC2 chroma),
/// I420 as three, P010 as 16UC1 and 16UC2. The first plane gives the extents.
/// @errors as above.
inline Frame wrap_frame(std::span<const cv::Mat> planes, PixelFormat format,
                        cpu::Wrapped access = cpu::Wrapped::kWritable) {
  const PixelFormatInfo& known = format_info(format);
  if (planes.size() != known.plane_count) {
    throw Error(Code::kInvalidArgument, "opencv::wrap_frame " + std::string(known.name) + ": got " +
                                            std::to_string(planes.size()) + " Mats, expected one per plane, " +
                                            std::to_string(known.plane_count));
  }
  const FrameInfo info{format, static_cast<std::uint32_t>(std::max(planes[0].cols, 0)),
                       static_cast<std::uint32_t>(std::max(planes[0].rows, 0))};
  std::vector<Tensor> tensors;
  for (std::size_t p = 0; p < planes.size(); ++p) tensors.push_back(detail::as_plane(wrap(planes[p], access), info, p));
  return Frame(info, std::move(tensors));
}

/// One plane as a cv::Mat: [h,w] has one channel, [h,w,c] has c. Keeps the frame's bytes alive. @errors as mat();
/// kOutOfRange: no such plane.
inline cv::Mat plane_mat(const Frame& frame, std::size_t plane, const MatOptions& options = {}) {
  return mat(frame.plane(plane), options);
}

/// The whole picture in one cv::Mat, in the forms that wrap_frame() takes: packed formats, and 4:2:0 with its planes
/// one below the other without a gap.
/// @errors kFailedPrecondition: planes that lie elsewhere (take them one by one with plane_mat(), or convert with
/// bgr()); as mat().
inline cv::Mat mat(const Frame& frame, const MatOptions& options = {}) {
  if (frame.plane_count() == 1) return mat(frame.plane(0), options);
  if (frame.plane_count() == 0)
    throw Error(Code::kInvalidArgument, "opencv::mat: an empty frame or a batch; give it single pictures");
  const PixelFormatInfo& format = format_info(frame.info().format);
  const Tensor& luma = frame.plane(0);
  const auto pitch = luma.byte_strides()[0];
  std::size_t rows = luma.shape()[0], end = luma.offset() + static_cast<std::size_t>(pitch) * rows;
  bool fits = detail::stacks(format) && frame.info().width_px % 2 == 0 && frame.info().height_px % 2 == 0;
  for (std::size_t p = 1; fits && p < frame.plane_count(); ++p) {
    const Tensor& plane = frame.plane(p);
    const auto row = frame.plane_count() == 2 ? pitch : pitch / 2;
    fits =
        plane.memory() == luma.memory() && plane.offset() == end && plane.byte_strides()[0] == row &&
        (frame.plane_count() == 2 || pitch == static_cast<std::ptrdiff_t>(luma.shape()[1] * size_bytes(format.sample)));
    end += static_cast<std::size_t>(row) * plane.shape()[0];
  }
  if (!fits) {
    throw Error(Code::kFailedPrecondition, "opencv::mat of frame " + detail::describe(frame.info()) +
                                               ": its planes do not lie under each other as OpenCV's one-Mat formats "
                                               "do; take them one by one with plane_mat(), or convert "
                                               "the picture with bgr() of bgr.hpp");
  }
  TensorInfo whole{format.sample, {rows / 2 * 3, luma.shape()[1]}, luma.byte_strides()};
  return mat(Tensor(whole, luma.memory(), luma.offset(), luma.lease(), luma.view()), options);
}

}  // namespace opencv
}  // namespace v1
}  // namespace tenon
