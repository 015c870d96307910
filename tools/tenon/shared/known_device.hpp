// SPDX-License-Identifier: Apache-2.0
// Typing errors in --device are answered before the work starts.
#pragma once

#include <string>

#include <tenon/runtime/core.hpp>

#include <tenon/tools/tenon/shared/software_npu.hpp>

namespace tenon::tool {

/// The software NPU stands in where an NPU is asked for and none is there.
/// @errors kNotFound: an unknown device (lists those known); kUnavailable: one that cannot be loaded.
inline void check_device(const Core& core, const std::string& device) {
  stand_in_for_npu(device);
  if (!device.empty() && device != "AUTO") core.get_versions(device);
}

/// What AUTO came to; any other name as it is.
inline std::string chosen_device(const CompiledModel& compiled, const std::string& device) {
  if (device != "AUTO") return device;
  const auto devices = compiled.get_property(execution_devices);
  return devices.empty() ? device : devices.front();
}

}  // namespace tenon::tool
