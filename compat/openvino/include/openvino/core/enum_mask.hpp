// SPDX-License-Identifier: Apache-2.0
// Sets of enumerators that are bits.
#pragma once

#include <initializer_list>
#include <ostream>
#include <type_traits>

namespace ov {

template <typename T>
class EnumMask {
 public:
  using value_type = std::underlying_type_t<T>;
  EnumMask() = default;
  EnumMask(const T& value) : value_(static_cast<value_type>(value)) {}
  EnumMask(std::initializer_list<T> values) {
    for (const T& value : values) value_ |= static_cast<value_type>(value);
  }
  value_type value() const { return value_; }
  bool is_any_set(const EnumMask& other) const { return (value_ & other.value_) != 0; }
  bool is_set(const EnumMask& other) const { return (value_ & other.value_) == other.value_; }
  bool is_any_clear(const EnumMask& other) const { return !is_set(other); }
  bool is_clear(const EnumMask& other) const { return !is_any_set(other); }
  bool operator[](const EnumMask& other) const { return is_set(other); }
  void set(const EnumMask& other) { value_ |= other.value_; }
  void clear(const EnumMask& other) { value_ &= ~other.value_; }
  void clear_all() { value_ = 0; }
  bool operator==(const EnumMask& other) const { return value_ == other.value_; }
  bool operator!=(const EnumMask& other) const { return value_ != other.value_; }
  EnumMask operator&(const EnumMask& other) const { return from(value_ & other.value_); }
  EnumMask operator|(const EnumMask& other) const { return from(value_ | other.value_); }
  EnumMask& operator&=(const EnumMask& other) { return *this = *this & other; }
  EnumMask& operator|=(const EnumMask& other) { return *this = *this | other; }
  friend std::ostream& operator<<(std::ostream& out, const EnumMask& mask) { return out << mask.value_; }

 private:
  static EnumMask from(value_type value) {
    EnumMask made;
    made.value_ = value;
    return made;
  }
  value_type value_{};
};

}  // namespace ov
