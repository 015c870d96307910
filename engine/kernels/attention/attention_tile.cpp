// SPDX-License-Identifier: Apache-2.0
// Attention of a tile of queries. Vectors hold one number of several queries, so that the softmax needs no sums across
// a vector, and keys and values are read as they lie, one number for a whole tile at a time.
#include <tenon/engine/kernels/attention/attention_pairs.hpp>
#include <tenon/engine/kernels/attention/attention_rows.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/engine/kernels/attention/attention_tile.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <tenon/engine/kernels/attention/attention-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kKeys = 64;  // Per tile: scores and weights stay in the first-level cache.
// Sums that are kept in registers, of which there are 32 or 16.
constexpr std::size_t kBlock = HWY_MAX_BYTES >= 64 ? 8 : 4;
constexpr std::size_t kVectors = 3;

std::size_t TileVector() { return hn::Lanes(D()); }
std::size_t TileRows() { return hn::Lanes(D()) * kVectors; }

/// c[i][:] = factor * c[i][:] + sum over k of a[i * a_row + k * a_step] * b[k][:], for kRows of i. Rows of b and c are kVecs vectors.
template <std::size_t kRows, std::size_t kVecs>
HWY_INLINE void Block(const float* HWY_RESTRICT a, std::size_t a_row, std::size_t a_step, const float* HWY_RESTRICT b,
                      std::size_t depth, const float* factor, float* HWY_RESTRICT c) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  V sums[kRows][kVecs];
  for (std::size_t i = 0; i < kRows; ++i)
    for (std::size_t j = 0; j < kVecs; ++j)
      sums[i][j] =
          factor ? hn::Mul(hn::Load(d, c + (i * kVecs + j) * lanes), hn::Load(d, factor + j * lanes)) : hn::Zero(d);
  for (std::size_t k = 0; k < depth; ++k, a += a_step, b += kVecs * lanes) {
    V right[kVecs];
    for (std::size_t j = 0; j < kVecs; ++j) right[j] = hn::Load(d, b + j * lanes);
    for (std::size_t i = 0; i < kRows; ++i) {
      const V left = hn::Set(d, a[i * a_row]);
      for (std::size_t j = 0; j < kVecs; ++j) sums[i][j] = hn::MulAdd(left, right[j], sums[i][j]);
    }
  }
  for (std::size_t i = 0; i < kRows; ++i)
    for (std::size_t j = 0; j < kVecs; ++j) hn::Store(sums[i][j], d, c + (i * kVecs + j) * lanes);
}

template <std::size_t kVecs>
void Product(const float* a, std::size_t rows, std::size_t a_row, std::size_t a_step, const float* b, std::size_t depth,
             const float* factor, float* c) {
  const std::size_t c_row = kVecs * hn::Lanes(D());
  std::size_t i = 0;
  for (; i + kBlock <= rows; i += kBlock)
    Block<kBlock, kVecs>(a + i * a_row, a_row, a_step, b, depth, factor, c + i * c_row);
  for (; i + 2 <= rows; i += 2) Block<2, kVecs>(a + i * a_row, a_row, a_step, b, depth, factor, c + i * c_row);
  for (; i < rows; ++i) Block<1, kVecs>(a + i * a_row, a_row, a_step, b, depth, factor, c + i * c_row);
}

/// Memory of a tile.
struct Tile {
  float *queries, *results;                       // [depth], [width] of vectors
  float *scores, *masks;                          // [kKeys]
  float *greatest, *next, *sums, *factor, *sees;  // vectors
  float* numbers;                                 // keys or values as f32, or rows of a mask
};

std::size_t Floats(const Attention& what) {
  const std::size_t row = TileRows();
  return row * (what.depth + what.width + 2 * kKeys + 5) + kKeys * std::max({what.depth, what.width, row});
}

