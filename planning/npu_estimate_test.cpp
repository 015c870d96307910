// SPDX-License-Identifier: Apache-2.0
// Times that were computed by hand from the figures of the platforms.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tenon/core/error.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/ops.hpp>
#include <tenon/planning/npu_estimate.hpp>

namespace tenon::planning {
namespace npu_estimate_test {

const NpuPlatform& platform(std::uint32_t number) { return *find_npu_platform(number); }

std::shared_ptr<op::v0::Parameter> input(const PartialShape& shape) {
  return std::make_shared<op::v0::Parameter>(element::f32, shape);
}

std::shared_ptr<Node> filled(element::Type type, const Shape& shape) {
  return std::make_shared<op::v0::Constant>(type, shape, std::vector<double>(element_count(shape), 1.0));
}

std::shared_ptr<Node> convolution(const Output<Node>& x, const Output<Node>& filter) {
  return make_node("Convolution", 1, {x, filter},
                   {{"strides", {1, 1}}, {"pads_begin", {0, 0}}, {"pads_end", {0, 0}}, {"dilations", {1, 1}}});
}

std::shared_ptr<Model> model_of(const Output<Node>& result, const ParameterVector& parameters) {
  return std::make_shared<Model>(OutputVector{result}, parameters, "model");
}

/// A 1x1 convolution of 64 to 32 channels at 56 x 56, and a Relu.
std::shared_ptr<Model> small_network() {
  const auto x = input(Shape{1, 64, 56, 56});
  const auto conv = convolution(x, filled(element::f32, {32, 64, 1, 1}));
  conv->set_friendly_name("conv");
  const auto relu = make_node("Relu", 1, {conv->output(0)});
  relu->set_friendly_name("relu");
  return model_of(relu->output(0), {x});
}

TEST(NpuEstimate, AConvolutionTakesItsProductsOrItsBytes) {
  const NpuEstimate estimate = estimate_on_npu(*small_network(), platform(4000), 2);
  ASSERT_EQ(estimate.layers.size(), 1U);
  const NpuLayer& layer = estimate.layers[0];
  EXPECT_EQ(layer.name, "conv");
  EXPECT_EQ(layer.fused, (std::vector<std::string>{"relu"})) << "the matrix engine computes it while it writes";
  constexpr std::uint64_t kProducts = 56 * 56 * 64 * 32;
  EXPECT_EQ(layer.multiply_adds, kProducts);
  EXPECT_EQ(layer.padded, kProducts) << "both numbers of channels are multiples of 16";
  // 1024 products of f16 in a cycle on each of two tiles, at 1.7 GHz.
  EXPECT_NEAR(layer.compute_ns, kProducts / (2 * 1024 * 1.7), 0.1);
  // f16 on the device: the input is read, the result written as the f32 that the model has.
  EXPECT_EQ(layer.read_bytes, 2U * 64 * 56 * 56);
  EXPECT_EQ(layer.written_bytes, 4U * 32 * 56 * 56);
  EXPECT_EQ(layer.weight_bytes, 2U * 64 * 32);
  EXPECT_NEAR(layer.memory_ns, 300 + static_cast<double>(layer.bytes()) / 124.288, 0.1);
  EXPECT_EQ(layer.ns, std::max(layer.compute_ns, layer.memory_ns));
  EXPECT_EQ(estimate.ns, layer.ns);
}

TEST(NpuEstimate, ANormOfConstantsAndTheClipBehindItAreComputedInPassing) {
  // As exporters of ONNX write it, whose clip has its limits as inputs.
  const auto x = input(Shape{1, 64, 56, 56});
  const auto conv = convolution(x, filled(element::f32, {32, 64, 1, 1}));
  const auto each = filled(element::f32, {32});
  const auto norm = make_node("BatchNormInference", 5,
                              {conv->output(0), each->output(0), each->output(0), each->output(0), each->output(0)},
                              {{"epsilon", 1e-5}});
  const auto clip = make_node("Minimum", 1, {norm->output(0), filled(element::f32, {})->output(0)});
  const NpuEstimate estimate = estimate_on_npu(*model_of(clip->output(0), {x}), platform(4000), 2);
  ASSERT_EQ(estimate.layers.size(), 1U);
  EXPECT_EQ(estimate.layers[0].fused.size(), 2U);
  EXPECT_NEAR(estimate.layers[0].compute_ns, estimate_on_npu(*small_network(), platform(4000), 2).layers[0].compute_ns,
              1e-9);
}

TEST(NpuEstimate, TilesAndPlatformsDiffer) {
  const auto network = small_network();
  const auto computing = [&](std::uint32_t number, int tiles) {
    return estimate_on_npu(*network, platform(number), tiles).layers[0].compute_ns;
  };
  EXPECT_NEAR(computing(4000, 1) / computing(4000, 6), 6, 1e-9);
  EXPECT_NEAR(computing(3720, 2) / computing(4000, 2), 1700.0 / 1300, 1e-9);
  EXPECT_NEAR(computing(4000, 3) / computing(5010, 3), 2 * 1950 / 1700.0, 1e-9);
  EXPECT_GT(estimate_on_npu(*network, platform(3720), 2).ns, estimate_on_npu(*network, platform(4000), 2).ns);
}

TEST(NpuEstimate, ChannelsArePaddedAndDepthwiseFiltersUseAnEighth) {
  const auto x = input(Shape{1, 3, 10, 10});
  const auto first =
      estimate_on_npu(*model_of(convolution(x, filled(element::f32, {8, 3, 3, 3}))->output(0), {x}), platform(4000), 1);
  EXPECT_EQ(first.layers[0].multiply_adds, 8U * 8 * 8 * 3 * 9);
  EXPECT_EQ(first.layers[0].padded, 8U * 8 * 16 * 16 * 9);
  const auto y = input(Shape{1, 32, 10, 10});
  const auto depthwise =
      make_node("GroupConvolution", 1, {y->output(0), filled(element::f32, {32, 1, 1, 3, 3})->output(0)},
                {{"strides", {1, 1}}, {"pads_begin", {0, 0}}, {"pads_end", {0, 0}}, {"dilations", {1, 1}}});
  const auto second = estimate_on_npu(*model_of(depthwise->output(0), {y}), platform(4000), 1);
  EXPECT_EQ(second.layers[0].multiply_adds, 8U * 8 * 32 * 9);
  EXPECT_EQ(second.layers[0].padded, 8 * second.layers[0].multiply_adds);
}

TEST(NpuEstimate, EightBitsAreTwiceAsFastAndHalfTheTraffic) {
  const auto x = input(Shape{1, 128, 64});
  const auto quantised = [](const Output<Node>& value) {
    const auto low = filled(element::f32, {}), high = filled(element::f32, {});
    return make_node("FakeQuantize", 1, {value, low->output(0), high->output(0), low->output(0), high->output(0)},
                     {{"levels", 256}});
  };
  const auto weights = filled(element::f32, {64, 256});
  const auto product = [&](const Output<Node>& a, const Output<Node>& b) {
    return make_node("MatMul", 1, {a, b}, {{"transpose_a", false}, {"transpose_b", false}});
  };
  const auto in_f16 = estimate_on_npu(*model_of(product(x, weights)->output(0), {x}), platform(4000), 1);
  const auto in_8_bits = estimate_on_npu(
      *model_of(product(quantised(x)->output(0), quantised(weights)->output(0))->output(0), {x}), platform(4000), 1);
  const NpuLayer &slow = in_f16.layers.back(), &fast = in_8_bits.layers.back();
  EXPECT_FALSE(slow.in_8_bits);
  EXPECT_TRUE(fast.in_8_bits);
  EXPECT_EQ(slow.multiply_adds, 128U * 64 * 256);
  EXPECT_NEAR(slow.compute_ns / fast.compute_ns, 2, 1e-9);
  EXPECT_EQ(slow.weight_bytes, 2U * 64 * 256);
  EXPECT_EQ(fast.weight_bytes, 1U * 64 * 256);
}

TEST(NpuEstimate, WeightsOfFourBitsAreReadAsTheyAreStored) {
  const auto x = input(Shape{1, 1, 64});
  const auto stored = filled(element::u4, {64, 256});
  const auto wide = make_node("Convert", 1, {stored->output(0)}, {{"destination_type", element::f16}});
  const auto scaled = make_node("Multiply", 1, {wide->output(0), filled(element::f16, {1, 256})->output(0)});
  const auto real = make_node("Convert", 1, {scaled->output(0)}, {{"destination_type", element::f32}});
  const auto product =
      make_node("MatMul", 1, {x->output(0), real->output(0)}, {{"transpose_a", false}, {"transpose_b", false}});
  const auto estimate = estimate_on_npu(*model_of(product->output(0), {x}), platform(4000), 4);
  EXPECT_EQ(estimate.layers.back().weight_bytes, 64U * 256 / 2);
  EXPECT_FALSE(estimate.layers.back().in_8_bits) << "the other operand is f16";
}

TEST(NpuEstimate, ValuesStayOnTheChipAsLongAsTheyFit) {
  const auto two_layers = [](std::size_t size) {
    const auto x = input(Shape{1, 16, size, size});
    const auto first = convolution(x, filled(element::f32, {16, 16, 1, 1}));
    return model_of(convolution(first, filled(element::f32, {16, 16, 1, 1}))->output(0), {x});
  };
  const auto small = estimate_on_npu(*two_layers(64), platform(4000), 2);
  EXPECT_EQ(small.layers[0].written_bytes, 0U);
  EXPECT_EQ(small.layers[1].read_bytes, 0U);
  const auto large = estimate_on_npu(*two_layers(512), platform(4000), 2);
  EXPECT_EQ(large.layers[0].written_bytes, 2U * 16 * 512 * 512) << "more than half of 3 MiB";
  EXPECT_EQ(large.layers[1].read_bytes, 2U * 16 * 512 * 512);
}

TEST(NpuEstimate, ViewsCostNothing) {
  const auto other = input(Shape{1, 1000});
  const auto same = make_node("Squeeze", 1, {other->output(0)});
  const auto estimate = estimate_on_npu(*model_of(same->output(0), {other}), platform(4000), 1);
  EXPECT_TRUE(estimate.layers.empty());
  EXPECT_EQ(estimate.ns, 0);
}

TEST(NpuEstimate, SoftmaxRunsOnVectorUnits) {
  const auto x = input(Shape{64, 1000});
  const auto softmax = make_node("Softmax", 8, {x->output(0)}, {{"axis", 1}});
  const auto estimate = estimate_on_npu(*model_of(softmax->output(0), {x}), platform(3720), 2);
  ASSERT_EQ(estimate.layers.size(), 1U);
  EXPECT_EQ(estimate.layers[0].engine, NpuEngine::kVector);
  EXPECT_NEAR(estimate.layers[0].compute_ns, 64'000 / (1.3 * 2 * 16), 0.1);
}

TEST(NpuEstimate, WhatElseReadsAResultKeepsNodesApart) {
  const auto x = input(Shape{1, 16, 8, 8});
  const auto conv = convolution(x, filled(element::f32, {16, 16, 1, 1}));
  const auto pattern = std::make_shared<op::v0::Constant>(element::i64, Shape{3}, std::vector<double>{1, 16, 64});
  const auto view = make_node("Reshape", 1, {conv->output(0), pattern->output(0)}, {{"special_zero", false}});
  const auto relu = make_node("Relu", 1, {view->output(0)});
  EXPECT_EQ(estimate_on_npu(*model_of(relu->output(0), {x}), platform(4000), 1).layers.size(), 1U);
  const Model both(OutputVector{relu->output(0), conv->output(0)}, ParameterVector{x}, "both");
  const auto estimate = estimate_on_npu(both, platform(4000), 1);
  ASSERT_EQ(estimate.layers.size(), 2U);
  EXPECT_TRUE(estimate.layers[0].fused.empty());
  EXPECT_EQ(estimate.layers[1].type, "Relu");
}

TEST(NpuEstimate, TensorsWithoutElementsHaveNoProducts) {
  const auto picture = input(Shape{1, 0, 10, 10}), filter = input(Shape{0, 1, 1, 3, 3}), words = input(Shape{1, 4, 0});
  const auto depthwise =
      make_node("GroupConvolution", 1, {picture->output(0), filter->output(0)},
                {{"strides", {1, 1}}, {"pads_begin", {0, 0}}, {"pads_end", {0, 0}}, {"dilations", {1, 1}}});
  const auto attention = make_node("ScaledDotProductAttention", 13,
                                   {words->output(0), words->output(0), words->output(0)}, {{"causal", false}});
  for (const auto& model :
       {model_of(depthwise->output(0), {picture, filter}), model_of(attention->output(0), {words})}) {
    const auto estimate = estimate_on_npu(*model, platform(4000), 1);
    ASSERT_EQ(estimate.layers.size(), 1U);
    EXPECT_EQ(estimate.layers[0].multiply_adds, 0U);
  }
}

TEST(NpuEstimate, SaysWhatItCannotEstimate) {
  const auto x = input(PartialShape{Dimension(), 16});
  const auto relu = make_node("Relu", 1, {x->output(0)});
  relu->set_friendly_name("moving");
  const auto model = model_of(relu->output(0), {x});
  const auto code_of = [&](const Model& given, const NpuPlatform& target, int tiles) {
    try {
      estimate_on_npu(given, target, tiles);
    } catch (const Error& error) {
      return error.code();
    }
    return Code::kOk;
  };
  EXPECT_EQ(code_of(*model, platform(4000), 1), Code::kFailedPrecondition);
  EXPECT_EQ(code_of(*small_network(), platform(4000), 7), Code::kInvalidArgument);
  EXPECT_EQ(code_of(*small_network(), platform(4000), 0), Code::kInvalidArgument);
  EXPECT_EQ(code_of(*small_network(), NpuPlatform{.number = 5020, .max_tiles = 1}, 1), Code::kUnimplemented);
}

}  // namespace npu_estimate_test
}  // namespace tenon::planning
