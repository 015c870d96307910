// SPDX-License-Identifier: Apache-2.0
// Products with packed 4- and 8-bit matrices: compiled once per instruction set and chosen at run time.
#include <tenon/engine/kernels/low_bit/weight_only.hpp>

#include <algorithm>
#include <limits>

#include <tenon/graph/ops/nf4.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/engine/kernels/low_bit/weight_only.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <tenon/engine/kernels/simd/bf16-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kAheadBytes = 8192;

/// Numbers of 4 bits: each vector of bytes holds two vectors of them, those at even and those at odd places.
template <class D>
struct Nibbles {
  static constexpr std::size_t kParts = 2;
  static constexpr float kBelow = 0;  ///< What the numbers read are too high by.
  template <std::uint8_t kFlip = 0>
  static HWY_INLINE void Read(D d, const std::uint8_t* at, hn::Vec<D>* parts) {
    const hn::Rebind<std::uint8_t, D> bytes;
    const hn::RebindToSigned<D> wide;
    auto loaded = hn::LoadU(bytes, at);
    if constexpr (kFlip != 0) loaded = hn::Xor(loaded, hn::Set(bytes, kFlip));
    const auto both = hn::PromoteTo(wide, loaded);
    parts[0] = hn::ConvertTo(d, hn::And(both, hn::Set(wide, 15)));
    parts[1] = hn::ConvertTo(d, hn::ShiftRight<4>(both));
  }
  static HWY_INLINE void Load(D d, const std::uint8_t* at, hn::Vec<D>* parts) { Read(d, at, parts); }
};
/// Their sign flipped, numbers with a sign are those without one that are 8 higher.
template <class D>
struct SignedNibbles {
  static constexpr std::size_t kParts = 2;
  static constexpr float kBelow = 8;
  static HWY_INLINE void Load(D d, const std::uint8_t* at, hn::Vec<D>* parts) {
    Nibbles<D>::template Read<0x88>(d, at, parts);
  }
};
/// Places in a table.
template <class D>
struct NormalNibbles {
  static constexpr std::size_t kParts = 2;
  static constexpr float kBelow = 0;
  static HWY_INLINE void Load(D d, const std::uint8_t* at, hn::Vec<D>* parts) {
    const hn::Rebind<std::uint8_t, D> bytes;
    const hn::RebindToSigned<D> wide;
    const auto both = hn::PromoteTo(wide, hn::LoadU(bytes, at));
    parts[0] = hn::GatherIndex(d, kNf4Numbers.data(), hn::And(both, hn::Set(wide, 15)));
    parts[1] = hn::GatherIndex(d, kNf4Numbers.data(), hn::ShiftRight<4>(both));
  }
};
template <class D>
struct UnsignedBytes {
  static constexpr std::size_t kParts = 1;
  static constexpr float kBelow = 0;
  static HWY_INLINE void Load(D d, const std::uint8_t* at, hn::Vec<D>* parts) {
    const hn::Rebind<std::uint8_t, D> bytes;
    const hn::RebindToSigned<D> wide;
    parts[0] = hn::ConvertTo(d, hn::PromoteTo(wide, hn::LoadU(bytes, at)));
  }
};
template <class D>
struct SignedBytes {
  static constexpr std::size_t kParts = 1;
  static constexpr float kBelow = 0;
  static HWY_INLINE void Load(D d, const std::uint8_t* at, hn::Vec<D>* parts) {
    const hn::Rebind<std::int8_t, D> bytes;
    const hn::RebindToSigned<D> wide;
    parts[0] = hn::ConvertTo(d, hn::PromoteTo(wide, hn::LoadU(bytes, reinterpret_cast<const std::int8_t*>(at))));
  }
};

