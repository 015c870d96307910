// SPDX-License-Identifier: Apache-2.0
// States, branches and loops.
#include <algorithm>

#include <tenon/graph/subgraph.hpp>
#include <tenon/tests/graphs/builder.hpp>

namespace tenon::graphs {

void Builder::state() {
  const Item initial = real(), value = real();
  const Shape shape = initial.shape();
  const std::string id = "state" + std::to_string(sinks_.size());
  const auto read_value =
      make_node("ReadValue", 6, {initial.out},
                {{"variable_id", id}, {"variable_type", ElementType::kF32}, {"variable_shape", PartialShape(shape)}});
  const Item held{read_value->output(0), kHighest};
  states_.push_back(held.out);
  items_.push_back(held);
  items_.back().readers = 1;
  // What is assigned: the state itself, a part of it beside something new, or what comes of both.
  Out next;
  if (value.shape() == shape && choices_.once_in(2)) {
    next = value.out;
  } else if (!shape.empty() && shape[0] > 1 && choices_.once_in(2)) {
    const Out rest = op1("Slice", 8, {held.out, ints({1}), ints({signed_of(shape[0])}), ints({1}), ints({0})});
    const Out first = op1("Slice", 8, {initial.out, ints({0}), ints({1}), ints({1}), ints({0})});
    next = op1("Concat", 1, {rest, first}, {{"axis", std::int64_t{0}}});
  } else {
    next = op1("Tanh", 1, {op1("Add", 1, {held.out, initial.out})});
  }
  sinks_.push_back(
      make_node("Assign", 6, {next},
                {{"variable_id", id}, {"variable_type", ElementType::kF32}, {"variable_shape", PartialShape(shape)}}));
  add(next, kHighest);
}

Builder::Body Builder::body(const std::vector<Item>& sources, std::size_t nodes) {
  Wishes wishes = wishes_;
  wishes.nodes = nodes;
  Builder inner(choices_, wishes, depth_ + 1);
  for (const Item& source : sources) inner.add_parameter(source.shape(), source.bound);
  for (std::size_t i = 0; i < nodes; ++i) inner.grow();
  Body made{sources, inner.parameters(), {}};
  for (Item& item : inner.items())
    if (item.is_real() && !as_type<Constant>(item.out.get_node())) made.results.push_back(item.out);
  return made;
}

std::vector<Item> Builder::sources(std::size_t count) {
  std::vector<Item> chosen;
  for (std::size_t i = 0; i < count; ++i) chosen.push_back(real());
  return chosen;
}

void Builder::branch() {
  const std::vector<Item> from = sources(choices_.between(1, 2));
  const Body then = body(from, choices_.between(1, 4)), other = body(from, choices_.between(1, 4));
  // A condition that the values decide.
  Out flat = op1("ReduceMean", 1, {op1("Reshape", 1, {from[0].out, ints({-1})}, {{"special_zero", false}}), ints({0})},
                 {{"keep_dims", false}});
  const double threshold = choices_.once_in(2) ? -10000 : 10000;
  auto node = std::make_shared<op::v8::If>(op1("Greater", 1, {flat, number(threshold)}));
  // Outputs of equal shapes, as many as there are.
  OutputVector then_results, else_results;
  for (std::size_t i = then.results.size(); i-- > 0 && then_results.size() < 2;)
    for (std::size_t k = other.results.size(); k-- > 0;)
      if (then.results[i].get_shape() == other.results[k].get_shape() &&
          std::find(else_results.begin(), else_results.end(), other.results[k]) == else_results.end()) {
        then_results.push_back(then.results[i]);
        else_results.push_back(other.results[k]);
        break;
      }
  if (then_results.empty()) return;
  const auto then_body = std::make_shared<Model>(then_results, then.parameters);
  const auto else_body = std::make_shared<Model>(else_results, other.parameters);
  node->set_then_body(then_body);
  node->set_else_body(else_body);
  for (std::size_t i = 0; i < from.size(); ++i) node->set_input(from[i].out, then.parameters[i], other.parameters[i]);
  for (std::size_t i = 0; i < then_results.size(); ++i)
    add(node->set_output(then_body->get_results()[i], else_body->get_results()[i]), kHighest);
}

void Builder::loop() {
  const std::vector<Item> from = sources(choices_.between(1, 2));
  const Body made = body(from, choices_.between(1, 5));
  // A result that can go back in: of the first parameter's shape, and kept small.
  Out next;
  for (std::size_t i = made.results.size(); i-- > 0 && !next.get_node();)
    if (made.results[i].get_shape() == from[0].shape()) next = made.results[i];
  next = op1("Tanh", 1, {next.get_node() ? next : made.parameters[0]->output(0)});
  const auto truth = [] { return std::make_shared<Constant>(element::boolean, Shape{}, Ints{1}); };
  OutputVector results{truth(), next};
  Out extra = made.results[choices_.below(made.results.size())];
  const bool joins = !extra.get_shape().empty() && choices_.once_in(2);
  results.push_back(extra);
  auto node = std::make_shared<op::v5::Loop>(scalar_int(signed_of(choices_.between(1, 3))), truth());
  node->set_function(std::make_shared<Model>(results, made.parameters));
  node->set_special_body_ports({-1, 0});
  node->set_merged_input(made.parameters[0], from[0].out, next);
  for (std::size_t i = 1; i < from.size(); ++i) node->set_invariant_input(made.parameters[i], from[i].out);
  add(node->get_iter_value(next), 1);
  add(joins ? node->get_concatenated_slices(extra, 0, 1, signed_of(extra.get_shape()[0]), -1, 0)
            : node->get_iter_value(extra),
      kHighest);
}

}  // namespace tenon::graphs
