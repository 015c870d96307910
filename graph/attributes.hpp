// SPDX-License-Identifier: Apache-2.0
// Attributes of a node: a small ordered map from name to a typed value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/export.hpp>
#include <tenon/graph/partial_shape.hpp>

namespace tenon {
inline namespace v1 {

/// Index of the alternative in Attribute's variant; names appear in messages.
enum class AttributeKind : std::uint8_t { kBool, kInt, kDouble, kString, kType, kInts, kDoubles, kStrings, kShape };
TENON_API std::string_view name(AttributeKind kind);

/// One value. Integers of any width become int64, floating point double; text stays text.
class TENON_API Attribute {
 public:
  using Value = std::variant<bool, std::int64_t, double, std::string, ElementType, std::vector<std::int64_t>,
                             std::vector<double>, std::vector<std::string>, PartialShape>;

  template <typename T>
  requires std::is_integral_v<T> Attribute(T value) {
    if constexpr (std::is_same_v<T, bool>)
      value_ = value;
    else
      value_ = static_cast<std::int64_t>(value);
  }
  template <typename T>
  requires std::is_floating_point_v<T> Attribute(T value) : value_(static_cast<double>(value)) {}
  Attribute(std::string value);
  Attribute(std::string_view value);
  Attribute(const char* value);
  Attribute(ElementType value);
  Attribute(element::Type value);
  template <typename T>
  Attribute(const std::vector<T>& values) {
    if constexpr (std::is_integral_v<T>)
      value_ = std::vector<std::int64_t>(values.begin(), values.end());
    else if constexpr (std::is_floating_point_v<T>)
      value_ = std::vector<double>(values.begin(), values.end());
    else
      value_ = values;
  }
  Attribute(std::initializer_list<std::int64_t> values);
  Attribute(PartialShape value);
  // Out of line: a variant of nine alternatives, inlined at thousands of uses, made files take minutes to
  // compile.
  Attribute(const Attribute& other);
  Attribute(Attribute&& other) noexcept;
  Attribute& operator=(const Attribute& other);
  Attribute& operator=(Attribute&& other) noexcept;
  ~Attribute();

  AttributeKind kind() const { return static_cast<AttributeKind>(value_.index()); }
  const Value& value() const { return value_; }
  template <typename T>
  const T* get_if() const {
    return std::get_if<T>(&value_);
  }
  /// The form used in IR files: lists joined by commas, true/false, type names.
  std::string to_text() const;
  /// Parses the form that to_text writes. @errors kInvalidArgument: the text is not of that kind.
  static Attribute from_text(AttributeKind kind, std::string_view text);
  /// Converts to another kind if nothing is lost (int to double, int to bool, int to a list of one, empty
  /// lists).
  /// @return false if that is impossible.
  bool convert_to(AttributeKind kind);
  TENON_API friend bool operator==(const Attribute& a, const Attribute& b);

 private:
  Value value_;
};

/// Ordered by insertion. Getters without a default throw kNotFound for a missing name and kInvalidArgument for a wrong
/// kind. make_node fills in the defaults of the operation's schema, so kernels need none of their own.
class TENON_API Attributes {
 public:
  using Entry = std::pair<std::string, Attribute>;
  Attributes();
  Attributes(std::initializer_list<Entry> entries);
  Attributes(const Attributes& other);
  Attributes(Attributes&& other) noexcept;
  Attributes& operator=(const Attributes& other);
  Attributes& operator=(Attributes&& other) noexcept;
  ~Attributes();

  void set(std::string_view name, Attribute value);
  void erase(std::string_view name);
  bool has(std::string_view name) const { return find(name) != nullptr; }
  const Attribute* find(std::string_view name) const;
  Attribute* find(std::string_view name);

  bool get_bool(std::string_view name) const;
  std::int64_t get_int(std::string_view name) const;
  double get_double(std::string_view name) const;
  const std::string& get_string(std::string_view name) const;
  ElementType get_type(std::string_view name) const;
  const std::vector<std::int64_t>& get_ints(std::string_view name) const;
  const std::vector<double>& get_doubles(std::string_view name) const;
  const std::vector<std::string>& get_strings(std::string_view name) const;
  const PartialShape& get_shape(std::string_view name) const;

  bool get_bool(std::string_view name, bool fallback) const { return has(name) ? get_bool(name) : fallback; }
  std::int64_t get_int(std::string_view name, std::int64_t fallback) const {
    return has(name) ? get_int(name) : fallback;
  }
  double get_double(std::string_view name, double fallback) const { return has(name) ? get_double(name) : fallback; }
  std::string get_string(std::string_view name, std::string_view fallback) const {
    return has(name) ? get_string(name) : std::string(fallback);
  }
  std::vector<std::int64_t> get_ints(std::string_view name, const std::vector<std::int64_t>& fallback) const;

  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  TENON_API friend bool operator==(const Attributes& a, const Attributes& b);

 private:
  std::vector<Entry> entries_;
};

}  // namespace v1
}  // namespace tenon
