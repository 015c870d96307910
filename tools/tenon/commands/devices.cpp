// SPDX-License-Identifier: Apache-2.0
// tenon devices: lists the devices that can run models on this machine, and says why others cannot.
#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <tenon/runtime/core.hpp>
#include <tenon/runtime/properties.hpp>

#include <tenon/tools/tenon/commands/commands.hpp>
#include <tenon/tools/tenon/shared/json_text.hpp>
#include <tenon/tools/tenon/show/text/text_table.hpp>

namespace tenon::tool {
namespace {

std::string property_text(Core& core, const std::string& device, const char* key) {
  try {
    return core.get_property(device, key).to_text();
  } catch (const std::exception&) {
    return "-";  // Not every device has every property.
  }
}

/// "0000:1b:00.0"; empty where the driver does not state it.
std::string pci_text(Core& core, const std::string& device) {
  try {
    const device::PCIInfo at = core.get_property(device, device::pci_info);
    if (at.domain + at.bus + at.device + at.function == 0) return "";
    return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", at.domain, at.bus, at.device, at.function);
  } catch (const std::exception&) {
    return "";
  }
}

void show_devices(bool json) {
  Core core;
  nlohmann::json list = nlohmann::json::array();
  std::vector<std::vector<std::string>> rows{{"device", "state", "name", "can do"}};
  std::string reasons;  // Printed below the table: whole sentences would make a column too wide.
  for (const std::string& device : core.get_available_devices()) {
    const std::string full = property_text(core, device, "FULL_DEVICE_NAME"),
                      can = property_text(core, device, "OPTIMIZATION_CAPABILITIES");
    const std::string pci = pci_text(core, device);
    list.push_back({{"device", device}, {"available", true}, {"full_name", full}, {"capabilities", can}});
    if (!pci.empty()) list.back()["pci"] = pci;
    rows.push_back({device, "available", full + (pci.empty() ? "" : " at " + pci), can});
  }
  for (const auto& [device, reason] : core.get_unavailable_devices()) {
    list.push_back({{"device", device}, {"available", false}, {"reason", reason}});
    rows.push_back({device, "unavailable", "see below", ""});
    reasons += fmt::format("\n{}: {}\n", device, reason);
  }
  if (!json && rows.size() == 1) {
    fmt::print(
        "no devices: no libtenon_device_<name>.so lies beside the runtime or in a folder of TENON_DEVICE_PATH\n");
    return;
  }
  fmt::print("{}", json ? json_text(nlohmann::json{{"devices", list}}) : text_table(rows) + reasons);
}

}  // namespace

void add_devices(CLI::App& app) {
  auto* command = app.add_subcommand("devices", "List the devices that can run models on this machine");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print JSON");
  command->callback([json] { show_devices(*json); });
}

}  // namespace tenon::tool
