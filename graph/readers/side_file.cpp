// SPDX-License-Identifier: Apache-2.0
// Reads the part of YAML that exporters' dumps use. @source yaml.org/spec/1.2.2, chapters 7 and 8: flow scalars, block collections
#include <tenon/graph/readers/internal/side_file.hpp>

#include <cctype>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/file.hpp>
#include <tenon/core/mapped_file.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/internal/literals.hpp>
#include <tenon/graph/model.hpp>

namespace tenon {
inline namespace v1 {
namespace {

constexpr std::uintmax_t kMaxSideFileBytes = 16u << 20;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

/// Where the quoted scalar at the beginning of `text` ends; npos if it does not.
std::size_t end_of_quotes(std::string_view text) {
  const char quote = text[0];
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (quote == '"' && text[at] == '\\') {
      ++at;
    } else if (text[at] == quote) {
      if (quote == '\'' && at + 1 < text.size() && text[at + 1] == '\'')
        ++at;
      else
        return at + 1;
    }
  }
  return std::string_view::npos;
}

/// The text that a scalar stands for.
std::string scalar(std::string_view text) {
  text = trimmed(text);
  const char first = text.empty() ? '\0' : text[0];
  if (first == '\'' && end_of_quotes(text) == text.size()) {
    std::string out;
    for (std::size_t at = 1; at + 1 < text.size(); ++at) {
      out += text[at];
      if (text[at] == '\'') ++at;
    }
    return out;
  }
  if (first == '"' && end_of_quotes(text) == text.size()) {
    const auto read = read_literal_map("[" + std::string(text) + "]");
    return read.empty() ? std::string() : read[0].second;
  }
  if (const auto comment = text.find(" #"); comment != std::string_view::npos) text = trimmed(text.substr(0, comment));
  return std::string(text);
}

/// Splits "key: value" at the colon. @return False: the line is no such pair.
bool split_pair(std::string_view line, std::string& key, std::string_view& value) {
  if (line.empty()) return false;
  std::size_t colon = line[0] == '\'' || line[0] == '"' ? end_of_quotes(line) : 0;
  if (colon == std::string_view::npos) return false;
  for (;; ++colon) {
    colon = line.find(':', colon);
    if (colon == std::string_view::npos) return false;
    if (colon + 1 == line.size() || line[colon + 1] == ' ') break;
  }
  key = scalar(line.substr(0, colon));
  value = trimmed(line.substr(colon + 1));
  return !key.empty();
}

/// A map or a list of one level, line by line.
class Block {
 public:
  void add(std::string_view line) {
    std::string key;
    std::string_view value;
    if (line[0] == '-' && (line.size() == 1 || line[1] == ' '))
      items_.emplace_back(std::to_string(items_.size()), scalar(line.substr(1))), is_list_ = true;
    else if (split_pair(line, key, value))
      items_.emplace_back(key, scalar(value));
    else if (!items_.empty())
      items_.back().second += " " + scalar(line);  // Long scalars go on in the next line.
    else
      text_ += " " + scalar(line);
  }
  bool empty() const { return items_.empty(); }
  /// Text without items: the rest of a long scalar.
  const std::string& text() const { return text_; }
  std::string literal() const {
    std::string out = is_list_ ? "[" : "{";
    for (const auto& [key, value] : items_)
      out += (out.size() > 1 ? ", " : "") + (is_list_ ? std::string() : literal_text(key) + ": ") + literal_text(value);
    return out + (is_list_ ? "]" : "}");
  }

 private:
  std::vector<std::pair<std::string, std::string>> items_;
  std::string text_;
  bool is_list_ = false;
};

}  // namespace

AnyMap read_plain_yaml(std::string_view text) {
  AnyMap entries;
  std::string key, flat;
  Block block;
  const auto finish = [&] {
    if (!key.empty()) entries[key] = Any(block.empty() ? flat + block.text() : block.literal());
    block = {};
    key.clear();
  };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string_view content = trimmed(line);
    if (content.empty() || content[0] == '#' || content == "---") continue;
    std::string_view value;
    std::string name;
    const bool is_inner = line[0] == ' ' || (content[0] == '-' && !key.empty());
    if (is_inner) {
      block.add(content);
    } else if (split_pair(content, name, value)) {
      finish();
      key = name;
      flat = scalar(value);
    }
  }
  finish();
  return entries;
}

void add_side_file(const std::filesystem::path& model_file, Model& model) {
  std::string type;
  if (model.has_rt_info({"model_info", "model_type"})) {
    type = model.get_rt_info({"model_info", "model_type"}).as<std::string>();
    for (char& c : type) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (type != "yolo") return;
  } else if (model.get_rt_info().count("model_info") || model.has_rt_info({"framework", "names"})) {
    return;
  }
  const std::filesystem::path file = model_file.parent_path() / "metadata.yaml";
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  if (error || size == 0 || size > kMaxSideFileBytes) return;
  try {
    const Tensor bytes = read_file(file);
    AnyMap entries = read_plain_yaml({static_cast<const char*>(bytes.data()), bytes.size_bytes()});
    if (entries.count("names") && (entries.count("task") || entries.count("stride")))
      model.get_rt_info()["metadata.yaml"] = std::move(entries);
  } catch (const Error&) {  // The model is complete without the file.
  }
}

}  // namespace v1
}  // namespace tenon
