// SPDX-License-Identifier: Apache-2.0
// Moving elements: strided and broadcast copies of any element size of whole bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <tenon/engine/kernels/simd/broadcast.hpp>

namespace tenon::inline v1::engine::kernels {

/// Copies in parallel when large.
inline void copy_bytes(void* to, const void* from, std::size_t bytes) {
  if (to == from || bytes == 0) return;
  constexpr std::size_t kChunk = std::size_t{64} * 1024;
  if (bytes <= 4 * kChunk) {
    std::memcpy(to, from, bytes);
    return;
  }
  parallel((bytes + kChunk - 1) / kChunk, 2 * bytes, [&](std::size_t begin, std::size_t end) {
    const std::size_t first = begin * kChunk, last = std::min(end * kChunk, bytes);
    std::memcpy(static_cast<char*>(to) + first, static_cast<const char*>(from) + first, last - first);
  });
}

template <typename T>
void strided_copy_as(const Walk<2>& walk, T* to, const T* from) {
  const std::size_t inner = walk.inner();
  const auto out_step = walk.inner_stride(0), step = walk.inner_stride(1);
  parallel(walk.rows(), walk.rows() * inner * 2 * sizeof(T), [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      const auto at = walk.offsets(row);
      T* o = to + at[0];
      const T* x = from + at[1];
      if (out_step == 1 && step == 1) {
        std::memcpy(o, x, inner * sizeof(T));
      } else if (out_step == 1 && step == 0) {
        std::fill(o, o + inner, *x);
      } else {
        for (std::size_t i = 0; i < inner; ++i)
          o[static_cast<std::ptrdiff_t>(i) * out_step] = x[static_cast<std::ptrdiff_t>(i) * step];
      }
    }
  });
}

/// Operand 0 of the walk is the destination, operand 1 the source; element size 1, 2, 4 or 8.
inline void strided_copy(const Walk<2>& walk, std::size_t element_size, void* to, const void* from) {
  switch (element_size) {
    case 1:
      return strided_copy_as(walk, static_cast<std::uint8_t*>(to), static_cast<const std::uint8_t*>(from));
    case 2:
      return strided_copy_as(walk, static_cast<std::uint16_t*>(to), static_cast<const std::uint16_t*>(from));
    case 4:
      return strided_copy_as(walk, static_cast<std::uint32_t*>(to), static_cast<const std::uint32_t*>(from));
    default:
      return strided_copy_as(walk, static_cast<std::uint64_t*>(to), static_cast<const std::uint64_t*>(from));
  }
}

}  // namespace tenon::inline v1::engine::kernels
