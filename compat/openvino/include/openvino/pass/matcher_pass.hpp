// SPDX-License-Identifier: Apache-2.0
// A change of each place in a model that matches a pattern.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "openvino/pass/node_registry.hpp"
#include "openvino/pass/pass.hpp"
#include "openvino/pass/pattern/matcher.hpp"

#define OPENVINO_MATCHER_PASS_RTTI(...) OV_TENON_PASS_RTTI(::ov::pass::MatcherPass, __VA_ARGS__)

namespace ov {

using matcher_pass_callback = std::function<bool(pass::pattern::Matcher& m)>;
using graph_rewrite_callback = std::function<bool(pass::pattern::Matcher& m)>;
using handler_callback = std::function<bool(const std::shared_ptr<Node>& node)>;

namespace pass {

/// A program derives its own from it, and calls register_matcher in its constructor; Manager and GraphRewrite run it.
class OPENVINO_API MatcherPass : public PassBase {
 public:
  OPENVINO_RTTI("ov::pass::MatcherPass")
  MatcherPass() = default;
  MatcherPass(const MatcherPass&) = delete;
  MatcherPass& operator=(const MatcherPass&) = delete;
  explicit MatcherPass(const std::string& name, const std::shared_ptr<pattern::Matcher>& m,
                       const handler_callback& handler,
                       const PassPropertyMask& property = PassProperty::CHANGE_DYNAMIC_STATE);
  MatcherPass(const std::shared_ptr<pattern::Matcher>& m, const matcher_pass_callback& callback);
  /// @return Whether the callback says that it changed the model.
  bool apply(std::shared_ptr<Node> node);

  /// Nodes that are registered are matched, too.
  template <typename T, class... Args>
  std::shared_ptr<T> register_new_node(Args&&... args) {
    return new_nodes_.make<T>(std::forward<Args>(args)...);
  }
  template <typename T>
  std::shared_ptr<T> register_new_node(const std::shared_ptr<T>& node) {
    return new_nodes_.add(node);
  }
  std::shared_ptr<Node> register_new_node_(const std::shared_ptr<Node>& node) { return register_new_node(node); }
  const std::vector<std::shared_ptr<Node>>& get_new_nodes() { return new_nodes_.get(); }
  void clear_new_nodes() { new_nodes_.clear(); }
  std::shared_ptr<pattern::Matcher> get_matcher() { return matcher_; }

 protected:
  void register_matcher(const std::shared_ptr<pattern::Matcher>& m, const matcher_pass_callback& callback,
                        const PassPropertyMask& property = PassProperty::CHANGE_DYNAMIC_STATE);

 private:
  handler_callback handler_;
  std::shared_ptr<pattern::Matcher> matcher_;
  NodeRegistry new_nodes_;
};

}  // namespace pass
}  // namespace ov
