// SPDX-License-Identifier: Apache-2.0
// PartialShape: extents or rank may be unknown until a tensor arrives.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/graph/dimension.hpp>

namespace tenon {
inline namespace v1 {

/// OpenVINO's PartialShape. Text form: "[1,3,?,224..448]", "[...]" for a dynamic rank.
/// @thread value semantics.
class TENON_API PartialShape {
 public:
  using value_type = Dimension;
  using iterator = std::vector<Dimension>::iterator;
  using const_iterator = std::vector<Dimension>::const_iterator;

  /// Rank 0: a scalar.
  PartialShape() = default;
  PartialShape(std::initializer_list<Dimension> dimensions) : dimensions_(dimensions) {}
  PartialShape(std::vector<Dimension> dimensions) : dimensions_(std::move(dimensions)) {}
  PartialShape(const std::vector<Dimension::value_type>& dimensions);
  PartialShape(const Shape& shape);
  /// Parses the text form. @errors kInvalidArgument.
  explicit PartialShape(std::string_view text);
  explicit PartialShape(const char* text) : PartialShape(std::string_view(text)) {}
  static PartialShape dynamic(Rank rank = Rank::dynamic());

  Rank rank() const {
    return rank_is_static_ ? Rank(static_cast<Dimension::value_type>(dimensions_.size())) : Rank::dynamic();
  }
  bool is_static() const;
  bool is_dynamic() const { return !is_static(); }
  /// Number of dimensions. @errors kFailedPrecondition: dynamic rank.
  std::size_t size() const;

  /// @errors kFailedPrecondition: a dynamic dimension (the message prints the shape).
  Shape to_shape() const;
  Shape get_shape() const { return to_shape(); }
  /// Bounds as shapes: unbounded extents are the largest size_t; rank must be static.
  Shape get_min_shape() const;
  Shape get_max_shape() const;

  const Dimension& operator[](std::size_t axis) const { return dimensions_[axis]; }
  Dimension& operator[](std::size_t axis) { return dimensions_[axis]; }
  const_iterator begin() const { return dimensions_.begin(); }
  const_iterator end() const { return dimensions_.end(); }
  iterator begin() { return dimensions_.begin(); }
  iterator end() { return dimensions_.end(); }
  void push_back(const Dimension& dimension) { dimensions_.push_back(dimension); }

  bool compatible(const PartialShape& other) const;
  bool same_scheme(const PartialShape& other) const { return *this == other; }
  bool relaxes(const PartialShape& other) const;
  bool refines(const PartialShape& other) const { return other.relaxes(*this); }
  /// Intersects every dimension of src into dst. @return false if they contradict; dst then still has a valid state.
  static bool merge_into(PartialShape& dst, const PartialShape& src);
  /// numpy broadcasting of two shapes. @return false if they do not broadcast.
  static bool broadcast_merge_into(PartialShape& dst, const PartialShape& src);

  friend bool operator==(const PartialShape& a, const PartialShape& b) {
    return a.rank_is_static_ == b.rank_is_static_ && a.dimensions_ == b.dimensions_;
  }
  std::string to_string() const;
  friend std::ostream& operator<<(std::ostream& out, const PartialShape& shape) { return out << shape.to_string(); }

 private:
  std::vector<Dimension> dimensions_;
  bool rank_is_static_ = true;
};

inline std::string to_string(const PartialShape& shape) { return shape.to_string(); }

}  // namespace v1
}  // namespace tenon
