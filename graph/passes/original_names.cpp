// SPDX-License-Identifier: Apache-2.0
// Notes about replaced nodes, in the form of attributes that IR files keep.
#include <tenon/graph/passes/original_names.hpp>

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <unordered_set>

namespace tenon {
inline namespace v1 {
namespace pass {
namespace {

// In the form of the IR reader: an attribute's name and version are its key, its fields are text.
constexpr char kName[] = "original_nodes", kVersion[] = "0", kKey[] = "original_nodes_0";
constexpr char kNodes[] = "nodes", kMade[] = "made_by_pass";

/// Neither a type nor a line of text; XML keeps it within an attribute.
constexpr char kEnd = '\n';

std::string field(const Node& node, const char* which) {
  const auto found = node.get_rt_info().find(kKey);
  if (found == node.get_rt_info().end() || !found->second.is<AnyMap>()) return {};
  const AnyMap fields = found->second.as<AnyMap>();
  const auto text = fields.find(which);
  return text == fields.end() ? std::string() : text->second.to_text();
}

void note(Node& node, const std::vector<OriginalNode>& originals, bool is_made) {
  std::string lines;
  for (const OriginalNode& original : originals)
    lines += (original.is_folded ? "folded " : "fused ") + original.type + ' ' + original.name + kEnd;
  node.get_rt_info()[kKey] = AnyMap{{"name", Any(std::string(kName))},
                                    {"version", Any(std::string(kVersion))},
                                    {kNodes, Any(std::move(lines))},
                                    {kMade, Any(std::string(is_made ? "1" : "0"))}};
}

bool is_constant(const Node& node) { return as_type<op::v0::Constant>(&node) != nullptr; }

/// Finds the nodes that took over the values of removed nodes.
class Heirs {
 public:
  Heirs(const NodeVector& given, const std::unordered_map<std::string, Node*>& left) : left_(left) {
    for (const auto& node : given) {
      bool varies = node->get_input_size() == 0 && !is_constant(*node);
      for (std::size_t i = 0; i < node->get_input_size(); ++i) varies |= varies_.count(node->get_input_node_ptr(i)) > 0;
      if (varies) varies_.insert(node.get());
    }
    for (auto node = given.rbegin(); node != given.rend(); ++node) {
      Node* heir = left_in_place(**node);
      for (const auto& reader : (*node)->get_users()) {
        if (heir) break;
        const auto found = heirs_.find(reader.get());
        if (found != heirs_.end() && !is_op(reader, "Result")) heir = found->second;
      }
      if (heir) heirs_[node->get()] = heir;
    }
    // A removed node that only results read belongs to its predecessor.
    for (const auto& node : given) {
      for (std::size_t i = 0; i < node->get_input_size() && !heirs_.count(node.get()); ++i) {
        const auto found = heirs_.find(node->get_input_node_ptr(i));
        if (found != heirs_.end()) heirs_[node.get()] = found->second;
      }
    }
    for (auto node = given.rbegin(); node != given.rend(); ++node)
      for (const auto& reader : (*node)->get_users())
        if (const auto found = heirs_.find(reader.get()); found != heirs_.end())
          heirs_.emplace(node->get(), found->second);
  }
  Node* left_in_place(const Node& node) const {
    const auto found = is_constant(node) ? left_.end() : left_.find(node.get_friendly_name());
    return found == left_.end() ? nullptr : found->second;
  }
  Node* heir(const Node& node) const {
    const auto found = heirs_.find(&node);
    return found == heirs_.end() ? nullptr : found->second;
  }
  bool is_folded(const Node& node) const { return varies_.count(&node) == 0; }

 private:
  const std::unordered_map<std::string, Node*>& left_;
  std::unordered_map<const Node*, Node*> heirs_;
  std::unordered_set<const Node*> varies_;
};

}  // namespace

std::vector<OriginalNode> original_nodes(const Node& node) {
  std::vector<OriginalNode> originals;
  const std::string lines = field(node, kNodes);
  for (std::size_t begin = 0, end; (end = lines.find(kEnd, begin)) != lines.npos; begin = end + 1) {
    const std::size_t type = lines.find(' ', begin) + 1, name = lines.find(' ', type) + 1;
    if (type == 0 || name == 0 || name > end) continue;
    originals.push_back({lines.substr(name, end - name), lines.substr(type, name - 1 - type), lines[begin + 1] == 'o'});
  }
  return originals;
}

bool is_made_by_pass(const Node& node) { return field(node, kMade) == "1"; }

void note_original_nodes(const Model& given, const Model& changed) {
  std::unordered_map<std::string, Node*> left;
  for (const auto& node : changed.get_ordered_ops())
    if (!is_constant(*node)) left[node->get_friendly_name()] = node.get();
  const NodeVector order = given.get_ordered_ops();
  const Heirs heirs(order, left);
  std::unordered_map<Node*, std::vector<OriginalNode>> notes;
  std::unordered_set<const Node*> known;
  for (const auto& node : order) {
    if (is_constant(*node)) continue;
    Node* const heir = heirs.heir(*node);
    if (!heir) continue;
    const bool is_left = heirs.left_in_place(*node) == heir;
    auto& of_heir = notes[heir];
    std::ranges::move(original_nodes(*node), std::back_inserter(of_heir));
    if (is_left && !is_made_by_pass(*node)) known.insert(heir);
    if (!is_left && !is_made_by_pass(*node))
      of_heir.push_back({node->get_friendly_name(), node->get_type_name(), heirs.is_folded(*node)});
  }
  for (const auto& [name, node] : left) {
    const auto found = notes.find(node);
    const bool is_made = !known.count(node);
    if (is_made || (found != notes.end() && !found->second.empty()))
      note(*node, found == notes.end() ? std::vector<OriginalNode>() : found->second, is_made);
  }
}

}  // namespace pass
}  // namespace v1
}  // namespace tenon
