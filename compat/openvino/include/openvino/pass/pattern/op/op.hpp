// SPDX-License-Identifier: Apache-2.0
// What stands for an input in a pattern.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "openvino/op/constant.hpp"
#include "openvino/pass/pattern/op/or.hpp"
#include "openvino/pass/pattern/op/predicate.hpp"

namespace ov {
namespace pass {
namespace pattern {
/// A node, or one of its outputs. @errors of the compiler: a text or a number; a Constant is matched by wrap_type and a function over its values.
struct OPENVINO_API PatternOp {
  PatternOp(const Output<Node>& out) : output_(out) {}
  template <typename T, std::enable_if_t<std::is_base_of_v<Node, T>>* = nullptr>
  PatternOp(const std::shared_ptr<T>& op) : output_(of(op)) {}
  operator Output<Node>() const { return output_; }
  Output<Node> get_output() const { return output_; }

 private:
  static Output<Node> of(const std::shared_ptr<Node>& node);
  Output<Node> output_;
};
struct OPENVINO_API PatternOps {
  PatternOps() = default;
  template <typename T, std::enable_if_t<std::is_constructible_v<PatternOp, T>>* = nullptr>
  PatternOps(const T& in) : outputs_{PatternOp(in).get_output()} {}
  PatternOps(const OutputVector& outputs) : outputs_(outputs) {}
  PatternOps(std::initializer_list<PatternOp> ops) {
    for (const PatternOp& op : ops) outputs_.push_back(op.get_output());
  }
  explicit operator OutputVector() const { return outputs_; }

 private:
  OutputVector outputs_;
};
}  // namespace pattern
}  // namespace pass
}  // namespace ov
