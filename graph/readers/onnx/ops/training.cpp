// SPDX-License-Identifier: Apache-2.0
// ONNX: steps of optimisers (ai.onnx.preview.training), expanded into standard operations; each accepts any number of
// tensors.
#include <functional>

#include <tenon/graph/readers/onnx/internal/onnx.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {

/// Inputs are the rate, the count of steps, then `kinds` lists of equally many tensors; outputs are lists too.
OutputVector for_each_tensor(const NodeContext& node, std::size_t kinds,
                             const std::function<OutputVector(const OutputVector&)>& step) {
  const std::size_t given = node.input_count();
  if (given < 2 + kinds || (given - 2) % kinds != 0)
    fail("has " + std::to_string(given) + " inputs, expected 2 and " + std::to_string(kinds) + " for each tensor");
  const std::size_t count = (given - 2) / kinds;
  OutputVector all(count * (kinds - 1));
  for (std::size_t i = 0; i < count; ++i) {
    OutputVector own;
    for (std::size_t kind = 0; kind < kinds; ++kind) own.push_back(node.input(2 + kind * count + i));
    const OutputVector made = step(own);
    for (std::size_t kind = 0; kind < made.size(); ++kind) all[kind * count + i] = made[kind];
  }
  return all;
}

/// The number of steps as a real scalar of x's type.
Out count_of(const NodeContext& node, const Out& x) {
  return reshape(convert(node.input(1), x.get_element_type()), Ints{});
}

Out rate_of(const NodeContext& node, const Out& x) {
  return reshape(convert(node.input(0), x.get_element_type()), Ints{});
}

Out regularised(const NodeContext& node, const Out& gradient, const Out& x, const char* attribute) {
  const double norm = node.get_float(attribute, 0);
  return norm == 0 ? gradient : add(gradient, mul(x, scalar_like(x, norm)));
}

// x, gradient, sum of squares
OutputVector adagrad(const NodeContext& node) {
  const double decay = node.get_float("decay_factor", 0), epsilon = node.get_float("epsilon", 1e-6);
  return for_each_tensor(node, 3, [&](const OutputVector& own) -> OutputVector {
    const Out &x = own[0], g = regularised(node, own[1], x, "norm_coefficient");
    const Out rate = div(rate_of(node, x), add(scalar_like(x, 1), mul(count_of(node, x), scalar_like(x, decay))));
    const Out squares = add(own[2], mul(g, g));
    return {sub(x, div(mul(rate, g), add(unary("Sqrt", squares), scalar_like(x, epsilon)))), squares};
  });
}

// x, gradient, mean of gradients, mean of their squares
OutputVector adam(const NodeContext& node) {
  const double alpha = node.get_float("alpha", 0.9), beta = node.get_float("beta", 0.999);
  const double epsilon = node.get_float("epsilon", 1e-6), after = node.get_float("norm_coefficient_post", 0);
  return for_each_tensor(node, 4, [&](const OutputVector& own) -> OutputVector {
    const Out &x = own[0], g = regularised(node, own[1], x, "norm_coefficient");
    const auto number = [&](double value) { return scalar_like(x, value); };
    const Out mean = add(mul(own[2], number(alpha)), mul(g, number(1 - alpha)));
    const Out square = add(mul(own[3], number(beta)), mul(mul(g, g), number(1 - beta)));
    const Out count = count_of(node, x);
    const auto left = [&](double factor) { return sub(number(1), op("Power", 1, {number(factor), count})); };
    const Out corrected = div(mul(rate_of(node, x), unary("Sqrt", left(beta))), left(alpha));
    const Out rate = select(op("Greater", 1, {count, number(0)}), corrected, rate_of(node, x));
    const Out moved = sub(x, div(mul(rate, mean), add(unary("Sqrt", square), number(epsilon))));
    return {after == 0 ? moved : mul(moved, number(1 - after)), mean, square};
  });
}

// x, gradient, velocity
OutputVector momentum(const NodeContext& node) {
  const double alpha = node.get_float("alpha", 0), beta = node.get_float("beta", 0);
  const std::string mode = node.get_string("mode", "");
  if (mode != "standard" && mode != "nesterov") fail("mode is \"" + mode + "\", expected standard or nesterov");
  return for_each_tensor(node, 3, [&](const OutputVector& own) -> OutputVector {
    const Out &x = own[0], g = regularised(node, own[1], x, "norm_coefficient");
    const auto number = [&](double value) { return scalar_like(x, value); };
    // The first step takes the gradient whole.
    const Out share = select(op("Greater", 1, {count_of(node, x), number(0)}), number(beta), number(1));
    const Out velocity = add(mul(own[2], number(alpha)), mul(g, share));
    const Out direction = mode == "nesterov" ? add(g, mul(velocity, number(alpha))) : velocity;
    return {sub(x, mul(rate_of(node, x), direction)), velocity};
  });
}

}  // namespace

void add_training(ConverterTable& table) {
  table["ai.onnx.preview.training:Adagrad"] = adagrad;
  table["ai.onnx.preview.training:Adam"] = adam;
  table["ai.onnx.preview.training:Momentum"] = momentum;
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
