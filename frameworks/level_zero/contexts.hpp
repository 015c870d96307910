// SPDX-License-Identifier: Apache-2.0
// The Level Zero devices of this machine: those of all drivers, or none.
#pragma once

#include <string>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/frameworks/level_zero/level_zero.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero {

namespace detail {}  // namespace detail

/// The contexts of the process, one per device, created on first use. Empty without a driver.
std::vector<Context> contexts();

/// Why contexts() is empty, where it is.
std::string why_none();

}  // namespace level_zero
}  // namespace v1
}  // namespace tenon
