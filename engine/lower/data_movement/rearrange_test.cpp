// SPDX-License-Identifier: Apache-2.0
// Pads, rotations, reversals, sequences and blocks against the reference kernels.
#include <gtest/gtest.h>

#include <tenon/engine/testing/judged_models.hpp>

namespace tenon::engine_test {
namespace rearrange_test {

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

TEST(LowerRearrange, BlocksOfTheBatch) {
  struct Case {
    Shape wide;
    std::vector<std::int64_t> block, begin, end;
  };
  const std::vector<Case> cases{{{2, 3, 4, 6}, {1, 1, 2, 3}, {0, 0, 0, 0}, {0, 0, 0, 0}},
                                {{1, 4, 5, 7}, {1, 1, 2, 2}, {0, 0, 2, 1}, {0, 0, 1, 0}},
                                {{2, 3, 5}, {1, 3, 2}, {0, 4, 0}, {0, 2, 1}},
                                {{1, 2, 1, 1}, {1, 1, 5, 2}, {0, 0, 6, 0}, {0, 0, 3, 1}},
                                {{3, 32, 33, 40}, {1, 1, 4, 4}, {0, 0, 4, 4}, {0, 0, 3, 4}}};
  for (const Case& given : cases) {
    for (const element::Type type : kTypes) {
      SCOPED_TRACE(to_string(given.wide));
      const auto x = parameter(given.wide, type);
      const Out narrow = op1("SpaceToBatch", 2, {x, ints(given.block), ints(given.begin), ints(given.end)});
      EXPECT_EQ(judge(narrow, {x}).references, 0u);
      const auto y = parameter(narrow.get_shape(), type);
      const Out wide = op1("BatchToSpace", 2, {y, ints(given.block), ints(given.begin), ints(given.end)});
      EXPECT_EQ(judge(wide, {y}).references, 0u);
    }
  }
}

TEST(LowerRearrange, SequencesOfTheirOwnLengths) {
  const std::vector<std::vector<std::int64_t>> axes{{0, 1}, {1, 0}, {2, 1}, {0, -1}, {-1, 0}, {1, 1}};
  for (const element::Type type : kTypes) {
    for (const auto& each : axes) {
      for (const Shape& shape : {Shape{5, 5, 5}, Shape{5, 5, 5, 60}}) {
        SCOPED_TRACE(to_string(shape) + " " + std::to_string(each[0]) + " " + std::to_string(each[1]));
        const auto x = parameter(shape, type);
        const std::size_t count = shape[each[0] < 0 ? shape.size() - 1 : static_cast<std::size_t>(each[0])];
        const auto longest = static_cast<std::int64_t>(shape[each[1] < 0 ? shape.size() - 1 : 0]);
        std::vector<std::int64_t> lengths;
        for (std::size_t i = 0; i < count; ++i) lengths.push_back(static_cast<std::int64_t>(i * 3) % (longest + 1));
        const Out given =
            op::v0::Constant::create(type == element::u8 ? element::i32 : element::i64, Shape{count}, lengths);
        const Out made = op1("ReverseSequence", 1, {x, given}, {{"batch_axis", each[0]}, {"seq_axis", each[1]}});
        EXPECT_EQ(judge(made, {x}).references, 0u);
      }
    }
  }
}

TEST(LowerRearrange, ASequenceIsNoLongerThanItsAxis) {
  const auto x = parameter({2, 4, 3}), lengths = parameter({2}, element::i64);
  const Out made =
      op1("ReverseSequence", 1, {x, lengths}, {{"batch_axis", std::int64_t{0}}, {"seq_axis", std::int64_t{1}}});
  const auto plan = engine::Plan::compile(std::make_shared<Model>(OutputVector{made}, ParameterVector{x, lengths}), {});
  engine::Workers workers(2);
  engine::Execution execution(plan);
  Tensor data = random_tensor(ElementType::kF32, {2, 4, 3}, 1), given(ElementType::kI64, Shape{2}),
         out(ElementType::kF32, Shape{2, 4, 3});
  given.data<std::int64_t>()[0] = 4;
  given.data<std::int64_t>()[1] = 5;
  execution.bind_input(0, data);
  execution.bind_input(1, given);
  execution.bind_output(0, out);
  try {
    execution.run(workers);
    FAIL() << "the length was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find("the length of sequence 1 is 5"), std::string::npos) << error.what();
  }
}

}  // namespace rearrange_test
}  // namespace tenon::engine_test
