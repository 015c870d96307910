// SPDX-License-Identifier: Apache-2.0
// Partitions: the values that cross a boundary, and the rest as a model of its own.
#include <tenon/planning/partition.hpp>

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <tenon/graph/model_ops.hpp>

namespace tenon::planning_test {
namespace partition_test {

using op::v0::Constant;
using op::v0::Parameter;
using planning::key_of;

Output<Node> op1(const char* type, const OutputVector& inputs) {
  return make_node(type, 1, inputs, {}, type)->output(0);
}

/// (x * 2 + y) * x, cut behind the sum's left side.
struct Sums {
  std::shared_ptr<Parameter> x = std::make_shared<Parameter>(element::f32, PartialShape{4}),
                             y = std::make_shared<Parameter>(element::f32, PartialShape{4});
  Output<Node> two = Constant::create(element::f32, Shape{}, {2.0})->output(0);
  Output<Node> before = op1("Multiply", {x, two}), sum = op1("Add", {before, y}), product = op1("Multiply", {sum, x});
  NodeVector late{sum.get_node_shared_ptr(), product.get_node_shared_ptr()};
};

TEST(Partition, ValuesThatCrossAreNamedOnceInTheOrderOfTheirReaders) {
  const Sums sums;
  const auto values =
      planning::crossing_values(sums.late, [&](const Node&, const Output<Node>& source) { return source != sums.sum; });
  EXPECT_EQ(values, (OutputVector{sums.before, sums.y->output(0), sums.x->output(0)}));
}

TEST(Partition, TheRestReadsParametersInsteadOfValuesThatAreMadeBefore) {
  const Sums sums;
  int asked = 0;
  const auto rest = planning::take_remainder(sums.late, {sums.product}, "rest", [&](const Output<Node>& value) {
    ++asked;
    // The value of y is known.
    if (value == sums.y->output(0)) return Constant::create(element::f32, Shape{4}, {1.0, 1.0, 1.0, 1.0})->output(0);
    return planning::parameter_for(value, value.get_node()->get_friendly_name() + " before")->output(0);
  });
  EXPECT_EQ(asked, 3);
  ASSERT_EQ(rest.inputs.size(), 2U);
  EXPECT_EQ(rest.inputs[0], key_of(sums.before));
  EXPECT_EQ(rest.inputs[1], key_of(sums.x->output(0)));
  EXPECT_EQ(rest.model->get_friendly_name(), "rest");
  ASSERT_EQ(rest.model->get_parameters().size(), 2U);
  EXPECT_EQ(rest.model->get_parameters()[0]->get_friendly_name(),
            sums.before.get_node()->get_friendly_name() + " before");
  EXPECT_EQ(rest.model->get_parameters()[0]->get_partial_shape(), PartialShape{4});
  const auto nodes = rest.model->get_ordered_ops();
  for (const auto& node : nodes) EXPECT_NE(node, sums.x) << "nothing of the part before";
  EXPECT_EQ(sums.before.get_target_inputs().size(), 0U);
}

}  // namespace partition_test
}  // namespace tenon::planning_test
