// SPDX-License-Identifier: Apache-2.0
// Plans made again from packed constants: which constants have stand-ins, and that no missing value is read.
#include <gtest/gtest.h>

#include <cstring>

#include <dnnl.hpp>

#include <tenon/core/error.hpp>
#include <tenon/engine/packed_model.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>

namespace tenon::inline v1::engine {
namespace packed_model_test {

Tensor noise(const Shape& shape, unsigned seed) {
  Tensor tensor(ElementType::kF32, shape);
  for (std::size_t i = 0; i < tensor.element_count(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    tensor.data<float>()[i] = static_cast<float>(seed >> 8) / 8388608.f - 1.f;
  }
  return tensor;
}
Output<Node> constant(const Shape& shape, unsigned seed) {
  return std::make_shared<op::v0::Constant>(noise(shape, seed))->output(0);
}
std::shared_ptr<Node> convolution(const Output<Node>& x, const Output<Node>& filters) {
  return std::make_shared<op::v1::Convolution>(x, filters, std::vector<std::int64_t>{1, 1},
                                               std::vector<std::int64_t>{1, 1}, std::vector<std::int64_t>{1, 1},
                                               std::vector<std::int64_t>{1, 1});
}

/// Two convolutions, a dense layer, and a table that is added unpacked: only the first three are packed.
std::shared_ptr<Model> network() {
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 32, 8, 8});
  auto first = convolution(x->output(0), constant({32, 32, 3, 3}, 1));
  auto relu = std::make_shared<op::v0::Relu>(first->output(0));
  auto second = convolution(relu->output(0), constant({32, 32, 3, 3}, 2));
  auto table = std::make_shared<op::v1::Maximum>(second->output(0), constant({1, 32, 8, 8}, 3));
  auto pattern = op::v0::Constant::create(element::i64, Shape{2}, {1, 2048});
  auto flat = std::make_shared<op::v1::Reshape>(table->output(0), pattern->output(0), false);
  auto dense = std::make_shared<op::v0::MatMul>(flat->output(0), constant({2048, 16}, 4));
  return std::make_shared<Model>(OutputVector{dense->output(0)}, ParameterVector{x});
}

Tensor run(const std::shared_ptr<const Plan>& plan, const Tensor& input) {
  Workers workers(1);
  Execution execution(plan);
  execution.bind_input(0, input);
  execution.run(workers);
  Tensor copy;
  execution.output(0).copy_to(copy);
  return copy;
}

TEST(StandIn, KnowsWhetherItWasRead) {
  const Tensor untouched = make_stand_in(ElementType::kF32, {100000});
  EXPECT_FALSE(was_touched(untouched));
  const Tensor read = make_stand_in(ElementType::kF32, {100000});
  EXPECT_EQ(read.data<float>()[99999], 0.f);
  EXPECT_TRUE(was_touched(read));
  EXPECT_FALSE(was_touched(untouched)) << "neighbours are not meant";
}

TEST(PackedModel, GivesThePlanAgainBitForBit) {
  Options options;
  options.threads = 1;
  const auto plan = Plan::compile(network(), options);
  const PackedModel prepared = packed_model_of(*plan);
  EXPECT_GE(prepared.constants.size(), 2u) << "weights of convolutions must not be kept twice";
  std::size_t packed = 0;
  for (const auto& one : prepared.constants) {
    EXPECT_FALSE(was_touched(one.stand_in));
    for (const auto& layout : one.packed) packed += layout.bytes.size_bytes();
  }
  EXPECT_GE(packed, 2u * 32 * 32 * 9 * sizeof(float));
  const auto again = restore_plan(prepared, options);
  const Tensor input = noise({1, 32, 8, 8}, 9);
  const Tensor expected = run(plan, input), found = run(again, input);
  EXPECT_EQ(std::memcmp(expected.data(), found.data(), expected.size_bytes()), 0);
  EXPECT_EQ(again->steps().size(), plan->steps().size());
  for (const auto& one : prepared.constants)
    EXPECT_FALSE(was_touched(one.stand_in)) << "the run must not read what is not there";
}

TEST(PackedModel, AConstantThatIsAlsoReadAsItLiesKeepsItsValues) {
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 32, 8, 8});
  const auto weights = constant({32, 32, 3, 3}, 5);
  auto y = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{32, 32, 3, 3});
  auto conv = convolution(x->output(0), weights);
  auto other = std::make_shared<op::v1::Maximum>(y->output(0), weights);
  const auto model = std::make_shared<Model>(OutputVector{conv->output(0), other->output(0)}, ParameterVector{x, y});
  const PackedModel prepared = packed_model_of(*Plan::compile(model));
  EXPECT_TRUE(prepared.constants.empty());
  EXPECT_NO_THROW(restore_plan(prepared, {}));
}

TEST(PackedModel, WeightsByColumnsStayWhereTheyLieOnAvx2) {
  if (dnnl::get_effective_cpu_isa() != dnnl::cpu_isa::avx2) GTEST_SKIP() << "others have a kernel for packed weights";
  for (const bool is_by_columns : {true, false}) {
    const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{64, 256});
    const auto product = std::make_shared<op::v0::MatMul>(
        x->output(0), constant(is_by_columns ? Shape{300, 256} : Shape{256, 300}, 6), false, is_by_columns);
    const auto plan = Plan::compile(std::make_shared<Model>(OutputVector{product->output(0)}, ParameterVector{x}));
    EXPECT_EQ(packed_model_of(*plan).constants.empty(), is_by_columns);
  }
}

TEST(PackedModel, AnotherLayoutIsRefused) {
  const auto plan = Plan::compile(network());
  PackedModel prepared = packed_model_of(*plan);
  ASSERT_FALSE(prepared.constants.empty());
  prepared.constants[0].packed[0].layout += " of another machine";
  try {
    restore_plan(prepared, plan->options());
    ADD_FAILURE() << "the constant is not there in that layout";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kFailedPrecondition);
  }
  prepared.constants[0].packed.clear();
  EXPECT_THROW(restore_plan(prepared, plan->options()), Error);
}

}  // namespace packed_model_test
}  // namespace tenon::inline v1::engine
