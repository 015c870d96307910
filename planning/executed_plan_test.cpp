// SPDX-License-Identifier: Apache-2.0
// Values of executed plans, found by the bytes where they lie.
#include <tenon/planning/executed_plan.hpp>

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tenon/graph/executed_model.hpp>
#include <tenon/graph/model_ops.hpp>

namespace tenon::planning_test {
namespace executed_plan_test {

using exec_model_info::ExecutedModel;
using planning::ByteRange;
using planning::ExecutedPlan;
using planning::packed_output;

class Values : public ::testing::Test {
 protected:
  Output<Node> step(const char* name) {
    return model.add_step({"Add", name, "kernel"}, {}, {packed_output(ElementType::kF32, PartialShape{4})})->output(0);
  }
  OutputVector sources(const ByteRange& wanted, bool are_all) {
    OutputVector found;
    EXPECT_EQ(plan.add_sources(found, 0, wanted), are_all);
    return found;
  }
  ExecutedModel model;
  ExecutedPlan plan{model, 1};
};

TEST_F(Values, ABytesValueIsTheOneThatWasWrittenLast) {
  const auto a = step("a"), b = step("b"), c = step("c");
  EXPECT_EQ(sources({0, 32}, false), OutputVector{});
  plan.write(0, {0, 16}, a);
  plan.write(0, {16, 32}, b);
  EXPECT_EQ(sources({0, 32}, true), (OutputVector{a, b}));
  EXPECT_EQ(sources({16, 20}, true), OutputVector{b});
  EXPECT_EQ(sources({16, 40}, false), OutputVector{b});
  plan.write(0, {8, 32}, c);
  EXPECT_EQ(sources({0, 32}, true), (OutputVector{a, c})) << "b is hidden";
}

TEST_F(Values, WritesWithGapsHideNothing) {
  const auto a = step("a"), b = step("b");
  plan.write(0, {0, 32}, a);
  plan.write(0, {0, 32}, b, false);
  EXPECT_EQ(sources({0, 32}, true), (OutputVector{a, b}));
}

TEST_F(Values, AResultIsAConstantAValueOrAJoin) {
  const auto a = step("a"), b = step("b");
  const auto as = packed_output(ElementType::kF32, PartialShape{8});
  EXPECT_EQ(plan.result({a}, "Concat", "joined", "y", as), a);
  EXPECT_EQ(plan.result({}, "Concat", "joined", "y", as).get_node()->get_friendly_name(), "y");
  const auto joined = plan.result({a, b}, "Concat", "joined", "y", as);
  EXPECT_EQ(joined.get_node()->get_friendly_name(), "joined");
  EXPECT_EQ(joined.get_node()->input_values(), (OutputVector{a, b}));
  const auto state = plan.state(3, "cache", ElementType::kF32, Shape{2});
  EXPECT_EQ(plan.state(3, "cache", ElementType::kF32, Shape{2}), state) << "one node for each variable";
}

TEST(ExecutedPlan, AxesFollowEachOtherByTheirStrides) {
  EXPECT_EQ(planning::axes_by_stride(std::vector<std::size_t>{12, 1, 4}), (std::vector<std::size_t>{0, 2, 1}));
  EXPECT_EQ(planning::axes_by_stride(std::vector<std::size_t>{1, 1}), (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(packed_output(ElementType::kF32, PartialShape::dynamic()).layout, "undef");
}

}  // namespace executed_plan_test
}  // namespace tenon::planning_test
