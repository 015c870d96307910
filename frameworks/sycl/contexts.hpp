// SPDX-License-Identifier: Apache-2.0
// The SYCL contexts of this machine: one for each device with USM.
#pragma once

#include <string>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/frameworks/sycl/sycl.hpp>  // IWYU pragma: export

namespace tenon {
inline namespace v1 {
namespace sycl {

namespace detail {}  // namespace detail

/// The contexts of the process, one per device, created on first use. Empty without a platform that has USM.
std::vector<Context> contexts();

/// Why contexts() is empty, where it is.
std::string why_none();

}  // namespace sycl
}  // namespace v1
}  // namespace tenon
