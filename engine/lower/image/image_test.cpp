// SPDX-License-Identifier: Apache-2.0
// Pictures whose channels lie innermost or in blocks behind reshapes and transposes, and resizing in each layout.
#include <algorithm>

#include <gtest/gtest.h>

#include <tenon/engine/testing/instruction_sets.hpp>
#include <tenon/engine/testing/judged_models.hpp>

namespace tenon::engine_test {
namespace image_test {

Out reshape(const Out& x, const std::vector<std::int64_t>& shape) {
  return op1("Reshape", 1, {x, ints(shape)}, {{"special_zero", false}});
}
Out transpose(const Out& x, const std::vector<std::int64_t>& order) { return op1("Transpose", 1, {x, ints(order)}); }

Out resized(const Out& x, std::int64_t height, std::int64_t width, const char* mode = "linear_onnx",
            const char* transform = "half_pixel") {
  return op1("Interpolate", 11, {x, ints({height, width}), ints({2, 3})},
             {{"mode", std::string(mode)},
              {"shape_calculation_mode", std::string("sizes")},
              {"coordinate_transformation_mode", std::string(transform)}});
}

std::size_t count(const Judged& judged, const std::string& type) {
  return static_cast<std::size_t>(std::count_if(judged.infos.begin(), judged.infos.end(),
                                                [&](const auto& info) { return info.node_type == type; }));
}

TEST(LowerPictures, TokensBecomePicturesWithoutAMove) {
  // [1, pixels, channels] as a transformer leaves them, to pictures and back.
  for (const std::size_t channels : {16, 20}) {
    const auto tokens = parameter({1, 48, channels});
    const auto c = static_cast<std::int64_t>(channels);
    const Out picture = reshape(transpose(tokens, {0, 2, 1}), {1, c, 6, 8});
    const Out seen = convolution(picture, channels, 3, 1, 1);
    const Out back = transpose(reshape(seen, {1, c, 48}), {0, 2, 1});
    const Judged judged = judge(op1("Softmax", 8, {back}, {{"axis", std::int64_t{2}}}), {tokens});
    EXPECT_EQ(judged.references, 0u);
    // One move into the convolution's layout, and one out of it, which is the transpose.
    const std::size_t moves = count(judged, "Transpose") + count(judged, "Reorder");
    EXPECT_TRUE(moves <= 2 || !has_channel_blocks()) << moves;
  }
}

TEST(LowerPictures, TokensThatOthersReadToo) {
  const auto tokens = parameter({2, 48, 16});
  const Out flat = transpose(tokens, {0, 2, 1}), picture = reshape(flat, {2, 16, 6, 8});
  const Out sum = op1("ReduceSum", 1, {flat, ints({2})}, {{"keep_dims", false}});
  const Out seen = op1("ReduceSum", 1, {convolution(picture, 8, 1), ints({2, 3})}, {{"keep_dims", false}});
  judge(std::make_shared<Model>(OutputVector{sum, seen, picture}, ParameterVector{tokens}));
}

TEST(LowerPictures, APyramidOfTokensIsJoined) {
  ParameterVector parameters;
  OutputVector levels;
  for (const std::int64_t side : {8, 4, 2, 1}) {
    parameters.push_back(parameter({1, static_cast<std::size_t>(side * side), 16}));
    const Out picture = reshape(transpose(parameters.back(), {0, 2, 1}), {1, 16, side, side});
    levels.push_back(side == 8 ? picture : resized(picture, 8, 8));
  }
  const Out joined = op1("Concat", 1, levels, {{"axis", std::int64_t{1}}});
  const Judged judged = judge(op1("Relu", 1, {convolution(joined, 24, 1)}), parameters);
  EXPECT_EQ(judged.references, 0u);
  const std::size_t joins = count(judged, "Concat");
  EXPECT_TRUE(joins == 0 || !has_channel_blocks());  // Each part is written where it belongs.
}

TEST(LowerPictures, AProductOfChannelsThatLieInnermost) {
  const auto x = parameter({2, 5, 7, 24});
  const Out picture = transpose(x, {0, 3, 1, 2});
  const Out seen = op1("Relu", 1, {op1("Add", 1, {convolution(picture, 32, 1), weights({1, 32, 1, 1})})});
  const Judged judged = judge(transpose(seen, {0, 2, 3, 1}), {x});
  const std::size_t moves = count(judged, "Transpose") + count(judged, "Reorder");
  EXPECT_TRUE(moves == 0 || !has_channel_blocks()) << moves;
}

TEST(LowerPictures, LinearResizeOnEveryInstructionSet) {
  for_each_instruction_set([] {
    for (const char* transform : {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"}) {
      for (const auto& [height, width] : {std::pair{9, 35}, {3, 2}, {1, 1}, {5, 40}}) {
        SCOPED_TRACE(std::string(transform) + " " + std::to_string(height) + "x" + std::to_string(width));
        const auto x = parameter({1, 3, 5, 11});
        judge(resized(x, height, width, "linear_onnx", transform), {x});
        judge(resized(convolution(x, 20, 3, 1, 1), height, width, "linear_onnx", transform), {x});
      }
    }
  });
}

TEST(Images, BecomeTokensAndImagesAgainWhereTheyLie) {
  const auto x = parameter({1, 16, 6, 5});
  const Out features = convolution(x, 32, 3, 1, 1);
  const Out row = op1("Reshape", 1, {features, ints({1, 32, -1})}, {{"special_zero", false}});
  Out tokens = op1("Transpose", 1, {row, ints({0, 2, 1})});
  tokens =
      op1("MatMul", 1, {op1("Tanh", 1, {tokens}), weights({32, 32})}, {{"transpose_a", false}, {"transpose_b", false}});
  const Out back = op1("Transpose", 1, {tokens, ints({0, 2, 1})});
  const Out image = op1("Reshape", 1, {back, ints({1, 32, 6, 5})}, {{"special_zero", false}});
  const auto model = std::make_shared<Model>(OutputVector{convolution(image, 16, 3, 1, 1, 9)}, ParameterVector{x});
  judge(model);
  engine::Options options;
  options.images = engine::Options::Images::kChannelsLast;
  std::size_t moves = 0;
  for (const auto& info : engine::Plan::compile(model, options)->steps())
    moves += info.node_type == "Transpose" || info.node_type == "Reorder";
  EXPECT_LE(moves, 2u) << "of the input and the output";
}

TEST(Images, AreNormalisedOverTheirPixelsWhereTheyLie) {
  for (const std::size_t channels : {3, 24, 64}) {
    for (const double offset : {0.0, 300.0}) {
      SCOPED_TRACE(std::to_string(channels) + " channels around " + std::to_string(offset));
      const auto x = parameter({2, 5, 19, 31});
      const Out features = op1("Add", 1, {convolution(x, channels, 3, 1, 1), scalar(offset)});
      const Out normal = op1("MVN", 6, {features, ints({2, 3})},
                             {{"normalize_variance", true}, {"eps", 1e-5}, {"eps_mode", "inside_sqrt"}});
      const Out y =
          op1("Relu", 1, {op1("Add", 1, {op1("Multiply", 1, {normal, weights({channels, 1, 1})}), scalar(0.1)})});
      const auto model = std::make_shared<Model>(OutputVector{convolution(y, 8, 1)}, ParameterVector{x});
      judge(model, 5e-4);
      engine::Options options;
      options.images = engine::Options::Images::kChannelsLast;
      const auto steps = engine::Plan::compile(model, options)->steps();
      EXPECT_TRUE(
          std::any_of(steps.begin(), steps.end(), [](const auto& info) { return info.kernel == "instance norm"; }));
    }
  }
}

TEST(LowerPictures, ResizesOfAnyAxes) {
  struct Case {
    Shape shape;
    std::vector<std::int64_t> axes, sizes;
  };
  const std::vector<Case> cases{{{2, 3, 9}, {2}, {14}},
                                {{2, 3, 4, 5, 6}, {2, 3, 4}, {7, 5, 3}},
                                {{2, 3, 4, 5, 6}, {4, 2}, {11, 8}},
                                {{3, 4, 5}, {0, 2}, {5, 2}},
                                {{7}, {0}, {3}}};
  for (const char* mode : {"nearest", "linear", "linear_onnx", "cubic", "bilinear_pillow", "bicubic_pillow"}) {
    for (const Case& given : cases) {
      if (std::string(mode).find("pillow") != std::string::npos && given.axes.size() != 2) continue;
      for (const bool by_scales : {false, true}) {
        SCOPED_TRACE(std::string(mode) + " " + to_string(given.shape) + (by_scales ? " by scales" : ""));
        const auto x = parameter(given.shape);
        std::vector<double> scales;
        for (std::size_t i = 0; i < given.axes.size(); ++i)
          scales.push_back((static_cast<double>(given.sizes[i]) + 0.3) /
                           static_cast<double>(given.shape[static_cast<std::size_t>(given.axes[i])]));
        const Out wanted = by_scales ? op::v0::Constant::create(element::f32, Shape{scales.size()}, scales)->output(0)
                                     : ints(given.sizes);
        const Attributes attributes{{"mode", std::string(mode)},
                                    {"shape_calculation_mode", std::string(by_scales ? "scales" : "sizes")},
                                    {"coordinate_transformation_mode", std::string("half_pixel")}};
        EXPECT_EQ(judge(op1("Interpolate", 11, {x, wanted, ints(given.axes)}, attributes), {x}).references, 0u);
      }
    }
  }
}

TEST(LowerPictures, ResizesWithZerosAroundAndAntialias) {
  const auto x = parameter({1, 2, 6, 7});
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    const Attributes attributes{{"mode", std::string(mode)},
                                {"shape_calculation_mode", std::string("sizes")},
                                {"coordinate_transformation_mode", std::string("half_pixel")},
                                {"antialias", true},
                                {"pads_begin", {0, 0, 1, 2}},
                                {"pads_end", {0, 0, 0, 1}}};
    EXPECT_EQ(judge(op1("Interpolate", 11, {x, ints({4, 13}), ints({2, 3})}, attributes), {x}).references, 0u) << mode;
  }
}

Out averaged(const Out& x, const std::vector<std::int64_t>& window, const std::vector<std::int64_t>& strides) {
  return op1("AvgPool", 1, {x},
             {{"kernel", window},
              {"strides", strides},
              {"pads_begin", {0, 0}},
              {"pads_end", {0, 0}},
              {"exclude-pad", true},
              {"rounding_type", std::string("floor")}});
}

TEST(LowerPictures, AveragesOfWindowsInEveryLayout) {
  for_each_instruction_set([] {
    for (const std::size_t channels : {1, 3, 20}) {
      for (const auto& [window, stride] : {std::pair<std::int64_t, std::int64_t>{2, 2}, {3, 1}, {3, 2}, {2, 3}}) {
        SCOPED_TRACE(std::to_string(channels) + " channels, windows of " + std::to_string(window) + " every " +
                     std::to_string(stride));
        const auto x = parameter({3, channels, 9, 37});
        judge(averaged(x, {window, window}, {stride, stride}), {x});
        judge(averaged(x, {window, 2}, {1, 2}), {x});
        judge(averaged(convolution(x, channels, 3, 1, 1), {window, window}, {stride, stride}), {x});
        judge(averaged(transpose(x, {0, 1, 3, 2}), {window, window}, {stride, stride}), {x});
      }
    }
    const auto x = parameter({1, 8, 6, 20});  // Channels innermost.
    judge(averaged(convolution(transpose(x, {0, 3, 1, 2}), 24, 1), {2, 2}, {2, 2}), {x});
  });
}

}  // namespace image_test
}  // namespace tenon::engine_test
