// SPDX-License-Identifier: Apache-2.0
// SIMD by Highway: compiled once per instruction set and chosen at run time.
#include <tenon/engine/kernels/image/linear_resize.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/engine/kernels/image/linear_resize.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <tenon/engine/kernels/simd/bf16.hpp>

#include <tenon/engine/kernels/simd/bf16-inl.hpp>

#ifndef TENON_LINEAR_RESIZE_ONCE
#define TENON_LINEAR_RESIZE_ONCE
#include <utility>

#include <tenon/engine/kernels/simd/broadcast.hpp>

namespace tenon::inline v1::engine::kernels {
/// No instruction set has longer vectors of f32.
inline constexpr std::size_t kLinearLanes = 64;
}  // namespace tenon::inline v1::engine::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

HWY_INLINE V Between(V a, V b, V weight) { return hn::MulAdd(hn::Sub(b, a), weight, a); }

// out = a + (b - a) * weight
template <class X, class Y>
HWY_INLINE void Blend(const X* a, const X* b, float weight, std::size_t count, Y* out) {
  const V w = hn::Set(D(), weight);
  const std::size_t lanes = hn::Lanes(D());
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) StoreAt(Between(LoadAt(a + i), LoadAt(b + i), w), out + i);
  for (; i < count; ++i) {
    const float from = NumberAt(a + i);
    PutAt(from + (NumberAt(b + i) - from) * weight, out + i);
  }
}

// A row of single elements.
template <class T>
void SpreadElements(const LinearResize& what, const float* row, T* out) {
  const D d;
  const hn::RebindToSigned<D> di;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t x = 0;
  for (; x + lanes <= what.width; x += lanes) {
    const V a = hn::GatherIndex(d, row, hn::LoadU(di, what.first.data() + x)),
            b = hn::GatherIndex(d, row, hn::LoadU(di, what.second.data() + x));
    StoreAt(Between(a, b, hn::LoadU(d, what.weight.data() + x)), out + x);
  }
  for (; x < what.width; ++x) {
    const float a = row[what.first[x]], b = row[what.second[x]];
    PutAt(a + (b - a) * what.weight[x], out + x);
  }
}

template <class T>
void ResizeRow(const LinearResize& what, const T* picture, std::size_t y, float* room, T* out) {
  const LinearTap& tap = what.rows[y];
  const std::size_t length = what.in_width * what.pixel;
  Blend(picture + tap.first * length, picture + tap.second * length, tap.weight, length, room);
  if (what.pixel == 1) return SpreadElements(what, room, out);
  for (std::size_t x = 0; x < what.width; ++x, out += what.pixel)
    Blend(room + static_cast<std::size_t>(what.first[x]) * what.pixel,
          room + static_cast<std::size_t>(what.second[x]) * what.pixel, what.weight[x], what.pixel, out);
}

void ResizeReals(const LinearResize& what, const float* picture, std::size_t y, float* room, float* out) {
  ResizeRow(what, picture, y, room, out);
}
void ResizeHalves(const LinearResize& what, const std::uint16_t* picture, std::size_t y, float* room,
                  std::uint16_t* out) {
  ResizeRow(what, picture, y, room, out);
}

}  // namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::inline v1::engine::kernels {

HWY_EXPORT(ResizeReals);
HWY_EXPORT(ResizeHalves);

LinearResize::LinearResize(std::size_t pictures_, std::size_t in_height_, std::size_t in_width_, std::size_t pixel_,
                           std::vector<LinearTap> rows_, const std::vector<LinearTap>& columns)
    : pictures(pictures_),
      in_height(in_height_),
      in_width(in_width_),
      pixel(pixel_),
      width(columns.size()),
      rows(std::move(rows_)) {
  for (const LinearTap& tap : columns) {
    first.push_back(static_cast<std::int32_t>(tap.first));
    second.push_back(static_cast<std::int32_t>(tap.second));
    weight.push_back(tap.weight);
  }
  first.resize(width + kLinearLanes);
  second.resize(width + kLinearLanes);
  weight.resize(width + kLinearLanes);
}

namespace {
/// A worker's row; grown once, kept for the thread's life.
std::vector<float>& linear_room() {
  thread_local std::vector<float> made;
  return made;
}
}  // namespace

template <typename T>
void LinearResize::run_typed(const T* in, T* out) const {
  const std::size_t in_row = in_width * pixel, out_row = width * pixel, height = rows.size();
  parallel(pictures * height, pictures * height * (in_row + 2 * out_row) * sizeof(T),
           [&](std::size_t begin, std::size_t end) {
             std::vector<float>& room = linear_room();
             if (room.size() < in_row + kLinearLanes) room.resize(in_row + kLinearLanes);
             for (std::size_t i = begin; i < end; ++i) {
               const T* picture = in + i / height * in_height * in_row;
               if constexpr (sizeof(T) == sizeof(float))
                 HWY_DYNAMIC_DISPATCH(ResizeReals)(*this, picture, i % height, room.data(), out + i * out_row);
               else
                 HWY_DYNAMIC_DISPATCH(ResizeHalves)(*this, picture, i % height, room.data(), out + i * out_row);
             }
           });
}

void LinearResize::run(const float* in, float* out) const { run_typed(in, out); }
void LinearResize::run(const std::uint16_t* in, std::uint16_t* out) const { run_typed(in, out); }

}  // namespace tenon::inline v1::engine::kernels
#endif
