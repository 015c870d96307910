// SPDX-License-Identifier: Apache-2.0
// Greedy non-maximum suppression in place.
#include <tenon/vision/nms.hpp>

#include <algorithm>

namespace tenon {
inline namespace v1 {
namespace vision {

void suppress(std::vector<Candidate>& candidates, float iou_threshold, std::size_t top_k) {
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return a.score != b.score ? a.score > b.score : a.index != b.index ? a.index < b.index : a.label_id < b.label_id;
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < candidates.size() && kept < top_k; ++i) {
    const Candidate candidate = candidates[i];
    bool keep = true;
    for (std::size_t k = 0; k < kept && keep; ++k) {
      keep = candidates[k].label_id != candidate.label_id ||
             !(intersection_over_union(candidates[k].box, candidate.box) > iou_threshold);
    }
    if (keep) candidates[kept++] = candidate;
  }
  candidates.resize(kept);
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
