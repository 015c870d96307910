// SPDX-License-Identifier: Apache-2.0
// bf16 in vectors. Included once per instruction set, inside the including file's HWY_NAMESPACE.
// No include guard: Highway's own decides when to read it again.
#if defined(TENON_BF16_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_BF16_INL
#undef TENON_BF16_INL
#else
#define TENON_BF16_INL
#endif

#include <cstdint>

#include <hwy/highway.h>

#include <tenon/engine/kernels/simd/bf16.hpp>

HWY_BEFORE_NAMESPACE();
namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
hn::Vec<D> LoadBf16(D d, const std::uint16_t* from) {
  const hn::RebindToUnsigned<D> du;
  const hn::Rebind<std::uint16_t, D> dh;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, hn::LoadU(dh, from))));
}

// Rounded to nearest, ties to even: the upper half of each lane is the bf16. A NaN stays one unless its payload is in the
// lowest bits alone, which arithmetic never produces.
template <class D>
hn::Vec<hn::RebindToUnsigned<D>> RoundedToBf16(D, hn::Vec<D> v) {
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::BitCast(du, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
  return hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7fff)));
}
template <class D>
void StoreBf16(hn::Vec<D> v, D d, std::uint16_t* to) {
  const hn::RebindToSigned<D> di;
  const hn::Rebind<std::uint16_t, D> dh;
  hn::StoreU(hn::DemoteTo(dh, hn::BitCast(di, hn::ShiftRight<16>(RoundedToBf16(d, v)))), dh, to);
}

// For functions of f32 or bf16 tensors: a vector, or one number.

HWY_INLINE hn::Vec<hn::ScalableTag<float>> LoadAt(const float* x) { return hn::LoadU(hn::ScalableTag<float>(), x); }
HWY_INLINE hn::Vec<hn::ScalableTag<float>> LoadAt(const std::uint16_t* x) {
  return LoadBf16(hn::ScalableTag<float>(), x);
}
HWY_INLINE void StoreAt(hn::Vec<hn::ScalableTag<float>> v, float* to) { hn::StoreU(v, hn::ScalableTag<float>(), to); }
HWY_INLINE void StoreAt(hn::Vec<hn::ScalableTag<float>> v, std::uint16_t* to) {
  StoreBf16(v, hn::ScalableTag<float>(), to);
}
HWY_INLINE float NumberAt(const float* x) { return *x; }
HWY_INLINE float NumberAt(const std::uint16_t* x) {
  Bf16 number;
  number.bits = *x;
  return number.to_float();
}
HWY_INLINE void PutAt(float number, float* to) { *to = number; }
HWY_INLINE void PutAt(float number, std::uint16_t* to) { *to = Bf16(number).bits; }

}  // namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
