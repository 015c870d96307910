// SPDX-License-Identifier: Apache-2.0
// SIMD by Highway: compiled once per instruction set and chosen at run time.
#include <tenon/engine/kernels/image/separable_resize.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/engine/kernels/image/separable_resize.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef TENON_SEPARABLE_RESIZE_ONCE
#define TENON_SEPARABLE_RESIZE_ONCE
#include <algorithm>
#include <cmath>
#include <span>

#include <tenon/engine/kernels/simd/broadcast.hpp>

namespace tenon::inline v1::engine::kernels {
/// No instruction set has longer vectors of f32.
inline constexpr std::size_t kResizeLanes = 64;
}  // namespace tenon::inline v1::engine::kernels
#endif  // TENON_SEPARABLE_RESIZE_ONCE

HWY_BEFORE_NAMESPACE();
namespace tenon {
inline namespace v1 {
namespace engine {
namespace kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// sum = row * weight, or sum += row * weight; sum has room for whole vectors.
template <bool kFirst>
void AddReals(const float* row, float weight, std::size_t count, float* sum) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto w = hn::Set(d, weight);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto value = hn::LoadU(d, row + i);
    hn::StoreU(kFirst ? hn::Mul(value, w) : hn::MulAdd(value, w, hn::LoadU(d, sum + i)), d, sum + i);
  }
  for (; i < count; ++i) sum[i] = kFirst ? row[i] * weight : sum[i] + row[i] * weight;
}

template <bool kFirst>
void AddBytes(const std::uint8_t* row, float weight, std::size_t count, float* sum) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::Rebind<std::uint8_t, decltype(d)> d8;
  const std::size_t lanes = hn::Lanes(d);
  const auto w = hn::Set(d, weight);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto value = hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(d8, row + i)));
    hn::StoreU(kFirst ? hn::Mul(value, w) : hn::MulAdd(value, w, hn::LoadU(d, sum + i)), d, sum + i);
  }
  for (; i < count; ++i) {
    const float value = row[i];
    sum[i] = kFirst ? value * weight : sum[i] + value * weight;
  }
}

void AddRealRow(const float* row, float weight, std::size_t count, bool first, float* sum) {
  first ? AddReals<true>(row, weight, count, sum) : AddReals<false>(row, weight, count, sum);
}
void AddByteRow(const std::uint8_t* row, float weight, std::size_t count, bool first, float* sum) {
  first ? AddBytes<true>(row, weight, count, sum) : AddBytes<false>(row, weight, count, sum);
}

// out[e] = sum over t of row[at[t * count + e]] * weight[t * count + e]
void GatherTaps(const float* row, const std::int32_t* at, const float* weight, std::size_t taps, std::size_t count,
                float* out) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t e = 0;
  for (; e + lanes <= count; e += lanes) {
    auto sum = hn::Zero(d);
    for (std::size_t t = 0; t < taps; ++t)
      sum = hn::MulAdd(hn::GatherIndex(d, row, hn::LoadU(di, at + t * count + e)), hn::LoadU(d, weight + t * count + e),
                       sum);
    hn::StoreU(sum, d, out + e);
  }
  for (; e < count; ++e) {
    float sum = 0;
    for (std::size_t t = 0; t < taps; ++t) sum += row[at[t * count + e]] * weight[t * count + e];
    out[e] = sum;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kernels
}  // namespace engine
}  // namespace v1
}  // namespace tenon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::inline v1::engine::kernels {
HWY_EXPORT(AddRealRow);
HWY_EXPORT(AddByteRow);
HWY_EXPORT(GatherTaps);

namespace {

void add_row(const float* row, float weight, std::size_t count, bool first, float* sum) {
  HWY_DYNAMIC_DISPATCH(AddRealRow)(row, weight, count, first, sum);
}
void add_row(const std::uint8_t* row, float weight, std::size_t count, bool first, float* sum) {
  HWY_DYNAMIC_DISPATCH(AddByteRow)(row, weight, count, first, sum);
}

/// A worker's buffers; grown once, kept for the thread's life.
struct Rooms {
  std::vector<float> blended, resized;
};
Rooms& rooms() {
  thread_local Rooms made;
  return made;
}

}  // namespace

SeparableResize::SeparableResize(std::size_t pictures, std::size_t in_width, std::size_t in_height, std::size_t pixel,
                                 const std::vector<ResizeTaps>& columns, const std::vector<ResizeTaps>& rows)
    : pictures_(pictures),
      in_row_(in_width * pixel),
      in_height_(in_height),
      out_row_(columns.size() * pixel),
      out_height_(rows.size()),
      rows_(rows) {
  for (const ResizeTaps& taps : columns) column_taps_ = std::max(column_taps_, taps.at.size());
  column_at_.assign(column_taps_ * out_row_, 0);
  column_weight_.assign(column_taps_ * out_row_, 0.0f);
  for (std::size_t x = 0; x < columns.size(); ++x) {
    for (std::size_t t = 0; t < columns[x].at.size(); ++t) {
      for (std::size_t c = 0; c < pixel; ++c) {
        const std::size_t to = t * out_row_ + x * pixel + c;
        column_at_[to] = static_cast<std::int32_t>(columns[x].at[t] * pixel + c);
        column_weight_[to] = columns[x].weight[t];
      }
    }
  }
}

template <typename T>
void SeparableResize::run_rows(const T* in, T* out, std::size_t begin, std::size_t end) const {
  Rooms& room = rooms();
  if (room.blended.size() < in_row_ + kResizeLanes) room.blended.resize(in_row_ + kResizeLanes);
  if (room.resized.size() < out_row_) room.resized.resize(out_row_);
  for (std::size_t i = begin; i < end; ++i) {
    const T* picture = in + i / out_height_ * in_height_ * in_row_;
    const ResizeTaps& taps = rows_[i % out_height_];
    // The kernel covers no row: zeros.
    if (taps.at.empty()) std::fill(room.blended.begin(), room.blended.end(), 0.0f);
    bool first = true;
    for (std::size_t t = 0; t < taps.at.size(); ++t) {
      if (taps.weight[t] == 0 && !(first && t + 1 == taps.at.size())) continue;
      add_row(picture + taps.at[t] * in_row_, taps.weight[t], in_row_, first, room.blended.data());
      first = false;
    }
    T* to = out + i * out_row_;
    float* row = room.resized.data();
    if constexpr (std::is_same_v<T, float>) row = to;
    HWY_DYNAMIC_DISPATCH(GatherTaps)
    (room.blended.data(), column_at_.data(), column_weight_.data(), column_taps_, out_row_, row);
    if constexpr (!std::is_same_v<T, float>) {
      for (std::size_t e = 0; e < out_row_; ++e)
        to[e] = static_cast<T>(std::nearbyint(std::clamp(row[e], 0.0f, 255.0f)));
    }
  }
}

template <typename T>
void SeparableResize::run_typed(const T* in, T* out) const {
  const std::size_t count = pictures_ * out_height_;
  parallel(count, count * (in_row_ + out_row_) * sizeof(float),
           [&](std::size_t begin, std::size_t end) { run_rows(in, out, begin, end); });
}

void SeparableResize::run(const float* in, float* out) const { run_typed(in, out); }
void SeparableResize::run(const std::uint8_t* in, std::uint8_t* out) const { run_typed(in, out); }

}  // namespace tenon::inline v1::engine::kernels
#endif  // HWY_ONCE
