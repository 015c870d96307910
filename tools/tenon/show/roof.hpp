// SPDX-License-Identifier: Apache-2.0
// What a device could do at most, as it measures that itself: the roof over its kernels.
#pragma once

#include <map>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include <tenon/runtime/compiled_model.hpp>
#include <tenon/runtime/core.hpp>

namespace tenon::tool {

struct Roof {
  std::string device;
  double bytes_per_second = 0;
  std::map<std::string, double> operations_per_second{};  ///< By element type; two for each multiply-add.
  std::string unknown{};                                  ///< Why there is none; empty if there is one.

  bool is_known() const { return unknown.empty() && bytes_per_second > 0; }
  /// Microseconds that a kernel takes at least; 0 if nothing bounds it.
  /// @param type  Of its operands: one without a rate of its own is computed as f32.
  double least_us(double bytes, double operations, const std::string& type) const;

  std::string to_text() const;
  nlohmann::json to_json() const;
};

/// Of the device that runs the model, which measures when asked first. Several devices, or one that does not measure, have none.
Roof roof_of(const Core& core, const CompiledModel& compiled);

}  // namespace tenon::tool
