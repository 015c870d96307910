// SPDX-License-Identifier: Apache-2.0
// Parsing of build flags.
#include <tenon/drivers/npu/compiler/build_flags.hpp>

#include <algorithm>

#include <tenon/core/error.hpp>

namespace tenon::npu::compiler {
namespace {

[[noreturn]] void refuse_flags(const std::string& why) {
  throw Error(Code::kInvalidArgument, "NPU: the build flags are malformed: " + why);
}

constexpr std::pair<std::string_view, ElementType> kTypes[] = {
    {"FP64", ElementType::kF64},  {"FP32", ElementType::kF32},     {"FP16", ElementType::kF16},
    {"BF16", ElementType::kBf16}, {"U64", ElementType::kU64},      {"U32", ElementType::kU32},
    {"U16", ElementType::kU16},   {"U8", ElementType::kU8},        {"U4", ElementType::kU4},
    {"I64", ElementType::kI64},   {"I32", ElementType::kI32},      {"I16", ElementType::kI16},
    {"I8", ElementType::kI8},     {"I4", ElementType::kI4},        {"BIN", ElementType::kU1},
    {"BOOL", ElementType::kBool}, {"BOOLEAN", ElementType::kBool},
};
constexpr std::string_view kLayouts[] = {"NCHW", "NHWC", "NCDHW", "NDHWC", "OIHW",    "C",          "CHW",
                                         "HW",   "NC",   "CN",    "ANY",   "BLOCKED", "**SCALAR**", "SCALAR"};

std::string in_upper_case(std::string_view text) {
  std::string upper(text);
  for (char& letter : upper)
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  return upper;
}

/// Precisions and layouts are written in either case.
ElementType type_of(std::string_view given) {
  const std::string text = in_upper_case(given);
  for (const auto& [name, type] : kTypes)
    if (name == text) return type;
  std::string known;
  for (const auto& [name, type] : kTypes) known += (known.empty() ? "" : ", ") + std::string(name);
  refuse_flags("\"" + std::string(given) + "\" is not a precision; known are " + known);
}

std::string layout_of(std::string_view given) {
  std::string text = in_upper_case(given);
  if (std::find(std::begin(kLayouts), std::end(kLayouts), text) == std::end(kLayouts))
    refuse_flags("\"" + std::string(given) + "\" is not a layout");
  return text;
}

/// Parses name:value pairs separated by spaces; names may contain colons.
template <typename T, typename Convert>
void read_pairs(std::string_view text, ByPort<T>& pairs, Convert convert) {
  while (true) {
    const std::size_t begin = text.find_first_not_of(' ');
    if (begin == text.npos) return;
    const std::string_view word = text.substr(begin, text.find(' ', begin) - begin);
    text.remove_prefix(begin + word.size());
    const std::size_t colon = word.rfind(':');
    if (colon == word.npos || colon == 0) refuse_flags("\"" + std::string(word) + "\" is not a name:value pair");
    pairs.emplace_back(std::string(word.substr(0, colon)), convert(word.substr(colon + 1)));
  }
}

/// Removes KEY="VALUE" from the front. @return false at the end of the text.
bool take_assignment(std::string_view& text, std::string_view& key, std::string_view& value) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == text.npos) return false;
  text.remove_prefix(begin);
  const std::size_t equals = text.find('=');
  if (equals == text.npos || equals == 0 || equals + 1 >= text.size() || text[equals + 1] != '"')
    refuse_flags("no KEY=\"VALUE\" at \"" + std::string(text.substr(0, 40)) + "\"");
  const std::size_t close = text.find('"', equals + 2);
  if (close == text.npos) refuse_flags("the value of " + std::string(text.substr(0, equals)) + " has no end");
  key = text.substr(0, equals);
  if (key.find_first_of(" \t\r\n\"") != key.npos) refuse_flags("\"" + std::string(key) + "\" is not a key");
  value = text.substr(equals + 2, close - equals - 2);
  text.remove_prefix(close + 1);
  return true;
}

}  // namespace

BuildFlags parse_build_flags(const char* given) {
  BuildFlags flags;
  std::string_view text = given ? given : "";
  constexpr std::string_view kConfig = "--config";
  bool in_config = false;
  while (true) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    if (begin == text.npos) return flags;
    text.remove_prefix(begin);
    if (text.starts_with(kConfig) && (text.size() == kConfig.size() || text[kConfig.size()] == ' ')) {
      in_config = true;
      text.remove_prefix(kConfig.size());
      continue;
    }
    std::string_view key, value;
    if (!take_assignment(text, key, value)) return flags;
    if (key == "--inputs_precisions")
      read_pairs(value, flags.input_types, type_of);
    else if (key == "--outputs_precisions")
      read_pairs(value, flags.output_types, type_of);
    else if (key == "--inputs_layouts")
      read_pairs(value, flags.input_layouts, layout_of);
    else if (key == "--outputs_layouts")
      read_pairs(value, flags.output_layouts, layout_of);
    else if (in_config && !key.starts_with("--"))
      set_option(flags.options, key, value);
    else
      refuse_flags("there is no flag \"" + std::string(key) + "\"");
  }
}

}  // namespace tenon::npu::compiler
