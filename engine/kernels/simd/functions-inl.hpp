// SPDX-License-Identifier: Apache-2.0
// Functions of vectors of f32, for all numbers: NaN stays, infinities and zeros of both signs have their limits. Included once per
// instruction set, inside the including file's HWY_NAMESPACE.
// No include guard: Highway's own decides when to read it again.
#if defined(TENON_FUNCTIONS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_FUNCTIONS_INL
#undef TENON_FUNCTIONS_INL
#else
#define TENON_FUNCTIONS_INL
#endif

#include <cstddef>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

/// Keeps NaNs, of which exponentials make zero.
HWY_INLINE V KeepNan(V x, V result) { return hn::IfThenElse(hn::Eq(x, x), result, x); }
template <std::size_t kCount>
HWY_INLINE V Polynomial(V x, const float (&terms)[kCount]) {
  const D d;
  V y = hn::Set(d, terms[kCount - 1]);
  for (std::size_t i = kCount - 1; i-- > 0;) y = hn::MulAdd(y, x, hn::Set(d, terms[i]));
  return y;
}
HWY_INLINE bool AllWithin(V x, float limit) {
  const D d;
  return hn::AllTrue(d, hn::Le(hn::Abs(x), hn::Set(d, limit)));
}
// The limit is the first operand: if one is NaN, the second is returned.
HWY_INLINE V Limit(V x, V low, V high) { return hn::Min(high, hn::Max(low, x)); }
/// exp(x). The polynomial was fitted for the least relative error, 3e-9.
HWY_INLINE V SafeExp(V x) {
  constexpr float kTerms[] = {1.f,
                              1.f,
                              0.49999993412469734f,
                              0.16666520107626048f,
                              0.04166839421737896f,
                              0.0083687804291286f,
                              0.001381446674262864f};
  const D d;
  const hn::RebindToSigned<D> di;
  // If so, no power of two and no result leaves the normal numbers. Otherwise two powers reach zero and infinity; results are the same.
  const bool is_normal = AllWithin(x, 86.f);
  const V limited = HWY_LIKELY(is_normal) ? x : Limit(x, hn::Set(d, -104.f), hn::Set(d, 104.f));
  const V power = hn::Round(hn::Mul(limited, hn::Set(d, 1.44269504f)));
  // The logarithm of 2 is the sum of two numbers, the first of which has few bits.
  const V above = hn::NegMulAdd(power, hn::Set(d, 0.693359375f), limited);
  const V y = Polynomial(hn::NegMulAdd(power, hn::Set(d, -2.12194440e-4f), above), kTerms);
  const auto n = hn::ConvertTo(di, power);
  if (HWY_LIKELY(is_normal)) return hn::BitCast(d, hn::Add(hn::BitCast(di, y), hn::ShiftLeft<23>(n)));
  const auto two_to = [&](auto exponent) {
    return hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(exponent, hn::Set(di, 127))));
  };
  const auto half = hn::ShiftRight<1>(n);
  return KeepNan(x, hn::Mul(hn::Mul(y, two_to(half)), two_to(hn::Sub(n, half))));
}

/// x * P(x * x) / Q(x * x) for x >= 0, and 1 from `limit` on; NaN stays. The quotients below were fitted for the least relative
/// error. The rounding of their terms adds about 3e-7 to it.
template <std::size_t kCount>
HWY_INLINE V OddQuotient(V x, const float (&above)[kCount], const float (&below)[kCount], float limit) {
  const D d;
  const V one = hn::Set(d, 1.f), square = hn::Mul(x, x);
  const V y = hn::Div(hn::Mul(x, Polynomial(square, above)), Polynomial(square, below));
  // Beyond the limit the quotient may be infinity by infinity.
  return hn::IfThenElse(hn::Ge(x, hn::Set(d, limit)), one, hn::IfThenElse(hn::Gt(y, one), one, y));
}
/// tanh(x) for x >= 0: the quotient is wrong by 2.3e-8 of it at most.
HWY_INLINE V TanhOfSize(V x) {
  constexpr float kAbove[] = {0.9999999773850761f, 0.13374426523954963f, 0.003487752532777507f, 2.0480213185407496e-05f,
                              1.3176184890574347e-08f};
  constexpr float kBelow[] = {1.0f, 0.4670774037476156f, 0.025847167598639642f, 0.0003272823810392302f,
                              7.703494748036862e-07f};
  return OddQuotient(x, kAbove, kBelow, 9.1f);
}
HWY_INLINE V TanhOf(V x) { return hn::CopySign(TanhOfSize(hn::Abs(x)), x); }

}  // namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
