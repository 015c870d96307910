// SPDX-License-Identifier: Apache-2.0
// Copies by the device's queue, between buffers, images and staging memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include <tenon/core/ledger.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/vulkan/device.hpp>
#include <tenon/frameworks/vulkan/image.hpp>
#include <tenon/frameworks/vulkan/memory.hpp>

namespace tenon {
inline namespace v1 {
namespace vulkan {
namespace detail {

/// Copies the elements of a buffer or an image out to packed host memory (in from it), by way of staging memory, and waits.
/// The caller has waited for work in flight. When the wait times out, all sides live until the device is done.
/// @errors kDeadlineExceeded; those of native calls.
void read_elements(const Ref<Native>& native, const Tensor& tensor, std::byte* packed, Deadline deadline);
void write_elements(const Ref<Native>& native, const Tensor& tensor, const std::byte* packed, Deadline deadline);

/// Copies elements on the device, between memory of one VkDevice, and waits as above. Both are whole regions: see
/// region_of() for images; rows of buffers are whole pixels apart.
void copy_buffer_to_image(const Ref<Native>& native, const Tensor& from, const Tensor& to, Deadline deadline);
void copy_image_to_buffer(const Ref<Native>& native, const Tensor& from, const Tensor& to, Deadline deadline);

/// Brings a new image into VK_IMAGE_LAYOUT_GENERAL, and waits. @errors those of native calls.
void settle_layout(const Ref<Native>& native, const Ref<ImageMemory>& memory);

}  // namespace detail
}  // namespace vulkan
}  // namespace v1
}  // namespace tenon
