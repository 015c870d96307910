// SPDX-License-Identifier: Apache-2.0
// What a physical device is, and the VkInstance and VkDevice that Tenon makes.
#include <tenon/frameworks/vulkan/device.hpp>

#include <algorithm>
#include <array>
#include <cstring>

#include <sys/sysmacros.h>

#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {
namespace vulkan {

TENON_INLINE bool Device::has(const char* extension) const {
  return std::find(extensions.begin(), extensions.end(), extension) != extensions.end();
}

namespace detail {

/// What Tenon uses of a device that has it.
inline constexpr const char* kUsedExtensions[] = {
    VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME,    VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME,
    VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME,  VK_EXT_IMAGE_DRM_FORMAT_MODIFIER_EXTENSION_NAME,
    VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME, VK_EXT_QUEUE_FAMILY_FOREIGN_EXTENSION_NAME};

TENON_INLINE Device read_device(const InstanceCalls& calls, VkPhysicalDevice physical) {
  Device device;
  std::uint32_t count = 0;
  const auto what = "asking for a device's extensions";
  check(call(calls.vkEnumerateDeviceExtensionProperties, physical, nullptr, &count, nullptr),
        "vkEnumerateDeviceExtensionProperties", what);
  std::vector<VkExtensionProperties> extensions(count);
  check(call(calls.vkEnumerateDeviceExtensionProperties, physical, nullptr, &count, extensions.data()),
        "vkEnumerateDeviceExtensionProperties", what);
  for (const VkExtensionProperties& extension : extensions) device.extensions.emplace_back(extension.extensionName);

  auto drm = typed<VkPhysicalDeviceDrmPropertiesEXT>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRM_PROPERTIES_EXT);
  auto pci =
      typed<VkPhysicalDevicePCIBusInfoPropertiesEXT>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT);
  auto host = typed<VkPhysicalDeviceExternalMemoryHostPropertiesEXT>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT);
  auto ids = typed<VkPhysicalDeviceIDProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES);
  auto limits =
      typed<VkPhysicalDeviceMaintenance3Properties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES, &ids);
  auto all = typed<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &limits);
  const auto ask = [&](auto& properties, const char* extension) {
    if (!device.has(extension)) return;
    properties.pNext = all.pNext;
    all.pNext = &properties;
  };
  ask(drm, VK_EXT_PHYSICAL_DEVICE_DRM_EXTENSION_NAME);
  ask(pci, VK_EXT_PCI_BUS_INFO_EXTENSION_NAME);
  ask(host, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
  calls.vkGetPhysicalDeviceProperties2(physical, &all);
  device.name = all.properties.deviceName;
  device.type = all.properties.deviceType;
  device.version = all.properties.apiVersion;
  device.largest_image_px = all.properties.limits.maxImageDimension2D;
  device.largest_allocation = static_cast<std::size_t>(limits.maxMemoryAllocationSize);
  device.host_alignment = static_cast<std::size_t>(host.minImportedHostPointerAlignment);
  std::memcpy(device.driver_uuid, ids.driverUUID, sizeof device.driver_uuid);
  const auto uuid = std::to_array(ids.deviceUUID);
  device.exporter.set(kDeviceUuid, uuid);
  if (device.is_cpu()) {
    device.identity.set(kHostCpu, std::uint8_t{1});
  } else {
    device.identity.set(kDeviceUuid, uuid);
    if (ids.deviceLUIDValid) device.identity.set(kDeviceLuid, std::to_array(ids.deviceLUID));
    if (device.has(VK_EXT_PCI_BUS_INFO_EXTENSION_NAME))
      device.identity.set(kPciAddress, PciAddress{pci.pciDomain, pci.pciBus, pci.pciDevice, pci.pciFunction});
    if (drm.hasRender)
      device.identity.set(kDrmNode, std::uint64_t{makedev(static_cast<unsigned>(drm.renderMajor),
                                                          static_cast<unsigned>(drm.renderMinor))});
  }
  if (device.version >= VK_API_VERSION_1_2) {
    auto eleven = typed<VkPhysicalDeviceVulkan11Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES);
    auto twelve =
        typed<VkPhysicalDeviceVulkan12Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, &eleven);
    auto features = typed<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &twelve);
    calls.vkGetPhysicalDeviceFeatures2(physical, &features);
    device.timeline_semaphores = twelve.timelineSemaphore != VK_FALSE;
    device.ycbcr = eleven.samplerYcbcrConversion != VK_FALSE;
  }
  return device;
}

