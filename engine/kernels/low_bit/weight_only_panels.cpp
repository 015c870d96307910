// SPDX-License-Identifier: Apache-2.0
// Panels of bytes times rows of bytes by AVX512_VNNI, which the vector library does not know: intrinsics, chosen at run
// time.
#include <tenon/engine/kernels/low_bit/weight_only_panels.hpp>

#include <algorithm>
#include <cstring>
#include <numeric>

#include <tenon/engine/kernels/low_bit/weight_only_rounded.hpp>

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

constexpr std::size_t kPanelLanes = 16, kPanelVectors = RoundedPanels::kPanelColumns / kPanelLanes, kLine = 64;
// A block of columns stays in the second-level caches of a few cores.
constexpr std::size_t kBlockBytes = std::size_t{1} << 21;

std::size_t in_lines(std::size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

/// What the matrix's bytes are raised by, so that they have no sign.
float panel_raised_by(WeightOnlyType type) {
  return type == WeightOnlyType::kI4 ? 8.f : type == WeightOnlyType::kI8 ? 128.f : 0.f;
}

}  // namespace

namespace {

/// Where the parts of the memory begin, in bytes.
struct PanelMemory {
  std::size_t row_scales, row_sums, scales, zeros, rows, expanded, end;
  PanelMemory(const WeightOnly& problem, std::size_t units, std::size_t columns) {
    std::size_t at = 0;
    const auto take = [&](std::size_t bytes) {
      const std::size_t begin = at;
      at += in_lines(bytes);
      return begin;
    };
    row_scales = take(problem.rows * units * sizeof(float));
    row_sums = take(problem.rows * units * sizeof(float));
    scales = take(columns * problem.groups() * sizeof(float));
    zeros = take(columns * problem.groups() * sizeof(float));
    rows = take(problem.rows * problem.depth);
    expanded = take(columns * problem.depth);
    end = at;
  }
};

std::size_t block_columns_of(const WeightOnly& problem) {
  constexpr std::size_t kEach = RoundedPanels::kPanelColumns;
  const std::size_t all = (problem.columns + kEach - 1) / kEach,
                    most = std::max<std::size_t>(kBlockBytes / problem.depth / kEach, 1);
  return std::min(all, most) * kEach;
}
std::size_t unit_of(const WeightOnly& problem) { return std::gcd(problem.group, problem.rounding); }

}  // namespace

RoundedPanels::RoundedPanels(const WeightOnly& problem, void* memory) : problem_(problem), unit_(unit_of(problem)) {
  const PanelMemory parts(problem, units(), block_columns());
  auto* const begin = static_cast<std::byte*>(memory);
  row_scales_ = reinterpret_cast<float*>(begin + parts.row_scales);
  row_sums_ = reinterpret_cast<float*>(begin + parts.row_sums);
  scales_ = reinterpret_cast<float*>(begin + parts.scales);
  zeros_ = reinterpret_cast<float*>(begin + parts.zeros);
  rows_ = reinterpret_cast<std::int8_t*>(begin + parts.rows);
  expanded_ = reinterpret_cast<std::uint8_t*>(begin + parts.expanded);
}

std::size_t RoundedPanels::block_columns() const { return block_columns_of(problem_); }

std::size_t RoundedPanels::floats(const WeightOnly& problem) {
  return PanelMemory(problem, problem.depth / unit_of(problem), block_columns_of(problem)).end / sizeof(float);
}

#if defined(__x86_64__)

#define TENON_PANELS __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")))

bool multiplies_panels(const WeightOnly& problem) {
  // Measured on an EPYC of 2025, over multiplying the bytes as they lie: 1.25 times the speed at 4 rows, 1.8 at 8, 2.3 at
  // 16, 2.8 at 96.
  constexpr std::size_t kLeastRows = 4;
  return problem.rows >= kLeastRows && rounds_rows(problem) && problem.group % 32 == 0;
}

namespace {

/// 64 numbers in the order in which those of a matrix come out of its bytes: of 8 neighbours those at even places first,
/// if two share a byte.
TENON_PANELS __m512i in_byte_order(__m512i numbers, bool is_4_bit) {
  if (!is_4_bit) return numbers;
  const __m512i order = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15));
  return _mm512_shuffle_epi8(numbers, order);
}

