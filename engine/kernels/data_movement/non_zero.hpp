// SPDX-License-Identifier: Apache-2.0
// The places of elements that are not 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/shape.hpp>

namespace tenon::inline v1::engine::kernels {

bool has_non_zero(ElementType type);
/// @return for each part of the elements where the places of its own begin, and how many there are in all.
std::vector<std::size_t> count_non_zero(ElementType type, const void* data, std::size_t count);
/// out: [rank, number] of i64 or i32. @param begins  What count_non_zero() returned. Parts are split over the workers of the
/// calling arena, as they are there.
void find_non_zero(ElementType type, const void* data, const Shape& shape, const std::vector<std::size_t>& begins,
                   bool is_wide, void* out);

}  // namespace tenon::inline v1::engine::kernels
