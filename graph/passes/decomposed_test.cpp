// SPDX-License-Identifier: Apache-2.0
// Operations that readers expand become one operation again, with the same values; look-alikes are left alone.
#include <tenon/graph/passes/pass.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <tenon/core/tensor.hpp>
#include <tenon/graph/evaluate.hpp>

namespace decomposed_test {
using namespace tenon;
using op::v0::Constant;
using Out = Output<Node>;

Out number(double value) { return std::make_shared<Constant>(element::f32, Shape{}, std::vector<double>{value}); }
Out ints(std::vector<std::int64_t> values) {
  return std::make_shared<Constant>(element::i64, Shape{values.size()}, values);
}
Out op(const char* type, unsigned version, const OutputVector& inputs, const Attributes& attributes = {}) {
  return make_node(type, version, inputs, attributes)->output(0);
}
Out mul(const Out& a, const Out& b) { return op("Multiply", 1, {a, b}); }
Out add(const Out& a, const Out& b) { return op("Add", 1, {a, b}); }
Out divide(const Out& a, const Out& b) { return op("Divide", 1, {a, b}); }

Tensor pattern(const Shape& shape, int seed) {
  Tensor tensor(ElementType::kF32, shape);
  for (std::size_t i = 0; i < tensor.element_count(); ++i)
    tensor.data<float>()[i] =
        static_cast<float>((i * 7919 + static_cast<std::size_t>(seed) * 104729) % 1009) / 168.f - 3;
  return tensor;
}

/// A model with one input of each shape, before and after a pass.
struct Case {
  ParameterVector inputs;
  std::shared_ptr<Model> model;

