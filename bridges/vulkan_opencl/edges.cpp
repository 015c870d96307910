// SPDX-License-Identifier: Apache-2.0
// Vulkan's exported buffers as OpenCL's, and back, by opaque descriptors.
#include <tenon/bridges/vulkan_opencl/edges.hpp>

#include <string>
#include <string_view>
#include <utility>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/opencl/client.hpp>
#include <tenon/frameworks/opencl/context.hpp>
#include <tenon/frameworks/vulkan/client.hpp>

namespace tenon {
inline namespace v1 {
namespace vulkan_opencl {
namespace detail {

inline constexpr const char* kNotOurs = "source or target is not a context of Vulkan's and of OpenCL's buffers";

/// Exported memory in place: imported once for each cl_context, acquired while tensors use it.
class VulkanToOpencl final : public Edge {
 public:
  std::string_view name() const override { return "vulkan.buffer->opencl.buffer"; }
  MemoryKind from() const override { return vulkan::kBufferMemory; }
  MemoryKind to() const override { return opencl::kBufferMemory; }

  Step step(const Description& from, const Context& to, Access access) const override {
    if (!from.context.as<vulkan::BufferContext>() || !to.as<opencl::BufferContext>()) return Refusal{kNotOurs};
    if (!from.fd.serves(FdKind::kOpaqueFd))
      return Refusal{"the memory has no opaque descriptor: allocate it with vulkan::allocate_exported"};
    if (auto refusal = opencl::client::refuses_descriptor(from, to, access)) return *std::move(refusal);
    Reached reached = shared_in_place(from, to, opencl::kBufferMemory, 10'000);
    reached.result.host_addressable = false;
    reached.result.alignment = 1;
    return reached;
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    const Reached reached = reach(*this, source, to, options);
    return opencl::client::map_by_descriptor(source, to, source.memory()->borrow_fd(), reached.result.fd, options);
  }
};

/// Vulkan's own memory comes back as it was.
class OpenclToVulkan final : public Edge {
 public:
  std::string_view name() const override { return "opencl.buffer->vulkan.buffer"; }
  MemoryKind from() const override { return opencl::kBufferMemory; }
  MemoryKind to() const override { return vulkan::kBufferMemory; }

  Step step(const Description& from, const Context& to, Access access) const override {
    if (!from.context.as<opencl::BufferContext>() || !to.as<vulkan::BufferContext>()) return Refusal{kNotOurs};
    if (!(from.fd == FdKind::kVulkanFd))
      return Refusal{
          "OpenCL's own buffers cannot be exported: allocate with vulkan::allocate_exported, and map that to OpenCL"};
    if (from.exporter && !to.as<vulkan::BufferContext>()->native().device().exporter.same_device(*from.exporter))
      return Refusal{"the memory was exported by another device than that of " + std::string(to->name())};
    if (writes(access) && from.read_only) return Refusal{"the memory is read-only"};
    Reached reached = shared_in_place(from, to, vulkan::kBufferMemory, 200);
    reached.result.host_addressable = false;
    reached.result.alignment = 1;
    return reached;
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    const Tensor home = source.through(nullptr);  // Only Vulkan's memory has such a descriptor.
    if (home.context() == to) return home;
    return vulkan::client::share_between(home, to, options);
  }
};

struct Edges {
  VulkanToOpencl vulkan_to_opencl;
  OpenclToVulkan opencl_to_vulkan;
  const Edge* const all[2] = {&vulkan_to_opencl, &opencl_to_vulkan};
};

}  // namespace detail

TENON_INLINE std::span<const Edge* const> edges() {
  static const auto* const made = new detail::Edges;  // Outlives static destructors.
  return made->all;
}

}  // namespace vulkan_opencl
}  // namespace v1
}  // namespace tenon
