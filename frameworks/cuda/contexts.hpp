// SPDX-License-Identifier: Apache-2.0
// The CUDA contexts of this machine: the primary one of each device.
#pragma once

#include <string>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/frameworks/cuda/cuda.hpp>  // IWYU pragma: export

namespace tenon {
inline namespace v1 {
namespace cuda {

namespace detail {}  // namespace detail

/// The contexts of the process, one per device, created on first use. Empty without a driver or device.
std::vector<Context> contexts();

/// Why contexts() is empty, where it is.
std::string why_none();

}  // namespace cuda
}  // namespace v1
}  // namespace tenon
