// SPDX-License-Identifier: Apache-2.0
// The IR reader: accepted models, and refused ones with their messages.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tenon/core/mapped_file.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/limits.hpp>
#include <tenon/graph/readers/openvino_ir/ir_reader.hpp>
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>

#include <tenon/tests/support/error_of.hpp>

namespace tenon {
namespace ir_reader_test {

using ::testing::HasSubstr;

std::string net(const std::string& layers, const std::string& edges, const std::string& rest = "", int version = 11) {
  return "<?xml version=\"1.0\"?><net name=\"m\" version=\"" + std::to_string(version) + "\"><layers>" + layers +
         "</layers><edges>" + edges + "</edges>" + rest + "</net>";
}
std::string parameter(const std::string& id, const std::string& shape) {
  return "<layer id=\"" + id + "\" name=\"p" + id + "\" type=\"Parameter\" version=\"opset1\"><data shape=\"" + shape +
         "\" element_type=\"f32\"/><output><port id=\"0\" precision=\"FP32\" names=\"x" + id +
         R"(,odd\,name"/></output></layer>)";
}
std::string layer(const std::string& id, const std::string& type, int inputs, const std::string& data = "",
                  const std::string& version = "opset1") {
  std::string text = "<layer id=\"" + id + "\" name=\"l" + id + "\" type=\"" + type + "\" version=\"" + version +
                     "\">" + data + "<input>";
  for (int i = 0; i < inputs; ++i) text += "<port id=\"" + std::to_string(i) + "\"/>";
  text += "</input>";
  if (type != "Result") text += "<output><port id=\"" + std::to_string(inputs) + "\" names=\"y" + id + "\"/></output>";
  return text + "</layer>";
}
std::string edge(int from, int from_port, int to, int to_port) {
  return "<edge from-layer=\"" + std::to_string(from) + "\" from-port=\"" + std::to_string(from_port) +
         "\" to-layer=\"" + std::to_string(to) + "\" to-port=\"" + std::to_string(to_port) + "\"/>";
}
std::string constant(const std::string& id, const std::string& type, const std::string& shape, std::size_t offset,
                     std::size_t size) {
  return "<layer id=\"" + id + "\" name=\"c" + id + "\" type=\"Const\" version=\"opset1\"><data element_type=\"" +
         type + "\" shape=\"" + shape + "\" offset=\"" + std::to_string(offset) + "\" size=\"" + std::to_string(size) +
         "\"/><output><port id=\"0\"/></output></layer>";
}
std::string relu_net(const std::string& shape) {
  return net(parameter("0", shape) + layer("1", "ReLU", 1) + layer("2", "Result", 1),
             edge(0, 0, 1, 0) + edge(1, 1, 2, 0));
}

Error read_error(const std::string& xml, const Tensor& weights = {}) {
  return error_of([&] { read_ir(xml, weights); });
}

TEST(IrReader, TakesShapesNamesAndVersion11) {
  const auto model = read_ir(relu_net("1,?,2..8,-1,3.."), {});
  EXPECT_EQ(model->get_friendly_name(), "m");
  EXPECT_EQ(model->input(0).get_partial_shape().to_string(), "[1,?,2..8,?,3..]");
  EXPECT_EQ(model->input("odd,name"), model->input("x0"));
  EXPECT_EQ(model->output("y1").get_element_type(), element::f32);
  const float values[] = {-1, 2, -3, 4, 5, -6};
  const auto small = read_ir(relu_net("2, 3"), {});
  Tensor x(ElementType::kF32, Shape{2, 3});
  std::memcpy(x.data(), values, sizeof values);
  const auto y = evaluate(*small, {x});
  EXPECT_THAT(std::vector<float>(y[0].data<float>(), y[0].data<float>() + 6), ::testing::ElementsAre(0, 2, 0, 4, 5, 0));
}

TEST(IrReader, NamesInputsAndOutputsOfVersion10AfterTheirLayers) {
  const auto model =
      read_ir(net("<layer id=\"0\" name=\"data\" type=\"Parameter\" version=\"opset1\"><data shape=\"2\" "
                  "element_type=\"f32\"/><output><port id=\"0\"/></output></layer>" +
                      layer("1", "ReLU", 1) + layer("2", "Result", 1),
                  edge(0, 0, 1, 0) + edge(1, 1, 2, 0), "", 10),
              {});
  EXPECT_EQ(model->input("data").get_any_name(), "data");
  EXPECT_EQ(model->output("l1").get_node()->get_friendly_name(), "l2");
}

TEST(IrReader, UsesAlignedConstantsInPlaceAndCopiesOthers) {
  Tensor weights(ElementType::kU8, Shape{64});
  auto* bytes = weights.data<std::uint8_t>();
  const float values[] = {1.5F, -2.5F};
  std::memcpy(bytes + 8, values, sizeof values);
  std::memcpy(bytes + 33, values, sizeof values);
  const auto read = [&](std::size_t offset) {
    return read_ir(
        net(parameter("0", "2") + constant("1", "f32", "2", offset, 8) + layer("2", "Add", 2) + layer("3", "Result", 1),
            edge(0, 0, 2, 0) + edge(1, 0, 2, 1) + edge(2, 2, 3, 0)),
        weights);
  };
  const auto constant_of = [](const std::shared_ptr<Model>& model) {
    return as_type_ptr<op::v0::Constant>(
        model->get_results()[0]->get_input_node_shared_ptr(0)->get_input_node_shared_ptr(1));
  };
  const auto in_place = read(8), copied = read(33);
  EXPECT_EQ(constant_of(in_place)->get_data_ptr(), bytes + 8);
  EXPECT_NE(constant_of(copied)->get_data_ptr(), bytes + 33);
  EXPECT_EQ(constant_of(copied)->cast_vector<float>(), (std::vector<float>{1.5F, -2.5F}));
}

TEST(IrReader, ReadsConstantsOfTwoThreeAndSixBits) {
  // The bytes of OpenVINO 2026.4.1's constants of these numbers.
  struct Case {
    const char* type;
    std::vector<std::uint8_t> bytes;
    std::vector<float> numbers;
  };
  for (const Case& each :
       {Case{"u2", {0x39, 0x39, 0x01}, {1, 2, 3, 0, 1, 2, 3, 0, 1}},
        Case{"u3", {0x6c, 0x6c, 0x4b, 0x6c, 0x00, 0x40}, {1, 6, 3, 0, 5, 2, 7, 4, 1, 6, 3}},
        Case{"u6", {0x16, 0xb0, 0x01, 0x5a, 0xf4, 0x56, 0x90, 0x00, 0x80}, {1, 6, 11, 16, 21, 26, 31, 36, 41}}}) {
    Tensor weights(ElementType::kU8, Shape{each.bytes.size()});
    std::memcpy(weights.data(), each.bytes.data(), each.bytes.size());
    const auto text = [&](std::size_t size) {
      return net(constant("0", each.type, std::to_string(each.numbers.size()), 0, size) +
                     layer("1", "Convert", 1, "<data destination_type=\"f32\"/>") + layer("2", "Result", 1),
                 edge(0, 0, 1, 0) + edge(1, 1, 2, 0));
    };
    const Tensor y = evaluate(*read_ir(text(each.bytes.size()), weights), {})[0];
    EXPECT_EQ(std::vector<float>(y.data<float>(), y.data<float>() + y.element_count()), each.numbers) << each.type;
    EXPECT_THAT(read_error(text(each.bytes.size() - 1), weights).what(), HasSubstr("constant 'c0'")) << each.type;
  }
}

TEST(IrReader, RefusesConstantsThatReachPastTheWeightsOrMisstateTheirSize) {
  const auto read = [](const std::string& type, const std::string& shape, std::size_t offset, std::size_t size) {
    return read_error(net(constant("0", type, shape, offset, size) + layer("1", "Result", 1), edge(0, 0, 1, 0)),
                      Tensor(ElementType::kU8, Shape{16}));
  };
  EXPECT_EQ(read("f32", "4", 8, 16).code(), Code::kDataLoss);
  EXPECT_EQ(read("f32", "4", ~std::size_t{0}, 16).code(), Code::kDataLoss);
  EXPECT_EQ(read("f32", "4", 0, ~std::size_t{0}).code(), Code::kDataLoss);
  const Error wrong = read("f32", "4", 0, 12);
  EXPECT_EQ(wrong.code(), Code::kInvalidArgument);
  EXPECT_THAT(wrong.what(), HasSubstr("needs 16 bytes, but its size says 12"));
  EXPECT_EQ(read("f32", "4611686018427387904,4611686018427387904", 0, 0).code(), Code::kInvalidArgument);
  EXPECT_EQ(read("string", "4", 0, 16).code(), Code::kUnimplemented);
}

TEST(IrReader, ListsAllMissingOperationsAtOnce) {
  const Error error = read_error(net(parameter("0", "2") + layer("1", "Frobnicate", 1) + layer("2", "Frobnicate", 1) +
                                         layer("3", "Relu", 1, "", "extension") + layer("4", "Result", 1),
                                     edge(0, 0, 1, 0) + edge(1, 1, 2, 0) + edge(2, 1, 3, 0) + edge(3, 1, 4, 0)));
  EXPECT_EQ(error.code(), Code::kUnimplemented);
  EXPECT_THAT(error.what(), HasSubstr("Frobnicate of opset1 at 'l1' and 1 more"));
  EXPECT_THAT(error.what(), HasSubstr("Relu of extension at 'l3'"));
  EXPECT_THAT(error.what(), HasSubstr("Convolution"));
}

TEST(IrReader, RefusesBrokenGraphs) {
  const std::string p = parameter("0", "2"), relu = layer("1", "ReLU", 1), result = layer("2", "Result", 1);
  const auto message = [](const std::string& xml) {
    const Error error = read_error(xml);
    EXPECT_EQ(error.code(), Code::kInvalidArgument) << error.what();
    return std::string(error.what());
  };
  EXPECT_THAT(message("<net"), HasSubstr("not well-formed"));
  EXPECT_THAT(message("<nets/>"), HasSubstr("no <net>"));
  EXPECT_THAT(message("<net version=\"7\"/>"), HasSubstr("supported are 10 and 11"));
  EXPECT_THAT(message(net("", "")), HasSubstr("no layers"));
  EXPECT_THAT(message(net(p + p, "")), HasSubstr("two layers"));
  EXPECT_THAT(message(net(p + relu, edge(0, 0, 1, 0))), HasSubstr("no Result"));
  EXPECT_THAT(message(net(p + relu + result, edge(1, 1, 2, 0))), HasSubstr("has no edge"));
  EXPECT_THAT(message(net(p + relu + result, edge(0, 0, 1, 0) + edge(0, 0, 1, 0) + edge(1, 1, 2, 0))),
              HasSubstr("two edges"));
  EXPECT_THAT(message(net(p + relu + result, edge(0, 3, 1, 0) + edge(1, 1, 2, 0))), HasSubstr("port \"3\""));
  EXPECT_THAT(message(net(p + relu + result, edge(9, 0, 1, 0) + edge(1, 1, 2, 0))), HasSubstr("layer \"9\""));
  EXPECT_THAT(message(net(p + relu + layer("3", "Add", 2) + result,
                          edge(0, 0, 3, 0) + edge(1, 1, 3, 1) + edge(3, 2, 1, 0) + edge(1, 1, 2, 0))),
              HasSubstr("cycle"));
  EXPECT_THAT(message(relu_net("1,x")), HasSubstr("\"1,x\" is not a shape"));
  std::string deep;
  for (int i = 0; i < 200; ++i) deep += "<a>";
  for (int i = 0; i < 200; ++i) deep += "</a>";
  EXPECT_THAT(message(net(p + relu + result, edge(0, 0, 1, 0) + edge(1, 1, 2, 0), "<rt_info>" + deep + "</rt_info>")),
              HasSubstr("nested deeper"));
}

TEST(IrReader, GivesModelInfoAsNestedMaps) {
  const auto model = read_ir(
      net(parameter("0", "2") + layer("1", "ReLU", 1) + layer("2", "Result", 1), edge(0, 0, 1, 0) + edge(1, 1, 2, 0),
          "<rt_info><model_info><labels value=\"a b\"/><mean_values value=\"1 2.5 3\"/></model_info>"
          "<info name=\"odd key\" value=\"7\"/></rt_info>"),
      {});
  const AnyMap info = model->get_rt_info().at("model_info").as<AnyMap>();
  EXPECT_EQ(info.at("labels").as<std::string>(), "a b");
  EXPECT_EQ(info.at("mean_values").as<std::vector<float>>(), (std::vector<float>{1, 2.5F, 3}));
  EXPECT_EQ(model->get_rt_info().at("odd key").as<int>(), 7);
}

TEST(IrReader, RunsStateThroughReadValueAndAssign) {
  Tensor weights(ElementType::kU8, Shape{8});
  const float zero[] = {0, 0};
  std::memcpy(weights.data(), zero, sizeof zero);
  const std::string state = "<data variable_id=\"s\" variable_type=\"f32\" variable_shape=\"2\"/>";
  const auto model =
      read_ir(net(parameter("0", "2") + constant("1", "f32", "2", 0, 8) + layer("2", "ReadValue", 1, state, "opset6") +
                      layer("3", "Add", 2) + layer("4", "Assign", 1, "<data variable_id=\"s\"/>", "opset6") +
                      layer("5", "Result", 1),
                  edge(1, 0, 2, 0) + edge(0, 0, 3, 0) + edge(2, 1, 3, 1) + edge(3, 2, 4, 0) + edge(3, 2, 5, 0)),
              weights);
  ASSERT_EQ(model->get_sinks().size(), 1U);
  Tensor x(ElementType::kF32, Shape{2});
  x.data<float>()[0] = 1;
  x.data<float>()[1] = 2;
  VariableMap variables;
  for (int run = 1; run <= 3; ++run) {
    const auto y = evaluate(*model, {x}, &variables);
    EXPECT_EQ(y[0].data<float>()[0], static_cast<float>(run));
    EXPECT_EQ(y[0].data<float>()[1], static_cast<float>(2 * run));
  }
}

// Version 10 has no tensor names and no output_names; its layers are described in the same way.
TEST(IrReader, ReadsNetworksOfVersion10LikeThoseOf11) {
  const char* zoo = std::getenv("TENON_ZOO");
  for (const char* name : {"bert_tiny", "lstm_tiny", "loop_tiny"}) {
    const std::filesystem::path path = std::filesystem::path(zoo ? zoo : "zoo") / (std::string(name) + ".xml");
    const Tensor bytes = map_file(path), weights = map_file(std::filesystem::path(path).replace_extension(".bin"));
    const std::string text(static_cast<const char*>(bytes.data()), bytes.size_bytes());
    const std::string old = std::regex_replace(std::regex_replace(text, std::regex(" (output_)?names=\"[^\"]*\""), ""),
                                               std::regex("version=\"11\""), "version=\"10\"");
    const auto eleven = read_ir(text, weights), ten = read_ir(old, weights);
    std::vector<Tensor> inputs;
    for (const auto& input : eleven->inputs()) {
      inputs.emplace_back(input.get_element_type(), input.get_shape());
      std::memset(inputs.back().data(), 0, inputs.back().size_bytes());
    }
    const auto expected = evaluate(*eleven, inputs), actual = evaluate(*ten, inputs);
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i)
      EXPECT_EQ(0, std::memcmp(actual[i].data(), expected[i].data(), expected[i].size_bytes())) << name;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      EXPECT_EQ(ten->input(i).get_any_name(), eleven->input(i).get_node()->get_friendly_name()) << name;
  }
}

