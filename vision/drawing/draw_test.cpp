// SPDX-License-Identifier: Apache-2.0
// Checks the pixels that are drawn, in every format and at every edge.
#include <tenon/vision/draw.hpp>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tenon/core/carried_formats.hpp>
#include <tenon/core/error.hpp>
#include <tenon/graph/input_stage/input_stage.hpp>

namespace draw_test {

using namespace tenon;
using vision::Canvas;
using vision::Colour;

constexpr PixelFormat kFormats[] = {kI420,
                                    kYv12,
                                    kI422,
                                    kI444,
                                    kNv12,
                                    kNv21,
                                    kNv16,
                                    kP010,
                                    kYuy2,
                                    kUyvy,
                                    kGray8,
                                    kRgb24,
                                    kBgr24,
                                    kRgba,
                                    kBgra,
                                    kRgbPlanar,
                                    kBgrPlanar,
                                    kGbrPlanar,
                                    kI420p10,
                                    kGray16,
                                    kY210,
                                    kArgb,
                                    kVuya,
                                    kGbra12,
                                    kRgb48,
                                    kNv12a,

                                    big_endian(kI422p16),
                                    big_endian(kP010)};

bool is_grey(PixelFormat format) { return format_info(format).model == ColourModel::kGray; }

Frame grey_frame(PixelFormat format, std::uint32_t width, std::uint32_t height) {
  Frame frame = Frame::allocate({format, width, height, ColourSpace::kBt709});
  Canvas(frame).fill(0, 0, static_cast<int>(width), static_cast<int>(height), {128, 128, 128});
  return frame;
}

/// The frame as RGB of its own size, by the input stage.
std::vector<float> rgb(const Frame& frame) {
  InputStageOptions options;
  options.source = frame.info();
  options.width = frame.info().width_px;
  options.height = frame.info().height_px;
  const InputStageSpec spec = make_spec(options);
  std::vector<float> out(element_count(spec.target_shape()));
  run_input_stage_reference(spec, plane_views(spec, frame.planes()), out.data());
  return out;
}

/// The same for the upright picture, however it is stored.
std::vector<float> upright_rgb(const Frame& frame) {
  InputStageOptions options;
  options.source = frame.info();
  options.width = frame.info().upright_width_px();
  options.height = frame.info().upright_height_px();
  const InputStageSpec spec = make_spec(options);
  std::vector<float> written(element_count(spec.target_shape())), out(written.size());
  run_input_stage_reference(spec, plane_views(spec, frame.planes()), written.data());
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t y = 0; y < spec.height; ++y)
      for (std::size_t x = 0; x < spec.width; ++x)
        out[spec.transposed ? (c * spec.width + x) * spec.height + y : (c * spec.height + y) * spec.width + x] =
            written[(c * spec.height + y) * spec.width + x];
  return out;
}

class EveryFormat : public testing::TestWithParam<PixelFormat> {};

TEST_P(EveryFormat, WhatIsDrawnOnAFrameThatLiesDownStandsUpright) {
  for (const Rotation rotation : {Rotation::k90, Rotation::k180, Rotation::k270, Rotation::kMirrored,
                                  Rotation::kMirrored90, Rotation::kMirrored180, Rotation::kMirrored270}) {
    const bool quarter = is_quarter_turn(rotation);
    Frame upright = grey_frame(GetParam(), 48, 32);
    const Frame stored = grey_frame(GetParam(), quarter ? 32 : 48, quarter ? 48 : 32);
    FrameInfo info = stored.info();
    info.rotation = rotation;
    const Frame lying(info, std::vector<Tensor>(stored.planes().begin(), stored.planes().end()));
    for (const Frame& frame : {upright, lying}) {
      Canvas canvas(frame);
      ASSERT_EQ(canvas.width(), 48);
      ASSERT_EQ(canvas.height(), 32);
      canvas.fill(4, 2, 16, 10, {200, 40, 90});
      canvas.outline(20, 4, 44, 28, 2, {20, 240, 90});
      canvas.fill(40, 28, 60, 60, {250, 250, 250});
    }
    const auto found = upright_rgb(lying), wanted = upright_rgb(upright);
    for (std::size_t i = 0; i < wanted.size(); ++i)
      ASSERT_NEAR(found[i], wanted[i], 1e-3) << degrees(rotation) << " at " << i % 48 << ' ' << i / 48 % 32;
  }
}

