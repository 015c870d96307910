// SPDX-License-Identifier: Apache-2.0
// SIMD by Highway: compiled once per instruction set and chosen at run time.
#include <tenon/engine/kernels/image/average_pool.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/engine/kernels/image/average_pool.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <tenon/engine/kernels/simd/tail-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// Channels side by side.
void PoolPixels(const AveragePool& what, const float* from, float* to) {
  const D d;
  const std::size_t lanes = hn::Lanes(d), row = what.in_width * what.pixel;
  const V share = hn::Set(d, 1 / static_cast<float>(what.window_height * what.window_width));
  for (std::size_t x = 0; x < what.out_width; ++x, from += what.stride_width * what.pixel, to += what.pixel) {
    for (std::size_t c = 0; c < what.pixel; c += lanes) {
      const std::size_t count = what.pixel - c < lanes ? what.pixel - c : lanes;
      V sum = hn::Zero(d);
      for (std::size_t i = 0; i < what.window_height; ++i)
        for (std::size_t k = 0; k < what.window_width; ++k)
          sum = hn::Add(sum, LoadSome(d, from + i * row + k * what.pixel + c, count));
      StoreSome(hn::Mul(sum, share), d, to + c, count);
    }
  }
}

// Pairs of columns.
void PoolPairs(const AveragePool& what, const float* from, float* to) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const float share = 1 / static_cast<float>(what.window_height * 2);
  std::size_t x = 0;
  for (; x + lanes <= what.out_width; x += lanes) {
    V sum = hn::Zero(d);
    for (std::size_t i = 0; i < what.window_height; ++i) {
      V even, odd;
      hn::LoadInterleaved2(d, from + i * what.in_width + 2 * x, even, odd);
      sum = hn::Add(sum, hn::Add(even, odd));
    }
    hn::StoreU(hn::Mul(sum, hn::Set(d, share)), d, to + x);
  }
  for (; x < what.out_width; ++x) {
    float sum = 0;
    for (std::size_t i = 0; i < what.window_height; ++i)
      sum += from[i * what.in_width + 2 * x] + from[i * what.in_width + 2 * x + 1];
    to[x] = sum * share;
  }
}

void PoolRows(const AveragePool& what, const float* src, float* dst, std::size_t begin, std::size_t end) {
  const std::size_t in_row = what.in_width * what.pixel, out_row = what.out_width * what.pixel;
  for (std::size_t i = begin; i < end; ++i) {
    const std::size_t picture = i / what.out_height, y = i % what.out_height;
    const float* from = src + (picture * what.in_height + y * what.stride_height) * in_row;
    what.pixel == 1 ? PoolPairs(what, from, dst + i * out_row) : PoolPixels(what, from, dst + i * out_row);
  }
}

}  // namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tenon/engine/kernels/simd/broadcast.hpp>

namespace tenon::inline v1::engine::kernels {

HWY_EXPORT(PoolRows);

void average_pool(const AveragePool& what, const float* src, float* dst) {
  const std::size_t rows = what.pictures * what.out_height;
  const std::size_t taken = what.out_width * what.window_width + what.out_width;
  parallel(rows, rows * taken * what.window_height * what.pixel * sizeof(float),
           [&](std::size_t begin, std::size_t end) {
             HWY_DYNAMIC_DISPATCH(PoolRows)
             (what, src, dst, begin, end);
           });
}

}  // namespace tenon::inline v1::engine::kernels
#endif
