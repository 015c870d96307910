// SPDX-License-Identifier: Apache-2.0
// Forms of operations and tensors: their requirements, and the messages for refused ones.
#include <tenon/graph/readers/onnx/testing/onnx.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include <gmock/gmock.h>

#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/precise.hpp>
#include <tenon/graph/readers/onnx/backend_suite.hpp>

namespace tenon::onnx_test {
namespace onnx_forms_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// A Resize of [1, 1, 8, 8] to constant scales or sizes.
Builder resize(const std::string& mode, const std::vector<float>& scales, const std::vector<std::int64_t>& sizes,
               bool exclude_outside = false) {
  Builder b(18);
  b.input("x", {1, 1, 8, 8}).output("y");
  if (sizes.empty()) {
    auto& tensor = b.initializer("t", {static_cast<std::int64_t>(scales.size())});
    for (const float scale : scales) tensor.add_float_data(scale);
  } else {
    auto& tensor = b.initializer("t", {static_cast<std::int64_t>(sizes.size())}, schema::TensorProto::INT64);
    for (const std::int64_t size : sizes) tensor.add_int64_data(size);
  }
  auto& node = b.node(
      "Resize", sizes.empty() ? std::vector<std::string>{"x", "", "t"} : std::vector<std::string>{"x", "", "", "t"},
      {"y"}, "scaler");
  const auto integer = [&](const char* name) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(schema::AttributeProto::INT);
    attribute.set_i(1);
  };
  integer(exclude_outside ? "exclude_outside" : "antialias");
  auto& attribute = *node.add_attribute();
  attribute.set_name("mode");
  attribute.set_type(schema::AttributeProto::STRING);
  attribute.set_s(mode);
  return b;
}

TEST(OnnxForms, ResizeRefusesWhatNoPictureCanBe) {
  for (const char* mode : {"linear", "cubic"}) {
    for (const float scale : {NAN, INFINITY, -INFINITY, -0.5f, 0.f, 1e12f}) {
      const Error error = resize(mode, {1, 1, scale, 0.5f}, {}).error();
      EXPECT_EQ(error.code(), Code::kInvalidArgument);
      EXPECT_THAT(error.what(), AllOf(HasSubstr("scaler"), HasSubstr("scale")));
    }
    EXPECT_THAT(resize(mode, {}, {1, 1, -4, 2}).error().what(), HasSubstr("-4"));
    for (const bool exclude : {false, true}) {
      EXPECT_THAT(resize(mode, {1, 0.5f}, {}, exclude).error().what(), HasSubstr("one for each axis"));
      EXPECT_THAT(resize(mode, {}, {1, 1, 4, 4, 4}, exclude).error().what(), HasSubstr("one for each axis"));
    }
    // An axis becomes empty, and nothing is computed for it.
    const auto nothing = resize(mode, {1, 1, 1e-9f, 0.5f}, {}).read();
    EXPECT_EQ(evaluate(*nothing, {floats(std::vector<float>(64, 1), {1, 1, 8, 8})})[0].shape(), (Shape{1, 1, 0, 4}));
  }
}

TEST(OnnxForms, SparseTensorsAreCheckedBeforeTheyAreWrittenOut) {
  const auto sparse = [](const std::vector<std::int64_t>& dims, const std::vector<std::int64_t>& indices,
                         std::int64_t values = 2) {
    Builder b;
    b.input("x", {2, 3}).output("y");
    auto& proto = *b.model.mutable_graph()->add_sparse_initializer();
    proto.mutable_values()->set_name("k");
    proto.mutable_values()->set_data_type(schema::TensorProto::FLOAT);
    proto.mutable_values()->add_dims(values);
    for (std::int64_t i = 0; i < values; ++i) proto.mutable_values()->add_float_data(static_cast<float>(i + 1));
    proto.mutable_indices()->set_data_type(schema::TensorProto::INT64);
    proto.mutable_indices()->add_dims(static_cast<std::int64_t>(indices.size()));
    for (const auto index : indices) proto.mutable_indices()->add_int64_data(index);
    for (const auto extent : dims) proto.add_dims(extent);
    b.node("Add", {"x", "k"}, {"y"});
    return b;
  };
  const auto made = evaluate(*sparse({2, 3}, {1, 5}).read(), {floats(std::vector<float>(6, 0), {2, 3})});
  EXPECT_EQ(values_of(made[0]), (std::vector<float>{0, 1, 0, 0, 0, 2}));
  EXPECT_THAT(sparse({2, 3}, {1, 6}).error().what(), AllOf(HasSubstr("'k'"), HasSubstr("index 6")));
  EXPECT_THAT(sparse({2, 3}, {-1, 5}).error().what(), HasSubstr("index -1"));
  EXPECT_THAT(sparse({2, 3}, {1}).error().what(), HasSubstr("expected i64"));
  EXPECT_THAT(sparse({2, -3}, {1, 5}).error().what(), HasSubstr("negative extent"));
  EXPECT_EQ(sparse({1 << 20, 1 << 20}, {1, 5}).error().code(), Code::kResourceExhausted);
  EXPECT_EQ(sparse({INT64_MAX, INT64_MAX}, {1, 5}).error().code(), Code::kInvalidArgument);
}

