// SPDX-License-Identifier: Apache-2.0
// The parts of transformers: products between transpositions, normalizations with scale and shift.
#include <tenon/engine/testing/judged_models.hpp>

namespace tenon::engine_test {
namespace transformer_test {

constexpr std::int64_t kBatch = 2, kTokens = 12, kHeads = 4, kEach = 16;

Out product(const Out& a, const Out& b, bool transpose_b = false) {
  return op1("MatMul", 1, {a, b}, {{"transpose_a", false}, {"transpose_b", transpose_b}});
}
Out heads(const Out& x, const std::vector<std::int64_t>& order) {
  const Out split = op1("Reshape", 1, {x, ints({kBatch, kTokens, kHeads, kEach})}, {{"special_zero", false}});
  return op1("Transpose", 1, {split, ints(order)});
}
Out joined(const Out& x) {
  const Out back = op1("Transpose", 1, {x, ints({0, 2, 1, 3})});
  return op1("Reshape", 1, {back, ints({kBatch, kTokens, kHeads * kEach})}, {{"special_zero", false}});
}
std::shared_ptr<op::v0::Parameter> tokens() { return parameter({kBatch, kTokens, kHeads * kEach}); }
Out linear(const Out& x, unsigned seed) { return product(x, weights({kHeads * kEach, kHeads * kEach}, seed, 0.1f)); }

bool moves(const Judged& judged) { return judged.ran("Transpose") || judged.ran("Reorder"); }
/// Whether these kernels take strides; others get their operands packed.
bool takes_strides(const Judged& judged) {
  for (const auto& info : judged.infos)
    if (info.node_type == "MatMul" && info.kernel.rfind("brg", 0) != 0) return false;
  return true;
}

TEST(Transformer, AttentionMovesNothing) {
  const auto x = tokens();
  const Out q = heads(linear(x, 1), {0, 2, 1, 3}), k = heads(linear(x, 2), {0, 2, 3, 1}),
            v = heads(linear(x, 3), {0, 2, 1, 3});
  const Out scores = op1("Divide", 1, {product(q, k), scalar(4.5)});
  const Out mixed = product(op1("Softmax", 8, {scores}, {{"axis", -1}}), v);
  const auto judged = judge(linear(joined(mixed), 4), {x});
  EXPECT_FALSE(judged.ran("Transpose"));
  EXPECT_FALSE(takes_strides(judged) && moves(judged));
}

TEST(Transformer, TransposedOperandsAgreeHoweverTheyAreRead) {
  const auto x = tokens(), y = tokens();
  const Out a = heads(x, {0, 2, 1, 3}), b = heads(y, {0, 2, 1, 3});
  // Transposed once more by the product; of an input; with another reader; on both sides.
  judge(product(a, b, true), {x, y});
  judge(product(heads(x, {0, 2, 3, 1}), a), {x});
  const Out p = product(op1("Tanh", 1, {a}), b, true);
  judge(std::make_shared<Model>(OutputVector{p, product(a, b, true)}, ParameterVector{x, y}));
  judge(std::make_shared<Model>(OutputVector{op1("Relu", 1, {b}), product(b, b, true)}, ParameterVector{y}));
  // Orders that no kernel takes.
  judge(product(heads(x, {3, 2, 1, 0}), heads(y, {3, 2, 0, 1})), {x, y});
  // A matrix for all of a batch, and a constant.
  judge(product(a, weights({kEach, 5})), {x});
  judge(product(a, weights({kHeads, kEach, 5})), {x});
}

TEST(Transformer, TransposedResultsAgreeHoweverTheyAreRead) {
  const auto x = tokens(), y = tokens();
  const Out p = product(heads(x, {0, 2, 1, 3}), heads(y, {0, 2, 3, 1}));
  for (const auto& order : {std::vector<std::int64_t>{0, 2, 1, 3}, {0, 1, 3, 2}, {2, 1, 0, 3}, {3, 2, 1, 0}})
    judge(op1("Transpose", 1, {p, ints(order)}), {x, y});
  const Out turned = op1("Transpose", 1, {p, ints({0, 2, 1, 3})});
  judge(std::make_shared<Model>(OutputVector{turned, p}, ParameterVector{x, y}));
  judge(op1("Tanh", 1, {turned}), {x, y});
  judge(product(turned, op1("Transpose", 1, {p, ints({0, 2, 3, 1})})), {x, y});
  // A node fused after the product keeps the product's own order.
  judge(op1("Transpose", 1, {op1("Relu", 1, {p}), ints({0, 2, 1, 3})}), {x, y});
}

Out norm(const Out& x) {
  return op1("MVN", 6, {x, ints({-1})}, {{"normalize_variance", true}, {"eps", 1e-5}, {"eps_mode", "inside_sqrt"}});
}

TEST(Transformer, ScaleAndShiftAreTheNormalizationsOwn) {
  const auto x = tokens();
  const Shape columns{kHeads * kEach};
  const Out scaled = op1("Multiply", 1, {norm(x), weights(columns, 3)});
  const auto whole = judge(op1("Add", 1, {scaled, weights(columns, 4)}), {x});
  EXPECT_EQ(whole.steps, 1u);
  EXPECT_EQ(judge(op1("Add", 1, {norm(x), weights(columns, 4)}), {x}).steps, 1u);
  EXPECT_EQ(judge(op1("Multiply", 1, {weights(columns, 4), norm(x)}), {x}).steps, 1u);
  EXPECT_EQ(judge(op1("Multiply", 1, {norm(x), scalar(3)}), {x}).steps, 1u);
}

TEST(Transformer, WhatOnlyLooksLikeScaleAndShiftStaysApart) {
  const auto x = tokens(), y = tokens();
  const Shape columns{kHeads * kEach};
  // Per row, not constant, operands swapped, twice.
  judge(op1("Multiply", 1, {norm(x), weights({kTokens, 1}, 3)}), {x});
  judge(op1("Multiply", 1, {norm(x), y}), {x, y});
  const Out shifted = op1("Add", 1, {norm(x), weights(columns, 3)});
  judge(op1("Multiply", 1, {shifted, weights(columns, 4)}), {x});
  judge(op1("Add", 1, {shifted, weights(columns, 5)}), {x});
  judge(op1("Add", 1, {shifted, y}), {x, y});
  // Rows of two axes.
  const Out both =
      op1("MVN", 6, {x, ints({1, 2})}, {{"normalize_variance", true}, {"eps", 1e-5}, {"eps_mode", "inside_sqrt"}});
  judge(op1("Multiply", 1, {both, weights(columns, 3)}), {x});
  judge(op1("Multiply", 1, {both, weights({kTokens, columns[0]}, 3)}), {x});
}

/// x / sqrt(mean(x^2) + 1e-5) in the forms of exporters.
Out root_mean_square(const Out& x, int form, std::int64_t axis = -1) {
  const Out square = form & 1 ? op1("Multiply", 1, {x, x}) : op1("Power", 1, {x, scalar(2)});
  const Out mean = op1("ReduceMean", 1, {square, ints({axis})}, {{"keep_dims", true}});
  const Out sum = form & 2 ? op1("Add", 1, {scalar(1e-5), mean}) : op1("Add", 1, {mean, scalar(1e-5)});
  if (form / 4 == 0) return op1("Divide", 1, {x, op1("Sqrt", 1, {sum})});
  const Out inverse =
      form / 4 == 1 ? op1("Divide", 1, {scalar(1), op1("Sqrt", 1, {sum})}) : op1("Power", 1, {sum, scalar(-0.5)});
  return form & 1 ? op1("Multiply", 1, {inverse, x}) : op1("Multiply", 1, {x, inverse});
}

TEST(Transformer, NormsByTheMeanSquareAreOneStep) {
  const auto x = tokens();
  const Shape columns{kHeads * kEach};
  for (int form = 0; form < 12; ++form) {
    EXPECT_EQ(judge(root_mean_square(x, form), {x}).steps, 1u) << form;
    EXPECT_EQ(judge(op1("Multiply", 1, {root_mean_square(x, form), weights(columns, 3)}), {x}).steps, 1u) << form;
    EXPECT_EQ(judge(op1("Multiply", 1, {weights(columns, 3), root_mean_square(x, form)}), {x}).steps, 1u) << form;
  }
  // Rows of any length; of a value that is transposed; before and after products.
  for (const std::size_t extent : {1, 3, 17, 100}) {
    const auto y = parameter({5, extent});
    EXPECT_EQ(judge(root_mean_square(y, 4), {y}).steps, 1u) << extent;
  }
  const Out between = linear(root_mean_square(linear(x, 1), 5), 2);
  EXPECT_EQ(judge(between, {x}).references, 0u);
  judge(root_mean_square(heads(x, {0, 2, 1, 3}), 6), {x});
}

TEST(Transformer, WhatOnlyLooksLikeANormByTheMeanSquareStaysApart) {
  const auto x = tokens(), y = tokens();
  EXPECT_GT(judge(root_mean_square(x, 4, 1), {x}).steps, 1u);
  // Another value is divided; weights per row; the mean has another reader.
  const Out mean = op1("ReduceMean", 1, {op1("Multiply", 1, {x, x}), ints({-1})}, {{"keep_dims", true}});
  const Out root = op1("Sqrt", 1, {op1("Add", 1, {mean, scalar(1e-5)})});
  EXPECT_GT(judge(op1("Divide", 1, {y, root}), {x, y}).steps, 1u);
  EXPECT_GT(judge(op1("Divide", 1, {root, x}), {x}).steps, 1u);
  EXPECT_GT(judge(op1("Multiply", 1, {op1("Divide", 1, {x, root}), root}), {x}).steps, 1u);
  judge(op1("Multiply", 1, {root_mean_square(x, 4), weights({kTokens, 1}, 3)}), {x});
  judge(op1("Multiply", 1, {root_mean_square(x, 4), y}), {x, y});
}

TEST(Transformer, DivisionByConstantsAgrees) {
  const auto x = tokens();
  for (const double divisor : {4.5, -0.125, 1e30, 1e-30}) judge(op1("Divide", 1, {linear(x, 1), scalar(divisor)}), {x});
}

}  // namespace transformer_test
}  // namespace tenon::engine_test
