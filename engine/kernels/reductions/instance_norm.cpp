// SPDX-License-Identifier: Apache-2.0
// Sums over pixels, then the same arithmetic for each: compiled once per instruction set.
#include <tenon/engine/kernels/reductions/instance_norm.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <tenon/engine/kernels/simd/broadcast.hpp>
#include <tenon/engine/kernels/simd/elementwise.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/engine/kernels/reductions/instance_norm.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <tenon/engine/kernels/simd/bf16-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using NormTag = hn::ScalableTag<float>;
using NormVector = hn::Vec<NormTag>;

/// For each channel, the sum and the sum of squares of what the pixels differ from `around`.
template <typename T>
void AddPixels(const T* x, std::size_t pixels, std::size_t channels, const float* around, float* sum, float* square) {
  const std::size_t lanes = hn::Lanes(NormTag());
  std::size_t c = 0;
  for (; c + lanes <= channels; c += lanes) {
    const NormVector middle = LoadAt(around + c);
    NormVector s = hn::Zero(NormTag()), q = s;
    for (std::size_t p = 0; p < pixels; ++p) {
      const NormVector v = hn::Sub(LoadAt(x + p * channels + c), middle);
      s = hn::Add(s, v);
      q = hn::MulAdd(v, v, q);
    }
    StoreAt(s, sum + c);
    StoreAt(q, square + c);
  }
  for (; c < channels; ++c) {
    float s = 0, q = 0;
    for (std::size_t p = 0; p < pixels; ++p) {
      const float v = NumberAt(x + p * channels + c) - around[c];
      s += v;
      q += v * v;
    }
    sum[c] = s;
    square[c] = q;
  }
}

template <typename T>
void NormalisePixels(const T* x, T* out, std::size_t pixels, std::size_t channels, const float* mean,
                     const float* inverse) {
  const std::size_t lanes = hn::Lanes(NormTag());
  for (std::size_t p = 0; p < pixels; ++p, x += channels, out += channels) {
    std::size_t c = 0;
    for (; c + lanes <= channels; c += lanes)
      StoreAt(hn::Mul(hn::Sub(LoadAt(x + c), LoadAt(mean + c)), LoadAt(inverse + c)), out + c);
    for (; c < channels; ++c) PutAt((NumberAt(x + c) - mean[c]) * inverse[c], out + c);
  }
}

void AddF32(const float* x, std::size_t pixels, std::size_t channels, const float* around, float* sum, float* square) {
  AddPixels(x, pixels, channels, around, sum, square);
}
void AddBf16(const std::uint16_t* x, std::size_t pixels, std::size_t channels, const float* around, float* sum,
             float* square) {
  AddPixels(x, pixels, channels, around, sum, square);
}
void NormaliseF32(const float* x, float* out, std::size_t pixels, std::size_t channels, const float* mean,
                  const float* inverse) {
  NormalisePixels(x, out, pixels, channels, mean, inverse);
}
void NormaliseBf16(const std::uint16_t* x, std::uint16_t* out, std::size_t pixels, std::size_t channels,
                   const float* mean, const float* inverse) {
  NormalisePixels(x, out, pixels, channels, mean, inverse);
}

}  // namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::inline v1::engine::kernels {

HWY_EXPORT(AddF32);
HWY_EXPORT(AddBf16);
HWY_EXPORT(NormaliseF32);
HWY_EXPORT(NormaliseBf16);

namespace {

/// So many pixels are summed in f32, their sums in f64.
constexpr std::size_t kPixelsPerSum = 256;

std::size_t parts_of(std::size_t pixels) { return (pixels + kPixelsPerSum - 1) / kPixelsPerSum; }

void to_floats(const float* x, float* out, std::size_t count) { std::copy_n(x, count, out); }
void to_floats(const std::uint16_t* x, float* out, std::size_t count) { from_bf16(x, out, count); }

template <typename T, typename Add, typename Normalise>
void run_images(const InstanceNorm& what, const T* x, T* out, float* scratch, Add add, Normalise normalise) {
  const std::size_t pixels = what.pixels, channels = what.channels, parts = parts_of(pixels);
  // The first pixel stands for the mean until that is known, so that squares of large numbers do not hide small
  // differences.
  float *around = scratch, *inverse = around + channels, *sums = inverse + channels;
  for (std::size_t image = 0; image < what.images; ++image, x += pixels * channels, out += pixels * channels) {
    to_floats(x, around, channels);
    parallel(parts, pixels * channels * sizeof(T), [&](std::size_t begin, std::size_t end) {
      for (std::size_t part = begin; part < end; ++part) {
        const std::size_t from = part * kPixelsPerSum, count = std::min(kPixelsPerSum, pixels - from);
        float* sum = sums + 2 * part * channels;
        add(x + from * channels, count, channels, around, sum, sum + channels);
      }
    });
    for (std::size_t c = 0; c < channels; ++c) {
      double sum = 0, square = 0;
      for (std::size_t part = 0; part < parts; ++part) {
        sum += static_cast<double>(sums[2 * part * channels + c]);
        square += static_cast<double>(sums[(2 * part + 1) * channels + c]);
      }
      const auto count = static_cast<double>(pixels);
      const double mean = sum / count, variance = std::max(0.0, square / count - mean * mean);
      around[c] += static_cast<float>(mean);
      const auto epsilon = static_cast<double>(what.epsilon);
      const double root = what.is_outside ? std::sqrt(variance) + epsilon : std::sqrt(variance + epsilon);
      inverse[c] = what.divides ? static_cast<float>(1 / root) : 1.f;
    }
    parallel(parts, 2 * pixels * channels * sizeof(T), [&](std::size_t begin, std::size_t end) {
      const std::size_t from = begin * kPixelsPerSum, until = std::min(end * kPixelsPerSum, pixels);
      normalise(x + from * channels, out + from * channels, until - from, channels, around, inverse);
    });
  }
}

}  // namespace

std::size_t InstanceNorm::scratch_bytes() const { return (2 + 2 * parts_of(pixels)) * channels * sizeof(float); }

void InstanceNorm::run(const void* x, void* out, void* scratch) const {
  auto* own = static_cast<float*>(scratch);
  if (type == ElementType::kBf16)
    run_images(*this, static_cast<const std::uint16_t*>(x), static_cast<std::uint16_t*>(out), own,
               HWY_DYNAMIC_DISPATCH(AddBf16), HWY_DYNAMIC_DISPATCH(NormaliseBf16));
  else
    run_images(*this, static_cast<const float*>(x), static_cast<float*>(out), own, HWY_DYNAMIC_DISPATCH(AddF32),
               HWY_DYNAMIC_DISPATCH(NormaliseF32));
}

}  // namespace tenon::inline v1::engine::kernels
#endif
