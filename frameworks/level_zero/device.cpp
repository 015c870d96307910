// SPDX-License-Identifier: Apache-2.0
// The drivers and devices of the Level Zero loader, and their reported properties, on which all decisions of this
#include <tenon/frameworks/level_zero/device.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

#include <tenon/frameworks/level_zero/native.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero {

TENON_INLINE std::optional<std::uint32_t> Driver::extension(std::string_view name) const {
  for (const Extension& known : extensions)
    if (known.name == name) return known.version;
  return std::nullopt;
}

namespace detail {

TENON_INLINE std::vector<Extension> read_extensions(ze_driver_handle_t driver) {
  std::vector<Extension> extensions;
  for (const auto& known :
       list<ze_driver_extension_properties_t>("zeDriverGetExtensionProperties", "asking a driver for its extensions",
                                              {}, [&](std::uint32_t*count, ze_driver_extension_properties_t*entries) {
                                                return zeDriverGetExtensionProperties(driver, count, entries);
                                              }))
    extensions.push_back({std::string(known.name, ::strnlen(known.name, sizeof known.name)), known.version});
  return extensions;
}

TENON_INLINE std::shared_ptr<const Driver> read_driver(ze_driver_handle_t handle) {
  auto driver = std::make_shared<Driver>();
  driver->handle = handle;
  ze_api_version_t version{};
  check(call(zeDriverGetApiVersion, handle, &version), "zeDriverGetApiVersion", "asking a driver for its version");
  driver->api_version = static_cast<std::uint32_t>(version);
  auto properties = typed<ze_driver_properties_t>(ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES);
  check(call(zeDriverGetProperties, handle, &properties), "zeDriverGetProperties", "asking a driver what it is");
  driver->driver_version = properties.driverVersion;
  std::memcpy(driver->uuid.data(), properties.uuid.id, driver->uuid.size());
  driver->extensions = read_extensions(handle);
  return driver;
}

TENON_INLINE void read_queue_groups(Device& device) {
  const auto groups = list<ze_command_queue_group_properties_t>(
      "zeDeviceGetCommandQueueGroupProperties", "asking for the command queues of a device",
      typed<ze_command_queue_group_properties_t>(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES),
      [&](std::uint32_t* count, ze_command_queue_group_properties_t* entries) {
        return zeDeviceGetCommandQueueGroupProperties(device.handle, count, entries);
      });
  for (std::uint32_t ordinal = 0; ordinal < groups.size(); ++ordinal) {
    if (groups[ordinal].numQueues == 0) continue;
    const auto flags = groups[ordinal].flags;
    if ((flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE) && !device.compute_group) device.compute_group = ordinal;
    if ((flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY) && !device.copy_group) device.copy_group = ordinal;
  }
  if (!device.copy_group) device.copy_group = device.compute_group;  // By specification compute queues copy too.
}

/// The uuid if it identifies a single device; the PCI address if the driver reports it.
TENON_INLINE void read_identity(Device& device, const ze_device_properties_t& properties) {
  // All NPUs have the same uuid.
  if (std::memcmp(properties.uuid.id, abi::kNpuDeviceUuid, sizeof abi::kNpuDeviceUuid) != 0) {
    std::array<std::uint8_t, 16> uuid{};
    std::memcpy(uuid.data(), properties.uuid.id, uuid.size());
    device.identity.set(kDeviceUuid, uuid);
  }
  if (!device.driver->has("ZE_extension_pci_properties")) return;
  auto pci = typed<ze_pci_ext_properties_t>(ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES);
  check(call(zeDevicePciGetPropertiesExt, device.handle, &pci), "zeDevicePciGetPropertiesExt",
        [&] { return "asking for the address of " + device.name; });
  device.identity.set(kPciAddress,
                      PciAddress{pci.address.domain, pci.address.bus, pci.address.device, pci.address.function});
}

TENON_INLINE Device read_device(std::shared_ptr<const Driver> driver, ze_device_handle_t handle) {
  Device device;
  device.driver = std::move(driver);
  device.handle = handle;
  abi::MutableListProperties changeable;
  const bool has_mutable_lists = device.driver->has(abi::kMutableListExtension);
  auto properties =
      typed<ze_device_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, has_mutable_lists ? &changeable : nullptr);
  check(call(zeDeviceGetProperties, handle, &properties), "zeDeviceGetProperties", "asking a device what it is");
  device.type = properties.type;
  device.name = std::string(properties.name, ::strnlen(properties.name, sizeof properties.name));
  device.vendor_id = properties.vendorId, device.device_id = properties.deviceId;
  device.subdevice_id = properties.subdeviceId;
  device.slices = properties.numSlices;
  device.max_allocation = properties.maxMemAllocSize;
  device.timer_resolution = properties.timerResolution;
  device.timestamp_bits = properties.timestampValidBits;
  device.integrated = (properties.flags & ZE_DEVICE_PROPERTY_FLAG_INTEGRATED) != 0;
  device.mutable_commands = changeable.command_flags;

