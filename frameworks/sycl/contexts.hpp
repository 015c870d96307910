// SPDX-License-Identifier: Apache-2.0
// The SYCL contexts of this machine: one for each device with USM.
#pragma once

#include <string>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/native_calls.hpp>
#include <tenon/frameworks/sycl/sycl.hpp>  // IWYU pragma: export

namespace tenon {
inline namespace v1 {
namespace sycl {

namespace detail {

inline std::vector<Context> find_contexts() {
  std::vector<Context> found;
  std::vector<std::string> names;
  for (const ::sycl::device& device : usable_devices()) {
    try {
      const std::string name = distinct_name(names, short_name(device));
      found.push_back(detail::make_context(::sycl::queue(::sycl::context(device), device), name));
    } catch (const std::exception&) {
      // Skips devices whose driver cannot make a context.
    }
  }
  return found;
}

}  // namespace detail

/// The contexts of the process, one per device, created on first use. Empty without a platform that has USM.
inline std::vector<Context> contexts() {
  static const auto* all = new std::vector<Context>(detail::find_contexts());  // Outlives static destructors.
  return *all;
}

/// Why contexts() is empty, where it is.
inline std::string why_none() {
  return "the runtime finds no device with USM: it needs an OpenCL driver of its own release or a GPU of Level "
         "Zero";
}

}  // namespace sycl
}  // namespace v1
}  // namespace tenon
