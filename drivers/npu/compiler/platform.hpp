// SPDX-License-Identifier: Apache-2.0
// The NPUs that the compiler compiles for: tiles and engines by platform and performance hint.
#pragma once

#include <cstdint>
#include <span>

namespace tenon::npu::compiler {

/// @source OpenVINO's documentation of the NPU device: "Number of DPU Groups", "Number of DMA Engines".
struct Platform {
  std::uint32_t id;  ///< 4000
  int max_tiles;     ///< Of the device itself; NPU_MAX_TILES may say less for another one of the family.
  int latency_tiles, throughput_tiles;
  int dma_engines;
};

/// Those that can be compiled for.
std::span<const Platform> platforms();
/// Null when there is none.
const Platform* find_platform(std::uint32_t id);

}  // namespace tenon::npu::compiler
