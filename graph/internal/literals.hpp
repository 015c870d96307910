// SPDX-License-Identifier: Apache-2.0
// Maps and lists in the form in which Python prints them: {0: 'person', 1: "driver's seat"}, [640, 640].
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {

/// Pairs of key and value in their order; those of a list have the numbers from 0 as keys. Values that are lists or maps are their
/// texts. Empty if the text is neither a map nor a list, or is damaged.
TENON_API std::vector<std::pair<std::string, std::string>> read_literal_map(std::string_view text);
/// The numbers of a list, or the only number; empty if there is anything else.
TENON_API std::vector<std::size_t> read_literal_sizes(std::string_view text);
/// The text as Python prints it, in single quotes.
TENON_API std::string literal_text(std::string_view text);

}  // namespace v1
}  // namespace tenon
