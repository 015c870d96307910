// SPDX-License-Identifier: Apache-2.0
// The V4L2 devices of this machine that give pictures into buffers. Those that cannot be opened are left out.
#pragma once

#include <string>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/error.hpp>
#include <tenon/frameworks/v4l2/context.hpp>
#include <tenon/frameworks/v4l2/device.hpp>

namespace tenon {
inline namespace v1 {
namespace v4l2 {

inline std::vector<Context> contexts() {
  std::vector<Context> found;
  for (const std::string& path : device_paths()) {
    try {
      const Device device(path);
      if (device.captures() || device.converts()) found.push_back(context(path));
    } catch (const Error&) {
      // Not ours to use, or gone in the meantime.
    }
  }
  return found;
}

/// Why contexts() is empty, where it is.
inline std::string why_none() {
  return "no device of this machine (/dev/video0...) gives pictures into buffers, or it is not ours to open";
}

}  // namespace v4l2
}  // namespace v1
}  // namespace tenon
