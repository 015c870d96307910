// SPDX-License-Identifier: Apache-2.0
// Edges between OpenCL buffers and cv::UMat: two names for one cl_mem.
#pragma once

#include <tenon/core/edge.hpp>

namespace tenon {
inline namespace v1 {
namespace opencv_opencl {
namespace detail {

/// @name The edges, one object of each.
const Edge& buffer_to_umat();
const Edge& umat_to_buffer();

}  // namespace detail
}  // namespace opencv_opencl
}  // namespace v1
}  // namespace tenon