// A state of version 3 (type and shape from the initial value) next to the later form.
TEST(IrReader, RunsStatesOfTheFirstForm) {
  Tensor weights(ElementType::kU8, Shape{8});
  const float initial[] = {5, 7};
  std::memcpy(weights.data(), initial, sizeof initial);
  const std::string state = "<data variable_id=\"s\"/>";
  const auto model =
      read_ir(net(parameter("0", "2") + constant("1", "f32", "2", 0, 8) + layer("2", "ReadValue", 1, state, "opset3") +
                      layer("3", "Add", 2) + layer("4", "Assign", 1, state, "opset3") + layer("5", "Result", 1),
                  edge(1, 0, 2, 0) + edge(0, 0, 3, 0) + edge(2, 1, 3, 1) + edge(3, 2, 4, 0) + edge(3, 2, 5, 0)),
              weights);
  Tensor x(ElementType::kF32, Shape{2});
  x.data<float>()[0] = x.data<float>()[1] = 1;
  VariableMap variables;
  evaluate(*model, {x}, &variables);
  const auto y = evaluate(*model, {x}, &variables);
  EXPECT_EQ(y[0].data<float>()[0], 7);
  EXPECT_EQ(y[0].data<float>()[1], 9);
}

TEST(IrReader, NamesEveryMissingOperationWithinBodiesToo) {
  const std::string inner = "<body><layers>" + layer("0", "Fancy", 1) + "</layers></body>";
  try {
    read_ir(net(parameter("0", "2") + layer("1", "Odd", 1) +
                    "<layer id=\"2\" name=\"it\" type=\"TensorIterator\" version=\"opset1\">" + inner + "</layer>",
                edge(0, 0, 1, 0)),
            {});
    ADD_FAILURE() << "unknown operations were accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnimplemented);
    EXPECT_THAT(error.what(), HasSubstr("Fancy"));
    EXPECT_THAT(error.what(), HasSubstr("Odd"));
  }
}

