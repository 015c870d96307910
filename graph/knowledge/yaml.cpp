// SPDX-License-Identifier: Apache-2.0
// YAML by yaml-cpp, within limits: references may share nodes without end, or contain themselves.
#include <tenon/graph/knowledge/internal/document.hpp>

#include <cstddef>
#include <string>

#include <tenon/core/error.hpp>

#ifdef TENON_HAS_YAML_CPP
#include <yaml-cpp/yaml.h>
#endif

namespace tenon {
inline namespace v1 {

#ifdef TENON_HAS_YAML_CPP
namespace {

constexpr std::size_t kMaxNodes = 200'000;
constexpr int kMaxDepth = 32;

Tree tree_of(const YAML::Node& node, int depth, std::size_t& count) {
  if (depth > kMaxDepth) throw Error(Code::kInvalidArgument, "it is nested deeper than " + std::to_string(kMaxDepth));
  if (++count > kMaxNodes)
    throw Error(Code::kInvalidArgument, "it has more than " + std::to_string(kMaxNodes) + " nodes");
  if (node.IsScalar()) return node.Scalar();
  if (node.IsSequence()) {
    Tree list = Tree::array();
    for (const auto& one : node) list.push_back(tree_of(one, depth + 1, count));
    return list;
  }
  if (!node.IsMap()) return nullptr;
  Tree::object_t map;
  for (const auto& pair : node) {
    if (!pair.first.IsScalar()) throw Error(Code::kInvalidArgument, "it has a list or map as a key");
    map.emplace(pair.first.Scalar(), tree_of(pair.second, depth + 1, count));
  }
  return map;
}

}  // namespace

Tree parse_yaml(std::string_view text) {
  try {
    std::size_t count = 0;
    return tree_of(YAML::Load(std::string(text)), 0, count);
  } catch (const YAML::Exception& error) {
    throw Error(Code::kInvalidArgument, std::string("it is no YAML: ") + error.what());
  }
}
#else
Tree parse_yaml(std::string_view) {
  throw Error(Code::kUnimplemented, "this build reads no YAML: install yaml-cpp (libyaml-cpp-dev) and build again");
}
#endif

}  // namespace v1
}  // namespace tenon