/// x in the order in which the numbers of a matrix come out of its bytes, and for each group the negated sum of x in each
/// lane, which times the zero point is what it takes from the group's product.
template <class D, class Format>
void PrepareRow(D d, Format, const WeightOnly& problem, const float* x, float* ordered, float* sums) {
  constexpr std::size_t kParts = Format::kParts;
  const std::size_t lanes = hn::Lanes(d), step = kParts * lanes;
  for (std::size_t g = 0; g < problem.groups(); ++g) {
    auto sum = hn::Zero(d);
    for (std::size_t k = g * problem.group; k < (g + 1) * problem.group; k += step) {
      hn::Vec<D> even, odd;
      if constexpr (kParts == 2) {
        hn::LoadInterleaved2(d, x + k, even, odd);
        hn::StoreU(odd, d, ordered + k + lanes);
        sum = hn::Sub(sum, odd);
      } else {
        even = hn::LoadU(d, x + k);
      }
      hn::StoreU(even, d, ordered + k);
      sum = hn::Sub(sum, even);
    }
    hn::StoreU(sum, d, sums + g * lanes);
  }
}

template <class Format>
HWY_INLINE float ZeroPoint(const WeightOnlyMatrix& matrix, std::size_t group) {
  return (matrix.zero_points ? matrix.zero_points[group] : matrix.zero_point) + Format::kBelow;
}

/// kRows rows of x times kColumns columns of the matrix.
template <class Format, std::size_t kRows, std::size_t kColumns, class D>
HWY_INLINE void Block(D d, const WeightOnly& problem, const WeightOnlyMatrix& matrix, const float* ordered,
                      const float* sums, std::size_t column, float* out) {
  constexpr std::size_t kParts = Format::kParts;
  using V = hn::Vec<D>;
  const std::size_t lanes = hn::Lanes(d), groups = problem.groups(), row_bytes = problem.row_bytes(),
                    group_bytes = row_bytes / groups, steps = problem.group / (kParts * lanes);
  const auto* weights = static_cast<const std::uint8_t*>(matrix.weights);
  // The same place of a later block: columns are too short for the CPU to see that it should look ahead.
  const std::size_t block = kColumns * row_bytes, ahead = (kAheadBytes + block - 1) / block * block;
  V total[kRows][kColumns];
  for (auto& row : total)
    for (V& one : row) one = hn::Zero(d);
  for (std::size_t g = 0; g < groups; ++g) {
    V part[kRows][kColumns];
    for (std::size_t c = 0; c < kColumns; ++c) {
      const V zero = hn::Set(d, ZeroPoint<Format>(matrix, (column + c) * groups + g));
      for (std::size_t r = 0; r < kRows; ++r) part[r][c] = hn::Mul(zero, hn::LoadU(d, sums + (r * groups + g) * lanes));
    }
    const float* from = ordered + g * problem.group;
    const std::uint8_t* bytes = weights + column * row_bytes + g * group_bytes;
    for (std::size_t s = 0; s < steps; ++s, from += kParts * lanes, bytes += lanes) {
      for (std::size_t c = 0; c < kColumns; ++c) {
        V numbers[kParts];
        hwy::Prefetch(bytes + c * row_bytes + ahead);
        Format::Load(d, bytes + c * row_bytes, numbers);
        for (std::size_t r = 0; r < kRows; ++r)
          for (std::size_t p = 0; p < kParts; ++p)
            part[r][c] = hn::MulAdd(numbers[p], hn::LoadU(d, from + r * problem.depth + p * lanes), part[r][c]);
      }
    }
    for (std::size_t c = 0; c < kColumns; ++c) {
      const V scale = hn::Set(d, matrix.scales[(column + c) * groups + g]);
      for (std::size_t r = 0; r < kRows; ++r) total[r][c] = hn::MulAdd(scale, part[r][c], total[r][c]);
    }
  }
  for (std::size_t r = 0; r < kRows; ++r)
    for (std::size_t c = 0; c < kColumns; ++c)
      out[r * problem.columns + column + c] =
          hn::GetLane(hn::SumOfLanes(d, total[r][c])) + (matrix.bias ? matrix.bias[column + c] : 0);
}

