// SPDX-License-Identifier: Apache-2.0
// Element-wise functions: compiled once per instruction set and chosen when a plan is made.
#include <tenon/engine/kernels/simd/elementwise.hpp>

#include <bit>
#include <cmath>
#include <limits>

#include <tenon/engine/kernels/simd/bf16.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/engine/kernels/simd/elementwise.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

#include <tenon/engine/kernels/simd/bf16-inl.hpp>
#include <tenon/engine/kernels/simd/functions-inl.hpp>
#include <tenon/engine/kernels/simd/tail-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Logarithm of any number: the library's is for those above 0.
HWY_INLINE V SafeLog(V x) {
  const D d;
  const V zero = hn::Zero(d), infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  V y = hn::Log(d, x);
  y = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), y);
  y = hn::IfThenElse(hn::Lt(x, zero), hn::Set(d, std::numeric_limits<float>::quiet_NaN()), y);
  return KeepNan(x, hn::IfThenElse(hn::Eq(x, infinity), infinity, y));
}

/// Both parts were fitted to erf at Chebyshev points, in f64. Up to 1 a polynomial of the square, wrong by 2e-7 of the
/// result at most; beyond it 1 - exp(-polynomial), wrong by 9e-8.
HWY_INLINE V Erf(V x) {
  constexpr float kNear[] = {1.1283792257308960f,    -0.37612628936767578f, 0.11283625662326813f,
                             -0.026855397969484329f, 0.005191213916987181f, -0.0008034805068746209f,
                             0.00007933350570965558f};
  constexpr float kFar[] = {0.0007568983710370958f,  1.12592613697052f,      0.6390931010246277f,
                            0.10331912338733673f,    -0.022622033953666687f, 0.0034368762280792f,
                            -0.0003175727615598589f, 0.00001330940631305566f};
  const D d;
  const V one = hn::Set(d, 1.f), size = hn::Min(hn::Abs(x), hn::Set(d, 4.f));
  const V near = hn::Mul(x, Polynomial(hn::Mul(x, x), kNear));
  const V far = hn::CopySign(hn::Sub(one, SafeExp(hn::Neg(Polynomial(size, kFar)))), x);
  return KeepNan(x, hn::IfThenElse(hn::Lt(size, one), near, far));
}
/// The same of x / sqrt(2), for x >= 0, where an error of 3e-7 is none beside that of f32's 1 + erf.
/// The quotient is wrong by 2.2e-8 of it at most.
HWY_INLINE V ErfOfRoot(V x) {
  constexpr float kAbove[] = {0.7978845438476161f,     0.06785481281360732f,    0.009354443529817732f,
                              0.00033781771615615827f, 1.2578615761931177e-05f, 4.4593327364096486e-08f};
  constexpr float kBelow[] = {1.0f,
                              0.2517097243746812f,
                              0.02867655345861338f,
                              0.0018853776771495714f,
                              7.33359205125124e-05f,
                              1.179599918352077e-06f};
  return OddQuotient(x, kAbove, kBelow, 5.6f);
}
/// 0.5 * x * (1 + f), where f has the sign of x and the size `size`.
HWY_INLINE V HalfOfGrown(V x, V size) {
  const D d;
  return hn::Mul(hn::Mul(hn::Set(d, 0.5f), x), hn::Add(hn::Set(d, 1.f), hn::CopySign(size, x)));
}
HWY_INLINE V SoftPlus(V x) {
  const D d;
  // log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|)), whose exponential does not overflow.
  return KeepNan(x, hn::Add(hn::Max(x, hn::Zero(d)), hn::Log1p(d, hn::Exp(d, hn::Neg(hn::Abs(x))))));
}
HWY_INLINE V GrowsBelow(V x, V alpha) {
  const D d;
  const V zero = hn::Zero(d);
  return hn::IfThenElse(hn::Lt(x, zero), hn::Mul(alpha, hn::Expm1(d, hn::Min(x, zero))), x);
}
HWY_INLINE V Remainder(V x, V y) {
  const D d;
  HWY_ALIGN float a[HWY_MAX_BYTES / sizeof(float)], b[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(x, d, a);
  hn::Store(y, d, b);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) a[i] = std::fmod(a[i], b[i]);
  return hn::Load(d, a);
}
/// A function of the C library's, number by number: for what the vector library lacks, or only has for some numbers.
template <typename Function>
HWY_INLINE V OneByOne(V x, Function function) {
  const D d;
  HWY_ALIGN float a[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(x, d, a);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) a[i] = function(a[i]);
  return hn::Load(d, a);
}
HWY_INLINE V PowerOf(V x, V y) {
  const D d;
  HWY_ALIGN float a[HWY_MAX_BYTES / sizeof(float)], b[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(x, d, a);
  hn::Store(y, d, b);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) a[i] = std::pow(a[i], b[i]);
  return hn::Load(d, a);
}
/// The library's sine and cosine are for numbers up to this.
constexpr float kTurns = 39000.f;

