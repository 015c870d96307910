// SPDX-License-Identifier: Apache-2.0
// A copy that gets other shapes: which nodes shape inference asks.
#include <tenon/planning/shaped_copy.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <tenon/core/error.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon::planning_test {
namespace shaped_copy_test {

std::shared_ptr<op::v0::Parameter> open(const PartialShape& shape) {
  return std::make_shared<op::v0::Parameter>(element::f32, shape);
}

TEST(ShapedCopy, AsksOnlyWhatOtherShapesReach) {
  const auto x = open({-1, 4}), y = open({-1, 4});
  const auto left = make_node("Relu", 1, {x}, {}), right = make_node("Relu", 1, {y}, {});
  const auto joined = make_node("Concat", 1, {left, right}, {{"axis", std::int64_t{0}}});
  planning::ShapedCopy copy(Model(OutputVector{joined, left}, ParameterVector{x, y}, "two"));
  EXPECT_FALSE(copy.is_closed());
  std::vector<bool> changed(copy.order().size());
  copy.give(std::vector<planning::InputShape>{{element::f32, {2, 4}}, {element::f32, {3, 4}}}, changed);
  EXPECT_TRUE(copy.is_closed());
  EXPECT_EQ(copy.model()->get_results()[0]->get_output_shape(0), (Shape{5, 4}));
  changed.assign(changed.size(), false);
  const std::size_t asked =
      copy.give(std::vector<planning::InputShape>{{element::f32, {2, 4}}, {element::f32, {7, 4}}}, changed);
  EXPECT_EQ(asked, 4u) << "an input, what reads it, the join and its result";
  for (std::size_t i = 0; i < changed.size(); ++i) {
    const std::string_view type = copy.order()[i]->get_type_name();
    if (type == "Concat") {
      EXPECT_TRUE(changed[i]);
    }
  }
  EXPECT_EQ(copy.model()->get_results()[0]->get_output_shape(0), (Shape{9, 4}));
  EXPECT_EQ(copy.give(std::vector<planning::InputShape>{{element::f32, {2, 4}}, {element::f32, {7, 4}}}, changed), 0u);
}

TEST(ShapedCopy, ShapesThatDoNotFitNameTheNode) {
  const auto x = open({-1, -1}), y = open({-1, -1});
  const auto joined = make_node("Concat", 1, {x, y}, {{"axis", std::int64_t{0}}}, "join");
  planning::ShapedCopy copy(Model(OutputVector{joined}, ParameterVector{x, y}, "two"));
  std::vector<bool> changed(copy.order().size());
  const auto error = error_of([&] {
    copy.give(std::vector<planning::InputShape>{{element::f32, {2, 4}}, {element::f32, {3, 5}}}, changed);
  });
  EXPECT_NE(std::string(error.what()).find("join"), std::string::npos) << error.what();
}

}  // namespace shaped_copy_test
}  // namespace tenon::planning_test
