// SPDX-License-Identifier: Apache-2.0
// The roofline of a device: the rates that its kernels cannot exceed, as the device measures them itself.
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
  std::string unknown{};                                  ///< Why there is no roof; empty if there is one.

  bool is_known() const { return unknown.empty() && bytes_per_second > 0; }
  /// The least time that a kernel takes, in microseconds; 0 if nothing bounds it.
  /// @param type  The type of its operands. A type without a rate of its own counts as f32.
  double least_us(double bytes, double operations, const std::string& type) const;

  std::string to_text() const;
  nlohmann::json to_json() const;
};

/// The roof of the device that runs the model, which measures it when asked first. There is none for several devices, or for a
/// device that does not measure.
Roof roof_of(const Core& core, const CompiledModel& compiled);

}  // namespace tenon::tool