TENON_INLINE std::string device_obstacle(const Device& device) {
  if (device.version < VK_API_VERSION_1_2)
    return device.name + " has Vulkan " + std::to_string(VK_API_VERSION_MAJOR(device.version)) + "." +
           std::to_string(VK_API_VERSION_MINOR(device.version)) + "; Tenon needs 1.2";
  if (!device.timeline_semaphores) return device.name + " has no timeline semaphores";
  return {};
}

TENON_INLINE std::string typable(const std::string& name) {
  std::string text;
  for (const char c : name) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
      text += upper ? static_cast<char>(c - 'A' + 'a') : c;
    else if (c == '(')
      break;  // Versions of compilers and the like.
    else if (!text.empty() && text.back() != '-')
      text += '-';
  }
  while (!text.empty() && text.back() == '-') text.pop_back();
  return text;
}

TENON_INLINE Ref<Instance> Instance::process() {
  static std::mutex mutex;
  static auto* const kept = new Ref<Instance>;  // Outlives static destructors. A failure is tried again.
  const std::lock_guard lock(mutex);
  if (*kept) return *kept;
  const Loaded& loader = detail::loader();
  std::uint32_t version = 0;
  check(loader.instance_version(&version), "vkEnumerateInstanceVersion", "asking for Vulkan's version");
  auto application = typed<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
  application.pApplicationName = "Tenon";
  application.apiVersion = VK_API_VERSION_1_2;
  auto info = typed<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
  info.pApplicationInfo = &application;
  if (version < VK_API_VERSION_1_2)
    throw Error(Code::kUnavailable, "vulkan: the loader has Vulkan 1.1; Tenon needs 1.2: install a newer libvulkan1");
  Ref<Instance> made(new Instance);
  check(call(loader.create_instance, &info, nullptr, &made->handle_), "vkCreateInstance",
        "starting Vulkan (is a driver installed? Debian: mesa-vulkan-drivers)");
  made->calls_ = find_calls(made->handle_, loader.get_instance_proc_addr);
  *kept = made;
  return made;
}

TENON_INLINE Instance::~Instance() {
  if (handle_) calls_.vkDestroyInstance(handle_, nullptr);
}

TENON_INLINE std::vector<VkPhysicalDevice> Instance::devices() const {
  std::uint32_t count = 0;
  check(call(calls_.vkEnumeratePhysicalDevices, handle_, &count, nullptr), "vkEnumeratePhysicalDevices",
        "counting devices");
  std::vector<VkPhysicalDevice> all(count);
  if (count != 0)
    check(call(calls_.vkEnumeratePhysicalDevices, handle_, &count, all.data()), "vkEnumeratePhysicalDevices",
          "listing devices");
  return all;
}

/// The family for copies: one of graphics or compute copies anything; a family of transfers alone may want coarse blocks.
TENON_INLINE std::uint32_t find_family(const InstanceCalls& calls, VkPhysicalDevice physical, const Device& device) {
  std::uint32_t count = 0;
  calls.vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  calls.vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families.data());
  for (const VkQueueFlags wanted : {VK_QUEUE_COMPUTE_BIT, VK_QUEUE_GRAPHICS_BIT})
    for (std::uint32_t i = 0; i < count; ++i)
      if ((families[i].queueFlags & static_cast<VkQueueFlags>(wanted)) && families[i].queueCount != 0) return i;
  throw Error(Code::kUnavailable, "vulkan: " + device.name + " has no queue for compute or graphics");
}

