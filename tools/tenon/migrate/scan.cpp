// SPDX-License-Identifier: Apache-2.0
// What a source and a CMake file use.
#include <tenon/tools/tenon/migrate/scan.hpp>

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include <tenon/tools/tenon/migrate/tokens.hpp>

namespace tenon::tool::migrate {
namespace {

constexpr std::size_t kLongestName = 512;
constexpr char kUnknown[] = "no header of Tenon's declares it";

/// "class" of what a table calls it.
std::string kind_of(const std::string& named) {
  if (named == "method" || named == "function" || named == "C function") return "function";
  if (named == "macro") return "macro";
  if (named == "C key" || named == "variable") return "property";
  return named == "value" ? "value" : "class";
}

class Source {
 public:
  Source(const std::vector<Token>& tokens, const std::string& file, Found& found)
      : tokens_(tokens), file_(file), found_(found), known_(*found.known) {}

  void scan() {
    for (const Token& token : tokens_) {
      if (token.kind == Token::Kind::kInclude) include(token);
      if (token.kind == Token::Kind::kName && token.text == known_.name_space) uses_it_ = true;
    }
    if (!uses_it_) return;
    for (at_ = 0; at_ < tokens_.size(); ++at_) {
      const Token& token = tokens_[at_];
      if (token.kind == Token::Kind::kText) text(token);
      if (token.kind != Token::Kind::kName) continue;
      if (is_sign(at_ - 1, ".") || is_sign(at_ - 1, "->"))
        member(token);
      else
        name();
    }
  }

 private:
  bool is_sign(std::size_t at, std::string_view sign) const {
    return at < tokens_.size() && tokens_[at].kind == Token::Kind::kSign && tokens_[at].text == sign;
  }
  bool is_name(std::size_t at) const { return at < tokens_.size() && tokens_[at].kind == Token::Kind::kName; }

  Use& add(const std::string& kind, const std::string& name, Verdict verdict, std::size_t line) {
    Use& use = found_.uses[{kind, name}];
    if (use.count++ == 0) {
      use.file = file_;
      use.line = line;
    }
    use.verdict = std::max(use.verdict, verdict);
    return use;
  }
  void there(const std::string& kind, const std::string& name, std::size_t line) {
    const Note* differs = find(known_.differs, name);
    Use& use = add(kind, name, differs ? Verdict::kDiffers : Verdict::kThere, line);
    if (differs) explain(use, *differs);
  }
  void absent(const std::string& kind, const std::string& name, const Note* note, std::size_t line) {
    static const Note unknown{"", kUnknown, ""};
    explain(add(kind, name, Verdict::kAbsent, line), note ? *note : unknown);
  }
  static void explain(Use& use, const Note& note) {
    use.reason = note.reason;
    use.instead = note.instead;
  }

  void include(const Token& token) {
    const std::string path(token.text);
    if (std::none_of(known_.begins.begin(), known_.begins.end(),
                     [&](const std::string& begin) { return path.compare(0, begin.size(), begin) == 0; }))
      return;
    uses_it_ = true;
    if (known_.headers.count(path))
      there("header", path, token.line);
    else
      absent("header", path, find(known_.absent_headers, path), token.line);
  }

  void text(const Token& token) {
    if (known_.keys.count(std::string(token.text))) there("property", std::string(token.text), token.line);
  }

  /// After a dot or an arrow. Whose member it is, only a compiler knows: names of the API's classes count.
  void member(const Token& token) {
    if (!is_sign(at_ + 1, "(") && !is_sign(at_ + 1, "<")) return;
    const std::string name(token.text);
    if (known_.methods.count(name)) return there("function", name, token.line);
    if (name.find('_') == std::string::npos) return;  // read() and the like are anything's.
    for (const Note& note : known_.absent) {
      const std::size_t colon = note.name.rfind("::");
      if (colon != std::string::npos && note.name.compare(colon + 2, std::string::npos, name) == 0)
        return absent("function", note.name, &note, token.line);
    }
  }

  /// A name, with all that follows it by "::".
  void name() {
    const std::size_t line = tokens_[at_].line;
    const bool global = is_sign(at_ - 1, "::");
    std::vector<std::string> parts{std::string(tokens_[at_].text)};
    const std::size_t first = at_;
    while (is_sign(at_ + 1, "::") && is_name(at_ + 2)) {
      at_ += 2;
      parts.emplace_back(tokens_[at_].text);
    }
    const auto aliased = aliases_.find(parts[0]);
    if (aliased != aliases_.end()) parts[0] = aliased->second;
    std::string whole = parts[0];
    for (std::size_t i = 1; i < parts.size() && whole.size() < kLongestName; ++i) whole += "::" + parts[i];
    if (whole.size() >= kLongestName) return;
    if (whole.compare(0, known_.name_space.size() + 2, known_.name_space + "::") == 0) {
      if (is_before(first, "namespace")) {
        if (is_before(first - 1, "using")) opened_.push_back(whole);
        if (is_sign(at_ + 1, "{")) reopened();
        return;
      }
      if (is_sign(first - 1, "=") && is_name(first - 2) && is_before(first - 2, "namespace")) {
        aliases_[std::string(tokens_[first - 2].text)] = whole;
        return;
      }
      return qualified(whole, line);
    }
    if (whole == known_.name_space) {
      if (is_before(first, "namespace") && is_before(first - 1, "using")) opened_.push_back(whole);
      if (is_before(first, "namespace") && is_sign(at_ + 1, "{")) reopened();
      return;
    }
    const auto plain = known_.names.find(whole);
    if (plain != known_.names.end()) {
      // A name in C, or a macro.
      if (plain->second[0] == 'C' || plain->second == "macro") there(kind_of(plain->second), whole, line);
      return;
    }
    if (global) return;
    for (const std::string& space : opened_) {
      const auto found = known_.names.find(space + "::" + whole);
      if (found == known_.names.end()) continue;
      if (found->second != "method") there(kind_of(found->second), found->first, line);
      return;
    }
    if (const Note* note = exact(whole)) absent("class", note->name, note, line);
  }
  /// namespace ov {...}: what stands in it may be the project's own.
  void reopened() {
    std::size_t depth = 0;
    for (std::size_t at = at_ + 1; at < tokens_.size(); ++at) {
      if (is_sign(at, "{")) ++depth;
      if (is_sign(at, "}") && --depth == 0) return;
      if (is_name(at)) found_.own.emplace(tokens_[at].text);
    }
  }
  bool is_before(std::size_t at, std::string_view word) const {
    return is_name(at - 1) && tokens_[at - 1].text == word;
  }

