// SPDX-License-Identifier: Apache-2.0
// Initial values of states, and states that grow, compared with the reference interpreter and its own variables.
#include <gmock/gmock.h>

#include <algorithm>

#include <tenon/core/error.hpp>
#include <tenon/drivers/npu/testing/compiled.hpp>

namespace tenon::npu::compiler {
namespace compiler_states_test {

using ::testing::HasSubstr;

/// y = state + x, which is also the next state; x, y and the state have one shape.
std::shared_ptr<Model> sum_model(const std::function<Output<Node>(const Output<Node>& x)>& initialiser) {
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 4});
  x->set_friendly_name("x");
  Attributes variable({{"variable_id", Attribute(std::string("sum"))},
                       {"variable_type", Attribute(ElementType::kF32)},
                       {"variable_shape", Attribute(PartialShape{1, 4})}});
  auto read = make_node("ReadValue", 6, {initialiser(x->output(0))}, variable, "read");
  auto sum = std::make_shared<op::v1::Add>(read->output(0), x->output(0));
  sum->set_friendly_name("y");
  auto assign = make_node("Assign", 6, {sum->output(0)}, Attributes({{"variable_id", Attribute(std::string("sum"))}}));
  auto result = std::make_shared<op::v0::Result>(sum->output(0));
  return std::make_shared<Model>(ResultVector{result}, SinkVector{assign}, ParameterVector{x}, "sum");
}

Output<Node> constant(const Shape& shape, const std::vector<double>& values) {
  return std::make_shared<op::v0::Constant>(element::f32, shape, values)->output(0);
}

/// Appends x, of up to three rows, to a state of up to `most` rows; y is all of them.
/// @param first_rows  Rows of the initialiser; -1: none.
std::shared_ptr<Model> growing_model(std::int64_t max, int first_rows) {
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, Dimension(1, 3), 2});
  x->set_friendly_name("x");
  Attributes variable({{"variable_id", Attribute(std::string("rows"))},
                       {"variable_type", Attribute(ElementType::kF32)},
                       {"variable_shape", Attribute(PartialShape{1, Dimension(0, max), 2})}});
  OutputVector inputs;
  if (first_rows == 1) inputs.push_back(constant({1, 1, 2}, {7, 8}));
  if (first_rows == 0) inputs.push_back(constant({1, 0, 2}, {}));
  auto read = make_node("ReadValue", 6, inputs, variable, "read");
  auto rows =
      make_node("Concat", 1, {read->output(0), x->output(0)}, Attributes({{"axis", Attribute(std::int64_t{1})}}));
  rows->set_friendly_name("y");
  auto assign =
      make_node("Assign", 6, {rows->output(0)}, Attributes({{"variable_id", Attribute(std::string("rows"))}}));
  auto result = std::make_shared<op::v0::Result>(rows->output(0));
  return std::make_shared<Model>(ResultVector{result}, SinkVector{assign}, ParameterVector{x}, "rows");
}

/// A client's request with one state, and the reference to compare with.
class Client {
 public:
  /// @param judge  The reference model, if not `model` itself.
  explicit Client(const std::shared_ptr<Model>& model, const std::shared_ptr<Model>& judge = nullptr)
      : model_(judge ? judge : model), program_(program_of(*model)), run_(program_) {
    for (std::size_t i = 0; i < program_->arguments().size(); ++i) {
      const Argument& argument = program_->arguments()[i];
      memory_.emplace_back(argument.type, argument.max_shape());
      std::memset(memory_[i].data(), 0, memory_[i].size_bytes());
      if (argument.role == Argument::Role::kState) {
        if (argument.is_input) state_ = i;
        memory_[i] = memory_[state_];
      }
      run_.set_argument(i, memory_[i].data());
    }
  }
  void reset() {
    std::memset(memory_[state_].data(), 0, memory_[state_].size_bytes());
    variables_.clear();
  }
  Tensor& state() { return memory_[state_]; }
  ProgramRun& run() { return run_; }
  /// Runs one inference and compares y with the reference.
  void step(const Tensor& x) {
    const Tensor expected = evaluate(*model_, {x}, &variables_)[0];
    write(x);
    static engine::Workers workers(2);
    run_.execute(workers);
    const Tensor& y = memory_[output()];
    ASSERT_LE(expected.size_bytes(), y.size_bytes());
    for (std::size_t i = 0; i < expected.element_count(); ++i)
      ASSERT_FLOAT_EQ(y.data<float>()[i], expected.data<float>()[i]) << i;
    for (std::size_t i = 0; i < program_->arguments().size(); ++i) {
      const Argument& argument = program_->arguments()[i];
      if (argument.role != Argument::Role::kShape || argument.is_input) continue;
      ASSERT_EQ(memory_[i].data<std::int32_t>()[1], static_cast<std::int32_t>(expected.shape()[1]));
    }
  }

 private:
  void write(const Tensor& x) {
    for (std::size_t i = 0; i < program_->arguments().size(); ++i) {
      const Argument& argument = program_->arguments()[i];
      if (!argument.is_input || argument.role == Argument::Role::kState) continue;
      if (argument.role == Argument::Role::kPort) std::memcpy(memory_[i].data(), x.data(), x.size_bytes());
      if (argument.role == Argument::Role::kShape)
        for (std::size_t k = 0; k < x.shape().size(); ++k)
          memory_[i].data<std::int32_t>()[k] = static_cast<std::int32_t>(x.shape()[x.shape().size() - 1 - k]);
    }
  }
  std::size_t output() const {
    for (std::size_t i = 0;; ++i)
      if (!program_->arguments()[i].is_input && program_->arguments()[i].role == Argument::Role::kPort) return i;
  }