TENON_INLINE Ref<Native> Native::make(Ref<Instance> instance, VkPhysicalDevice physical) {
  Ref<Native> native(new Native);
  native->instance_calls_ = instance->calls();
  native->device_ = read_device(instance->calls(), physical);
  if (const std::string obstacle = device_obstacle(native->device_); !obstacle.empty())
    throw Error(Code::kUnavailable, "vulkan: " + obstacle);
  Handles& handles = native->handles_;
  handles.instance = instance->handle();
  handles.physical_device = physical;
  handles.queue_family = find_family(instance->calls(), physical, native->device_);
  std::vector<const char*> names;
  for (const char* extension : kUsedExtensions)
    if (native->device_.has(extension)) names.push_back(extension), handles.extensions.emplace_back(extension);
  const float priority = 1;
  auto queue = typed<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
  queue.queueFamilyIndex = handles.queue_family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  auto eleven = typed<VkPhysicalDeviceVulkan11Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES);
  eleven.samplerYcbcrConversion = native->device_.ycbcr ? VK_TRUE : VK_FALSE;
  auto twelve = typed<VkPhysicalDeviceVulkan12Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, &eleven);
  twelve.timelineSemaphore = VK_TRUE;
  auto info = typed<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &twelve);
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<std::uint32_t>(names.size());
  info.ppEnabledExtensionNames = names.data();
  check(call(instance->calls().vkCreateDevice, physical, &info, nullptr, &handles.device), "vkCreateDevice",
        [&] { return "opening " + native->device_.name; });
  native->owns_device_ = true;
  native->instance_ = std::move(instance);
  Probe::handles.fetch_add(1, std::memory_order_relaxed);
  native->calls_ = find_calls(native->instance_calls_, handles.device);
  native->calls_.vkGetDeviceQueue(handles.device, handles.queue_family, 0, &handles.queue);
  native->open_queue();
  return native;
}

TENON_INLINE Ref<Native> Native::over(const Handles& handles) {
  const auto refuse = [](const std::string& why) { throw Error(Code::kInvalidArgument, "vulkan::wrap: " + why); };
  if (!handles.instance || !handles.physical_device || !handles.device || !handles.queue)
    refuse(std::string("a null ") + (!handles.instance          ? "VkInstance"
                                     : !handles.physical_device ? "VkPhysicalDevice"
                                     : !handles.device          ? "VkDevice"
                                                                : "VkQueue"));
  Ref<Native> native(new Native);
  native->handles_ = handles;
  if (!native->handles_.get_instance_proc_addr)
    native->handles_.get_instance_proc_addr = loader().get_instance_proc_addr;
  native->instance_calls_ = find_calls(handles.instance, native->handles_.get_instance_proc_addr);
  native->device_ = read_device(native->instance_calls_, handles.physical_device);
  if (const std::string obstacle = device_obstacle(native->device_); !obstacle.empty())
    throw Error(Code::kUnavailable, "vulkan: " + obstacle);
  std::uint32_t count = 0;
  native->instance_calls_.vkGetPhysicalDeviceQueueFamilyProperties(handles.physical_device, &count, nullptr);
  if (handles.queue_family >= count)
    refuse("queue family " + std::to_string(handles.queue_family) + "; " + native->device_.name + " has " +
           std::to_string(count));
  for (const std::string& extension : handles.extensions)
    if (!native->device_.has(extension.c_str()))
      refuse("the VkDevice cannot have been made with " + extension + ", which " + native->device_.name + " lacks");
  native->calls_ = find_calls(native->instance_calls_, handles.device);
  native->open_queue();
  return native;
}

TENON_INLINE bool Native::enabled(const char* extension) const {
  return std::find(handles_.extensions.begin(), handles_.extensions.end(), extension) != handles_.extensions.end();
}

TENON_INLINE std::optional<std::uint32_t> Native::find_memory(std::uint32_t allowed, VkMemoryPropertyFlags wanted,
                                                              VkMemoryPropertyFlags better) const {
  for (const VkMemoryPropertyFlags flags : {wanted | better, wanted})
    for (std::uint32_t i = 0; i < memories_.memoryTypeCount; ++i)
      if ((allowed >> i & 1u) && (memories_.memoryTypes[i].propertyFlags & flags) == flags) return i;
  return std::nullopt;
}

}  // namespace detail
}  // namespace vulkan
}  // namespace v1
}  // namespace tenon
