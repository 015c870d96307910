// SPDX-License-Identifier: Apache-2.0
// The edges of buffers and images, in the order in which they are asked.
#include <tenon/frameworks/opencl/edges.hpp>

#include <initializer_list>
#include <span>
#include <vector>

#include <tenon/core/edge.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/frameworks/opencl/buffer.hpp>
#include <tenon/frameworks/opencl/image.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {

namespace detail {

/// Never destroyed: they outlive every router.
TENON_INLINE const std::vector<const Edge*>& kept(std::initializer_list<const Edge*> everywhere, MemoryKind kind) {
  auto* const all = new std::vector<const Edge*>(everywhere);
  const std::span<const Edge* const> here = edges_of_system(kind);
  all->insert(all->end(), here.begin(), here.end());
  return *all;
}

}  // namespace detail

TENON_INLINE std::span<const Edge* const> BufferContext::edges() const {
  using namespace detail;
  static const std::vector<const Edge*>& all =
      kept({&cpu_to_buffer(), &cpu_to_buffer_copy(), &buffer_to_cpu(), &buffer_to_cpu_copy(), &buffer_to_buffer()},
           kBufferMemory);
  return all;
}

TENON_INLINE std::span<const Edge* const> ImageContext::edges() const {
  using namespace detail;
  static const std::vector<const Edge*>& all =
      kept({&buffer_to_image(), &image_to_cpu(), &cpu_to_image()}, kImageMemory);
  return all;
}

}  // namespace opencl
}  // namespace v1
}  // namespace tenon
