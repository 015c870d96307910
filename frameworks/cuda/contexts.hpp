// SPDX-License-Identifier: Apache-2.0
// The CUDA contexts of this machine: the primary one of each device.
#pragma once

#include <string>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/native_calls.hpp>
#include <tenon/frameworks/cuda/cuda.hpp>  // IWYU pragma: export

namespace tenon {
inline namespace v1 {
namespace cuda {

namespace detail {

inline std::vector<Context> find_contexts() {
  std::vector<Context> found;
  std::vector<std::string> names;
  if (!loaded().missing.empty()) return found;
  for (const Device& device : devices()) {
    try {
      found.push_back(make_context(device, distinct_name(names, typable(device.name))));
    } catch (const Error&) {
      // Skips devices on which the driver cannot make a context: others may use them alone.
    }
  }
  return found;
}

}  // namespace detail

/// The contexts of the process, one per device, created on first use. Empty without a driver or device.
inline std::vector<Context> contexts() {
  static const auto* all = new std::vector<Context>(detail::find_contexts());  // Outlives static destructors.
  return *all;
}

/// Why contexts() is empty, where it is.
inline std::string why_none() {
  return detail::loaded().missing.empty() ? "the driver has no device on which it makes a context"
                                          : detail::loaded().missing;
}

}  // namespace cuda
}  // namespace v1
}  // namespace tenon
