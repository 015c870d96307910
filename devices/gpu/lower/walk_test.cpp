// SPDX-License-Identifier: Apache-2.0
// Plans made from the plan before: what other shapes reach, the same plan as one made from nothing, and no program more.
#include <tenon/devices/gpu/lower/walk.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tenon/devices/gpu/deferred_model.hpp>
#include <tenon/devices/gpu/hardware.hpp>
#include <tenon/devices/gpu/lower/lower.hpp>
#include <tenon/devices/gpu/testing/gpu.hpp>
#include <tenon/devices/gpu/testing/judge.hpp>
#include <tenon/planning/shaped_copy.hpp>

namespace tenon::gpu_testing {
namespace walk_test {

using namespace gpu_device::testing;
using gpu_device::ModelWalk;

constexpr std::size_t kFeatures = 32, kHeads = 2, kWidth = kFeatures / kHeads;

Out weights(const Shape& shape, unsigned seed) {
  const Tensor values = random_tensor(ElementType::kF32, shape, seed);
  std::vector<double> scaled;
  for (std::size_t i = 0; i < values.element_count(); ++i) scaled.push_back(0.2 * values.data<float>()[i]);
  return reals(shape, scaled);
}
Out both(const char* type, const Out& a, const Out& b) { return outputs(type, 1, {a, b})[0]; }
Out product(const Out& a, const Out& b, bool transposed = false) {
  return outputs("MatMul", 1, {a, b}, {{"transpose_a", false}, {"transpose_b", transposed}})[0];
}
Out linear(const Out& x, std::size_t to, unsigned seed) {
  const auto from = static_cast<std::size_t>(x.get_partial_shape()[2].get_length());
  return both("Add", product(x, weights({from, to}, seed)), weights({1, 1, to}, seed + 1));
}
Out norm(const Out& x) {
  return outputs("MVN", 6, {x, ints({2})},
                 {{"normalize_variance", true}, {"eps", 1e-5}, {"eps_mode", std::string("INSIDE_SQRT")}})[0];
}
/// [1, heads, tokens, width]
Out heads(const Out& x) {
  const Out split = outputs("Reshape", 1, {x, ints({0, -1, kHeads, kWidth})}, {{"special_zero", true}})[0];
  return outputs("Transpose", 1, {split, ints({0, 2, 1, 3})})[0];
}
Out extent(const Out& x, std::int64_t axis) {
  const Out shape = outputs("ShapeOf", 3, {x}, {{"output_type", element::Type(element::i64)}})[0];
  return outputs("Gather", 8, {shape, scalar(axis), scalar(0)}, {{"batch_dims", std::int64_t{0}}})[0];
}
Out range(const Out& from, const Out& to) {
  return outputs("Range", 4, {from, to, scalar(1)}, {{"output_type", element::Type(element::i64)}})[0];
}

/// A layer of a decoder: new tokens x see those of the past, whose keys and values are given.
struct Layer {
  std::shared_ptr<op::v0::Parameter> x, keys, values;
  OutputVector results;

  Layer() {
    const auto open = [](const PartialShape& shape) {
      return std::make_shared<op::v0::Parameter>(element::f32, shape);
    };
    x = open({1, -1, std::int64_t{kFeatures}});
    keys = open({1, std::int64_t{kHeads}, -1, std::int64_t{kWidth}});
    values = open({1, std::int64_t{kHeads}, -1, std::int64_t{kWidth}});
    const Out before = extent(keys, 2), total = both("Add", before, extent(x, 1));
    const auto unsqueezed = [](const Out& value, std::int64_t axis) {
      return outputs("Unsqueeze", 1, {value, ints({axis})})[0];
    };
    const Out later = both("Less", unsqueezed(range(before, total), 1), unsqueezed(range(scalar(0), total), 0));
    const Out mask = outputs("Select", 1, {later, reals({}, {-10000}), reals({}, {0})})[0];
    const Out normal = norm(x);
    const auto joined = [](const Out& past, const Out& now) {
      return outputs("Concat", 1, {past, now}, {{"axis", std::int64_t{2}}})[0];
    };
    const Out key = joined(keys, heads(linear(normal, kFeatures, 3))),
              value = joined(values, heads(linear(normal, kFeatures, 5)));
    Out scores = both("Multiply", product(heads(linear(normal, kFeatures, 7)), key, true), reals({}, {0.25}));
    scores = outputs("Softmax", 8, {both("Add", scores, mask)}, {{"axis", std::int64_t{-1}}})[0];
    const Out mixed = outputs("Transpose", 1, {product(scores, value), ints({0, 2, 1, 3})})[0];
    const Out flat = outputs("Reshape", 1, {mixed, ints({0, -1, kFeatures})}, {{"special_zero", true}})[0];
    const Out sum = both("Add", x, linear(flat, kFeatures, 9));
    const Out wide = outputs("Relu", 1, {linear(norm(sum), 4 * kFeatures, 11)})[0];
    results = {both("Add", sum, linear(wide, kFeatures, 13)), key, value};
  }
  ParameterVector parameters() const { return {x, keys, values}; }
  std::shared_ptr<Model> model() const { return std::make_shared<Model>(results, parameters(), "layer"); }
};

std::vector<planning::InputShape> shapes_of(std::size_t tokens, std::size_t past) {
  const Shape cache{1, kHeads, past, kWidth};
  return {{element::f32, {1, tokens, kFeatures}}, {element::f32, cache}, {element::f32, cache}};
}

/// What a walk has, to be given shapes.
struct Walked {
  planning::ShapedCopy shaped;
  gpu_device::PackedWeights weights;
  ModelWalk walk;
  std::vector<bool> changed;
  std::size_t asked = 0;

