// SPDX-License-Identifier: Apache-2.0
// Attention of few queries, as when one token looks at all those before it. Vectors hold neighbouring numbers of a key
// or value, which is read once for all rows.
#include <tenon/engine/kernels/attention/attention_rows.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/engine/kernels/attention/attention_few.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <tenon/engine/kernels/attention/attention-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kFewKeys = 256;  // Per tile.
constexpr std::size_t kMixedKeys = 32;
// How far ahead memory is asked for: a head's rows lie together, and its cache is longer than what the CPU looks ahead.
constexpr std::size_t kAheadBytes = 2048, kLine = 64;
// Rows whose sums fit into the registers.
constexpr std::size_t kRowsAtOnce = HWY_MAX_BYTES >= 64 ? 4 : 2;

#if HWY_TARGET == HWY_SCALAR
HWY_INLINE void StoreFourSums(V a, V b, V c, V e, float* to) {
  to[0] = hn::GetLane(a);
  to[1] = hn::GetLane(b);
  to[2] = hn::GetLane(c);
  to[3] = hn::GetLane(e);
}
#else
template <class DV>
HWY_INLINE void StoreSums(DV d, hn::Vec<DV> v, float* to) {
  if constexpr (hn::MaxLanes(d) > 4) {
    const hn::Half<DV> half;
    StoreSums(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)), to);
  } else {
    hn::StoreU(v, d, to);
  }
}
/// The sums of four vectors, each across itself.
HWY_INLINE void StoreFourSums(V a, V b, V c, V e, float* to) {
  const D d;
  const hn::Repartition<double, D> pairs;
  const V ab = hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b)),
          ce = hn::Add(hn::InterleaveLower(d, c, e), hn::InterleaveUpper(d, c, e));
  const auto x = hn::BitCast(pairs, ab), y = hn::BitCast(pairs, ce);
  const V lower = hn::BitCast(d, hn::InterleaveLower(pairs, x, y)),
          upper = hn::BitCast(d, hn::InterleaveUpper(pairs, x, y));
  StoreSums(d, hn::Add(lower, upper), to);
}
#endif

/// scores[r][key] of kRows rows and `count` keys; `to` has room for whole fours.
template <std::size_t kRows, class T>
void Scores(const float* q, std::size_t q_row, const T* k, std::size_t k_row, std::size_t depth, std::size_t count,
            float* to, std::size_t to_row) {
  const D d;
  const std::size_t lanes = hn::Lanes(d), whole = depth - depth % lanes;
  for (std::size_t key = 0; key < count; key += 4) {
    const T* rows[4];
    for (std::size_t i = 0; i < 4; ++i) rows[i] = k + std::min(key + i, count - 1) * k_row;
    V sums[kRows][4];
    for (std::size_t r = 0; r < kRows; ++r)
      for (std::size_t i = 0; i < 4; ++i) sums[r][i] = hn::Zero(d);
    const auto add = [&](const V(&x)[4], std::size_t at) HWY_ATTR {
      for (std::size_t r = 0; r < kRows; ++r) {
        const V y = hn::LoadU(d, q + r * q_row + at);
        for (std::size_t i = 0; i < 4; ++i) sums[r][i] = hn::MulAdd(x[i], y, sums[r][i]);
      }
    };
    for (std::size_t at = 0; at < whole; at += lanes) {
      if (at * sizeof(T) % kLine == 0)
        for (const T* row : rows) hwy::Prefetch(row + at + kAheadBytes / sizeof(T));
      const V x[4] = {LoadNumbers(rows[0] + at), LoadNumbers(rows[1] + at), LoadNumbers(rows[2] + at),
                      LoadNumbers(rows[3] + at)};
      add(x, at);
    }
    if (whole < depth) {
      const std::size_t left = depth - whole;
      const V x[4] = {LoadNumbers(rows[0] + whole, left), LoadNumbers(rows[1] + whole, left),
                      LoadNumbers(rows[2] + whole, left), LoadNumbers(rows[3] + whole, left)};
      add(x, whole);
    }
    for (std::size_t r = 0; r < kRows; ++r)
      StoreFourSums(sums[r][0], sums[r][1], sums[r][2], sums[r][3], to + r * to_row + key);
  }
}