Tile LayOut(const Attention& what, std::size_t row, float* scratch) {
  Tile tile{};
  const auto take = [&](std::size_t rows) {
    float* const at = scratch;
    scratch += rows * row;
    return at;
  };
  tile.queries = take(what.depth);
  tile.results = take(what.width);
  tile.scores = take(kKeys);
  tile.masks = take(kKeys);
  tile.greatest = take(1);
  tile.next = take(1);
  tile.sums = take(1);
  tile.factor = take(1);
  tile.sees = take(1);
  tile.numbers = scratch;
  return tile;
}

/// Keys or values.
struct Side {
  ElementType type;
  const std::byte* base;
  const float* scales;
  std::size_t row, length;
  Attention::Scales of_rows;
  std::size_t bytes() const { return size_bytes(type); }
  const std::byte* at(std::size_t key) const { return base + key * row * bytes(); }
  /// Whether the kernels for pairs read it as it lies.
  bool is_plain() const { return type == ElementType::kF32 || type == ElementType::kBf16; }
};
Side KeysOf(const Attention& what, const AttentionRows& rows) {
  return {what.k_type, rows.k, rows.k_scales, what.k_row, what.depth, what.k_scales};
}
Side ValuesOf(const Attention& what, const AttentionRows& rows) {
  return {what.v_type, rows.v, rows.v_scales, what.v_row, what.width, what.v_scales};
}

/// One row as f32.
void LoadSide(const Side& side, std::size_t key, float* to) {
  if (side.type != ElementType::kU8) return LoadRow(side.type, side.at(key), side.length, 1, to);
  const D d;
  const auto* from = reinterpret_cast<const std::uint8_t*>(side.at(key));
  const float* scales = side.scales + key * side.of_rows.row;
  for (std::size_t g = 0; g < side.length; g += side.of_rows.group, scales += 2) {
    const V by = hn::Set(d, scales[0]), least = hn::Set(d, scales[1]);
    const std::size_t end = g + side.of_rows.group;
    std::size_t i = g;
    for (; i + hn::Lanes(d) <= end; i += hn::Lanes(d))
      hn::StoreU(hn::MulAdd(LoadNumbers(from + i), by, least), d, to + i);
    for (; i < end; ++i) to[i] = scales[1] + scales[0] * static_cast<float>(from[i]);
  }
}

/// Rows [first, first + count) as f32, where they lie if they can be read there.
const float* Numbers(const Side& side, std::size_t first, std::size_t count, bool to_pack, float* scratch,
                     std::size_t& step) {
  if (side.type == ElementType::kF32 && !to_pack) {
    step = side.row;
    return reinterpret_cast<const float*>(side.at(first));
  }
  step = side.length;
  for (std::size_t i = 0; i < count; ++i) LoadSide(side, first + i, scratch + i * step);
  return scratch;
}

bool IsSameForAll(const AttentionRows& rows) {
  for (std::size_t i = 1; i < rows.count; ++i)
    if (rows.mask[i] != rows.mask[0]) return false;
  return true;
}

/// One number of a mask, as what is added, or as 1 where the score stays.
HWY_INLINE float MaskNumber(const Attention& what, const std::byte* row, std::size_t key) {
  const std::size_t at = key * what.mask_column;
  if (what.mask == Attention::Mask::kAdded) return reinterpret_cast<const float*>(row)[at];
  return (row[at] != std::byte{0}) == (what.mask == Attention::Mask::kVisible) ? 1.f : 0.f;
}

