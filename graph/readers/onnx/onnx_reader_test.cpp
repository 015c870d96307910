// SPDX-License-Identifier: Apache-2.0
// The ONNX reader: accepted models, and refused ones with their messages.
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>

#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/limits.hpp>
#include <tenon/graph/readers/onnx/onnx_reader.hpp>
#include <tenon/graph/readers/onnx/testing/onnx.hpp>
#include <tenon/graph/readers/read_model.hpp>
#include <tenon/tests/support/resident.hpp>

namespace tenon {
namespace onnx_reader_test {

using namespace onnx_test;
using ::testing::HasSubstr;

TEST(OnnxReader, KeepsNamesAndSymbolicDimensions) {
  Builder b;
  b.input("x", {1, -1, 3}).output("y");
  b.node("Relu", {"x"}, {"y"}, "act");
  const auto model = b.read();
  EXPECT_EQ(model->get_friendly_name(), "g");
  EXPECT_EQ(model->input("x").get_partial_shape().to_string(), "[1,?,3]");
  EXPECT_EQ(model->output("y").get_node()->get_input_node_ptr(0)->get_friendly_name(), "act");
}

TEST(OnnxReader, SortsNodesThatTheFileDoesNot) {
  Builder b;
  b.input("x", {2}).output("y");
  b.node("Neg", {"t"}, {"y"});
  b.node("Relu", {"x"}, {"t"});
  EXPECT_THAT(values_of(evaluate(*b.read(), {floats({-1, 2}, {2})})[0]), ::testing::ElementsAre(0, -2));
}

TEST(OnnxReader, ShapesThatTheFileTakesFromValuesFollowAReshape) {
  Builder b;
  b.input("x", {1, 3}).output("y");
  b.initializer("token", {1, 1}).add_float_data(7);
  b.node("Shape", {"x"}, {"shape"});
  b.node("Expand", {"token", "shape"}, {"tokens"});
  b.node("Concat", {"tokens", "x"}, {"y"}).add_attribute()->set_name("axis");
  auto& axis = *b.model.mutable_graph()->mutable_node(2)->mutable_attribute(0);
  axis.set_type(schema::AttributeProto::INT);
  axis.set_i(1);
  const auto model = b.read();
  EXPECT_EQ(model->output("y").get_shape(), (Shape{1, 6}));
  model->reshape(PartialShape{2, 2});
  EXPECT_EQ(model->output("y").get_shape(), (Shape{2, 4}));
  EXPECT_THAT(values_of(evaluate(*model, {floats({1, 2, 3, 4}, {2, 2})})[0]),
              ::testing::ElementsAre(7, 7, 1, 2, 7, 7, 3, 4));
}

TEST(OnnxReader, RefusesCyclesDanglingAndDoubledNames) {
  Builder cycle;
  cycle.input("x", {2}).output("a");
  cycle.node("Add", {"x", "b"}, {"a"}, "first");
  cycle.node("Relu", {"a"}, {"b"}, "second");
  EXPECT_THAT(cycle.error().what(), HasSubstr("cycle, in or before node 'first'"));
  Builder dangling;
  dangling.input("x", {2}).output("a");
  dangling.node("Add", {"x", "nowhere"}, {"a"}, "sum");
  EXPECT_THAT(dangling.error().what(), HasSubstr("node 'sum' (Add) reads 'nowhere', which nothing produces"));
  Builder doubled;
  doubled.input("x", {2}).output("a");
  doubled.node("Relu", {"x"}, {"a"});
  doubled.node("Neg", {"x"}, {"a"});
  EXPECT_THAT(doubled.error().what(), HasSubstr("produce 'a'"));
  Builder missing;
  missing.input("x", {2}).output("q");
  missing.node("Relu", {"x"}, {"a"});
  EXPECT_THAT(missing.error().what(), HasSubstr("output 'q' is computed by no node"));
}

TEST(OnnxReader, ListsAllMissingOperationsAtOnce) {
  Builder b;
  b.input("x", {2}).output("y");
  b.node("Frobnicate", {"x"}, {"a"}, "f1");
  b.node("Frobnicate", {"a"}, {"b"}, "f2");
  b.node("Attend", {"b"}, {"y"}, "at").set_domain("com.example");
  const Error error = b.error();
  EXPECT_EQ(error.code(), Code::kUnimplemented);
  EXPECT_THAT(error.what(),
              HasSubstr("Frobnicate (domain ai.onnx, operation set 17): node 'f1' (Frobnicate) and 1 more"));
  EXPECT_THAT(error.what(), HasSubstr("Attend (domain com.example"));
  EXPECT_THAT(error.what(), HasSubstr(" Conv "));
}

TEST(OnnxReader, NamesTheNodeThatDoesNotFit) {
  Builder b;
  b.input("x", {2, 3}).input("z", {4, 5}).output("y");
  b.node("MatMul", {"x", "z"}, {"y"}, "product");
  const Error error = b.error();
  EXPECT_EQ(error.code(), Code::kInvalidArgument);
  EXPECT_THAT(error.what(), HasSubstr("node 'product' (MatMul)"));
}

TEST(OnnxReader, ChecksInitializersBeforeTakingThem) {
  const auto error_with = [](auto&& change) {
    Builder b;
    b.input("x", {2}).output("y");
    change(b.initializer("w", {2}));
    b.node("Add", {"x", "w"}, {"y"});
    return b.error();
  };
  EXPECT_THAT(error_with([](auto& w) { w.set_raw_data("1234567"); }).what(),
              HasSubstr("needs 8 bytes, but raw_data has 7"));
  EXPECT_THAT(error_with([](auto& w) { w.add_float_data(1); }).what(),
              HasSubstr("needs 2 entries, but float_data has 1"));
  EXPECT_THAT(error_with([](auto& w) { w.set_dims(0, -3); }).what(), HasSubstr("negative extent -3"));
  EXPECT_THAT(error_with([](auto& w) {
                w.set_dims(0, std::int64_t{1} << 62);
                w.add_dims(std::int64_t{1} << 62);
              }).what(),
              HasSubstr("more than 2^62"));
  EXPECT_THAT(error_with([](auto& w) { w.set_dims(0, std::int64_t{1} << 40); }).what(), HasSubstr("float_data has 0"));
  EXPECT_EQ(error_with([](auto& w) { w.set_data_type(schema::TensorProto::COMPLEX64); }).code(), Code::kUnimplemented);
}

class OnnxExternalData : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "tenon_onnx_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    fs::create_directory(folder_ / "model");
    const float values[] = {0, 0, 10, 20};
    std::ofstream(folder_ / "model" / "w.bin", std::ios::binary)
        .write(reinterpret_cast<const char*>(values), sizeof values);
    std::ofstream(folder_ / "outside.bin", std::ios::binary)
        .write(reinterpret_cast<const char*>(values), sizeof values);
  }
  void TearDown() override { fs::remove_all(folder_); }
  static Builder with(const std::string& location, const std::string& offset) {
    Builder b;
    b.input("x", {2}).output("y");
    auto& w = b.initializer("w", {2});
    w.set_data_location(schema::TensorProto::EXTERNAL);
    const auto entry = [&](const char* key, const std::string& value) {
      auto* proto = w.add_external_data();
      proto->set_key(key);
      proto->set_value(value);
    };
    entry("location", location);
    entry("offset", offset);
    b.node("Add", {"x", "w"}, {"y"});
    return b;
  }
  fs::path folder_;
};