template <class Mask>
HWY_INLINE V OneWhere(Mask mask) {
  return hn::IfThenElseZero(mask, hn::Set(D(), 1.f));
}

template <Elementwise kWhat>
HWY_INLINE V Apply(V x, V y, V z, V alpha, V beta) {
  using E = Elementwise;
  const D d;
  const V one = hn::Set(d, 1.f), zero = hn::Zero(d);
  // A slope of 0 gives 0 for minus infinity, too.
  if constexpr (kWhat == E::kRelu)
    return hn::IfThenElse(hn::Lt(x, zero), hn::IfThenElseZero(hn::Ne(alpha, zero), hn::Mul(alpha, x)), x);
  if constexpr (kWhat == E::kSigmoid) return hn::Div(one, hn::Add(one, SafeExp(hn::Neg(x))));
  if constexpr (kWhat == E::kTanh) return TanhOf(x);
  if constexpr (kWhat == E::kClip) return KeepNan(x, Limit(x, alpha, beta));
  if constexpr (kWhat == E::kElu) return GrowsBelow(x, alpha);
  if constexpr (kWhat == E::kAbs) return hn::Abs(x);
  if constexpr (kWhat == E::kSqrt) return hn::Sqrt(x);
  if constexpr (kWhat == E::kExp) return SafeExp(x);
  if constexpr (kWhat == E::kLinear) return hn::MulAdd(alpha, x, beta);
  if constexpr (kWhat == E::kHardSigmoid) return KeepNan(x, Limit(hn::MulAdd(alpha, x, beta), zero, one));
  if constexpr (kWhat == E::kHardSwish) return KeepNan(x, hn::Mul(x, Limit(hn::MulAdd(alpha, x, beta), zero, one)));
  if constexpr (kWhat == E::kSwish) return hn::Div(x, hn::Add(one, SafeExp(hn::Neg(hn::Mul(alpha, x)))));
  if constexpr (kWhat == E::kCopy) return x;
  if constexpr (kWhat == E::kNegative) return hn::Neg(x);
  if constexpr (kWhat == E::kLog) return SafeLog(x);
  if constexpr (kWhat == E::kErf) return Erf(x);
  if constexpr (kWhat == E::kGelu) return HalfOfGrown(x, ErfOfRoot(hn::Abs(x)));
  if constexpr (kWhat == E::kGeluTanh) {
    const V inner = hn::MulAdd(hn::Mul(hn::Set(d, 0.044715f), hn::Mul(x, x)), x, x);
    return HalfOfGrown(x, TanhOfSize(hn::Abs(hn::Mul(hn::Set(d, 0.79788456f), inner))));
  }
  if constexpr (kWhat == E::kSoftPlus) return SoftPlus(x);
  if constexpr (kWhat == E::kMish) return hn::Mul(x, TanhOf(SoftPlus(x)));
  if constexpr (kWhat == E::kSoftSign) return hn::Div(x, hn::Add(one, hn::Abs(x)));
  if constexpr (kWhat == E::kSelu) return hn::Mul(beta, GrowsBelow(x, alpha));
  // The library's sine of -0 is 0.
  if constexpr (kWhat == E::kSin)
    return AllWithin(x, kTurns) ? hn::IfThenElse(hn::Eq(x, zero), x, hn::Sin(d, x))
                                : OneByOne(x, [](float v) { return std::sin(v); });
  if constexpr (kWhat == E::kCos)
    return AllWithin(x, kTurns) ? hn::Cos(d, x) : OneByOne(x, [](float v) { return std::cos(v); });
  if constexpr (kWhat == E::kTan) return OneByOne(x, [](float v) { return std::tan(v); });
  if constexpr (kWhat == E::kAsin) return OneByOne(x, [](float v) { return std::asin(v); });
  if constexpr (kWhat == E::kAcos) return OneByOne(x, [](float v) { return std::acos(v); });
  if constexpr (kWhat == E::kAtan) return KeepNan(x, hn::Atan(d, x));
  if constexpr (kWhat == E::kSinh) return OneByOne(x, [](float v) { return std::sinh(v); });
  if constexpr (kWhat == E::kCosh) return OneByOne(x, [](float v) { return std::cosh(v); });
  if constexpr (kWhat == E::kAsinh) return OneByOne(x, [](float v) { return std::asinh(v); });
  if constexpr (kWhat == E::kAcosh) return OneByOne(x, [](float v) { return std::acosh(v); });
  if constexpr (kWhat == E::kAtanh) return OneByOne(x, [](float v) { return std::atanh(v); });
  if constexpr (kWhat == E::kFloor) return hn::Floor(x);
  if constexpr (kWhat == E::kCeiling) return hn::Ceil(x);
  if constexpr (kWhat == E::kRoundEven) return hn::Round(x);
  if constexpr (kWhat == E::kRoundAway) return OneByOne(x, [](float v) { return std::round(v); });
  if constexpr (kWhat == E::kSign) return KeepNan(x, hn::Sub(OneWhere(hn::Gt(x, zero)), OneWhere(hn::Lt(x, zero))));
  if constexpr (kWhat == E::kIsTrue) return OneWhere(hn::Ne(x, zero));
  if constexpr (kWhat == E::kNot) return OneWhere(hn::Eq(x, zero));
  if constexpr (kWhat == E::kSquare) return hn::Mul(x, x);
  if constexpr (kWhat == E::kPlusAlpha) return hn::Add(x, alpha);
  if constexpr (kWhat == E::kTimesAlpha) return hn::Mul(x, alpha);
  if constexpr (kWhat == E::kOverAlpha) return hn::Div(x, alpha);
  if constexpr (kWhat == E::kAlphaMinus) return hn::Sub(alpha, x);
  if constexpr (kWhat == E::kAlphaOver) return hn::Div(alpha, x);
  if constexpr (kWhat == E::kToTheAlpha) return PowerOf(x, alpha);
  if constexpr (kWhat == E::kAdd) return hn::Add(x, y);
  if constexpr (kWhat == E::kSubtract) return hn::Sub(x, y);
  if constexpr (kWhat == E::kMultiply) return hn::Mul(x, y);
  if constexpr (kWhat == E::kDivide) return hn::Div(x, y);
  if constexpr (kWhat == E::kMaximum) return KeepNan(x, hn::IfThenElse(hn::Gt(x, y), x, y));
  if constexpr (kWhat == E::kMinimum) return KeepNan(x, hn::IfThenElse(hn::Lt(x, y), x, y));
  if constexpr (kWhat == E::kSquaredDifference) {
    const V difference = hn::Sub(x, y);
    return hn::Mul(difference, difference);
  }
  if constexpr (kWhat == E::kPower) return PowerOf(x, y);
  if constexpr (kWhat == E::kMod) return Remainder(x, y);
  if constexpr (kWhat == E::kFloorMod) {
    const V rest = Remainder(x, y);
    const auto other_sign = hn::Xor(hn::Lt(rest, zero), hn::Lt(y, zero));
    return hn::IfThenElse(hn::And(hn::Ne(rest, zero), other_sign), hn::Add(rest, y), rest);
  }
  if constexpr (kWhat == E::kPRelu) return hn::IfThenElse(hn::Lt(x, zero), hn::Mul(y, x), x);
  if constexpr (kWhat == E::kEqual) return OneWhere(hn::Eq(x, y));
  if constexpr (kWhat == E::kNotEqual) return OneWhere(hn::Ne(x, y));
  if constexpr (kWhat == E::kLess) return OneWhere(hn::Lt(x, y));
  if constexpr (kWhat == E::kLessEqual) return OneWhere(hn::Le(x, y));
  if constexpr (kWhat == E::kGreater) return OneWhere(hn::Gt(x, y));
  if constexpr (kWhat == E::kGreaterEqual) return OneWhere(hn::Ge(x, y));
  if constexpr (kWhat == E::kAnd) return OneWhere(hn::And(hn::Ne(x, zero), hn::Ne(y, zero)));
  if constexpr (kWhat == E::kOr) return OneWhere(hn::Or(hn::Ne(x, zero), hn::Ne(y, zero)));
  if constexpr (kWhat == E::kXor) return OneWhere(hn::Xor(hn::Ne(x, zero), hn::Ne(y, zero)));
  if constexpr (kWhat == E::kMultiplyAdd) return hn::MulAdd(x, y, z);
  if constexpr (kWhat == E::kSelect) return hn::IfThenElse(hn::Ne(x, zero), y, z);
}

