// SPDX-License-Identifier: Apache-2.0
// Notes about removed nodes of a given model.
#include <tenon/graph/passes/original_names.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tenon/graph/passes/pass.hpp>
#include <tenon/graph/readers/openvino_ir/ir_reader.hpp>
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>

namespace tenon {
namespace original_names_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Output<Node> made(const char* type, const OutputVector& inputs, const std::string& name,
                  const Attributes& attributes = {}) {
  return make_node(type, 8, inputs, attributes, name)->output(0);
}
Output<Node> number(double value) { return op::v0::Constant::create(element::f32, Shape{}, {value}); }

std::shared_ptr<Node> find(const Model& model, const std::string& name) {
  for (const auto& node : model.get_ordered_ops())
    if (node->get_friendly_name() == name) return node;
  return nullptr;
}

std::vector<std::string> names(const Model& model, const std::string& name) {
  std::vector<std::string> all;
  for (const auto& original : pass::original_nodes(*find(model, name)))
    all.push_back((original.is_folded ? "folded " : "") + original.type + " " + original.name);
  return all;
}

/// Swish in two nodes, with a name that a list could tear apart, and a factor that is known.
std::shared_ptr<Model> given_model() {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{2, 3});
  x->set_friendly_name("x");
  const auto gate = made("Sigmoid", {x}, "gate, <of> x");
  const auto swish = made("Multiply", {x, gate}, "swish");
  const auto factor = made("Exp", {number(2)}, "factor");
  const auto scaled = made("Multiply", {swish, factor}, "scaled");
  return std::make_shared<Model>(OutputVector{made("Relu", {scaled}, "end")}, ParameterVector{x}, "given");
}

TEST(OriginalNames, FollowPassesAndFiles) {
  const auto given = given_model(), changed = given->clone();
  pass::common_passes().run(changed);
  pass::note_original_nodes(*given, *changed);
  EXPECT_THAT(names(*changed, "swish"), ElementsAre("Sigmoid gate, <of> x"));
  EXPECT_THAT(names(*changed, "scaled"), ElementsAre("folded Exp factor"));
  EXPECT_THAT(names(*changed, "end"), IsEmpty());
  const SerializedModel file = serialize(*changed);
  const auto read = read_ir(file.xml, file.weights);
  EXPECT_THAT(names(*read, "swish"), ElementsAre("Sigmoid gate, <of> x"));
  EXPECT_THAT(names(*read, "scaled"), ElementsAre("folded Exp factor"));
}

TEST(OriginalNames, AreFdOwnership) {
  const auto given = given_model(), first = given->clone();
  pass::Manager().add(pass::fuse_swish()).run(first);
  pass::note_original_nodes(*given, *first);
  // Another change takes the node that had a note away.
  const auto second = first->clone();
  find(*second, "scaled")->set_argument(0, find(*second, "x")->output(0));
  pass::note_original_nodes(*first, *second);
  EXPECT_THAT(names(*second, "scaled"), ElementsAre("Sigmoid gate, <of> x", "Swish swish"));
}

TEST(OriginalNames, TellNodesThatAPassMade) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f16, PartialShape{2, 3});
  const auto given = std::make_shared<Model>(OutputVector{made("Relu", {x}, "relu")}, ParameterVector{x}, "narrow");
  const auto changed = given->clone();
  ASSERT_TRUE(pass::Manager().add(pass::widen_reals()).run(changed));
  pass::note_original_nodes(*given, *changed);
  std::size_t conversions = 0;
  for (const auto& node : changed->get_ordered_ops()) {
    conversions += is_op(node, "Convert");
    EXPECT_EQ(pass::is_made_by_pass(*node), is_op(node, "Convert") && node->get_friendly_name() != "relu")
        << node->describe();
  }
  EXPECT_GT(conversions, 0u);
}

TEST(OriginalNames, OfWhatIsLeftOfNothingGoToTheResult) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{2});
  const auto given = std::make_shared<Model>(OutputVector{made("Exp", {number(1)}, "known"), x->output(0)},
                                             ParameterVector{x}, "known");
  given->get_results()[0]->set_friendly_name("result");
  const auto changed = given->clone();
  ASSERT_TRUE(pass::common_passes().run(changed));
  pass::note_original_nodes(*given, *changed);
  EXPECT_THAT(names(*changed, "result"), ElementsAre("folded Exp known"));
}

}  // namespace original_names_test
}  // namespace tenon
