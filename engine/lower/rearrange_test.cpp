// SPDX-License-Identifier: Apache-2.0
// Pads, rotations, reversals and blocks against the reference kernels.
#include <gtest/gtest.h>

#include <tenon/engine/testing/judged_models.hpp>

namespace tenon::engine_test {
namespace {

const element::Type kTypes[] = {element::f32, element::i64, element::u8};

TEST(LowerRearrange, PadInEveryMode) {
  for (const char* mode : {"constant", "edge", "reflect", "symmetric"}) {
    for (const element::Type type : kTypes) {
      for (const auto& [before, after] : std::vector<std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>>{
               {{0, 0, 2, 3}, {0, 0, 1, 2}},
               {{1, 2, 0, 0}, {1, 0, 0, 0}},
               {{0, 0, 0, 4}, {0, 0, 0, 0}},
               {{0, 1, -1, -2}, {0, -1, 2, -1}},
               {{0, 0, 0, 0}, {0, 0, 0, 0}}}) {
        const auto x = parameter({2, 3, 4, 6}, type);
        const Out fill = op::v0::Constant::create(type, Shape{}, std::vector<int>{7});
        OutputVector inputs{x, ints(before), ints(after)};
        if (before[2] == 2) inputs.push_back(fill);
        EXPECT_EQ(judge(op1("Pad", 12, inputs, {{"pad_mode", std::string(mode)}}), {x}).references, 0u) << mode;
      }
    }
  }
}

TEST(LowerRearrange, PadOfManyRowsAndOfOneAxis) {
  const auto x = parameter({3, 40, 50, 7}), y = parameter({5});
  judge(op1("Pad", 1, {x, ints({0, 1, 2, 3}), ints({0, 3, 2, 1})}, {{"pad_mode", std::string("reflect")}}), {x});
  judge(op1("Pad", 1, {y, ints({4}), ints({4})}, {{"pad_mode", std::string("reflect")}}), {y});
}

TEST(LowerRearrange, RollAndReverse) {
  for (const element::Type type : kTypes) {
    const auto x = parameter({3, 5, 4, 2}, type);
    for (const std::vector<std::int64_t>& axes : {std::vector<std::int64_t>{1, 2}, {3}, {0, -1}, {1, 1}}) {
      std::vector<std::int64_t> shifts;
      for (std::size_t i = 0; i < axes.size(); ++i) shifts.push_back(i % 2 ? -7 : 2);
      EXPECT_EQ(judge(op1("Roll", 7, {x, ints(shifts), ints(axes)}), {x}).references, 0u);
    }
    EXPECT_EQ(judge(op1("Reverse", 1, {x, ints({1, 3})}, {{"mode", std::string("index")}}), {x}).references, 0u);
  }
}

TEST(LowerRearrange, BlocksAndShuffledChannels) {
  for (const element::Type type : kTypes) {
    for (const char* mode : {"blocks_first", "depth_first"}) {
      for (const Shape& shape : {Shape{2, 8, 3, 5}, Shape{1, 12, 4}, Shape{2, 16, 2, 3, 2}}) {
        const auto x = parameter(shape, type);
        const Attributes attributes{{"block_size", std::int64_t{2}}, {"mode", std::string(mode)}};
        const Out wide = op1("DepthToSpace", 1, {x}, attributes);
        EXPECT_EQ(judge(wide, {x}).references, 0u) << mode;
        const auto y = parameter(wide.get_shape(), type);
        EXPECT_EQ(judge(op1("SpaceToDepth", 1, {y}, attributes), {y}).references, 0u) << mode;
      }
    }
    const auto x = parameter({2, 12, 3, 5}, type);
    const Attributes attributes{{"axis", std::int64_t{1}}, {"group", std::int64_t{3}}};
    EXPECT_EQ(judge(op1("ShuffleChannels", 1, {x}, attributes), {x}).references, 0u);
  }
}

}  // namespace
}  // namespace tenon::engine_test