/// sums[r][:] += weights[r][key] * v[key][:], for kRows rows, `count` keys and kColumns vectors of columns.
template <std::size_t kRows, std::size_t kColumns, class T>
HWY_INLINE void MixColumns(const float* weights, std::size_t weights_row, const T* v, std::size_t v_row,
                           std::size_t count, float* sums, std::size_t sums_row) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  V s[kRows][kColumns];
  for (std::size_t r = 0; r < kRows; ++r)
    for (std::size_t j = 0; j < kColumns; ++j) s[r][j] = hn::Load(d, sums + r * sums_row + j * lanes);
  for (std::size_t key = 0; key < count; ++key, v += v_row) {
    V x[kColumns];
    for (std::size_t j = 0; j < kColumns * lanes; j += kLine / sizeof(T))
      hwy::Prefetch(v + j + kAheadBytes / sizeof(T));
    for (std::size_t j = 0; j < kColumns; ++j) x[j] = LoadNumbers(v + j * lanes);
    for (std::size_t r = 0; r < kRows; ++r) {
      const V weight = hn::Set(d, weights[r * weights_row + key]);
      for (std::size_t j = 0; j < kColumns; ++j) s[r][j] = hn::MulAdd(weight, x[j], s[r][j]);
    }
  }
  for (std::size_t r = 0; r < kRows; ++r)
    for (std::size_t j = 0; j < kColumns; ++j) hn::Store(s[r][j], d, sums + r * sums_row + j * lanes);
}

/// The same for `width` columns. Rows of sums are whole vectors.
template <std::size_t kRows, class T>
void Mix(const float* weights, std::size_t weights_row, const T* v, std::size_t v_row, std::size_t width,
         std::size_t count, float* sums, std::size_t sums_row) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t at = 0;
  if constexpr (kRows <= kRowsAtOnce / 2)
    for (; at + 8 * lanes <= width; at += 8 * lanes)
      MixColumns<kRows, 8>(weights, weights_row, v + at, v_row, count, sums + at, sums_row);
  for (; at + 4 * lanes <= width; at += 4 * lanes)
    MixColumns<kRows, 4>(weights, weights_row, v + at, v_row, count, sums + at, sums_row);
  for (; at + lanes <= width; at += lanes)
    MixColumns<kRows, 1>(weights, weights_row, v + at, v_row, count, sums + at, sums_row);
  if (at == width) return;
  for (std::size_t key = 0; key < count; ++key) {
    const V x = LoadNumbers(v + key * v_row + at, width - at);
    for (std::size_t r = 0; r < kRows; ++r) {
      float* const to = sums + r * sums_row + at;
      hn::Store(hn::MulAdd(hn::Set(d, weights[r * weights_row + key]), x, hn::Load(d, to)), d, to);
    }
  }
}

/// Calls body(first, std::integral_constant<rows>) for all rows, as many at a time as the registers hold.
template <std::size_t kMost, class Body>
HWY_INLINE void ForRows(std::size_t rows, const Body& body) {
  std::size_t r = 0;
  for (; r + kMost <= rows; r += kMost) body(r, std::integral_constant<std::size_t, kMost>());
  if constexpr (kMost > 2)
    for (; r + 2 <= rows; r += 2) body(r, std::integral_constant<std::size_t, 2>());
  for (; r < rows; ++r) body(r, std::integral_constant<std::size_t, 1>());
}

/// Keys or values, or a group of their numbers, from one of them on.
template <class T>
struct Matrix {
  const T* data;
  std::size_t row, length;
};
template <class T>
Matrix<T> MatrixOf(const std::byte* base, std::size_t first, std::size_t row, std::size_t length) {
  return {reinterpret_cast<const T*>(base) + first * row, row, length};
}

template <class T>
void FewScores(const Matrix<T>& k, std::size_t rows, const float* q, std::size_t q_row, std::size_t count,
               float* scores) {
  ForRows<kRowsAtOnce>(rows, [&](std::size_t r, auto at_once) {
    Scores<at_once()>(q + r * q_row, q_row, k.data, k.row, k.length, count, scores + r * kFewKeys, kFewKeys);
  });
}
template <class T>
void FewMix(const Matrix<T>& v, std::size_t rows, const float* weights, std::size_t count, float* sums,
            std::size_t sums_row) {
  // Whole rows of values are read in their order, which memory likes: that is worth more than reading them once from
  // the cache.
  const bool is_wide = v.length >= 8 * hn::Lanes(D());
  for (std::size_t key = 0; key < count; key += kMixedKeys) {
    const auto mix = [&](std::size_t r, auto at_once) {
      Mix<at_once()>(weights + r * kFewKeys + key, kFewKeys, v.data + key * v.row, v.row, v.length,
                     std::min(kMixedKeys, count - key), sums + r * sums_row, sums_row);
    };
    is_wide ? ForRows<kRowsAtOnce / 2>(rows, mix) : ForRows<kRowsAtOnce>(rows, mix);
  }
}

