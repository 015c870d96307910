// SPDX-License-Identifier: Apache-2.0
// What bridges to Vulkan may use of this framework: imports of other APIs' memory, and checked calls.
#pragma once

#include <tenon/frameworks/vulkan/context.hpp>
#include <tenon/frameworks/vulkan/edges.hpp>
#include <tenon/frameworks/vulkan/memory.hpp>
#include <tenon/frameworks/vulkan/vulkan.hpp>

namespace tenon {
inline namespace v1 {
namespace vulkan {

/// For other folders of this repository, beside the public functions. Not for applications: it may change with every
/// release. The rest of namespace detail is this folder's own.
namespace client {

using detail::call;
using detail::check;
using detail::import_block;
using detail::imports;
using detail::Native;
using detail::Origin;
using detail::Probe;

/// Whether opaque descriptors of other APIs on the device are imported.
inline bool imports_opaque(const Native& native) {
  return imports(native, VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT);
}

/// A tensor of one context over a VkDevice in another one.
inline Tensor share_between(const Tensor& source, const Context& to, const MapOptions& options) {
  return detail::buffer_to_buffer().map(source, to, options);
}

}  // namespace client

}  // namespace vulkan
}  // namespace v1
}  // namespace tenon
