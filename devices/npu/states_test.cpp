// SPDX-License-Identifier: Apache-2.0
// States on the NPU: initial values, resets, and growing shapes, compared with the reference interpreter.
#include <sstream>

#include <tenon/devices/npu/testing/npu.hpp>
#include <tenon/graph/ops.hpp>

namespace tenon::npu_testing {
namespace npu_states_test {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor floats(const Shape& shape, float first, float step = 1) {
  Tensor tensor(element::f32, shape);
  for (std::size_t i = 0; i < tensor.element_count(); ++i)
    tensor.data<float>()[i] = first + step * static_cast<float>(i);
  return tensor;
}

/// y = x + state; y is the next state.
std::shared_ptr<Model> sum_model(const std::function<Output<Node>(const Output<Node>& x)>& initialiser) {
  const Attributes variable{
      {"variable_id", "sum"}, {"variable_shape", PartialShape{1, 2}}, {"variable_type", element::f32}};
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 2});
  x->output(0).set_names({"x"});
  auto read = make_node("ReadValue", 6, {initialiser(x->output(0))}, variable);
  auto y = std::make_shared<op::v1::Add>(x->output(0), read->output(0));
  y->output(0).set_names({"y"});
  auto assign = make_node("Assign", 6, {y->output(0)}, Attributes{{"variable_id", "sum"}});
  return std::make_shared<Model>(OutputVector{y->output(0)}, SinkVector{assign}, ParameterVector{x}, "sum");
}

std::shared_ptr<Model> sum_from_inputs() {
  return sum_model([](const Output<Node>& x) {
    const auto factor = op::v0::Constant::create(element::f32, Shape{1}, {100});
    return std::make_shared<op::v1::Multiply>(x, factor->output(0))->output(0);
  });
}

/// Appends x's rows to the state's, up to `most`; y is all of them.
std::shared_ptr<Model> rows_model(std::int64_t max, bool from_inputs) {
  const Attributes variable{{"variable_id", "rows"},
                            {"variable_shape", PartialShape{1, Dimension(0, max), 2}},
                            {"variable_type", element::f32}};
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, Dimension(1, 3), 2});
  x->output(0).set_names({"x"});
  Output<Node> initial = op::v0::Constant::create(element::f32, Shape{1, 0, 2}, std::vector<float>{})->output(0);
  if (from_inputs) initial = std::make_shared<op::v1::Add>(x->output(0), x->output(0))->output(0);
  auto read = make_node("ReadValue", 6, {initial}, variable);
  auto y = make_node("Concat", 1, {read->output(0), x->output(0)}, Attributes{{"axis", std::int64_t{1}}});
  y->output(0).set_names({"y"});
  auto assign = make_node("Assign", 6, {y->output(0)}, Attributes{{"variable_id", "rows"}});
  return std::make_shared<Model>(OutputVector{y->output(0)}, SinkVector{assign}, ParameterVector{x}, "rows");
}

class NpuStates : public Npu {
 protected:
  /// A request, and the reference's variables.
  struct Client {
    std::shared_ptr<Model> model;
    InferRequest request;
    VariableMap variables;

    void step(const Tensor& x) {
      const Tensor expected = evaluate(*model, {x}, &variables)[0];
      request.set_tensor("x", x);
      request.infer();
      const Tensor y = request.get_tensor("y");
      ASSERT_EQ(y.shape(), expected.shape());
      ASSERT_EQ(values_of(y), values_of(expected));
      const Tensor state = request.query_state().at(0).get_state();
      const Tensor& kept = variables.begin()->second;
      ASSERT_EQ(state.shape(), kept.shape());
      ASSERT_EQ(values_of(state), values_of(kept));
    }
    void reset() {
      variables.clear();
      request.reset_state();
    }
    void set(const Tensor& value) {
      variables[request.query_state().at(0).get_name()] = value;
      request.query_state().at(0).set_state(value);
    }
  };
  /// One compiled, and one compiled, exported and imported.
  std::vector<Client> clients(const std::shared_ptr<Model>& model) {
    auto compiled = core.compile_model(model, "NPU");
    std::stringstream blob;
    compiled.export_model(blob);
    auto imported = core.import_model(blob, "NPU");
    return {{model, compiled.create_infer_request(), {}}, {model, imported.create_infer_request(), {}}};
  }
};

TEST_F(NpuStates, StartFromAConstantAgainWhenTheyAreReset) {
  const auto model = sum_model([](const auto&) {
    return op::v0::Constant::create(element::f32, Shape{1, 2}, {10, 20})->output(0);
  });
  for (Client& client : clients(model)) {
    client.step(floats({1, 2}, 1));
    client.step(floats({1, 2}, -12, -11));  // Here zeros are a value, not a reset.
    client.step(floats({1, 2}, 3));
    client.reset();
    client.step(floats({1, 2}, 5));
    client.set(floats({1, 2}, 0, 0));
    client.step(floats({1, 2}, 5));
  }
}

