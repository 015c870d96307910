// SPDX-License-Identifier: Apache-2.0
// Elements over OpenCL.
#pragma once

#include <vector>

#include <tenon/elements/description.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace opencl {

std::vector<KnownElement> elements();

}  // namespace opencl
}  // namespace elements
}  // namespace v1
}  // namespace tenon
