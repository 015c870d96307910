// SPDX-License-Identifier: Apache-2.0
// Makes contexts, new ones for a device or around a user's ze_context, and tensors in them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <tenon/core/context.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/cpu/fd.hpp>
#include <tenon/frameworks/level_zero/context.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero {

namespace detail {

Context make_context(const Device& device, const std::string& name, std::optional<bool> maps_device_memory);

}  // namespace detail

/// Makes a new context on one device.
/// @param maps_device_memory  For tests: overrides what the device reports about its memory.
/// @errors those of native calls. @cost a ze_context, and the import of one page.
Context make_context(const Device& device, std::optional<bool> maps_device_memory = {});

/// Makes a new context on the first device. @errors kUnavailable: no driver, or none with a device.
Context make_context();

/// Wraps the user's ze_context on one of its devices. It is borrowed and never destroyed. Level Zero does not count
/// references, so the user must keep it alive as long as the context, its memory, and routers with plans to it.
/// @param context  A live ze_context: the loader and many drivers crash on an invalid pointer.
/// @errors kInvalidArgument: null, a device that no driver has, or a ze_context that does not serve the device
///         (another driver's, or made for other devices); else those of native calls.
/// @cost creates and destroys a command list, and imports one page.  @thread any.
Context wrap(ze_context_handle_t context, ze_device_handle_t device);

/// The native handle of a context. @errors kInvalidArgument: a context of another framework.
ze_context_handle_t handle(const Context& context);
const Device& device(const Context& context);

/// Allocates memory of one type as a tensor. @errors as UsmContext::allocate.
Tensor allocate(const Context& context, UsmType type, const TensorInfo& info, const UsmHints& hints = {});

namespace detail {}  // namespace detail

/// Wraps the user's allocation, or a part of it, as a tensor; the user keeps it alive.
/// @errors kInvalidArgument: null, or no memory of this ze_context; kOutOfRange.
Tensor wrap(const Context& context, void* data, const TensorInfo& info);

/// Takes ownership of the allocation: freed once, also when this fails, unless it is no allocation of this context.
/// @errors as wrap(); kInvalidArgument: a pointer into the middle, which stays the caller's.
Tensor adopt(const Context& context, void* data, const TensorInfo& info);

/// The driver's type of a tensor's memory. @errors kInvalidArgument: no level_zero.usm.
UsmType usm_type(const Tensor& tensor);
std::uint64_t allocation_id(const Tensor& tensor);

/// A new descriptor, owned by the caller, for a tensor's whole allocation. @errors kFailedPrecondition: not exportable.
cpu::UniqueFd export_fd(const Tensor& tensor);

}  // namespace level_zero
}  // namespace v1
}  // namespace tenon
