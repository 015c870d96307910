// SPDX-License-Identifier: Apache-2.0
// The driver extension of NPUs, 1.0 (tables of other extensions by version), and the uuids that identify NPUs.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/frameworks/level_zero/abi/base.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero::abi {

inline constexpr char kDriverNpuExtension[] = "ZE_extension_driver_npu";
inline constexpr std::uint32_t kDriverNpuVersion = version(1, 0);

/// In ze_driver_properties_t: a driver for Intel's NPUs.
inline constexpr std::uint8_t kNpuDriverUuid[16] = {0x01, 0x7d, 0xe9, 0x31, 0x6b, 0x4d, 0x4f, 0xd4,
                                                    0xaa, 0x9b, 0x5b, 0xed, 0x77, 0xfc, 0x8e, 0x89};
/// In ze_device_properties_t.
inline constexpr std::uint8_t kNpuDeviceUuid[16] = {0x80, 0xd1, 0xd1, 0x1e, 0xb7, 0x38, 0x11, 0xea,
                                                    0xb3, 0xde, 0x02, 0x42, 0xac, 0x13, 0x00, 0x04};
static_assert(sizeof(kNpuDriverUuid) == ZE_MAX_DRIVER_UUID_SIZE && sizeof(kNpuDeviceUuid) == ZE_MAX_DEVICE_UUID_SIZE);

enum class DriverNpuStructure : std::uint32_t { kExtension = 0x1 };

struct DriverNpuExtension {
  DriverNpuStructure stype = DriverNpuStructure::kExtension;
  const void* next = nullptr;
  const char* name = nullptr;  ///< Extension whose table is wanted.
  std::uint32_t version = 0;   ///< Version of that table.
  void** table = nullptr;      ///< Receives the table's address.
};
static_assert(sizeof(DriverNpuExtension) == 40 && offsetof(DriverNpuExtension, name) == 16 &&
              offsetof(DriverNpuExtension, version) == 24 && offsetof(DriverNpuExtension, table) == 32);

/// Returned by zeDriverGetExtensionFunctionAddress for kDriverNpuExtension.
struct DriverNpuTable {
  ze_result_t(ZE_APICALL* get_extension)(ze_driver_handle_t, DriverNpuExtension*);
};
static_assert(sizeof(DriverNpuTable) == sizeof(void*));

}  // namespace level_zero::abi
}  // namespace v1
}  // namespace tenon
