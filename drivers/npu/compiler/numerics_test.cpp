// SPDX-License-Identifier: Apache-2.0
// Numerics of hardware: each operation rounds to f16, so that a net which overflows on silicon overflows here.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <tenon/core/error.hpp>
#include <tenon/drivers/npu/compiler/numerics.hpp>
#include <tenon/drivers/npu/testing/compiled.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace tenon::npu::compiler {
namespace numerics_test {

using Out = Output<Node>;

std::vector<float> values_of(const Model& model, Numerics numerics, const Tensor& x) {
  const Bytes ir = in_memory(model);
  Request request = request_for(ir);
  request.numerics = numerics;
  const Compiled compiled = compile(request, nullptr);
  ProgramRun run(compiled.program);
  const Tensor y = run_once(run, *compiled.program, {x})[0];
  return {y.data<float>(), y.data<float>() + y.element_count()};
}

Tensor tensor_of(const Shape& shape, const std::vector<float>& values) {
  Tensor tensor(ElementType::kF32, shape);
  for (std::size_t i = 0; i < tensor.element_count(); ++i) tensor.data<float>()[i] = values[i % values.size()];
  return tensor;
}

Out constant(const Shape& shape, const std::vector<double>& values) {
  return std::make_shared<op::v0::Constant>(element::f32, shape, values)->output(0);
}
Out axis(std::int64_t which) {
  return std::make_shared<op::v0::Constant>(element::i64, Shape{1}, std::vector<std::int64_t>{which})->output(0);
}
std::shared_ptr<Model> model_of(const Out& y, const std::shared_ptr<op::v0::Parameter>& x) {
  return std::make_shared<Model>(OutputVector{y}, ParameterVector{x}, "numerics");
}

TEST(Numerics, EachOperationRoundsToF16) {
  // Neighbours of f16 lie 2 apart from 2048 on; ties go to the even one. 0.1 is 0.0999755859375.
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 4});
  const Out one = constant({1}, {1});
  const Out first = std::make_shared<op::v1::Add>(x->output(0), one)->output(0);
  const Out second = std::make_shared<op::v1::Add>(first, one)->output(0);
  const auto model = model_of(second, x);
  const Tensor given = tensor_of({1, 4}, {2048, 2050, 0.1f, 65503});
  const std::vector<float> exact = values_of(*model, Numerics::kF32, given);
  EXPECT_EQ(exact[0], 2050);
  EXPECT_EQ(exact[1], 2052);
  EXPECT_NEAR(exact[2], 2.1, 1e-6);
  EXPECT_EQ(exact[3], 65505);
  const std::vector<float> rounded = values_of(*model, Numerics::kF16, given);
  EXPECT_EQ(rounded[0], 2048) << "2049 is a tie, twice";
  EXPECT_EQ(rounded[1], 2052) << "2051 is a tie to 2052, 2053 one to 2052";
  EXPECT_EQ(rounded[2], 2.099609375f);
  EXPECT_EQ(rounded[3], 65504) << "the largest number: 65505 is nearer to it than to the next";
}

TEST(Numerics, WhatIsTooLargeIsInfinite) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 2});
  const Out square = std::make_shared<op::v1::Multiply>(x->output(0), x->output(0))->output(0);
  const auto model = model_of(std::make_shared<op::v1::Multiply>(square, constant({1}, {1e-3}))->output(0), x);
  const Tensor given = tensor_of({1, 2}, {300, 200});
  EXPECT_NEAR(values_of(*model, Numerics::kF32, given)[0], 90, 1e-3);
  EXPECT_EQ(values_of(*model, Numerics::kF16, given)[0], std::numeric_limits<float>::infinity());
  EXPECT_NEAR(values_of(*model, Numerics::kF16, given)[1], 40, 0.05);
}

/// A block as in Swin: a layer norm written out as exporters write it, attention within a window, and a residual.
std::shared_ptr<Model> swin_block() {
  constexpr std::size_t kTokens = 16, kWidth = 32;
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, kTokens, kWidth});
  const auto mean_of = [](const Out& of) {
    return make_node("ReduceMean", 1, {of, axis(-1)}, {{"keep_dims", true}})->output(0);
  };
  const Out centred = std::make_shared<op::v1::Subtract>(x->output(0), mean_of(x->output(0)))->output(0);
  const Out variance = mean_of(std::make_shared<op::v1::Multiply>(centred, centred)->output(0));
  const Out root =
      make_node("Sqrt", 1, {std::make_shared<op::v1::Add>(variance, constant({1}, {1e-5}))->output(0)})->output(0);
  const Out norm = std::make_shared<op::v1::Divide>(centred, root)->output(0);
  std::vector<double> weights(kWidth * kWidth);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = std::sin(static_cast<double>(i)) / 6;
  const Out mixed = std::make_shared<op::v0::MatMul>(norm, constant({kWidth, kWidth}, weights))->output(0);
  const Out scores = std::make_shared<op::v0::MatMul>(mixed, norm, false, true)->output(0);
  const Out attention = make_node("Softmax", 8, {scores}, {{"axis", std::int64_t{-1}}})->output(0);
  const Out joined = std::make_shared<op::v0::MatMul>(attention, norm)->output(0);
  return model_of(std::make_shared<op::v1::Add>(joined, x->output(0))->output(0), x);
}

