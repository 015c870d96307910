// SPDX-License-Identifier: Apache-2.0
// The Direct3D 11 contexts of this machine.
#pragma once

#include <string>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/frameworks/d3d11/d3d11.hpp>  // IWYU pragma: export

namespace tenon {
inline namespace v1 {
namespace d3d11 {

/// Buffers and textures of the system's first adapter, made on first use. Empty where there is none.
std::vector<Context> contexts();
/// Why contexts() is empty, where it is.
std::string why_none();

}  // namespace d3d11
}  // namespace v1
}  // namespace tenon
