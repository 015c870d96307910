// SPDX-License-Identifier: Apache-2.0
// Memory with room in which a cache grows, as it is or in fewer bits.
#pragma once

#include <cstddef>

#include <tenon/core/element_type.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/engine/engine.hpp>
#include <tenon/engine/plan/planning.hpp>

namespace tenon::inline v1::engine {

/// @thread one at a time.
class CacheRoom {
 public:
  CacheRoom() = default;
  /// Room for a cache of that type and shape with the growth's capacity, in its format. @errors kResourceExhausted.
  CacheRoom(ElementType type, const Shape& shape, const Growth& growth);

  /// What a plan's input is bound to: all of it where the format is narrow, else the part in use.
  Tensor input(const Shape& shape) const { return format_.is_narrow() ? memory_ : part(shape); }
  /// The numbers in use, as they lie.
  Tensor part(const Shape& shape) const { return numbers().slice(Shape(shape.size(), 0), shape); }
  /// The cache's value, packed, in its own type. @cost a copy
  Tensor packed(const Shape& shape) const;
  /// Takes over a value of the cache's own type with any strides, or another room's.
  void fill(const Tensor& value);
  void fill(const CacheRoom& other, const Shape& shape);

  bool holds(const Tensor& tensor) const { return memory_ && memory_.memory() == tensor.memory(); }
  const CacheFormat& format() const { return format_; }
  /// With the room.
  const Shape& shape() const { return shape_; }
  std::size_t capacity() const { return shape_[axis_]; }

 private:
  Tensor numbers() const;
  Tensor scales(const Shape& shape) const;
  /// Calls body(packed row, row here, count) for rows that lie together on both sides.
  template <typename Body>
  void for_runs(const Shape& shape, const Body& body) const;
  Tensor memory_;  ///< Its elements are bytes if the format is narrow, else the numbers.
  Shape shape_;
  std::size_t axis_ = 0;
  CacheFormat format_;
};

/// How a cache of that type and shape shall lie. Groups that do not divide a row, or are no whole vectors, are rows.
CacheFormat cache_format(const Options& options, const Growth& growth, ElementType type, const Shape& shape);

}  // namespace tenon::inline v1::engine
