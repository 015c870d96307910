// SPDX-License-Identifier: Apache-2.0
// The rule of NonMaxSuppression, for the reference kernel and for devices with loops of their own.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenon {
inline namespace v1 {

struct BoxCorners {
  float y1, x1, y2, x2;
};

/// Corners of a box that is stored as two corners, in any order, or as centre, width and height.
inline BoxCorners box_corners(const float* b, bool is_centre) {
  if (is_centre) return {b[1] - b[3] / 2, b[0] - b[2] / 2, b[1] + b[3] / 2, b[0] + b[2] / 2};
  return {std::min(b[0], b[2]), std::min(b[1], b[3]), std::max(b[0], b[2]), std::max(b[1], b[3])};
}

/// The intersection over the union; 0 if a box has no area.
inline float box_overlap(const BoxCorners& a, const BoxCorners& b) {
  const float area_a = (a.y2 - a.y1) * (a.x2 - a.x1), area_b = (b.y2 - b.y1) * (b.x2 - b.x1);
  if (area_a <= 0 || area_b <= 0) return 0;
  const float height = std::max(0.0f, std::min(a.y2, b.y2) - std::max(a.y1, b.y1)),
              width = std::max(0.0f, std::min(a.x2, b.x2) - std::max(a.x1, b.x1));
  return height * width / (area_a + area_b - height * width);
}

struct Nms {
  std::size_t most = 0;  ///< Maximum number of boxes per class.
  float overlap = 0, score = 0;
  float sigma = 0;  ///< Above 0: scores of overlapping boxes decay (soft NMS).
  bool is_centre = false;
};

struct ChosenBox {
  float score;
  std::int64_t box;
};

/// The kept boxes of one class, sorted by descending score, stable: boxes [count, 4], scores [count].
inline std::vector<ChosenBox> suppress_boxes(const Nms& rule, const float* boxes, const float* scores,
                                             std::size_t count) {
  struct Candidate {
    ChosenBox chosen;
    std::size_t suppress_from = 0;
  };
  const auto corners = [&](std::int64_t box) { return box_corners(boxes + box * 4, rule.is_centre); };
  std::vector<Candidate> queue;
  for (std::size_t box = 0; box < count; ++box)
    if (scores[box] > rule.score) queue.push_back({{scores[box], static_cast<std::int64_t>(box)}});
  const auto worse = [](const Candidate& a, const Candidate& b) {
    return a.chosen.score != b.chosen.score ? a.chosen.score < b.chosen.score : a.chosen.box > b.chosen.box;
  };
  std::make_heap(queue.begin(), queue.end(), worse);
  std::vector<ChosenBox> chosen;
  while (!queue.empty() && chosen.size() < rule.most) {
    std::pop_heap(queue.begin(), queue.end(), worse);
    Candidate next = queue.back();
    queue.pop_back();
    const float before = next.chosen.score;
    bool hard = false;
    for (std::size_t i = chosen.size(); i-- > next.suppress_from;) {
      const float iou = box_overlap(corners(next.chosen.box), corners(chosen[i].box));
      if (rule.sigma > 0)
        next.chosen.score *= iou <= rule.overlap ? std::exp(-0.5f * iou * iou / rule.sigma) : 0.0f;
      else if (iou > rule.overlap)
        next.chosen.score = 0;
      if (iou > rule.overlap && rule.sigma <= 0) {
        hard = true;
        break;
      }
      if (next.chosen.score <= rule.score) break;
    }
    next.suppress_from = chosen.size();
    if (hard) continue;
    if (next.chosen.score == before) {
      chosen.push_back(next.chosen);
    } else if (next.chosen.score > rule.score) {
      queue.push_back(next);
      std::push_heap(queue.begin(), queue.end(), worse);
    }
  }
  return chosen;
}

}  // namespace v1
}  // namespace tenon
