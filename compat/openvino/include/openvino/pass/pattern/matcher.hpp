// SPDX-License-Identifier: Apache-2.0
// Finds a pattern in a model.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "openvino/core/except.hpp"
#include "openvino/core/node.hpp"
#include "openvino/op/constant.hpp"
#include "openvino/pass/pattern/op/any.hpp"
#include "openvino/pass/pattern/op/any_of.hpp"
#include "openvino/pass/pattern/op/any_output.hpp"
#include "openvino/pass/pattern/op/label.hpp"

namespace ov {
namespace pass {
class GraphRewrite;

namespace pattern {

/// What a matcher has found so far comes back, unless finish(true) is called.
class OPENVINO_API MatcherState {
 public:
  explicit MatcherState(Matcher* matcher);
  bool finish(bool is_successful);
  ~MatcherState();

 private:
  Matcher* matcher_;
  PatternValueMap map_;
  PatternValueMaps maps_;
  PatternSymbolMap symbols_;
  std::size_t watermark_;
  bool restores_ = true;
};

/// Matches from the root on towards the inputs. @thread one at a time.
class OPENVINO_API Matcher {
 public:
  using PatternMap = ov::pass::pattern::PatternMap;
  Matcher(const std::shared_ptr<Node> pattern_node, std::nullptr_t name) = delete;
  Matcher() = default;
  Matcher(Output<Node>& pattern_node) : Matcher(pattern_node, std::string(), false) {}
  Matcher(Output<Node>& pattern_node, const std::string& name) : Matcher(pattern_node, name, false) {}
  /// Strict: element types and shapes of outputs must be compatible with the pattern's, too.
  Matcher(const Output<Node>& pattern_node, const std::string& name, bool strict_mode)
      : m_pattern_node(pattern_node), m_name(name), m_strict_mode(strict_mode) {}
  Matcher(std::shared_ptr<Node> pattern_node);
  Matcher(std::shared_ptr<Node> pattern_node, const std::string& name);
  Matcher(std::shared_ptr<Node> pattern_node, const std::string& name, bool strict_mode);
  virtual ~Matcher();

  bool match(const Output<Node>& graph_value);
  bool match(std::shared_ptr<Node> graph_node);
  bool match(const Output<Node>& graph_value, const PatternMap& previous_matches);
  bool match(const Output<Node>& graph_value, const PatternValueMap& previous_matches);
  /// The only input of a class. @errors Exception: there are several.
  template <typename T>
  static std::shared_ptr<T> unique_match(const std::shared_ptr<Node>& node) {
    std::shared_ptr<T> found;
    for (const auto& input : node->input_values()) {
      auto each = as_type_ptr<T>(input.get_node_shared_ptr());
      if (each && found) OPENVINO_THROW("There's more than two arguments of the same type");
      if (each) found = each;
    }
    return found;
  }
  /// Whether nodes outside read no matched output but one.
  bool is_contained_match(const NodeVector& exclusions = {}, bool ignore_unused = true);
  const NodeVector get_matched_nodes() { return as_node_vector(m_matched_list); }
  const OutputVector& get_matched_values() const { return m_matched_list; }
  OutputVector& get_matched_values() { return m_matched_list; }
  void reset() {}
  const std::string& get_name() { return m_name; }
  std::shared_ptr<Node> get_pattern() { return m_pattern_node.get_node_shared_ptr(); }
  Output<Node> get_pattern_value() { return m_pattern_node; }
  std::shared_ptr<Node> get_match_root() { return m_match_root.get_node_shared_ptr(); }
  Output<Node> get_match_value() { return m_match_root; }
  PatternMap get_pattern_map() const { return as_pattern_map(m_pattern_map); }
  /// What the pattern's names stand for.
  PatternSymbolMap& get_symbols() { return m_pattern_symbols; }
  /// What each node of the pattern matched.
  PatternValueMap& get_pattern_value_map() { return m_pattern_map; }
  PatternValueMaps& get_pattern_value_maps() { return m_pattern_value_maps; }
  std::size_t add_node(Output<Node> node);
  bool is_strict_mode() { return m_strict_mode; }
  virtual bool match_value(const Output<Node>& pattern_value, const Output<Node>& graph_value);
  /// Inputs in order; of operations where it does not matter, in any order.
  virtual bool match_arguments(Node* pattern_node, const std::shared_ptr<Node>& graph_node);
  void clear_state();
  std::size_t get_number_of_recurrent_matches() const { return m_pattern_value_maps.size(); }
  NodeVector get_bound_nodes_for_pattern(const Output<Node>& pattern) const;
  std::size_t get_number_of_bound_labels() const;
  MatcherState start_match() { return MatcherState(this); }

  Output<Node> m_match_root;
  Output<Node> m_pattern_node;
  PatternValueMap m_pattern_map;
  PatternValueMaps m_pattern_value_maps;
  PatternSymbolMap m_pattern_symbols;
  OutputVector m_matched_list;

 protected:
  bool match_permutation(const OutputVector& pattern_args, const OutputVector& args);
  std::string m_name = "unnamed";
  bool m_strict_mode = false;
};

}  // namespace pattern
}  // namespace pass
}  // namespace ov