TEST(OnnxForms, InputsOfTooFewAxesAreRefused) {
  using Inputs = std::vector<std::vector<std::int64_t>>;
  const auto error = [](const std::string& type, const std::string& domain, const Inputs& shapes,
                        int numbers = schema::TensorProto::FLOAT) {
    Builder b(23);
    auto& set = *b.model.add_opset_import();
    set.set_domain("com.microsoft");
    set.set_version(1);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      names.push_back("x" + std::to_string(i));
      b.input(names.back(), shapes[i], numbers);
    }
    b.output("y");
    auto& node = b.node(type, names, {"y"}, "short");
    node.set_domain(domain);
    auto& heads = *node.add_attribute();
    heads.set_name("num_heads");
    heads.set_type(schema::AttributeProto::INT);
    heads.set_i(2);
    return b.error();
  };
  const Error errors[] = {error("RotaryEmbedding", "", {{1, 3, 8}, {}, {}, {1, 3}}),
                          error("MultiHeadAttention", "com.microsoft", {{1, 3, 8}, {1, 3, 8}, {1, 3, 8}, {}}),
                          error("Attention", "com.microsoft", {{1, 3, 8}, {8}}),
                          // Nothing tells whether there is one zero point, or one for each filter.
                          error("ConvInteger", "", {{1, 3, 8}, {}, {}, {-1}}, schema::TensorProto::UINT8)};
  for (const Error& each : errors) {
    EXPECT_EQ(each.code(), Code::kInvalidArgument) << each.what();
    EXPECT_THAT(each.what(), HasSubstr("short"));
  }
}

TEST(OnnxForms, RefusedFormsSayWhichFormTheyAreAndWhatToDo) {
  Builder cropped(18);
  cropped.input("x", {1, 1, 8, 8}).output("y");
  auto& scales = cropped.initializer("s", {4});
  for (int i = 0; i < 4; ++i) scales.add_float_data(1);
  auto& mode = *cropped.node("Resize", {"x", "", "s"}, {"y"}, "cropper").add_attribute();
  mode.set_name("coordinate_transformation_mode");
  mode.set_type(schema::AttributeProto::STRING);
  mode.set_s("tf_crop_and_resize");
  EXPECT_THAT(cropped.error().what(), AllOf(HasSubstr("cropper"), HasSubstr("needs a roi")));
  mode.set_s("sideways");
  EXPECT_EQ(cropped.error().code(), Code::kInvalidArgument);
  mode.set_name("nearest_mode");
  EXPECT_THAT(cropped.error().what(), AllOf(HasSubstr("cropper"), HasSubstr("\"sideways\""), HasSubstr("floor")));
  for (const int opset : {9, 10}) {
    Builder few(opset);
    few.input("x", {1, 1, 8, 8}).output("y");
    auto& three = few.initializer("s", {3});
    for (int i = 0; i < 3; ++i) three.add_float_data(1.2f);
    few.node(opset == 9 ? "Upsample" : "Resize", {"x", "s"}, {"y"}, "short");
    EXPECT_THAT(few.error().what(), AllOf(HasSubstr("short"), HasSubstr("[3]"), HasSubstr("expected [4]")));
  }
}

