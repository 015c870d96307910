// SPDX-License-Identifier: Apache-2.0
// The EGL context of this machine: one of a display without a window system.
#pragma once

#include <string>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/frameworks/egl/egl.hpp>  // IWYU pragma: export

namespace tenon {
inline namespace v1 {
namespace egl {

/// The contexts of the process, made on first use. Empty without a library or a driver.
std::vector<Context> contexts();

/// Why contexts() is empty, where it is.
std::string why_none();

}  // namespace egl
}  // namespace v1
}  // namespace tenon
