// SPDX-License-Identifier: Apache-2.0
// Edges between images, buffers and host memory.
#pragma once

#include <tenon/core/edge.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {
namespace detail {

/// @name The edges, one object of each.
const Edge& buffer_to_image();
const Edge& image_to_cpu();
const Edge& cpu_to_image();

}  // namespace detail
}  // namespace opencl
}  // namespace v1
}  // namespace tenon
