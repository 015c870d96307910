// SPDX-License-Identifier: Apache-2.0
// Edges between USM, SVM, buffers and host memory.
#pragma once

#include <span>

#include <tenon/core/edge.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {
namespace detail {

/// In the order in which they are asked: opencl.usm->cpu, cpu->opencl.usm, and the refusal opencl.usm->opencl.buffer.
/// @thread any.
std::span<const Edge* const> usm_edges();
/// opencl.svm->cpu, cpu->opencl.svm, opencl.svm->opencl.buffer. @thread any.
std::span<const Edge* const> svm_edges();

}  // namespace detail
}  // namespace opencl
}  // namespace v1
}  // namespace tenon
