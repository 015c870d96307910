// SPDX-License-Identifier: Apache-2.0
// Values that decide something are computed in f32 where the plan computes in bf16, and all others are not; products of
// integers are exact in any precision.
#include <algorithm>
#include <cmath>
#include <functional>

#include <tenon/engine/testing/judged_models.hpp>
#include <tenon/graph/subgraph.hpp>

namespace tenon::engine_test {
namespace precise_test {

constexpr ElementType kBf16 = ElementType::kBf16;
#define NEEDS_BF16() \
  if (!engine::has_native_bf16()) GTEST_SKIP() << "this CPU does not multiply bf16"

struct Ran {
  std::vector<Tensor> wanted, got;
  std::size_t bf16_products = 0;
  std::string kernels;  ///< Names of the kernels of all products.
};

/// The model in bf16, and by the reference kernels.
Ran run_in(ElementType precision, const OutputVector& outputs, const ParameterVector& parameters,
           const std::vector<Tensor>& inputs) {
  const auto model = std::make_shared<Model>(outputs, parameters);
  engine::Options options;
  options.threads = 2;
  options.precision = precision;
  const auto plan = engine::Plan::compile(model, options);
  engine::Workers workers(2);
  engine::Execution execution(plan);
  for (std::size_t i = 0; i < inputs.size(); ++i) execution.bind_input(i, inputs[i]);
  EXPECT_TRUE(execution.run(workers));
  Ran ran;
  ran.wanted = evaluate(*model, inputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) ran.got.push_back(execution.output(i));
  for (const auto& step : plan->steps()) {
    const bool multiplies = step.node_type == "MatMul" || step.node_type.find("Convolution") != std::string::npos;
    const bool is_narrow = step.kernel.find("bf16") != step.kernel.npos || step.kernel.find("amx") != step.kernel.npos;
    ran.bf16_products += multiplies && is_narrow;
    if (multiplies) ran.kernels += step.kernel + ' ';
  }
  return ran;
}

Out product(const Out& x, const Shape& shape, unsigned seed = 7) { return op1("MatMul", 1, {x, weights(shape, seed)}); }
Out real(const Out& x) { return op1("Convert", 1, {x}, {{"destination_type", element::f32}}); }
Out converted(const Out& x, ElementType type) { return op1("Convert", 1, {x}, {{"destination_type", type}}); }
Out top(const Out& x, std::size_t output) {
  return make_node(
             "TopK", 11, {x, scalar_int(3)},
             {{"axis", std::int64_t{1}}, {"mode", "max"}, {"sort", "value"}, {"index_element_type", ElementType::kI64}})
      ->output(output);
}

TEST(Precise, ProductsWhoseResultDecidesAreF32) {
  NEEDS_BF16();
  // Numbers of some hundreds, which lie 1 or 2 apart in bf16.
  const std::vector<std::function<Out(const Out&)>> readers{
      [](const Out& x) { return op1("Sin", 1, {x}); },
      [](const Out& x) {
        return op1("Cos", 1,
                   {op1("Multiply", 1,
                        {op1("Reshape", 1,
                             {
                                 x,
                                 ints({-1}),
                             },
                             {{"special_zero", false}}),
                         scalar(3)})});
      },
      [](const Out& x) {
        return op1("Tan", 1, {op1("Multiply", 1, {x, scalar(0.003)})});
      },
      [](const Out& x) { return op1("Floor", 1, {x}); },
      [](const Out& x) {
        return op1("FloorMod", 1, {x, scalar(7)});
      },
      [](const Out& x) {
        return op1("Greater", 1, {x, scalar(100.25)});
      },
      [](const Out& x) {
        return op1("LessEqual", 1, {op1("Abs", 1, {x}), scalar(200.125)});
      },
      [](const Out& x) {
        return converted(op1("Round", 5, {x}, {{"mode", "half_to_even"}}), ElementType::kI32);
      },
      [](const Out& x) { return converted(x, ElementType::kI64); },
      [](const Out& x) { return top(x, 1); },
      [](const Out& x) {
        return top(op1("Softmax", 8, {op1("Multiply", 1, {x, scalar(0.01)})}, {{"axis", std::int64_t{1}}}), 1);
      }};
  for (std::size_t i = 0; i < readers.size(); ++i) {
    const auto x = parameter({6, 48});
    const Out y = readers[i](op1("Multiply", 1, {product(x, {48, 64}), scalar(60)}));
    const Ran ran = run_in(kBf16, {y}, {x}, {random_tensor(ElementType::kF32, {6, 48}, 3)});
    EXPECT_EQ(ran.bf16_products, 0u) << "reader " << i;
    expect_close(ran.wanted[0], ran.got[0], "reader " + std::to_string(i), 2e-3);
  }
  // The same by a convolution, and where the sine's result goes on to another product.
  const auto x = parameter({1, 8, 9, 9});
  const Out wave = op1("Sin", 1, {op1("Multiply", 1, {convolution(x, 16, 3), scalar(60)})});
  const Ran ran =
      run_in(kBf16, {convolution(wave, 8, 1), wave}, {x}, {random_tensor(ElementType::kF32, {1, 8, 9, 9}, 3)});
  EXPECT_EQ(ran.bf16_products, 1u);
  expect_close(ran.wanted[1], ran.got[1], "waves", 2e-3);
}

/// x times weights of 8 bits, which stay packed: (numbers - 128) * scale.
Out product_of_bytes(const Out& x, const Shape& shape) {
  Tensor numbers(ElementType::kU8, shape);
  for (std::size_t i = 0; i < numbers.element_count(); ++i)
    numbers.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * 37 + i / 7);
  const Out centred = op1("Subtract", 1, {real(std::make_shared<op::v0::Constant>(numbers)), scalar(128)});
  return op1("MatMul", 1, {x, op1("Multiply", 1, {centred, scalar(0.01)})});
}

TEST(Precise, ProductsOfPackedWeightsMayDecideToo) {
  NEEDS_BF16();
  const auto x = parameter({3, 48});
  const Out y = product_of_bytes(product(x, {48, 64}), {64, 40});
  const Ran ran = run_in(kBf16, {top(y, 1), op1("Greater", 1, {y, scalar(0.25)})}, {x},
                         {random_tensor(ElementType::kF32, {3, 48}, 3)});
  expect_close(ran.wanted[0], ran.got[0], "places of the greatest");
  expect_close(ran.wanted[1], ran.got[1], "comparison");
}

TEST(Precise, OrdinaryNetworksKeepBf16) {
  NEEDS_BF16();
  const auto x = parameter({16, 64});
  const auto bf16_products = [&](const Out& y) {
    return run_in(kBf16, {y}, {x}, {random_tensor(ElementType::kF32, {16, 64}, 3)}).bf16_products;
  };
  Out hidden = x;
  for (unsigned layer = 0; layer < 4; ++layer) hidden = op1("Relu", 1, {product(hidden, {64, 64}, layer)});
  EXPECT_EQ(bf16_products(top(product(hidden, {64, 64}, 8), 1)), 4u) << "a classifier's last layer alone is f32";
  // An activation by a comparison.
  Out leaky = x;
  for (unsigned layer = 0; layer < 3; ++layer) {
    const Out y = product(leaky, {64, 64}, layer);
    leaky = op1("Select", 1, {op1("Greater", 1, {y, scalar(0)}), y, op1("Multiply", 1, {y, scalar(0.1)})});
  }
  EXPECT_EQ(bf16_products(product(leaky, {64, 64}, 8)), 4u);
  // A residual stream behind a normalisation.
  Out stream = x;
  for (unsigned layer = 0; layer < 3; ++layer) stream = op1("Add", 1, {stream, product(stream, {64, 64}, layer)});
  const Out norm =
      op1("MVN", 6, {stream, ints({1})}, {{"normalize_variance", true}, {"eps", 1e-5}, {"eps_mode", "inside_sqrt"}});
  EXPECT_EQ(bf16_products(op1("Floor", 1, {norm})), 3u);
  // Activations that are quantised by a range of now: their products stay, and their results are f32.
  const Out y = product(x, {64, 64});
  const Out numbers =
      converted(op1("Clamp", 1, {op1("Round", 5, {op1("Divide", 1, {y, scalar(0.05)})}, {{"mode", "half_to_even"}})},
                    {{"min", 0.0}, {"max", 255.0}}),
                ElementType::kU8);
  EXPECT_EQ(bf16_products(product(real(numbers), {64, 32})), 2u);
}

TEST(Precise, RotaryAttentionIsRightUpTo4096Positions) {
  NEEDS_BF16();
  constexpr std::size_t kTokens = 64, kHeads = 2, kWidth = 32;
  const auto x = parameter({1, kTokens, kHeads * kWidth}), places = parameter({1, kTokens}, element::i64);
  std::vector<double> frequencies;
  for (std::size_t i = 0; i < kWidth / 2; ++i)
    frequencies.push_back(std::pow(10000.0, -static_cast<double>(i) / (kWidth / 2.0)));
  const Out inverse = op::v0::Constant::create(element::f32, Shape{1, kWidth / 2, 1}, frequencies);
  // As exporters write it: [1, width / 2, 1] times [1, 1, tokens], turned, twice side by side.
  const Out angles = op1(
      "Transpose", 1, {op1("MatMul", 1, {inverse, op1("Unsqueeze", 1, {real(places), ints({1})})}), ints({0, 2, 1})});
  const Out both = op1("Unsqueeze", 1, {op1("Concat", 1, {angles, angles}, {{"axis", std::int64_t{2}}}), ints({1})});
  const Out cosines = op1("Cos", 1, {both}), sines = op1("Sin", 1, {both});
  const auto heads = [&](unsigned seed) {
    const Out y =
        op1("Reshape", 1, {product(x, {kHeads * kWidth, kHeads * kWidth}, seed), ints({1, kTokens, kHeads, kWidth})},
            {{"special_zero", false}});
    return op1("Transpose", 1, {y, ints({0, 2, 1, 3})});
  };
  const auto turned = [&](const Out& y) {
    const auto half = [&](std::int64_t begin, std::int64_t end) {
      return op1("Slice", 8, {y, ints({begin}), ints({end}), ints({1}), ints({3})});
    };
    const Out swapped = op1("Concat", 1, {op1("Negative", 1, {half(kWidth / 2, kWidth)}), half(0, kWidth / 2)},
                            {{"axis", std::int64_t{3}}});
    return op1("Add", 1, {op1("Multiply", 1, {y, cosines}), op1("Multiply", 1, {swapped, sines})});
  };
  const Out scores =
      op1("MatMul", 1, {turned(heads(1)), turned(heads(2))}, {{"transpose_a", false}, {"transpose_b", true}});
  const Out shares = op1("Softmax", 8, {op1("Multiply", 1, {scores, scalar(0.1)})}, {{"axis", std::int64_t{-1}}});
  const Out mixed = op1("Transpose", 1, {op1("MatMul", 1, {shares, heads(3)}), ints({0, 2, 1, 3})});
  const Out y = product(op1("Reshape", 1, {mixed, ints({1, kTokens, kHeads * kWidth})}, {{"special_zero", false}}),
                        {kHeads * kWidth, 32}, 4);
  for (const std::int64_t first : {0, 512, 1024, 2048, 3072, 4032}) {
    Tensor numbers(ElementType::kI64, {1, kTokens});
    for (std::size_t i = 0; i < kTokens; ++i) numbers.data<std::int64_t>()[i] = first + static_cast<std::int64_t>(i);
    const Ran ran = run_in(kBf16, {cosines, y}, {x, places},
                           {random_tensor(ElementType::kF32, {1, kTokens, kHeads * kWidth}, 3), numbers});
    expect_close(ran.wanted[0], ran.got[0], "cosines from position " + std::to_string(first), 1e-3);
    expect_close(ran.wanted[1], ran.got[1], "attention from position " + std::to_string(first), 0.02);
    EXPECT_GE(ran.bf16_products, 4u) << "nothing else is in f32";
  }
}

TEST(Precise, ValuesDecideAcrossTheBordersOfBodies) {
  NEEDS_BF16();
  const auto open_parameter = [](element::Type type = element::f32) {
    return std::make_shared<op::v0::Parameter>(type, PartialShape::dynamic());
  };
  const auto angles = [](const Out& x, const Out& w) {
    return op1("Multiply", 1, {op1("MatMul", 1, {x, w}), scalar(60)});
  };
  for (const bool is_sine_inside : {false, true}) {
    // A branch, and a loop whose state is what its product adds up.
    const auto x = parameter({6, 48}), flag = parameter({}, element::boolean);
    const Out w = weights({48, 64});
    const auto then_x = open_parameter(), else_x = open_parameter(), then_w = open_parameter(),
               else_w = open_parameter();
    const auto body = [&](const auto& in, const auto& by, const char* function) {
      return std::make_shared<Model>(OutputVector{is_sine_inside ? op1(function, 1, {in}) : angles(in, by)},
                                     ParameterVector{in, by});
    };
    const auto branch = std::make_shared<op::v8::If>(flag);
    branch->set_then_body(body(then_x, then_w, "Sin"));
    branch->set_else_body(body(else_x, else_w, "Cos"));
    branch->set_input(is_sine_inside ? angles(x, w) : Out(x), then_x, else_x);
    branch->set_input(w, then_w, else_w);
    const Out chosen =
        branch->set_output(branch->get_then_body()->get_results()[0], branch->get_else_body()->get_results()[0]);

    const auto number = open_parameter(element::i64), state = open_parameter(), inner_x = open_parameter(),
               inner_w = open_parameter();
    const Out step = is_sine_inside ? Out(inner_x) : angles(inner_x, inner_w);
    const Out next = op1("Add", 1, {state, step});
    const Out part = op1("Unsqueeze", 1, {is_sine_inside ? op1("Sin", 1, {next}) : next, ints({0})});
    const Out truth = op::v0::Constant::create(element::boolean, Shape{}, std::vector<std::int64_t>{1});
    const auto loop = std::make_shared<op::v5::Loop>(scalar_int(3), truth);
    loop->set_function(
        std::make_shared<Model>(OutputVector{truth, next, part}, ParameterVector{number, state, inner_x, inner_w}));
    loop->set_special_body_ports({0, 0});
    loop->set_merged_input(state, angles(x, w), next);
    loop->set_invariant_input(inner_x, is_sine_inside ? angles(x, w) : Out(x));
    loop->set_invariant_input(inner_w, w);
    const Out parts = loop->get_concatenated_slices(part, 0, 1, 1, -1, 0);
    const OutputVector outputs = is_sine_inside
                                     ? OutputVector{chosen, parts}
                                     : OutputVector{op1("Sin", 1, {chosen}), op1("Cos", 1, {parts}),
                                                    op1("Greater", 1, {loop->get_iter_value(next), scalar(100.25)})};
    Tensor is_then(ElementType::kBool, {});
    *static_cast<std::uint8_t*>(is_then.data()) = 1;
    const Ran ran = run_in(kBf16, outputs, {x, flag}, {random_tensor(ElementType::kF32, {6, 48}, 3), is_then});
    for (std::size_t i = 0; i < outputs.size(); ++i)
      expect_close(ran.wanted[i], ran.got[i], std::to_string(i) + (is_sine_inside ? " inside" : " outside"), 2e-3);
  }
}

TEST(Precise, SoftplusBehindAProductIsNotNegative) {
  const auto x = parameter({64, 64});
  Tensor one(ElementType::kF32, {64, 64});
  for (std::size_t i = 0; i < 64 * 64; ++i) one.data<float>()[i] = i % 65 == 0 ? 1.f : 0.f;
  const Out y = op1("SoftPlus", 4, {op1("MatMul", 1, {x, std::make_shared<op::v0::Constant>(one)})});
  Tensor numbers(ElementType::kF32, {64, 64});
  for (std::size_t i = 0; i < 64 * 64; ++i) numbers.data<float>()[i] = -24 + static_cast<float>(i) * (10.f / 4096);
  const Ran ran = run_in(ElementType::kF32, {op1("Log", 1, {y})}, {x}, {numbers});
  expect_close(ran.wanted[0], ran.got[0], "logarithm of softplus", 1e-3);
}

// -- Products of 8-bit numbers, as QLinearConv, ConvInteger, MatMulInteger and DequantizeLinear have them

Tensor bytes(ElementType type, const Shape& shape, unsigned seed) {
  Tensor tensor(type, shape);
  std::mt19937 random(seed);
  for (std::size_t i = 0; i < tensor.element_count(); ++i)
    static_cast<std::uint8_t*>(tensor.data())[i] = static_cast<std::uint8_t>(random());
  return tensor;
}
/// Numbers from -60 to 60: those whose products any CPU adds exactly.
Out small_weights(const Shape& shape, unsigned seed) {
  Tensor tensor = bytes(ElementType::kI8, shape, seed);
  for (std::size_t i = 0; i < tensor.element_count(); ++i)
    tensor.data<std::int8_t>()[i] = static_cast<std::int8_t>(tensor.data<std::int8_t>()[i] % 61);
  return std::make_shared<op::v0::Constant>(tensor);
}
Out centred(const Out& numbers, double zero_point) { return op1("Subtract", 1, {real(numbers), scalar(zero_point)}); }
/// Rounded to 8 bits of that type.
Out quantized(const Out& y, double factor, double zero_point, ElementType type) {
  const bool is_signed = type == ElementType::kI8;
  const Out rounded = op1("Round", 5, {op1("Multiply", 1, {y, scalar(factor)})}, {{"mode", "half_to_even"}});
  return converted(op1("Clamp", 1, {op1("Add", 1, {rounded, scalar(zero_point)})},
                       {{"min", is_signed ? -128.0 : 0.0}, {"max", is_signed ? 127.0 : 255.0}}),
                   type);
}

TEST(Precise, ProductsOfBytesAreExactInAnyPrecision) {
  if (!engine::has_native_int8())
    GTEST_SKIP() << "this CPU multiplies bytes as reals, whose rounding may be a step off";
  for (const ElementType type : {ElementType::kU8, ElementType::kI8})
    for (const ElementType precision : {ElementType::kF32, kBf16}) {
      if (precision == kBf16 && !engine::has_native_bf16()) continue;
      const std::string label = std::string(name(type)) + " in " + std::string(name(precision));
      const double zero_point = type == ElementType::kI8 ? -7 : 131;
      // Two convolutions, the first with a bias, as QLinearConv is expanded.
      const auto x = parameter({1, 16, 7, 9}, type);
      const Attributes window{{"strides", {1, 1}}, {"pads_begin", {1, 1}}, {"pads_end", {1, 1}}, {"dilations", {1, 1}}};
      const auto convolve = [&](const Out& in, std::size_t channels, unsigned seed) {
        return op1("Convolution", 1,
                   {centred(in, zero_point), real(small_weights({channels, in.get_shape()[1], 3, 3}, seed))}, window);
      };
      Tensor bias(ElementType::kF32, {1, 24, 1, 1});
      for (std::size_t i = 0; i < 24; ++i) bias.data<float>()[i] = static_cast<float>(i * 977) - 9000;
      const Out sum = op1("Add", 1, {convolve(x, 24, 1), std::make_shared<op::v0::Constant>(bias)});
      const Out first = quantized(sum, 0.00037, zero_point, type),
                second = quantized(convolve(first, 8, 2), 0.00071, zero_point, type);
      const Ran images = run_in(precision, {first, second}, {x}, {bytes(type, {1, 16, 7, 9}, 3)});
      expect_close(images.wanted[0], images.got[0], "first convolution of " + label);
      expect_close(images.wanted[1], images.got[1], "second convolution of " + label);
      // MatMulInteger, and a DequantizeLinear before a product.
      const auto a = parameter({5, 64}, type);
      const Out integers =
          converted(op1("MatMul", 1, {centred(a, zero_point), real(small_weights({64, 24}, 4))}), ElementType::kI32);
      const Out reals = op1("Multiply", 1, {centred(a, zero_point), scalar(0.25)});
      const Out scaled = op1("MatMul", 1, {reals, op1("Multiply", 1, {real(small_weights({64, 24}, 5)), scalar(0.5)})});
      const Ran matrices = run_in(precision, {integers, scaled, reals}, {a}, {bytes(type, {5, 64}, 6)});
      for (std::size_t i = 0; i < 3; ++i)
        expect_close(matrices.wanted[i], matrices.got[i], label + ", product " + std::to_string(i), 1e-6);
      // Kernels for AMX have one name for bytes and bf16.
      const std::string kernels = images.kernels + matrices.kernels;
      EXPECT_EQ(kernels.find("bf16"), kernels.npos) << label << ": " << kernels;
    }
}

/// Rounded to 8 bits and back, as QuantizeLinear and DequantizeLinear do it one after the other.
Out in_steps(const Out& y, double step, double zero_point) {
  const Out rounded = op1("Round", 5, {op1("Divide", 1, {y, scalar(step)})}, {{"mode", "half_to_even"}});
  const Out numbers = converted(
      op1("Clamp", 1, {op1("Add", 1, {rounded, scalar(zero_point)})}, {{"min", 0.0}, {"max", 255.0}}), element::u8);
  return op1("Multiply", 1, {centred(numbers, zero_point), scalar(step)});
}

/// Corners of boxes, as a detector in 8 bits makes them: in bf16 a corner would be a step off, and so would a box that is a step wide.
TEST(Precise, WhatIsRoundedToStepsIsRoundedOnce) {
  NEEDS_BF16();
  const auto x = parameter({16, 64});
  const auto corner = [&](const char* side, double step) {
    return in_steps(op1(side, 1, {scalar(79.5), in_steps(x, 0.05, 128)}), step, 3);
  };
  // With these steps no corner lies half way between two numbers, where f32 may round to either.
  const Out read_by_product = corner("Subtract", 0.61);
  const Ran ran = run_in(kBf16,
                         {op1("Subtract", 1, {corner("Add", 0.63), corner("Subtract", 0.65)}), read_by_product,
                          product(read_by_product, {64, 32})},
                         {x}, {random_tensor(ElementType::kF32, {16, 64}, 3)});
  expect_close(ran.wanted[0], ran.got[0], "width", 1e-5);
  expect_close(ran.wanted[1], ran.got[1], "corner", 1e-5);
}

TEST(Precise, BytesTimesComputedZeroPointsAreExactToo) {
  NEEDS_BF16();
  // As dynamic quantisation does it: the zero point is an input. The sums of up to 2^21 are read as integers, and by a product.
  const auto a = parameter({5, 64}, element::u8), zero = parameter({1}, element::u8);
  const Out centre = op1("Subtract", 1, {real(a), real(zero)});
  const Out sums = converted(op1("MatMul", 1, {centre, real(small_weights({64, 32}, 4))}), ElementType::kI32);
  Tensor zero_point(ElementType::kU8, {1});
  *zero_point.data<std::uint8_t>() = 119;
  const Ran ran =
      run_in(kBf16, {sums, product(real(sums), {32, 8})}, {a, zero}, {bytes(ElementType::kU8, {5, 64}, 6), zero_point});
  expect_close(ran.wanted[0], ran.got[0], "sums");
}

}  // namespace precise_test
}  // namespace tenon::engine_test