template <Elementwise kWhat>
void Run(const float* x, const float* y, const float* z, float* out, std::size_t count, float alpha, float beta) {
  constexpr bool kTwo = kWhat >= Elementwise::kAdd, kThree = kWhat >= Elementwise::kSelect;
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const V a = hn::Set(d, alpha), b = hn::Set(d, beta);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const V first = hn::LoadU(d, x + i), second = kTwo ? hn::LoadU(d, y + i) : first;
    hn::StoreU(Apply<kWhat>(first, second, kThree ? hn::LoadU(d, z + i) : first, a, b), d, out + i);
  }
  if (i == count) return;
  const std::size_t rest = count - i;
  const V first = LoadSome(d, x + i, rest), second = kTwo ? LoadSome(d, y + i, rest) : first;
  StoreSome(Apply<kWhat>(first, second, kThree ? LoadSome(d, z + i, rest) : first, a, b), d, out + i, rest);
}

void FromBf16(const std::uint16_t* x, float* out, std::size_t count) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(LoadBf16(d, x + i), d, out + i);
  for (; i < count; ++i) out[i] = std::bit_cast<float>(static_cast<std::uint32_t>(x[i]) << 16);
}
void ToBf16(const float* x, std::uint16_t* out, std::size_t count) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) StoreBf16(hn::LoadU(d, x + i), d, out + i);
  for (; i < count; ++i) out[i] = Bf16(x[i]).bits;
}

