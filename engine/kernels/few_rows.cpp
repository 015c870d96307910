// SPDX-License-Identifier: Apache-2.0
// Few rows times a matrix: compiled once per instruction set and chosen at run time.
#include <tenon/engine/kernels/few_rows.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/engine/kernels/few_rows.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

/// out[n] = a * row n of b, for n of [begin, end).
void Dots(const float* a, const float* b, std::size_t b_row, std::size_t depth, std::size_t begin, std::size_t end,
          float* out) {
  const D d;
  const std::size_t lanes = hn::Lanes(d), whole = depth - depth % lanes;
  const auto tail = hn::FirstN(d, depth - whole);
  for (std::size_t n = begin; n < end; ++n) {
    const float* row = b + n * b_row;
    V first = hn::Zero(d), second = hn::Zero(d);
    std::size_t k = 0;
    for (; k + 2 * lanes <= whole; k += 2 * lanes) {
      first = hn::MulAdd(hn::LoadU(d, a + k), hn::LoadU(d, row + k), first);
      second = hn::MulAdd(hn::LoadU(d, a + k + lanes), hn::LoadU(d, row + k + lanes), second);
    }
    if (k < whole) first = hn::MulAdd(hn::LoadU(d, a + k), hn::LoadU(d, row + k), first);
    if (whole < depth)
      second = hn::MulAdd(hn::MaskedLoad(tail, d, a + whole), hn::MaskedLoad(tail, d, row + whole), second);
    out[n] = hn::GetLane(hn::SumOfLanes(d, hn::Add(first, second)));
  }
}

/// out[n] = sum over k of a[k] * b[k][n].
void Sums(const float* a, const float* b, std::size_t b_row, std::size_t depth, std::size_t columns, float* out) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t n = 0;
  for (; n + 4 * lanes <= columns; n += 4 * lanes) {
    V s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
    const float* at = b + n;
    for (std::size_t k = 0; k < depth; ++k, at += b_row) {
      const V factor = hn::Set(d, a[k]);
      s0 = hn::MulAdd(factor, hn::LoadU(d, at), s0);
      s1 = hn::MulAdd(factor, hn::LoadU(d, at + lanes), s1);
      s2 = hn::MulAdd(factor, hn::LoadU(d, at + 2 * lanes), s2);
      s3 = hn::MulAdd(factor, hn::LoadU(d, at + 3 * lanes), s3);
    }
    hn::StoreU(s0, d, out + n);
    hn::StoreU(s1, d, out + n + lanes);
    hn::StoreU(s2, d, out + n + 2 * lanes);
    hn::StoreU(s3, d, out + n + 3 * lanes);
  }
  for (; n < columns; n += lanes) {
    const auto mask = hn::FirstN(d, columns - n < lanes ? columns - n : lanes);
    V sum = hn::Zero(d);
    const float* at = b + n;
    for (std::size_t k = 0; k < depth; ++k, at += b_row)
      sum = hn::MulAdd(hn::Set(d, a[k]), hn::MaskedLoad(mask, d, at), sum);
    hn::BlendedStore(sum, mask, d, out + n);
  }
}

}  // namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

#include <tenon/engine/kernels/broadcast.hpp>

namespace tenon::inline v1::engine::kernels {

HWY_EXPORT(Dots);
HWY_EXPORT(Sums);

void few_rows(const FewRows& problem, const float* a, const float* b, const float* added, float* out) {
  // Dots are split along the columns too; sums are not, since a part of the columns is a part of every row that is read.
  constexpr std::size_t kTile = 256;
  const std::size_t batch = problem.a.size(), tiles = problem.is_transposed ? (problem.columns + kTile - 1) / kTile : 1;
  const std::size_t bytes = batch * problem.columns * problem.depth * sizeof(float);
  parallel(batch * tiles, bytes, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      const std::size_t item = i / tiles, begin = i % tiles * kTile,
                        end = problem.is_transposed ? std::min(begin + kTile, problem.columns) : problem.columns;
      const float* matrix = b + problem.b[item];
      for (std::size_t row = 0; row < problem.rows; ++row) {
        const float* from = a + problem.a[item] + row * problem.a_row;
        float* to = out + (item * problem.rows + row) * problem.columns;
        if (problem.is_transposed)
          HWY_DYNAMIC_DISPATCH(Dots)(from, matrix, problem.b_row, problem.depth, begin, end, to);
        else
          HWY_DYNAMIC_DISPATCH(Sums)(from, matrix, problem.b_row, problem.depth, problem.columns, to);
        if (problem.added.empty()) {
          if (problem.scale != 1)
            for (std::size_t n = begin; n < end; ++n) to[n] *= problem.scale;
          continue;
        }
        const float* plus = added + problem.added[item] + row * problem.added_row;
        for (std::size_t n = begin; n < end; ++n) to[n] = to[n] * problem.scale + plus[n * problem.added_column];
      }
    }
  });
}

}  // namespace tenon::inline v1::engine::kernels
#endif
