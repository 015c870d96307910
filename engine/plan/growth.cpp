// SPDX-License-Identifier: Apache-2.0
// How much room caches get, and how they lie there.
#include <tenon/engine/plan/growth.hpp>

#include <tenon/engine/engine.hpp>
#include <tenon/engine/plan/buffer_slices.hpp>  // kAlignment

namespace tenon::inline v1::engine {
namespace {

// Whole vectors on every CPU.
constexpr std::size_t kGroupStep = 16;

}  // namespace

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

CacheFormat cache_format(const Options& options, const Growth& growth, ElementType type, const Shape& shape) {
  if (growth.role == Growth::Role::kOther || type != ElementType::kF32 || growth.axis + 1 >= shape.size() ||
      shape.back() == 0)
    return {};
  const bool is_keys = growth.role == Growth::Role::kKeys;
  CacheFormat format{is_keys ? options.key_cache : options.value_cache, 0};
  if (format.type != ElementType::kU8) return format;
  const std::size_t wanted = is_keys ? options.key_cache_group : options.value_cache_group, row = shape.back();
  format.group = wanted != 0 && wanted % kGroupStep == 0 && row % wanted == 0 ? wanted : row;
  return format;
}

}  // namespace tenon::inline v1::engine