  Out input(const Shape& shape) {
    inputs.push_back(std::make_shared<op::v0::Parameter>(element::f32, PartialShape(shape)));
    return inputs.back();
  }
  void ends_in(const Out& last) {
    last.get_node()->set_friendly_name("last");
    model = std::make_shared<Model>(OutputVector{last}, inputs);
  }
  std::vector<Tensor> run() const {
    std::vector<Tensor> tensors;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      tensors.push_back(pattern(inputs[i]->get_output_shape(0), static_cast<int>(i + 1)));
    return evaluate(*model, tensors);
  }
  std::size_t count(std::string_view type) const {
    std::size_t found = 0;
    for (const auto& node : model->get_ordered_ops()) found += is_op(node, type);
    return found;
  }
  /// Runs the pass; checks that the values and the last node's name stay.
  bool changes(pass::Pass pass, double tolerance = 1e-5) {
    const auto before = run();
    pass::Manager manager;
    manager.add(std::move(pass));
    const bool changed = manager.run(model);
    const auto after = run();
    for (std::size_t i = 0; i < before[0].element_count(); ++i)
      EXPECT_NEAR(before[0].data<float>()[i], after[0].data<float>()[i], tolerance) << i;
    EXPECT_EQ(model->get_results()[0]->get_input_node_ptr(0)->get_friendly_name(), "last");
    return changed;
  }
};

TEST(FuseLayerNorm, TakesTheFormsThatExportersWrite) {
  for (int form = 0; form < 4; ++form) {
    Case c;
    const Out x = c.input({2, 3, 8}), axes = ints({-1});
    const auto mean = [&](const Out& of) { return op("ReduceMean", 1, {of, axes}, {{"keep_dims", true}}); };
    const Out centred = op("Subtract", 1, {x, mean(x)});
    const Out again = form == 3 ? op("Subtract", 1, {x, mean(x)}) : centred;
    const Out square = form == 1 ? mul(again, again) : op("Power", 1, {again, number(2)});
    const Out variance = add(mean(square), number(1e-3));
    Out last;
    if (form == 2)
      last = mul(centred, op("Power", 1, {variance, number(-0.5)}));
    else if (form == 1)
      last = mul(divide(number(1), op("Sqrt", 1, {variance})), centred);
    else
      last = divide(centred, op("Sqrt", 1, {variance}));
    c.ends_in(last);
    EXPECT_TRUE(c.changes(pass::fuse_layer_norm())) << form;
    EXPECT_EQ(c.count("MVN"), 1u) << form;
    EXPECT_EQ(c.count("ReduceMean"), 0u) << form;
  }
}

TEST(FuseLayerNorm, LeavesMeansOverOtherAxes) {
  Case c;
  const Out x = c.input({2, 3, 8});
  const Out centred = op("Subtract", 1, {x, op("ReduceMean", 1, {x, ints({-1})}, {{"keep_dims", true}})});
  const Out variance = op("ReduceMean", 1, {op("Power", 1, {centred, number(2)}), ints({1, 2})}, {{"keep_dims", true}});
  c.ends_in(divide(centred, op("Sqrt", 1, {add(variance, number(1e-3))})));
  EXPECT_FALSE(c.changes(pass::fuse_layer_norm()));
}

TEST(FuseGeluTanh, TakesCubesAsPowersAndAsProducts) {
  for (const bool power : {false, true}) {
    Case c;
    const Out x = c.input({2, 16});
    const Out cube = power ? op("Power", 1, {x, number(3)}) : mul(mul(x, x), x);
    const Out inner = mul(number(std::sqrt(2 / 3.14159265358979)), add(x, mul(number(0.044715), cube)));
    c.ends_in(mul(mul(number(0.5), x), add(number(1), op("Tanh", 1, {inner}))));
    EXPECT_TRUE(c.changes(pass::fuse_gelu_tanh()));
    EXPECT_EQ(c.count("Gelu"), 1u);
    EXPECT_EQ(c.count("Tanh"), 0u);
  }
}

TEST(FuseGeluTanh, LeavesOtherCoefficients) {
  Case c;
  const Out x = c.input({2, 16});
  const Out inner = mul(number(0.7978845608), add(x, mul(number(0.05), op("Power", 1, {x, number(3)}))));
  c.ends_in(mul(mul(number(0.5), x), add(number(1), op("Tanh", 1, {inner}))));
  EXPECT_FALSE(c.changes(pass::fuse_gelu_tanh()));
}

TEST(FuseHSwish, TakesTheDivisionWhereverItStands) {
  for (int form = 0; form < 3; ++form) {
    Case c;
    const Out x = c.input({2, 16});
    const Out gate = op("Clamp", 1, {add(x, number(3))}, {{"min", 0.0}, {"max", 6.0}});
    c.ends_in(form == 0   ? divide(mul(x, gate), number(6))
              : form == 1 ? mul(x, divide(gate, number(6)))
                          : mul(mul(x, gate), number(1.0 / 6)));
    EXPECT_TRUE(c.changes(pass::fuse_hswish())) << form;
    EXPECT_EQ(c.count("HSwish"), 1u) << form;
  }
}

TEST(FuseClamp, TakesEitherOrderAndKeepsCrossedBounds) {
  for (const bool max_last : {false, true}) {
    Case c;
    const Out x = c.input({2, 16});
    c.ends_in(max_last ? op("Maximum", 1, {op("Minimum", 1, {x, number(1.5)}), number(-1)})
                       : op("Minimum", 1, {op("Maximum", 1, {number(-1), x}), number(1.5)}));
    EXPECT_TRUE(c.changes(pass::fuse_clamp()));
    EXPECT_EQ(c.count("Clamp"), 1u);
  }
  Case crossed;
  crossed.ends_in(op("Minimum", 1, {op("Maximum", 1, {crossed.input({2, 16}), number(2)}), number(1)}));
  EXPECT_FALSE(crossed.changes(pass::fuse_clamp()));
  Case relu;
  relu.ends_in(op("Maximum", 1, {relu.input({2, 16}), number(0)}));
  EXPECT_TRUE(relu.changes(pass::fuse_clamp()));
  EXPECT_EQ(relu.count("Relu"), 1u);
}

TEST(FuseAttention, TakesScaleMaskAndBothFormsOfTheKeys) {
  for (int form = 0; form < 16; ++form) {
    const bool masked = form & 1, transposed = form & 2, guarded = form & 4, is_scaled_before = form & 8;
    Case c;
    const Out q = c.input({2, 3, 5, 8}), k = c.input({2, 7, 3, 8}), v = c.input({2, 3, 7, 4});
    Out keys =
        op("Transpose", 1,
           {k, ints(transposed ? std::vector<std::int64_t>{0, 2, 3, 1} : std::vector<std::int64_t>{0, 2, 1, 3})});
    if (is_scaled_before) keys = mul(keys, number(0.5));
    Out scores = op("MatMul", 1, {is_scaled_before ? mul(number(0.75), q) : q, keys},
                    {{"transpose_a", false}, {"transpose_b", !transposed}});
    scores = masked ? mul(scores, number(0.25)) : divide(scores, number(3));
    if (masked) scores = add(scores, c.input({2, 1, 1, 7}));
    Out weights = op("Softmax", 8, {scores}, {{"axis", -1}});
    if (guarded)
      weights = op("Select", 1, {op("IsNaN", 10, {weights}), number(0), weights}, {{"auto_broadcast", "numpy"}});
    c.ends_in(op("MatMul", 1, {weights, v}, {{"transpose_a", false}, {"transpose_b", false}}));
    EXPECT_TRUE(c.changes(pass::fuse_attention(), 1e-4)) << form;
    EXPECT_EQ(c.count("ScaledDotProductAttention"), 1u) << form;
    EXPECT_EQ(c.count("Softmax"), 0u) << form;
    EXPECT_EQ(c.count("Multiply"), 0u) << form;
  }
}

TEST(FuseAttention, LeavesScoresThatSomethingElseReads) {
  Case c;
  const Out q = c.input({2, 5, 8}), v = c.input({2, 5, 8});
  const Out scores = op("MatMul", 1, {q, v}, {{"transpose_a", false}, {"transpose_b", true}});
  const Out weights = op("Softmax", 8, {scores}, {{"axis", -1}});
  const Out mixed = op("MatMul", 1, {weights, v}, {{"transpose_a", false}, {"transpose_b", false}});
  c.ends_in(add(mixed, op("ReduceMean", 1, {scores, ints({-1})}, {{"keep_dims", true}})));
  EXPECT_FALSE(c.changes(pass::fuse_attention()));
}

/// Masked attention whose heads and rows are open, with known shapes later.
struct OpenAttention {
  ParameterVector inputs;
  std::shared_ptr<Model> model;

