// SPDX-License-Identifier: Apache-2.0
// Products of matrices in tiles, and channels last, of f16 and f32.
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
namespace tiles_test {

using namespace gpu_device::testing;

using Ints = std::vector<std::int64_t>;

/// Random weights scaled by the number of inputs, so that sums stay near 1 as those of trained layers do.
Out weights(const Shape& shape, std::size_t inputs) {
  Tensor values = random_tensor(ElementType::kF32, shape, 77);
  for (std::size_t i = 0; i < values.element_count(); ++i)
    values.data<float>()[i] /= std::sqrt(static_cast<float>(inputs));
  return std::make_shared<op::v0::Constant>(values)->output(0);
}

void judge_both(const OutputVector& results, const ParameterVector& parameters) {
  judge(results, parameters, {}, 1e-2, {hint::inference_precision(element::f16)});
  judge(results, parameters, {}, 5e-4, {hint::inference_precision(element::f32)});
}

Attributes window(const Ints& strides, const Ints& pads, const Ints& dilations) {
  return {{"strides", strides},
          {"pads_begin", pads},
          {"pads_end", pads},
          {"dilations", dilations},
          {"auto_pad", "explicit"}};
}

Out convolution(const Out& x, std::size_t in, std::size_t out, const Ints& kernel, std::int64_t stride = 1,
                std::int64_t dilation = 1) {
  Shape shape{out, in};
  Ints strides, pads, dilations;
  std::size_t taps = 1;
  for (const std::int64_t extent : kernel) {
    shape.push_back(static_cast<std::size_t>(extent));
    taps *= static_cast<std::size_t>(extent);
    strides.push_back(stride);
    dilations.push_back(dilation);
    pads.push_back((extent - 1) * dilation / 2);
  }
  return outputs("Convolution", 1, {x, weights(shape, in * taps)}, window(strides, pads, dilations))[0];
}

Out relu(const Out& x) { return outputs("Relu", 1, {x})[0]; }
Out add(const Out& x, const Out& y) { return outputs("Add", 1, {x, y})[0]; }

class GpuTiles : public GpuLowering {};

TEST_F(GpuTiles, ConvolutionsOfEveryShape) {
  struct Case {
    Shape data;
    std::size_t out;
    Ints kernel;
    std::int64_t stride, dilation;
  };
  // Few channels are read in runs if the stride is even; numbers of channels are whole chunks or not.
  const std::vector<Case> cases{
      {{1, 3, 17, 21}, 16, {7, 7}, 2, 1},  {{2, 3, 9, 8}, 24, {3, 3}, 2, 1},  {{1, 3, 9, 8}, 8, {3, 3}, 1, 1},
      {{2, 16, 11, 7}, 40, {3, 3}, 1, 1},  {{1, 20, 6, 6}, 33, {3, 3}, 1, 2}, {{3, 64, 5, 5}, 72, {1, 1}, 1, 1},
      {{1, 72, 9, 9}, 16, {1, 1}, 2, 1},   {{2, 24, 19}, 16, {5}, 1, 1},      {{1, 8, 12, 12}, 8, {7, 7}, 1, 1},
      {{1, 128, 3, 3}, 130, {5, 5}, 1, 1}, {{2, 3, 9, 12}, 16, {1, 3}, 1, 1}, {{1, 2, 9, 7}, 8, {1, 2}, 1, 1},
      {{2, 1, 40}, 16, {5}, 1, 1}};
  for (const Case& one : cases) {
    SCOPED_TRACE(to_string(one.data));
    const auto x = parameter(one.data);
    // The second one reads what the first one left.
    const Out first = relu(convolution(x, one.data[1], one.out, one.kernel, one.stride, one.dilation));
    judge_both({convolution(first, one.out, 16, Ints(one.kernel.size(), 1))}, {x});
  }
}

/// A row of the window is one run of pixels: with and without padding, and of a part of a picture's channels.
TEST_F(GpuTiles, WindowsOfManyTaps) {
  for (const std::int64_t pad : {0, 3}) {
    for (const std::size_t channels : {16u, 20u}) {
      SCOPED_TRACE(std::to_string(channels) + " channels, padded by " + std::to_string(pad));
      const auto x = parameter({2, channels, 17, 24});
      const Out wide = relu(convolution(x, channels, channels, {1, 1}));
      const Out y = outputs("Convolution", 1, {wide, weights({24, channels, 8, 8}, channels * 64)},
                            window({8, 8}, {pad, pad}, {1, 1}))[0];
      judge_both({relu(y), relu(wide)}, {x});
    }
  }
}

TEST_F(GpuTiles, WhatFollowsAConvolutionJoinsIt) {
  const auto x = parameter({2, 16, 10, 12});
  const Out bias = weights({1, 32, 1, 1}, 1), first = relu(add(convolution(x, 16, 32, {3, 3}), bias));
  const Out second = convolution(first, 32, 32, {3, 3});
  const Out sum = relu(add(second, first));
  judge_both({outputs("ReduceMean", 1, {sum, ints({2, 3})}, {{"keep_dims", true}})[0], convolution(sum, 32, 8, {1, 1})},
             {x});
}

TEST_F(GpuTiles, ChannelByChannel) {
  for (const std::int64_t stride : {1, 2}) {
    const auto x = parameter({2, 16, 13, 10});
    const Out wide = relu(convolution(x, 16, 48, {1, 1}));
    const Out deep = relu(outputs("GroupConvolution", 1, {wide, weights({48, 1, 1, 3, 3}, 9)},
                                  window({stride, stride}, {1, 1}, {1, 1}))[0]);
    judge_both({convolution(deep, 48, 24, {1, 1})}, {x});
  }
}

TEST_F(GpuTiles, Pooling) {
  const auto x = parameter({2, 8, 15, 14});
  const Out wide = convolution(x, 8, 16, {3, 3});
  const Ints two{2, 2}, one{1, 1};
  Attributes attributes{{"strides", two},       {"pads_begin", one},        {"pads_end", one},
                        {"kernel", Ints{3, 3}}, {"rounding_type", "floor"}, {"auto_pad", "explicit"}};
  const Out most = outputs("MaxPool", 1, {wide}, attributes)[0];
  attributes.set("exclude-pad", true);
  const Out mean = outputs("AvgPool", 1, {wide}, attributes)[0];
  judge_both({convolution(add(most, mean), 16, 8, {1, 1})}, {x});
}

TEST_F(GpuTiles, PartsJoinedAndResized) {
  const auto x = parameter({1, 8, 12, 10});
  const Out wide = convolution(x, 8, 32, {3, 3});
  const auto halves = outputs("Split", 1, {wide, scalar(1)}, {{"num_splits", std::int64_t{2}}});
  const Out joined = outputs("Concat", 0, {relu(halves[1]), halves[0], wide}, {{"axis", 1}})[0];
  const Out turned = outputs("Transpose", 1, {convolution(joined, 64, 16, {1, 1}), ints({0, 2, 3, 1})})[0];
  judge_both({outputs("Reshape", 1, {turned, ints({1, -1, 4})}, {{"special_zero", false}})[0]}, {x});
}

TEST_F(GpuTiles, ProductsOfMatrices) {
  const auto x = parameter({2, 5, 64});
  const Out linear =
      outputs("MatMul", 0, {x, weights({64, 96}, 64)}, {{"transpose_a", false}, {"transpose_b", false}})[0];
  const Out turned =
      outputs("MatMul", 0, {relu(linear), weights({33, 96}, 96)}, {{"transpose_a", false}, {"transpose_b", true}})[0];
  judge_both({turned}, {x});
  const auto y = parameter({2, 3, 7, 16}), z = parameter({1, 3, 16, 24});
  judge_both({outputs("MatMul", 0, {y, z}, {{"transpose_a", false}, {"transpose_b", false}})[0]}, {y, z});
  const auto u = parameter({1, 16, 9}), v = parameter({5, 16});
  judge_both({outputs("MatMul", 0, {u, v}, {{"transpose_a", true}, {"transpose_b", true}})[0]}, {u, v});
}

TEST_F(GpuTiles, AttentionInOneKernel) {
  for (const std::size_t columns : {64u, 24u}) {
    const auto x = parameter({2, 67, 3 * columns});
    const Out flat = outputs("MatMul", 0, {x, weights({3 * columns, 9 * columns}, 3 * columns)},
                             {{"transpose_a", false}, {"transpose_b", false}})[0];
    const Out split = outputs("Reshape", 1, {flat, ints({2, 67, 3, 3, static_cast<std::int64_t>(columns)})},
                              {{"special_zero", false}})[0];
    const Out heads = outputs("Transpose", 1, {split, ints({2, 0, 3, 1, 4})})[0];
    const auto parts = outputs("Split", 1, {heads, scalar(0)}, {{"num_splits", std::int64_t{3}}});
    OutputVector sides;
    for (const Out& part : parts) sides.push_back(outputs("Squeeze", 0, {part, ints({0})})[0]);
    judge_both(outputs("ScaledDotProductAttention", 13, sides, {{"causal", false}}), {x});
    judge_both(outputs("ScaledDotProductAttention", 13, sides, {{"causal", true}}), {x});
    const auto mask = parameter({2, 1, 1, 67});
    sides.push_back(mask);
    judge_both(outputs("ScaledDotProductAttention", 13, sides, {{"causal", false}}), {x, mask});
    const auto sink = parameter({1, 3, 1, 1});
    sides.insert(sides.end(), {reals({}, {0.3}), sink});
    judge_both(outputs("ScaledDotProductAttention", 13, sides, {{"causal", false}}), {x, mask, sink});
  }
}

/// Keys are divided among groups, whose sums are joined; heads may share keys.
TEST_F(GpuTiles, AttentionOfFewQueries) {
  const Attributes plain{{"causal", false}};
  for (const std::size_t keys : {1u, 64u, 300u}) {
    SCOPED_TRACE(keys);
    const auto q = parameter({1, 1, 1, 16}), k = parameter({1, 1, keys, 16}), v = parameter({1, 1, keys, 20});
    judge_both(outputs("ScaledDotProductAttention", 13, {q, k, v}, plain), {q, k, v});
    const auto few = parameter({2, 4, 3, 16}), shared = parameter({2, 1, keys, 16});
    const auto mask = parameter({4, 1, keys});
    judge_both(outputs("ScaledDotProductAttention", 13, {few, shared, shared, mask, reals({}, {0.3})}, plain),
               {few, shared, mask});
    judge_both(outputs("ScaledDotProductAttention", 13, {few, shared, shared}, {{"causal", true}}), {few, shared});
    const auto sink = parameter({1, 4, 1, 1});
    judge_both(outputs("ScaledDotProductAttention", 13, {few, shared, shared, mask, reals({}, {0.3}), sink}, plain),
               {few, shared, mask, sink});
  }
  // Rows that are masked as a whole, at the end of a part and in all of them.
  const auto q = parameter({1, 2, 16}), k = parameter({1, 130, 16});
  std::vector<std::int64_t> seen(2 * 130, 0);
  for (std::size_t i = 40; i < 70; ++i) seen[i] = 1;
  const Out flags = op::v0::Constant::create(element::boolean, Shape{2, 130}, seen);
  judge_both(outputs("ScaledDotProductAttention", 13, {q, k, k, flags}, plain), {q, k});
  const auto none = parameter({1, 0, 16});
  judge(outputs("ScaledDotProductAttention", 13, {q, none, none}, plain), {q, none});
}

TEST_F(GpuTiles, ProductsOfFewRows) {
  const Attributes plain{{"transpose_a", false}, {"transpose_b", false}};
  for (const auto& [rows, columns] :
       {std::pair<std::size_t, std::size_t>{1, 1040}, {2, 1040}, {5, 1040}, {8, 1040}, {1, 1056}, {2, 96}, {7, 2048}}) {
    SCOPED_TRACE(std::to_string(rows) + " rows of " + std::to_string(columns));
    const auto x = parameter({1, rows, columns}), bias = parameter({33}), y = parameter({3, rows, 24}),
               z = parameter({3, 24, 40});
    const Out product = outputs("MatMul", 0, {x, weights({columns, 33}, columns)}, plain)[0];
    judge_both({relu(add(product, bias)), outputs("MatMul", 0, {y, z}, plain)[0]}, {x, bias, y, z});
  }
}

/// Weights of few bits are multiplied as they are stored, or expanded for many rows; others of the model read them, too.
TEST_F(GpuTiles, ProductsWithWeightsOfFewBits) {
  enum class Zero { kNone, kOfAll, kOfGroups };
  const auto expanded = [](element::Type type, const Shape& stored, Zero zero) {
    std::size_t rows = stored[0];
    Tensor numbers = random_tensor(type, stored, 5);
    Out value =
        outputs("Convert", 1, {std::make_shared<op::v0::Constant>(numbers)}, {{"destination_type", element::f32}})[0];
    Shape by_group = stored;
    by_group.back() = 1;
    if (zero != Zero::kNone)
      value = outputs("Subtract", 1, {value, zero == Zero::kOfAll ? reals({1, 1}, {8}) : weights(by_group, 1)})[0];
    value = outputs("Multiply", 1, {value, weights(by_group, 1000000)})[0];
    return outputs("Reshape", 1, {value, ints({static_cast<std::int64_t>(rows), -1})}, {{"special_zero", false}})[0];
  };
  const Attributes turned{{"transpose_a", false}, {"transpose_b", true}};
  for (const auto& type : {element::u4, element::i4, element::nf4, element::u8, element::i8}) {
    SCOPED_TRACE(type.to_string());
    for (const std::size_t rows : {1u, 5u, 20u}) {
      const auto x = parameter({1, rows, 128});
      const Out first = outputs("MatMul", 0, {x, expanded(type, {40, 4, 32}, Zero::kOfGroups)}, turned)[0];
      const Out second = outputs("MatMul", 0, {x, expanded(type, {37, 128}, Zero::kNone)}, turned)[0];
      const Out third = outputs("MatMul", 0, {x, expanded(type, {24, 2, 64}, Zero::kOfAll)}, turned)[0];
      const Out small_groups = outputs("MatMul", 0, {x, expanded(type, {19, 8, 16}, Zero::kOfGroups)}, turned)[0];
      judge_both({relu(first), second, third, small_groups}, {x});
    }
  }
  const auto x = parameter({2, 64});
  const Out shared = expanded(element::u4, {24, 2, 32}, Zero::kOfGroups);
  judge_both({outputs("MatMul", 0, {x, shared}, turned)[0],
              outputs("ReduceSum", 1, {shared, ints({1})}, {{"keep_dims", false}})[0]},
             {x});
}

/// Weights and tables that are stored in f16, too large to be folded without need; others of the model read one of them, too.
TEST_F(GpuTiles, WeightsAndTablesOfHalves) {
  const auto widened = [](const Shape& shape, unsigned seed) {
    const auto halves = std::make_shared<op::v0::Constant>(random_tensor(element::f16, shape, seed));
    return outputs("Convert", 1, {halves}, {{"destination_type", element::f32}})[0];
  };
  const auto ids = parameter({3}, element::i64);
  const Out table = widened({700, 512}, 4), shared = widened({512, 520}, 5);
  const Out words = outputs("Gather", 8, {table, ids, ints({0})}, {{"batch_dims", 0}})[0];
  const Out known = outputs("Gather", 8, {table, ints({699, -1, 3}), ints({0})}, {{"batch_dims", 0}})[0];
  for (const bool is_turned : {false, true}) {
    const Out right = is_turned ? widened({520, 512}, 6) : widened({512, 520}, 7);
    judge_both({outputs("MatMul", 0, {words, right}, {{"transpose_a", false}, {"transpose_b", is_turned}})[0], known},
               {ids});
  }
  const Attributes plain{{"transpose_a", false}, {"transpose_b", false}};
  judge_both({outputs("MatMul", 0, {words, shared}, plain)[0], relu(shared)}, {ids});
}

/// As tools for language models store them: expanded in f16, zero points in few bits as well, in groups of every usual size.
TEST_F(GpuTiles, ProductsWithWeightsThatAreExpandedInHalves) {
  const Attributes turned{{"transpose_a", false}, {"transpose_b", true}};
  for (const auto& type : {element::u4, element::nf4, element::i8}) {
    for (const std::size_t group : {32u, 64u, 128u}) {
      SCOPED_TRACE(type.to_string() + " in groups of " + std::to_string(group));
      const std::size_t groups = 256 / group;
      const auto in_halves = [&, type = type](const Shape& shape, unsigned seed) {
        const auto numbers = std::make_shared<op::v0::Constant>(random_tensor(type, shape, seed));
        return outputs("Convert", 1, {numbers}, {{"destination_type", element::f16}})[0];
      };
      Tensor scales(ElementType::kF16, {40, groups, 1});
      for (std::size_t i = 0; i < scales.element_count(); ++i)
        scales.data<std::uint16_t>()[i] = static_cast<std::uint16_t>(0x1400 + i % 1024);  // 2^-10 and more.
      Out value = outputs("Subtract", 1, {in_halves({40, groups, group}, 5), in_halves({40, groups, 1}, 6)})[0];
      value = outputs("Multiply", 1, {value, std::make_shared<op::v0::Constant>(scales)})[0];
      value = outputs("Reshape", 1, {value, ints({40, 256})}, {{"special_zero", false}})[0];
      value = outputs("Convert", 1, {value}, {{"destination_type", element::f32}})[0];
      for (const std::size_t rows : {2u, 8u}) {
        const auto x = parameter({1, rows, 256});
        judge(outputs("MatMul", 0, {x, value}, turned), {x}, {}, 1e-2);
      }
    }
  }
}

/// Each row is multiplied by its group's matrix alone; rows behind the last group give zeros.
TEST_F(GpuTiles, GroupsOfRows) {
  const auto few_bits = [](const element::Type& type) {
    const Shape stored{3 * 24, 4, 32}, each{3 * 24, 4, 1};
    Out value = outputs("Convert", 1, {std::make_shared<op::v0::Constant>(random_tensor(type, stored, 5))},
                        {{"destination_type", element::f32}})[0];
    value = outputs("Multiply", 1, {outputs("Subtract", 1, {value, weights(each, 1)})[0], weights(each, 100000)})[0];
    return outputs("Reshape", 1, {value, ints({3, 24, 128})}, {{"special_zero", false}})[0];
  };
  const auto x = parameter({7, 128}), equal = parameter({3, 2, 128}), given = parameter({3, 24, 128}),
             odd = parameter({7, 20});
  const Out ends = ints({2, 2, 6});
  OutputVector products;
  for (const Out& right :
       {weights({3, 24, 128}, 128), few_bits(element::u4), few_bits(element::i8), given->output(0)}) {
    products.push_back(relu(outputs("GroupedMatMul", 17, {x, right, ends})[0]));
    products.push_back(outputs("GroupedMatMul", 17, {equal, right})[0]);
  }
  products.push_back(outputs("GroupedMatMul", 17, {odd, weights({3, 9, 20}, 20), ends})[0]);
  judge_both(products, {x, equal, given, odd});
}

/// How many launches have each kind of kernel.
std::map<std::string, int> kernels_of(const OutputVector& results, const ParameterVector& parameters) {
  Core core;
  CompiledModel compiled = core.compile_model(std::make_shared<Model>(results, parameters, "counted"), "GPU",
                                              {hint::inference_precision(element::f16), enable_profiling(true)});
  InferRequest request = compiled.create_infer_request();
  for (std::size_t i = 0; i < parameters.size(); ++i)
    request.set_input_tensor(i, random_tensor(ElementType::kF32, parameters[i]->get_shape(), 1));
  request.infer();
  std::map<std::string, int> kinds;
  for (const ProfilingInfo& info : request.get_profiling_info())
    if (!info.exec_type.empty()) ++kinds[info.exec_type];
  return kinds;
}

/// As torch's MultiheadAttention is exported: tokens before batches, queries, keys and values in one product.
TEST_F(GpuTiles, HeadsLieWhereAttentionReadsThem) {
  constexpr std::int64_t kBatch = 2, kTokens = 19, kHeads = 3, kColumns = 16, kAll = kHeads * kColumns;
  const auto x = parameter({kBatch, kTokens, kAll});
  const Attributes plain{{"transpose_a", false}, {"transpose_b", false}};
  const auto shaped = [](const Out& value, const Ints& shape) {
    return outputs("Reshape", 1, {value, ints(shape)}, {{"special_zero", false}})[0];
  };
  const auto moved = [](const Out& value, const Ints& order) {
    return outputs("Transpose", 1, {value, ints(order)})[0];
  };
  const Out tokens = moved(relu(x), {1, 0, 2});
  const Out flat =
      add(outputs("MatMul", 0, {tokens, weights({kAll, 3 * kAll}, kAll)}, plain)[0], weights({3 * kAll}, 4));
  const Out three =
      shaped(moved(shaped(flat, {1, kTokens, kBatch, 3, kAll}), {3, 1, 2, 0, 4}), {3, kTokens, kBatch, kAll});
  OutputVector sides;
  for (std::int64_t i = 0; i < 3; ++i) {
    const Out one = outputs("Gather", 8, {three, scalar(i), scalar(0)}, {{"batch_dims", std::int64_t{0}}})[0];
    const Out heads = moved(shaped(one, {kTokens, kBatch * kHeads, kColumns}), {1, 0, 2});
    sides.push_back(shaped(heads, {kBatch, kHeads, kTokens, kColumns}));
  }
  const Out attended = outputs("ScaledDotProductAttention", 13, sides, {{"causal", false}})[0];
  const Out joined = shaped(moved(attended, {2, 0, 1, 3}), {kTokens * kBatch, kAll});
  const Out projected = outputs("MatMul", 0, {joined, weights({kAll, kAll}, kAll)}, plain)[0];
  const Out whole = add(moved(shaped(projected, {kTokens, kBatch, kAll}), {1, 0, 2}), x);
  judge_both({whole}, {x});
  // Only a GPU's kernels write elsewhere than in rows.
  auto kinds = kernels_of({whole}, {x});
  if (kinds["attention"] == 0) return;
  EXPECT_EQ(kinds["map"], 1);
  EXPECT_EQ(kinds["matmul"], 2);
  EXPECT_EQ(kinds["attention"], 1);
}

TEST_F(GpuTiles, ProductsWithTheirAxesInAnyOrder) {
  const auto x = parameter({6, 40}), y = parameter({3, 2, 4, 24});
  const Out rows =
      outputs("MatMul", 0, {x, weights({40, 96}, 40)}, {{"transpose_a", false}, {"transpose_b", false}})[0];
  const auto shaped = [](const Out& value, const Ints& shape) {
    return outputs("Reshape", 1, {value, ints(shape)}, {{"special_zero", false}})[0];
  };
  const Out split = relu(shaped(rows, {2, 3, 4, 24}));
  // Neighbours stay neighbours, or are neighbours no longer; pieces of 4 columns are too short for 8 at once.
  judge_both({add(outputs("Transpose", 1, {split, ints({1, 0, 2, 3})})[0], y)}, {x, y});
  judge_both({outputs("Transpose", 1, {split, ints({3, 1, 0, 2})})[0]}, {x});
  judge_both({outputs("Transpose", 1, {shaped(rows, {6, 24, 4}), ints({1, 0, 2})})[0]}, {x});
  judge_both({shaped(outputs("Transpose", 1, {split, ints({2, 0, 1, 3})})[0], {8, 72})}, {x});
  judge_both({shaped(relu(outputs("Transpose", 1, {split, ints({2, 0, 1, 3})})[0]), {4, 48, 3})}, {x});
}

TEST_F(GpuTiles, RowsInOneKernel) {
  const auto x = parameter({3, 5, 70}), y = parameter({200});
  const Attributes mvn{{"normalize_variance", true}, {"eps", 1e-5}, {"eps_mode", "inside_sqrt"}};
  const Out rows = outputs("MVN", 6, {add(x, x), ints({-1})}, mvn)[0];
  judge_both({outputs("Softmax", 8, {rows}, {{"axis", std::int64_t{2}}})[0],
              outputs("LogSoftmax", 5, {y}, {{"axis", std::int64_t{0}}})[0]},
             {x, y});
  // Whole runs of 8 are held in registers: of rows that follow each other, and of those that do not.
  const auto z = parameter({5, 3, 520});
  const Out turned = outputs("Transpose", 1, {add(z, weights({1, 1, 520}, 1)), ints({1, 0, 2})})[0];
  const Out normalized = outputs("MVN", 6, {turned, ints({-1})}, mvn)[0];
  const Out scaled = outputs("Multiply", 1, {normalized, weights({520}, 1)})[0];
  judge_both({scaled, outputs("Softmax", 8, {add(z, z)}, {{"axis", std::int64_t{-1}}})[0],
              outputs("LogSoftmax", 5, {scaled}, {{"axis", std::int64_t{2}}})[0]},
             {z});
}

TEST_F(GpuTiles, Resized) {
  const auto x = parameter({2, 8, 6, 5});
  const Out wide = relu(convolution(x, 8, 16, {1, 1}));
  for (const char* mode : {"nearest", "linear_onnx", "cubic"}) {
    SCOPED_TRACE(mode);
    const Attributes attributes{{"mode", mode}, {"shape_calculation_mode", "sizes"}};
    judge_both(
        {convolution(outputs("Interpolate", 11, {wide, ints({13, 10}), ints({2, 3})}, attributes)[0], 16, 8, {1, 1})},
        {x});
  }
}

TEST_F(GpuTiles, FewTilesShareTheirSums) {
  const auto x = parameter({1, 512, 4, 4});
  judge_both({convolution(relu(convolution(x, 512, 64, {3, 3})), 64, 32, {3, 3})}, {x});
}

TEST_F(GpuTiles, PartsAreComputedWhereTheyAreJoined) {
  const auto x = parameter({2, 8, 6, 7});
  const Out first = convolution(x, 8, 16, {3, 3}), second = relu(convolution(first, 16, 24, {3, 3}));
  const Out inner = outputs("Concat", 0, {first, second}, {{"axis", 1}})[0];
  const Out third = convolution(inner, 40, 8, {1, 1});
  const Out all = outputs("Concat", 0, {inner, third, first}, {{"axis", 1}})[0];
  judge_both({convolution(all, 64, 8, {3, 3}), add(second, second)}, {x});
}

TEST_F(GpuTiles, HalfIsHowValuesLie) {
  const auto x = parameter({1, 8, 6, 7});
  const auto model = std::make_shared<Model>(
      OutputVector{convolution(relu(convolution(x, 8, 16, {3, 3})), 16, 8, {3, 3})}, ParameterVector{x}, "rounded");
  Core core;
  const auto result = [&](const AnyMap& properties) {
    CompiledModel compiled = core.compile_model(model, "GPU", properties);
    InferRequest request = compiled.create_infer_request();
    request.set_input_tensor(random_tensor(ElementType::kF32, {1, 8, 6, 7}, 3));
    request.infer();
    return std::pair(compiled.get_property(hint::inference_precision), request.get_output_tensor());
  };
  const auto [half, rounded] = result({hint::inference_precision(element::f16)});
  const auto [single, exact] = result({hint::execution_mode(hint::ExecutionMode::ACCURACY)});
  EXPECT_EQ(half, element::f16);
  EXPECT_EQ(single, element::f32);
  expect_close(exact, rounded, 1e-2);
  EXPECT_NE(0, std::memcmp(exact.data(), rounded.data(), exact.get_byte_size()));
  EXPECT_THROW(result({hint::inference_precision(element::bf16)}), Error);
}

TEST_F(GpuTiles, WindowsThatBeginWithinAPicture) {
  const auto x = parameter({1, 3, 13, 12});
  const Out y = outputs("Convolution", 1, {x, weights({8, 3, 3, 3}, 27)}, window({2, 2}, {-1, -1}, {1, 1}))[0];
  judge_both({relu(y)}, {x});
}

TEST_F(GpuTiles, MovingShapes) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{-1, 8, -1, -1});
  const Out first = relu(convolution(x, 8, 16, {3, 3}));
  judge_moving({add(convolution(first, 16, 16, {3, 3}), first)}, {x}, {{{1, 8, 9, 7}}, {{3, 8, 5, 12}}, {{1, 8, 9, 7}}},
               1e-2, {hint::inference_precision(element::f16)});
}