/// Fills tile.masks with the numbers for `count` keys from `first` on.
void LoadMask(const Attention& what, const AttentionRows& rows, std::size_t first, std::size_t count, std::size_t row,
              const Tile& tile) {
  const D d;
  if (IsSameForAll(rows)) {
    for (std::size_t key = 0; key < count; ++key) {
      const V all = hn::Set(d, MaskNumber(what, rows.mask[0], first + key));
      for (std::size_t j = 0; j < row; j += hn::Lanes(d)) hn::Store(all, d, tile.masks + key * row + j);
    }
    return;
  }
  const auto source = [&](std::size_t i) { return rows.mask[std::min(i, rows.count - 1)]; };
  if (what.mask == Attention::Mask::kAdded && what.mask_column == 1) {
    Transpose([&](std::size_t i) { return reinterpret_cast<const float*>(source(i)) + first; }, row, count, tile.masks,
              row);
    return;
  }
  const bool keeps = what.mask == Attention::Mask::kVisible;
  for (std::size_t i = 0; i < rows.count; ++i) {
    float* const to = tile.numbers + i * kKeys;
    const std::byte* const from = rows.mask[i] + first;
    if (what.mask != Attention::Mask::kAdded && what.mask_column == 1)
      for (std::size_t key = 0; key < count; ++key) to[key] = (from[key] != std::byte{0}) == keeps ? 1.f : 0.f;
    else
      for (std::size_t key = 0; key < count; ++key) to[key] = MaskNumber(what, rows.mask[i], first + key);
  }
  Transpose([&](std::size_t i) { return tile.numbers + std::min(i, rows.count - 1) * kKeys; }, row, count, tile.masks,
            row);
}

/// Masks the scores of `count` keys from `first` on, and says what the greatest are now. @return what is left to
/// multiply the scores by.
float MaskScores(const Attention& what, std::size_t first, std::size_t count, std::size_t row, float scale,
                 bool is_masked, bool is_cut, const Tile& tile) {
  const D d;
  const bool is_added = what.mask == Attention::Mask::kAdded;
  // The greatest score stays that when all are multiplied by a positive number, which can wait.
  const bool is_plain = !is_masked && !is_cut && what.softcap == 0 && scale > 0;
  const V factor = hn::Set(d, scale), masked = hn::Set(d, what.masked);
  const V none = hn::Set(d, -std::numeric_limits<float>::infinity());
  for (std::size_t j = 0; j < row; j += hn::Lanes(d)) {
    const V sees = hn::Load(d, tile.sees + j), before = hn::Load(d, tile.greatest + j);
    float* const scores = tile.scores + j;
    V greatest = is_plain ? none : before;
    for (std::size_t key = 0; key < count; ++key) {
      V score = hn::Load(d, scores + key * row);
      if (!is_plain) {
        score = hn::Mul(score, factor);
        if (what.softcap != 0) score = Capped(score, what.softcap);
        if (is_masked) {
          const V mask = hn::Load(d, tile.masks + key * row + j);
          score = is_added ? hn::Add(score, mask) : hn::IfThenElse(hn::Gt(mask, hn::Zero(d)), score, masked);
        }
        if (is_cut) score = hn::IfThenElse(hn::Lt(hn::Set(d, static_cast<float>(first + key)), sees), score, none);
        hn::Store(score, d, scores + key * row);
      }
      greatest = hn::Max(greatest, score);
    }
    hn::Store(is_plain ? hn::Max(before, hn::Mul(greatest, factor)) : greatest, d, tile.next + j);
  }
  return is_plain ? scale : 1;
}

