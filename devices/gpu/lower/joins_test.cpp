// SPDX-License-Identifier: Apache-2.0
// Launches that become one: products of one row, small maps, norms and gates within products.
#include <cmath>
#include <cstdint>
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
namespace joins_test {

using namespace gpu_device::testing;

/// Columns of the left side, and of gates: a work-item has several of the latter, and reads a row in more than one step.
constexpr std::size_t kColumns = 320, kGates = 280;

Out node(const char* type, unsigned version, const OutputVector& inputs, const Attributes& attributes = {}) {
  return outputs(type, version, inputs, attributes)[0];
}
Out weights(const Shape& shape, unsigned seed = 1) {
  Tensor values = random_tensor(ElementType::kF32, shape, seed);
  for (std::size_t i = 0; i < values.element_count(); ++i) values.data<float>()[i] /= std::sqrt(float{kColumns});
  return std::make_shared<op::v0::Constant>(values)->output(0);
}
/// Numbers of 4 or 8 bits in groups of 32, where `type` is such.
Out right_side(std::size_t columns, element::Type type, unsigned seed) {
  if (type == element::f32) return weights({columns, kColumns}, seed);
  const Shape groups{columns, kColumns / 32, 32}, scales{columns, kColumns / 32, 1};
  const Out numbers = std::make_shared<op::v0::Constant>(random_tensor(type, groups, seed))->output(0);
  Out wide = node("Convert", 1, {numbers}, {{"destination_type", element::f32}});
  if (type == element::u4) wide = node("Subtract", 1, {wide, weights(scales, seed + 1)});
  wide = node("Multiply", 1, {wide, node("Multiply", 1, {weights(scales, seed + 2), reals({}, {0.02})})});
  return node("Reshape", 1, {wide, ints({static_cast<std::int64_t>(columns), std::int64_t{kColumns}})},
              {{"special_zero", false}});
}
Out product(const Out& x, std::size_t columns, element::Type type = element::f32, unsigned seed = 1) {
  return node("MatMul", 0, {x, right_side(columns, type, seed)}, {{"transpose_a", false}, {"transpose_b", true}});
}
Out norm(const Out& x, bool has_gain, double least = 0.01) {
  const Out mean = node("ReduceMean", 1, {node("Multiply", 1, {x, x}), ints({-1})}, {{"keep_dims", true}});
  const Out root = node("Sqrt", 0, {node("Add", 1, {mean, reals({}, {least})})});
  const Out made = node("Multiply", 1, {x, node("Divide", 1, {reals({}, {1}), root})});
  return has_gain ? node("Multiply", 1, {made, weights({kColumns}, 9)}) : made;
}
/// What several read, of the device's own memory.
Out rows(const std::shared_ptr<op::v0::Parameter>& x) { return node("Tanh", 1, {x->output(0)}); }

/// Launches of each kind; results are judged.
std::map<std::string, int> kinds_of(const OutputVector& results, const ParameterVector& parameters,
                                    element::Type precision) {
  const AnyMap properties{hint::inference_precision(precision), enable_profiling(true)};
  judge(results, parameters, {}, precision == element::f16 ? 2e-2 : 3e-4, properties);
  Core core;
  InferRequest request = core.compile_model(std::make_shared<Model>(results, parameters, "counted"), "GPU", properties)
                             .create_infer_request();
  for (std::size_t i = 0; i < parameters.size(); ++i)
    request.set_input_tensor(i, random_tensor(parameters[i]->get_element_type(), parameters[i]->get_shape(), 1));
  request.infer();
  std::map<std::string, int> kinds;
  for (const ProfilingInfo& info : request.get_profiling_info())
    if (!info.exec_type.empty() && info.status == ProfilingInfo::Status::EXECUTED) ++kinds[info.exec_type];
  return kinds;
}

struct Layer {
  std::size_t rows = 1;
  bool has_gain = true, has_bias = false, is_read_besides = false;
  element::Type gates = element::f32, values = element::f32;
};

/// Both products of a gate read one norm.
std::map<std::string, int> kinds_of_layer(const Layer& layer, element::Type precision) {
  SCOPED_TRACE(std::to_string(layer.rows) + " rows, " + layer.gates.to_string() + " and " + layer.values.to_string() +
               (layer.has_gain ? ", gain" : "") + (layer.has_bias ? ", bias" : "") +
               (layer.is_read_besides ? ", read besides" : "") + ", " + precision.to_string());
  const auto x = parameter({1, layer.rows, kColumns});
  const Out row = rows(x), normal = norm(row, layer.has_gain);
  Out gate = product(normal, kGates, layer.gates, 2), up = product(normal, kGates, layer.values, 3);
  if (layer.has_bias) {
    gate = node("Add", 1, {gate, weights({kGates}, 5)});
    up = node("Add", 1, {weights({kGates}, 6), up});
  }
  OutputVector results{node("Multiply", 1, {node("Swish", 4, {gate}), up}), node("Abs", 0, {row})};
  if (layer.is_read_besides) results.push_back(node("Abs", 0, {normal}));
  return kinds_of(results, {x}, precision);
}

/// A CPU gets others, which share no row.
bool has_kernels_of_gpus() {
  static const bool has = kinds_of_layer({9}, element::f32)["rows"] > 0;
  return has;
}

class GpuJoins : public GpuLowering {};

TEST_F(GpuJoins, ProductsOfOneRow) {
  for (const element::Type precision : {element::f32, element::f16}) {
    const auto x = parameter({1, kColumns});
    const Out row = rows(x);
    const Out third = node("Add", 1, {product(row, 24, element::f32, 3), weights({24}, 4)});
    const OutputVector results{node("Relu", 1, {product(row, 320)}), product(row, 264, element::f32, 2), third,
                               node("Abs", 0, {row})};
    auto kinds = kinds_of(results, {x}, precision);
    // One on NVIDIA's devices; else each is one.
    if (has_kernels_of_gpus()) {
      EXPECT_EQ(kinds["matmuls"], kinds["matmul"] == 0 ? 1 : 0);
    }
  }
}

/// Tiles have several sets of arguments: products of the same rows, and of others.
TEST_F(GpuJoins, ProductsOfTheSameRows) {
  for (const element::Type precision : {element::f32, element::f16}) {
    const auto x = parameter({2, 23, kColumns}), left = parameter({9, 1024}), right = parameter({9, 1024});
    const Out row = rows(x);
    const auto with_bias = [&](unsigned seed) {
      return node("Add", 1, {product(row, 264, element::f32, seed), weights({264}, seed + 10)});
    };
    const auto of_few_tiles = [](const std::shared_ptr<op::v0::Parameter>& of, unsigned seed) {
      return node("MatMul", 0, {rows(of), weights({32, 1024}, seed)}, {{"transpose_a", false}, {"transpose_b", true}});
    };
    const OutputVector results{with_bias(2),          with_bias(3),          with_bias(4),
                               node("Abs", 0, {row}), of_few_tiles(left, 5), of_few_tiles(right, 6)};
    auto kinds = kinds_of(results, {x, left, right}, precision);
    if (!has_kernels_of_gpus()) continue;
    EXPECT_EQ(kinds["matmuls"], 2);
    EXPECT_EQ(kinds["matmul"], 0);
  }
}

TEST_F(GpuJoins, SmallMapsSideBySide) {
  const auto x = parameter({3, 40}), y = parameter({2, 5});
  const auto made = [](const Out& of, double by) {
    return node("Multiply", 1, {node("Exp", 0, {of}), reals({}, {by})});
  };
  // The last one reads what the first makes.
  const Out first = made(x, 0.125);
  const OutputVector results{first, made(y, 0.375), node("ReduceMax", 1, {first, ints({0})}, {{"keep_dims", false}}),
                             node("Sin", 0, {x})};
  auto kinds = kinds_of(results, {x, y}, element::f32);
  EXPECT_EQ(kinds["maps"], 1);
  EXPECT_EQ(kinds["map"], 0);
}

/// A chain in which each map reads the one before stays as it is, and what is between keeps its place.
TEST_F(GpuJoins, WhatDependsOnAnotherWaits) {
  const auto x = parameter({4, 6});
  OutputVector results;
  Out y = x;
  for (int i = 0; i < 6; ++i) {
    y = node("Sin", 0, {node("ReduceSum", 1, {node("Cos", 0, {y}), ints({i % 2})}, {{"keep_dims", true}})});
    y = node("Add", 1, {y, x});
    results.push_back(y);
    results.push_back(node("Exp", 0, {y}));
  }
  judge(results, {x});
}

TEST_F(GpuJoins, GatesAndNormsWithinProducts) {
  for (const element::Type precision : {element::f32, element::f16})
    for (const std::size_t rows : {1u, 3u, 8u, 9u})
      for (const bool has_gain : {false, true}) {
        auto kinds = kinds_of_layer({rows, has_gain, rows == 3}, precision);
        if (!has_kernels_of_gpus()) continue;
        EXPECT_EQ(kinds["rows"], rows > 8 ? 1 : 0);
        EXPECT_EQ(kinds["matmul"], rows > 8 ? 2 : 1);
      }
}

TEST_F(GpuJoins, GatesOfWeightsOfFewBits) {
  for (const auto& [gates, values] : {std::pair(element::u4, element::u4),
                                      {element::i4, element::f32},
                                      {element::f32, element::i8},
                                      {element::nf4, element::u8}})
    for (const std::size_t rows : {1u, 5u}) kinds_of_layer({rows, true, false, false, gates, values}, element::f16);
}

/// Rows and gains whose products f16 does not hold.
TEST_F(GpuJoins, NormsOfSmallAndLargeRows) {
  for (const double size : {1e-3, 2e3}) {
    const auto x = parameter({2, kColumns});
    const Out row = node("Multiply", 1, {rows(x), reals({}, {size})}),
              gain = reals({kColumns}, std::vector<double>(kColumns, size));
    const Out made = product(node("Multiply", 1, {norm(row, false, 1e-12), gain}), kGates);
    const auto kinds = kinds_of({node("Multiply", 1, {made, reals({}, {1 / size})})}, {x}, element::f16);
    EXPECT_EQ(kinds.count("rows"), 0u) << "the norm is no part of the product";
  }
}

/// A norm that something else reads, too, is computed once.
TEST_F(GpuJoins, NormsThatOthersRead) {
  for (const std::size_t rows : {1u, 4u}) {
    Layer layer{rows};
    layer.is_read_besides = true;
    kinds_of_layer(layer, element::f32);
  }
}

TEST_F(GpuJoins, WhatMoves) {
  const auto x = open_parameter(3);
  const Out row = rows(x), normal = norm(row, true);
  const Out gate =
      node("Multiply", 1,
           {node("Swish", 4, {product(normal, kGates, element::f32, 2)}), product(normal, kGates, element::f32, 3)});
  const OutputVector results{gate, product(normal, 40, element::f32, 4), node("Sin", 0, {row}), node("Cos", 0, {row})};
  std::vector<std::vector<Shape>> rounds;
  for (const std::size_t rows : {1u, 2u, 12u, 1u, 8u, 9u, 3u}) rounds.push_back({{1, rows, kColumns}});
  for (const element::Type precision : {element::f32, element::f16})
    judge_moving(results, {x}, rounds, precision == element::f16 ? 2e-2 : 3e-4, {hint::inference_precision(precision)});
}

}  // namespace joins_test
}  // namespace tenon
