// SPDX-License-Identifier: Apache-2.0
// Dynamic shapes from end to end, and variables: the same on every device.
#include <gmock/gmock.h>
#include <algorithm>

#include <tenon/core/ledger.hpp>
#include <tenon/tests/device_conformance/allocation_count.hpp>
#include <tenon/tests/device_conformance/suite.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon::testing {
namespace shapes_and_states_test {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Shapes : public OnDevice {};
TENON_ON_EVERY_DEVICE(Shapes);
class States : public OnDevice {
 protected:
  /// value(t) = x + value(t-1), from the initialiser 2; y = value.
  static std::shared_ptr<Model> cumsum(std::size_t size = 2) {
    auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape(Shape{1, size}));
    x->output(0).set_names({"x"});
    const Attributes variable{
        {"variable_id", "sum"}, {"variable_shape", PartialShape(Shape{1, size})}, {"variable_type", element::f32}};
    auto initial = op::v0::Constant::create(element::f32, Shape{1, size}, std::vector<double>(size, 2));
    auto read = make_node("ReadValue", 6, {initial->output(0)}, variable);
    auto sum = std::make_shared<op::v1::Add>(x->output(0), read->output(0));
    auto assign = make_node("Assign", 6, {sum->output(0)}, Attributes{{"variable_id", "sum"}});
    auto y = std::make_shared<op::v0::Relu>(sum->output(0));
    y->output(0).set_names({"y"});
    return std::make_shared<Model>(OutputVector{y->output(0)}, SinkVector{assign}, ParameterVector{x}, "cumsum");
  }
};
TENON_ON_EVERY_DEVICE(States);

/// y = all x so far, one behind the other. @param is_computed  The state begins as an empty slice of x, not as nothing.
std::shared_ptr<Model> growing_model(bool is_computed) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{Dimension::dynamic(), 2});
  x->output(0).set_names({"x"});
  const PartialShape shape{Dimension::dynamic(), 2};
  const Attributes variable{{"variable_id", "rows"}, {"variable_shape", shape}, {"variable_type", element::f32}};
  const auto number = [](std::int64_t value) {
    return op::v0::Constant::create(element::i64, Shape{1}, std::vector<std::int64_t>{value});
  };
  OutputVector initial;
  if (is_computed) initial = {make_node("Slice", 8, {x, number(0), number(0), number(1), number(0)})->output(0)};
  const auto read = make_node("ReadValue", 6, initial, variable);
  const auto all = make_node("Concat", 0, {read, x}, {{"axis", std::int64_t{0}}});
  const auto assign = make_node("Assign", 6, {all}, Attributes{{"variable_id", "rows"}});
  const auto y = std::make_shared<op::v0::Relu>(all);
  y->output(0).set_names({"y"});
  return std::make_shared<Model>(OutputVector{y->output(0)}, SinkVector{assign}, ParameterVector{x}, "growing");
}

PartialShape rows_of_two(Dimension rows) { return PartialShape{rows, 2}; }

TEST_P(Shapes, SetShapeOnTheRequestsTensorReachesTheRequest) {
  auto request = core.compile_model(relu_model(rows_of_two(any_extent())), name).create_infer_request();
  Tensor x = request.get_tensor("x");
  for (const std::size_t rows : {2u, 5u, 1u, 5u}) {
    x.set_shape({rows, 2});
    for (std::size_t i = 0; i < rows * 2; ++i) x.data<float>()[i] = static_cast<float>(rows);
    EXPECT_EQ(request.get_tensor("x").data(), x.data());
    request.infer();
    const Tensor y = request.get_tensor("y");
    EXPECT_EQ(y.shape(), (Shape{rows, 2}));
    EXPECT_THAT(values_of(y), Each(static_cast<float>(rows)));
  }
  EXPECT_THAT(error_of([&] { x.set_shape({2, 3}); }).what(), HasSubstr("Could set new shape: "));
  // Once another tensor is set, the old one has no effect.
  request.set_tensor("x", floats({1, 2}, {7, -7}));
  x.set_shape({3, 2});
  request.infer();
  EXPECT_THAT(values_of(request.get_tensor("y")), ElementsAre(7, 0));
}

