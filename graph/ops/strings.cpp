// SPDX-License-Identifier: Apache-2.0
// Strings: conversion from and to numbers, movement by kernels of numbers, and the operations on text.
#include <tenon/graph/ops/internal/strings.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <set>
#include <string_view>

#include <tenon/core/platform/letters.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/ops/internal/kernel.hpp>
#include <tenon/graph/ops/internal/regex.hpp>
#include <tenon/graph/ops/internal/table_rows.hpp>

namespace tenon {
inline namespace v1 {

std::vector<std::string> strings_of(const Tensor& tensor) {
  Tensor packed;
  if (!tensor.is_contiguous()) tensor.copy_to(packed);
  const Tensor& from = packed ? packed : tensor;
  if (from.element_count() == 0) return {};
  const auto* first = from.data<std::string>();
  return {first, first + from.element_count()};
}

Tensor strings_tensor(const Shape& shape, std::vector<std::string> values) {
  Tensor tensor(ElementType::kString, shape);
  if (!values.empty()) std::move(values.begin(), values.end(), tensor.data<std::string>());
  return tensor;
}

bool has_strings(const Node& node) {
  for (std::size_t i = 0; i < node.get_input_size(); ++i)
    if (node.get_input_element_type(i) == element::string) return true;
  for (std::size_t i = 0; i < node.get_output_size(); ++i)
    if (node.get_output_element_type(i) == element::string) return true;
  return false;
}

namespace {
// --- numbers ---------------------------------------------------------------------------------------------------------

/// The shortest text that reads back as the same number of its type.
template <typename T>
std::string number_text(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "INF" : "-INF";
  }
  char text[64];
  const auto end = std::to_chars(text, text + sizeof(text), value).ptr;
  return {text, end};
}

/// A number may have blanks around it, a sign, and be NaN or INF in any case, as ONNX has it.
template <typename T>
T number_from(const std::string& text) {
  const auto is_blank = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  std::string_view rest = text;
  while (!rest.empty() && is_blank(rest.front())) rest.remove_prefix(1);
  while (!rest.empty() && is_blank(rest.back())) rest.remove_suffix(1);
  const bool has_plus = rest.size() > 1 && rest[0] == '+' && rest[1] != '-';
  if (has_plus) rest.remove_prefix(1);
  T value{};
  // Numbers beyond the type's range saturate, as casts between numbers do.
  const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (read.ptr == rest.data() + rest.size() && !rest.empty()) {
    if (read.ec == std::errc()) return value;
    if (read.ec == std::errc::result_out_of_range) {
      if constexpr (std::is_floating_point_v<T>) return static_cast<T>(std::strtod(std::string(rest).c_str(), nullptr));
      if (rest[0] == '-') return std::numeric_limits<T>::min();
      return std::numeric_limits<T>::max();
    }
  }
  if constexpr (std::is_integral_v<T>) {
    const double real = number_from<double>(text);
    if (!(real > static_cast<double>(std::numeric_limits<T>::min())))
      return std::isnan(real) ? T{0} : std::numeric_limits<T>::min();
    if (real >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    return static_cast<T>(real);
  }
  fail("the text \"" + text.substr(0, 64) + "\" is no number; expected such as 42, -1.5, 1e-3, NaN or INF");
}

void convert_strings(const Tensor& x, const Tensor& y) {
  if (x.element_type() == y.element_type()) return move_tensor(x, y);
  if (x.element_type() == ElementType::kString) {
    const std::vector<std::string> texts = strings_of(x);
    dispatch_compute(y.element_type(), [&](auto zero) {
      using T = decltype(zero);
      std::vector<T> values;
      for (const std::string& text : texts) values.push_back(number_from<T>(text));
      if (!values.empty()) store_elements(y.element_type(), values.data(), values.size(), y.data());
    });
    return;
  }
  std::string* to = y.element_count() ? y.data<std::string>() : nullptr;
  dispatch_compute(x.element_type(), [&](auto zero) {
    using T = decltype(zero);
    for (const T value : to_vector<T>(x))
      *to++ = x.element_type() == ElementType::kBool ? (value != T{0} ? "True" : "False") : number_text(value);
  });
}

// --- movement --------------------------------------------------------------------------------------------------------

/// Operations that look at no element, or only at whether one equals or precedes another.
bool only_moves(std::string_view type) {
  static const std::set<std::string_view> types = {"Reshape",         "Squeeze",
                                                   "Unsqueeze",       "Transpose",
                                                   "Concat",          "Split",
                                                   "VariadicSplit",   "Slice",
                                                   "StridedSlice",    "Gather",
                                                   "GatherElements",  "GatherND",
                                                   "ScatterUpdate",   "ScatterElementsUpdate",
                                                   "ScatterNDUpdate", "Select",
                                                   "Broadcast",       "Tile",
                                                   "Reverse",         "ReverseSequence",
                                                   "DepthToSpace",    "SpaceToDepth",
                                                   "Equal",           "NotEqual",
                                                   "Unique",          "ShapeOf",
                                                   "LookUp"};
  return types.count(type) > 0;
}

bool reads_strings(std::string_view type) {
  return type == "StringConcat" || type == "StringSplit" || type == "StringNormalizer" || type == "RegexFullMatch" ||
         type == "If" || type == "Loop";
}

void evaluate_by_numbers(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  std::vector<std::vector<std::string>> texts;
  std::vector<std::string_view> distinct;
  for (const Tensor& input : inputs)
    texts.push_back(input.element_type() == ElementType::kString ? strings_of(input) : std::vector<std::string>());
  for (const auto& each : texts) distinct.insert(distinct.end(), each.begin(), each.end());
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  std::vector<Tensor> numbers(inputs.begin(), inputs.end()), made(outputs.begin(), outputs.end());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (inputs[i].element_type() != ElementType::kString) continue;
    numbers[i] = Tensor(ElementType::kI64, inputs[i].shape());
    auto* to = texts[i].empty() ? nullptr : numbers[i].data<std::int64_t>();
    for (const std::string& text : texts[i])
      *to++ = std::lower_bound(distinct.begin(), distinct.end(), text) - distinct.begin();
  }
  for (std::size_t i = 0; i < made.size(); ++i)
    if (made[i] && made[i].element_type() == ElementType::kString) made[i] = Tensor(ElementType::kI64, made[i].shape());
  node.operation().evaluate(node, numbers, made);
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (!(node.get_output_element_type(i) == element::string)) {
      outputs[i] = made[i];
      continue;
    }
    std::vector<std::string> values;
    for (const std::int64_t number : to_vector<std::int64_t>(made[i]))
      values.emplace_back(distinct.at(static_cast<std::size_t>(number)));
    const Tensor result = strings_tensor(made[i].shape(), std::move(values));
    if (outputs[i])
      move_tensor(result, outputs[i]);
    else
      outputs[i] = result;
  }
}

// --- operations ------------------------------------------------------------------------------------------------------

void require_strings(const Node& node, std::size_t input) {
  const element::Type type = node.get_input_element_type(input);
  if (!type.is_dynamic() && !(type == element::string))
    fail("input " + std::to_string(input) + ": expected string, found " + type.to_string());
}

void infer_string_concat(Node& node) {
  require_strings(node, 0);
  require_strings(node, 1);
  node.set_output_type(0, element::string,
                       broadcast_shapes(node.get_input_partial_shape(0), node.get_input_partial_shape(1), "numpy"));
}
void evaluate_string_concat(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& shape = outputs[0].shape();
  const std::size_t count = element_count(shape);
  if (count == 0) return;
  // Every input as if it had the output's shape: axes of extent 1 have a stride of 0.
  std::vector<std::string> texts[2];
  std::vector<std::size_t> steps[2];
  for (std::size_t k = 0; k < 2; ++k) {
    texts[k] = strings_of(inputs[k]);
    const Shape& own = inputs[k].shape();
    const auto strides = element_strides(own);
    steps[k].assign(shape.size(), 0);
    for (std::size_t axis = 0; axis < own.size(); ++axis)
      if (own[axis] != 1) steps[k][shape.size() - own.size() + axis] = strides[axis];
  }
  std::vector<std::size_t> index(shape.size(), 0);
  auto* to = outputs[0].data<std::string>();
  do {
    std::size_t at[2] = {0, 0};
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      for (std::size_t k = 0; k < 2; ++k) at[k] += index[axis] * steps[k][axis];
    *to++ = texts[0][at[0]] + texts[1][at[1]];
  } while (advance(index, shape));
}

void infer_string_split(Node& node) {
  require_strings(node, 0);
  const PartialShape& x = node.get_input_partial_shape(0);
  PartialShape parts = x;
  if (x.rank().is_static()) {
    std::vector<Dimension> extents(x.begin(), x.end());
    extents.push_back(Dimension::dynamic());
    parts = PartialShape(std::move(extents));
  }
  node.set_output_type(0, element::string, parts);
  node.set_output_type(1, element::i64, x);
}

/// By the delimiter, or by runs of blanks if there is none; at most `most` splits unless that is negative.
std::vector<std::string> split(std::string_view text, std::string_view delimiter, std::int64_t most) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  std::vector<std::string> parts;
  const bool by_blanks = delimiter.empty();
  const auto skip_blanks = [&] {
    const std::size_t first = text.find_first_not_of(kBlanks);
    text = first == text.npos ? std::string_view() : text.substr(first);
    return !text.empty();
  };
  if (by_blanks && !skip_blanks()) return parts;
  for (std::int64_t splits = 0; most < 0 || splits < most; ++splits) {
    const std::size_t end = by_blanks ? text.find_first_of(kBlanks) : text.find(delimiter);
    if (end == text.npos) break;
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end + (by_blanks ? 1 : delimiter.size()));
    if (by_blanks && !skip_blanks()) return parts;
  }
  parts.emplace_back(text);
  return parts;
}