TEST(IrReader, ReadsALayerOfManyInputsInLinearTime) {
  const auto seconds = [](std::size_t inputs) {
    const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape(Shape{1}));
    const auto joined = std::make_shared<op::v0::Concat>(OutputVector(inputs, x), 0);
    const SerializedModel text =
        serialize(*std::make_shared<Model>(OutputVector{joined->output(0)}, ParameterVector{x}));
    const std::clock_t begin = std::clock();
    EXPECT_EQ(read_ir(text.xml, text.weights)->output().get_shape(), Shape{inputs});
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  double few = 1e9, many = 1e9;
  for (int round = 0; round < 2; ++round) {
    few = std::min(few, seconds(8000));
    many = std::min(many, seconds(32000));
  }
  EXPECT_LT(many, 8 * few + 0.02) << "8,000 inputs: " << few << " s, 32,000: " << many << " s";
}

TEST(IrReader, CountsLayersOfBodiesToo) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape(Shape{1}));
  std::shared_ptr<Node> last = x;
  for (int i = 0; i < 18; ++i) last = std::make_shared<op::v0::Relu>(last);
  const SerializedModel text = serialize(*std::make_shared<Model>(OutputVector{last->output(0)}, ParameterVector{x}));
  const ModelLimits before = model_limits();
  ModelLimits limits = before;
  limits.nodes = 20;
  set_model_limits(limits);
  EXPECT_NO_THROW(read_ir(text.xml, text.weights));
  limits.nodes = 19;
  set_model_limits(limits);
  try {
    read_ir(text.xml, text.weights);
    ADD_FAILURE() << "more nodes than allowed were read";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kResourceExhausted);
    EXPECT_THAT(error.what(), HasSubstr("more than 19 layers"));
    EXPECT_THAT(error.what(), HasSubstr("TENON_LIMIT_NODES"));
  }
  set_model_limits(before);
}

}  // namespace ir_reader_test
}  // namespace tenon