TEST(Numerics, ASwinLikeNetThatOverflowsOnSiliconOverflowsHere) {
  const auto model = swin_block();
  const auto result_for = [&](double scale, Numerics numerics) {
    Tensor x = random_tensor(ElementType::kF32, {1, 16, 32}, 5);
    for (std::size_t i = 0; i < x.element_count(); ++i) x.data<float>()[i] *= static_cast<float>(scale);
    return values_of(*model, numerics, x);
  };
  const auto distance = [](const std::vector<float>& a, const std::vector<float>& b) {
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::fabs(double{a[i]} - b[i]));
    return largest;
  };
  const auto small_f32 = result_for(1, Numerics::kF32), small_f16 = result_for(1, Numerics::kF16);
  EXPECT_LT(distance(small_f32, small_f16), 0.02);
  EXPECT_GT(distance(small_f32, small_f16), 1e-5) << "it rounds";
  // The squares of the layer norm exceed 65504, and the norm's quotient is 0: attention sees nothing.
  const auto large_f32 = result_for(400, Numerics::kF32), large_f16 = result_for(400, Numerics::kF16);
  for (const float each : large_f32) ASSERT_TRUE(std::isfinite(each));
  EXPECT_GT(distance(large_f32, large_f16), 0.5);
}

/// As quantisers write it: the same ranges before and after.
Out fake_quantize(const Out& x, double low, double high, const Shape& shape = {}) {
  const Out least = constant(shape, {low}), most = constant(shape, {high});
  return make_node("FakeQuantize", 1, {x, least, most, least, most}, {{"levels", 256}})->output(0);
}
/// x[1, n] times a matrix of n numbers `weight`, each a whole number of steps.
Out product_of(const Out& x, std::size_t n, double weight) {
  const Out weights = fake_quantize(constant({n, 1}, {std::vector<double>(n, weight)}), -128, 127);
  return std::make_shared<op::v0::MatMul>(x, weights)->output(0);
}

TEST(Numerics, ZeroIsOneOfTheLevelsOfEightBits) {
  // 23.18 steps below zero: silicon has 23 of them.
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 3});
  const auto model = model_of(fake_quantize(x->output(0), -0.1, 1), x);
  const Tensor given = tensor_of({1, 3}, {-0.1f, 0, 1});
  const float step = 1.1f / 255;
  const std::vector<float> exact = values_of(*model, Numerics::kF32, given);
  EXPECT_NEAR(exact[0], -0.1, 1e-6);
  EXPECT_NEAR(exact[1], -0.1 + 23 * step, 1e-6) << "zero is no level";
  const std::vector<float> moved = values_of(*model, Numerics::kF16, given);
  EXPECT_NEAR(moved[0], -23 * step, 1e-4);
  EXPECT_EQ(moved[1], 0);
  EXPECT_NEAR(moved[2], 232 * step, 1e-3);
}

TEST(Numerics, AFakeQuantizeWhoseRangeLacksZeroStaysReal) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 1});
  const auto model = model_of(fake_quantize(x->output(0), 1, 256), x);
  EXPECT_EQ(values_of(*model, Numerics::kF16, tensor_of({1, 1}, {0}))[0], 1);
}

TEST(Numerics, ProductsOfEightBitsSumExactlyUntilTheyAreRounded) {
  // 400 products of 200 and 1 are 80000, more than f16 has; the sum is rounded to 8 bits, and the next product makes it small.
  constexpr std::size_t kCount = 400;
  const auto net = [&](bool is_quantised) {
    const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, kCount});
    const Out first = is_quantised ? fake_quantize(x->output(0), 0, 255) : x->output(0);
    const Out sum = std::make_shared<op::v1::Add>(product_of(first, kCount, 1), constant({1}, {400}))->output(0);
    const Out positive = make_node("Relu", 1, {sum})->output(0);
    const Out rounded = is_quantised ? fake_quantize(positive, 0, 102000) : positive;
    const Out small = fake_quantize(constant({1, 1}, {1.0 / 128}), -1, 127.0 / 128);
    return model_of(std::make_shared<op::v0::MatMul>(rounded, small)->output(0), x);
  };
  const Tensor given = tensor_of({1, kCount}, {200});
  EXPECT_NEAR(values_of(*net(true), Numerics::kF32, given)[0], 628.125, 0.01);
  EXPECT_EQ(values_of(*net(true), Numerics::kF16, given)[0], 628) << "80400 / 128, as f16";
  EXPECT_EQ(values_of(*net(false), Numerics::kF16, given)[0], std::numeric_limits<float>::infinity());
}

TEST(Numerics, NumbersOfEightBitsSaturate) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 2});
  const auto model = model_of(product_of(fake_quantize(x->output(0), -128, 127), 2, 1), x);
  EXPECT_EQ(values_of(*model, Numerics::kF16, tensor_of({1, 2}, {1e4f, 0}))[0], 127);
  EXPECT_EQ(values_of(*model, Numerics::kF16, tensor_of({1, 2}, {-1e4f, 0}))[0], -128);
}

TEST(Numerics, OneOperandOfEightBitsIsRealAsTheOther) {
  // The compiler multiplies in f16 then: 1 / 255 is rounded.
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 1});
  const Out weight = constant({1, 1}, {1});
  const auto model =
      model_of(std::make_shared<op::v0::MatMul>(fake_quantize(x->output(0), 0, 1), weight)->output(0), x);
  EXPECT_EQ(values_of(*model, Numerics::kF16, tensor_of({1, 1}, {1.0f / 255}))[0], 0.003921508789f);
}

TEST(Numerics, TheCacheDoesNotMixThem) {
  const TemporaryFolder folder;
  const CompileCache cache(folder.path() / "cache", 1 << 24);
  const auto model = small_model();
  const Bytes ir = in_memory(*model);
  const auto is_hit = [&](Numerics numerics) {
    Request request = request_for(ir);
    request.numerics = numerics;
    return compile(request, &cache).from_cache;
  };
  EXPECT_FALSE(is_hit(Numerics::kF32));
  EXPECT_FALSE(is_hit(Numerics::kF16));
  EXPECT_TRUE(is_hit(Numerics::kF16));
}

}  // namespace numerics_test
}  // namespace tenon::npu::compiler
