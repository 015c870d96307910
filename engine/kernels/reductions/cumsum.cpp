// SPDX-License-Identifier: Apache-2.0
// Loops over lines, and over columns side by side.
#include <tenon/engine/kernels/reductions/cumsum.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include <tenon/engine/kernels/simd/broadcast.hpp>

namespace tenon::inline v1::engine::kernels {
namespace {

constexpr std::size_t kSumColumns = 64;

template <typename T>
void sum_up(const Cumsum& what, const T* x, T* y) {
  // Integers wrap.
  using Held = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;
  const std::size_t blocks = (what.inner + kSumColumns - 1) / kSumColumns;
  const std::size_t bytes = 2 * what.outer * what.extent * what.inner * sizeof(T);
  parallel(what.outer * blocks, bytes, [&](std::size_t begin, std::size_t end) {
    for (std::size_t block = begin; block < end; ++block) {
      const std::size_t first = block % blocks * kSumColumns, count = std::min(kSumColumns, what.inner - first);
      const std::size_t base = block / blocks * what.extent * what.inner + first;
      Held sums[kSumColumns] = {};
      for (std::size_t n = 0; n < what.extent; ++n) {
        const std::size_t at = base + (what.is_reverse ? what.extent - 1 - n : n) * what.inner;
        for (std::size_t i = 0; i < count; ++i) {
          const auto value = static_cast<Held>(x[at + i]);
          const Held sum = sums[i] + value;
          y[at + i] = static_cast<T>(what.is_exclusive ? sums[i] : sum);
          sums[i] = sum;
        }
      }
    }
  });
}

}  // namespace

void cumsum(const Cumsum& what, const void* x, void* y) {
  if (what.type == ElementType::kF32)
    sum_up(what, static_cast<const float*>(x), static_cast<float*>(y));
  else if (what.type == ElementType::kI32)
    sum_up(what, static_cast<const std::int32_t*>(x), static_cast<std::int32_t*>(y));
  else
    sum_up(what, static_cast<const std::int64_t*>(x), static_cast<std::int64_t*>(y));
}

void divide_by_norms(std::size_t outer, std::size_t extent, std::size_t inner, float epsilon, bool is_added,
                     const float* x, const float* squares, float* y) {
  const auto norm_of = [&](float sum) { return std::sqrt(is_added ? sum + epsilon : std::max(sum, epsilon)); };
  parallel(outer * extent, 2 * outer * extent * inner * sizeof(float), [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      const float *from = x + row * inner, *sums = squares + row / extent * inner;
      for (std::size_t i = 0; i < inner; ++i) y[row * inner + i] = from[i] / norm_of(sums[i]);
    }
  });
}

}  // namespace tenon::inline v1::engine::kernels