  OpenAttention() {
    for (const std::int64_t width : {8, 8, 4, -1})
      inputs.push_back(std::make_shared<op::v0::Parameter>(element::f32, PartialShape{2, -1, -1, width}));
    const Out product = op("MatMul", 1, {inputs[0], inputs[1]}, {{"transpose_a", false}, {"transpose_b", true}});
    const Out weights = op("Softmax", 8, {add(mul(product, number(0.25)), inputs[3])}, {{"axis", -1}});
    model = std::make_shared<Model>(
        OutputVector{op("MatMul", 1, {weights, inputs[2]}, {{"transpose_a", false}, {"transpose_b", false}})}, inputs);
  }
  void run(pass::Pass one) const {
    pass::Manager passes;
    passes.add(std::move(one));
    passes.run(model);
  }
  bool is_fused() const {
    return std::ranges::any_of(model->get_ordered_ops(),
                               [](const auto& node) { return is_op(node, "ScaledDotProductAttention"); });
  }
  void give(const std::vector<Shape>& shapes) const {
    for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i]->set_partial_shape(PartialShape(shapes[i]));
    model->validate_nodes_and_infer_types();
  }
};

TEST(FuseMovingAttention, HoldsWhateverShapesItGets) {
  const OpenAttention plain, fused;
  fused.run(pass::fuse_attention());
  EXPECT_FALSE(fused.is_fused()) << "shapes are open";
  fused.run(pass::fuse_moving_attention());
  EXPECT_TRUE(fused.is_fused());
  for (const std::size_t heads : {3, 1}) {
    for (const std::size_t keys : {7, 1, 4}) {
      const std::vector<Shape> shapes{{2, 3, 5, 8}, {2, heads, keys, 8}, {2, heads, keys, 4}, {2, 1, 1, keys}};
      std::vector<Tensor> tensors;
      for (const Shape& shape : shapes) tensors.push_back(pattern(shape, static_cast<int>(tensors.size())));
      plain.give(shapes);
      fused.give(shapes);
      const Tensor expected = evaluate(*plain.model, tensors)[0], found = evaluate(*fused.model, tensors)[0];
      ASSERT_EQ(found.shape(), expected.shape());
      for (std::size_t i = 0; i < expected.element_count(); ++i)
        ASSERT_NEAR(found.data<float>()[i], expected.data<float>()[i], 1e-4) << i;
    }
  }
}

