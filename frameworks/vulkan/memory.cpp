// SPDX-License-Identifier: Apache-2.0
// Buffers of Vulkan with their memory, by every way that memory comes in or goes out.
#include <tenon/frameworks/vulkan/memory.hpp>

#include <fcntl.h>

#include <algorithm>
#include <string>

#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {
namespace vulkan {
namespace detail {

TENON_INLINE VkExternalMemoryFeatureFlags features_of(const Native& native, VkExternalMemoryHandleTypeFlagBits type) {
  auto info = typed<VkPhysicalDeviceExternalBufferInfo>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO);
  info.usage = kBufferUsage;
  info.handleType = type;
  auto properties = typed<VkExternalBufferProperties>(VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES);
  native.instance_calls().vkGetPhysicalDeviceExternalBufferProperties(native.handles().physical_device, &info,
                                                                      &properties);
  return properties.externalMemoryProperties.externalMemoryFeatures;
}

TENON_INLINE bool is_enabled(const Native& native, VkExternalMemoryHandleTypeFlagBits type) {
  if (type == VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT)
    return native.enabled(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME) &&
           native.calls().vkGetMemoryHostPointerPropertiesEXT;
  if (!native.enabled(VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME) || !native.calls().vkGetMemoryFdKHR) return false;
  return type != VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT ||
         native.enabled(VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME);
}

TENON_INLINE bool exports(const Native& native, VkExternalMemoryHandleTypeFlagBits type) {
  return is_enabled(native, type) && (features_of(native, type) & VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT) != 0;
}

TENON_INLINE bool imports(const Native& native, VkExternalMemoryHandleTypeFlagBits type) {
  return is_enabled(native, type) && (features_of(native, type) & VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT) != 0;
}

TENON_INLINE std::uint32_t resting_family(const Native& native, Origin origin) {
  return origin == Origin::kDmabuf && native.enabled(VK_EXT_QUEUE_FAMILY_FOREIGN_EXTENSION_NAME)
             ? VK_QUEUE_FAMILY_FOREIGN_EXT
             : VK_QUEUE_FAMILY_EXTERNAL;
}

/// A buffer without memory, and what it needs. @param external  Handle types; 0: none.
TENON_INLINE Owned<VkBuffer> make_buffer(const Native& native, std::size_t size,
                                         VkExternalMemoryHandleTypeFlags external, VkMemoryRequirements& needs) {
  auto handles = typed<VkExternalMemoryBufferCreateInfo>(VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO);
  handles.handleTypes = external;
  auto info = typed<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, external ? &handles : nullptr);
  info.size = size;
  info.usage = kBufferUsage;
  VkBuffer made = VK_NULL_HANDLE;
  check(call(native.calls().vkCreateBuffer, native.handle(), &info, nullptr, &made), "vkCreateBuffer",
        [&] { return "making a buffer of " + std::to_string(size) + " bytes on " + native.device().name; });
  Owned<VkBuffer> owned(native, made, native.calls().vkDestroyBuffer);
  native.calls().vkGetBufferMemoryRequirements(native.handle(), made, &needs);
  return owned;
}

template <typename What>
Owned<VkDeviceMemory> allocate_memory(const Native& native, std::size_t size, std::uint32_t type, const void* next,
                                      const What& what) {
  auto info = typed<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, next);
  info.allocationSize = size;
  info.memoryTypeIndex = type;
  VkDeviceMemory made = VK_NULL_HANDLE;
  check(call(native.calls().vkAllocateMemory, native.handle(), &info, nullptr, &made), "vkAllocateMemory", what);
  return {native, made, native.calls().vkFreeMemory};
}

TENON_INLINE std::byte* map_memory(const Native& native, VkDeviceMemory memory) {
  void* data = nullptr;
  check(call(native.calls().vkMapMemory, native.handle(), memory, VkDeviceSize{0}, VkDeviceSize{VK_WHOLE_SIZE},
             VkMemoryMapFlags{0}, &data),
        "vkMapMemory", "mapping memory for the host");
  return static_cast<std::byte*>(data);
}

TENON_INLINE UniqueFd export_memory(const Native& native, VkDeviceMemory memory, std::uint32_t type) {
  auto info = typed<VkMemoryGetFdInfoKHR>(VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR);
  info.memory = memory;
  info.handleType = static_cast<VkExternalMemoryHandleTypeFlagBits>(type);
  int fd = -1;
  check(call(native.calls().vkGetMemoryFdKHR, native.handle(), &info, &fd), "vkGetMemoryFdKHR",
        "exporting memory as a descriptor");
  return UniqueFd(fd);
}

