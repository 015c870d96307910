// SPDX-License-Identifier: Apache-2.0
// Tensors to cv::Mat and back, over the same bytes.
#pragma once

#include <opencv2/core/mat.hpp>

#include <tenon/core/ledger.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/cpu/cpu.hpp>
#include <tenon/frameworks/opencv/context.hpp>  // IWYU pragma: export

namespace tenon {
inline namespace v1 {
namespace opencv {

/// How mat() accesses the bytes.
struct MatOptions {
  Access access = Access::kReadWrite;
  Ledger* ledger = nullptr;             ///< Where a wait is booked; null: the process ledger.
  Deadline deadline = Deadline::max();  ///< Deadline of that wait; max: default_deadline().
};

/// `tensor` as a cv::Mat over the same bytes. The Mat, its copies and regions, and UMats made of it keep the memory and
/// its lease: a pool buffer returns only after OpenCV releases it too. [h,w,c] with packed pixels has c channels, [n]
/// is n x 1, other ranks have one channel and as many dimensions.
///
/// Waits for work in progress on the memory. Access::kReadWrite, the default, is refused for read-only memory. cv::Mat
/// has no const: one made with Access::kRead must not be written, and only the memory's own protection prevents it.
/// OpenCV itself writes only to outputs.
/// @errors kFailedPrecondition: no host address, or no cv::Mat for its type, extents or strides (the message says
///         which); kPermissionDenied: write access to read-only memory; kDeadlineExceeded; kInvalidArgument: empty.
/// @thread any; the Mat may be released on another. @cost a header and two reference counts; moves no bytes. Allocates
/// nothing in the steady state (except OpenCV, for more than two dimensions).
cv::Mat mat(const Tensor& tensor, const MatOptions& options = {});
cv::Mat mat(const Tensor& tensor, Access access);

/// As mat(), but a bare header that holds nothing, like a cv::Mat over user data: valid while any tensor over that
/// memory is kept. For inner loops.
cv::Mat borrowed_mat(const Tensor& tensor, const MatOptions& options = {});

/// The bytes of `mat` as a tensor: [rows, cols], [rows, cols, channels], or all dimensions and then the channels; steps
/// become byte strides. Shares the Mat's reference count: the caller may release theirs at once. A region is a tensor
/// at an offset in its parent's memory, and keeps the parent. A Mat over user data owns nothing: the caller keeps its
/// bytes. A Mat from mat() comes back as the memory it was made from, with its identity, hazards and lease.
///
/// @param access  kReadOnly if the bytes must not be written; a cv::Mat cannot say so.
/// @errors kInvalidArgument: a Mat without dimensions, or whose data lie outside its own buffer; kUnimplemented: a
///         depth without element type. @thread any. @cost one small object; moves no bytes.
Tensor wrap(const cv::Mat& mat, cpu::Wrapped access = cpu::Wrapped::kWritable);

}  // namespace opencv
}  // namespace v1
}  // namespace tenon
