// SPDX-License-Identifier: Apache-2.0
// Attention, weights of few bits and ONNX Runtime's own operations: the form they are read into, and refusals.
// Their values are compared with ONNX Runtime's in tests/oracle/onnx_cases.py.
#include <tenon/graph/readers/onnx/testing/onnx.hpp>

#include <gmock/gmock.h>

#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/model.hpp>

namespace tenon::onnx_test {
namespace onnx_fused_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

void set(schema::NodeProto& node, const char* name, std::int64_t value) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(schema::AttributeProto::INT);
  attribute.set_i(value);
}

schema::NodeProto& microsoft(Builder& b, const char* type, const std::vector<std::string>& in) {
  auto& node = b.node(type, in, {"y"}, "layer");
  node.set_domain("com.microsoft");
  auto& opset = *b.model.add_opset_import();
  opset.set_domain("com.microsoft");
  opset.set_version(1);
  return node;
}

std::size_t count_of(const Model& model, const char* type) {
  std::size_t count = 0;
  for (const auto& node : model.get_ordered_ops()) count += is_op(node, type);
  return count;
}

TEST(OnnxFused, AttentionBecomesOneNodeUnlessItsScoresAreWanted) {
  for (const bool shows_scores : {false, true}) {
    Builder b(23);
    b.input("q", {1, 4, 3, 8}).input("k", {1, 2, -1, 8}).input("v", {1, 2, -1, 8}).output("y");
    if (shows_scores) b.output("s");
    b.node("Attention", {"q", "k", "v"},
           shows_scores ? std::vector<std::string>{"y", "", "", "s"} : std::vector<std::string>{"y"});
    EXPECT_EQ(count_of(*b.read(), "ScaledDotProductAttention"), shows_scores ? 0u : 1u);
  }
}

TEST(OnnxFused, HeadsThatDoNotDivideAreRefused) {
  Builder b(23);
  b.input("q", {1, 3, 30}).input("k", {1, 3, 30}).input("v", {1, 3, 30}).output("y");
  auto& node = b.node("Attention", {"q", "k", "v"}, {"y"}, "layer");
  set(node, "q_num_heads", 4), set(node, "kv_num_heads", 4);
  EXPECT_THAT(b.error().what(), AllOf(HasSubstr("layer"), HasSubstr("30"), HasSubstr("4 heads")));
  node.mutable_attribute(0)->set_i(0);
  EXPECT_THAT(b.error().what(), HasSubstr("q_num_heads"));
  Builder groups(23);
  groups.input("q", {1, 4, 3, 8}).input("k", {1, 3, 5, 8}).input("v", {1, 3, 5, 8}).output("y");
  groups.node("Attention", {"q", "k", "v"}, {"y"}, "layer");
  EXPECT_THAT(groups.error().what(), AllOf(HasSubstr("4 heads"), HasSubstr("multiple of its 3")));
  Builder half(23);
  half.input("q", {1, 4, 3, 8}).input("k", {1, 4, 5, 8}).input("v", {1, 4, 5, 8}).input("p", {1, 4, 2, 8}).output("y");
  half.node("Attention", {"q", "k", "v", "", "p"}, {"y"}, "layer");
  EXPECT_THAT(half.error().what(), HasSubstr("past_key and past_value"));
}

TEST(OnnxFused, QuantisedCachesAreAFormThatIsNotReadYet) {
  Builder b;
  b.input("q", {1, 1, 32})
      .input("k", {1, 1, 32})
      .input("v", {1, 1, 32})
      .input("pk", {1, 4, 3, 8})
      .input("pv", {1, 4, 3, 8});
  b.input("l", {1}, schema::TensorProto::INT32).input("t", {}, schema::TensorProto::INT32).output("y");
  auto& node = microsoft(b, "GroupQueryAttention", {"q", "k", "v", "pk", "pv", "l", "t"});
  set(node, "num_heads", 4), set(node, "kv_num_heads", 4);
  EXPECT_EQ(count_of(*b.read(), "ScaledDotProductAttention"), 1u);
  auto& kind = *node.add_attribute();
  kind.set_name("k_quant_type");
  kind.set_type(schema::AttributeProto::STRING);
  kind.set_s("PER_TENSOR");
  const Error error = b.error();
  EXPECT_EQ(error.code(), Code::kUnimplemented);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("layer"), HasSubstr("PER_TENSOR"), Not(HasSubstr("supported"))));
}

TEST(OnnxFused, WeightsOfWeightOnlyStayPackedAndAreChecked) {
  Builder b;
  b.input("a", {2, 32}).output("y");
  auto& packed = b.initializer("b", {3, 2, 8}, schema::TensorProto::UINT8);
  packed.set_raw_data(std::string(48, '\x53'));
  auto& scales = b.initializer("s", {3, 2});
  for (int i = 0; i < 6; ++i) scales.add_float_data(0.5f);
  auto& node = microsoft(b, "MatMulNBits", {"a", "b", "s"});
  set(node, "K", 32), set(node, "N", 3), set(node, "bits", 4), set(node, "block_size", 16);
  const auto model = b.read();
  std::size_t bytes = 0;
  for (const auto& each : model->get_ordered_ops()) {
    if (is_op(each, "Constant") && each->get_element_type() == ElementType::kU4 && each->get_shape().size() == 3 &&
        each->get_shape()[0] == 3)
      bytes += 48;
  }
  EXPECT_EQ(bytes, 48u) << "the weights are a constant of u4";
  // 3 and 5 in turn, less the zero point of 8, by half.
  const auto y = values_of(evaluate(*model, {floats(std::vector<float>(64, 1), {2, 32})})[0]);
  EXPECT_EQ(y, std::vector<float>(6, 16 * 0.5f * (-5 - 3)));
  node.mutable_attribute(3)->set_i(32);
  EXPECT_THAT(b.error().what(), AllOf(HasSubstr("layer"), HasSubstr("input 2")));
  node.mutable_attribute(1)->set_i(4);
  EXPECT_THAT(b.error().what(), AllOf(HasSubstr("layer"), HasSubstr("48 bytes"), HasSubstr("[4,1,32]")));
  node.mutable_attribute(2)->set_i(3);
  EXPECT_THAT(b.error().what(), AllOf(HasSubstr("bits is 3"), Not(HasSubstr("supported"))));
  node.mutable_attribute(2)->set_i(4);
  node.mutable_attribute(3)->set_i(0);
  EXPECT_THAT(b.error().what(), HasSubstr("block_size 0"));
}

TEST(OnnxFused, ActivationsThatNobodyKnowsAreNamed) {
  Builder b;
  b.input("a", {2, 3}).input("c", {3, 4}).output("y");
  auto& activation = *microsoft(b, "FusedGemm", {"a", "c"}).add_attribute();
  activation.set_name("activation");
  activation.set_type(schema::AttributeProto::STRING);
  activation.set_s("Sine");
  EXPECT_THAT(b.error().what(), AllOf(HasSubstr("layer"), HasSubstr("\"Sine\""), Not(HasSubstr("supported"))));
}

}  // namespace onnx_fused_test
}  // namespace tenon::onnx_test
