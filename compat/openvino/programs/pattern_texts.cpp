// SPDX-License-Identifier: Apache-2.0
// Texts and numbers in patterns, and how patterns and nodes are printed.
#include <cstdint>
#include <locale>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <openvino/op/ops.hpp>
#include <openvino/pass/pattern/matcher.hpp>
#include <openvino/pass/pattern/op/label.hpp>
#include <openvino/pass/pattern/op/wrap_type.hpp>

#include "programs.hpp"

namespace {

namespace pattern = ov::pass::pattern;
using ov::op::v0::Constant;

std::string shown(const pattern::PatternSymbolValue& value) {
  std::ostringstream text;
  if (value.is_group()) {
    text << '(';
    for (const auto& each : value.g()) text << shown(each) << ' ';
    text << ')';
  } else if (value.is_integer()) {
    text << value.i();
  } else {
    text << value.d();
  }
  return text.str();
}
void match(const std::string& text, const std::shared_ptr<ov::Node>& pattern, const ov::Output<ov::Node>& value) {
  pattern::Matcher matcher(pattern, "names");
  std::ostringstream found;
  found << matcher.match(value);
  const std::map<std::string, pattern::PatternSymbolValue> names(matcher.get_symbols().begin(),
                                                                 matcher.get_symbols().end());
  for (const auto& [name, each] : names) found << ' ' << name << '=' << shown(each);
  line(text, ' ', value.get_partial_shape(), ": ", found.str());
}

}  // namespace

void texts_in_patterns() {
  for (const ov::PartialShape& shape : {ov::PartialShape{1, 3, 4, 4}, ov::PartialShape{-1, 3, 4, 5},
                                        ov::PartialShape{7}, ov::PartialShape{}, ov::PartialShape::dynamic()})
    for (const char* text : {"[N,C,H,W]", "N,C,H,H", "[?,3,?,?]", "[B...,H,W]", "[..., H, W]", "[1, B..., H]", "", "[]",
                             "...", "?", "[?]", "[...]", "[ A ]"})
      match(text, pattern::any_input(pattern::shape_matches(text)), f32_input(shape));
  refused(
      "two of any number", [] { pattern::shape_matches("[A..., B...]"); }, "Only one ellipsis is allowed");
  const auto values = [](const std::string& text, const std::shared_ptr<Constant>& constant) {
    match("values " + text, pattern::wrap_type<Constant>(pattern::value_matches(text)), constant);
  };
  values("1,2", i64_values({1, 2}));
  values("A,A", i64_values({1, 2}));
  values("[A,B...]", i64_values({5, 6, 7}));
  values("A,B", i64_values({-1, 5}));
  values("0.3", Constant::create(ov::element::f32, {1}, {0.3F}));
  values("A", Constant::create(ov::element::f32, {1}, {0.5F}));
  values("1.0", i64_values({1}));
  values("1", f32_input({1}) ? i64_values({1, 1}) : nullptr);

  auto product =
      std::make_shared<ov::op::v0::MatMul>(f32_input({2, 3}), Constant::create(ov::element::f32, {3, 5}, {0}));
  for (const char* text : {"[K,N]", "[N,K]", "[M,N]"})
    match(text,
          pattern::wrap_type<ov::op::v0::MatMul>(
              {pattern::any_input(pattern::shape_matches("[M,K]")), pattern::any_input(pattern::shape_matches(text))}),
          product);
  auto plus = std::make_shared<ov::op::v1::Add>(f32_input({1, 3}), Constant::create(ov::element::f32, {1}, {0.5F}));
  match("a number", pattern::wrap_type<ov::op::v1::Add>({pattern::any_input(), 0.5F}), plus);
  match("another number", pattern::wrap_type<ov::op::v1::Add>({pattern::any_input(), 1}), plus);
  match("a name", pattern::wrap_type<ov::op::v1::Add>({pattern::any_input(), "half"}), plus);
  match("a rank", pattern::wrap_type<ov::op::v1::Add>({ov::Rank(2), pattern::any_input()}), plus);
  auto turned = std::make_shared<ov::op::v1::Transpose>(f32_input({1, 3, 5}), i64_values({0, 2, 1}));
  match("numbers", pattern::wrap_type<ov::op::v1::Transpose>({pattern::any_input(), {0, 2, 1}}), turned);
  match("other numbers", pattern::wrap_type<ov::op::v1::Transpose>({pattern::any_input(), {0, 1, 2}}), turned);
  match("parts", pattern::wrap_type<ov::op::v1::Transpose>({pattern::any_input(), "0,A..."}), turned);
  match("own function",
        pattern::wrap_type<ov::op::v0::MatMul>(
            {pattern::any_input(
                 pattern::op::Predicate([](pattern::PatternSymbolMap& names, const ov::Output<ov::Node>& output) {
                   names["first"] = static_cast<std::int64_t>(output.get_shape()[0]);
                   return true;
                 })),
             pattern::any_input()}),
        product);
  refused(
      "names without a matcher", [&] { pattern::shape_matches("[M,K]")(product->input_value(0)); },
      "called with unexpected argument");
  const pattern::op::Predicate always([](const ov::Output<ov::Node>&) { return true; });
  line("none needed ", always(static_cast<pattern::Matcher*>(nullptr), product->output(0)));
  struct Comma : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
  };
  const std::locale before = std::locale::global(std::locale(std::locale(), new Comma));
  match("a number with a comma", pattern::wrap_type<ov::op::v1::Add>({pattern::any_input(), 0.5F}), plus);
  std::locale::global(before);
  line(*pattern::any_input());
  line(*pattern::wrap_type<ov::op::v0::MatMul>({pattern::any_input(), pattern::any_input()}));
  std::ostringstream two;
  std::dynamic_pointer_cast<pattern::op::Pattern>(pattern::wrap_type<ov::op::v0::MatMul, ov::op::v0::Relu>())
      ->write_type_description(two);
  line(two.str());
  auto relu = std::make_shared<ov::op::v0::Relu>(f32_input({1, 2}));
  relu->set_friendly_name("relu");
  line(*relu, ' ', relu->output(0));
}