void evaluate_string_split(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const std::string& delimiter = node.get_attributes().get_string("delimiter");
  const std::int64_t most = node.get_attributes().get_int("maxsplit");
  const std::vector<std::string> texts = strings_of(inputs[0]);
  std::vector<std::vector<std::string>> all;
  std::size_t widest = 0;
  std::vector<std::int64_t> counts;
  for (const std::string& text : texts) {
    all.push_back(split(text, delimiter, most));
    widest = std::max(widest, all.back().size());
    counts.push_back(static_cast<std::int64_t>(all.back().size()));
  }
  Shape shape = inputs[0].shape();
  shape.push_back(widest);
  outputs[0] = Tensor(ElementType::kString, shape);
  for (std::size_t i = 0; i < all.size() && widest > 0; ++i)
    std::move(all[i].begin(), all[i].end(), outputs[0].data<std::string>() + i * widest);
  outputs[1] = Tensor(ElementType::kI64, inputs[0].shape());
  if (!counts.empty()) std::copy(counts.begin(), counts.end(), outputs[1].data<std::int64_t>());
}

void infer_full_match(Node& node) {
  require_strings(node, 0);
  node.set_output_type(0, element::boolean, node.get_input_partial_shape(0));
}
void evaluate_full_match(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const auto matches = full_matches(node.get_attributes().get_string("pattern"), strings_of(inputs[0]));
  if (!matches.empty()) std::copy(matches.begin(), matches.end(), static_cast<std::uint8_t*>(outputs[0].data()));
}

