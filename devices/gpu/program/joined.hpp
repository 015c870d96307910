// SPDX-License-Identifier: Apache-2.0
// One launch that does what several do.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <tenon/devices/gpu/program/launch.hpp>
#include <tenon/devices/gpu/program/recipe.hpp>

namespace tenon::inline v1::gpu_device {

/// Whether two kernels over groups of the same size can be parts of one, or are one with two sets of arguments.
bool can_be_joined(const Launch& a, const Launch& b);
/// What its arguments take of the bytes that a device has for a kernel's.
std::size_t argument_bytes(const Launch& launch);
/// @param parts  Which do not depend on each other, at least two. @pre can_be_joined() for each two.
Launch joined_launch(const std::vector<std::shared_ptr<const Launch>>& parts, KernelTexts& texts);

}  // namespace tenon::inline v1::gpu_device
