// SPDX-License-Identifier: Apache-2.0
// The transform "convert" on the CPU: sizes, crops, colours, the metadata of frames, and impossible conversions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <iterator>
#include <memory>
#include <thread>
#include <variant>

#include <tenon/core/carried_formats.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/core/orientation.hpp>
#include <tenon/core/placement.hpp>
#include <tenon/elements/picture_change.hpp>
#include <tenon/elements/registry.hpp>
#include <tenon/elements/testing/run.hpp>
#include <tenon/frameworks/ffmpeg/ffmpeg.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon::elements {
namespace ffmpeg_convert_test {

using namespace std::chrono_literals;
using tenon_test::Arrived;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint32_t kWidth = 64, kHeight = 32;

/// A picture that is red on the left and blue on the right.
Frame two_colours() {
  FrameInfo info;
  info.format = kRgb24;
  info.width_px = kWidth;
  info.height_px = kHeight;
  Frame frame = Frame::allocate(info);
  for (std::uint32_t y = 0; y < kHeight; ++y) {
    auto* row = static_cast<std::uint8_t*>(frame.plane(0).data()) + y * frame.plane(0).byte_strides()[0];
    for (std::uint32_t x = 0; x < kWidth; ++x) {
      const std::uint8_t pixel[3] = {static_cast<std::uint8_t>(x < kWidth / 2 ? 255 : 0), 0,
                                     static_cast<std::uint8_t>(x < kWidth / 2 ? 0 : 255)};
      std::memcpy(row + 3 * x, pixel, 3);
    }
  }
  frame.set_timestamp_ns(77);
  metadata::Detection found;
  found.box = {40, 8, 48, 16};
  metadata::of(frame).add(found);
  Tensor points(ElementType::kF32, Shape{1, 3});
  const float values[] = {44, 10, 0.5f};
  std::memcpy(points.data(), values, sizeof values);
  metadata::of(frame).add(metadata::TensorOutput{points, "points", "", "keypoints"});
  return frame;
}

NodeSpec one_picture() {
  StreamInfo info;
  info.frame = two_colours().info();
  return node_of(source_of("picture", info, [given = false](Deadline) mutable -> std::optional<Frame> {
    if (std::exchange(given, true)) return std::nullopt;
    return two_colours();
  }));
}

NodeSpec convert(std::map<std::string, std::string> parameters) { return {"convert", "", std::move(parameters)}; }

/// Runs one picture through `node`; null if it failed.
Frame through(const NodeSpec& node, std::vector<std::string>* failures = nullptr, Requirements wanted = {}) {
  Arrived arrived;
  arrived.holds = true;
  const auto messages = tenon_test::run(PipelineSpec{{one_picture(), node, arrived.sink(wanted)}});
  if (failures) {
    *failures = messages;
  } else {
    EXPECT_THAT(messages, IsEmpty());
  }
  return arrived.held.empty() ? Frame() : arrived.held.front();
}

/// The only point in the frame's metadata.
std::vector<float> point(const Frame& frame) {
  const auto found = metadata::find(frame)->first<metadata::TensorOutput>();
  if (!found) return {};
  const auto* const values = found->tensor.data<float>();
  return {values, values + 3};
}

const std::uint8_t* pixel(const Frame& frame, std::uint32_t x, std::uint32_t y) {
  return static_cast<const std::uint8_t*>(frame.plane(0).data()) + y * frame.plane(0).byte_strides()[0] + 3 * x;
}

TEST(Convert, ScalesInProportionAndCarriesBoxesAndTimes) {
  const Frame half = through(convert({{"width", "32"}}));
  ASSERT_TRUE(half);
  EXPECT_EQ(half.info().width_px, 32u);
  EXPECT_EQ(half.info().height_px, 16u);
  EXPECT_EQ(half.timestamp_ns(), 77);
  EXPECT_GT(pixel(half, 4, 8)[0], 250);
  EXPECT_GT(pixel(half, 28, 8)[2], 250);
  const auto found = metadata::find(half)->first<metadata::Detection>();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->box, (metadata::Box{20, 4, 24, 8}));
  EXPECT_THAT(point(half), ElementsAre(22, 5, 0.5f));
}

