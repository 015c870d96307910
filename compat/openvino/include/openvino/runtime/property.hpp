// SPDX-License-Identifier: Apache-2.0
// Typed keys of properties: a name, the type of the value, and whether it may be written.
#pragma once

#include <istream>
#include <iterator>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>

#include "openvino/core/any.hpp"
#include "openvino/core/core_visibility.hpp"
#include "openvino/core/except.hpp"

namespace ov {

enum class PropertyMutability { RO, RW, WO };

namespace util {
struct PropertyTag {};

/// True when every argument is a key with its value, and there is one.
template <typename... Args>
struct StringAny {
  static constexpr bool value =
      sizeof...(Args) != 0 && (std::is_convertible_v<Args, std::pair<std::string, Any>> && ...);
};
template <typename T, typename... Args>
using EnableIfAllStringAny = std::enable_if_t<StringAny<Args...>::value, T>;

template <typename T, PropertyMutability kMutability = PropertyMutability::RW>
struct BaseProperty : PropertyTag {
  using value_type = T;
  static constexpr PropertyMutability mutability = kMutability;
  constexpr BaseProperty(const char* name) : name_(name) {}
  constexpr const char* name() const { return name_; }
  bool operator==(const std::string& text) const { return text == name_; }
  friend bool operator==(const std::string& text, const BaseProperty& property) { return text == property.name_; }
  friend std::ostream& operator<<(std::ostream& out, const BaseProperty& property) { return out << property.name_; }

 private:
  const char* name_;
};

template <typename T, typename V>
T property_value(V&& value, const char* name) {
  using From = std::decay_t<V>;
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool> && std::is_integral_v<From> &&
                !std::is_same_v<From, bool>) {
    if constexpr (std::is_signed_v<From> && std::is_unsigned_v<T>) {
      if (value < 0) OPENVINO_THROW("Cannot assign negative value ", value, " to unsigned property ", name);
    }
    const T converted = static_cast<T>(value);
    if (static_cast<From>(converted) != value) OPENVINO_THROW("Value ", value, " does not fit property ", name);
    return converted;
  } else if constexpr (!std::is_same_v<T, std::string> && std::is_convertible_v<V, std::string> &&
                       !std::is_convertible_v<V, T>) {
    return Any(std::string(std::forward<V>(value))).template as<T>();
  } else if constexpr (std::is_same_v<T, std::string> && !std::is_convertible_v<V, std::string>) {
    return Any(std::forward<V>(value)).template as<std::string>();
  } else {
    return static_cast<T>(std::forward<V>(value));
  }
}
}  // namespace util

template <typename T, PropertyMutability kMutability = PropertyMutability::RW>
class Property : public util::BaseProperty<T, kMutability> {
 public:
  using util::BaseProperty<T, kMutability>::BaseProperty;
  template <typename... Args>
  std::pair<std::string, Any> operator()(Args&&... args) const {
    if constexpr (sizeof...(Args) == 1)
      return {this->name(), Any(util::property_value<T>(std::forward<Args>(args)..., this->name()))};
    else
      return {this->name(), Any(T{std::forward<Args>(args)...})};
  }
};
/// It is only read, so it has no call operator.
template <typename T>
class Property<T, PropertyMutability::RO> : public util::BaseProperty<T, PropertyMutability::RO> {
 public:
  using util::BaseProperty<T, PropertyMutability::RO>::BaseProperty;
};

struct PropertyName : public std::string {
  using std::string::string;
  PropertyName(const std::string& text, PropertyMutability mutability = PropertyMutability::RW)
      : std::string(text), mutability_(mutability) {}
  template <typename P, std::enable_if_t<std::is_base_of_v<util::PropertyTag, P>, bool> = true>
  PropertyName(const P& property) : std::string(property.name()), mutability_(P::mutability) {}
  bool is_mutable() const { return mutability_ != PropertyMutability::RO; }
  PropertyMutability get_mutability() const { return mutability_; }

 private:
  PropertyMutability mutability_ = PropertyMutability::RW;
};

namespace detail {
/// The text of an enumerator, one table for both directions.
struct EnumText {
  template <typename E>
  constexpr EnumText(E enumerator, const char* spelling) : value(static_cast<int>(enumerator)), text(spelling) {}
  int value;
  const char* text;
};
OPENVINO_API std::ostream& print_enum(std::ostream& out, int value, const EnumText* first, const EnumText* last);
OPENVINO_API int parse_enum(std::istream& in, const EnumText* first, const EnumText* last, const char* what);
}  // namespace detail
}  // namespace ov

/// Streams for one enumeration, from a list of {enumerator, "TEXT"}.
#define OV_TENON_ENUM_TEXT(E, what, ...)                                                                         \
  inline constexpr ::ov::detail::EnumText k##E##Text[] = __VA_ARGS__;                                            \
  inline std::ostream& operator<<(std::ostream& out, E value) {                                                  \
    return ::ov::detail::print_enum(out, static_cast<int>(value), std::begin(k##E##Text), std::end(k##E##Text)); \
  }                                                                                                              \
  inline std::istream& operator>>(std::istream& in, E& value) {                                                  \
    value = static_cast<E>(::ov::detail::parse_enum(in, std::begin(k##E##Text), std::end(k##E##Text), what));    \
    return in;                                                                                                   \
  }