TEST_P(Shapes, SetShapeBesideTheRequestChangesNothingThere) {
  auto request = core.compile_model(relu_model(rows_of_two(any_extent())), name).create_infer_request();
  request.get_tensor("x").set_shape({4, 2});
  Tensor x = request.get_tensor("x");
  ASSERT_EQ(x.shape(), (Shape{4, 2})) << "also through a temporary";
  std::fill_n(x.data<float>(), 8, 1.f);
  Tensor part = x.slice({0, 0}, {2, 2});
  part.set_shape({1, 2});
  request.infer();
  EXPECT_EQ(request.get_tensor("y").shape(), (Shape{4, 2}));
  // A tensor may outlive everything that lent it.
  request = {};
  EXPECT_NO_THROW(x.set_shape({3, 2}));
  EXPECT_NO_THROW(x.set_shape({300, 2}));
}

TEST_P(Shapes, StaticPortsRefuseAnotherShape) {
  auto request = core.compile_model(relu_model(), name).create_infer_request();
  Tensor x = request.get_tensor("x");
  EXPECT_THROW(x.set_shape({2, 4}), Error);
  EXPECT_NO_THROW(request.infer());
}

TEST_P(Shapes, BoundsHold) {
  auto request = core.compile_model(relu_model(rows_of_two(Dimension(2, 4))), name).create_infer_request();
  EXPECT_THROW(request.set_tensor("x", Tensor(element::f32, {1, 2})), Error);
  EXPECT_THROW(request.set_tensor("x", Tensor(element::f32, {5, 2})), Error);
  EXPECT_THROW(request.set_tensor("x", Tensor(element::f32, {4, 3})), Error);
  EXPECT_THROW(request.set_tensor("x", Tensor(element::f32, {4, 2, 1})), Error);
  EXPECT_THROW(request.get_tensor("x").set_shape({5, 2}), Error);
  request.set_tensor("x", floats({3, 2}, {1, 2, 3, 4, 5, 6}));
  request.infer();
  EXPECT_EQ(request.get_tensor("y").shape(), (Shape{3, 2}));
}

TEST_P(Shapes, NothingSetIsAnError) {
  auto request = core.compile_model(relu_model(rows_of_two(any_extent())), name).create_infer_request();
  EXPECT_EQ(request.get_tensor("y").shape(), (Shape{0, 2}));
  EXPECT_THAT(error_of([&] { request.infer(); }).what(), HasSubstr("dynamic shape"));
}

TEST_P(Shapes, TheUsersOutputTakesWhatFitsAndIsNotOverrun) {
  auto request = core.compile_model(relu_model(rows_of_two(any_extent())), name).create_infer_request();
  std::vector<float> memory(8, -1);
  request.set_tensor("y", Tensor(element::f32, {4, 2}, memory.data()));
  request.set_tensor("x", floats({3, 2}, {1, 2, 3, 4, 5, 6}));
  request.infer();
  EXPECT_THAT(memory, ElementsAre(1, 2, 3, 4, 5, 6, -1, -1));
  EXPECT_EQ(request.get_tensor("y").shape(), (Shape{3, 2}));
  EXPECT_EQ(request.get_tensor("y").data(), memory.data());
  request.set_tensor("y", Tensor(element::f32, {1, 2}, memory.data()));
  EXPECT_THAT(error_of([&] { request.infer(); }).what(), HasSubstr("too small"));
  EXPECT_THAT(memory, ElementsAre(1, 2, 3, 4, 5, 6, -1, -1)) << "nothing may be written beside the user's tensor";
  // A tensor that owns its memory may grow.
  Tensor mine(element::f32, {1, 2});
  request.set_tensor("y", mine);
  request.infer();
  EXPECT_EQ(request.get_tensor("y").shape(), (Shape{3, 2}));
}

