// SPDX-License-Identifier: Apache-2.0
// The fast input stage against the reference, for every format, size, fit and output; and against swscale.
#include <tenon/engine/kernels/image/input_stage.hpp>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <hwy/targets.h>
#include <tbb/task_arena.h>

#include <tenon/core/carried_formats.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/graph/input_stage/input_stage.hpp>

#ifdef TENON_HAS_SWSCALE
extern "C" {
#include <libswscale/swscale.h>
}
#endif

namespace image_input_stage_test {

using namespace tenon;

/// Planes with padded rows inside one block; padding and everything around the planes is poison.
struct Planes {
  std::vector<std::vector<std::uint8_t>> blocks;
  std::vector<PlaneView> views;

  Planes(const InputStageSpec& spec, std::uint8_t poison, std::uint32_t seed = 1) {
    std::uint32_t state = seed * 2654435761u + 12345u;
    for (std::size_t plane = 0; plane < spec.layout.plane_count; ++plane) {
      const Shape shape = spec.plane_shape(plane);
      const std::size_t row = shape[2] * shape[3] * size_bytes(spec.layout.sample_type());
      const std::size_t pitch = row + 10 + 2 * plane;
      // The last row ends with the block, so that a sanitizer reports reading past it.
      std::vector<std::uint8_t> block(pitch * (shape[1] - 1) + row, poison);
      for (std::size_t y = 0; y < shape[1]; ++y) {
        for (std::size_t i = 0; i < row; ++i) {
          state = state * 1664525u + 1013904223u;
          block[y * pitch + i] = static_cast<std::uint8_t>(state >> 24);
        }
      }
      blocks.push_back(std::move(block));
      views.push_back({blocks.back().data(), static_cast<std::ptrdiff_t>(pitch)});
    }
  }
};

double element(const InputStageSpec& spec, const std::vector<std::uint8_t>& bytes, std::size_t i) {
  if (spec.type == ElementType::kU8) return bytes[i];
  if (spec.type == ElementType::kF16) {
    _Float16 value;
    std::memcpy(&value, bytes.data() + 2 * i, 2);
    return static_cast<double>(value);
  }
  float value;
  std::memcpy(&value, bytes.data() + 4 * i, 4);
  return value;
}

std::vector<std::uint8_t> blank(const InputStageSpec& spec) {
  return std::vector<std::uint8_t>(element_count(spec.target_shape()) * size_bytes(spec.type), 0xA5);
}

/// Largest difference of the fast kernel from the reference, in 8-bit steps before normalisation.
double worst_error(const InputStageOptions& options) {
  const InputStageSpec spec = make_spec(options);
  const engine::InputStagePlan plan(spec);
  const Planes planes(spec, 0xFF), other_poison(spec, 0x00);
  auto expected = blank(spec), found = blank(spec), again = blank(spec);
  run_input_stage_reference(spec, planes.views, expected.data());
  plan.run(planes.views, found.data());
  plan.run(other_poison.views, again.data());
  EXPECT_EQ(found, again) << "the result depends on bytes beside the picture";
  double worst = 0;
  for (std::size_t i = 0; i < element_count(spec.target_shape()); ++i) {
    const std::size_t c = spec.planar ? i / (spec.width * spec.height) : i % spec.channels;
    worst = std::max(worst, std::abs(element(spec, expected, i) - element(spec, found, i)) * std::abs(spec.scale[c]));
  }
  return worst;
}

InputStageOptions basic(PixelFormat format, std::uint32_t w, std::uint32_t h, std::size_t width, std::size_t height) {
  InputStageOptions options;
  options.source = {format, w, h, ColourSpace::kBt601, ColourRange::kUnknown};
  options.width = width;
  options.height = height;
  return options;
}

class EveryFormat : public testing::TestWithParam<PixelFormat> {};

constexpr double kTolerance = 0.03;  // In 8-bit steps; see InputStagePlan.

TEST_P(EveryFormat, MatchesReferenceAtManySizes) {
  const std::uint32_t sizes[][4] = {{64, 48, 40, 30}, {65, 49, 33, 17},  {1, 1, 5, 3},     {2, 2, 1, 1},
                                    {3, 1, 7, 4},     {1, 5, 3, 3},      {37, 21, 80, 64}, {320, 18, 17, 9},
                                    {16, 16, 16, 16}, {257, 33, 100, 33}};
  for (const auto& s : sizes) {
    SCOPED_TRACE(std::to_string(s[0]) + "x" + std::to_string(s[1]) + " -> " + std::to_string(s[2]) + "x" +
                 std::to_string(s[3]));
    for (const Rotation rotation :
         {Rotation::kNone, Rotation::k90, Rotation::k180, Rotation::k270, Rotation::kMirrored}) {
      auto options = basic(GetParam(), s[0], s[1], s[2], s[3]);
      options.source.rotation = rotation;
      EXPECT_LE(worst_error(options), kTolerance) << degrees(rotation);
    }
  }
}

TEST_P(EveryFormat, MatchesReferenceForEveryFitCropAndMode) {
  for (Fit fit : {Fit::kStretch, Fit::kLetterbox, Fit::kTopLeft, Fit::kCrop}) {
    for (ResizeMode mode : {ResizeMode::kLinear, ResizeMode::kNearest}) {
      for (const PixelRect crop : {PixelRect{}, PixelRect{3, 5, 41, 20}, PixelRect{66, 32, 1, 1}}) {
        auto options = basic(GetParam(), 67, 33, 45, 50);
        options.fit = fit;
        options.resize = mode;
        options.crop = crop;
        options.pad = {114, 10, 200};
        options.mean = {123.675, 116.28, 103.53};
        options.scale = {58.395, 57.12, -57.375};
        EXPECT_LE(worst_error(options), kTolerance)
            << static_cast<int>(fit) << ' ' << static_cast<int>(mode) << ' ' << crop.x;
      }
    }
  }
}

TEST_P(EveryFormat, MatchesReferenceForEveryTurnFitCropAndMode) {
  for (const Rotation rotation : {Rotation::k90, Rotation::k180, Rotation::k270, Rotation::kMirrored270}) {
    for (Fit fit : {Fit::kStretch, Fit::kLetterbox, Fit::kCrop}) {
      for (ResizeMode mode : {ResizeMode::kLinear, ResizeMode::kNearest}) {
        for (const PixelRect crop : {PixelRect{}, PixelRect{3, 5, 20, 21}}) {
          auto options = basic(GetParam(), 67, 33, 45, 50);
          options.source.rotation = rotation;
          options.fit = fit;
          options.resize = mode;
          options.crop = crop;
          options.pad = {114, 10, 200};
          EXPECT_LE(worst_error(options), kTolerance)
              << degrees(rotation) << ' ' << static_cast<int>(fit) << ' ' << static_cast<int>(mode) << ' ' << crop.x;
        }
      }
    }
  }
}

TEST_P(EveryFormat, MatchesReferenceForEveryOutput) {
  for (ChannelOrder channels : {ChannelOrder::kRgb, ChannelOrder::kBgr, ChannelOrder::kGray}) {
    for (ImageLayout layout : {ImageLayout::kNchw, ImageLayout::kNhwc}) {
      for (ElementType type : {ElementType::kF32, ElementType::kF16, ElementType::kU8}) {
        auto options = basic(GetParam(), 70, 31, 53, 19);
        options.channels = channels;
        options.layout = layout;
        options.type = type;
        options.fit = Fit::kLetterbox;
        options.pad = {114, 115, 116};
        // Rounding to the stored type may turn a tiny difference into one step of that type.
        const double step = type == ElementType::kU8    ? 1.0
                            : type == ElementType::kF16 ? 0.125 + kTolerance
                                                        : kTolerance;
        EXPECT_LE(worst_error(options), step) << static_cast<int>(channels) << static_cast<int>(layout) << name(type);
      }
    }
  }
}

TEST_P(EveryFormat, MatchesReferenceForEveryColourSpaceAndRange) {
  for (ColourSpace space : {ColourSpace::kBt601, ColourSpace::kBt709, ColourSpace::kBt2020}) {
    for (ColourRange range : {ColourRange::kLimited, ColourRange::kFull}) {
      auto options = basic(GetParam(), 64, 32, 32, 16);
      options.source.colour_space = space;
      options.source.colour_range = range;
      EXPECT_LE(worst_error(options), kTolerance);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(InputStage, EveryFormat,
                         testing::Values(kI420, kYv12, kI422, kI444, kNv12, kNv21, kNv16, kP010, kYuy2, kUyvy, kGray8,
                                         kRgb24, kBgr24, kRgba, kBgra, kRgbx, kBgrx, kRgbPlanar, kBgrPlanar, kGbrPlanar,
                                         kI411, kI420p10, kI444p16, kY210, kRgb48, kArgb64, kGray16,
                                         big_endian(kI420p10), big_endian(kBgra64)),
                         [](const auto& info) { return std::string(format_info(info.param).name); });

TEST(InputStagePlan, MatchesReferenceForEveryFormatThatIsRead) {
  for (const PixelFormat format : readable_formats()) {
    for (const auto& [width, height] : {std::pair<std::size_t, std::size_t>{37, 21}, {50, 16}, {9, 40}}) {
      SCOPED_TRACE(to_string(format) + " to " + std::to_string(width) + "x" + std::to_string(height));
      auto options = basic(format, 37, 21, width, height);
      EXPECT_LE(worst_error(options), kTolerance);
      options.channels = ChannelOrder::kGray;
      options.source.colour_range = ColourRange::kFull;
      EXPECT_LE(worst_error(options), kTolerance);
    }
  }
}

TEST(InputStagePlan, GivesTheSameBitsForAnyNumberOfThreadsAndAnySplit) {
  const InputStageSpec spec = make_spec(basic(kI420, 1280, 720, 512, 288));
  const engine::InputStagePlan plan(spec);
  const Planes planes(spec, 0);
  auto serial = blank(spec), parallel = blank(spec), split = blank(spec);
  plan.run_rows(planes.views, serial.data(), 0, spec.height);
  tbb::task_arena arena(4);
  arena.execute([&] { plan.run(planes.views, parallel.data()); });
  for (std::size_t y = spec.height; y-- > 0;) plan.run_rows(planes.views, split.data(), y, y + 1);
  EXPECT_EQ(serial, parallel);
  EXPECT_EQ(serial, split);
}

TEST(InputStagePlan, WritesEveryElementOnceAndNothingElse) {
  auto options = basic(kNv12, 35, 27, 21, 13);
  for (ElementType type : {ElementType::kF32, ElementType::kF16, ElementType::kU8}) {
    for (ImageLayout layout : {ImageLayout::kNchw, ImageLayout::kNhwc}) {
      options.type = type;
      options.layout = layout;
      const InputStageSpec spec = make_spec(options);
      const Planes planes(spec, 0);
      const std::size_t size = blank(spec).size();
      std::vector<std::uint8_t> a(size + 128, 0x11), b(size + 128, 0xEE);
      const engine::InputStagePlan plan(spec);
      plan.run(planes.views, a.data() + 64);
      plan.run(planes.views, b.data() + 64);
      EXPECT_EQ(std::memcmp(a.data() + 64, b.data() + 64, size), 0) << "an element was left as it was";
      for (std::size_t i = 0; i < 64; ++i) {
        EXPECT_EQ(a[i], 0x11);
        EXPECT_EQ(a[size + 64 + i], 0x11);
      }
    }
  }
}

TEST(InputStagePlan, AgreesOnEveryInstructionSet) {
  const std::int64_t all = hwy::SupportedTargets();
  int tried = 0;
  for (std::int64_t left = all; left != 0; left &= left - 1) {
    hwy::SetSupportedTargetsForTest(left & -left);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    SCOPED_TRACE(hwy::TargetName(left & -left));
    ++tried;
    for (PixelFormat format : {kI420, kNv12, kP010, kYuy2, kBgr24, kRgba, kGray8}) {
      for (ElementType type : {ElementType::kF32, ElementType::kF16, ElementType::kU8}) {
        for (ImageLayout layout : {ImageLayout::kNchw, ImageLayout::kNhwc}) {
          auto options = basic(format, 131, 37, 75, 29);
          options.type = type;
          options.layout = layout;
          EXPECT_LE(worst_error(options), type == ElementType::kU8    ? 1.0
                                          : type == ElementType::kF16 ? 0.125 + kTolerance
                                                                      : kTolerance);
        }
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  EXPECT_GE(tried, 1);
}

#ifdef TENON_HAS_SWSCALE
TEST(InputStagePlan, ConvertsColoursAsSwscaleDoes) {
  const struct {
    ColourSpace space;
    int sws;
  } spaces[] = {{ColourSpace::kBt601, SWS_CS_ITU601},
                {ColourSpace::kBt709, SWS_CS_ITU709},
                {ColourSpace::kBt2020, SWS_CS_BT2020}};
  constexpr int kWidth = 64, kHeight = 48;
  for (const auto& space : spaces) {
    for (bool full : {false, true}) {
      auto options = basic(kI444, kWidth, kHeight, kWidth, kHeight);
      options.source.colour_space = space.space;
      options.source.colour_range = full ? ColourRange::kFull : ColourRange::kLimited;
      options.type = ElementType::kU8;
      options.layout = ImageLayout::kNhwc;
      const InputStageSpec spec = make_spec(options);
      // Colours inside RGB: beyond it swscale's fixed point wraps.
      Planes planes(spec, 0);
      for (std::size_t p = 0; p < 3; ++p) {
        for (std::uint8_t& sample : planes.blocks[p])
          sample = static_cast<std::uint8_t>(p == 0 ? 90 + sample / 4 : 118 + sample / 13);
      }
      auto found = blank(spec), expected = blank(spec);
      engine::InputStagePlan(spec).run(planes.views, found.data());
      SwsContext* sws = sws_getContext(kWidth, kHeight, AV_PIX_FMT_YUV444P, kWidth, kHeight, AV_PIX_FMT_RGB24,
                                       SWS_BILINEAR | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT | SWS_FULL_CHR_H_INP,
                                       nullptr, nullptr, nullptr);
      ASSERT_NE(sws, nullptr);
      const int* table = sws_getCoefficients(space.sws);
      sws_setColorspaceDetails(sws, table, full, table, 1, 0, 1 << 16, 1 << 16);
      const std::uint8_t* src[4] = {};
      int src_pitch[4] = {};
      for (std::size_t p = 0; p < 3; ++p) {
        src[p] = static_cast<const std::uint8_t*>(planes.views[p].data);
        src_pitch[p] = static_cast<int>(planes.views[p].pitch_bytes);
      }
      std::uint8_t* dst[4] = {expected.data()};
      const int dst_pitch[4] = {kWidth * 3};
      sws_scale(sws, src, src_pitch, 0, kHeight, dst, dst_pitch);
      sws_freeContext(sws);
      int worst = 0;
      for (std::size_t i = 0; i < found.size(); ++i) worst = std::max(worst, std::abs(found[i] - expected[i]));
      EXPECT_LE(worst, 2) << "swscale works in fixed point";
    }
  }
}
#endif

// Before the resize, per source pixel; even with rounding no value may differ on any instruction set.
TEST(InputStagePlan, ConvertsColoursBeforeTheResizeOnEveryInstructionSet) {
  const std::int64_t all = hwy::SupportedTargets();
  const std::uint32_t sizes[][4] = {{64, 48, 40, 30}, {65, 49, 33, 17}, {2, 2, 5, 3},       {6, 4, 3, 9},
                                    {37, 21, 80, 64}, {16, 16, 16, 16}, {322, 18, 101, 40}, {131, 37, 131, 37}};
  for (std::int64_t left = all; left != 0; left &= left - 1) {
    hwy::SetSupportedTargetsForTest(left & -left);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    for (PixelFormat format : {kNv12, kI420}) {
      for (const auto& s : sizes) {
        for (ResizeMode mode : {ResizeMode::kLinear, ResizeMode::kNearest}) {
          SCOPED_TRACE(std::string(hwy::TargetName(left & -left)) + " " + std::to_string(s[0]) + "x" +
                       std::to_string(s[1]) + " -> " + std::to_string(s[2]) + "x" + std::to_string(s[3]));
          auto options = basic(format, s[0], s[1], s[2], s[3]);
          options.resize = mode;
          options.scale = {58.395, 57.12, -57.375};
          options.mean = {123.675, 116.28, 103.53};
          options.channels = ChannelOrder::kBgr;
          options.colour_rule = ColourRule::kPerPixel;
          EXPECT_LE(worst_error(options), kTolerance);
          options.colour_rule = ColourRule::kPerPixelRounded;
          EXPECT_LE(worst_error(options), kTolerance);
        }
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

TEST(InputStagePlan, ConvertsFirstInCropsAndBesidePadding) {
  for (const PixelRect crop : {PixelRect{}, PixelRect{3, 5, 41, 20}, PixelRect{65, 32, 1, 1}}) {
    for (const PixelRect placed : {PixelRect{}, PixelRect{2, 3, 20, 30}, PixelRect{44, 49, 1, 1}}) {
      for (ElementType type : {ElementType::kF32, ElementType::kU8}) {
        auto options = basic(kNv12, 67, 33, 45, 50);
        options.crop = crop;
        options.placed = placed;
        options.pad = {114, 10, 200};
        options.type = type;
        options.layout = type == ElementType::kU8 ? ImageLayout::kNhwc : ImageLayout::kNchw;
        options.colour_rule = ColourRule::kPerPixel;
        EXPECT_LE(worst_error(options), type == ElementType::kU8 ? 1.0 : kTolerance) << crop.x << ' ' << placed.x;
      }
    }
  }
}

TEST(InputStagePlan, GivesTheSameBitsForAnySplitWhenItConvertsFirst) {
  auto options = basic(kNv12, 640, 360, 1000, 900);  // Enlarged: neighbouring lines share rows.
  options.colour_rule = ColourRule::kPerPixelRounded;
  const InputStageSpec spec = make_spec(options);
  const engine::InputStagePlan plan(spec);
  const Planes planes(spec, 0);
  auto serial = blank(spec), split = blank(spec), parallel = blank(spec);
  plan.run_rows(planes.views, serial.data(), 0, spec.height);
  for (std::size_t y = spec.height; y-- > 0;) plan.run_rows(planes.views, split.data(), y, y + 1);
  tbb::task_arena arena(4);
  arena.execute([&] { plan.run(planes.views, parallel.data()); });
  EXPECT_EQ(serial, split);
  EXPECT_EQ(serial, parallel);
}

TEST(InputStagePlan, RefusesWhatItCannotWriteOrRead) {
  InputStageSpec spec = make_spec(basic(kNv12, 32, 32, 16, 16));
  spec.type = ElementType::kI32;
  EXPECT_THROW(engine::InputStagePlan{spec}, Error);
  spec.type = ElementType::kF32;
  spec.layout.bits = 12;
  spec.layout.shift = 6;
  EXPECT_THROW(engine::InputStagePlan{spec}, Error);
}

}  // namespace image_input_stage_test
