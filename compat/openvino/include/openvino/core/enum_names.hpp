// SPDX-License-Identifier: Apache-2.0
// Enumerators and their texts in files of models.
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "openvino/core/core_visibility.hpp"
#include "openvino/core/except.hpp"

namespace ov {
namespace detail {
/// What enum_texts(E) of an enumeration here answers: its name, and the texts of its enumerators from 0 on.
struct EnumTexts {
  const char* name;
  std::vector<const char*> texts;
};
template <typename E, typename = void>
struct HasEnumTexts : std::false_type {};
template <typename E>
struct HasEnumTexts<E, std::void_t<decltype(enum_texts(std::declval<E>()))>> : std::true_type {};
OPENVINO_API bool same_ignoring_case(const std::string& a, const std::string& b);
}  // namespace detail

/// A program gives an enumeration of its own its texts by specialising get().
template <typename E>
class EnumNames {
 public:
  /// Capitals and small letters are the same. @errors Exception: no enumerator has the text.
  static E as_enum(const std::string& text) {
    for (const auto& [name, value] : get().values_)
      if (detail::same_ignoring_case(name, text)) return value;
    OPENVINO_THROW("\"", text, "\" is not a member of enum ", get().name_);
  }
  static const std::string& as_string(E value) {
    for (const auto& [name, each] : get().values_)
      if (each == value) return name;
    OPENVINO_THROW(" invalid member of ", get().name_);
  }

 private:
  EnumNames(const std::string& name, const std::vector<std::pair<std::string, E>> values)
      : name_(name), values_(values) {}
  static EnumNames& get() {
    static_assert(detail::HasEnumTexts<E>::value, "specialise ov::EnumNames<E>::get() for this enumeration");
    static EnumNames names = [] {
      const detail::EnumTexts known = enum_texts(E{});
      std::vector<std::pair<std::string, E>> values;
      for (std::size_t i = 0; i < known.texts.size(); ++i) values.emplace_back(known.texts[i], static_cast<E>(i));
      return EnumNames(known.name, values);
    }();
    return names;
  }
  std::string name_;
  std::vector<std::pair<std::string, E>> values_;
};
template <typename E>
std::enable_if_t<std::is_convertible_v<E, std::string>, std::string> as_string(E value) {
  return value;
}
template <typename E>
std::enable_if_t<!std::is_convertible_v<E, std::string>, const std::string&> as_string(E value) {
  return EnumNames<E>::as_string(value);
}
template <typename E>
E as_enum(const std::string& text) {
  return EnumNames<E>::as_enum(text);
}

}  // namespace ov
