// SPDX-License-Identifier: Apache-2.0
// Edges between host memory and buffers, and between the contexts of one cl_context.
#pragma once

#include <cstddef>
#include <string>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/memory_kind.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {
namespace detail {

/// Result of an edge that copies with the device's commands.
Reached copied(const Description& from, const Context& to, MemoryKind kind, double cost_ns, double ns_per_byte);

/// "64 bytes", for messages.
std::string bytes_text(std::size_t bytes);

/// @name The edges, one object of each.
const Edge& cpu_to_buffer();
const Edge& cpu_to_buffer_copy();
const Edge& buffer_to_cpu();
const Edge& buffer_to_cpu_copy();
const Edge& buffer_to_buffer();

}  // namespace detail
}  // namespace opencl
}  // namespace v1
}  // namespace tenon
