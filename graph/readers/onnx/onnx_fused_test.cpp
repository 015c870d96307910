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

/// Constants of a type and shape.
std::size_t constants_of(const Model& model, ElementType type, const Shape& shape) {
  std::size_t count = 0;
  for (const auto& node : model.get_ordered_ops())
    count += is_op(node, "Constant") && node->get_element_type() == type && node->get_shape() == shape;
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
  node.mutable_attribute(3)->set_i(INT64_MAX);
  EXPECT_THAT(b.error().what(), HasSubstr("at most"));
}

TEST(OnnxFused, WeightsOfTwoBitsBecomeFourBits) {
  Builder b;
  b.input("a", {1, 16}).output("y");
  b.initializer("b", {2, 1, 4}, schema::TensorProto::UINT8).set_raw_data(std::string(8, '\xe4'));  // 0, 1, 2, 3
  auto& scales = b.initializer("s", {2, 1});
  for (int i = 0; i < 2; ++i) scales.add_float_data(1);
  auto& node = microsoft(b, "MatMulNBits", {"a", "b", "s"});
  set(node, "K", 16), set(node, "N", 2), set(node, "bits", 2), set(node, "block_size", 16);
  const auto model = b.read();
  EXPECT_EQ(constants_of(*model, ElementType::kU4, {2, 1, 16}), 1u);
  EXPECT_EQ(values_of(evaluate(*model, {floats(std::vector<float>(16, 1), {1, 16})})[0]), std::vector<float>(2, -8));
}

TEST(OnnxFused, GroupsOfAnyRowsStayPackedIfTheyAreEquallyLarge) {
  const auto grouped = [](std::vector<std::int32_t> groups) {
    Builder b;
    b.input("a", {1, 32}).output("y");
    b.initializer("b", {1, 2, 8}, schema::TensorProto::UINT8).set_raw_data(std::string(16, '\x99'));
    auto& scales = b.initializer("s", {1, 2});
    scales.add_float_data(1), scales.add_float_data(10);
    auto& indices = b.initializer("g", {static_cast<std::int64_t>(groups.size())}, schema::TensorProto::INT32);
    for (const auto group : groups) indices.add_int32_data(group);
    auto& node = microsoft(b, "MatMulNBits", {"a", "b", "s", "", "g"});
    set(node, "K", 32), set(node, "N", 1), set(node, "bits", 4), set(node, "block_size", 16);
    return b;
  };
  std::vector<std::int32_t> groups;
  for (int i = 0; i < 32; ++i) groups.push_back(1 - i % 2);
  const Tensor a = floats(std::vector<float>(32, 1), {1, 32});
  auto model = grouped(groups).read();
  EXPECT_EQ(constants_of(*model, ElementType::kU4, {1, 2, 16}), 1u);
  EXPECT_EQ(values_of(evaluate(*model, {a})[0]), (std::vector<float>{16 * 1 + 16 * 10}));
  groups[0] = 0;  // 17 of one group, 15 of the other.
  EXPECT_EQ(values_of(evaluate(*grouped(groups).read(), {a})[0]), (std::vector<float>{17 * 1 + 15 * 10}));
  groups[0] = 2;
  EXPECT_THAT(grouped(groups).error().what(), AllOf(HasSubstr("layer"), HasSubstr("g_idx"), HasSubstr("group 2")));
  groups.pop_back();
  EXPECT_THAT(grouped(groups).error().what(), AllOf(HasSubstr("g_idx"), HasSubstr("31 values")));
}

TEST(OnnxFused, CodesOfBitsandbytesStayPackedAndAreChecked) {
  const auto product = [](std::int64_t kind, std::int64_t bytes, std::int64_t scales) {
    Builder b;
    b.input("a", {1, 32}).output("y");
    auto& codes = b.initializer("b", {bytes}, schema::TensorProto::UINT8);
    codes.set_raw_data(std::string(static_cast<std::size_t>(bytes), '\x3f'));
    auto& most = b.initializer("m", {scales});
    for (std::int64_t i = 0; i < scales; ++i) most.add_float_data(2);
    auto& node = microsoft(b, "MatMulBnb4", {"a", "b", "m"});
    set(node, "K", 32), set(node, "N", 2), set(node, "block_size", 16), set(node, "quant_type", kind);
    return b;
  };
  std::vector<float> first(32, 0);
  first[0] = 1;
  const auto model = product(1, 32, 4).read();
  EXPECT_EQ(constants_of(*model, ElementType::kNf4, {2, 2, 16}), 1u);
  // Code 3, the high half, comes first: -0.3949175 of nf4 and 1 of fp4.
  EXPECT_NEAR(values_of(evaluate(*model, {floats(first, {1, 32})})[0])[0], 2 * -0.3949175, 1e-6);
  EXPECT_EQ(values_of(evaluate(*product(0, 32, 4).read(), {floats(first, {1, 32})})[0]), std::vector<float>(2, 2));
  EXPECT_THAT(product(2, 32, 4).error().what(), AllOf(HasSubstr("layer"), HasSubstr("quant_type is 2")));
  EXPECT_THAT(product(1, 31, 4).error().what(), AllOf(HasSubstr("input 1"), HasSubstr("31 bytes")));
  EXPECT_THAT(product(1, 32, 3).error().what(), AllOf(HasSubstr("absmax"), HasSubstr("4 blocks")));
}

