// SPDX-License-Identifier: Apache-2.0
// Pools of regions, GridSample and DeformableConvolution against the reference kernels: every mode, layouts, places outside, odd extents.
#include <gtest/gtest.h>

#include <tenon/engine/testing/instruction_sets.hpp>
#include <tenon/engine/testing/judged_models.hpp>

namespace tenon::engine_test {
namespace regions_test {

Out reals(const Shape& shape, const std::vector<float>& values) {
  return op::v0::Constant::create(element::f32, shape, values);
}

/// Inside, across the border, outside, turned inside out, of no extent, larger than the picture.
const std::vector<float> kBoxes{1.3f, 2.1f, 9.7f,  7.9f, -3,    -2,   4.5f, 3,   200, 200, 210, 220,  8,     6,
                                2,    1,    5.25f, 4.5f, 5.25f, 4.5f, -40,  -40, 90,  80,  0,   0.5f, 12.5f, 10.f};

Judged judge_roi_align(const Attributes& attributes, std::size_t channels, bool after_convolution,
                       element::Type indices = element::i64, std::size_t repeats = 1) {
  const auto x = parameter({2, after_convolution ? 3 : channels, 11, 13});
  const Out data = after_convolution ? convolution(x, channels, 3, 1, 1) : x->output(0);
  std::vector<float> boxes;
  std::vector<std::int64_t> pictures;
  for (std::size_t i = 0; i < repeats; ++i) boxes.insert(boxes.end(), kBoxes.begin(), kBoxes.end());
  for (std::size_t i = 0; i < boxes.size() / 4; ++i) pictures.push_back(static_cast<std::int64_t>(i % 2));
  const Out of = op::v0::Constant::create(indices, Shape{pictures.size()}, pictures);
  return judge(op1("ROIAlign", 9, {data, reals({pictures.size(), 4}, boxes), of}, attributes), {x});
}

TEST(LowerRegions, RoiAlignInEveryModeAndLayout) {
  for (const char* mode : {"avg", "max", "max_corners"}) {
    for (const char* aligned : {"asymmetric", "half_pixel_for_nn", "half_pixel"}) {
      for (const std::int64_t ratio : {0, 1, 2}) {
        SCOPED_TRACE(std::string(mode) + " " + aligned + " " + std::to_string(ratio));
        const Attributes attributes{{"pooled_h", 3},
                                    {"pooled_w", 5},
                                    {"sampling_ratio", ratio},
                                    {"spatial_scale", 0.9},
                                    {"mode", std::string(mode)},
                                    {"aligned_mode", std::string(aligned)}};
        const Judged judged = judge_roi_align(attributes, ratio == 1 ? 35 : 3, ratio == 1);
        EXPECT_EQ(judged.references, 0u);
        EXPECT_TRUE(judged.ran("ROIAlign"));
      }
    }
  }
}

TEST(LowerRegions, RoiAlignOfManyChannelsAndRegions) {
  const Attributes attributes{{"pooled_h", 7},
                              {"pooled_w", 7},
                              {"sampling_ratio", 2},
                              {"spatial_scale", 0.5},
                              {"mode", std::string("avg")},
                              {"aligned_mode", std::string("half_pixel")}};
  for_each_instruction_set([&] {
    for (const std::size_t channels : {1, 16, 64, 130}) {
      EXPECT_EQ(judge_roi_align(attributes, channels, channels > 16, element::i32, 1).references, 0u);
      EXPECT_EQ(judge_roi_align(attributes, channels, channels > 16, element::i64, 4).references, 0u);
    }
  });
}

TEST(LowerRegions, RoiAlignRefusesAnIndexOfNoPicture) {
  const auto x = parameter({1, 2, 8, 8});
  const Attributes attributes{
      {"pooled_h", 2}, {"pooled_w", 2}, {"sampling_ratio", 2}, {"spatial_scale", 1.0}, {"mode", std::string("avg")}};
  const Out node = op1("ROIAlign", 9, {x, reals({1, 4}, {0, 0, 4, 4}), ints({1})}, attributes);
  const auto plan = engine::Plan::compile(std::make_shared<Model>(OutputVector{node}, ParameterVector{x}), {});
  engine::Workers workers(2);
  engine::Execution execution(plan);
  Tensor in(ElementType::kF32, Shape{1, 2, 8, 8}), out(ElementType::kF32, Shape{1, 2, 2, 2});
  std::memset(in.data(), 0, in.size_bytes());
  execution.bind_input(0, in);
  execution.bind_output(0, out);
  try {
    execution.run(workers);
    FAIL() << "the index was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find("batch index 1 of region 0"), std::string::npos) << error.what();
  }
}

TEST(LowerRegions, RotatedRegionsInEveryLayout) {
  // Turned both ways, across the border, outside, of no extent.
  const std::vector<float> boxes{5, 4,    6,  3,  0.4f, 9, 2, 14, 5, -1.2f, 0, 0,   7,
                                 7, 3.1f, 40, 40, 5,    5, 1, 6,  6, 0,     0, 0.2f};
  for_each_instruction_set([&] {
    for (const std::size_t channels : {3, 35}) {
      for (const std::int64_t ratio : {0, 2}) {
        for (const bool is_clockwise : {false, true}) {
          const bool after_convolution = channels == 35;
          const auto x = parameter({2, after_convolution ? 3 : channels, 11, 13});
          const Out data = after_convolution ? convolution(x, channels, 3, 1, 1) : x->output(0);
          const auto type = ratio ? element::i32 : element::i64;
          const Out of = op::v0::Constant::create(type, Shape{5}, std::vector<std::int64_t>{0, 1, 1, 0, 1});
          const Out made = op1("ROIAlignRotated", 15, {data, reals({5, 5}, boxes), of},
                               {{"pooled_h", 3},
                                {"pooled_w", 4},
                                {"sampling_ratio", ratio},
                                {"spatial_scale", 0.8},
                                {"clockwise_mode", is_clockwise}});
          EXPECT_EQ(judge(made, {x}).references, 0u);
        }
      }
    }
  });
}

/// With the picture in front of each; the last ones come after the end of the list if there is one.
std::vector<float> boxes_with_pictures(float scale, bool ends) {
  std::vector<float> made;
  for (std::size_t i = 0; i < kBoxes.size() / 4; ++i) {
    made.push_back(ends && i == 5 ? -1 : static_cast<float>(i % 2));
    for (std::size_t k = 0; k < 4; ++k) made.push_back(kBoxes[4 * i + k] * scale);
  }
  return made;
}

TEST(LowerRegions, RoiPoolingInEveryModeAndLayout) {
  for_each_instruction_set([&] {
    for (const char* method : {"max", "bilinear"}) {
      for (const std::size_t channels : {3, 35}) {
        for (const std::int64_t side : {1, 3}) {
          SCOPED_TRACE(std::string(method) + " " + std::to_string(channels) + " " + std::to_string(side));
          const bool after_convolution = channels == 35;
          const auto x = parameter({2, after_convolution ? 3 : channels, 11, 13});
          const Out data = after_convolution ? convolution(x, channels, 3, 1, 1) : x->output(0);
          // Bilinear ones are parts of the picture.
          const auto boxes = boxes_with_pictures(method[0] == 'b' ? 0.08f : 1, side == 3);
          const Out made = op1(
              "ROIPooling", 2, {data, reals({boxes.size() / 5, 5}, boxes)},
              {{"pooled_h", side}, {"pooled_w", side + 2}, {"spatial_scale", 0.9}, {"method", std::string(method)}});
          EXPECT_EQ(judge(made, {x}).references, 0u);
        }
      }
    }
  });
}

TEST(LowerRegions, PoolingOfEachPlaceFromChannelsOfItsOwn) {
  for (const char* mode : {"average", "bilinear"}) {
    for (const std::int64_t group : {1, 3}) {
      SCOPED_TRACE(std::string(mode) + " " + std::to_string(group));
      const bool is_average = mode[0] == 'a';
      const auto channels = static_cast<std::size_t>(is_average ? 5 * group * group : 5 * 2 * 3);
      const auto x = parameter({2, channels, 11, 13});
      const auto boxes = boxes_with_pictures(is_average ? 1 : 0.08f, group == 3);
      const Out made = op1("PSROIPooling", 1, {x, reals({boxes.size() / 5, 5}, boxes)},
                           {{"output_dim", std::int64_t{5}},
                            {"group_size", group},
                            {"spatial_scale", 0.9},
                            {"mode", std::string(mode)},
                            {"spatial_bins_x", std::int64_t{3}},
                            {"spatial_bins_y", std::int64_t{2}}});
      EXPECT_EQ(judge(made, {x}).references, 0u);
    }
  }
}

struct Deformed {
  std::size_t channels, filters, groups, deformable_groups;
  std::int64_t kernel, stride, pad, dilation;
  bool is_masked, pads;
};

Judged judge_deformable(const Deformed& given, const Shape& spatial, bool computes_filters = false) {
  const auto x = parameter({2, given.channels, spatial[0], spatial[1]});
  const auto side = static_cast<std::size_t>(given.kernel);
  const auto out = [&](std::size_t extent) {
    return (extent + 2 * static_cast<std::size_t>(given.pad) - (side - 1) * static_cast<std::size_t>(given.dilation) -
            1) /
               static_cast<std::size_t>(given.stride) +
           1;
  };
  const std::size_t points = given.deformable_groups * side * side, rows = out(spatial[0]), columns = out(spatial[1]);
  // Offsets of some pixels: across the border, and some to whole pixels.
  const auto offsets = parameter({2, 2 * points, rows, columns}), mask = parameter({2, points, rows, columns});
  const Shape shape{given.filters, given.channels / given.groups, side, side};
  const auto filters = parameter(shape);
  const Out moved = op1("Multiply", 1, {offsets, scalar(1.5)});
  OutputVector inputs{x, moved, computes_filters ? op1("Relu", 1, {filters}) : weights(shape)};
  if (given.is_masked) inputs.push_back(op1("Sigmoid", 1, {mask}));
  Attributes attributes{{"strides", {given.stride, given.stride}},
                        {"pads_begin", {given.pad, given.pad}},
                        {"pads_end", {given.pad, given.pad}},
                        {"dilations", {given.dilation, given.dilation}},
                        {"group", static_cast<std::int64_t>(given.groups)},
                        {"deformable_group", static_cast<std::int64_t>(given.deformable_groups)}};
  const unsigned opset = given.is_masked || given.pads ? 8 : 1;
  if (opset == 8) attributes.set("bilinear_interpolation_pad", given.pads);
  ParameterVector parameters{x, offsets};
  if (given.is_masked) parameters.push_back(mask);
  if (computes_filters) parameters.push_back(filters);
  return judge(op1("DeformableConvolution", opset, inputs, attributes), parameters);
}

TEST(LowerRegions, DeformableConvolutionsOfEveryForm) {
  const std::vector<Deformed> cases{{3, 5, 1, 1, 3, 1, 1, 1, false, false},  {16, 8, 1, 4, 3, 2, 1, 1, true, true},
                                    {24, 12, 4, 3, 3, 1, 2, 2, true, false}, {6, 6, 3, 2, 2, 1, 0, 1, false, true},
                                    {70, 33, 1, 1, 1, 1, 0, 1, true, true},  {12, 4, 2, 12, 3, 3, 4, 1, false, false}};
  for_each_instruction_set([&] {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      SCOPED_TRACE(i);
      const Judged judged = judge_deformable(cases[i], {9, 11}, i % 2 == 1);
      EXPECT_EQ(judged.references, 0u);
      EXPECT_TRUE(judged.ran("DeformableConvolution"));
    }
  });
}

TEST(LowerRegions, DeformableConvolutionsOfManyPixels) {
  // More than are multiplied at once.
  EXPECT_EQ(judge_deformable({512, 3, 1, 2, 3, 1, 1, 1, true, true}, {23, 25}).references, 0u);
}

TEST(LowerRegions, GridSampleInEveryMode) {
  struct Case {
    Shape data, grid;
  };
  const std::vector<Case> cases{{{2, 3, 5, 7}, {2, 4, 9, 2}},
                                {{40, 1, 6, 6}, {40, 9, 9, 2}},
                                {{1, 2, 1, 4}, {1, 3, 3, 2}},
                                {{1, 17, 9, 2}, {1, 37, 41, 2}},
                                {{3, 1, 1, 1}, {3, 2, 2, 2}}};
  for (const char* mode : {"bilinear", "nearest", "bicubic"}) {
    for (const char* padding : {"zeros", "border", "reflection"}) {
      for (const bool corners : {false, true}) {
        for (const Case& given : cases) {
          SCOPED_TRACE(std::string(mode) + " " + padding + (corners ? " corners " : " ") + to_string(given.data));
          const auto x = parameter(given.data), grid = parameter(given.grid);
          const Out node =
              op1("GridSample", 9, {x, grid},
                  {{"mode", std::string(mode)}, {"padding_mode", std::string(padding)}, {"align_corners", corners}});
          EXPECT_EQ(judge(node, {x, grid}).references, 0u);
        }
      }
    }
  }
}

TEST(LowerRegions, GridSampleAtTheBorderAndOfNothing) {
  const float inf = INFINITY, nan = NAN, huge = 1e30f;
  const std::vector<float> places{-1,  -1,   1, 1, 0,     0, nan, 0,    0,    nan,   inf,   0,  -inf,
                                  inf, huge, 1, 0, -huge, 1, -1,  1.2f, 1.4f, -1.2f, -1.4f, -1, 0.999f};
  for (const char* padding : {"zeros", "border"}) {
    for (const bool corners : {false, true}) {
      SCOPED_TRACE(std::string(padding) + (corners ? " corners" : ""));
      const auto x = parameter({1, 2, 4, 6});
      const Out node =
          op1("GridSample", 9, {x, reals({1, 1, places.size() / 2, 2}, places)},
              {{"mode", std::string("bilinear")}, {"padding_mode", std::string(padding)}, {"align_corners", corners}});
      for_each_instruction_set([&] { EXPECT_EQ(judge(node, {x}).references, 0u); });
    }
  }
}

}  // namespace regions_test
}  // namespace tenon::engine_test
