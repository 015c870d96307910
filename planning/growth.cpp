// SPDX-License-Identifier: Apache-2.0
// How much room caches get, and how they lie there.
#include <tenon/planning/growth.hpp>

#include <tenon/planning/buffer_slices.hpp>  // kAlignment

namespace tenon::inline v1::planning {

std::size_t CacheFormat::scales_offset(const Shape& room) const {
  const std::size_t numbers = element_count(room) * tenon::size_bytes(type);
  return (numbers + kAlignment - 1) / kAlignment * kAlignment;
}

std::size_t CacheFormat::size_bytes(const Shape& room) const {
  if (type != ElementType::kU8) return element_count(room) * tenon::size_bytes(type);
  return scales_offset(room) + element_count(room) / group * 2 * sizeof(float);
}

std::size_t room_for(std::size_t extent) {
  std::size_t room = 64;
  while (room < extent) room += room / 2;
  return room;
}

}  // namespace tenon::inline v1::planning
