// SPDX-License-Identifier: Apache-2.0
// The software NPU, for machines without an NPU.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tenon::tool {

inline constexpr const char* kSoftwareNpu = "libze_tenon_npu.so";

/// The library folders that belong to this tool: the build's, then the installed one.
std::vector<std::filesystem::path> library_folders();
/// The first existing `name` in them; empty when there is none.
std::filesystem::path find_library(const std::filesystem::path& name);

/// If `device` names the NPU, the machine has none and the environment selects no driver, makes the software
/// NPU beside this tool Level Zero's driver for the rest of the process, and says so on stderr. Does nothing
/// for other devices, if there is hardware, or if this build has no software NPU. Must be called before anything loads
/// a driver. @thread not while others read the environment.
void stand_in_for_npu(const std::string& device);

}  // namespace tenon::tool
