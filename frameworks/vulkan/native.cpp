// SPDX-License-Identifier: Apache-2.0
// Finds the loader and its calls, and turns codes into errors.
#include <tenon/frameworks/vulkan/native.hpp>

#include <dlfcn.h>

namespace tenon {
inline namespace v1 {
namespace vulkan {
namespace detail {

TENON_INLINE Loaded load() {
  Loaded loaded;
  void* const library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);  // Never closed: drivers do not survive it.
  if (!library) {
    const char* const why = ::dlerror();
    loaded.missing = std::string("vulkan: no loader on this machine: ") + (why ? why : kLibrary) +
                     "; install it (Debian: libvulkan1) with a driver (mesa-vulkan-drivers, or the vendor's)";
    return loaded;
  }
  loaded.get_instance_proc_addr =
      reinterpret_cast<PFN_vkGetInstanceProcAddr>(::dlsym(library, "vkGetInstanceProcAddr"));
  if (loaded.get_instance_proc_addr) {
    loaded.create_instance =
        reinterpret_cast<PFN_vkCreateInstance>(loaded.get_instance_proc_addr(nullptr, "vkCreateInstance"));
    loaded.instance_version = reinterpret_cast<PFN_vkEnumerateInstanceVersion>(
        loaded.get_instance_proc_addr(nullptr, "vkEnumerateInstanceVersion"));
  }
  if (!loaded.create_instance || !loaded.instance_version)
    loaded.missing =
        std::string("vulkan: ") + kLibrary + " is a loader of Vulkan 1.0; Tenon needs 1.2: install a newer one";
  return loaded;
}

TENON_INLINE const Loaded& loaded() {
  static const auto* once = new Loaded(load());  // Outlives static destructors.
  return *once;
}

TENON_INLINE const Loaded& loader() {
  if (!loaded().missing.empty()) throw Error(Code::kUnavailable, loaded().missing);
  return loaded();
}

TENON_INLINE InstanceCalls find_calls(VkInstance instance, PFN_vkGetInstanceProcAddr get) {
  InstanceCalls calls;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(get(instance, name));
    if (!function)
      throw Error(Code::kUnavailable, std::string("vulkan: the VkInstance has no ") + name +
                                          ": make it with VkApplicationInfo::apiVersion of Vulkan 1.2 or newer");
  };
#define TENON_VULKAN_FIND(name) find(calls.name, #name);
  TENON_VULKAN_INSTANCE_CALLS(TENON_VULKAN_FIND)
#undef TENON_VULKAN_FIND
  return calls;
}

TENON_INLINE DeviceCalls find_calls(const InstanceCalls& instance, VkDevice device) {
  DeviceCalls calls;
  const auto find = [&](auto& function, const char* name, bool needed) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(instance.vkGetDeviceProcAddr(device, name));
    if (!function && needed)
      throw Error(Code::kUnavailable, std::string("vulkan: the VkDevice has no ") + name +
                                          ": Tenon needs a device of Vulkan 1.2, with the feature timelineSemaphore");
  };
#define TENON_VULKAN_FIND(name) find(calls.name, #name, true);
  TENON_VULKAN_DEVICE_CALLS(TENON_VULKAN_FIND)
#undef TENON_VULKAN_FIND
#define TENON_VULKAN_FIND(name) find(calls.name, #name, false);
  TENON_VULKAN_EXTENSION_CALLS(TENON_VULKAN_FIND)
#undef TENON_VULKAN_FIND
  return calls;
}

}  // namespace detail

TENON_INLINE std::string result_name(VkResult result) {
  switch (result) {
#define TENON_VULKAN_NAME(name) \
  case name:                    \
    return #name;
    TENON_VULKAN_NAME(VK_SUCCESS)
    TENON_VULKAN_NAME(VK_NOT_READY)
    TENON_VULKAN_NAME(VK_TIMEOUT)
    TENON_VULKAN_NAME(VK_INCOMPLETE)
    TENON_VULKAN_NAME(VK_ERROR_OUT_OF_HOST_MEMORY)
    TENON_VULKAN_NAME(VK_ERROR_OUT_OF_DEVICE_MEMORY)
    TENON_VULKAN_NAME(VK_ERROR_INITIALIZATION_FAILED)
    TENON_VULKAN_NAME(VK_ERROR_DEVICE_LOST)
    TENON_VULKAN_NAME(VK_ERROR_MEMORY_MAP_FAILED)
    TENON_VULKAN_NAME(VK_ERROR_LAYER_NOT_PRESENT)
    TENON_VULKAN_NAME(VK_ERROR_EXTENSION_NOT_PRESENT)
    TENON_VULKAN_NAME(VK_ERROR_FEATURE_NOT_PRESENT)
    TENON_VULKAN_NAME(VK_ERROR_INCOMPATIBLE_DRIVER)
    TENON_VULKAN_NAME(VK_ERROR_TOO_MANY_OBJECTS)
    TENON_VULKAN_NAME(VK_ERROR_FORMAT_NOT_SUPPORTED)
    TENON_VULKAN_NAME(VK_ERROR_FRAGMENTED_POOL)
    TENON_VULKAN_NAME(VK_ERROR_OUT_OF_POOL_MEMORY)
    TENON_VULKAN_NAME(VK_ERROR_INVALID_EXTERNAL_HANDLE)
    TENON_VULKAN_NAME(VK_ERROR_INVALID_DRM_FORMAT_MODIFIER_PLANE_LAYOUT_EXT)
    TENON_VULKAN_NAME(VK_ERROR_NOT_PERMITTED_KHR)
#undef TENON_VULKAN_NAME
    default:
      return "a VkResult";
  }
}

namespace detail {

[[noreturn]] TENON_INLINE void fail(VkResult result, const char* call, const std::string& what) {
  throw Error(code_of(result), "vulkan: " + what + ": " + result_name(result), call, result);
}

}  // namespace detail
}  // namespace vulkan
}  // namespace v1
}  // namespace tenon
