// SPDX-License-Identifier: Apache-2.0
// Groups of rows by matrices of their own: real ones and those of 4 and 8 bits, groups of every size, none and all rows in one.
#include <optional>

#include <tenon/core/error.hpp>
#include <tenon/engine/testing/judged_models.hpp>

namespace tenon::engine_test {
namespace grouped_matmul_test {

using Ints = std::vector<std::int64_t>;

/// Few bits as they are stored; none: real weights.
Out matrices(std::optional<ElementType> type, std::size_t groups, std::size_t columns, std::size_t depth) {
  if (!type) return weights({groups, columns, depth}, 3, 0.1f);
  const Shape stored{groups * columns, depth / 32, 32}, each{groups * columns, depth / 32, 1};
  const auto bytes = [](ElementType of, const Shape& shape, unsigned seed) {
    Tensor tensor(of, shape);
    std::mt19937 random(seed);
    for (std::size_t i = 0; i < tensor.size_bytes(); ++i)
      static_cast<std::uint8_t*>(tensor.data())[i] = static_cast<std::uint8_t>(random());
    return op1("Convert", 1, {std::make_shared<op::v0::Constant>(tensor)}, {{"destination_type", element::f32}});
  };
  Out value = op1("Subtract", 1, {bytes(*type, stored, 11), bytes(*type, each, 12)});
  value = op1("Multiply", 1, {value, weights(each, 13, 0.02f)});
  const Ints shape{static_cast<std::int64_t>(groups), static_cast<std::int64_t>(columns), -1};
  return op1("Reshape", 1, {value, ints(shape)}, {{"special_zero", false}});
}

std::shared_ptr<Model> groups_of(std::size_t rows, const Ints& ends, std::optional<ElementType> type,
                                 bool are_wide = true) {
  const auto x = parameter({rows, 64});
  const Out at = op::v0::Constant::create(are_wide ? element::i64 : element::i32, Shape{ends.size()}, ends);
  const Out y = op1("GroupedMatMul", 17, {x, matrices(type, ends.size(), 24, 64), at});
  return std::make_shared<Model>(OutputVector{op1("Relu", 1, {y})}, ParameterVector{x}, "groups");
}

TEST(GroupedMatMul, AgreesWithTheReference) {
  const std::optional<ElementType> types[] = {std::nullopt, ElementType::kU4, ElementType::kI8};
  for (const auto& type : types) {
    SCOPED_TRACE(type ? std::string(name(*type)) : "reals");
    // Empty groups, rows behind the last group, groups that are large enough for an expanded matrix.
    for (const Ints& ends :
         {Ints{0, 1, 1}, Ints{1, 3, 4}, Ints{0, 0, 100}, Ints{100, 100, 100}, Ints{0, 0, 0}, Ints{2, 40, 97}}) {
      SCOPED_TRACE(ends[2]);
      const Judged judged = judge(groups_of(ends[2] < 10 ? 4 : 100, ends, type, ends[2] != 4));
      EXPECT_EQ(judged.references, 0u);
      if (type) {
        EXPECT_FALSE(judged.ran("Subtract"));
      }
    }
  }
}

TEST(GroupedMatMul, TakesGroupsOfEqualSizes) {
  for (const std::optional<ElementType> type : {std::optional<ElementType>(), std::optional(ElementType::kU4)}) {
    const auto x = parameter({3, 5, 64});
    const Out y = op1("GroupedMatMul", 17, {x, matrices(type, 3, 24, 64)});
    EXPECT_EQ(judge(std::make_shared<Model>(OutputVector{y}, ParameterVector{x}, "groups")).references, 0u);
  }
}

TEST(GroupedMatMul, SaysWhichGroupEndsWrongly) {
  const auto message = [](const Ints& ends) -> std::string {
    const auto model = groups_of(4, ends, std::nullopt);
    const auto plan = engine::Plan::compile(model, {});
    engine::Workers workers(2);
    engine::Execution execution(plan);
    execution.bind_input(0, random_inputs(*model)[0]);
    execution.bind_output(0, Tensor(ElementType::kF32, model->output(0).get_shape()));
    try {
      execution.run(workers);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kInvalidArgument);
      return error.what();
    }
    return "no error";
  };
  EXPECT_NE(message({1, 5, 5}).find("group 1 ends at row 5, expected 1 to 4"), std::string::npos);
  EXPECT_NE(message({3, 2, 4}).find("group 1 ends at row 2, expected 3 to 4"), std::string::npos);
}

}  // namespace grouped_matmul_test
}  // namespace tenon::engine_test
