// SPDX-License-Identifier: Apache-2.0
// Element-wise functions of small tensors: where a general kernel's call costs more than the numbers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::inline v1::engine::kernels {

enum class Elementwise : std::uint8_t {
  kRelu,  ///< x, or alpha * x below 0.
  kSigmoid,
  kTanh,
  kClip,  ///< Limits x to alpha..beta.
  kElu,   ///< x, or alpha * (exp(x) - 1) below 0.
  kAbs,
  kSqrt,
  kExp,
  kLinear,       ///< alpha * x + beta
  kHardSigmoid,  ///< Limits alpha * x + beta to 0..1.
  kHardSwish,    ///< x times that.
  kSwish,        ///< x / (1 + exp(-alpha * x))
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kMaximum,
  kMinimum,
};

/// Of `count` packed f32 elements, in the calling thread. `y` is read by functions of two tensors only. `out` may be x
/// or y, and must not overlap them otherwise. Not-a-numbers stay what they are.
using ElementwiseFunction = void (*)(const float* x, const float* y, float* out, std::size_t count, float alpha,
                                     float beta);

/// For this processor.
ElementwiseFunction elementwise(Elementwise what);

/// Up to so many elements these are faster than oneDNN's kernels, whose call costs a microsecond or two.
inline constexpr std::size_t kSmallElements = 2048;

}  // namespace tenon::inline v1::engine::kernels
