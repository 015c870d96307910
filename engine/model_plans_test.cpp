// SPDX-License-Identifier: Apache-2.0
// Plans for moving shapes: made once, shared by requests and threads, bounded in bytes; weights packed once.
#include <tenon/engine/model_plans.hpp>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include <tenon/core/error.hpp>
#include <tenon/engine/plan/plan.hpp>
#include <tenon/engine/staged.hpp>
#include <tenon/engine/testing/judged_models.hpp>

namespace tenon::engine_test {
namespace plan_store_test {

using engine::ModelPlans;
using engine::Staged;
using op::v0::Constant;
using op::v0::Parameter;

engine::Options two_threads() {
  engine::Options options;
  options.threads = 2;
  return options;
}

/// Two products over rows of an open number, and a convolution-free tail.
std::shared_ptr<Model> layers() {
  const auto x = std::make_shared<Parameter>(element::f32, PartialShape{-1, 64});
  const Out hidden = op1("Relu", 1, {op1("MatMul", 1, {x, weights(Shape{64, 128})})});
  const Out y = op1("MatMul", 1, {hidden, weights(Shape{128, 32})});
  return std::make_shared<Model>(OutputVector{op1("Softmax", 8, {y}, {{"axis", -1}})}, ParameterVector{x});
}

Tensor rows(std::size_t count, unsigned seed = 5) { return random_tensor(ElementType::kF32, Shape{count, 64}, seed); }

TEST(ModelPlans, PacksWeightsOnceWhateverTheShapesAndRequests) {
  const auto model = layers();
  const auto store = std::make_shared<ModelPlans>(two_threads());
  engine::Workers workers(2);
  std::size_t packed = 0;
  for (int request = 0; request < 3; ++request) {
    Staged staged(store);
    for (const std::size_t count : {16, 17, 40, 33, 64, 18, 19, 20, 21, 16}) {
      const auto got = staged.run(model, {rows(count)}, workers);
      expect_close(evaluate(*model, {rows(count)})[0], got.at(0), std::to_string(count));
    }
    if (request == 0) packed = store->counts().packed;
  }
  // Another number of rows may want another layout, of which there are few.
  EXPECT_LE(packed, 6U);
  EXPECT_EQ(store->counts().packed, packed) << "no request packs anew";
  EXPECT_EQ(store->counts().made, 9U) << "one plan for each number of rows, for all requests";
}

Out halves(const Out& real) {
  const auto* constant = as_type<Constant>(real.get_node());
  return op1(
      "Convert", 1,
      {std::make_shared<Constant>(element::f16, constant->get_tensor().shape(), constant->cast_vector<double>())},
      {{"destination_type", ElementType::kF32}});
}

TEST(ModelPlans, WeightsOfHalvesAreWidenedOncePerLayout) {
  // Large enough that no pass folds them: some are wanted packed only, others are also looked up.
  const auto x = std::make_shared<Parameter>(element::f32, PartialShape{-1, 512});
  const Out shared = halves(weights(Shape{640, 512}));
  const Out hidden = op1("MatMul", 1, {x, halves(weights(Shape{512, 640}))});
  const Out y = op1("MatMul", 1, {hidden, shared});
  const Out row = op1("Gather", 8, {shared, ints({3}), scalar_int(0)});
  const auto model = std::make_shared<Model>(OutputVector{op1("Add", 1, {y, row})}, ParameterVector{x});
  const auto store = std::make_shared<ModelPlans>(two_threads());
  engine::Workers workers(2);
  std::size_t packed = 0;
  for (int request = 0; request < 2; ++request) {
    Staged staged(store);
    // No rows at all: the reference kernel wants the weights as they are.
    for (const std::size_t count : {16, 17, 0, 40, 33, 64, 18, 16}) {
      const std::vector<Tensor> inputs{random_tensor(ElementType::kF32, Shape{count, 512}, 3)};
      expect_close(evaluate(*model, inputs)[0], staged.run(model, inputs, workers).at(0), std::to_string(count));
    }
    if (request == 0) packed = store->counts().packed;
  }
  EXPECT_EQ(store->counts().packed, packed) << "no request packs anew";
  EXPECT_LE(packed, 6U);
  EXPECT_GE(packed, 2U);
}

TEST(ModelPlans, RecurrentWeightsArePackedOnceForAllLengths) {
  const auto x = std::make_shared<Parameter>(element::f32, PartialShape{1, -1, 24});
  const Out length = op1("Gather", 8, {op1("ShapeOf", 3, {x}), ints({1}), scalar_int(0)});
  const auto zeros = [](const Shape& shape) {
    return Constant::create(element::f32, shape, std::vector<double>(element_count(shape), 0.0));
  };
  const auto gru = make_node(
      "GRUSequence", 5,
      {x, zeros(Shape{1, 1, 32}), length, weights(Shape{1, 96, 24}), weights(Shape{1, 96, 32}), zeros(Shape{1, 96})},
      {{"hidden_size", std::int64_t{32}}, {"direction", std::string("forward")}});
  const auto model = std::make_shared<Model>(OutputVector{gru->output(0)}, ParameterVector{x});
  const auto store = std::make_shared<ModelPlans>(two_threads());
  engine::Workers workers(2);
  Staged staged(store);
  std::size_t packed = 0;
  for (const std::size_t steps : {5, 9, 14, 3}) {
    const std::vector<Tensor> inputs{random_tensor(ElementType::kF32, Shape{1, steps, 24}, 3)};
    expect_close(evaluate(*model, inputs)[0], staged.run(model, inputs, workers).at(0), std::to_string(steps));
    if (packed == 0) packed = store->counts().packed;
  }
  EXPECT_GT(packed, 0U);
  EXPECT_EQ(store->counts().packed, packed);
}

/// A random graph over rows of an open number, some of which values decide.
std::shared_ptr<Model> random_rows(unsigned seed) {
  std::minstd_rand random(seed);
  const auto x = std::make_shared<Parameter>(element::f32, PartialShape{-1, 16});
  std::vector<Out> values{x};  // All [rows, 16].
  const auto any = [&] { return values[random() % values.size()]; };
  for (int step = 0; step < 9; ++step) {
    Out y;
    switch (random() % 8) {
      case 0:
        y = op1("MatMul", 1, {any(), weights(Shape{16, 16})});
        break;
      case 1:
        y = op1("Tanh", 1, {op1("Add", 1, {any(), any()})});
        break;
      case 2:
        y = op1("Softmax", 8, {any()}, {{"axis", std::int64_t{-1}}});
        break;
      case 3: {  // Rows among themselves.
        const Out v = any();
        const Out scores = op1("MatMul", 1, {v, any()}, {{"transpose_b", true}});
        y = op1("MatMul", 1, {op1("Softmax", 8, {op1("Multiply", 1, {scores, scalar(0.1)})}), any()});
        break;
      }
      case 4: {  // The first half of the rows, twice.
        const Out v = any();
        const Out count = op1("Gather", 8, {op1("ShapeOf", 3, {v}), ints({0}), scalar_int(0)});
        const Out half = op1("Divide", 1, {op1("Add", 1, {count, ints({1})}), ints({2})});
        const Out part = op1("Slice", 8, {v, ints({0}), half, ints({1}), ints({0})});
        const Out twice = op1("Concat", 1, {part, part}, {{"axis", std::int64_t{0}}});
        y = op1("Slice", 8, {twice, ints({0}), count, ints({1}), ints({0})});
        break;
      }
      case 5:
        y = op1("Transpose", 1, {op1("Relu", 1, {op1("Transpose", 1, {any(), ints({1, 0})})}), ints({1, 0})});
        break;
      case 6:
        y = op1("Reshape", 1, {op1("Reshape", 1, {any(), ints({-1, 4, 4})}, {{"special_zero", false}}), ints({0, 16})},
                {{"special_zero", true}});
        break;
      default:
        y = op1("Sigmoid", 1, {any()});
    }
    values.push_back(y);
  }
  OutputVector outputs{values.back()};
  if (seed % 2) {
    // Only the rows that begin with a positive number.
    const Out first = op1("Gather", 8, {x, scalar_int(0), scalar_int(1)});
    const Out where = op1("NonZero", 3, {op1("Relu", 1, {first})}, {{"output_type", ElementType::kI64}});
    const Out rows = op1("Squeeze", 1, {where, ints({0})});
    const Out picked = op1("Gather", 8, {values.back(), rows, scalar_int(0)});
    outputs.push_back(op1("Tanh", 1, {op1("MatMul", 1, {picked, weights(Shape{16, 16})})}));
  }
  return std::make_shared<Model>(outputs, ParameterVector{x});
}

/// How the plans differ, apart from their kernels' own numbers; nothing if they do not.
std::string difference(const engine::Plan& one, const engine::Plan& other) {
  const engine::PlanImpl &a = one.impl(), &b = other.impl();
  if (a.steps.size() != b.steps.size())
    return std::to_string(a.steps.size()) + " steps, " + std::to_string(b.steps.size());
  for (std::size_t i = 0; i < a.steps.size(); ++i) {
    const engine::Step &x = *a.steps[i], &y = *b.steps[i];
    const bool same =
        x.info.kernel == y.info.kernel && x.info.fused == y.info.fused &&
        std::ranges::equal(x.operands, y.operands, [&](const auto& p, const auto& q) {
          return p.place == q.place && p.written == q.written && (!p.place || a.root(p.place) == b.root(q.place));
        });
    if (!same) return "step " + std::to_string(i) + ": " + x.info.kernel + ", " + y.info.kernel;
  }
  for (std::size_t i = 0; i < a.buffers.size(); ++i) {
    const planning::Buffer &x = a.buffers[i], &y = b.buffers[i];
    if (x.kind != y.kind || x.size_bytes != y.size_bytes || x.arena_offset != y.arena_offset)
      return "buffer " + std::to_string(i) + ": " + std::to_string(x.size_bytes) + ", " + std::to_string(y.size_bytes);
  }
  return {};
}

/// Steps that both plans have: the same objects.
std::size_t shared_steps(const engine::Plan& one, const engine::Plan& other) {
  const auto &a = one.impl().steps, &b = other.impl().steps;
  return static_cast<std::size_t>(std::count_if(
      a.begin(), a.end(), [&](const auto& step) { return std::find(b.begin(), b.end(), step) != b.end(); }));
}

TEST(ModelPlans, OnlyWhatOtherShapesReachIsLoweredAgain) {
  // A deep part over x, whose shape stays, and a product with a mean over y, whose length moves.
  const auto x = std::make_shared<Parameter>(element::f32, PartialShape{-1, 64});
  const auto y = std::make_shared<Parameter>(element::f32, PartialShape{-1, 64});
  Out deep = x;
  for (int i = 0; i < 8; ++i) deep = op1("Tanh", 1, {op1("MatMul", 1, {deep, weights(Shape{64, 64})})});
  const Out mean = op1("ReduceMean", 1, {y, ints({0})}, {{"keep_dims", true}});
  const auto model = std::make_shared<Model>(
      OutputVector{op1("Softmax", 8, {op1("Add", 1, {deep, mean})}, {{"axis", std::int64_t{1}}})},
      ParameterVector{x, y});
  ModelPlans store(two_threads());
  const auto open = store.open(model)->model;
  const auto made = [&](std::size_t x_rows, std::size_t y_rows) {
    return store.subgraph(*open, std::vector<Tensor>{rows(x_rows), rows(y_rows)});
  };
  const auto first = made(4, 5), second = made(4, 6), third = made(3, 6);
  EXPECT_FALSE(first->is_relowered);
  ASSERT_TRUE(second->is_relowered);
  const std::size_t steps = second->plan->impl().steps.size();
  EXPECT_EQ(shared_steps(*first->plan, *second->plan), steps - 1) << "the mean alone";
  ASSERT_TRUE(third->is_relowered);
  EXPECT_EQ(shared_steps(*second->plan, *third->plan), 1U) << "all but the mean";
}

TEST(ModelPlans, PlansMadeFromTheOneBeforeAreThoseThatAreMadeAnew) {
  std::size_t relowered = 0, plans = 0;
  for (unsigned seed = 2; seed <= 60; seed += 2) {
    const auto model = random_rows(seed);
    ModelPlans store(two_threads());
    const auto open = store.open(model)->model;
    std::minstd_rand random(seed);
    for (int call = 0; call < 8; ++call) {
      const std::vector<Tensor> inputs{random_tensor(ElementType::kF32, Shape{1 + random() % 20, 16}, 1)};
      ModelPlans fresh(two_threads());
      const auto expected = fresh.subgraph(*fresh.open(model)->model, inputs);
      const auto made = store.subgraph(*open, inputs);
      if (!made->plan) continue;
      ++plans;
      relowered += made->is_relowered;
      EXPECT_EQ(difference(*expected->plan, *made->plan), "") << "seed " << seed << ", call " << call;
    }
  }
  EXPECT_GT(relowered, plans / 2);
}

TEST(ModelPlans, RandomGraphsWithRandomShapesAgreeWithTheReference) {
  engine::Workers workers(2);
  for (unsigned seed = 1; seed <= 40; ++seed) {
    const auto model = random_rows(seed);
    const auto store = std::make_shared<ModelPlans>(two_threads());
    Staged one(store), other(store);
    std::minstd_rand random(seed + 100);
    for (int call = 0; call < 10; ++call) {
      const std::vector<Tensor> inputs{random_tensor(ElementType::kF32, Shape{1 + random() % 20, 16}, random())};
      const auto wanted = evaluate(*model, inputs);
      const auto got = (call % 3 ? one : other).run(model, inputs, workers);
      ASSERT_EQ(got.size(), wanted.size());
      for (std::size_t i = 0; i < wanted.size(); ++i)
        expect_close(wanted[i], got[i], "seed " + std::to_string(seed) + ", call " + std::to_string(call));
    }
  }
}

TEST(ModelPlans, ManyThreadsAskForManyShapesOfOneModel) {
  const auto model = layers();
  const auto store = std::make_shared<ModelPlans>(two_threads());
  std::vector<Tensor> wanted;
  for (std::size_t count = 1; count <= 24; ++count) wanted.push_back(evaluate(*model, {rows(count)})[0]);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      Staged staged(store);
      engine::Workers workers(1);
      for (std::size_t i = 0; i < 48; ++i) {
        const std::size_t count = 1 + (i * (t % 2 ? 5 : 7) + t) % 24;
        const auto got = staged.run(model, {rows(count)}, workers);
        const Tensor& expected = wanted[count - 1];
        for (std::size_t k = 0; k < expected.element_count(); ++k)
          wrong += std::abs(expected.data<float>()[k] - got.at(0).data<float>()[k]) > 1e-4f;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(store->counts().made, 24U) << "each plan has one maker";
}

TEST(ModelPlans, KeepsPlansWithinItsBytesAndForgetsTheOldest) {
  const auto model = layers();
  ModelPlans unbounded(two_threads());
  const auto open = unbounded.open(model)->model;
  const std::vector<Tensor> one{rows(1)};
  const std::size_t each = unbounded.subgraph(*open, one)->held_bytes;
  ASSERT_GT(each, 0U);
  const auto store = std::make_shared<ModelPlans>(two_threads(), 4 * each);
  Staged staged(store);
  engine::Workers workers(1);
  for (std::size_t count = 1; count <= 20; ++count) {
    const auto got = staged.run(model, {rows(count)}, workers);
    expect_close(evaluate(*model, {rows(count)})[0], got.at(0), std::to_string(count));
    EXPECT_LE(store->counts().bytes, 5 * each);
  }
  EXPECT_LT(store->counts().kept, 8U);
  const std::size_t made = store->counts().made;
  staged.run(model, {rows(20)}, workers);
  EXPECT_EQ(store->counts().made, made) << "the latest is kept";
  Staged other(store);
  other.run(model, {rows(1)}, workers);
  EXPECT_EQ(store->counts().made, made + 1) << "the oldest was dropped";
}

TEST(ModelPlans, ShapesThatDoNotFitAreRefusedByNodeAndTheNextOnesRun) {
  const auto x = std::make_shared<Parameter>(element::f32, PartialShape{-1, -1});
  const Out y = op1("MatMul", 1, {x, weights(Shape{8, 4})});
  y.get_node_shared_ptr()->set_friendly_name("narrow");
  const auto model = std::make_shared<Model>(OutputVector{y}, ParameterVector{x});
  Staged staged(two_threads());
  engine::Workers workers(1);
  const auto run = [&](std::size_t columns) {
    return staged.run(model, {random_tensor(ElementType::kF32, Shape{3, columns}, 1)}, workers);
  };
  EXPECT_EQ(run(8).at(0).shape(), (Shape{3, 4}));
  for (int again = 0; again < 2; ++again) {
    try {
      run(7);
      FAIL() << "7 columns times 8 rows";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("narrow"), std::string::npos) << error.what();
    }
    EXPECT_EQ(run(8).at(0).shape(), (Shape{3, 4}));
  }
}

TEST(ModelPlans, AWaitForAnothersPlanEndsWhenCancelled) {
  // One thread makes a plan that takes long; the other gives up waiting.
  auto x = std::make_shared<Parameter>(element::f32, PartialShape{-1, 64});
  Out y = x;
  for (int i = 0; i < 200; ++i) y = op1("Tanh", 1, {op1("MatMul", 1, {y, weights(Shape{64, 64})})});
  const auto model = std::make_shared<Model>(OutputVector{y}, ParameterVector{x});
  ModelPlans store(two_threads());
  const auto open = store.open(model)->model;
  bool gave_up = false;
  // The maker may be done before the other comes: then once more, with other shapes.
  for (std::size_t count = 1; count < 20 && !gave_up; ++count) {
    const std::vector<Tensor> inputs{rows(count)};
    std::thread maker([&] { store.subgraph(*open, inputs); });
    while (store.counts().making == 0 && store.counts().made < count) std::this_thread::yield();
    gave_up = store.subgraph(*open, inputs, {}, {[](void*) { return true; }, nullptr}) == nullptr;
    maker.join();
    EXPECT_EQ(store.counts().made, count) << "the maker finishes all the same";
  }
  EXPECT_TRUE(gave_up);
}

}  // namespace plan_store_test
}  // namespace tenon::engine_test
