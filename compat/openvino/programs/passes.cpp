// SPDX-License-Identifier: Apache-2.0
// Passes of a program's own that rewrite models.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <openvino/op/ops.hpp>
#include <openvino/pass/backward_graph_rewrite.hpp>
#include <openvino/pass/constant_folding.hpp>
#include <openvino/pass/graph_rewrite.hpp>
#include <openvino/pass/manager.hpp>
#include <openvino/pass/pattern/matcher.hpp>
#include <openvino/pass/pattern/op/optional.hpp>
#include <openvino/pass/pattern/op/or.hpp>
#include <openvino/pass/pattern/op/wrap_type.hpp>

#include "programs.hpp"

namespace {

namespace pattern = ov::pass::pattern;
using ov::op::v0::Constant;
using ov::op::v0::Parameter;

std::shared_ptr<Constant> number(float value) { return Constant::create(ov::element::f32, {1}, {value}); }
std::shared_ptr<Parameter> input(const ov::PartialShape& shape = {2, 3}) {
  auto made = std::make_shared<Parameter>(ov::element::f32, shape);
  made->set_friendly_name("x");
  return made;
}
void names(const std::string& what, const std::shared_ptr<ov::Model>& model) {
  std::string text;
  for (const auto& node : model->get_ordered_ops())
    if (!ov::is_type<Constant>(node)) text += std::string(" ") + node->get_type_name();
  line(what, ':', text);
}

/// x / c becomes x * (1 / c).
class DivideByConstant : public ov::pass::MatcherPass {
 public:
  OPENVINO_MATCHER_PASS_RTTI("DivideByConstant");
  DivideByConstant() {
    auto x = pattern::any_input();
    auto c = pattern::wrap_type<Constant>();
    auto divide = pattern::wrap_type<ov::op::v1::Divide>({x, c});
    auto callback = [=](pattern::Matcher& m) {
      const auto& map = m.get_pattern_value_map();
      auto root = m.get_match_root();
      if (transformation_callback(root)) return false;
      auto constant = ov::as_type_ptr<Constant>(map.at(c).get_node_shared_ptr());
      auto inverse = number(1.0F / constant->cast_vector<float>().front());
      auto product = register_new_node<ov::op::v1::Multiply>(map.at(x), inverse);
      product->set_friendly_name(root->get_friendly_name());
      ov::copy_runtime_info(m.get_matched_nodes(), {product, inverse});
      ov::replace_node(root, product);
      return true;
    };
    register_matcher(std::make_shared<pattern::Matcher>(divide, "DivideByConstant"), callback);
  }
};
/// x * 1 becomes x, whatever the order.
class MultiplyByOne : public ov::pass::MatcherPass {
 public:
  OPENVINO_MATCHER_PASS_RTTI("MultiplyByOne", "1");
  MultiplyByOne() {
    auto x = pattern::any_input(pattern::has_static_rank());
    auto one = pattern::wrap_type<Constant>([](const ov::Output<ov::Node>& output) {
      const auto values = ov::as_type_ptr<Constant>(output.get_node_shared_ptr())->cast_vector<float>();
      return std::all_of(values.begin(), values.end(), [](float value) { return value == 1.0F; });
    });
    auto product = pattern::wrap_type<ov::op::v1::Multiply>({one, x});
    register_matcher(std::make_shared<pattern::Matcher>(product, "MultiplyByOne"), [=](pattern::Matcher& m) {
      return ov::replace_output_update_name(m.get_match_root()->output(0), m.get_pattern_value_map().at(x));
    });
  }
};
/// Relu behind Relu goes.
class OneRelu : public ov::pass::MatcherPass {
 public:
  OPENVINO_MATCHER_PASS_RTTI("OneRelu");
  OneRelu() {
    auto inner = pattern::wrap_type<ov::op::v0::Relu>(pattern::consumers_count(1));
    auto outer = pattern::wrap_type<ov::op::v0::Relu>({inner});
    register_matcher(std::make_shared<pattern::Matcher>(outer, "OneRelu"), [=](pattern::Matcher& m) {
      m.get_match_root()->output(0).replace(m.get_pattern_value_map().at(inner));
      return true;
    });
  }
};
class CountNodes : public ov::pass::ModelPass {
 public:
  OPENVINO_MODEL_PASS_RTTI("CountNodes");
  bool run_on_model(const std::shared_ptr<ov::Model>& model) override {
    line("nodes ", model->get_ops().size());
    return false;
  }
};
class Both : public ov::pass::GraphRewrite {
 public:
  OPENVINO_GRAPH_REWRITE_RTTI("Both");
  Both() {
    add_matcher<DivideByConstant>();
    add_matcher<MultiplyByOne>();
  }
};

std::shared_ptr<ov::Model> chain() {
  auto x = input();
  auto first = std::make_shared<ov::op::v1::Divide>(x, number(4));
  first->set_friendly_name("first");
  first->get_rt_info()["note"] = std::string("kept");
  auto second = std::make_shared<ov::op::v1::Divide>(first, number(1));
  second->set_friendly_name("second");
  auto relu = std::make_shared<ov::op::v0::Relu>(std::make_shared<ov::op::v0::Relu>(second));
  return std::make_shared<ov::Model>(ov::OutputVector{relu}, ov::ParameterVector{x}, "chain");
}

void managers() {
  auto model = chain();
  ov::pass::Manager manager("mine");
  manager.register_pass<CountNodes>();
  manager.register_pass<DivideByConstant>();
  manager.register_pass<MultiplyByOne>();
  manager.register_pass<OneRelu>();
  manager.register_pass<CountNodes>();
  line("changed ", manager.run_passes(model));
  line("changed again ", manager.run_passes(model));
  names("rewritten", model);
  for (const auto& node : model->get_ordered_ops()) {
    if (ov::is_type<ov::op::v1::Multiply>(node))
      line(node->get_friendly_name(), ' ', node->get_rt_info().at("note").as<std::string>(), ' ',
           ov::as_type_ptr<Constant>(node->get_input_node_shared_ptr(1))->cast_vector<float>()[0]);
  }
  ov::TensorVector outputs{ov::Tensor(ov::element::f32, {2, 3})};
  ov::Tensor x(ov::element::f32, {2, 3});
  for (std::size_t i = 0; i < 6; ++i) x.data<float>()[i] = static_cast<float>(i) - 2;
  model->evaluate(outputs, {x});
  print_values("evaluated", outputs[0]);

  model = chain();
  ov::pass::Manager together;
  together.register_pass<Both>();
  line("both ", together.run_passes(model));
  names("both", model);

  model = chain();
  ov::pass::Manager chosen;
  chosen.register_pass<DivideByConstant>();
  chosen.register_pass<OneRelu>();
  chosen.get_pass_config()->disable<OneRelu>();
  chosen.get_pass_config()->set_callback<DivideByConstant>(
      [](const std::shared_ptr<const ov::Node>& node) { return node->get_friendly_name() == "first"; });
  line("chosen ", chosen.run_passes(model), ' ', chosen.get_pass_config()->is_disabled<OneRelu>());
  names("chosen", model);

  model = chain();
  auto backwards = std::make_shared<ov::pass::BackwardGraphRewrite>();
  backwards->add_matcher<DivideByConstant>();
  backwards->add_matcher(std::make_shared<OneRelu>());
  line("backwards ", backwards->run_on_model(model), ' ', backwards->get_name());
  names("backwards", model);
}

void matchers() {
  auto x = input(), y = input();
  auto product = std::make_shared<ov::op::v0::MatMul>(x, y, false, true);
  auto bias = number(2);
  auto sum = std::make_shared<ov::op::v1::Add>(bias, product);
  auto softmax = std::make_shared<ov::op::v8::Softmax>(sum, 1);
  auto split = std::make_shared<ov::op::v1::Split>(softmax, Constant::create(ov::element::i64, {}, {1}), 2);
  auto tail = std::make_shared<ov::op::v0::Tanh>(split->output(1));
  auto model = std::make_shared<ov::Model>(ov::OutputVector{tail, split->output(0)}, ov::ParameterVector{x, y});

  auto a = pattern::any_input(), b = pattern::any_input();
  auto any_product = pattern::wrap_type<ov::op::v0::MatMul>({a, b});
  auto any_bias = pattern::wrap_type<Constant>(pattern::type_matches(ov::element::f32));
  auto any_sum = pattern::wrap_type<ov::op::v1::Add>({any_product, any_bias});
  pattern::Matcher matcher(any_sum, "sum");
  line("sum ", matcher.match(sum->output(0)));
  line("found ", matcher.get_match_root() == sum, ' ', matcher.get_pattern_value_map().at(a) == x->output(0),
       matcher.get_pattern_map().at(b) == y, matcher.get_pattern_value_map().count(any_bias), ' ',
       matcher.get_matched_nodes().size(), ' ', matcher.get_name());
  line("not the sum ", matcher.match(product->output(0)));
  line("found ", matcher.get_pattern_value_map().size());

  const auto tried = [](const std::string& what, const std::shared_ptr<ov::Node>& pattern,
                        const ov::Output<ov::Node>& output) {
    pattern::Matcher matcher(pattern, "tried");
    const bool found = matcher.match(output);
    line(what, ' ', found, ' ', matcher.get_pattern_value_map().size());
  };
  auto same = pattern::any_input();
  tried("the same twice", pattern::wrap_type<ov::op::v0::MatMul>({same, same}), product);
  tried("transposed", pattern::wrap_type<ov::op::v0::MatMul>({a, b}, {{"transpose_a", false}, {"transpose_b", true}}),
        product);
  tried("not transposed", pattern::wrap_type<ov::op::v0::MatMul>({a, b}, {{"transpose_b", false}}), product);
  tried("axis", pattern::wrap_type<ov::op::v8::Softmax>({a}, {{"axis", 1}}), softmax);
  tried("other axis", pattern::wrap_type<ov::op::v8::Softmax>({a}, {{"axis", 0}}), softmax);
  tried("of two classes", pattern::wrap_type<ov::op::v1::Softmax, ov::op::v8::Softmax>({any_sum}), softmax);
  tried("another version", pattern::wrap_type<ov::op::v1::Softmax>({any_sum}), softmax);
  auto relu = pattern::wrap_type<ov::op::v0::Relu>({a}), tanh = pattern::wrap_type<ov::op::v0::Tanh>({a});
  tried("one of two", std::make_shared<pattern::op::Or>(ov::OutputVector{relu, tanh}), tail);
  const auto optional = [](const std::string& what, const std::shared_ptr<ov::Node>& part,
                           const std::shared_ptr<ov::Node>& pattern, const ov::Output<ov::Node>& output) {
    pattern::Matcher matcher(pattern, "optional");
    const bool found = matcher.match(output);
    line(what, ' ', found, ' ', matcher.get_pattern_value_map().count(part));
  };
  auto maybe_sum = pattern::optional<ov::op::v1::Add>({any_product, any_bias});
  optional("optional there", maybe_sum, pattern::wrap_type<ov::op::v8::Softmax>({maybe_sum}), softmax);
  auto maybe_convert = pattern::optional<ov::op::v0::Convert>({a});
  optional("optional missing", maybe_convert, pattern::wrap_type<ov::op::v0::MatMul>({maybe_convert, b}), product);
  auto maybe_any = pattern::optional<ov::op::v1::Add>();
  optional("optional without inputs", maybe_any, pattern::wrap_type<ov::op::v8::Softmax>({maybe_any}), softmax);
  optional("missing without inputs", maybe_any, pattern::wrap_type<ov::op::v0::MatMul>({maybe_any, b}), product);
  auto maybe_wide = pattern::optional<ov::op::v1::Add>({any_product, any_bias}, pattern::rank_equals(4));
  optional("optional with a condition", maybe_wide, pattern::wrap_type<ov::op::v8::Softmax>({maybe_wide}), softmax);
  tried("too many inputs", pattern::wrap_type<ov::op::v0::Tanh>({a, b}), tail);
  auto parts = pattern::wrap_type<ov::op::v1::Split>({a, pattern::wrap_const()});
  tried("an output of several", pattern::wrap_type<ov::op::v0::Tanh>({parts}), tail);
  tried("its number", pattern::wrap_type<ov::op::v0::Tanh>({pattern::any_input(pattern::output_index_matches(1))}),
        tail);
  tried("not its number", pattern::wrap_type<ov::op::v0::Tanh>({pattern::any_input(pattern::output_index_matches(0))}),
        tail);
  tried("rank", pattern::any_input(pattern::rank_equals(2) && pattern::has_static_shape()), product);
  tried("not the rank", pattern::any_input(pattern::rank_equals(3)), product);
  tried("more than", pattern::any_input(pattern::rank_more_than(1)), product);
  tried("any class but", pattern::any_input(pattern::class_other_than<ov::op::v1::Add>()), product);
  tried("one class", pattern::any_input(pattern::has_class<ov::op::v1::Add>()), product);
  tried("readers", pattern::any_input(pattern::consumers_more_than(1)), product);
  tried("types", pattern::any_input(pattern::type_matches_any({ov::element::i32, ov::element::f16})), product);
  tried("static extents", pattern::any_input(pattern::has_static_dims({0, 1})), product);
  tried("no such extent", pattern::any_input(pattern::has_static_dim(4)), product);
  auto label = std::make_shared<pattern::op::Label>(ov::element::f32, ov::PartialShape::dynamic());
  tried("operations over labels", std::make_shared<ov::op::v0::MatMul>(label, label), product);
  auto other = std::make_shared<pattern::op::Label>(ov::element::f32, ov::PartialShape::dynamic());
  tried("another label", std::make_shared<ov::op::v0::MatMul>(label, other), product);
}

}  // namespace

void passes() {
  managers();
  matchers();
}
