// SPDX-License-Identifier: Apache-2.0
// Parses and checks parameters.
#include <tenon/elements/parameters.hpp>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/elements/internal/text.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace {

template <typename T>
std::optional<T> number_of(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Parses a value of the type of `like`; nothing if the text is not of that type.
std::optional<Value> parse(const std::string& text, const Value& like) {
  if (std::holds_alternative<std::string>(like)) return text;
  if (std::holds_alternative<bool>(like)) {
    if (text == "true" || text == "1" || text == "yes") return true;
    if (text == "false" || text == "0" || text == "no") return false;
    return std::nullopt;
  }
  if (std::holds_alternative<std::int64_t>(like)) {
    if (const auto value = number_of<std::int64_t>(text)) return *value;
    return std::nullopt;
  }
  if (const auto value = number_of<double>(text)) return *value;
  return std::nullopt;
}

const char* type_name(const Value& value) {
  constexpr const char* kNames[] = {"true or false", "an integer", "a number", "a text"};
  return kNames[value.index()];
}

std::string bounds_of(const Parameter& parameter) {
  const bool has_min = parameter.least != std::numeric_limits<double>::lowest();
  const bool has_max = parameter.most != std::numeric_limits<double>::max();
  const auto bound = [&](double value) {
    return to_text(std::holds_alternative<double>(parameter.default_value) ? Value(value)
                                                                           : Value(static_cast<std::int64_t>(value)));
  };
  if (has_min && has_max) return "between " + bound(parameter.least) + " and " + bound(parameter.most);
  return has_min ? "at least " + bound(parameter.least) : "at most " + bound(parameter.most);
}

void check(const std::string& owner, const Parameter& parameter, const Value& value) {
  const auto fail = [&](const std::string& wanted) {
    throw Error(Code::kInvalidArgument, owner + ": parameter " + in_quotes(parameter.name) + " is " +
                                            in_quotes(to_text(value)) + "; it must be " + wanted);
  };
  if (const auto* text = std::get_if<std::string>(&value)) {
    const auto& choices = parameter.choices;
    if (!choices.empty() && std::find(choices.begin(), choices.end(), *text) == choices.end())
      fail("one of " + joined(choices));
    return;
  }
  if (std::holds_alternative<bool>(value)) return;
  const double number = std::holds_alternative<double>(value) ? std::get<double>(value)
                                                              : static_cast<double>(std::get<std::int64_t>(value));
  if (!(number >= parameter.least && number <= parameter.most)) fail(bounds_of(parameter));
}

/// The edit distance: how many letters must be inserted, removed or replaced.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

}  // namespace

std::string to_text(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  char digits[64];
  const auto result = std::holds_alternative<double>(value)
                          ? std::to_chars(digits, digits + sizeof digits, std::get<double>(value))
                          : std::to_chars(digits, digits + sizeof digits, std::get<std::int64_t>(value));
  return {digits, result.ptr};
}

std::string nearest_name(std::string_view wrong, const std::vector<std::string>& names) {
  std::string best;
  std::size_t min_distance = (wrong.size() + 2) / 3 + 1;
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(wrong, name);
    if (distance < min_distance) {
      min_distance = distance;
      best = name;
    }
  }
  return best;
}

Parameters::Parameters(std::string owner, const std::vector<Parameter>& known,
                       const std::map<std::string, std::string>& given)
    : owner_(std::move(owner)) {
  std::vector<std::string> names;
  for (const Parameter& parameter : known) names.push_back(parameter.name);
  // Before what is missing: a name that is spelt wrong is the reason for that.
  for (const auto& [name, text] : given) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string nearest = nearest_name(name, names);
    throw Error(Code::kInvalidArgument, owner_ + ": there is no parameter " + in_quotes(name) + "; " +
                                            (nearest.empty() ? "it has: " + (names.empty() ? "none" : joined(names))
                                                             : "did you mean " + in_quotes(nearest) + "?"));
  }
  for (const Parameter& parameter : known) {
    const auto found = given.find(parameter.name);
    if (found == given.end()) {
      if (parameter.is_required)
        throw Error(Code::kInvalidArgument,
                    owner_ + ": parameter " + in_quotes(parameter.name) + " is missing: " + parameter.about);
      values_[parameter.name] = parameter.default_value;
      continue;
    }
    const std::optional<Value> value = parse(found->second, parameter.default_value);
    if (!value)
      throw Error(Code::kInvalidArgument, owner_ + ": parameter " + in_quotes(parameter.name) + " is " +
                                              in_quotes(found->second) + "; it must be " +
                                              type_name(parameter.default_value));
    check(owner_, parameter, *value);
    values_[parameter.name] = *value;
  }
}

const Value& Parameters::find(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end())
    throw Error(Code::kInternal, owner_ + " reads parameter " + in_quotes(name) + ", which it does not describe");
  return found->second;
}

void Parameters::wrong_type(std::string_view name) const {
  throw Error(Code::kInternal, owner_ + " reads parameter " + in_quotes(name) + ", which is " + type_name(find(name)) +
                                   ", as another type");
}

}  // namespace elements
}  // namespace v1
}  // namespace tenon