/// Columns [begin, end) of kRows rows: four or two columns at a time, so that enough sums are under way at once.
template <class Format, std::size_t kRows, class D>
void Columns(D d, const WeightOnly& problem, const WeightOnlyMatrix& matrix, const float* ordered, const float* sums,
             std::size_t begin, std::size_t end, float* out) {
  constexpr std::size_t kColumns = kRows == 1 ? 4 : 2;
  std::size_t n = begin;
  for (; n + kColumns <= end; n += kColumns) Block<Format, kRows, kColumns>(d, problem, matrix, ordered, sums, n, out);
  for (; n < end; ++n) Block<Format, kRows, 1>(d, problem, matrix, ordered, sums, n, out);
}

template <class D, class Format>
void Multiply(D d, Format, const WeightOnly& problem, const WeightOnlyMatrix& matrix, const float* ordered,
              const float* sums, std::size_t begin, std::size_t end, float* out) {
  // A run of columns whose bytes stay in the first cache while all rows pass.
  const std::size_t run = std::max<std::size_t>(4, 16384 / problem.row_bytes() / 4 * 4);
  for (std::size_t from = begin; from < end; from += run) {
    const std::size_t to = std::min(end, from + run);
    for (std::size_t row = 0; row < problem.rows;) {
      const float* x = ordered + row * problem.depth;
      const float* of_row = sums + row * problem.groups() * hn::Lanes(d);
      float* result = out + row * problem.columns;
      const std::size_t left = problem.rows - row;
      if (left >= 4) {
        Columns<Format, 4>(d, problem, matrix, x, of_row, from, to, result);
        row += 4;
      } else if (left >= 2) {
        Columns<Format, 2>(d, problem, matrix, x, of_row, from, to, result);
        row += 2;
      } else {
        Columns<Format, 1>(d, problem, matrix, x, of_row, from, to, result);
        row += 1;
      }
    }
  }
}

/// Writes neighbours, which came out of their bytes as those at even and those at odd places.
template <class D>
HWY_INLINE void StorePair(D d, hn::Vec<D> even, hn::Vec<D> odd, float* to) {
  hn::StoreInterleaved2(even, odd, d, to);
}
template <class D>
HWY_INLINE void StorePair(D d, hn::Vec<D> even, hn::Vec<D> odd, std::uint16_t* to) {
  const hn::RebindToSigned<D> di;
  const hn::Rebind<std::uint16_t, D> dh;
  const auto half = [&](hn::Vec<D> v) {
    return hn::DemoteTo(dh, hn::BitCast(di, hn::ShiftRight<16>(RoundedToBf16(d, v))));
  };
  hn::StoreInterleaved2(half(even), half(odd), dh, to);
}
template <class D>
HWY_INLINE void StoreOne(D d, hn::Vec<D> value, float* to) {
  hn::StoreU(value, d, to);
}
template <class D>
HWY_INLINE void StoreOne(D d, hn::Vec<D> value, std::uint16_t* to) {
  StoreBf16(value, d, to);
}

template <class D, class Format, class Real>
void Expand(D d, Format, const WeightOnly& problem, const WeightOnlyMatrix& matrix, std::size_t begin, std::size_t end,
            Real* out) {
  constexpr std::size_t kParts = Format::kParts;
  const std::size_t lanes = hn::Lanes(d), groups = problem.groups();
  for (std::size_t n = begin; n < end; ++n) {
    const std::uint8_t* bytes = static_cast<const std::uint8_t*>(matrix.weights) + n * problem.row_bytes();
    for (std::size_t g = 0; g < groups; ++g) {
      const auto scale = hn::Set(d, matrix.scales[n * groups + g]);
      const auto zero = hn::Set(d, ZeroPoint<Format>(matrix, n * groups + g));
      for (std::size_t k = 0; k < problem.group; k += kParts * lanes, bytes += lanes, out += kParts * lanes) {
        hn::Vec<D> parts[kParts];
        Format::Load(d, bytes, parts);
        for (auto& part : parts) part = hn::Mul(hn::Sub(part, zero), scale);
        if constexpr (kParts == 2)
          StorePair(d, parts[0], parts[1], out);
        else
          StoreOne(d, parts[0], out);
      }
    }
  }
}

