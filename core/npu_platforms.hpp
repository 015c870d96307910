// SPDX-License-Identifier: Apache-2.0
// The NPU families that clients name by number. Shared by the software NPU, the NPU device and the tool.
#pragma once

#include <cstdint>

namespace tenon {
inline namespace v1 {

/// @source OpenVINO's documentation of the NPU device: "Number of DPU Groups", "Number of DMA Engines"; PCI device ids.
struct NpuPlatform {
  std::uint32_t number = 0;          ///< 4000 in "NPU.4000".
  std::uint32_t device_ids[2] = {};  ///< PCI ids; the first is the software NPU's, 0 stands for none.
  int max_tiles = 0;                 ///< 0: known by name only; the software NPU neither emulates nor compiles for it.
  int latency_tiles = 0, throughput_tiles = 0;
  int dma_engines = 0;
};

inline constexpr NpuPlatform kNpuPlatforms[] = {
    {4000, {0x643E, 0}, 6, 4, 2, 2},
    {3720, {0x7D1D, 0xAD1D}, 2, 2, 2, 2},
    {5010, {0xB03E, 0}, 0, 0, 0, 0},
    {5020, {0xFD3E, 0}, 0, 0, 0, 0},
};

/// The platform that the software NPU can emulate under this number; null for other numbers.
constexpr const NpuPlatform* find_npu_platform(std::uint32_t number) {
  for (const NpuPlatform& platform : kNpuPlatforms)
    if (platform.number == number && platform.max_tiles > 0) return &platform;
  return nullptr;
}

/// The platform with this PCI device id; null for unknown NPUs.
constexpr const NpuPlatform* find_npu_platform_of(std::uint32_t device_id) {
  for (const NpuPlatform& platform : kNpuPlatforms)
    if (device_id != 0 && (platform.device_ids[0] == device_id || platform.device_ids[1] == device_id))
      return &platform;
  return nullptr;
}

}  // namespace v1
}  // namespace tenon
