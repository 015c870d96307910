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
constexpr std::size_t kMaxTextBytes = 64u << 20;  ///< An alias repeats a text for a few bytes of the file.
constexpr int kMaxDepth = 32;

/// What has been read of a file, aliases counted each time.
struct Extent {
  std::size_t nodes = 0, text_bytes = 0;
};

std::string text_of(const YAML::Node& scalar, Extent& read) {
  if ((read.text_bytes += scalar.Scalar().size()) > kMaxTextBytes)
    throw Error(Code::kInvalidArgument,
                "its texts have more than " + std::to_string(kMaxTextBytes) + " bytes with all aliases");
  return scalar.Scalar();
}

Tree tree_of(const YAML::Node& node, int depth, Extent& read) {
  if (depth > kMaxDepth) throw Error(Code::kInvalidArgument, "it is nested deeper than " + std::to_string(kMaxDepth));
  if (++read.nodes > kMaxNodes)
    throw Error(Code::kInvalidArgument, "it has more than " + std::to_string(kMaxNodes) + " nodes");
  if (node.IsScalar()) return text_of(node, read);
  if (node.IsSequence()) {
    Tree list = Tree::array();
    for (const auto& one : node) list.push_back(tree_of(one, depth + 1, read));
    return list;
  }
  if (!node.IsMap()) return nullptr;
  Tree::object_t map;
  for (const auto& pair : node) {
    if (!pair.first.IsScalar()) throw Error(Code::kInvalidArgument, "it has a list or map as a key");
    map.emplace(text_of(pair.first, read), tree_of(pair.second, depth + 1, read));
  }
  return map;
}

}  // namespace

Tree parse_yaml(std::string_view text) {
  try {
    Extent read;
    return tree_of(YAML::Load(std::string(text)), 0, read);
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
