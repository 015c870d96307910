// SPDX-License-Identifier: Apache-2.0
// Products of 8-bit integers by AVX512_VNNI, which the vector library does not know: intrinsics, chosen at run time.
#include <tenon/engine/kernels/low_bit/weight_only_rounded.hpp>

#include <algorithm>

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

std::size_t chunk_numbers(const WeightOnly& problem) { return problem.is_4_bit() ? 128 : 64; }

/// The CPU's dot products read numbers of the matrix without a sign: those with one have it flipped and are this much
/// higher.
float raised_by(WeightOnlyType type) {
  return type == WeightOnlyType::kI4 ? 8.f : type == WeightOnlyType::kI8 ? 128.f : 0.f;
}

}  // namespace

std::size_t RoundedRows::floats(const WeightOnly& problem) {
  return problem.rows * (problem.row_bytes() / 64 * 32 + problem.depth / sizeof(float));
}

RoundedRows::RoundedRows(const WeightOnly& problem, float* memory)
    : problem_(problem),
      scales_(memory),
      sums_(scales_ + problem.rows * chunks() * 16),
      numbers_(reinterpret_cast<std::int8_t*>(sums_ + problem.rows * chunks() * 16)) {}

#if defined(__x86_64__)

#define TENON_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")))

bool rounds_rows(const WeightOnly& problem) {
  static const bool has = __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  const std::size_t chunk = chunk_numbers(problem);
  return has && problem.type != WeightOnlyType::kNf4 && problem.rounding > 0 && problem.rounding % 32 == 0 &&
         problem.depth % chunk == 0 && problem.depth % problem.rounding == 0 &&
         (problem.group % chunk == 0 || (chunk % problem.group == 0 && problem.group % 32 == 0));
}

namespace {

/// The largest amount; NaN if one is not finite.
TENON_VNNI float largest(const float* x, std::size_t count) {
  __m512 most = _mm512_setzero_ps(), zeros = _mm512_setzero_ps();
  for (std::size_t i = 0; i < count; i += 16) {
    const __m512 some = _mm512_loadu_ps(x + i);
    most = _mm512_max_ps(most, _mm512_abs_ps(some));
    zeros = _mm512_fmadd_ps(some, _mm512_setzero_ps(), zeros);
  }
  return _mm512_reduce_max_ps(most) + _mm512_reduce_add_ps(zeros);
}

TENON_VNNI void to_bytes(const float* x, std::size_t count, float factor, std::int8_t* out) {
  for (std::size_t i = 0; i < count; i += 16) {
    const __m512i rounded = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x + i), _mm512_set1_ps(factor)));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), _mm512_cvtsepi32_epi8(rounded));
  }
}

/// 128 neighbours as those at even places, then those at odd places.
TENON_VNNI void split_places(std::int8_t* numbers) {
  alignas(64) std::int8_t both[128];
  std::copy_n(numbers, 128, both);
  for (std::size_t i = 0; i < 64; ++i) numbers[i] = both[2 * i], numbers[64 + i] = both[2 * i + 1];
}

/// What is the same for every row and column.
struct Shared {
  const WeightOnly& problem;
  const WeightOnlyMatrix& matrix;
  const std::int8_t* numbers;
  const float* scales;
  const float* sums;
};

/// kRows rows times kColumns columns.
template <WeightOnlyType kType, std::size_t kRows, std::size_t kColumns>
TENON_VNNI void block(const Shared& shared, std::size_t row, std::size_t column, float* out) {
  constexpr bool kFour = kType == WeightOnlyType::kU4 || kType == WeightOnlyType::kI4;
  constexpr std::size_t kChunk = kFour ? 128 : 64;
  const WeightOnly& problem = shared.problem;
  const std::size_t chunks = problem.depth / kChunk, groups = problem.groups(), row_bytes = problem.row_bytes();
  // A chunk holds several groups, or a group several chunks.
  const std::size_t groups_in_chunk = problem.group < kChunk ? kChunk / problem.group : 1,
                    chunks_in_group = problem.group < kChunk ? 1 : problem.group / kChunk;
  const auto some = static_cast<__mmask8>((1u << groups_in_chunk) - 1);
  alignas(64) std::int32_t group_of_lane[16];
  for (std::size_t lane = 0; lane < 16; ++lane)
    group_of_lane[lane] = static_cast<std::int32_t>(lane * groups_in_chunk / 16);
  const __m512i spread = _mm512_load_si512(group_of_lane);
  const __m512i low_bits = _mm512_set1_epi8(15);
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(kType == WeightOnlyType::kI4   ? 0x88
                                                          : kType == WeightOnlyType::kI8 ? 0x80
                                                                                         : 0));
  const __m512 raised = _mm512_set1_ps(raised_by(kType)),
               zero_of_all = _mm512_set1_ps(shared.matrix.zero_point + raised_by(kType));
  const auto* bytes = static_cast<const std::uint8_t*>(shared.matrix.weights) + column * row_bytes;
  // The same place of a later block: columns are too short for the CPU to see that it should look ahead.
  constexpr std::size_t kAheadBytes = 4096;
  const std::size_t ahead = (kAheadBytes + kColumns * row_bytes - 1) / (kColumns * row_bytes) * kColumns * row_bytes;
  __m512 total[kRows][kColumns];
  for (auto& of_row : total)
    for (__m512& one : of_row) one = _mm512_setzero_ps();
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    for (std::size_t c = 0; c < kColumns; ++c) {
      const std::uint8_t* const at = bytes + c * row_bytes + chunk * 64;
      __m512i weights = _mm512_loadu_si512(at), high = weights;
      _mm_prefetch(reinterpret_cast<const char*>(at + ahead), _MM_HINT_T0);
      if constexpr (kType == WeightOnlyType::kI4 || kType == WeightOnlyType::kI8)
        weights = _mm512_xor_si512(weights, flip);
      if constexpr (kFour) {
        high = _mm512_and_si512(_mm512_srli_epi16(weights, 4), low_bits);
        weights = _mm512_and_si512(weights, low_bits);
      }
      const std::size_t group = (column + c) * groups + chunk / chunks_in_group * groups_in_chunk;
      const auto by_lane = [&](const float* of_groups) TENON_VNNI {
        return _mm512_permutexvar_ps(spread, _mm512_castps128_ps512(_mm_maskz_loadu_ps(some, of_groups)));
      };
      const __m512 scale = by_lane(shared.matrix.scales + group);
      const __m512 zero =
          shared.matrix.zero_points ? _mm512_add_ps(by_lane(shared.matrix.zero_points + group), raised) : zero_of_all;
      for (std::size_t r = 0; r < kRows; ++r) {
        const std::int8_t* x = shared.numbers + (row + r) * problem.depth + chunk * kChunk;
        __m512i dots = _mm512_dpbusd_epi32(_mm512_setzero_si512(), weights, _mm512_loadu_si512(x));
        if constexpr (kFour) dots = _mm512_dpbusd_epi32(dots, high, _mm512_loadu_si512(x + 64));
        const std::size_t lanes = ((row + r) * chunks + chunk) * 16;
        const __m512 part =
            _mm512_fnmadd_ps(zero, _mm512_loadu_ps(shared.sums + lanes),
                             _mm512_mul_ps(_mm512_cvtepi32_ps(dots), _mm512_loadu_ps(shared.scales + lanes)));
        total[r][c] = _mm512_fmadd_ps(scale, part, total[r][c]);
      }
    }
  }
  for (std::size_t r = 0; r < kRows; ++r)
    for (std::size_t c = 0; c < kColumns; ++c)
      out[(row + r) * problem.columns + column + c] =
          _mm512_reduce_add_ps(total[r][c]) + (shared.matrix.bias ? shared.matrix.bias[column + c] : 0);
}

