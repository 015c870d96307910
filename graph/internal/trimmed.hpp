// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace tenon {
inline namespace v1 {

/// Without blanks and ends of lines at both ends; a view into the text.
inline std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\n\r");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\n\r") - first + 1);
}

}  // namespace v1
}  // namespace tenon
