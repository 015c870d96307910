// SPDX-License-Identifier: Apache-2.0
// Norms of rows: compiled once per instruction set and chosen at run time.
#include <tenon/engine/kernels/reductions/rms_norm.hpp>

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/engine/kernels/reductions/rms_norm.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <tenon/engine/kernels/simd/bf16.hpp>

#include <tenon/engine/kernels/simd/bf16-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

template <class X, class Y>
void NormRow(const X* x, const float* weights, std::size_t columns, float epsilon, Y* out) {
  const D d;
  const std::size_t lanes = hn::Lanes(d), whole = columns - columns % lanes;
  V first = hn::Zero(d), second = hn::Zero(d);
  std::size_t i = 0;
  for (; i + 2 * lanes <= whole; i += 2 * lanes) {
    const V a = LoadAt(x + i), b = LoadAt(x + i + lanes);
    first = hn::MulAdd(a, a, first);
    second = hn::MulAdd(b, b, second);
  }
  if (i < whole) {
    const V a = LoadAt(x + i);
    first = hn::MulAdd(a, a, first);
  }
  float squares = hn::GetLane(hn::SumOfLanes(d, hn::Add(first, second)));
  for (i = whole; i < columns; ++i) squares += NumberAt(x + i) * NumberAt(x + i);
  const float factor = 1 / std::sqrt(squares / static_cast<float>(columns) + epsilon);
  const V by = hn::Set(d, factor);
  for (i = 0; i < whole; i += lanes) {
    const V scaled = hn::Mul(LoadAt(x + i), by);
    StoreAt(weights ? hn::Mul(scaled, hn::LoadU(d, weights + i)) : scaled, out + i);
  }
  for (; i < columns; ++i) PutAt(NumberAt(x + i) * factor * (weights ? weights[i] : 1), out + i);
}

template <class X, class Y>
void NormRows(const RmsNorm& what, const void* x, const float* weights, void* out, std::size_t begin, std::size_t end) {
  for (std::size_t row = begin; row < end; ++row)
    NormRow(static_cast<const X*>(x) + row * what.columns, weights, what.columns, what.epsilon,
            static_cast<Y*>(out) + row * what.columns);
}

void Norm(const RmsNorm& what, const void* x, const float* weights, void* out, std::size_t begin, std::size_t end) {
  const bool narrow_x = what.x_type == ElementType::kBf16, narrow_out = what.out_type == ElementType::kBf16;
  if (narrow_x && narrow_out) return NormRows<std::uint16_t, std::uint16_t>(what, x, weights, out, begin, end);
  if (narrow_x) return NormRows<std::uint16_t, float>(what, x, weights, out, begin, end);
  if (narrow_out) return NormRows<float, std::uint16_t>(what, x, weights, out, begin, end);
  NormRows<float, float>(what, x, weights, out, begin, end);
}

}  // namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tenon/engine/kernels/simd/broadcast.hpp>

namespace tenon::inline v1::engine::kernels {

HWY_EXPORT(Norm);

void rms_norm(const RmsNorm& what, const void* x, const float* weights, void* out) {
  parallel(what.rows, what.rows * what.columns * 2 * sizeof(float), [&](std::size_t begin, std::size_t end) {
    HWY_DYNAMIC_DISPATCH(Norm)(what, x, weights, out, begin, end);
  });
}

}  // namespace tenon::inline v1::engine::kernels
#endif
