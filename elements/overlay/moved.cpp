// SPDX-License-Identifier: Apache-2.0
// Moves metadata entry by entry. Entries that belong to other entries refer to them by their new ids.
#include <tenon/elements/overlay/moved.hpp>

#include <map>
#include <utility>

#include <tenon/core/zones.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace overlay {
namespace {

using metadata::Classification;
using metadata::Collection;
using metadata::Detection;
using metadata::Id;
using metadata::Segmentation;
using metadata::TensorOutput;

metadata::Box moved(const metadata::Box& box, const Placement& to) {
  const auto x = [&](float at) { return static_cast<float>(to.x(static_cast<double>(at))); };
  const auto y = [&](float at) { return static_cast<float>(to.y(static_cast<double>(at))); };
  return {x(box.x1), y(box.y1), x(box.x2), y(box.y2)};
}

}  // namespace

void add_moved(const Collection& known, const Placement& to, Collection& into) {
  std::map<Id, Id> objects{{metadata::kFrame, metadata::kFrame}};
  // An entry whose parent is not a detection belongs to the picture.
  const auto parent_of = [&](Id old) {
    const auto at = objects.find(old);
    return at == objects.end() ? metadata::kFrame : at->second;
  };
  for (const auto& object : known.all<Detection>()) {
    Detection one = *object.value;
    one.box = moved(one.box, to);
    objects[object.id] = into.add(std::move(one), parent_of(object.parent));
  }
  for (const auto& mask : known.all<Segmentation>()) {
    Segmentation one = *mask.value;
    one.box = moved(one.box, to);
    into.add(std::move(one), parent_of(mask.parent));
  }
  for (const auto& text : known.all<Classification>())
    if (const Id parent = parent_of(text.parent); parent != metadata::kFrame) into.add(*text.value, parent);
  for (const auto& output : known.all<TensorOutput>()) {
    const Id parent = parent_of(output.parent);
    if (output->has_points())
      into.add(output->moved([&](float& x, float& y) {
        x = static_cast<float>(to.x(static_cast<double>(x)));
        y = static_cast<float>(to.y(static_cast<double>(y)));
      }),
               parent);
    else if (parent != metadata::kFrame)
      into.add(*output.value, parent);
  }
  for (const auto& event : known.all<metadata::ZoneEvent>()) into.add(*event.value, parent_of(event.parent));
  for (const auto& zone : known.all<metadata::Zone>()) {
    metadata::Zone one = *zone.value;
    for (metadata::Point& point : one.points) {
      point.x = static_cast<float>(to.x(static_cast<double>(point.x)));
      point.y = static_cast<float>(to.y(static_cast<double>(point.y)));
    }
    into.add(std::move(one));
  }
}

}  // namespace overlay
}  // namespace elements
}  // namespace v1
}  // namespace tenon
