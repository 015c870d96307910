// SPDX-License-Identifier: Apache-2.0
// Edges of buffers: with host memory, between contexts, and the list of a context's edges.
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include <tenon/core/error.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/pointer_edges.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/standing_view.hpp>
#include <tenon/frameworks/vulkan/context.hpp>
#include <tenon/frameworks/vulkan/edges.hpp>
#include <tenon/frameworks/vulkan/transfer.hpp>

namespace tenon {
inline namespace v1 {
namespace vulkan {
namespace detail {

/// Host-visible memory is shared as host memory, device memory is copied by the queue. Host memory is used in place where
/// the device imports whole pages.
class VulkanTraits final : public PointerTraits {
 public:
  VulkanTraits() : PointerTraits({kBufferMemory, kNotOurs, kNotOurs, 64}) {}
  bool owns(const Context& context) const override { return context.as<BufferContext>() != nullptr; }

  Step in_place(const Description& from, const Context& to, Access access) const override {
    const Native& native = to.as<BufferContext>()->native();
    const Device& device = native.device();
    if (from.read_only)
      return Refusal{writes(access) ? "the memory is read-only"
                                    : "the memory is read-only, and Vulkan imports pages for writing"};
    if (device.host_alignment == 0 || !imports(native, VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT))
      return Refusal{device.name + " imports no pages of the host (VK_EXT_external_memory_host)"};
    std::string reason =
        not_whole_pages(from, device.host_alignment,
                        ": Vulkan imports whole pages of " + std::to_string(device.host_alignment) + " bytes in place");
    if (!reason.empty()) return Refusal{std::move(reason)};
    Reached reached = shared_in_place(from, to, kBufferMemory, 50'000);
    reached.ns_per_byte = device.host_unified() ? 0 : kTransferNsPerByte;
    return reached;
  }
  std::unique_ptr<View> view_of_host(const Tensor& source, const Context& to) const override {
    const Ref<Native>& native = to.as<BufferContext>()->native_ref();
    void* const host = host_base(source);
    BufferBlock block = import_host(native, host, source.memory()->size_bytes());
    return std::make_unique<BufferView>(to, widest_access(source), host, native, std::move(block));
  }

  CopyTerms copies_out(const Context& from) const override {
    return {50'000, from.as<BufferContext>()->native().device().host_unified() ? kHostNsPerByte : kTransferNsPerByte};
  }
  Tensor copy_out(const Tensor& source, Deadline deadline) const override {
    Tensor copy(source.element_type(), source.shape());
    read_elements(source.context().as<BufferContext>()->native_ref(), source, static_cast<std::byte*>(copy.data()),
                  deadline);
    return copy;
  }
  bool transfers_out(const Context& from) const override {
    return !from.as<BufferContext>()->native().device().host_unified();
  }

  /// On a device that has the host's memory, the host writes the copy itself.
  std::variant<CopyTerms, Refusal> copies_in(const Context& to) const override {
    if (to.as<BufferContext>()->native().device().host_unified()) return CopyTerms{50'000, 0.1, 64, true};
    return CopyTerms{50'000, kTransferNsPerByte, 1, false};
  }
  Ref<Memory> allocate_copy(const Context& to, std::size_t size_bytes) const override {
    auto& buffers = *to.as<BufferContext>();
    Requirements wanted;
    wanted.size_bytes = size_bytes;
    wanted.alignment = 64;
    return buffers.allocate(wanted, buffers.native().device().host_unified() ? MemoryType::kHost : MemoryType::kDevice);
  }
  void copy_in(const Tensor& source, Tensor& copy, Deadline deadline) const override {
    if (copy.is_host_addressable()) return source.copy_to(copy);
    Tensor packed = source;
    if (!source.is_contiguous()) {
      packed = Tensor(source.element_type(), source.shape());
      source.copy_to(packed);
    }
    write_elements(copy.context().as<BufferContext>()->native_ref(), copy, static_cast<const std::byte*>(packed.data()),
                   deadline);
  }
};

/// Between contexts over one VkDevice, and between VkDevices of one driver where the memory was exported.
class BufferToBuffer final : public StandingEdge {
 public:
  BufferToBuffer() : StandingEdge("vulkan.buffer->vulkan.buffer", kBufferMemory, kBufferMemory) {}

  Step step(const Description& from, const Context& to, Access access) const override {
    const auto *source = from.context.as<BufferContext>(), *target = to.as<BufferContext>();
    if (!source || !target) return Refusal{kNotOurs};
    if (writes(access) && from.read_only) return Refusal{"the memory is read-only"};
    if (source->native().handle() == target->native().handle()) return shared_in_place(from, to, kBufferMemory, 50);
    if (!(from.fd == FdKind::kVulkanFd))
      return Refusal{"the memory belongs to another VkDevice (of " + source->native().device().name +
                     ") and has no descriptor: allocate it with vulkan::allocate_exported"};
    if (!same_driver(source->native(), target->native()))
      return Refusal{source->native().device().name + " and " + target->native().device().name +
                     " are not one device of one driver, and opaque descriptors do not pass between them"};
    if (!imports(target->native(), VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT))
      return Refusal{target->native().device().name + " imports no opaque descriptors (VK_KHR_external_memory_fd)"};
    Reached reached = shared_in_place(from, to, kBufferMemory, 50'000);
    reached.result.host_addressable = false;
    reached.result.alignment = 1;
    return reached;
  }

 private:
  std::unique_ptr<View> make_view(const Tensor& source, const Context& to) const override {
    const Ref<Native>& native = to.as<BufferContext>()->native_ref();
    const Memory& memory = *source.memory();
    const auto* home = source.context().as<BufferContext>();
    if (home && home->native().handle() == native->handle()) {
      const BufferPlace place = find_buffer(source).value();
      return std::make_unique<BufferView>(to, widest_access(source), host_base(source), native, place.buffer,
                                          place.rests_in);
    }
    return std::make_unique<BufferView>(to, widest_access(source), nullptr, native,
                                        import_block(native, memory.borrow_fd(), Origin::kOpaque, memory.size_bytes()));
  }
};

struct VulkanEdges {
  VulkanTraits traits;
  PointerToCpu buffer_to_cpu{traits};
  CpuToPointer cpu_to_buffer{traits};
  CpuToPointerCopy cpu_to_buffer_copy{traits};
  BufferToBuffer buffer_to_buffer;
  const Edge* const buffers[6] = {&buffer_to_cpu,    &cpu_to_buffer,      &cpu_to_buffer_copy,
                                  &buffer_to_buffer, &dmabuf_to_buffer(), &buffer_to_dmabuf()};
  const Edge* const images[6] = {&image_to_cpu(),    &cpu_to_image(),    &buffer_to_image(),
                                 &image_to_buffer(), &dmabuf_to_image(), &image_to_dmabuf()};
  static const VulkanEdges& process() {
    static const auto* const edges = new VulkanEdges;  // Outlives static destructors.
    return *edges;
  }
};

TENON_INLINE const Edge& buffer_to_buffer() { return VulkanEdges::process().buffer_to_buffer; }

}  // namespace detail

TENON_INLINE std::span<const Edge* const> BufferContext::edges() const {
  return detail::VulkanEdges::process().buffers;
}
TENON_INLINE std::span<const Edge* const> ImageContext::edges() const { return detail::VulkanEdges::process().images; }

}  // namespace vulkan
}  // namespace v1
}  // namespace tenon
