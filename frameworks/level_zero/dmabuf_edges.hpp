// SPDX-License-Identifier: Apache-2.0
// Edges between USM and dma-bufs: imports by descriptor, and exports of allocations made for it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/frameworks/dmabuf/context.hpp>
#include <tenon/frameworks/level_zero/edges.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero {
namespace detail {

/// Imports a descriptor's memory into a ze_context. The descriptor stays the caller's.
/// @errors those of the native call: kInvalidArgument for a descriptor that is no memory, or too small.
UsmBlock import_fd(const Ref<Native>& native, int fd, std::size_t size, bool dmabuf);

/// Why a ze_context cannot import memory by its descriptor; nothing when it may.
std::optional<Refusal> refuses_descriptor(const Description& from, const Context& to, Access access);

/// The view of a memory in any context over this ze_context; null when there is none.
const UsmView* find_usm_view(const Memory& memory, ze_context_handle_t context, Access access);

/// A view of memory that refuses_descriptor() does not refuse: imported, or what the ze_context has of it already.
/// The CPU reaches a dma-buf through its bracket, not by the device's address: such a view has no host address.
/// @param fd  of the whole memory; stays the caller's. @errors as import_fd().
std::unique_ptr<UsmView> view_by_descriptor(const Memory& memory, const Context& to, int fd, bool stand_in);

/// Imports a dma-buf, or the memfd that stands in for one, as USM: each allocation once. @thread any.
const Edge& dmabuf_to_usm();
/// Exports an allocation made for that, as a dma-buf or as the memfd that stands in for one. @thread any.
const Edge& usm_to_dmabuf();

}  // namespace detail

}  // namespace level_zero
}  // namespace v1
}  // namespace tenon
