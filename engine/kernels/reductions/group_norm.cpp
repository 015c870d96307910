// SPDX-License-Identifier: Apache-2.0
// SIMD by Highway: compiled once per instruction set and chosen at run time.
#include <tenon/engine/kernels/reductions/group_norm.hpp>

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/engine/kernels/reductions/group_norm.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <tenon/engine/kernels/simd/tail-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// The sum of (x - from), or of its squares, in runs that f32 sums well.
template <bool kSquares>
double SumOf(const float* x, std::size_t count, float from) {
  constexpr std::size_t kRun = 8192;
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const V mean = hn::Set(d, from);
  const auto added = [&](V sum, V value) {
    const V apart = hn::Sub(value, mean);
    return kSquares ? hn::MulAdd(apart, apart, sum) : hn::Add(sum, apart);
  };
  double sum = 0;
  for (std::size_t at = 0; at < count; at += kRun) {
    const std::size_t end = std::min(at + kRun, count);
    V a = hn::Zero(d), b = a, c = a, e = a;
    std::size_t i = at;
    for (; i + 4 * lanes <= end; i += 4 * lanes) {
      a = added(a, hn::LoadU(d, x + i));
      b = added(b, hn::LoadU(d, x + i + lanes));
      c = added(c, hn::LoadU(d, x + i + 2 * lanes));
      e = added(e, hn::LoadU(d, x + i + 3 * lanes));
    }
    for (; i + lanes <= end; i += lanes) a = added(a, hn::LoadU(d, x + i));
    sum += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(c, e)))));
    for (; i < end; ++i) {
      const float apart = x[i] - from;
      sum += static_cast<double>(kSquares ? apart * apart : apart);
    }
  }
  return sum;
}

// y = (x - mean) * factor + shift, factors and shifts of `block` channels side by side.
void ScaleRows(const float* x, float mean, const float* factors, const float* shifts, std::size_t block,
               std::size_t plane, float* y) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const V centre = hn::Set(d, mean);
  if (block == 1) {
    const V factor = hn::Set(d, factors[0]), shift = hn::Set(d, shifts[0]);
    for (std::size_t i = 0; i < plane; i += lanes) {
      const std::size_t count = std::min(lanes, plane - i);
      StoreSome(hn::MulAdd(hn::Sub(LoadSome(d, x + i, count), centre), factor, shift), d, y + i, count);
    }
    return;
  }
  for (std::size_t c = 0; c < block; c += lanes) {
    const std::size_t count = std::min(lanes, block - c);
    const V factor = LoadSome(d, factors + c, count), shift = LoadSome(d, shifts + c, count);
    for (std::size_t i = 0; i < plane; ++i)
      StoreSome(hn::MulAdd(hn::Sub(LoadSome(d, x + i * block + c, count), centre), factor, shift), d, y + i * block + c,
                count);
  }
}

void NormGroups(const GroupNorm& what, const float* x, const float* scale, const float* bias, float* y,
                std::size_t begin, std::size_t end) {
  constexpr std::size_t kLargestBlock = 64;
  const std::size_t count = what.channels * what.plane;
  for (std::size_t g = begin; g < end; ++g) {
    const float* from = x + g * count;
    float* to = y + g * count;
    const auto mean = static_cast<float>(SumOf<false>(from, count, 0) / static_cast<double>(count));
    const auto variance = static_cast<float>(SumOf<true>(from, count, mean) / static_cast<double>(count));
    const float factor = 1 / std::sqrt(variance + what.epsilon);
    const std::size_t first = g % what.groups * what.channels;
    for (std::size_t c = 0; c < what.channels; c += what.block) {
      float factors[kLargestBlock];
      for (std::size_t i = 0; i < what.block; ++i) factors[i] = factor * scale[first + c + i];
      ScaleRows(from + c * what.plane, mean, factors, bias + first + c, what.block, what.plane, to + c * what.plane);
    }
  }
}

}  // namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tenon/engine/kernels/simd/broadcast.hpp>

namespace tenon::inline v1::engine::kernels {

HWY_EXPORT(NormGroups);

void group_norm(const GroupNorm& what, const float* x, const float* scale, const float* bias, float* y) {
  const std::size_t groups = what.pictures * what.groups;
  parallel(groups, groups * what.channels * what.plane * 3 * sizeof(float), [&](std::size_t begin, std::size_t end) {
    HWY_DYNAMIC_DISPATCH(NormGroups)(what, x, scale, bias, y, begin, end);
  });
}

}  // namespace tenon::inline v1::engine::kernels
#endif
