// SPDX-License-Identifier: Apache-2.0
// The drivers and devices of the Level Zero loader, and their reported properties, on which all decisions of this
// framework are based.
#pragma once

#include <string.h>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/device_identity.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/frameworks/level_zero/native.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero {

struct Extension {
  std::string name;
  std::uint32_t version = 0;  ///< abi::version(major, minor)
};

/// Facts about one driver, read once.
struct Driver {
  ze_driver_handle_t handle = nullptr;
  std::uint32_t api_version = 0;     ///< abi::version(major, minor)
  std::uint32_t driver_version = 0;  ///< The vendor's numbering.
  std::array<std::uint8_t, 16> uuid{};
  std::vector<Extension> extensions;

  /// True for the driver of Intel's NPUs, or one that reports the same uuid, as Tenon's software NPU does.
  bool is_npu() const { return std::memcmp(uuid.data(), abi::kNpuDriverUuid, uuid.size()) == 0; }
  /// The version of an extension, by its full name; nothing if the driver does not report it.
  std::optional<std::uint32_t> extension(std::string_view name) const;
  bool has(std::string_view name) const { return extension(name).has_value(); }
};

/// Facts about one device, read once.
struct Device {
  std::shared_ptr<const Driver> driver;
  ze_device_handle_t handle = nullptr;
  ze_device_type_t type = ZE_DEVICE_TYPE_GPU;
  std::string name;
  std::uint32_t vendor_id = 0, device_id = 0, subdevice_id = 0;
  std::uint32_t slices = 0;            ///< For an NPU: its tiles.
  std::uint64_t max_allocation = 0;    ///< Largest allocation, bytes.
  std::uint64_t timer_resolution = 0;  ///< Cycles per second, or nanoseconds per cycle before API 1.2.
  std::uint32_t timestamp_bits = 0;
  bool integrated = false;                        ///< It shares the host's physical memory.
  ze_device_memory_access_properties_t access{};  ///< What the device can do with each kind of memory.
  std::uint32_t import_types = 0;  ///< ze_external_memory_type_flag_t bits, and abi::kStandardAllocation.
  std::uint32_t export_types = 0;
  std::uint32_t mutable_commands = 0;  ///< abi::MutableCommandFlag bits; 0: no mutable command lists.
  std::optional<std::uint32_t> compute_group, copy_group;  ///< Ordinals of command-queue groups.
  DeviceIdentity identity;

  bool is_npu() const { return type == ZE_DEVICE_TYPE_VPU; }
  /// The device can access host allocations.
  bool takes_host() const { return (access.hostAllocCapabilities & ZE_MEMORY_ACCESS_CAP_FLAG_RW) != 0; }
  bool takes_device() const { return (access.deviceAllocCapabilities & ZE_MEMORY_ACCESS_CAP_FLAG_RW) != 0; }
  bool takes_shared() const { return (access.sharedSingleDeviceAllocCapabilities & ZE_MEMORY_ACCESS_CAP_FLAG_RW) != 0; }
  /// The device accepts any host pointer without an import.
  bool takes_any_pointer() const { return (access.sharedSystemAllocCapabilities & ZE_MEMORY_ACCESS_CAP_FLAG_RW) != 0; }
  /// The CPU may use the addresses of device allocations: the NPU driver guarantees this for integrated NPUs, which use
  /// host memory. Level Zero has no property for it, so it is assumed for no other driver.
  bool maps_device_memory() const { return is_npu() && integrated && driver->is_npu(); }
  bool imports_dmabuf() const { return (import_types & ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF) != 0; }
  bool exports_dmabuf() const { return (export_types & ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF) != 0; }
  bool imports_opaque() const { return (import_types & ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD) != 0; }
  bool exports_opaque() const { return (export_types & ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD) != 0; }
  /// The driver imports whole pages of malloc and mmap.
  bool imports_system_memory() const { return driver->has(abi::kSystemMemoryExtension); }
};

namespace detail {

/// Uses zeInitDrivers, where loader and drivers have it.
std::vector<ze_driver_handle_t> init_drivers(abi::InitDrivers init);

/// A name that can be typed: at most 32 lower-case letters, digits and dashes.
std::string typable(std::string_view name);

}  // namespace detail

/// All drivers of the loader, in its order. An empty list is a valid answer, not a failure.
/// @errors failing queries of a driver's properties. @cost the first call loads the drivers: some milliseconds.
std::vector<std::shared_ptr<const Driver>> drivers();

/// The devices of a driver. @errors as drivers()
std::vector<Device> devices(const std::shared_ptr<const Driver>& driver);

/// Every device of every driver. @errors as drivers()
std::vector<Device> devices();

}  // namespace level_zero
}  // namespace v1
}  // namespace tenon
