// SPDX-License-Identifier: Apache-2.0
// What bounds this device's kernels, measured by kernels that do nothing else.
#pragma once

#include <optional>

#include <tenon/devices/gpu/hardware.hpp>

namespace tenon::inline v1::gpu_device {

/// Operations count two for each multiply-add.
struct Roofline {
  double bytes_per_second = 0;  ///< Read and written together, beyond the caches.
  double f32_per_second = 0;
  /// The rate of the instruction by which the device's kernels multiply matrices of f16; none: the device has no such hardware.
  std::optional<double> f16_per_second{};
};

/// Measured when first asked for, some 100 ms, and kept for the process. Other work on the device at that time makes it less.
/// @thread any. @errors those of native calls; kDeadlineExceeded.
const Roofline& roofline_of(const Gpu& gpu);

}  // namespace tenon::inline v1::gpu_device
