// SPDX-License-Identifier: Apache-2.0
// A table in plain text: columns as wide as their longest cell.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace tenon::tool {

/// Rows of cells, the first one the heading; cells of missing columns are empty.
inline std::string text_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::string line;
    for (std::size_t i = 0; i < rows[r].size(); ++i) {
      line += rows[r][i];
      if (i + 1 < rows[r].size()) line += std::string(widths[i] - rows[r][i].size() + 2, ' ');
    }
    text += line + "\n";
    if (r == 0) {
      std::size_t total = 0;
      for (std::size_t width : widths) total += width + 2;
      text += std::string(total - 2, '-') + "\n";
    }
  }
  return text;
}

}  // namespace tenon::tool
