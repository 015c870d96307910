// SPDX-License-Identifier: Apache-2.0
// Models whose shapes depend on values, in stages, against the reference.
#include <tenon/engine/staged.hpp>

#include <algorithm>
#include <cmath>

#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/engine/testing/judged_models.hpp>
#include <tenon/graph/subgraph.hpp>

namespace tenon::engine_test {
namespace staged_test {

using engine::Staged;
using op::v0::Constant;
using op::v0::Parameter;

using Numbers = std::vector<std::int64_t>;

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

TEST(Staged, WhatFollowsFromConstantsIsNotCopiedOverACut) {
  auto x = std::make_shared<Parameter>(element::f32, PartialShape{-1, 8});
  // Zeros of x's shape, read before the cut and, in other ways, after it.
  const Out zeros = op1("Broadcast", 3, {scalar(0), op1("ShapeOf", 3, {x})});
  const Out more = op1("Concat", 1, {zeros, weights(Shape{2, 8})}, {{"axis", 0}});
  const Out where = op1("NonZero", 3, {op1("Relu", 1, {op1("Add", 1, {x, zeros})})});
  const Out updates =
      op1("Gather", 8,
          {x, op1("Squeeze", 1, {op1("Gather", 8, {where, ints({0}), scalar_int(0)}), ints({0})}), scalar_int(0)});
  const Out rows = op1("Transpose", 1, {op1("Gather", 8, {where, ints({0}), scalar_int(0)}), ints({1, 0})});
  const Out scattered = op1("ScatterNDUpdate", 4, {more, rows, updates});
  const auto model = std::make_shared<Model>(OutputVector{scattered, where}, ParameterVector{x});
  auto options = two_threads();
  options.profile = true;
  Staged staged(options);
  expect_as_reference(staged, model, {random_tensor(ElementType::kF32, Shape{40, 8}, 1)});
  std::size_t results = 0;
  for (const auto& timed : staged.timed_steps()) results += timed.step.node_type == "Result";
  EXPECT_EQ(results, 0U);
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

/// Attention of x over a cache that grows by x, as a decoder's layer has it; `heads` lie outside the axis that grows.
std::shared_ptr<Model> decoder_layer(std::int64_t heads) {
  const auto x = std::make_shared<Parameter>(element::f32, PartialShape{1, heads, -1, 24});
  SinkVector sinks;
  OutputVector grown;
  for (const char* id : {"keys", "values"}) {
    const auto state = make_node("ReadValue", 6, {},
                                 {{"variable_id", id},
                                  {"variable_type", ElementType::kF32},
                                  {"variable_shape", PartialShape{1, heads, -1, 24}}});
    grown.push_back(op1("Concat", 1, {state->output(0), x}, {{"axis", std::int64_t{-2}}}));
    sinks.push_back(make_node("Assign", 6, {grown.back()}, {{"variable_id", id}}));
  }
  const Out keys = op1("Transpose", 1, {grown[0], ints({0, 1, 3, 2})});
  const Out scores = op1("Divide", 1, {op1("MatMul", 1, {x, keys}), scalar(5)});
  const Out length = op1("Gather", 8, {op1("ShapeOf", 3, {grown[0]}), ints({2}), scalar_int(0)});
  const Out mask = op1("Broadcast", 3, {scalar(0.25), length}, {{"mode", std::string("numpy")}});
  const Out shares = op1("Softmax", 8, {op1("Add", 1, {scores, mask})}, {{"axis", std::int64_t{-1}}});
  return std::make_shared<Model>(OutputVector{op1("MatMul", 1, {shares, grown[1]})}, sinks, ParameterVector{x});
}

TEST(Staged, CachesGrowWhereTheyLie) {
  for (const std::int64_t heads : {1, 3}) {
    const auto model = decoder_layer(heads);
    Staged staged(two_threads());
    engine::Workers workers(2);
    VariableMap got_states, wanted_states;
    std::size_t moves = 0;
    const void* last = nullptr;
    for (unsigned step = 0; step < 150; ++step) {
      // A prompt, then a token at a time, now and then several.
      const std::size_t rows = step == 0 ? 7 : step % 40 == 39 ? 6 : 1;
      const std::vector<Tensor> inputs{
          random_tensor(ElementType::kF32, Shape{1, static_cast<std::size_t>(heads), rows, 24}, step)};
      const auto wanted = evaluate(*model, inputs, &wanted_states);
      const auto got = staged.run(model, inputs, workers, {}, {}, &got_states);
      expect_close(wanted[0], got.at(0), "step " + std::to_string(step));
      const Tensor& keys = got_states.at("keys");
      ASSERT_EQ(keys.shape(), wanted_states.at("keys").shape());
      moves += keys.data() != last;
      last = keys.data();
    }
    EXPECT_LE(moves, 6U) << "150 steps copy the past a few times";
    // After a prompt, several tokens or a move everything is lowered; after that, what the cache's length reaches.
    const auto counts = staged.store().counts();
    EXPECT_GT(counts.relowered, counts.made * 3 / 4);
    Tensor keys;
    got_states.at("keys").copy_to(keys);
    expect_close(wanted_states.at("keys"), keys, "keys");
    // Begun anew, by the plans that are there.
    const std::size_t made = staged.store().counts().made;
    got_states.clear();
    wanted_states.clear();
    for (unsigned step = 0; step < 20; ++step) {
      const std::vector<Tensor> inputs{
          random_tensor(ElementType::kF32, Shape{1, static_cast<std::size_t>(heads), step == 0 ? 7U : 1U, 24}, step)};
      expect_close(evaluate(*model, inputs, &wanted_states)[0],
                   staged.run(model, inputs, workers, {}, {}, &got_states).at(0), "again " + std::to_string(step));
    }
    EXPECT_EQ(staged.store().counts().made, made);
  }
}

TEST(Staged, ACacheThatOutgrowsMemorySaysSoAndStaysAsItWas) {
  const auto model = decoder_layer(3);
  Staged staged(two_threads());
  engine::Workers workers(2);
  VariableMap states;
  const HostBudget budget(400000, "; a test's remedy");
  const HostBudget::Scope scope(budget);
  const std::vector<Tensor> inputs{
      random_tensor(ElementType::kF32, Shape{1, 3, 1, 24}, 1)};  // One row: scores stay small, rooms double.
  Shape before;
  try {
    for (int step = 0; step < 4000; ++step) {
      before = step ? states.at("keys").shape() : Shape{};
      staged.run(model, inputs, workers, {}, {}, &states);
    }
    FAIL() << "4000 rows in 400 kB";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kResourceExhausted);
    EXPECT_NE(std::string(error.what()).find("state '"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("a test's remedy"), std::string::npos) << error.what();
  }
  EXPECT_EQ(states.at("keys").shape(), before);
  EXPECT_EQ(states.at("values").shape(), before);
}

TEST(Staged, CachesOfAModelThatValuesCutGrowToo) {
  // The values are those of positive rows alone, so their number is not known before.
  const auto x = std::make_shared<Parameter>(element::f32, PartialShape{-1, 6});
  const auto state = make_node(
      "ReadValue", 6, {},
      {{"variable_id", "rows"}, {"variable_type", ElementType::kF32}, {"variable_shape", PartialShape{-1, 6}}});
  const Out first = op1("Gather", 8, {x, scalar_int(0), scalar_int(1)});
  const Out where = op1("NonZero", 3, {op1("Relu", 1, {first})}, {{"output_type", ElementType::kI64}});
  const Out picked = op1("Gather", 8, {x, op1("Squeeze", 1, {where, ints({0})}), scalar_int(0)});
  const Out grown = op1("Concat", 1, {state->output(0), picked}, {{"axis", std::int64_t{0}}});
  const SinkVector sinks{make_node("Assign", 6, {grown}, {{"variable_id", "rows"}})};
  const auto model = std::make_shared<Model>(
      OutputVector{op1("ReduceSum", 1, {grown, ints({0})}, {{"keep_dims", false}})}, sinks, ParameterVector{x});
  Staged staged(two_threads());
  engine::Workers workers(2);
  VariableMap got_states, wanted_states;
  for (unsigned step = 0; step < 12; ++step) {
    const std::vector<Tensor> inputs{random_tensor(ElementType::kF32, Shape{4, 6}, step)};
    const auto wanted = evaluate(*model, inputs, &wanted_states);
    expect_close(wanted[0], staged.run(model, inputs, workers, {}, {}, &got_states).at(0), std::to_string(step));
    ASSERT_EQ(got_states.at("rows").shape(), wanted_states.at("rows").shape());
  }
}

TEST(Staged, ProductsWithPackedWeightsFollowTheirRows) {
  // By one kernel or another, with a bias in the same step, and a residual that is lowered again alone.
  for (const std::size_t rounding : {0, 32}) {
    const auto x = std::make_shared<Parameter>(element::f32, PartialShape{-1, 128});
    Tensor numbers(ElementType::kU4, Shape{128, 128}), scales(ElementType::kF32, Shape{128, 1});
    for (std::size_t i = 0; i < numbers.size_bytes(); ++i)
      static_cast<std::uint8_t*>(numbers.data())[i] = static_cast<std::uint8_t>(i * 29 + i / 7);
    for (std::size_t i = 0; i < 128; ++i) scales.data<float>()[i] = 0.01f + 0.0001f * static_cast<float>(i);
    const Out real = op1("Convert", 1, {std::make_shared<Constant>(numbers)}, {{"destination_type", element::f32}});
    const Out wide = op1("Multiply", 1, {op1("Subtract", 1, {real, scalar(8)}), std::make_shared<Constant>(scales)});
    const Out product = op1("MatMul", 1, {x, wide}, {{"transpose_a", false}, {"transpose_b", true}});
    const Out sum = op1("Add", 1, {product, weights({128})});
    const auto model =
        std::make_shared<Model>(OutputVector{op1("Add", 1, {op1("Relu", 1, {sum}), x})}, ParameterVector{x});
    engine::Options options = two_threads();
    options.dynamic_quantization = rounding;
    Staged staged(options);
    engine::Workers workers(2);
    for (const std::size_t rows : {3, 1, 2, 1, 20, 5, 1, 100, 1}) {
      Tensor input = random_tensor(ElementType::kF32, Shape{rows, 128}, static_cast<unsigned>(rows));
      // What 8 bits hold.
      for (std::size_t i = 0; i < input.element_count(); ++i)
        input.data<float>()[i] =
            i % 32 == 5 ? 127.f : std::clamp(std::nearbyint(input.data<float>()[i] * 50), -127.f, 127.f);
      expect_close(evaluate(*model, {input})[0], staged.run(model, {input}, workers).at(0), std::to_string(rows));
    }
  }
}

/// Attention over caches as OpenVINO's exporter writes it: rows are chosen by beams, new ones joined, heads shared.
/// @param tokens_first  The caches are [beams, tokens, heads, numbers].
std::shared_ptr<Model> stateful_attention(bool by_operation, bool tokens_first) {
  const auto x = std::make_shared<Parameter>(element::f32, PartialShape{-1, -1, 4, 32});
  const auto beams = std::make_shared<Parameter>(element::i32, PartialShape{-1});
  OutputVector heads;
  SinkVector sinks;
  for (const char* id : {"keys", "values"}) {
    const Out part = op1("Slice", 8, {x, ints({0}), ints({2}), ints({1}), ints({2})});
    const Out made = op1(id[0] == 'k' ? "Sin" : "Abs", 1, {part});
    const Out row = tokens_first ? made : op1("Transpose", 1, {made, ints({0, 2, 1, 3})});
    const auto before =
        make_node("ReadValue", 6, {},
                  {{"variable_id", id},
                   {"variable_type", ElementType::kF32},
                   {"variable_shape", tokens_first ? PartialShape{-1, -1, 2, 32} : PartialShape{-1, 2, -1, 32}}});
    const Out chosen = op1("Gather", 8, {before->output(0), beams, scalar_int(0)}, {{"batch_dims", std::int64_t{0}}});
    const Out cache = op1("Concat", 1, {chosen, row}, {{"axis", std::int64_t{tokens_first ? 1 : 2}}});
    sinks.push_back(make_node("Assign", 6, {cache}, {{"variable_id", id}}));
    const Out all = tokens_first ? op1("Transpose", 1, {cache, ints({0, 2, 1, 3})}) : cache;
    const Out repeated = op1("Broadcast", 3, {op1("Unsqueeze", 1, {all, ints({2})}), ints({1, 1, 2, 1, 1})},
                             {{"mode", "bidirectional"}});
    heads.push_back(op1("Reshape", 1, {repeated, ints({0, 4, -1, 32})}, {{"special_zero", true}}));
  }
  const Out q = op1("Transpose", 1, {x, ints({0, 2, 1, 3})});
  Out y;
  if (by_operation) {
    y = op1("ScaledDotProductAttention", 13, {q, heads[0], heads[1]}, {{"causal", false}});
  } else {
    const Out keys = op1("Transpose", 1, {heads[0], ints({0, 1, 3, 2})});
    const Out scores = op1("Multiply", 1, {op1("MatMul", 1, {q, keys}), scalar(0.2)});
    y = op1("MatMul", 1, {op1("Softmax", 8, {scores}, {{"axis", -1}}), heads[1]});
  }
  return std::make_shared<Model>(OutputVector{y}, sinks, ParameterVector{x, beams});
}

struct Format {
  ElementType type;
  std::size_t group;
  double tolerance;
  friend void PrintTo(const Format& format, std::ostream* out) { *out << name(format.type) << " " << format.group; }
};

class StagedCaches : public testing::TestWithParam<std::tuple<Format, bool, bool, bool>> {};

TEST_P(StagedCaches, OfFewerBitsGrowMoveAndAreReadWhereTheyLie) {
  const auto [format, by_operation, tokens_first, is_bf16] = GetParam();
  if (is_bf16 && !engine::has_native_bf16()) GTEST_SKIP() << "no bf16 here";
  const auto model = stateful_attention(by_operation, tokens_first);
  engine::Options options = two_threads();
  options.profile = true;
  options.precision = is_bf16 ? ElementType::kBf16 : ElementType::kF32;
  options.key_cache = options.value_cache = format.type;
  options.key_cache_group = options.value_cache_group = format.group;
  Staged staged(options);
  engine::Workers workers(2);
  VariableMap got, wanted;
  unsigned seed = 0;
  const double tolerance = format.tolerance + (is_bf16 ? 0.02 : 0);
  const auto run = [&](std::size_t rows, const std::vector<std::int32_t>& order) {
    Tensor beams(ElementType::kI32, Shape{order.size()});
    std::copy(order.begin(), order.end(), beams.data<std::int32_t>());
    const std::vector<Tensor> inputs{random_tensor(ElementType::kF32, Shape{2, rows, 4, 32}, ++seed), beams};
    const Tensor right = evaluate(*model, inputs, &wanted)[0];
    const Tensor left = staged.run(model, inputs, workers, {}, {}, &got).at(0);
    ASSERT_EQ(left.shape(), right.shape());
    for (std::size_t i = 0; i < left.element_count(); ++i)
      ASSERT_NEAR(left.data<float>()[i], right.data<float>()[i], tolerance) << seed << ": " << i;
    for (const char* id : {"keys", "values"}) {
      const Tensor state = staged.packed_state(id, got.at(id));
      ASSERT_EQ(state.shape(), wanted.at(id).shape());
      ASSERT_EQ(state.element_type(), ElementType::kF32);
      for (std::size_t i = 0; i < state.element_count(); ++i)
        ASSERT_NEAR(state.data<float>()[i], wanted.at(id).data<float>()[i], tolerance) << id << i;
    }
  };
  const auto run_all = [&] {
    // A prompt, single tokens, beams that change places or are lost, several tokens, and until the room ends.
    for (const std::size_t rows : {5, 1, 1, 3, 60, 1, 20, 1}) {
      run(rows, {0, 1});
      if (HasFatalFailure()) return;
      if (seed == 1) continue;
      EXPECT_EQ(got.at("keys").element_type(), format.type);
      std::size_t attention = 0;
      for (const auto& timed : staged.timed_steps()) {
        attention += timed.step.kernel.starts_with("attention");
        EXPECT_NE(timed.step.kernel, "expand cache");
      }
      EXPECT_EQ(attention, 1U);
    }
    for (const std::vector<std::int32_t>& order : {std::vector<std::int32_t>{1, 0}, {1, 1}, {0, 0}}) run(1, order);
  };
  run_all();
  // The user sets the states, and sees what was set.
  for (const char* id : {"keys", "values"}) {
    const Shape shape = tokens_first ? Shape{2, 9, 2, 32} : Shape{2, 2, 9, 32};
    got[id] = random_tensor(ElementType::kF32, shape, ++seed);
    wanted[id] = got[id];
  }
  run(1, {0, 1});
  run(1, {1, 0});
  got.clear();
  wanted.clear();
  run(3, {0, 1});
  run(1, {0, 1});
}

INSTANTIATE_TEST_SUITE_P(
    Formats, StagedCaches,
    testing::Combine(testing::Values(Format{ElementType::kU8, 0, 0.012}, Format{ElementType::kU8, 16, 0.012},
                                     Format{ElementType::kU8, 7, 0.012}, Format{ElementType::kBf16, 0, 0.008},
                                     Format{ElementType::kF16, 0, 0.001}),
                     testing::Bool(), testing::Bool(), testing::Bool()));

TEST(StagedCaches, MemoryThatACacheHasLeftIsGivenBack) {
  const auto model = stateful_attention(true, false);
  for (const ElementType type : {ElementType::kF32, ElementType::kU8}) {
    engine::Options options = two_threads();
    options.key_cache = options.value_cache = type;
    Staged staged(options);
    engine::Workers workers(2);
    VariableMap states;
    Tensor beams(ElementType::kI32, Shape{2});
    beams.data<std::int32_t>()[0] = 0;
    beams.data<std::int32_t>()[1] = 1;
    std::vector<Tensor> left;
    for (unsigned step = 0; step < 100; ++step) {
      const std::size_t rows = step == 0 ? 50 : 1;
      staged.run(model, {random_tensor(ElementType::kF32, Shape{2, rows, 4, 32}, step), beams}, workers, {}, {},
                 &states);
      const Tensor& keys = states.at("keys");
      if (left.empty() || left.back().memory() != keys.memory()) left.push_back(keys);
    }
    ASSERT_GE(left.size(), 4U) << "the prompt, and some rooms";
    for (std::size_t i = 0; i + 1 < left.size(); ++i) EXPECT_EQ(left[i].memory()->ref_count(), 1U) << name(type) << i;
  }
}

TEST(StagedCaches, WhatOthersReadTooStaysAsItIs) {
  // The keys are an output as well.
  const auto x = std::make_shared<Parameter>(element::f32, PartialShape{1, 2, -1, 16});
  const auto state = make_node(
      "ReadValue", 6, {},
      {{"variable_id", "keys"}, {"variable_type", ElementType::kF32}, {"variable_shape", PartialShape{1, 2, -1, 16}}});
  const Out grown = op1("Concat", 1, {state->output(0), x}, {{"axis", std::int64_t{2}}});
  const Out y = op1("ScaledDotProductAttention", 13, {x, grown, op1("Abs", 1, {grown})}, {{"causal", false}});
  const auto model = std::make_shared<Model>(
      OutputVector{y}, SinkVector{make_node("Assign", 6, {grown}, {{"variable_id", "keys"}})}, ParameterVector{x});
  engine::Options options = two_threads();
  options.key_cache = options.value_cache = ElementType::kU8;
  Staged staged(options);
  engine::Workers workers(2);
  VariableMap got, wanted;
  for (unsigned step = 0; step < 4; ++step) {
    const std::vector<Tensor> inputs{random_tensor(ElementType::kF32, Shape{1, 2, 1, 16}, step)};
    expect_close(evaluate(*model, inputs, &wanted)[0], staged.run(model, inputs, workers, {}, {}, &got).at(0), "");
    EXPECT_EQ(got.at("keys").element_type(), ElementType::kF32);
  }
}

TEST(Staged, AttentionReadsGrowingCachesWhereTheyLie) {
  // As exporters write a decoder whose heads share keys: new rows are joined to the cache, and heads repeated.
  for (const bool by_operation : {false, true}) {
    const auto x = std::make_shared<Parameter>(element::f32, PartialShape{1, -1, 4, 8});
    const auto mask = std::make_shared<Parameter>(element::f32, PartialShape{-1, -1});
    OutputVector heads;
    SinkVector sinks;
    for (const char* id : {"keys", "values"}) {
      const Out part = op1("Slice", 8, {x, ints({0}), ints({2}), ints({1}), ints({2})});
      const Out row = op1("Transpose", 1, {op1(id[0] == 'k' ? "Sin" : "Abs", 1, {part}), ints({0, 2, 1, 3})});
      const auto before = make_node(
          "ReadValue", 6, {},
          {{"variable_id", id}, {"variable_type", ElementType::kF32}, {"variable_shape", PartialShape{1, 2, -1, 8}}});
      const Out cache = op1("Concat", 1, {before->output(0), row}, {{"axis", 2}});
      sinks.push_back(make_node("Assign", 6, {cache}, {{"variable_id", id}}));
      const Out apart = op1("Unsqueeze", 1, {cache, ints({2})});
      const Out repeated = op1("Broadcast", 3, {apart, ints({1, 1, 2, 1, 1})}, {{"mode", "bidirectional"}});
      heads.push_back(op1("Reshape", 1, {repeated, ints({0, 4, -1, 8})}, {{"special_zero", true}}));
    }
    const Out q = op1("Transpose", 1, {x, ints({0, 2, 1, 3})});
    Out y;
    if (by_operation) {
      y = op1("ScaledDotProductAttention", 13, {q, heads[0], heads[1], mask}, {{"causal", false}});
    } else {
      // Torch's exporter takes the factor from the shape, and its root for either side.
      const Out size = op1("Gather", 8, {op1("ShapeOf", 3, {q}), scalar_int(-1), scalar_int(0)});
      const Out root = op1("Sqrt", 1, {op1("Convert", 1, {size}, {{"destination_type", ElementType::kF32}})});
      const Out factor = op1("Sqrt", 1, {op1("Divide", 1, {scalar(1), root})});
      const Out keys = op1("Multiply", 1, {op1("Transpose", 1, {heads[0], ints({0, 1, 3, 2})}), factor});
      const Out scores = op1("MatMul", 1, {op1("Multiply", 1, {q, factor}), keys});
      y = op1("MatMul", 1, {op1("Softmax", 8, {op1("Add", 1, {scores, mask})}, {{"axis", -1}}), heads[1]});
    }
    y = op1("Reshape", 1, {op1("Transpose", 1, {y, ints({0, 2, 1, 3})}), ints({0, 0, -1})}, {{"special_zero", true}});
    const auto model = std::make_shared<Model>(OutputVector{y}, sinks, ParameterVector{x, mask});
    engine::Options options = two_threads();
    options.profile = true;
    Staged staged(options);
    engine::Workers workers(2);
    VariableMap got_states, wanted_states;
    std::size_t total = 0;
    unsigned seed = 0;
    // A prompt, single tokens, several at once, and far enough for the room to end.
    for (const std::size_t rows : {5, 1, 1, 3, 60, 1, 20, 1}) {
      total += rows;
      const std::vector<Tensor> inputs{random_tensor(ElementType::kF32, Shape{1, rows, 4, 8}, ++seed),
                                       random_tensor(ElementType::kF32, Shape{rows, total}, ++seed)};
      const auto wanted = evaluate(*model, inputs, &wanted_states);
      expect_close(wanted[0], staged.run(model, inputs, workers, {}, {}, &got_states).at(0), std::to_string(total));
      std::size_t attention = 0;
      for (const auto& timed : staged.timed_steps()) {
        const std::string& type = timed.step.node_type;
        if (timed.step.kernel == "attention")
          ++attention;
        else
          EXPECT_TRUE(type != "Broadcast" && type != "MatMul" && type != "Softmax") << type << " with " << total;
      }
      EXPECT_EQ(attention, 1U) << total;
    }
  }
}

TEST(Staged, AFewRowsTimesWhatWasComputed) {
  // Views of all kinds on the right, masks and factors behind.
  unsigned seed = 0;
  for (const std::size_t rows : {1, 2, 4, 5})
    for (const bool flip : {false, true})
      for (const int tail : {0, 1, 2, 3}) {
        const auto a = std::make_shared<Parameter>(element::f32, PartialShape{2, 3, -1, 19});
        const auto b = std::make_shared<Parameter>(element::f32, PartialShape{2, -1, 3, 19});
        const auto c = std::make_shared<Parameter>(element::f32, PartialShape{1, 1, 1, -1});
        const Out right = op1("Transpose", 1, {b, ints(flip ? Numbers{0, 2, 1, 3} : Numbers{0, 2, 3, 1})});
        Out y = op1("MatMul", 1, {a, right}, {{"transpose_b", flip}});
        if (tail & 1) y = op1("Multiply", 1, {y, scalar(0.5)});
        if (tail & 2) y = op1("Add", 1, {y, c});
        const auto model = std::make_shared<Model>(OutputVector{y}, ParameterVector{a, b, c});
        Staged staged(two_threads());
        for (const std::size_t columns : {1, 7, 300})
          expect_as_reference(staged, model,
                              {random_tensor(ElementType::kF32, Shape{2, 3, rows, 19}, ++seed),
                               random_tensor(ElementType::kF32, Shape{2, columns, 3, 19}, ++seed),
                               random_tensor(ElementType::kF32, Shape{1, 1, 1, columns}, ++seed)});
      }
}

TEST(Staged, ShapesThatExplodeAreRefusedWithTheirNode) {
  const auto x = std::make_shared<Parameter>(element::f32, PartialShape{-1, 1});
  const Out row = op1("Transpose", 1, {x, ints({1, 0})});
  Out y = op1("Multiply", 1, {x, row});
  y.get_node_shared_ptr()->set_friendly_name("outer");
  const auto model = std::make_shared<Model>(
      OutputVector{op1("ReduceSum", 1, {y, ints({0, 1})}, {{"keep_dims", false}})}, ParameterVector{x});
  Staged staged(two_threads());
  engine::Workers workers(1);
  expect_as_reference(staged, model, {random_tensor(ElementType::kF32, Shape{30, 1}, 1)});
  try {
    staged.run(model, {random_tensor(ElementType::kF32, Shape{4000000, 1}, 1)}, workers);
    FAIL() << "64 TB";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kResourceExhausted);
    EXPECT_NE(std::string(error.what()).find("outer"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("TENON_LIMIT_BYTES"), std::string::npos) << error.what();
  }
  expect_as_reference(staged, model, {random_tensor(ElementType::kF32, Shape{31, 1}, 1)});
}

}  // namespace staged_test
}  // namespace tenon::engine_test