/// What kernels count and what the host hands on lie as the graph says, whatever lies as f16 between kernels.
TEST_F(GpuTiles, PartsOfModelsThatValuesDecide) {
  const auto x = parameter({1, 16, 6, 8});
  const Out wide = relu(convolution(x, 16, 8, {3, 3})), other = add(wide, wide);
  const Out rows = outputs("Reshape", 1, {other, ints({-1, 4})}, {{"special_zero", false}})[0];
  const Out found = outputs("NonZero", 3, {outputs("Greater", 1, {rows, reals({}, {-1})})[0]})[0];
  const Out flat = outputs("Gather", 8, {found, scalar(0), scalar(0)})[0];
  const Out all = outputs("Gather", 8, {rows, flat, scalar(0)})[0];
  judge_both(
      {outputs("MatMul", 0, {all, weights({4, 8}, 4)}, {{"transpose_a", false}, {"transpose_b", false}})[0], wide},
      {x});
  // Boxes that kernels computed.
  const auto corner = parameter({1, 40, 4}), score = parameter({1, 2, 40});
  Tensor given = random_tensor(ElementType::kF32, {1, 40, 4}, 17);
  for (std::size_t i = 0; i < 40; ++i)
    for (std::size_t k = 0; k < 2; ++k)
      given.data<float>()[4 * i + 2 + k] =
          given.data<float>()[4 * i + k] + 1 + std::abs(given.data<float>()[4 * i + 2 + k]);
  const Out box = add(corner, corner);
  const OutputVector kept = outputs("MulticlassNms", 9, {box, score},
                                    {{"sort_result_type", "score"}, {"iou_threshold", 0.6}, {"nms_top_k", 15}});
  OutputVector results = kept;
  results.push_back(add(box, box));
  for (const element::Type type : {element::f16, element::f32})
    judge(results, {corner, score}, {given, random_tensor(ElementType::kF32, {1, 2, 40}, 5)}, 1e-2,
          {hint::inference_precision(type)});
}