TEST(OnnxForms, NumbersOfTwoBitsKeepToThem) {
  // Read through Identity and Reshape; ONNX's own node tests have the rest.
  for (const int type : {25, 26}) {
    Builder b(25);
    b.input("x", {4}).output("y");
    auto& numbers = b.initializer("w", {5}, type);
    numbers.add_int32_data(0x4e), numbers.add_int32_data(0x02);  // 2, 3, 0, 1, 2, or -2, -1, 0, 1, -2
    b.node("Identity", {"w"}, {"same"});
    b.node("CastLike", {"x", "same"}, {"cut"});
    auto& to = *b.node("Cast", {"cut"}, {"y"}).add_attribute();
    to.set_name("to");
    to.set_type(schema::AttributeProto::INT);
    to.set_i(schema::TensorProto::FLOAT);
    const auto y = values_of(evaluate(*b.read(), {floats({-3, 2, 5, 0.5f}, {4})})[0]);
    EXPECT_EQ(y, type == 25 ? (std::vector<float>{1, 2, 1, 0}) : (std::vector<float>{1, -2, 1, 0}));
    auto& scale = b.initializer("s", {});
    scale.add_float_data(0.5f);
    b.node("DequantizeLinear", {"w", "s"}, {"z"});
    b.output("z");
    const auto z = values_of(evaluate(*b.read(), {floats({0, 0, 0, 0}, {4})})[1]);
    EXPECT_EQ(z, type == 25 ? (std::vector<float>{1, 1.5f, 0, 0.5f, 1}) : (std::vector<float>{-1, -0.5f, 0, 0.5f, -1}));
    numbers.add_int32_data(0);
    EXPECT_THAT(b.error().what(), AllOf(HasSubstr("'w'"), HasSubstr("2 entries")));
  }
}

TEST(OnnxForms, BitsAreReadAsTypesOfTheirWidth) {
  const auto cast = [](int type) {
    Builder b(26);
    b.input("x", {2}).output("y");
    auto& to = *b.node("BitCast", {"x"}, {"y"}, "bits").add_attribute();
    to.set_name("to");
    to.set_type(schema::AttributeProto::INT);
    to.set_i(type);
    return b;
  };
  const auto y = evaluate(*cast(schema::TensorProto::INT32).read(), {floats({1, -0.0f}, {2})})[0];
  EXPECT_EQ(y.data<std::int32_t>()[0], 0x3f800000);
  EXPECT_EQ(y.data<std::int32_t>()[1], INT32_MIN);
  EXPECT_THAT(cast(schema::TensorProto::INT64).error().what(), AllOf(HasSubstr("bits"), HasSubstr("64 bits")));
}

TEST(OnnxForms, SequencesAreWrittenOutForTheirElements) {
  const auto with = [](auto change) {
    Builder b;
    b.input("x", {2, 3}).input("z", {2, 3}).output("y");
    auto& at = b.initializer("at", {}, schema::TensorProto::INT64);
    b.node("SequenceConstruct", {"x", "z"}, {"s"}, "list");
    change(b, at);
    return b;
  };
  const auto listed = with([](Builder& b, auto& at) {
    at.add_int64_data(-1);
    b.node("SequenceErase", {"s", "at"}, {"t"});
    b.node("SequenceInsert", {"t", "z"}, {"y"});
  });
  const auto model = listed.read();
  ASSERT_EQ(model->outputs().size(), 2u);
  EXPECT_TRUE(model->output(1).get_names().count("y.1"));
  const auto made =
      evaluate(*model, {floats(std::vector<float>(6, 1), {2, 3}), floats(std::vector<float>(6, 2), {2, 3})});
  EXPECT_EQ(values_of(made[1]), std::vector<float>(6, 2));
  const auto outside = with([](Builder& b, auto& at) {
    at.add_int64_data(2);
    b.node("SequenceAt", {"s", "at"}, {"y"}, "taker");
  });
  EXPECT_THAT(outside.error().what(), AllOf(HasSubstr("taker"), HasSubstr("position 2"), HasSubstr("2 elements")));
  const auto mistaken = with([](Builder& b, auto& at) {
    at.add_int64_data(0);
    b.node("Add", {"x", "s"}, {"y"}, "adder");
  });
  EXPECT_THAT(mistaken.error().what(), AllOf(HasSubstr("adder"), HasSubstr("input 1 is a sequence")));
  const auto tensor = with([](Builder& b, auto& at) {
    at.add_int64_data(0);
    b.node("SequenceLength", {"x"}, {"y"}, "counter");
  });
  EXPECT_THAT(tensor.error().what(), AllOf(HasSubstr("counter"), HasSubstr("input 0 is a tensor")));
  const auto huge = with([](Builder& b, auto& at) {
    at.add_int64_data(1);
    b.input("w", {std::int64_t{1} << 40});
    b.node("SplitToSequence", {"w", "at"}, {"y"}, "splitter");
  });
  EXPECT_EQ(huge.error().code(), Code::kResourceExhausted);
}

