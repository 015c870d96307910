// SPDX-License-Identifier: Apache-2.0
// The GPU's kernels against the reference kernels, for what the ONNX node tests do not reach.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <tenon/core/ledger.hpp>
#include <tenon/devices/gpu/testing/judge.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/subgraph.hpp>
#include <tenon/runtime/runtime.hpp>

namespace tenon {
namespace {

using namespace gpu_device::testing;

TEST_F(GpuLowering, AttentionWithEveryMask) {
  const auto q = parameter({2, 4, 5, 16}), k = parameter({2, 1, 19, 16}), v = parameter({2, 1, 19, 24});
  for (const bool causal : {false, true}) {
    const Attributes attributes{{"causal", causal}};
    judge(outputs("ScaledDotProductAttention", 13, {q, k, v}, attributes), {q, k, v});
  }
  const Attributes plain{{"causal", false}};
  const auto mask = parameter({2, 1, 1, 19}), flags = parameter({5, 19}, element::boolean);
  judge(outputs("ScaledDotProductAttention", 13, {q, k, v, mask}, plain), {q, k, v, mask});
  judge(outputs("ScaledDotProductAttention", 13, {q, k, v, mask, reals({}, {0.3})}, plain), {q, k, v, mask});
  judge(outputs("ScaledDotProductAttention", 13, {q, k, v, flags}, plain), {q, k, v, flags});
}

TEST_F(GpuLowering, AttentionOfAMaskedRowIsZero) {
  const auto q = parameter({1, 3, 8}), k = parameter({1, 4, 8}), v = parameter({1, 4, 8});
  const Out mask = op::v0::Constant::create(element::boolean, Shape{3, 4},
                                            std::vector<std::int64_t>{1, 0, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1});
  judge(outputs("ScaledDotProductAttention", 13, {q, k, v, mask}, {{"causal", false}}), {q, k, v});
}

TEST_F(GpuLowering, ColoursOfEveryLayoutOfPlanes) {
  for (const char* type : {"NV12toRGB", "NV12toBGR", "I420toRGB", "I420toBGR"}) {
    for (const auto element : {element::u8, element::f32}) {
      SCOPED_TRACE(type);
      const bool is_i420 = type[0] == 'I';
      const auto whole = parameter({2, 9, 8, 1}, element), luma = parameter({2, 6, 8, 1}, element);
      judge(outputs(type, 8, {whole}), {whole});
      const auto u = parameter({2, 3, 4, is_i420 ? 1u : 2u}, element), last = parameter({2, 3, 4, 1}, element);
      if (is_i420)
        judge(outputs(type, 8, {luma, u, last}), {luma, u, last});
      else
        judge(outputs(type, 8, {luma, u}), {luma, u});
    }
  }
}

/// Colours, conversions and crops that nobody computes before they are read.
TEST_F(GpuLowering, PicturesAreComputedByWhatReadsThem) {
  const auto resize = [](const Out& x, const char* mode, const std::vector<std::int64_t>& size) {
    return outputs("Interpolate", 11, {x, ints(size), ints({1, 2})},
                   {{"mode", std::string(mode)}, {"shape_calculation_mode", std::string("sizes")}})[0];
  };
  const Out order = ints({0, 3, 1, 2}), mean = reals({1, 1, 1, 3}, {10, 20, 30});
  // Whatever its shape: numbers are constants of the kernels, or their arguments.
  const auto colours = [&](const Out& y, const Out& uv) { return make_node("NV12toBGR", 8, {y, uv})->output(0); };
  const auto real = [](const Out& x) { return outputs("Convert", 1, {x}, {{"destination_type", element::f32}})[0]; };
  const auto results = [&](const Out& y, const Out& uv) {
    const Out crop = outputs("Slice", 8, {colours(y, uv), ints({1, 2}), ints({5, 7}), ints({1, 1}), ints({1, 2})})[0];
    const Out reversed = outputs("Gather", 8, {real(colours(y, uv)), ints({2, 1, 0}), scalar(3)})[0];
    const Out normal = outputs("Subtract", 1, {reversed, mean})[0];
    return OutputVector{resize(real(crop), "cubic", {7, 9}),
                        resize(colours(y, uv), "bilinear_pillow", {3, 4}),
                        outputs("Transpose", 1, {normal, order})[0],
                        resize(normal, "linear", {4, 5}),
                        outputs("ReduceMean", 1, {real(crop), ints({1, 2})}, {{"keep_dims", false}})[0],
                        outputs("Concat", 1, {normal, real(colours(y, uv))}, {{"axis", 3}})[0]};
  };
  const auto y = parameter({2, 6, 8, 1}, element::u8), uv = parameter({2, 3, 4, 2}, element::u8);
  judge(results(y, uv), {y, uv});
  const auto open_y = open_parameter(4, element::u8), open_uv = open_parameter(4, element::u8);
  judge_moving(results(open_y, open_uv), {open_y, open_uv},
               {{Shape{1, 6, 8, 1}, Shape{1, 3, 4, 2}}, {Shape{2, 8, 12, 1}, Shape{2, 4, 6, 2}}});
}

TEST_F(GpuLowering, IndicesAtEqualDistancesAreSlices) {
  const auto x = parameter({2, 3, 4, 6});
  const auto gather = [&](const std::vector<std::int64_t>& indices, std::int64_t axis) {
    return outputs("Gather", 8, {x, ints(indices), scalar(axis)})[0];
  };
  const Out weights = reals({6, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const Out reversed = gather({5, 4, 3, 2, 1, 0}, -1);
  judge({gather({2, 1, 0}, 1), gather({0, 2}, 1), gather({-1}, 2), gather({4, 2, 0}, -1), gather({1, 1}, 0),
         gather({0, 1, 3}, 2), outputs("MatMul", 1, {reversed, weights})[0],
         outputs("ReduceSum", 1, {reversed, ints({3})}, {{"keep_dims", false}})[0],
         outputs("Concat", 1, {reversed, x}, {{"axis", 1}})[0]},
        {x});
  // Of what is not computed before it is read.
  const auto picture = parameter({1, 4, 5, 3}, element::u8);
  const Out real = outputs("Convert", 1, {picture}, {{"destination_type", element::f32}})[0];
  judge(outputs("Gather", 8, {real, scalar(1), scalar(3)}), {picture});
  judge(outputs("MatMul", 1,
                {outputs("Gather", 8, {real, scalar(2), scalar(3)})[0], reals({5, 2}, std::vector<double>(10, 1))}),
        {picture});
}

TEST_F(GpuLowering, BatchesBecomeSpaceAndBack) {
  const auto x = parameter({12, 3, 2, 4});
  judge(outputs("BatchToSpace", 2, {x, ints({1, 1, 2, 3}), ints({0, 0, 1, 2}), ints({0, 0, 0, 1})}), {x});
  const auto y = parameter({2, 3, 5, 8});
  judge(outputs("SpaceToBatch", 2, {y, ints({1, 1, 2, 3}), ints({0, 0, 1, 0}), ints({0, 0, 0, 1})}), {y});
}

TEST_F(GpuLowering, PatchesAndYolosLayers) {
  const auto x = parameter({2, 3, 9, 10});
  for (const char* pad : {"valid", "same_upper", "same_lower"}) {
    const Attributes attributes{{"sizes", std::vector<std::int64_t>{3, 2}},
                                {"strides", std::vector<std::int64_t>{2, 3}},
                                {"rates", std::vector<std::int64_t>{1, 2}},
                                {"auto_pad", std::string(pad)}};
    judge(outputs("ExtractImagePatches", 3, {x}, attributes), {x});
  }
  const auto y = parameter({2, 8, 6, 4});
  judge(outputs("ReorgYolo", 1, {y}, {{"stride", std::vector<std::int64_t>{2}}}), {y});
  const auto z = parameter({1, 21, 4, 5});
  for (const bool softmax : {false, true}) {
    const Attributes attributes{{"axis", 1},
                                {"end_axis", 3},
                                {"coords", 4},
                                {"classes", 2},
                                {"num", 3},
                                {"do_softmax", softmax},
                                {"mask", std::vector<std::int64_t>{0, 1, 2}}};
    judge(outputs("RegionYolo", 1, {z}, attributes), {z});
  }
}

TEST_F(GpuLowering, AdaptivePoolsAndWhatReadsTheirIndices) {
  const auto x = parameter({2, 3, 7, 10});
  judge(outputs("AdaptiveAvgPool", 8, {x, ints({3, 4})}), {x});
  judge(outputs("AdaptiveMaxPool", 8, {x, ints({3, 4})}, {{"index_element_type", element::i64}}), {x});
  const OutputVector pooled = outputs("AdaptiveMaxPool", 8, {x, ints({2, 5})}, {{"index_element_type", element::i32}});
  judge(
      {outputs("Relu", 1, {pooled[0]})[0], outputs("Convert", 1, {pooled[1]}, {{"destination_type", element::f32}})[0]},
      {x});
}

TEST_F(GpuLowering, FirstElementsInEveryOrder) {
  Tensor ties(ElementType::kF32, Shape{2, 9, 3});
  for (std::size_t i = 0; i < ties.element_count(); ++i) ties.data<float>()[i] = static_cast<float>(i * 7 % 5);
  ties.data<float>()[4] = std::numeric_limits<float>::quiet_NaN();
  for (const char* mode : {"max", "min"}) {
    for (const char* sort : {"value", "index"}) {
      for (const std::int64_t k : {1, 4, 9}) {
        const auto x = parameter({2, 9, 3});
        const Attributes attributes{{"axis", 1},
                                    {"mode", std::string(mode)},
                                    {"sort", std::string(sort)},
                                    {"index_element_type", element::i64}};
        judge(outputs("TopK", 11, {x, scalar(k)}, attributes), {x}, {ties});
      }
    }
  }
}

TEST_F(GpuLowering, FirstElementsOfLongLines) {
  for (const auto element : {element::f32, element::i32, element::u8, element::f16}) {
    for (const char* mode : {"max", "min"}) {
      for (const char* sort : {"value", "index"}) {
        SCOPED_TRACE(element.to_string() + " " + mode + " " + sort);
        // Bytes have many equals.
        const auto x = parameter({2, 5000, 2}, element);
        const Attributes attributes{{"axis", 1},
                                    {"mode", std::string(mode)},
                                    {"sort", std::string(sort)},
                                    {"index_element_type", element::i32}};
        judge(outputs("TopK", 11, {x, scalar(37)}, attributes), {x});
      }
    }
  }
}

TEST_F(GpuLowering, NumbersInALineAndOnADiagonal) {
  const auto x = parameter({1});
  const Out zero = outputs("Multiply", 1, {x, reals({1}, {0})})[0];
  // Too large to be folded.
  const Out line = outputs("Range", 4, {scalar(5), scalar(900000), scalar(3)}, {{"output_type", element::f32}})[0];
  judge(outputs("Add", 1, {line, zero}), {x});
  const Out eye = outputs("Eye", 9, {scalar(700), scalar(900), scalar(-3)}, {{"output_type", element::f32}})[0];
  judge(outputs("Add", 1, {eye, zero}), {x});
}

TEST_F(GpuLowering, PlacesInSortedLists) {
  const Out sorted = reals({6}, {-1, -0.5, 0, 0.25, 0.25, 1});
  const Out values = reals({2, 4}, {-2, -1, -0.7, 0, 0.25, 0.3, 1, 3});
  const auto x = parameter({1});
  for (const bool right : {false, true}) {
    // Beside an input, so that the plan has something to do.
    const Out added = outputs("Add", 1, {values, outputs("Multiply", 1, {x, reals({1}, {0})})[0]})[0];
    judge(outputs("SearchSorted", 15, {sorted, added}, {{"right_mode", right}, {"output_type", element::i64}}), {x});
    judge(outputs("Bucketize", 3, {added, sorted}, {{"with_right_bound", right}, {"output_type", element::i32}}), {x});
  }
}

TEST_F(GpuLowering, RowsOfATableByBags) {
  const auto table = parameter({9, 5});
  const Out indices = ints({0, 3, 3, 8, 1, 2}), weights = reals({6}, {1, 0.5, -1, 2, 3, 0.25});
  judge(outputs("EmbeddingBagOffsetsSum", 3, {table, indices, ints({0, 2, 2, 5}), scalar(4), weights}), {table});
  judge(outputs("EmbeddingBagOffsets", 15, {table, indices, ints({0, 2, 2, 5})}, {{"reduction", std::string("mean")}}),
        {table});
  const Out packed = op::v0::Constant::create(element::i64, Shape{2, 3}, std::vector<std::int64_t>{0, 3, 3, 8, 1, 2});
  judge(outputs("EmbeddingBagPackedSum", 3, {table, packed}), {table});
  judge(outputs("EmbeddingSegmentsSum", 3, {table, indices, ints({0, 0, 2, 2, 2, 4}), scalar(6), scalar(1), weights}),
        {table});
}

TEST_F(GpuLowering, UpdatesOfEveryKind) {
  const auto x = parameter({4, 5, 3}), updates = parameter({4, 2, 3});
  judge(outputs("ScatterUpdate", 3, {x, ints({4, -2}), updates, scalar(1)}), {x, updates});
  judge(outputs("SliceScatter", 15, {x, updates, ints({4}), ints({0}), ints({-2}), ints({1})}), {x, updates});
  const auto wanted = parameter({4, 5, 3});
  const Out indices = op::v0::Constant::create(
      element::i32, Shape{3, 4, 2},
      std::vector<std::int64_t>{0, 1, 1, 0, 4, 4, -1, 2, 2, 2, 2, 2, 0, 0, 0, 0, 1, 3, 3, 1, 2, 0, 4, 4});
  const auto parts = parameter({3, 4, 2});
  for (const char* mode : {"none", "sum", "prod", "min", "max", "mean"}) {
    for (const bool initial : {false, true}) {
      SCOPED_TRACE(mode);
      // Equal indices leave open what is kept, unless they are reduced.
      const Attributes attributes{{"reduction", std::string(mode)}, {"use_init_val", initial}};
      judge(outputs("ScatterElementsUpdate", 12, {x, indices, parts, scalar(1)}, attributes), {x, parts});
    }
  }
}

TEST_F(GpuLowering, EquationsAndWhatDividesByLengths) {
  const auto a = parameter({2, 3, 4}), b = parameter({2, 4, 5});
  judge(outputs("Einsum", 7, {a, b}, {{"equation", std::string("bij,bjk->bki")}}), {a, b});
  judge(outputs("Einsum", 7, {a, b}, {{"equation", std::string("...ij,...jk->...ik")}}), {a, b});
  const auto x = parameter({2, 6, 5, 4});
  judge(outputs("GRN", 1, {x}, {{"bias", 0.5}}), {x});
  for (const char* type : {"f8e4m3", "f8e5m2"})
    judge(outputs("FakeConvert", 13, {x, reals({1, 6, 1, 1}, {1, 2, 3, 4, 5, 600}), reals({1}, {0.25})},
                  {{"destination_type", std::string(type)}}),
          {x});
}

TEST_F(GpuLowering, ResizedInEveryModeWithPadding) {
  const auto sizes = [](std::int64_t h, std::int64_t w) { return ints({h, w}); };
  for (const auto element : {element::f32, element::u8}) {
    const auto x = parameter({1, 2, 7, 9}, element);
    for (const char* mode : {"nearest", "linear", "linear_onnx", "cubic", "bilinear_pillow", "bicubic_pillow"}) {
      for (const bool antialias : {false, true}) {
        SCOPED_TRACE(std::string(mode) + (antialias ? " antialiased" : ""));
        Attributes attributes{
            {"mode", std::string(mode)}, {"shape_calculation_mode", std::string("sizes")}, {"antialias", antialias}};
        // Halves of bytes may round either way.
        const bool is_byte = element == element::u8 && std::string(mode) != "nearest";
        const auto resized = [&](const Out& to) {
          const Out made = outputs("Interpolate", 11, {x, to, ints({2, 3})}, attributes)[0];
          return is_byte ? outputs("Convert", 1, {made}, {{"destination_type", element::f32}}) : OutputVector{made};
        };
        judge(resized(sizes(3, 20)), {x}, {}, is_byte ? 0.6 : 2e-4);
        judge(resized(sizes(14, 4)), {x}, {}, is_byte ? 0.6 : 2e-4);
        if (element == element::u8) continue;
        attributes.set("pads_begin", std::vector<std::int64_t>{0, 1, 2, 0});
        attributes.set("pads_end", std::vector<std::int64_t>{0, 0, 1, 3});
        judge(resized(sizes(12, 5)), {x});
      }
    }
  }
}

TEST_F(GpuLowering, RecurrentCellsAndBothDirections) {
  const auto x = parameter({3, 6}), h = parameter({3, 4}), c = parameter({3, 4});
  const auto w = parameter({16, 6}), r = parameter({16, 4}), bias = parameter({16});
  judge(outputs("LSTMCell", 1, {x, h, c, w, r, bias}, {{"hidden_size", 4}, {"weights_format", std::string("icof")}}),
        {x, h, c, w, r, bias});
  const auto sequence = parameter({3, 5, 6}), first = parameter({3, 2, 4});
  const Out lengths = ints({5, 2, 0});
  for (const bool linear : {false, true}) {
    const auto wide = parameter({2, 12, 6}), back = parameter({2, 12, 4}), offsets = parameter({2, linear ? 16u : 12u});
    judge(outputs("GRUSequence", 5, {sequence, first, lengths, wide, back, offsets},
                  {{"hidden_size", 4},
                   {"direction", std::string("bidirectional")},
                   {"linear_before_reset", linear},
                   {"clip", 0.7}}),
          {sequence, first, wide, back, offsets});
  }
}

TEST_F(GpuLowering, TypesOfFewBitsBothWays) {
  for (const auto type : {element::i4, element::u4, element::u1, element::nf4, element::f4e2m1, element::f8e4m3,
                          element::f8e5m2, element::f8e8m0}) {
    SCOPED_TRACE(type.to_string());
    // An odd count: the last byte is not full.
    const auto packed = parameter({3, 5}, type);
    judge(outputs("Convert", 1, {packed}, {{"destination_type", element::f32}}), {packed});
    const auto real = parameter({3, 7});
    judge(outputs("Convert", 1, {outputs("Multiply", 1, {real, reals({1}, {5})})[0]}, {{"destination_type", type}}),
          {real});
  }
}

TEST_F(GpuLowering, NumbersOutsideOfATypeBecomeItsNearest) {
  const auto x = parameter({6});
  Tensor extremes(ElementType::kF32, Shape{6});
  const float values[] = {-1e20f, 1e20f, 300, -300, -0.5f, std::numeric_limits<float>::quiet_NaN()};
  std::memcpy(extremes.data(), values, sizeof values);
  for (const auto type : {element::u8, element::i8, element::i32, element::i64, element::u16})
    judge(outputs("Convert", 1, {x}, {{"destination_type", type}}), {x}, {extremes});
}

TEST_F(GpuLowering, FourierTransformsOverSeveralAxes) {
  const auto real = parameter({2, 6, 9}), complex = parameter({2, 6, 9, 2});
  const Out axes = ints({1, 2});
  for (const auto& sizes : {ints({-1, -1}), ints({8, 5}), ints({3, 12})}) {
    judge(outputs("RDFT", 9, {real, axes, sizes}), {real});
    for (const char* type : {"DFT", "IDFT"}) judge(outputs(type, 7, {complex, axes, sizes}), {complex});
    judge(outputs("IRDFT", 9, {complex, axes, sizes}), {complex});
  }
  judge(outputs("IRDFT", 9, {complex, ints({2})}), {complex});
}

/// state * 2 + part, for each row of a picture.
std::shared_ptr<op::v0::TensorIterator> iterator(const Out& rows, const Out& first) {
  const auto part = parameter({1, 4}), state = parameter({1, 4});
  const Out next = outputs("Add", 1, {outputs("Multiply", 1, {state, reals({1}, {2})})[0], part})[0];
  const auto body = std::make_shared<Model>(OutputVector{next}, ParameterVector{part, state}, "body");
  const auto loop = std::make_shared<op::v0::TensorIterator>();
  loop->set_body(body);
  loop->set_sliced_input(part, rows, -1, -1, 1, 0, 0);
  loop->set_merged_input(state, first, next);
  loop->get_iter_value(next);
  loop->get_concatenated_slices(next, -1, -1, 1, 0, 0);
  loop->validate_and_infer_types();
  return loop;
}

TEST_F(GpuLowering, LoopsOfAKnownLengthAreUnrolled) {
  const auto rows = parameter({6, 4}), first = parameter({1, 4});
  const auto loop = iterator(rows, first);
  judge(loop->outputs(), {rows, first});
}

TEST_F(GpuLowering, ShapesThatMove) {
  const auto q = open_parameter(4), k = open_parameter(4), v = open_parameter(4);
  judge_moving(outputs("ScaledDotProductAttention", 13, {q, k, v}, {{"causal", true}}), {q, k, v},
               {{{1, 2, 5, 8}, {1, 2, 7, 8}, {1, 2, 7, 4}}, {{2, 3, 1, 16}, {2, 3, 9, 16}, {2, 3, 9, 16}}});
  const auto x = open_parameter(3);
  const Attributes first{
      {"axis", 1}, {"mode", std::string("max")}, {"sort", std::string("value")}, {"index_element_type", element::i32}};
  judge_moving(outputs("TopK", 11, {x, scalar(3)}, first), {x}, {{{1, 7, 2}}, {{2, 9000, 1}}, {{2, 3, 4}}});
  const auto picture = open_parameter(4);
  const Attributes resize{{"mode", std::string("linear_onnx")}, {"shape_calculation_mode", std::string("scales")}};
  judge_moving(outputs("Interpolate", 11, {picture, reals({2}, {2, 1.5}), ints({2, 3})}, resize), {picture},
               {{{1, 3, 4, 6}}, {{2, 1, 7, 8}}});
  const auto sequence = open_parameter(3), state = open_parameter(3), w = parameter({1, 16, 5}),
             r = parameter({1, 16, 4}), b = parameter({1, 16}), lengths = open_parameter(1, element::i32);
  judge_moving(outputs("LSTMSequence", 5, {sequence, state, state, lengths, w, r, b}, {{"hidden_size", 4}}),
               {sequence, state, lengths, w, r, b},
               {{{2, 3, 5}, {2, 1, 4}, {2}, {1, 16, 5}, {1, 16, 4}, {1, 16}},
                {{1, 2, 5}, {1, 1, 4}, {1}, {1, 16, 5}, {1, 16, 4}, {1, 16}}});
}

TEST_F(GpuLowering, PartsWithoutElements) {
  const auto x = parameter({4, 8}), y = parameter({3});
  const auto none = outputs("Slice", 8, {x, ints({2}), ints({2}), ints({1}), ints({1})})[0];
  const auto flat = outputs("Reshape", 1, {none, ints({0})}, {{"special_zero", false}})[0];
  judge(outputs("Concat", 0, {flat, y}, {{"axis", 0}}), {x, y});
  // Of a kernel's own, and beside others.
  const auto z = parameter({4, 3});
  const auto sums = outputs("CumSum", 3, {none, scalar(0)}, {{"exclusive", false}, {"reverse", false}})[0];
  judge(outputs("Concat", 0, {none, z}, {{"axis", 1}}), {x, z});
  judge(outputs("Concat", 0, {sums, z}, {{"axis", 1}}), {x, z});
}

/// Boxes of one unit and more, many over each other: two corners, or centre, extents and angle.
Tensor boxes(std::size_t pictures, std::size_t count, std::size_t numbers = 4) {
  const Tensor given = random_tensor(ElementType::kF32, {pictures, count, numbers}, 17);
  float* const values = const_cast<Tensor&>(given).data<float>();
  for (std::size_t i = 0; i < pictures * count; ++i) {
    float* const box = values + i * numbers;
    for (std::size_t k = 0; k < 2; ++k) box[2 + k] = std::abs(box[2 + k]) + 1 + (numbers == 4 ? box[k] : 0);
  }
  return given;
}
Out real(double value) { return reals({}, {value}); }

TEST_F(GpuLowering, SuppressionOfBoxes) {
  const auto box = parameter({2, 37, 4}), score = parameter({2, 3, 37});
  const std::vector<Tensor> inputs{boxes(2, 37), random_tensor(ElementType::kF32, {2, 3, 37}, 5)};
  for (const unsigned opset : {1u, 3u, 5u, 9u}) {
    for (const bool sorts : {false, true}) {
      SCOPED_TRACE("set " + std::to_string(opset) + (sorts ? ", sorted" : ""));
      const char* const encoding = sorts ? "corner" : "center";
      judge(outputs("NonMaxSuppression", opset, {box, score, scalar(7), real(0.4), real(0.1)},
                    {{"box_encoding", encoding}, {"sort_result_descending", sorts}}),
            {box, score}, inputs);
    }
  }
  // Scores that decay; no limit at all, so that nothing is kept; a limit above what there is.
  judge(outputs("NonMaxSuppression", 9, {box, score, scalar(20), real(0.6), real(0.05), real(0.3)}), {box, score},
        inputs);
  judge(outputs("NonMaxSuppression", 9, {box, score}), {box, score}, inputs);
  judge(outputs("NonMaxSuppression", 9, {box, score, scalar(1000), real(1), real(-9)}), {box, score}, inputs);
  for (const bool clockwise : {false, true}) {
    const auto turned = parameter({2, 37, 5});
    judge(outputs("NMSRotated", 13, {turned, score, scalar(9), real(0.2), real(0)}, {{"clockwise", clockwise}}),
          {turned, score}, {boxes(2, 37, 5), inputs[1]});
  }
}

TEST_F(GpuLowering, SuppressionOverClasses) {
  const auto box = parameter({2, 37, 4}), score = parameter({2, 3, 37});
  const std::vector<Tensor> inputs{boxes(2, 37), random_tensor(ElementType::kF32, {2, 3, 37}, 5)};
  for (const char* sort : {"none", "classid", "score"}) {
    for (const bool across : {false, true}) {
      SCOPED_TRACE(std::string(sort) + (across ? ", all pictures" : ""));
      const Attributes common{{"sort_result_type", std::string(sort)},
                              {"sort_result_across_batch", across},
                              {"score_threshold", -0.5},
                              {"nms_top_k", across ? -1 : 15},
                              {"keep_top_k", across ? 11 : -1},
                              {"background_class", across ? 1 : -1},
                              {"normalized", !across}};
      Attributes hard = common, soft = common;
      hard.set("iou_threshold", 0.6);
      hard.set("nms_eta", across ? 0.9 : 1.0);
      soft.set("decay_function", std::string(across ? "gaussian" : "linear"));
      soft.set("post_threshold", 0.1);
      judge(outputs("MulticlassNms", 9, {box, score}, hard), {box, score}, inputs);
      judge(outputs("MatrixNms", 8, {box, score}, soft), {box, score}, inputs);
    }
  }
}

/// Scores of the same box in several classes, and boxes that belong to the first, second... picture.
TEST_F(GpuLowering, SuppressionOfBoxesThatPicturesShare) {
  const auto box = parameter({3, 37, 4}), score = parameter({3, 37});
  const Tensor given = boxes(3, 37), scores = random_tensor(ElementType::kF32, {3, 37}, 5);
  for (const element::Type type : {element::i64, element::i32}) {
    const auto counts = parameter({4}, type);
    for (const bool across : {false, true}) {
      Tensor numbers(type, Shape{4});
      const std::int64_t in_picture[] = {14, 0, 20, 2};
      for (std::size_t i = 0; i < 4; ++i)
        type == element::i64 ? void(numbers.data<std::int64_t>()[i] = in_picture[i])
                             : void(numbers.data<std::int32_t>()[i] = static_cast<std::int32_t>(in_picture[i]));
      judge(outputs("MulticlassNms", 9, {box, score, counts},
                    {{"sort_result_type", std::string(across ? "classid" : "score")},
                     {"sort_result_across_batch", across},
                     {"score_threshold", -0.5},
                     {"nms_top_k", across ? -1 : 6},
                     {"keep_top_k", across ? 11 : -1},
                     {"background_class", across ? 1 : -1},
                     {"iou_threshold", 0.4}}),
            {box, score, counts}, {given, scores, numbers});
    }
  }
}

/// Numbers that ask for more boxes than there are end at the last: nothing is read beyond it.
TEST_F(GpuLowering, PicturesGetNoMoreBoxesThanThereAre) {
  const auto box = parameter({2, 5, 4}), score = parameter({2, 5}), counts = parameter({3}, element::i64);
  const auto found =
      outputs("MulticlassNms", 9, {box, score, counts}, {{"iou_threshold", 1.0}, {"score_threshold", -9.0}});
  const auto model = std::make_shared<Model>(found, ParameterVector{box, score, counts}, "greedy");
  InferRequest request = Core().compile_model(model, "GPU").create_infer_request();
  request.set_input_tensor(0, boxes(2, 5));
  request.set_input_tensor(1, random_tensor(ElementType::kF32, {2, 5}, 3));
  Tensor numbers(element::i64, Shape{3});
  numbers.data<std::int64_t>()[0] = -7;
  numbers.data<std::int64_t>()[1] = 4;
  numbers.data<std::int64_t>()[2] = std::int64_t{1} << 40;
  request.set_input_tensor(2, numbers);
  request.infer();
  const Tensor got = request.get_output_tensor(2);
  EXPECT_EQ(op::v0::Constant(got).to_integers(), (std::vector<std::int64_t>{0, 8, 2}));
  EXPECT_EQ(request.get_output_tensor(0).shape(), (Shape{10, 6}));
}

/// Priors of two corners within a picture, each with its variances.
Tensor priors(std::size_t pictures, std::size_t count, std::size_t size, bool has_variances) {
  Tensor made(element::f32, Shape{pictures, has_variances ? 2u : 1u, count * size});
  std::mt19937 random(7);
  std::uniform_real_distribution<float> place(0, 0.7F), extent(0.1F, 0.3F);
  const float scale = size == 4 ? 1 : 200;
  for (std::size_t n = 0; n < pictures; ++n) {
    float* const row = made.data<float>() + n * (has_variances ? 2 : 1) * count * size;
    for (std::size_t i = 0; i < count; ++i) {
      float* const box = row + i * size + size - 4;
      if (size == 5) box[-1] = 0;
      for (std::size_t k = 0; k < 2; ++k) box[k] = scale * place(random), box[2 + k] = box[k] + scale * extent(random);
    }
    if (!has_variances) continue;
    for (std::size_t i = 0; i < count * size; ++i) row[count * size + i] = i % 4 < 2 ? 0.1F : 0.2F;
  }
  return made;
}

TEST_F(GpuLowering, DetectionOutput) {
  const std::size_t count = 61, classes = 4;
  const Attributes common{{"background_label_id", 0},
                          {"top_k", 25},
                          {"keep_top_k", std::vector<std::int64_t>{30}},
                          {"share_location", true},
                          {"nms_threshold", 0.4},
                          {"confidence_threshold", 0.1},
                          {"code_type", std::string("caffe.PriorBoxParameter.CENTER_SIZE")},
                          {"normalized", true}};
  struct Case {
    const char* name;
    Attributes more;
    std::size_t prior_pictures = 1;
    bool has_variances = true;
  };
  const std::vector<Case> cases{
      {"shared boxes", {}},
      {"corners, clipped", {{"code_type", std::string("caffe.PriorBoxParameter.CORNER")}, {"clip_before_nms", true}}},
      {"clipped afterwards, own priors", {{"clip_after_nms", true}}, 2},
      {"boxes of each class", {{"share_location", false}, {"background_label_id", -1}}},
      {"pixels", {{"normalized", false}, {"input_width", 200}, {"input_height", 100}}},
      {"no variances", {{"variance_encoded_in_target", true}}, 1, false},
      {"few", {{"keep_top_k", std::vector<std::int64_t>{3}}}},
      {"all", {{"keep_top_k", std::vector<std::int64_t>{-1}}, {"top_k", -1}, {"nms_threshold", 1.0}}},
      {"none", {{"confidence_threshold", 99.0}}},
  };
  for (const Case& each : cases) {
    for (const unsigned opset : {1u, 8u}) {
      SCOPED_TRACE(each.name + std::string(", set ") + std::to_string(opset));
      Attributes attributes = common;
      for (const auto& [name, value] : each.more) attributes.set(name, value);
      if (opset == 1) attributes.set("num_classes", static_cast<std::int64_t>(classes));
      const bool shares = attributes.get_bool("share_location");
      const Tensor prior =
          priors(each.prior_pictures, count, attributes.get_bool("normalized") ? 4 : 5, each.has_variances);
      const auto delta = parameter({2, count * (shares ? 1 : classes) * 4}), score = parameter({2, count * classes}),
                 given = parameter(prior.shape());
      Tensor scores = random_tensor(ElementType::kF32, {2, count * classes}, 9);
      for (std::size_t i = 0; i < scores.element_count(); i += 5) scores.data<float>()[i] = 0.5F;  // Equal ones.
      judge(outputs("DetectionOutput", opset, {delta, score, given}, attributes), {delta, score, given},
            {random_tensor(ElementType::kF32, delta->get_shape(), 4), scores, prior});
    }
  }
  // In f16.
  const auto delta = parameter({1, 244}, element::f16), score = parameter({1, 244}, element::f16),
             given = parameter({1, 2, 244}, element::f16);
  judge(outputs("DetectionOutput", 8, {delta, score, given}, common), {delta, score, given}, {}, 4e-3);
}

TEST_F(GpuLowering, ProposalsAroundAnchors) {
  const std::size_t kinds = 3, rows = 5, columns = 7, plane = rows * columns;
  const auto info = parameter({2, 3}), anchor = parameter({rows, columns, kinds, 4}),
             delta = parameter({2, 4 * kinds, rows, columns}), score = parameter({2, kinds, rows, columns});
  Tensor infos(element::f32, Shape{2, 3}), anchors(element::f32, Shape{rows, columns, kinds, 4});
  const float sizes[] = {90, 110, 1, 80, 100, 0.5F};
  std::copy_n(sizes, 6, infos.data<float>());
  for (std::size_t i = 0; i < plane * kinds; ++i) {
    const auto x = static_cast<float>(i / kinds % columns) * 15, y = static_cast<float>(i / kinds / columns) * 15,
               half = 6 + 7 * static_cast<float>(i % kinds);
    const float box[] = {x - half, y - half, x + half, y + half};
    std::copy_n(box, 4, anchors.data<float>() + 4 * i);
  }
  Tensor scores = random_tensor(ElementType::kF32, {2, kinds, rows, columns}, 3);
  for (std::size_t i = 0; i < scores.element_count(); i += 4) scores.data<float>()[i] = 0.25F;  // Equal ones.
  Tensor deltas = random_tensor(ElementType::kF32, {2, 4 * kinds, rows, columns}, 8);
  for (std::size_t i = 0; i < deltas.element_count(); ++i) deltas.data<float>()[i] *= 0.3F;
  const Attributes common{{"min_size", 3.0}, {"nms_threshold", 0.6}, {"pre_nms_count", 60}, {"post_nms_count", 20}};
  const std::vector<Attributes> cases{
      {},
      {{"normalized", false}, {"roi_num_type", element::i32}},
      {{"nms_threshold", 0.2}, {"pre_nms_count", 1000}, {"post_nms_count", 1000}},
      {{"nms_threshold", 0.9}, {"nms_eta", 0.8}},
      {{"min_size", 25.0}, {"pre_nms_count", 9}},
      {{"min_size", 1e6}},
      {{"post_nms_count", 0}},
      {{"pre_nms_count", 0}},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    Attributes attributes = common;
    for (const auto& [name, value] : cases[i]) attributes.set(name, value);
    judge(outputs("GenerateProposals", 9, {info, anchor, delta, score}, attributes), {info, anchor, delta, score},
          {infos, anchors, deltas, scores});
  }
}

TEST_F(GpuLowering, EmptyRowsOfSparseMatricesAreFilled) {
  const auto place = [](const std::vector<std::int64_t>& numbers, element::Type type) {
    Tensor made(type, Shape{numbers.size() / 2, 2});
    for (std::size_t i = 0; i < numbers.size(); ++i)
      type == element::i64 ? void(made.data<std::int64_t>()[i] = numbers[i])
                           : void(made.data<std::int32_t>()[i] = static_cast<std::int32_t>(numbers[i]));
    return made;
  };
  const std::vector<std::int64_t> some{1, 7, 299, 0, 1, 3, 600, 2, 1, 5, 0, 1};
  for (const element::Type type : {element::i64, element::i32}) {
    const auto values = parameter({6}), indices = parameter({6, 2}, type);
    const Tensor numbers = random_tensor(ElementType::kF32, {6}, 2);
    judge(outputs("SparseFillEmptyRows", 16, {values, ints({700, 8}, type), indices, real(-4)}), {values, indices},
          {numbers, place(some, type)});
  }
  const auto values = parameter({4}, element::i64), indices = parameter({4, 2}, element::i64),
             fallback = parameter({}, element::i64);
  const Tensor numbers = random_tensor(ElementType::kI64, {4}, 2), full = place({3, 0, 0, 0, 1, 0, 2, 0}, element::i64);
  judge(outputs("SparseFillEmptyRows", 16, {values, ints({4, 8}), indices, fallback}), {values, indices, fallback},
        {numbers, full});
  const auto no_values = parameter({0}), nowhere = parameter({0, 2}, element::i64);
  judge(outputs("SparseFillEmptyRows", 16, {no_values, ints({3, 8}), nowhere, real(1)}), {no_values, nowhere});
  judge(outputs("SparseFillEmptyRows", 16, {no_values, ints({0, 8}), nowhere, real(1)}), {no_values, nowhere});
  // The number of rows is an input, or computed.
  const auto shape = parameter({2}, element::i64);
  Tensor rows(element::i64, Shape{2});
  rows.data<std::int64_t>()[0] = 9, rows.data<std::int64_t>()[1] = 8;
  judge(outputs("SparseFillEmptyRows", 16, {values, shape, indices, fallback}), {values, shape, indices, fallback},
        {numbers, rows, full});
  const auto twice = outputs("Add", 1, {shape, shape})[0];
  judge(outputs("SparseFillEmptyRows", 16, {values, twice, indices, fallback}), {values, shape, indices, fallback},
        {numbers, rows, full});
  // An entry of a row that is not there is left out, and writes nowhere.
  const auto found = outputs("SparseFillEmptyRows", 16, {values, ints({4, 8}), indices, fallback});
  const auto model = std::make_shared<Model>(found, ParameterVector{values, indices, fallback}, "outside");
  InferRequest request = Core().compile_model(model, "GPU").create_infer_request();
  request.set_input_tensor(0, numbers);
  request.set_input_tensor(1, place({3, 0, 4, 0, -1, 0, 2, 0}, element::i64));
  request.infer();
  EXPECT_EQ(op::v0::Constant(request.get_output_tensor(0)).to_integers(),
            (std::vector<std::int64_t>{0, 0, 1, 0, 2, 0, 3, 0}));
}

TEST_F(GpuLowering, WhatIsNotZeroAndWhatIsThereOnce) {
  for (const element::Type type : {element::f32, element::i64, element::u8, element::boolean}) {
    const auto x = parameter({3, 5, 41}, type);
    judge(outputs("NonZero", 3, {x}), {x});
    judge(outputs("NonZero", 3, {x}, {{"output_type", element::i32}}), {x});
  }
  const auto x = parameter({4, 6, 5}, element::i64);
  for (const bool sorted : {false, true}) {
    const Attributes attributes{{"sorted", sorted}};
    judge(outputs("Unique", 10, {x}, attributes), {x});
    for (const int axis : {0, 1, -1}) judge(outputs("Unique", 10, {x, scalar(axis)}, attributes), {x});
  }
  // Nothing there, and nothing found.
  const auto none = parameter({0, 3});
  judge(outputs("NonZero", 3, {none}), {none});
  judge(outputs("Unique", 10, {none}), {none});
  const auto y = parameter({2, 3});
  judge(outputs("NonZero", 3, {outputs("Greater", 1, {y, real(100)})[0]}), {y});
}

/// Its rows of which the first element is above a limit, then what is left of these.
TEST_F(GpuLowering, WhatFollowsHasTheExtentsThatValuesDecide) {
  const auto x = open_parameter(2);
  const auto pick = [&](const Out& rows, double limit) {
    const Out first = outputs("Gather", 8, {rows, scalar(0), scalar(1)})[0];
    const Out found = outputs("NonZero", 3, {outputs("Greater", 1, {first, real(limit)})[0]})[0];
    return outputs("Gather", 8, {rows, outputs("Squeeze", 0, {found, ints({0})})[0], scalar(0)})[0];
  };
  const Out some = pick(x, -0.5), few = pick(some, 0.2);
  const Out sum = outputs("ReduceSum", 1, {few, ints({0})}, {{"keep_dims", false}})[0];
  const Out same = outputs("Add", 1, {x, x})[0];
  judge_moving({sum, few, same, some}, {x}, {{{40, 3}}, {{7, 5}}, {{40, 3}}, {{1, 3}}});
}

/// One state is known before the cut, the other only after it; the second also when nothing else comes after.
TEST_F(GpuLowering, StatesLieBesideACut) {
  const auto x = parameter({12});
  const auto variable = [](const char* id, const Shape& shape) {
    return Attributes{
        {"variable_id", std::string(id)}, {"variable_shape", PartialShape(shape)}, {"variable_type", element::f32}};
  };
  const Out seen = outputs("ReadValue", 6, {reals({12}, std::vector<double>(12, 0.5))}, variable("seen", {12}))[0];
  const Out picked = outputs("ReadValue", 6, {}, variable("picked", {1}))[0];
  const Out sum = outputs("Add", 1, {x, seen})[0];
  const Out found = outputs("NonZero", 3, {outputs("Greater", 1, {sum, real(0.7)})[0]})[0];
  const Out some = outputs("Gather", 8, {sum, outputs("Squeeze", 0, {found, ints({0})})[0], scalar(0)})[0];
  const Out total = outputs("ReduceSum", 1, {some, ints({0})}, {{"keep_dims", true}})[0];
  const Out next = outputs("Add", 1, {total, picked})[0];
  const SinkVector sinks{make_node("Assign", 6, {sum}, variable("seen", {12})),
                         make_node("Assign", 6, {next}, variable("picked", {1}))};
  for (const bool puts_out : {true, false}) {
    SCOPED_TRACE(puts_out ? "results after the cut" : "states alone after the cut");
    const OutputVector results = puts_out ? OutputVector{some, next, sum} : OutputVector{sum};
    const auto model = std::make_shared<Model>(results, sinks, ParameterVector{x}, "beside");
    InferRequest request =
        Core().compile_model(model, "GPU", hint::inference_precision(element::f32)).create_infer_request();
    auto states = request.query_state();
    ASSERT_EQ(states.size(), 2u) << "known before the first inference";
    const auto state = [&](const std::string& id) {
      return *std::find_if(states.begin(), states.end(), [&](const auto& each) { return each.get_name() == id; });
    };
    VariableMap wanted_states;
    for (unsigned round = 0; round < 4; ++round) {
      SCOPED_TRACE("inference " + std::to_string(round));
      if (round == 3) {
        for (auto& each : states) each.reset();
        wanted_states.clear();
      }
      const Tensor given = random_tensor(ElementType::kF32, {12}, 40 + round);
      const auto wanted = evaluate(*model, {given}, &wanted_states);
      request.set_input_tensor(given);
      request.infer();
      for (std::size_t i = 0; i < wanted.size(); ++i) expect_close(wanted[i], request.get_output_tensor(i), 1e-4);
      for (const char* id : {"seen", "picked"}) expect_close(wanted_states.at(id), state(id).get_state(), 1e-4);
    }
    Tensor own(element::f32, Shape{1});
    own.data<float>()[0] = 100;
    state("picked").set_state(own);
    wanted_states["picked"] = own;
    const Tensor given = random_tensor(ElementType::kF32, {12}, 50);
    evaluate(*model, {given}, &wanted_states);
    request.set_input_tensor(given);
    request.infer();
    expect_close(wanted_states.at("picked"), state("picked").get_state(), 1e-4);
  }
}

/// A shape that kernels compute, a branch and a loop whose length and beginning they decide.
TEST_F(GpuLowering, ValuesOfKernelsDecideShapesAndControlFlow) {
  const auto x = parameter({12});
  const Out most = outputs("ReduceMax", 1, {outputs("Abs", 0, {x})[0], ints({0})}, {{"keep_dims", false}})[0];
  const Out trips = outputs("Convert", 0, {outputs("Ceiling", 0, {most})[0]}, {{"destination_type", element::i64}})[0];
  const Out range = outputs("Range", 4, {scalar(0), trips, scalar(1)}, {{"output_type", element::i64}})[0];
  judge({outputs("Add", 1, {outputs("Convert", 0, {range}, {{"destination_type", element::f32}})[0], most})[0]}, {x});

  const auto s = parameter({12}), t = parameter({12});
  const auto branch = [](const std::shared_ptr<op::v0::Parameter>& from, const char* what) {
    return std::make_shared<Model>(outputs(what, 0, {from}), ParameterVector{from});
  };
  const Out condition = outputs("Greater", 1, {most, real(0.5)})[0];
  const auto choice = std::make_shared<op::v8::If>(condition);
  choice->set_then_body(branch(s, "Abs"));
  choice->set_else_body(branch(t, "Negative"));
  choice->set_input(x, s, t);
  const Out chosen =
      choice->set_output(choice->get_then_body()->get_results()[0], choice->get_else_body()->get_results()[0]);
  judge({chosen}, {x});
}

/// Doubles a state until its sum is above a limit, beginning anew with each input; -1: no other limit.
TEST_F(GpuLowering, LoopsThatTheirBodiesEnd) {
  for (const std::int64_t trips : {std::int64_t{-1}, std::int64_t{3}, std::int64_t{1}}) {
    SCOPED_TRACE(trips);
    const auto x = parameter({1, 4}), limit = parameter({});
    const auto state = parameter({1, 4}), least = parameter({}), number = parameter({}, element::i64);
    const Out count = outputs("Convert", 0, {number}, {{"destination_type", element::f32}})[0];
    const Out next = outputs("Add", 1, {outputs("Multiply", 1, {state, real(2)})[0], count})[0];
    const Out sum = outputs("ReduceSum", 1, {outputs("Abs", 0, {next})[0], ints({0, 1})}, {{"keep_dims", false}})[0];
    const Out goes_on = outputs("Less", 1, {sum, least})[0];
    const auto body =
        std::make_shared<Model>(OutputVector{goes_on, next}, ParameterVector{state, least, number}, "body");
    const auto loop = std::make_shared<op::v5::Loop>(
        scalar(trips), op::v0::Constant::create(element::boolean, Shape{}, {true})->output(0));
    loop->set_function(body);
    loop->set_special_body_ports({2, 0});
    loop->set_merged_input(state, x, next);
    loop->set_invariant_input(least, limit);
    const Out last = loop->get_iter_value(next), all = loop->get_concatenated_slices(next, 0, 1, 1, -1, 0);
    loop->validate_and_infer_types();
    for (const float most : {0.0F, 50.0F, 9000.0F}) {
      Tensor wanted(element::f32, Shape{});
      *wanted.data<float>() = most;
      judge({outputs("Negative", 0, {last})[0], all}, {x, limit},
            {random_tensor(ElementType::kF32, {1, 4}, 3), wanted});
    }
  }
}

TEST_F(GpuLowering, ResultsThatValuesDecideAreBookedAndWaitedFor) {
  // So many that the wait begins before the kernels are over.
  const auto x = parameter({2, 400000});
  const auto found = outputs("NonZero", 3, {x});
  Core core;
  auto request =
      core.compile_model(std::make_shared<Model>(found, ParameterVector{x}, "values"), "GPU").create_infer_request();
  request.set_input_tensor(random_tensor(ElementType::kF32, {2, 400000}, 1));
  request.start_async();
  request.wait();
  const Tensor indices = request.get_output_tensor();
  EXPECT_GT(indices.shape()[1], 799000u);
  EXPECT_EQ(request.ledger().total().copied, indices.size_bytes());
  EXPECT_GE(request.ledger().total().waits, 1u);
}

TEST_F(GpuLowering, WhatNoKernelCountsIsRefusedByName) {
  const auto x = parameter({});
  const auto model = std::make_shared<Model>(outputs("NonZero", 3, {x}), ParameterVector{x}, "values");
  Core core;
  EXPECT_EQ(core.query_model(model, "GPU").count(model->get_results()[0]->get_input_node_ptr(0)->get_friendly_name()),
            0u);
  try {
    InferRequest request = core.compile_model(model, "GPU").create_infer_request();
    request.set_input_tensor(random_tensor(ElementType::kF32, {}, 1));
    request.infer();
    FAIL() << "it ran";
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find("NonZero"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tenon
