// SPDX-License-Identifier: Apache-2.0
// Edges between SYCL's USM and host memory, and between contexts of SYCL.
#pragma once

#include <span>

#include <tenon/core/edge.hpp>

namespace tenon {
inline namespace v1 {
namespace sycl {
namespace detail {

/// In the order in which they are asked: sycl.usm->cpu, cpu->sycl.usm, its copy, sycl.usm->sycl.usm. @thread any.
std::span<const Edge* const> usm_edges();

}  // namespace detail
}  // namespace sycl
}  // namespace v1
}  // namespace tenon
