// SPDX-License-Identifier: Apache-2.0
// Memory as the NPU sees it: what the device allocates, and what it takes of others.
#pragma once

#include <memory>
#include <optional>
#include <variant>

#include <tenon/devices/npu/hardware.hpp>
#include <tenon/frameworks/level_zero/make.hpp>
#include <tenon/runtime/intel_npu/remote_properties.hpp>

namespace tenon::inline v1::npu_device {

inline constexpr std::size_t kPage = 4096;
using Block = level_zero::detail::UsmBlock;

/// The NPU in an application's ze_context: graphs, queues, lists and memory are then made in that one. Never destroys
/// it.
/// @return `npu` itself for the ze_context that it is in.
/// @errors kInvalidArgument: null, or none that serves this NPU (another driver's); what the driver gives.
std::shared_ptr<const Npu> in_context(const std::shared_ptr<const Npu>& npu, ze_context_handle_t context);

/// What the application allocated in this NPU's ze_context at an address, by zeMemAlloc*. Nothing: another's memory,
/// the system's, or pages that were imported for tensors.
std::optional<level_zero::detail::UsmFacts> allocation_at(const Npu& npu, const void* data);

/// The context of an NPU's memory: where routes of the router end.
const Context& memory_context(const Npu& npu);
const Ref<level_zero::detail::Native>& native_of(const Npu& npu);

/// New host memory that the device reaches; whole pages. `for_input`: the host only writes it, in order.
/// @errors kResourceExhausted...
Block allocate_block(const Npu& npu, std::size_t size_bytes, bool for_input);
inline std::size_t whole_pages(std::size_t size) { return (size + kPage - 1) / kPage * kPage; }

/// The caller's own pages, imported once however many tensors lie in them.
/// @pre address and size are whole pages.  @errors kInvalidArgument: they overlap another import or allocation without
/// lying in it; what the driver gives.
std::shared_ptr<const Block> share_pages(const Npu& npu, void* data, std::size_t size_bytes);

/// Host tensor in memory of the device's, with room for `capacity_bytes` (0: for itself).
Tensor allocate_tensor(const Npu& npu, ElementType type, const Shape& shape, bool for_input,
                       std::size_t capacity_bytes = 0);

/// The address of a tensor's first element for the device, if its memory can be used where it lies; imports it where
/// that is possible, once for the memory's life.
/// @param needed_bytes  that must be there from the first element on.
std::variant<std::byte*, Refusal> locate(const Npu& npu, const Tensor& tensor, Access access, std::size_t needed_bytes);

/// The address that the host may use too, for memory of an NPU's context, remote tensors included; else null.
std::byte* mapped_address(const Tensor& tensor);

}  // namespace tenon::inline v1::npu_device
