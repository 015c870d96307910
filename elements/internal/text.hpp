// SPDX-License-Identifier: Apache-2.0
// Helpers for the texts of messages, and for parameters that are lists.
#pragma once

#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/platform/files.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {

inline std::string in_quotes(std::string_view text) { return "'" + std::string(text) + "'"; }

/// The error of a file that a stream could not open, with the system's reason. @pre errno is still that of the opening.
inline Error cannot_read(const std::string& file) {
  const int error = errno;
  return {platform::code_of(error), file + " cannot be read: " + platform::message_of(error), "open", error};
}

/// "a, b, c"
template <typename Words>
std::string joined(const Words& words, std::string_view between = ", ") {
  std::string all;
  for (const auto& word : words) (all += all.empty() ? "" : between) += word;
  return all;
}

/// Every `place` in the text becomes `value`.
inline void put_in(std::string& text, std::string_view place, std::string_view value) {
  for (std::size_t at = 0; (at = text.find(place, at)) != std::string::npos; at += value.size())
    text.replace(at, place.size(), value);
}

/// The words between separators; empty ones are left out.
inline std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text + separator) {
    if (c != separator)
      word += c;
    else if (!word.empty())
      words.push_back(std::exchange(word, {}));
  }
  return words;
}

}  // namespace elements
}  // namespace v1
}  // namespace tenon
