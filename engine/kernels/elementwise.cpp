// SPDX-License-Identifier: Apache-2.0
// Element-wise functions: compiled once per instruction set and chosen when a plan is made.
#include <tenon/engine/kernels/elementwise.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/engine/kernels/elementwise.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

#include <tenon/engine/kernels/tail-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

/// Keeps NaNs, of which exponentials make zero.
HWY_INLINE V KeepNan(V x, V result) { return hn::IfThenElse(hn::Eq(x, x), result, x); }
/// exp(x), which is infinity for any x above 104.
HWY_INLINE V SafeExp(V x) {
  const D d;
  return KeepNan(x, hn::Exp(d, hn::Min(x, hn::Set(d, 104.f))));
}
// The limit is the first operand: if one is NaN, the second is returned.
HWY_INLINE V Limit(V x, V low, V high) { return hn::Min(high, hn::Max(low, x)); }

template <Elementwise kWhat>
HWY_INLINE V Apply(V x, V y, V alpha, V beta) {
  const D d;
  const V one = hn::Set(d, 1.f), zero = hn::Zero(d);
  // A slope of 0 gives 0 for minus infinity, too.
  if constexpr (kWhat == Elementwise::kRelu)
    return hn::IfThenElse(hn::Lt(x, zero), hn::IfThenElseZero(hn::Ne(alpha, zero), hn::Mul(alpha, x)), x);
  if constexpr (kWhat == Elementwise::kSigmoid) return hn::Div(one, hn::Add(one, SafeExp(hn::Neg(x))));
  if constexpr (kWhat == Elementwise::kTanh) return KeepNan(x, hn::Tanh(d, x));
  if constexpr (kWhat == Elementwise::kClip) return KeepNan(x, Limit(x, alpha, beta));
  if constexpr (kWhat == Elementwise::kElu)
    return hn::IfThenElse(hn::Lt(x, zero), hn::Mul(alpha, hn::Expm1(d, hn::Min(x, zero))), x);
  if constexpr (kWhat == Elementwise::kAbs) return hn::Abs(x);
  if constexpr (kWhat == Elementwise::kSqrt) return hn::Sqrt(x);
  if constexpr (kWhat == Elementwise::kExp) return SafeExp(x);
  if constexpr (kWhat == Elementwise::kLinear) return hn::MulAdd(alpha, x, beta);
  if constexpr (kWhat == Elementwise::kHardSigmoid) return KeepNan(x, Limit(hn::MulAdd(alpha, x, beta), zero, one));
  if constexpr (kWhat == Elementwise::kHardSwish)
    return KeepNan(x, hn::Mul(x, Limit(hn::MulAdd(alpha, x, beta), zero, one)));
  if constexpr (kWhat == Elementwise::kSwish) return hn::Div(x, hn::Add(one, SafeExp(hn::Neg(hn::Mul(alpha, x)))));
  if constexpr (kWhat == Elementwise::kAdd) return hn::Add(x, y);
  if constexpr (kWhat == Elementwise::kSubtract) return hn::Sub(x, y);
  if constexpr (kWhat == Elementwise::kMultiply) return hn::Mul(x, y);
  if constexpr (kWhat == Elementwise::kDivide) return hn::Div(x, y);
  if constexpr (kWhat == Elementwise::kMaximum) return KeepNan(x, hn::IfThenElse(hn::Gt(x, y), x, y));
  if constexpr (kWhat == Elementwise::kMinimum) return KeepNan(x, hn::IfThenElse(hn::Lt(x, y), x, y));
}

template <Elementwise kWhat>
void Run(const float* x, const float* y, float* out, std::size_t count, float alpha, float beta) {
  constexpr bool kTwo = kWhat >= Elementwise::kAdd;
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const V a = hn::Set(d, alpha), b = hn::Set(d, beta);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const V first = hn::LoadU(d, x + i);
    hn::StoreU(Apply<kWhat>(first, kTwo ? hn::LoadU(d, y + i) : first, a, b), d, out + i);
  }
  if (i == count) return;
  const std::size_t rest = count - i;
  const V first = LoadSome(d, x + i, rest);
  StoreSome(Apply<kWhat>(first, kTwo ? LoadSome(d, y + i, rest) : first, a, b), d, out + i, rest);
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
    TENON_CASE(kAdd)
    TENON_CASE(kSubtract)
    TENON_CASE(kMultiply)
    TENON_CASE(kDivide)
    TENON_CASE(kMaximum)
    TENON_CASE(kMinimum)
#undef TENON_CASE
  }
  return nullptr;
}

}  // namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::inline v1::engine::kernels {

HWY_EXPORT(Choose);

ElementwiseFunction elementwise(Elementwise what) { return HWY_DYNAMIC_DISPATCH(Choose)(what); }

}  // namespace tenon::inline v1::engine::kernels
#endif
