// SPDX-License-Identifier: Apache-2.0
// Executions: bindings, strides, threads, state, profiling, errors, and allocations.
#include <dlfcn.h>
#include <atomic>
#include <cstdlib>
#include <thread>

#include <tenon/engine/testing/judged_models.hpp>

namespace {
// Counts allocations by the code of this binary (the engine, the graph's headers), not by libraries: the test links the
// engine statically, so operator new called from it resolves here.
std::atomic<bool> counting{false};
std::atomic<std::size_t> own_allocations{0}, library_allocations{0};

void note(void* caller) {
  if (!counting.load(std::memory_order_relaxed)) return;
  Dl_info info{};
  const bool library = dladdr(caller, &info) && info.dli_fname &&
                       (std::strstr(info.dli_fname, "libdnnl") || std::strstr(info.dli_fname, "libtbb"));
  (library ? library_allocations : own_allocations).fetch_add(1, std::memory_order_relaxed);
}
}  // namespace

// When these are inlined, GCC reports an allocator that does not match its deallocator.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
void* operator new(std::size_t size) {
  note(__builtin_return_address(0));
  if (void* memory = std::malloc(size ? size : 1)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  note(__builtin_return_address(0));
  const auto align = static_cast<std::size_t>(alignment);
  if (void* memory = std::aligned_alloc(align, (size + align - 1) / align * align)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace tenon::engine_test {
namespace execution_test {

std::shared_ptr<Model> small_model() {
  const auto x = parameter({1, 3, 32, 32});
  x->output(0).set_names({"image"});
  const Out a = op1("Relu", 1, {convolution(x, 32, 3, 2, 1, 1)});
  const Out b = op1("Add", 1, {op1("Relu", 1, {convolution(a, 32, 3, 1, 1, 2)}), a});
  const Out c = op1("Concat", 1, {a, b}, {{"axis", 1}});
  const Out up = op1("Interpolate", 4,
                     {convolution(c, 16, 1, 1, 0, 3), ints({32, 32}),
                      op::v0::Constant::create(element::f32, Shape{2}, {2.0, 2.0}), ints({2, 3})},
                     {{"mode", "nearest"},
                      {"shape_calculation_mode", "sizes"},
                      {"coordinate_transformation_mode", "asymmetric"},
                      {"nearest_mode", "floor"},
                      {"pads_begin", {0, 0, 0, 0}},
                      {"pads_end", {0, 0, 0, 0}}});
  const Out flat = op1("Reshape", 1, {op1("ReduceMean", 1, {up, ints({2, 3})}, {{"keep_dims", true}}), ints({1, 16})},
                       {{"special_zero", false}});
  const Out logits = op1("Add", 1,
                         {op1("MatMul", 1, {flat, weights({16, 10})}, {{"transpose_a", false}, {"transpose_b", false}}),
                          weights({1, 10})});
  return std::make_shared<Model>(OutputVector{op1("Softmax", 8, {logits}, {{"axis", 1}}), up}, ParameterVector{x},
                                 "small");
}

/// Allocations of a hundred runs after the first ten.
void count_allocations(engine::Execution& execution, engine::Workers& workers) {
  for (int i = 0; i < 10; ++i) execution.run(workers);
  own_allocations = library_allocations = 0;
  counting = true;
  for (int i = 0; i < 100; ++i) execution.run(workers);
  counting = false;
}

TEST(Execution, AllocatesNothingOfItsOwnInTheSteadyState) {
  const auto plan = engine::Plan::compile(small_model(), {.threads = 2});
  EXPECT_EQ(plan->reference_step_count(), 0u);
  engine::Workers workers(2);
  engine::Execution execution(plan);
  const Tensor input = random_tensor(ElementType::kF32, {1, 3, 32, 32}, 1);
  execution.bind_input(0, input);
  Tensor first(ElementType::kF32, {1, 10}), second(ElementType::kF32, {1, 16, 32, 32});
  execution.bind_output(0, first);
  execution.bind_output(1, second);
  count_allocations(execution, workers);
  EXPECT_EQ(own_allocations.load(), 0u);
  RecordProperty("library_allocations_per_run", static_cast<int>(library_allocations / 100));
  // The counter itself works.
  counting = true;
  std::make_unique<int>(3).reset();
  ::operator delete(::operator new(8));
  counting = false;
  EXPECT_GE(own_allocations.load(), 1u);
}

TEST(Execution, AllocatesNothingWhereRowsAreSortedByGroup) {
  const auto x = parameter({6, 32});
  const Out places = op::v0::Constant::create(element::i32, Shape{6, 32}, std::vector<std::int64_t>(6 * 32, 3));
  const Out gathered = op1("GatherElements", 6, {x, places}, {{"axis", std::int64_t{0}}});
  const Out sorted = op1("ScatterElementsUpdate", 3, {x, places, gathered, ints({0})});
  const Out y = op1("GroupedMatMul", 17, {sorted, weights({2, 8, 32}), ints({2, 6})});
  const auto plan =
      engine::Plan::compile(std::make_shared<Model>(OutputVector{y}, ParameterVector{x}, "groups"), {.threads = 2});
  EXPECT_EQ(plan->reference_step_count(), 0u);
  engine::Workers workers(2);
  engine::Execution execution(plan);
  execution.bind_input(0, random_tensor(ElementType::kF32, {6, 32}, 1));
  execution.bind_output(0, Tensor(ElementType::kF32, {6, 8}));
  count_allocations(execution, workers);
  EXPECT_EQ(own_allocations.load(), 0u);
}

TEST(Execution, ReadsAndWritesStridedTensorsAndCountsWhatItPacks) {
  const auto model = small_model();
  const auto plan = engine::Plan::compile(model, {.threads = 2});
  engine::Workers workers(2);
  engine::Execution execution(plan);
  const Tensor wide = random_tensor(ElementType::kF32, {1, 3, 32, 40}, 1);
  const Tensor view = wide.slice({0, 0, 0, 4}, {1, 3, 32, 36});
  Tensor packed(ElementType::kF32, {1, 3, 32, 32});
  view.copy_to(packed);
  const auto wanted = evaluate(*model, {packed});
  execution.bind_input(0, view);
  const Tensor frame = random_tensor(ElementType::kF32, {1, 16, 34, 36}, 2);
  Tensor inner = frame.slice({0, 0, 1, 2}, {1, 16, 33, 34});
  execution.bind_output(1, inner);
  execution.run(workers);
  EXPECT_EQ(execution.packed_bytes(), view.size_bytes() + inner.size_bytes());
  Tensor got;
  inner.copy_to(got);
  expect_close(wanted[1], got, "strided output");
  expect_close(wanted[0], execution.output(0), "unbound output");
  execution.bind_input(0, packed);
  Tensor plain(ElementType::kF32, {1, 16, 32, 32});
  execution.bind_output(1, plain);
  execution.run(workers);
  EXPECT_EQ(execution.packed_bytes(), 0u);
  expect_close(wanted[1], plain, "packed output");
}

TEST(Execution, ToleratesAnOutputOverAnInput) {
  const auto x = parameter({1, 16, 8, 8}), z = parameter({1, 16, 8, 8});
  const Out a = op1("Relu", 1, {convolution(x, 16, 3, 1, 1)});
  const auto model = std::make_shared<Model>(OutputVector{a, op1("Add", 1, {a, z})}, ParameterVector{x, z});
  engine::Execution execution(engine::Plan::compile(model, {.threads = 2}));
  engine::Workers workers(2);
  const auto inputs = random_inputs(*model);
  const auto wanted = evaluate(*model, inputs);
  execution.bind_input(0, inputs[0]);
  execution.bind_input(1, inputs[1]);
  Tensor sum(ElementType::kF32, {1, 16, 8, 8});
  execution.bind_output(0, inputs[1]);  // written before z is read
  execution.bind_output(1, sum);
  execution.run(workers);
  expect_close(wanted[0], inputs[1], "output over input");
  expect_close(wanted[1], sum, "sum");
  EXPECT_EQ(execution.packed_bytes(), sum.size_bytes());
}

TEST(Execution, RunsInParallelOnOnePlan) {
  const auto model = small_model();
  const auto plan = engine::Plan::compile(model, {.threads = 1});
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      engine::Workers workers(1);
      engine::Execution execution(plan);
      const Tensor input = random_tensor(ElementType::kF32, {1, 3, 32, 32}, t);
      const auto wanted = evaluate(*model, {input});
      execution.bind_input(0, input);
      for (int i = 0; i < 30; ++i) {
        execution.run(workers);
        const Tensor got = execution.output(0);
        for (std::size_t k = 0; k < 10; ++k)
          if (std::abs(got.data<float>()[k] - wanted[0].data<float>()[k]) > 1e-4f) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(Execution, SharesWorkersAmongThreads) {
  const auto model = small_model();
  const auto plan = engine::Plan::compile(model, {.threads = 2});
  engine::Workers workers(2);
  std::vector<std::thread> threads;
  std::atomic<int> finished{0};
  for (unsigned t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      engine::Execution execution(plan);
      const Tensor input = random_tensor(ElementType::kF32, {1, 3, 32, 32}, t);
      const auto wanted = evaluate(*model, {input});
      execution.bind_input(0, input);
      for (int i = 0; i < 20; ++i) execution.run(workers);
      const Tensor got = execution.output(0);
      bool same = true;
      for (std::size_t k = 0; k < 10; ++k)
        same = same && std::abs(got.data<float>()[k] - wanted[0].data<float>()[k]) < 1e-4f;
      if (same) ++finished;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(finished.load(), 3);
}

TEST(Execution, KeepsStateBetweenRuns) {
  const auto x = parameter({1, 4});
  const Attributes variable{
      {"variable_id", "v"}, {"variable_shape", PartialShape{1, 4}}, {"variable_type", element::f32}};
  const auto read =
      make_node("ReadValue", 6, {op::v0::Constant::create(element::f32, Shape{1, 4}, {1.0, 2.0, 3.0, 4.0})}, variable);
  const Out sum = op1("Add", 1, {x, read->output(0)});
  const auto assign = make_node("Assign", 6, {sum}, Attributes{{"variable_id", "v"}});
  const auto model =
      std::make_shared<Model>(OutputVector{op1("Relu", 1, {sum})}, SinkVector{assign}, ParameterVector{x});
  engine::Execution execution(engine::Plan::compile(model, {.threads = 1}));
  engine::Workers workers(1);
  ASSERT_EQ(execution.variables(), std::vector<std::string>{"v"});
  Tensor one(ElementType::kF32, {1, 4});
  std::fill(one.data<float>(), one.data<float>() + 4, 1.f);
  execution.bind_input(0, one);
  execution.run(workers);
  execution.run(workers);
  EXPECT_EQ(execution.output(0).data<float>()[3], 6.f);
  EXPECT_EQ(execution.variable(0).data<float>()[0], 3.f);
  execution.set_variable(0, one);
  execution.run(workers);
  EXPECT_EQ(execution.output(0).data<float>()[3], 2.f);
  execution.reset_variable(0);
  execution.run(workers);
  EXPECT_EQ(execution.output(0).data<float>()[3], 5.f);
}

TEST(Execution, ReportsTimesOfEveryStep) {
  const auto plan = engine::Plan::compile(small_model(), {.threads = 2, .profile = true});
  engine::Execution execution(plan);
  engine::Workers workers(2);
  execution.bind_input(0, random_tensor(ElementType::kF32, {1, 3, 32, 32}, 1));
  execution.run(workers);
  ASSERT_EQ(execution.timings().size(), plan->steps().size());
  for (std::size_t i = 1; i < execution.timings().size(); ++i) {
    EXPECT_GE(execution.timings()[i].start, execution.timings()[i - 1].start + execution.timings()[i - 1].duration);
    EXPECT_GT(execution.timings()[i].duration.count(), 0);
  }
}

TEST(Execution, StopsBetweenStepsWhenCancelled) {
  engine::Execution execution(engine::Plan::compile(small_model(), {.threads = 1}));
  engine::Workers workers(1);
  execution.bind_input(0, random_tensor(ElementType::kF32, {1, 3, 32, 32}, 1));
  int polls = 0;
  EXPECT_FALSE(execution.run(
      workers, [](void* context) { return ++*static_cast<int*>(context) == 3; }, &polls));
  EXPECT_EQ(polls, 3);
  EXPECT_TRUE(execution.run(workers));
}

TEST(Execution, RefusesWrongTensorsByName) {
  engine::Execution execution(engine::Plan::compile(small_model(), {.threads = 1}));
  engine::Workers workers(1);
  const auto message = [&](auto&& call) {
    try {
      call();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(message([&] { execution.run(workers); }).find("'image'"), std::string::npos);
  EXPECT_NE(message([&] {
              execution.bind_input(0, random_tensor(ElementType::kF32, {1, 3, 32, 31}, 1));
            }).find("[1,3,32,32]"),
            std::string::npos);
  EXPECT_NE(message([&] {
              execution.bind_input(0, Tensor(ElementType::kU8, {1, 3, 32, 32}));
            }).find("u8"),
            std::string::npos);
  EXPECT_THROW(execution.bind_input(1, Tensor()), Error);
  EXPECT_THROW(execution.bind_output(2, Tensor()), Error);
}

/// A state that is updated in place, as a driver's caller places it, and work before and after.
TEST(Execution, ACancelledRunLeavesWhatItWouldUpdateInPlace) {
  const auto x = parameter({1, 8}), state = parameter({1, 8});
  const Out before = op1("Tanh", 1, {op1("Sqrt", 1, {x})});
  const Out next = op1("Add", 1, {state, before});
  const Out after = op1("Sqrt", 1, {op1("Tanh", 1, {op1("Floor", 1, {next})})});
  const auto model = std::make_shared<Model>(OutputVector{next, after}, ParameterVector{x, state}, "sum");
  engine::Options options;
  options.fuse = false;
  engine::Execution execution(engine::Plan::compile(model, options));
  engine::Workers workers(1);
  std::vector<float> input(8, 4.f), sum(8, 1.f), result(8);
  execution.place_input(0, input.data());
  execution.place_input(1, sum.data());
  execution.place_output(0, sum.data());
  execution.place_output(1, result.data());
  int ended = 0;
  for (int asks = 1; asks < 10; ++asks) {
    std::fill(sum.begin(), sum.end(), 1.f);
    bool whole = false;
    workers.run([&] {
      int left = asks;
      whole = execution.run_placed([](void* count) { return --*static_cast<int*>(count) == 0; }, &left);
    });
    ended += !whole;
    if (whole)
      EXPECT_NE(sum.front(), 1.f) << asks;
    else
      EXPECT_EQ(sum, std::vector<float>(8, 1.f)) << "ended when asked " << asks << " times";
  }
  EXPECT_GT(ended, 1);
}

TEST(Plan, RefusesDynamicShapesAndNamesTheNode) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{Dimension(), 3});
  x->set_friendly_name("pixels");
  const auto model = std::make_shared<Model>(OutputVector{op1("Relu", 1, {x})}, ParameterVector{x});
  try {
    engine::Plan::compile(model);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kFailedPrecondition);
    EXPECT_NE(std::string(error.what()).find("pixels"), std::string::npos) << error.what();
  }
}

TEST(Plan, ConnectsInputsStraightToOutputsAndFoldsConstants) {
  const auto x = parameter({2, 3}), unused = parameter({4});
  const Out constant = op1("Exp", 1, {weights({2, 3})});
  const auto model = std::make_shared<Model>(
      OutputVector{x, constant, op1("Reshape", 1, {x, ints({3, 2})}, {{"special_zero", false}}), x},
      ParameterVector{x, unused});
  const auto judged = judge(model);
  EXPECT_FALSE(judged.ran("Exp"));
}

TEST(Plan, HandlesEmptyTensors) {
  const auto x = parameter({0, 3}), y = parameter({2, 3});
  judge(op1("Relu", 1, {op1("Concat", 1, {x, y}, {{"axis", 0}})}), {x, y});
  judge(op1("Add", 1, {x, weights({1, 3})}), {x});
}

TEST(Plan, ReusesMemoryOfDeadValues) {
  const auto x = parameter({1, 16, 32, 32});
  Out y = x;
  for (unsigned i = 0; i < 12; ++i) y = op1("Relu", 1, {convolution(y, 16, 3, 1, 1, i)});
  const auto plan = engine::Plan::compile(std::make_shared<Model>(OutputVector{y}, ParameterVector{x}), {.threads = 1});
  EXPECT_LE(plan->arena_bytes(), 4 * 16 * 32 * 32 * sizeof(float));
}

TEST(Workers, BoundTheThreads) {
  for (const int count : {1, 2}) {
    engine::Workers workers(count);
    EXPECT_EQ(workers.threads(), count);
  }
  EXPECT_GE(engine::Workers::available_cpus(), 1);
}

}  // namespace execution_test
}  // namespace tenon::engine_test
