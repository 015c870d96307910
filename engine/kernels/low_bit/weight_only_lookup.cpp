// SPDX-License-Identifier: Apache-2.0
// Products of f32 with 4-bit numbers by AVX-512, whose permutation takes the lowest 4 bits of each lane as an index and
// ignores the others: so a shift and a permutation make real numbers. The vector library promises no such thing:
// intrinsics, chosen at run time.
#include <tenon/engine/kernels/low_bit/weight_only_lookup.hpp>

#include <algorithm>
#include <cstdint>

#include <tenon/graph/ops/nf4.hpp>

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

constexpr std::size_t kChunkNumbers = 128, kChunkBytes = 64, kLanes = 16, kPlaces = 8;
// How far ahead memory is asked for. Measured on an EPYC of 2025, one thread: without it half of the speed; from 1 to 8 KiB
// the same.
constexpr std::size_t kAheadBytes = 4096;

}  // namespace

std::size_t LookedUpRows::floats(const WeightOnly& problem) {
  return problem.rows * (problem.depth + problem.depth / kPlaces);
}

LookedUpRows::LookedUpRows(const WeightOnly& problem, float* memory)
    : problem_(problem), sums_(memory + problem.rows * problem.depth), ordered_(memory) {}

#if defined(__x86_64__)

#define TENON_LOOKUP __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))

bool looks_up(const WeightOnly& problem) {
  static const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  return has && problem.is_4_bit() && problem.depth % kChunkNumbers == 0 &&
         (problem.group % kChunkNumbers == 0 || (kChunkNumbers % problem.group == 0 && problem.group % kPlaces == 0));
}

namespace {

struct LookedUp {
  const WeightOnly& problem;
  const WeightOnlyMatrix& matrix;
  const float* ordered;
  const float* sums;
  __m512 numbers;  ///< What each 4 bits mean, minus the zero point if that is the same for all.
  __m512i spread;  ///< Which of a chunk's groups each lane belongs to.
  // A chunk holds several groups, or a group several chunks.
  std::size_t groups_in_chunk, chunks_in_group;
};

TENON_LOOKUP inline __m512 by_lane(const LookedUp& shared, const float* of_groups) {
  const auto some = static_cast<__mmask16>((1u << shared.groups_in_chunk) - 1);
  return _mm512_permutexvar_ps(shared.spread, _mm512_maskz_loadu_ps(some, of_groups));
}

/// Four sums across vectors.
TENON_LOOKUP inline __m128 sums_of(__m512 a, __m512 b, __m512 c, __m512 d) {
  const __m512 ab = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b)),
               cd = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
  const __m512d x = _mm512_castps_pd(ab), y = _mm512_castps_pd(cd);
  const __m512 all =
      _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(x, y)), _mm512_castpd_ps(_mm512_unpackhi_pd(x, y)));
  const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(all), _mm512_extractf32x8_ps(all, 1));
  return _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
}

/// @param bias  The bias of these columns, or null.
template <std::size_t kColumns>
TENON_LOOKUP inline void store_sums(const __m512 (&totals)[kColumns], const float* bias, float* to) {
  if constexpr (kColumns == 4) {
    const __m128 sums = sums_of(totals[0], totals[1], totals[2], totals[3]);
    _mm_storeu_ps(to, bias ? _mm_add_ps(sums, _mm_loadu_ps(bias)) : sums);
  } else {
    for (std::size_t c = 0; c < kColumns; ++c) to[c] = _mm512_reduce_add_ps(totals[c]) + (bias ? bias[c] : 0);
  }
}

/// Adds, for 128 neighbours in one column, those at one place of each 4 bytes times their factors.
template <int kPlace>
TENON_LOOKUP inline __m512 add_place(__m512 sum, __m512i places, __m512 numbers, const float* x) {
  const __m512 real = _mm512_permutexvar_ps(_mm512_srli_epi32(places, 4 * kPlace), numbers);
  return _mm512_fmadd_ps(real, _mm512_loadu_ps(x + kPlace * kLanes), sum);
}

