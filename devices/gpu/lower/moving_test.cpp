// SPDX-License-Identifier: Apache-2.0
// Models whose shapes move run the kernels that the same models of fixed shapes run, and few of them.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tenon/devices/gpu/testing/decoder.hpp>
#include <tenon/devices/gpu/testing/judge.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/runtime/runtime.hpp>

namespace tenon {
namespace moving_test {

using namespace gpu_device::testing;

using namespace gpu_device::testing::layers;

using Kinds = std::map<std::string, int>;

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
  if (kinds["attention_rows"] == 0) {
    EXPECT_LE(launches, 2 * 17 + 3) << text;
    return;
  }
  // Products that read the norm, attention, and the products behind it, gates included; what fills caches, and turns positions.
  // On NVIDIA's devices, those of queries, keys and values are one.
  const bool are_joined = kinds["matmuls"] > 0;
  EXPECT_LE(launches, 2 * (are_joined ? 6 : 9) + 2) << text;
  EXPECT_LE(kinds["rows"], 1) << "products compute norms, but for that of what the program gave";
  EXPECT_EQ(kinds["matmuls"], are_joined ? 2 : 0) << "of queries, keys and values";
  EXPECT_EQ(kinds["matmul"], 2 * (are_joined ? 3 : 6) + 1);
  EXPECT_EQ(kinds["attention_rows"], 2);
}

}  // namespace moving_test
}  // namespace tenon