TEST_F(OnnxExternalData, IsMapped) {
  const auto model = with("w.bin", "8").read(folder_ / "model");
  EXPECT_THAT(values_of(evaluate(*model, {floats({1, 2}, {2})})[0]), ::testing::ElementsAre(11, 22));
}

TEST_F(OnnxExternalData, IsReadWhereNoMappingIsWanted) {
  const Builder b = with("w.bin", "8");
  std::ofstream(folder_ / "model" / "m.onnx", std::ios::binary) << b.model.SerializeAsString();
  const auto model = read_model(folder_ / "model" / "m.onnx", {}, false);
  const float other[] = {0, 0, 70, 80};
  // Overwritten in place, as by an editor or a download.
  std::fstream(folder_ / "model" / "w.bin", std::ios::binary | std::ios::in | std::ios::out)
      .write(reinterpret_cast<const char*>(other), sizeof other);
  EXPECT_THAT(values_of(evaluate(*model, {floats({1, 2}, {2})})[0]), ::testing::ElementsAre(11, 22));
}

TEST_F(OnnxExternalData, AFifoInAFilesPlaceIsRefusedAndNotWaitedFor) {
  ::alarm(20);  // Ends a reader that blocks waiting for a writer.
  ASSERT_EQ(::mkfifo((folder_ / "model" / "pipe").c_str(), 0600), 0);
  const auto refusal = [](auto&& body) {
    try {
      body();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kInvalidArgument);
      return std::string(error.what());
    }
    return std::string("taken");
  };
  EXPECT_THAT(refusal([&] { with("pipe", "0").read(folder_ / "model"); }), HasSubstr("it is a FIFO"));
  EXPECT_THAT(refusal([&] { read_model(folder_ / "model" / "pipe"); }), HasSubstr("it is a FIFO"));
  EXPECT_THAT(refusal([&] { read_model(folder_ / "model"); }), HasSubstr("it is a directory"));
  // An IR whose weights file is a FIFO.
  std::ofstream(folder_ / "model" / "m.xml") << "<?xml version=\"1.0\"?><net version=\"11\"/>";
  ASSERT_EQ(::mkfifo((folder_ / "model" / "m.bin").c_str(), 0600), 0);
  EXPECT_THAT(refusal([&] { read_model(folder_ / "model" / "m.xml"); }), HasSubstr("it is a FIFO"));
  ::alarm(0);
}

