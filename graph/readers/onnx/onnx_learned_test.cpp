// SPDX-License-Identifier: Apache-2.0
// Strings and ai.onnx.ml: what is refused, and how. Values are compared with ONNX Runtime's in tests/oracle/onnx_learned_cases.py.
#include <tenon/graph/readers/onnx/testing/onnx.hpp>

#include <gmock/gmock.h>

#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/precise.hpp>
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>

namespace tenon::onnx_test {
namespace onnx_learned_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

schema::AttributeProto& attribute(schema::NodeProto& node, const char* name,
                                  schema::AttributeProto::AttributeType type) {
  for (auto& known : *node.mutable_attribute())
    if (known.name() == name) {
      known.Clear();
      known.set_name(name);
      known.set_type(type);
      return known;
    }
  auto& made = *node.add_attribute();
  made.set_name(name);
  made.set_type(type);
  return made;
}
void set(schema::NodeProto& node, const char* name, const std::vector<std::int64_t>& values) {
  auto& list = attribute(node, name, schema::AttributeProto::INTS);
  for (const auto value : values) list.add_ints(value);
}
void set(schema::NodeProto& node, const char* name, const std::vector<float>& values) {
  auto& list = attribute(node, name, schema::AttributeProto::FLOATS);
  for (const auto value : values) list.add_floats(value);
}
void set(schema::NodeProto& node, const char* name, const std::vector<std::string>& values) {
  auto& list = attribute(node, name, schema::AttributeProto::STRINGS);
  for (const auto& value : values) list.add_strings(value);
}
void set(schema::NodeProto& node, const char* name, const char* value) {
  attribute(node, name, schema::AttributeProto::STRING).set_s(value);
}
void set(schema::NodeProto& node, const char* name, std::int64_t value) {
  attribute(node, name, schema::AttributeProto::INT).set_i(value);
}

schema::NodeProto& learned(Builder& b, const char* type, const std::vector<std::string>& out = {"y"}) {
  auto& node = b.node(type, {"x"}, out, "layer");
  node.set_domain("ai.onnx.ml");
  auto& opset = *b.model.add_opset_import();
  opset.set_domain("ai.onnx.ml");
  opset.set_version(3);
  return node;
}

Tensor words(const std::vector<std::string>& values, const Shape& shape) {
  Tensor tensor(element::string, shape);
  std::copy(values.begin(), values.end(), tensor.data<std::string>());
  return tensor;
}
std::vector<std::string> words_of(const Tensor& tensor) {
  return {tensor.data<std::string>(), tensor.data<std::string>() + tensor.element_count()};
}

std::string run_error(const Builder& b, const Tensor& x) {
  const auto model = b.read();
  try {
    evaluate(*model, {x});
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

/// One tree: x[0] <= 0.5, then 1, else 2.
schema::NodeProto& stump(Builder& b) {
  b.input("x", {-1, 2}).output("y");
  auto& node = learned(b, "TreeEnsembleRegressor");
  for (const char* name : {"nodes_treeids", "target_ids", "target_treeids"})
    set(node, name, std::vector<std::int64_t>(name[0] == 'n' ? 3 : 2, 0));
  set(node, "nodes_nodeids", std::vector<std::int64_t>{0, 1, 2});
  set(node, "nodes_featureids", std::vector<std::int64_t>{0, 0, 0});
  set(node, "nodes_modes", std::vector<std::string>{"BRANCH_LEQ", "LEAF", "LEAF"});
  set(node, "nodes_values", std::vector<float>{0.5f, 0, 0});
  set(node, "nodes_truenodeids", std::vector<std::int64_t>{1, 0, 0});
  set(node, "nodes_falsenodeids", std::vector<std::int64_t>{2, 0, 0});
  set(node, "target_nodeids", std::vector<std::int64_t>{1, 2});
  set(node, "target_weights", std::vector<float>{1, 2});
  return node;
}

TEST(OnnxTrees, WalkFromTheRootToALeaf) {
  Builder b;
  stump(b);
  EXPECT_THAT(values_of(evaluate(*b.read(), {floats({0.5f, 9, 0.6f, 9}, {2, 2})}).at(0)), ElementsAre(1, 2));
}

TEST(OnnxTrees, ThatAreDamagedAreRefused) {
  const auto broken = [](const auto& change) {
    Builder b;
    change(stump(b));
    return std::string(b.error().what());
  };
  EXPECT_THAT(broken([](auto& node) {
                set(node, "nodes_truenodeids", std::vector<std::int64_t>{7, 0, 0});
              }),
              AllOf(HasSubstr("'layer'"), HasSubstr("leads to node 7")));
  EXPECT_THAT(broken([](auto& node) {
                set(node, "nodes_modes", std::vector<std::string>{"BRANCH_LIKE", "LEAF", "LEAF"});
              }),
              AllOf(HasSubstr("BRANCH_LIKE"), HasSubstr("BRANCH_LEQ")));
  EXPECT_THAT(broken([](auto& node) { set(node, "nodes_values", std::vector<float>{1}); }),
              AllOf(HasSubstr("nodes_values has 1"), HasSubstr("expected 3")));
  EXPECT_THAT(broken([](auto& node) {
                set(node, "nodes_nodeids", std::vector<std::int64_t>{0, 1, 1});
              }),
              HasSubstr("two nodes 1"));
  EXPECT_THAT(broken([](auto& node) {
                set(node, "target_ids", std::vector<std::int64_t>{0, 3});
              }),
              HasSubstr("votes for 3"));
  EXPECT_THAT(broken([](auto& node) {
                set(node, "target_nodeids", std::vector<std::int64_t>{1, 9});
              }),
              HasSubstr("node 9"));
  EXPECT_THAT(broken([](auto& node) { set(node, "aggregate_function", "MEDIAN"); }),
              AllOf(HasSubstr("MEDIAN"), HasSubstr("AVERAGE")));
  EXPECT_THAT(broken([](auto& node) {
                set(node, "base_values", std::vector<float>{1, 2});
              }),
              HasSubstr("base_values has 2"));
  Builder circle, wide;
  set(stump(circle), "nodes_truenodeids", std::vector<std::int64_t>{0, 0, 0});
  EXPECT_THAT(run_error(circle, floats({0, 0}, {1, 2})), AllOf(HasSubstr("'layer'"), HasSubstr("circle")));
  set(stump(wide), "nodes_featureids", std::vector<std::int64_t>{2, 0, 0});
  EXPECT_THAT(run_error(wide, floats({0, 0}, {1, 2})), AllOf(HasSubstr("feature 2"), HasSubstr("has 2")));
}

TEST(OnnxTrees, OfOneClassAreRefused) {
  Builder b;
  b.input("x", {1, 2}).output("y");
  auto& node = learned(b, "TreeEnsembleClassifier", {"y", "scores"});
  for (const char* name : {"nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_truenodeids",
                           "nodes_falsenodeids", "class_treeids", "class_nodeids", "class_ids", "classlabels_int64s"})
    set(node, name, std::vector<std::int64_t>{0});
  set(node, "nodes_modes", std::vector<std::string>{"LEAF"});
  set(node, "nodes_values", std::vector<float>{0});
  set(node, "class_weights", std::vector<float>{1});
  const Error error = b.error();
  EXPECT_EQ(error.code(), Code::kUnimplemented);
  EXPECT_THAT(error.what(), HasSubstr("one class"));
}

TEST(OnnxEncoders, RefuseUnequalListsAndUnknownCategories) {
  Builder labels;
  labels.input("x", {-1}, schema::TensorProto::STRING).output("y");
  auto& encoder = learned(labels, "LabelEncoder");
  set(encoder, "keys_strings", std::vector<std::string>{"a", "b"});
  EXPECT_THAT(labels.error().what(), HasSubstr("keys and values"));
  set(encoder, "values_int64s", std::vector<std::int64_t>{1});
  EXPECT_THAT(labels.error().what(), AllOf(HasSubstr("'layer'"), HasSubstr("as many values")));
  set(encoder, "values_int64s", std::vector<std::int64_t>{1, 2});
  const Tensor made = evaluate(*labels.read(), {words({"b", "other", "a"}, {3})}).at(0);
  EXPECT_THAT(std::vector<std::int64_t>(made.data<std::int64_t>(), made.data<std::int64_t>() + 3),
              ElementsAre(2, -1, 1));
  set(encoder, "keys_strings", std::vector<std::string>{});
  set(encoder, "keys_floats", std::vector<float>{1, 2});
  encoder.mutable_attribute()->DeleteSubrange(0, 1);
  EXPECT_THAT(labels.error().what(), AllOf(HasSubstr("f32"), HasSubstr("string")));

  Builder strict;
  strict.input("x", {-1}, schema::TensorProto::STRING).output("y");
  auto& categories = learned(strict, "OneHotEncoder");
  set(categories, "cats_strings", std::vector<std::string>{"a", "b"});
  set(categories, "zeros", std::int64_t{0});
  EXPECT_THAT(values_of(evaluate(*strict.read(), {words({"b"}, {1})}).at(0)), ElementsAre(0, 1));
  EXPECT_THAT(run_error(strict, words({"a", "c"}, {2})),
              AllOf(HasSubstr("'layer/LookUp'"), HasSubstr("element 1"), HasSubstr("2 keys")));
}

TEST(OnnxLinear, ModelsAreComputedInF32) {
  for (const char* type : {"LinearRegressor", "LinearClassifier", "SVMRegressor"}) {
    Builder b;
    b.input("x", {-1, 2}).output("y");
    auto& node = learned(b, type, {"y"});
    set(node, "coefficients", std::vector<float>{3, 0.01f});
    if (std::string(type) == "SVMRegressor") {
      set(node, "n_supports", 2);
      set(node, "support_vectors", std::vector<float>{1, 2, 3, 4});
      set(node, "rho", std::vector<float>{1});
    } else {
      set(node, "intercepts", std::vector<float>{-5850});
    }
    int products = 0;
    for (const auto& each : b.read()->get_ordered_ops()) {
      if (!is_op(each, "MatMul")) continue;
      ++products;
      EXPECT_TRUE(is_precise(*each)) << type;
    }
    EXPECT_EQ(products, 1) << type;
  }
}

TEST(OnnxZipMap, LeavesATensor) {
  Builder b;
  b.input("x", {-1, 2}).output("y");
  set(learned(b, "ZipMap"), "classlabels_strings", std::vector<std::string>{"a", "b"});
  EXPECT_THAT(values_of(evaluate(*b.read(), {floats({0.25f, 0.75f}, {1, 2})}).at(0)), ElementsAre(0.25f, 0.75f));
}

TEST(OnnxStrings, OfConstantsAreKept) {
  Builder b;
  b.output("one").output("more").output("stored");
  set(b.node("Constant", {}, {"one"}), "value_string", "hello");
  set(b.node("Constant", {}, {"more"}), "value_strings", std::vector<std::string>{"a", "b"});
  auto& stored = b.initializer("w", {2}, schema::TensorProto::STRING);
  stored.add_string_data("c");
  stored.add_string_data("d");
  b.node("Identity", {"w"}, {"stored"});
  const auto made = evaluate(*b.read(), {});
  EXPECT_EQ(made[0].shape(), Shape{});
  EXPECT_THAT(words_of(made[0]), ElementsAre("hello"));
  EXPECT_THAT(words_of(made[1]), ElementsAre("a", "b"));
  EXPECT_THAT(words_of(made[2]), ElementsAre("c", "d"));
  stored.add_string_data("e");
  EXPECT_THAT(b.error().what(), AllOf(HasSubstr("'w'"), HasSubstr("string_data has 3")));
  stored.clear_string_data();
  stored.set_raw_data(std::string(64, 'x'));
  EXPECT_THAT(b.error().what(), AllOf(HasSubstr("'w'"), HasSubstr("string_data has 0")));
  stored.clear_raw_data();
  stored.set_data_location(schema::TensorProto::EXTERNAL);
  auto* location = stored.add_external_data();
  location->set_key("location");
  location->set_value("file");
  EXPECT_THROW(b.read(), Error);
}

TEST(OnnxStrings, AreRefusedByOperationsOnNumbers) {
  Builder b;
  b.input("x", {2}, schema::TensorProto::STRING).output("y");
  b.node("Add", {"x", "x"}, {"y"}, "sum");
  EXPECT_THAT(run_error(b, words({"a", "b"}, {2})), AllOf(HasSubstr("'sum'"), HasSubstr("takes no strings")));
  Builder numbers;
  numbers.input("x", {2}, schema::TensorProto::STRING).output("y");
  set(numbers.node("Cast", {"x"}, {"y"}, "cast"), "to", schema::TensorProto::FLOAT);
  EXPECT_THAT(values_of(evaluate(*numbers.read(), {words({" 1.5 ", "-inf"}, {2})}).at(0)),
              ElementsAre(1.5f, -std::numeric_limits<float>::infinity()));
  EXPECT_THAT(run_error(numbers, words({"1", "one"}, {2})),
              AllOf(HasSubstr("'cast'"), HasSubstr("\"one\" is no number")));
  Builder text;
  text.input("x", {2}).output("y");
  text.node("StringConcat", {"x", "x"}, {"y"}, "join");
  EXPECT_THAT(text.error().what(), AllOf(HasSubstr("'join'"), HasSubstr("expected string, found f32")));
  Builder split;
  split.input("x", {2}, schema::TensorProto::STRING).output("y");
  set(split.node("StringSplit", {"x"}, {"y", "n"}, "cut"), "maxsplit", -2);
  EXPECT_THAT(split.error().what(), AllOf(HasSubstr("'cut'"), HasSubstr("maxsplit is -2")));
}

TEST(OnnxStrings, RegularExpressionsThatAreNoneAreRefused) {
  Builder b;
  b.input("x", {1}, schema::TensorProto::STRING).output("y");
  set(b.node("RegexFullMatch", {"x"}, {"y"}, "match"), "pattern", "(a");
  const std::string said = run_error(b, words({"a"}, {1}));
  EXPECT_THAT(said, AllOf(HasSubstr("'match'"), HasSubstr("(a"), HasSubstr("RE2")));
}

TEST(OnnxStrings, AreNotWrittenToIr) {
  Builder b;
  b.output("y");
  set(b.node("Constant", {}, {"y"}, "words"), "value_strings", std::vector<std::string>{"a", "b"});
  const auto model = b.read();
  try {
    serialize(*model);
    FAIL() << "was written";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnimplemented);
    EXPECT_THAT(error.what(), HasSubstr("holds strings"));
  }
}

}  // namespace onnx_learned_test
}  // namespace tenon::onnx_test
