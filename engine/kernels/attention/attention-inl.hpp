// SPDX-License-Identifier: Apache-2.0
// What the kernels of attention share. Included once per instruction set, inside the including file's HWY_NAMESPACE.
// No include guard: Highway's own decides when to read it again.
#if defined(TENON_ATTENTION_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_ATTENTION_INL
#undef TENON_ATTENTION_INL
#else
#define TENON_ATTENTION_INL
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>

#include <hwy/highway.h>

#include <tenon/engine/kernels/simd/bf16.hpp>

#include <tenon/engine/kernels/simd/bf16-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

/// exp(x) for x <= 0; 0 below -87, NaN of NaN. Off by 2e-7 of it at most; kRough: by 5e-5, for results that are rounded
/// to bf16.
template <bool kRough = false>
HWY_INLINE V ExpOfNegative(V x) {
  const D d;
  const hn::RebindToUnsigned<D> du;
  // The sum's lowest bits are x / ln 2 rounded to an integer.
  const V magic = hn::Set(d, 12582912.f), shifted = hn::MulAdd(x, hn::Set(d, 1.44269504088896f), magic);
  const V rounded = hn::Sub(shifted, magic);
  V r = hn::NegMulAdd(rounded, hn::Set(d, 0.693145751953125f), x);
  r = hn::NegMulAdd(rounded, hn::Set(d, 1.42860682030941723e-6f), r);
  V y = hn::Set(d, 1.f / 24);
  if constexpr (!kRough) {
    y = hn::MulAdd(r, hn::Set(d, 1.f / 720), hn::Set(d, 1.f / 120));
    y = hn::MulAdd(r, y, hn::Set(d, 1.f / 24));
  }
  y = hn::MulAdd(r, y, hn::Set(d, 1.f / 6));
  y = hn::MulAdd(r, y, hn::Set(d, 0.5f));
  y = hn::MulAdd(r, y, hn::Set(d, 1.f));
  y = hn::MulAdd(r, y, hn::Set(d, 1.f));
  const auto bits = hn::Add(hn::BitCast(du, y), hn::ShiftLeft<23>(hn::BitCast(du, shifted)));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.f)), hn::BitCast(d, bits));
}

/// softcap * tanh(x), off by 2e-7 of softcap at most.
HWY_INLINE V Capped(V x, float softcap) {
  const D d;
  const V one = hn::Set(d, 1.f), e = ExpOfNegative(hn::Mul(hn::Abs(x), hn::Set(d, -2.f)));
  return hn::Mul(hn::Set(d, softcap), hn::CopySign(hn::Div(hn::Sub(one, e), hn::Add(one, e)), x));
}

HWY_INLINE V LoadNumbers(const float* from) { return hn::LoadU(D(), from); }
HWY_INLINE V LoadNumbers(const std::uint16_t* from) { return LoadBf16(D(), from); }
HWY_INLINE V LoadNumbers(const hwy::float16_t* from) {
  return hn::PromoteTo(D(), hn::LoadU(hn::Rebind<hwy::float16_t, D>(), from));
}
HWY_INLINE V LoadNumbers(const std::uint8_t* from) {
  const hn::RebindToSigned<D> wide;
  return hn::ConvertTo(D(), hn::PromoteTo(wide, hn::LoadU(hn::Rebind<std::uint8_t, D>(), from)));
}
/// Some numbers, and zeros behind them. On older CPUs a masked load reads behind them, and only where it is aligned.
template <class T>
HWY_INLINE V LoadNumbers(const T* from, std::size_t count) {
  HWY_ALIGN T some[HWY_MAX_BYTES / sizeof(float)] = {};
  std::memcpy(some, from, count * sizeof(T));
  return LoadNumbers(some);
}

HWY_INLINE void StoreHalves(const float* from, std::size_t count, hwy::float16_t* to) {
  const D d;
  const hn::Rebind<hwy::float16_t, D> dh;
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) hn::StoreU(hn::DemoteTo(dh, hn::LoadU(d, from + i)), dh, to + i);
  if (i == count) return;
  HWY_ALIGN hwy::float16_t some[HWY_MAX_BYTES / sizeof(float)];
  hn::StoreU(hn::DemoteTo(dh, LoadNumbers(from + i, count - i)), dh, some);
  std::memcpy(to + i, some, (count - i) * sizeof(*to));
}

/// Row of `count` numbers as f32, multiplied by `scale`.
HWY_INLINE void LoadRow(ElementType type, const std::byte* from, std::size_t count, float scale, float* to) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const V factor = hn::Set(d, scale);
  std::size_t i = 0;
  if (type == ElementType::kF16) {
    const auto* x = reinterpret_cast<const hwy::float16_t*>(from);
    for (; i + lanes <= count; i += lanes) hn::StoreU(hn::Mul(LoadNumbers(x + i), factor), d, to + i);
    if (i == count) return;
    HWY_ALIGN float some[HWY_MAX_BYTES / sizeof(float)];
    hn::StoreU(hn::Mul(LoadNumbers(x + i, count - i), factor), d, some);
    std::memcpy(to + i, some, (count - i) * sizeof(float));
  } else if (type == ElementType::kBf16) {
    const auto* x = reinterpret_cast<const std::uint16_t*>(from);
    for (; i + lanes <= count; i += lanes) hn::StoreU(hn::Mul(LoadBf16(d, x + i), factor), d, to + i);
    for (; i < count; ++i) {
      Bf16 one;
      one.bits = x[i];
      to[i] = one.to_float() * scale;
    }
  } else {
    const auto* x = reinterpret_cast<const float*>(from);
    for (; i + lanes <= count; i += lanes) hn::StoreU(hn::Mul(hn::LoadU(d, x + i), factor), d, to + i);
    for (; i < count; ++i) to[i] = x[i] * scale;
  }
}