TEST(Convert, CropsWithoutACopyWhereNothingElseChanges) {
  Arrived arrived;
  arrived.holds = true;
  Pipeline pipeline({{one_picture(), convert({{"crop_x", "32"}, {"crop_width", "16"}}), arrived.sink()}});
  EXPECT_THAT(tenon_test::run(pipeline), IsEmpty());
  ASSERT_EQ(arrived.held.size(), 1u);
  EXPECT_EQ(arrived.held[0].info().width_px, 16u);
  EXPECT_EQ(pixel(arrived.held[0], 0, 0)[2], 255);
  EXPECT_EQ(metadata::find(arrived.held[0])->first<metadata::Detection>()->box, (metadata::Box{8, 8, 16, 16}));
  EXPECT_THAT(point(arrived.held[0]), ElementsAre(12, 10, 0.5f));
  EXPECT_EQ(pipeline.stats()[1].moved.copied + pipeline.stats()[1].moved.converted, 0u);
}

/// Runs `picture` through `node`. @param moved  Set to the bytes that the node copied and converted.
Frame through(const Frame& picture, const NodeSpec& node, std::uint64_t& moved) {
  StreamInfo info;
  info.frame = picture.info();
  const NodeSpec source =
      node_of(source_of("one", info, [picture, given = false](Deadline) mutable -> std::optional<Frame> {
        if (std::exchange(given, true)) return std::nullopt;
        return picture;
      }));
  Arrived arrived;
  arrived.holds = true;
  Pipeline pipeline({{source, node, arrived.sink()}});
  EXPECT_THAT(tenon_test::run(pipeline), IsEmpty());
  moved = pipeline.stats()[1].moved.copied + pipeline.stats()[1].moved.converted;
  return arrived.held.empty() ? Frame() : arrived.held.front();
}

/// A picture whose samples are all the same, component by component.
Frame plain(const FrameInfo& info, std::initializer_list<int> samples) {
  const Frame frame = Frame::allocate(info);
  std::size_t p = 0;
  for (const int sample : samples) {
    for (std::uint32_t y = 0; y < plane_extent(info, p).height_px; ++y)
      std::memset(static_cast<std::uint8_t*>(frame.plane(p).data()) + y * frame.plane(p).byte_strides()[0], sample,
                  plane_extent(info, p).row_bytes);
    ++p;
  }
  return frame;
}

TEST(Convert, CropsOfPicturesWithoutAStatedMatrixAreViewsAndKeepTheirColours) {
  // BT.709 by its 720 rows; the half of them would be BT.601.
  const Frame whole = plain({kI420, 1280, 720}, {90, 100, 200});
  std::uint64_t moved = 1;
  const Frame part = through(whole, convert({{"crop_width", "640"}, {"crop_height", "360"}}), moved);
  ASSERT_TRUE(part);
  EXPECT_EQ(moved, 0u);
  EXPECT_EQ(part.info().colour_space, ColourSpace::kBt709);
  const Frame all_rgb = through(whole, convert({{"format", "rgb"}}), moved);
  const Frame part_rgb =
      through(whole, convert({{"crop_width", "640"}, {"crop_height", "360"}, {"format", "rgb"}}), moved);
  for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(pixel(part_rgb, 9, 9)[c], pixel(all_rgb, 9, 9)[c], 1) << c;
  const Frame grey = plain({kGray8, 1280, 720}, {90});
  ASSERT_TRUE(through(grey, convert({{"crop_width", "640"}, {"crop_height", "360"}}), moved));
  EXPECT_EQ(moved, 0u);
}

