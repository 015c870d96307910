// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>

#include <tenon/core/tensor.hpp>

namespace tenon::inline v1::planning {

/// Whether both are host tensors of one type and shape with the same bytes; large ones only if they are the same memory.
inline bool is_same_value(const Tensor& a, const Tensor& b) {
  constexpr std::size_t kMostBytes = 4096;
  if (a.element_type() != b.element_type() || a.shape() != b.shape()) return false;
  if (a.size_bytes() == 0 || a.data() == b.data()) return a.is_contiguous() == b.is_contiguous();
  return a.size_bytes() <= kMostBytes && a.is_contiguous() && b.is_contiguous() &&
         std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace tenon::inline v1::planning
