// SPDX-License-Identifier: Apache-2.0
// Numbers of one type as another.
#pragma once

#include <cstddef>

#include <tenon/core/element_type.hpp>

namespace tenon::inline v1::engine::kernels {

/// Whether convert() knows both types: all of whole bytes but the floats of 8 bits. They differ.
bool converts(ElementType from, ElementType to);

/// Real numbers become integers by dropping their fraction, what is out of range the nearest integer of the type, and NaN
/// 0; integers wrap; what is not 0 is true. Split over the workers of the calling arena.
void convert(ElementType from, const void* x, ElementType to, void* y, std::size_t count);

}  // namespace tenon::inline v1::engine::kernels
