// SPDX-License-Identifier: Apache-2.0
// The cameras that the kernel's module vivid plays.
#pragma once

#include <string>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/frameworks/v4l2/device.hpp>

namespace tenon::v4l2::test {

/// Paths of vivid's nodes, in order. scripts/vm.sh loads it with one buffer per picture, with several, and with one.
inline std::vector<std::string> vivid_paths() {
  std::vector<std::string> found;
  for (const std::string& path : device_paths()) {
    try {
      const Device device(path);
      if (device.driver() == "vivid" && device.captures()) found.push_back(path);
    } catch (const Error&) {
      // Not ours to use, or gone.
    }
  }
  return found;
}

}  // namespace tenon::v4l2::test
