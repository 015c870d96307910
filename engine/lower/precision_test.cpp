// SPDX-License-Identifier: Apache-2.0
// bf16 and f16: the reference's numbers within the precision's tolerance, by the kernels that make it worthwhile.
#include <functional>

#include <tenon/engine/kernels/simd/bf16.hpp>
#include <tenon/engine/testing/instruction_sets.hpp>
#include <tenon/engine/testing/near_reference.hpp>

namespace tenon::engine_test {
namespace precision_test {

/// Steps whose kernels multiply bf16: with AMX, oneDNN names them by that.
std::size_t count_bf16(const std::vector<engine::StepInfo>& steps) {
  return count(steps, "bf16") + count(steps, "amx");
}

#define NEEDS_BF16() \
  if (!engine::has_native_bf16()) GTEST_SKIP() << "this CPU does not multiply bf16"

Out depthwise(const Out& x, std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
  const auto side = static_cast<std::size_t>(kernel);
  return op1(
      "GroupConvolution", 1, {x, weights({x.get_shape()[1], 1, 1, side, side}, 5)},
      {{"strides", {stride, stride}}, {"pads_begin", {pad, pad}}, {"pads_end", {pad, pad}}, {"dilations", {1, 1}}});
}

TEST(Bf16, ConvolutionsAndWhatLiesBetweenThemStayInIt) {
  NEEDS_BF16();
  const auto x = parameter({1, 3, 32, 32});
  const Out stem = relu(convolution(x, 32, 3, 2, 1));
  const Out body = relu(convolution(stem, 32, 3, 1, 1, 8));
  const Out joined = op1("Add", 1, {convolution(body, 32, 1, 1, 0, 9), stem});
  const Out wide = op1("Concat", 1, {joined, body}, {{"axis", std::int64_t{1}}});
  for (const Images images : {Images::kBlocks, Images::kChannelsLast}) {
    const auto steps = near_reference(convolution(wide, 16, 1), {x}, kBf16, 0.9995, 0.03, images);
    EXPECT_EQ(count_bf16(steps), 4u);
    // Blocks join in place; channels that lie side by side do not.
    EXPECT_EQ(count(steps, "Concat"), images == Images::kBlocks ? 0u : 1u);
    // One conversion from f32 and one to f32, and none between.
    EXPECT_EQ(count(steps, "Reorder"), 2u);
  }
}

/// @param read  Makes what is read at 16 x 4 computed numbers from the features.
void expect_exact_places(const std::function<Out(const Out& features, const Out& numbers)>& read) {
  // 1 + 300: a coordinate that bf16 does not have.
  const Out ones = op::v0::Constant::create(element::f32, Shape{16, 1, 1, 1}, std::vector<float>(16, 1));
  const Out shift = op::v0::Constant::create(element::f32, Shape{1, 16, 1, 1}, std::vector<float>(16, 300));
  const auto x = parameter({1, 1, 2, 2}), features = parameter({1, 8, 6, 6});
  const Attributes plain{{"strides", {1, 1}}, {"pads_begin", {0, 0}}, {"pads_end", {0, 0}}, {"dilations", {1, 1}}};
  const Out places = op1("Add", 1, {op1("Convolution", 1, {x, ones}, plain), shift});
  const Out pooled = read(features, op1("Reshape", 1, {places, ints({16, 4})}, {{"special_zero", false}}));
  const auto model = std::make_shared<Model>(OutputVector{convolution(pooled, 8, 1)}, ParameterVector{x, features});
  engine::Options options;
  options.precision = kBf16;
  const auto plan = engine::Plan::compile(model, options);
  engine::Workers workers(2);
  engine::Execution execution(plan);
  const auto inputs = random_inputs(*model);
  std::fill_n(inputs[0].data<float>(), 4, 1.0f);
  for (std::size_t i = 0; i < inputs.size(); ++i) execution.bind_input(i, inputs[i]);
  bool was_seen = false;
  execution.observe([&](const std::string& node, std::size_t, const Tensor& value) {
    if (node != places.get_node()->get_friendly_name()) return;
    was_seen = true;
    for (std::size_t i = 0; i < value.element_count(); ++i) EXPECT_EQ(value.data<float>()[i], 301.0f);
  });
  EXPECT_TRUE(execution.run(workers));
  EXPECT_TRUE(was_seen);
}

TEST(Bf16, PlacesThatAConvolutionComputesStayInF32) {
  NEEDS_BF16();
  const Attributes size{{"pooled_h", 2}, {"pooled_w", 2}, {"spatial_scale", 0.01}};
  const auto with = [&](Attributes attributes, const char* name, const char* value) {
    attributes.set(name, std::string(value));
    return attributes;
  };
  const Out pictures = op::v0::Constant::create(element::i64, Shape{16}, std::vector<std::int64_t>(16, 0));
  expect_exact_places([&](const Out& features, const Out& numbers) {
    Attributes attributes = with(size, "mode", "avg");
    attributes.set("sampling_ratio", std::int64_t{2});
    return op1("ROIAlign", 9, {features, numbers, pictures}, attributes);
  });
  expect_exact_places([&](const Out& features, const Out& numbers) {
    const Out first = op::v0::Constant::create(element::f32, Shape{16, 1}, std::vector<float>(16, 0));
    const Out boxes = op1("Concat", 1, {first, numbers}, {{"axis", std::int64_t{1}}});
    return op1("ROIPooling", 2, {features, boxes}, with(size, "method", "max"));
  });
  expect_exact_places([&](const Out& features, const Out& numbers) {
    // Offsets of one tap at 4 x 6 places.
    const Out offsets = op1("Reshape", 1, {numbers, ints({1, 2, 4, 8})}, {{"special_zero", false}});
    const Out part = op1("Slice", 8, {offsets, ints({0}), ints({6}), ints({1}), ints({3})});
    const Out data = op1("Slice", 8, {features, ints({0}), ints({4}), ints({1}), ints({2})});
    return op1("DeformableConvolution", 8, {data, part, weights({8, 8, 1, 1})},
               {{"strides", {1, 1}}, {"pads_begin", {0, 0}}, {"pads_end", {0, 0}}, {"dilations", {1, 1}}});
  });
}

TEST(Bf16, WhatIsReadAtComputedPlacesAgrees) {
  NEEDS_BF16();
  const auto x = parameter({1, 3, 16, 16}), offsets = parameter({1, 18, 16, 16});
  const Out features = relu(convolution(x, 32, 3, 1, 1));
  const Attributes window{{"strides", {1, 1}}, {"pads_begin", {1, 1}}, {"pads_end", {1, 1}}, {"dilations", {1, 1}}};
  const Out moved = op1("DeformableConvolution", 8, {features, offsets, weights({32, 32, 3, 3})}, window);
  for (const Images images : {Images::kBlocks, Images::kChannelsLast})
    near_reference(convolution(moved, 16, 1), {x, offsets}, kBf16, 0.9995, 0.03, images);
  const std::vector<float> places{0, 1, 2, 9, 11, 0, 0, 0, 15, 15, 0, -3, 4, 6, 20, 0, 5, 5, 5, 5};
  const Out boxes = op::v0::Constant::create(element::f32, Shape{4, 5}, places);
  for (const char* method : {"max", "bilinear"}) {
    const Out pooled = op1("ROIPooling", 2, {features, boxes},
                           {{"pooled_h", 3}, {"pooled_w", 3}, {"spatial_scale", 1.0}, {"method", std::string(method)}});
    near_reference(convolution(pooled, 16, 1), {x}, kBf16, 0.9995, 0.03);
  }
  near_reference(convolution(op1("AdaptiveAvgPool", 8, {features, ints({3, 5})}), 16, 1), {x}, kBf16, 0.9995, 0.03);
}

TEST(Bf16, DepthwiseConvolutionsAgreeForAllWindowsAndWidths) {
  NEEDS_BF16();
  for (const Images images : {Images::kBlocks, Images::kChannelsLast})
    for (const std::size_t channels : {16, 24, 96})
      for (const std::int64_t kernel : {3, 5, 7})
        for (const std::int64_t stride : {1, 2})
          for (const std::size_t width : {2, 7, 33, 70}) {
            const auto x = parameter({2, channels, 9, width});
            const Out y = op1("Clamp", 1, {depthwise(x, kernel, stride, kernel / 2)}, {{"min", 0.0}, {"max", 6.0}});
            const auto steps = near_reference(y, {x}, kBf16, 0.9999, 0.01, images);
            EXPECT_EQ(count(steps, images == Images::kBlocks ? "_dw:" : "depthwise"), 1u)
                << "not as a convolution of whole groups";
          }
}

TEST(Bf16, DepthwiseConvolutionsTakeBiasAndFunction) {
  NEEDS_BF16();
  const auto x = parameter({1, 40, 11, 13});
  const Out sums = op1("Add", 1, {depthwise(x, 3, 1, 1), weights({1, 40, 1, 1}, 6)});
  const Out scaled = op1(
      "Add", 1, {op1("Multiply", 1, {depthwise(x, 5, 2, 1), weights({1, 40, 1, 1}, 7)}), weights({1, 40, 1, 1}, 8)});
  for_each_instruction_set([&] {
    for (const Out& y : {sums, scaled, relu(sums), op1("Swish", 4, {scaled}), op1("HSwish", 4, {sums}),
                         op1("Clamp", 1, {sums}, {{"min", -0.3}, {"max", 0.2}})}) {
      for (const bool is_last : {true, false}) {
        const Out last = is_last ? y : convolution(y, 16, 1);
        const auto steps = near_reference(last, {x}, kBf16, 0.9995, 0.03, Images::kChannelsLast);
        EXPECT_EQ(count(steps, "GroupConvolution depthwise"), 1u) << y.get_node()->get_type_name();
      }
    }
  });
  // Another function is oneDNN's.
  const auto steps = near_reference(op1("Mish", 4, {sums}), {x}, kBf16, 0.9995, 0.02, Images::kChannelsLast);
  EXPECT_EQ(count(steps, "GroupConvolution depthwise"), 0u);
}

TEST(Bf16, TransformersAgree) {
  NEEDS_BF16();
  const auto x = parameter({2, 12, 64});
  const auto product = [](const Out& a, const Out& b, bool transpose = false) {
    return op1("MatMul", 1, {a, b}, {{"transpose_a", false}, {"transpose_b", transpose}});
  };
  const Out norm =
      op1("MVN", 6, {x, ints({-1})}, {{"normalize_variance", true}, {"eps", 1e-5}, {"eps_mode", "INSIDE_SQRT"}});
  const Out q = product(norm, weights({64, 64}, 1, 0.1f)), k = product(norm, weights({64, 64}, 2, 0.1f));
  const Out mixed = product(op1("Softmax", 8, {product(q, k, true)}, {{"axis", -1}}), norm);
  const Out hidden = op1("Gelu", 7, {product(op1("Add", 1, {mixed, x}), weights({64, 128}, 3, 0.1f))},
                         {{"approximation_mode", "ERF"}});
  const auto steps = near_reference(product(hidden, weights({128, 8}, 4, 0.1f)), {x}, kBf16, 0.9995, 0.03);
  EXPECT_EQ(count(steps, "reference"), 0u);
  EXPECT_GE(count_bf16(steps), 5u);
}

TEST(Bf16, NormsByTheMeanSquareReadAndMakeEitherType) {
  NEEDS_BF16();
  const auto x = parameter({2, 12, 64});
  const auto norm = [](const Out& y) {
    const Out mean = op1("ReduceMean", 1, {op1("Power", 1, {y, scalar(2)}), ints({-1})}, {{"keep_dims", true}});
    const Out root = op1("Sqrt", 1, {op1("Add", 1, {mean, scalar(1e-5)})});
    return op1("Multiply", 1, {op1("Divide", 1, {y, root}), weights({64}, 9)});
  };
  const auto product = [](const Out& a, unsigned seed) {
    return op1("MatMul", 1, {a, weights({64, 64}, seed, 0.2f)}, {{"transpose_a", false}, {"transpose_b", false}});
  };
  // A norm of f32 for a product, one of a product for another, and one of a product for the result.
  const auto steps = near_reference(norm(product(norm(product(norm(x), 1)), 2)), {x}, kBf16, 0.9995, 0.03);
  EXPECT_EQ(count(steps, "rms norm"), 3u);
}

TEST(Bf16, WhatOnlyBecomesAResultIsF32) {
  NEEDS_BF16();
  const auto x = parameter({1, 16, 8, 8});
  const Out y = convolution(relu(convolution(x, 32, 3, 1, 1)), 16, 1);
  // Offsets that bf16 would round by up to 2.
  const Out boxes = op1("Multiply", 1, {op1("Sigmoid", 1, {y}), scalar(2)});
  const Out placed = op1("Add", 1, {boxes, op1("Add", 1, {weights({1, 16, 8, 8}, 4, 0.f), scalar(601.3)})});
  const auto steps = near_reference(placed, {x}, kBf16, 0.999999, 1e-4);
  EXPECT_EQ(count_bf16(steps), 2u);
  EXPECT_EQ(count(steps, "Reorder"), 1u + count(steps, "Reorder jit:blk"));
}

TEST(Bf16, PoolingResizingAndReductionsReadItAsItLies) {
  NEEDS_BF16();
  const auto x = parameter({1, 16, 16, 16});
  Out y = relu(convolution(x, 32, 3, 1, 1));
  y = op1("MaxPool", 1, {y}, {{"kernel", {2, 2}}, {"strides", {2, 2}}, {"pads_begin", {0, 0}}, {"pads_end", {0, 0}}});
  y = op1("ReduceMean", 1, {y, ints({2, 3})}, {{"keep_dims", true}});
  for (const Images images : {Images::kBlocks, Images::kChannelsLast})
    near_reference(op1("Sigmoid", 1, {y}), {x}, kBf16, 0.9999, 0.01, images);
}

TEST(Bf16, NetsOfManyScalesKeepTheirChannelsLast) {
  NEEDS_BF16();
  const auto x = parameter({2, 16, 16, 16});
  const Out wide = relu(convolution(x, 24, 3, 1, 1));
  const Out low = op1("MaxPool", 1, {wide},
                      {{"kernel", {2, 2}}, {"strides", {2, 2}}, {"pads_begin", {0, 0}}, {"pads_end", {0, 0}}});
  const Out learned = op1("ConvolutionBackpropData", 1, {low, weights({24, 20, 2, 2}, 3)},
                          {{"strides", {2, 2}}, {"pads_begin", {0, 0}}, {"pads_end", {0, 0}}, {"dilations", {1, 1}}});
  const auto resized = [&](const char* mode) {
    return op1("Interpolate", 11, {low, ints({16, 16}), ints({2, 3})},
               {{"mode", mode},
                {"shape_calculation_mode", "sizes"},
                {"coordinate_transformation_mode", "half_pixel"},
                {"nearest_mode", "floor"}});
  };
  const Out joined =
      op1("Concat", 1, {wide, relu(learned), resized("nearest"), resized("linear_onnx")}, {{"axis", std::int64_t{1}}});
  const auto steps = near_reference(convolution(joined, 16, 3, 1, 1), {x}, kBf16, 0.9995, 0.03, Images::kChannelsLast);
  EXPECT_EQ(count(steps, "Reorder"), 2u);
  EXPECT_EQ(count(steps, "reference"), 0u);
}

TEST(Bf16, RecurrentLayersKeepTheirStatesInIt) {
  NEEDS_BF16();
  struct Kind {
    const char* type;
    std::size_t gates;
    bool has_cell;
  };
  for (const Kind& kind : {Kind{"LSTMSequence", 4, true}, Kind{"GRUSequence", 3, false}})
    for (const std::size_t batch : {1, 3})
      for (const char* direction : {"forward", "bidirectional"}) {
        const std::size_t steps = 9, features = 16, hidden = 32, d = std::string_view(direction) == "forward" ? 1 : 2;
        const auto x = parameter({batch, steps, features}), h = parameter({batch, d, hidden}),
                   c = parameter({batch, d, hidden});
        OutputVector inputs{x, h};
        ParameterVector parameters{x, h};
        if (kind.has_cell) inputs.push_back(c), parameters.push_back(c);
        const auto lengths = std::vector<std::int64_t>(batch, static_cast<std::int64_t>(steps));
        inputs.insert(inputs.end(),
                      {op::v0::Constant::create(element::i32, Shape{batch}, lengths),
                       weights({d, kind.gates * hidden, features}, 3), weights({d, kind.gates * hidden, hidden}, 4),
                       weights({d, kind.gates * hidden}, 5)});
        const auto node = make_node(kind.type, 5, inputs, {{"hidden_size", hidden}, {"direction", direction}});
        for (std::size_t output = 0; output < node->get_output_size(); ++output) {
          const auto steps_of = near_reference(node->output(output), parameters, kBf16, 0.999, 0.05);
          EXPECT_EQ(count(steps_of, "reference"), 0u);
        }
      }
}

TEST(Kernels, Bf16RoundsToNearestEven) {
  using engine::kernels::Bf16;
  EXPECT_EQ(Bf16(1.0f).bits, 0x3f80);
  EXPECT_EQ(Bf16(std::bit_cast<float>(0x3f808000u)).bits, 0x3f80);  // a tie goes to the even neighbour
  EXPECT_EQ(Bf16(std::bit_cast<float>(0x3f818000u)).bits, 0x3f82);
  EXPECT_EQ(Bf16(std::bit_cast<float>(0x3f808001u)).bits, 0x3f81);
  EXPECT_TRUE(std::isnan(Bf16(std::bit_cast<float>(0x7f800001u)).to_float()));
  EXPECT_TRUE(std::isinf(Bf16(3.4e38f).to_float()));
}

// -- Masks

/// Attention of 2 heads over 12 positions. The first row may see none of them: all its scores are masked.
struct Masked {
  std::shared_ptr<op::v0::Parameter> x = parameter({1, 2, 12, 16}), mask = parameter({1, 1, 12, 12});
  Out q = op1("MatMul", 1, {x, weights({16, 16}, 1)}), k = op1("MatMul", 1, {x, weights({16, 16}, 2)}),
      v = op1("MatMul", 1, {x, weights({16, 16}, 3)});
  Out scores() const { return op1("MatMul", 1, {q, k}, {{"transpose_a", false}, {"transpose_b", true}}); }
  Out after(const Out& masked) const {
    const Out mixed = op1("MatMul", 1, {op1("Softmax", 8, {masked}, {{"axis", -1}}), v});
    return op1("MatMul", 1, {op1("Relu", 1, {mixed}), weights({16, 4}, 4)});
  }
  /// No result may be NaN, nor may a row be another mean than the reference's.
  void expect_right(const Out& y, double lowest) const {
    ParameterVector inputs{x};
    std::vector<Tensor> tensors{random_tensor(kF32, {1, 2, 12, 16}, 5)};
    const auto reader = mask->get_users();
    if (!reader.empty()) {
      Tensor hidden(kF32, {1, 1, 12, 12});
      for (std::size_t i = 0; i < 144; ++i)
        hidden.data<float>()[i] = i < 12 || i % 12 > i / 12 ? static_cast<float>(lowest) : 0.f;
      inputs.push_back(mask);
      tensors.push_back(hidden);
    }
    const auto model = std::make_shared<Model>(OutputVector{y}, inputs);
    const auto wanted = evaluate(*model, tensors);
    engine::Options options;
    options.threads = 2;
    options.precision = kBf16;
    const auto plan = engine::Plan::compile(model, options);
    engine::Workers workers(2);
    engine::Execution execution(plan);
    for (std::size_t i = 0; i < tensors.size(); ++i) execution.bind_input(i, tensors[i]);
    EXPECT_TRUE(execution.run(workers));
    expect_close(wanted[0], execution.output(0), "masked by " + std::to_string(lowest), 0.02);
    EXPECT_GE(count_bf16(plan->steps()), 4u) << "nothing was computed in bf16";
  }
};

constexpr double kLowest = std::numeric_limits<float>::lowest();

TEST(Bf16, RowsMaskedByTheLowestNumberStayNumbers) {
  NEEDS_BF16();
  for (const double lowest : {kLowest, -1e4}) {
    const Masked added;
    added.expect_right(added.after(op1("Add", 1, {added.scores(), added.mask})), lowest);
    const Masked scaled;
    scaled.expect_right(scaled.after(op1("Add", 1, {op1("Multiply", 1, {scaled.scores(), scalar(0.25)}), scaled.mask})),
                        lowest);
    // Every head has a mask of its own, of the scores' shape.
    const Masked whole;
    const Out masks = op1("Concat", 1, {whole.mask, whole.mask}, {{"axis", std::int64_t{1}}});
    whole.expect_right(whole.after(op1("Add", 1, {whole.scores(), masks})), lowest);
    // The scores have another reader, so that the sum is a step of its own.
    const Masked twice;
    const Out scores = twice.scores(), others = op1("Concat", 1, {twice.mask, twice.mask}, {{"axis", std::int64_t{1}}});
    const Out y = twice.after(op1("Add", 1, {scores, others}));
    twice.expect_right(op1("Add", 1, {y, op1("MatMul", 1, {scores, weights({12, 4}, 6)})}), lowest);
    const Masked chosen;
    const Out visible = op1("Equal", 1, {chosen.mask, scalar(0)});
    chosen.expect_right(chosen.after(op1("Select", 1, {visible, chosen.scores(), scalar(lowest)})), lowest);
    const Masked fused;
    const Out mixed =
        op1("ScaledDotProductAttention", 13, {fused.q, fused.k, fused.v, fused.mask}, {{"causal", false}});
    fused.expect_right(op1("MatMul", 1, {op1("Relu", 1, {mixed}), weights({16, 4}, 4)}), lowest);
  }
}

TEST(Bf16, ScoresAreToldApartByMoreThanTheirLeadingDigits) {
  NEEDS_BF16();
  // Scores around 256 lie 2 apart in bf16: only f32 preserves the shares of neighbours.
  const auto x = parameter({1, 1, 4, 8});
  Tensor keys(kF32, {1, 1, 8, 8});
  for (std::size_t i = 0; i < 64; ++i)
    keys.data<float>()[i] = 32.f + (i % 8 == 0 ? static_cast<float>(i / 8) * 0.25f : 0);
  const Out k = std::make_shared<op::v0::Constant>(keys);
  const Out ones = op1("Clamp", 1, {x}, {{"min", 1.0}, {"max", 1.0}});
  const Out scores = op1("MatMul", 1, {ones, k}, {{"transpose_a", false}, {"transpose_b", true}});
  const Out y = op1("MatMul", 1, {op1("Softmax", 8, {scores}, {{"axis", -1}}), weights({1, 1, 8, 4}, 2)});
  near_reference(y, {x}, kBf16, 0.999, 0.02);
}

// -- Files of f16

TEST(F16, FilesAreComputedInF32Throughout) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f16, PartialShape{4, 64});
  const auto half = [](const Out& value) {
    const auto constant = as_type_ptr<op::v0::Constant>(value.get_node_shared_ptr());
    return std::make_shared<op::v0::Constant>(
               evaluate_node(*make_node("Convert", 1, {value}, {{"destination_type", element::f16}}),
                             {constant->get_tensor()})[0])
        ->output(0);
  };
  // The file's network, once in f16 and once converted to f32.
  const auto network = [&](const Out& in, bool wide) {
    const auto constant = [&](const Shape& shape, unsigned seed) {
      const Out value = half(weights(shape, seed, 0.2f));
      return wide ? op1("Convert", 1, {value}, {{"destination_type", element::f32}}) : value;
    };
    Out y = in;
    for (unsigned layer = 0; layer < 6; ++layer)
      y = op1("Tanh", 1,
              {op1("Add", 1, {op1("MatMul", 1, {y, constant({64, 64}, layer)}), constant({64}, 9 + layer)})});
    return y;
  };
  const auto narrow = std::make_shared<Model>(OutputVector{network(x, false)}, ParameterVector{x});
  const auto z = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{4, 64});
  const auto wide = std::make_shared<Model>(OutputVector{network(z, true)}, ParameterVector{z});
  const Tensor in = random_tensor(kF32, {4, 64}, 3);
  const auto convert = [](const Tensor& from, element::Type type) {
    const auto constant = std::make_shared<op::v0::Constant>(from);
    return evaluate_node(*make_node("Convert", 1, {constant}, {{"destination_type", type}}), {from})[0];
  };
  const Tensor rounded = convert(in, element::f16);
  const Tensor wanted = evaluate(*wide, {convert(rounded, element::f32)})[0];
  const auto worst = [&](const Tensor& made) {
    const Tensor got = convert(made, element::f32);
    double found = 0;
    for (std::size_t i = 0; i < got.element_count(); ++i)
      found = std::max(found, std::abs(static_cast<double>(got.data<float>()[i]) - wanted.data<float>()[i]));
    return found;
  };
  // The last rounding to f16, and no rounding before it.
  const double last = 0.0003;
  EXPECT_GT(worst(evaluate(*narrow, {rounded})[0]), 2 * last) << "the test shows nothing";
  engine::Options options;
  options.threads = 2;
  const auto plan = engine::Plan::compile(narrow, options);
  engine::Workers workers(2);
  engine::Execution execution(plan);
  execution.bind_input(0, rounded);
  EXPECT_TRUE(execution.run(workers));
  EXPECT_EQ(plan->outputs()[0].type, ElementType::kF16);
  EXPECT_LE(worst(execution.output(0)), last);
  const char* isa = std::getenv("ONEDNN_MAX_CPU_ISA");  // SSE4.1 has no instructions for f16.
  EXPECT_EQ(plan->reference_step_count(), isa && std::string_view(isa) == "SSE41" ? 2u : 0u);
}

TEST(F16, ConversionsRoundAsTheReferenceDoes) {
  const auto x = parameter({4, 37});
  const Out y = op1("Convert", 1, {x}, {{"destination_type", element::f16}});
  const auto model = std::make_shared<Model>(
      OutputVector{y, op1("Convert", 1, {y}, {{"destination_type", element::f32}})}, ParameterVector{x});
  Tensor in = random_tensor(kF32, {4, 37}, 3);
  const float special[] = {65504, 65519, 65520, 1e9f, -1e9f, 5.9e-8f, 2.9e-8f, 1.0004883f, 1.0014648f, -0.f};
  std::copy(std::begin(special), std::end(special), in.data<float>());
  const auto wanted = evaluate(*model, {in});
  const auto plan = engine::Plan::compile(model, {});
  engine::Workers workers(1);
  engine::Execution execution(plan);
  execution.bind_input(0, in);
  EXPECT_TRUE(execution.run(workers));
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_EQ(std::memcmp(wanted[i].data(), execution.output(i).data(), wanted[i].size_bytes()), 0) << i;
}

}  // namespace precision_test
}  // namespace tenon::engine_test
