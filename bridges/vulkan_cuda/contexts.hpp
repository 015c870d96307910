// SPDX-License-Identifier: Apache-2.0
// What the tool loads of this bridge: edges between contexts that Vulkan and CUDA bring.
#pragma once

#include <string>
#include <vector>

#include <tenon/bridges/vulkan_cuda/vulkan_cuda.hpp>  // IWYU pragma: export
#include <tenon/core/context.hpp>

namespace tenon {
inline namespace v1 {
namespace vulkan_cuda {

/// None of its own.
inline std::vector<Context> contexts() { return {}; }

/// Why contexts() is empty, where it is.
inline std::string why_none() { return "it has edges only, between contexts of Vulkan and CUDA"; }

}  // namespace vulkan_cuda
}  // namespace v1
}  // namespace tenon
