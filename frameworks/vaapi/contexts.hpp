// SPDX-License-Identifier: Apache-2.0
// The contexts of this framework on this machine: one for each render node that has a driver.
#pragma once

#include <string>
#include <vector>

#include <tenon/core/context.hpp>

namespace tenon {
inline namespace v1 {
namespace vaapi {

/// The contexts of the process, one per render node with a driver, created on first use.
std::vector<Context> contexts();

/// Why contexts() is empty, where it is.
std::string why_none();

}  // namespace vaapi
}  // namespace v1
}  // namespace tenon
