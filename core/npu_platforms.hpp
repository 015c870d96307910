// SPDX-License-Identifier: Apache-2.0
// The NPU families that clients name by number. Shared by the software NPU, the NPU device and the tool.
#pragma once

#include <cstdint>

namespace tenon {
inline namespace v1 {

/// What bounds the speed of an NPU. @source Intel's open NPU cost model (npu-nn-cost-model 8a2ae92: hw_characteristics, validation), and
/// for the vector units what Intel said of NPU 3 and 4; docs/guide/npu_estimate.md lists the figures.
struct NpuFigures {
  int clock_mhz = 0;              ///< That of the matrix engines and, as assumed here, of the vector units.
  int macs_per_tile = 0;          ///< Multiply-adds of 8-bit numbers in a cycle; of f16 half as many.
  int writers_per_tile = 0;       ///< Units that write the results of a matrix engine, one element in a cycle each.
  int vector_lanes_per_tile = 0;  ///< Elements of f16 on which the vector units of a tile work in a cycle.
  int tile_memory_kib = 0;        ///< Memory on the chip, of each tile.
  int memory_mb_per_s = 0;        ///< Bandwidth of the machine's memory, as far as the DMA engines use it.
  int memory_latency_ns = 0;      ///< Until the first byte of a transfer.
};

/// @source OpenVINO's documentation of the NPU device: "Number of DPU Groups", "Number of DMA Engines"; PCI device ids.
struct NpuPlatform {
  std::uint32_t number = 0;          ///< 4000 in "NPU.4000".
  std::uint32_t device_ids[2] = {};  ///< PCI ids; the first is the software NPU's, 0 stands for none.
  int max_tiles = 0;                 ///< 0: known by name only; the software NPU neither emulates nor compiles for it.
  int latency_tiles = 0, throughput_tiles = 0;
  int dma_engines = 0;
  NpuFigures figures{};
};

inline constexpr NpuPlatform kNpuPlatforms[] = {
    {4000, {0x643E, 0}, 6, 4, 2, 2, {1700, 2048, 64, 64, 1536, 124288, 300}},
    {3720, {0x7D1D, 0xAD1D}, 2, 2, 2, 2, {1300, 2048, 64, 16, 2048, 27000, 956}},
    {5010, {0xB03E, 0}, 3, 3, 1, 2, {1950, 4096, 32, 64, 1536, 136000, 300}},
    {5020, {0xFD3E, 0}, 0, 0, 0, 0, {}},
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
