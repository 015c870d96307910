// SPDX-License-Identifier: Apache-2.0
// Non-maximum suppression.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/vision/detection.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

/// A detection before suppression: without text, so that thousands are cheap.
struct Candidate {
  Box box;
  float score = 0;
  std::int32_t label_id = 0;
  std::uint32_t index = 0;  ///< Position in the model's output; breaks ties.
};

/// Greedy suppression per label: sorts by score (equal scores by index), then keeps each candidate that overlaps no
/// kept one of its label by more than `iou_threshold`, until `top_k` are kept. A threshold of 1 or more suppresses
/// nothing. Afterwards `candidates` holds the kept ones, best first. Allocates nothing.
/// @cost n log n for the sort, n times the kept ones for the rest.
TENON_API void suppress(std::vector<Candidate>& candidates, float iou_threshold, std::size_t top_k);

}  // namespace vision
}  // namespace v1
}  // namespace tenon
