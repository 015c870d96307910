// SPDX-License-Identifier: Apache-2.0
// Caches that grow where they lie: a parameter that is joined with new rows, and the result that it becomes.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/core/element_type.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>  // IWYU pragma: export

namespace tenon::inline v1::planning {

/// How the numbers of a cache of f32 lie. A row is what lies along the last axis: what one head keeps of one position.
struct CacheFormat {
  /// kF32, kBf16, kF16, or kU8: then each group of neighbours in a row has a scale and a least number in f32, and x is
  /// least + scale * number. These pairs [rows][groups][2] lie behind all numbers, at scales_offset().
  ElementType type = ElementType::kF32;
  std::size_t group = 0;  ///< Numbers that share a scale, for kU8: divides the row.

  bool is_narrow() const { return type != ElementType::kF32; }
  /// @param room  The cache's shape with its capacity.
  std::size_t scales_offset(const Shape& room) const;
  std::size_t size_bytes(const Shape& room) const;
  friend bool operator==(const CacheFormat&, const CacheFormat&) = default;
};

/// The result is Concat(parameter, new...) along `axis`, or Concat(Gather(parameter, rows, 0), new...), and nothing
/// else reads the parameter's elements. Both lie in one memory with room for `capacity` along the axis: a plan writes
/// only the new elements (and moves rows where it is told to).
struct Growth {
  std::size_t parameter = 0, result = 0, axis = 0;
  std::size_t capacity = 0;  ///< 0: not in place.
  /// What attention reads the cache as, if nothing else does.
  enum class Role : std::uint8_t { kOther, kKeys, kValues };
  Role role = Role::kOther;
  CacheFormat format = {};
  friend bool operator==(const Growth&, const Growth&) = default;
};

/// The room that a cache gets when it needs `extent`: one of few sizes, so that plans for it are few, and by half
/// larger than what it needs, so that moving it costs amortised constant time per element.
std::size_t room_for(std::size_t extent);

}  // namespace tenon::inline v1::planning
