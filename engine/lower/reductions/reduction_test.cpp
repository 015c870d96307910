// SPDX-License-Identifier: Apache-2.0
// Reductions of every kind over any axes against the reference kernels.
#include <cmath>

#include <gtest/gtest.h>

#include <tenon/engine/testing/judged_models.hpp>

namespace tenon::engine_test {
namespace reduction_test {

const std::vector<std::vector<std::int64_t>> kAxes{{0},    {1},          {3},       {-1, -2}, {0, 2},
                                                   {1, 3}, {0, 1, 2, 3}, {0, 2, 3}, {2},      {}};

TEST(LowerReduction, EveryKindOverAnyAxes) {
  for (const char* type : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2"}) {
    for (const element::Type element : {element::f32, element::i64, element::i32}) {
      const bool has_kernel =
          element == element::f32 || (std::string(type) != "ReduceMean" && std::string(type) != "ReduceL2");
      for (const auto& axes : kAxes) {
        for (const bool keep : {false, true}) {
          SCOPED_TRACE(std::string(type) + " of " + element.to_string() + " over " + std::to_string(axes.size()));
          const auto x = parameter({2, 3, 5, 7}, element);
          const Judged judged = judge(
              op1(type, std::string(type).find("ReduceL") == 0 ? 4 : 1, {x, ints(axes)}, {{"keep_dims", keep}}), {x});
          EXPECT_TRUE(!has_kernel || judged.references == 0);
        }
      }
    }
  }
}

TEST(LowerReduction, LogicalOnes) {
  for (const char* type : {"ReduceLogicalAnd", "ReduceLogicalOr"}) {
    for (const auto& axes : kAxes) {
      const auto x = parameter({2, 3, 2, 2}, element::boolean);
      EXPECT_EQ(judge(op1(type, 1, {x, ints(axes)}, {{"keep_dims", true}}), {x}).references, 0u);
    }
  }
}

TEST(LowerReduction, LongLinesAndColumnsKeepTheirPrecision) {
  // In f32 such sums, one after the other, are off by more than a hundredth.
  for (const Shape& shape : {Shape{1, 3000000}, Shape{3000000, 1}, Shape{600000, 5}, Shape{3, 1000001}}) {
    const std::size_t axis = shape[0] > shape[1] ? 0 : 1;
    const auto x = parameter(shape);
    const Out shifted = op1("Add", 1, {op1("Multiply", 1, {x, scalar(0.01)}), scalar(1)});
    const auto model = std::make_shared<Model>(
        OutputVector{op1("ReduceSum", 1, {shifted, ints({static_cast<std::int64_t>(axis)})}, {{"keep_dims", false}})},
        ParameterVector{x});
    const auto plan = engine::Plan::compile(model, {});
    EXPECT_EQ(plan->reference_step_count(), 0u);
    engine::Workers workers(2);
    engine::Execution execution(plan);
    const auto inputs = random_inputs(*model);
    const auto wanted = evaluate(*model, inputs);
    Tensor got(wanted[0].element_type(), wanted[0].shape());
    execution.bind_input(0, inputs[0]);
    execution.bind_output(0, got);
    ASSERT_TRUE(execution.run(workers));
    expect_close(wanted[0], got, to_string(shape), 1e-6);
  }
}

TEST(LowerReduction, Cumsums) {
  for (const element::Type element : {element::f32, element::i64, element::i32}) {
    for (const std::int64_t axis : {0, 1, -1}) {
      for (const bool exclusive : {false, true}) {
        const auto x = parameter({3, 50, 70}, element);
        const Attributes attributes{{"exclusive", exclusive}, {"reverse", axis == 1}};
        EXPECT_EQ(judge(op1("CumSum", 3, {x, scalar_int(axis)}, attributes), {x}).references, 0u);
      }
    }
  }
}

TEST(LowerReduction, LengthsOfOne) {
  for (const auto& axes : {std::vector<std::int64_t>{1}, {2, 3}, {1, 2, 3}, {0}, {-1}}) {
    for (const char* mode : {"add", "max"}) {
      const auto x = parameter({2, 20, 5, 7});
      const Attributes attributes{{"eps", 0.01}, {"eps_mode", std::string(mode)}};
      EXPECT_EQ(judge(op1("NormalizeL2", 1, {x, ints(axes)}, attributes), {x}).references, 0u);
    }
  }
}

TEST(LowerReduction, NanIsTheGreatestAndTheLeast) {
  const auto x = parameter({3, 40});
  // The root of negative numbers.
  const Out root = op1("Sqrt", 1, {x});
  for (const char* type : {"ReduceMax", "ReduceMin"})
    for (const std::int64_t axis : {0, 1}) judge(op1(type, 1, {root, ints({axis})}, {{"keep_dims", false}}), {x});
}

}  // namespace reduction_test
}  // namespace tenon::engine_test