TEST(OnnxFused, ExpertsAreCheckedAndQuantisedOnesStayPacked) {
  const auto mixture = [](std::int64_t k, std::int64_t fusion, std::int64_t block, const char* activation) {
    Builder b;
    b.input("x", {3, 16}).input("r", {3, 2}).output("y");
    b.initializer("w", {2, 32, 8}, schema::TensorProto::UINT8).set_raw_data(std::string(512, '\x99'));
    b.initializer("v", {2, 16, 16}, schema::TensorProto::UINT8).set_raw_data(std::string(512, '\x99'));
    auto& first = b.initializer("s", {2, 32});
    for (int i = 0; i < 64; ++i) first.add_float_data(1);
    auto& second = b.initializer("t", {2, 16});
    for (int i = 0; i < 32; ++i) second.add_float_data(1);
    auto& node = microsoft(b, "QMoE", {"x", "r", "w", "s", "", "v", "t"});
    set(node, "k", k), set(node, "swiglu_fusion", fusion), set(node, "block_size", block);
    auto& text = *node.add_attribute();
    text.set_name("activation_type");
    text.set_type(schema::AttributeProto::STRING);
    text.set_s(activation);
    return b;
  };
  const auto model = mixture(1, 0, 0, "relu").read();
  // Both layers as they are stored, each multiplied by the rows of the chosen experts.
  EXPECT_EQ(constants_of(*model, ElementType::kU4, {64, 1, 16}), 1u);
  EXPECT_EQ(constants_of(*model, ElementType::kU4, {32, 1, 32}), 1u);
  EXPECT_EQ(count_of(*model, "GroupedMatMul"), 2u);
  const std::vector<Tensor> inputs = {floats(std::vector<float>(48, 1), {3, 16}), floats({9, 0, 0, 9, 9, 9}, {3, 2})};
  // Each weight is 9 - 8; the expert's share is its softmax, 0.5 for the last row.
  EXPECT_NEAR(values_of(evaluate(*model, inputs)[0])[0], 16 * 32, 0.1);
  EXPECT_NEAR(values_of(evaluate(*model, inputs)[0])[47], 16 * 16, 0.1);
  EXPECT_THAT(mixture(3, 0, 0, "relu").error().what(), AllOf(HasSubstr("layer"), HasSubstr("k is 3"), HasSubstr("2")));
  EXPECT_THAT(mixture(1, 0, 0, "swiglu").error().what(), HasSubstr("swiglu_fusion 1 or 2"));
  EXPECT_THAT(mixture(1, 0, 24, "relu").error().what(), HasSubstr("block_size 24"));
  Builder three = mixture(1, 0, 0, "relu");
  set(*three.model.mutable_graph()->mutable_node(0), "expert_weight_bits", 3);
  EXPECT_THAT(three.error().what(), AllOf(HasSubstr("3 bits"), HasSubstr("2, 4 and 8")));
  EXPECT_THAT(mixture(1, 0, 0, "sine").error().what(), HasSubstr("\"sine\""));
  Builder other = mixture(1, 0, 0, "relu");
  auto& router = *other.model.mutable_graph()->mutable_input(1)->mutable_type()->mutable_tensor_type()->mutable_shape();
  router.mutable_dim(0)->set_dim_value(4);
  EXPECT_THAT(other.error().what(), AllOf(HasSubstr("[4,2]"), HasSubstr("expected [3,2]")));
}

TEST(OnnxFused, LayersWithStatesSayWhatDoesNotFit) {
  const auto linear = [](const char* rule, std::vector<std::string> in) {
    Builder b(27);
    b.input("q", {1, -1, 16}).input("k", {1, -1, 8}).input("v", {1, -1, 4}).input("d", {1, -1, 3}).output("y");
    auto& node = b.node("LinearAttention", in, {"y", "s"}, "layer");
    set(node, "q_num_heads", 4), set(node, "kv_num_heads", 2);
    auto& text = *node.add_attribute();
    text.set_name("update_rule");
    text.set_type(schema::AttributeProto::STRING);
    text.set_s(rule);
    return b;
  };
  EXPECT_EQ(count_of(*linear("linear", {"q", "k", "v"}).read(), "TensorIterator"), 1u);
  EXPECT_THAT(linear("linear", {"q", "k", "v", "", "d"}).error().what(),
              AllOf(HasSubstr("layer"), HasSubstr("no decay")));
  EXPECT_THAT(linear("gated", {"q", "k", "v"}).error().what(), HasSubstr("a decay"));
  EXPECT_THAT(linear("gated", {"q", "k", "v", "", "d"}).error().what(), HasSubstr("width 3"));
  EXPECT_THAT(linear("linear", {"q", "q", "v"}).error().what(), AllOf(HasSubstr("width 16"), HasSubstr("8")));
  EXPECT_THAT(linear("other", {"q", "k", "v"}).error().what(), HasSubstr("\"other\""));
  Builder b(27);
  b.input("x", {1, 4, -1}).input("w", {4, 1, -1}).output("y");
  b.node("CausalConvWithState", {"x", "w"}, {"y", "s"}, "layer");
  EXPECT_THAT(b.error().what(), AllOf(HasSubstr("layer"), HasSubstr("[4,1,?]"), HasSubstr("kernel")));
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
