// SPDX-License-Identifier: Apache-2.0
// HETERO: which part runs where, over which memory, and that the results are the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include <tenon/core/ledger.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/runtime/runtime.hpp>
#include <tenon/tests/composite_devices/gated_device.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace tenon::testing {
namespace hetero_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// x -> Relu (first) -> Exp (second) -> Add with the Relu (first) -> y, and the Exp is a result too: values leave
/// a part, come back to it, and some of them are results.
std::shared_ptr<Model> zigzag(const std::string& first, const std::string& second,
                              const PartialShape& shape = PartialShape{1, 8}) {
  auto x = std::make_shared<op::v0::Parameter>(element::f32, shape);
  x->output(0).set_names({"x"});
  auto relu = named(std::make_shared<op::v0::Relu>(x->output(0)), "relu", first);
  auto exp = named(std::make_shared<op::v0::Exp>(relu->output(0)), "exp", second);
  auto add = named(std::make_shared<op::v1::Add>(exp->output(0), relu->output(0)), "add", first);
  exp->output(0).set_names({"e"});
  add->output(0).set_names({"y"});
  return std::make_shared<Model>(OutputVector{add->output(0), exp->output(0)}, ParameterVector{x}, "zigzag");
}

Tensor ramp(const Shape& shape, float from = -2) {
  Tensor tensor(element::f32, shape);
  for (std::size_t i = 0; i < tensor.element_count(); ++i)
    tensor.data<float>()[i] = from + 0.5f * static_cast<float>(i);
  return tensor;
}

void expect_equal(const Tensor& actual, const Tensor& expected) {
  ASSERT_EQ(actual.shape(), expected.shape());
  for (std::size_t i = 0; i < expected.element_count(); ++i) {
    const float a = actual.data<float>()[i], e = expected.data<float>()[i];
    ASSERT_NEAR(a, e, 1e-5f * (1 + std::abs(e))) << i;
  }
}

class Hetero : public ::testing::Test {
 protected:
  void SetUp() override {
    register_gated_device();
    gate.reset();
  }
  void TearDown() override { gate.reset(); }
  static void expect_right(CompiledModel model, const Model& reference, const Tensor& x) {
    const auto expected = evaluate(reference, {x});
    auto request = model.create_infer_request();
    request.set_tensor("x", x);
    request.infer();
    expect_equal(request.get_tensor("y"), expected[0]);
    expect_equal(request.get_tensor("e"), expected[1]);
  }
  Core core;
};

TEST_F(Hetero, RunsEachPartOnItsDevice) {
  const auto model = zigzag("TEMPLATE", "CPU");
  auto compiled = core.compile_model(model, "HETERO:CPU,TEMPLATE");
  EXPECT_THAT(compiled.get_property(execution_devices), ElementsAre("TEMPLATE", "CPU"));
  expect_right(compiled, *model, ramp({1, 8}));
  const auto where = core.query_model(model, "HETERO:CPU,TEMPLATE");
  EXPECT_EQ(where.at("relu"), "TEMPLATE");
  EXPECT_EQ(where.at("exp"), "CPU");
  std::map<std::string, std::string> described;
  for (const auto& node : compiled.get_runtime_model()->get_ordered_ops())
    described[node->get_friendly_name()] = node->get_rt_info().at("affinity").as<std::string>();
  EXPECT_EQ(described.at("add"), "TEMPLATE");
  EXPECT_EQ(described.at("exp"), "CPU");
}

TEST_F(Hetero, AssignsByWhatTheDevicesRun) {
  gate.only = {"Parameter", "Result", "Constant", "Relu", "Add"};
  const auto model = zigzag("", "");
  auto compiled = core.compile_model(model, "HETERO:GATED,CPU");
  EXPECT_THAT(compiled.get_property(execution_devices), ElementsAre("GATED", "CPU"));
  EXPECT_EQ(core.query_model(model, "HETERO:GATED,CPU").at("exp"), "CPU");
  expect_right(compiled, *model, ramp({1, 8}));
  EXPECT_EQ(gate.inferred, 2) << "the parts before and after the CPU's";
  EXPECT_EQ(compiled.get_property("HETERO_NUMBER_OF_SUBMODELS").as<std::size_t>(), 3u);
  EXPECT_EQ(core.query_model(model, "HETERO:GATED").count("exp"), 0u);
  try {
    core.compile_model(model, "HETERO:GATED");
    ADD_FAILURE() << "no device runs Exp";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnimplemented);
    EXPECT_THAT(error.what(), HasSubstr("exp"));
  }
}

TEST_F(Hetero, HandsTensorsOverInPlace) {
  const auto model = zigzag("TEMPLATE", "CPU");
  auto request = core.compile_model(model, "HETERO:CPU,TEMPLATE", zero_copy(ZeroCopy::kRequire)).create_infer_request();
  alignas(64) float in[8] = {-1, 2, -3, 4, 0, 1, 2, 3}, out[8] = {};
  request.set_tensor("x", Tensor(element::f32, {1, 8}, in));
  request.set_tensor("y", Tensor(element::f32, {1, 8}, out));
  request.infer();
  EXPECT_EQ(core.ledger().total().copied, 0u) << core.ledger().report();
  EXPECT_FLOAT_EQ(out[0], 1);
  in[0] = 1;
  request.infer();
  EXPECT_FLOAT_EQ(out[0], std::exp(1.f) + 1) << "the memory is read at each inference";
  EXPECT_EQ(core.ledger().total().copied, 0u);
}