// Letters of all scripts change their case as the system has it in the locale that is named, or in C.UTF-8.
class Cases {
 public:
  explicit Cases(const std::string& name) : letters_(name) {}

  std::string change(const std::string& text, bool to_upper) const {
    std::string changed;
    for (std::size_t i = 0; i < text.size();) {
      const auto [letter, length] = decode(text, i);
      // What is no UTF-8 stays as it is.
      if (length == 0) {
        changed += text[i++];
        continue;
      }
      encode(changed_letter(letter, to_upper), changed);
      i += length;
    }
    return changed;
  }

 private:
  std::uint32_t changed_letter(std::uint32_t letter, bool to_upper) const {
    if (letter < 128 || !letters_) {
      if (to_upper && letter >= 'a' && letter <= 'z') return letter - 32;
      return !to_upper && letter >= 'A' && letter <= 'Z' ? letter + 32 : letter;
    }
    return letters_.changed(letter, to_upper);
  }
  /// The letter at a place and its bytes; 0 bytes if there is none.
  static std::pair<std::uint32_t, std::size_t> decode(const std::string& text, std::size_t at) {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
    const std::uint32_t first = byte(at);
    if (first < 0x80) return {first, 1};
    const std::size_t length = first >= 0xf0 && first < 0xf8 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first >= 0xf8 || at + length > text.size()) return {0, 0};
    std::uint32_t letter = first & (0xffu >> (length + 1));
    for (std::size_t i = at + 1; i < at + length; ++i) {
      if ((byte(i) & 0xc0u) != 0x80u) return {0, 0};
      letter = letter << 6 | (byte(i) & 0x3fu);
    }
    return {letter, length};
  }
  static void encode(std::uint32_t letter, std::string& text) {
    const auto put = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
    if (letter < 0x80) return put(letter);
    if (letter < 0x800) {
      put(0xc0u | letter >> 6);
    } else {
      if (letter < 0x10000) {
        put(0xe0u | letter >> 12);
      } else {
        put(0xf0u | letter >> 18);
        put(0x80u | (letter >> 12 & 0x3fu));
      }
      put(0x80u | (letter >> 6 & 0x3fu));
    }
    put(0x80u | (letter & 0x3fu));
  }

  platform::Letters letters_;
};

