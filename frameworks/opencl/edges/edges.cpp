// SPDX-License-Identifier: Apache-2.0
// The edges of buffers and images, in the order in which they are asked.
#include <tenon/frameworks/opencl/edges.hpp>

#include <span>

#include <tenon/core/edge.hpp>
#include <tenon/core/export.hpp>
#include <tenon/frameworks/opencl/buffer.hpp>
#include <tenon/frameworks/opencl/image.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {

TENON_INLINE std::span<const Edge* const> BufferContext::edges() const {
  using namespace detail;
  static const Edge* const all[] = {&cpu_to_buffer(),      &cpu_to_buffer_copy(), &buffer_to_cpu(),
                                    &buffer_to_cpu_copy(), &buffer_to_buffer(),   &dmabuf_to_buffer(),
                                    &buffer_to_dmabuf()};
  return all;
}

TENON_INLINE std::span<const Edge* const> ImageContext::edges() const {
  using namespace detail;
  static const Edge* const all[] = {&buffer_to_image(), &image_to_cpu(), &cpu_to_image(), &dmabuf_to_image(),
                                    &image_to_dmabuf()};
  return all;
}

}  // namespace opencl
}  // namespace v1
}  // namespace tenon
