// SPDX-License-Identifier: Apache-2.0
// Any and AnyMap: what is the same for every type, text above all.
#include <tenon/core/any.hpp>

#include <charconv>
#include <sstream>
#include <system_error>

namespace tenon {
inline namespace v1 {
namespace detail {

template <typename T>
bool parse_whole(const std::string& text, T& value) {
  const auto end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  return result.ec == std::errc{} && result.ptr == end;
}
TENON_INLINE bool parse_number(const std::string& text, long long& value) { return parse_whole(text, value); }
TENON_INLINE bool parse_number(const std::string& text, unsigned long long& value) { return parse_whole(text, value); }
TENON_INLINE bool parse_number(const std::string& text, float& value) { return parse_whole(text, value); }
TENON_INLINE bool parse_number(const std::string& text, double& value) { return parse_whole(text, value); }
TENON_INLINE bool parse_number(const std::string& text, long double& value) { return parse_whole(text, value); }

TENON_INLINE bool read_stream(const std::string& text, void (*read)(std::istream& in, void* value), void* value) {
  std::istringstream in(text);
  read(in, value);
  return !in.fail();
}

TENON_INLINE std::vector<std::string> split_words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

TENON_INLINE bool split_map(const std::string& text, std::vector<std::pair<std::string, std::string>>& entries) {
  entries.clear();
  if (text.size() < 2 || text.front() != '{' || text.back() != '}') return false;
  std::size_t begin = 1, colon = 0;
  int depth = 0;
  for (std::size_t at = 1; at < text.size(); ++at) {
    const char c = text[at];
    const bool is_last = at + 1 == text.size();
    if (is_last && depth != 0) return false;
    if (is_last || (c == ',' && depth == 0)) {
      if (at == 1 && is_last) return true;  // "{}"
      if (colon <= begin) return false;
      entries.emplace_back(text.substr(begin, colon - begin), text.substr(colon + 1, at - colon - 1));
      begin = at + 1;
      colon = 0;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}') {
      if (--depth < 0) return false;
    } else if (c == ':' && depth == 0 && colon == 0) {
      colon = at;
    }
  }
  return true;
}

TENON_INLINE bool parse_value(const std::string& text, bool& value) {
  const bool yes = text == "YES" || text == "yes" || text == "true" || text == "TRUE" || text == "True" || text == "1";
  const bool no = text == "NO" || text == "no" || text == "false" || text == "FALSE" || text == "False" || text == "0";
  value = yes;
  return yes || no;
}

TENON_INLINE void print_value(std::ostream& out, const AnyMap& map) {
  out << '{';
  bool first = true;
  for (const auto& [key, value] : map) {
    out << (first ? "" : ",") << key << ':' << value;
    first = false;
  }
  out << '}';
}

TENON_INLINE bool parse_value(const std::string& text, AnyMap& map) {
  std::vector<std::pair<std::string, std::string>> entries;
  if (!split_map(text, entries)) return false;
  map.clear();
  for (const auto& [key, value] : entries) map[key] = Any(value);
  return true;
}

}  // namespace detail

TENON_INLINE Any::Any(const char* text) : Any(std::string(text)) {}

TENON_INLINE std::string Any::to_text() const {
  std::ostringstream out;
  if (holder_) holder_->print(out);
  return out.str();
}

TENON_INLINE void Any::refuse(const std::type_info& wanted) const {
  if (!holder_) {
    throw Error(Code::kInvalidArgument,
                "Any is empty, but a value of type " + std::string(wanted.name()) + " was asked for");
  }
  throw Error(Code::kInvalidArgument,
              "cannot convert \"" + to_text() + "\" of type " + type_info().name() + " to " + wanted.name());
}

}  // namespace v1
}  // namespace tenon