  explicit Walked(const Model& model, const gpu_device::Target& target = {})
      : shaped(*gpu_device::run_moving_passes(*gpu_device::run_passes(model, TimeLimit(0), true, target), TimeLimit(0),
                                              true)),
        walk(shaped.model(), shaped.order(), target, weights),
        changed(shaped.order().size(), true) {}
  gpu_device::LaunchPlan plan(const std::vector<planning::InputShape>& shapes) {
    asked = shaped.give(shapes, changed);
    EXPECT_TRUE(shaped.is_closed());
    EXPECT_TRUE(walk.can_run(changed));
    auto made = walk.run(changed, TimeLimit(0));
    changed.assign(changed.size(), false);
    return made;
  }
};

void expect_equal(const gpu_device::LaunchPlan& a, const gpu_device::LaunchPlan& b) {
  ASSERT_EQ(a.launches.size(), b.launches.size());
  for (std::size_t i = 0; i < a.launches.size(); ++i) {
    const gpu_device::Launch &left = *a.launches[i], &right = *b.launches[i];
    SCOPED_TRACE(left.node_name);
    EXPECT_EQ(left.kernel->name, right.kernel->name);
    EXPECT_EQ(left.global, right.global);
    EXPECT_EQ(left.local, right.local);
    ASSERT_EQ(left.arguments.size(), right.arguments.size());
    for (std::size_t k = 0; k < left.arguments.size(); ++k) {
      EXPECT_EQ(left.arguments[k].place, right.arguments[k].place);
      EXPECT_EQ(left.arguments[k].number, right.arguments[k].number);
    }
  }
  ASSERT_EQ(a.buffers.size(), b.buffers.size());
  for (std::size_t i = 0; i < a.buffers.size(); ++i) {
    EXPECT_EQ(a.buffers[i].kind, b.buffers[i].kind);
    EXPECT_EQ(a.buffers[i].size_bytes, b.buffers[i].size_bytes);
    EXPECT_EQ(a.buffers[i].arena_offset, b.buffers[i].arena_offset);
  }
  EXPECT_EQ(a.arena_bytes, b.arena_bytes);
}

TEST(ModelWalk, OtherShapesReachOnlyWhatDependsOnThem) {
  const auto model = Layer().model();
  Walked walked(*model);
  const gpu_device::LaunchPlan first = walked.plan(shapes_of(1, 16));
  const std::size_t all = walked.walk.lowered();
  const gpu_device::LaunchPlan second = walked.plan(shapes_of(1, 17));
  EXPECT_LT(walked.asked, walked.shaped.order().size() / 2);
  EXPECT_LT(walked.walk.lowered(), all / 2) << "a longer past reaches the mask, the caches and the attention";
  ASSERT_EQ(first.launches.size(), second.launches.size());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < first.launches.size(); ++i) kept += first.launches[i] == second.launches[i];
  EXPECT_GE(kept, 5u) << "two norms, the queries, keys and values, and what follows the attention";
  EXPECT_LT(kept, first.launches.size());
  walked.plan(shapes_of(1, 17));
  EXPECT_EQ(walked.asked, 0u);
  EXPECT_EQ(walked.walk.lowered(), 0u);
}

TEST(ModelWalk, APlanMadeFromTheOneBeforeIsThePlanMadeFromNothing) {
  const auto model = Layer().model();
  Walked moving(*model);
  std::mt19937 random(5);
  for (int round = 0; round < 30; ++round) {
    const std::size_t tokens = 1 + random() % 20, past = 1 + random() % 40;
    SCOPED_TRACE("tokens " + std::to_string(tokens) + ", past " + std::to_string(past));
    Walked fresh(*model);
    // Constants are packed anew by another walk: places and kernels are what counts.
    expect_equal(moving.plan(shapes_of(tokens, past)), fresh.plan(shapes_of(tokens, past)));
  }
}

TEST(ModelWalk, AttentionIsFoundWhateverTheShapes) {
  Walked walked(*Layer().model());
  const auto plan = walked.plan(shapes_of(3, 5));
  EXPECT_TRUE(std::ranges::any_of(plan.launches,
                                  [](const auto& launch) { return launch->kernel->kind.substr(0, 9) == "attention"; }));
}

std::vector<std::vector<Shape>> random_rounds(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::vector<Shape>> rounds;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<Shape> shapes;
    for (const auto& input : shapes_of(1 + random() % 12, 1 + random() % 30)) shapes.push_back(input.shape);
    rounds.push_back(std::move(shapes));
  }
  return rounds;
}

