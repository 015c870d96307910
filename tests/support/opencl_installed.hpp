// SPDX-License-Identifier: Apache-2.0
// Whether a test that needs OpenCL may be skipped without a device.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace tenon {

/// Installed drivers are named by .icd files in the folder that the OpenCL loader reads: finding no device is
/// then a failure, and no reason to skip.
inline bool opencl_is_installed() {
  const char* const vendors = std::getenv("OCL_ICD_VENDORS");
  const std::string place = vendors && *vendors ? vendors : "/etc/OpenCL/vendors";
  if (place.ends_with(".icd")) return std::filesystem::exists(place);
  std::error_code unreadable;
  for (std::filesystem::directory_iterator entry(place, unreadable), end; !unreadable && entry != end;
       entry.increment(unreadable))
    if (entry->path().extension() == ".icd") return true;
  return false;
}

}  // namespace tenon
