// SPDX-License-Identifier: Apache-2.0
// Frames of every format as BGR, compared at every pixel with the standards' formulas in double.
#include <tenon/frameworks/opencv/opencv.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tenon/core/carried_formats.hpp>
#include <tenon/core/frame_layout.hpp>

namespace bgr_test {

using namespace tenon;
using ::testing::HasSubstr;

/// Random bytes; P010 keeps its value in the high bits.
Frame noise(const FrameInfo& info, std::uint32_t state) {
  Frame frame = Frame::allocate(info);
  for (std::size_t p = 0; p < frame.plane_count(); ++p) {
    const PlaneExtent extent = plane_extent(info, p);
    for (std::uint32_t y = 0; y < extent.height_px; ++y) {
      auto* row = static_cast<std::uint8_t*>(frame.plane(p).data()) + frame.plane(p).byte_strides()[0] * y;
      for (std::size_t i = 0; i < extent.row_bytes; ++i) {
        state = state * 1664525u + 1013904223u;
        row[i] = static_cast<std::uint8_t>(state >> 24);
      }
    }
  }
  return frame;
}

struct Rgb {
  double r, g, b;
};

/// @source the standards: Y' = Kr R + Kg G + Kb B; limited range 16..235 and 16..240.
Rgb from_yuv(double y, double u, double v, ColourSpace space, bool full, double unit) {
  const double kr = space == ColourSpace::kBt709 ? 0.2126 : space == ColourSpace::kBt2020 ? 0.2627 : 0.299;
  const double kb = space == ColourSpace::kBt709 ? 0.0722 : space == ColourSpace::kBt2020 ? 0.0593 : 0.114;
  const double top = 256 * unit - 1;
  const double luma = full ? y / top : (y - 16 * unit) / (219 * unit);
  const double cb = (u - 128 * unit) / (full ? top : 224 * unit), cr = (v - 128 * unit) / (full ? top : 224 * unit);
  const double r = luma + 2 * (1 - kr) * cr, b = luma + 2 * (1 - kb) * cb;
  const double g = (luma - kr * r - kb * b) / (1 - kr - kb);
  const auto code = [](double value) { return std::clamp(255 * value, 0.0, 255.0); };
  return {code(r), code(g), code(b)};
}

int sample(const Frame& frame, std::size_t plane, std::size_t x, std::size_t y) {
  const Tensor& tensor = frame.plane(plane);
  const auto* row =
      static_cast<const std::uint8_t*>(tensor.data()) + static_cast<std::size_t>(tensor.byte_strides()[0]) * y;
  return tensor.element_type() == ElementType::kU16 ? (row[2 * x] | row[2 * x + 1] << 8) >> 6 : row[x];
}

TEST(OpenCvBgr, FollowsTheStandardsAtEveryPixelOfEveryYuvFormat) {
  for (const PixelFormat format : {kI420, kYv12, kNv12, kNv21, kI422, kNv16, kI444, kP010, kYuy2, kUyvy}) {
    for (const ColourSpace space : {ColourSpace::kBt601, ColourSpace::kBt709, ColourSpace::kBt2020}) {
      for (const bool full : {false, true}) {
        // Odd extents: the last column and row have half a chroma block.
        const FrameInfo info{format, 35, 19, space, full ? ColourRange::kFull : ColourRange::kLimited};
        const Frame frame = noise(info, 3);
        Ledger ledger;
        const cv::Mat bgr = opencv::bgr(frame, {Access::kRead, &ledger, Deadline::max()});
        ASSERT_EQ(bgr.type(), CV_8UC3);
        ASSERT_EQ(bgr.size(), cv::Size(35, 19));
        double worst = 0;
        for (std::size_t y = 0; y < 19; ++y) {
          for (std::size_t x = 0; x < 35; ++x) {
            int luma = 0, u = 0, v = 0;
            const std::size_t cx = format == kI444 ? x : x / 2,
                              cy = format == kI422 || format == kI444 || format == kNv16 ? y : y / 2;
            if (format == kYuy2 || format == kUyvy) {
              const std::size_t first = format == kYuy2 ? 0 : 1, chroma = 1 - first;
              luma = sample(frame, 0, 2 * x + first, y);
              u = sample(frame, 0, x / 2 * 4 + chroma, y);
              v = sample(frame, 0, x / 2 * 4 + chroma + 2, y);
            } else {
              luma = sample(frame, 0, x, y);
              const bool pairs = frame.plane_count() == 2, swapped = format == kNv21 || format == kYv12;
              const auto chroma = [&](std::size_t k) {
                return pairs ? sample(frame, 1, 2 * cx + k, cy) : sample(frame, 1 + k, cx, cy);
              };
              u = chroma(swapped ? 1 : 0);
              v = chroma(swapped ? 0 : 1);
            }
            const Rgb wanted = from_yuv(luma, u, v, space, full, format == kP010 ? 4 : 1);
            const auto& found = bgr.at<cv::Vec3b>(static_cast<int>(y), static_cast<int>(x));
            worst = std::max(
                {worst, std::abs(found[0] - wanted.b), std::abs(found[1] - wanted.g), std::abs(found[2] - wanted.r)});
          }
        }
        EXPECT_LE(worst, 0.52) << to_string(format) << ' ' << static_cast<int>(space) << ' ' << full;
        EXPECT_EQ(ledger.total().converted, frame.size_bytes());
        EXPECT_EQ(ledger.total().copied, 0u);
        EXPECT_EQ(ledger.snapshot().at(0).name, "opencv.bgr");
      }
    }
  }
}

TEST(OpenCvBgr, TakesRgbAndGreyAsTheyAre) {
  for (const PixelFormat format : {kBgr24, kRgb24, kBgra, kBgrx, kRgba, kRgbx, kRgbPlanar, kBgrPlanar, kGbrPlanar}) {
    const Frame frame = noise({format, 21, 10}, 5);
    const cv::Mat bgr = opencv::bgr(frame);
    // Positions of blue, green and red: plane, step and offset.
    const bool planar = frame.plane_count() == 3;
    const std::size_t step = planar ? 1 : format == kBgr24 || format == kRgb24 ? 3 : 4;
    const bool rgb = format == kRgb24 || format == kRgba || format == kRgbx;
    const std::size_t planes[3] = {format == kRgbPlanar   ? 2u
                                   : format == kBgrPlanar ? 0u
                                                          : 1u,
                                   format == kGbrPlanar ? 0u : 1u, format == kRgbPlanar ? 0u : 2u};
    for (std::size_t y = 0; y < 10; ++y)
      for (std::size_t x = 0; x < 21; ++x)
        for (std::size_t c = 0; c < 3; ++c)
          ASSERT_EQ(bgr.at<cv::Vec3b>(static_cast<int>(y), static_cast<int>(x))[static_cast<int>(c)],
                    planar ? sample(frame, planes[c], x, y) : sample(frame, 0, x * step + (rgb ? 2 - c : c), y))
              << to_string(format) << ' ' << x << ' ' << y << ' ' << c;
  }
  const Frame grey = noise({kGray8, 21, 10, ColourSpace::kUnknown, ColourRange::kFull}, 6);
  const cv::Mat bgr = opencv::bgr(grey);
  for (std::size_t x = 0; x < 21; ++x)
    EXPECT_EQ(bgr.at<cv::Vec3b>(4, static_cast<int>(x)), cv::Vec3b::all(static_cast<uchar>(sample(grey, 0, x, 4))));
}

TEST(OpenCvBgr, TurnsPicturesUprightAndBooksThatToo) {
  for (unsigned r = 1; r < 8; ++r) {
    const auto rotation = static_cast<Rotation>(r);
    const Frame stored = noise({kBgr24, 6, 4}, 8);
    FrameInfo info = stored.info();
    info.rotation = rotation;
    Ledger ledger;
    const cv::Mat bgr = opencv::bgr(Frame(info, {stored.plane(0)}), {Access::kRead, &ledger, Deadline::max()});
    ASSERT_EQ(bgr.cols, static_cast<int>(info.upright_width_px()));
    const cv::Mat lying = opencv::mat(stored);
    // OpenCV's own operations, as its reader of JPEG files uses them for EXIF's orientations.
    cv::Mat wanted = lying.clone();
    if (is_mirrored(rotation)) cv::flip(lying, wanted, 1);
    for (unsigned turn = 0; turn < degrees(rotation); turn += 90) {
      cv::Mat turned;
      cv::rotate(wanted, turned, cv::ROTATE_90_CLOCKWISE);
      wanted = turned;
    }
    EXPECT_EQ(cv::norm(bgr, wanted, cv::NORM_INF), 0) << to_string(rotation);
    const bool is_both = is_mirrored(rotation) && degrees(rotation) != 0;
    EXPECT_EQ(ledger.total().copied, (is_both ? 2u : 1u) * 6 * 4 * 3);
  }
}

TEST(OpenCvBgr, ReadsEveryFormatThatIsRead) {
  for (const PixelFormat format : readable_formats()) {
    FrameInfo info{format, 11, 5, ColourSpace::kBt709};
    for (const ColourRange range : {ColourRange::kLimited, ColourRange::kFull}) {
      info.colour_range = range;
      const Frame frame = noise(info, 3);
      const cv::Mat out = opencv::bgr(frame);
      const FrameLayout layout = frame_layout(info);
      const ColourMap map = rgb_from(info, layout);
      for (int y = 0; y < 5; ++y) {
        for (int x = 0; x < 11; ++x) {
          double sample[3] = {};
          for (std::size_t k = 0; k < layout.component_count; ++k) {
            const FrameComponent& c = layout.components[k];
            const Tensor& plane = frame.plane(c.plane);
            const auto* row =
                static_cast<const std::uint8_t*>(plane.data()) + (y >> c.shift_y) * plane.byte_strides()[0];
            const int at = (x >> c.shift_x) * c.step + c.offset;
            sample[k] = layout.bits == 8 ? row[at] : layout.value_of(reinterpret_cast<const std::uint16_t*>(row)[at]);
          }
          for (std::size_t c = 0; c < 3; ++c) {
            double value = map.offset[c];
            for (std::size_t k = 0; k < 3; ++k) value += map.matrix[c][k] * sample[k];
            ASSERT_NEAR(out.at<cv::Vec3b>(y, x)[static_cast<int>(2 - c)], std::clamp(value, 0.0, 255.0), 1.0)
                << to_string(format) << " channel " << c << " at " << x << "," << y;
          }
        }
      }
    }
  }
}

TEST(OpenCvBgr, KeepsTheMatsMemoryAndRefusesWhatIsNoPicture) {
  const Frame frame = noise({kI420, 64, 32}, 1);
  cv::Mat out(32, 64, CV_8UC3);
  const auto* const data = out.data;
  opencv::bgr(frame, out);
  EXPECT_EQ(out.data, data);
  EXPECT_THROW(opencv::bgr(Frame()), Error);
  EXPECT_THROW(opencv::bgr(noise({kRgb565, 8, 8}, 1)), Error);
  // Users come here from the refusal of the in-place way, which names this function.
  try {
    opencv::mat(noise({kI420, 62, 30}, 1));
    FAIL() << "I420 of padded rows is no Mat";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("bgr()"));
  }
}

}  // namespace bgr_test
