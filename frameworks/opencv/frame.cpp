// SPDX-License-Identifier: Apache-2.0
// Pictures in one Mat or several, and back.
#include <tenon/frameworks/opencv/frame.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>

namespace tenon {
inline namespace v1 {
namespace opencv {
namespace detail {

TENON_INLINE std::string describe(const FrameInfo& info) {
  return to_string(info.format) + " " + std::to_string(info.width_px) + "x" + std::to_string(info.height_px);
}

/// `plane` with the extents given by the format: [h,w,1] and [h,w] are the same to a Mat.
TENON_INLINE Tensor as_plane(const Tensor& plane, const FrameInfo& info, std::size_t index) {
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
TENON_INLINE bool stacks(const PixelFormatInfo& format) {
  if (format.plane_count < 2 || format.planes[0].channels != 1) return false;
  for (std::size_t p = 1; p < format.plane_count; ++p) {
    if (format.planes[p].width_shift != 1 || format.planes[p].height_shift != 1) return false;
  }
  return true;
}

/// The planes of a stacked 4:2:0 picture.
TENON_INLINE Frame unstack(const Tensor& whole, const cv::Mat& mat, const FrameInfo& info) {
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

TENON_INLINE Frame wrap_frame(const cv::Mat& mat, PixelFormat format, cpu::Wrapped access) {
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

TENON_INLINE Frame wrap_frame(std::span<const cv::Mat> planes, PixelFormat format, cpu::Wrapped access) {
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

TENON_INLINE cv::Mat plane_mat(const Frame& frame, std::size_t plane, const MatOptions& options) {
  return mat(frame.plane(plane), options);
}

TENON_INLINE cv::Mat mat(const Frame& frame, const MatOptions& options) {
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
