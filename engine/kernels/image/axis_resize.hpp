// SPDX-License-Identifier: Apache-2.0
// Resizes one axis of anything by weighted sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tenon/graph/ops/resize_taps.hpp>

namespace tenon::inline v1::engine::kernels {

/// f32 [outer, in, inner] to [outer, taps.size(), inner]. Immutable: any number of threads may run it at once.
class AxisResize {
 public:
  AxisResize(std::size_t outer, std::size_t in, std::size_t inner, const std::vector<ResizeTaps>& taps);
  /// Split over the workers of the calling arena.
  void run(const float* from, float* to) const;

 private:
  void run_rows(const float* from, float* to, std::size_t begin, std::size_t end) const;

  std::size_t outer_, in_, inner_, out_;
  std::vector<std::uint32_t> begin_, at_;  ///< The taps of position x: from begin_[x] to begin_[x + 1].
  std::vector<float> weight_;
};

}  // namespace tenon::inline v1::engine::kernels
