// SPDX-License-Identifier: Apache-2.0
// Greedy non-maximum suppression in place.
#include <tenon/vision/nms.hpp>

#include <tenon/vision/internal/suppression.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

void suppress(std::vector<Candidate>& candidates, float iou_threshold, std::size_t top_k) {
  keep_best(candidates, top_k, overlaps_more_than(iou_threshold), always_counts);
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
