// SPDX-License-Identifier: Apache-2.0
// Tables of bytes by AVX-512 VBMI, which chooses 64 bytes out of 128 at once. The vector library has no such table:
// intrinsics, chosen at run time.
#include <tenon/engine/kernels/low_bit/byte_table.hpp>

#include <algorithm>

#include <tenon/engine/kernels/simd/parallel.hpp>

#if defined(__x86_64__)
// g++ 12 takes the undefined operands that these functions begin with for mistakes (its bug 105593).
#if !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#if !defined(__clang__)
#pragma GCC diagnostic pop
#endif
#endif

namespace tenon::inline v1::engine::kernels {
namespace {

constexpr std::size_t kChunk = 4096;  // elements

#if defined(__x86_64__)
constexpr std::size_t kLanes = 64;
#define TENON_VBMI __attribute__((target("avx512f,avx512bw,avx512vbmi")))

bool has_byte_permutation() {
  static const bool has = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi");
  return has;
}

TENON_VBMI void permute(const std::uint8_t* table, const std::uint8_t* x, std::uint8_t* y, std::size_t count) {
  const __m512i first = _mm512_loadu_si512(table), second = _mm512_loadu_si512(table + kLanes),
                third = _mm512_loadu_si512(table + 2 * kLanes), fourth = _mm512_loadu_si512(table + 3 * kLanes);
  for (std::size_t i = 0; i < count; i += kLanes) {
    const __mmask64 some = count - i < kLanes ? (std::uint64_t{1} << (count - i)) - 1 : ~std::uint64_t{0};
    // An index's lowest 7 bits choose in a pair of registers, its sign between the pairs.
    const __m512i at = _mm512_maskz_loadu_epi8(some, x + i);
    const __m512i low = _mm512_permutex2var_epi8(first, at, second), high = _mm512_permutex2var_epi8(third, at, fourth);
    _mm512_mask_storeu_epi8(y + i, some, _mm512_mask_blend_epi8(_mm512_movepi8_mask(at), low, high));
  }
}
#else
bool has_byte_permutation() { return false; }
void permute(const std::uint8_t*, const std::uint8_t*, std::uint8_t*, std::size_t) {}
#endif

template <typename T>
void look_up_in_chunks(const std::array<T, 256>& table, const std::uint8_t* x, T* y, std::size_t count) {
  parallel((count + kChunk - 1) / kChunk, count * (1 + sizeof(T)), [&](std::size_t begin, std::size_t end) {
    const std::size_t first = begin * kChunk, last = std::min(end * kChunk, count);
    if constexpr (sizeof(T) == 1)
      if (has_byte_permutation()) return permute(table.data(), x + first, y + first, last - first);
    for (std::size_t i = first; i < last; ++i) y[i] = table[x[i]];
  });
}

}  // namespace

void look_up(const std::array<std::uint8_t, 256>& table, const std::uint8_t* x, std::uint8_t* y, std::size_t count) {
  look_up_in_chunks(table, x, y, count);
}

void look_up(const std::array<float, 256>& table, const std::uint8_t* x, float* y, std::size_t count) {
  look_up_in_chunks(table, x, y, count);
}

}  // namespace tenon::inline v1::engine::kernels
