// SPDX-License-Identifier: Apache-2.0
// A decoder of two layers, as exporters write language models.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <tenon/devices/gpu/testing/judge.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>

namespace tenon {
inline namespace v1 {
namespace gpu_device::testing::layers {

using Ints = std::vector<std::int64_t>;

inline constexpr std::int64_t kFeatures = 64, kHeads = 4, kGroups = 2, kWidth = kFeatures / kHeads, kHidden = 96;

struct Graph {
  OutputVector results;
  ParameterVector parameters;
};

inline std::shared_ptr<op::v0::Parameter> input(const PartialShape& shape) {
  return std::make_shared<op::v0::Parameter>(element::f32, shape);
}

inline Out weights(const Shape& shape, std::size_t inputs) {
  Tensor values = random_tensor(ElementType::kF32, shape, static_cast<unsigned>(71 + inputs));
  for (std::size_t i = 0; i < values.element_count(); ++i)
    values.data<float>()[i] /= std::sqrt(static_cast<float>(inputs));
  return std::make_shared<op::v0::Constant>(values)->output(0);
}

inline Out node(const char* type, unsigned version, const OutputVector& inputs, const Attributes& attributes = {}) {
  return outputs(type, version, inputs, attributes)[0];
}
inline Out add(const Out& x, const Out& y) { return node("Add", 1, {x, y}); }
inline Out multiply(const Out& x, const Out& y) { return node("Multiply", 1, {x, y}); }
inline Out matmul(const Out& x, const Out& y, bool transposes = false) {
  return node("MatMul", 0, {x, y}, {{"transpose_a", false}, {"transpose_b", transposes}});
}
inline Out linear(const Out& x, std::int64_t in, std::int64_t out) {
  const auto rows = static_cast<std::size_t>(in);
  return matmul(x, weights({rows, static_cast<std::size_t>(out)}, rows));
}
inline Out reshaped(const Out& x, const Ints& shape) {
  return node("Reshape", 1, {x, ints(shape)}, {{"special_zero", true}});
}
inline Out transposed(const Out& x, const Ints& order) { return node("Transpose", 1, {x, ints(order)}); }
inline Out joined(const Out& x, const Out& y, std::int64_t axis) { return node("Concat", 1, {x, y}, {{"axis", axis}}); }
inline Out sliced(const Out& x, std::int64_t begin, std::int64_t end) {
  return node("Slice", 8, {x, ints({begin}), ints({end}), ints({1}), ints({3})});
}

/// As exporters write it: a mean of squares, its root, and two products.
inline Out root_mean_square(const Out& x) {
  const Out square = node("Power", 1, {x, reals({}, {2})});
  const Out mean = node("ReduceMean", 1, {square, ints({-1})}, {{"keep_dims", true}});
  const Out root = node("Sqrt", 0, {add(mean, reals({}, {1e-6}))});
  const Out scaled = multiply(x, node("Divide", 1, {reals({}, {1}), root}));
  return multiply(weights({std::size_t{kFeatures}}, 1), scaled);
}

inline Out heads_of(const Out& x, std::int64_t heads) {
  return transposed(reshaped(x, {0, -1, heads, kWidth}), {0, 2, 1, 3});
}

/// Positions as rotations of pairs of columns.
inline Out rotated(const Out& x, const Out& cosines, const Out& sines) {
  const Out turned = joined(node("Negative", 0, {sliced(x, kWidth / 2, kWidth)}), sliced(x, 0, kWidth / 2), -1);
  return add(multiply(x, cosines), multiply(turned, sines));
}

/// Each head of keys or values for several of queries.
inline Out repeated(const Out& x) {
  const Out shape = node("ShapeOf", 3, {x}, {{"output_type", element::i64}});
  const Out rest = node("Gather", 8, {shape, ints({2, 3}), scalar(0)});
  const Out wanted = node("Concat", 1, {ints({1, kGroups, kHeads / kGroups}), rest}, {{"axis", std::int64_t{0}}});
  const Out wide =
      node("Broadcast", 3, {node("Unsqueeze", 0, {x, ints({2})}), wanted}, {{"mode", std::string("bidirectional")}});
  return reshaped(wide, {0, kHeads, -1, kWidth});
}

/// Two layers with their caches. @param tokens, past  -1: open.
inline Graph decoder(std::int64_t tokens, std::int64_t past) {
  Graph graph;
  const auto total = tokens < 0 ? -1 : tokens + past;
  const auto take = [&](const PartialShape& shape) {
    graph.parameters.push_back(input(shape));
    return graph.parameters.back()->output(0);
  };
  Out x = take({1, tokens, kFeatures});
  const Out cosines = take({1, 1, tokens, kWidth}), sines = take({1, 1, tokens, kWidth}), mask = take({tokens, total});
  for (int layer = 0; layer < 2; ++layer) {
    const Out normal = root_mean_square(x);
    const Out query = rotated(heads_of(linear(normal, kFeatures, kFeatures), kHeads), cosines, sines);
    const Out new_key = rotated(heads_of(linear(normal, kFeatures, kGroups * kWidth), kGroups), cosines, sines);
    const Out new_value = heads_of(linear(normal, kFeatures, kGroups * kWidth), kGroups);
    const Out key = joined(take({1, kGroups, past, kWidth}), new_key, 2),
              value = joined(take({1, kGroups, past, kWidth}), new_value, 2);
    graph.results.push_back(key);
    graph.results.push_back(value);
    const Out scores = multiply(matmul(query, transposed(repeated(key), {0, 1, 3, 2})), reals({}, {0.25}));
    const Out shares = node("Softmax", 8, {add(scores, mask)}, {{"axis", std::int64_t{-1}}});
    const Out mixed = reshaped(transposed(matmul(shares, repeated(value)), {0, 2, 1, 3}), {0, -1, kFeatures});
    x = add(x, linear(mixed, kFeatures, kFeatures));
    const Out inner = root_mean_square(x);
    const Out gate = linear(inner, kFeatures, kHidden), up = linear(inner, kFeatures, kHidden);
    x = add(x, linear(multiply(multiply(gate, node("Sigmoid", 1, {gate})), up), kHidden, kFeatures));
  }
  graph.results.push_back(linear(root_mean_square(x), kFeatures, 100));
  return graph;
}

inline std::vector<Shape> decoder_shapes(std::size_t tokens, std::size_t past) {
  constexpr std::size_t kColumns = kWidth;
  std::vector<Shape> shapes{
      {1, tokens, kFeatures}, {1, 1, tokens, kColumns}, {1, 1, tokens, kColumns}, {tokens, tokens + past}};
  shapes.insert(shapes.end(), 4, Shape{1, kGroups, past, kColumns});
  return shapes;
}

}  // namespace gpu_device::testing::layers
}  // namespace v1
}  // namespace tenon
