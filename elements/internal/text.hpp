// SPDX-License-Identifier: Apache-2.0
// Helpers for the texts of messages, and for parameters that are lists.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon {
inline namespace v1 {
namespace elements {

inline std::string in_quotes(std::string_view text) { return "'" + std::string(text) + "'"; }

/// "a, b, c"
template <typename Words>
std::string joined(const Words& words, std::string_view between = ", ") {
  std::string all;
  for (const auto& word : words) (all += all.empty() ? "" : between) += word;
  return all;
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
