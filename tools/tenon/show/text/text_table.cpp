// SPDX-License-Identifier: Apache-2.0
// Computes the widths of columns, and wraps cells.
#include <tenon/tools/tenon/show/text/text_table.hpp>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>

namespace tenon::tool {
namespace {

constexpr std::size_t kGap = 2, kLeast = 16;

std::size_t total_of(const std::vector<std::size_t>& widths) {
  return widths.empty() ? 0 : std::accumulate(widths.begin(), widths.end(), kGap * (widths.size() - 1));
}

/// Wraps the cell into lines of at most `width` characters; longer words stay whole.
std::vector<std::string> wrapped(const std::string& cell, std::size_t width) {
  std::vector<std::string> lines{""};
  for (std::size_t at = 0; at <= cell.size();) {
    const std::size_t end = std::min(cell.find(' ', at), cell.size());
    const std::string word = cell.substr(at, end - at);
    std::string& line = lines.back();
    if (!line.empty() && line.size() + 1 + word.size() > width)
      lines.push_back(word);
    else
      line += (at == 0 ? "" : " ") + word;
    at = end + 1;
  }
  return lines;
}

}  // namespace

std::size_t terminal_width() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::string text_table(const std::vector<std::vector<std::string>>& rows, std::size_t width) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  // Takes one character at a time from the widest column, so that wide columns end up equal.
  while (width != 0 && total_of(widths) > width) {
    const auto widest = std::max_element(widths.begin(), widths.end());
    if (*widest <= kLeast) break;
    --*widest;
  }
  std::string text;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::vector<std::vector<std::string>> cells;
    std::size_t height = 1;
    for (std::size_t i = 0; i < rows[r].size(); ++i) {
      cells.push_back(wrapped(rows[r][i], widths[i]));
      height = std::max(height, cells.back().size());
    }
    for (std::size_t l = 0; l < height; ++l) {
      std::string line;
      for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::string part = l < cells[i].size() ? cells[i][l] : "";
        line += part;
        if (i + 1 < cells.size()) line += std::string(widths[i] - std::min(widths[i], part.size()) + kGap, ' ');
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + "\n";
    }
    if (r == 0) text += std::string(total_of(widths), '-') + "\n";
  }
  return text;
}

}  // namespace tenon::tool
