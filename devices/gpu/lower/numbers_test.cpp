// SPDX-License-Identifier: Apache-2.0
// Arithmetic on 8-bit numbers: convolutions and products that multiply them, and values that stay such in between.
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tenon/devices/gpu/testing/judge.hpp>
#include <tenon/graph/exec_model_info.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/runtime/runtime.hpp>

namespace tenon {
namespace numbers_test {

using namespace gpu_device::testing;

using Ints = std::vector<std::int64_t>;

/// What a rounding means, with zero on a level.
struct Levels {
  double low, high;
  double step() const { return (high - low) / 255; }
};
constexpr Levels kPositive{0, 4}, kSigned{-4, 4 * 127.0 / 128}, kUneven{-1.5, 3.3};

Out rounded(const Out& x, const Levels& levels) {
  const double step = levels.step(), zero = std::nearbyint(-levels.low / step);
  const Out low = reals({}, {-zero * step}), high = reals({}, {(255 - zero) * step});
  return outputs("FakeQuantize", 1, {x, low, high, low, high}, {{"levels", 256}})[0];
}

/// i8 weights with a scale for each index along an axis, as exporters write them; -1: one for all.
Out weights(const Shape& shape, int axis, std::size_t sums, unsigned seed = 5) {
  Tensor numbers(ElementType::kI8, shape);
  std::mt19937 random(seed);
  for (std::size_t i = 0; i < numbers.element_count(); ++i)
    numbers.data<std::int8_t>()[i] = static_cast<std::int8_t>(static_cast<int>(random() % 255) - 127);
  Shape ones(shape.size(), 1);
  if (axis >= 0) ones[static_cast<std::size_t>(axis)] = shape[static_cast<std::size_t>(axis)];
  std::vector<double> scales;
  for (std::size_t i = 0; i < element_count(ones); ++i)
    scales.push_back((1 + 0.25 * static_cast<double>(i % 4)) / 74 / std::sqrt(static_cast<double>(sums)));
  const Out real = outputs("Convert", 1, {std::make_shared<op::v0::Constant>(numbers)->output(0)},
                           {{"destination_type", element::f32}})[0];
  return outputs("Multiply", 1, {real, reals(ones, scales)})[0];
}

Attributes window(const Ints& strides, const Ints& pads, const Ints& dilations) {
  return {{"strides", strides},
          {"pads_begin", pads},
          {"pads_end", pads},
          {"dilations", dilations},
          {"auto_pad", "explicit"}};
}

struct Form {
  std::size_t out = 16;
  std::int64_t kernel = 3, stride = 1, dilation = 1;
  std::size_t groups = 1;
  int axis = 0;  ///< The axis that scales vary along; -1: there is one scale.
};

Out convolution(const Out& x, const Form& form, unsigned seed = 5) {
  const std::size_t in = x.get_shape()[1] / form.groups, axes = x.get_shape().size() - 2;
  const Ints strides(axes, form.stride), dilations(axes, form.dilation),
      pads(axes, (form.kernel - 1) * form.dilation / 2);
  Shape shape{form.out, in};
  std::size_t sums = in;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    shape.push_back(static_cast<std::size_t>(form.kernel));
    sums *= static_cast<std::size_t>(form.kernel);
  }
  Out filters = weights(shape, form.axis, sums, seed);
  if (form.groups > 1) {
    Ints grouped{static_cast<std::int64_t>(form.groups), static_cast<std::int64_t>(form.out / form.groups)};
    for (std::size_t axis = 1; axis < shape.size(); ++axis) grouped.push_back(static_cast<std::int64_t>(shape[axis]));
    filters = outputs("Reshape", 1, {filters, ints(grouped)}, {{"special_zero", false}})[0];
  }
  return outputs(form.groups > 1 ? "GroupConvolution" : "Convolution", 1, {x, filters},
                 window(strides, pads, dilations))[0];
}

Out matmul(const Out& x, std::size_t columns, bool is_transposed, int axis) {
  const Shape given = x.get_shape();
  const std::size_t k = given[given.size() - 1];
  const Shape shape = is_transposed ? Shape{columns, k} : Shape{k, columns};
  return outputs("MatMul", 1, {x, weights(shape, axis, k)},
                 {{"transpose_a", false}, {"transpose_b", is_transposed}})[0];
}

Out relu(const Out& x) { return outputs("Relu", 1, {x})[0]; }
Out add(const Out& x, const Out& y) { return outputs("Add", 1, {x, y})[0]; }

/// Kernels of convolutions and products by what they read.
std::size_t products_of_numbers(const Model& executed) {
  std::size_t count = 0;
  for (const auto& node : executed.get_ops()) {
    const auto& info = node->get_rt_info();
    const auto type = info.find(exec_model_info::LAYER_TYPE), precision = info.find(exec_model_info::RUNTIME_PRECISION);
    if (type == info.end() || precision == info.end()) continue;
    const std::string layer = type->second.to_text(), numbers = precision->second.to_text();
    const bool multiplies = layer == "Convolution" || layer == "GroupConvolution" || layer == "MatMul";
    // A copy into a frame is the node's own, too, and has no multiply-adds.
    count += multiplies && info.count(exec_model_info::MULTIPLY_ADDS) && (numbers == "u8" || numbers == "i8");
  }
  return count;
}

/// The results beside those of the reference kernels, which round reals: no further apart than `steps` of `step`.
void judge_numbers(const OutputVector& results, const ParameterVector& parameters, std::size_t products, double step,
                   double steps = 1) {
  const auto model = std::make_shared<Model>(results, parameters, "numbers");
  std::vector<Tensor> inputs;
  for (const auto& parameter : parameters)
    inputs.push_back(
        random_tensor(ElementType::kF32, parameter->get_shape(), static_cast<unsigned>(inputs.size() + 1)));
  const std::vector<Tensor> wanted = evaluate(*model, inputs);
  Core core;
  CompiledModel compiled = core.compile_model(model, "GPU", hint::inference_precision(element::i8));
  InferRequest request = compiled.create_infer_request();
  for (std::size_t i = 0; i < inputs.size(); ++i) request.set_input_tensor(i, inputs[i]);
  for (int round = 0; round < 2; ++round) {
    request.infer();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const Tensor got = request.get_output_tensor(i);
      ASSERT_EQ(wanted[i].shape(), got.shape());
      for (std::size_t at = 0; at < got.element_count(); ++at)
        ASSERT_NEAR(wanted[i].data<float>()[at], got.data<float>()[at], steps * step * 1.001 + 1e-5)
            << "output " << i << ", element " << at;
    }
  }
  const auto executed = compiled.get_runtime_model();
  EXPECT_EQ(products_of_numbers(*executed), products) << "kernels that multiply 8-bit numbers";
  EXPECT_EQ(engine_test::fault_of(*model, *executed), "");
}