template <WeightOnlyType kType, std::size_t kRows>
void columns(const Shared& shared, std::size_t row, std::size_t begin, std::size_t end, float* out) {
  // A single row takes one column after the other, so that memory is read in its order.
  constexpr std::size_t kColumns = kRows == 1 ? 1 : 2;
  std::size_t n = begin;
  for (; n + kColumns <= end; n += kColumns) block<kType, kRows, kColumns>(shared, row, n, out);
  for (; n < end; ++n) block<kType, kRows, 1>(shared, row, n, out);
}

template <WeightOnlyType kType>
void all_rows(const Shared& shared, std::size_t begin, std::size_t end, float* out) {
  const WeightOnly& problem = shared.problem;
  // A run of columns whose bytes stay in the first cache while all rows pass.
  const std::size_t run = std::max<std::size_t>(4, 16384 / problem.row_bytes() / 4 * 4);
  for (std::size_t from = begin; from < end; from += run) {
    const std::size_t to = std::min(end, from + run);
    std::size_t row = 0;
    for (; row + 4 <= problem.rows; row += 4) columns<kType, 4>(shared, row, from, to, out);
    for (; row < problem.rows; ++row) columns<kType, 1>(shared, row, from, to, out);
  }
}

}  // namespace

void RoundedRows::round(std::size_t row, const float* x) const {
  const std::size_t chunk = chunk_numbers(problem_), lane = chunk / 16;
  std::int8_t* const numbers = numbers_ + row * problem_.depth;
  float *const scales = scales_ + row * chunks() * 16, *const sums = sums_ + row * chunks() * 16;
  for (std::size_t k = 0; k < problem_.depth; k += problem_.rounding) {
    const float most = largest(x + k, problem_.rounding);
    // By a scale of NaN, what is not finite makes the result so, as it would unrounded.
    const float scale = most / 127;
    to_bytes(x + k, problem_.rounding, most > 0 ? 127 / most : 0, numbers + k);
    std::fill_n(scales + k / lane, problem_.rounding / lane, scale);
  }
  for (std::size_t i = 0; i < problem_.depth / lane; ++i) {
    int sum = 0;
    for (std::size_t k = 0; k < lane; ++k) sum += numbers[i * lane + k];
    sums[i] = static_cast<float>(sum) * scales[i];
  }
  if (problem_.is_4_bit())
    for (std::size_t k = 0; k < problem_.depth; k += chunk) split_places(numbers + k);
}

void RoundedRows::multiply(const WeightOnlyMatrix& matrix, std::size_t begin, std::size_t end, float* out) const {
  const Shared shared{problem_, matrix, numbers_, scales_, sums_};
  switch (problem_.type) {
    case WeightOnlyType::kU4:
      return all_rows<WeightOnlyType::kU4>(shared, begin, end, out);
    case WeightOnlyType::kI4:
      return all_rows<WeightOnlyType::kI4>(shared, begin, end, out);
    case WeightOnlyType::kNf4:  // No integers.
      return;
    case WeightOnlyType::kU8:
      return all_rows<WeightOnlyType::kU8>(shared, begin, end, out);
    case WeightOnlyType::kI8:
      return all_rows<WeightOnlyType::kI8>(shared, begin, end, out);
  }
}

#else

bool rounds_rows(const WeightOnly&) { return false; }
void RoundedRows::round(std::size_t, const float*) const {}
void RoundedRows::multiply(const WeightOnlyMatrix&, std::size_t, std::size_t, float*) const {}

#endif

}  // namespace tenon::inline v1::engine::kernels
