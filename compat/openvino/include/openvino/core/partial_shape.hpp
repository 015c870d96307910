// SPDX-License-Identifier: Apache-2.0
// A shape whose extents or rank may be unknown.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "openvino/core/dimension.hpp"
#include "openvino/core/except.hpp"
#include "openvino/core/rank.hpp"
#include "openvino/core/shape.hpp"

namespace ov {
namespace op {
struct AutoBroadcastSpec;
}

/// "[1,3,?,224..448]", "[...]" where the rank is unknown. A negative index counts from the end.
class OPENVINO_API PartialShape {
 public:
  using Dimensions = std::vector<Dimension>;
  using value_type = Dimension;
  using iterator = Dimensions::iterator;
  using const_iterator = Dimensions::const_iterator;
  using reverse_iterator = Dimensions::reverse_iterator;
  using const_reverse_iterator = Dimensions::const_reverse_iterator;

  PartialShape() = default;
  PartialShape(std::initializer_list<Dimension> dimensions) : dimensions_(dimensions) {}
  PartialShape(std::vector<Dimension> dimensions) : dimensions_(std::move(dimensions)) {}
  PartialShape(const std::vector<Dimension::value_type>& dimensions)
      : dimensions_(dimensions.begin(), dimensions.end()) {}
  PartialShape(const Shape& shape);
  /// The text form. @errors Exception
  PartialShape(const std::string& text);
  static PartialShape dynamic(Rank rank = Rank::dynamic());

  bool is_static() const;
  bool is_dynamic() const { return !is_static(); }
  Rank rank() const {
    return rank_is_static_ ? Rank(static_cast<Dimension::value_type>(dimensions_.size())) : Rank::dynamic();
  }
  std::size_t size() const {
    OPENVINO_ASSERT(rank_is_static_, "the shape's rank is dynamic");
    return dimensions_.size();
  }
  bool compatible(const PartialShape& other) const;
  bool same_scheme(const PartialShape& other) const;
  bool relaxes(const PartialShape& other) const;
  bool refines(const PartialShape& other) const { return other.relaxes(*this); }
  bool merge_rank(const Rank& rank);
  static bool merge_into(PartialShape& dst, const PartialShape& src);
  /// The shape of what an operation computes from both; NONE leaves dst as it is. @return false: they do not go together.
  static bool broadcast_merge_into(PartialShape& dst, const PartialShape& src, const op::AutoBroadcastSpec& autob);

  /// @errors Exception: dynamic.
  Shape to_shape() const;
  Shape get_shape() const { return to_shape(); }
  /// No extent can be.
  bool all_non_negative() const { return true; }
  Shape get_min_shape() const;
  Shape get_max_shape() const;

  Dimension& operator[](std::ptrdiff_t axis) { return dimensions_[from_front(axis)]; }
  const Dimension& operator[](std::ptrdiff_t axis) const { return dimensions_[from_front(axis)]; }
  explicit operator std::vector<Dimension>() const { return dimensions_; }
  bool operator==(const PartialShape& other) const {
    return rank_is_static_ == other.rank_is_static_ && dimensions_ == other.dimensions_;
  }
  bool operator!=(const PartialShape& other) const { return !(*this == other); }

  iterator begin() noexcept { return dimensions_.begin(); }
  iterator end() noexcept { return dimensions_.end(); }
  const_iterator begin() const noexcept { return dimensions_.begin(); }
  const_iterator end() const noexcept { return dimensions_.end(); }
  const_iterator cbegin() const noexcept { return dimensions_.begin(); }
  const_iterator cend() const noexcept { return dimensions_.end(); }
  reverse_iterator rbegin() noexcept { return dimensions_.rbegin(); }
  reverse_iterator rend() noexcept { return dimensions_.rend(); }
  const_reverse_iterator rbegin() const noexcept { return dimensions_.rbegin(); }
  const_reverse_iterator rend() const noexcept { return dimensions_.rend(); }
  const_reverse_iterator crbegin() const noexcept { return dimensions_.crbegin(); }
  const_reverse_iterator crend() const noexcept { return dimensions_.crend(); }
  void resize(std::size_t count) { changed().resize(count); }
  void reserve(std::size_t count) { dimensions_.reserve(count); }
  void push_back(const Dimension& dimension) { changed().push_back(dimension); }
  template <typename... Args>
  void emplace_back(Args&&... args) {
    changed().emplace_back(std::forward<Args>(args)...);
  }
  iterator insert(iterator position, const Dimension& dimension) { return changed().insert(position, dimension); }
  void insert(iterator position, std::size_t count, const Dimension& dimension) {
    changed().insert(position, count, dimension);
  }
  template <typename Iterator>
  void insert(iterator position, Iterator first, Iterator last) {
    changed().insert(position, first, last);
  }
  std::string to_string() const;

 private:
  Dimensions& changed() {
    rank_is_static_ = true;
    return dimensions_;
  }
  std::size_t from_front(std::ptrdiff_t axis) const {
    const auto index = static_cast<std::size_t>(axis) + (axis < 0 ? dimensions_.size() : 0);
    OPENVINO_ASSERT(index < dimensions_.size(), "axis ", axis, " of a shape of ", dimensions_.size(), " dimensions");
    return index;
  }
  Dimensions dimensions_;
  bool rank_is_static_ = true;
};
/// The sums of extents. @errors Exception: the ranks differ.
OPENVINO_API PartialShape operator+(const PartialShape& a, const PartialShape& b);
OPENVINO_API std::ostream& operator<<(std::ostream& out, const PartialShape& shape);

}  // namespace ov
