// SPDX-License-Identifier: Apache-2.0
// ONNX: operations on strings.
#include <tenon/graph/readers/onnx/internal/onnx.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {

OutputVector string_concat(const NodeContext& node) { return {op("StringConcat", 1, {node.input(0), node.input(1)})}; }

OutputVector string_split(const NodeContext& node) {
  const bool has_most = node.has("maxsplit");
  const std::int64_t most = node.get_int("maxsplit", -1);
  if (has_most && most < 0) fail("maxsplit is " + std::to_string(most) + ", expected at least 0");
  return ops("StringSplit", 1, {node.input(0)}, {{"delimiter", node.get_string("delimiter", "")}, {"maxsplit", most}});
}

OutputVector string_normalizer(const NodeContext& node) {
  return {op("StringNormalizer", 1, {node.input(0)},
             {{"case_change_action", node.get_string("case_change_action", "NONE")},
              {"is_case_sensitive", node.get_int("is_case_sensitive", 0) != 0},
              {"locale", node.get_string("locale", "")},
              {"stopwords", node.get_strings("stopwords")}})};
}

OutputVector regex_full_match(const NodeContext& node) {
  return {op("RegexFullMatch", 1, {node.input(0)}, {{"pattern", node.get_string("pattern", "")}})};
}

}  // namespace

void add_text(ConverterTable& table) {
  table[":StringConcat"] = string_concat;
  table[":StringSplit"] = string_split;
  table[":StringNormalizer"] = string_normalizer;
  table[":RegexFullMatch"] = regex_full_match;
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
