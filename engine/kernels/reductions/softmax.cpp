// SPDX-License-Identifier: Apache-2.0
// Softmax over columns: compiled once per instruction set and chosen at run time.
#include <tenon/engine/kernels/reductions/softmax.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/engine/kernels/reductions/softmax.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

#include <tenon/engine/kernels/simd/tail-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Columns [begin, end) of one outer row; three passes over `extent` rows, all in the first-level cache for usual
// extents.
void Columns(const float* x, float* out, std::size_t extent, std::size_t inner, std::size_t begin, std::size_t end) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = begin; i < end; i += lanes) {
    const std::size_t count = end - i < lanes ? end - i : lanes;
    const auto load = [&](const float* from) { return LoadSome(d, from, count); };
    const auto store = [&](hn::Vec<decltype(d)> v, float* to) { StoreSome(v, d, to, count); };
    auto greatest = load(x + i);
    for (std::size_t k = 1; k < extent; ++k) greatest = hn::Max(greatest, load(x + k * inner + i));
    auto sum = hn::Zero(d);
    for (std::size_t k = 0; k < extent; ++k) {
      const auto below = hn::Sub(load(x + k * inner + i), greatest);
      // The library's exponential of NaN is 0.
      const auto e = hn::IfThenElse(hn::Eq(below, below), hn::Exp(d, below), below);
      sum = hn::Add(sum, e);
      store(e, out + k * inner + i);
    }
    const auto scale = hn::Div(hn::Set(d, 1.0f), sum);
    for (std::size_t k = 0; k < extent; ++k) store(hn::Mul(load(out + k * inner + i), scale), out + k * inner + i);
  }
}

}  // namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <cmath>
#include <limits>

#include <tenon/engine/kernels/simd/broadcast.hpp>

namespace tenon::inline v1::engine::kernels {
namespace {

float number(float element) { return element; }
float number(Bf16 element) { return element.to_float(); }

template <typename T>
void spread(T* lines, std::size_t outer, std::size_t extent, std::size_t inner, bool is_log) {
  // Each number of a line without a NaN is more, unless it is that much less than another.
  const float least = is_log ? -std::numeric_limits<float>::infinity() : 0;
  const T nan(std::numeric_limits<float>::quiet_NaN());
  parallel(outer * inner, outer * inner * 64, [&](std::size_t begin, std::size_t end) {  // A cache line of each.
    for (std::size_t line = begin; line < end; ++line) {
      T* const first = lines + line / inner * extent * inner + line % inner;
      bool has_nan = false;
      if (!(number(*first) > least))
        for (std::size_t k = 0; k < extent && !has_nan; ++k) has_nan = std::isnan(number(first[k * inner]));
      if (has_nan)
        for (std::size_t k = 0; k < extent; ++k) first[k * inner] = nan;
    }
  });
}

}  // namespace

void spread_nan(float* lines, std::size_t outer, std::size_t extent, std::size_t inner, bool is_log) {
  spread(lines, outer, extent, inner, is_log);
}
void spread_nan(Bf16* lines, std::size_t outer, std::size_t extent, std::size_t inner, bool is_log) {
  spread(lines, outer, extent, inner, is_log);
}

HWY_EXPORT(Columns);

void softmax_columns(const float* x, float* out, std::size_t outer, std::size_t extent, std::size_t inner) {
  constexpr std::size_t kTile = 256;
  const std::size_t tiles = (inner + kTile - 1) / kTile;
  parallel(outer * tiles, outer * extent * inner * 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t row = i / tiles, first = i % tiles * kTile,
                        last = first + kTile < inner ? first + kTile : inner;
      HWY_DYNAMIC_DISPATCH(Columns)(x + row * extent * inner, out + row * extent * inner, extent, inner, first, last);
    }
  });
}

}  // namespace tenon::inline v1::engine::kernels
#endif