  device.access = typed<ze_device_memory_access_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_MEMORY_ACCESS_PROPERTIES);
  const ze_result_t access = call(zeDeviceGetMemoryAccessProperties, handle, &device.access);
  if (access == ZE_RESULT_ERROR_UNSUPPORTED_FEATURE) {
    // NPU drivers before 2025 do not report this; by the NPU driver's contract they accept everything but arbitrary
    // pointers.
    if (device.type == ZE_DEVICE_TYPE_VPU)
      device.access.hostAllocCapabilities = device.access.deviceAllocCapabilities =
          device.access.sharedSingleDeviceAllocCapabilities = ZE_MEMORY_ACCESS_CAP_FLAG_RW;
  } else {
    check(access, "zeDeviceGetMemoryAccessProperties", [&] { return "asking what memory " + device.name + " takes"; });
  }
  auto external = typed<ze_device_external_memory_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_EXTERNAL_MEMORY_PROPERTIES);
  const ze_result_t imports = call(zeDeviceGetExternalMemoryProperties, handle, &external);
  if (imports != ZE_RESULT_ERROR_UNSUPPORTED_FEATURE)
    check(imports, "zeDeviceGetExternalMemoryProperties",
          [&] { return "asking what memory of others " + device.name + " takes"; });
  device.import_types = external.memoryAllocationImportTypes;
  device.export_types = external.memoryAllocationExportTypes;
  read_queue_groups(device);
  read_identity(device, properties);
  return device;
}

/// True for codes by which a loader reports that nothing was found, as opposed to a failure.
TENON_INLINE bool means_none(ze_result_t result) {
  return result == ZE_RESULT_ERROR_UNINITIALIZED || result == ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE ||
         result == ZE_RESULT_ERROR_UNSUPPORTED_FEATURE || result == ZE_RESULT_ERROR_NOT_AVAILABLE;
}

TENON_INLINE std::vector<ze_driver_handle_t> init_drivers(abi::InitDrivers init) {
  abi::InitDriverTypeDescriptor any;
  any.flags = ~std::uint32_t{0};
  std::uint32_t count = 0;
  ze_result_t result = call(init, &count, static_cast<ze_driver_handle_t*>(nullptr), &any);
  std::vector<ze_driver_handle_t> handles(count);
  if (result == ZE_RESULT_SUCCESS && count) result = call(init, &count, handles.data(), &any);
  if (means_none(result)) return {};
  check(result, "zeInitDrivers", "looking for drivers");
  handles.resize(std::min<std::size_t>(count, handles.size()));
  return handles;
}

TENON_INLINE std::vector<ze_driver_handle_t> driver_handles() {
  // zeInit comes first, since it remembers that there is no driver: the second zeInitDrivers after that reads a null table
  // in the loader 1.20, Debian 13's.
  const ze_result_t result = call(zeInit, ze_init_flags_t{0});
  if (means_none(result)) return {};
  check(result, "zeInit", "starting Level Zero");
  if (newer().init_drivers) {
    std::vector<ze_driver_handle_t> handles = init_drivers(newer().init_drivers);
    if (!handles.empty()) return handles;
  }
  return list<ze_driver_handle_t>(
      "zeDriverGet", "looking for drivers", nullptr,
      [](std::uint32_t* count, ze_driver_handle_t* entries) { return zeDriverGet(count, entries); });
}

TENON_INLINE std::string typable(std::string_view name) {
  constexpr std::size_t kLongest = 32;
  std::string text;
  for (; !name.empty() && text.size() < kLongest; name.remove_prefix(1)) {
    if (name.starts_with("(R)") || name.starts_with("(TM)") || name.starts_with("(tm)"))
      name.remove_prefix(name.find(')'));
    const char c = name.front();
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'))
      text += c;
    else if (c >= 'A' && c <= 'Z')
      text += static_cast<char>(c - 'A' + 'a');
    else if (!text.empty() && text.back() != '-')
      text += '-';
  }
  while (!text.empty() && text.back() == '-') text.pop_back();
  return text;
}

}  // namespace detail

TENON_INLINE std::vector<std::shared_ptr<const Driver>> drivers() {
  std::vector<std::shared_ptr<const Driver>> found;
  for (ze_driver_handle_t handle : detail::driver_handles()) found.push_back(detail::read_driver(handle));
  return found;
}

TENON_INLINE std::vector<Device> devices(const std::shared_ptr<const Driver>& driver) {
  std::vector<Device> found;
  for (ze_device_handle_t handle : detail::list<ze_device_handle_t>(
           "zeDeviceGet", "looking for devices", nullptr, [&](std::uint32_t*count, ze_device_handle_t*entries) {
             return zeDeviceGet(driver->handle, count, entries);
           }))
    found.push_back(detail::read_device(driver, handle));
  return found;
}

TENON_INLINE std::vector<Device> devices() {
  std::vector<Device> found;
  for (const auto& driver : drivers())
    for (Device& device : devices(driver)) found.push_back(std::move(device));
  return found;
}

}  // namespace level_zero
}  // namespace v1
}  // namespace tenon
