// SPDX-License-Identifier: Apache-2.0
// Buffers of Vulkan with their VkDeviceMemory: allocated, a user's, exported, imported by descriptor or over host pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <tenon/core/fd.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/vulkan/device.hpp>

namespace tenon {
inline namespace v1 {
namespace vulkan {

/// `Tensor::kind()` of buffers, and of images.
inline constexpr MemoryKind kBufferMemory{"vulkan.buffer"};
inline constexpr MemoryKind kImageMemory{"vulkan.image"};

/// The bytes on the device alone, or mapped for the host as well (coherent).
enum class MemoryType : std::uint8_t { kDevice, kHost };
constexpr const char* name(MemoryType type) { return type == MemoryType::kDevice ? "device" : "host-visible"; }

namespace detail {

/// Where a descriptor comes from.
enum class Origin : std::uint8_t { kOpaque, kDmabuf };

/// Every use that buffers of ours allow.
inline constexpr VkBufferUsageFlags kBufferUsage =
    VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
    VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT | VK_BUFFER_USAGE_VERTEX_BUFFER_BIT | VK_BUFFER_USAGE_INDEX_BUFFER_BIT |
    VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT;

/// A buffer and its memory. The buffer goes first.
struct BufferBlock {
  UniqueFd fd;  ///< For memory that can be exported.
  Owned<VkDeviceMemory> memory;
  Owned<VkBuffer> buffer;
  std::byte* mapped = nullptr;
  std::size_t size = 0;
  /// The family that has it between uses, for memory that others see: VK_QUEUE_FAMILY_EXTERNAL or _FOREIGN_EXT.
  std::uint32_t rests_in = VK_QUEUE_FAMILY_IGNORED;
};

/// Whether the device exports (imports) buffers by such handles.
bool exports(const Native& native, VkExternalMemoryHandleTypeFlagBits type);
bool imports(const Native& native, VkExternalMemoryHandleTypeFlagBits type);

/// @param exported  0: none. @errors those of native calls: kResourceExhausted.
BufferBlock allocate_block(const Ref<Native>& native, std::size_t size, MemoryType type, std::size_t alignment,
                           std::uint32_t exported);
/// `fd` stays the caller's. @errors those of native calls; kOutOfRange: the device wants more bytes than `size`.
BufferBlock import_block(const Ref<Native>& native, int fd, Origin origin, std::size_t size);
/// Host pages in place. @errors those of native calls.
BufferBlock import_host(const Ref<Native>& native, void* host, std::size_t size);

/// Takes a buffer that others see for the queue, or gives it back to them.
void external_barrier(const Native& native, VkCommandBuffer commands, VkBuffer buffer, std::uint32_t rests_in,
                      bool take);
inline void external_barrier(const Native& native, VkCommandBuffer commands, const BufferBlock& block, bool take) {
  external_barrier(native, commands, block.buffer.get(), block.rests_in, take);
}

/// Where memory of an origin rests.
std::uint32_t resting_family(const Native& native, Origin origin);

}  // namespace detail

/// A buffer of Vulkan: ours or a user's.
class BufferMemory final : public Memory {
 public:
  BufferMemory(Context context, const Properties& properties, Ref<detail::Native> native, detail::BufferBlock block)
      : Memory(std::move(context), kBufferMemory, properties),
        native_(std::move(native)),
        block_(std::move(block)),
        buffer_(block_.buffer.get()) {}
  /// A user's.
  BufferMemory(Context context, const Properties& properties, Ref<detail::Native> native, VkBuffer buffer,
               std::uint32_t rests_in, UniqueFd fd, std::function<void()> release)
      : Memory(std::move(context), kBufferMemory, properties), native_(std::move(native)), buffer_(buffer) {
    block_.rests_in = rests_in;
    block_.fd = std::move(fd);
    release_ = std::move(release);
  }
  ~BufferMemory() override;
  VkBuffer buffer() const { return buffer_; }
  std::uint32_t rests_in() const { return block_.rests_in; }
  VkDeviceMemory device_memory() const { return block_.memory.get(); }  ///< Null for a user's.
  int borrow_fd() const override { return block_.fd.get(); }

 private:
  Ref<detail::Native> native_;
  detail::BufferBlock block_;
  VkBuffer buffer_;
  std::function<void()> release_;
};

/// Foreign memory as a buffer: host pages, a dma-buf, another VkDevice's or API's memory.
class BufferView final : public View {
 public:
  BufferView(Context context, Access access, void* host, Ref<detail::Native> native, detail::BufferBlock block)
      : View(std::move(context), kBufferMemory, access, host),
        native_(std::move(native)),
        block_(std::move(block)),
        buffer_(block_.buffer.get()),
        rests_in_(block_.rests_in) {}
  /// A buffer that the memory itself keeps.
  BufferView(Context context, Access access, void* host, Ref<detail::Native> native, VkBuffer buffer,
             std::uint32_t rests_in)
      : View(std::move(context), kBufferMemory, access, host),
        native_(std::move(native)),
        buffer_(buffer),
        rests_in_(rests_in) {}
  VkBuffer buffer() const { return buffer_; }
  std::uint32_t rests_in() const { return rests_in_; }

 private:
  Ref<detail::Native> native_;
  detail::BufferBlock block_;
  VkBuffer buffer_;
  std::uint32_t rests_in_;
};

namespace detail {

/// A tensor's buffer, and where it rests.
struct BufferPlace {
  VkBuffer buffer = VK_NULL_HANDLE;
  std::uint32_t rests_in = VK_QUEUE_FAMILY_IGNORED;
};
std::optional<BufferPlace> find_buffer(const Tensor& tensor);

}  // namespace detail

/// The VkBuffer that a tensor lies in, from tensor.offset() on. Work on it must be ordered by waits(), and reported by
/// wrote() or reads(); where others see the memory, also by record_acquire() and record_release().
/// @errors kInvalidArgument: a tensor of another kind.
VkBuffer buffer(const Tensor& tensor);

}  // namespace vulkan
}  // namespace v1
}  // namespace tenon