/// Inputs: a sequence "s" of vectors of any length, or an optional of one, and the vector "x".
Builder with_sequence(bool is_optional = false) {
  Builder b;
  schema::ValueInfoProto vector;
  Builder::value(vector, "", {-1}, schema::TensorProto::FLOAT);
  auto& input = *b.model.mutable_graph()->add_input();
  input.set_name("s");
  auto* type = input.mutable_type();
  if (is_optional) type = type->mutable_optional_type()->mutable_elem_type();
  *type->mutable_sequence_type()->mutable_elem_type() = vector.type();
  b.input("x", {-1});
  return b;
}

std::string refusal(const Builder& b, const OnnxOptions& options) {
  try {
    read_onnx(b.bytes(), {}, "m", true, options);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(OnnxSequenceInputs, HaveTheNumberOfElementsThatTheOptionsState) {
  for (const bool is_optional : {false, true}) {
    Builder b = with_sequence(is_optional);
    b.node("SequenceInsert", {"s", "x"}, {"y"});
    b.output("y");
    const auto model = read_onnx(b.bytes(), {}, "m", true, {{{"s", 2}}, {}});
    ASSERT_EQ(model->inputs().size(), 3u);
    EXPECT_EQ(model->input("s.1").get_partial_shape().to_string(), "[?]");
    ASSERT_EQ(model->outputs().size(), 3u);
    EXPECT_EQ(model->input(0).get_names().size(), 1u);
    EXPECT_TRUE(model->output(2).get_names().count("y.2"));
    const auto made = evaluate(*model, {floats({1}, {1}), floats({2, 3}, {2}), floats({4, 5, 6}, {3})});
    EXPECT_EQ(values_of(made[1]), (std::vector<float>{2, 3}));
    EXPECT_EQ(values_of(made[2]), (std::vector<float>{4, 5, 6}));
    EXPECT_THAT(b.error().what(), HasSubstr("sequence_lengths"));
    EXPECT_THAT(refusal(b, {{{"s", 1}, {"x", 1}}, {}}), HasSubstr("no input 'x' that is a sequence"));
    EXPECT_THAT(refusal(b, {{{"s", 5000}}, {}}), HasSubstr("up to 4096"));
    EXPECT_THAT(refusal(b, {{{"s", 1}}, {"x"}}), HasSubstr("no input 'x' that is an optional"));
  }
  Builder b = with_sequence(true);
  b.node("OptionalHasElement", {"s"}, {"y"});
  b.output("y");
  const auto model = read_onnx(b.bytes(), {}, "m", true, {{}, {"s"}});
  ASSERT_EQ(model->inputs().size(), 1u);
  EXPECT_FALSE(evaluate(*model, {floats({1}, {1})})[0].data<bool>()[0]);
}

// The operation's own expansion: SequenceMap as a loop over its elements.
TEST(OnnxSequenceInputs, ElementsOfALoopOverThemDifferInShape) {
  Builder b = with_sequence(), body;
  b.node("SequenceLength", {"s"}, {"n"});
  b.node("SequenceEmpty", {}, {"none"});
  auto& graph = *b.node("Loop", {"n", "", "none"}, {"y"}).add_attribute();
  b.output("y");
  body.input("i", {}, schema::TensorProto::INT64).input("c", {}, schema::TensorProto::BOOL).input("to", {});
  body.node("SequenceAt", {"s", "i"}, {"e"});
  body.node("Neg", {"e"}, {"f"});
  body.node("SequenceInsert", {"to", "f"}, {"more"});
  body.node("Identity", {"c"}, {"d"});
  body.output("d").output("more");
  graph.set_name("body");
  graph.set_type(schema::AttributeProto::GRAPH);
  *graph.mutable_g() = body.model.graph();
  const auto model = read_onnx(b.bytes(), {}, "m", true, {{{"s", 2}}, {}});
  const auto made = evaluate(*model, {floats({1}, {1}), floats({2, 3}, {2}), floats({0}, {1})});
  ASSERT_EQ(made.size(), 2u);
  EXPECT_EQ(values_of(made[0]), std::vector<float>{-1});
  EXPECT_EQ(values_of(made[1]), (std::vector<float>{-2, -3}));
}

TEST(OnnxSequenceInputs, TheBackendTestsReadAndRefuseRecordedOnes) {
  Builder b = with_sequence();
  b.node("SequenceInsert", {"s", "x"}, {"y"});
  b.output("y");
  *b.model.mutable_graph()->mutable_output(0)->mutable_type() = b.model.graph().input(0).type();
  schema::TensorProto x;
  x.set_data_type(schema::TensorProto::FLOAT);
  x.add_dims(1);
  x.add_float_data(7);
  schema::SequenceProto s;
  s.set_elem_type(1);
  *s.add_tensor_values() = x;
  auto y = s;
  *y.add_tensor_values() = x;
  const fs::path folder = fs::temp_directory_path() / ("tenon_sequences_" + std::to_string(::getpid()));
  fs::create_directories(folder / "test_data_set_0");
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream(folder / name, std::ios::binary) << text;
  };
  const auto result = [&](const std::string& sequence) {
    write("test_data_set_0/input_0.pb", sequence);
    return run_backend_test(folder, [](const auto& model, const auto& inputs) { return evaluate(*model, inputs); });
  };
  write("model.onnx", b.model.SerializeAsString());
  write("test_data_set_0/input_1.pb", x.SerializeAsString());
  write("test_data_set_0/output_0.pb", y.SerializeAsString());
  const std::string whole = s.SerializeAsString();
  EXPECT_EQ(result(whole).reason, "");
  EXPECT_THAT(result(whole.substr(0, whole.size() - 1)).reason, HasSubstr("\"input_0.pb\" is no sequence"));
  EXPECT_THAT(result(x.SerializeAsString()).reason, HasSubstr("gave 1 outputs, expected 2"));
  fs::remove_all(folder);
}

schema::AttributeProto& attribute_of(schema::NodeProto& node, const std::string& name,
                                     schema::AttributeProto::AttributeType type) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}