void infer_normalizer(Node& node) {
  require_strings(node, 0);
  const PartialShape& x = node.get_input_partial_shape(0);
  PartialShape kept = x;
  if (x.rank().is_static()) {
    if (x.size() != 1 && (x.size() != 2 || !x[0].compatible(Dimension(1))))
      fail("input 0 has the shape " + x.to_string() + ", expected [n] or [1, n]");
    if (!node.get_attributes().get_strings("stopwords").empty()) kept[x.size() - 1] = Dimension::dynamic();
    // Where no string is left, one empty string remains.
    if (x[x.size() - 1].is_dynamic() || x[x.size() - 1].get_length() == 0) kept[x.size() - 1] = Dimension::dynamic();
  }
  node.set_output_type(0, element::string, kept);
}
void evaluate_normalizer(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Attributes& attributes = node.get_attributes();
  const std::string& action = attributes.get_string("case_change_action");
  const bool is_case_sensitive = attributes.get_bool("is_case_sensitive");
  const Cases cases(attributes.get_string("locale"));
  const auto compared = [&](const std::string& text) { return is_case_sensitive ? text : cases.change(text, false); };
  std::set<std::string> stopwords;
  for (const std::string& word : attributes.get_strings("stopwords")) stopwords.insert(compared(word));
  std::vector<std::string> kept;
  for (const std::string& text : strings_of(inputs[0])) {
    if (!stopwords.empty() && stopwords.count(compared(text))) continue;
    kept.push_back(action == "NONE" ? text : cases.change(text, action == "UPPER"));
  }
  if (kept.empty()) kept.emplace_back();
  Shape shape = inputs[0].shape();
  shape.back() = kept.size();
  outputs[0] = strings_tensor(shape, std::move(kept));
}
}  // namespace

void evaluate_strings(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const std::string_view type = node.get_type_name();
  if (type == "Convert" || type == "ConvertLike") return convert_strings(inputs[0], outputs[0]);
  if (reads_strings(type)) return node.operation().evaluate(node, inputs, outputs);
  if (only_moves(type)) return evaluate_by_numbers(node, inputs, outputs);
  throw Error(
      Code::kUnimplemented,
      "the operation takes no strings; those that move, compare, convert, look up, join, split or match them do");
}

void add_string_rows(OperationTable& table) {
  table.add("StringConcat", 1, 2, 2, infer_string_concat, evaluate_string_concat,
            "Each string with another behind it.");
  table
      .add("StringSplit", 1, 1, 1, infer_string_split, evaluate_string_split,
           "The parts of strings, and how many there are.")
      .text("delimiter", std::string())
      .integer("maxsplit", -1);
  table
      .add("StringNormalizer", 1, 1, 1, infer_normalizer, evaluate_normalizer,
           "Strings without some words, in upper or lower case.")
      .text("case_change_action", "NONE", {"NONE", "LOWER", "UPPER"})
      .flag("is_case_sensitive", false)
      .text("locale", std::string())
      .texts("stopwords", std::vector<std::string>());
  table
      .add("RegexFullMatch", 1, 1, 1, infer_full_match, evaluate_full_match,
           "Whether a regular expression matches the whole string.")
      .text("pattern");
}

}  // namespace v1
}  // namespace tenon