TEST(FuseMovingAttention, IsRefusedOnceTheMaskIsLargerThanTheScores) {
  const OpenAttention plain, fused;
  fused.run(pass::fuse_moving_attention());
  const std::vector<Shape> shapes{{2, 3, 1, 8}, {2, 3, 7, 8}, {2, 3, 7, 4}, {2, 1, 5, 7}};
  EXPECT_NO_THROW(plain.give(shapes));
  EXPECT_THROW(fused.give(shapes), Error);
}

/// QuantizeLinear and DequantizeLinear in the ONNX reader's form.
Out quantized(const Out& x, double scale, double zero_point) {
  const Out rounded = op("Round", 5, {divide(x, number(scale))}, {{"mode", "half_to_even"}});
  const Out cut = op("Clamp", 1, {add(rounded, number(zero_point))}, {{"min", 0.0}, {"max", 255.0}});
  return std::make_shared<op::v0::Convert>(cut, element::u8);
}
Out dequantized(const Out& q, double scale, double zero_point) {
  const Out real = std::make_shared<op::v0::Convert>(q, element::f32);
  return mul(op("Subtract", 1, {real, number(zero_point)}), number(scale));
}

TEST(FuseQuantizeDequantize, MakesOneFakeQuantizeForAllReaders) {
  Case c;
  const Out q = quantized(c.input({2, 64}), 0.0157, 128);
  c.ends_in(add(op("Relu", 1, {dequantized(q, 0.0157, 128)}), op("Tanh", 1, {dequantized(q, 0.0157, 128)})));
  EXPECT_TRUE(c.changes(pass::fuse_quantize_dequantize()));
  EXPECT_EQ(c.count("FakeQuantize"), 1u);
  EXPECT_EQ(c.count("Convert"), 0u);
}

TEST(FuseQuantizeDequantize, LeavesAnotherScale) {
  Case c;
  c.ends_in(dequantized(quantized(c.input({2, 64}), 0.0157, 128), 0.02, 128));
  EXPECT_FALSE(c.changes(pass::fuse_quantize_dequantize()));
}

TEST(FoldConstants, KeepsDequantizedWeightsWhenAsked) {
  Case c;
  const Out x = c.input({4, 64});
  std::vector<std::int64_t> values(64 * 8);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i % 200) - 100;
  const Out q = std::make_shared<Constant>(element::i8, Shape{64, 8}, values);
  std::vector<double> scales(8, 0.01);
  const Out weights = mul(std::make_shared<op::v0::Convert>(q, element::f32),
                          std::make_shared<Constant>(element::f32, Shape{8}, scales));
  c.ends_in(op("MatMul", 1, {x, weights}, {{"transpose_a", false}, {"transpose_b", false}}));
  c.changes(pass::fold_constants({.keep_dequantization = true}));
  EXPECT_EQ(c.count("Convert"), 1u);
  EXPECT_TRUE(c.changes(pass::fold_constants()));
  EXPECT_EQ(c.count("Convert"), 0u);
}
}  // namespace decomposed_test