TEST_F(OnnxExternalData, IsNeitherReadNorDuplicated) {
  constexpr std::size_t kBytes = std::size_t{1} << 30;
  std::ofstream(folder_ / "model" / "large.bin").put('\0');
  fs::resize_file(folder_ / "model" / "large.bin", kBytes);  // Sparse: it takes no space on the disc.
  Builder b;
  b.input("i", {1}, schema::TensorProto::INT64).output("y");
  b.node("Gather", {"w", "i"}, {"y"});
  auto* weights = b.model.mutable_graph()->add_initializer();
  weights->set_name("w");
  weights->set_data_type(schema::TensorProto::FLOAT);
  weights->add_dims(262144);
  weights->add_dims(1024);
  weights->set_data_location(schema::TensorProto::EXTERNAL);
  auto* entry = weights->add_external_data();
  entry->set_key("location");
  entry->set_value("large.bin");
  const std::size_t before = resident_bytes();
  const auto model = b.read(folder_ / "model");
  EXPECT_LT(resident_bytes(), before + (std::size_t{32} << 20));
  bool found = false;
  for (const auto& node : model->get_ordered_ops()) {
    const auto* constant = as_type<op::v0::Constant>(node.get());
    if (!constant || constant->get_byte_size() != kBytes) continue;
    found = true;
    EXPECT_EQ(mapped_file_at(constant->get_data_ptr()), fs::canonical(folder_ / "model" / "large.bin").string());
  }
  EXPECT_TRUE(found);
}

