// SPDX-License-Identifier: Apache-2.0
// An object found in a picture.
#pragma once

#include <string>

namespace tenon {
inline namespace v1 {
namespace vision {

/// Corners in pixels, continuous: pixel i covers [i, i + 1).
struct Box {
  float x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  float width() const { return x2 - x1; }
  float height() const { return y2 - y1; }
  friend bool operator==(const Box&, const Box&) = default;
};

/// Area of the intersection over that of the union; 0 for boxes without area.
float intersection_over_union(const Box& a, const Box& b);

struct Detection {
  Box box;
  int label_id = 0;
  float score = 0;
  std::string label;  ///< Text of label_id, "#7" if the model has no name for it.
};

inline float intersection_over_union(const Box& a, const Box& b) {
  const float w = (a.x2 < b.x2 ? a.x2 : b.x2) - (a.x1 > b.x1 ? a.x1 : b.x1);
  const float h = (a.y2 < b.y2 ? a.y2 : b.y2) - (a.y1 > b.y1 ? a.y1 : b.y1);
  if (!(w > 0) || !(h > 0)) return 0;
  const float inner = w * h;
  return inner / (a.width() * a.height() + b.width() * b.height() - inner);
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