  std::shared_ptr<Model> model_;
  std::shared_ptr<Program> program_;
  ProgramRun run_;
  std::vector<Tensor> memory_;
  std::size_t state_ = 0;
  VariableMap variables_;
};

Tensor row(float value) {
  Tensor x(ElementType::kF32, {1, 4});
  std::fill_n(x.data<float>(), 4, value);
  return x;
}

TEST(StateInitialisers, AConstantIsWhatAResetStateStartsFrom) {
  Client client(sum_model([](const auto&) { return constant({1, 4}, {1, 2, 3, 4}); }));
  for (int turn = 0; turn < 3; ++turn) {
    for (const float value : {0.5f, -2.f, 3.f}) client.step(row(value));
    client.reset();
  }
  EXPECT_EQ(client.run().copied_bytes(), 0u);
}

TEST(StateInitialisers, ZerosThatARunLeavesAreAValue) {
  Client client(sum_model([](const auto&) { return constant({1, 4}, {5, 5, 5, 5}); }));
  client.step(row(-5));
  client.step(row(0));
  client.step(row(1));
}

TEST(StateInitialisers, WhatAClientWritesStays) {
  Client client(sum_model([](const auto&) { return constant({1, 4}, {5, 5, 5, 5}); }));
  std::fill_n(client.state().data<float>(), 4, 40.f);
  engine::Workers workers(2);
  client.run().execute(workers);
  EXPECT_FLOAT_EQ(client.state().data<float>()[0], 40);
}

TEST(StateInitialisers, AreComputedFromInputs) {
  Client client(sum_model([](const Output<Node>& x) {
    return std::make_shared<op::v1::Multiply>(x, constant({1, 4}, {1, 10, 100, 1000}))->output(0);
  }));
  for (const float first : {2.f, -3.f}) {
    client.step(row(first));
    client.step(row(7));
    client.reset();
  }
}

TEST(StateInitialisers, SeeInputsAsTheClientGivesThem) {
  const auto model = sum_model(
      [](const Output<Node>& x) { return std::make_shared<op::v1::Multiply>(x, constant({1}, {10}))->output(0); });
  const auto program = program_of(*model, "--inputs_precisions=\"0:U8\"");
  ProgramRun run(program);
  std::uint8_t x[4] = {1, 2, 3, 4};
  std::vector<float> state(4), y(4);
  run.set_argument(0, x);
  run.set_argument(1, state.data());
  run.set_argument(2, y.data());
  run.set_argument(3, state.data());
  engine::Workers workers(2);
  run.execute(workers);
  EXPECT_EQ(y, (std::vector<float>{11, 22, 33, 44}));
}

TEST(StateInitialisers, ThatReadAnotherVariableAreRefused) {
  const auto model = sum_model([](const auto&) {
    return make_node("ReadValue", 6, {},
                     Attributes({{"variable_id", Attribute(std::string("other"))},
                                 {"variable_type", Attribute(ElementType::kF32)},
                                 {"variable_shape", Attribute(PartialShape{1, 4})}}))
        ->output(0);
  });
  try {
    program_of(*model);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnimplemented);
    EXPECT_THAT(error.what(), HasSubstr("'other'"));
  }
}

Tensor rows(std::size_t count, float first) {
  Tensor x(ElementType::kF32, {1, count, 2});
  for (std::size_t i = 0; i < 2 * count; ++i) x.data<float>()[i] = first + static_cast<float>(i);
  return x;
}

TEST(OpenStates, GrowWithinTheirBoundsAndComeBackWhenReset) {
  for (const int first_rows : {-1, 0, 1}) {
    Client client(growing_model(8, first_rows), growing_model(8, std::max(first_rows, 0)));
    for (int turn = 0; turn < 2; ++turn) {
      for (const std::size_t count : {2, 1, 3}) client.step(rows(count, 1));
      client.reset();
    }
  }
}

TEST(OpenStates, ZerosAreRowsToo) {
  Client client(growing_model(8, 0));
  Tensor zero(ElementType::kF32, {1, 2, 2});
  std::memset(zero.data(), 0, zero.size_bytes());
  client.step(zero);
  client.step(zero);
  client.step(rows(1, 3));
}

TEST(OpenStates, PastTheirBoundsAreAnErrorAndKeepWhatTheyHad) {
  Client client(growing_model(4, 0));
  client.step(rows(3, 1));
  const Tensor before = client.state();
  std::vector<float> held(before.data<float>(), before.data<float>() + 8);
  try {
    client.step(rows(3, 9));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kOutOfRange);
    EXPECT_THAT(error.what(), HasSubstr("vpux_ie_assign_rows"));
  }
  EXPECT_EQ(std::vector<float>(before.data<float>(), before.data<float>() + 8), held);
}

TEST(OpenStates, WantUpperBounds) { EXPECT_THROW(program_of(*growing_model(-1, 0)), Error); }

}  // namespace compiler_states_test
}  // namespace tenon::npu::compiler
