// SPDX-License-Identifier: Apache-2.0
// Reads the roof from the device's properties.
#include <tenon/tools/tenon/show/models/roof.hpp>

#include <algorithm>
#include <exception>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <tenon/runtime/properties.hpp>
#include <tenon/runtime/roofline.hpp>

namespace tenon::tool {

double Roof::least_us(double bytes, double operations, const std::string& type) const {
  if (!is_known()) return 0;
  auto rate = operations_per_second.find(type);
  if (rate == operations_per_second.end()) rate = operations_per_second.find("f32");
  const double computing = rate == operations_per_second.end() ? 0 : operations / rate->second;
  return 1e6 * std::max(bytes / bytes_per_second, computing);
}

std::string Roof::to_text() const {
  if (!is_known()) return fmt::format("no share of a roof: {}\n", unknown);
  std::string text = fmt::format("roof of {}, measured here: {:.0f} GB/s", device, bytes_per_second / 1e9);
  for (const auto& [type, rate] : operations_per_second)
    text += fmt::format(", {:.0f} GFLOP/s of {}", rate / 1e9, type);
  return text + "; above 100%: the kernel reads from a cache\n";
}

nlohmann::json Roof::to_json() const {
  if (!is_known()) return {{"unknown", unknown}};
  return {{"device", device}, {"bytes_per_second", bytes_per_second}, {"operations_per_second", operations_per_second}};
}

Roof roof_of(const Core& core, const CompiledModel& compiled) try {
  const std::vector<std::string> devices = compiled.get_property(execution_devices);
  if (devices.size() != 1) return {.device = "", .unknown = "the model runs on several devices, or none says so"};
  Roof roof{.device = devices.front()};
  const auto known = core.get_property(roof.device, supported_properties);
  if (std::find(known.begin(), known.end(), device::memory_bandwidth.name()) == known.end())
    return {.device = roof.device, .unknown = roof.device + " does not measure its memory and arithmetic"};
  roof.bytes_per_second = core.get_property(roof.device, device::memory_bandwidth);
  for (const auto& [type, giga] : core.get_property(roof.device, device::gops))
    roof.operations_per_second[type.to_string()] = 1e9 * giga;
  return roof;
} catch (const std::exception& error) {
  return {.device = "", .unknown = error.what()};
}

}  // namespace tenon::tool
