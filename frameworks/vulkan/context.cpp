// SPDX-License-Identifier: Apache-2.0
// What contexts of buffers and of images offer and allocate.
#include <tenon/frameworks/vulkan/context.hpp>

#include <algorithm>
#include <cstring>
#include <memory>

#include <tenon/core/host.hpp>
#include <tenon/core/pointer_edges.hpp>
#include <tenon/frameworks/vulkan/transfer.hpp>

namespace tenon {
inline namespace v1 {
namespace vulkan {
namespace detail {

inline constexpr std::size_t kPage = 4096, kLeastAlignment = 64;

TENON_INLINE const DeviceContext* device_context(const Context& context) { return context.as<DeviceContext>(); }

[[noreturn]] TENON_INLINE void refuse_context(const Context& context, const char* function, const char* wanted) {
  throw Error(Code::kInvalidArgument, std::string("vulkan::") + function + ": " +
                                          (context ? std::string(context->name()) : std::string("a null context")) +
                                          " is not a context of " + wanted);
}

TENON_INLINE const Ref<Native>& native_of(const Context& context, const char* function) {
  const DeviceContext* found = device_context(context);
  if (!found) refuse_context(context, function, "vulkan");
  return found->native_ref();
}

TENON_INLINE BufferContext& buffer_context(const Context& context, const char* function) {
  auto* found = context.as<BufferContext>();
  if (!found) refuse_context(context, function, "vulkan's buffers");
  return *found;
}

TENON_INLINE ImageContext& image_context(const Context& context, const char* function) {
  auto* found = context.as<ImageContext>();
  if (!found) refuse_context(context, function, "vulkan's images; pass vulkan::images(context)");
  return *found;
}

TENON_INLINE bool same_driver(const Native& one, const Native& other) {
  return one.device().exporter.same_device(other.device().exporter) &&
         std::memcmp(one.device().driver_uuid, other.device().driver_uuid, VK_UUID_SIZE) == 0;
}

TENON_INLINE std::size_t rounded(std::size_t size, std::size_t grain) { return (size + grain - 1) / grain * grain; }

/// Sizes that overflow are what no device has.
TENON_INLINE std::size_t size_of(const Requirements& wanted) {
  const std::size_t size = std::max<std::size_t>(wanted.size_bytes + wanted.tail_padding, 1);
  return wanted.fd != FdKind::kNone || wanted.alignment >= kPage ? rounded(size, kPage) : size;
}

}  // namespace detail

TENON_INLINE void DeviceContext::read(const Tensor& tensor, std::span<std::byte> out) const {
  read_staged(tensor, out, [&](const Ref<Memory>& packed) {
    detail::read_elements(native_ref(), tensor, static_cast<std::byte*>(packed->host()), default_deadline());
  });
}

TENON_INLINE void DeviceContext::write(const Tensor& tensor, std::span<const std::byte> in) const {
  write_staged("vulkan", tensor, in, [&](const Ref<Memory>& packed) {
    detail::write_elements(native_ref(), tensor, static_cast<const std::byte*>(packed->host()), default_deadline());
  });
}

TENON_INLINE std::string_view BufferContext::remedy() const {
  return "allocate with vulkan::allocate_exported: other memory of Vulkan has no descriptor";
}

TENON_INLINE std::variant<Offer, Refusal> BufferContext::offer(const Requirements& wanted) const {
  const Device& device = native().device();
  const std::size_t most = wanted.host_access || wanted.fd != FdKind::kNone ? detail::kPage : 256;
  if (wanted.alignment > most)
    return Refusal{"vulkan aligns this memory to " + std::to_string(most) + " bytes, " +
                   std::to_string(wanted.alignment) + " were asked for"};
  if (wanted.fd == FdKind::kNone) return Offer{most, FdKind::kNone, 0, wanted.host_access || device.host_unified()};
  if (wanted.host_access)
    return Refusal{
        "the host has no address of Vulkan's memory that is exported; copy it, or allocate host-visible memory"};
  if (FdKind::kVulkanFd.serves(wanted.fd)) {
    if (!detail::exports(native(), VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT))
      return Refusal{device.name + " exports no memory as an opaque descriptor (VK_KHR_external_memory_fd)"};
    return Offer{most, FdKind::kVulkanFd, 0, false};
  }
  if (!wanted.fd.serves(FdKind::kMemfd))
    return Refusal{"Vulkan's memory is exported as a Vulkan opaque fd or a dma-buf, not as a " +
                   std::string(wanted.fd.name())};
  const FdKind own = native().dmabuf_export();
  if (!own.serves(wanted.fd) || own == FdKind::kNone)
    return Refusal{device.name + " exports no dma-bufs" +
                   (own == FdKind::kNone ? " (VK_EXT_external_memory_dma_buf)" : ", only stand-ins for them")};
  return Offer{most, own, 0, false};
}

TENON_INLINE Ref<Memory> BufferContext::allocate(const Requirements& wanted) {
  check_offer(wanted);
  if (wanted.fd != FdKind::kNone)
    return allocate_exported(wanted,
                             FdKind::kVulkanFd.serves(wanted.fd) ? FdKind::kVulkanFd : native().dmabuf_export());
  const bool visible = wanted.host_access || native().device().host_unified();
  return allocate(wanted, visible ? MemoryType::kHost : MemoryType::kDevice);
}

TENON_INLINE Ref<Memory> BufferContext::allocate(const Requirements& wanted, MemoryType type) {
  detail::BufferBlock block = detail::allocate_block(native_ref(), detail::size_of(wanted), type,
                                                     std::max(wanted.alignment, detail::kLeastAlignment), 0);
  Memory::Properties properties;
  properties.size_bytes = block.size;
  properties.host = block.mapped;
  properties.identity = detail::identity_of(block.buffer.get());
  return make_ref<BufferMemory>(Context(Ref<ContextImpl>(this)), properties, native_ref(), std::move(block));
}

TENON_INLINE Ref<Memory> BufferContext::allocate_exported(const Requirements& wanted, FdKind kind) {
  Requirements as = wanted;
  as.fd = kind;
  check_offer(as);
  const bool opaque = kind == FdKind::kVulkanFd;
  detail::BufferBlock block = detail::allocate_block(
      native_ref(), detail::size_of(as), MemoryType::kDevice, 1,
      opaque ? VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT : VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT);
  Memory::Properties properties;
  properties.size_bytes = block.size;
  properties.fd = kind;
  properties.exporter =
      std::make_shared<const DeviceIdentity>(opaque ? native().device().exporter : native().device().identity);
  properties.identity = detail::identity_of(block.buffer.get());
  return make_ref<BufferMemory>(Context(Ref<ContextImpl>(this)), properties, native_ref(), std::move(block));
}

TENON_INLINE Context BufferContext::images() const {
  const std::lock_guard lock(mutex_);
  if (!images_) images_ = Context(make_ref<ImageContext>(native_ref(), device_name_));
  return images_;
}

TENON_INLINE std::variant<Offer, Refusal> ImageContext::offer(const Requirements& wanted) const {
  if (wanted.fd != FdKind::kNone || wanted.host_access || wanted.alignment > detail::kPage)
    return Refusal{
        "images of bytes have no descriptor, no address for the host and no alignment; allocate a picture or a buffer, "
        "or "
        "ask for less"};
  return Offer{1, FdKind::kNone, 0, false};
}

TENON_INLINE Ref<Memory> ImageContext::allocate(const Requirements& wanted) {
  check_offer(wanted);
  const std::size_t size = std::max<std::size_t>(wanted.size_bytes + wanted.tail_padding, 1);
  constexpr std::size_t kWidth = 4096;
  const VkFormat format = VK_FORMAT_R8_UINT;
  const std::size_t height = (size + kWidth - 1) / kWidth;
  if (const auto refused =
          refusal(format, kWidth, height, detail::features_of(native(), format, VK_IMAGE_TILING_OPTIMAL),
                  "an image of " + std::to_string(size) + " bytes"))
    throw Error(Code::kResourceExhausted, std::string(name()) + ": " + refused->reason);
  return make(format, kWidth, height, 1, Tiling::kOptimal);
}

TENON_INLINE std::optional<Refusal> ImageContext::refusal(VkFormat format, std::size_t width, std::size_t height,
                                                          VkFormatFeatureFlags features,
                                                          const std::string& what) const {
  const Device& device = native().device();
  constexpr VkFormatFeatureFlags kNeeded = VK_FORMAT_FEATURE_TRANSFER_SRC_BIT | VK_FORMAT_FEATURE_TRANSFER_DST_BIT;
  if ((features & kNeeded) != kNeeded)
    return Refusal{device.name + " lacks the image format of " + what + " (VkFormat " + std::to_string(format) +
                   "); use a buffer"};
  if (width == 0 || height == 0) return Refusal{"the picture has no pixels, and Vulkan has no empty images"};
  if (width > device.largest_image_px || height > device.largest_image_px)
    return Refusal{what + " exceeds the largest image of " + device.name + ", " +
                   std::to_string(device.largest_image_px) + " px a side"};
  return std::nullopt;
}

TENON_INLINE std::optional<Refusal> ImageContext::refusal(ElementType type, const Shape& shape, Samples samples,
                                                          Tiling tiling) const {
  const auto picture = detail::picture_of(shape);
  const std::string what = std::string(tenon::v1::name(type)) + " " + to_string(shape);
  if (!picture) return Refusal{what + " is not a picture: images are [height, width] or [height, width, channels]"};
  const VkFormat format = detail::format_of(type, picture->channels, samples);
  if (format == VK_FORMAT_UNDEFINED)
    return Refusal{"Vulkan has no image format of " + std::to_string(picture->channels) + " channels of " +
                   std::string(tenon::v1::name(type)) + "; it has 1, 2 and 4 of integers up to 32 bits, f16 and f32"};
  return refusal(format, picture->width_px, picture->height_px,
                 detail::features_of(native(), format,
                                     tiling == Tiling::kLinear ? VK_IMAGE_TILING_LINEAR : VK_IMAGE_TILING_OPTIMAL),
                 what);
}

TENON_INLINE Ref<Memory> ImageContext::make(VkFormat format, std::size_t width, std::size_t height,
                                            std::size_t pixel_bytes, Tiling tiling) {
  return over(detail::make_image(native_ref(), format, width, height, pixel_bytes, tiling));
}

TENON_INLINE Ref<Memory> ImageContext::over(detail::ImageBlock block) {
  Memory::Properties properties;
  properties.size_bytes = block.size;
  properties.host = block.mapped;
  properties.modifier = block.modifier;
  if (block.fd) {
    properties.fd = native().dmabuf_export();
    properties.exporter = std::make_shared<const DeviceIdentity>(native().device().identity);
  }
  properties.identity = detail::identity_of(block.image.get());
  const bool settles = block.mapped || block.fd;
  Ref<ImageMemory> memory =
      make_ref<ImageMemory>(Context(Ref<ContextImpl>(this)), properties, native_ref(), std::move(block));
  // Others write it before the queue does, which must not lose that.
  if (settles) detail::settle_layout(native_ref(), memory);
  return memory;
}

}  // namespace vulkan
}  // namespace v1
}  // namespace tenon
