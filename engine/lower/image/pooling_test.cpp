// SPDX-License-Identifier: Apache-2.0
// Adaptive pools, and maxima with their places, against the reference kernels: NaN, ties, layouts, windows of nothing.
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include <tenon/engine/testing/instruction_sets.hpp>
#include <tenon/engine/testing/judged_models.hpp>

namespace tenon::engine_test {
namespace pooling_test {

/// Numbers that are often equal, and now and then none.
Out with_ties(const Shape& shape, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values;
  for (std::size_t i = 0; i < element_count(shape); ++i)
    values.push_back(random() % 40 == 0 ? NAN : static_cast<float>(random() % 7) - 3);
  return op::v0::Constant::create(element::f32, shape, values);
}

/// All outputs by a kernel of the engine's own.
void judge_all(const std::shared_ptr<Node>& node, const ParameterVector& parameters) {
  OutputVector outputs;
  for (std::size_t i = 0; i < node->get_output_size(); ++i) outputs.push_back(node->output(i));
  const Judged judged = judge(std::make_shared<Model>(outputs, parameters));
  EXPECT_EQ(judged.references, 0u);
  EXPECT_TRUE(judged.ran(node->get_type_name()));
}

/// A value that is not known when the plan is made.
Out computed(const Shape& shape, unsigned seed, ParameterVector& parameters) {
  parameters.push_back(parameter({1}));
  const Out nothing = op1("Multiply", 1, {op1("Relu", 1, {parameters.back()}), scalar(0)});
  return op1("Add", 1, {with_ties(shape, seed), nothing});
}

/// Rounded up, the last windows hang over; without pads, what hangs over does not count.
TEST(LowerPooling, MeansOfWindowsBeyondThePicture) {
  for (const bool excludes : {true, false}) {
    const auto x = parameter({2, 20, 5, 7});
    const Attributes attributes{{"kernel", {3, 2}},        {"strides", {3, 3}},
                                {"pads_begin", {0, 0}},    {"pads_end", {0, 0}},
                                {"exclude-pad", excludes}, {"rounding_type", std::string("ceil")}};
    EXPECT_EQ(judge(op1("AvgPool", 1, {x}, attributes), {x}).references, 0u);
    EXPECT_EQ(judge(op1("AvgPool", 1, {convolution(x, 20, 1)}, attributes), {x}).references, 0u);
  }
}

TEST(LowerPooling, AdaptiveMeansInEveryLayout) {
  struct Case {
    Shape source;
    std::vector<std::int64_t> target;
  };
  const std::vector<Case> cases{{{2, 3, 7, 9}, {3, 4}},   {{1, 20, 12, 12}, {6, 6}}, {{2, 5, 3, 2}, {5, 7}},
                                {{1, 4, 60, 33}, {1, 1}}, {{2, 3, 11}, {4}},         {{1, 3, 4, 5, 6}, {2, 5, 4}}};
  for_each_instruction_set([&] {
    for (const Case& given : cases) {
      SCOPED_TRACE(to_string(given.source));
      const auto x = parameter(given.source);
      EXPECT_EQ(judge(op1("AdaptiveAvgPool", 8, {x, ints(given.target)}), {x}).references, 0u);
      if (given.source.size() != 4) continue;
      const Out image = convolution(x, 20, 1);
      EXPECT_EQ(judge(convolution(op1("AdaptiveAvgPool", 8, {image, ints(given.target)}), 4, 1), {x}).references, 0u);
    }
  });
}

TEST(LowerPooling, AdaptiveMaximaAndTheirPlaces) {
  for (const element::Type type : {element::i32, element::i64}) {
    for (const Shape& shape : {Shape{2, 3, 7, 9}, Shape{1, 2, 13}, Shape{2, 2, 4, 5, 6}, Shape{1, 30, 40, 41}}) {
      SCOPED_TRACE(to_string(shape));
      ParameterVector parameters;
      const Out x = computed(shape, 3, parameters);
      std::vector<std::int64_t> target;
      for (std::size_t i = 2; i < shape.size(); ++i) target.push_back(static_cast<std::int64_t>(2 + i % 3));
      const auto node = make_node("AdaptiveMaxPool", 8, {x, ints(target)}, {{"index_element_type", type}});
      judge_all(node, parameters);
    }
  }
}

TEST(LowerPooling, MaximaOfWindowsAndTheirPlaces) {
  struct Case {
    Shape shape;
    std::int64_t kernel, stride, pad, dilation, axis;
    const char* rounding;
  };
  const std::vector<Case> cases{{{2, 3, 8, 10}, 2, 2, 0, 1, 0, "floor"},  {{1, 4, 9, 7}, 3, 2, 1, 1, 2, "ceil"},
                                {{2, 2, 9, 11}, 3, 1, 2, 2, -2, "floor"}, {{2, 3, 12}, 4, 3, 1, 1, 1, "ceil"},
                                {{1, 2, 6, 5, 7}, 2, 2, 1, 1, 2, "ceil"}, {{2, 40, 30, 31}, 2, 2, 0, 1, 2, "floor"}};
  for (const Case& given : cases) {
    for (const element::Type type : {element::i32, element::i64}) {
      SCOPED_TRACE(to_string(given.shape));
      const std::size_t spatial = given.shape.size() - 2;
      const auto all = [&](std::int64_t value) { return std::vector<std::int64_t>(spatial, value); };
      ParameterVector parameters;
      const auto node = make_node("MaxPool", 8, {computed(given.shape, 5, parameters)},
                                  {{"kernel", all(given.kernel)},
                                   {"strides", all(given.stride)},
                                   {"pads_begin", all(given.pad)},
                                   {"pads_end", all(given.pad)},
                                   {"dilations", all(given.dilation)},
                                   {"rounding_type", std::string(given.rounding)},
                                   {"index_element_type", type},
                                   {"axis", given.axis}});
      judge_all(node, parameters);
    }
  }
}

TEST(LowerPooling, MaximaOfWindowsInThePadding) {
  for (const unsigned opset : {1u, 8u}) {
    const auto x = parameter({2, 3, 4, 5});
    const Attributes window{{"kernel", {2, 2}}, {"strides", {1, 3}}, {"pads_begin", {3, 0}}, {"pads_end", {0, 4}}};
    EXPECT_EQ(judge(op1("MaxPool", opset, {x}, window), {x}).references, 0u);
  }
}

}  // namespace pooling_test
}  // namespace tenon::engine_test
