// SPDX-License-Identifier: Apache-2.0
// The contexts of this framework on this machine: one for each render node that has a driver.
#pragma once

#include <string>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/error.hpp>
#include <tenon/frameworks/vaapi/frame.hpp>

namespace tenon {
inline namespace v1 {
namespace vaapi {

namespace detail {

inline std::vector<Context> find_contexts() {
  std::vector<Context> found;
  // The kernel numbers render nodes from 128 on. Opening tells whether one is there: a stand-in has no entry in /dev/dri.
  for (int number = 128; number < 192; ++number) {
    try {
      const std::string name = found.empty() ? "vaapi" : "vaapi." + std::to_string(found.size());
      found.push_back(vaapi::open("/dev/dri/renderD" + std::to_string(number), name));
    } catch (const Error&) {
      // Skips nodes that are not there, not ours to open, or without a driver.
    }
  }
  return found;
}

}  // namespace detail

/// The contexts of the process, one per render node with a driver, created on first use.
inline std::vector<Context> contexts() {
  static const auto* all = new std::vector<Context>(detail::find_contexts());  // Outlives static destructors.
  return *all;
}

/// Why contexts() is empty, where it is.
inline std::string why_none() {
  return "no render node (/dev/dri/renderD128...) with a driver; `tenon va-env -- PROGRAM` brings the software "
         "one";
}

}  // namespace vaapi
}  // namespace v1
}  // namespace tenon
