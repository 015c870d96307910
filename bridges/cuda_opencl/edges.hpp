// SPDX-License-Identifier: Apache-2.0
// Edges between CUDA memory and OpenCL buffers of one device.
#pragma once

#include <span>

#include <tenon/core/edge.hpp>

namespace tenon {
inline namespace v1 {
namespace cuda_opencl {

/// The edges between CUDA and OpenCL, for Router::add: `core.router().add(cuda_opencl::edges())`. They belong to neither
/// framework, so a router must be given them, and CUDA's context with them.
std::span<const Edge* const> edges();

}  // namespace cuda_opencl
}  // namespace v1
}  // namespace tenon
