// SPDX-License-Identifier: Apache-2.0
// Variables on the CPU go from one inference to the next without a copy: by the interposer, not only by the
// ledger.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include <tenon/core/ledger.hpp>
#include <tenon/runtime/runtime.hpp>

#include <tenon/tests/zero_copy/witness.hpp>

namespace tenon {
namespace state_test {

constexpr std::size_t kElements = 1 << 20;

/// value(t) = x + value(t-1) from zero, y = relu(value). With `from_input`, value(t) = x instead, which no step makes.
std::shared_ptr<Model> cumsum(bool from_input) {
  const Shape shape{1, kElements};
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape(shape));
  const Attributes variable{
      {"variable_id", "v"}, {"variable_shape", PartialShape(shape)}, {"variable_type", element::f32}};
  auto zero = op::v0::Constant::create(element::f32, shape, std::vector<double>(kElements, 0));
  auto read = make_node("ReadValue", 6, {zero->output(0)}, variable);
  auto sum = std::make_shared<op::v1::Add>(x->output(0), read->output(0));
  auto assign = make_node("Assign", 6, {from_input ? x->output(0) : sum->output(0)}, Attributes{{"variable_id", "v"}});
  auto y = std::make_shared<op::v0::Relu>(sum->output(0));
  return std::make_shared<Model>(OutputVector{y->output(0)}, SinkVector{assign}, ParameterVector{x}, "sum");
}

InferRequest request_for(bool from_input) {
  Core core;
  auto request = core.compile_model(cumsum(from_input), "CPU", zero_copy(ZeroCopy::kRequire),
                                    hint::inference_precision(element::f32))
                     .create_infer_request();
  Tensor x(element::f32, {1, kElements});
  std::fill_n(x.data<float>(), kElements, 1.f);
  request.set_input_tensor(x);
  request.get_output_tensor();
  return request;
}

TEST(ZeroCopyState, TwoMemoriesTakeTurns) {
  InferRequest request = request_for(false);
  auto state = request.query_state().at(0);
  request.infer();  // The initialiser is copied, once.
  ::zero_copy::CopyWatch watch;
  watch.watch(reinterpret_cast<const void*>(1), ~std::size_t{0} - 1);  // All of memory.
  std::set<const void*> places;
  for (int i = 0; i < 10; ++i) {
    request.infer();
    places.insert(state.get_state().data());
  }
  EXPECT_EQ(watch.large_copies(), 0u) << "by " << watch.last_caller();
  EXPECT_EQ(places.size(), 2u);
  EXPECT_EQ(request.ledger().total().copied, 0u);
  EXPECT_EQ(state.get_state().data<float>()[kElements - 1], 11.f);
  EXPECT_EQ(request.get_output_tensor().data<float>()[0], 11.f);
}

TEST(ZeroCopyState, WhatMustBeCopiedIsSeenAndBooked) {
  InferRequest request = request_for(true);
  request.infer();
  const auto booked = request.ledger().total().copied;
  ::zero_copy::CopyWatch watch;
  watch.watch(reinterpret_cast<const void*>(1), ~std::size_t{0} - 1);
  request.infer();
  EXPECT_GE(watch.bytes(), kElements * sizeof(float)) << "the witness must be able to see a copy";
  EXPECT_EQ(request.ledger().total().copied - booked, kElements * sizeof(float));
  EXPECT_EQ(request.get_output_tensor().data<float>()[0], 2.f);
}

}  // namespace state_test
}  // namespace tenon
