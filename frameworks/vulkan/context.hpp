// SPDX-License-Identifier: Apache-2.0
// A VkDevice as Tenon contexts: one of buffers, and beside it one of images.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <tenon/core/context.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/vulkan/image.hpp>
#include <tenon/frameworks/vulkan/memory.hpp>

namespace tenon {
inline namespace v1 {
namespace vulkan {

/// What the contexts over one VkDevice have in common.
class DeviceContext : public ContextImpl {
 public:
  DeviceContext(Ref<detail::Native> native, std::string name) : native_(std::move(native)), name_(std::move(name)) {}
  std::string_view name() const override { return name_; }
  DeviceIdentity device() const override { return native_->device().identity; }
  /// Submissions wait for any point: waits() and stream() see to it.
  bool can_wait_for(const Timeline&) const override { return true; }
  detail::Native& native() const { return *native_; }
  const Ref<detail::Native>& native_ref() const { return native_; }
  void read(const Tensor& tensor, std::span<std::byte> out) const override;
  void write(const Tensor& tensor, std::span<const std::byte> in) const override;

 private:
  Ref<detail::Native> native_;
  std::string name_;
};

/// Buffers with memory of their own.
class BufferContext final : public DeviceContext {
 public:
  BufferContext(Ref<detail::Native> native, const std::string& device_name)
      : DeviceContext(std::move(native), "vulkan:" + device_name), device_name_(device_name) {}
  MemoryKind kind() const override { return kBufferMemory; }
  std::span<const Edge* const> edges() const override;
  std::string_view remedy() const override;
  /// Device memory is aligned to 256 bytes, memory that the host sees to up to a page.
  std::variant<Offer, Refusal> offer(const Requirements& wanted) const override;
  /// Device memory; host-visible memory if `wanted.host_access`, or where the device has the host's memory anyway; memory
  /// with a descriptor if `wanted.fd` asks for one.
  /// @errors kUnimplemented where offer() refuses; those of native calls.
  Ref<Memory> allocate(const Requirements& wanted) override;
  Ref<Memory> allocate(const Requirements& wanted, MemoryType type);
  /// With a descriptor: kVulkanFd, or a dma-buf's kind. @errors kUnimplemented; those of native calls.
  Ref<Memory> allocate_exported(const Requirements& wanted, FdKind kind);
  /// The context of images over the same VkDevice, made once.
  Context images() const;

 private:
  std::string device_name_;
  mutable std::mutex mutex_;
  mutable Context images_;
};

/// Images.
class ImageContext final : public DeviceContext {
 public:
  ImageContext(Ref<detail::Native> native, const std::string& device_name)
      : DeviceContext(std::move(native), "vulkan.image:" + device_name) {}
  MemoryKind kind() const override { return kImageMemory; }
  std::span<const Edge* const> edges() const override;
  std::variant<Offer, Refusal> offer(const Requirements& wanted) const override;
  /// Images of bytes, in rows of 4096 px, for tensors of any shape. See allocate_image() for pictures.
  /// @errors kUnimplemented where offer() refuses; kResourceExhausted: more than the largest image holds.
  Ref<Memory> allocate(const Requirements& wanted) override;

  /// Why pictures of these elements cannot be images here; nothing when they can.
  std::optional<Refusal> refusal(ElementType type, const Shape& shape, Samples samples, Tiling tiling) const;
  /// As refusal(), for a VkFormat. @param features  What the device does with it.
  std::optional<Refusal> refusal(VkFormat format, std::size_t width, std::size_t height, VkFormatFeatureFlags features,
                                 const std::string& what) const;
  Ref<Memory> make(VkFormat format, std::size_t width, std::size_t height, std::size_t pixel_bytes, Tiling tiling);
  Ref<Memory> over(detail::ImageBlock block);
};

namespace detail {

/// @errors kInvalidArgument, which names `function`: a context of another framework.
const Ref<Native>& native_of(const Context& context, const char* function);
/// Null for contexts of other frameworks.
const DeviceContext* device_context(const Context& context);
BufferContext& buffer_context(const Context& context, const char* function);
ImageContext& image_context(const Context& context, const char* function);

/// Whether both are one VkPhysicalDevice behind one driver, whose opaque descriptors pass between their VkDevices.
bool same_driver(const Native& one, const Native& other);
/// Handles of other APIs may have the same value.
template <typename Handle>
MemoryIdentity identity_of(Handle handle) {
  return {MemoryIdentity::Kind::kHandle, kBufferMemory.hash(), reinterpret_cast<std::uintptr_t>(handle)};
}

}  // namespace detail
}  // namespace vulkan
}  // namespace v1
}  // namespace tenon
