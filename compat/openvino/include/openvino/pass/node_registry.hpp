// SPDX-License-Identifier: Apache-2.0
// Nodes that a pass made.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "openvino/core/node.hpp"

namespace ov {
namespace pass {

class NodeRegistry {
 public:
  template <typename T, class... Args>
  std::shared_ptr<T> make(Args&&... args) {
    return add(std::make_shared<T>(std::forward<Args>(args)...));
  }
  template <typename T>
  std::shared_ptr<T> add(const std::shared_ptr<T>& node) {
    nodes_.push_back(node);
    return node;
  }
  const std::vector<std::shared_ptr<Node>>& get() const { return nodes_; }
  void clear() { nodes_.clear(); }

 private:
  std::vector<std::shared_ptr<Node>> nodes_;
};

}  // namespace pass
}  // namespace ov