TEST_F(Hetero, DynamicShapesPassThroughTheParts) {
  const auto model = zigzag("TEMPLATE", "CPU", PartialShape{Dimension(), 8});
  auto compiled = core.compile_model(model, "HETERO:CPU,TEMPLATE");
  for (const std::size_t rows : {2u, 5u, 1u}) expect_right(compiled, *model, ramp({rows, 8}));
}

TEST_F(Hetero, ExportsAndImports) {
  const auto model = zigzag("TEMPLATE", "CPU", PartialShape{Dimension(1, 9), 8});
  std::stringstream blob;
  core.compile_model(model, "HETERO:CPU,TEMPLATE").export_model(blob);
  const std::string bytes = blob.str();
  auto imported = core.import_model(blob, "HETERO");
  EXPECT_THAT(imported.get_property(execution_devices), ElementsAre("TEMPLATE", "CPU"));
  EXPECT_EQ(imported.input().get_partial_shape(), (PartialShape{Dimension(1, 9), 8}));
  expect_right(imported, *model, ramp({3, 8}));
  for (std::size_t i = 0; i < bytes.size(); i += 1 + bytes.size() / 97) {
    std::string wrong = bytes;
    wrong[i] = static_cast<char>(wrong[i] ^ 4);
    std::istringstream stream(wrong);
    EXPECT_THROW(core.import_model(stream, "HETERO"), Error) << "byte " << i;
    std::istringstream cut(bytes.substr(0, i));
    EXPECT_THROW(core.import_model(cut, "HETERO"), Error) << i << " bytes";
  }
  std::stringstream states;
  core.compile_model(stateful(), "HETERO:CPU,TEMPLATE").export_model(states);
  auto request = core.import_model(states, "HETERO").create_infer_request();
  Tensor step(element::f32, {4});
  std::fill_n(step.data<float>(), 4, 2.f);
  request.set_tensor("x", step);
  request.infer();
  request.infer();
  EXPECT_EQ(request.get_tensor("y").data<float>()[0], 5) << "1, the initial value, and twice 2";
}

TEST_F(Hetero, StatesGoFromInferenceToInference) {
  auto request = core.compile_model(stateful(), "HETERO:CPU,TEMPLATE").create_infer_request();
  Tensor step(element::f32, {4});
  std::fill_n(step.data<float>(), 4, 2.f);
  request.set_tensor("x", step);
  for (int i = 1; i <= 5; ++i) {
    request.infer();
    EXPECT_EQ(request.get_tensor("y").data<float>()[0], 1 + 2 * i);
  }
  auto states = request.query_state();
  ASSERT_EQ(states.size(), 1u);
  EXPECT_EQ(states[0].get_state().data<float>()[3], 11);
  states[0].reset();
  request.infer();
  EXPECT_EQ(request.get_tensor("y").data<float>()[0], 3);
  Tensor hundred(element::f32, {4});
  std::fill_n(hundred.data<float>(), 4, 100.f);
  states[0].set_state(hundred);
  request.infer();
  EXPECT_EQ(request.get_tensor("y").data<float>()[0], 102);
  EXPECT_EQ(hundred.data<float>()[0], 100) << "the caller's tensor is not the state";
  EXPECT_THROW(states[0].set_state(Tensor()), Error);
}

TEST_F(Hetero, WithOpenVinosDeviceWhereThereIsOne) {
  const auto all = core.get_available_devices();
  if (std::find(all.begin(), all.end(), "OPENVINO.CPU") == all.end()) GTEST_SKIP() << "no OpenVINO here";
  const auto model = zigzag("OPENVINO.CPU", "CPU");
  core.set_property("OPENVINO.CPU", hint::inference_precision(element::f32));
  auto compiled = core.compile_model(model, "HETERO:CPU,OPENVINO.CPU");
  EXPECT_THAT(compiled.get_property(execution_devices), ElementsAre("OPENVINO.CPU", "CPU"));
  expect_right(compiled, *model, ramp({1, 8}));
}

TEST_F(Hetero, PropertiesReachTheirDevices) {
  const auto model = zigzag("TEMPLATE", "CPU");
  auto compiled = core.compile_model(model, "HETERO:TEMPLATE,CPU",
                                     AnyMap{enable_profiling(true), device::properties("CPU", num_streams(2))});
  EXPECT_EQ(compiled.get_property(num_streams), 2);
  auto request = compiled.create_infer_request();
  request.set_tensor("x", ramp({1, 8}));
  request.infer();
  std::vector<std::string> nodes;
  for (const auto& info : request.get_profiling_info()) nodes.push_back(info.node_name);
  EXPECT_THAT(nodes, ::testing::IsSupersetOf({"relu", "exp", "add"}));
  EXPECT_THROW(core.compile_model(model, "HETERO:TEMPLATE,CPU", AnyMap{{"NO_SUCH", 1}}), Error);
  EXPECT_THROW(core.compile_model(zigzag("", ""), "HETERO"), Error) << "no devices named";
  EXPECT_THROW(core.compile_model(zigzag("GPU", "CPU"), "HETERO:TEMPLATE,CPU"), Error) << "affinity to a stranger";
}

TEST_F(Hetero, PartsComeFromTheCache) {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path().string();
  for (int round = 0; round < 2; ++round) {
    const auto model = zigzag("TEMPLATE", "CPU");
    auto compiled = core.compile_model(model, "HETERO:TEMPLATE,CPU", cache_dir(folder));
    expect_right(compiled, *model, ramp({1, 8}));
    EXPECT_EQ(compiled.get_property(loaded_from_cache), round == 1);
  }
  std::size_t entries = 0;
  for ([[maybe_unused]] const auto& item : std::filesystem::directory_iterator(folder)) ++entries;
  EXPECT_EQ(entries, 3u) << "one per part, found again in the second round";
}

}  // namespace hetero_test
}  // namespace tenon::testing
