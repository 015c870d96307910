// SPDX-License-Identifier: Apache-2.0
// Boxes with scores and further numbers, as YOLOv8's heads for masks and poses give them: [1, 4 + labels + extra, n].
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <tenon/vision/internal/reading.hpp>
#include <tenon/vision/nms.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

class Anchors {
 public:
  static bool fits(const Tensor& output, const DecodeOptions& options, std::size_t extra) {
    if (!is_real(output) || output.shape().size() != 3 || output.shape()[0] != 1) return false;
    const std::size_t rows = output.shape()[1];
    return options.labels.empty() ? rows > 4 + extra : rows == 4 + options.labels.size() + extra;
  }
  /// @pre fits()
  Anchors(const Tensor& output, const float* values, const DecodeOptions& options, std::size_t extra)
      : values_(values), count_(output.shape()[2]), labels_(output.shape()[1] - 4 - extra), options_(options) {}

  /// After suppression, boxes in pixels of the input.
  std::vector<Candidate> best() const {
    std::vector<Candidate> found;
    for (std::size_t i = 0; i < count_; ++i) {
      std::size_t label = 0;
      for (std::size_t c = 1; c < labels_; ++c) {
        if (at(4 + c, i) > at(4 + label, i)) label = c;
      }
      const float score = at(4 + label, i);
      const float x = at(0, i), y = at(1, i), w = at(2, i), h = at(3, i);
      const bool is_box =
          std::isfinite(x) && std::isfinite(y) && std::isfinite(w) && std::isfinite(h) && w > 0 && h > 0;
      if (!is_box || !(score >= options_.confidence_threshold)) continue;
      found.push_back({{x - w / 2, y - h / 2, x + w / 2, y + h / 2},
                       score,
                       static_cast<std::int32_t>(label),
                       static_cast<std::uint32_t>(i)});
    }
    suppress(found, options_.iou_threshold, options_.top_k);
    return found;
  }
  /// Number `which` of those behind the scores.
  float extra(std::size_t index, std::size_t which) const { return at(4 + labels_ + which, index); }

 private:
  float at(std::size_t row, std::size_t index) const { return values_[row * count_ + index]; }

  const float* values_;
  const std::size_t count_, labels_;
  const DecodeOptions& options_;
};

}  // namespace vision
}  // namespace v1
}  // namespace tenon
