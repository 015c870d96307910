// SPDX-License-Identifier: Apache-2.0
// Loops that ask for more than a machine has, for tests of limits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/subgraph.hpp>
#include <tenon/runtime/runtime.hpp>

namespace tenon {

/// A loop whose body computes `next` of its state, "trips" times, from f32 [1024]. @param is_open  Its shape may change.
inline std::shared_ptr<Model> loop_model(const std::function<Output<Node>(const Output<Node>&)>& next, bool is_open) {
  using op::v0::Constant;
  using op::v0::Parameter;
  auto trips = std::make_shared<Parameter>(element::i64, PartialShape(Shape{}));
  auto start = std::make_shared<Parameter>(element::f32, PartialShape(Shape{1024}));
  auto state = std::make_shared<Parameter>(element::f32, is_open ? PartialShape::dynamic() : PartialShape(Shape{1024}));
  const auto truth = std::make_shared<Constant>(element::boolean, Shape{}, std::vector<std::int64_t>{1});
  const auto goes_on = std::make_shared<Constant>(element::boolean, Shape{}, std::vector<std::int64_t>{1});
  const Output<Node> after = next(state);
  auto loop = std::make_shared<op::v5::Loop>(trips, truth);
  loop->set_function(std::make_shared<Model>(OutputVector{goes_on, after}, ParameterVector{state}));
  loop->set_special_body_ports({-1, 0});
  loop->set_merged_input(state, start, after);
  return std::make_shared<Model>(OutputVector{loop->get_iter_value(after)}, ParameterVector{trips, start}, "loop");
}

/// A request of a compiled loop_model(), which starts from 0.5.
inline InferRequest request_of(CompiledModel& compiled, std::int64_t trips) {
  InferRequest request = compiled.create_infer_request();
  Tensor count(element::i64, Shape{}), start(element::f32, Shape{1024});
  *count.data<std::int64_t>() = trips;
  std::fill_n(start.data<float>(), 1024, 0.5f);
  request.set_input_tensor(0, count);
  request.set_input_tensor(1, start);
  return request;
}

/// [1024] becomes [2048], and so on.
inline Output<Node> doubled(const Output<Node>& x) {
  return std::make_shared<op::v0::Concat>(OutputVector{x, x}, 0)->output(0);
}

}  // namespace tenon