ElementwiseFunction Choose(Elementwise what) {
  switch (what) {
#define TENON_CASE(name)  \
  case Elementwise::name: \
    return Run<Elementwise::name>;
    TENON_CASE(kRelu)
    TENON_CASE(kSigmoid)
    TENON_CASE(kTanh)
    TENON_CASE(kClip)
    TENON_CASE(kElu)
    TENON_CASE(kAbs)
    TENON_CASE(kSqrt)
    TENON_CASE(kExp)
    TENON_CASE(kLinear)
    TENON_CASE(kHardSigmoid)
    TENON_CASE(kHardSwish)
    TENON_CASE(kSwish)
    TENON_CASE(kCopy)
    TENON_CASE(kNegative)
    TENON_CASE(kLog)
    TENON_CASE(kErf)
    TENON_CASE(kGelu)
    TENON_CASE(kGeluTanh)
    TENON_CASE(kSoftPlus)
    TENON_CASE(kMish)
    TENON_CASE(kSoftSign)
    TENON_CASE(kSelu)
    TENON_CASE(kSin)
    TENON_CASE(kCos)
    TENON_CASE(kTan)
    TENON_CASE(kAsin)
    TENON_CASE(kAcos)
    TENON_CASE(kAtan)
    TENON_CASE(kSinh)
    TENON_CASE(kCosh)
    TENON_CASE(kAsinh)
    TENON_CASE(kAcosh)
    TENON_CASE(kAtanh)
    TENON_CASE(kFloor)
    TENON_CASE(kCeiling)
    TENON_CASE(kRoundEven)
    TENON_CASE(kRoundAway)
    TENON_CASE(kSign)
    TENON_CASE(kIsTrue)
    TENON_CASE(kNot)
    TENON_CASE(kSquare)
    TENON_CASE(kPlusAlpha)
    TENON_CASE(kTimesAlpha)
    TENON_CASE(kOverAlpha)
    TENON_CASE(kAlphaMinus)
    TENON_CASE(kAlphaOver)
    TENON_CASE(kToTheAlpha)
    TENON_CASE(kAdd)
    TENON_CASE(kSubtract)
    TENON_CASE(kMultiply)
    TENON_CASE(kDivide)
    TENON_CASE(kMaximum)
    TENON_CASE(kMinimum)
    TENON_CASE(kSquaredDifference)
    TENON_CASE(kPower)
    TENON_CASE(kMod)
    TENON_CASE(kFloorMod)
    TENON_CASE(kPRelu)
    TENON_CASE(kEqual)
    TENON_CASE(kNotEqual)
    TENON_CASE(kLess)
    TENON_CASE(kLessEqual)
    TENON_CASE(kGreater)
    TENON_CASE(kGreaterEqual)
    TENON_CASE(kAnd)
    TENON_CASE(kOr)
    TENON_CASE(kXor)
    TENON_CASE(kSelect)
    TENON_CASE(kMultiplyAdd)
#undef TENON_CASE
  }
  return nullptr;
}

}  // namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::inline v1::engine::kernels {

HWY_EXPORT(Choose);
HWY_EXPORT(FromBf16);
HWY_EXPORT(ToBf16);

ElementwiseFunction elementwise(Elementwise what) { return HWY_DYNAMIC_DISPATCH(Choose)(what); }
void from_bf16(const std::uint16_t* x, float* out, std::size_t count) { HWY_DYNAMIC_DISPATCH(FromBf16)(x, out, count); }
void to_bf16(const float* x, std::uint16_t* out, std::size_t count) { HWY_DYNAMIC_DISPATCH(ToBf16)(x, out, count); }

}  // namespace tenon::inline v1::engine::kernels
#endif