void set_ints(schema::NodeProto& node, const std::string& name, const std::vector<std::int64_t>& values) {
  auto& attribute = attribute_of(node, name, schema::AttributeProto::INTS);
  for (const std::int64_t value : values) attribute.add_ints(value);
}
void set_text(schema::NodeProto& node, const std::string& name, const std::string& value) {
  attribute_of(node, name, schema::AttributeProto::STRING).set_s(value);
}
void add_numbers(Builder& builder, const std::string& name, const std::vector<std::int64_t>& shape) {
  auto& tensor = builder.initializer(name, shape);
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  for (std::int64_t i = 0; i < count; ++i) tensor.add_float_data(static_cast<float>(i * 7 % 11) / 8 - 0.5f);
}

/// A model that is read for one shape and then reshaped computes what the model that is read for the other does.
void expect_follows_reshape(Builder (*make)(const std::vector<std::int64_t>& shape),
                            const std::vector<std::int64_t>& from, const std::vector<std::int64_t>& to) {
  const auto reshaped = make(from).read(), direct = make(to).read();
  PartialShape target;
  Shape shape;
  for (const std::int64_t extent : to) {
    target.push_back(extent);
    shape.push_back(static_cast<std::size_t>(extent));
  }
  reshaped->reshape(target);
  std::vector<float> values(element_count(shape));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 5 % 13) / 6 - 1;
  const auto expected = evaluate(*direct, {floats(values, shape)})[0];
  const auto actual = evaluate(*reshaped, {floats(values, shape)})[0];
  EXPECT_EQ(to_string(actual.shape()), to_string(expected.shape()));
  EXPECT_EQ(values_of(actual), values_of(expected));
}

