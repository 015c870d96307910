// SPDX-License-Identifier: Apache-2.0
// The Level Zero devices of this machine: those of all drivers, or none.
#pragma once

#include <string>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/native_calls.hpp>
#include <tenon/frameworks/level_zero/level_zero.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero {

namespace detail {

inline std::vector<Context> find_contexts() {
  std::vector<Context> found;
  std::vector<std::string> names;
  try {
    for (const Device& device : devices()) {
      const std::string name = distinct_name(names, typable(device.name));
      try {
        found.push_back(detail::make_context(device, name, {}));
      } catch (const Error&) {
        // Skips devices whose driver cannot make a context.
      }
    }
  } catch (const Error&) {
    // Skips drivers that cannot be queried.
  }
  return found;
}

}  // namespace detail

/// The contexts of the process, one per device, created on first use. Empty without a driver.
inline std::vector<Context> contexts() {
  static const auto* all = new std::vector<Context>(detail::find_contexts());  // Outlives static destructors.
  return *all;
}

/// Why contexts() is empty, where it is.
inline std::string why_none() {
  try {
    return devices().empty() ? "no driver on this machine has a device" : "no driver makes a context for its device";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace level_zero
}  // namespace v1
}  // namespace tenon