/// Makes weights of the scores, says in tile.factor what has become of earlier ones, and adds them up. With kPaired, two
/// neighbouring weights lie as bf16 in the place of one.
template <bool kPaired>
void Soften(std::size_t count, std::size_t row, float scale, const Tile& tile) {
  const D d;
  const hn::RebindToUnsigned<D> du;
  const V none = hn::Set(d, -std::numeric_limits<float>::infinity()), by = hn::Set(d, scale);
  for (std::size_t j = 0; j < row; j += hn::Lanes(d)) {
    const V greatest = hn::Load(d, tile.next + j);
    // While a query has seen nothing its greatest score is no number to subtract.
    const V shift = hn::IfThenZeroElse(hn::Eq(greatest, none), greatest);
    const V factor = ExpOfNegative(hn::Sub(hn::Load(d, tile.greatest + j), shift));
    V sum = hn::Mul(factor, hn::Load(d, tile.sums + j));
    float* const scores = tile.scores + j;
    const auto weight = [&](std::size_t key) HWY_ATTR {
      return ExpOfNegative<kPaired>(hn::MulSub(hn::Load(d, scores + key * row), by, shift));
    };
    if constexpr (kPaired) {
      const auto half = hn::Set(du, 0x8000), upper = hn::Set(du, 0xffff0000);
      V odd = hn::Zero(d);
      for (std::size_t key = 0; key < count; key += 2) {
        const V one = weight(key), two = key + 1 < count ? weight(key + 1) : hn::Zero(d);
        sum = hn::Add(sum, one);
        odd = hn::Add(odd, two);
        // Neither is negative: rounding is adding a half.
        const auto low = hn::ShiftRight<16>(hn::Add(hn::BitCast(du, one), half)),
                   high = hn::And(hn::Add(hn::BitCast(du, two), half), upper);
        hn::Store(hn::BitCast(d, hn::Or(low, high)), d, scores + key / 2 * row);
      }
      sum = hn::Add(sum, odd);
    } else {
      for (std::size_t key = 0; key < count; ++key) {
        const V one = weight(key);
        sum = hn::Add(sum, one);
        hn::Store(one, d, scores + key * row);
      }
    }
    hn::Store(greatest, d, tile.greatest + j);
    hn::Store(factor, d, tile.factor + j);
    hn::Store(sum, d, tile.sums + j);
  }
}

void Finish(const Attention& what, const AttentionRows& rows, std::size_t row, const Tile& tile) {
  const std::size_t width = what.width, whole = width - width % 4;
  float* const packed = tile.numbers;  // [rows][width]
  Transpose([&](std::size_t e) { return tile.results + e * row; }, whole, row, packed, width);
  for (std::size_t e = whole; e < width; ++e)
    for (std::size_t i = 0; i < row; ++i) packed[i * width + e] = tile.results[e * row + i];
  for (std::size_t i = 0; i < rows.count; ++i) {
    float* const result = packed + i * width;
    const float sum = tile.sums[i];
    if (rows.partial) {
      float* const to = rows.partial + i * partial_floats(what);
      std::memcpy(to, result, width * sizeof(float));
      to[width] = tile.greatest[i];
      to[width + 1] = sum;
      continue;
    }
    if (sum == 0) std::fill_n(result, width, what.blind);
    StoreRow(what.out_type, result, width, sum == 0 ? 1 : 1 / sum, rows.out[i]);
  }
}

/// Products of f32. The scale is the queries'.
template <std::size_t kVecs>
class RealProducts {
 public:
  static constexpr bool kPaired = false;
  RealProducts(const Attention& what, const AttentionRows& rows, const Tile& tile)
      : what_(what), rows_(rows), tile_(tile), packs_values_(what.v_row > 2 * what.width) {
    const std::size_t row = kVecs * hn::Lanes(D()), depth = what.depth;
    for (std::size_t i = 0; i < row; ++i)
      LoadRow(what.q_type, rows.q[std::min(i, rows.count - 1)], depth, rows.scale, tile.numbers + i * depth);
    Transpose([&](std::size_t i) { return tile.numbers + i * depth; }, row, depth, tile.queries, row);
  }
  float scale() const { return 1; }
  void score(std::size_t first, std::size_t count) const {
    std::size_t step = 0;
    const float* keys = Numbers(KeysOf(what_, rows_), first, count, false, tile_.numbers, step);
    Product<kVecs>(keys, count, step, 1, tile_.queries, what_.depth, nullptr, tile_.scores);
  }
  void mix(std::size_t first, std::size_t count) const {
    std::size_t step = 0;
    const float* values = Numbers(ValuesOf(what_, rows_), first, count, packs_values_, tile_.numbers, step);
    Product<kVecs>(values, what_.width, 1, step, tile_.scores, count, tile_.factor, tile_.results);
  }

 private:
  const Attention& what_;
  const AttentionRows& rows_;
  const Tile& tile_;
  const bool packs_values_;  ///< Values far apart share places in the cache.
};