/// The largest amount; NaN if one is not finite.
TENON_PANELS float largest_of(const float* x, std::size_t count) {
  __m512 most = _mm512_setzero_ps(), zeros = _mm512_setzero_ps();
  for (std::size_t i = 0; i < count; i += kPanelLanes) {
    const __m512 some = _mm512_loadu_ps(x + i);
    most = _mm512_max_ps(most, _mm512_abs_ps(some));
    zeros = _mm512_fmadd_ps(some, _mm512_setzero_ps(), zeros);
  }
  return _mm512_reduce_max_ps(most) + _mm512_reduce_add_ps(zeros);
}

TENON_PANELS void round_numbers(const float* x, std::size_t count, float factor, bool is_4_bit, std::int8_t* out) {
  const __m512 by = _mm512_set1_ps(factor);
  for (std::size_t i = 0; i < count; i += kPanelLanes) {
    const __m128i rounded = _mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x + i), by)));
    const __m128i ordered = _mm512_castsi512_si128(in_byte_order(_mm512_castsi128_si512(rounded), is_4_bit));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), ordered);
  }
}

TENON_PANELS int sum_of(const std::int8_t* numbers, std::size_t count) {
  __m256i sum = _mm256_setzero_si256();
  for (std::size_t i = 0; i < count; i += 32)
    sum = _mm256_dpbusd_epi32(sum, _mm256_set1_epi8(1),
                              _mm256_loadu_si256(reinterpret_cast<const __m256i*>(numbers + i)));
  return _mm512_reduce_add_epi32(_mm512_zextsi256_si512(sum));
}

