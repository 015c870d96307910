// SPDX-License-Identifier: Apache-2.0
// The Vulkan contexts of this machine: for each device one of buffers and one of images.
#pragma once

#include <string>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/frameworks/vulkan/vulkan.hpp>  // IWYU pragma: export

namespace tenon {
inline namespace v1 {
namespace vulkan {

/// The contexts of the process, made on first use. Empty without a loader or a device.
std::vector<Context> contexts();

/// Why contexts() is empty, where it is.
std::string why_none();

}  // namespace vulkan
}  // namespace v1
}  // namespace tenon
