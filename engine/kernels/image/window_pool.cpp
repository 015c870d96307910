// SPDX-License-Identifier: Apache-2.0
// SIMD by Highway: compiled once per instruction set and chosen at run time.
#include <tenon/engine/kernels/image/window_pool.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/engine/kernels/image/window_pool.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <tenon/engine/kernels/simd/tail-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows of means, of planes one after the other. sums: room for a row of the source.
void MeanRows(const WindowPool& what, const float* from, float* to, std::size_t begin, std::size_t end, float* sums) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d), pixel = what.pixel, row = what.axes[2].extent * pixel;
  const auto &deep = what.axes[0].windows, &down = what.axes[1].windows, &columns = what.axes[2].windows;
  for (std::size_t i = begin; i < end; ++i) {
    const float* plane = from + i / what.out_rows() * what.in_plane() * pixel;
    const auto &z = deep[i / down.size() % deep.size()], &y = down[i % down.size()];
    // First down whole rows, which are contiguous.
    for (std::size_t c = 0; c < row; c += lanes) {
      const std::size_t some = HWY_MIN(lanes, row - c);
      auto sum = hn::Zero(d);
      for (std::size_t k = 0; k < z.count; ++k)
        for (std::size_t l = 0; l < y.count; ++l)
          sum = hn::Add(sum, LoadSome(d, plane + ((z.first + k) * what.axes[1].extent + y.first + l) * row + c, some));
      StoreSome(sum, d, sums + c, some);
    }
    for (std::size_t o = 0; o < columns.size(); ++o) {
      const auto& x = columns[o];
      const float* own = sums + x.first * pixel;
      float* out = to + (i * columns.size() + o) * pixel;
      const auto count = static_cast<float>(std::size_t{z.count} * y.count * x.count);
      if (pixel == 1) {
        float sum = 0;
        for (std::size_t c = 0; c < x.count; ++c) sum += own[c];
        *out = sum / count;
        continue;
      }
      for (std::size_t p = 0; p < pixel; p += lanes) {
        const std::size_t some = HWY_MIN(lanes, pixel - p);
        auto sum = hn::Zero(d);
        for (std::size_t c = 0; c < x.count; ++c) sum = hn::Add(sum, LoadSome(d, own + c * pixel + p, some));
        StoreSome(hn::Div(sum, hn::Set(d, count)), d, out + p, some);
      }
    }
  }
}

}  // namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <limits>

#include <tenon/engine/kernels/simd/broadcast.hpp>

namespace tenon::inline v1::engine::kernels {

HWY_EXPORT(MeanRows);

namespace {

/// About the bytes that all windows read.
std::size_t window_bytes(const WindowPool& what) {
  std::size_t taken = what.planes * what.pixel * sizeof(float);
  for (const PoolWindows& axis : what.axes) {
    std::size_t all = 1;
    for (const auto& one : axis.windows) all += one.count;
    taken *= all;
  }
  return taken;
}

struct GreatestElement {
  float value;
  std::int64_t at;
};

template <bool kSkipsNan>
GreatestElement greatest_of(const WindowPool& what, const float* plane, const PoolWindows::One& z,
                            const PoolWindows::One& y, const PoolWindows::One& x) {
  if (z.count * y.count * x.count == 0) return {std::numeric_limits<float>::lowest(), 0};
  const auto& axes = what.axes;
  const auto place = [&](std::size_t i, std::size_t k) {
    return ((z.first + i * axes[0].step) * axes[1].extent + y.first + k * axes[1].step) * axes[2].extent + x.first;
  };
  auto at = static_cast<std::int64_t>(place(0, 0));
  float best = kSkipsNan ? std::numeric_limits<float>::lowest() : plane[at];
  for (std::size_t i = 0; i < z.count; ++i) {
    for (std::size_t k = 0; k < y.count; ++k) {
      auto next = static_cast<std::int64_t>(place(i, k));
      for (std::size_t c = 0; c < x.count; ++c, next += static_cast<std::int64_t>(axes[2].step)) {
        const float value = plane[next];
        // Without branches: which element is the greatest is as good as random.
        const bool is_greater = value > best;
        best = is_greater ? value : best;
        at = is_greater ? next : at;
      }
    }
  }
  return {best, at};
}

}  // namespace

void window_means(const WindowPool& what, const float* from, float* to) {
  parallel(what.planes * what.out_rows(), window_bytes(what), [&](std::size_t begin, std::size_t end) {
    thread_local std::vector<float> sums;  // Grown once, kept for the thread's life.
    if (sums.size() < what.axes[2].extent * what.pixel) sums.resize(what.axes[2].extent * what.pixel);
    HWY_DYNAMIC_DISPATCH(MeanRows)(what, from, to, begin, end, sums.data());
  });
}

template <typename Index>
void window_greatest(const WindowPool& what, const GreatestRule& rule, const float* from, float* to, Index* places) {
  const auto &deep = what.axes[0].windows, &down = what.axes[1].windows, &columns = what.axes[2].windows;
  parallel(what.planes * what.out_rows(), 4 * window_bytes(what), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t first = i / what.out_rows() * what.in_plane();
      const auto &z = deep[i / down.size() % deep.size()], &y = down[i % down.size()];
      for (std::size_t o = 0; o < columns.size(); ++o) {
        const GreatestElement found = rule.skips_nan ? greatest_of<true>(what, from + first, z, y, columns[o])
                                                     : greatest_of<false>(what, from + first, z, y, columns[o]);
        to[i * columns.size() + o] = found.value;
        places[i * columns.size() + o] = static_cast<Index>((first + static_cast<std::size_t>(found.at)) % rule.places);
      }
    }
  });
}
template void window_greatest(const WindowPool&, const GreatestRule&, const float*, float*, std::int32_t*);
template void window_greatest(const WindowPool&, const GreatestRule&, const float*, float*, std::int64_t*);

}  // namespace tenon::inline v1::engine::kernels
#endif