/// What numbers of 8 bits of some neighbouring keys mean.
struct Scales {
  HWY_ALIGN float scale[kFewKeys], least[kFewKeys];
  Scales(const float* from, std::size_t step, std::size_t count) {
    const D d;
    std::size_t i = 0;
    if (step == 2)
      for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
        V a, b;
        hn::LoadInterleaved2(d, from + 2 * i, a, b);
        hn::Store(a, d, scale + i);
        hn::Store(b, d, least + i);
      }
    for (; i < count; ++i) scale[i] = from[i * step], least[i] = from[i * step + 1];
    const std::size_t all = std::min(kFewKeys, (count + hn::Lanes(D()) - 1) / hn::Lanes(D()) * hn::Lanes(D()));
    std::fill(scale + count, scale + all, 0.f);
    std::fill(least + count, least + all, 0.f);
  }
};

/// Scores of keys in 8 bits: the numbers' products, and what the scales make of them.
void RoundedScores(const Attention& what, const AttentionRows& rows, const float* q, std::size_t q_row,
                   const float* q_sums, std::size_t first, std::size_t count, float* products, float* scores) {
  const D d;
  const std::size_t group = what.k_scales.group, groups = what.depth / group, step = what.k_scales.row;
  for (std::size_t g = 0; g < groups; ++g) {
    auto keys = MatrixOf<std::uint8_t>(rows.k, first, what.k_row, group);
    keys.data += g * group;
    FewScores(keys, rows.count, q + g * group, q_row, count, products);
    const Scales scales(rows.k_scales + first * step + 2 * g, step, count);
    for (std::size_t r = 0; r < rows.count; ++r) {
      const V sum = hn::Set(d, q_sums[r * groups + g]);
      for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
        float* const to = scores + r * kFewKeys + i;
        const V least = hn::Mul(sum, hn::Load(d, scales.least + i));
        const V before = g == 0 ? least : hn::Add(least, hn::Load(d, to));
        hn::Store(hn::MulAdd(hn::Load(d, scales.scale + i), hn::Load(d, products + r * kFewKeys + i), before), d, to);
      }
    }
  }
}

/// The same for values: their weights times their scales weigh the numbers.
void RoundedMix(const Attention& what, const AttentionRows& rows, const float* weights, std::size_t first,
                std::size_t count, float* scaled, float* sums, std::size_t sums_row) {
  const D d;
  const std::size_t group = what.v_scales.group, groups = what.width / group, step = what.v_scales.row;
  for (std::size_t g = 0; g < groups; ++g) {
    const Scales scales(rows.v_scales + first * step + 2 * g, step, count);
    for (std::size_t r = 0; r < rows.count; ++r) {
      V least = hn::Zero(d);
      for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
        const V weight = hn::Load(d, weights + r * kFewKeys + i);
        least = hn::MulAdd(weight, hn::Load(d, scales.least + i), least);
        hn::Store(hn::Mul(weight, hn::Load(d, scales.scale + i)), d, scaled + r * kFewKeys + i);
      }
      const V all = hn::Set(d, hn::GetLane(hn::SumOfLanes(d, least)));
      float* const to = sums + r * sums_row + g * group;
      for (std::size_t e = 0; e < group; e += hn::Lanes(d)) hn::Store(hn::Add(hn::Load(d, to + e), all), d, to + e);
    }
    auto values = MatrixOf<std::uint8_t>(rows.v, first, what.v_row, group);
    values.data += g * group;
    FewMix(values, rows.count, scaled, count, sums + g * group, sums_row);
  }
}

