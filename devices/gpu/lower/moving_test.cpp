// SPDX-License-Identifier: Apache-2.0
// Models whose shapes move run the kernels that the same models of fixed shapes run, and few of them.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tenon/devices/gpu/testing/judge.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/runtime/runtime.hpp>

namespace tenon {
namespace moving_test {

using namespace gpu_device::testing;

using Ints = std::vector<std::int64_t>;
using Kinds = std::map<std::string, int>;

constexpr std::int64_t kFeatures = 64, kHeads = 4, kGroups = 2, kWidth = kFeatures / kHeads, kHidden = 96;

struct Graph {
  OutputVector results;
  ParameterVector parameters;
};

std::shared_ptr<op::v0::Parameter> input(const PartialShape& shape) {
  return std::make_shared<op::v0::Parameter>(element::f32, shape);
}

Out weights(const Shape& shape, std::size_t inputs) {
  Tensor values = random_tensor(ElementType::kF32, shape, static_cast<unsigned>(71 + inputs));
  for (std::size_t i = 0; i < values.element_count(); ++i)
    values.data<float>()[i] /= std::sqrt(static_cast<float>(inputs));
  return std::make_shared<op::v0::Constant>(values)->output(0);
}

Out node(const char* type, unsigned version, const OutputVector& inputs, const Attributes& attributes = {}) {
  return outputs(type, version, inputs, attributes)[0];
}
Out add(const Out& x, const Out& y) { return node("Add", 1, {x, y}); }
Out multiply(const Out& x, const Out& y) { return node("Multiply", 1, {x, y}); }
Out matmul(const Out& x, const Out& y, bool transposes = false) {
  return node("MatMul", 0, {x, y}, {{"transpose_a", false}, {"transpose_b", transposes}});
}
Out linear(const Out& x, std::int64_t in, std::int64_t out) {
  const auto rows = static_cast<std::size_t>(in);
  return matmul(x, weights({rows, static_cast<std::size_t>(out)}, rows));
}
Out reshaped(const Out& x, const Ints& shape) { return node("Reshape", 1, {x, ints(shape)}, {{"special_zero", true}}); }
Out transposed(const Out& x, const Ints& order) { return node("Transpose", 1, {x, ints(order)}); }
Out joined(const Out& x, const Out& y, std::int64_t axis) { return node("Concat", 1, {x, y}, {{"axis", axis}}); }
Out sliced(const Out& x, std::int64_t begin, std::int64_t end) {
  return node("Slice", 8, {x, ints({begin}), ints({end}), ints({1}), ints({3})});
}

/// As exporters write it: a mean of squares, its root, and two products.
Out root_mean_square(const Out& x) {
  const Out square = node("Power", 1, {x, reals({}, {2})});
  const Out mean = node("ReduceMean", 1, {square, ints({-1})}, {{"keep_dims", true}});
  const Out root = node("Sqrt", 0, {add(mean, reals({}, {1e-6}))});
  const Out scaled = multiply(x, node("Divide", 1, {reals({}, {1}), root}));
  return multiply(weights({std::size_t{kFeatures}}, 1), scaled);
}

Out heads_of(const Out& x, std::int64_t heads) { return transposed(reshaped(x, {0, -1, heads, kWidth}), {0, 2, 1, 3}); }

/// Positions as rotations of pairs of columns.
Out rotated(const Out& x, const Out& cosines, const Out& sines) {
  const Out turned = joined(node("Negative", 0, {sliced(x, kWidth / 2, kWidth)}), sliced(x, 0, kWidth / 2), -1);
  return add(multiply(x, cosines), multiply(turned, sines));
}

/// Each head of keys or values for several of queries.
Out repeated(const Out& x) {
  const Out shape = node("ShapeOf", 3, {x}, {{"output_type", element::i64}});
  const Out rest = node("Gather", 8, {shape, ints({2, 3}), scalar(0)});
  const Out wanted = node("Concat", 1, {ints({1, kGroups, kHeads / kGroups}), rest}, {{"axis", std::int64_t{0}}});
  const Out wide =
      node("Broadcast", 3, {node("Unsqueeze", 0, {x, ints({2})}), wanted}, {{"mode", std::string("bidirectional")}});
  return reshaped(wide, {0, kHeads, -1, kWidth});
}

/// Two layers with their caches. @param tokens, past  -1: open.
Graph decoder(std::int64_t tokens, std::int64_t past) {
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

std::vector<Shape> decoder_shapes(std::size_t tokens, std::size_t past) {
  constexpr std::size_t kColumns = kWidth;
  std::vector<Shape> shapes{
      {1, tokens, kFeatures}, {1, 1, tokens, kColumns}, {1, 1, tokens, kColumns}, {tokens, tokens + past}};
  shapes.insert(shapes.end(), 4, Shape{1, kGroups, past, kColumns});
  return shapes;
}

Graph encoder(std::int64_t tokens) {
  Graph graph;
  graph.parameters = {input({1, tokens, kFeatures}), input({1, 1, 1, tokens})};
  Out x = graph.parameters[0]->output(0);
  const auto normal = [](const Out& rows) {
    const Out made = node("MVN", 6, {rows, ints({-1})},
                          {{"normalize_variance", true}, {"eps", 1e-5}, {"eps_mode", std::string("inside_sqrt")}});
    return add(multiply(made, weights({std::size_t{kFeatures}}, 1)), weights({std::size_t{kFeatures}}, 2));
  };
  const Out query = heads_of(linear(x, kFeatures, kFeatures), kHeads),
            key = heads_of(linear(x, kFeatures, kFeatures), kHeads),
            value = heads_of(linear(x, kFeatures, kFeatures), kHeads);
  const Out scores = multiply(matmul(query, transposed(key, {0, 1, 3, 2})), reals({}, {0.25}));
  const Out shares = node("Softmax", 8, {add(scores, graph.parameters[1]->output(0))}, {{"axis", std::int64_t{-1}}});
  const Out mixed = reshaped(transposed(matmul(shares, value), {0, 2, 1, 3}), {0, -1, kFeatures});
  x = normal(add(x, linear(mixed, kFeatures, kFeatures)));
  const Out hidden = node("Gelu", 7, {linear(x, kFeatures, kHidden)}, {{"approximation_mode", std::string("ERF")}});
  graph.results = {normal(add(x, linear(hidden, kHidden, kFeatures)))};
  return graph;
}

Graph network(std::int64_t lines) {
  Graph graph;
  graph.parameters = {input({1, 3, lines, lines})};
  const auto convolved = [](const Out& x, std::size_t in, std::size_t out, std::int64_t stride) {
    return node("Relu", 1,
                {node("Convolution", 1, {x, weights({out, in, 3, 3}, in * 9)},
                      {{"strides", Ints{stride, stride}},
                       {"pads_begin", Ints{1, 1}},
                       {"pads_end", Ints{1, 1}},
                       {"dilations", Ints{1, 1}},
                       {"auto_pad", std::string("explicit")}})});
  };
  const Out first = convolved(graph.parameters[0]->output(0), 3, 16, 2);
  const Out second = add(convolved(first, 16, 16, 1), first);
  const Out mean = node("ReduceMean", 1, {second, ints({2, 3})}, {{"keep_dims", false}});
  graph.results = {second, linear(mean, 16, 10)};
  return graph;
}

/// How many launches of each kind of kernel an inference has, whose results are those of the reference.
Kinds kinds_of(const Graph& graph, const std::vector<Shape>& shapes, element::Type precision) {
  const auto model = std::make_shared<Model>(graph.results, graph.parameters, "counted");
  Core core;
  InferRequest request =
      core.compile_model(model, "GPU", {hint::inference_precision(precision), enable_profiling(true)})
          .create_infer_request();
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    inputs.push_back(random_tensor(ElementType::kF32, shapes[i], static_cast<unsigned>(i + 1)));
    request.set_input_tensor(i, inputs.back());
  }
  request.infer();
  const std::vector<Tensor> wanted = evaluate(*model, inputs);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    SCOPED_TRACE("output " + std::to_string(i));
    expect_close(wanted[i], request.get_output_tensor(i), precision == element::f16 ? 2e-2 : 5e-4);
  }
  Kinds kinds;
  for (const ProfilingInfo& info : request.get_profiling_info())
    if (!info.exec_type.empty() && info.status == ProfilingInfo::Status::EXECUTED) ++kinds[info.exec_type];
  return kinds;
}

class GpuMoving : public GpuLowering {};

TEST_F(GpuMoving, OpenShapesRunTheKernelsOfFixedOnes) {
  for (const element::Type precision : {element::f32, element::f16}) {
    SCOPED_TRACE(precision.to_string());
    for (const std::size_t tokens : {1u, 12u}) {
      const auto shapes = decoder_shapes(tokens, 37);
      EXPECT_EQ(kinds_of(decoder(-1, -1), shapes, precision),
                kinds_of(decoder(static_cast<std::int64_t>(tokens), 37), shapes, precision));
    }
    const std::vector<Shape> words{{1, 19, kFeatures}, {1, 1, 1, 19}};
    EXPECT_EQ(kinds_of(encoder(-1), words, precision), kinds_of(encoder(19), words, precision));
    EXPECT_EQ(kinds_of(network(-1), {{1, 3, 18, 18}}, precision), kinds_of(network(18), {{1, 3, 18, 18}}, precision));
  }
}

/// A product with weights of 4 bits in groups of 32. @param tokens  -1: open.
Graph few_bits(std::int64_t tokens) {
  Graph graph;
  graph.parameters = {input({1, tokens, 128})};
  const Out numbers = std::make_shared<op::v0::Constant>(random_tensor(ElementType::kU4, {40, 4, 32}, 5))->output(0);
  const Out shifted = node(
      "Subtract", 1, {node("Convert", 1, {numbers}, {{"destination_type", element::f32}}), weights({40, 4, 1}, 1)});
  const Out wide = reshaped(multiply(shifted, weights({40, 4, 1}, 100000)), {40, 128});
  graph.results = {matmul(graph.parameters[0], wide, true)};
  return graph;
}

TEST_F(GpuMoving, WeightsOfFewBitsStaySuchForOneRow) {
  for (const std::size_t rows : {1u, 20u}) {
    const std::vector<Shape> shapes{{1, rows, 128}};
    Kinds open = kinds_of(few_bits(-1), shapes, element::f16);
    EXPECT_EQ(open, kinds_of(few_bits(static_cast<std::int64_t>(rows)), shapes, element::f16));
    if (rows == 1) {
      EXPECT_LE(open["map"], 1) << "the input is converted, no weights are";
    }
  }
}

/// What a layer of a decoder costs for each token.
TEST_F(GpuMoving, ALayerOfADecoderIsFewKernels) {
  Kinds kinds = kinds_of(decoder(-1, -1), decoder_shapes(1, 150), element::f16);
  int launches = 0;
  std::string text;
  for (const auto& [kind, count] : kinds) {
    launches += count;
    text += kind + " " + std::to_string(count) + ", ";
  }
  const bool has_gpu_kernels = kinds["rows"] > 0;
  EXPECT_LE(launches, has_gpu_kernels ? 2 * 16 + 2 : 2 * 19 + 3) << text;
}

}  // namespace moving_test
}  // namespace tenon