HWY_INLINE void StoreRow(ElementType type, const float* from, std::size_t count, float scale, std::byte* to) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const V factor = hn::Set(d, scale);
  std::size_t i = 0;
  if (type == ElementType::kBf16) {
    auto* y = reinterpret_cast<std::uint16_t*>(to);
    for (; i + lanes <= count; i += lanes) StoreBf16(hn::Mul(hn::LoadU(d, from + i), factor), d, y + i);
    for (; i < count; ++i) y[i] = Bf16(from[i] * scale).bits;
  } else {
    auto* y = reinterpret_cast<float*>(to);
    for (; i + lanes <= count; i += lanes) hn::StoreU(hn::Mul(hn::LoadU(d, from + i), factor), d, y + i);
    for (; i < count; ++i) y[i] = from[i] * scale;
  }
}

/// bf16 in the lower halves, rounded to nearest, ties to even.
HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> RoundedBits(V v) {
  const hn::RebindToUnsigned<D> du;
  const auto all = hn::BitCast(du, v), odd = hn::And(hn::ShiftRight<16>(all), hn::Set(du, 1));
  return hn::ShiftRight<16>(hn::Add(all, hn::Add(odd, hn::Set(du, 0x7fff))));
}
HWY_INLINE std::uint16_t RoundedAt(ElementType type, const std::byte* row, std::size_t i) {
  return type == ElementType::kF32 ? Bf16(reinterpret_cast<const float*>(row)[i]).bits
                                   : reinterpret_cast<const std::uint16_t*>(row)[i];
}

/// Row of `count` numbers as bf16, and 0 behind an odd number of them. `to` is memory of floats.
HWY_INLINE void RoundRow(ElementType type, const std::byte* from, std::size_t count, std::uint16_t* to) {
  const D d;
  std::size_t i = 0;
  if (type == ElementType::kBf16) {
    std::memcpy(to, from, count * sizeof(*to));
    i = count;
  }
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d))
    StoreBf16(hn::LoadU(d, reinterpret_cast<const float*>(from) + i), d, to + i);
  for (; i < count + count % 2; ++i) {
    const std::uint16_t rounded = i < count ? RoundedAt(type, from, i) : 0;
    std::memcpy(to + i, &rounded, sizeof(rounded));
  }
}

/// Numbers of two rows as bf16, in turn; of one row and zeros if there is no second.
HWY_INLINE void PairRows(ElementType type, const std::byte* one, const std::byte* two, std::size_t count,
                         std::uint16_t* to) {
  const D d;
  const hn::RebindToUnsigned<D> du;
  const hn::Rebind<std::uint16_t, D> dh;
  const auto load = [&](const std::byte* row, std::size_t i) HWY_ATTR {
    if (type == ElementType::kF32) return RoundedBits(hn::LoadU(d, reinterpret_cast<const float*>(row) + i));
    return hn::PromoteTo(du, hn::LoadU(dh, reinterpret_cast<const std::uint16_t*>(row) + i));
  };
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    const auto upper = two ? hn::ShiftLeft<16>(load(two, i)) : hn::Zero(du);
    hn::StoreU(hn::Or(load(one, i), upper), du, reinterpret_cast<std::uint32_t*>(to) + i);
  }
  for (; i < count; ++i) {
    const std::uint16_t pair[2] = {RoundedAt(type, one, i), two ? RoundedAt(type, two, i) : std::uint16_t{0}};
    std::memcpy(to + 2 * i, pair, sizeof(pair));
  }
}

/// to[column * step + row] = from(row)[column]; the rows are whole fours, unless vectors have one lane.
template <class Rows>
HWY_INLINE void Transpose(const Rows& from, std::size_t rows, std::size_t columns, float* to, std::size_t step) {
#if HWY_TARGET == HWY_SCALAR
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t column = 0; column < columns; ++column) to[column * step + row] = from(row)[column];
#else
  const D d;
  const hn::FixedTag<float, 4> four;
  const std::size_t lanes = hn::Lanes(d), whole = columns - columns % lanes;
  HWY_ALIGN float block[HWY_MAX_BYTES];
  for (std::size_t row = 0; row < rows; row += 4) {
    const float *a = from(row), *b = from(row + 1), *c = from(row + 2), *e = from(row + 3);
    for (std::size_t column = 0; column < whole; column += lanes) {
      const V v0 = hn::LoadU(d, a + column), v1 = hn::LoadU(d, b + column), v2 = hn::LoadU(d, c + column),
              v3 = hn::LoadU(d, e + column);
      const V t0 = hn::InterleaveLower(d, v0, v2), t1 = hn::InterleaveLower(d, v1, v3),
              t2 = hn::InterleaveUpper(d, v0, v2), t3 = hn::InterleaveUpper(d, v1, v3);
      hn::Store(hn::InterleaveLower(d, t0, t1), d, block);
      hn::Store(hn::InterleaveUpper(d, t0, t1), d, block + lanes);
      hn::Store(hn::InterleaveLower(d, t2, t3), d, block + 2 * lanes);
      hn::Store(hn::InterleaveUpper(d, t2, t3), d, block + 3 * lanes);
      for (std::size_t i = 0; i < lanes; ++i)
        hn::StoreU(hn::Load(four, block + i % 4 * lanes + i / 4 * 4), four, to + (column + i) * step + row);
    }
    for (std::size_t column = whole; column < columns; ++column) {
      float* const at = to + column * step + row;
      at[0] = a[column];
      at[1] = b[column];
      at[2] = c[column];
      at[3] = e[column];
    }
  }
#endif
}

}  // namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
