// SPDX-License-Identifier: Apache-2.0
// The sink "crops": which objects become pictures, and what is in them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/elements/registry.hpp>
#include <tenon/frameworks/ffmpeg/ffmpeg.hpp>
#include <tenon/frameworks/ffmpeg/testing/clip.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon::elements {
namespace crop_sink_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Given = std::map<std::string, std::string>;

class Crops : public ::testing::Test {
 protected:
  void SetUp() override { tenon::ffmpeg::silence_log(); }
  std::unique_ptr<Sink> crops(Given given, const std::string& name = "{number}-{label}-{id}.png") {
    given.emplace("path", folder_.file(name));
    auto made = std::get<std::unique_ptr<Sink>>(make_element("crops", given, {"cut", &ledger_}));
    made->open(0, {{kRgb24, 64, 48}, 10, false});
    return made;
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  /// Each pixel says where it is: its column, its row, 7.
  static Frame places() {
    Frame frame = Frame::allocate({kRgb24, 64, 48});
    for (std::size_t y = 0; y < 48; ++y) {
      auto* row = static_cast<std::uint8_t*>(frame.plane(0).data()) +
                  frame.plane(0).byte_strides()[0] * static_cast<std::ptrdiff_t>(y);
      for (std::size_t x = 0; x < 64; ++x)
        row[3 * x] = static_cast<std::uint8_t>(x), row[3 * x + 1] = static_cast<std::uint8_t>(y), row[3 * x + 2] = 7;
    }
    frame.set_timestamp_ns(1'500'000'000);
    return frame;
  }
  static Frame with(Frame frame, const metadata::Box& box, const char* label = "cat", std::int64_t id = 3) {
    metadata::of(frame).add(metadata::Detection{box, label, 0, 0.9f, id});
    return frame;
  }

  tenon_test::Folder folder_;
  Ledger ledger_;
};

TEST_F(Crops, EachObjectBecomesThePictureOfItsBox) {
  const auto sink = crops({});
  Frame frame = with(with(places(), {10, 5, 30, 40}), {33.4f, 20, 60.2f, 48}, "a/../b");
  sink->write(0, frame);
  EXPECT_THAT(files(), ElementsAre("000001-cat-3.png", "000002-a____b-3.png"));
  tenon::ffmpeg::Video video(folder_.file("000001-cat-3.png"));
  const auto picture = video.read();
  ASSERT_TRUE(picture);
  ASSERT_EQ(picture->info().width_px, 20u);
  ASSERT_EQ(picture->info().height_px, 35u);
  ASSERT_EQ(picture->info().format, kRgb24);
  const auto* const last =
      static_cast<const std::uint8_t*>(picture->plane(0).data()) + picture->plane(0).byte_strides()[0] * 34 + 19 * 3;
  EXPECT_THAT(std::vector<int>(last, last + 3), ElementsAre(29, 39, 7));
  tenon::ffmpeg::Video wider(folder_.file("000002-a____b-3.png"));
  EXPECT_EQ(wider.read()->info().width_px, 28u) << "a pixel that is partly in the box is in the picture";
}

TEST_F(Crops, ChoosesByLabelSizeAndTime) {
  const auto sink = crops({{"labels", "cat"}, {"every_s", "1"}, {"min_size", "20"}}, "{number}-{time_ms}.jpg");
  for (int i = 0; i < 30; ++i) {
    Frame frame = with(with(with(places(), {0, 0, 30, 30}), {0, 0, 30, 30}, "dog"), {40, 0, 50, 40});
    frame.set_timestamp_ns(i * 100'000'000LL);
    sink->write(0, frame);
  }
  EXPECT_THAT(files(), ElementsAre("000001-0.jpg", "000002-1000.jpg", "000003-2000.jpg"));
  // The clock goes back: time goes on.
  for (int i = 0; i < 10; ++i) {
    Frame frame = with(places(), {0, 0, 30, 30});
    frame.set_timestamp_ns(i * 100'000'000LL);
    sink->write(0, frame);
  }
  EXPECT_EQ(files().size(), 4u);
}

TEST_F(Crops, HalvedChromaAndTurnedPictures) {
  for (const PixelFormat format : {kNv12, kI420, kYuy2, kGray8}) {
    for (const Rotation rotation : {Rotation::kNone, Rotation::k90, Rotation::kMirrored180}) {
      FrameInfo info{format, 65, 47};
      info.rotation = rotation;
      Frame frame = Frame::allocate(info);
      for (const Tensor& plane : frame.planes())
        std::memset(plane.data(), 100, static_cast<std::size_t>(plane.byte_strides()[0]) * plane.shape()[0]);
      frame = with(with(std::move(frame), {3, 5, 30, 40}), {20, 20, 1000, 1000});
      const auto sink = crops({}, to_string(format) + std::to_string(static_cast<int>(rotation)) + "{number}.jpg");
      sink->write(0, frame);
    }
  }
  EXPECT_EQ(files().size(), 24u);
}

TEST_F(Crops, WhatCannotBeCutIsLeftOut) {
  const auto sink = crops({{"min_size", "0"}});
  const float nan = std::numeric_limits<float>::quiet_NaN(), endless = std::numeric_limits<float>::infinity();
  sink->write(0, places());
  sink->write(0, with(with(places(), {0, 0, endless, 30}), {-endless, 0, 30, 30}));
  sink->write(0,
              with(with(with(with(places(), {nan, 0, 30, 30}), {100, 100, 200, 200}), {30, 30, 10, 10}), {5, 5, 5, 9}));
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(Crops, SaysWhatIsWrong) {
  EXPECT_THAT(error_of([&] { crops({}, "same.png"); }, Code::kInvalidArgument), HasSubstr("put {number} into it"));
  const auto nowhere = crops({}, "none/{number}.png");
  EXPECT_THAT(error_of(
                  [&] {
                    nowhere->write(0, with(places(), {0, 0, 30, 30}));
                  },
                  Code::kNotFound),
              HasSubstr("there is no folder"));
  const auto two = crops({{"limit", "2"}});
  Frame many = places();
  for (int i = 0; i < 3; ++i) many = with(std::move(many), {0, 0, 30, 30});
  EXPECT_THAT(error_of([&] { two->write(0, many); }, Code::kResourceExhausted),
              HasSubstr("'cut' (crops): 2 pictures are written; 'limit'"));
  EXPECT_EQ(files().size(), 2u);
}

}  // namespace crop_sink_test
}  // namespace tenon::elements