TEST_P(Shapes, ResultsThatWereHandedOutStay) {
  auto request = core.compile_model(relu_model(rows_of_two(any_extent())), name).create_infer_request();
  request.set_tensor("x", floats({1, 2}, {1, 2}));
  request.infer();
  const Tensor first = request.get_tensor("y");
  request.set_tensor("x", floats({3, 2}, {3, 4, 5, 6, 7, 8}));
  request.infer();
  EXPECT_EQ(first.shape(), (Shape{1, 2}));
  EXPECT_THAT(values_of(first), ElementsAre(1, 2)) << "a larger result takes other memory";
  EXPECT_THAT(values_of(request.get_tensor("y")), ElementsAre(3, 4, 5, 6, 7, 8));
}

TEST_P(States, LiveFromRunToRun) {
  auto request = core.compile_model(cumsum(), name).create_infer_request();
  request.set_tensor("x", floats({1, 2}, {1, 10}));
  request.infer();
  EXPECT_THAT(values_of(request.get_tensor("y")), ElementsAre(3, 12)) << "2 from the initialiser";
  request.infer();
  EXPECT_THAT(values_of(request.get_tensor("y")), ElementsAre(4, 22));
  auto states = request.query_state();
  ASSERT_EQ(states.size(), 1u);
  EXPECT_EQ(states[0].get_name(), "sum");
  EXPECT_THAT(values_of(states[0].get_state()), ElementsAre(4, 22));
  // The same objects for the request's life; another request has its own.
  auto other = core.compile_model(cumsum(), name).create_infer_request();
  other.set_tensor("x", floats({1, 2}, {0, 0}));
  other.infer();
  EXPECT_THAT(values_of(other.get_tensor("y")), ElementsAre(2, 2));
  EXPECT_THAT(values_of(request.query_state()[0].get_state()), ElementsAre(4, 22));
}

TEST_P(States, CanBeSetAndReset) {
  auto request = core.compile_model(cumsum(), name).create_infer_request();
  request.set_tensor("x", floats({1, 2}, {1, 1}));
  auto state = request.query_state().at(0);
  state.set_state(floats({1, 2}, {100, 200}));
  request.infer();
  EXPECT_THAT(values_of(request.get_tensor("y")), ElementsAre(101, 201));
  EXPECT_THAT(values_of(state.get_state()), ElementsAre(101, 201));
  state.reset();
  request.infer();
  EXPECT_THAT(values_of(request.get_tensor("y")), ElementsAre(3, 3)) << "reset runs the initialiser again";
  request.infer();
  request.reset_state();
  request.infer();
  EXPECT_THAT(values_of(request.get_tensor("y")), ElementsAre(3, 3));
}

TEST_P(States, CheckWhatIsSet) {
  auto request = core.compile_model(cumsum(), name).create_infer_request();
  request.set_tensor("x", floats({1, 2}, {1, 1}));
  request.infer();
  auto state = request.query_state().at(0);
  EXPECT_THROW(state.set_state(Tensor()), Error);
  EXPECT_THROW(state.set_state(Tensor(element::f32, {1, 3})), Error);
  EXPECT_THROW(VariableState().get_state(), Error);
  EXPECT_THAT(values_of(state.get_state()), ElementsAre(3, 3)) << "refusals change nothing";
  Tensor whole(element::i32, {1, 2});
  whole.data<std::int32_t>()[0] = 7;
  whole.data<std::int32_t>()[1] = -7;
  state.set_state(whole);
  request.infer();
  EXPECT_THAT(values_of(request.get_tensor("y")), ElementsAre(8, 0)) << "another type is converted";
  // The state keeps a copy: the caller's tensor stays the caller's.
  Tensor given = floats({1, 2}, {5, 5});
  state.set_state(given);
  given.data<float>()[0] = 1000;
  request.infer();
  EXPECT_THAT(values_of(request.get_tensor("y")), ElementsAre(6, 6));
}

TEST_P(States, OutliveTheirHandlesAndKeepWhatWasGiven) {
  VariableState state;
  Tensor before;
  {
    auto request = core.compile_model(cumsum(), name).create_infer_request();
    request.set_tensor("x", floats({1, 2}, {1, 1}));
    request.infer();
    state = request.query_state().at(0);
    before = state.get_state();
    request.infer();
    request.infer();
  }
  EXPECT_THAT(values_of(state.get_state()), ElementsAre(5, 5));
  if (name == "CPU" || name.rfind("GPU", 0) == 0) {
    EXPECT_THAT(values_of(before), ElementsAre(3, 3)) << "a value that someone holds is not overwritten";
  }
}