/// Rows and columns of 16 numbers of 32 bits change places.
TENON_PANELS inline void transpose(__m512i (&r)[kPanelLanes]) {
  __m512i t[kPanelLanes];
  for (std::size_t i = 0; i < kPanelLanes; i += 2) {
    t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
  }
  for (std::size_t i = 0; i < kPanelLanes; i += 4) {
    r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  // Quarters of vectors, of which the first and third, or the second and fourth, are taken.
  constexpr int kEven = 0x88, kOdd = 0xdd;
  for (std::size_t j = 0; j < 4; ++j) {
    const __m512i a = _mm512_shuffle_i32x4(r[j], r[4 + j], kEven), b = _mm512_shuffle_i32x4(r[8 + j], r[12 + j], kEven),
                  c = _mm512_shuffle_i32x4(r[j], r[4 + j], kOdd), d = _mm512_shuffle_i32x4(r[8 + j], r[12 + j], kOdd);
    t[j] = _mm512_shuffle_i32x4(a, b, kEven);
    t[4 + j] = _mm512_shuffle_i32x4(c, d, kEven);
    t[8 + j] = _mm512_shuffle_i32x4(a, b, kOdd);
    t[12 + j] = _mm512_shuffle_i32x4(c, d, kOdd);
  }
  for (std::size_t i = 0; i < kPanelLanes; ++i) r[i] = t[i];
}

/// Sixteen columns as bytes, four neighbours of each together: `to` has a vector for each four, `step` bytes apart.
template <bool kFour>
TENON_PANELS void expand_lanes(const std::uint8_t* const (&columns)[kPanelLanes], std::size_t row_bytes, int flip,
                               std::uint8_t* to, std::size_t step) {
  const __m512i low_bits = _mm512_set1_epi8(15), flipped = _mm512_set1_epi8(static_cast<char>(flip));
  for (std::size_t at = 0; at < row_bytes; at += kLine) {
    __m512i fours[kPanelLanes];
    for (std::size_t i = 0; i < kPanelLanes; ++i)
      fours[i] = _mm512_xor_si512(_mm512_loadu_si512(columns[i] + at), flipped);
    transpose(fours);
    for (const __m512i four : fours) {
      if constexpr (kFour) {
        _mm512_store_si512(to, _mm512_and_si512(four, low_bits));
        _mm512_store_si512(to + step, _mm512_and_si512(_mm512_srli_epi16(four, 4), low_bits));
        to += 2 * step;
      } else {
        _mm512_store_si512(to, four);
        to += step;
      }
    }
  }
}

struct Panel {
  const std::uint8_t* numbers;  ///< [depth / 4, 48, 4]
  const float *scales, *zeros;  ///< [groups, 48]
  const float* bias;            ///< The bias of its columns, or null.
};
struct PanelRows {
  const std::int8_t* numbers;
  const float *scales, *sums;
  std::size_t depth, units, unit, units_in_group;
};

/// kRows rows times a panel. @param row  The first.
template <std::size_t kRows>
TENON_PANELS void multiply_panel(const Panel& panel, const PanelRows& rows, std::size_t row, std::size_t columns,
                                 float* out, std::size_t out_row) {
  __m512 total[kRows][kPanelVectors];
  for (auto& of_row : total)
    for (__m512& one : of_row) one = _mm512_setzero_ps();
  const std::int8_t* x = rows.numbers + row * rows.depth;
  const std::uint8_t* w = panel.numbers;
  for (std::size_t unit = 0; unit < rows.units; ++unit) {
    __m512i dots[kRows][kPanelVectors];
    for (auto& of_row : dots)
      for (__m512i& one : of_row) one = _mm512_setzero_si512();
    for (std::size_t k = 0; k < rows.unit; k += 4, x += 4, w += kPanelVectors * kLine) {
      __m512i right[kPanelVectors];
      for (std::size_t v = 0; v < kPanelVectors; ++v) right[v] = _mm512_load_si512(w + v * kLine);
      for (std::size_t r = 0; r < kRows; ++r) {
        std::int32_t four = 0;
        std::memcpy(&four, x + r * rows.depth, sizeof(four));
        const __m512i left = _mm512_set1_epi32(four);
        for (std::size_t v = 0; v < kPanelVectors; ++v) dots[r][v] = _mm512_dpbusd_epi32(dots[r][v], right[v], left);
      }
    }
    const std::size_t group = unit / rows.units_in_group * RoundedPanels::kPanelColumns;
    for (std::size_t v = 0; v < kPanelVectors; ++v) {
      const __m512 scale = _mm512_load_ps(panel.scales + group + v * kPanelLanes),
                   zero = _mm512_load_ps(panel.zeros + group + v * kPanelLanes);
      for (std::size_t r = 0; r < kRows; ++r) {
        const std::size_t at = (row + r) * rows.units + unit;
        const __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(dots[r][v]), _mm512_set1_ps(rows.scales[at]));
        total[r][v] =
            _mm512_fmadd_ps(scale, _mm512_fnmadd_ps(zero, _mm512_set1_ps(rows.sums[at]), scaled), total[r][v]);
      }
    }
  }
  for (std::size_t r = 0; r < kRows; ++r)
    for (std::size_t v = 0; v < kPanelVectors; ++v) {
      const std::size_t first = v * kPanelLanes;
      if (first >= columns) break;
      const auto mask = static_cast<__mmask16>(columns - first >= kPanelLanes ? 0xffff : (1u << (columns - first)) - 1);
      const __m512 added = panel.bias ? _mm512_maskz_loadu_ps(mask, panel.bias + first) : _mm512_setzero_ps();
      _mm512_mask_storeu_ps(out + (row + r) * out_row + first, mask, _mm512_add_ps(total[r][v], added));
    }
}

}  // namespace

void RoundedPanels::round(std::size_t row, const float* x) const {
  std::int8_t* const numbers = rows_ + row * problem_.depth;
  float *const scales = row_scales_ + row * units(), *const sums = row_sums_ + row * units();
  for (std::size_t k = 0; k < problem_.depth; k += problem_.rounding) {
    const float most = largest_of(x + k, problem_.rounding);
    // By a scale of NaN, what is not finite makes the result so, as it would unrounded.
    const float scale = most / 127;
    round_numbers(x + k, problem_.rounding, most > 0 ? 127 / most : 0, problem_.is_4_bit(), numbers + k);
    std::fill_n(scales + k / unit_, problem_.rounding / unit_, scale);
  }
  for (std::size_t unit = 0; unit < units(); ++unit)
    sums[unit] = static_cast<float>(sum_of(numbers + unit * unit_, unit_)) * scales[unit];
}

