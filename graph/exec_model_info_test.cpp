// SPDX-License-Identifier: Apache-2.0
// Nodes of executed models keep their values, also in copies and files.
#include <tenon/graph/exec_model_info.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tenon/core/error.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>

namespace tenon {
namespace exec_model_info_test {

using exec_model_info::ExecutionNode;
using ::testing::HasSubstr;

std::shared_ptr<Model> executed_model() {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 3});
  x->set_friendly_name("x");
  const auto step = std::make_shared<ExecutionNode>(OutputVector{x}, 2);
  step->set_friendly_name("stem");
  step->set_output_type(0, element::bf16, PartialShape{1, 8});
  step->set_output_type(1, element::u8, PartialShape{4});
  step->get_rt_info()[exec_model_info::LAYER_TYPE] = Any(std::string("Convolution"));
  step->get_rt_info()[exec_model_info::OUTPUT_LAYOUTS] = Any(std::string("ab,a"));
  return std::make_shared<Model>(OutputVector{step->output(0)}, ParameterVector{x}, "executed");
}

TEST(ExecutionNode, KeepsWhatWasSet) {
  const auto model = executed_model();
  model->validate_nodes_and_infer_types();
  for (const auto& one : {model, model->clone()}) {
    const auto step = one->get_results()[0]->get_input_node_shared_ptr(0);
    ASSERT_TRUE(is_type<ExecutionNode>(step));
    EXPECT_EQ(step->get_friendly_name(), "stem");
    ASSERT_EQ(step->get_output_size(), 2u);
    EXPECT_EQ(step->get_output_element_type(0), element::bf16);
    EXPECT_EQ(step->get_output_partial_shape(1), PartialShape{4});
    EXPECT_EQ(step->get_rt_info().at(exec_model_info::OUTPUT_LAYOUTS).to_text(), "ab,a");
  }
}

TEST(ExecutionNode, IsInNoOperationSet) { EXPECT_THROW(make_node("ExecutionNode", 0, {}), Error); }

TEST(ExecutionNode, IsWrittenAsTheStepThatItIs) {
  const std::string xml = serialize(*executed_model()).xml;
  EXPECT_THAT(xml, HasSubstr("name=\"stem\" type=\"Convolution\""));
  EXPECT_THAT(xml, HasSubstr("outputLayouts=\"ab,a\""));
  EXPECT_THAT(xml, HasSubstr("type=\"Parameter\""));
}

}  // namespace exec_model_info_test
}  // namespace tenon