/// Products of pairs of bf16: along queries and keys, and then of neighbouring keys.
template <std::size_t kVecs>
class PairProducts {
 public:
  static constexpr bool kPaired = true;
  PairProducts(const Attention& what, const AttentionRows& rows, const Tile& tile)
      : what_(what), rows_(rows), tile_(tile), pairs_((what.depth + 1) / 2) {
    if (has_tile_products() && pairs_ % 16 == 0 && what.width % 16 == 0) registers_.emplace();
    for (std::size_t i = 0; i < kRow; ++i)
      RoundRow(what.q_type, rows.q[std::min(i, rows.count - 1)], what.depth, narrow() + i * 2 * pairs_);
    Transpose([&](std::size_t i) { return tile.numbers + i * pairs_; }, kRow, pairs_, tile.queries, kRow);
  }
  float scale() const { return rows_.scale; }
  void score(std::size_t first, std::size_t count) const {
    const std::uint16_t* keys = reinterpret_cast<const std::uint16_t*>(rows_.k) + first * what_.k_row;
    std::size_t step = what_.k_row;
    if (what_.k_type != ElementType::kBf16 || what_.depth % 2 != 0) {
      const Side side = KeysOf(what_, rows_);
      step = 2 * pairs_;
      for (std::size_t i = 0; i < count; ++i) {
        const std::byte* row = side.at(first + i);
        if (!side.is_plain()) row = real_row(side, first + i, 0);
        RoundRow(side.is_plain() ? side.type : ElementType::kF32, row, what_.depth, narrow() + i * step);
      }
      keys = narrow();
    }
    const std::size_t in_tiles = registers_ ? count - count % 16 : 0;
    if (in_tiles) tile_product(keys, in_tiles, step, bits(tile_.queries), pairs_, kVecs, false, tile_.scores);
    pair_product(keys + in_tiles * step, count - in_tiles, step, 2, bits(tile_.queries), pairs_, kVecs, nullptr,
                 tile_.scores + in_tiles * kRow);
  }
  void mix(std::size_t first, std::size_t count) const {
    const std::size_t pairs = (count + 1) / 2, width = what_.width;
    const Side side = ValuesOf(what_, rows_);
    const auto row = [&](std::size_t key, std::size_t which) {
      return side.is_plain() ? side.at(key) : real_row(side, key, which);
    };
    for (std::size_t i = 0; i < pairs; ++i) {
      const std::size_t key = first + 2 * i;
      PairRows(side.is_plain() ? side.type : ElementType::kF32, row(key, 0),
               2 * i + 1 < count ? row(key + 1, 1) : nullptr, width, narrow() + 2 * i * width);
    }
    if (registers_) return mix_tiles(pairs);
    pair_product(narrow(), width, 2, 2 * width, bits(tile_.scores), pairs, kVecs, tile_.factor, tile_.results);
  }

 private:
  static constexpr std::size_t kRow = kVecs * 16;
  /// The same by tiles, which want the pairs of each column of values side by side, and sixteen of them.
  void mix_tiles(std::size_t pairs) const {
    const D d;
    constexpr std::size_t kPairs = kKeys / 2;
    const std::size_t width = what_.width, all = (pairs + 15) / 16 * 16;
    std::fill_n(tile_.scores + pairs * kRow, (all - pairs) * kRow, 0.f);
    std::fill_n(tile_.numbers + pairs * width, (all - pairs) * width, 0.f);
    float* const columns = tile_.numbers + kPairs * width;
    Transpose([&](std::size_t i) { return tile_.numbers + i * width; }, all, width, columns, kPairs);
    for (std::size_t e = 0; e < width; ++e)
      for (std::size_t j = 0; j < kRow; j += hn::Lanes(d)) {
        float* const at = tile_.results + e * kRow + j;
        hn::Store(hn::Mul(hn::Load(d, at), hn::Load(d, tile_.factor + j)), d, at);
      }
    tile_product(reinterpret_cast<const std::uint16_t*>(columns), width, 2 * kPairs, bits(tile_.scores), all, kVecs,
                 true, tile_.results);
  }
  std::uint16_t* narrow() const { return reinterpret_cast<std::uint16_t*>(tile_.numbers); }
  static const std::uint32_t* bits(const float* pairs) { return reinterpret_cast<const std::uint32_t*>(pairs); }
  /// A row as f32, as one of two, behind the memory of the rows' pairs.
  const std::byte* real_row(const Side& side, std::size_t key, std::size_t which) const {
    const std::size_t longest = std::max(2 * pairs_, what_.width);
    float* const to = tile_.numbers + kKeys / 2 * longest + which * longest;
    LoadSide(side, key, to);
    return reinterpret_cast<const std::byte*>(to);
  }
  const Attention& what_;
  const AttentionRows& rows_;
  const Tile& tile_;
  const std::size_t pairs_;
  std::optional<TileRegisters> registers_;
};

