// SPDX-License-Identifier: Apache-2.0
// The edges of Vulkan's memory, one object of each; only asked for by a context's edges().
#pragma once

#include <tenon/core/edge.hpp>

namespace tenon {
inline namespace v1 {
namespace vulkan {
namespace detail {

/// Between contexts over one VkDevice, or over one driver by an opaque descriptor.
const Edge& buffer_to_buffer();
const Edge& dmabuf_to_buffer();
const Edge& buffer_to_dmabuf();
const Edge& image_to_cpu();
const Edge& cpu_to_image();
const Edge& buffer_to_image();
const Edge& image_to_buffer();
const Edge& dmabuf_to_image();
const Edge& image_to_dmabuf();

inline constexpr const char* kNotOurs = "source or target is not a context of vulkan";
/// PCIe 5 carries some 50 bytes a nanosecond, PCIe 4 half of that.
inline constexpr double kTransferNsPerByte = 0.03;
/// Copies by the host: through staging memory and out again.
inline constexpr double kHostNsPerByte = 0.2;

}  // namespace detail
}  // namespace vulkan
}  // namespace v1
}  // namespace tenon
