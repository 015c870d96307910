// SPDX-License-Identifier: Apache-2.0
// A model that runs as long as one of its inputs says, for tests of cancelling and waiting.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <tenon/graph/ops.hpp>
#include <tenon/graph/subgraph.hpp>

namespace tenon {

/// Inputs "trips" [1] i64 and "x" [1, 4] f32; output "y" [1, 4] is x after `trips` turns of adding 1.
/// @param fixed_trips  At least 0: the number of turns is a constant, and there is no input "trips".
inline std::shared_ptr<Model> turns_model(std::int64_t fixed_trips = -1) {
  using op::v0::Constant;
  using op::v0::Parameter;
  auto trips = std::make_shared<Parameter>(element::i64, PartialShape{1});
  auto x = std::make_shared<Parameter>(element::f32, PartialShape{1, 4});
  trips->output(0).set_names({"trips"});
  x->output(0).set_names({"x"});
  auto state = std::make_shared<Parameter>(element::f32, PartialShape{1, 4});
  auto next = std::make_shared<op::v1::Add>(state, Constant::create(element::f32, Shape{1}, {1}));
  const auto yes = [] { return Constant::create(element::boolean, Shape{}, {1}); };
  const bool is_fixed = fixed_trips >= 0;
  const Output<Node> count =
      is_fixed ? Constant::create(element::i64, Shape{1}, std::vector<std::int64_t>{fixed_trips})->output(0)
               : trips->output(0);
  auto loop = std::make_shared<op::v5::Loop>(count, yes()->output(0));
  loop->set_function(std::make_shared<Model>(OutputVector{yes()->output(0), next->output(0)}, ParameterVector{state}));
  loop->set_special_body_ports({-1, 0});
  loop->set_merged_input(state, x->output(0), next->output(0));
  Output<Node> y = loop->get_iter_value(next->output(0));
  y.set_names({"y"});
  ParameterVector parameters{x};
  if (!is_fixed) parameters.insert(parameters.begin(), trips);
  return std::make_shared<Model>(OutputVector{y}, parameters, "turns");
}

}  // namespace tenon
