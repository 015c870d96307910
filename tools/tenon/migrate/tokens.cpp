// SPDX-License-Identifier: Apache-2.0
#include <tenon/tools/tenon/migrate/tokens.hpp>

#include <algorithm>

namespace tenon::tool::migrate {
namespace {

bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool goes_on(char c) { return starts_name(c) || (c >= '0' && c <= '9'); }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v'; }

/// A place in a text that counts lines as it goes on.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  bool at_end() const { return at_ >= text_.size(); }
  char now() const { return at_end() ? '\0' : text_[at_]; }
  bool sees(std::string_view what) const { return text_.substr(at_, what.size()) == what; }
  void go(std::size_t count = 1) { go_to(at_ + count); }
  void go_to(std::size_t to) {
    to = std::min(to, text_.size());
    line_ += static_cast<std::size_t>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                                 text_.begin() + static_cast<std::ptrdiff_t>(to), '\n'));
    at_ = to;
  }
  /// Behind the next `what`, or to the end.
  void go_behind(std::string_view what) {
    const std::size_t found = text_.find(what, at_);
    go_to(found == std::string_view::npos ? text_.size() : found + what.size());
  }
  /// To the end of the line, which a backslash makes longer.
  void skip_line() {
    while (!at_end() && now() != '\n') go(now() == '\\' ? 2 : 1);
  }
  /// What stands between a quote here and the next one of its kind; on one line, if it ends there.
  std::string_view quoted(bool over_lines) {
    const char quote = now();
    go();
    const std::size_t begin = at_;
    while (!at_end() && now() != quote && (over_lines || now() != '\n')) go(now() == '\\' ? 2 : 1);
    const std::string_view inside = text_.substr(begin, at_ - begin);
    if (now() == quote) go();
    return inside;
  }
  template <typename F>
  std::string_view while_true(F goes) {
    const std::size_t begin = at_;
    std::size_t end = at_;
    while (end < text_.size() && goes(text_[end])) ++end;
    go_to(end);
    return text_.substr(begin, end - begin);
  }
  std::size_t line() const { return line_; }
  std::size_t at() const { return at_; }
  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
  std::size_t at_ = 0, line_ = 1;
};

/// R"mark(...)mark", behind the R.
std::string_view raw(Reader& in) {
  in.go();
  const std::string_view mark = in.while_true([](char c) { return c != '(' && c != '"' && c != '\n' && c != '\\'; });
  if (in.now() != '(' || mark.size() > 16) return {};
  in.go();
  const std::size_t begin = in.at();
  for (std::size_t end = begin; (end = in.text().find(')', end)) != std::string_view::npos; ++end) {
    const std::string_view after = in.text().substr(end + 1, mark.size() + 1);
    if (after.size() == mark.size() + 1 && after.substr(0, mark.size()) == mark && after.back() == '"') {
      in.go_to(end + mark.size() + 2);
      return in.text().substr(begin, end - begin);
    }
  }
  in.go_to(in.text().size());
  return in.text().substr(begin);
}

/// A directive, behind its #: only what is included counts; the words of others are read as code.
void directive(Reader& in, std::vector<Token>& out) {
  in.while_true([](char c) { return c == ' ' || c == '\t'; });
  const std::string_view name = in.while_true(goes_on);
  if (name != "include" && name != "include_next" && name != "import") return;
  in.while_true([](char c) { return c == ' ' || c == '\t'; });
  const std::size_t line = in.line();
  if (in.now() != '<' && in.now() != '"') return;
  const char end = in.now() == '<' ? '>' : '"';
  in.go();
  const std::string_view path = in.while_true([end](char c) { return c != end && c != '\n'; });
  if (in.now() == end) out.push_back({Token::Kind::kInclude, path, line});
  in.skip_line();
}

}  // namespace

std::vector<Token> tokens_of_source(std::string_view source) {
  std::vector<Token> out;
  Reader in(source);
  bool fresh = true;  // Nothing but blanks since the line began.
  while (!in.at_end()) {
    const char c = in.now();
    const std::size_t line = in.line();
    if (is_blank(c)) {
      fresh |= c == '\n';
      in.go();
      continue;
    }
    if (in.sees("//")) {
      in.skip_line();
      continue;
    }
    if (in.sees("/*")) {
      in.go(2);
      in.go_behind("*/");
      continue;
    }
    if (c == '#' && fresh) {
      in.go();
      directive(in, out);
    } else if (starts_name(c)) {
      const std::string_view name = in.while_true(goes_on);
      if (in.now() == '"' && (name == "R" || name == "u8R" || name == "LR" || name == "uR" || name == "UR"))
        out.push_back({Token::Kind::kText, raw(in), line});
      else
        out.push_back({Token::Kind::kName, name, line});
    } else if (c == '"') {
      out.push_back({Token::Kind::kText, in.quoted(false), line});
    } else if (c == '\'') {
      in.quoted(false);
    } else if (c >= '0' && c <= '9') {
      in.while_true([](char each) { return goes_on(each) || each == '.' || each == '\''; });
    } else {
      const std::size_t size = in.sees("::") || in.sees("->") ? 2 : 1;
      out.push_back({Token::Kind::kSign, source.substr(in.at(), size), line});
      in.go(size);
    }
    fresh = false;
  }
  return out;
}

std::vector<Token> tokens_of_cmake(std::string_view source) {
  std::vector<Token> out;
  Reader in(source);
  while (!in.at_end()) {
    const char c = in.now();
    const std::size_t line = in.line();
    if (is_blank(c)) {
      in.go();
    } else if (in.sees("#[[")) {
      in.go_behind("]]");
    } else if (c == '#') {
      in.while_true([](char each) { return each != '\n'; });
    } else if (c == '"') {
      out.push_back({Token::Kind::kText, in.quoted(true), line});
    } else if (c == '(' || c == ')') {
      out.push_back({Token::Kind::kSign, source.substr(in.at(), 1), line});
      in.go();
    } else {
      const std::string_view word = in.while_true(
          [](char each) { return !is_blank(each) && each != '(' && each != ')' && each != '"' && each != '#'; });
      out.push_back({Token::Kind::kName, word, line});
    }
  }
  return out;
}

}  // namespace tenon::tool::migrate
