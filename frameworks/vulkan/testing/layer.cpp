// SPDX-License-Identifier: Apache-2.0
// A layer of the Vulkan loader for tests: gives a CPU's driver what it lacks of memory and semaphores by descriptor.
//
//   memory     Opaque descriptors and dma-bufs are memfds, mapped and given to the driver as pages of the host: truly shared. They begin at
//              byte 0, as other APIs' stand-ins expect (frameworks/cuda, frameworks/opencl). A real dma-buf is imported the same way.
//   images     DRM modifiers: the linear one, as rows of the pitch that the driver has. A pitch or an offset that it does not have is
//              refused, as drivers do.
//   semaphores Opaque descriptors of timelines name them in this process. A sync file is waited for when it is imported; an exported
//              one is signalled already (-1), because the layer waits for the queue first.
//              The process ends when one that was destroyed is asked for its value: a driver's may crash.
//   ownership  The process ends when a buffer of shared memory is used by a copy while it rests with others, or is taken twice.
//
// TENON_VULKAN_LAYER, a list of words: cuda: the device is a GPU, the first one of frameworks/cuda's stand-in, whose UUID it has.
// elsewhere: imports succeed and give other memory.
#define VK_NO_PROTOTYPES
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace {

bool asked_for(const char* word) {
  const char* words = std::getenv("TENON_VULKAN_LAYER");
  return words && std::string(words).find(word) != std::string::npos;
}

// One instance and its devices: calls of the next layer. Never destroyed.
std::mutex& mutex = *new std::mutex;
PFN_vkGetInstanceProcAddr next_instance = nullptr;
PFN_vkGetDeviceProcAddr next_device = nullptr;
// Commands and queues name no device: their calls are those of one driver.
// The loader's table of an instance leads back here once the instance is made: what comes next is asked for before.
struct Next {
  PFN_vkCreateDevice vkCreateDevice = nullptr;
  PFN_vkEnumerateDeviceExtensionProperties vkEnumerateDeviceExtensionProperties = nullptr;
  PFN_vkGetPhysicalDeviceProperties2 vkGetPhysicalDeviceProperties2 = nullptr;
  PFN_vkGetPhysicalDeviceFormatProperties2 vkGetPhysicalDeviceFormatProperties2 = nullptr;
  PFN_vkGetPhysicalDeviceExternalBufferProperties vkGetPhysicalDeviceExternalBufferProperties = nullptr;
} next;
PFN_vkCmdPipelineBarrier next_barrier = nullptr;
PFN_vkCmdCopyBuffer next_copy_buffer = nullptr;
PFN_vkQueueSubmit next_submit = nullptr;

template <typename Function>
Function below(VkInstance of, const char* name) {
  return reinterpret_cast<Function>(next_instance(of, name));
}
template <typename Function>
Function below(VkDevice of, const char* name) {
  return reinterpret_cast<Function>(next_device(of, name));
}
#define BELOW(of, name) below<PFN_##name>(of, #name)

/// Memory by descriptor.
struct Shared {
  int fd = -1;  ///< The layer's own.
  void* mapped = nullptr;
  std::size_t size = 0;
};
auto& shared = *new std::map<VkDeviceMemory, Shared>;
auto& external_buffers = *new std::map<VkBuffer, bool>;  ///< Whether the queue has it: it rests with others first.
auto& offsets = *new std::map<VkImage, VkDeviceSize>;    ///< Where images in dma-bufs begin.
/// Timelines by the inode of the memfd that names them, and semaphores that were imported.
auto& names = *new std::map<std::uint64_t, VkSemaphore>;
auto& alike = *new std::map<VkSemaphore, VkSemaphore>;
auto& semaphores = *new std::set<VkSemaphore>;  ///< Those that live.

VkSemaphore real(VkSemaphore semaphore) {
  const std::lock_guard lock(mutex);
  const auto found = alike.find(semaphore);
  return found == alike.end() ? semaphore : found->second;
}

[[noreturn]] void misused(const char* what) {
  std::fprintf(stderr, "vulkan's test layer: %s\n", what);
  std::abort();
}

constexpr const char* kAdded[] = {
    VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME, VK_EXT_IMAGE_DRM_FORMAT_MODIFIER_EXTENSION_NAME,
    VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME, VK_EXT_QUEUE_FAMILY_FOREIGN_EXTENSION_NAME};
bool is_added(const char* name) {
  return std::any_of(std::begin(kAdded), std::end(kAdded),
                     [&](const char* each) { return std::strcmp(each, name) == 0; });
}

/// The structure of a chain; null when it is not there.
template <typename T>
T* find(const void* chain, VkStructureType type) {
  for (auto* each = static_cast<const VkBaseInStructure*>(chain); each; each = each->pNext)
    if (each->sType == type) return reinterpret_cast<T*>(const_cast<VkBaseInStructure*>(each));
  return nullptr;
}

constexpr VkExternalMemoryHandleTypeFlags kByFd =
    VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT | VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT;

VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* info, const VkAllocationCallbacks* callbacks,
                                               VkInstance* out) {
  auto* link = find<VkLayerInstanceCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
  while (link && link->function != VK_LAYER_LINK_INFO)
    link = find<VkLayerInstanceCreateInfo>(link->pNext, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
  if (!link) return VK_ERROR_INITIALIZATION_FAILED;
  next_instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  const VkResult result = BELOW(VkInstance{}, vkCreateInstance)(info, callbacks, out);
  if (result == VK_SUCCESS)
    next = {BELOW(*out, vkCreateDevice), BELOW(*out, vkEnumerateDeviceExtensionProperties),
            BELOW(*out, vkGetPhysicalDeviceProperties2), BELOW(*out, vkGetPhysicalDeviceFormatProperties2),
            BELOW(*out, vkGetPhysicalDeviceExternalBufferProperties)};
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                                             const VkAllocationCallbacks* callbacks, VkDevice* out) {
  auto* link = find<VkLayerDeviceCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
  while (link && link->function != VK_LAYER_LINK_INFO)
    link = find<VkLayerDeviceCreateInfo>(link->pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
  if (!link) return VK_ERROR_INITIALIZATION_FAILED;
  next_instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  next_device = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  std::vector<const char*> kept;
  for (std::uint32_t i = 0; i < info->enabledExtensionCount; ++i)
    if (!is_added(info->ppEnabledExtensionNames[i])) kept.push_back(info->ppEnabledExtensionNames[i]);
  VkDeviceCreateInfo own = *info;
  own.enabledExtensionCount = static_cast<std::uint32_t>(kept.size());
  own.ppEnabledExtensionNames = kept.data();
  const VkResult result = next.vkCreateDevice(physical, &own, callbacks, out);
  if (result == VK_SUCCESS) {
    next_barrier = BELOW(*out, vkCmdPipelineBarrier);
    next_copy_buffer = BELOW(*out, vkCmdCopyBuffer);
    next_submit = BELOW(*out, vkQueueSubmit);
  }
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL device_extensions(VkPhysicalDevice physical, const char* layer, std::uint32_t* count,
                                                 VkExtensionProperties* out) {
  const auto ask = next.vkEnumerateDeviceExtensionProperties;
  if (layer && std::strcmp(layer, "VK_LAYER_TENON_external") != 0) return ask(physical, layer, count, out);
  std::uint32_t known = 0;
  VkResult result = ask(physical, nullptr, &known, nullptr);
  if (result != VK_SUCCESS) return result;
  std::vector<VkExtensionProperties> all(known);
  result = ask(physical, nullptr, &known, all.data());
  if (result != VK_SUCCESS) return result;
  for (const char* name : kAdded) {
    VkExtensionProperties added{};
    std::strncpy(added.extensionName, name, VK_MAX_EXTENSION_NAME_SIZE - 1);
    added.specVersion = 1;
    all.push_back(added);
  }
  if (!out) {
    *count = static_cast<std::uint32_t>(all.size());
    return VK_SUCCESS;
  }
  const std::size_t room = std::min<std::size_t>(*count, all.size());
  std::copy_n(all.begin(), room, out);
  *count = static_cast<std::uint32_t>(room);
  return room < all.size() ? VK_INCOMPLETE : VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL properties(VkPhysicalDevice physical, VkPhysicalDeviceProperties2* out) {
  next.vkGetPhysicalDeviceProperties2(physical, out);
  if (!asked_for("cuda")) return;
  out->properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
  if (auto* ids = find<VkPhysicalDeviceIDProperties>(out, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES)) {
    std::memcpy(ids->deviceUUID, "tenon stand-in ", VK_UUID_SIZE);
    ids->deviceLUIDValid = VK_FALSE;
  }
}

VKAPI_ATTR void VKAPI_CALL format_properties(VkPhysicalDevice physical, VkFormat format, VkFormatProperties2* out) {
  next.vkGetPhysicalDeviceFormatProperties2(physical, format, out);
  auto* list =
      find<VkDrmFormatModifierPropertiesListEXT>(out, VK_STRUCTURE_TYPE_DRM_FORMAT_MODIFIER_PROPERTIES_LIST_EXT);
  if (!list) return;
  const bool some = out->formatProperties.linearTilingFeatures != 0;
  if (list->pDrmFormatModifierProperties && list->drmFormatModifierCount != 0 && some)
    list->pDrmFormatModifierProperties[0] = {0, 1, out->formatProperties.linearTilingFeatures};
  list->drmFormatModifierCount = some ? 1 : 0;
}

VKAPI_ATTR void VKAPI_CALL external_buffers_of(VkPhysicalDevice physical,
                                               const VkPhysicalDeviceExternalBufferInfo* info,
                                               VkExternalBufferProperties* out) {
  if (!(info->handleType & kByFd)) return next.vkGetPhysicalDeviceExternalBufferProperties(physical, info, out);
  out->externalMemoryProperties = {
      VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT | VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT,
      static_cast<VkExternalMemoryHandleTypeFlags>(info->handleType),
      static_cast<VkExternalMemoryHandleTypeFlags>(info->handleType)};
}

VKAPI_ATTR void VKAPI_CALL external_semaphores_of(VkPhysicalDevice, const VkPhysicalDeviceExternalSemaphoreInfo* info,
                                                  VkExternalSemaphoreProperties* out) {
  const auto* type = find<VkSemaphoreTypeCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
  const bool timeline = type && type->semaphoreType == VK_SEMAPHORE_TYPE_TIMELINE;
  const bool known = timeline ? info->handleType == VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT
                              : info->handleType == VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT;
  out->externalSemaphoreFeatures =
      known ? VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT | VK_EXTERNAL_SEMAPHORE_FEATURE_IMPORTABLE_BIT : 0;
}

/// The driver gets pages of the host instead.
VkResult allocate_pages(VkDevice device, const VkMemoryAllocateInfo& info, Shared made,
                        const VkAllocationCallbacks* callbacks, VkDeviceMemory* out) {
  const std::size_t whole = (made.size + 4095) / 4096 * 4096;
  const bool elsewhere = asked_for("elsewhere");
  made.mapped = ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, elsewhere ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED,
                       elsewhere ? -1 : made.fd, 0);
  if (made.mapped == MAP_FAILED) {
    ::close(made.fd);
    return VK_ERROR_INVALID_EXTERNAL_HANDLE;
  }
  VkImportMemoryHostPointerInfoEXT pages{};
  pages.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT;
  pages.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
  pages.pHostPointer = made.mapped;
  VkMemoryAllocateInfo own = info;
  own.pNext = &pages;
  own.allocationSize = whole;
  const VkResult result = BELOW(device, vkAllocateMemory)(device, &own, callbacks, out);
  if (result != VK_SUCCESS) {
    ::munmap(made.mapped, whole);
    ::close(made.fd);
    return result;
  }
  made.size = whole;
  const std::lock_guard lock(mutex);
  shared[*out] = made;
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL allocate(VkDevice device, const VkMemoryAllocateInfo* info,
                                        const VkAllocationCallbacks* callbacks, VkDeviceMemory* out) {
  const auto* exported = find<VkExportMemoryAllocateInfo>(info->pNext, VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO);
  const auto* imported = find<VkImportMemoryFdInfoKHR>(info->pNext, VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR);
  Shared made;
  made.size = static_cast<std::size_t>(info->allocationSize);
  if (imported && imported->handleType != 0) {
    const off_t end = ::lseek(imported->fd, 0, SEEK_END);
    if (end < 0 || static_cast<std::size_t>(end) < made.size) return VK_ERROR_INVALID_EXTERNAL_HANDLE;
    made.fd = ::dup(imported->fd);
    const VkResult result = allocate_pages(device, *info, made, callbacks, out);
    if (result == VK_SUCCESS) ::close(imported->fd);  // The descriptor is the driver's then.
    return result;
  }
  if (exported && (exported->handleTypes & kByFd)) {
    made.fd = ::memfd_create("vulkan stand-in", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    const std::size_t whole = (made.size + 4095) / 4096 * 4096;
    if (made.fd < 0 || ::ftruncate(made.fd, static_cast<off_t>(whole)) != 0 ||
        ::fcntl(made.fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0)
      return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    return allocate_pages(device, *info, made, callbacks, out);
  }
  return BELOW(device, vkAllocateMemory)(device, info, callbacks, out);
}

VKAPI_ATTR void VKAPI_CALL free_memory(VkDevice device, VkDeviceMemory memory, const VkAllocationCallbacks* callbacks) {
  Shared gone;
  {
    const std::lock_guard lock(mutex);
    const auto found = shared.find(memory);
    if (found != shared.end()) gone = found->second, shared.erase(found);
  }
  BELOW(device, vkFreeMemory)(device, memory, callbacks);
  if (!gone.mapped) return;
  ::munmap(gone.mapped, gone.size);
  ::close(gone.fd);
}

VKAPI_ATTR VkResult VKAPI_CALL get_fd(VkDevice, const VkMemoryGetFdInfoKHR* info, int* fd) {
  const std::lock_guard lock(mutex);
  const auto found = shared.find(info->memory);
  if (found == shared.end()) misused("vkGetMemoryFdKHR of memory that was not made to be exported");
  *fd = ::fcntl(found->second.fd, F_DUPFD_CLOEXEC, 0);
  return *fd < 0 ? VK_ERROR_TOO_MANY_OBJECTS : VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL fd_properties(VkDevice, VkExternalMemoryHandleTypeFlagBits, int fd,
                                             VkMemoryFdPropertiesKHR* out) {
  if (::lseek(fd, 0, SEEK_END) <= 0) return VK_ERROR_INVALID_EXTERNAL_HANDLE;
  out->memoryTypeBits = ~0u;
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL create_buffer(VkDevice device, const VkBufferCreateInfo* info,
                                             const VkAllocationCallbacks* callbacks, VkBuffer* out) {
  const VkResult result = BELOW(device, vkCreateBuffer)(device, info, callbacks, out);
  const auto* external =
      find<VkExternalMemoryBufferCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO);
  if (result == VK_SUCCESS && external && (external->handleTypes & kByFd)) {
    const std::lock_guard lock(mutex);
    external_buffers[*out] = false;
  }
  return result;
}

VKAPI_ATTR void VKAPI_CALL destroy_buffer(VkDevice device, VkBuffer buffer, const VkAllocationCallbacks* callbacks) {
  {
    const std::lock_guard lock(mutex);
    external_buffers.erase(buffer);
  }
  BELOW(device, vkDestroyBuffer)(device, buffer, callbacks);
}

/// Recorded, not executed: the tests record and submit in one order.
VKAPI_ATTR void VKAPI_CALL barrier(VkCommandBuffer commands, VkPipelineStageFlags before, VkPipelineStageFlags after,
                                   VkDependencyFlags flags, std::uint32_t count, const VkMemoryBarrier* barriers,
                                   std::uint32_t buffer_count, const VkBufferMemoryBarrier* buffers,
                                   std::uint32_t image_count, const VkImageMemoryBarrier* images) {
  const auto is_other = [](std::uint32_t family) {
    return family == VK_QUEUE_FAMILY_EXTERNAL || family == VK_QUEUE_FAMILY_FOREIGN_EXT;
  };
  std::vector<VkBufferMemoryBarrier> own(buffers, buffers + buffer_count);
  for (VkBufferMemoryBarrier& each : own) {
    const std::lock_guard lock(mutex);
    const auto found = external_buffers.find(each.buffer);
    if (is_other(each.srcQueueFamilyIndex) || is_other(each.dstQueueFamilyIndex)) {
      if (found == external_buffers.end()) misused("a buffer that is not shared changes hands");
      const bool takes = is_other(each.srcQueueFamilyIndex);
      if (found->second == takes) misused(takes ? "a buffer is taken twice" : "a buffer is given back twice");
      found->second = takes;
    }
    each.srcQueueFamilyIndex = each.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
  }
  std::vector<VkImageMemoryBarrier> own_images(images, images + image_count);
  for (VkImageMemoryBarrier& each : own_images)
    each.srcQueueFamilyIndex = each.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
  next_barrier(commands, before, after, flags, count, barriers, buffer_count, own.data(), image_count,
               own_images.data());
}

VKAPI_ATTR void VKAPI_CALL copy_buffer(VkCommandBuffer commands, VkBuffer from, VkBuffer to, std::uint32_t count,
                                       const VkBufferCopy* pieces) {
  {
    const std::lock_guard lock(mutex);
    for (const VkBuffer each : {from, to}) {
      const auto found = external_buffers.find(each);
      if (found != external_buffers.end() && !found->second) misused("a copy of a buffer that rests with others");
    }
  }
  next_copy_buffer(commands, from, to, count, pieces);
}

std::size_t pixel_bytes(VkFormat format) {
  switch (format) {
    case VK_FORMAT_R8_UNORM:
    case VK_FORMAT_R8_UINT:
    case VK_FORMAT_R8_SNORM:
      return 1;
    case VK_FORMAT_R8G8_UNORM:
    case VK_FORMAT_R8G8_SNORM:
    case VK_FORMAT_R16_UNORM:
    case VK_FORMAT_R16_SFLOAT:
      return 2;
    case VK_FORMAT_R16G16B16A16_UNORM:
    case VK_FORMAT_R16G16B16A16_SFLOAT:
    case VK_FORMAT_R32G32_SFLOAT:
      return 8;
    case VK_FORMAT_R32G32B32A32_SFLOAT:
      return 16;
    default:
      return 4;
  }
}

VKAPI_ATTR VkResult VKAPI_CALL create_image(VkDevice device, const VkImageCreateInfo* info,
                                            const VkAllocationCallbacks* callbacks, VkImage* out) {
  if (info->tiling != VK_IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT)
    return BELOW(device, vkCreateImage)(device, info, callbacks, out);
  const auto* rows = find<VkImageDrmFormatModifierExplicitCreateInfoEXT>(
      info->pNext, VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_EXPLICIT_CREATE_INFO_EXT);
  VkImageCreateInfo own = *info;
  own.pNext = nullptr;
  own.tiling = VK_IMAGE_TILING_LINEAR;
  // The driver chooses the pitch by the width: with rows as wide as the pitch it is the one that is wanted.
  if (rows) own.extent.width = static_cast<std::uint32_t>(rows->pPlaneLayouts[0].rowPitch / pixel_bytes(info->format));
  const VkResult result = BELOW(device, vkCreateImage)(device, &own, callbacks, out);
  if (result != VK_SUCCESS || !rows) return result;
  const VkImageSubresource color{VK_IMAGE_ASPECT_COLOR_BIT, 0, 0};
  VkSubresourceLayout has{};
  BELOW(device, vkGetImageSubresourceLayout)(device, *out, &color, &has);
  if (rows->pPlaneLayouts[0].rowPitch != has.rowPitch || rows->pPlaneLayouts[0].offset % 64 != 0) {
    BELOW(device, vkDestroyImage)(device, *out, callbacks);
    return VK_ERROR_INVALID_DRM_FORMAT_MODIFIER_PLANE_LAYOUT_EXT;
  }
  const std::lock_guard lock(mutex);
  offsets[*out] = rows->pPlaneLayouts[0].offset;
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL bind_image(VkDevice device, VkImage image, VkDeviceMemory memory, VkDeviceSize offset) {
  {
    const std::lock_guard lock(mutex);
    const auto found = offsets.find(image);
    if (found != offsets.end()) offset += found->second;
  }
  return BELOW(device, vkBindImageMemory)(device, image, memory, offset);
}

VKAPI_ATTR void VKAPI_CALL destroy_image(VkDevice device, VkImage image, const VkAllocationCallbacks* callbacks) {
  {
    const std::lock_guard lock(mutex);
    offsets.erase(image);
  }
  BELOW(device, vkDestroyImage)(device, image, callbacks);
}

VKAPI_ATTR void VKAPI_CALL subresource(VkDevice device, VkImage image, const VkImageSubresource* part,
                                       VkSubresourceLayout* out) {
  VkImageSubresource own = *part;
  if (own.aspectMask == VK_IMAGE_ASPECT_MEMORY_PLANE_0_BIT_EXT) own.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT;
  BELOW(device, vkGetImageSubresourceLayout)(device, image, &own, out);
}

std::uint64_t inode_of(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 ? static_cast<std::uint64_t>(status.st_ino) : 0;
}

VKAPI_ATTR VkResult VKAPI_CALL create_semaphore(VkDevice device, const VkSemaphoreCreateInfo* info,
                                                const VkAllocationCallbacks* callbacks, VkSemaphore* out) {
  VkSemaphoreCreateInfo own = *info;
  VkSemaphoreTypeCreateInfo type{};
  if (const auto* asked = find<VkSemaphoreTypeCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO)) {
    type = *asked;
    type.pNext = nullptr;
    own.pNext = &type;
  } else {
    own.pNext = nullptr;
  }
  const VkResult result = BELOW(device, vkCreateSemaphore)(device, &own, callbacks, out);
  if (result != VK_SUCCESS) return result;
  const std::lock_guard lock(mutex);
  semaphores.insert(*out);
  return result;
}

VKAPI_ATTR void VKAPI_CALL destroy_semaphore(VkDevice device, VkSemaphore semaphore,
                                             const VkAllocationCallbacks* callbacks) {
  {
    const std::lock_guard lock(mutex);
    semaphores.erase(semaphore);
    alike.erase(semaphore);
    std::erase_if(names, [&](const auto& each) { return each.second == semaphore; });
  }
  BELOW(device, vkDestroySemaphore)(device, semaphore, callbacks);
}

VKAPI_ATTR VkResult VKAPI_CALL get_semaphore_fd(VkDevice device, const VkSemaphoreGetFdInfoKHR* info, int* fd) {
  if (info->handleType == VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT) {
    BELOW(device, vkDeviceWaitIdle)(device);
    *fd = -1;
    return VK_SUCCESS;
  }
  *fd = ::memfd_create("vulkan stand-in semaphore", MFD_CLOEXEC);
  if (*fd < 0) return VK_ERROR_TOO_MANY_OBJECTS;
  const VkSemaphore named = real(info->semaphore);
  const std::lock_guard lock(mutex);
  names[inode_of(*fd)] = named;
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL import_semaphore_fd(VkDevice device, const VkImportSemaphoreFdInfoKHR* info) {
  if (info->handleType == VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT) {
    if (info->fd >= 0) {
      pollfd waited{info->fd, POLLIN, 0};
      if (::poll(&waited, 1, 10'000) != 1) return VK_ERROR_INVALID_EXTERNAL_HANDLE;
      ::close(info->fd);
    }
    VkQueue queue = VK_NULL_HANDLE;
    BELOW(device, vkGetDeviceQueue)(device, 0, 0, &queue);
    VkSubmitInfo submit{};
    submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    submit.signalSemaphoreCount = 1;
    submit.pSignalSemaphores = &info->semaphore;
    return BELOW(device, vkQueueSubmit)(queue, 1, &submit, VK_NULL_HANDLE);
  }
  const std::lock_guard lock(mutex);
  const auto found = names.find(inode_of(info->fd));
  if (found == names.end()) return VK_ERROR_INVALID_EXTERNAL_HANDLE;
  alike[info->semaphore] = found->second;
  ::close(info->fd);
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL counter(VkDevice device, VkSemaphore semaphore, std::uint64_t* value) {
  {
    const std::lock_guard lock(mutex);
    if (semaphores.count(semaphore) == 0) misused("a semaphore that was destroyed is asked for its value");
  }
  return BELOW(device, vkGetSemaphoreCounterValue)(device, real(semaphore), value);
}

VKAPI_ATTR VkResult VKAPI_CALL wait_semaphores(VkDevice device, const VkSemaphoreWaitInfo* info,
                                               std::uint64_t timeout) {
  std::vector<VkSemaphore> all(info->pSemaphores, info->pSemaphores + info->semaphoreCount);
  for (VkSemaphore& each : all) each = real(each);
  VkSemaphoreWaitInfo own = *info;
  own.pSemaphores = all.data();
  return BELOW(device, vkWaitSemaphores)(device, &own, timeout);
}

VKAPI_ATTR VkResult VKAPI_CALL signal_semaphore(VkDevice device, const VkSemaphoreSignalInfo* info) {
  VkSemaphoreSignalInfo own = *info;
  own.semaphore = real(own.semaphore);
  return BELOW(device, vkSignalSemaphore)(device, &own);
}

VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue queue, std::uint32_t count, const VkSubmitInfo* infos, VkFence fence) {
  std::vector<VkSubmitInfo> own(infos, infos + count);
  std::vector<std::vector<VkSemaphore>> lists;
  for (VkSubmitInfo& each : own) {
    for (const bool waits : {true, false}) {
      const VkSemaphore* const begin = waits ? each.pWaitSemaphores : each.pSignalSemaphores;
      lists.emplace_back(begin, begin + (waits ? each.waitSemaphoreCount : each.signalSemaphoreCount));
      for (VkSemaphore& semaphore : lists.back()) semaphore = real(semaphore);
      (waits ? each.pWaitSemaphores : each.pSignalSemaphores) = lists.back().data();
    }
  }
  return next_submit(queue, count, own.data(), fence);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_proc(VkDevice device, const char* name);

PFN_vkVoidFunction find_own(const char* name) {
#define OWN(call, function) \
  if (std::strcmp(name, #call) == 0) return reinterpret_cast<PFN_vkVoidFunction>(&function)
  OWN(vkCreateDevice, create_device);
  OWN(vkEnumerateDeviceExtensionProperties, device_extensions);
  OWN(vkGetPhysicalDeviceProperties2, properties);
  OWN(vkGetPhysicalDeviceFormatProperties2, format_properties);
  OWN(vkGetPhysicalDeviceExternalBufferProperties, external_buffers_of);
  OWN(vkGetPhysicalDeviceExternalSemaphoreProperties, external_semaphores_of);
  OWN(vkGetDeviceProcAddr, device_proc);
  OWN(vkAllocateMemory, allocate);
  OWN(vkFreeMemory, free_memory);
  OWN(vkGetMemoryFdKHR, get_fd);
  OWN(vkGetMemoryFdPropertiesKHR, fd_properties);
  OWN(vkCreateBuffer, create_buffer);
  OWN(vkDestroyBuffer, destroy_buffer);
  OWN(vkCmdPipelineBarrier, barrier);
  OWN(vkCmdCopyBuffer, copy_buffer);
  OWN(vkCreateImage, create_image);
  OWN(vkDestroyImage, destroy_image);
  OWN(vkBindImageMemory, bind_image);
  OWN(vkGetImageSubresourceLayout, subresource);
  OWN(vkCreateSemaphore, create_semaphore);
  OWN(vkDestroySemaphore, destroy_semaphore);
  OWN(vkGetSemaphoreFdKHR, get_semaphore_fd);
  OWN(vkImportSemaphoreFdKHR, import_semaphore_fd);
  OWN(vkGetSemaphoreCounterValue, counter);
  OWN(vkWaitSemaphores, wait_semaphores);
  OWN(vkSignalSemaphore, signal_semaphore);
  OWN(vkQueueSubmit, submit);
#undef OWN
  return nullptr;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_proc(VkDevice device, const char* name) {
  if (const auto own = find_own(name)) return own;
  return next_device(device, name);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL instance_proc(VkInstance of, const char* name) {
  if (std::strcmp(name, "vkGetInstanceProcAddr") == 0) return reinterpret_cast<PFN_vkVoidFunction>(&instance_proc);
  if (std::strcmp(name, "vkCreateInstance") == 0) return reinterpret_cast<PFN_vkVoidFunction>(&create_instance);
  if (const auto own = find_own(name)) return own;
  return next_instance ? next_instance(of, name) : nullptr;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* versions) {
  if (versions->loaderLayerInterfaceVersion < 2) return VK_ERROR_INITIALIZATION_FAILED;
  versions->loaderLayerInterfaceVersion = 2;
  versions->pfnGetInstanceProcAddr = instance_proc;
  versions->pfnGetDeviceProcAddr = device_proc;
  versions->pfnGetPhysicalDeviceProcAddr = nullptr;
  return VK_SUCCESS;
}
