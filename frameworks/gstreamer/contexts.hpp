// SPDX-License-Identifier: Apache-2.0
// The contexts of this framework on this machine: its host memory, and memory of its device plugins.
#pragma once

#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/frameworks/gstreamer/context.hpp>
#include <tenon/frameworks/gstreamer/device.hpp>

namespace tenon {
inline namespace v1 {
namespace gstreamer {

inline std::vector<Context> contexts() { return {context(), device_context()}; }

}  // namespace gstreamer
}  // namespace v1
}  // namespace tenon