TEST_P(EveryFormat, FillsTheRectangleInItsColourAndNothingElse) {
  Frame frame = grey_frame(GetParam(), 22, 14);
  Canvas(frame).fill(4, 2, 12, 8, {200, 40, 90});
  const auto pixels = rgb(frame);
  const float colour[3] = {200, 40, 90};
  const float grey = 0.2126f * 200 + 0.7152f * 40 + 0.0722f * 90;
  for (std::size_t y = 0; y < 14; ++y) {
    for (std::size_t x = 0; x < 22; ++x) {
      const bool inside = x >= 4 && x < 12 && y >= 2 && y < 8;
      for (std::size_t c = 0; c < 3; ++c) {
        const float wanted = !inside ? 128 : is_grey(GetParam()) ? grey : colour[c];
        ASSERT_NEAR(pixels[(c * 14 + y) * 22 + x], wanted, 2.5) << x << ' ' << y << ' ' << c;
      }
    }
  }
}

TEST_P(EveryFormat, CoversOddPicturesToTheLastPixel) {
  Frame frame = grey_frame(GetParam(), 7, 5);
  Canvas(frame).fill(-3, -3, 100, 100, {10, 200, 30});
  const auto pixels = rgb(frame);
  for (std::size_t i = 0; i < 35; ++i)
    EXPECT_NEAR(pixels[35 + i], is_grey(GetParam()) ? 0.2126f * 10 + 0.7152f * 200 + 0.0722f * 30 : 200, 2.5) << i;
}

