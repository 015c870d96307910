// SPDX-License-Identifier: Apache-2.0
// The last few numbers of a row, which fill no vector. Included once per instruction set, inside the including file's
// HWY_NAMESPACE. Before AVX2 the vector library's own masked loads and stores want aligned addresses, and touch the memory of
// a whole vector.
// No include guard: Highway's own decides when to read it again.
#if defined(TENON_TAIL_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_TAIL_INL
#undef TENON_TAIL_INL
#else
#define TENON_TAIL_INL
#endif

#include <cstddef>
#include <cstring>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// `count` numbers, then zeros; count <= lanes.
template <class D>
HWY_INLINE hn::Vec<D> LoadSome(D d, const float* from, std::size_t count) {
  if (count == hn::Lanes(d)) return hn::LoadU(d, from);
#if HWY_TARGET <= HWY_AVX2
  return hn::MaskedLoad(hn::FirstN(d, count), d, from);
#else
  HWY_ALIGN float whole[HWY_MAX_BYTES / sizeof(float)] = {};
  std::memcpy(whole, from, count * sizeof(float));
  return hn::Load(d, whole);
#endif
}

/// Writes the first `count` numbers and nothing else.
template <class D>
HWY_INLINE void StoreSome(hn::Vec<D> values, D d, float* to, std::size_t count) {
  if (count == hn::Lanes(d)) return hn::StoreU(values, d, to);
#if HWY_TARGET <= HWY_AVX2
  hn::BlendedStore(values, hn::FirstN(d, count), d, to);
#else
  HWY_ALIGN float whole[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(values, d, whole);
  std::memcpy(to, whole, count * sizeof(float));
#endif
}

}  // namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
