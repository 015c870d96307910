// SPDX-License-Identifier: Apache-2.0
// Whether a test that needs an NPU may be skipped without one.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace tenon {

/// ctest names the Level Zero driver by ZE_ENABLE_ALT_DRIVERS if the software NPU was built: finding no device is
/// then a failure, and no reason to skip.
inline bool driver_is_named() {
  const char* const named = std::getenv("ZE_ENABLE_ALT_DRIVERS");
  if (!named) return false;
  const std::string first = std::string(named).substr(0, std::string(named).find(','));
  return std::filesystem::exists(first);
}

}  // namespace tenon
