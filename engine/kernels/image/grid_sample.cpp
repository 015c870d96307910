// SPDX-License-Identifier: Apache-2.0
// SIMD over points by Highway: compiled once per instruction set and chosen at run time.
#include <tenon/engine/kernels/image/grid_sample.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/engine/kernels/image/grid_sample.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef TENON_GRID_SAMPLE_ONCE
#define TENON_GRID_SAMPLE_ONCE
#include <algorithm>
#include <cstdint>
#include <limits>

#include <tenon/engine/kernels/simd/broadcast.hpp>

namespace tenon::inline v1::engine::kernels {

/// Points that are computed together: what follows about each stays in the first cache.
inline constexpr std::size_t kGridPoints = 256;
/// No instruction set has longer vectors of f32.
inline constexpr std::size_t kGridLanes = 64;

/// For each point two pairs of neighbours in a row, the second pair in the row below, and the weights of the four.
struct GridQuads {
  std::int32_t top[kGridPoints + kGridLanes], bottom[kGridPoints + kGridLanes];  ///< Elements from the plane's begin.
  float weights[4][kGridPoints + kGridLanes];
};

}  // namespace tenon::inline v1::engine::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using DI = hn::RebindToSigned<D>;
using V = hn::Vec<D>;
using VI = hn::Vec<DI>;

// A pair of neighbours on one axis: the first one, and both weights, 0 for what lies outside.
struct Pair {
  VI first;
  V weight, weight_of_next;
};

// One rounding: as near to the exact place as f32 can be.
HWY_INLINE Pair PairAt(const GridAxis& axis, V g) {
  const D d;
  const auto extent = static_cast<float>(axis.extent);
  const V last = hn::Set(d, extent - 1), zero = hn::Zero(d), one = hn::Set(d, 1.f);
  V at = hn::MulAdd(g, hn::Set(d, (axis.aligns_corners ? extent - 1 : extent) / 2), hn::Set(d, (extent - 1) / 2));
  if (axis.padding == GridAxis::Padding::kBorder) {
    at = hn::IfThenElse(hn::Lt(at, zero), zero, at);  // A NaN stays one.
    at = hn::IfThenElse(hn::Gt(at, last), last, at);
  }
  const V base = hn::Floor(at), rest = hn::Sub(at, base);
  const auto has_first = hn::And(hn::Ge(base, zero), hn::Le(base, last));
  const auto has_next = hn::And(hn::Ge(base, hn::Neg(one)), hn::Lt(base, last));
  const V first_weight = hn::IfThenElseZero(has_first, hn::Sub(one, rest)),
          next_weight = hn::IfThenElseZero(has_next, rest);
  // The pair lies inside: before the first pixel and at the last one it is moved by one.
  const auto is_before = hn::Lt(base, zero), is_last = hn::Ge(base, last);
  Pair pair;
  pair.weight = hn::IfThenElse(is_before, next_weight, hn::IfThenElse(is_last, zero, first_weight));
  pair.weight_of_next = hn::IfThenElse(is_last, first_weight, hn::IfThenElse(is_before, zero, next_weight));
  const V bounded = hn::IfThenElseZero(hn::Gt(base, zero), hn::Min(base, hn::Sub(last, one)));
  pair.first = hn::ConvertTo(DI(), bounded);
  return pair;
}

// `count` points of a picture that begins at element `begin`; grid holds their pairs.
void FindQuads(const GridAxis& down, const GridAxis& across, const float* grid, std::size_t count, std::int32_t begin,
               std::size_t to, GridQuads& quads) {
  const D d;
  const DI di;
  const std::size_t lanes = hn::Lanes(d);
  const auto width = static_cast<std::int32_t>(across.extent);
  HWY_ALIGN float last[2 * HWY_MAX_BYTES / sizeof(float)] = {};
  for (std::size_t p = 0; p < count; p += lanes) {
    const float* from = grid + 2 * p;
    if (p + lanes > count) {
      std::copy(from, from + 2 * (count - p), last);
      from = last;
    }
    V x, y;
    hn::LoadInterleaved2(d, from, x, y);
    const Pair column = PairAt(across, x), row = PairAt(down, y);
    const VI top = hn::Add(hn::Add(hn::Mul(row.first, hn::Set(di, width)), column.first), hn::Set(di, begin));
    hn::StoreU(top, di, quads.top + to + p);
    hn::StoreU(hn::Add(top, hn::Set(di, width)), di, quads.bottom + to + p);
    hn::StoreU(hn::Mul(row.weight, column.weight), d, quads.weights[0] + to + p);
    hn::StoreU(hn::Mul(row.weight, column.weight_of_next), d, quads.weights[1] + to + p);
    hn::StoreU(hn::Mul(row.weight_of_next, column.weight), d, quads.weights[2] + to + p);
    hn::StoreU(hn::Mul(row.weight_of_next, column.weight_of_next), d, quads.weights[3] + to + p);
  }
}

// value * weight, and 0 where the weight is.
HWY_INLINE V Part(V value, const float* weights) {
  const V weight = hn::LoadU(D(), weights);
  return hn::IfThenElseZero(hn::Ne(weight, hn::Zero(D())), hn::Mul(value, weight));
}

