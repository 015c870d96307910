// SPDX-License-Identifier: Apache-2.0
// The V4L2 devices of this machine that give pictures into buffers. Those that cannot be opened are left out.
#pragma once

#include <string>
#include <vector>

#include <tenon/core/context.hpp>

namespace tenon {
inline namespace v1 {
namespace v4l2 {

std::vector<Context> contexts();

/// Why contexts() is empty, where it is.
std::string why_none();

}  // namespace v4l2
}  // namespace v1
}  // namespace tenon
