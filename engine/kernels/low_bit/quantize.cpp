// SPDX-License-Identifier: Apache-2.0
// Between real and 8-bit numbers: compiled once per instruction set and chosen at run time.
#include <tenon/engine/kernels/low_bit/quantize.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/engine/kernels/low_bit/quantize.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <tenon/engine/kernels/simd/bf16-inl.hpp>

#include <tenon/engine/kernels/simd/tail-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

struct Bits16 {
  std::uint16_t bits;
};
inline V Read(D d, const float* from) { return hn::LoadU(d, from); }
inline V Read(D d, const Bits16* from) { return LoadBf16(d, &from->bits); }
template <typename T>
inline V Read(D d, const T* from) {
  const hn::Rebind<T, D> d8;
  const hn::RebindToSigned<D> di;
  return hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(d8, from)));
}
inline void Write(V v, D d, float* to) { hn::StoreU(v, d, to); }
inline void Write(V v, D d, Bits16* to) { StoreBf16(v, d, &to->bits); }
template <typename T>
inline void Write(V v, D d, T* to) {
  const hn::Rebind<T, D> d8;
  // Far outside 8 bits an integer would wrap before it saturates.
  const auto near = hn::Min(hn::Max(v, hn::Set(d, -1024.f)), hn::Set(d, 1024.f));
  hn::StoreU(hn::DemoteTo(d8, hn::NearestInt(near)), d8, to);
}

// Runs body(pointer arguments...) on whole vectors, and for the remainder on copies that are filled up.
template <typename X, typename Y>
void AffineLoop(const Affine& what, const X* x, Y* y, std::size_t count) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const auto origin = hn::Set(d, what.origin), scale = hn::Set(d, what.scale), shift = hn::Set(d, what.shift);
  const auto one = [&](const X* from, Y* to) {
    Write(hn::MulAdd(hn::Sub(Read(d, from), origin), scale, shift), d, to);
  };
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) one(x + i, y + i);
  if (i == count) return;
  X in[HWY_MAX_BYTES / sizeof(float)] = {};
  Y out[HWY_MAX_BYTES / sizeof(float)];
  for (std::size_t k = i; k < count; ++k) in[k - i] = x[k];
  one(in, out);
  for (std::size_t k = i; k < count; ++k) y[k] = out[k - i];
}

template <typename X>
void AffineFrom(const Affine& what, const X* x, void* y, std::size_t count) {
  switch (what.to) {
    case ElementType::kF32:
      return AffineLoop(what, x, static_cast<float*>(y), count);
    case ElementType::kBf16:
      return AffineLoop(what, x, static_cast<Bits16*>(y), count);
    case ElementType::kI8:
      return AffineLoop(what, x, static_cast<std::int8_t*>(y), count);
    default:
      return AffineLoop(what, x, static_cast<std::uint8_t*>(y), count);
  }
}

void AffineRange(const Affine& what, const void* x, void* y, std::size_t count) {
  switch (what.from) {
    case ElementType::kF32:
      return AffineFrom(what, static_cast<const float*>(x), y, count);
    case ElementType::kBf16:
      return AffineFrom(what, static_cast<const Bits16*>(x), y, count);
    case ElementType::kI8:
      return AffineFrom(what, static_cast<const std::int8_t*>(x), y, count);
    default:
      return AffineFrom(what, static_cast<const std::uint8_t*>(x), y, count);
  }
}

void LevelsRow(const Levels& levels, const float* x, float* y, std::size_t count) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const auto low = hn::Set(d, levels.low), scale = hn::Set(d, levels.scale), top = hn::Set(d, levels.top);
  const auto origin = hn::Set(d, levels.origin), step = hn::Set(d, levels.step), base = hn::Set(d, levels.base);
  for (std::size_t i = 0; i < count; i += lanes) {
    const std::size_t some = std::min(lanes, count - i);
    const auto at = hn::Mul(hn::Sub(LoadSome(d, x + i, some), low), scale);
    const auto level = hn::Round(hn::Min(hn::Max(at, hn::Zero(d)), top));
    StoreSome(hn::MulAdd(hn::Sub(level, origin), step, base), d, y + i, some);
  }
}

