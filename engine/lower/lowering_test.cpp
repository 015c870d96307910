// SPDX-License-Identifier: Apache-2.0
// Matrix products, element-wise operations, movement, resizing and reductions against the reference.
#include <algorithm>
#include <limits>

#include <tenon/engine/testing/judged_models.hpp>

namespace tenon::engine_test {
namespace lower_lowering_test {

Attributes transposes(bool a, bool b) { return {{"transpose_a", a}, {"transpose_b", b}}; }

TEST(MatMul, AgreesForAllRanksAndTranspositions) {
  struct Case {
    Shape a, b;
    bool ta, tb;
  };
  const std::vector<Case> cases = {{{4, 8}, {8, 5}, false, false},
                                   {{8, 4}, {8, 5}, true, false},
                                   {{4, 8}, {5, 8}, false, true},
                                   {{1, 7, 8}, {8, 5}, false, false},
                                   {{2, 3, 8}, {8, 5}, false, false},
                                   {{2, 3, 8}, {5, 8}, false, true},
                                   {{2, 8, 3}, {8, 5}, true, false},
                                   {{1, 8, 3}, {8, 5}, true, false},
                                   {{2, 3, 4, 8}, {1, 1, 8, 5}, false, false},
                                   {{2, 3, 4, 8}, {2, 3, 8, 5}, false, false},
                                   {{2, 1, 4, 8}, {1, 3, 8, 5}, false, false},
                                   {{8}, {8, 5}, false, false},
                                   {{4, 8}, {8}, false, false},
                                   {{8}, {8}, false, false},
                                   {{1, 2048}, {1000, 2048}, false, true},
                                   {{3, 8}, {2, 8, 5}, false, false}};
  for (const Case& c : cases) {
    SCOPED_TRACE(to_string(c.a) + " x " + to_string(c.b));
    const auto a = parameter(c.a), b = parameter(c.b);
    judge(op1("MatMul", 1, {a, b}, transposes(c.ta, c.tb)), {a, b});
    const Out product = op1("MatMul", 1, {a, weights(c.b)}, transposes(c.ta, c.tb));
    judge(product, {a});
    judge(op1("MatMul", 1, {weights(c.a), b}, transposes(c.ta, c.tb)), {b});
    const Shape out = product.get_shape();
    if (out.empty()) continue;
    const Out biased =
        op1("Add", 1, {op1("MatMul", 1, {a, weights(c.b)}, transposes(c.ta, c.tb)), weights({out.back()}, 5)});
    const auto judged = judge(op1("Gelu", 7, {biased}, {{"approximation_mode", "ERF"}}), {a});
    EXPECT_EQ(judged.references, 0u);
    const auto residual = parameter(out);
    const Out again =
        op1("Add", 1, {op1("MatMul", 1, {a, weights(c.b)}, transposes(c.ta, c.tb)), weights({out.back()}, 5)});
    judge(op1("Add", 1, {op1("Tanh", 1, {residual}), again}), {a, residual});
  }
}

TEST(Elementwise, UnariesAgreeInBlockedAndPackedLayouts) {
  for (const std::size_t channels : {16, 24, 3}) {
    const auto x = parameter({1, channels, 5, 6});
    for (const char* type : {"Relu", "Sigmoid", "Tanh", "Exp", "Abs", "Negative", "Erf", "Sin", "Floor"}) {
      SCOPED_TRACE(type);
      judge(op1(type, 1, {x}), {x});
      // Two readers prevent fusing the activation into the convolution.
      const Out y = convolution(x, channels, 1, 1, 0);
      judge(op1("Add", 1, {op1(type, 1, {y}), op1("Tanh", 1, {y})}), {x});
    }
  }
}

TEST(Elementwise, BinariesBroadcastAsNumpyDoes) {
  const std::vector<std::pair<Shape, Shape>> shapes = {
      {{2, 3, 4}, {2, 3, 4}}, {{2, 3, 4}, {4}}, {{2, 3, 4}, {3, 1}}, {{1, 3, 1}, {2, 1, 4}},
      {{}, {2, 3}},           {{5}, {}},        {{1}, {1}},          {{2, 16, 4, 4}, {1, 16, 1, 1}}};
  for (const auto& [a, b] : shapes) {
    for (const char* type :
         {"Add", "Subtract", "Multiply", "Divide", "Maximum", "Minimum", "Power", "SquaredDifference", "Greater"}) {
      SCOPED_TRACE(std::string(type) + to_string(a) + to_string(b));
      const auto x = parameter(a), y = parameter(b);
      judge(op1(type, 1, {op1("Abs", 1, {x}), y}), {x, y});
    }
    const auto i = parameter(a, element::i64), j = parameter(b, element::i64);
    judge(op1("Multiply", 1, {op1("Add", 1, {i, j}), i}), {i, j});
  }
}

TEST(Elementwise, ScalarsAfterAProductAreComputedWithIt) {
  const auto x = parameter({6, 32});
  for (const char* type : {"Add", "Subtract", "Multiply", "Divide", "Maximum", "Minimum"}) {
    SCOPED_TRACE(type);
    // Behind a column's bias, which takes nothing else in.
    const Out y = op1("Add", 1, {op1("MatMul", 1, {x, weights({32, 48})}), weights({48}, 3)});
    EXPECT_EQ(judge(op1("Relu", 1, {op1(type, 1, {op1("Tanh", 1, {y}), scalar(0.75)})}), {x}).steps, 1u);
  }
}

TEST(Movement, ViewsAndTransposesAgree) {
  const auto x = parameter({2, 3, 4, 5});
  for (const std::vector<std::int64_t>& order :
       {std::vector<std::int64_t>{0, 1, 2, 3}, {0, 2, 3, 1}, {3, 2, 1, 0}, {0, 1, 3, 2}, {1, 0, 2, 3}})
    judge(op1("Transpose", 1, {x, ints(order)}), {x});
  const auto y = parameter({1, 16, 6, 6});
  const Out c = convolution(y, 32, 3, 1, 1);
  judge(op1("Transpose", 1, {c, ints({0, 2, 3, 1})}), {y});
  judge(op1("Reshape", 1, {c, ints({1, 32, -1})}, {{"special_zero", true}}), {y});
  judge(op1("Reshape", 1, {c, ints({0, 0, 36})}, {{"special_zero", true}}), {y});
  const Out pooled = op1("ReduceMean", 1, {c, ints({2, 3})}, {{"keep_dims", true}});
  judge(op1("Squeeze", 1, {pooled, ints({2, 3})}), {y});
  judge(op1("ReduceMean", 1, {c, ints({2, 3})}, {{"keep_dims", false}}), {y});
  judge(op1("Unsqueeze", 1, {x, ints({0})}), {x});
  const auto i = parameter({2, 3, 4}, element::i64);
  judge(op1("Transpose", 1, {i, ints({2, 0, 1})}), {i});
}

TEST(Movement, SplitsAndJoinsWithoutCopyingWhereLayoutsAllow) {
  const auto x = parameter({1, 16, 6, 6});
  const Out y = op1("Relu", 1, {convolution(x, 64, 1, 1, 0)});
  const auto split = make_node("Split", 1, {y, scalar_int(1)}, {{"num_splits", 2}});
  const Out a = split->output(0), b = split->output(1);
  const Out c = op1("Relu", 1, {convolution(b, 32, 3, 1, 1, 3)});
  const Out d = op1("Add", 1, {convolution(c, 32, 3, 1, 1, 4), b});
  const Out joined = op1("Concat", 1, {a, b, d}, {{"axis", 1}});
  const auto judged = judge(op1("Relu", 1, {convolution(joined, 16, 1, 1, 0, 5)}), {x});
  EXPECT_FALSE(judged.ran("Concat"));
  EXPECT_FALSE(judged.ran("Split"));
  // The joined tensor is an output itself, and so is a part of it.
  judge(std::make_shared<Model>(OutputVector{joined, d, y}, ParameterVector{x}));
  // The same part twice, a part of an input, and a constant.
  judge(op1("Concat", 1, {d, d, x, weights({1, 16, 6, 6})}, {{"axis", 1}}), {x});
  // Joined, then changed in place, while a part is read again.
  const Out relu = op1("Sigmoid", 1, {joined});
  judge(op1("Add", 1, {op1("Slice", 8, {relu, ints({0}), ints({32}), ints({1}), ints({1})}), op1("Tanh", 1, {d})}),
        {x});
}

TEST(Movement, ConcatAgreesAlongEveryAxisAndBatch) {
  for (const std::size_t batch : {1, 2}) {
    for (const std::size_t channels : {16, 24}) {
      for (const std::int64_t axis : {0, 1, 2, -1}) {
        SCOPED_TRACE(std::to_string(batch) + " " + std::to_string(channels) + " " + std::to_string(axis));
        const auto x = parameter({batch, channels, 4, 6});
        const Out a = op1("Relu", 1, {convolution(x, channels, 3, 1, 1, 1)}),
                  b = op1("Tanh", 1, {convolution(x, channels, 1, 1, 0, 2)});
        const Out joined = op1("Concat", 1, {a, b, x}, {{"axis", axis}});
        judge(op1("Abs", 1, {joined}), {x});
        judge(op1("Concat", 1, {op1("Concat", 1, {a, b}, {{"axis", axis}}), op1("Concat", 1, {b, a}, {{"axis", axis}})},
                  {{"axis", axis}}),
              {x});
      }
    }
  }
}

TEST(Movement, SlicesAgree) {
  const auto x = parameter({2, 5, 6, 7});
  const auto slice = [&](std::vector<std::int64_t> begin, std::vector<std::int64_t> end, std::vector<std::int64_t> step,
                         std::vector<std::int64_t> axes) {
    judge(op1("Slice", 8, {x, ints(begin), ints(end), ints(step), ints(axes)}), {x});
  };
  slice({1}, {2}, {1}, {0});
  slice({1}, {4}, {1}, {1});
  slice({0, 2}, {6, 7}, {2, 3}, {2, 3});
  slice({-1}, {-9223372036854775807}, {-1}, {3});
  slice({-3}, {100}, {1}, {-2});
  slice({4, 5}, {1, 0}, {-1, -2}, {1, 2});
  judge(op1("StridedSlice", 1, {x, ints({0, 1, 0, 0}), ints({0, 4, 0, 0}), ints({1, 2, 1, 1})},
            {{"begin_mask", {1, 0, 1, 1}}, {"end_mask", {1, 0, 1, 1}}}),
        {x});
  judge(op1("StridedSlice", 1, {x, ints({1, 0}), ints({2, 5}), ints({1, 1})},
            {{"begin_mask", {0, 0}}, {"end_mask", {0, 0}}, {"shrink_axis_mask", {1, 0}}}),
        {x});
  const auto lengths = make_node("VariadicSplit", 1, {x, scalar_int(1), ints({1, 3, 1})}, {});
  judge(std::make_shared<Model>(OutputVector{lengths->output(0), lengths->output(1), lengths->output(2)},
                                ParameterVector{x}));
}

TEST(Movement, GatherPadBroadcastTileConvertAgree) {
  const auto x = parameter({3, 4, 5});
  const auto index = parameter({2, 2}, element::i64);
  for (const std::int64_t axis : {0, 1, 2}) judge(op1("Gather", 8, {x, index, scalar_int(axis)}), {x, index});
  judge(op1("Gather", 8, {x, scalar_int(1), scalar_int(0)}), {x});
  judge(op1("Gather", 8, {x, scalar_int(-1), scalar_int(1)}), {x});
  judge(op1("Pad", 1, {x, ints({0, 1, 2}), ints({1, 0, 3}), scalar(0.5)}, {{"pad_mode", "constant"}}), {x});
  judge(op1("Pad", 1, {x, ints({0, 1, 2}), ints({1, 0, 3})}, {{"pad_mode", "reflect"}}), {x});
  const auto one = parameter({1, 4, 1});
  judge(op1("Broadcast", 3, {one, ints({3, 4, 5})}, {{"mode", "numpy"}}), {one});
  judge(op1("Broadcast", 3, {one, ints({2, 3, 1, 5})}, {{"mode", "bidirectional"}}), {one});
  judge(op1("Tile", 1, {x, ints({2, 1, 3})}), {x});
  judge(op1("Tile", 1, {x, ints({2, 1, 1, 2})}), {x});
  const auto i = parameter({4, 4}, element::i64);
  judge(op1("Convert", 1, {i}, {{"destination_type", element::f32}}), {i});
  judge(op1("Convert", 1, {x}, {{"destination_type", element::i32}}), {x});
}

TEST(Normalization, ANaNMakesItsLineOfASoftmaxNaN) {
  for (const Shape& shape : {Shape{4, 40}, Shape{3, 5, 6}, Shape{64, 700}}) {
    for (const auto& [type, version] : {std::pair<const char*, unsigned>{"Softmax", 8}, {"LogSoftmax", 5}}) {
      for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(shape.size()); ++axis) {
        SCOPED_TRACE(to_string(shape) + type + std::to_string(axis));
        const auto x = parameter(shape);
        Tensor added(ElementType::kF32, shape);
        float* const values = added.data<float>();
        std::fill_n(values, added.element_count(), 0.5f);
        values[0] = values[shape.back() + 2] = std::numeric_limits<float>::quiet_NaN();
        values[2 * shape.back() + 1] = std::numeric_limits<float>::infinity();
        values[3 * shape.back()] = -200;  // Becomes 0, as beside a NaN.
        judge(op1(type, version, {op1("Add", 1, {x, std::make_shared<op::v0::Constant>(added)})}, {{"axis", axis}}),
              {x});
      }
    }
  }
}

TEST(Normalization, SoftmaxAndMvnAgree) {
  const auto x = parameter({2, 16, 5, 7});
  for (const std::int64_t axis : {0, 1, 2, 3, -1}) {
    judge(op1("Softmax", 8, {x}, {{"axis", axis}}), {x});
    judge(op1("LogSoftmax", 5, {x}, {{"axis", axis}}), {x});
    judge(op1("Softmax", 8, {op1("Tanh", 1, {convolution(x, 32, 1, 1, 0)})}, {{"axis", axis}}), {x});
  }
  for (const std::vector<std::int64_t>& axes : {std::vector<std::int64_t>{3}, {2, 3}, {1, 2, 3}, {1}, {-1}})
    judge(op1("MVN", 6, {x, ints(axes)}, {{"normalize_variance", true}, {"eps", 1e-6}, {"eps_mode", "inside_sqrt"}}),
          {x});
}

TEST(Attention, AgreesWithAndWithoutMask) {
  const auto q = parameter({1, 2, 5, 8}), k = parameter({1, 2, 7, 8}), v = parameter({1, 2, 7, 6}),
             mask = parameter({1, 1, 1, 7});
  const Attributes open{{"causal", false}}, causal{{"causal", true}};
  EXPECT_EQ(judge(op1("ScaledDotProductAttention", 13, {q, k, v}, open), {q, k, v}).references, 0u);
  EXPECT_EQ(judge(op1("ScaledDotProductAttention", 13, {q, k, v, mask, scalar(0.5)}, open), {q, k, v, mask}).references,
            0u);
  judge(op1("ScaledDotProductAttention", 13, {q, k, v, scalar(0), scalar(0.5)}, open), {q, k, v});
  judge(op1("ScaledDotProductAttention", 13, {q, k, v}, causal), {q, k, v});
}

TEST(Attention, AQueryThatSeesNothingGetsZeros) {
  const auto q = parameter({1, 2, 5, 8}), k = parameter({1, 2, 7, 8}), v = parameter({1, 2, 7, 6});
  std::vector<float> mask(35, 0);
  std::fill_n(mask.begin() + 14, 7, -std::numeric_limits<float>::infinity());
  mask[0] = mask[34] = -std::numeric_limits<float>::infinity();
  const auto attention = op1("ScaledDotProductAttention", 13,
                             {q, k, v, op::v0::Constant::create(element::f32, Shape{5, 7}, mask)}, {{"causal", false}});
  EXPECT_EQ(judge(attention, {q, k, v}).references, 0u);
}

TEST(Reduction, Agrees) {
  const auto x = parameter({2, 24, 5, 7});
  for (const char* type : {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL2"}) {
    for (const std::vector<std::int64_t>& axes :
         {std::vector<std::int64_t>{2, 3}, {1}, {0}, {3}, {0, 2}, {0, 1, 2, 3}, {-1}}) {
      for (const bool keep : {true, false}) {
        SCOPED_TRACE(type + std::to_string(axes[0]));
        judge(op1(type, std::string(type) == "ReduceL2" ? 4 : 1, {x, ints(axes)}, {{"keep_dims", keep}}), {x});
        judge(op1(type, std::string(type) == "ReduceL2" ? 4 : 1, {convolution(x, 24, 1, 1, 0), ints(axes)},
                  {{"keep_dims", keep}}),
              {x}, 1e-3);
      }
    }
  }
}

TEST(Interpolate, AgreesInAllModes) {
  for (const std::size_t channels : {3, 16, 24}) {
    const auto x = parameter({1, channels, 6, 5});
    for (const Out& source : {Out(x), convolution(x, channels, 1, 1, 0)}) {
      for (const char* mode : {"nearest", "linear", "linear_onnx", "cubic"}) {
        for (const char* coordinate :
             {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "tf_half_pixel_for_nn"}) {
          for (const char* rounding : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple"}) {
            if (std::string(mode) != "nearest" && std::string(rounding) != "floor") continue;
            for (const std::vector<std::int64_t>& sizes :
                 {std::vector<std::int64_t>{12, 10}, {9, 13}, {3, 2}, {1, 5}}) {
              SCOPED_TRACE(std::string(mode) + " " + coordinate + " " + rounding + " " + std::to_string(sizes[0]));
              const Out scales = op::v0::Constant::create(
                  element::f32, Shape{2}, {static_cast<double>(sizes[0]) / 6, static_cast<double>(sizes[1]) / 5});
              judge(op1("Interpolate", 4, {source, ints(sizes), scales, ints({2, 3})},
                        {{"mode", mode},
                         {"shape_calculation_mode", "sizes"},
                         {"coordinate_transformation_mode", coordinate},
                         {"nearest_mode", rounding},
                         {"pads_begin", {0, 0, 0, 0}},
                         {"pads_end", {0, 0, 0, 0}}}),
                    {x}, 1e-3);
            }
          }
        }
      }
    }
  }
}

}  // namespace lower_lowering_test
}  // namespace tenon::engine_test