/// Caps and masks `count` scores of a row from key `first` on. The memory is of whole vectors.
void MaskRow(const Attention& what, const std::byte* mask, std::size_t sees, std::size_t first, std::size_t count,
             float* scores) {
  const D d;
  const std::size_t step = what.mask_column;
  for (std::size_t i = 0; what.softcap != 0 && i < count; i += hn::Lanes(d))
    hn::Store(Capped(hn::Load(d, scores + i), what.softcap), d, scores + i);
  if (what.mask == Attention::Mask::kAdded) {
    const float* added = reinterpret_cast<const float*>(mask) + first * step;
    if (step == 1)
      for (std::size_t i = 0; i < count; ++i) scores[i] += added[i];
    else
      for (std::size_t i = 0; i < count; ++i) scores[i] += added[i * step];
  } else if (what.mask != Attention::Mask::kNone) {
    const bool keeps = what.mask == Attention::Mask::kVisible;
    for (std::size_t i = 0; i < count; ++i)
      if ((mask[(first + i) * step] != std::byte{0}) != keeps) scores[i] = what.masked;
  }
  if (what.is_causal)
    for (std::size_t i = sees > first ? sees - first : 0; i < count; ++i)
      scores[i] = -std::numeric_limits<float>::infinity();
}

/// What the softmax of a row knows so far.
struct Online {
  float greatest = -std::numeric_limits<float>::infinity(), sum = 0;
};

/// Makes `count` scores weights; those behind them, to a whole vector, become 0. @return what has become of earlier weights.
float SoftenRow(float* scores, std::size_t count, Online& online) {
  const D d;
  const std::size_t lanes = hn::Lanes(d), all = (count + lanes - 1) / lanes * lanes;
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  std::fill(scores + count, scores + all, kNone);
  V most = hn::Set(d, online.greatest);
  for (std::size_t i = 0; i < all; i += lanes) most = hn::Max(most, hn::Load(d, scores + i));
  const float greatest = hn::GetLane(hn::MaxOfLanes(d, most)), shift = greatest == kNone ? 0 : greatest;
  V sum = hn::Zero(d);
  for (std::size_t i = 0; i < all; i += lanes) {
    const V weight = ExpOfNegative(hn::Sub(hn::Load(d, scores + i), hn::Set(d, shift)));
    sum = hn::Add(sum, weight);
    hn::Store(weight, d, scores + i);
  }
  const float factor = online.greatest == greatest ? 1 : std::exp(online.greatest - shift);
  online.sum = online.sum * factor + hn::GetLane(hn::SumOfLanes(d, sum));
  online.greatest = greatest;
  return factor;
}

std::size_t Whole(std::size_t count) { return (count + hn::Lanes(D()) - 1) / hn::Lanes(D()) * hn::Lanes(D()); }
std::size_t FewFloats(const Attention& what) {
  const bool is_rounded = what.k_type == ElementType::kU8 || what.v_type == ElementType::kU8;
  const std::size_t k_groups = what.k_type == ElementType::kU8 ? Whole(what.depth / what.k_scales.group) : 0;
  return kTileRows * (Whole(what.depth) + Whole(what.width) + kFewKeys + k_groups + (is_rounded ? kFewKeys : 0));
}

/// Sums of the numbers of each group of each query.
void SumGroups(const Attention& what, std::size_t rows, const float* q, std::size_t q_row, float* to) {
  const std::size_t group = what.k_scales.group, groups = what.depth / group;
  for (std::size_t i = 0; i < rows * groups; ++i) {
    const float* const from = q + i / groups * q_row + i % groups * group;
    to[i] = 0;
    for (std::size_t e = 0; e < group; ++e) to[i] += from[e];
  }
}

