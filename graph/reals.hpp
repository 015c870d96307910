// SPDX-License-Identifier: Apache-2.0
// Elements of any type of numbers as f32, and back.
#pragma once

#include <cstddef>

#include <tenon/core/element_type.hpp>
#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {

/// Converts `count` packed elements. @pre a type that shares bytes begins with a whole one. @errors kUnimplemented: strings.
TENON_API void to_reals(ElementType type, const void* from, std::size_t count, float* to);
/// The same back: to the nearest of a real type, ties to even.
TENON_API void from_reals(ElementType type, const float* from, std::size_t count, void* to);

}  // namespace v1
}  // namespace tenon