  /// An absent name as it stands after `using namespace`, or a macro.
  const Note* exact(const std::string& whole) const {
    for (const Note& note : known_.absent) {
      if (note.name == whole) return &note;
      for (const std::string& space : opened_)
        if (note.name == space + "::" + whole) return &note;
    }
    return nullptr;
  }

  void qualified(const std::string& whole, std::size_t line) {
    const auto found = known_.names.find(whole);
    if (found != known_.names.end()) return there(kind_of(found->second), whole, line);
    const std::size_t colon = whole.rfind("::");
    const auto parent = known_.names.find(whole.substr(0, colon));
    if (parent != known_.names.end() && parent->second == "type")
      return there("value", whole, line);  // A value of what the other name stands for.
    if (const Note* note = find(known_.absent, whole)) return absent("class", whole, note, line);
    // A namespace, or a member that a class has from its base.
    const std::string begin = whole + "::";
    const auto inside = known_.names.lower_bound(begin);
    if (inside != known_.names.end() && inside->first.compare(0, begin.size(), begin) == 0) return;
    if (parent != known_.names.end() && known_.methods.count(whole.substr(colon + 2)))
      return there("function", whole, line);
    absent("class", whole, nullptr, line);
  }

  const std::vector<Token>& tokens_;
  const std::string& file_;
  Found& found_;
  const Known& known_;
  bool uses_it_ = false;
  std::size_t at_ = 0;
  std::unordered_map<std::string, std::string> aliases_;  ///< namespace a = ov::b.
  std::vector<std::string> opened_;                       ///< using namespace.
};

}  // namespace

void forget_own(Found& found) {
  const std::size_t begin = found.known->name_space.size() + 2;
  for (auto use = found.uses.begin(); use != found.uses.end();) {
    const std::string& name = use->first.second;
    const bool own = use->second.reason == kUnknown && name.size() > begin &&
                     found.own.count(name.substr(begin, name.find("::", begin) - begin));
    use = own ? found.uses.erase(use) : std::next(use);
  }
}

void scan_source(std::string_view text, const std::string& file, std::vector<Found>& found) {
  const std::vector<Token> tokens = tokens_of_source(text);
  for (Found& each : found) Source(tokens, file, each).scan();
}

void scan_cmake(std::string_view text, const std::string& file, std::vector<Found>& found) {
  static const std::set<std::string> kCommands = {
      "find_package",   "pkg_check_modules",   "pkg_search_module",         "target_link_libraries",
      "link_libraries", "include_directories", "target_include_directories"};
  const std::vector<Token> tokens = tokens_of_cmake(text);
  for (std::size_t at = 0; at + 1 < tokens.size(); ++at) {
    if (tokens[at].kind != Token::Kind::kName || tokens[at + 1].text != "(" ||
        tokens[at + 1].kind != Token::Kind::kSign)
      continue;
    std::string command(tokens[at].text);
    std::transform(command.begin(), command.end(), command.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
    if (!kCommands.count(command)) continue;
    std::size_t depth = 0, end = at + 1;
    std::string line(tokens[at].text);
    std::vector<std::pair<std::string, std::size_t>> arguments;
    for (; end < tokens.size(); ++end) {
      const Token& token = tokens[end];
      const bool sign = token.kind == Token::Kind::kSign;
      if (sign) depth += token.text == "(" ? 1 : std::size_t(-1);
      if (!sign) arguments.emplace_back(token.text, token.line);
      if (line.size() < 400) {
        if (!sign && line.back() != '(') line += ' ';
        line += token.text.substr(0, 200);
      }
      if (depth == 0) break;
    }
    for (Found& each : found) {
      bool named = false;
      for (const auto& [argument, number] : arguments) {
        if (argument == "OPTIONAL_COMPONENTS") break;  // The project is built without them, too.
        // Components count after the name of their package alone: "Runtime" is anything's.
        const bool package =
            command == "find_package" && !arguments.empty() && arguments[0].first.find(each.known->title) == 0;
        for (const Component& component : each.known->components) {
          const bool a_word = component.name.find("::") == std::string::npos &&
                              component.name.find('-') == std::string::npos &&
                              component.name.find('$') == std::string::npos;
          if (!matches(component.name, argument) || (a_word && !package)) continue;
          named = true;
          Use& use = each.uses[{"build", command + "(" + argument + ")"}];
          if (use.count++ == 0) {
            use.file = file;
            use.line = number;
          }
          use.verdict = component.there ? Verdict::kThere : Verdict::kAbsent;
          use.reason = component.reason;
          break;
        }
      }
      if (named) each.lines.push_back({file, line, tokens[at].line});
    }
    at = std::min(end, tokens.size() - 1);
  }
}

}  // namespace tenon::tool::migrate