void AttendFew(const Attention& what, const AttentionRows& rows, float* scratch) {
  const std::size_t q_row = Whole(what.depth), sums_row = Whole(what.width);
  float *const q = scratch, *const sums = q + rows.count * q_row, *const scores = sums + rows.count * sums_row;
  float *const scaled = scores + rows.count * kFewKeys, *const q_sums = scaled + rows.count * kFewKeys;
  Online online[kTileRows];
  std::size_t end = 0;
  for (std::size_t r = 0; r < rows.count; ++r) {
    std::fill_n(q + r * q_row, q_row, 0.f);
    LoadRow(what.q_type, rows.q[r], what.depth, rows.scale, q + r * q_row);
    online[r] = {rows.greatest[r], rows.sum[r]};
    end = std::max(end, what.is_causal ? rows.sees[r] : rows.end);
  }
  if (what.k_type == ElementType::kU8) SumGroups(what, rows.count, q, q_row, q_sums);
  end = std::min(end, rows.end);
  std::fill_n(sums, rows.count * sums_row, 0.f);
  const auto score = [&]<class T>(T, std::size_t first, std::size_t count) {
    FewScores(MatrixOf<T>(rows.k, first, what.k_row, what.depth), rows.count, q, q_row, count, scores);
  };
  const auto mix = [&]<class T>(T, std::size_t first, std::size_t count) {
    FewMix(MatrixOf<T>(rows.v, first, what.v_row, what.width), rows.count, scores, count, sums, sums_row);
  };
  for (std::size_t first = rows.begin; first < end; first += kFewKeys) {
    const std::size_t count = std::min(kFewKeys, end - first);
    if (what.k_type == ElementType::kU8)
      RoundedScores(what, rows, q, q_row, q_sums, first, count, scaled, scores);
    else if (what.k_type == ElementType::kF32)
      score(float(), first, count);
    else if (what.k_type == ElementType::kF16)
      score(hwy::float16_t(), first, count);
    else
      score(std::uint16_t(), first, count);
    for (std::size_t r = 0; r < rows.count; ++r) {
      float* const of = scores + r * kFewKeys;
      MaskRow(what, rows.mask[r], rows.sees[r], first, count, of);
      const float factor = SoftenRow(of, count, online[r]);
      if (factor != 1)
        for (std::size_t i = 0; i < sums_row; ++i) sums[r * sums_row + i] *= factor;
    }
    if (what.v_type == ElementType::kU8)
      RoundedMix(what, rows, scores, first, count, scaled, sums, sums_row);
    else if (what.v_type == ElementType::kF32)
      mix(float(), first, count);
    else if (what.v_type == ElementType::kF16)
      mix(hwy::float16_t(), first, count);
    else
      mix(std::uint16_t(), first, count);
  }
  for (std::size_t r = 0; r < rows.count; ++r) {
    float* const of = sums + r * sums_row;
    if (rows.partial) {
      float* const to = rows.partial + r * partial_floats(what);
      std::memcpy(to, of, what.width * sizeof(float));
      to[what.width] = online[r].greatest;
      to[what.width + 1] = online[r].sum;
      continue;
    }
    if (online[r].sum == 0) std::fill_n(of, what.width, what.blind);
    StoreRow(what.out_type, of, what.width, online[r].sum == 0 ? 1 : 1 / online[r].sum, rows.out[r]);
  }
}

void MergeRow(const Attention& what, float* parts, std::size_t splits, std::size_t step, std::byte* out) {
  const std::size_t width = what.width;
  float greatest = -std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < splits; ++i) greatest = std::max(greatest, parts[i * step + width]);
  float sum = 0;
  for (std::size_t i = 0; i < splits; ++i) {
    const float* const part = parts + i * step;
    // A part that saw nothing has sums of 0, and no greatest score.
    const float factor = part[width + 1] == 0 ? 0 : std::exp(part[width] - greatest);
    sum += factor * part[width + 1];
    for (std::size_t e = 0; e < width; ++e) parts[e] = (i == 0 ? 0 : parts[e]) + factor * part[e];
  }
  if (sum == 0) std::fill_n(parts, width, what.blind);
  StoreRow(what.out_type, parts, width, sum == 0 ? 1 : 1 / sum, out);
}

}  // namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::inline v1::engine::kernels {

HWY_EXPORT(FewFloats);
HWY_EXPORT(AttendFew);
HWY_EXPORT(MergeRow);

std::size_t few_scratch_floats(const Attention& what) { return HWY_DYNAMIC_DISPATCH(FewFloats)(what); }
void attend_few(const Attention& what, const AttentionRows& rows, float* scratch) {
  HWY_DYNAMIC_DISPATCH(AttendFew)(what, rows, scratch);
}
void merge_row(const Attention& what, float* partials, std::size_t splits, std::size_t step, std::byte* out) {
  HWY_DYNAMIC_DISPATCH(MergeRow)(what, partials, splits, step, out);
}

}  // namespace tenon::inline v1::engine::kernels
#endif