/// Calls body(vector tag) with the widest vectors of which whole ones fit into a group; four lanes always do.
template <std::size_t kParts, class Body>
void WithLanes(const WeightOnly& problem, const Body& body) {
  const hn::ScalableTag<float> widest;
  const hn::CappedTag<float, 8> half;
  if (problem.group % (kParts * hn::Lanes(widest)) == 0) return body(widest);
  if (problem.group % (kParts * hn::Lanes(half)) == 0) return body(half);
  body(hn::CappedTag<float, 4>());
}

/// Calls body(tag) with the problem's format and widest vectors.
template <template <class> class Format, class Body>
void WithFormatAndLanes(const WeightOnly& problem, const Body& body) {
  WithLanes<Format<hn::ScalableTag<float>>::kParts>(problem, [&](auto d) { body(d, Format<decltype(d)>()); });
}
template <class Body>
void WithFormat(const WeightOnly& problem, const Body& body) {
  switch (problem.type) {
    case WeightOnlyType::kU4:
      return WithFormatAndLanes<Nibbles>(problem, body);
    case WeightOnlyType::kI4:
      return WithFormatAndLanes<SignedNibbles>(problem, body);
    case WeightOnlyType::kNf4:
      return WithFormatAndLanes<NormalNibbles>(problem, body);
    case WeightOnlyType::kU8:
      return WithFormatAndLanes<UnsignedBytes>(problem, body);
    case WeightOnlyType::kI8:
      return WithFormatAndLanes<SignedBytes>(problem, body);
  }
}

void PrepareWeightOnly(const WeightOnly& problem, const float* x, float* ordered, float* sums) {
  WithFormat(problem, [&](auto d, auto format) {
    const std::size_t row_sums = problem.groups() * hn::Lanes(d);
    for (std::size_t r = 0; r < problem.rows; ++r)
      PrepareRow(d, format, problem, x + r * problem.depth, ordered + r * problem.depth, sums + r * row_sums);
  });
}
void MultiplyWeightOnly(const WeightOnly& problem, const WeightOnlyMatrix& matrix, const float* ordered,
                        const float* sums, std::size_t begin, std::size_t end, float* out) {
  WithFormat(problem,
             [&](auto d, auto format) { Multiply(d, format, problem, matrix, ordered, sums, begin, end, out); });
}
void ExpandToF32(const WeightOnly& problem, const WeightOnlyMatrix& matrix, std::size_t begin, std::size_t end,
                 float* out) {
  WithFormat(problem, [&](auto d, auto format) { Expand(d, format, problem, matrix, begin, end, out); });
}
void ExpandToBf16(const WeightOnly& problem, const WeightOnlyMatrix& matrix, std::size_t begin, std::size_t end,
                  std::uint16_t* out) {
  WithFormat(problem, [&](auto d, auto format) { Expand(d, format, problem, matrix, begin, end, out); });
}

}  // namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tenon/engine/kernels/low_bit/weight_only_lookup.hpp>
#include <tenon/engine/kernels/low_bit/weight_only_panels.hpp>
#include <tenon/engine/kernels/low_bit/weight_only_rounded.hpp>
#include <tenon/engine/kernels/simd/broadcast.hpp>