TENON_PANELS void RoundedPanels::expand(const WeightOnlyMatrix& matrix, std::size_t begin, std::size_t panel) const {
  const std::size_t row_bytes = problem_.row_bytes(), groups = problem_.groups(), first = begin + panel * kPanelColumns;
  std::uint8_t* const to = expanded_ + panel * kPanelColumns * problem_.depth;
  const std::size_t at = panel * groups * kPanelColumns;
  const int flip = problem_.type == WeightOnlyType::kI4 ? 0x88 : problem_.type == WeightOnlyType::kI8 ? 0x80 : 0;
  const __m512 raised = _mm512_set1_ps(panel_raised_by(problem_.type)), zero_of_all = _mm512_set1_ps(matrix.zero_point);
  for (std::size_t v = 0; v < kPanelVectors; ++v) {
    const std::uint8_t* columns[kPanelLanes];
    alignas(kLine) std::int32_t offsets[kPanelLanes];
    const std::size_t base = std::min(first + v * kPanelLanes, problem_.columns - 1);
    for (std::size_t i = 0; i < kPanelLanes; ++i) {
      const std::size_t column = std::min(base + i, problem_.columns - 1);
      columns[i] = static_cast<const std::uint8_t*>(matrix.weights) + column * row_bytes;
      offsets[i] = static_cast<std::int32_t>((column - base) * groups);
    }
    if (problem_.is_4_bit())
      expand_lanes<true>(columns, row_bytes, flip, to + v * kLine, kPanelVectors * kLine);
    else
      expand_lanes<false>(columns, row_bytes, flip, to + v * kLine, kPanelVectors * kLine);
    const __m512i lanes = _mm512_load_si512(offsets);
    const auto of_group = [&](const float* values, std::size_t g) TENON_PANELS {
      return _mm512_i32gather_ps(lanes, values + base * groups + g, sizeof(float));
    };
    for (std::size_t g = 0; g < groups; ++g) {
      const std::size_t place = at + g * kPanelColumns + v * kPanelLanes;
      _mm512_store_ps(scales_ + place, of_group(matrix.scales, g));
      const __m512 zero = matrix.zero_points ? of_group(matrix.zero_points, g) : zero_of_all;
      _mm512_store_ps(zeros_ + place, _mm512_add_ps(zero, raised));
    }
  }
}

void RoundedPanels::multiply(const WeightOnlyMatrix& matrix, std::size_t begin, std::size_t panel, float* out) const {
  constexpr std::size_t kRows = 4;
  const std::size_t first = begin + panel * kPanelColumns, columns = std::min(problem_.columns - first, kPanelColumns);
  const std::size_t scales = panel * problem_.groups() * kPanelColumns;
  const Panel mine{expanded_ + panel * kPanelColumns * problem_.depth, scales_ + scales, zeros_ + scales,
                   matrix.bias ? matrix.bias + first : nullptr};
  const PanelRows rows{rows_, row_scales_, row_sums_, problem_.depth, units(), unit_, problem_.group / unit_};
  std::size_t row = 0;
  for (; row + kRows <= problem_.rows; row += kRows)
    multiply_panel<kRows>(mine, rows, row, columns, out + first, problem_.columns);
  for (; row + 2 <= problem_.rows; row += 2) multiply_panel<2>(mine, rows, row, columns, out + first, problem_.columns);
  for (; row < problem_.rows; ++row) multiply_panel<1>(mine, rows, row, columns, out + first, problem_.columns);
}

#else

bool multiplies_panels(const WeightOnly&) { return false; }
void RoundedPanels::round(std::size_t, const float*) const {}
void RoundedPanels::expand(const WeightOnlyMatrix&, std::size_t, std::size_t) const {}
void RoundedPanels::multiply(const WeightOnlyMatrix&, std::size_t, std::size_t, float*) const {}

#endif

}  // namespace tenon::inline v1::engine::kernels
