// SPDX-License-Identifier: Apache-2.0
// SYCL and OpenCL over one cl_context: contexts of one made of the other, and USM that passes between them in place.
//
//   sycl_opencl::make_context(opencl)      SYCL over your cl_context, device and queue
//   sycl_opencl::opencl_context(sycl)      OpenCL over SYCL's cl_context
//   router.add(sycl_opencl::edges());      sycl.usm <-> opencl.usm, the same pointers
#pragma once

#include <span>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/frameworks/opencl/opencl.hpp>
#include <tenon/frameworks/sycl/sycl.hpp>

namespace tenon {
inline namespace v1 {
namespace sycl_opencl {

/// The edges between the two, for Router::add.
std::span<const Edge* const> edges();

/// SYCL over the cl_context and queue of an OpenCL context, which is kept: SYCL takes no references of its own.
/// @errors kInvalidArgument: no context of OpenCL; kUnimplemented: a device without USM; those of native calls.
Context make_context(const Context& opencl);

/// OpenCL over SYCL's cl_context and device; for its USM: opencl::usm(of the result).
/// @errors kInvalidArgument: no context of SYCL; kUnimplemented: SYCL runs on another backend; those of native calls.
Context opencl_context(const Context& sycl);

}  // namespace sycl_opencl
}  // namespace v1
}  // namespace tenon
