// SPDX-License-Identifier: Apache-2.0
// Normalisation of each channel of an image over its pixels, with the channels innermost (or blocks of them).
#pragma once

#include <cstddef>

#include <tenon/core/element_type.hpp>

namespace tenon::inline v1::engine::kernels {

/// (x - mean) / sqrt(variance + epsilon), mean and variance over the pixels of one channel of one image.
struct InstanceNorm {
  std::size_t images = 1, pixels = 1, channels = 1;
  float epsilon = 0;
  bool is_outside = false;               ///< Epsilon is added to the root, not to the variance.
  bool divides = true;                   ///< False: only the mean is subtracted.
  ElementType type = ElementType::kF32;  ///< Or kBf16, of both tensors; sums are f32 and f64.

  /// Bytes that run() needs for itself.
  std::size_t scratch_bytes() const;
  /// x and out: [images][pixels][channels], may be the same. Split over the workers of the arena that calls it.
  void run(const void* x, void* out, void* scratch) const;
};

}  // namespace tenon::inline v1::engine::kernels
