// SPDX-License-Identifier: Apache-2.0
// Products of pairs of bf16 by AVX512_BF16, which the vector library does not know: intrinsics, chosen at run time.
#include <tenon/engine/kernels/attention_pairs.hpp>

#if defined(__x86_64__) && defined(__GNUC__)
#include <cstring>

#include <immintrin.h>

namespace tenon::inline v1::engine::kernels {
namespace {

#define TENON_PAIRS __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))

template <std::size_t kRows, std::size_t kVecs>
TENON_PAIRS inline void pair_block(const std::uint16_t* a, std::size_t a_row, std::size_t a_step,
                                   const std::uint32_t* b, std::size_t pairs, const float* factor, float* c) {
  __m512 sums[kRows][kVecs];
  for (std::size_t i = 0; i < kRows; ++i)
    for (std::size_t j = 0; j < kVecs; ++j)
      sums[i][j] = factor ? _mm512_mul_ps(_mm512_load_ps(c + (i * kVecs + j) * 16), _mm512_load_ps(factor + j * 16))
                          : _mm512_setzero_ps();
  for (std::size_t k = 0; k < pairs; ++k, a += a_step, b += kVecs * 16) {
    __m512bh right[kVecs];
    for (std::size_t j = 0; j < kVecs; ++j) right[j] = reinterpret_cast<__m512bh>(_mm512_load_si512(b + j * 16));
    for (std::size_t i = 0; i < kRows; ++i) {
      std::int32_t pair = 0;
      std::memcpy(&pair, a + i * a_row, sizeof(pair));
      const auto left = reinterpret_cast<__m512bh>(_mm512_set1_epi32(pair));
      for (std::size_t j = 0; j < kVecs; ++j) sums[i][j] = _mm512_dpbf16_ps(sums[i][j], left, right[j]);
    }
  }
  for (std::size_t i = 0; i < kRows; ++i)
    for (std::size_t j = 0; j < kVecs; ++j) _mm512_store_ps(c + (i * kVecs + j) * 16, sums[i][j]);
}

template <std::size_t kVecs>
TENON_PAIRS void pair_rows(const std::uint16_t* a, std::size_t rows, std::size_t a_row, std::size_t a_step,
                           const std::uint32_t* b, std::size_t pairs, const float* factor, float* c) {
  std::size_t i = 0;
  for (; i + 8 <= rows; i += 8, a += 8 * a_row, c += 8 * kVecs * 16)
    pair_block<8, kVecs>(a, a_row, a_step, b, pairs, factor, c);
  for (; i < rows; ++i, a += a_row, c += kVecs * 16) pair_block<1, kVecs>(a, a_row, a_step, b, pairs, factor, c);
}

}  // namespace

bool has_pair_products() {
  static const bool has = __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512bw");
  return has;
}

void pair_product(const std::uint16_t* a, std::size_t rows, std::size_t a_row, std::size_t a_step,
                  const std::uint32_t* b, std::size_t pairs, std::size_t vectors, const float* factor, float* c) {
  if (vectors == 1) return pair_rows<1>(a, rows, a_row, a_step, b, pairs, factor, c);
  if (vectors == 2) return pair_rows<2>(a, rows, a_row, a_step, b, pairs, factor, c);
  pair_rows<3>(a, rows, a_row, a_step, b, pairs, factor, c);
}

}  // namespace tenon::inline v1::engine::kernels
#else
namespace tenon::inline v1::engine::kernels {

bool has_pair_products() { return false; }
void pair_product(const std::uint16_t*, std::size_t, std::size_t, std::size_t, const std::uint32_t*, std::size_t,
                  std::size_t, const float*, float*) {}

}  // namespace tenon::inline v1::engine::kernels
#endif
