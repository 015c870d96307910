// SPDX-License-Identifier: Apache-2.0
// Attention in the forms in which exporters write it: one step each, as the reference has it.
#include <algorithm>
#include <cmath>
#include <limits>

#include <tenon/engine/testing/judged_models.hpp>

namespace tenon::engine_test {
namespace matmul_conv_attention_test {

using Numbers = std::vector<std::int64_t>;
constexpr double kLow = std::numeric_limits<float>::lowest(), kMinus = -std::numeric_limits<double>::infinity();
constexpr std::size_t kB = 2, kH = 4, kL = 5, kS = 7, kD = 8;

Out matmul(const Out& a, const Out& b, bool flip = false) {
  return op1("MatMul", 1, {a, b}, {{"transpose_a", false}, {"transpose_b", flip}});
}
Out turned(const Out& x, const Numbers& order) { return op1("Transpose", 1, {x, ints(order)}); }
Out softmax(const Out& x, std::int64_t axis = -1) { return op1("Softmax", 8, {x}, {{"axis", axis}}); }
Out times(const Out& x, double factor) { return op1("Multiply", 1, {x, scalar(factor)}); }
Out reshaped(const Out& x, const Numbers& shape) {
  return op1("Reshape", 1, {x, ints(shape)}, {{"special_zero", false}});
}
/// As torch repeats the heads of keys: an axis, expanded, and joined.
Out repeated(const Out& x, std::int64_t n, bool by_tile = false) {
  const Shape s = x.get_shape();
  const auto b = static_cast<std::int64_t>(s[0]), h = static_cast<std::int64_t>(s[1]),
             l = static_cast<std::int64_t>(s[2]), d = static_cast<std::int64_t>(s[3]);
  const Out apart = op1("Unsqueeze", 1, {x, ints({2})});
  const Out all = by_tile ? op1("Tile", 1, {apart, ints({1, 1, n, 1, 1})})
                          : op1("Broadcast", 3, {apart, ints({b, h, n, l, d})}, {{"mode", "bidirectional"}});
  return reshaped(all, {b, h * n, l, d});
}
Out sdpa(const OutputVector& inputs, bool causal = false) {
  return op1("ScaledDotProductAttention", 13, inputs, {{"causal", causal}});
}

std::size_t count_of(const Judged& judged, const std::string& kernel) {
  return static_cast<std::size_t>(
      std::count_if(judged.infos.begin(), judged.infos.end(), [&](const auto& info) { return info.kernel == kernel; }));
}
/// Right, and one step without scores in memory.
Judged expect_whole(const Out& y, const ParameterVector& parameters) {
  auto judged = judge(y, parameters);
  EXPECT_EQ(count_of(judged, "attention"), 1u);
  EXPECT_FALSE(judged.ran("Softmax"));
  EXPECT_EQ(judged.references, 0u);
  return judged;
}
/// Right, but in steps.
void expect_apart(const Out& y, const ParameterVector& parameters) {
  EXPECT_EQ(count_of(judge(y, parameters), "attention"), 0u);
}

struct Sides {
  std::shared_ptr<op::v0::Parameter> q = parameter({kB, kH, kL, kD}), k = parameter({kB, kH, kS, kD}),
                                     v = parameter({kB, kH, kS, 6});
  ParameterVector all() const { return {q, k, v}; }
  ParameterVector with(const std::shared_ptr<op::v0::Parameter>& mask) const { return {q, k, v, mask}; }
};

/// A sink is one more score of each row: a head's, or a query's.
TEST(AttentionOperation, Sinks) {
  const Sides s;
  for (const Shape& shape : {Shape{1, kH, 1, 1}, Shape{kB, kH, kL, 1}, Shape{1, 1, 1, 1}, Shape{1, kH, kL, 1}}) {
    SCOPED_TRACE(to_string(shape));
    const auto sink = parameter(shape), mask = parameter({kL, kS}), scale = parameter({});
    expect_whole(sdpa({s.q, s.k, s.v, scalar(0), scalar(0.3), sink}), s.with(sink));
    expect_whole(sdpa({s.q, s.k, s.v, mask, scale, sink}), {s.q, s.k, s.v, mask, scale, sink});
    expect_whole(sdpa({s.q, s.k, s.v, scalar(0), scalar(0.3), sink}, true), s.with(sink));
  }
}

TEST(AttentionOperation, EveryMaskAndCausal) {
  const Sides s;
  expect_whole(sdpa({s.q, s.k, s.v}), s.all());
  expect_whole(sdpa({s.q, s.k, s.v}, true), s.all());
  for (const Shape& shape : {Shape{kB, kH, kL, kS}, Shape{1, 1, kL, kS}, Shape{kB, 1, 1, kS}, Shape{kL, kS}, Shape{kS},
                             Shape{1}, Shape{}, Shape{kB, kH, kL, 1}}) {
    SCOPED_TRACE(to_string(shape));
    for (const auto type : {element::f32, element::boolean}) {
      const auto mask = parameter(shape, type);
      expect_whole(sdpa({s.q, s.k, s.v, mask}), s.with(mask));
      expect_whole(sdpa({s.q, s.k, s.v, mask, scalar(0.3)}), s.with(mask));
      // By definition the causal form has no other mask.
      expect_whole(sdpa({s.q, s.k, s.v, mask}, true), s.with(mask));
    }
    const auto visible = parameter(shape, element::boolean);
    expect_whole(sdpa({s.q, s.k, s.v, op1("Select", 1, {visible, scalar(0), scalar(kMinus)})}), s.with(visible));
    expect_whole(sdpa({s.q, s.k, s.v, op1("Select", 1, {visible, scalar(kMinus), scalar(0)})}), s.with(visible));
    // Not the same: a number that does not hide.
    judge(sdpa({s.q, s.k, s.v, op1("Select", 1, {visible, scalar(0), scalar(-3)})}), s.with(visible));
  }
  for (const double none : {0.0, kMinus, 2.5}) expect_whole(sdpa({s.q, s.k, s.v, scalar(none), scalar(0.5)}), s.all());
  const auto scale = parameter({});
  expect_whole(sdpa({s.q, s.k, s.v, scalar(0), scale}), s.with(scale));
}

TEST(AttentionOperation, ShapesThatAreBroadcast) {
  const auto run = [](const Shape& q, const Shape& k, const Shape& v) {
    SCOPED_TRACE(to_string(q) + to_string(k) + to_string(v));
    const auto a = parameter(q), b = parameter(k), c = parameter(v);
    expect_whole(sdpa({a, b, c}), {a, b, c});
  };
  run({kB, kH, kL, kD}, {kB, 1, kS, kD}, {kB, 1, kS, 6});
  run({kB, 1, kL, kD}, {kB, kH, kS, kD}, {1, 1, kS, 6});
  run({kB, 2, 3, kL, kD}, {kB, 2, 1, kS, kD}, {kB, 2, 1, kS, 6});
  run({kH, kL, kD}, {kH, kS, kD}, {kH, kS, 6});
  run({kH, 1, kD}, {1, 300, kD}, {kH, 300, 6});
  run({1, kH, 130, kD}, {kH, 140, kD}, {1, 1, 140, 33});
  // No keys at all: zeros.
  run({kB, kH, kL, kD}, {kB, kH, 0, kD}, {kB, kH, 0, 6});
}

TEST(AttentionOperation, HeadsThatShareKeysAreReadWithoutCopies) {
  for (const bool by_tile : {false, true}) {
    const auto q = parameter({kB, 6, kL, kD}), k = parameter({kB, 2, kS, kD}), v = parameter({kB, 2, kS, 6});
    const auto judged = expect_whole(sdpa({q, repeated(k, 3, by_tile), repeated(v, 3, by_tile)}), {q, k, v});
    EXPECT_EQ(judged.steps, 1u);
  }
}

TEST(AttentionPattern, ScalesAnywhere) {
  const Sides s;
  const Out kt = turned(s.k, {0, 1, 3, 2});
  const auto rest = [&](const Out& scores) { return matmul(softmax(scores), s.v); };
  expect_whole(rest(matmul(s.q, s.k, true)), s.all());
  expect_whole(rest(matmul(s.q, kt)), s.all());
  expect_whole(rest(times(matmul(s.q, kt), 0.3)), s.all());
  expect_whole(rest(op1("Multiply", 1, {scalar(0.3), matmul(s.q, kt)})), s.all());
  expect_whole(rest(op1("Divide", 1, {matmul(s.q, kt), scalar(2.5)})), s.all());
  expect_whole(rest(matmul(times(s.q, 0.3), kt)), s.all());
  expect_whole(rest(matmul(op1("Divide", 1, {s.q, scalar(2.5)}), s.k, true)), s.all());
  expect_whole(rest(matmul(times(s.q, 0.5), times(kt, 0.5))), s.all());
  expect_whole(rest(matmul(times(s.q, 0.5), turned(times(s.k, 0.5), {0, 1, 3, 2}))), s.all());
  // Values that are multiplied by their transposed form.
  const auto vt = parameter({kB, kH, 6, kS});
  expect_whole(matmul(softmax(matmul(s.q, kt)), vt, true), {s.q, s.k, vt});
}

TEST(AttentionPattern, MasksInEveryForm) {
  const Sides s;
  const Out scores = times(matmul(s.q, s.k, true), 0.3);
  const auto rest = [&](const Out& masked) { return matmul(softmax(masked), s.v); };
  for (const Shape& shape : {Shape{kB, kH, kL, kS}, Shape{1, 1, kL, kS}, Shape{kB, 1, 1, kS}, Shape{kS}}) {
    const auto mask = parameter(shape);
    expect_whole(rest(op1("Add", 1, {scores, mask})), s.with(mask));
    expect_whole(rest(op1("Add", 1, {mask, scores})), s.with(mask));
    expect_whole(rest(op1("Add", 1, {matmul(s.q, s.k, true), mask})), s.with(mask));
    const auto chosen = parameter(shape, element::boolean);
    for (const double number : {kLow, -1e4, -1.0}) {
      expect_whole(rest(op1("Select", 1, {chosen, scores, scalar(number)})), s.with(chosen));
      expect_whole(rest(op1("Select", 1, {chosen, scalar(number), scores})), s.with(chosen));
    }
  }
}

TEST(AttentionPattern, CappedScores) {
  const Sides s;
  const auto mask = parameter({kL, kS});
  const Out scores = times(matmul(s.q, s.k, true), 0.3);
  const Out capped = times(op1("Tanh", 1, {op1("Divide", 1, {scores, scalar(2)})}), 2);
  expect_whole(matmul(softmax(capped), s.v), s.all());
  expect_whole(matmul(softmax(op1("Add", 1, {capped, mask})), s.v), s.with(mask));
  expect_whole(matmul(softmax(op1("Tanh", 1, {matmul(s.q, s.k, true)})), s.v), s.all());
}

TEST(AttentionPattern, AQueryThatSeesNothingIsNanUnlessGuarded) {
  const Sides s;
  std::vector<float> numbers(kL * kS, 0);
  std::fill_n(numbers.begin() + 2 * kS, kS, -std::numeric_limits<float>::infinity());
  const Out mask = op::v0::Constant::create(element::f32, Shape{kL, kS}, numbers);
  const Out weights = softmax(op1("Add", 1, {matmul(s.q, s.k, true), mask}));
  expect_whole(matmul(weights, s.v), s.all());
  const Out guarded = op1("Select", 1, {op1("IsNaN", 10, {weights}), scalar(0), weights});
  expect_whole(matmul(guarded, s.v), s.all());
}

TEST(AttentionPattern, HeadsThatShareKeysAreReadWithoutCopies) {
  const auto q = parameter({kB, 6, kL, kD}), k = parameter({kB, 2, kS, kD}), v = parameter({kB, 2, kS, 6});
  for (const bool by_tile : {false, true}) {
    const Out keys = repeated(k, 3, by_tile), values = repeated(v, 3, by_tile);
    const Out first = matmul(softmax(times(matmul(q, keys, true), 0.3)), values),
              second = matmul(softmax(times(matmul(q, turned(keys, {0, 1, 3, 2})), 0.3)), values);
    EXPECT_EQ(expect_whole(first, {q, k, v}).steps, 1u);
    EXPECT_EQ(expect_whole(second, {q, k, v}).steps, 1u);
  }
}

TEST(AttentionPattern, HeadsInsideRowsStayThere) {
  const auto x = parameter({kB, kL, kH * kD}), y = parameter({kB, kS, kH * kD});
  const auto heads = [](const Out& from, std::size_t rows, const Numbers& order) {
    return turned(reshaped(from, {kB, static_cast<std::int64_t>(rows), kH, kD}), order);
  };
  const Out q = heads(x, kL, {0, 2, 1, 3}), v = heads(y, kS, {0, 2, 1, 3});
  for (const Out& scores : {matmul(q, heads(y, kS, {0, 2, 3, 1})), matmul(q, turned(v, {0, 1, 3, 2})),
                            times(matmul(q, times(heads(y, kS, {0, 2, 3, 1}), 0.5)), 0.5)}) {
    const Out joined = reshaped(turned(matmul(softmax(scores), v), {0, 2, 1, 3}), {kB, kL, kH * kD});
    EXPECT_EQ(expect_whole(joined, {x, y}).steps, 1u) << "nothing is transposed";
  }
  const Out whole = reshaped(turned(sdpa({q, v, v}), {0, 2, 1, 3}), {kB, kL, kH * kD});
  EXPECT_EQ(expect_whole(whole, {x, y}).steps, 1u) << "nothing is transposed";
  // Orders in which the numbers of a row do not lie side by side.
  const auto z = parameter({kB, kD, kH, kS});
  expect_whole(matmul(softmax(matmul(q, turned(z, {0, 2, 1, 3}))), v), {x, z, y});
}

TEST(AttentionPattern, WhatOnlyLooksLikeAttention) {
  const Sides s;
  const Out scores = matmul(s.q, s.k, true), mixed = matmul(softmax(scores), s.v);
  // Others read what would not be made.
  for (const Out& read : {scores, softmax(scores)}) {
    const Out y = matmul(softmax(scores), s.v);
    expect_apart(op1("Add", 1, {op1("ReduceSum", 1, {read, ints({3})}, {{"keep_dims", true}}), y}), s.all());
  }
  expect_apart(matmul(softmax(scores, 2), s.v), s.all());
  expect_apart(matmul(op1("LogSoftmax", 5, {scores}, {{"axis", -1}}), s.v), s.all());
  expect_apart(matmul(softmax(op1("Sin", 1, {scores})), s.v), s.all());
  const auto factors = parameter({kH, 1, 1});
  expect_apart(matmul(softmax(op1("Multiply", 1, {scores, factors})), s.v), s.with(factors));
  const auto bias = parameter({kB, kH, kL, kS}), mask = parameter({kS});
  // The first sum is a product's own.
  judge(matmul(softmax(op1("Add", 1, {op1("Add", 1, {scores, bias}), mask})), s.v), {s.q, s.k, s.v, bias, mask});
}

TEST(AttentionPattern, ConstantsOnAnySide) {
  const Sides s;
  const Out k = weights({kB, 2, kS, kD}, 3), v = weights({kB, 2, kS, 6}, 4);
  judge(matmul(softmax(matmul(s.q, repeated(k, 2), true)), s.v), {s.q, s.v});
  judge(matmul(softmax(matmul(s.q, s.k, true)), repeated(v, 2)), {s.q, s.k});
  judge(matmul(softmax(matmul(s.q, times(repeated(k, 2), 0.3), true)), repeated(v, 2)), {s.q});
  judge(matmul(softmax(matmul(weights({kB, kH, kL, kD}, 5), s.k, true)), s.v), {s.k, s.v});
  judge(sdpa({s.q, repeated(k, 2), repeated(v, 2)}), {s.q});
}

}  // namespace matmul_conv_attention_test
}  // namespace tenon::engine_test
