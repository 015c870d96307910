// SPDX-License-Identifier: Apache-2.0
// Edges between dma-bufs, buffers and images: imports by descriptor, and the way back to a dma-buf.
#pragma once

#include <tenon/core/edge.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {
namespace detail {

/// @name The edges, one object of each.
const Edge& dmabuf_to_buffer();
const Edge& dmabuf_to_image();
const Edge& buffer_to_dmabuf();
const Edge& image_to_dmabuf();

}  // namespace detail
}  // namespace opencl
}  // namespace v1
}  // namespace tenon
