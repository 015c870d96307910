// SPDX-License-Identifier: Apache-2.0
// Text forms of the IR.
#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/graph/readers/openvino_ir/internal/ir_text.hpp>
#include <tenon/graph/readers/openvino_ir/ir_reader.hpp>

namespace tenon {
inline namespace v1 {
namespace ir {

namespace {
constexpr std::pair<std::string_view, std::string_view> kLayerNames[] = {
    {"Const", "Constant"}, {"PReLU", "PRelu"}, {"ReLU", "Relu"}, {"SoftMax", "Softmax"}};

Dimension::value_type length(std::string_view digits, std::string_view whole) {
  Dimension::value_type value = 0;
  const auto end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, value);
  if (result.ec != std::errc{} || result.ptr != end || value < 0 || value == Dimension::kUnbounded) {
    throw Error(Code::kInvalidArgument,
                "\"" + std::string(whole) + "\" is not a shape; expected extents such as \"1,3,?,2..8\"");
  }
  return value;
}

Dimension dimension_from_text(std::string_view token, std::string_view whole) {
  if (token == "?" || token == "-1") return Dimension::dynamic();
  const auto dots = token.find("..");
  if (dots == std::string_view::npos) return Dimension(length(token, whole));
  const auto low = token.substr(0, dots), high = token.substr(dots + 2);
  const auto min = low.empty() ? 0 : length(low, whole);
  return high.empty() ? Dimension(min, -1) : Dimension(min, length(high, whole));
}
}  // namespace

std::string operation_from_layer(std::string_view layer_type) {
  for (const auto& [layer, operation] : kLayerNames) {
    if (layer == layer_type) return std::string(operation);
  }
  return std::string(layer_type);
}

std::string layer_from_operation(std::string_view operation) {
  for (const auto& [layer, name] : kLayerNames) {
    if (name == operation) return std::string(layer);
  }
  return std::string(operation);
}

std::string precision_name(ElementType type) {
  switch (type) {
    case ElementType::kBool:
      return "BOOL";
    case ElementType::kF64:
      return "FP64";
    case ElementType::kF32:
      return "FP32";
    case ElementType::kF16:
      return "FP16";
    case ElementType::kUndefined:
      return "UNSPECIFIED";
    default:
      break;
  }
  std::string text(name(type));
  for (char& c : text) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return text;
}

PartialShape shape_from_text(std::string_view text) {
  std::string compact;
  for (char c : text) {
    if (c != ' ' && c != '[' && c != ']' && c != '{' && c != '}') compact += c;
  }
  if (compact == "...") return PartialShape::dynamic();
  std::vector<Dimension> dimensions;
  std::string_view rest = compact;
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    dimensions.push_back(dimension_from_text(rest.substr(0, comma), text));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
    if (rest.empty()) length("", text);
  }
  return PartialShape(std::move(dimensions));
}

std::string shape_to_text(const PartialShape& shape) {
  if (shape.rank().is_dynamic()) return "...";
  std::string text;
  for (const Dimension& dimension : shape) text += (text.empty() ? "" : ",") + dimension.to_string();
  return text;
}

std::vector<std::string> split_names(std::string_view text) {
  std::vector<std::string> names;
  std::string current;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == ',') {
      current += text[++i];
    } else if (text[i] == ',') {
      if (!current.empty()) names.push_back(std::exchange(current, {}));
    } else {
      current += text[i];
    }
  }
  if (!current.empty()) names.push_back(std::move(current));
  return names;
}

std::string join_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    if (!text.empty()) text += ',';
    for (char c : name) {
      if (c == ',') text += '\\';
      text += c;
    }
  }
  return text;
}

}  // namespace ir
}  // namespace v1
}  // namespace tenon