TENON_INLINE BufferBlock allocate_block(const Ref<Native>& native, std::size_t size, MemoryType type,
                                        std::size_t alignment, std::uint32_t exported) {
  const Native& on = *native;
  const auto what = [&] {
    return "allocating " + std::to_string(size) + " bytes of " + name(type) + " memory on " + on.device().name;
  };
  VkMemoryRequirements needs{};
  BufferBlock block;
  block.size = size;
  block.buffer = make_buffer(on, size, exported, needs);
  const bool host = type == MemoryType::kHost;
  const VkMemoryPropertyFlags visible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  const auto memory_type =
      on.find_memory(needs.memoryTypeBits, host ? visible : 0u,
                     host ? VK_MEMORY_PROPERTY_HOST_CACHED_BIT : VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
  if (!memory_type) fail(VK_ERROR_FEATURE_NOT_PRESENT, "vkGetBufferMemoryRequirements", what());
  // The first byte's address on the host decides where in a larger piece the buffer begins.
  const std::size_t room = host && alignment > needs.alignment ? alignment : 0;
  auto export_info = typed<VkExportMemoryAllocateInfo>(VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO);
  export_info.handleTypes = exported;
  auto dedicated = typed<VkMemoryDedicatedAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, &export_info);
  dedicated.buffer = block.buffer.get();
  const void* next = nullptr;
  if (exported) {
    const auto handle = static_cast<VkExternalMemoryHandleTypeFlagBits>(exported);
    next = features_of(on, handle) & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT
               ? static_cast<const void*>(&dedicated)
               : &export_info;
    block.rests_in = resting_family(
        on, exported == VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT ? Origin::kDmabuf : Origin::kOpaque);
  }
  block.memory = allocate_memory(on, static_cast<std::size_t>(needs.size) + room, *memory_type, next, what);
  std::size_t at = 0;
  if (host) {
    block.mapped = map_memory(on, block.memory.get());
    const std::size_t over = room ? reinterpret_cast<std::uintptr_t>(block.mapped) % alignment : 0;
    at = over ? alignment - over : 0;
    block.mapped += at;
  }
  check(call(on.calls().vkBindBufferMemory, on.handle(), block.buffer.get(), block.memory.get(), VkDeviceSize{at}),
        "vkBindBufferMemory", what);
  if (exported) block.fd = export_memory(on, block.memory.get(), exported);
  return block;
}

/// The file behind a descriptor with a position of its own, where it can be opened again (as memory can); else a duplicate. Mesa's software
/// driver reads an opaque descriptor at its position, which duplicates share, also with other processes: imports at once read past each other
/// and fail with VK_ERROR_INVALID_EXTERNAL_HANDLE.
TENON_INLINE UniqueFd open_again(int fd) {
  UniqueFd own(::open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_RDWR | O_CLOEXEC));
  return own ? std::move(own) : UniqueFd::duplicate(fd);
}

TENON_INLINE BufferBlock import_block(const Ref<Native>& native, int fd, Origin origin, std::size_t size) {
  const Native& on = *native;
  const auto handle = origin == Origin::kDmabuf ? VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT
                                                : VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
  const auto what = [&] {
    return "importing " + std::to_string(size) + " bytes of " +
           (origin == Origin::kDmabuf ? "a dma-buf" : "an opaque descriptor") + " on " + on.device().name;
  };
  VkMemoryRequirements needs{};
  BufferBlock block;
  block.size = size;
  block.rests_in = resting_family(on, origin);
  block.buffer = make_buffer(on, size, handle, needs);
  std::uint32_t allowed = needs.memoryTypeBits;
  if (origin == Origin::kDmabuf) {
    auto properties = typed<VkMemoryFdPropertiesKHR>(VK_STRUCTURE_TYPE_MEMORY_FD_PROPERTIES_KHR);
    check(call(on.calls().vkGetMemoryFdPropertiesKHR, on.handle(), handle, fd, &properties),
          "vkGetMemoryFdPropertiesKHR", what);
    allowed &= properties.memoryTypeBits;
  }
  const auto type = on.find_memory(allowed, 0, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
  if (!type)
    fail(VK_ERROR_INVALID_EXTERNAL_HANDLE, "vkGetMemoryFdPropertiesKHR", what() + " (no type of memory for it)");
  UniqueFd given = origin == Origin::kOpaque ? open_again(fd) : UniqueFd::duplicate(fd);
  auto dedicated = typed<VkMemoryDedicatedAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO);
  dedicated.buffer = block.buffer.get();
  const bool alone = (features_of(on, handle) & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT) != 0;
  auto import =
      typed<VkImportMemoryFdInfoKHR>(VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR, alone ? &dedicated : nullptr);
  import.handleType = handle;
  import.fd = given.get();
  // An opaque descriptor is imported with the size that it was exported with: what a buffer of `size` needs.
  const std::size_t bytes = origin == Origin::kDmabuf ? size : static_cast<std::size_t>(needs.size);
  if (origin == Origin::kDmabuf && needs.size > size)
    throw Error(Code::kOutOfRange, "vulkan: " + what() + ": the device wants " + std::to_string(needs.size) + " bytes",
                "vkGetBufferMemoryRequirements", VK_ERROR_INVALID_EXTERNAL_HANDLE);
  block.memory = allocate_memory(on, bytes, *type, &import, what);
  (void)given.release();  // It is the driver's from here on.
  check(call(on.calls().vkBindBufferMemory, on.handle(), block.buffer.get(), block.memory.get(), VkDeviceSize{0}),
        "vkBindBufferMemory", what);
  return block;
}

