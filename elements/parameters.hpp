// SPDX-License-Identifier: Apache-2.0
// The parameters of elements: descriptions that tools can list, and the checked values that a user gave.
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

/// The value of a parameter. It has the type of the parameter's default.
using Value = std::variant<bool, std::int64_t, double, std::string>;

struct Parameter {
  std::string name;
  std::string about;  ///< What it does and its unit, for people to read.
  Value default_value;
  bool is_required = false;  ///< The default is then only an example of the type.
  /// The bounds of numbers, inclusive.
  double least = std::numeric_limits<double>::lowest(), most = std::numeric_limits<double>::max();
  /// The choices for a text; empty: any text.
  std::vector<std::string> choices = {};
};

/// Describes a text that must be one of `choices`.
inline Parameter choice(std::string name, std::string about, std::string default_value,
                        std::vector<std::string> choices) {
  Parameter one{std::move(name), std::move(about), Value(std::move(default_value))};
  one.choices = std::move(choices);
  return one;
}

/// Writes a value as "true", "3", "0.5", or the text itself.
TENON_API std::string to_text(const Value& value);

/// The values of one element's parameters: those that a user gave, and defaults for the others.
/// @thread const members from any thread.
class TENON_API Parameters {
 public:
  /// @param owner  Named in messages: "element 'detect' (infer)".
  /// @param given  Values as texts, whatever the type of the parameter.
  /// @errors kInvalidArgument: an unknown name (the message proposes the nearest one); a value that has another type, is out
  /// of bounds or is none of the choices; a required parameter that is missing.
  Parameters(std::string owner, const std::vector<Parameter>& known, const std::map<std::string, std::string>& given);

  /// The value of parameter `name`. @pre `name` is one of `known`, and T its type.
  /// @errors kInternal: the precondition does not hold, which is a mistake in the element.
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

/// The one of `names` that `wrong` was most likely meant to be: at most a third of its letters, rounded up, differ. Empty if
/// there is none.
TENON_API std::string nearest_name(std::string_view wrong, const std::vector<std::string>& names);

}  // namespace elements
}  // namespace v1
}  // namespace tenon