// Loads neighbours. As pairs where the instruction set has such loads: that halves their number.
HWY_INLINE void LoadPairs(const float* plane, const std::int32_t* at, V& first, V& next) {
  const D d;
#if HWY_TARGET <= HWY_AVX2
  const hn::ScalableTag<std::int64_t> d64;
  const hn::Rebind<std::int32_t, decltype(d64)> d32;
  const std::size_t half = hn::Lanes(d64);
  const auto* base = reinterpret_cast<const std::int64_t*>(plane);
  const auto low = hn::GatherOffset(d64, base, hn::ShiftLeft<2>(hn::PromoteTo(d64, hn::LoadU(d32, at)))),
             high = hn::GatherOffset(d64, base, hn::ShiftLeft<2>(hn::PromoteTo(d64, hn::LoadU(d32, at + half))));
  first = hn::ConcatEven(d, hn::BitCast(d, high), hn::BitCast(d, low));
  next = hn::ConcatOdd(d, hn::BitCast(d, high), hn::BitCast(d, low));
#else
  const VI index = hn::LoadU(DI(), at);
  first = hn::GatherIndex(d, plane, index);
  next = hn::GatherIndex(d, plane + 1, index);
#endif
}

void SamplePlane(const float* plane, const GridQuads& quads, std::size_t count, float* out) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t p = 0; p < count; p += lanes) {
    V a, b, c, e;
    LoadPairs(plane, quads.top + p, a, b);
    LoadPairs(plane, quads.bottom + p, c, e);
    const V sum = hn::Add(hn::Add(Part(a, quads.weights[0] + p), Part(b, quads.weights[1] + p)),
                          hn::Add(Part(c, quads.weights[2] + p), Part(e, quads.weights[3] + p)));
    if (p + lanes <= count) {
      hn::StoreU(sum, d, out + p);
    } else {
      HWY_ALIGN float last[HWY_MAX_BYTES / sizeof(float)];
      hn::Store(sum, d, last);
      std::copy(last, last + (count - p), out + p);
    }
  }
}

}  // namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::inline v1::engine::kernels {

HWY_EXPORT(FindQuads);
HWY_EXPORT(SamplePlane);

namespace {

/// Points [begin, end) of all pictures' points; of several pictures only if these have one channel.
void sample_by_quads(const GridSample& what, const float* data, const float* grid, float* out, std::size_t begin,
                     std::size_t end) {
  GridQuads quads;
  const auto plane = static_cast<std::size_t>(what.down.extent * what.across.extent);
  const std::size_t first = begin / what.points;
  for (std::size_t p = begin; p < end;) {
    const std::size_t picture = p / what.points, count = std::min((picture + 1) * what.points, end) - p;
    HWY_DYNAMIC_DISPATCH(FindQuads)
    (what.down, what.across, grid + 2 * p, count, static_cast<std::int32_t>((picture - first) * plane), p - begin,
     quads);
    p += count;
  }
  // What fills up the last vector reads the first pixels.
  const std::size_t count = end - begin;
  std::fill_n(quads.top + count, kGridLanes, 0);
  std::fill_n(quads.bottom + count, kGridLanes, 0);
  for (std::size_t c = 0; c < what.channels; ++c) HWY_DYNAMIC_DISPATCH(SamplePlane)
  (data + (first * what.channels + c) * plane, quads, count,
   out + (first * what.channels + c) * what.points + (begin - first * what.points));
}

/// Any mode: points [begin, end) of one picture.
void sample_by_taps(const GridSample& what, const float* data, const float* grid, float* out, std::size_t begin,
                    std::size_t end) {
  struct Point {
    GridTaps rows, columns;
  };
  constexpr std::size_t kPoints = 32;
  Point known[kPoints];
  const auto plane = static_cast<std::size_t>(what.down.extent * what.across.extent);
  for (std::size_t block = begin; block < end; block += kPoints) {
    const std::size_t count = std::min(kPoints, end - block), picture = block / what.points;
    for (std::size_t i = 0; i < count; ++i) {
      const float* g = grid + 2 * (block + i);
      known[i] = {what.down.taps(static_cast<double>(g[1])), what.across.taps(static_cast<double>(g[0]))};
    }
    for (std::size_t c = 0; c < what.channels; ++c) {
      const float* from = data + (picture * what.channels + c) * plane;
      float* to = out + (picture * what.channels + c) * what.points + block % what.points;
      for (std::size_t i = 0; i < count; ++i) {
        const auto& [rows, columns] = known[i];
        double sum = 0;
        for (int r = 0; r < rows.count; ++r)
          for (int k = 0; k < columns.count; ++k)
            if (rows.at[r] >= 0 && columns.at[k] >= 0)
              sum += rows.weight[r] * columns.weight[k] *
                     static_cast<double>(from[rows.at[r] * what.across.extent + columns.at[k]]);
        to[i] = static_cast<float>(sum);
      }
    }
  }
}

}  // namespace

void grid_sample(const GridSample& what, const float* data, const float* grid, float* out) {
  const bool has_quads = what.down.mode == GridAxis::Mode::kBilinear &&
                         what.down.padding != GridAxis::Padding::kReflection && what.down.extent > 1 &&
                         what.across.extent > 1 &&
                         static_cast<std::size_t>(what.down.extent * what.across.extent) * (kGridPoints + 1) <
                             std::size_t{std::numeric_limits<std::int32_t>::max()};
  // A block of points is of one picture, but pictures of one channel follow each other as their points do.
  const bool is_joined = has_quads && what.channels == 1;
  const std::size_t points = is_joined ? what.pictures * what.points : what.points,
                    blocks = (points + kGridPoints - 1) / kGridPoints, planes = is_joined ? 1 : what.pictures;
  parallel(planes * blocks, what.pictures * what.points * what.channels * 32, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t first = i / blocks * points + i % blocks * kGridPoints,
                        last = std::min(first + kGridPoints, (i / blocks + 1) * points);
      has_quads ? sample_by_quads(what, data, grid, out, first, last)
                : sample_by_taps(what, data, grid, out, first, last);
    }
  });
}

}  // namespace tenon::inline v1::engine::kernels
#endif
