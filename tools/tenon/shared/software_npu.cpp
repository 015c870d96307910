// SPDX-License-Identifier: Apache-2.0
// Detects hardware by the kernel's driver, and finds the software NPU beside the tool.
#include <tenon/tools/tenon/shared/software_npu.hpp>

#include <cstdlib>
#include <filesystem>

#include <fmt/core.h>

#include <tenon/core/file.hpp>

namespace tenon::tool {
namespace {

namespace fs = std::filesystem;

constexpr const char* kChosenDrivers = "ZE_ENABLE_ALT_DRIVERS";
constexpr const char* kKernelDriver = "intel_vpu";

/// Whether a name is or contains the NPU: "NPU", "NPU.4000", "HETERO:NPU,CPU"; but not "MY_NPU" or "NPUX".
bool names_npu(const std::string& device) {
  constexpr const char* kEnds = ":,.";
  for (std::size_t at = device.find("NPU"); at != std::string::npos; at = device.find("NPU", at + 1)) {
    const bool begins = at == 0 || device[at - 1] == ':' || device[at - 1] == ',';
    const std::size_t end = at + 3;
    if (begins && (end == device.size() || std::string(kEnds).find(device[end]) != std::string::npos)) return true;
  }
  return false;
}

/// Whether the kernel drives an NPU.
bool has_hardware() {
  std::error_code none;
  for (const fs::path& node : list_folder("/sys/class/accel", none)) {
    const fs::path driver = fs::read_symlink(node / "device" / "driver", none);
    if (driver.filename() == kKernelDriver) return true;
  }
  return false;
}

}  // namespace

std::vector<fs::path> library_folders() {
  std::error_code none;
  const fs::path root = fs::read_symlink("/proc/self/exe", none).parent_path().parent_path();
  return {root / "lib", root / TENON_INSTALL_LIBDIR};
}

fs::path find_library(const fs::path& name) {
  std::error_code none;
  for (const fs::path& folder : library_folders()) {
    if (fs::exists(folder / name, none)) return fs::canonical(folder / name, none);
  }
  return {};
}

void stand_in_for_npu(const std::string& device) {
  if (!names_npu(device) || std::getenv(kChosenDrivers) || has_hardware()) return;
  const fs::path driver = find_library(kSoftwareNpu);
  if (driver.empty()) return;  // The device will report what is missing.
  ::setenv(kChosenDrivers, driver.c_str(), 0);
  fmt::print(stderr, "no NPU in this machine: {} stands in\n", driver.string());
}

}  // namespace tenon::tool
