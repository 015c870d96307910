// SPDX-License-Identifier: Apache-2.0
// The numbers of a sliding window, under the names that kernels use.
#pragma once

#include <string>

#include <tenon/devices/gpu/program/kernel.hpp>
#include <tenon/graph/windows.hpp>

namespace tenon::inline v1::gpu_device {

/// For depth, height and width (D, H, W): IW, OW the extents, KW the window, SW the stride, DW the dilation, PW the
/// padding in front.
inline void add_window(Kernel& kernel, const Spatial3& spatial) {
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string axis(1, "DHW"[i]);
    const WindowAxis& window = spatial.window[i];
    kernel.number("I" + axis, static_cast<std::int64_t>(spatial.in[i]))
        .number("O" + axis, static_cast<std::int64_t>(spatial.out[i]))
        .number("K" + axis, window.kernel)
        .number("S" + axis, window.stride)
        .number("D" + axis, window.dilation)
        .number("P" + axis, window.pad_begin);
  }
}

/// What of it decides how fast kernels are: "1x56x56 to 1x28x28, 1x3x3 by 1x2x2 over 1x1x1 from 0x1x1".
inline std::string text_of(const Spatial3& spatial) {
  const auto join = [](auto get) {
    return std::to_string(get(0)) + "x" + std::to_string(get(1)) + "x" + std::to_string(get(2));
  };
  const auto axis = [&](auto member) { return join([&](std::size_t i) { return spatial.window[i].*member; }); };
  return join([&](std::size_t i) { return spatial.in[i]; }) + " to " +
         join([&](std::size_t i) { return spatial.out[i]; }) + ", " + axis(&WindowAxis::kernel) + " by " +
         axis(&WindowAxis::stride) + " over " + axis(&WindowAxis::dilation) + " from " + axis(&WindowAxis::pad_begin);
}

}  // namespace tenon::inline v1::gpu_device
