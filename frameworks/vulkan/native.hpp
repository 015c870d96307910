// SPDX-License-Identifier: Apache-2.0
// The calls of Vulkan: libvulkan.so.1 loaded by name, codes become errors, and tests can make any call fail.
#pragma once

#include <string>
#include <type_traits>

#include <vulkan/vulkan_core.h>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/native_calls.hpp>

// The calls that Tenon makes, by what they belong to. Those of extensions are null where a device was made without them.
#define TENON_VULKAN_INSTANCE_CALLS(X)              \
  X(vkDestroyInstance)                              \
  X(vkEnumeratePhysicalDevices)                     \
  X(vkEnumerateDeviceExtensionProperties)           \
  X(vkGetPhysicalDeviceProperties2)                 \
  X(vkGetPhysicalDeviceFeatures2)                   \
  X(vkGetPhysicalDeviceMemoryProperties)            \
  X(vkGetPhysicalDeviceQueueFamilyProperties)       \
  X(vkGetPhysicalDeviceFormatProperties2)           \
  X(vkGetPhysicalDeviceImageFormatProperties2)      \
  X(vkGetPhysicalDeviceExternalBufferProperties)    \
  X(vkGetPhysicalDeviceExternalSemaphoreProperties) \
  X(vkCreateDevice)                                 \
  X(vkGetDeviceProcAddr)
#define TENON_VULKAN_DEVICE_CALLS(X) \
  X(vkDestroyDevice)                 \
  X(vkGetDeviceQueue)                \
  X(vkAllocateMemory)                \
  X(vkFreeMemory)                    \
  X(vkMapMemory)                     \
  X(vkCreateBuffer)                  \
  X(vkDestroyBuffer)                 \
  X(vkGetBufferMemoryRequirements)   \
  X(vkBindBufferMemory)              \
  X(vkCreateImage)                   \
  X(vkDestroyImage)                  \
  X(vkGetImageMemoryRequirements)    \
  X(vkBindImageMemory)               \
  X(vkGetImageSubresourceLayout)     \
  X(vkCreateSemaphore)               \
  X(vkDestroySemaphore)              \
  X(vkGetSemaphoreCounterValue)      \
  X(vkWaitSemaphores)                \
  X(vkSignalSemaphore)               \
  X(vkCreateCommandPool)             \
  X(vkDestroyCommandPool)            \
  X(vkAllocateCommandBuffers)        \
  X(vkBeginCommandBuffer)            \
  X(vkEndCommandBuffer)              \
  X(vkQueueSubmit)                   \
  X(vkCmdCopyBuffer)                 \
  X(vkCmdCopyImageToBuffer)          \
  X(vkCmdCopyBufferToImage)          \
  X(vkCmdPipelineBarrier)
#define TENON_VULKAN_EXTENSION_CALLS(X)       \
  X(vkGetMemoryFdKHR)                         \
  X(vkGetMemoryFdPropertiesKHR)               \
  X(vkGetMemoryHostPointerPropertiesEXT)      \
  X(vkGetImageDrmFormatModifierPropertiesEXT) \
  X(vkGetSemaphoreFdKHR)                      \
  X(vkImportSemaphoreFdKHR)

namespace tenon {
inline namespace v1 {
namespace vulkan {
namespace detail {

/// Every native call passes through injected(), and every object is counted.
struct TENON_API VulkanCalls;
using Probe = CallProbe<VulkanCalls>;
inline constexpr VkResult kInjected = VK_ERROR_OUT_OF_DEVICE_MEMORY;

#define TENON_VULKAN_MEMBER(name) PFN_##name name = nullptr;
/// The calls of one VkInstance.
struct InstanceCalls {
  TENON_VULKAN_INSTANCE_CALLS(TENON_VULKAN_MEMBER)
};
/// The calls of one VkDevice.
struct DeviceCalls {
  TENON_VULKAN_DEVICE_CALLS(TENON_VULKAN_MEMBER)
  TENON_VULKAN_EXTENSION_CALLS(TENON_VULKAN_MEMBER)
};
#undef TENON_VULKAN_MEMBER

/// The loader of this process, or why there is none.
struct Loaded {
  PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;
  PFN_vkCreateInstance create_instance = nullptr;
  PFN_vkEnumerateInstanceVersion instance_version = nullptr;
  std::string missing;  ///< Empty: it works.
};

inline constexpr const char* kLibrary = "libvulkan.so.1";

const Loaded& loaded();
/// @errors kUnavailable: no loader, or one of Vulkan 1.0.
const Loaded& loader();
/// @errors kUnavailable: an instance before Vulkan 1.1, named.
InstanceCalls find_calls(VkInstance instance, PFN_vkGetInstanceProcAddr get);
/// @errors kUnavailable: a device before Vulkan 1.2, named.
DeviceCalls find_calls(const InstanceCalls& instance, VkDevice device);

constexpr Code code_of(VkResult result) {
  switch (result) {
    case VK_NOT_READY:
    case VK_TIMEOUT:
      return Code::kDeadlineExceeded;
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_OUT_OF_POOL_MEMORY:
    case VK_ERROR_TOO_MANY_OBJECTS:
    case VK_ERROR_FRAGMENTED_POOL:
      return Code::kResourceExhausted;
    case VK_ERROR_INVALID_EXTERNAL_HANDLE:
    case VK_ERROR_INVALID_DRM_FORMAT_MODIFIER_PLANE_LAYOUT_EXT:
      return Code::kInvalidArgument;
    case VK_ERROR_FEATURE_NOT_PRESENT:
    case VK_ERROR_EXTENSION_NOT_PRESENT:
    case VK_ERROR_FORMAT_NOT_SUPPORTED:
      return Code::kUnimplemented;
    case VK_ERROR_INITIALIZATION_FAILED:
    case VK_ERROR_INCOMPATIBLE_DRIVER:
    case VK_ERROR_LAYER_NOT_PRESENT:
      return Code::kUnavailable;
    case VK_ERROR_NOT_PERMITTED_KHR:
      return Code::kPermissionDenied;
    case VK_ERROR_DEVICE_LOST:
      return Code::kAborted;
    case VK_ERROR_MEMORY_MAP_FAILED:
      return Code::kFailedPrecondition;
    default:
      return Code::kInternal;
  }
}

}  // namespace detail

/// "VK_ERROR_DEVICE_LOST", for messages; "a VkResult" for those that are not known here.
std::string result_name(VkResult result);

namespace detail {

[[noreturn]] void fail(VkResult result, const char* call, const std::string& what);

/// The only place where codes become exceptions. `what` is a text, or a function that makes it on demand.
template <typename What>
void check(VkResult result, const char* call, const What& what) {
  if (result == VK_SUCCESS) return;
  if constexpr (std::is_invocable_v<What>)
    fail(result, call, what());
  else
    fail(result, call, what);
}

template <typename... Parameters>
VkResult call(VkResult (*function)(Parameters...), std::type_identity_t<Parameters>... arguments) {
  return Probe::injected() ? kInjected : function(arguments...);
}

/// A structure of Vulkan with its type, else zeros.
template <typename T>
T typed(VkStructureType type, const void* next = nullptr) {
  T made{};
  made.sType = type;
  made.pNext = const_cast<std::remove_const_t<std::remove_pointer_t<decltype(made.pNext)>>*>(next);
  return made;
}

}  // namespace detail
}  // namespace vulkan
}  // namespace v1
}  // namespace tenon