TEST(Convert, MovesBoxesOfTurnedPicturesAsTheyLie) {
  // Stored 64x32, to be turned by 90 degrees: the stored pixel (x, y) is (31 - y, x) of the upright 32x64.
  for (const bool scaled : {false, true}) {
    FrameInfo info{kRgb24, 64, 32, ColourSpace::kUnknown, ColourRange::kUnknown, Rotation::k90};
    Frame turned = plain(info, {7});
    metadata::Detection found;
    found.box = {11, 40, 12, 41};  // The stored pixel (40, 20).
    metadata::of(turned).add(found);
    std::map<std::string, std::string> given{
        {"crop_x", "36"}, {"crop_y", "16"}, {"crop_width", "8"}, {"crop_height", "16"}};
    if (scaled) given["width"] = "16", given["height"] = "32";
    std::uint64_t moved = 0;
    const Frame part = through(turned, convert(given), moved);
    ASSERT_TRUE(part);
    const auto object = metadata::find(part)->first<metadata::Detection>();
    ASSERT_TRUE(object);
    // In the crop it is the stored pixel (4, 4) of 8x16, upright (11, 4).
    const metadata::Box wanted = scaled ? metadata::Box{22, 8, 24, 10} : metadata::Box{11, 4, 12, 5};
    EXPECT_EQ(object->box, wanted) << scaled;
    EXPECT_FALSE(metadata::find(turned)->first<metadata::Placement>()) << "the frame that went in is changed";
    const auto placement = metadata::find(part)->first<metadata::Placement>();
    ASSERT_TRUE(placement);
    EXPECT_EQ(placement->map.x(wanted.x1, wanted.y1), 11);
    EXPECT_EQ(placement->map.y(wanted.x1, wanted.y1), 40);
  }
}

constexpr Rotation kRotations[] = {Rotation::kNone,        Rotation::k90,         Rotation::k180,
                                   Rotation::k270,         Rotation::kMirrored,   Rotation::kMirrored90,
                                   Rotation::kMirrored180, Rotation::kMirrored270};

/// A stored picture of 64x32, red on the left, with a box over the red half of the upright picture.
Frame lying(Rotation rotation, PixelFormat format = kRgb24) {
  FrameInfo info = two_colours().info();
  info.rotation = rotation;
  const Frame stored = two_colours();
  Frame frame(info, std::vector<Tensor>(stored.planes().begin(), stored.planes().end()));
  frame.set_timestamp_ns(77);
  const Area<float> red = upright_area<float>({0, 0, 32, 32}, rotation, 64, 32);
  metadata::Detection found;
  found.box = {red.x, red.y, red.x + red.width, red.y + red.height};
  if (!(format == kRgb24)) {
    std::uint64_t moved = 0;
    frame = through(frame, convert({{"format", std::string(format_info(format).name)}}), moved);
  }
  metadata::of(frame).add(found);
  return frame;
}

/// Whether the box of `upright` has what lies in it: red inside, blue outside.
void expect_red_in_its_box(const Frame& upright) {
  const auto found = metadata::find(upright)->first<metadata::Detection>();
  ASSERT_TRUE(found);
  const metadata::Box box = found->box;
  EXPECT_FLOAT_EQ((box.x2 - box.x1) * (box.y2 - box.y1),
                  static_cast<float>(upright.info().width_px * upright.info().height_px) / 2);
  for (std::uint32_t y = 2; y < upright.info().height_px; y += 4) {
    for (std::uint32_t x = 2; x < upright.info().width_px; x += 4) {
      const auto at_x = static_cast<float>(x), at_y = static_cast<float>(y);
      const bool is_in = at_x >= box.x1 && at_x < box.x2 && at_y >= box.y1 && at_y < box.y2;
      ASSERT_GT(pixel(upright, x, y)[is_in ? 0 : 2], 220) << x << "," << y;
    }
  }
}

TEST(ConvertUpright, TurnsAfterItConverts) {
  for (const Rotation rotation : kRotations) {
    SCOPED_TRACE(to_string(rotation));
    const bool is_tall = is_quarter_turn(rotation);
    std::uint64_t moved = 0;
    for (const char* by : {"auto", "cpu"}) {
      const Frame same = through(lying(rotation), convert({{"upright", "true"}, {"by", by}}), moved);
      ASSERT_TRUE(same);
      EXPECT_EQ(same.info().width_px, is_tall ? 32u : 64u);
      EXPECT_EQ(same.info().height_px, is_tall ? 64u : 32u);
      EXPECT_EQ(same.info().rotation, Rotation::kNone);
      EXPECT_EQ(same.timestamp_ns(), 77);
      EXPECT_EQ(moved, rotation == Rotation::kNone ? 0u : 64u * 32 * 3);
      expect_red_in_its_box(same);
      const std::map<std::string, std::string> size{
          {"upright", "true"}, {"by", by}, {"width", "48"}, {"height", "40"}, {"format", "rgb"}};
      const Frame scaled = through(lying(rotation, kNv12), convert(size), moved);
      ASSERT_TRUE(scaled);
      EXPECT_EQ(scaled.info().width_px, 48u);
      EXPECT_EQ(scaled.info().height_px, 40u);
      const auto box = metadata::find(scaled)->first<metadata::Detection>()->box;
      EXPECT_GT(pixel(scaled, static_cast<std::uint32_t>(box.x1 + box.x2) / 2,
                      static_cast<std::uint32_t>(box.y1 + box.y2) / 2)[0],
                220);
    }
    const Frame narrow = through(lying(rotation), convert({{"upright", "true"}, {"width", "16"}}), moved);
    EXPECT_EQ(narrow.info().height_px, is_tall ? 32u : 8u);
    const Frame kept = through(lying(rotation), convert({{"width", "16"}}), moved);
    EXPECT_EQ(kept.info().rotation, rotation);
  }
}

