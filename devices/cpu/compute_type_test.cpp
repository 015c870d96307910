// SPDX-License-Identifier: Apache-2.0
// The precision in which the CPU device computes: bf16 with working masks, and f32 for files of f16.
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/runtime/runtime.hpp>

namespace tenon {
namespace {

Tensor pattern(const Shape& shape, float phase) {
  Tensor tensor(element::f32, shape);
  for (std::size_t i = 0; i < tensor.element_count(); ++i)
    tensor.data<float>()[i] = std::cos(0.1f * static_cast<float>(i) + phase);
  return tensor;
}

/// Attention over a variable length. Padding (0 in `seen`) and positions further than one away are masked by the lowest
/// f32, so a padded position far from all others sees nothing.
std::shared_ptr<Model> windowed_attention() {
  const auto node = [](const char* type, unsigned version, const OutputVector& inputs,
                       const Attributes& attributes = {}) {
    return make_node(type, version, inputs, attributes)->output(0);
  };
  const auto number = [](double value, element::Type type = element::f32) {
    return op::v0::Constant::create(type, Shape{}, std::vector<double>{value})->output(0);
  };
  const auto axes = [](std::vector<std::int64_t> values) {
    return op::v0::Constant::create(element::i64, Shape{values.size()}, values)->output(0);
  };
  const auto weights = [](double phase) {
    std::vector<double> values(16 * 16);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.3 * std::sin(static_cast<double>(i) + phase);
    return op::v0::Constant::create(element::f32, Shape{16, 16}, values)->output(0);
  };
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, -1, 16});
  const auto seen = std::make_shared<op::v0::Parameter>(element::i64, PartialShape{1, -1});
  const Output<Node> lowest = number(std::numeric_limits<float>::lowest());
  const auto hidden =
      node("Convert", 1, {node("Equal", 1, {seen, number(0, element::i64)})}, {{"destination_type", element::f32}});
  const auto padding = node("Unsqueeze", 1, {node("Multiply", 1, {hidden, lowest}), axes({1})});  // [1, 1, L]
  const auto length = node(
      "Gather", 8,
      {node("ShapeOf", 3, {seen}, {{"output_type", element::i64}}), number(1, element::i64), number(0, element::i64)},
      {{"batch_dims", std::int64_t{0}}});
  const auto places =
      node("Range", 4, {number(0, element::i64), length, number(1, element::i64)}, {{"output_type", element::i64}});
  const auto distance = node("Abs", 1, {node("Subtract", 1, {node("Unsqueeze", 1, {places, axes({1})}), places})});
  const auto mask = node("Select", 1, {node("LessEqual", 1, {distance, number(1, element::i64)}), padding, lowest});
  Output<Node> y = x;
  for (int layer = 0; layer < 2; ++layer) {
    const auto side = [&](double phase) { return node("MatMul", 1, {y, weights(phase + layer)}); };
    const auto scores = node("MatMul", 1, {side(0), side(1)}, {{"transpose_b", true}});
    // The second layer sees everything but padding, so a NaN would now spread everywhere.
    const auto shares =
        node("Softmax", 8, {node("Add", 1, {scores, layer == 0 ? mask : padding})}, {{"axis", std::int64_t{-1}}});
    y = node("Add", 1, {y, node("MatMul", 1, {shares, side(2)})});
  }
  return std::make_shared<Model>(OutputVector{y}, ParameterVector{x, seen}, "windowed attention");
}

TEST(CpuPrecision, MasksOfTheLowestNumberHoldInBf16ForLengthsThatMove) {
  Core core;
  const auto model = windowed_attention();
  auto exact = core.compile_model(model, "CPU", hint::inference_precision(element::f32)).create_infer_request();
  auto request = core.compile_model(model, "CPU", hint::inference_precision(element::bf16)).create_infer_request();
  for (const std::size_t length : {6, 9, 17, 6, 40}) {
    const Tensor x = pattern({1, length, 16}, static_cast<float>(length));
    Tensor seen(element::i64, {1, length});
    for (std::size_t i = 0; i < length; ++i) seen.data<std::int64_t>()[i] = i < length / 2;
    for (auto* each : {&exact, &request}) {
      each->set_input_tensor(0, x);
      each->set_input_tensor(1, seen);
      each->infer();
    }
    const Tensor wanted = exact.get_output_tensor(0), got = request.get_output_tensor(0);
    for (std::size_t i = 0; i < wanted.element_count(); ++i)
      ASSERT_NEAR(wanted.data<float>()[i], got.data<float>()[i], 0.1f) << "length " << length << ", element " << i;
  }
}

TEST(CpuPrecision, FilesOfHalvesAreComputedInTheTypeThatIsAskedFor) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f16, PartialShape{1, -1});
  const auto number = [](double value) {
    return op::v0::Constant::create(element::f16, Shape{}, std::vector<double>{value});
  };
  // In f16, both 2048 + 1 and the value that depends on a shape would lose the 1.
  const auto sum = make_node("Add", 1, {make_node("Add", 1, {x, number(2048)}), number(1)});
  const auto back = make_node("Subtract", 1, {sum, number(2048)});
  const auto model = std::make_shared<Model>(OutputVector{back->output(0)}, ParameterVector{x});
  Core core;
  auto compiled = core.compile_model(model, "CPU", hint::inference_precision(element::f32));
  EXPECT_EQ(compiled.input(0).get_element_type(), element::f16);
  EXPECT_EQ(compiled.output(0).get_element_type(), element::f16);
  auto request = compiled.create_infer_request();
  for (const std::size_t length : {3, 5}) {
    Tensor in(element::f16, {1, length});
    for (std::size_t i = 0; i < length; ++i) static_cast<std::uint16_t*>(in.data())[i] = 0x3c00;  // 1
    request.set_input_tensor(in);
    request.infer();
    for (std::size_t i = 0; i < length; ++i)
      EXPECT_EQ(static_cast<const std::uint16_t*>(request.get_output_tensor().data())[i], 0x4000) << i;  // 2
  }
}

}  // namespace
}  // namespace tenon
