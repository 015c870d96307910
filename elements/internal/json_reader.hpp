// SPDX-License-Identifier: Apache-2.0
// Reads JSON that people write: each error names the place in the document.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <tenon/core/error.hpp>
#include <tenon/elements/internal/text.hpp>
#include <tenon/elements/parameters.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {

/// A place in a document.
struct Place {
  std::string document;   ///< "pipeline file".
  std::string path = {};  ///< "/nodes/3/from"; empty: the whole document.
  Place operator/(std::string_view name) const { return {document, path + "/" + std::string(name)}; }
  Place operator/(std::size_t index) const { return *this / std::to_string(index); }
  /// @errors kInvalidArgument, always
  [[noreturn]] void refuse(const std::string& message) const {
    throw Error(Code::kInvalidArgument, document + ": " + (path.empty() ? "" : path + ": ") + message);
  }
};

using Json = nlohmann::json;

/// What the parser says without the name of its exception: "unexpected end of input; expected '[', '{', or a literal".
inline std::string parser_text(const Json::exception& error) {
  std::string text = error.what();
  for (const std::string_view before : {"] ", "column ", ": ", " - "}) {
    const std::size_t at = text.find(before);
    if (at != std::string::npos) text.erase(0, at + before.size());
  }
  return text;
}

/// Parses a document, in which comments are allowed. @errors kInvalidArgument: not JSON, or nested too deeply.
/// @param expected  What the document is, with an example; for the message.
inline Json parse_json(std::string_view text, const Place& place, std::string_view expected = {}) {
  constexpr int kMaxDepth = 64;  // More would only cost time and stack.
  const auto shallow = [&](int depth, Json::parse_event_t, const Json&) {
    if (depth > kMaxDepth)
      place.refuse("lists and objects lie deeper within each other than " + std::to_string(kMaxDepth) + " levels");
    return true;
  };
  try {
    return Json::parse(text, shallow, true, true);
  } catch (const Json::parse_error& error) {
    const std::string_view before = text.substr(0, error.byte > 0 ? error.byte - 1 : 0);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    // Without a line break before it rfind() gives npos, and npos + 1 is 0.
    const std::size_t column = before.size() - (before.rfind('\n') + 1) + 1;
    place.refuse("is not JSON at line " + std::to_string(line) + ", column " + std::to_string(column) + ": " +
                 parser_text(error) + (expected.empty() ? "" : "; it must be " + std::string(expected)));
  } catch (const Json::exception& error) {
    place.refuse("is not JSON: " + parser_text(error));
  }
}

/// The members that an object may have, each with the function that reads it. Unknown members are refused.
using Readers = std::map<std::string, std::function<void(const Json& value, const Place& place)>>;

inline void read_object(const Json& object, const Place& place, const Readers& readers) {
  if (!object.is_object()) place.refuse("must be an object, and is " + std::string(object.type_name()));
  for (const auto& [name, value] : object.items()) {
    const auto found = readers.find(name);
    if (found != readers.end()) {
      found->second(value, place / name);
      continue;
    }
    std::vector<std::string> names;
    for (const auto& [known, reader] : readers) names.push_back(known);
    const std::string nearest = nearest_name(name, names);
    (place / name)
        .refuse("is not known; " +
                (nearest.empty() ? "there are: " + joined(names) : "did you mean '" + nearest + "'?"));
  }
}

inline const Json& list_of(const Json& value, const Place& place) {
  if (!value.is_array()) place.refuse("must be a list, and is " + std::string(value.type_name()));
  return value;
}

inline std::string text_of(const Json& value, const Place& place) {
  if (!value.is_string()) place.refuse("must be a text, and is " + std::string(value.type_name()));
  return value.get<std::string>();
}

inline std::uint32_t count_of(const Json& value, const Place& place, std::uint32_t min,
                              std::uint32_t max = 1'000'000'000) {
  if (!value.is_number_integer() || value.get<std::int64_t>() < min || value.get<std::int64_t>() > max)
    place.refuse("must be an integer from " + std::to_string(min) + " to " + std::to_string(max) + ", and is " +
                 (value.is_number() ? value.dump() : std::string(value.type_name())));
  return value.get<std::uint32_t>();
}

inline double number_of(const Json& value, const Place& place, double min, double max) {
  const double number = value.is_number() ? value.get<double>() : std::nan("");
  if (!(number >= min && number <= max))
    place.refuse("must be a number from " + to_text(min) + " to " + to_text(max) + ", and is " +
                 (value.is_number() ? value.dump() : std::string(value.type_name())));
  return number;
}

template <typename T>
T choice_of(const Json& value, const Place& place, const std::vector<std::pair<std::string, T>>& choices) {
  const std::string text = text_of(value, place);
  std::vector<std::string> names;
  for (const auto& [name, choice] : choices) {
    if (name == text) return choice;
    names.push_back(name);
  }
  place.refuse("is " + in_quotes(text) + "; it must be one of " + joined(names));
}

}  // namespace elements
}  // namespace v1
}  // namespace tenon