/// A matrix of f32 by constant weights, and what else the same kernel computes.
TEST_F(GpuTiles, ProductsByConstantsWithTheirEpilogues) {
  for (const bool is_transposed : {false, true})
    for (const Shape& left : {Shape{1, 40}, Shape{19, 7}, Shape{2, 5, 64}}) {
      SCOPED_TRACE(to_string(left));
      const auto x = parameter(left);
      const std::size_t k = left.back();
      for (const std::size_t n : {16u, 21u, 96u}) {
        const Out sides = weights(is_transposed ? Shape{n, k} : Shape{k, n}, k);
        const Out y = outputs("MatMul", 0, {x, sides}, {{"transpose_a", false}, {"transpose_b", is_transposed}})[0];
        // Functions that vectors compute as single elements do, and one that they do not.
        const Out swish = outputs("Swish", 4, {add(y, weights({n}, 1))})[0];
        const Out zero = reals({1}, {0.1});
        const Out chosen =
            outputs("Select", 1, {outputs("Greater", 1, {y, zero})[0], y, outputs("Multiply", 1, {y, zero})[0]})[0];
        judge_both({swish, chosen}, {x});
      }
    }
}

TEST_F(GpuTiles, TransposedConvolutionsWhoseWindowsDoNotOverlap) {
  struct Case {
    Shape data, filters;
    Ints stride;
  };
  for (const Case& one : {Case{{2, 24, 5, 7}, {24, 16, 2, 2}, {2, 2}}, Case{{1, 8, 6, 6}, {8, 20, 2, 3}, {2, 3}},
                          Case{{1, 16, 9}, {16, 32, 4}, {4}}, Case{{1, 3, 4, 4}, {3, 48, 1, 1}, {1, 1}}}) {
    SCOPED_TRACE(to_string(one.filters));
    const auto x = parameter(one.data);
    const Ints none(one.stride.size(), 0), ones(one.stride.size(), 1);
    const Out y = outputs("ConvolutionBackpropData", 1, {x, weights(one.filters, one.filters[0])},
                          window(one.stride, none, ones))[0];
    judge_both({outputs("MaxPool", 1, {relu(y)},
                        {{"kernel", Ints(one.stride.size(), 2)},
                         {"strides", ones},
                         {"pads_begin", none},
                         {"pads_end", none},
                         {"rounding_type", "floor"},
                         {"auto_pad", "explicit"}})[0]},
               {x});
  }
}

