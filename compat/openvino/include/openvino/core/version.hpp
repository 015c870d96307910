// SPDX-License-Identifier: Apache-2.0
// The version of OpenVINO's API that these headers have, and that of what is behind them.
#pragma once

#include <map>
#include <ostream>
#include <string>

#include "openvino/core/core_visibility.hpp"

#define OPENVINO_VERSION_MAJOR 2026
#define OPENVINO_VERSION_MINOR 4
#define OPENVINO_VERSION_PATCH 1

namespace ov {

struct Version {
  const char* buildNumber;
  const char* description;
};
OPENVINO_API std::ostream& operator<<(std::ostream& out, const Version& version);
OPENVINO_API std::ostream& operator<<(std::ostream& out, const std::map<std::string, Version>& versions);
/// buildNumber is "2026.4.1-tenon-" and Tenon's version.
OPENVINO_API Version get_openvino_version() noexcept;

}  // namespace ov
