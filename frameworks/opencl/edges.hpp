// SPDX-License-Identifier: Apache-2.0
// The edges of buffers and images, in the order in which they are asked.
#pragma once

#include <span>

#include <tenon/core/edge.hpp>
#include <tenon/frameworks/opencl/buffer.hpp>
#include <tenon/frameworks/opencl/buffer_edges.hpp>
#include <tenon/frameworks/opencl/dmabuf_edges.hpp>
#include <tenon/frameworks/opencl/image.hpp>
#include <tenon/frameworks/opencl/image_edges.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {
namespace detail {

inline constexpr const Edge* kBufferEdges[] = {&cpu_to_buffer,      &cpu_to_buffer_copy, &buffer_to_cpu,
                                               &buffer_to_cpu_copy, &buffer_to_buffer,   &dmabuf_to_buffer,
                                               &buffer_to_dmabuf};
inline constexpr const Edge* kImageEdges[] = {&buffer_to_image, &image_to_cpu, &cpu_to_image, &dmabuf_to_image,
                                              &image_to_dmabuf};

}  // namespace detail

inline std::span<const Edge* const> BufferContext::edges() const { return detail::kBufferEdges; }
inline std::span<const Edge* const> ImageContext::edges() const { return detail::kImageEdges; }

}  // namespace opencl
}  // namespace v1
}  // namespace tenon
