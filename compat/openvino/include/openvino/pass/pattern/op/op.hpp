// SPDX-License-Identifier: Apache-2.0
// What stands for an input in a pattern.
#pragma once

#include <initializer_list>
#include <locale>
#include <memory>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "openvino/op/constant.hpp"
#include "openvino/pass/pattern/op/or.hpp"
#include "openvino/pass/pattern/op/predicate.hpp"

namespace ov {
namespace pass {
namespace pattern {
/// A node, or one of its outputs; a number, several, or a text as value_matches has it: a Constant with these values. A rank: any output of it.
struct OPENVINO_API PatternOp {
  PatternOp(const Output<Node>& out) : output_(out) {}
  template <typename T, std::enable_if_t<std::is_base_of_v<Node, T>>* = nullptr>
  PatternOp(const std::shared_ptr<T>& op) : output_(of(op)) {}
  PatternOp(Rank rank);
  PatternOp(const char* value_notation) : output_(constant(value_notation)) {}
  PatternOp(const std::string& value_notation) : output_(constant(value_notation)) {}
  PatternOp(int v) : output_(constants({v})) {}
  PatternOp(long long v) : output_(constants({v})) {}
  PatternOp(float v) : output_(constants({v})) {}
  PatternOp(double v) : output_(constants({v})) {}
  PatternOp(std::initializer_list<const char*>&& v) : output_(constants(v)) {}
  PatternOp(std::initializer_list<const std::string>&& v) : output_(constants(v)) {}
  PatternOp(std::initializer_list<const int>&& v) : output_(constants(v)) {}
  PatternOp(std::initializer_list<const long long>&& v) : output_(constants(v)) {}
  PatternOp(std::initializer_list<const float>&& v) : output_(constants(v)) {}
  PatternOp(std::initializer_list<const double>&& v) : output_(constants(v)) {}
  operator Output<Node>() const { return output_; }
  Output<Node> get_output() const { return output_; }

 private:
  static Output<Node> of(const std::shared_ptr<Node>& node);
  static Output<Node> constant(const std::string& value_notation);
  template <typename T>
  static Output<Node> constants(const std::initializer_list<T>& values) {
    std::ostringstream text;
    text.imbue(std::locale::classic());
    text.precision(17);
    const char* separator = "";
    for (const auto& value : values) {
      text << separator << value;
      separator = ",";
    }
    return constant(text.str());
  }
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