template <typename X, typename Y, typename Z>
void CombineLoop(const Combine& what, const X* x, const Y* y, Z* z, std::size_t count) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const auto x_scale = hn::Set(d, what.x_scale), x_shift = hn::Set(d, what.x_shift);
  const auto y_scale = hn::Set(d, what.y_scale), y_shift = hn::Set(d, what.y_shift), z_shift = hn::Set(d, what.z_shift);
  const auto low = hn::Set(d, what.low), high = hn::Set(d, what.high);
  const auto one = [&](const X* a, const Y* b, Z* to) {
    const auto u = hn::MulAdd(Read(d, a), x_scale, x_shift), v = hn::MulAdd(Read(d, b), y_scale, y_shift);
    const auto w = what.product ? hn::MulAdd(u, v, z_shift) : hn::Add(hn::Add(u, v), z_shift);
    Write(hn::Min(hn::Max(w, low), high), d, to);
  };
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) one(x + i, y + i, z + i);
  if (i == count) return;
  X a[HWY_MAX_BYTES / sizeof(float)] = {};
  Y b[HWY_MAX_BYTES / sizeof(float)] = {};
  Z out[HWY_MAX_BYTES / sizeof(float)];
  for (std::size_t k = i; k < count; ++k) {
    a[k - i] = x[k];
    b[k - i] = y[k];
  }
  one(a, b, out);
  for (std::size_t k = i; k < count; ++k) z[k] = out[k - i];
}

template <typename X, typename Y>
void CombineTo(const Combine& what, const X* x, const Y* y, std::uint8_t* z, std::size_t count) {
  if (what.z_signed)
    CombineLoop(what, x, y, reinterpret_cast<std::int8_t*>(z), count);
  else
    CombineLoop(what, x, y, z, count);
}

template <typename X>
void CombineWith(const Combine& what, const X* x, const std::uint8_t* y, std::uint8_t* z, std::size_t count) {
  if (what.y_signed)
    CombineTo(what, x, reinterpret_cast<const std::int8_t*>(y), z, count);
  else
    CombineTo(what, x, y, z, count);
}

void CombineRange(const Combine& what, const std::uint8_t* x, const std::uint8_t* y, std::uint8_t* z,
                  std::size_t count) {
  if (what.x_signed)
    CombineWith(what, reinterpret_cast<const std::int8_t*>(x), y, z, count);
  else
    CombineWith(what, x, y, z, count);
}

}  // namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tenon/engine/kernels/simd/broadcast.hpp>

namespace tenon::inline v1::engine::kernels {

HWY_EXPORT(AffineRange);
HWY_EXPORT(CombineRange);
HWY_EXPORT(LevelsRow);

namespace {
constexpr std::size_t kChunk = 4096;  // elements

template <typename Body>
void in_chunks(std::size_t count, std::size_t bytes_each, const Body& body) {
  parallel((count + kChunk - 1) / kChunk, count * bytes_each, [&](std::size_t begin, std::size_t end) {
    const std::size_t first = begin * kChunk, last = std::min(end * kChunk, count);
    body(first, last - first);
  });
}
const char* at(const void* data, ElementType type, std::size_t index) {
  return static_cast<const char*>(data) + index * size_bytes(type);
}
char* at(void* data, ElementType type, std::size_t index) {
  return static_cast<char*>(data) + index * size_bytes(type);
}
}  // namespace

void affine(const Affine& what, const void* x, void* y, std::size_t count) {
  in_chunks(count, size_bytes(what.from) + size_bytes(what.to), [&](std::size_t first, std::size_t length) {
    HWY_DYNAMIC_DISPATCH(AffineRange)(what, at(x, what.from, first), at(y, what.to, first), length);
  });
}

void affine_rows(const Affine& what, const void* x, void* y, std::size_t rows, std::size_t columns,
                 std::size_t x_stride, std::size_t y_stride) {
  const std::size_t bytes = rows * columns * (size_bytes(what.from) + size_bytes(what.to));
  parallel(rows, bytes, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) HWY_DYNAMIC_DISPATCH(AffineRange)
    (what, at(x, what.from, row * x_stride), at(y, what.to, row * y_stride), columns);
  });
}

void round_to_levels(const std::vector<Levels>& levels, const float* x, float* y, std::size_t rows,
                     std::size_t columns) {
  parallel(rows, rows * columns * 8, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row)
      HWY_DYNAMIC_DISPATCH(LevelsRow)(levels[row % levels.size()], x + row * columns, y + row * columns, columns);
  });
}

void combine(const Combine& what, const std::uint8_t* x, const std::uint8_t* y, std::uint8_t* z, std::size_t count) {
  in_chunks(count, 3, [&](std::size_t first, std::size_t length) {
    HWY_DYNAMIC_DISPATCH(CombineRange)(what, x + first, y + first, z + first, length);
  });
}

}  // namespace tenon::inline v1::engine::kernels
#endif
