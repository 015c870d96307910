// SPDX-License-Identifier: Apache-2.0
// Typed property objects: a key, the type of its value and whether it may be written.
#pragma once

#include <istream>
#include <ostream>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include <tenon/core/any.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {

enum class PropertyMutability {
  RO,  ///< Can be read only.
  RW,
  WO,  ///< Can be written only.
};

namespace util {
struct PropertyTag {};

/// True when every argument is a key with its value, as Property::operator() makes them.
template <typename... Args>
struct StringAny : std::bool_constant<(std::is_convertible_v<Args, std::pair<std::string, Any>> && ...)> {};
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

/// The value as the property's type. Text is parsed; a negative number for an unsigned property is refused here, with
/// its value named, rather than reaching the device as a huge one.
template <typename T, typename V>
T property_value(V&& value, const char* name) {
  using From = std::decay_t<V>;
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool> && std::is_integral_v<From> &&
                !std::is_same_v<From, bool>) {
    if (!std::in_range<T>(value)) {
      throw Error(Code::kInvalidArgument,
                  std::string(value < From{} ? "Cannot assign negative value " : "Value ") + std::to_string(value) +
                      (value < From{} ? " to unsigned property " : " does not fit property ") + name);
    }
    return static_cast<T>(value);
  } else if constexpr (!std::is_same_v<T, std::string> && std::is_convertible_v<V, std::string>) {
    return Any(std::string(std::forward<V>(value))).template as<T>();
  } else if constexpr (std::is_same_v<T, std::string> && !std::is_convertible_v<V, std::string>) {
    return Any(std::forward<V>(value)).template as<std::string>();
  } else {
    return static_cast<T>(std::forward<V>(value));
  }
}
}  // namespace util

/// `hint::performance_mode(hint::PerformanceMode::LATENCY)` makes the pair that AnyMaps are built from.
template <typename T, PropertyMutability kMutability = PropertyMutability::RW>
class Property : public util::BaseProperty<T, kMutability> {
 public:
  using util::BaseProperty<T, kMutability>::BaseProperty;
  template <typename V>
  std::pair<std::string, Any> operator()(V&& value) const {
    return {this->name(), Any(util::property_value<T>(std::forward<V>(value), this->name()))};
  }
};

/// A property that can't be written has no call operator.
template <typename T>
class Property<T, PropertyMutability::RO> : public util::BaseProperty<T, PropertyMutability::RO> {
 public:
  using util::BaseProperty<T, PropertyMutability::RO>::BaseProperty;
};

/// A property's key with its mutability, as SUPPORTED_PROPERTIES lists them.
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
/// Text of an enumerator and back; one table per enumeration serves both directions.
struct EnumText {
  template <typename E>
  constexpr EnumText(E enumerator, const char* spelling) : value(static_cast<int>(enumerator)), text(spelling) {}
  int value;
  const char* text;
};
TENON_API std::ostream& print_enum(std::ostream& out, int value, std::span<const EnumText> table);
TENON_API std::istream& parse_enum(std::istream& in, int& value, std::span<const EnumText> table, const char* what);
}  // namespace detail

}  // namespace v1
}  // namespace tenon

/// Streams for one enumeration, from a list of {enumerator, "TEXT"}; used at namespace scope beside the enumeration.
#define TENON_ENUM_TEXT(E, what, ...)                                             \
  inline constexpr ::tenon::detail::EnumText k##E##Text[] = __VA_ARGS__;          \
  inline std::ostream& operator<<(std::ostream& out, E value) {                   \
    return ::tenon::detail::print_enum(out, static_cast<int>(value), k##E##Text); \
  }                                                                               \
  inline std::istream& operator>>(std::istream& in, E& value) {                   \
    int number = 0;                                                               \
    ::tenon::detail::parse_enum(in, number, k##E##Text, what);                    \
    value = static_cast<E>(number);                                               \
    return in;                                                                    \
  }
