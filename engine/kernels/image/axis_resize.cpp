// SPDX-License-Identifier: Apache-2.0
// Sums rows of neighbours, or single elements along the last axis.
#include <tenon/engine/kernels/image/axis_resize.hpp>

#include <algorithm>

#include <tenon/engine/kernels/simd/broadcast.hpp>

namespace tenon::inline v1::engine::kernels {

AxisResize::AxisResize(std::size_t outer, std::size_t in, std::size_t inner, const std::vector<ResizeTaps>& taps)
    : outer_(outer), in_(in), inner_(inner), out_(taps.size()), begin_{0} {
  for (const ResizeTaps& one : taps) {
    for (const std::size_t at : one.at) at_.push_back(static_cast<std::uint32_t>(at));
    weight_.insert(weight_.end(), one.weight.begin(), one.weight.end());
    begin_.push_back(static_cast<std::uint32_t>(at_.size()));
  }
}

void AxisResize::run_rows(const float* from, float* to, std::size_t begin, std::size_t end) const {
  for (std::size_t row = begin; row < end; ++row) {
    const float* source = from + row / out_ * in_ * inner_;
    float* target = to + row * inner_;
    std::fill_n(target, inner_, 0.f);
    for (std::uint32_t t = begin_[row % out_]; t < begin_[row % out_ + 1]; ++t) {
      const float* line = source + at_[t] * inner_;
      const float weight = weight_[t];
      for (std::size_t i = 0; i < inner_; ++i) target[i] += weight * line[i];
    }
  }
}

void AxisResize::run(const float* from, float* to) const {
  const std::size_t rows = outer_ * out_;
  parallel(rows, (rows + at_.size() * outer_) * inner_ * sizeof(float),
           [&](std::size_t begin, std::size_t end) { run_rows(from, to, begin, end); });
}

}  // namespace tenon::inline v1::engine::kernels
