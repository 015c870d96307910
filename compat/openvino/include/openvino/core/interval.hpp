// SPDX-License-Identifier: Apache-2.0
// The values that an extent may have.
#pragma once

#include <cstdint>
#include <limits>
#include <ostream>

#include "openvino/core/core_visibility.hpp"

namespace ov {

/// The integers from a minimum to a maximum; s_max is "unbounded". An interval whose minimum lies behind its maximum is empty.
/// Arithmetic keeps to 0 and s_max.
class OPENVINO_API Interval {
 public:
  using value_type = std::int64_t;
  using size_type = std::uint64_t;
  static constexpr value_type s_max = std::numeric_limits<value_type>::max();
  Interval() = default;
  Interval(value_type value) : Interval(value, value) {}
  Interval(value_type min_val, value_type max_val);

  size_type size() const;
  bool empty() const { return min_ == s_max; }
  value_type get_min_val() const { return min_; }
  value_type get_max_val() const { return max_; }
  void set_min_val(value_type value) { min_ = value; }
  void set_max_val(value_type value) { max_ = value; }
  bool has_upper_bound() const { return max_ != s_max; }
  bool contains(value_type value) const { return min_ <= value && value <= max_; }
  bool contains(const Interval& other) const { return contains(other.min_) && contains(other.max_); }

  bool operator==(const Interval& other) const { return min_ == other.min_ && max_ == other.max_; }
  bool operator!=(const Interval& other) const { return !(*this == other); }
  Interval operator+(const Interval& other) const;
  Interval operator-(const Interval& other) const;
  Interval operator*(const Interval& other) const;
  Interval operator&(const Interval& other) const;
  Interval& operator+=(const Interval& other) { return *this = *this + other; }
  Interval& operator-=(const Interval& other) { return *this = *this - other; }
  Interval& operator*=(const Interval& other) { return *this = *this * other; }
  Interval& operator&=(const Interval& other) { return *this = *this & other; }

 private:
  value_type min_ = 0, max_ = s_max;
};
OPENVINO_API std::ostream& operator<<(std::ostream& out, const Interval& interval);

}  // namespace ov
