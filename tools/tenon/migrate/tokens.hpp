// SPDX-License-Identifier: Apache-2.0
// Words of C, C++ and CMake, without comments. Any bytes are some words: nothing is refused.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace tenon::tool::migrate {

struct Token {
  enum class Kind { kName, kText, kInclude, kSign };
  Kind kind;
  std::string_view text;  ///< Without the marks around a text or an include.
  std::size_t line;
};

/// Names, signs ("::", "->" and single characters), texts, and includes. The source must outlive them.
std::vector<Token> tokens_of_source(std::string_view source);
/// The same of CMake, where a name is any argument without quotes.
std::vector<Token> tokens_of_cmake(std::string_view source);

}  // namespace tenon::tool::migrate
