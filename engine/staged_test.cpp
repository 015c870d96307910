// SPDX-License-Identifier: Apache-2.0
// Models whose shapes depend on values, in stages, against the reference.
#include <tenon/engine/staged.hpp>
#include <tenon/engine/testing/judged_models.hpp>
#include <tenon/graph/subgraph.hpp>

namespace tenon::engine_test {
namespace {

using engine::Staged;
using op::v0::Constant;
using op::v0::Parameter;

engine::Options two_threads() {
  engine::Options options;
  options.threads = 2;
  return options;
}

void expect_as_reference(Staged& staged, const std::shared_ptr<Model>& model, const std::vector<Tensor>& inputs) {
  engine::Workers workers(2);
  const auto wanted = evaluate(*model, inputs), got = staged.run(model, inputs, workers);
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) expect_close(wanted[i], got[i], "output " + std::to_string(i));
}

Tensor count_tensor(std::int64_t value) {
  Tensor tensor(ElementType::kI64, Shape{});
  *tensor.data<std::int64_t>() = value;
  return tensor;
}

TEST(Staged, PlansWhatComesBeforeAndAfterAValueDependentShape) {
  auto x = parameter(Shape{1, 3, 8, 8});
  const Out feature = op1("Relu", 1, {convolution(x, 4, 3, 1, 1)});
  const Out flat = op1("Reshape", 1, {feature, ints({-1})}, {{"special_zero", false}});
  const Out where = op1("NonZero", 3, {flat}, {{"output_type", ElementType::kI64}});  // [1, ?]
  const Out picked = op1("Gather", 8, {flat, op1("Squeeze", 1, {where, ints({0})}), scalar_int(0)});
  const Out scaled = op1("Sigmoid", 1, {op1("Multiply", 1, {picked, scalar(0.5)})});
  const Out sum = op1("ReduceSum", 1, {scaled, ints({0})}, {{"keep_dims", false}});
  const auto model = std::make_shared<Model>(OutputVector{sum, feature, scaled, where}, ParameterVector{x});
  Staged staged(two_threads());
  const auto one = random_tensor(ElementType::kF32, Shape{1, 3, 8, 8}, 1);
  for (int i = 0; i < 3; ++i) expect_as_reference(staged, model, {one});
  EXPECT_EQ(staged.store().counts().made, 2U);  // The part before the NonZero, and the part after it.
  // Every input has another number of positive values: that part has a plan for each, and the convolution's weights
  // are packed only once.
  const std::size_t packed = staged.store().counts().packed;
  for (unsigned seed = 2; seed < 20; ++seed)
    expect_as_reference(staged, model, {random_tensor(ElementType::kF32, Shape{1, 3, 8, 8}, seed)});
  EXPECT_GT(staged.store().counts().made, 8U);
  EXPECT_EQ(staged.store().counts().packed, packed);
}

std::shared_ptr<Model> looping(bool grows) {
  auto trips = parameter(Shape{}, element::i64);
  auto start = parameter(Shape{2, 4});
  auto state = std::make_shared<Parameter>(element::f32, PartialShape::dynamic());
  const Out next = grows ? op1("Concat", 1, {state, op1("Tanh", 1, {state})}, {{"axis", 0}})
                         : op1("Tanh", 1, {op1("MatMul", 1, {state, weights(Shape{4, 4})})});
  const Out row = op1("Unsqueeze", 1, {op1("ReduceMax", 1, {next, ints({0})}, {{"keep_dims", false}}), ints({0})});
  const Out truth = std::make_shared<Constant>(element::boolean, Shape{}, std::vector<std::int64_t>{1});
  auto loop = std::make_shared<op::v5::Loop>(trips, truth);
  loop->set_function(std::make_shared<Model>(OutputVector{truth, next, row}, ParameterVector{state}));
  loop->set_special_body_ports({-1, 0});
  loop->set_merged_input(state, start, next);
  const OutputVector outputs{loop->get_iter_value(next), loop->get_concatenated_slices(row, 0, 1, 1, -1, 0)};
  return std::make_shared<Model>(outputs, ParameterVector{trips, start});
}

TEST(Staged, CompilesALoopsBodyOnceForAnyNumberOfIterations) {
  const auto model = looping(false);
  Staged staged(two_threads());
  const auto start = random_tensor(ElementType::kF32, Shape{2, 4}, 3);
  for (const std::int64_t trips : {3, 1, 0, 7, 20}) expect_as_reference(staged, model, {count_tensor(trips), start});
  EXPECT_EQ(staged.store().counts().made, 2U);  // The loop's surroundings, and its body.
}

TEST(Staged, TimesWhatItRuns) {
  engine::Options options = two_threads();
  const auto start = random_tensor(ElementType::kF32, Shape{2, 4}, 3);
  const auto model = looping(false);
  for (const bool profile : {false, true}) {
    options.profile = profile;
    Staged staged(options);
    for (const std::int64_t trips : {5, 2}) {
      expect_as_reference(staged, model, {count_tensor(trips), start});
      std::int64_t products = 0;
      std::chrono::nanoseconds last{0};
      for (const auto& timed : staged.timed_steps()) {
        products += timed.step.node_type == "MatMul";
        EXPECT_GE(timed.start, last);
        last = timed.start;
      }
      EXPECT_EQ(products, profile ? trips : 0) << "once per turn of the loop, of this run alone";
    }
  }
}

TEST(Staged, RunsALoopWhoseStateGrows) {
  const auto model = looping(true);
  Staged staged(two_threads());
  for (const std::int64_t trips : {2, 5, 3})
    expect_as_reference(staged, model, {count_tensor(trips), random_tensor(ElementType::kF32, Shape{2, 4}, 3)});
}

TEST(Staged, ManyNewShapesEndWhenCancelled) {
  auto x = parameter(Shape{64});
  const Out where = op1("NonZero", 3, {op1("Relu", 1, {x})}, {{"output_type", ElementType::kI64}});
  const Out picked = op1("Gather", 8, {x, op1("Squeeze", 1, {where, ints({0})}), scalar_int(0)});
  const auto model = std::make_shared<Model>(OutputVector{op1("Sigmoid", 1, {picked})}, ParameterVector{x});
  Staged staged(two_threads());
  // Different numbers of positive values, each with a plan of its own.
  for (unsigned seed = 1; seed < 30; ++seed)
    expect_as_reference(staged, model, {random_tensor(ElementType::kF32, Shape{64}, seed)});
  engine::Workers workers(1);
  const auto made = staged.run(model, {random_tensor(ElementType::kF32, Shape{64}, 99)}, workers,
                               {[](void*) { return true; }, nullptr});
  EXPECT_TRUE(made.empty());
}

TEST(Staged, GivesNothingWhenCancelled) {
  Staged staged(two_threads());
  engine::Workers workers(1);
  int asked = 0;
  const auto made = staged.run(looping(false), {count_tensor(-1), random_tensor(ElementType::kF32, Shape{2, 4}, 3)},
                               workers, {[](void* count) { return ++*static_cast<int*>(count) > 500; }, &asked});
  EXPECT_TRUE(made.empty());
}

}  // namespace
}  // namespace tenon::engine_test
