// SPDX-License-Identifier: Apache-2.0
// Memory that the NPU uses: allocated for the device, or imported.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <variant>

#include <tenon/core/context.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/devices/npu/hardware.hpp>
#include <tenon/devices/npu/public/remote_properties.hpp>  // IWYU pragma: export
#include <tenon/frameworks/level_zero/client.hpp>
#include <tenon/frameworks/level_zero/make.hpp>

namespace tenon::inline v1::npu_device {

inline constexpr std::size_t kPage = 4096;
using Block = level_zero::client::UsmBlock;
using level_zero::client::SystemImport;

/// The NPU in an application's ze_context, used for all its graphs, queues, lists and memory. Never
/// destroys the ze_context.
/// @return `npu` itself for its own ze_context.
/// @errors kInvalidArgument: null, or a ze_context of another driver; those of the driver.
std::shared_ptr<const Npu> in_context(const std::shared_ptr<const Npu>& npu, ze_context_handle_t context);

/// The application's zeMemAlloc* allocation in this NPU's ze_context at an address. nullopt for other contexts' or
/// system memory, and for pages imported for tensors.
std::optional<level_zero::client::UsmFacts> allocation_at(const Npu& npu, const void* data);

/// The context of an NPU's memory: the destination of the router's routes.
const Context& memory_context(const Npu& npu);
const Ref<level_zero::client::Native>& native_of(const Npu& npu);

/// Allocates host memory that the device can access; whole pages. `for_input`: the host only writes it, in order.
/// @errors kResourceExhausted...
Block allocate_block(const Npu& npu, std::size_t size_bytes, bool for_input);
inline std::size_t whole_pages(std::size_t size) { return (size + kPage - 1) / kPage * kPage; }

/// Imports the caller's own pages, once for all tensors in them, here and in the rest of the process.
/// @pre address and size are whole pages.  @return null for memory that the ze_context has allocated.
/// @errors kInvalidArgument: they overlap another import without lying inside it; those of the driver.
Ref<SystemImport> share_pages(const Npu& npu, void* data, std::size_t size_bytes);

/// A host tensor in device-accessible memory, with room for `capacity_bytes` (0: its own size).
Tensor allocate_tensor(const Npu& npu, ElementType type, const Shape& shape, bool for_input,
                       std::size_t capacity_bytes = 0);

/// The device's address of a tensor's first element, if its memory can be used in place; imports the memory if
/// possible, once for its life.
/// @param needed_bytes  required from the first element on.
std::variant<std::byte*, Refusal> locate(const Npu& npu, const Tensor& tensor, Access access, std::size_t needed_bytes);

/// The host-accessible address of memory in an NPU's context, including remote tensors; else null.
std::byte* mapped_address(const Tensor& tensor);

}  // namespace tenon::inline v1::npu_device