TEST_F(NpuStates, StartFromWhatTheInputsOfTheFirstInferenceSay) {
  for (Client& client : clients(sum_from_inputs())) {
    client.step(floats({1, 2}, 1));
    client.step(floats({1, 2}, 2));
    client.reset();
    client.step(floats({1, 2}, 3));
    client.reset();
    client.set(floats({1, 2}, 7));
    client.step(floats({1, 2}, 4));
    client.request.set_tensor("x", floats({1, 2}, 1));
    client.request.start_async();
    client.request.wait();
    EXPECT_THAT(values_of(client.request.get_tensor("y")), ElementsAre(12, 15));
  }
}

TEST_F(NpuStates, GrowWithinTheirBounds) {
  for (const bool from_inputs : {false, true}) {
    for (Client& client : clients(rows_model(12, from_inputs))) {
      for (int turn = 0; turn < 2; ++turn) {
        for (const std::size_t count : {2, 1, 3}) client.step(floats({1, count, 2}, 1));
        client.reset();
      }
      client.set(floats({1, 4, 2}, 50));
      client.step(floats({1, 1, 2}, 9));
      EXPECT_THROW(client.set(floats({1, 13, 2}, 0)), Error);
      EXPECT_THROW(client.set(floats({1, 1, 3}, 0)), Error);
    }
  }
}

TEST_F(NpuStates, ThatOutgrowTheirBoundsFailAndStay) {
  Client client = std::move(clients(rows_model(4, false)).front());
  client.step(floats({1, 3, 2}, 1));
  client.request.set_tensor("x", floats({1, 2, 2}, 1));
  EXPECT_THROW(client.request.infer(), Error);
  EXPECT_EQ(client.request.query_state().at(0).get_state().shape(), (Shape{1, 3, 2}));
  client.step(floats({1, 1, 2}, 9));
}

TEST_F(NpuStates, ComeBackWithTheDriversBlobAlone) {
  const auto model = rows_model(12, false);
  auto compiled = core.compile_model(model, "NPU", AnyMap{{"NPU_EXPORT_RAW_BLOB", true}});
  std::stringstream blob;
  compiled.export_model(blob);
  auto imported = core.import_model(blob, "NPU", AnyMap{{"NPU_IMPORT_RAW_BLOB", true}});
  auto request = imported.create_infer_request();
  for (int turn = 0; turn < 2; ++turn) {
    for (const std::size_t rows : {2, 4}) {
      request.set_input_tensor(0, floats({1, 2, 2}, 1));
      request.infer();
      EXPECT_EQ(request.get_output_tensor(0).shape(), (Shape{1, rows, 2}));
    }
    request.reset_state();
  }
}

TEST_F(NpuStates, MayComeFromRemoteTensorsOfAnyType) {
  const auto model = sum_model([](const auto&) {
    return op::v0::Constant::create(element::f32, Shape{1, 2}, {10, 20})->output(0);
  });
  auto request = core.compile_model(model, "NPU").create_infer_request();
  auto context = core.get_default_context("NPU");
  RemoteTensor remote = context.create_tensor(element::f32, Shape{1, 2});
  remote.copy_from(floats({1, 2}, 3));
  request.query_state().at(0).set_state(remote);
  EXPECT_THAT(values_of(request.query_state().at(0).get_state()), ::testing::ElementsAre(3, 4));
  RemoteTensor integers = context.create_tensor(element::i32, Shape{1, 2});
  Tensor values(element::i32, Shape{1, 2});
  values.data<std::int32_t>()[0] = 5;
  values.data<std::int32_t>()[1] = 6;
  integers.copy_from(values);
  request.query_state().at(0).set_state(integers);
  EXPECT_THAT(values_of(request.query_state().at(0).get_state()), ::testing::ElementsAre(5, 6));
}

TEST_F(NpuStates, OfOpenShapeWantBounds) {
  EXPECT_THAT(error_of([&] { core.compile_model(rows_model(-1, false), "NPU"); }, Code::kUnimplemented),
              HasSubstr("upper bounds"));
}

TEST_F(NpuStates, AreCopiedNowhere) {
  for (const auto& model : {sum_from_inputs(), rows_model(64, false)}) {
    auto request = core.compile_model(model, "NPU").create_infer_request();
    const Shape shape = model->get_friendly_name() == "sum" ? Shape{1, 2} : Shape{1, 1, 2};
    request.set_tensor("x", core.get_default_context("NPU").create_host_tensor(element::f32, shape));
    for (int i = 0; i < 19; ++i) request.infer();
    const std::uint64_t copied = request.ledger().total().copied;
    request.infer();
    // With dynamic shapes the input is copied, because its memory is smaller than the bound, and so is the output,
    // because its shape is known late.
    const std::uint64_t ports = shape.size() == 2 ? 0 : 8 + request.get_tensor("y").size_bytes();
    EXPECT_LE(request.ledger().total().copied - copied, ports);
  }
}

}  // namespace npu_states_test
}  // namespace tenon::npu_testing
