// SPDX-License-Identifier: Apache-2.0
// Greedy suppression for any measure of overlap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <tenon/vision/nms.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

/// Sorts by score, and keeps each candidate for which no kept one `suppresses(kept, candidate)`, until `top_k` of those are kept that
/// `counts(candidate)`; the others suppress too, and are removed at the end. Allocates nothing.
/// @return Whether at least one more would have been kept.
template <typename Suppresses, typename Counts>
bool keep_best(std::vector<Candidate>& candidates, std::size_t top_k, Suppresses suppresses, Counts counts) {
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return a.score != b.score ? a.score > b.score : a.index != b.index ? a.index < b.index : a.label_id < b.label_id;
  });
  std::size_t kept = 0, counted = 0;
  bool is_cut = false;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate candidate = candidates[i];
    const bool is_counted = counts(candidate);
    bool keep = is_counted || counted < top_k;
    for (std::size_t k = 0; k < kept && keep; ++k) keep = !suppresses(candidates[k], candidate);
    if (!keep) continue;
    is_cut = is_counted && counted == top_k;
    if (is_cut) break;
    candidates[kept++] = candidate;
    counted += is_counted;
  }
  candidates.resize(kept);
  std::erase_if(candidates, [&](const Candidate& candidate) { return !counts(candidate); });
  return is_cut;
}

/// Suppresses what overlaps a better box of the same label by more than `iou_threshold`.
inline auto overlaps_more_than(float iou_threshold) {
  return [iou_threshold](const Candidate& kept, const Candidate& candidate) {
    return kept.label_id == candidate.label_id && intersection_over_union(kept.box, candidate.box) > iou_threshold;
  };
}
/// Suppresses nothing.
inline bool never_suppresses(const Candidate&, const Candidate&) { return false; }
/// Every candidate counts.
inline bool always_counts(const Candidate&) { return true; }

}  // namespace vision
}  // namespace v1
}  // namespace tenon