TEST_F(OnnxExternalData, StaysInsideTheModelsFolder) {
  for (const std::string& path :
       {std::string("../outside.bin"), (folder_ / "outside.bin").string(), std::string("a/../../outside.bin")}) {
    const Error error = with(path, "0").error(folder_ / "model");
    EXPECT_EQ(error.code(), Code::kInvalidArgument) << path;
    EXPECT_THAT(error.what(), HasSubstr("outside the model's folder"));
  }
  fs::create_symlink(folder_ / "outside.bin", folder_ / "model" / "link.bin");
  EXPECT_THAT(with("link.bin", "0").error(folder_ / "model").what(), HasSubstr("outside the model's folder"));
}

TEST_F(OnnxExternalData, IsCheckedForItsLength) {
  EXPECT_EQ(with("w.bin", "12").error(folder_ / "model").code(), Code::kDataLoss);
  EXPECT_EQ(with("w.bin", "18446744073709551615").error(folder_ / "model").code(), Code::kDataLoss);
  EXPECT_EQ(with("w.bin", "x").error(folder_ / "model").code(), Code::kInvalidArgument);
  EXPECT_EQ(with("none.bin", "0").error(folder_ / "model").code(), Code::kNotFound);
}

TEST(OnnxReader, PutsMetadataIntoModelInfo) {
  Builder b;
  b.input("x", {2}).output("y");
  b.node("Relu", {"x"}, {"y"});
  const auto prop = [&](const char* key, const char* value) {
    auto* entry = b.model.add_metadata_props();
    entry->set_key(key);
    entry->set_value(value);
  };
  prop("model_info labels", "cat dog");
  prop("model_type", "SSD");
  prop("author", "me");
  const auto model = b.read();
  EXPECT_EQ(model->get_rt_info<std::string>("model_info", "labels"), "cat dog");
  EXPECT_EQ(model->get_rt_info<std::string>("model_info", "model_type"), "SSD");
  EXPECT_EQ(model->get_rt_info<std::string>("framework", "author"), "me");
}

// f(a) = Neg(Relu(a)), with the call's attribute passed on.
TEST(OnnxReader, InlinesFunctionsOfTheModel) {
  Builder b;
  b.input("x", {2}).output("y");
  b.model.add_opset_import()->set_domain("own");
  auto& function = *b.model.add_functions();
  function.set_name("NegElu");
  function.set_domain("own");
  function.add_input("a");
  function.add_output("r");
  function.add_attribute("alpha");
  auto& elu = *function.add_node();
  elu.set_op_type("Elu");
  elu.add_input("a");
  elu.add_output("t");
  auto& reference = *elu.add_attribute();
  reference.set_name("alpha");
  reference.set_ref_attr_name("alpha");
  reference.set_type(schema::AttributeProto::FLOAT);
  auto& neg = *function.add_node();
  neg.set_op_type("Neg");
  neg.add_input("t");
  neg.add_output("r");
  auto& call = b.node("NegElu", {"x"}, {"y"});
  call.set_domain("own");
  auto& alpha = *call.add_attribute();
  alpha.set_name("alpha");
  alpha.set_type(schema::AttributeProto::FLOAT);
  alpha.set_f(0);
  EXPECT_THAT(values_of(evaluate(*b.read(), {floats({-5, 3}, {2})})[0]), ::testing::ElementsAre(0, -3));
  call.add_input("x");
  EXPECT_THAT(b.error().what(), HasSubstr("1 inputs and 1 outputs, and the call 2 and 1"));
  call.mutable_input()->RemoveLast();
  // A function that calls itself must give an error, not a stack overflow.
  neg.set_op_type("NegElu");
  neg.set_domain("own");
  EXPECT_THAT(b.error().what(), HasSubstr("deeper than"));
  *b.model.add_functions() = function;
  EXPECT_THAT(b.error().what(), HasSubstr("two functions 'own.NegElu'"));
}

