// SPDX-License-Identifier: Apache-2.0
// Writes a model as a picture of its graph.
#pragma once

#include <filesystem>
#include <functional>
#include <ostream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "openvino/pass/pass.hpp"

/// What is written into the boxes of operations' nodes besides.
using visualize_tree_ops_map_t =
    std::unordered_map<ov::Node::type_info_t, std::function<void(const ov::Node&, std::ostream& ss)>>;

namespace ov {
namespace pass {

/// In the language of Graphviz: `dot -Tsvg FILE.dot` draws it. A file of another extension gets .dot behind its name.
class OPENVINO_API VisualizeTree : public ModelPass {
 public:
  OPENVINO_MODEL_PASS_RTTI("ov::pass::VisualizeTree")
  /// Changes the attributes of a node's box.
  using node_modifiers_t = std::function<void(const Node& node, std::vector<std::string>& attributes)>;
  explicit VisualizeTree(std::string file_name, node_modifiers_t nm = {}, bool dot_only = false)
      : file_(std::move(file_name)), modify_(std::move(nm)) {
    (void)dot_only;
  }
  /// @errors Exception: the file cannot be written.
  bool run_on_model(const std::shared_ptr<Model>& model) override;
  void set_ops_to_details(const visualize_tree_ops_map_t& ops_map) { details_ = ops_map; }

 private:
  visualize_tree_ops_map_t details_;
  std::string file_;
  node_modifiers_t modify_;
};

}  // namespace pass
}  // namespace ov
