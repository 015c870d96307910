// SPDX-License-Identifier: Apache-2.0
// A table in plain text.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tenon::tool {

/// The columns of the terminal on stdout; 0 if stdout is not a terminal, or its size is unknown.
std::size_t terminal_width();

/// Formats a table whose columns are as wide as their longest cell. If lines would be wider than `width`, the widest column is
/// wrapped at its
/// blanks until they fit, though not to less than 16 characters.
/// @param rows   The first one is the heading; rows may be short.
/// @param width  0: no limit, for files and pipes.
std::string text_table(const std::vector<std::vector<std::string>>& rows, std::size_t width = terminal_width());

}  // namespace tenon::tool