class GpuNumbers : public GpuLowering {};

TEST_F(GpuNumbers, ConvolutionsOfEveryForm) {
  const std::vector<std::pair<Shape, Form>> forms{
      {{1, 3, 17, 21}, {16, 7, 2}},         {{2, 16, 11, 7}, {40, 3}},
      {{1, 20, 6, 6}, {33, 3, 1, 2}},       {{3, 64, 5, 5}, {72, 1}},
      {{1, 72, 9, 9}, {16, 1, 2}},          {{2, 24, 19}, {16, 5}},
      {{1, 128, 3, 3}, {130, 5, 1, 1}},     {{2, 32, 8, 9}, {32, 3, 1, 1, 32}},
      {{1, 40, 9, 7}, {40, 3, 2, 1, 40}},   {{1, 9, 6, 6}, {9, 3, 1, 1, 9}},
      {{1, 12, 7, 7}, {12, 3, 1, 1, 3}},    {{2, 64, 7, 6}, {32, 3, 1, 1, 2, -1}},
      {{1, 64, 6, 6}, {64, 1, 1, 1, 4, -1}}};
  const Levels meanings[] = {kUneven, kPositive, kSigned};
  const auto judge_form = [](const Shape& shape, const Form& form, const Levels& levels) {
    SCOPED_TRACE(to_string(shape) + ", " + std::to_string(form.groups) + " groups, least " +
                 std::to_string(levels.low));
    const auto x = parameter(shape);
    judge_numbers({rounded(convolution(rounded(x, levels), form), kUneven)}, {x}, 1, kUneven.step());
  };
  for (std::size_t i = 0; i < forms.size(); ++i) judge_form(forms[i].first, forms[i].second, meanings[i % 3]);
  for (const Levels& levels : meanings) judge_form({1, 16, 9, 10}, {24}, levels);
}

TEST_F(GpuNumbers, SumsThatAreNotRoundedAreExact) {
  const auto x = parameter({1, 32, 7, 7});
  judge_numbers({convolution(rounded(x, kUneven), {24})}, {x}, 1, 1e-4);
}

TEST_F(GpuNumbers, ChainsStayInThem) {
  const auto x = parameter({1, 16, 14, 14});
  const Out first =
      rounded(relu(add(convolution(rounded(x, kSigned), {32}), reals({1, 32, 1, 1}, std::vector<double>(32, 0.125)))),
              kPositive);
  const Out second = rounded(relu(convolution(first, {32, 3, 1, 1, 32})), kPositive);
  const Out side = rounded(convolution(first, {48, 1, 1, 1, 1, -1}, 6), kUneven);
  const Out sum = rounded(relu(add(rounded(convolution(second, {48, 1}), kSigned), side)), kPositive);
  // Each rounding may be one step off where the reference's sums lie between two levels.
  judge_numbers({rounded(convolution(sum, {24, 3, 2}), kUneven)}, {x}, 5, kUneven.step(), 2);
}

