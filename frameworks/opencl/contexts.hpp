// SPDX-License-Identifier: Apache-2.0
// The OpenCL devices of this machine: those of all platforms, or none.
#pragma once

#include <string>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/frameworks/opencl/opencl.hpp>  // IWYU pragma: keep

namespace tenon {
inline namespace v1 {
namespace opencl {

namespace detail {

/// New contexts of all devices and kinds of memory.
std::vector<Context> find_contexts();

}  // namespace detail

/// The contexts of the process, one per device, created on first use. Empty without a platform.
inline std::vector<Context> contexts() {
  static const auto* all = new std::vector<Context>(detail::find_contexts());  // Outlives static destructors.
  return *all;
}

/// Why contexts() is empty, where it is.
std::string why_none();

}  // namespace opencl
}  // namespace v1
}  // namespace tenon
