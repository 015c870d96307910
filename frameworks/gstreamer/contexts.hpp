// SPDX-License-Identifier: Apache-2.0
// The contexts of this framework on this machine: its host memory, and memory of its device plugins.
#pragma once

#include <vector>

#include <tenon/core/context.hpp>

namespace tenon {
inline namespace v1 {
namespace gstreamer {

std::vector<Context> contexts();

}  // namespace gstreamer
}  // namespace v1
}  // namespace tenon