TEST_F(GpuNumbers, MovedChosenAndJoinedNumbersStaySuch) {
  const auto x = parameter({1, 16, 12, 12});
  const Out wide = rounded(convolution(rounded(x, kUneven), {32}), kUneven);
  const Out most = outputs("MaxPool", 1, {wide},
                           {{"strides", Ints{2, 2}},
                            {"pads_begin", Ints{1, 1}},
                            {"pads_end", Ints{1, 1}},
                            {"kernel", Ints{3, 3}},
                            {"rounding_type", "floor"},
                            {"auto_pad", "explicit"}})[0];
  const auto halves = outputs("Split", 1, {most, scalar(1)}, {{"num_splits", std::int64_t{2}}});
  const Out left = rounded(convolution(halves[0], {16, 1}), kPositive),
            right = rounded(relu(convolution(halves[1], {24})), kSigned);
  const Out joined = rounded(outputs("Concat", 1, {left, right, most}, {{"axis", 1}})[0], kUneven);
  const Out flat = outputs("Reshape", 1, {joined, ints({1, 72, 36})}, {{"special_zero", false}})[0];
  const Out rows = outputs("Transpose", 1, {flat, ints({0, 2, 1})})[0];
  judge_numbers({rounded(matmul(rows, 20, false, 1), kUneven), rounded(convolution(joined, {8, 1}), kUneven)}, {x}, 5,
                kUneven.step(), 2);
}

TEST_F(GpuNumbers, ProductsOfMatrices) {
  std::size_t form = 0;
  for (const Levels& levels : {kPositive, kSigned, kUneven})
    for (const std::size_t k : {64u, 5u}) {
      const bool is_transposed = form % 2 == 0;
      const int axis = form++ % 3 == 0 ? -1 : is_transposed ? 0 : 1;
      SCOPED_TRACE("k " + std::to_string(k) + ", scales " + std::to_string(axis));
      const auto x = parameter({2, 9, k});
      const Out product = matmul(rounded(x, levels), 33, is_transposed, axis);
      judge_numbers({rounded(add(product, reals({33}, std::vector<double>(33, 0.5))), kUneven)}, {x}, 1,
                    kUneven.step());
    }
}

/// As ONNX writes it: numbers, then reals of these.
TEST_F(GpuNumbers, QuantisedAndMadeRealAgain) {
  const auto x = parameter({1, 16, 8, 8});
  const auto number = [](double value) { return reals({}, {value}); };
  Out numbers = outputs("Round", 5, {outputs("Divide", 1, {x, number(0.02)})[0]}, {{"mode", "half_to_even"}})[0];
  numbers = outputs("Clamp", 1, {add(numbers, number(100))}, {{"min", 0.0}, {"max", 255.0}})[0];
  numbers = outputs("Convert", 1, {numbers}, {{"destination_type", element::u8}})[0];
  const Out real = outputs("Convert", 1, {numbers}, {{"destination_type", element::f32}})[0];
  const Out made = outputs("Multiply", 1, {outputs("Subtract", 1, {real, number(100)})[0], number(0.02)})[0];
  judge_numbers({convolution(made, {32})}, {x}, 1, 1e-4);
}

TEST_F(GpuNumbers, RealWeightsOnLevelsOfTheirChannel) {
  const auto x = parameter({1, 16, 9, 9});
  std::vector<double> high;
  for (std::size_t i = 0; i < 8; ++i)
    high.push_back(i % 2 ? 0.03 : 0.3);  // Levels of another channel are none of this one.
  std::vector<double> low;
  for (const double value : high) low.push_back(-value);
  const Out values = std::make_shared<op::v0::Constant>(random_tensor(ElementType::kF32, {8, 16, 3, 3}, 7))->output(0);
  const Out least = reals({8, 1, 1, 1}, low), most = reals({8, 1, 1, 1}, high);
  const Out filters = outputs("FakeQuantize", 1, {values, least, most, least, most}, {{"levels", 255}})[0];
  judge_numbers({outputs("Convolution", 1, {rounded(x, kPositive), filters}, window({1, 1}, {1, 1}, {1, 1}))[0]}, {x},
                1, 2e-4);
}

TEST_F(GpuNumbers, ThePrecisionDecides) {
  const auto x = parameter({1, 16, 8, 8});
  const auto model =
      std::make_shared<Model>(OutputVector{convolution(rounded(x, kPositive), {16})}, ParameterVector{x}, "decides");
  const auto products = [&](const element::Type& precision) {
    return products_of_numbers(
        *Core().compile_model(model, "GPU", hint::inference_precision(precision)).get_runtime_model());
  };
  EXPECT_EQ(products(element::i8), 1u);
  EXPECT_EQ(products(element::f32), 0u);
  EXPECT_EQ(products(element::f16), 0u);
}

TEST_F(GpuNumbers, ShapesThatMove) {
  const auto x = open_parameter(4);
  x->set_partial_shape(PartialShape{Dimension(), 16, Dimension(), Dimension()});
  x->validate_and_infer_types();
  const Shape filters{24, 16, 3, 3};
  const Out first =
      outputs("Convolution", 1, {rounded(x, kUneven), weights(filters, 0, 144)}, window({1, 1}, {1, 1}, {1, 1}))[0];
  judge_moving({first}, {x}, {{{1, 16, 8, 8}}, {{2, 16, 5, 9}}, {{1, 16, 8, 8}}}, 1e-4,
               {hint::inference_precision(element::i8)});
}

}  // namespace numbers_test
}  // namespace tenon
