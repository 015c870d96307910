// SPDX-License-Identifier: Apache-2.0
// ai.onnx.ml: support vector machines, as LIBSVM trains them.
#include <tenon/graph/readers/onnx/internal/scores.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {
Out matrix(const std::vector<double>& values, std::size_t rows, const char* attribute) {
  if (rows == 0 || values.empty() || values.size() % rows != 0)
    fail(std::string(attribute) + " has " + std::to_string(values.size()) + " entries, which are no " +
         std::to_string(rows) + " rows");
  return reshape(reals(ElementType::kF32, values), Ints{static_cast<std::int64_t>(rows), -1});
}

Out real_data(const NodeContext& node) { return convert(real_rows(node), ElementType::kF32); }

/// [batch, vectors]. @param is_linear  The model has no support vectors, so that its kernel is the product
Out kernels(const NodeContext& node, const Out& vectors, bool is_linear) {
  const auto parameters = node.get_floats("kernel_params");
  if (!parameters.empty() && parameters.size() != 3)
    fail("kernel_params has " + std::to_string(parameters.size()) + " entries, expected gamma, coef0 and degree");
  const auto parameter = [&](std::size_t i) { return parameters.empty() ? 0.0 : parameters[i]; };
  const std::string kind = is_linear ? "LINEAR" : node.get_string("kernel_type", "LINEAR");
  return op("KernelMatrix", 1, {real_data(node), vectors},
            {{"kind", kind}, {"gamma", parameter(0)}, {"offset", parameter(1)}, {"degree", parameter(2)}});
}

std::vector<double> rho_of(const NodeContext& node, std::size_t count) {
  const auto rho = node.get_floats("rho");
  if (rho.size() < count) fail("rho has " + std::to_string(rho.size()) + " entries, expected " + std::to_string(count));
  return rho;
}

OutputVector svm_regressor(const NodeContext& node) {
  const auto coefficients = node.get_floats("coefficients");
  const std::int64_t supports = node.get_int("n_supports", 0);
  if (supports < 0) fail("n_supports is " + std::to_string(supports) + ", expected at least 0");
  Out score;
  if (supports == 0) {
    score = kernels(node, matrix(coefficients, 1, "coefficients"), true);
  } else {
    const Out vectors =
        matrix(node.get_floats("support_vectors"), static_cast<std::size_t>(supports), "support_vectors");
    const Out weights = matrix(coefficients, static_cast<std::size_t>(supports), "coefficients");
    score = precise(matmul(kernels(node, vectors, false), weights));
  }
  score = add(score, scalar(ElementType::kF32, rho_of(node, 1)[0]));
  if (node.get_int("one_class", 0) != 0) {
    const Out is_inside = op("Greater", 1, {score, scalar_like(score, 0)});
    return {select(is_inside, scalar_like(score, 1), scalar_like(score, -1))};
  }
  return {transformed(score, node.get_string("post_transform", "NONE"))};
}

OutputVector svm_classifier(const NodeContext& node) {
  const ClassLabels labels(node, "classlabels_ints", "classlabels_strings");
  const std::string transform = node.get_string("post_transform", "NONE");
  const auto coefficients = node.get_floats("coefficients");
  const Ints per_class = node.get_ints("vectors_per_class", Ints{});
  const std::size_t classes = std::max<std::size_t>(labels.count(), 1);
  if (per_class.empty()) {
    const Out scores = add(kernels(node, matrix(coefficients, classes, "coefficients"), true),
                           scalar(ElementType::kF32, rho_of(node, 1)[0]));
    return {labels.of_highest(scores), transformed(scores, transform)};
  }
  if (per_class.size() != classes || classes < 2)
    fail("vectors_per_class has " + std::to_string(per_class.size()) + " entries for " + std::to_string(classes) +
         " classes, of which there are 2 or more");
  std::vector<std::size_t> begins{0};
  for (const std::int64_t count : per_class) {
    if (count < 0 || count > (std::int64_t{1} << 24))
      fail("vectors_per_class has " + std::to_string(count) + ", expected 0 to 2^24");
    begins.push_back(begins.back() + static_cast<std::size_t>(count));
  }
  const std::size_t vectors = begins.back(), pairs = classes * (classes - 1) / 2;
  if (coefficients.size() != (classes - 1) * vectors)
    fail("coefficients has " + std::to_string(coefficients.size()) + " entries, expected " +
         std::to_string((classes - 1) * vectors) + ": one row of all vectors for each other class");
  // The score of a pair is a sum over the vectors of its two classes, so that one product makes all of them.
  std::vector<double> weights(pairs * vectors, 0.0);
  std::vector<double> for_first(pairs * classes, 0.0), for_second(pairs * classes, 0.0);
  std::size_t pair = 0;
  for (std::size_t i = 0; i < classes; ++i)
    for (std::size_t j = i + 1; j < classes; ++j, ++pair) {
      for (std::size_t v = begins[i]; v < begins[i + 1]; ++v)
        weights[pair * vectors + v] = coefficients[(j - 1) * vectors + v];
      for (std::size_t v = begins[j]; v < begins[j + 1]; ++v)
        weights[pair * vectors + v] = coefficients[i * vectors + v];
      for_first[pair * classes + i] = for_second[pair * classes + j] = 1;
    }
  auto rho = rho_of(node, pairs);
  rho.resize(pairs);
  const Out matrix_of = kernels(node, matrix(node.get_floats("support_vectors"), vectors, "support_vectors"), false);
  const Out scores = add(precise(matmul(matrix_of, matrix(weights, pairs, "coefficients"), false, true)),
                         reals(ElementType::kF32, rho));
  const Out is_first = convert(op("Greater", 1, {scores, scalar_like(scores, 0)}), ElementType::kF32);
  const Out is_second = sub(scalar_like(scores, 1), is_first);
  const Out votes =
      add(matmul(is_first, matrix(for_first, pairs, "votes")), matmul(is_second, matrix(for_second, pairs, "votes")));
  const Out label = labels.of_highest(votes);
  const auto a = node.get_floats("prob_a"), b = node.get_floats("prob_b");
  if (!a.empty()) {
    if (a.size() != pairs || b.size() != pairs)
      fail("prob_a and prob_b have " + std::to_string(a.size()) + " and " + std::to_string(b.size()) +
           " entries, expected " + std::to_string(pairs) + ", one for each pair of classes");
    const Out line = add(mul(scores, reals(ElementType::kF32, a)), reals(ElementType::kF32, b));
    const Out coupled = op("PairwiseCoupling", 1, {unary("Sigmoid", unary("Negative", line))},
                           {{"classes", static_cast<std::int64_t>(classes)}});
    return {label, transformed(coupled, transform)};
  }
  if (classes > 2) return {label, transformed(scores, transform)};
  return {label, transformed(concat({unary("Negative", scores), scores}, 1), transform)};
}

}  // namespace

void add_support_vectors(ConverterTable& table) {
  table["ai.onnx.ml:SVMRegressor"] = svm_regressor;
  table["ai.onnx.ml:SVMClassifier"] = svm_classifier;
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