TEST_F(Gpu, ShapesInAnyOrderGiveTheReferencesResults) {
  const Layer layer;
  auto rounds = random_rounds(20, 7);
  rounds.insert(rounds.end(), rounds.begin(), rounds.begin() + 5);  // And known ones.
  judge_moving(layer.results, layer.parameters(), rounds);
}

TEST_F(Gpu, LengthsBetweenThoseThatWereThereGiveTheReferencesResults) {
  const Layer layer;
  std::vector<std::vector<Shape>> rounds;
  for (const std::size_t length : {4, 20, 12, 8, 16, 10, 6, 18, 7}) {
    auto& shapes = rounds.emplace_back();
    for (const auto& input : shapes_of(length, length)) shapes.push_back(input.shape);
  }
  judge_moving(layer.results, layer.parameters(), rounds);
}

/// Gives the request inputs of these shapes.
void give(InferRequest& request, const std::vector<planning::InputShape>& shapes) {
  for (std::size_t i = 0; i < shapes.size(); ++i)
    request.set_input_tensor(i, random_tensor(ElementType::kF32, shapes[i].shape, static_cast<unsigned>(i + 3)));
}

void expect_reference(InferRequest& request, const Model& model, const std::vector<planning::InputShape>& shapes) {
  give(request, shapes);
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < shapes.size(); ++i) inputs.push_back(request.get_input_tensor(i));
  request.infer();
  const std::vector<Tensor> wanted = evaluate(model, inputs);
  for (std::size_t i = 0; i < wanted.size(); ++i) expect_close(wanted[i], request.get_output_tensor(i), 2e-4);
}

TEST_F(Gpu, ResultsThatAreKnownBeforeAnyKernelRunsFollowTheShapes) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{-1, 4});
  const Out rows = outputs("Convert", 1, {extent(x, 0)}, {{"destination_type", element::Type(element::f32)}})[0];
  const Out number = outputs("Relu", 1, {reals({2}, {-1, 3})})[0];
  judge_moving({outputs("Relu", 1, {x})[0], rows, number}, {x}, {{{3, 4}}, {{5, 4}}, {{3, 4}}, {{1, 4}}});
}

TEST_F(Gpu, ShapesThatDoNotFitLeaveTheModelUsable) {
  const auto model = Layer().model();
  auto request = core.compile_model(model, "GPU", hint::inference_precision(element::f32)).create_infer_request();
  for (std::size_t past = 5; past < 8; ++past) {
    expect_reference(request, *model, shapes_of(2, past));
    auto shapes = shapes_of(2, past);
    shapes[2].shape[2] += 1;  // More values than keys.
    give(request, shapes);
    EXPECT_THROW(request.infer(), Error);
    expect_reference(request, *model, shapes_of(3, past));
  }
}

TEST_F(Gpu, ThreadsThatAskForOtherShapesAtOnceGetTheirOwnResults) {
  const auto model = Layer().model();
  auto compiled = core.compile_model(model, "GPU", hint::inference_precision(element::f32));
  std::vector<std::jthread> threads;
  for (std::size_t own = 1; own <= 3; ++own)
    threads.emplace_back([&, own] {
      auto request = compiled.create_infer_request();
      for (std::size_t round = 0; round < 6; ++round)
        expect_reference(request, *model, shapes_of(own, 4 + (5 * round + own) % 7));
    });
}

TEST_F(Gpu, NewShapesBuildNoPrograms) {
  const auto& library = gpu_device::find_gpu("")->library();
  auto request =
      core.compile_model(Layer().model(), "GPU", hint::inference_precision(element::f32)).create_infer_request();
  const auto infer = [&](std::size_t tokens, std::size_t past) {
    give(request, shapes_of(tokens, past));
    request.infer();
  };
  // Variants: rows in tiles of several sizes; keys in vectors of several widths, few or in parts; a mask that is too large for
  // the host.
  for (const auto& [tokens, past] :
       {std::pair(16, 16), {14, 14}, {7, 21}, {5, 21}, {1, 22}, {1, 23}, {2, 6}, {3, 9}, {1, 80}, {40, 120}})
    infer(tokens, past);
  const auto made = [&] { return library.counts().built + library.counts().loaded; };
  const std::size_t before = made();
  for (std::size_t past = 24; past < 100; ++past) {
    infer(1, past);
    ASSERT_EQ(made(), before) << "a token after " << past;
  }
  for (std::size_t tokens = 2; tokens < 40; ++tokens) {
    infer(tokens, 3 * tokens);
    ASSERT_EQ(made(), before) << tokens << " tokens";
  }
}

}  // namespace walk_test
}  // namespace tenon::gpu_testing
