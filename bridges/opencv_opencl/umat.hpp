// SPDX-License-Identifier: Apache-2.0
// Tensors to cv::UMat and back, over one cl_mem.
#pragma once

#include <cstddef>
#include <string>

#include <tenon/bridges/opencv_opencl/context.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/opencv/mat.hpp>

namespace tenon {
inline namespace v1 {
namespace opencv_opencl {

namespace detail {

/// Why `info` at `offset` cannot be a UMat; empty when it can.
std::string umat_reason(const TensorInfo& info, std::size_t offset);

/// Notes the work now in OpenCV's queue as a write of `memory`.
void note_work(const Memory& memory, const Execution& execution);

/// The cl_mem of a tensor of kind opencv.umat.
cl_mem buffer_of(const Tensor& tensor, const char* function);

}  // namespace detail

/// `tensor` as a cv::UMat over the same cl_mem, at its offset. The UMat, its copies and regions keep the memory and its
/// lease. OpenCV releases them with the last of these, or at its next OpenCL call if kernels still ran then. OpenCV's
/// queue waits for the last write to the memory. After OpenCV has written, call wrote().
///
/// @param tensor  Has the kind opencv.umat, so it is mapped to a context of make_context().
/// @errors kInvalidArgument: another kind; kPermissionDenied: write access to read-only memory; kFailedPrecondition: no
///         UMat for its type, strides or offset (the message says which); kDeadlineExceeded; errors of native calls.
cv::UMat umat(const Tensor& tensor, const opencv::MatOptions& options = {});
cv::UMat umat(const Tensor& tensor, Access access);

/// Declares that the work OpenCV has enqueued so far in the tensor's UMat context writes its memory: host accesses,
/// maps and wait lists of opencl then wait for it.
/// @errors kInvalidArgument: no opencv.umat; errors of native calls.
void wrote(const Tensor& tensor);

/// A cv::UMat as a tensor, with extents, channels and steps as from opencv::wrap; a region is a tensor at an offset.
/// Shares the UMat's reference count. A UMat from umat() comes back as the memory it was made from, with its identity,
/// hazards and lease. The work OpenCV has enqueued so far is booked as its last write.
/// @errors kInvalidArgument: empty, of another cl_context; kFailedPrecondition: a UMat in host memory, or mapped by a
///         cv::Mat; kUnimplemented: a depth without element type; errors of native calls.
Tensor wrap(const Context& context, const cv::UMat& umat);

}  // namespace opencv_opencl
}  // namespace v1
}  // namespace tenon
