// SPDX-License-Identifier: Apache-2.0
// Edges between buffers of Vulkan and memory of CUDA on one device.
#pragma once

#include <span>

#include <tenon/core/edge.hpp>

namespace tenon {
inline namespace v1 {
namespace vulkan_cuda {

/// The edges between Vulkan and CUDA, for Router::add: `core.router().add(vulkan_cuda::edges())`. They belong to neither
/// framework, so a router must be given them, and Vulkan's context with them.
std::span<const Edge* const> edges();

}  // namespace vulkan_cuda
}  // namespace v1
}  // namespace tenon
