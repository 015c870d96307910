// SPDX-License-Identifier: Apache-2.0
// Conversion between numbers of different meanings.
#pragma once

#include <optional>

#include <tenon/core/element_type.hpp>
#include <tenon/engine/kernels/low_bit/quantize.hpp>
#include <tenon/engine/plan/planning.hpp>

namespace tenon::inline v1::engine {

inline bool is_8_bit(ElementType type) { return type == ElementType::kU8 || type == ElementType::kI8; }

/// Converts numbers that mean `from` to numbers that mean `to`; nullopt stands for real numbers.
inline kernels::Affine affine_of(const std::optional<Quantization>& from, ElementType from_type,
                                 const std::optional<Quantization>& to, ElementType to_type) {
  double scale = from ? from->scale : 1;
  if (to) scale /= to->scale;
  return {from_type, to_type, static_cast<float>(scale), to ? static_cast<float>(to->zero_point) : 0.f,
          from ? static_cast<float>(from->zero_point) : 0.f};
}

}  // namespace tenon::inline v1::engine