template <class Products>
void Attend(const Attention& what, const AttentionRows& rows, std::size_t row, const Tile& tile) {
  const Products products(what, rows, tile);
  std::size_t end = rows.end;
  std::size_t least = end;  // Keys that all rows see.
  if (what.is_causal) {
    const auto [fewest, most] = std::minmax_element(rows.sees.begin(), rows.sees.begin() + rows.count);
    least = *fewest;
    end = std::min(end, *most);
  }
  for (std::size_t i = 0; i < row; ++i) {
    const std::size_t from = std::min(i, rows.count - 1);
    tile.greatest[i] = rows.greatest[from];
    tile.sums[i] = rows.sum[from];
    tile.sees[i] = static_cast<float>(rows.sees[from]);
  }
  std::fill_n(tile.results, what.width * row, 0.f);
  const bool is_masked = what.mask != Attention::Mask::kNone;
  for (std::size_t first = rows.begin; first < end; first += kKeys) {
    const std::size_t count = std::min(kKeys, end - first);
    products.score(first, count);
    if (is_masked) LoadMask(what, rows, first, count, row, tile);
    const bool is_cut = what.is_causal && first + count > least;
    const float scale = MaskScores(what, first, count, row, products.scale(), is_masked, is_cut, tile);
    Soften<Products::kPaired>(count, row, scale, tile);
    products.mix(first, count);
  }
  Finish(what, rows, row, tile);
}

template <std::size_t kVecs>
void AttendVectors(const Attention& what, const AttentionRows& rows, float* scratch) {
  const std::size_t row = kVecs * hn::Lanes(D());
  const Tile tile = LayOut(what, row, scratch);
#if HWY_MAX_BYTES == 64
  if (what.is_narrow && has_pair_products()) return Attend<PairProducts<kVecs>>(what, rows, row, tile);
#endif
  Attend<RealProducts<kVecs>>(what, rows, row, tile);
}

void AttendTile(const Attention& what, const AttentionRows& rows, float* scratch) {
  const std::size_t vectors = (rows.count + hn::Lanes(D()) - 1) / hn::Lanes(D());
  if (vectors <= 1) return AttendVectors<1>(what, rows, scratch);
  if (vectors == 2) return AttendVectors<2>(what, rows, scratch);
  return AttendVectors<kVectors>(what, rows, scratch);
}

}  // namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::inline v1::engine::kernels {

HWY_EXPORT(TileRows);
HWY_EXPORT(TileVector);
HWY_EXPORT(Floats);
HWY_EXPORT(AttendTile);

std::size_t tile_rows() { return HWY_DYNAMIC_DISPATCH(TileRows)(); }
std::size_t tile_vector() { return HWY_DYNAMIC_DISPATCH(TileVector)(); }
std::size_t tile_scratch_floats(const Attention& what) { return HWY_DYNAMIC_DISPATCH(Floats)(what); }
void attend_tile(const Attention& what, const AttentionRows& rows, float* scratch) {
  HWY_DYNAMIC_DISPATCH(AttendTile)(what, rows, scratch);
}

}  // namespace tenon::inline v1::engine::kernels
#endif