TEST_F(GpuTiles, LinesOfEachChannelByItself) {
  for (const std::size_t channels : {8u, 24u, 32u})
    for (const std::int64_t kernel : {3, 5})
      for (const std::int64_t stride : {1, 2})
        for (const std::size_t pixels : {3u, 4u, 17u}) {
          SCOPED_TRACE(std::to_string(channels) + " " + std::to_string(kernel) + " " + std::to_string(pixels));
          const auto x = parameter({2, channels, 6, pixels});
          const auto taps = static_cast<std::size_t>(kernel);
          const Ints strides(2, stride), pads(2, kernel / 2), ones(2, 1);
          const Out y = outputs("GroupConvolution", 1, {x, weights({channels, 1, 1, taps, taps}, taps * taps)},
                                window(strides, pads, ones))[0];
          judge_both({relu(y)}, {x});
        }
}

/// Some devices count no more than 65,535 groups along the second and the third axis.
TEST_F(GpuTiles, MoreGroupsThanDevicesCount) {
  const std::size_t many = 65537;
  const auto left = parameter({many, 4, 8}), right = parameter({many, 8, 3}), rows = parameter({many, 1, 8});
  const auto judge_f16 = [](const OutputVector& results, const ParameterVector& parameters) {
    judge(results, parameters, {}, 1e-2, {hint::inference_precision(element::f16)});
  };
  const Attributes flags{{"transpose_a", false}, {"transpose_b", false}};
  judge_f16({outputs("MatMul", 1, {left, right}, flags)[0]}, {left, right});
  judge_f16({outputs("MatMul", 1, {rows, right}, flags)[0]}, {rows, right});
  const auto pictures = parameter({many, 8, 3, 2});
  judge_f16({relu(convolution(pictures, 8, 16, {2, 1}))}, {pictures});
  const auto channels = parameter({1, many, 4, 4});
  judge_f16({outputs("MaxPool", 1, {channels},
                     {{"kernel", Ints{2, 2}},
                      {"strides", Ints{2, 2}},
                      {"pads_begin", Ints{0, 0}},
                      {"pads_end", Ints{0, 0}},
                      {"rounding_type", "floor"},
                      {"auto_pad", "explicit"}})[0]},
            {channels});
  const auto query = parameter({many, 1, 3, 16}), keys = parameter({many, 1, 5, 16}),
             values = parameter({many, 1, 5, 16});
  judge_f16({outputs("ScaledDotProductAttention", 13, {query, keys, values}, {{"causal", false}})[0]},
            {query, keys, values});
}

}  // namespace tiles_test
}  // namespace tenon
