// SPDX-License-Identifier: Apache-2.0
// The device's speed in the terms that NPUs report.
#pragma once

#include <cstdint>

namespace tenon::npu {

/// Clients compute operations per second as clock x tiles x operations per clock (8-bit; they take half of it for f16).
struct Throughput {
  std::uint32_t clock_hz = 0;
  std::uint32_t operations_per_clock = 0;  ///< Per tile.
};

/// Measured once per process and thread count with an 8-bit matrix product; zeros if that failed.
/// @cost some milliseconds on first use.
Throughput throughput(std::uint32_t tiles, int threads) noexcept;

}  // namespace tenon::npu