// Long chains must not use stack, neither when read nor when released.
TEST(OnnxReader, TakesChainsOfManyNodes) {
  Builder b;
  b.input("x0", {2}).output("x50000");
  for (int i = 0; i < 50'000; ++i) b.node("Neg", {"x" + std::to_string(i)}, {"x" + std::to_string(i + 1)});
  EXPECT_EQ(b.read()->get_ops().size(), 50'002U);
  b.node("MatMul", {"x0", "x50000"}, {"y"});
  b.node("MatMul", {"y", "x50000"}, {"z"});
  b.node("Conv", {"y", "x50000"}, {"q"});
  EXPECT_THROW(b.read(), Error);
}

TEST(OnnxReader, KeepsTheNamesOfInputsAndOutputsApart) {
  Builder b;
  b.input("x", {2}).output("y").output("z");
  b.node("Relu", {"x"}, {"inner"});
  b.node("Identity", {"inner"}, {"y"});
  b.node("Identity", {"x"}, {"z"});
  const auto model = b.read();
  EXPECT_EQ(model->input(0).get_any_name(), "x");
  EXPECT_EQ(model->output(0).get_any_name(), "y");
  EXPECT_EQ(model->output(1).get_any_name(), "z");
  EXPECT_EQ(model->input(0).get_names().size(), 1U);
  EXPECT_EQ(model->output(0).get_names().size(), 1U);
}

TEST(OnnxReader, RefusesWhatIsNoModel) {
  const auto message = [](const std::string& text) {
    Tensor tensor(ElementType::kU8, Shape{text.size()});
    if (!text.empty()) std::memcpy(tensor.data(), text.data(), text.size());
    try {
      read_onnx(tensor);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(message(""), HasSubstr("no ONNX model"));
  EXPECT_THAT(message("\x3A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F"), HasSubstr("no ONNX model"));
  EXPECT_THAT(message("\x08\x08"), HasSubstr("has no graph"));
}

TEST(ReadModel, SaysWhichFormatsItKnows) {
  const fs::path path = fs::temp_directory_path() / ("tenon_unknown_" + std::to_string(::getpid()));
  std::ofstream(path) << "GIF89a...";
  try {
    read_model(path);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    EXPECT_THAT(error.what(), HasSubstr("ONNX"));
    EXPECT_THAT(error.what(), HasSubstr("OpenVINO IR"));
  }
  fs::remove(path);
  try {
    read_model(path);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kNotFound);
    EXPECT_THAT(error.what(), HasSubstr(path.string()));
  }
  EXPECT_THROW(read_model(fs::temp_directory_path()), Error);
}

/// A Loop with a body that reads outer values: y = x + 3 * step, and all intermediate sums.
Builder looping_model() {
  Builder b;
  b.input("x", {2}).output("y");
  b.model.mutable_graph()->add_output()->set_name("all");
  auto& step = b.initializer("step", {2});
  for (float value : {1.0F, 10.0F}) step.add_float_data(value);
  auto& trips = b.initializer("trips", {}, schema::TensorProto::INT64);
  trips.add_int64_data(3);
  b.node("Relu", {"x"}, {"start"});
  auto& loop = b.node("Loop", {"trips", "", "start"}, {"y", "all"}, "loop");
  auto* attribute = loop.add_attribute();
  attribute->set_name("body");
  attribute->set_type(schema::AttributeProto::GRAPH);
  auto* body = attribute->mutable_g();
  body->set_name("body");
  Builder::value(*body->add_input(), "i", {}, schema::TensorProto::INT64);
  Builder::value(*body->add_input(), "go", {}, schema::TensorProto::BOOL);
  Builder::value(*body->add_input(), "sum", {2}, schema::TensorProto::FLOAT);
  const auto add = [&](const char* type, std::vector<std::string> in, const char* out) {
    auto* node = body->add_node();
    node->set_op_type(type);
    for (const auto& name : in) node->add_input(name);
    node->add_output(out);
  };
  add("Identity", {"go"}, "go_on");
  add("Add", {"sum", "step"}, "next");
  add("Add", {"next", "x"}, "shown");
  for (const char* name : {"go_on", "next", "shown"}) body->add_output()->set_name(name);
  return b;
}

TEST(OnnxControlFlow, ReadsBodiesThatUseWhatIsAroundThem) {
  const auto model = looping_model().read();
  EXPECT_EQ(model->output(1).get_partial_shape().to_string(), "[3,2]");  // The condition within is always true.
  const auto out = evaluate(*model, {floats({-1, 2}, {2})});
  EXPECT_THAT(values_of(out[0]), ::testing::ElementsAre(3, 32));
  EXPECT_THAT(values_of(out[1]), ::testing::ElementsAre(0, 14, 1, 24, 2, 34));
}

TEST(OnnxControlFlow, RefusesBodiesThatReadWhatNothingMakesOrUseUnknownOperations) {
  Builder dangling = looping_model();
  auto* body = dangling.model.mutable_graph()->mutable_node(1)->mutable_attribute(0)->mutable_g();
  body->mutable_node(1)->set_input(1, "nowhere");
  EXPECT_THAT(dangling.error().what(), HasSubstr("'nowhere'"));
  Builder unknown = looping_model();
  unknown.model.mutable_graph()->mutable_node(0)->set_op_type("Odd");
  unknown.model.mutable_graph()->mutable_node(1)->mutable_attribute(0)->mutable_g()->mutable_node(1)->set_op_type(
      "Fancy");
  const Error error = unknown.error();
  EXPECT_EQ(error.code(), Code::kUnimplemented);
  EXPECT_THAT(error.what(), HasSubstr("Odd"));
  EXPECT_THAT(error.what(), HasSubstr("Fancy"));
  Builder short_body = looping_model();
  short_body.model.mutable_graph()->mutable_node(1)->mutable_attribute(0)->mutable_g()->mutable_input()->RemoveLast();
  EXPECT_EQ(short_body.error().code(), Code::kInvalidArgument);
}

/// Changes limits of this process, and restores them at the end.
struct WithLimits {
  explicit WithLimits(const ModelLimits& limits) { set_model_limits(limits); }
  ~WithLimits() { set_model_limits(before); }
  const ModelLimits before = model_limits();
};

/// An If within an If, `levels` deep; the innermost gives x + 1, or x.
Builder nested_ifs(int levels) {
  Builder builder;
  builder.input("c", {}, schema::TensorProto::BOOL).input("x", {2}).output("y");
  schema::GraphProto* graph = builder.model.mutable_graph();
  std::string output = "y";
  for (int level = 0; level < levels; ++level) {
    auto& node = *graph->add_node();
    node.set_op_type("If");
    node.set_name("if" + std::to_string(level));
    node.add_input("c");
    node.add_output(output);
    schema::GraphProto* taken = nullptr;
    for (const char* branch : {"then_branch", "else_branch"}) {
      auto& attribute = *node.add_attribute();
      attribute.set_name(branch);
      attribute.set_type(schema::AttributeProto::GRAPH);
      auto& inner = *attribute.mutable_g();
      inner.set_name(branch);
      const std::string name = std::string(branch) + std::to_string(level);
      inner.add_output()->set_name(name);
      if (taken) {
        auto& same = *inner.add_node();
        same.set_op_type("Identity");
        same.add_input("x");
        same.add_output(name);
      } else {
        taken = &inner;
        output = name;
      }
    }
    graph = taken;
  }
  auto& last = *graph->add_node();
  last.set_op_type("Add");
  last.add_input("x");
  last.add_input("x");
  last.add_output(output);
  return builder;
}

TEST(OnnxLimits, NestingIsSaidToBeNesting) {
  const auto depth = static_cast<int>(model_limits().depth);
  const auto model = nested_ifs(depth).read();
  Tensor truth(ElementType::kBool, Shape{});
  *truth.data<bool>() = true;
  EXPECT_EQ(values_of(evaluate(*model, {truth, floats({1, 2}, {2})})[0]), (std::vector<float>{2, 4}));
  // Copies are as deep as their originals.
  EXPECT_NO_THROW(model->clone()->clone());
  // 33 and more exceed protobuf's own default.
  for (const int levels : {depth + 1, 33, 100, 250}) {
    const Error error = nested_ifs(levels).error();
    EXPECT_EQ(error.code(), Code::kResourceExhausted) << levels;
    EXPECT_THAT(error.what(), HasSubstr("nested deeper than 8 levels")) << levels;
    EXPECT_THAT(error.what(), HasSubstr("TENON_LIMIT_DEPTH")) << levels;
    EXPECT_THAT(error.what(), HasSubstr("'if8'")) << levels;
  }
  const Error error = nested_ifs(500).error();
  EXPECT_THAT(error.what(), HasSubstr("nested hundreds of levels deep"));
}

TEST(OnnxLimits, DepthMayBeRaised) {
  ModelLimits limits = model_limits();
  limits.depth = 40;
  const WithLimits with(limits);
  const auto model = nested_ifs(40).read();
  Tensor truth(ElementType::kBool, Shape{});
  *truth.data<bool>() = true;
  EXPECT_EQ(values_of(evaluate(*model->clone(), {truth, floats({1, 2}, {2})})[0]), (std::vector<float>{2, 4}));
  EXPECT_EQ(nested_ifs(41).error().code(), Code::kResourceExhausted);
  limits.depth = kMaxModelDepth + 1;
  EXPECT_THROW(set_model_limits(limits), Error);
  limits.depth = 0;
  EXPECT_THROW(set_model_limits(limits), Error);
  EXPECT_EQ(model_limits().depth, 40U);
}

TEST(OnnxLimits, NodesAreCounted) {
  ModelLimits limits = model_limits();
  limits.nodes = 20;
  const WithLimits with(limits);
  const auto chain = [](int length) {
    Builder builder;
    builder.input("x", {2}).output("v" + std::to_string(length - 1));
    for (int i = 0; i < length; ++i)
      builder.node("Abs", {i ? "v" + std::to_string(i - 1) : "x"}, {"v" + std::to_string(i)});
    return builder;
  };
  EXPECT_NO_THROW(chain(20).read());
  const Error error = chain(21).error();
  EXPECT_EQ(error.code(), Code::kResourceExhausted);
  EXPECT_THAT(error.what(), HasSubstr("more than 20 nodes"));
  EXPECT_THAT(error.what(), HasSubstr("TENON_LIMIT_NODES"));
  // Nodes inside graphs count too.
  limits.nodes = 11;  // Five times an If and its other branch, plus the innermost.
  set_model_limits(limits);
  EXPECT_NO_THROW(nested_ifs(5).read());
  EXPECT_EQ(nested_ifs(6).error().code(), Code::kResourceExhausted);
}

TEST(OnnxLimits, IdentitiesOfOneValueAreReadInLinearTime) {
  const auto seconds = [](int length) {
    Builder builder;
    builder.input("x", {2}).output("y");
    for (int i = 0; i < length; ++i)
      builder.node("Identity", {i ? "v" + std::to_string(i - 1) : "x"}, {"v" + std::to_string(i)});
    builder.node("Abs", {"v" + std::to_string(length - 1)}, {"y"});
    const Tensor bytes = builder.bytes();
    const std::clock_t begin = std::clock();
    read_onnx(bytes);
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  double few = 1e9, many = 1e9;
  for (int round = 0; round < 2; ++round) {
    few = std::min(few, seconds(4000));
    many = std::min(many, seconds(16000));
  }
  EXPECT_LT(many, 8 * few + 0.02) << "4000: " << few << " s, 16000: " << many << " s";
}

}  // namespace onnx_reader_test
}  // namespace tenon
