// SPDX-License-Identifier: Apache-2.0
// One extent of a tensor that may be known only as an interval.
#pragma once

#include <cstdint>
#include <limits>
#include <ostream>
#include <string>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {

/// An extent in [min, max]; static when both are equal. Names and text form are OpenVINO's: "3", "?", "1..8", "2..".
/// @thread value semantics.
class TENON_API Dimension {
 public:
  using value_type = std::int64_t;
  static constexpr value_type kUnbounded = std::numeric_limits<value_type>::max();

  /// Fully dynamic: 0 and more.
  constexpr Dimension() = default;
  /// A static extent, or -1 for fully dynamic. @errors kInvalidArgument: below -1.
  Dimension(value_type length);
  /// Inclusive bounds; max -1 means unbounded. @errors kInvalidArgument: negative or crossed bounds.
  Dimension(value_type min, value_type max);
  static constexpr Dimension dynamic() { return {}; }

  constexpr bool is_static() const { return min_ == max_; }
  constexpr bool is_dynamic() const { return min_ != max_; }
  /// @errors kFailedPrecondition: dynamic.
  value_type get_length() const;
  constexpr value_type get_min_length() const { return min_; }
  /// -1 when unbounded.
  constexpr value_type get_max_length() const { return max_ == kUnbounded ? -1 : max_; }

  /// True when both may be the same extent: their intervals intersect.
  constexpr bool compatible(const Dimension& other) const { return min_ <= other.max_ && other.min_ <= max_; }
  constexpr bool relaxes(const Dimension& other) const { return min_ <= other.min_ && max_ >= other.max_; }
  constexpr bool refines(const Dimension& other) const { return other.relaxes(*this); }
  constexpr bool same_scheme(const Dimension& other) const { return *this == other; }
  /// Intersection. @return false and dst unchanged when it is empty.
  static bool merge(Dimension& dst, const Dimension& a, const Dimension& b);
  /// As merge, but an extent of 1 yields to any other (numpy broadcasting).
  static bool broadcast_merge(Dimension& dst, const Dimension& a, const Dimension& b);

  /// Interval arithmetic; bounds saturate at "unbounded" and at 0.
  Dimension operator+(const Dimension& other) const;
  Dimension operator-(const Dimension& other) const;
  Dimension operator*(const Dimension& other) const;
  Dimension& operator+=(const Dimension& other) { return *this = *this + other; }
  Dimension& operator*=(const Dimension& other) { return *this = *this * other; }
  friend constexpr bool operator==(const Dimension& a, const Dimension& b) {
    return a.min_ == b.min_ && a.max_ == b.max_;
  }

  std::string to_string() const;
  friend std::ostream& operator<<(std::ostream& out, const Dimension& dimension) {
    return out << dimension.to_string();
  }

 private:
  value_type min_ = 0;
  value_type max_ = kUnbounded;
};

using Rank = Dimension;

}  // namespace v1
}  // namespace tenon
