// SPDX-License-Identifier: Apache-2.0
#include <tenon/graph/knowledge/internal/values.hpp>

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

#include <tenon/core/any.hpp>
#include <tenon/graph/internal/literals.hpp>

namespace tenon {
inline namespace v1 {

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string short_form(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  return text.substr(0, most) + "...";
}

bool read_numbers(std::string_view text, std::vector<double>& numbers) {
  for (const char *at = text.data(), *end = at + text.size(); at != end;) {
    if (std::string_view(" ,\t\n[]()").find(*at) != std::string_view::npos) {
      ++at;
      continue;
    }
    double value = 0;
    const auto result = std::from_chars(at, end, value);
    if (result.ec != std::errc{} || !std::isfinite(value)) return false;
    numbers.push_back(value);
    at = result.ptr;
  }
  return true;
}

bool read_flag(const std::string& text, bool& flag) { return parse_text(lower_case(text), flag); }

std::string number_text(double value) {
  std::array<char, 40> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end.ptr};
}

std::string numbers_text(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) text += (text.empty() ? "" : " ") + number_text(value);
  return text;
}

std::string names_text(const std::vector<std::string>& names) {
  if (names.empty()) return {};
  std::string text = "[";
  for (const std::string& name : names) text += (text.size() > 1 ? ", " : "") + literal_text(name);
  return text + "]";
}

std::vector<std::string> split_names(const std::string& text, char separator) {
  std::vector<std::string> names;
  if (text == "[]") return names;
  if (!text.empty() && text[0] == '[') {
    for (auto& [key, name] : read_literal_map(text)) names.push_back(std::move(name));
    if (!names.empty()) return names;
  }
  std::string name;
  for (const char c : text + separator) {
    const bool is_end = c == separator || (separator == ' ' && (c == '\n' || c == '\t'));
    if (!is_end)
      name += c;
    else if (!name.empty())
      names.push_back(std::exchange(name, {}));
  }
  return names;
}

std::vector<std::string> names_by_number(const std::string& text) {
  std::vector<std::string> names;
  for (auto& [key, name] : read_literal_map(text)) {
    std::size_t number = 0;
    const auto read = std::from_chars(key.data(), key.data() + key.size(), number);
    if (read.ec != std::errc{} || read.ptr != key.data() + key.size() || number >= kMaxLabels) return {};
    while (names.size() <= number) names.push_back("#" + std::to_string(names.size()));
    names[number] = std::move(name);
  }
  return names;
}

}  // namespace v1
}  // namespace tenon
