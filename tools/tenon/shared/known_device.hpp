// SPDX-License-Identifier: Apache-2.0
// Reports a mistyped --device before the work starts.
#pragma once

#include <string>

#include <tenon/runtime/core.hpp>

#include <tenon/runtime/compiled_model.hpp>
#include <tenon/runtime/properties.hpp>
#include <tenon/tools/tenon/shared/software_npu.hpp>

namespace tenon::tool {

/// Lets the software NPU stand in if an NPU is requested and there is none.
/// @errors kNotFound: an unknown device (lists those known); kUnavailable: one that cannot be loaded.
inline void check_device(const Core& core, const std::string& device) {
  stand_in_for_npu(device);
  if (!device.empty() && device != "AUTO") core.get_versions(device);
}

/// The device that AUTO chose; any other name unchanged.
inline std::string chosen_device(const CompiledModel& compiled, const std::string& device) {
  if (device != "AUTO") return device;
  const auto devices = compiled.get_property(execution_devices);
  return devices.empty() ? device : devices.front();
}

}  // namespace tenon::tool