TEST(ConvertUpright, FollowsPicturesWhoseDirectionChanges) {
  for (const char* by : {"auto", "cpu"}) {
    StreamInfo info;
    info.frame = two_colours().info();
    const NodeSpec source =
        node_of(source_of("turning", info, [next = std::size_t{0}](Deadline) mutable -> std::optional<Frame> {
          if (next == 2 * std::size(kRotations)) return std::nullopt;
          return lying(kRotations[next++ % std::size(kRotations)]);
        }));
    Arrived arrived;
    arrived.holds = true;
    EXPECT_THAT(tenon_test::run(PipelineSpec{{source, convert({{"upright", "true"}, {"by", by}}), arrived.sink()}}),
                IsEmpty());
    ASSERT_EQ(arrived.held.size(), 2 * std::size(kRotations));
    for (const Frame& each : arrived.held) expect_red_in_its_box(each);
  }
}

TEST(ConvertUpright, WhatIsUprightAlreadyIsNotTouched) {
  for (const Frame& frame : {plain({kI420, 64, 32}, {90, 100, 200}), plain({kNv12, 63, 31}, {90, 100})}) {
    std::uint64_t moved = 1;
    const std::string width = std::to_string(frame.info().width_px);
    const Frame same = through(frame, convert({{"upright", "true"}, {"width", width}}), moved);
    ASSERT_TRUE(same);
    EXPECT_EQ(moved, 0u);
    EXPECT_EQ(same.info(), frame.info());
    EXPECT_EQ(same.plane(0).data(), frame.plane(0).data());
  }
}

TEST(ConvertUpright, PixelsThatAreNotSquareAreTurnedToo) {
  StreamInfo info;
  info.frame = lying(Rotation::k90).info();
  info.aspect_num = 4, info.aspect_den = 3;
  const AnyElement element = make_element("convert", {{"upright", "true"}}, {});
  const StreamInfo out = std::get<std::unique_ptr<Transform>>(element)->open(0, info);
  EXPECT_EQ(out.frame.width_px, 32u);
  EXPECT_EQ(out.aspect_num, 3u);
  EXPECT_EQ(out.aspect_den, 4u);
}

TEST(ConvertUpright, RefusesFormatsThatAreNotTurned) {
  StreamInfo info;
  info.frame = lying(Rotation::k90).info();
  const AnyElement element = make_element("convert", {{"upright", "true"}, {"format", "yuy2"}}, {});
  EXPECT_THAT(tenon::error_of([&] { std::get<std::unique_ptr<Transform>>(element)->open(0, info); }).what(),
              HasSubstr("convert to another format before"));
}

TEST(Convert, GreyOfRgbAndBackIsTheSame) {
  std::uint64_t moved = 0;
  for (const int value : {0, 20, 250, 255}) {
    const Frame rgb = plain({kRgb24, 64, 32}, {value});
    const Frame grey = through(rgb, convert({{"format", "gray8"}}), moved);
    ASSERT_TRUE(grey);
    EXPECT_EQ(resolved_colour_range(grey.info()), ColourRange::kFull);
    EXPECT_NEAR(*static_cast<const std::uint8_t*>(grey.plane(0).data()), value, 1);
    for (const char* width : {"64", "32"}) {
      const Frame back = through(grey, convert({{"format", "rgb"}, {"width", width}}), moved);
      EXPECT_NEAR(pixel(back, 9, 9)[1], value, 1) << width;
    }
  }
}

