// SPDX-License-Identifier: Apache-2.0
// As GraphRewrite, from the results on.
#pragma once

#include <memory>

#include "openvino/pass/graph_rewrite.hpp"

namespace ov {
namespace pass {

class OPENVINO_API BackwardGraphRewrite : public GraphRewrite {
 public:
  OPENVINO_GRAPH_REWRITE_RTTI("ov::pass::BackwardGraphRewrite")
  BackwardGraphRewrite() = default;
  explicit BackwardGraphRewrite(const std::shared_ptr<MatcherPass>& pass) : GraphRewrite(pass) {}
  bool run_on_model(const std::shared_ptr<Model>& model) override;
};

}  // namespace pass
}  // namespace ov
