// SPDX-License-Identifier: Apache-2.0
// A JSON document that is read with messages that say which value is wrong.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

/// A value and its path, for messages.
class Place {
 public:
  Place(const nlohmann::json& value, std::string path, const std::string& origin)
      : value_(value), path_(std::move(path)), origin_(origin) {}

  [[noreturn]] void refuse(const std::string& expected) const {
    std::string found = value_.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace).substr(0, 60);
    throw Error(Code::kInvalidArgument, origin_ + ": " + (path_.empty() ? "the document" : path_) + " must be " +
                                            expected + ", found " + found);
  }
  Place at(const char* key) const {
    if (!value_.is_object()) refuse("an object");
    const auto found = value_.find(key);
    if (found == value_.end()) refuse(std::string("an object with \"") + key + "\"");
    return Place(*found, path_.empty() ? key : path_ + "." + key, origin_);
  }
  const nlohmann::json& value() const { return value_; }
  bool has(const char* key) const { return value_.is_object() && value_.contains(key); }
  std::vector<Place> items() const {
    if (!value_.is_array()) refuse("a list");
    std::vector<Place> places;
    for (std::size_t i = 0; i < value_.size(); ++i)
      places.emplace_back(value_[i], path_ + "[" + std::to_string(i) + "]", origin_);
    return places;
  }
  /// A whole number that may be negative.
  std::int64_t whole() const {
    const double value = number();
    if (value != std::floor(value) || !(std::abs(value) <= 9e15)) refuse("a whole number");
    return static_cast<std::int64_t>(value);
  }
  double number() const {
    if (!value_.is_number() || !std::isfinite(value_.get<double>())) refuse("a number");
    return value_.get<double>();
  }
  std::size_t count(std::size_t limit) const {
    const double value = number();
    if (value < 0 || value > static_cast<double>(limit) || value != std::floor(value))
      refuse("a whole number from 0 to " + std::to_string(limit));
    return static_cast<std::size_t>(value);
  }
  std::string text() const {
    if (!value_.is_string()) refuse("a text");
    return value_.get<std::string>();
  }
  bool flag() const {
    if (!value_.is_boolean()) refuse("true or false");
    return value_.get<bool>();
  }

 private:
  const nlohmann::json& value_;
  std::string path_;
  const std::string& origin_;
};

/// Parses a text. @errors kInvalidArgument: no JSON, with line and column; or nested deeper than 32 levels, so that a text of nothing but
/// brackets exhausts neither memory nor stack.
nlohmann::json parse_shallow(std::string_view text, const std::string& origin);

}  // namespace vision
}  // namespace v1
}  // namespace tenon