/// One row times kColumns columns, one after the other: memory is read in its order, at its speed.
template <std::size_t kColumns, bool kZeros>
TENON_LOOKUP void looked_up_run(const LookedUp& shared, std::size_t row, std::size_t column, float* out) {
  const WeightOnly& problem = shared.problem;
  const std::size_t chunks = problem.depth / kChunkNumbers, groups = problem.groups();
  const auto* bytes = static_cast<const std::uint8_t*>(shared.matrix.weights) + column * problem.row_bytes();
  const __m512 numbers = shared.numbers;
  __m512 totals[kColumns];
  for (std::size_t c = 0; c < kColumns; ++c) {
    __m512 total = _mm512_setzero_ps();
    const float *x = shared.ordered + row * problem.depth, *sums = shared.sums + row * chunks * kLanes;
    std::size_t group = (column + c) * groups, left = shared.chunks_in_group;
    for (std::size_t chunk = 0; chunk < chunks; ++chunk, bytes += kChunkBytes, x += kChunkNumbers, sums += kLanes) {
      __m512i places = _mm512_loadu_si512(bytes);
      // Else the compiler reads memory again for some shifts, which costs a tenth of the speed.
      __asm__("" : "+v"(places));
      _mm_prefetch(reinterpret_cast<const char*>(bytes + kAheadBytes), _MM_HINT_T0);
      __m512 even = _mm512_setzero_ps(), odd = even;
      if constexpr (kZeros)
        odd = _mm512_mul_ps(by_lane(shared, shared.matrix.zero_points + group), _mm512_loadu_ps(sums));
      even = add_place<0>(even, places, numbers, x);
      odd = add_place<1>(odd, places, numbers, x);
      even = add_place<2>(even, places, numbers, x);
      odd = add_place<3>(odd, places, numbers, x);
      even = add_place<4>(even, places, numbers, x);
      odd = add_place<5>(odd, places, numbers, x);
      even = add_place<6>(even, places, numbers, x);
      odd = add_place<7>(odd, places, numbers, x);
      total = _mm512_fmadd_ps(by_lane(shared, shared.matrix.scales + group), _mm512_add_ps(even, odd), total);
      if (--left == 0) left = shared.chunks_in_group, group += shared.groups_in_chunk;
    }
    totals[c] = total;
  }
  const float* const bias = shared.matrix.bias ? shared.matrix.bias + column : nullptr;
  store_sums(totals, bias, out + row * problem.columns + column);
}

/// kRows rows times kColumns columns.
template <std::size_t kRows, std::size_t kColumns, bool kZeros>
TENON_LOOKUP void looked_up_block(const LookedUp& shared, std::size_t row, std::size_t column, float* out) {
  const WeightOnly& problem = shared.problem;
  const std::size_t chunks = problem.depth / kChunkNumbers, groups = problem.groups(), row_bytes = problem.row_bytes();
  const auto* bytes = static_cast<const std::uint8_t*>(shared.matrix.weights) + column * row_bytes;
  const __m512 numbers = shared.numbers;
  // To the same place of a later block.
  const std::size_t ahead = (kAheadBytes + kColumns * row_bytes - 1) / (kColumns * row_bytes) * kColumns * row_bytes;
  __m512 total[kRows][kColumns];
  for (auto& of_row : total)
    for (__m512& one : of_row) one = _mm512_setzero_ps();
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    const std::size_t group = column * groups + chunk / shared.chunks_in_group * shared.groups_in_chunk;
    __m512i places[kColumns];
    __m512 part[kRows][kColumns];
    for (std::size_t c = 0; c < kColumns; ++c) {
      const std::uint8_t* at = bytes + c * row_bytes + chunk * kChunkBytes;
      places[c] = _mm512_loadu_si512(at);
      _mm_prefetch(reinterpret_cast<const char*>(at + ahead), _MM_HINT_T0);
      for (std::size_t r = 0; r < kRows; ++r)
        part[r][c] = kZeros ? _mm512_mul_ps(by_lane(shared, shared.matrix.zero_points + group + c * groups),
                                            _mm512_loadu_ps(shared.sums + ((row + r) * chunks + chunk) * kLanes))
                            : _mm512_setzero_ps();
    }
    const float* x = shared.ordered + row * problem.depth + chunk * kChunkNumbers;
    for (std::size_t place = 0; place < kPlaces; ++place, x += kLanes) {
      __m512 factors[kRows];
      for (std::size_t r = 0; r < kRows; ++r) factors[r] = _mm512_loadu_ps(x + r * problem.depth);
      for (std::size_t c = 0; c < kColumns; ++c) {
        const __m512 real = _mm512_permutexvar_ps(places[c], numbers);
        places[c] = _mm512_srli_epi32(places[c], 4);
        for (std::size_t r = 0; r < kRows; ++r) part[r][c] = _mm512_fmadd_ps(real, factors[r], part[r][c]);
      }
    }
    for (std::size_t c = 0; c < kColumns; ++c) {
      const __m512 scale = by_lane(shared, shared.matrix.scales + group + c * groups);
      for (std::size_t r = 0; r < kRows; ++r) total[r][c] = _mm512_fmadd_ps(scale, part[r][c], total[r][c]);
    }
  }
  const float* const bias = shared.matrix.bias ? shared.matrix.bias + column : nullptr;
  for (std::size_t r = 0; r < kRows; ++r) store_sums(total[r], bias, out + (row + r) * problem.columns + column);
}

