// SPDX-License-Identifier: Apache-2.0
// What the tool loads of this bridge: edges between contexts that SYCL and OpenCL bring.
#pragma once

#include <string>
#include <vector>

#include <tenon/bridges/sycl_opencl/sycl_opencl.hpp>  // IWYU pragma: export
#include <tenon/core/context.hpp>

namespace tenon {
inline namespace v1 {
namespace sycl_opencl {

/// None of its own.
inline std::vector<Context> contexts() { return {}; }

/// Why contexts() is empty, where it is.
inline std::string why_none() { return "it has edges only, between contexts of SYCL and OpenCL"; }

}  // namespace sycl_opencl
}  // namespace v1
}  // namespace tenon
