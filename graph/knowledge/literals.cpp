// SPDX-License-Identifier: Apache-2.0
// Reads the literals that Python's repr() prints. @source docs.python.org, reference/lexical_analysis: escape sequences
#include <tenon/graph/internal/literals.hpp>

#include <charconv>
#include <cstdint>
#include <system_error>

namespace tenon {
inline namespace v1 {
namespace {

void append_utf8(std::string& to, std::uint32_t point) {
  const auto put = [&](std::uint32_t byte) { to += static_cast<char>(byte); };
  const auto rest = [&](int shift) { put(0x80 | ((point >> shift) & 0x3f)); };
  if (point < 0x80) return put(point);
  if (point < 0x800) return put(0xc0 | point >> 6), rest(0);
  if (point < 0x10000) return put(0xe0 | point >> 12), rest(6), rest(0);
  put(0xf0 | (point >> 18 & 7)), rest(12), rest(6), rest(0);
}

class LiteralReader {
 public:
  explicit LiteralReader(std::string_view text) : rest_(text) {}

  /// @return False: damaged.
  bool read(std::vector<std::pair<std::string, std::string>>& pairs) {
    skip_blanks();
    if (rest_.empty() || std::string_view("{[(").find(rest_[0]) == std::string_view::npos) return false;
    const bool is_map = rest_[0] == '{';
    const char end = is_map ? '}' : rest_[0] == '[' ? ']' : ')';
    rest_.remove_prefix(1);
    for (;;) {
      skip_blanks();
      if (take(end)) return skip_blanks(), rest_.empty();
      std::pair<std::string, std::string> pair;
      if (is_map) {
        if (!value(pair.first)) return false;
        skip_blanks();
        if (!take(':')) return false;
      } else {
        pair.first = std::to_string(pairs.size());
      }
      skip_blanks();
      if (!value(pair.second)) return false;
      pairs.push_back(std::move(pair));
      skip_blanks();
      if (!take(',') && (rest_.empty() || rest_[0] != end)) return false;
    }
  }

 private:
  void skip_blanks() {
    while (!rest_.empty() && std::string_view(" \t\r\n").find(rest_[0]) != std::string_view::npos)
      rest_.remove_prefix(1);
  }
  bool take(char wanted) {
    if (rest_.empty() || rest_[0] != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  /// A text, or anything else up to the next separator outside of brackets and quotes.
  bool value(std::string& out) {
    if (rest_.empty()) return false;
    if (rest_[0] == '\'' || rest_[0] == '"') return quoted(out);
    std::size_t depth = 0, at = 0;
    char quote = 0;
    for (; at < rest_.size(); ++at) {
      const char c = rest_[at];
      if (quote != 0) {
        if (c == '\\')
          ++at;
        else if (c == quote)
          quote = 0;
      } else if (c == '\'' || c == '"') {
        quote = c;
      } else if (c == '{' || c == '[' || c == '(') {
        ++depth;
      } else if (c == '}' || c == ']' || c == ')') {
        if (depth-- == 0) break;
      } else if (depth == 0 && (c == ',' || c == ':')) {
        break;
      }
    }
    if (at >= rest_.size()) return false;
    std::string_view found = rest_.substr(0, at);
    rest_.remove_prefix(at);
    while (!found.empty() && (found.back() == ' ' || found.back() == '\n')) found.remove_suffix(1);
    out = found;
    return !out.empty();
  }

  bool quoted(std::string& out) {
    const char quote = rest_[0];
    rest_.remove_prefix(1);
    while (!rest_.empty()) {
      const char c = rest_[0];
      rest_.remove_prefix(1);
      if (c == quote) return true;
      if (c != '\\')
        out += c;
      else if (!escaped(out))
        return false;
    }
    return false;
  }

  bool escaped(std::string& out) {
    if (rest_.empty()) return false;
    const char c = rest_[0];
    rest_.remove_prefix(1);
    const std::size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits == 0) {
      out += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
      return true;
    }
    std::uint32_t point = 0;
    if (rest_.size() < digits) return false;
    const auto read = std::from_chars(rest_.data(), rest_.data() + digits, point, 16);
    if (read.ec != std::errc{} || read.ptr != rest_.data() + digits || point > 0x10ffff) return false;
    rest_.remove_prefix(digits);
    append_utf8(out, point);
    return true;
  }

  std::string_view rest_;
};

}  // namespace

std::vector<std::pair<std::string, std::string>> read_literal_map(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> pairs;
  if (!LiteralReader(text).read(pairs)) pairs.clear();
  return pairs;
}

std::vector<std::size_t> read_literal_sizes(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> items = read_literal_map(text);
  if (items.empty() && !text.empty()) items.emplace_back("0", text);
  std::vector<std::size_t> sizes;
  for (const auto& [key, value] : items) {
    std::size_t size = 0;
    const auto read = std::from_chars(value.data(), value.data() + value.size(), size);
    if (read.ec != std::errc{} || read.ptr != value.data() + value.size()) return {};
    sizes.push_back(size);
  }
  return sizes;
}

std::string literal_text(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

}  // namespace v1
}  // namespace tenon
