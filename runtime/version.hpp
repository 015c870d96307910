// SPDX-License-Identifier: Apache-2.0
// Versions of runtime and devices.
#pragma once

#include <ostream>

namespace tenon {
inline namespace v1 {

struct Version {
  const char* buildNumber;
  const char* description;
};
inline std::ostream& operator<<(std::ostream& out, const Version& version) {
  return out << version.description << ' ' << version.buildNumber;
}

}  // namespace v1
}  // namespace tenon
