// SPDX-License-Identifier: Apache-2.0
// The GPU's kernels against the reference kernels, for what the ONNX node tests do not reach.
#include <algorithm>
#include <chrono>
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
namespace lower_lowering_test {

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
  for (const Shape& shape : {Shape{1, 4, 1, 1}, Shape{2, 4, 5, 1}}) {
    const auto sink = parameter(shape);
    judge(outputs("ScaledDotProductAttention", 13, {q, k, v, flags, reals({}, {0.3}), sink}, plain),
          {q, k, v, flags, sink});
  }
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

/// Colours, conversions and crops have no kernel of their own: what reads them computes them.
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
  // The same for values that are not computed before they are read.
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

/// Rounded up, the last windows hang over; without pads, what hangs over does not count.
TEST_F(GpuLowering, MeansOfWindowsBeyondThePicture) {
  for (const bool excludes : {true, false}) {
    for (const std::size_t channels : {3u, 16u}) {
      const auto x = parameter({2, channels, 5, 7});
      judge({outputs("AvgPool", 1, {x},
                     {{"kernel", {3, 2}},
                      {"strides", {3, 3}},
                      {"pads_begin", {0, 0}},
                      {"pads_end", {0, 0}},
                      {"exclude-pad", excludes},
                      {"rounding_type", std::string("ceil")}})},
            {x});
    }
  }
}

/// Regions of whole pixels and of fractions, beyond the picture, without pixels, and after one of no picture.
TEST_F(GpuLowering, RegionsArePooled) {
  std::mt19937 random(11);
  for (const char* method : {"max", "bilinear"}) {
    for (const auto& [rows, columns] : {std::pair{1, 1}, std::pair{3, 2}, std::pair{7, 7}}) {
      const bool is_max = std::string(method) == "max";
      const double scale = is_max ? (rows == 3 ? 0.3 : 0.0625) : 1;
      SCOPED_TRACE(std::string(method) + " of " + std::to_string(rows));
      std::uniform_real_distribution<float> place(-0.2f, 1.2f);
      Tensor regions(element::f32, Shape{9, 5});
      for (std::size_t r = 0; r < 9; ++r) {
        float* const region = regions.data<float>() + r * 5;
        region[0] = r == 7 ? -1.0f : static_cast<float>(r % 2);
        for (int i = 1; i < 5; ++i) region[i] = place(random) * (is_max ? static_cast<float>(12 / scale) : 1.0f);
      }
      const auto x = parameter({2, 3, 12, 9}), boxes = parameter({9, 5});
      judge(outputs(
                "ROIPooling", 2, {x, boxes},
                {{"pooled_h", rows}, {"pooled_w", columns}, {"spatial_scale", scale}, {"method", std::string(method)}}),
            {x, boxes}, {random_tensor(ElementType::kF32, {2, 3, 12, 9}, 5), regions});
    }
  }
}

TEST_F(GpuLowering, RegionsPooledFromChannelsOfEachPlace) {
  std::mt19937 random(7);
  for (const char* mode : {"average", "bilinear"}) {
    for (const std::int64_t group : {1, 3}) {
      SCOPED_TRACE(std::string(mode) + " " + std::to_string(group));
      const bool is_average = mode[0] == 'a';
      const Shape shape{2, static_cast<std::size_t>(is_average ? 5 * group * group : 5 * 2 * 3), 11, 13};
      std::uniform_real_distribution<float> place(is_average ? -2.0f : -0.2f, is_average ? 15.0f : 1.2f);
      Tensor regions(element::f32, Shape{9, 5});
      for (std::size_t r = 0; r < 9; ++r) {
        float* const region = regions.data<float>() + r * 5;
        region[0] = r == 7 && group == 3 ? -1.0f : static_cast<float>(r % 2);
        for (int i = 1; i < 5; ++i) region[i] = place(random);
      }
      const auto x = parameter(shape), boxes = parameter({9, 5});
      judge(outputs("PSROIPooling", 1, {x, boxes},
                    {{"output_dim", std::int64_t{5}},
                     {"group_size", group},
                     {"spatial_scale", 0.9},
                     {"mode", std::string(mode)},
                     {"spatial_bins_x", std::int64_t{3}},
                     {"spatial_bins_y", std::int64_t{2}}}),
            {x, boxes}, {random_tensor(ElementType::kF32, shape, 5), regions});
    }
  }
}

TEST_F(GpuLowering, BitsAsAnotherType) {
  const std::vector<std::pair<element::Type, element::Type>> pairs{
      {element::f32, element::i32},   {element::f32, element::u32}, {element::f64, element::u64},
      {element::f64, element::i64},   {element::f16, element::i16}, {element::bf16, element::u16},
      {element::f8e4m3, element::u8}, {element::i8, element::u8},   {element::u64, element::i64},
      {element::i16, element::u16}};
  const auto cast = [](const Out& x, element::Type to) {
    return outputs("BitCast", 1, {x}, {{"destination_type", to}})[0];
  };
  for (const auto& [one, other] : pairs) {
    SCOPED_TRACE(one.to_string() + " " + other.to_string());
    const auto x = parameter({3, 40}, one), y = parameter({3, 40}, other);
    // Values of both signs, and nothing that is too small or no number.
    std::vector<double> values;
    for (int i = 0; i < 120; ++i) values.push_back((i % 2 && one != element::u64 ? -1 : 1) * (1 + i) * 0.5);
    const Tensor given = op::v0::Constant::create(one, Shape{3, 40}, values)->get_tensor();
    Tensor bits(other, Shape{3, 40});
    std::memcpy(bits.data(), given.data(), given.size_bytes());
    judge({cast(x, other)}, {x}, {given});
    judge({cast(y, one)}, {y}, {bits}, 0);
  }
  // The sign of what is computed before, taken off.
  const auto x = parameter({64});
  const Out negative = outputs("Negative", 1, {x})[0];
  const Out mask = op::v0::Constant::create(element::i32, Shape{}, std::vector<std::int64_t>{0x7fffffff});
  judge({cast(outputs("BitwiseAnd", 13, {cast(negative, element::i32), mask})[0], element::f32)}, {x});
}

TEST_F(GpuLowering, InverseMatrices) {
  for (const bool adjoint : {false, true}) {
    for (const std::size_t rows : {std::size_t{1}, std::size_t{5}, std::size_t{70}}) {
      SCOPED_TRACE(rows);
      const auto x = parameter({2, 3, rows, rows});
      Tensor matrices = random_tensor(ElementType::kF32, {2, 3, rows, rows}, 11);
      // With a 0 where the first pivot would be, if there is another.
      if (rows > 1) matrices.data<float>()[0] = 0;
      judge(outputs("Inverse", 14, {x}, {{"adjoint", adjoint}}), {x}, {matrices}, 2e-3);
    }
  }
  const auto x = open_parameter(3);
  judge_moving(outputs("Inverse", 14, {outputs("Add", 1, {x, x})[0]}, {{"adjoint", false}}), {x},
               {{Shape{2, 3, 3}}, {Shape{4, 6, 6}}}, 2e-3);
}

/// Compilers count their warnings there, in the terminal of a program that asked for an inference.
TEST_F(GpuLowering, CompilesWithoutAWordOnStandardError) {
  const auto x = parameter({2, 4, 6, 6});
  // A text that no cache of programs has.
  const double bound =
      1 + 1e-9 * static_cast<double>(std::chrono::steady_clock::now().time_since_epoch().count() % 1000000007);
  const auto y = outputs("Clamp", 1, {x}, {{"min", -bound}, {"max", bound}})[0];
  const auto regions = parameter({3, 5});
  const auto pooled =
      outputs("ROIPooling", 2, {y, regions},
              {{"pooled_h", 2}, {"pooled_w", 2}, {"spatial_scale", bound}, {"method", std::string("max")}});
  ::testing::internal::CaptureStderr();
  Core().compile_model(std::make_shared<Model>(pooled, ParameterVector{x, regions}), "GPU");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(GpuLowering, AMatrixWithoutAnInverseBecomesNaN) {
  const auto x = parameter({2, 2, 2});
  auto request =
      Core()
          .compile_model(std::make_shared<Model>(outputs("Inverse", 14, {x}, {{"adjoint", false}}), ParameterVector{x}),
                         "GPU")
          .create_infer_request();
  const std::vector<float> given{1, 2, 2, 4, 2, 0, 0, 4};
  std::copy(given.begin(), given.end(), request.get_input_tensor().data<float>());
  request.infer();
  const float* const made = request.get_output_tensor().data<float>();
  EXPECT_TRUE(std::all_of(made, made + 4, [](float value) { return std::isnan(value); }));
  EXPECT_EQ(std::vector<float>(made + 4, made + 8), (std::vector<float>{0.5f, 0, 0, 0.25f}));
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

TEST_F(GpuLowering, TypesOfWeightOnlyBothWays) {
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
  // Values without elements that a kernel makes, alone and beside others.
  const auto z = parameter({4, 3});
  const auto sums = outputs("CumSum", 3, {none, scalar(0)}, {{"exclusive", false}, {"reverse", false}})[0];
  judge(outputs("Concat", 0, {none, z}, {{"axis", 1}}), {x, z});
  judge(outputs("Concat", 0, {sums, z}, {{"axis", 1}}), {x, z});
}

/// What is only moved is not read as numbers: that would make signalling NaNs quiet.
TEST_F(GpuLowering, JoinedHalvesKeepTheirBits) {
  const auto x = parameter({1, 0x10000}, element::f16), y = parameter({1, 24}, element::f16);
  Tensor all(ElementType::kF16, {1, 0x10000});
  for (std::size_t i = 0; i < 0x10000; ++i) all.data<std::uint16_t>()[i] = static_cast<std::uint16_t>(i);
  Core core;
  InferRequest request =
      core.compile_model(
              std::make_shared<Model>(outputs("Concat", 0, {y, x}, {{"axis", 1}}), ParameterVector{x, y}, "m"), "GPU")
          .create_infer_request();
  request.set_input_tensor(0, all);
  request.set_input_tensor(1, random_tensor(ElementType::kF16, {1, 24}, 1));
  request.infer();
  Tensor made;
  request.get_output_tensor().copy_to(made);
  EXPECT_EQ(std::memcmp(made.data<std::uint16_t>() + 24, all.data(), all.size_bytes()), 0);
}

}  // namespace lower_lowering_test
}  // namespace tenon
