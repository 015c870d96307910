// SPDX-License-Identifier: Apache-2.0
// What an element can be told, described so that tools list it, and the values that a user gave, checked.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {

/// A parameter's value; its type is that of the default.
using Value = std::variant<bool, std::int64_t, double, std::string>;

struct Parameter {
  std::string name;
  std::string about;  ///< For people: what it does, with its unit.
  Value default_value;
  bool is_required = false;  ///< The default is then only an example of the type.
  /// Of numbers, inclusive.
  double least = std::numeric_limits<double>::lowest(), most = std::numeric_limits<double>::max();
  /// Of texts; empty: any.
  std::vector<std::string> choices = {};
};

/// A text that is one of `choices`.
inline Parameter choice(std::string name, std::string about, std::string default_value,
                        std::vector<std::string> choices) {
  Parameter one{std::move(name), std::move(about), Value(std::move(default_value))};
  one.choices = std::move(choices);
  return one;
}

/// "true", "3", "0.5", or the text.
TENON_API std::string to_text(const Value& value);

/// Values of one element: what a user gave, else defaults.
/// @thread const members from any thread.
class TENON_API Parameters {
 public:
  /// @param owner  Named in messages: "element 'detect' (infer)".
  /// @param given  As texts, whatever their type.
  /// @errors kInvalidArgument: an unknown name (the nearest one is proposed), a value of another type, out of bounds or none
  /// of the choices, a required one that is missing.
  Parameters(std::string owner, const std::vector<Parameter>& known, const std::map<std::string, std::string>& given);

  /// @pre `name` is one of `known`, and T its type. @errors kInternal if not: a mistake in the element.
  template <typename T>
  const T& get(std::string_view name) const {
    const Value& value = find(name);
    if (const T* held = std::get_if<T>(&value)) return *held;
    wrong_type(name);
  }
  bool flag(std::string_view name) const { return get<bool>(name); }
  std::int64_t integer(std::string_view name) const { return get<std::int64_t>(name); }
  double number(std::string_view name) const { return get<double>(name); }
  const std::string& text(std::string_view name) const { return get<std::string>(name); }
  const std::string& owner() const { return owner_; }

 private:
  const Value& find(std::string_view name) const;
  [[noreturn]] void wrong_type(std::string_view name) const;

  std::string owner_;
  std::map<std::string, Value, std::less<>> values_;
};

/// The one of `names` that `wrong` was most likely meant to be; empty if none is near (a third of its letters, rounded up).
TENON_API std::string nearest_name(std::string_view wrong, const std::vector<std::string>& names);

}  // namespace elements
}  // namespace v1
}  // namespace tenon
