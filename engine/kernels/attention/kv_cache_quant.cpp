// SPDX-License-Identifier: Apache-2.0
// Rounds rows of f32 to fewer bits, and back: compiled once per instruction set and chosen at run time.
#include <tenon/engine/kernels/attention/kv_cache_quant.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <tenon/engine/kernels/simd/bf16.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/engine/kernels/attention/kv_cache_quant.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <tenon/engine/kernels/attention/attention-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Below this a range has no reciprocal: its numbers are all the least.
constexpr float kLeastRange = 1e-30f;

void RoundGroup(const float* from, std::size_t count, std::uint8_t* numbers, float* scale) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  float least = from[0], most = from[0], poison = 0;
  std::size_t i = 0;
  if (count >= lanes) {
    V low = hn::LoadU(d, from), high = low, zeros = hn::Zero(d);
    for (; i + lanes <= count; i += lanes) {
      const V x = hn::LoadU(d, from + i);
      low = hn::Min(low, x);
      high = hn::Max(high, x);
      zeros = hn::MulAdd(x, hn::Zero(d), zeros);
    }
    least = hn::GetLane(hn::MinOfLanes(d, low));
    most = hn::GetLane(hn::MaxOfLanes(d, high));
    poison = hn::GetLane(hn::SumOfLanes(d, zeros));
  }
  for (; i < count; ++i) {
    least = std::min(least, from[i]);
    most = std::max(most, from[i]);
    poison += from[i] * 0;
  }
  // NaN if a number was not finite.
  if (poison != 0) {
    std::fill_n(numbers, count, std::uint8_t{0});
    scale[0] = scale[1] = std::numeric_limits<float>::quiet_NaN();
    return;
  }
  scale[0] = most / 255 - least / 255;
  scale[1] = least;
  const float factor = scale[0] > kLeastRange ? 1 / scale[0] : 0;
  const auto rounded = [&](float x) {
    return static_cast<std::uint8_t>(std::clamp(std::nearbyint((x - least) * factor), 0.f, 255.f));
  };
  i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::Rebind<std::uint8_t, D> bytes;
  const V shift = hn::Set(d, least), by = hn::Set(d, factor);
  for (; i + lanes <= count; i += lanes) {
    const V x = hn::Min(hn::Mul(hn::Sub(hn::LoadU(d, from + i), shift), by), hn::Set(d, 255.f));
    hn::StoreU(hn::DemoteTo(bytes, hn::NearestInt(x)), bytes, numbers + i);
  }
#endif
  for (; i < count; ++i) numbers[i] = rounded(from[i]);
}

void WidenGroup(const std::uint8_t* numbers, const float* scale, std::size_t count, float* to) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const V by = hn::Set(d, scale[0]), least = hn::Set(d, scale[1]);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(hn::MulAdd(LoadNumbers(numbers + i), by, least), d, to + i);
  for (; i < count; ++i) to[i] = scale[1] + scale[0] * static_cast<float>(numbers[i]);
}

void NarrowRows(const KvCacheQuant& format, const float* from, std::size_t rows, void* numbers, float* scales) {
  const std::size_t count = rows * format.length;
  if (format.type == ElementType::kBf16) return StoreRow(format.type, from, count, 1, static_cast<std::byte*>(numbers));
  if (format.type == ElementType::kF16) return StoreHalves(from, count, static_cast<hwy::float16_t*>(numbers));
  auto* to = static_cast<std::uint8_t*>(numbers);
  for (std::size_t i = 0; i < count; i += format.group, scales += 2) RoundGroup(from + i, format.group, to + i, scales);
}

void WidenRows(const KvCacheQuant& format, const void* numbers, const float* scales, std::size_t rows, float* to) {
  const std::size_t count = rows * format.length;
  if (format.type != ElementType::kU8)
    return LoadRow(format.type, static_cast<const std::byte*>(numbers), count, 1, to);
  const auto* from = static_cast<const std::uint8_t*>(numbers);
  for (std::size_t i = 0; i < count; i += format.group, scales += 2) WidenGroup(from + i, scales, format.group, to + i);
}

}  // namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::inline v1::engine::kernels {

HWY_EXPORT(NarrowRows);
HWY_EXPORT(WidenRows);

void narrow_rows(const KvCacheQuant& format, const float* from, std::size_t rows, void* numbers, float* scales) {
  HWY_DYNAMIC_DISPATCH(NarrowRows)(format, from, rows, numbers, scales);
}
void widen_rows(const KvCacheQuant& format, const void* numbers, const float* scales, std::size_t rows, float* to) {
  HWY_DYNAMIC_DISPATCH(WidenRows)(format, numbers, scales, rows, to);
}

}  // namespace tenon::inline v1::engine::kernels
#endif
