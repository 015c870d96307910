// SPDX-License-Identifier: Apache-2.0
// Edges between buffers of Vulkan and of OpenCL on one device.
#pragma once

#include <span>

#include <tenon/core/edge.hpp>

namespace tenon {
inline namespace v1 {
namespace vulkan_opencl {

/// The edges between Vulkan and OpenCL, for Router::add: `core.router().add(vulkan_opencl::edges())`. They belong to neither
/// framework, so a router must be given them, and Vulkan's context with them.
std::span<const Edge* const> edges();

}  // namespace vulkan_opencl
}  // namespace v1
}  // namespace tenon
