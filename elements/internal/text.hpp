// SPDX-License-Identifier: Apache-2.0
// Helpers for the texts of messages.
#pragma once

#include <string>
#include <string_view>

namespace tenon {
inline namespace v1 {
namespace elements {

inline std::string in_quotes(std::string_view text) { return "'" + std::string(text) + "'"; }

/// "a, b, c"
template <typename Words>
std::string joined(const Words& words) {
  std::string all;
  for (const auto& word : words) all += (all.empty() ? "" : ", ") + std::string(word);
  return all;
}

}  // namespace elements
}  // namespace v1
}  // namespace tenon
