// SPDX-License-Identifier: Apache-2.0
// Loops that compilers make vectors of: several runs at once, since each step waits for the one before.
#include <tenon/engine/kernels/reductions/fold.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include <tenon/engine/kernels/simd/broadcast.hpp>

namespace tenon::inline v1::engine::kernels {
namespace {

constexpr std::size_t kFoldLanes = 16, kFoldRun = 4096, kFoldRows = 64, kFoldColumns = 256, kFoldParts = 64;

template <FoldKind kKind>
struct FoldRule {
  template <typename T>
  static T start() {
    if constexpr (kKind == FoldKind::kProduct || kKind == FoldKind::kAll) return 1;
    using Limits = std::numeric_limits<T>;
    if constexpr (kKind == FoldKind::kGreatest) return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    if constexpr (kKind == FoldKind::kLeast) return Limits::has_infinity ? Limits::infinity() : Limits::max();
    return 0;
  }
  /// What an element adds.
  template <typename T>
  static T mapped(T x) {
    if constexpr (kKind == FoldKind::kMagnitudes) return x < T{0} ? static_cast<T>(T{0} - x) : x;
    if constexpr (kKind == FoldKind::kSquares) return static_cast<T>(x * x);
    return x;
  }
  template <typename T>
  static T joined(T held, T x) {
    if constexpr (kKind == FoldKind::kProduct) return static_cast<T>(held * x);
    if constexpr (kKind == FoldKind::kGreatest) return x > held || x != x ? x : held;
    if constexpr (kKind == FoldKind::kLeast) return x < held || x != x ? x : held;
    if constexpr (kKind == FoldKind::kAll) return static_cast<T>(held != 0 && x != 0);
    if constexpr (kKind == FoldKind::kAny) return static_cast<T>(held != 0 || x != 0);
    return static_cast<T>(held + x);
  }
};

template <typename T>
using Held = std::conditional_t<std::is_same_v<T, float>, double, T>;

/// Neighbours.
template <FoldKind kKind, typename T>
Held<T> fold_line(const T* x, std::size_t count) {
  using Rule = FoldRule<kKind>;
  Held<T> result = Rule::template start<Held<T>>();
  for (std::size_t at = 0; at < count; at += kFoldRun) {
    const T* from = x + at;
    const std::size_t run = std::min(kFoldRun, count - at);
    T lanes[kFoldLanes];
    std::fill(lanes, lanes + kFoldLanes, Rule::template start<T>());
    std::size_t i = 0;
    for (; i + kFoldLanes <= run; i += kFoldLanes)
      for (std::size_t lane = 0; lane < kFoldLanes; ++lane)
        lanes[lane] = Rule::joined(lanes[lane], Rule::mapped(from[i + lane]));
    for (std::size_t lane = 0; i < run; ++i, ++lane) lanes[lane] = Rule::joined(lanes[lane], Rule::mapped(from[i]));
    for (std::size_t width = kFoldLanes / 2; width > 0; width /= 2)
      for (std::size_t lane = 0; lane < width; ++lane) lanes[lane] = Rule::joined(lanes[lane], lanes[lane + width]);
    result = Rule::joined(result, static_cast<Held<T>>(lanes[0]));
  }
  return result;
}

template <typename T>
T finished(const Fold& what, Held<T> held) {
  if constexpr (std::is_same_v<T, float>) {
    const double scaled = held * static_cast<double>(what.scale);
    return static_cast<float>(what.is_root ? std::sqrt(scaled) : scaled);
  } else {
    return held;
  }
}

template <FoldKind kKind, typename T>
void fold_lines(const Fold& what, const T* x, T* out) {
  const std::size_t bytes = what.outer * what.extent * sizeof(T);
  if (what.outer >= 4 || what.extent < 4 * kFoldRun) {
    parallel(what.outer, bytes, [&](std::size_t begin, std::size_t end) {
      for (std::size_t o = begin; o < end; ++o)
        out[o] = finished<T>(what, fold_line<kKind>(x + o * what.extent, what.extent));
    });
    return;
  }
  // Long lines are shared: always in as many parts.
  const std::size_t part = (what.extent + kFoldParts - 1) / kFoldParts;
  for (std::size_t o = 0; o < what.outer; ++o) {
    Held<T> held[kFoldParts];
    parallel(kFoldParts, what.extent * sizeof(T), [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t first = std::min(i * part, what.extent), last = std::min(first + part, what.extent);
        held[i] = fold_line<kKind>(x + o * what.extent + first, last - first);
      }
    });
    Held<T> all = held[0];
    for (std::size_t i = 1; i < kFoldParts; ++i) all = FoldRule<kKind>::joined(all, held[i]);
    out[o] = finished<T>(what, all);
  }
}

/// Columns [first, first + count) of an outer index; count <= kFoldColumns.
template <FoldKind kKind, typename T>
void fold_columns(const Fold& what, const T* x, std::size_t count, T* out) {
  using Rule = FoldRule<kKind>;
  Held<T> held[kFoldColumns];
  T run[kFoldColumns];
  std::fill(held, held + count, Rule::template start<Held<T>>());
  for (std::size_t row = 0; row < what.extent; row += kFoldRows) {
    std::fill(run, run + count, Rule::template start<T>());
    for (std::size_t k = row; k < std::min(row + kFoldRows, what.extent); ++k) {
      const T* from = x + k * what.inner;
      for (std::size_t i = 0; i < count; ++i) run[i] = Rule::joined(run[i], Rule::mapped(from[i]));
    }
    for (std::size_t i = 0; i < count; ++i) held[i] = Rule::joined(held[i], static_cast<Held<T>>(run[i]));
  }
  for (std::size_t i = 0; i < count; ++i) out[i] = finished<T>(what, held[i]);
}

template <FoldKind kKind, typename T>
void fold_as(const Fold& what, const T* x, T* out) {
  if (what.inner == 1) return fold_lines<kKind>(what, x, out);
  const std::size_t blocks = (what.inner + kFoldColumns - 1) / kFoldColumns;
  parallel(what.outer * blocks, what.outer * what.extent * what.inner * sizeof(T),
           [&](std::size_t begin, std::size_t end) {
             for (std::size_t i = begin; i < end; ++i) {
               const std::size_t o = i / blocks, first = i % blocks * kFoldColumns;
               fold_columns<kKind>(what, x + o * what.extent * what.inner + first,
                                   std::min(kFoldColumns, what.inner - first), out + o * what.inner + first);
             }
           });
}

template <typename T>
void fold_numbers(const Fold& what, const T* x, T* out) {
  switch (what.kind) {
#define TENON_CASE(name) \
  case FoldKind::name:   \
    return fold_as<FoldKind::name>(what, x, out);
    TENON_CASE(kSum)
    TENON_CASE(kMagnitudes)
    TENON_CASE(kSquares)
    TENON_CASE(kProduct)
    TENON_CASE(kGreatest)
    TENON_CASE(kLeast)
#undef TENON_CASE
    default:
      return;
  }
}

}  // namespace

void fold(const Fold& what, const void* x, void* out) {
  if (what.kind == FoldKind::kAll)
    return fold_as<FoldKind::kAll>(what, static_cast<const std::uint8_t*>(x), static_cast<std::uint8_t*>(out));
  if (what.kind == FoldKind::kAny)
    return fold_as<FoldKind::kAny>(what, static_cast<const std::uint8_t*>(x), static_cast<std::uint8_t*>(out));
  if (what.type == ElementType::kF32)
    fold_numbers(what, static_cast<const float*>(x), static_cast<float*>(out));
  else if (what.type == ElementType::kI32)
    fold_numbers(what, static_cast<const std::int32_t*>(x), static_cast<std::int32_t*>(out));
  else
    fold_numbers(what, static_cast<const std::int64_t*>(x), static_cast<std::int64_t*>(out));
}

}  // namespace tenon::inline v1::engine::kernels
