// SPDX-License-Identifier: Apache-2.0
// OpenVINO's name for the number of a shape's elements.
#pragma once

#include <cstddef>

#include <tenon/core/shape.hpp>

namespace tenon {
inline namespace v1 {

/// Number of elements; 1 for a scalar. Precondition: it fits (see checked_element_count).
inline std::size_t shape_size(const Shape& shape) { return element_count(shape); }

}  // namespace v1
}  // namespace tenon