TEST(Convert, ChangesFormatsAndSaysHowColoursAre) {
  const Frame yuv = through(convert({{"format", "nv12"}}));
  ASSERT_TRUE(yuv);
  EXPECT_EQ(yuv.info().format, kNv12);
  EXPECT_EQ(resolved_colour_range(yuv.info()), ColourRange::kLimited);
  const auto* luma = static_cast<const std::uint8_t*>(yuv.plane(0).data());
  EXPECT_NEAR(luma[8], 81, 3);   // Red in BT.601, limited.
  EXPECT_NEAR(luma[50], 41, 3);  // Blue.
}

TEST(Convert, GivesAndTakesEveryFormatThatItNames) {
  for (const PixelFormat format : convertible_formats()) {
    if (is_big_endian(format)) continue;  // As their other order; the plugin's test has them.
    SCOPED_TRACE(to_string(format));
    Arrived arrived;
    arrived.holds = true;
    const NodeSpec there = convert({{"format", std::string(format_info(format).name)}});
    const auto failures =
        tenon_test::run(PipelineSpec{{one_picture(), there, convert({{"format", "rgb"}}), arrived.sink()}});
    ASSERT_THAT(failures, IsEmpty());
    ASSERT_EQ(arrived.held.size(), 1u);
    const std::uint8_t *red = pixel(arrived.held[0], 4, 8), *blue = pixel(arrived.held[0], 60, 8);
    if (format_info(format).model == ColourModel::kGray) {
      EXPECT_NEAR(red[0], 76, 12);
      continue;
    }
    EXPECT_GT(red[0], 220);
    EXPECT_LT(red[2], 30);
    EXPECT_GT(blue[2], 220);
    EXPECT_LT(blue[0], 30);
  }
}

TEST(Convert, WritesIntoMemoryThatReadersWant) {
  Requirements wanted;
  wanted.fd = FdKind::kMemfd;
  wanted.pitch_alignment = 512;
  const Frame frame = through(convert({{"format", "i420"}}), nullptr, wanted);
  ASSERT_TRUE(frame);
  EXPECT_TRUE(frame.plane(0).memory()->fd_kind().serves(FdKind::kMemfd));
  EXPECT_EQ(frame.plane(1).byte_strides()[0] % 512, 0);
}

TEST(Convert, SaysWhatCannotBe) {
  std::vector<std::string> failures;
  through(convert({{"crop_x", "60"}, {"crop_width", "16"}}), &failures);
  EXPECT_THAT(failures, ElementsAre(HasSubstr("does not lie in a picture of 64x32")));
  const auto refusal = [](std::map<std::string, std::string> given) {
    return std::string(tenon::error_of([&] { Pipeline({{one_picture(), convert(given), {"null"}}}); }).what());
  };
  EXPECT_THAT(refusal({{"format", "nv13"}}), HasSubstr("did you mean 'nv12'?"));
  EXPECT_THAT(refusal({{"by", "magic"}}), HasSubstr("auto, cpu, opencl, va"));
}

TEST(Convert, StopsAtOnceWhileItsResultsAreInUse) {
  for (const char* by : {"auto", "cpu"}) {
    Arrived arrived;
    arrived.holds = true;
    NodeSpec test{"test", "", {{"width", "64"}, {"height", "32"}}};
    Pipeline pipeline({{test, convert({{"by", by}, {"width", "32"}, {"height", "16"}}), arrived.sink()}});
    pipeline.start();
    for (const auto end = Clock::now() + 20s; pipeline.stats()[1].frames_out < 64 && Clock::now() < end;)
      std::this_thread::sleep_for(5ms);
    std::this_thread::sleep_for(100ms);
    EXPECT_EQ(pipeline.stats()[1].frames_out, 64u) << "it does not wait, so the test proves nothing";
    const auto begin = Clock::now();
    pipeline.stop(begin);
    EXPECT_LT(Clock::now() - begin, 20s) << by;
    EXPECT_TRUE(pipeline.failures().empty());
  }
}

}  // namespace ffmpeg_convert_test
}  // namespace tenon::elements
