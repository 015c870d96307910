// SPDX-License-Identifier: Apache-2.0
// Passes that match patterns, together in one walk over a model.
#pragma once

#include <deque>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "openvino/pass/matcher_pass.hpp"

#define OPENVINO_GRAPH_REWRITE_RTTI(...) OV_TENON_PASS_RTTI(::ov::pass::GraphRewrite, __VA_ARGS__)

namespace ov {
namespace pass {

/// Runs at each node, from the inputs on and in bodies, the first of its passes that changes something there.
class OPENVINO_API GraphRewrite : public ModelPass {
 public:
  OPENVINO_MODEL_PASS_RTTI("ov::pass::GraphRewrite")
  GraphRewrite() = default;
  explicit GraphRewrite(const std::shared_ptr<MatcherPass>& pass) { add_matcher(pass); }
  template <typename T, bool Enabled = true, class... Args,
            std::enable_if_t<std::is_base_of_v<MatcherPass, T>, bool> = true>
  std::shared_ptr<T> add_matcher(Args&&... args) {
    auto pass = std::make_shared<T>(std::forward<Args>(args)...);
    pass->set_pass_config(get_pass_config());
    if (!Enabled && !get_pass_config()->template is_enabled<T>()) get_pass_config()->template disable<T>();
    m_matchers.push_back(pass);
    return pass;
  }
  /// All matchers of another one.
  template <typename T, class... Args, std::enable_if_t<std::is_base_of_v<GraphRewrite, T>, bool> = true>
  void add_matcher(Args&&... args) {
    auto pass = std::make_shared<T>(std::forward<Args>(args)...);
    pass->set_pass_config(get_pass_config());
    for (const auto& matcher : pass->m_matchers) m_matchers.push_back(matcher);
  }
  std::shared_ptr<MatcherPass> add_matcher(const std::shared_ptr<MatcherPass>& pass);
  bool run_on_model(const std::shared_ptr<Model>& model) override;
  void set_pass_config(const std::shared_ptr<PassConfig>& pass_config) override;

 protected:
  bool apply_matcher_passes(std::shared_ptr<Model> model, std::deque<std::weak_ptr<Node>> nodes_to_run);
  bool m_enable_shape_inference = false;
  std::vector<std::shared_ptr<MatcherPass>> m_matchers;
};

}  // namespace pass
}  // namespace ov
