// SPDX-License-Identifier: Apache-2.0
// Kernels with one work-item for each element of what they make.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include <tenon/devices/gpu/lower/build/builder.hpp>

namespace tenon::inline v1::gpu_device {

/// Adds the launch of `count` work-items.
/// @param text  The OpenCL C of one work-item, which sees its number as `at`.
void launch_each(Builder& builder, const Node& node, Kernel& kernel, std::size_t count, const std::string& text);

/// Output 0 as a kernel that element-wise functions may join.
/// @param computed  The type of what `text` computes.
/// @param prepare  Gives the kernel what `text` reads.
/// @param text  Sees the element's number as `at`, and ends with STORE(value, at).
void set_each(Builder& builder, const Node& node, const std::string& kind, ElementType computed,
              std::function<void(Kernel&)> prepare, const std::string& text, bool channels_last = false);

/// The same with a kernel's whole text, which sees how many elements there are as COUNT.
void set_whole(Builder& builder, const Node& node, const std::string& kind, ElementType computed, const char* text,
               std::function<void(Kernel&)> prepare, bool channels_last = false);

}  // namespace tenon::inline v1::gpu_device
