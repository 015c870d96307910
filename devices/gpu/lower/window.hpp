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

}  // namespace tenon::inline v1::gpu_device