TENON_INLINE BufferBlock import_host(const Ref<Native>& native, void* host, std::size_t size) {
  const Native& on = *native;
  constexpr auto kHandle = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
  const auto what = [&] {
    return "importing " + std::to_string(size) + " bytes of host memory on " + on.device().name;
  };
  VkMemoryRequirements needs{};
  BufferBlock block;
  block.size = size;
  block.buffer = make_buffer(on, size, kHandle, needs);
  auto properties = typed<VkMemoryHostPointerPropertiesEXT>(VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT);
  check(call(on.calls().vkGetMemoryHostPointerPropertiesEXT, on.handle(), kHandle, host, &properties),
        "vkGetMemoryHostPointerPropertiesEXT", what);
  const std::uint32_t allowed = needs.memoryTypeBits & properties.memoryTypeBits;
  const auto type = on.find_memory(allowed, VK_MEMORY_PROPERTY_HOST_COHERENT_BIT, VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
  if (!type)
    fail(VK_ERROR_INVALID_EXTERNAL_HANDLE, "vkGetMemoryHostPointerPropertiesEXT",
         what() + " (no coherent type for it)");
  auto import = typed<VkImportMemoryHostPointerInfoEXT>(VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT);
  import.handleType = kHandle;
  import.pHostPointer = host;
  block.memory = allocate_memory(on, size, *type, &import, what);
  block.mapped = static_cast<std::byte*>(host);
  check(call(on.calls().vkBindBufferMemory, on.handle(), block.buffer.get(), block.memory.get(), VkDeviceSize{0}),
        "vkBindBufferMemory", what);
  return block;
}

TENON_INLINE void external_barrier(const Native& native, VkCommandBuffer commands, VkBuffer buffer,
                                   std::uint32_t rests_in, bool take) {
  if (rests_in == VK_QUEUE_FAMILY_IGNORED) return;
  auto barrier = typed<VkBufferMemoryBarrier>(VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER);
  const VkAccessFlags use = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
  // The half on the other side is that side's: its accesses mean nothing here.
  barrier.srcAccessMask = take ? 0 : use;
  barrier.dstAccessMask = take ? use : 0;
  barrier.srcQueueFamilyIndex = take ? rests_in : native.handles().queue_family;
  barrier.dstQueueFamilyIndex = take ? native.handles().queue_family : rests_in;
  barrier.buffer = buffer;
  barrier.size = VK_WHOLE_SIZE;
  native.calls().vkCmdPipelineBarrier(commands,
                                      take ? VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT : VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                      take ? VK_PIPELINE_STAGE_ALL_COMMANDS_BIT : VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT,
                                      0, 0, nullptr, 1, &barrier, 0, nullptr);
}

TENON_INLINE std::optional<BufferPlace> find_buffer(const Tensor& tensor) {
  if (!tensor) return std::nullopt;
  if (tensor.view()) {
    const auto* view = dynamic_cast<const BufferView*>(tensor.view());
    return view ? std::optional(BufferPlace{view->buffer(), view->rests_in()}) : std::nullopt;
  }
  const auto* memory = dynamic_cast<const BufferMemory*>(tensor.memory().get());
  return memory ? std::optional(BufferPlace{memory->buffer(), memory->rests_in()}) : std::nullopt;
}

}  // namespace detail

TENON_INLINE BufferMemory::~BufferMemory() {
  drop_views();
  if (release_) release_();
}

TENON_INLINE VkBuffer buffer(const Tensor& tensor) {
  const auto place = detail::find_buffer(tensor);
  if (!place)
    throw Error(Code::kInvalidArgument,
                "vulkan::buffer of " + to_string(tensor) + ": it is no vulkan.buffer; map it to a context of vulkan");
  return place->buffer;
}

}  // namespace vulkan
}  // namespace v1
}  // namespace tenon
