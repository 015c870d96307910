// SPDX-License-Identifier: Apache-2.0
// Convolutions of all kinds, alone and with what is fused into them.
#include <algorithm>

#include <tenon/engine/testing/judged_models.hpp>

namespace tenon::engine_test {
namespace convolution_test {

struct Case {
  std::size_t in, out, groups, size;
  std::int64_t kernel, stride, pad_begin, pad_end, dilation;
  std::size_t batch = 1;
};
std::ostream& operator<<(std::ostream& o, const Case& c) {
  return o << c.in << "to" << c.out << "g" << c.groups << "s" << c.size << "k" << c.kernel << "st" << c.stride << "p"
           << c.pad_begin << c.pad_end << "d" << c.dilation << "b" << c.batch;
}
class Convolutions : public testing::TestWithParam<Case> {};

Attributes attributes(const Case& c) {
  return {{"strides", {c.stride, c.stride}},
          {"pads_begin", {c.pad_begin, c.pad_begin}},
          {"pads_end", {c.pad_end, c.pad_end}},
          {"dilations", {c.dilation, c.dilation}}};
}

TEST_P(Convolutions, AgreeWithReferenceWithBiasActivationAndResidual) {
  const Case c = GetParam();
  const auto k = static_cast<std::size_t>(c.kernel);
  const auto x = parameter({c.batch, c.in, c.size, c.size + 1});
  const Out y = c.groups == 1 ? op1("Convolution", 1, {x, weights({c.out, c.in, k, k})}, attributes(c))
                              : op1("GroupConvolution", 1,
                                    {x, weights({c.groups, c.out / c.groups, c.in / c.groups, k, k})}, attributes(c));
  const Out biased = op1("Add", 1, {y, weights({1, c.out, 1, 1}, 3)});
  const Out shown = op1("Relu", 1, {biased});
  EXPECT_EQ(judge(shown, {x}).references, 0u);
  // The residual: another convolution's result, last read here.
  const Out other = c.groups == 1 ? op1("Convolution", 1, {x, weights({c.out, c.in, k, k}, 11)}, attributes(c)) : y;
  const Out sum = op1("Add", 1, {op1("Tanh", 1, {other}), biased});
  judge(op1("Relu", 1, {sum}), {x});
}

INSTANTIATE_TEST_SUITE_P(Shapes, Convolutions,
                         testing::Values(Case{3, 16, 1, 17, 3, 2, 1, 1, 1}, Case{3, 24, 1, 12, 7, 2, 3, 3, 1},
                                         Case{16, 32, 1, 9, 3, 1, 1, 1, 1}, Case{16, 48, 1, 8, 1, 1, 0, 0, 1},
                                         Case{24, 24, 1, 7, 3, 1, 1, 1, 1}, Case{5, 7, 1, 11, 3, 1, 1, 0, 1},
                                         Case{33, 17, 1, 6, 1, 2, 0, 0, 1}, Case{16, 16, 1, 13, 3, 1, 2, 2, 2},
                                         Case{32, 32, 32, 14, 3, 2, 0, 1, 1}, Case{24, 24, 24, 9, 5, 1, 2, 2, 1},
                                         Case{7, 7, 7, 9, 3, 1, 1, 1, 1}, Case{32, 64, 2, 7, 3, 1, 1, 1, 1},
                                         Case{12, 18, 3, 7, 3, 1, 1, 1, 1}, Case{16, 16, 1, 5, 3, 1, 1, 1, 1, 3},
                                         Case{3, 8, 1, 6, 3, 1, 1, 1, 1, 2}, Case{1, 1, 1, 8, 3, 1, 0, 0, 1},
                                         Case{64, 64, 1, 4, 4, 4, 0, 0, 1}));

TEST(Convolution, TakesEveryActivationAsPostOp) {
  const auto x = parameter({1, 8, 6, 6});
  const auto y = [&] { return convolution(x, 16, 3, 1, 1); };
  const std::vector<Out> all = {op1("Relu", 1, {y()}),
                                op1("Sigmoid", 1, {y()}),
                                op1("Tanh", 1, {y()}),
                                op1("Clamp", 1, {y()}, {{"min", 0.0}, {"max", 6.0}}),
                                op1("Elu", 1, {y()}, {{"alpha", 0.7}}),
                                op1("Swish", 4, {y()}),
                                op1("Swish", 4, {y(), scalar(1.5)}),
                                op1("HSwish", 4, {y()}),
                                op1("HSigmoid", 5, {y()}),
                                op1("Mish", 4, {y()}),
                                op1("Gelu", 7, {y()}, {{"approximation_mode", "ERF"}}),
                                op1("Gelu", 7, {y()}, {{"approximation_mode", "TANH"}}),
                                op1("PRelu", 1, {y(), scalar(0.1)}),
                                op1("Abs", 1, {y()}),
                                op1("Negative", 1, {y()}),
                                op1("Exp", 1, {y()})};
  for (const Out& out : all) {
    const auto judged = judge(out, {x}, 1e-3);
    EXPECT_EQ(judged.references, 0u) << out.get_node()->get_type_name();
    EXPECT_FALSE(judged.ran(out.get_node()->get_type_name())) << "not fused: " << out.get_node()->get_type_name();
  }
}

TEST(Convolution, TakesBinariesAsPostOps) {
  const auto x = parameter({1, 8, 6, 6});
  const auto gate = parameter({1, 16, 1, 1});
  for (const char* type : {"Add", "Subtract", "Multiply", "Divide", "Maximum", "Minimum"}) {
    for (const Shape& shape :
         {Shape{}, Shape{1, 16, 1, 1}, Shape{16, 1, 1}, Shape{1, 16, 6, 6}, Shape{6}, Shape{1, 1, 6, 6}}) {
      const Out c = op1("Add", 1, {op1("Abs", 1, {weights(shape, 5)}), scalar(0.5)});
      SCOPED_TRACE(std::string(type) + to_string(shape));
      judge(op1("Relu", 1, {op1(type, 1, {convolution(x, 16, 3, 1, 1), c})}), {x}, 1e-3);
      judge(op1(type, 1, {c, convolution(x, 16, 3, 1, 1)}), {x}, 1e-3);
    }
  }
  judge(op1("Multiply", 1, {convolution(x, 16, 3, 1, 1), gate}), {x, gate});
}

TEST(Convolution, TakesBatchNormAndAffineChainsIntoItsWeights) {
  const Shape per_channel{1, 12, 1, 1};
  const auto affine = [&](const Out& y) {
    const Out variance = op1("Abs", 1, {weights({12}, 23)});
    const Out normal = op1("BatchNormInference", 5,
                           {y, weights({12}, 20), weights({12}, 21), weights({12}, 22), variance}, {{"epsilon", 1e-3}});
    const Out more =
        op1("Multiply", 1, {op1("Subtract", 1, {normal, weights(per_channel, 24)}), weights(per_channel, 25)});
    return op1("Relu", 1, {op1("Divide", 1, {more, scalar(0.25)})});
  };
  const auto x = parameter({1, 6, 7, 7});
  const Attributes a{{"strides", {1, 1}}, {"pads_begin", {1, 1}}, {"pads_end", {1, 1}}, {"dilations", {1, 1}}};
  for (const Out& y : {op1("Convolution", 1, {x, weights({12, 6, 3, 3})}, a),
                       op1("GroupConvolution", 1, {x, weights({2, 6, 3, 3, 3})}, a),
                       op1("ConvolutionBackpropData", 1, {x, weights({6, 12, 3, 3})}, a),
                       op1("GroupConvolutionBackpropData", 1, {x, weights({3, 2, 4, 3, 3})}, a)}) {
    const auto judged = judge(affine(y), {x});
    EXPECT_EQ(judged.references, 0u);
    for (const auto& info : judged.infos) EXPECT_NE(info.node_type, "Multiply");
  }
}

TEST(Convolution, KeepsAResidualThatIsReadLater) {
  const auto x = parameter({1, 16, 8, 8});
  const Out a = op1("Relu", 1, {convolution(x, 16, 3, 1, 1, 1)});
  const Out b = op1("Relu", 1, {op1("Add", 1, {convolution(a, 16, 3, 1, 1, 2), a})});
  const Out c = op1("Add", 1, {convolution(b, 16, 1, 1, 0, 3), a});
  judge(c, {x});
  // x + conv(x): the sum must not overwrite what the convolution still reads.
  judge(op1("Add", 1, {a, convolution(a, 16, 1, 1, 0, 4)}), {x});
  judge(op1("Add", 1, {convolution(x, 16, 1, 1, 0, 4), x}), {x});
}

TEST(Convolution, FusesResidualBlockToOneStepPerConvolution) {
  const auto x = parameter({1, 16, 8, 8});
  const Out a = op1("Relu", 1, {op1("Add", 1, {convolution(x, 16, 3, 1, 1, 1), weights({1, 16, 1, 1})})});
  const Out b = op1("Relu", 1, {op1("Add", 1, {convolution(a, 16, 3, 1, 1, 2), weights({1, 16, 1, 1})})});
  const Out c = op1("Relu", 1, {op1("Add", 1, {convolution(b, 16, 1, 1, 0, 3), a})});
  const auto judged = judge(c, {x});
  std::size_t convolutions = 0;
  bool in_place = false;
  for (const auto& info : judged.infos) {
    convolutions += info.node_type == "Convolution";
    in_place |= info.kernel.find("in place") != std::string::npos;
    EXPECT_TRUE(info.node_type == "Convolution" || info.node_type == "Reorder" || info.node_type == "Result")
        << info.node_type;
  }
  EXPECT_EQ(convolutions, 3u);
  EXPECT_TRUE(in_place);
}

TEST(Convolution, SupportsAutoPadAndOneAndThreeDimensions) {
  for (const char* pad : {"same_upper", "same_lower", "valid"}) {
    const auto x = parameter({1, 6, 9, 8});
    judge(op1("Convolution", 1, {x, weights({10, 6, 3, 4})},
              {{"strides", {2, 1}},
               {"pads_begin", {0, 0}},
               {"pads_end", {0, 0}},
               {"dilations", {1, 1}},
               {"auto_pad", pad}}),
          {x});
  }
  const auto line = parameter({2, 16, 20});
  judge(op1("Convolution", 1, {line, weights({32, 16, 5})},
            {{"strides", std::vector<std::int64_t>{2}},
             {"pads_begin", std::vector<std::int64_t>{2}},
             {"pads_end", std::vector<std::int64_t>{1}},
             {"dilations", std::vector<std::int64_t>{1}}}),
        {line});
  const auto cube = parameter({1, 4, 5, 6, 7});
  judge(op1("Convolution", 1, {cube, weights({8, 4, 3, 3, 3})},
            {{"strides", {1, 1, 1}}, {"pads_begin", {1, 1, 1}}, {"pads_end", {1, 1, 1}}, {"dilations", {1, 1, 1}}}),
        {cube});
}

TEST(ConvolutionBackprop, WithoutOverlapIsAConvolutionAndAMove) {
  for (const std::int64_t window : {2, 3})
    for (const std::size_t out : {5, 16, 24}) {
      const auto x = parameter({2, 20, 7, 9});
      const Out y =
          op1("ConvolutionBackpropData", 1,
              {x, weights({20, out, static_cast<std::size_t>(window), static_cast<std::size_t>(window)})},
              {{"strides", {window, window}}, {"pads_begin", {0, 0}}, {"pads_end", {0, 0}}, {"dilations", {1, 1}}});
      const Out shifted = op1("Add", 1, {y, weights({1, out, 1, 1}, 3)});
      const auto judged = judge(op1("Sigmoid", 1, {shifted}), {x});
      EXPECT_EQ(judged.references, 0u);
      if (engine::has_native_bf16()) {  // this CPU likes blocks of 16
        const auto moved = std::count_if(judged.infos.begin(), judged.infos.end(),
                                         [](const auto& info) { return info.kernel == "spread"; });
        EXPECT_EQ(moved, 1);
      }
    }
}

TEST(ConvolutionBackprop, AgreesWithReference) {
  for (const std::size_t in : {5, 16, 32}) {
    for (const std::int64_t stride : {1, 2, 3}) {
      for (const std::int64_t extra : {0, 1}) {
        if (extra >= stride) continue;
        const auto x = parameter({1, in, 6, 5});
        const Attributes a{{"strides", {stride, stride}},
                           {"pads_begin", {1, 0}},
                           {"pads_end", {0, 1}},
                           {"dilations", {1, 1}},
                           {"output_padding", {extra, extra}}};
        SCOPED_TRACE(std::to_string(in) + " stride " + std::to_string(stride) + " extra " + std::to_string(extra));
        const Out y = op1("ConvolutionBackpropData", 1, {x, weights({in, 16, 3, 3})}, a);
        judge(op1("Relu", 1, {op1("Add", 1, {y, weights({1, 16, 1, 1}, 9)})}), {x});
      }
    }
  }
  const auto x = parameter({1, 8, 4, 4});
  judge(op1("GroupConvolutionBackpropData", 1, {x, weights({2, 4, 3, 2, 2})},
            {{"strides", {2, 2}}, {"pads_begin", {0, 0}}, {"pads_end", {0, 0}}, {"dilations", {1, 1}}}),
        {x});
}

TEST(Convolution, WithWeightsThatAreComputed) {
  const Attributes a{{"strides", {2, 1}}, {"pads_begin", {1, 0}}, {"pads_end", {0, 1}}, {"dilations", {1, 1}}};
  for (const std::size_t channels : {3, 16, 20}) {
    SCOPED_TRACE(channels);
    const auto x = parameter({2, channels, 9, 8});
    const auto judge_with = [&](const char* type, const Shape& shape) {
      const auto w = parameter(shape);
      const Out y = op1(type, 1, {x, op1("Tanh", 1, {w})}, a);
      const Out shifted = op1("Add", 1, {y, weights({1, y.get_shape()[1], 1, 1}, 3)});
      EXPECT_EQ(judge(op1("Relu", 1, {shifted}), {x, w}).references, 0u) << type;
    };
    judge_with("Convolution", {24, channels, 3, 2});
    judge_with("GroupConvolution", {channels, 1, 1, 3, 3});
    if (channels % 2 == 0) judge_with("GroupConvolution", {2, 8, channels / 2, 3, 2});
    judge_with("ConvolutionBackpropData", {channels, 5, 3, 2});
    if (channels % 2 == 0) judge_with("GroupConvolutionBackpropData", {2, channels / 2, 6, 2, 3});
  }
}

TEST(Pooling, AgreesWithReference) {
  for (const std::size_t channels : {3, 16, 24}) {
    for (const char* rounding : {"floor", "ceil"}) {
      for (const std::int64_t kernel : {2, 3, 5}) {
        const auto x = parameter({1, channels, 12, 11});
        const Out y = convolution(x, channels, 1, 1, 0);
        const std::int64_t pad = kernel / 2;
        SCOPED_TRACE(std::to_string(channels) + rounding + std::to_string(kernel));
        const Attributes a{{"strides", {2, 2}},
                           {"pads_begin", {pad, pad}},
                           {"pads_end", {pad, pad}},
                           {"kernel", {kernel, kernel}},
                           {"rounding_type", rounding}};
        judge(op1("MaxPool", 1, {y}, a), {x});
        Attributes excluding = a, including = a;
        excluding.set("exclude-pad", true);
        including.set("exclude-pad", false);
        judge(op1("AvgPool", 1, {y}, excluding), {x});
        judge(op1("AvgPool", 1, {y}, including), {x});
      }
    }
  }
}

}  // namespace convolution_test
}  // namespace tenon::engine_test
