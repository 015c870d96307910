// SPDX-License-Identifier: Apache-2.0
// What the tool loads of this bridge: edges between contexts that Vulkan and OpenCL bring.
#pragma once

#include <string>
#include <vector>

#include <tenon/bridges/vulkan_opencl/vulkan_opencl.hpp>  // IWYU pragma: export
#include <tenon/core/context.hpp>

namespace tenon {
inline namespace v1 {
namespace vulkan_opencl {

/// None of its own.
inline std::vector<Context> contexts() { return {}; }

/// Why contexts() is empty, where it is.
inline std::string why_none() { return "it has edges only, between contexts of Vulkan and OpenCL"; }

}  // namespace vulkan_opencl
}  // namespace v1
}  // namespace tenon
