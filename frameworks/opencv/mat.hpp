// SPDX-License-Identifier: Apache-2.0
// Tensors to cv::Mat and back, over the same bytes.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <variant>

#include <tenon/core/error.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/cpu/cpu.hpp>
#include <tenon/frameworks/opencv/context.hpp>
#include <tenon/frameworks/opencv/keeper.hpp>
#include <tenon/frameworks/opencv/layout.hpp>

namespace tenon {
inline namespace v1 {
namespace opencv {

/// How mat() accesses the bytes.
struct MatOptions {
  Access access = Access::kReadWrite;
  Ledger* ledger = nullptr;             ///< Where a wait is booked; null: the process ledger.
  Deadline deadline = Deadline::max();  ///< Deadline of that wait; max: default_deadline().
};

namespace detail {

/// Checks and waits; returns the layout of `tensor`.
inline MatLayout prepare(const Tensor& tensor, const MatOptions& options) {
  if (!tensor) throw Error(Code::kInvalidArgument, "opencv::mat: the tensor is empty");
  if (!tensor.is_host_addressable() && tensor.element_count() != 0) {
    throw Error(Code::kFailedPrecondition, "opencv::mat of " + to_string(tensor) +
                                               ": the CPU cannot reach it; map it to opencv::context() with a Router");
  }
  if (writes(options.access) && !tensor.is_writable()) {
    throw Error(Code::kPermissionDenied, "opencv::mat of " + to_string(tensor) +
                                             ": it is read-only, or a decoder still refers to it, and cv::Mat knows no "
                                             "const; ask for Access::kRead and do not write, or clone it");
  }
  if (tensor.memory()->modifier() != kModifierLinear)
    throw Error(Code::kFailedPrecondition, "opencv::mat of " + to_string(tensor) + ": " + kTiled);
  MatLayout layout;
  if (!lay_out_picture(tensor.info(), layout)) {
    const auto judged = lay_out(tensor.info());
    if (const auto* refusal = std::get_if<Refusal>(&judged))
      throw Error(Code::kFailedPrecondition, "opencv::mat of " + to_string(tensor) + ": " + refusal->reason);
    layout = std::get<MatLayout>(judged);
  }
  if (tensor.memory()->has_hazards()) {
    const Deadline deadline = options.deadline == Deadline::max() ? default_deadline() : options.deadline;
    tensor.memory()->wait_for(options.access, deadline, options.ledger ? options.ledger : &Ledger::process());
  }
  return layout;
}

inline void* address_of(const Tensor& tensor) { return tensor.is_host_addressable() ? tensor.data() : nullptr; }

inline cv::Mat make_header(const Tensor& tensor, const MatLayout& layout) {
  return checked(
      "cv::Mat::Mat", [&] { return "a header over " + to_string(tensor); },
      [&] { return header_of(layout, tensor.info(), address_of(tensor)); });
}

}  // namespace detail

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
inline cv::Mat mat(const Tensor& tensor, const MatOptions& options = {}) {
  const detail::MatLayout layout = detail::prepare(tensor, options);
  cv::Mat mat = detail::make_header(tensor, layout);
  mat.u = detail::Keeper::hold(tensor, mat.data, static_cast<std::size_t>(mat.datalimit - mat.datastart));
  return mat;
}
inline cv::Mat mat(const Tensor& tensor, Access access) {
  return mat(tensor, MatOptions{access, nullptr, Deadline::max()});
}

/// As mat(), but a bare header that holds nothing, like a cv::Mat over user data: valid while any tensor over that
/// memory is kept. For inner loops.
inline cv::Mat borrowed_mat(const Tensor& tensor, const MatOptions& options = {}) {
  return detail::make_header(tensor, detail::prepare(tensor, options));
}

/// The bytes of `mat` as a tensor: [rows, cols], [rows, cols, channels], or all dimensions and then the channels; steps
/// become byte strides. Shares the Mat's reference count: the caller may release theirs at once. A region is a tensor
/// at an offset in its parent's memory, and keeps the parent. A Mat over user data owns nothing: the caller keeps its
/// bytes. A Mat from mat() comes back as the memory it was made from, with its identity, hazards and lease.
///
/// @param access  kReadOnly if the bytes must not be written; a cv::Mat cannot say so.
/// @errors kInvalidArgument: a Mat without dimensions, or whose data lie outside its own buffer; kUnimplemented: a
///         depth without element type. @thread any. @cost one small object; moves no bytes.
inline Tensor wrap(const cv::Mat& mat, cpu::Wrapped access = cpu::Wrapped::kWritable) {
  if (mat.dims <= 0) throw Error(Code::kInvalidArgument, "opencv::wrap: an empty cv::Mat; give it create() first");
  TensorInfo info = detail::info_of(mat);
  const auto extent = checked_extent_bytes(info);
  const bool none = extent && *extent == 0;
  if (!extent || (!none && (!mat.data || mat.data < mat.datastart || mat.data > mat.datalimit ||
                            *extent > static_cast<std::size_t>(mat.datalimit - mat.data)))) {
    throw Error(Code::kInvalidArgument, "opencv::wrap of " + detail::describe(mat) +
                                            ": its data pointer and steps reach outside of its buffer");
  }
  if (const detail::Keeper* keeper = detail::Keeper::of(mat); keeper && access == cpu::Wrapped::kWritable)
    return keeper->tensor(std::move(info), mat.data);
  Ref<MatMemory> memory = MatMemory::over(mat, access == cpu::Wrapped::kReadOnly);
  const std::size_t offset = none ? 0 : static_cast<std::size_t>(mat.data - mat.datastart);
  return Tensor(std::move(info), std::move(memory), offset);
}

}  // namespace opencv
}  // namespace v1
}  // namespace tenon
