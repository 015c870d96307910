// SPDX-License-Identifier: Apache-2.0
// Several patterns in one walk, whose matches one function gets.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "openvino/pass/pass.hpp"
#include "openvino/pass/pattern/matcher.hpp"

namespace ov {
namespace pass {

/// Each pattern is matched at every node. The function gets the matches of all patterns that have some, by the patterns' roots.
class OPENVINO_API MultiMatcher : public ModelPass {
 public:
  using Callback =
      std::function<void(const std::unordered_map<std::shared_ptr<Node>, std::vector<pattern::PatternValueMap>>&)>;
  OPENVINO_RTTI("MultiMatcher", "0", ModelPass)
  explicit MultiMatcher(const std::string& name = "MultiMatcher") { set_name(name); }
  /// Patterns and the function take the place of those that were registered before.
  /// @param strict Whether types and shapes have to fit, too.
  void register_patterns(const std::vector<std::shared_ptr<Node>>& patterns, Callback callback, bool strict = false);
  /// @return Whether the function was called: something matched.
  bool run_on_model(const std::shared_ptr<Model>& model) override;

 private:
  std::vector<std::shared_ptr<Node>> patterns_;
  Callback callback_;
  bool strict_ = false;
};

}  // namespace pass
}  // namespace ov
