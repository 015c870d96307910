// SPDX-License-Identifier: Apache-2.0
// Values of facts as texts.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {

/// More classes than any model has; a larger number is damage, not a class.
constexpr std::size_t kMaxLabels = 1'000'000;

TENON_API std::string lower_case(std::string text);
/// The text, or its beginning and "...", for messages. Characters of UTF-8 stay whole.
TENON_API std::string short_form(const std::string& text, std::size_t most = 60);
/// @return False: something else than finite numbers, between blanks, commas and brackets.
TENON_API bool read_numbers(std::string_view text, std::vector<double>& numbers);
TENON_API bool read_flag(const std::string& text, bool& flag);
/// The shortest text that gives the same number.
TENON_API std::string number_text(double value);
TENON_API std::string numbers_text(const std::vector<double>& values);

/// Names as a list in Python's form, which keeps blanks: "['traffic light', 'person']". Empty if there are none.
TENON_API std::string names_text(const std::vector<std::string>& names);
/// The names of such a list or map; of any other text the words between separators.
TENON_API std::vector<std::string> split_names(const std::string& text, char separator);
/// The names of a map from numbers, as Python prints it, by number; "#3" where number 3 has none. Empty if it is damaged.
TENON_API std::vector<std::string> names_by_number(const std::string& text);

}  // namespace v1
}  // namespace tenon
