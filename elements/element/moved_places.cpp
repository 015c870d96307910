// SPDX-License-Identifier: Apache-2.0
// Replaces each entry that has a place by one at the new place.
#include <tenon/elements/moved_places.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <tenon/core/orientation.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/core/upright.hpp>
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

/// The map that `move` is. @pre It is affine.
metadata::Affine affine_of(const Move& move) {
  constexpr float kFar = 4096;  // A long way, for the sake of accuracy.
  const auto moved = [&](float x, float y) {
    move(x, y);
    return std::pair(static_cast<double>(x), static_cast<double>(y));
  };
  const auto far = static_cast<double>(kFar);
  const auto [x0, y0] = moved(0, 0);
  const auto [right_x, right_y] = moved(kFar, 0);
  const auto [below_x, below_y] = moved(0, kFar);
  return {x0, (right_x - x0) / far, (below_x - x0) / far, y0, (right_y - y0) / far, (below_y - y0) / far};
}

Tensor turned_mask(const Tensor& mask, Rotation change) {
  if (!mask || mask.shape().size() != 2 || element_count(mask.shape()) == 0) return mask;
  Tensor on_host = mask;
  if (!mask.is_host_addressable()) {
    on_host = Tensor();
    mask.copy_to(on_host);
  }
  FrameInfo info{kGray8, static_cast<std::uint32_t>(mask.shape()[1]), static_cast<std::uint32_t>(mask.shape()[0])};
  const Frame from(info, std::vector{on_host});
  if (is_quarter_turn(change)) std::swap(info.width_px, info.height_px);
  Tensor made(ElementType::kU8, {info.height_px, info.width_px});
  copy_upright(from, change, Frame(info, std::vector{made}));
  return made;
}

}  // namespace

void turn_contents(metadata::Collection& all, Rotation change) {
  for (const auto& mask : all.all<metadata::Segmentation>()) {
    metadata::Segmentation one = *mask.value;
    one.mask = turned_mask(one.mask, change);
    all.replace(mask.id, std::move(one));
  }
  if (!is_mirrored(change)) return;
  // What is on the left of a line is on its right in a mirror.
  for (const auto& zone : all.all<metadata::Zone>()) {
    if (zone->shape != metadata::Zone::Shape::kLine) continue;
    metadata::Zone one = *zone.value;
    std::reverse(one.points.begin(), one.points.end());
    all.replace(zone.id, std::move(one));
  }
}

metadata::Placement placement_of(const metadata::Collection& all, double width_px, double height_px) {
  if (const auto known = all.first<metadata::Placement>()) return *known;
  return {{}, width_px, height_px};
}

void keep_placement(metadata::Collection& all, const FrameInfo& info) {
  if (!all.first<metadata::Placement>())
    all.add(metadata::Placement{
        {}, static_cast<double>(info.upright_width_px()), static_cast<double>(info.upright_height_px())});
}

Rotation turn_of(const metadata::Affine& map) {
  for (std::uint8_t i = 0; i < 8; ++i) {
    const auto turn = static_cast<Rotation>(i);
    const auto moved = [turn](double x, double y) { return upright_area<double>({x, y, 0, 0}, turn, 0, 0); };
    const auto right = moved(1, 0), below = moved(0, 1);
    if (map.xx * right.x + map.yx * right.y > 0 && map.xy * below.x + map.yy * below.y > 0 &&
        (std::abs(map.xx) > std::abs(map.yx)) == (right.y == 0))
      return turn;
  }
  return Rotation::kNone;
}

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
  for (const auto& entry : all.all<metadata::Placement>()) {
    metadata::Placement changed = *entry.value;
    changed.map = affine_of(move).inverse().then(changed.map);
    all.replace(entry.id, std::move(changed));
  }
}

}  // namespace elements
}  // namespace v1
}  // namespace tenon
