// SPDX-License-Identifier: Apache-2.0
// Colours of one row, SIMD by Highway: compiled once per instruction set and chosen at run time.
#include <tenon/engine/kernels/image/input_stage_colour.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/engine/kernels/image/input_stage_colour.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef TENON_INPUT_STAGE_COLOUR_ONCE
#define TENON_INPUT_STAGE_COLOUR_ONCE
#include <algorithm>
#include <cmath>

namespace tenon {
inline namespace v1 {
namespace engine {
namespace input_stage {

/// One pixel, as the vectors compute it.
inline void convert_colour_pixel(const ColourRow& row, std::size_t i) {
  const std::size_t x = row.begin + i, at = x / 2 * row.chroma_step;
  const float luma = static_cast<float>(row.luma[x]) - 16, u = static_cast<float>(row.u[at]) - 128,
              v = static_cast<float>(row.v[at]) - 128;
  for (std::size_t c = 0; c < 3; ++c) {
    const float* m = row.matrix[c];
    const float value = std::clamp(m[0] * luma + m[1] * u + m[2] * v, 0.0f, 255.0f);
    const float scaled = row.round ? std::nearbyint(value) * 128 : std::nearbyint(value * 128);
    row.out[c][i] = static_cast<std::int16_t>(scaled);
  }
}

}  // namespace input_stage
}  // namespace engine
}  // namespace v1
}  // namespace tenon
#endif  // TENON_INPUT_STAGE_COLOUR_ONCE

HWY_BEFORE_NAMESPACE();
namespace tenon {
inline namespace v1 {
namespace engine {
namespace input_stage {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Real = hn::ScalableTag<float>;
using Whole = hn::RebindToSigned<Real>;
using Narrow = hn::Rebind<std::int16_t, Real>;
using Byte = hn::Rebind<std::uint8_t, Real>;

HWY_INLINE hn::Vec<Real> ToReal(hn::Vec<Byte> v) { return hn::ConvertTo(Real(), hn::PromoteTo(Whole(), v)); }

template <bool kRound>
HWY_INLINE hn::Vec<Narrow> Finish(hn::Vec<Real> value) {
  const Real d;
  value = hn::Min(hn::Max(value, hn::Zero(d)), hn::Set(d, 255.0f));
  const auto whole =
      kRound ? hn::ShiftLeft<7>(hn::NearestInt(value)) : hn::NearestInt(hn::Mul(value, hn::Set(d, 128.0f)));
  return hn::DemoteTo(Narrow(), whole);
}

// Two pixels share their chroma: even and odd columns are computed side by side. No operations are fused (a compiler
// option of this file), so that halves round as in InputStageSpec's formula.
template <bool kPairs, bool kRound>
void ConvertPixels(const ColourRow& row) {
  const Real d;
  const Byte d8;
  const Narrow d16;
  const std::size_t step = 2 * hn::Lanes(d);
  const auto block = [&](std::size_t i) HWY_ATTR {
    const std::size_t x = row.begin + i;
    hn::Vec<Byte> even8, odd8, u8, v8;
    hn::LoadInterleaved2(d8, row.luma + x, even8, odd8);
    if constexpr (kPairs) {
      hn::LoadInterleaved2(d8, row.u + x, u8, v8);
    } else {
      u8 = hn::LoadU(d8, row.u + x / 2);
      v8 = hn::LoadU(d8, row.v + x / 2);
    }
    const auto black = hn::Set(d, 16.0f), grey = hn::Set(d, 128.0f);
    const auto even = hn::Sub(ToReal(even8), black), odd = hn::Sub(ToReal(odd8), black);
    const auto u = hn::Sub(ToReal(u8), grey), v = hn::Sub(ToReal(v8), grey);
    for (std::size_t c = 0; c < 3; ++c) {
      const float* m = row.matrix[c];
      const auto from_u = hn::Mul(u, hn::Set(d, m[1])), from_v = hn::Mul(v, hn::Set(d, m[2]));
      const auto scale = hn::Set(d, m[0]);
      const auto first = hn::Add(hn::Add(hn::Mul(even, scale), from_u), from_v);
      const auto second = hn::Add(hn::Add(hn::Mul(odd, scale), from_u), from_v);
      hn::StoreInterleaved2(Finish<kRound>(first), Finish<kRound>(second), d16, row.out[c] + i);
    }
  };
  std::size_t i = 0;
  for (; i + step <= row.count; i += step) block(i);
  // The rest: the last full vector again, so that nothing past the row is read; at most one pixel is left by then.
  if (i < row.count && row.count >= step) {
    i = (row.count - step) / 2 * 2;
    block(i);
    i += step;
  }
  for (; i < row.count; ++i) convert_colour_pixel(row, i);
}

void ConvertColourRow(const ColourRow& row) {
  const bool pairs = row.chroma_step == 2 && row.v == row.u + 1;
  if (row.chroma_step != 1 && !pairs) {
    for (std::size_t i = 0; i < row.count; ++i) convert_colour_pixel(row, i);
  } else if (pairs) {
    row.round ? ConvertPixels<true, true>(row) : ConvertPixels<true, false>(row);
  } else {
    row.round ? ConvertPixels<false, true>(row) : ConvertPixels<false, false>(row);
  }
}

// Both inputs and the output have room for a whole vector past the end.
void MixRows(const std::int16_t* a, const std::int16_t* b, std::int16_t weight, std::size_t count, std::int16_t* out) {
  const hn::ScalableTag<std::int16_t> d;
  const auto w = hn::Set(d, weight);
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto from = hn::LoadU(d, a + i);
    hn::StoreU(hn::Add(from, hn::MulFixedPoint15(hn::Sub(hn::LoadU(d, b + i), from), w)), d, out + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace input_stage
}  // namespace engine
}  // namespace v1
}  // namespace tenon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon {
inline namespace v1 {
namespace engine {
namespace input_stage {
HWY_EXPORT(ConvertColourRow);
HWY_EXPORT(MixRows);

void convert_colour_row(const ColourRow& row) { HWY_DYNAMIC_DISPATCH(ConvertColourRow)(row); }
void mix_rows(const std::int16_t* a, const std::int16_t* b, std::int16_t weight, std::size_t count, std::int16_t* out) {
  HWY_DYNAMIC_DISPATCH(MixRows)(a, b, weight, count, out);
}

}  // namespace input_stage
}  // namespace engine
}  // namespace v1
}  // namespace tenon
#endif  // HWY_ONCE
