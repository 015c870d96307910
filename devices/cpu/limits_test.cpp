// SPDX-License-Identifier: Apache-2.0
// Valid models that request more than the machine has are refused with a message, at the limits that Core sets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include <tenon/graph/limits.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/subgraph.hpp>
#include <tenon/runtime/runtime.hpp>
#include <tenon/tests/support/error_of.hpp>
#include <tenon/tests/support/hostile_models.hpp>

namespace tenon {
namespace cpu_limits_test {

using op::v0::Constant;
using op::v0::Parameter;
using ::testing::HasSubstr;

class CpuLimits : public ::testing::Test {
 protected:
  ~CpuLimits() override { set_model_limits(before_); }
  const ModelLimits before_ = model_limits();
  Core core_;
};

TEST_F(CpuLimits, ALoopThatDoublesItsTensorEndsAtTheMemoryAllowed) {
  const auto model = loop_model(doubled, true);
  core_.set_property(limit::bytes(std::uint64_t{64} << 20));
  EXPECT_EQ(core_.get_property("", limit::bytes.name()).as<std::uint64_t>(), std::uint64_t{64} << 20);
  auto compiled = core_.compile_model(model, "CPU");
  auto request = request_of(compiled, 60);
  const Error error = error_of([&] { request.infer(); });
  EXPECT_EQ(error.code(), Code::kResourceExhausted);
  EXPECT_THAT(error.what(), HasSubstr("of 67108864 allowed bytes are in use"));
  EXPECT_THAT(error.what(), HasSubstr("TENON_LIMIT_BYTES"));
  // The request still accepts what fits, repeatedly: used memory is returned.
  auto fits = request_of(compiled, 10);
  for (int i = 0; i < 20; ++i) {
    fits.infer();
    EXPECT_EQ(fits.get_output_tensor(0).get_size(), std::size_t{1024} << 10);
  }
}

TEST_F(CpuLimits, WhatLiesBetweenTheNodesCounts) {
  const auto x = std::make_shared<Parameter>(element::f32, PartialShape(Shape{1 << 20}));
  const auto wide = std::make_shared<op::v0::Concat>(OutputVector{x, x, x, x}, 0);
  const auto sum = make_node(
      "ReduceSum", 1,
      {std::make_shared<op::v0::Sigmoid>(wide), Constant::create(element::i64, Shape{1}, std::vector<std::int64_t>{0})},
      {{"keep_dims", true}});
  const auto model = std::make_shared<Model>(OutputVector{sum->output(0)}, ParameterVector{x}, "wide");
  EXPECT_NO_THROW(core_.compile_model(model, "CPU"));
  core_.set_property(limit::bytes(std::uint64_t{8} << 20));
  const Error error = error_of([&] { core_.compile_model(model, "CPU"); });
  EXPECT_EQ(error.code(), Code::kResourceExhausted);
  EXPECT_THAT(error.what(), HasSubstr("'wide'"));
  EXPECT_THAT(error.what(), HasSubstr("bytes for the values between its nodes"));
  EXPECT_THAT(error.what(), HasSubstr("TENON_LIMIT_BYTES is 8388608"));
}

TEST_F(CpuLimits, ConstantsThatGrowWhileTheyAreFoldedCount) {
  // All values are known, so the compiler itself would run it.
  auto state = std::make_shared<Parameter>(element::f32, PartialShape::dynamic());
  const auto truth = std::make_shared<Constant>(element::boolean, Shape{}, std::vector<std::int64_t>{1});
  const auto goes_on = std::make_shared<Constant>(element::boolean, Shape{}, std::vector<std::int64_t>{1});
  const auto grown = std::make_shared<op::v0::Concat>(OutputVector{state, state}, 0);
  auto loop =
      std::make_shared<op::v5::Loop>(Constant::create(element::i64, Shape{}, std::vector<std::int64_t>{60}), truth);
  loop->set_function(std::make_shared<Model>(OutputVector{goes_on, grown}, ParameterVector{state}));
  loop->set_special_body_ports({-1, 0});
  loop->set_merged_input(state, Constant::create(element::f32, Shape{1024}, std::vector<double>{1}), grown);
  const auto x = std::make_shared<Parameter>(element::f32, PartialShape(Shape{1}));
  const auto sum =
      make_node("ReduceSum", 1,
                {loop->get_iter_value(grown), Constant::create(element::i64, Shape{1}, std::vector<std::int64_t>{0})},
                {{"keep_dims", true}});
  const auto model =
      std::make_shared<Model>(OutputVector{std::make_shared<op::v1::Add>(x, sum)->output(0)}, ParameterVector{x});
  core_.set_property(limit::bytes(std::uint64_t{64} << 20));
  const Error error = error_of([&] {
    auto compiled = core_.compile_model(model, "CPU");
    auto request = compiled.create_infer_request();
    request.infer();
  });
  EXPECT_EQ(error.code(), Code::kResourceExhausted) << error.what();
  EXPECT_THAT(error.what(), HasSubstr("TENON_LIMIT_BYTES"));
}

TEST_F(CpuLimits, AnEndlessLoopEndsInTime) {
  core_.set_property(limit::infer_seconds(1));
  for (const bool is_open : {false, true}) {
    const auto model =
        loop_model([](const Output<Node>& x) { return std::make_shared<op::v0::Tanh>(x)->output(0); }, is_open);
    auto compiled = core_.compile_model(model, "CPU");
    auto request = request_of(compiled, -1);
    const Error error = error_of([&] { request.infer(); });
    EXPECT_EQ(error.code(), Code::kDeadlineExceeded) << error.what();
    EXPECT_THAT(error.what(), HasSubstr("takes longer than 1 s"));
    EXPECT_THAT(error.what(), HasSubstr("TENON_LIMIT_INFER_SECONDS"));
    // The failure had no lasting effect.
    bool works = false;
    for (int i = 0; i < 5 && !works; ++i) {  // On a busy machine three turns, too, may take a second.
      auto next = request_of(compiled, 3);
      try {
        next.infer();
        works = true;
      } catch (const Error& late) {
        EXPECT_EQ(late.code(), Code::kDeadlineExceeded) << late.what();
      }
    }
    EXPECT_TRUE(works);
  }
}

TEST_F(CpuLimits, CompilingEndsInTime) {
  // Products of constants: folding all with the reference kernel takes seconds, and one takes little in a build without optimisation.
  const Shape shape{256, 256};
  const auto matrix = [&](double value) { return Constant::create(element::f32, shape, std::vector<double>{value}); };
  const auto x = std::make_shared<Parameter>(element::f32, PartialShape(shape));
  Output<Node> product = matrix(0.5);
  const auto factor = matrix(0.1);
  for (int i = 0; i < 4000; ++i) product = std::make_shared<op::v0::MatMul>(product, factor)->output(0);
  const auto model =
      std::make_shared<Model>(OutputVector{std::make_shared<op::v1::Add>(x, product)->output(0)}, ParameterVector{x});
  core_.set_property(limit::compile_seconds(1));
  const auto began = std::chrono::steady_clock::now();
  const Error error = error_of([&] { core_.compile_model(model, "CPU"); });
  EXPECT_EQ(error.code(), Code::kDeadlineExceeded) << error.what();
  EXPECT_THAT(error.what(), HasSubstr("TENON_LIMIT_COMPILE_SECONDS"));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(15)) << "all of it was folded before";
}

TEST_F(CpuLimits, AreCoresOwnProperties) {
  for (const char* name : {"TENON_LIMIT_NODES", "TENON_LIMIT_DEPTH", "TENON_LIMIT_BYTES", "TENON_LIMIT_COMPILE_SECONDS",
                           "TENON_LIMIT_INFER_SECONDS"}) {
    const auto listed = core_.get_property("", supported_properties.name()).as<std::vector<PropertyName>>();
    EXPECT_TRUE(std::find(listed.begin(), listed.end(), name) != listed.end()) << name;
    core_.set_property({{name, Any(std::string("12"))}});
    EXPECT_EQ(core_.get_property("", name).as<std::uint64_t>(), 12U) << name;
  }
  EXPECT_THROW(core_.set_property({{"TENON_LIMIT_DEPTH", Any(1000)}}), Error);
  EXPECT_THROW(core_.set_property({{"TENON_LIMIT_NODES", Any(0)}}), Error);
  EXPECT_THROW(core_.set_property({{"TENON_LIMIT_BYTES", Any(std::string("many"))}}), Error);
  EXPECT_EQ(core_.get_property("", "TENON_LIMIT_DEPTH").as<std::uint64_t>(), 12U);
}

}  // namespace cpu_limits_test
}  // namespace tenon
