// SPDX-License-Identifier: Apache-2.0
// Boxes with scores and further numbers, as YOLOv8's heads for masks, poses and turned boxes give them.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <tenon/vision/internal/finished_rows.hpp>
#include <tenon/vision/internal/reading.hpp>
#include <tenon/vision/internal/scores.hpp>
#include <tenon/vision/internal/suppression.hpp>
#include <tenon/vision/nms.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

/// Reads [1, 4 + labels + extra, n], a column for each box: centre and size, scores, further numbers; or, of models with suppression
/// inside, [1, n, 6 + extra], a row for each box: two corners, score, class, further numbers.
class Anchors {
 public:
  static bool fits(const Shape& shape, const DecodeOptions& options, std::size_t extra) {
    return fits_raw(shape, options, extra) || can_be_finished(options, shape, extra);
  }
  /// The further numbers of an output for which `fits_extra(extra)`; nothing if it is no such output. @param labels  Their number.
  template <typename FitsExtra>
  static std::optional<std::size_t> extra_of(const Shape& shape, const DecodeOptions& options, std::size_t labels,
                                             FitsExtra fits_extra) {
    if (shape.size() != 3) return std::nullopt;
    for (const auto& [extent, rest] : {std::pair{shape[1], 4 + labels}, {shape[2], kFinishedRow}}) {
      if (extent > rest && fits_extra(extent - rest) && fits(shape, options, extent - rest)) return extent - rest;
    }
    return std::nullopt;
  }
  /// @param has_corners  Finished rows begin with two corners; else with a centre and a size. @pre fits()
  Anchors(const Tensor& output, const float* values, const DecodeOptions& options, std::size_t extra,
          bool has_corners = true)
      : values_(values), options_(options), has_corners_(has_corners) {
    const Shape& shape = output.shape();
    is_finished_ = is_finished(options, shape, extra, fits_raw(shape, options, extra), values, has_corners);
    count_ = shape[is_finished_ ? 1 : 2];
    labels_ = is_finished_ ? 0 : shape[1] - 4 - extra;
    box_step_ = is_finished_ ? shape[2] : 1;
    number_step_ = is_finished_ ? 1 : shape[2];
    scores_ = Scores(options, !is_finished_ && has_logit(values + 4 * count_, labels_ * count_));
  }

  /// Whether suppression was inside the model.
  bool is_finished_rows() const { return is_finished_; }
  /// All above the threshold, boxes in pixels of the input.
  std::vector<Candidate> candidates() const {
    std::vector<Candidate> found;
    for (std::size_t i = 0; i < count_; ++i) {
      const auto [score, label] = best_of(i);
      if (!scores_.pass(score) || label < 0) continue;
      const float a = at(0, i), b = at(1, i), c = at(2, i), d = at(3, i);
      const Box box = is_finished_ && has_corners_ ? Box{a, b, c, d} : Box{a - c / 2, b - d / 2, a + c / 2, b + d / 2};
      if (!std::isfinite(a + b + c + d) || !(box.width() > 0) || !(box.height() > 0)) continue;
      found.push_back({box, scores_.probability(score), label, static_cast<std::uint32_t>(i)});
    }
    check_scores(options_.model_type, found);
    return found;
  }
  /// After suppression, at most options.top_k of those that are visible in the frame. @param is_cut  Set to whether there are more.
  std::vector<Candidate> best(bool* is_cut = nullptr) const {
    std::vector<Candidate> found = candidates();
    const auto is_visible = [&](const Candidate& candidate) {
      const Box box = clipped(options_, to_frame(options_, candidate.box));
      return box.width() > 0 && box.height() > 0;
    };
    const bool is_more = is_finished_
                             ? keep_best(found, options_.top_k, never_suppresses, is_visible)
                             : keep_best(found, options_.top_k, overlaps_more_than(options_.iou_threshold), is_visible);
    if (is_cut) *is_cut = is_more;
    return found;
  }
  /// Number `which` of those behind the scores.
  float extra(std::size_t index, std::size_t which) const {
    return at((is_finished_ ? kFinishedRow : 4 + labels_) + which, index);
  }

 private:
  static bool fits_raw(const Shape& shape, const DecodeOptions& options, std::size_t extra) {
    if (shape.size() != 3 || shape[0] != 1) return false;
    return options.labels.empty() ? shape[1] > 4 + extra : shape[1] == 4 + options.labels.size() + extra;
  }
  float at(std::size_t number, std::size_t index) const { return values_[number * number_step_ + index * box_step_]; }
  /// Score and class; a class below 0 is damage.
  std::pair<float, std::int32_t> best_of(std::size_t i) const {
    if (is_finished_) return {at(4, i), is_class_number(at(5, i)) ? static_cast<std::int32_t>(at(5, i)) : -1};
    std::size_t label = 0;
    for (std::size_t c = 1; c < labels_; ++c) {
      if (at(4 + c, i) > at(4 + label, i) || std::isnan(at(4 + label, i))) label = c;
    }
    return {at(4 + label, i), static_cast<std::int32_t>(label)};
  }

  const float* values_;
  const DecodeOptions& options_;
  Scores scores_{options_, false};
  std::size_t count_ = 0, labels_ = 0, box_step_ = 1, number_step_ = 1;
  bool has_corners_ = true, is_finished_ = false;
};

}  // namespace vision
}  // namespace v1
}  // namespace tenon
