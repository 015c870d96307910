// SPDX-License-Identifier: Apache-2.0
// Replaces each entry that has a place by one at the new place.
#include <tenon/elements/internal/moved_places.hpp>

#include <algorithm>
#include <utility>

#include <tenon/core/zones.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace {

using Move = std::function<void(float& x, float& y)>;

template <typename T>
void move_boxes(metadata::Collection& all, const Move& move) {
  for (const auto& entry : all.all<T>()) {
    T changed = *entry.value;
    metadata::Box& box = changed.box;
    move(box.x1, box.y1);
    move(box.x2, box.y2);
    if (box.x1 > box.x2) std::swap(box.x1, box.x2);
    if (box.y1 > box.y2) std::swap(box.y1, box.y2);
    all.replace(entry.id, std::move(changed));
  }
}

}  // namespace

void move_places(metadata::Collection& all, const Move& move) {
  move_boxes<metadata::Detection>(all, move);
  move_boxes<metadata::Segmentation>(all, move);
  for (const auto& entry : all.all<metadata::TensorOutput>()) {
    if (entry->has_points()) all.replace(entry.id, entry->moved(move));
  }
  for (const auto& entry : all.all<metadata::Zone>()) {
    metadata::Zone changed = *entry.value;
    for (metadata::Point& point : changed.points) move(point.x, point.y);
    all.replace(entry.id, std::move(changed));
  }
}

}  // namespace elements
}  // namespace v1
}  // namespace tenon
