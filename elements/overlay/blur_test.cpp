// SPDX-License-Identifier: Apache-2.0
// The element "blur": what is hidden, in which frames, and that other users of a frame do not see it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/core/testing/bytes_of.hpp>
#include <tenon/elements/places.hpp>
#include <tenon/elements/registry.hpp>
#include <tenon/tests/support/error_of.hpp>
#include <tenon/vision/hide.hpp>

namespace tenon::elements {
namespace blur_test {

using tenon_test::bytes_of;
using ::testing::HasSubstr;
using Given = std::map<std::string, std::string>;

/// A picture in which no two neighbouring samples are equal.
void paint(const Frame& frame) {
  for (const Tensor& plane : frame.planes()) {
    const std::size_t rows = plane.shape()[0], bytes = plane.size_bytes() / rows;
    for (std::size_t y = 0; y < rows; ++y) {
      auto* row = static_cast<std::uint8_t*>(plane.data()) + plane.byte_strides()[0] * static_cast<std::ptrdiff_t>(y);
      for (std::size_t x = 0; x < bytes; ++x) row[x] = static_cast<std::uint8_t>(x * 37 + y * 91);
    }
  }
}
Frame painted(const FrameInfo& info) {
  Frame frame = Frame::allocate(info);
  paint(frame);
  return frame;
}

std::uint8_t at(const Frame& frame, std::size_t x, std::size_t y) {
  const Tensor& plane = frame.plane(0);
  return static_cast<const std::uint8_t*>(plane.data())[static_cast<std::size_t>(plane.byte_strides()[0]) * y + x];
}

Frame with_object(Frame frame, const metadata::Box& box, const char* label = "face") {
  metadata::of(frame).add(metadata::Detection{box, label, 0, 0.9f, -1});
  return frame;
}

class Blur : public ::testing::Test {
 protected:
  std::unique_ptr<TransformInplace> blur(const Given& given = {}) {
    auto made = std::get<std::unique_ptr<TransformInplace>>(make_element("blur", given, {"hide", &ledger_}));
    made->open(0, {});
    return made;
  }
  Ledger ledger_;
};

TEST_F(Blur, PixelsBecomeTheMeansOfCells) {
  Frame frame = with_object(painted({kGray8, 100, 100}), {20, 20, 60, 60});
  const Frame before = frame;
  blur({{"how", "pixelate"}, {"cells", "4"}, {"grow", "0"}})->process(0, frame);
  for (std::size_t y = 0; y < 100; ++y) {
    for (std::size_t x = 0; x < 100; ++x) {
      if (x < 20 || x >= 60 || y < 20 || y >= 60) {
        ASSERT_EQ(at(frame, x, y), at(before, x, y)) << x << ", " << y;
        continue;
      }
      const std::size_t left = x / 10 * 10, top = y / 10 * 10;
      unsigned sum = 50;
      for (std::size_t k = 0; k < 100; ++k) sum += at(before, left + k % 10, top + k / 10);
      ASSERT_EQ(at(frame, x, y), sum / 100) << x << ", " << y;
    }
  }
}

TEST_F(Blur, ABlurIsSmoothAndHasNoMoreThanItsMeans) {
  FrameInfo info{kGray8, 64, 64};
  Frame halves = Frame::allocate(info);
  for (std::size_t y = 0; y < 64; ++y)
    std::memset(static_cast<std::uint8_t*>(halves.plane(0).data()) +
                    halves.plane(0).byte_strides()[0] * static_cast<std::ptrdiff_t>(y),
                y % 2 ? 0 : 200, 64);
  vision::Hider hider;
  hider.hide(halves, {0, 0, 64, 64});
  for (std::size_t k = 0; k < 64 * 64; ++k) ASSERT_EQ(at(halves, k % 64, k / 64), 100);
  Frame ramp = Frame::allocate(info);
  for (std::size_t y = 0; y < 64; ++y)
    for (std::size_t x = 0; x < 64; ++x)
      (static_cast<std::uint8_t*>(ramp.plane(0).data()) +
       ramp.plane(0).byte_strides()[0] * static_cast<std::ptrdiff_t>(y))[x] = static_cast<std::uint8_t>(x * 4);
  hider.hide(ramp, {0, 0, 64, 64});
  for (std::size_t x = 1; x < 64; ++x) {
    ASSERT_LE(std::abs(at(ramp, x, 5) - at(ramp, x - 1, 5)), 5);
    ASSERT_GE(at(ramp, x, 5), at(ramp, x - 1, 5));
  }
}

TEST_F(Blur, EveryFormatIsHiddenInEveryPlaneAndOnlyThere) {
  for (const PixelFormat format : {kNv12, kI420, kRgb24, kBgra, kYuy2, kP010, kI444}) {
    for (const Rotation rotation : {Rotation::kNone, Rotation::k90}) {
      if (format == kYuy2 && rotation != Rotation::kNone) continue;
      FrameInfo info{format, 64, 48};
      info.rotation = rotation;
      Frame frame = painted(info);
      const auto before = bytes_of(frame);
      vision::Hider hider({1, false, false});
      hider.hide(frame,
                 {0, 0, static_cast<float>(info.upright_width_px()), static_cast<float>(info.upright_height_px())});
      // With one cell each component has one value, in the whole picture.
      for (const Tensor& plane : frame.planes()) {
        const std::size_t rows = plane.shape()[0],
                          period = format == kYuy2 ? 4
                                   : plane.shape().size() == 3
                                       ? plane.shape()[2] * (plane.size_bytes() / plane.element_count())
                                       : plane.size_bytes() / plane.element_count();
        const auto* first = static_cast<const std::uint8_t*>(plane.data());
        for (std::size_t k = 0; k < plane.size_bytes() / rows; ++k) {
          if (format == kBgra && k % 4 == 3) continue;
          ASSERT_EQ(first[k], first[k % period]) << to_string(format) << " " << k;
        }
      }
      Frame corner = painted(info);
      hider.hide(corner, {8, 8, 16, 16});
      std::size_t changed = 0;
      const auto after = bytes_of(corner);
      for (std::size_t k = 0; k < after.size(); ++k) changed += after[k] != before[k];
      EXPECT_GT(changed, 60u) << to_string(format);
      EXPECT_LT(changed, 64u * 4 + 1) << to_string(format);
    }
  }
}

TEST_F(Blur, AnEllipseLeavesTheCorners) {
  Frame frame = with_object(painted({kGray8, 100, 100}), {20, 20, 60, 80});
  const Frame before = frame;
  blur({{"shape", "ellipse"}, {"grow", "0"}, {"how", "pixelate"}})->process(0, frame);
  EXPECT_EQ(at(frame, 20, 20), at(before, 20, 20));
  EXPECT_EQ(at(frame, 59, 79), at(before, 59, 79));
  std::size_t changed = 0;
  for (std::size_t k = 0; k < 40 * 60; ++k)
    changed += at(frame, 20 + k % 40, 20 + k / 40) != at(before, 20 + k % 40, 20 + k / 40);
  EXPECT_NEAR(static_cast<double>(changed), 40 * 60 * 0.785, 60);
}

TEST_F(Blur, OtherUsersOfTheFrameKeepIt) {
  OutputFrames pool(host_context());
  Frame mine = pool.acquire({kNv12, 64, 48});
  paint(mine);
  mine = with_object(std::move(mine), {8, 8, 40, 40});
  const void* const place = mine.plane(0).data();
  const auto before = bytes_of(mine);
  {
    const Frame other = mine;
    Frame given = std::move(mine);
    blur()->process(0, given);
    EXPECT_EQ(bytes_of(other), before);
    EXPECT_NE(given.plane(0).data(), place);
    EXPECT_EQ(ledger_.total().copied, given.size_bytes());
    mine = other;
  }
  ledger_.reset();
  blur()->process(0, mine);
  EXPECT_EQ(mine.plane(0).data(), place) << "nothing else had the frame";
  EXPECT_EQ(ledger_.total().copied, 0u);
  EXPECT_NE(bytes_of(mine), before);
}

TEST_F(Blur, HidesByLabelAndForAWhileAfterAnObject) {
  const auto element = blur({{"labels", "face,plate"}, {"hold", "2"}});
  const auto is_changed = [&](Frame frame) {
    const auto before = bytes_of(frame);
    element->process(0, frame);
    return bytes_of(frame) != before;
  };
  const auto picture = [] { return painted({kGray8, 64, 64}); };
  EXPECT_FALSE(is_changed(with_object(picture(), {8, 8, 40, 40}, "car")));
  EXPECT_TRUE(is_changed(with_object(picture(), {8, 8, 40, 40}, "plate")));
  EXPECT_TRUE(is_changed(picture()));
  EXPECT_TRUE(is_changed(picture()));
  EXPECT_FALSE(is_changed(picture()));
  EXPECT_TRUE(is_changed(with_object(picture(), {8, 8, 40, 40})));
  element->open(0, {});
  EXPECT_FALSE(is_changed(picture())) << "another stream begins";
}

TEST_F(Blur, WhatLiesOutsideOrIsNoNumberHidesNothing) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  for (const metadata::Box& box :
       {metadata::Box{nan, 0, 10, 10}, metadata::Box{100, 100, 200, 200}, metadata::Box{10, 10, 10, 20},
        metadata::Box{-50, -50, -1, -1}, metadata::Box{30, 30, 10, 10}}) {
    Frame frame = with_object(painted({kI420, 33, 17}), box);
    const auto before = bytes_of(frame);
    blur({{"grow", "0"}})->process(0, frame);
    EXPECT_EQ(bytes_of(frame), before);
  }
  Frame frame = with_object(painted({kI420, 33, 17}), {-inf, -inf, inf, inf});
  const auto before = bytes_of(frame);
  blur({{"grow", "0"}})->process(0, frame);
  EXPECT_NE(bytes_of(frame), before);
  for (int i = 0; i < 3000; ++i)
    frame = with_object(std::move(frame),
                        {static_cast<float>(i % 33), static_cast<float>(i % 17), static_cast<float>(i % 33) + 3, 40});
  blur()->process(0, frame);
  EXPECT_THAT(error_of(
                  [&] {
                    blur({{"cells", "0"}});
                  },
                  Code::kInvalidArgument),
              HasSubstr("'cells' is '0'; it must be between 1 and 256"));
}

}  // namespace blur_test
}  // namespace tenon::elements