TEST_P(EveryFormat, StaysInsideThePlanes) {
  // Planes inside a larger block of poison: anything outside a row's samples must remain unchanged.
  const FrameInfo info{GetParam(), 33, 17, ColourSpace::kBt601};
  std::vector<std::vector<std::uint8_t>> blocks;
  std::vector<Tensor> planes;
  struct Row {
    std::size_t pitch, bytes, rows;
  };
  std::vector<Row> rows;
  for (std::size_t p = 0; p < format_info(info.format).plane_count; ++p) {
    const PlaneExtent extent = plane_extent(info, p);
    const auto item = static_cast<std::ptrdiff_t>(size_bytes(format_info(info.format).sample));
    const std::size_t pitch = (extent.row_bytes + 22) / 2 * 2;
    blocks.emplace_back(pitch * (extent.height_px + 2), 0xA5);
    const Shape shape = plane_shape(info, p);
    ByteStrides strides{static_cast<std::ptrdiff_t>(pitch), item};
    if (shape.size() == 3)
      strides = {static_cast<std::ptrdiff_t>(pitch), static_cast<std::ptrdiff_t>(extent.channels) * item, item};
    planes.emplace_back(format_info(info.format).sample, shape, blocks.back().data() + pitch, strides);
    rows.push_back({pitch, extent.row_bytes, extent.height_px});
  }
  const Frame frame(info, planes);
  std::vector<vision::Detection> wild;
  for (const vision::Box& box :
       {vision::Box{-50, -50, 500, 500}, vision::Box{30, 15, 40, 20}, vision::Box{-9, 3, 4, 40},
        vision::Box{1e30f, -1e30f, INFINITY, 5}, vision::Box{NAN, 0, 1, 1}, vision::Box{5, 5, 2, 2},
        vision::Box{-1e9f, -1e9f, 1e9f, 1e9f}}) {
    wild.push_back({box, static_cast<int>(wild.size()) - 3, 0.5f, "a label that is wider than the picture \x01\xff"});
  }
  vision::draw(frame, wild);
  vision::draw(frame, wild, {true, true, 50, 9});
  for (std::size_t p = 0; p < planes.size(); ++p) {
    for (std::size_t i = 0; i < blocks[p].size(); ++i) {
      const std::size_t y = i / rows[p].pitch, x = i % rows[p].pitch;
      const bool outside = y == 0 || y > rows[p].rows || x >= rows[p].bytes;
      ASSERT_TRUE(!outside || blocks[p][i] == 0xA5) << p << ' ' << x << ' ' << y;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Canvas, EveryFormat, testing::ValuesIn(kFormats),
                         [](const auto& info) { return std::string(format_info(info.param).name); });

TEST(Canvas, LeavesAlphaAlone) {
  Frame frame = Frame::allocate({kRgba, 4, 4});
  std::memset(frame.plane(0).data(), 77, 4);
  Canvas(frame).fill(0, 0, 4, 4, {1, 2, 3});
  const auto* bytes = static_cast<const std::uint8_t*>(frame.plane(0).data());
  EXPECT_EQ(bytes[0], 1);
  EXPECT_EQ(bytes[3], 77);
}

TEST(Canvas, OutlinesWithTheThicknessInside) {
  Frame frame = Frame::allocate({kGray8, 16, 16});
  Canvas canvas(frame);
  canvas.fill(0, 0, 16, 16, {0, 0, 0});
  canvas.outline(2, 3, 12, 11, 2, {255, 255, 255});
  const auto pixel = [&](std::size_t x, std::size_t y) {
    return static_cast<const std::uint8_t*>(
        frame.plane(0).data())[y * static_cast<std::size_t>(frame.plane(0).byte_strides()[0]) + x];
  };
  for (std::size_t y = 0; y < 16; ++y) {
    for (std::size_t x = 0; x < 16; ++x) {
      const bool outer = x >= 2 && x < 12 && y >= 3 && y < 11, inner = x >= 4 && x < 10 && y >= 5 && y < 9;
      EXPECT_EQ(pixel(x, y), outer && !inner ? 255 : 0) << x << ' ' << y;
    }
  }
}

TEST(Canvas, WritesLettersThatCanBeRead) {
  Frame frame = Frame::allocate({kGray8, 40, 9});
  Canvas canvas(frame);
  const auto picture = [&](std::string_view text) {
    canvas.fill(0, 0, 40, 9, {0, 0, 0});
    canvas.text(0, 0, text, 1, {255, 255, 255});
    std::string drawn;
    for (std::size_t y = 0; y < 7; ++y) {
      for (std::size_t x = 0; x < 5; ++x)
        drawn += static_cast<const std::uint8_t*>(
                     frame.plane(0).data())[y * static_cast<std::size_t>(frame.plane(0).byte_strides()[0]) + x]
                     ? '#'
                     : '.';
      drawn += '\n';
    }
    return drawn;
  };
  EXPECT_EQ(picture("T"), "#####\n..#..\n..#..\n..#..\n..#..\n..#..\n..#..\n");
  EXPECT_EQ(picture("7"), "#####\n....#\n...#.\n..#..\n..#..\n.#...\n.#...\n");
  EXPECT_EQ(picture("\x07"), picture("?"));
  std::vector<std::string> seen;
  for (char c = 33; c < 127; ++c) seen.push_back(picture(std::string(1, c)));
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end()) << "two characters look alike";
  EXPECT_EQ(Canvas::text_width("ab", 3), 33);
  EXPECT_EQ(Canvas::text_width("", 3), 0);
}

TEST(Draw, PutsTheLabelAboveTheBoxOrInsideWhenThereIsNoRoom) {
  Frame frame = grey_frame(kRgb24, 200, 120);
  const Colour colour = vision::label_colour(0);
  const auto is_colour = [&](std::size_t x, std::size_t y) {
    const auto* p = static_cast<const std::uint8_t*>(frame.plane(0).data()) +
                    y * static_cast<std::size_t>(frame.plane(0).byte_strides()[0]) + 3 * x;
    return p[0] == colour.red && p[1] == colour.green && p[2] == colour.blue;
  };
  vision::draw(frame, std::vector<vision::Detection>{{{20, 50, 80, 100}, 0, 0.5f, "x"}});
  EXPECT_TRUE(is_colour(20, 75));   // left edge
  EXPECT_TRUE(is_colour(79, 75));   // right edge
  EXPECT_FALSE(is_colour(50, 75));  // inside
  EXPECT_TRUE(is_colour(20, 49));   // the bar above
  EXPECT_FALSE(is_colour(20, 38));
  vision::draw(frame, std::vector<vision::Detection>{{{120, 1, 180, 40}, 0, 0.5f, "x"}});
  EXPECT_TRUE(is_colour(121, 8)) << "inside the box, below its upper edge";
}

TEST(Draw, RefusesWhatMayNotBeWritten) {
  EXPECT_THROW(vision::draw(Frame(), {}), Error);
  Frame unknown = grey_frame(kRgb24, 4, 4);
  EXPECT_NO_THROW(vision::draw(unknown, {}));
}

TEST(Canvas, ALineReachesBothEndsAndLeavesTheRest) {
  const Frame frame = grey_frame(kRgb24, 40, 20);
  Canvas(frame).line(5, 5, 30, 15, 1, {255, 255, 255});
  Canvas(frame).line(-100000, 10, 100000, 10, 1, {0, 0, 0});
  const auto* const pixels = static_cast<const std::uint8_t*>(frame.plane(0).data());
  const auto at = [&](std::size_t x, std::size_t y) {
    return pixels[static_cast<std::size_t>(frame.plane(0).byte_strides()[0]) * y + 3 * x];
  };
  EXPECT_EQ(at(5, 5), 255);
  EXPECT_EQ(at(30, 15), 255);
  EXPECT_EQ(at(5, 15), 128);
  EXPECT_EQ(at(0, 10), 0);
  EXPECT_EQ(at(39, 10), 0);
}

TEST(Canvas, BlendingMixesInEveryFormat) {
  for (const PixelFormat format : kFormats) {
    const Frame frame = grey_frame(format, 16, 16);
    Canvas(frame).blend(4, 4, 12, 12, {255, 255, 255}, 0.5);
    const std::vector<float> pixels = rgb(frame);
    EXPECT_NEAR(pixels[8 * 16 + 8], 191.5f, 3) << to_string(format);
    EXPECT_NEAR(pixels[0], 128, 2) << to_string(format);
  }
}

}  // namespace draw_test
