// SPDX-License-Identifier: Apache-2.0
// How fast the device is, in the terms in which NPUs say it.
#pragma once

#include <cstdint>

namespace tenon::npu {

/// Clients compute operations per second as clock x tiles x operations per clock (8-bit; they take half of it for f16).
struct Throughput {
  std::uint32_t clock_hz = 0;
  std::uint32_t operations_per_clock = 0;  ///< Of one tile.
};

/// Measured once per process and number of threads with a matrix product of 8-bit numbers; zeros when that failed.
/// @cost some milliseconds the first time.
Throughput throughput(std::uint32_t tiles, int threads) noexcept;

}  // namespace tenon::npu
