// SPDX-License-Identifier: Apache-2.0
// One extent, which may be known only as an interval.
#pragma once

#include <cstdint>
#include <limits>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>

#include "openvino/core/core_visibility.hpp"
#include "openvino/core/interval.hpp"

namespace ov {

/// An extent in [min, max]: "3", "?", "1..8", "2..". Arithmetic saturates at "unbounded" and 0.
class OPENVINO_API Dimension {
 public:
  using value_type = std::int64_t;
  Dimension() = default;
  /// -1 is "any". @errors Exception
  Dimension(value_type length);
  /// A maximum of -1 is "unbounded".
  Dimension(value_type min, value_type max);
  explicit Dimension(std::string_view text);
  Dimension(const std::string& text) : Dimension(std::string_view(text)) {}
  template <typename T,
            std::enable_if_t<std::is_convertible_v<T, const char*> && std::is_pointer_v<std::decay_t<T>>, int> = 0>
  explicit Dimension(const T& text) : Dimension(std::string_view(text)) {}
  static Dimension dynamic() { return {}; }

  bool is_static() const { return min_ == max_; }
  bool is_dynamic() const { return min_ != max_; }
  /// @errors Exception: dynamic.
  value_type get_length() const;
  value_type get_min_length() const { return min_; }
  value_type get_max_length() const { return max_ == kUnbounded ? -1 : max_; }
  Interval get_interval() const { return {min_, max_}; }

  bool operator==(const Dimension& other) const { return min_ == other.min_ && max_ == other.max_; }
  bool operator!=(const Dimension& other) const { return !(*this == other); }
  /// Both move, or both are the same number.
  bool same_scheme(const Dimension& other) const { return (is_dynamic() && other.is_dynamic()) || *this == other; }
  bool compatible(const Dimension& other) const { return min_ <= other.max_ && other.min_ <= max_; }
  bool relaxes(const Dimension& other) const { return min_ <= other.min_ && max_ >= other.max_; }
  bool refines(const Dimension& other) const { return other.relaxes(*this); }
  static bool merge(Dimension& dst, const Dimension& a, const Dimension& b);
  static bool broadcast_merge(Dimension& dst, const Dimension& a, const Dimension& b);

  Dimension operator+(const Dimension& other) const;
  Dimension operator-(const Dimension& other) const;
  Dimension operator*(const Dimension& other) const;
  Dimension operator/(value_type divisor) const;
  Dimension operator&(const Dimension& other) const;
  Dimension& operator+=(const Dimension& other) { return *this = *this + other; }
  Dimension& operator*=(const Dimension& other) { return *this = *this * other; }
  Dimension& operator/=(value_type divisor) { return *this = *this / divisor; }
  Dimension& operator&=(const Dimension& other) { return *this = *this & other; }
  std::string to_string() const;

 private:
  static constexpr value_type kUnbounded = std::numeric_limits<value_type>::max();
  value_type min_ = 0;
  value_type max_ = kUnbounded;
};
OPENVINO_API std::ostream& operator<<(std::ostream& out, const Dimension& dimension);

using Rank = Dimension;

}  // namespace ov
