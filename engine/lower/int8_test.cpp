// SPDX-License-Identifier: Apache-2.0
// 8 bits: the reference's numbers within the precision's tolerance, by the kernels that make it worthwhile.
#include <array>

#include <dnnl.hpp>

#include <tenon/engine/kernels/low_bit/byte_table.hpp>
#include <tenon/engine/kernels/low_bit/quantize.hpp>
#include <tenon/engine/testing/near_reference.hpp>

namespace tenon::engine_test {
namespace int8_test {

/// Whether AMX multiplies: then sums are steps of their own.
bool has_tiles() { return dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core_amx; }

/// Rounds to about that range, with a level at zero, as quantisers do.
Out fake(const Out& x, double low, double high, std::int64_t levels = 256) {
  const double step = (high - low) / static_cast<double>(levels - 1), zero = std::nearbyint(-low / step);
  low = -zero * step;
  high = low + step * static_cast<double>(levels - 1);
  return op1("FakeQuantize", 1, {x, scalar(low), scalar(high), scalar(low), scalar(high)}, {{"levels", levels}});
}
/// i8 weights with a scale per output channel, as exporters write them.
Out dequantized(const Shape& shape, std::size_t axis, unsigned seed = 3) {
  Tensor numbers(ElementType::kI8, shape);
  std::mt19937 random(seed);
  for (std::size_t i = 0; i < numbers.element_count(); ++i)
    numbers.data<std::int8_t>()[i] = static_cast<std::int8_t>(static_cast<int>(random() % 255) - 127);
  Shape ones(shape.size(), 1);
  ones[axis] = shape[axis];
  Tensor scales(ElementType::kF32, ones);
  for (std::size_t i = 0; i < scales.element_count(); ++i)
    scales.data<float>()[i] = 0.001f * static_cast<float>(1 + i % 5);
  const Out real = std::make_shared<op::v0::Convert>(std::make_shared<op::v0::Constant>(numbers), element::f32);
  return op1("Multiply", 1, {real, std::make_shared<op::v0::Constant>(scales)});
}
Out convolution_8(const Out& x, std::size_t out, std::int64_t kernel, std::int64_t stride, unsigned seed) {
  const std::int64_t pad = kernel / 2;
  const auto side = static_cast<std::size_t>(kernel);
  return op1(
      "Convolution", 1, {x, dequantized({out, x.get_shape()[1], side, side}, 0, seed)},
      {{"strides", {stride, stride}}, {"pads_begin", {pad, pad}}, {"pads_end", {pad, pad}}, {"dilations", {1, 1}}});
}

TEST(Int8, ResidualBlocksStayInIt) {
  const auto x = parameter({1, 16, 20, 20});
  const Out in = fake(x, -3.2, 3.3);
  const Out a = fake(relu(convolution_8(in, 32, 3, 1, 1)), 0, 2.5);
  const Out b = fake(convolution_8(a, 32, 1, 1, 2), -1.7, 2.1);
  const Out side = fake(convolution_8(in, 32, 1, 1, 4), -1.1, 1.4);
  const Out sum = fake(relu(op1("Add", 1, {b, side})), 0, 2.9);
  const auto steps = near_reference(convolution_8(sum, 16, 3, 2, 5), {x}, kF32, 0.999, 0.03);
  if (!engine::has_native_int8()) return;  // Computed with real numbers, and correct.
  EXPECT_EQ(count(steps, "Convolution"), 4u);
  EXPECT_EQ(count(steps, "Add "), has_tiles() ? 1u : 0u);
  EXPECT_EQ(count(steps, "reference"), 0u);
  EXPECT_EQ(count(steps, "FakeQuantize affine"), 0u);
}

TEST(Int8, RealWeightsOnLevelsOfTheirChannelBecomeThoseNumbers) {
  const auto x = parameter({1, 16, 9, 9});
  Tensor low(kF32, Shape{8, 1, 1, 1}), high(kF32, Shape{8, 1, 1, 1});
  for (std::size_t i = 0; i < 8; ++i) {  // Far apart: the levels of another channel are no levels of this one.
    high.data<float>()[i] = i % 2 ? 0.3f : 3.f;
    low.data<float>()[i] = -high.data<float>()[i];
  }
  const Out least = std::make_shared<op::v0::Constant>(low), most = std::make_shared<op::v0::Constant>(high);
  const Out levelled =
      op1("FakeQuantize", 1, {weights({8, 16, 3, 3}, 7), least, most, least, most}, {{"levels", std::int64_t{255}}});
  const Out y = op1("Convolution", 1, {fake(x, -3, 3), levelled},
                    {{"strides", {1, 1}}, {"pads_begin", {1, 1}}, {"pads_end", {1, 1}}, {"dilations", {1, 1}}});
  const auto steps = near_reference(y, {x}, kF32, 0.9999, 0.01);
  if (!engine::has_native_int8()) return;
  EXPECT_EQ(count(steps, "FakeQuantize"), 1u) << "the input's alone";
}

TEST(Int8, ProductsTakeScalesPerColumnAndZeroPoints) {
  const auto x = parameter({6, 32});
  const Out product = op1("MatMul", 1, {fake(x, -2.0, 3.1), dequantized({32, 24}, 1)},
                          {{"transpose_a", false}, {"transpose_b", false}});
  const auto steps = near_reference(op1("Add", 1, {product, weights({24})}), {x}, kF32, 0.9999, 0.01);
  EXPECT_EQ(count(steps, "reference"), 0u);
}

TEST(Int8, ZeroPointsWithoutPadsTakeTheFastKernels) {
  for (const std::size_t channels : {16, 96}) {
    const auto x = parameter({1, channels, 9, 9});
    const Out y = op1("Add", 1, {convolution_8(fake(x, -1.1, 3.1), 40, 1, 1, 7), weights({1, 40, 1, 1}, 8)});
    const auto steps = near_reference(fake(y, -2, 2), {x}, kF32, 0.999, 0.02);
    EXPECT_EQ(count(steps, "jit_1x1:avx512_core_amx"), 0u) << "that for zero points";
    if (channels > 16) continue;
    EXPECT_EQ(count(steps, "amx"), 0u) << "slower than VNNI where an output sums so few products";
  }
}

TEST(Int8, NumbersChangeRightlyForAllExtents) {
  // These include extents for which oneDNN 3.2's own reorders with zero points are wrong.
  for (const std::size_t height : {1, 5, 8, 17})
    for (const std::size_t channels : {3, 16, 64, 70}) {
      const auto x = parameter({1, channels, height, 5});
      near_reference(op1("Tanh", 1, {op1("Transpose", 1, {fake(x, -1.3, 2.9), ints({0, 2, 3, 1})})}), {x}, kF32, 0.9999,
                     0.02);
    }
}

TEST(Int8, FunctionsSumsAndJoinsKeepTheNumbers) {
  const auto x = parameter({1, 8, 6, 6});
  const Out base = fake(convolution_8(fake(x, -3, 3), 32, 3, 1, 1), -2, 2.5);
  const Out gate = fake(op1("Sigmoid", 1, {base}), 0, 1);
  const Out silu = fake(op1("Multiply", 1, {base, gate}), -0.4, 2.4);
  const Out difference = fake(op1("Subtract", 1, {silu, base}), -1.5, 2.5);
  const Out joined = fake(op1("Concat", 1, {silu, difference}, {{"axis", std::int64_t{1}}}), -1.2, 2.5);
  const auto halves = make_node("Split", 1, {joined, scalar_int(1)}, {{"num_splits", std::int64_t{2}}});
  const Out next = convolution_8(halves->output(1), 16, 1, 1, 2);
  const auto steps =
      near_reference(op1("Add", 1, {next, convolution_8(halves->output(0), 16, 1, 1, 6)}), {x}, kF32, 0.999, 0.03);
  if (!engine::has_native_int8()) return;
  EXPECT_EQ(count(steps, "table"), 1u);  // gate and product: both are functions of `base`
  EXPECT_EQ(count(steps, "combine"), 1u);
  EXPECT_EQ(count(steps, "join"), 1u);
  EXPECT_EQ(count(steps, "channels"), 2u);
}

TEST(Int8, FunctionsBehindRoundedProductsAreTables) {
  const auto x = parameter({1, 16, 9, 9});
  const Out base = fake(convolution_8(fake(x, -3, 3), 40, 3, 1, 1), -2, 2.5);
  const std::map<std::string, std::int64_t> functions{{"Swish", 4}, {"Tanh", 1}, {"Sigmoid", 1}, {"Mish", 4}};
  for (const bool is_rounded : {true, false}) {
    for (const auto& [function, version] : functions) {
      const Out y = op1(function.c_str(), version, {base});
      const auto steps = near_reference(is_rounded ? fake(y, -1.2, 2.4) : y, {x}, kF32, 0.999, 0.02);
      if (!engine::has_native_int8()) continue;
      EXPECT_EQ(count(steps, function + " table"), 1u) << is_rounded;
    }
  }
  const auto steps = near_reference(fake(relu(base), 0, 2.4), {x}, kF32, 0.999, 0.02);
  EXPECT_EQ(count(steps, "table"), 0u) << "a comparison costs nothing behind a product";
}

TEST(Int8, SumsOfRoundedProductsAreSumsOfNumbers) {
  const auto x = parameter({1, 16, 9, 9});
  const Out in = fake(x, -3, 3);
  const Out a = fake(convolution_8(in, 24, 1, 1, 1), -2, 2.5), b = fake(convolution_8(in, 24, 3, 1, 2), -1.3, 2);
  for (const auto& [low, clipped] : std::vector<std::pair<double, bool>>{{-3, false}, {0, true}, {-1, true}}) {
    const Out sum = op1("Add", 1, {a, b});
    const auto steps = near_reference(fake(clipped ? relu(sum) : sum, low, 3), {x}, kF32, 0.999, 0.02);
    if (!has_tiles()) continue;
    EXPECT_EQ(count(steps, "Add combine"), 1u) << low;
  }
}

TEST(Int8, TablesReachEveryElementAndNoOther) {
  std::array<std::uint8_t, 256> bytes{};
  std::array<float, 256> reals{};
  for (std::size_t i = 0; i < 256; ++i) bytes[i] = static_cast<std::uint8_t>(91 * i + 7), reals[i] = 0.5f * bytes[i];
  for (const std::size_t length : {0, 1, 63, 64, 65, 300, 4096, 9001}) {
    std::vector<std::uint8_t> x(length), y(length + 1, 99);
    std::vector<float> real(length + 1, 99);
    for (std::size_t i = 0; i < length; ++i) x[i] = static_cast<std::uint8_t>(37 * i);
    engine::kernels::look_up(bytes, x.data(), y.data(), length);
    engine::kernels::look_up(reals, x.data(), real.data(), length);
    for (std::size_t i = 0; i < length; ++i) {
      ASSERT_EQ(y[i], bytes[x[i]]) << i << " of " << length;
      ASSERT_EQ(real[i], reals[x[i]]) << i << " of " << length;
    }
    EXPECT_EQ(y[length], 99);
    EXPECT_EQ(real[length], 99);
    engine::kernels::look_up(bytes, x.data(), x.data(), length);
    EXPECT_TRUE(std::equal(x.begin(), x.end(), y.begin())) << "in place, " << length;
  }
}

TEST(Int8, OtherLevelsAndRangesPerChannelStayReal) {
  const auto x = parameter({1, 4, 5, 5});
  const auto steps = near_reference(convolution_8(fake(x, -1, 1, 16), 8, 3, 1, 1), {x}, kF32, 0.99999, 1e-4);
  EXPECT_EQ(count(steps, "FakeQuantize levels"), 1u);
  const Out low = weights({1, 4, 1, 1}, 2, 0.1f), high = op1("Add", 1, {low, scalar(2)});
  near_reference(op1("FakeQuantize", 1, {x, low, high, low, high}, {{"levels", std::int64_t{256}}}), {x}, kF32, 0.99999,
                 1e-2);
}

TEST(Kernels, AffineRoundsToEvenAndSaturates) {
  const float x[] = {0.5f, 1.5f, 2.5f, -3, 300, 1e9f, -1e9f};
  std::uint8_t u[7];
  std::int8_t s[7];
  engine::kernels::affine({kF32, ElementType::kU8, 1, 0}, x, u, 7);
  engine::kernels::affine({kF32, ElementType::kI8, 1, 0}, x, s, 7);
  const int wanted_u[] = {0, 2, 2, 0, 255, 255, 0}, wanted_s[] = {0, 2, 2, -3, 127, 127, -128};
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(u[i], wanted_u[i]) << i;
    EXPECT_EQ(s[i], wanted_s[i]) << i;
  }
}

TEST(Int8, WhatStandsForZeroIsZero) {
  // Quantised, made real again, and read by functions that jump at zero, on every path that makes numbers real.
  const auto x = parameter({1, 16, 4, 4});
  const double scale = static_cast<double>(0.0474f);
  for (const double zero_point : {3.0, -100.0, 77.0}) {
    const Out real = fake(x, (-128 - zero_point) * scale, (127 - zero_point) * scale);
    const auto model = std::make_shared<Model>(
        OutputVector{
            op1("Sign", 1, {real}), real,
            op1("Sign", 1,
                {op1("MaxPool", 1, {fake(x, (-128 - zero_point) * scale, (127 - zero_point) * scale)},
                     {{"strides", {1, 1}}, {"pads_begin", {0, 0}}, {"pads_end", {0, 0}}, {"kernel", {1, 1}}})})},
        ParameterVector{x});
    Tensor in = random_tensor(kF32, {1, 16, 4, 4}, 3);
    for (std::size_t i = 0; i < 64; ++i) in.data<float>()[i] *= 0.02f;
    const auto wanted = evaluate(*model, {in});
    const auto plan = engine::Plan::compile(model, {});
    engine::Workers workers(2);
    engine::Execution execution(plan);
    execution.bind_input(0, in);
    EXPECT_TRUE(execution.run(workers));
    std::size_t zeros = 0;
    for (std::size_t i = 0; i < in.element_count(); ++i) {
      const bool is_zero = std::abs(in.data<float>()[i]) < 0.49f * 0.0474f;
      if (!is_zero) continue;
      ++zeros;
      for (std::size_t output = 0; output < 3; ++output) {
        EXPECT_EQ(wanted[output].data<float>()[i], 0.f) << "reference, output " << output;
        EXPECT_EQ(execution.output(output).data<float>()[i], 0.f) << "engine, output " << output;
      }
    }
    EXPECT_GT(zeros, 10u);
  }
}

}  // namespace int8_test
}  // namespace tenon::engine_test