TEST(OnnxForms, WhatDependsOnShapesFollowsAReshape) {
  const auto transposed = [](const std::vector<std::int64_t>& shape) {
    Builder b;
    b.input("x", shape).output("y");
    add_numbers(b, "w", {1, 1, 3, 3});
    auto& node = b.node("ConvTranspose", {"x", "w"}, {"y"});
    set_ints(node, "strides", {2, 2});
    set_ints(node, "output_shape", {8, 8});
    return b;
  };
  expect_follows_reshape(transposed, {1, 1, 4, 4}, {2, 1, 5, 5});
  const auto pool = [](const std::vector<std::int64_t>& shape) {
    Builder b(18);
    b.input("x", shape).output("y");
    auto& node = b.node("LpPool", {"x"}, {"y"});
    set_ints(node, "kernel_shape", {3, 3});
    set_ints(node, "strides", {2, 2});
    set_text(node, "auto_pad", "SAME_LOWER");
    return b;
  };
  expect_follows_reshape(pool, {1, 1, 6, 6}, {1, 1, 7, 9});
  const auto layer = [](const std::vector<std::int64_t>& shape) {
    Builder b(14);
    b.input("x", shape).output("y");
    add_numbers(b, "w", {1, 8, 3});
    add_numbers(b, "r", {1, 8, 2});
    auto& node = b.node("LSTM", {"x", "w", "r"}, {"y"});
    attribute_of(node, "hidden_size", schema::AttributeProto::INT).set_i(2);
    auto& functions = attribute_of(node, "activations", schema::AttributeProto::STRINGS);
    for (const char* name : {"Sigmoid", "Elu", "Softsign"}) functions.add_strings(name);
    return b;
  };
  expect_follows_reshape(layer, {4, 2, 3}, {7, 1, 3});
  const auto smaller = [](const std::vector<std::int64_t>& shape) {
    Builder b(19);
    b.input("x", shape).output("y");
    auto& sizes = b.initializer("t", {2}, schema::TensorProto::INT64);
    sizes.add_int64_data(8);
    sizes.add_int64_data(6);
    auto& node = b.node("Resize", {"x", "", "", "t"}, {"y"});
    set_ints(node, "axes", {2, 3});
    set_text(node, "mode", "linear");
    attribute_of(node, "antialias", schema::AttributeProto::INT).set_i(1);
    return b;
  };
  expect_follows_reshape(smaller, {1, 1, 4, 6}, {1, 1, 16, 9});
}

/// They stand for an operation that other runtimes compute in f32: bf16 would lose a signal's weak frequencies.
TEST(OnnxForms, ProductsThatAreNoLayersStayPrecise) {
  const auto expect_precise = [](const std::shared_ptr<Model>& model, std::size_t products) {
    std::size_t found = 0;
    for (const auto& node : model->get_ordered_ops()) {
      if (std::string_view(node->get_type_name()) != "MatMul") continue;
      ++found;
      EXPECT_TRUE(is_precise(*node)) << node->get_friendly_name();
    }
    EXPECT_EQ(found, products);
  };
  Builder b(17);
  b.input("x", {2, 64, 1}).output("y");
  for (const auto& [name, value] : {std::pair{"step", 8}, {"length", 16}})
    b.initializer(name, {}, schema::TensorProto::INT64).add_int64_data(value);
  auto& window = b.initializer("window", {16});
  for (int i = 0; i < 16; ++i) window.add_float_data(static_cast<float>(i) / 16);
  attribute_of(b.node("STFT", {"x", "step", "window", "length"}, {"y"}), "onesided", schema::AttributeProto::INT)
      .set_i(1);
  const auto signal = b.read();
  expect_precise(signal, 2);
  const auto order = signal->get_ordered_ops();
  EXPECT_TRUE(std::ranges::any_of(order, [](const auto& node) {
    return std::string_view(node->get_type_name()) == "Multiply" && is_precise(*node);
  })) << "the window";
}

}  // namespace onnx_forms_test
}  // namespace tenon::onnx_test
