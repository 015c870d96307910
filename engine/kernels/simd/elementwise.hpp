// SPDX-License-Identifier: Apache-2.0
// Element-wise functions of a few numbers: of small tensors, for which calling a general kernel costs more than the
// arithmetic, and of the tiles of a fused loop.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::inline v1::engine::kernels {

enum class Elementwise : std::uint8_t {
  // Functions of one tensor.
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
  kCopy,
  kNegative,
  kLog,
  kErf,
  kGelu,
  kGeluTanh,
  kSoftPlus,
  kMish,
  kSoftSign,
  kSelu,  ///< beta * (x, or alpha * (exp(x) - 1) below 0)
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kAsinh,
  kAcosh,
  kAtanh,
  kFloor,
  kCeiling,
  kRoundEven,  ///< Halves to even...
  kRoundAway,  ///< ...or away from 0.
  kSign,
  kIsTrue,  ///< Tests give 1 or 0: whether x is not 0...
  kNot,     ///< ...or is.
  kSquare,
  kPlusAlpha,   ///< x + alpha: these take a number in place of a second tensor.
  kTimesAlpha,  ///< x * alpha
  kOverAlpha,   ///< x / alpha
  kAlphaMinus,  ///< alpha - x
  kAlphaOver,   ///< alpha / x
  kToTheAlpha,  ///< x to the alpha.
  // Functions of two tensors.
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kMaximum,
  kMinimum,
  kSquaredDifference,
  kPower,
  kMod,       ///< The remainder with the sign of x...
  kFloorMod,  ///< ...and of y.
  kPRelu,     ///< x, or y * x below 0.
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kAnd,
  kOr,
  kXor,
  // Functions of three tensors.
  kSelect,       ///< y where x is not 0, else z.
  kMultiplyAdd,  ///< x * y + z, rounded once.
};

/// Over `count` packed f32 elements, in the calling thread. Only functions of two tensors read `y`, of three `z`. `out` may
/// be one of them, and must not overlap them otherwise. NaNs stay NaNs.
using ElementwiseFunction = void (*)(const float* x, const float* y, const float* z, float* out, std::size_t count,
                                     float alpha, float beta);

/// The function compiled for this processor.
ElementwiseFunction elementwise(Elementwise what);

/// Between bf16 and f32; rounded to nearest, ties to even.
void from_bf16(const std::uint16_t* x, float* out, std::size_t count);
void to_bf16(const float* x, std::uint16_t* out, std::size_t count);

/// Up to this many elements these are faster than oneDNN's kernels, whose call costs a microsecond or two.
inline constexpr std::size_t kSmallElements = 2048;

}  // namespace tenon::inline v1::engine::kernels
