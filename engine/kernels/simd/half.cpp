// SPDX-License-Identifier: Apache-2.0
// f16 and f32: compiled once per instruction set and chosen at run time.
#include <tenon/engine/kernels/simd/half.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/engine/kernels/simd/half.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using H = hn::Rebind<hwy::float16_t, D>;

// Whole vectors; the remainder goes through a padded vector.
template <typename X, typename Y, typename Body>
void Loop(const X* x, Y* y, std::size_t count, const Body& body) {
  const std::size_t lanes = hn::Lanes(D());
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) body(x + i, y + i);
  if (i == count) return;
  X in[HWY_MAX_BYTES / sizeof(float)] = {};
  Y out[HWY_MAX_BYTES / sizeof(float)];
  for (std::size_t k = i; k < count; ++k) in[k - i] = x[k];
  body(in, out);
  for (std::size_t k = i; k < count; ++k) y[k] = out[k - i];
}

void Widen(const std::uint16_t* x, float* y, std::size_t count) {
  Loop(x, y, count, [](const std::uint16_t* from, float* to) {
    hn::StoreU(hn::PromoteTo(D(), hn::LoadU(H(), reinterpret_cast<const hwy::float16_t*>(from))), D(), to);
  });
}

void Narrow(const float* x, std::uint16_t* y, std::size_t count) {
  Loop(x, y, count, [](const float* from, std::uint16_t* to) {
    hn::StoreU(hn::DemoteTo(H(), hn::LoadU(D(), from)), H(), reinterpret_cast<hwy::float16_t*>(to));
  });
}

}  // namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tenon/engine/kernels/simd/broadcast.hpp>

namespace tenon::inline v1::engine::kernels {

HWY_EXPORT(Narrow);
HWY_EXPORT(Widen);

void half_to_float(const std::uint16_t* x, float* y, std::size_t count) {
  parallel(count, count * 6, [&](std::size_t begin, std::size_t end) {
    HWY_DYNAMIC_DISPATCH(Widen)(x + begin, y + begin, end - begin);
  });
}

void float_to_half(const float* x, std::uint16_t* y, std::size_t count) {
  parallel(count, count * 6, [&](std::size_t begin, std::size_t end) {
    HWY_DYNAMIC_DISPATCH(Narrow)(x + begin, y + begin, end - begin);
  });
}

}  // namespace tenon::inline v1::engine::kernels
#endif
