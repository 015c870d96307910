// SPDX-License-Identifier: Apache-2.0
// Finds and loads device modules.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include <tenon/runtime/device/device.hpp>

namespace tenon {
inline namespace v1 {

/// A device that is known by name: linked in, or a file that may or may not load.
struct KnownModule {
  const DeviceModule* linked = nullptr;
  std::filesystem::path path;  ///< Empty when linked in.
};

/// Modules by upper-case name; scans the folders at every call.
/// @param unread  Receives the folders that exist but could not be read, with the reason; may be null.
std::map<std::string, KnownModule> known_modules(std::string* unread = nullptr);

/// Loads a module, once per path and process; modules are never unloaded, because code of theirs may still run or be
/// pointed to. @errors kUnavailable with the loader's words; the next call tries again.
const DeviceModule& load_module(const std::string& name, const KnownModule& known);

/// @errors kUnavailable: the module was built for another version of the device interface (both numbers).
void check_module(const std::string& what, const DeviceModule& module);

}  // namespace v1
}  // namespace tenon