template <std::size_t kRows, bool kZeros>
void looked_up_columns(const LookedUp& shared, std::size_t row, std::size_t begin, std::size_t end, float* out) {
  std::size_t n = begin;
  if constexpr (kRows == 1) {
    for (; n + 4 <= end; n += 4) looked_up_run<4, kZeros>(shared, row, n, out);
    for (; n < end; ++n) looked_up_run<1, kZeros>(shared, row, n, out);
  } else {
    constexpr std::size_t kColumns = kRows == 2 ? 4 : 2;
    for (; n + kColumns <= end; n += kColumns) looked_up_block<kRows, kColumns, kZeros>(shared, row, n, out);
    for (; n < end; ++n) looked_up_block<kRows, 1, kZeros>(shared, row, n, out);
  }
}

template <bool kZeros>
void looked_up_rows(const LookedUp& shared, std::size_t begin, std::size_t end, float* out) {
  const WeightOnly& problem = shared.problem;
  // A run of columns whose bytes stay in the first cache while all rows pass.
  const std::size_t run = std::max<std::size_t>(4, 16384 / problem.row_bytes() / 4 * 4);
  for (std::size_t from = begin; from < end; from += run) {
    const std::size_t to = std::min(end, from + run);
    std::size_t row = 0;
    for (; row + 4 <= problem.rows; row += 4) looked_up_columns<4, kZeros>(shared, row, from, to, out);
    for (; row + 2 <= problem.rows; row += 2) looked_up_columns<2, kZeros>(shared, row, from, to, out);
    for (; row < problem.rows; ++row) looked_up_columns<1, kZeros>(shared, row, from, to, out);
  }
}

TENON_LOOKUP void order_row(const float* x, std::size_t depth, float* ordered, float* sums) {
  const __m512i every_eighth =
      _mm512_slli_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), 3);
  for (std::size_t k = 0; k < depth; k += kChunkNumbers, sums += kLanes) {
    __m512 sum = _mm512_setzero_ps();
    for (std::size_t place = 0; place < kPlaces; ++place) {
      const __m512 some = _mm512_i32gather_ps(every_eighth, x + k + place, sizeof(float));
      _mm512_storeu_ps(ordered + k + place * kLanes, some);
      sum = _mm512_sub_ps(sum, some);
    }
    _mm512_storeu_ps(sums, sum);
  }
}

TENON_LOOKUP LookedUp looked_up(const WeightOnly& problem, const WeightOnlyMatrix& matrix, const float* ordered,
                                const float* sums) {
  alignas(64) float numbers[kLanes];
  alignas(64) std::int32_t group_of_lane[kLanes];
  const std::size_t groups_in_chunk = problem.group < kChunkNumbers ? kChunkNumbers / problem.group : 1;
  for (std::size_t i = 0; i < kLanes; ++i) {
    const int number = static_cast<int>(i) - (problem.type == WeightOnlyType::kI4 && i >= 8 ? 16 : 0);
    numbers[i] = problem.type == WeightOnlyType::kNf4 ? kNf4Numbers[i] : static_cast<float>(number);
    if (!matrix.zero_points) numbers[i] -= matrix.zero_point;
    group_of_lane[i] = static_cast<std::int32_t>(i * groups_in_chunk / kLanes);
  }
  return {problem,
          matrix,
          ordered,
          sums,
          _mm512_load_ps(numbers),
          _mm512_load_si512(group_of_lane),
          groups_in_chunk,
          problem.group < kChunkNumbers ? 1 : problem.group / kChunkNumbers};
}

}  // namespace

void LookedUpRows::order(std::size_t row, const float* x) const {
  order_row(x, problem_.depth, ordered_ + row * problem_.depth, sums_ + row * problem_.depth / kPlaces);
}

void LookedUpRows::multiply(const WeightOnlyMatrix& matrix, std::size_t begin, std::size_t end, float* out) const {
  const LookedUp shared = looked_up(problem_, matrix, ordered_, sums_);
  if (matrix.zero_points)
    looked_up_rows<true>(shared, begin, end, out);
  else
    looked_up_rows<false>(shared, begin, end, out);
}

#else

bool looks_up(const WeightOnly&) { return false; }
void LookedUpRows::order(std::size_t, const float*) const {}
void LookedUpRows::multiply(const WeightOnlyMatrix&, std::size_t, std::size_t, float*) const {}

#endif

}  // namespace tenon::inline v1::engine::kernels