namespace tenon::inline v1::engine::kernels {

HWY_EXPORT(PrepareWeightOnly);
HWY_EXPORT(MultiplyWeightOnly);
HWY_EXPORT(ExpandToF32);
HWY_EXPORT(ExpandToBf16);

bool has_weight_only_kernel(const WeightOnly& problem) {
  const std::size_t least = problem.row_bytes() == problem.depth ? 4 : 8;
  return problem.group > 0 && problem.group % least == 0 && problem.depth % problem.group == 0;
}

std::size_t most_weight_only_rows(const WeightOnly& problem, bool has_tiles) {
  // Measured with AVX512_VNNI, products of 768 x 768 with 256 rounded rows: twice the speed of products in f32, and that of
  // products in bf16 without AMX.
  constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  if (rounds_rows(problem)) return has_tiles || !multiplies_panels(problem) ? 96 : kAll;
  return 16;
}

std::size_t weight_only_scratch(const WeightOnly& problem) {
  constexpr std::size_t kMostLanes = 16;
  if (multiplies_panels(problem)) return RoundedPanels::floats(problem);
  if (rounds_rows(problem)) return RoundedRows::floats(problem);
  if (looks_up(problem)) return LookedUpRows::floats(problem);
  return problem.rows * (problem.depth + problem.groups() * kMostLanes);
}

static void multiply_panels(const WeightOnly& problem, const WeightOnlyMatrix& matrix, const float* x, float* scratch,
                            float* out) {
  const RoundedPanels panels(problem, scratch);
  parallel(problem.rows, problem.rows * problem.depth * sizeof *x, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) panels.round(row, x + row * problem.depth);
  });
  for (std::size_t first = 0; first < problem.columns; first += panels.block_columns()) {
    const std::size_t columns = std::min(panels.block_columns(), problem.columns - first),
                      count = (columns + RoundedPanels::kPanelColumns - 1) / RoundedPanels::kPanelColumns;
    // By the same worker, in whose cache the panel is then.
    parallel(count, columns * problem.depth * problem.rows, [&](std::size_t begin, std::size_t end) {
      for (std::size_t panel = begin; panel < end; ++panel) {
        panels.expand(matrix, first, panel);
        panels.multiply(matrix, first, panel, out);
      }
    });
  }
}

void multiply_weight_only(const WeightOnly& problem, const WeightOnlyMatrix& matrix, const float* x, float* scratch,
                          float* out) {
  constexpr std::size_t kColumns = 8;
  const auto by_columns = [&](const auto& multiply) {
    parallel((problem.columns + kColumns - 1) / kColumns, problem.columns * problem.row_bytes() * problem.rows,
             [&](std::size_t begin, std::size_t end) {
               multiply(begin * kColumns, std::min(end * kColumns, problem.columns));
             });
  };
  if (multiplies_panels(problem)) return multiply_panels(problem, matrix, x, scratch, out);
  if (rounds_rows(problem)) {
    const RoundedRows rows(problem, scratch);
    for (std::size_t row = 0; row < problem.rows; ++row) rows.round(row, x + row * problem.depth);
    return by_columns([&](std::size_t begin, std::size_t end) { rows.multiply(matrix, begin, end, out); });
  }
  if (looks_up(problem)) {
    const LookedUpRows rows(problem, scratch);
    for (std::size_t row = 0; row < problem.rows; ++row) rows.order(row, x + row * problem.depth);
    return by_columns([&](std::size_t begin, std::size_t end) { rows.multiply(matrix, begin, end, out); });
  }
  float* const sums = scratch + problem.rows * problem.depth;
  HWY_DYNAMIC_DISPATCH(PrepareWeightOnly)(problem, x, scratch, sums);
  by_columns([&](std::size_t begin, std::size_t end) {
    HWY_DYNAMIC_DISPATCH(MultiplyWeightOnly)(problem, matrix, scratch, sums, begin, end, out);
  });
}

void expand_weight_only(const WeightOnly& problem, const WeightOnlyMatrix& matrix, std::size_t begin, std::size_t end,
                        float* out) {
  parallel(end - begin, (end - begin) * problem.depth * sizeof *out, [&](std::size_t first, std::size_t last) {
    HWY_DYNAMIC_DISPATCH(ExpandToF32)(problem, matrix, begin + first, begin + last, out + first * problem.depth);
  });
}

void expand_weight_only(const WeightOnly& problem, const WeightOnlyMatrix& matrix, std::size_t begin, std::size_t end,
                        std::uint16_t* out) {
  parallel(end - begin, (end - begin) * problem.depth * sizeof *out, [&](std::size_t first, std::size_t last) {
    HWY_DYNAMIC_DISPATCH(ExpandToBf16)(problem, matrix, begin + first, begin + last, out + first * problem.depth);
  });
}

}  // namespace tenon::inline v1::engine::kernels
#endif