TEST_P(States, MoveWithoutAllocating) {
  if (name != "CPU" && name.rfind("GPU", 0) != 0) GTEST_SKIP() << "other devices' variables are their own business";
  auto request = core.compile_model(cumsum(), name).create_infer_request();
  request.set_tensor("x", floats({1, 2}, {1, 1}));
  // A GPU device tries ways of launching meanwhile, for as long as their times differ on a busy machine.
  constexpr int kMostRounds = 20, kInferences = 100;
  int rounds = 0;
  std::int64_t made = 1;
  while (made != 0 && ++rounds <= kMostRounds) {
    const std::int64_t before = own_allocations();
    for (int i = 0; i < kInferences; ++i) request.infer();
    made = own_allocations() - before;
  }
  EXPECT_EQ(made, 0);
  EXPECT_EQ(values_of(request.get_tensor("y"))[0], std::min(rounds, kMostRounds) * kInferences + 2);
}

/// A cache of keys and values: its shape moves from run to run.
TEST_P(States, Grow) {
  if (name.rfind("OPENVINO", 0) == 0 || name.rfind("NPU", 0) == 0) GTEST_SKIP() << "its compiler wants known shapes";
  if (name.rfind("HETERO", 0) == 0) GTEST_SKIP() << "it keeps states itself, and wants an initial value; it says so";
  if (name == "TEMPLATE") GTEST_SKIP() << "its states have one shape, as in many a device";
  for (const bool is_computed : {false, true}) {
    auto request = core.compile_model(growing_model(is_computed), name).create_infer_request();
    const auto states = request.query_state();
    ASSERT_EQ(states.size(), 1u) << "before the first run, too";
    auto state = states[0];
    // AUTO uses the first device of its list as soon as that has compiled the model.
    if (name.rfind("AUTO:TEMPLATE", 0) == 0 && state.get_state().element_count() != 0)
      GTEST_SKIP() << "AUTO went on to TEMPLATE, whose states have one shape";
    EXPECT_EQ(state.get_state().element_count(), 0u);
    std::vector<float> wanted;
    for (int round = 0; round < 2; ++round) {
      for (std::size_t rows = 1; rows < 5; ++rows) {
        const std::vector<float> values(rows * 2, static_cast<float>(rows));
        request.set_tensor("x", floats({rows, 2}, values));
        request.infer();
        wanted.insert(wanted.end(), values.begin(), values.end());
        EXPECT_THAT(values_of(request.get_tensor("y")), ::testing::ElementsAreArray(wanted));
        EXPECT_EQ(state.get_state().shape(), (Shape{wanted.size() / 2, 2}));
        EXPECT_THAT(values_of(state.get_state()), ::testing::ElementsAreArray(wanted));
      }
      state.set_state(floats({1, 2}, {7, 8}));
      request.set_tensor("x", floats({1, 2}, {9, 10}));
      request.infer();
      EXPECT_THAT(values_of(request.get_tensor("y")), ElementsAre(7, 8, 9, 10));
      state.reset();
      wanted.clear();
    }
    EXPECT_THROW(state.set_state(floats({2, 1}, {1, 2})), Error) << "of another width";
  }
}

TEST_P(States, ACancelledRunAssignsNothing) {
  if (name.rfind("OPENVINO", 0) == 0) GTEST_SKIP() << "OpenVINO promises nothing here";
  auto request = core.compile_model(cumsum(), name).create_infer_request();
  request.set_tensor("x", floats({1, 2}, {1, 1}));
  float wanted = 2;
  for (int i = 0; i < 50; ++i) {
    request.start_async();
    request.cancel();
    try {
      request.wait();
      wanted += 1;
    } catch (const Cancelled&) {
    }
  }
  request.infer();
  EXPECT_THAT(values_of(request.get_tensor("y")), ElementsAre(wanted + 1, wanted + 1));
}

}  // namespace shapes_and_states_test
}  // namespace tenon::testing
