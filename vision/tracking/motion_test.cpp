// SPDX-License-Identifier: Apache-2.0
// Squares that move on a noisy background, and the same by the formula, written out pixel by pixel.
#include <tenon/vision/motion.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include <tenon/core/error.hpp>
#include <tenon/core/frame_layout.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/orientation.hpp>
#include <tenon/core/testing/allocation_count.hpp>

namespace motion_test {

using namespace tenon;
using vision::Box;
using vision::MotionDetector;
using vision::MotionOptions;

/// Sets the luma of each pixel, or all colours of RGB; chroma stays as `chroma`.
void paint(const Frame& frame, const std::function<int(std::uint32_t x, std::uint32_t y)>& luma, int chroma = 128) {
  const FrameLayout layout = frame_layout(frame.info());
  for (std::size_t c = 0; c < layout.component_count; ++c) {
    const FrameComponent& component = layout.components[c];
    const Tensor& plane = frame.plane(component.plane);
    for (std::uint32_t y = 0; y < frame.info().height_px; ++y) {
      auto* const row = static_cast<std::byte*>(plane.data()) + plane.byte_strides()[0] * (y >> component.shift_y);
      for (std::uint32_t x = 0; x < frame.info().width_px; ++x) {
        const int value = c == 0 || !layout.is_yuv ? luma(x, y) : chroma;
        const std::size_t at = std::size_t{x >> component.shift_x} * component.step + component.offset;
        if (layout.bits > 8)
          reinterpret_cast<std::uint16_t*>(row)[at] =
              layout.sample_of(static_cast<std::uint16_t>(value << (layout.bits - 8)));
        else
          reinterpret_cast<std::uint8_t*>(row)[at] = static_cast<std::uint8_t>(value);
      }
    }
  }
}

bool is_in(const Box& box, std::uint32_t x, std::uint32_t y) {
  const auto fx = static_cast<float>(x), fy = static_cast<float>(y);
  return fx >= box.x1 && fx < box.x2 && fy >= box.y1 && fy < box.y2;
}

std::vector<Box> update(MotionDetector& detector, const Frame& frame) {
  const auto found = detector.update(frame);
  return {found.begin(), found.end()};
}

TEST(Motion, FindsSquaresThatMoveAndNothingElse) {
  for (const PixelFormat format : {kNv12, kGray8, kP010, kYuy2, kRgb24}) {
    const Frame frame = Frame::allocate({format, 960, 540});
    MotionDetector detector({.smoothing = 1});
    std::minstd_rand random(5);
    for (int n = 0; n < 24; ++n) {
      const auto t = static_cast<float>(n);
      const std::vector<Box> squares{{60 + 12 * t, 100, 160 + 12 * t, 200}, {800 - 9 * t, 380, 860 - 9 * t, 440}};
      paint(frame, [&](std::uint32_t x, std::uint32_t y) {
        const int noise = static_cast<int>(random() % 9) - 4;
        if (is_in(squares[0], x, y)) return 200 + noise;
        if (is_in(squares[1], x, y)) return 40 + noise;
        if (x > 700 && x < 760 && y < 60) return 230 + noise;  // Bright, and does not move.
        return 110 + noise;
      });
      const auto found = update(detector, frame);
      if (n < 12) continue;  // The squares touch the places where they began.
      ASSERT_EQ(found.size(), 2u) << to_string(format) << " picture " << n;
      EXPECT_GT(intersection_over_union(found[0], squares[0]), 0.75f) << n;
      EXPECT_GT(intersection_over_union(found[1], squares[1]), 0.7f) << n;
    }
    for (int n = 0; n < 3; ++n) update(detector, frame);
    EXPECT_TRUE(update(detector, frame).empty()) << "what stands still does not move";
  }
}

/// Memory that the host does not reach.
class HiddenMemory final : public Memory {
 public:
  explicit HiddenMemory(std::size_t bytes)
      : Memory(host_context(), host_context()->kind(), {bytes, nullptr, false, FdKind::kNone, 0, {}}) {}
};

TEST(Motion, BeginsAgainAfterAPictureThatCannotBeRead) {
  const Frame small = Frame::allocate({kGray8, 64, 48}), large = Frame::allocate({kGray8, 320, 240});
  for (const Frame& frame : {small, large}) paint(frame, [](std::uint32_t, std::uint32_t) { return 90; });
  const Tensor& plane = large.plane(0);
  const Frame hidden(large.info(), std::vector{Tensor(TensorInfo{plane.element_type(), plane.shape(), {}},
                                                      make_ref<HiddenMemory>(plane.size_bytes()))});
  MotionDetector detector;
  update(detector, small);
  EXPECT_THROW(update(detector, hidden), Error);
  for (int n = 0; n < 3; ++n) EXPECT_TRUE(update(detector, large).empty());
}

/// The formula once more, with other means: double precision, sets of blocks that grow, one pixel at a time.
class ByFormula {
 public:
  ByFormula(std::uint32_t width, std::uint32_t height, std::uint32_t scale, std::uint32_t block, double share,
            double difference, double learning)
      : w_(width), h_(height), scale_(scale), block_(block), share_(share), difference_(difference), rate_(learning) {}

  std::vector<Box> update(const std::vector<int>& luma) {
    const std::uint32_t sw = (w_ + scale_ - 1) / scale_, sh = (h_ + scale_ - 1) / scale_;
    std::vector<double> now(sw * sh), count(sw * sh);
    for (std::uint32_t y = 0; y < h_; ++y)
      for (std::uint32_t x = 0; x < w_; ++x)
        now[y / scale_ * sw + x / scale_] += luma[y * w_ + x], ++count[y / scale_ * sw + x / scale_];
    for (std::size_t i = 0; i < now.size(); ++i) now[i] /= count[i];
    if (++n_ == 1) {
      mean_ = before_ = now;
      return {};
    }
    std::set<std::pair<std::uint32_t, std::uint32_t>> changed, moved, blocks, moving;
    for (std::uint32_t y = 0; y < sh; ++y) {
      for (std::uint32_t x = 0; x < sw; ++x) {
        if (std::abs(now[y * sw + x] - mean_[y * sw + x]) > difference_) changed.insert({x, y});
        if (std::abs(now[y * sw + x] - before_[y * sw + x]) > difference_) moved.insert({x, y});
      }
    }
    for (std::uint32_t by = 0; by * block_ < sh; ++by) {
      for (std::uint32_t bx = 0; bx * block_ < sw; ++bx) {
        double all = 0, count = 0;
        for (std::uint32_t y = by * block_; y < std::min(sh, (by + 1) * block_); ++y)
          for (std::uint32_t x = bx * block_; x < std::min(sw, (bx + 1) * block_); ++x)
            ++all, count += static_cast<double>(changed.count({x, y}));
        if (count > 0 && count >= share_ * all) blocks.insert({bx, by});
      }
    }
    std::vector<Box> boxes;
    while (!blocks.empty()) {
      std::set<std::pair<std::uint32_t, std::uint32_t>> joined{*blocks.begin()};
      blocks.erase(blocks.begin());
      for (bool grows = true; grows;) {
        grows = false;
        for (auto it = blocks.begin(); it != blocks.end();) {
          const bool touches = std::any_of(joined.begin(), joined.end(), [&](const auto& one) {
            const auto near = [](std::uint32_t a, std::uint32_t b) { return a > b ? a - b <= 1 : b - a <= 1; };
            return near(one.first, it->first) && near(one.second, it->second);
          });
          if (touches)
            joined.insert(*it), it = blocks.erase(it), grows = true;
          else
            ++it;
        }
      }
      Box box{1e9f, 1e9f, -1, -1};
      double all = 0, moves = 0;
      for (const auto& [x, y] : changed) {
        if (!joined.count({x / block_, y / block_})) continue;
        ++all;
        const auto edge = [&](std::uint32_t at, std::uint32_t limit) {
          return static_cast<float>(std::min(at * scale_, limit));
        };
        box = {std::min(box.x1, edge(x, w_)), std::min(box.y1, edge(y, h_)), std::max(box.x2, edge(x + 1, w_)),
               std::max(box.y2, edge(y + 1, h_))};
      }
      for (const auto& [x, y] : moved) moves += static_cast<double>(joined.count({x / block_, y / block_}));
      if (moves == 0 || moves < 0.01 * all) continue;
      moving.insert(joined.begin(), joined.end());
      boxes.push_back(box);
    }
    for (std::uint32_t y = 0; y < sh; ++y) {
      for (std::uint32_t x = 0; x < sw; ++x) {
        const bool is_slow = changed.count({x, y}) && moving.count({x / block_, y / block_});
        mean_[y * sw + x] += (is_slow ? rate_ / 16 : std::max(rate_, 1.0 / n_)) * (now[y * sw + x] - mean_[y * sw + x]);
      }
    }
    before_ = now;
    for (bool grows = true; grows;) {
      grows = false;
      for (std::size_t i = 0; i < boxes.size() && !grows; ++i) {
        for (std::size_t k = i + 1; k < boxes.size() && !grows; ++k) {
          if (!(intersection_over_union(boxes[i], boxes[k]) > 0)) continue;
          boxes[i] = {std::min(boxes[i].x1, boxes[k].x1), std::min(boxes[i].y1, boxes[k].y1),
                      std::max(boxes[i].x2, boxes[k].x2), std::max(boxes[i].y2, boxes[k].y2)};
          boxes.erase(boxes.begin() + static_cast<std::ptrdiff_t>(k));
          grows = true;
        }
      }
    }
    return boxes;
  }

 private:
  std::uint32_t w_, h_, scale_, block_;
  double share_, difference_, rate_;
  int n_ = 0;
  std::vector<double> mean_, before_;
};

TEST(Motion, FollowsItsFormula) {
  std::minstd_rand random(11);
  std::size_t regions = 0;

  for (const auto& [width, height, small, block] :
       {std::tuple{61u, 37u, 61u, 4u}, {100u, 50u, 34u, 12u}, {90u, 90u, 30u, 9u}}) {
    MotionOptions options{.width_px = small,
                          .block_px = block,
                          .block_share = 0.21f,
                          .pixel_difference = 12.05f,
                          .min_persistence = 1,
                          .max_missing = 0,
                          .smoothing = 1,
                          .min_area = 0};
    MotionDetector detector(options);
    const std::uint32_t scale = (width + small - 1) / small;
    ByFormula formula(width, height, scale, block / scale, 0.21, 12.05, static_cast<double>(options.learning));
    const Frame frame = Frame::allocate({kGray8, width, height});
    std::vector<int> luma(width * height);
    for (int n = 0; n < 30; ++n) {
      for (int& one : luma) one = 90 + static_cast<int>(random() % 25);
      // Every third picture has the squares of the one before, which do not move then.
      std::minstd_rand places(static_cast<unsigned>(n - n % 3 / 2 + 1));
      for (std::uint32_t k = 0; k < 4; ++k) {
        const std::uint32_t left = places() % width, top = places() % height;
        for (std::uint32_t y = top; y < std::min(height, top + 9); ++y)
          for (std::uint32_t x = left; x < std::min(width, left + 9); ++x) luma[y * width + x] = 220;
      }
      paint(frame, [&](std::uint32_t x, std::uint32_t y) { return luma[y * width + x]; });
      auto found = update(detector, frame), expected = formula.update(luma);
      const auto by_place = [](const Box& a, const Box& b) {
        return std::tuple(a.x1, a.y1, a.x2) < std::tuple(b.x1, b.y1, b.x2);
      };
      std::sort(found.begin(), found.end(), by_place);
      std::sort(expected.begin(), expected.end(), by_place);
      ASSERT_EQ(found, expected) << width << "x" << height << " picture " << n;
      regions += found.size();
    }
  }
  EXPECT_GT(regions, 100u);
}

/// One square on grey; nothing: only grey.
Frame square(std::optional<Box> box, FrameInfo info = {kGray8, 320, 200}) {
  const Frame frame = Frame::allocate(info);
  paint(frame, [&](std::uint32_t x, std::uint32_t y) { return box && is_in(*box, x, y) ? 250 : 100; });
  return frame;
}

/// The regions in pictures in which a square moves on (t), stands still (s), or is not there (e).
std::vector<std::size_t> counts(MotionDetector& detector, const std::string& pictures) {
  std::vector<std::size_t> all;
  float at = 40;
  for (const char one : pictures) {
    if (one == 't') at += 6;
    all.push_back(detector.update(square(one == 'e' ? std::nullopt : std::optional(Box{at, 40, at + 50, 90}))).size());
  }
  return all;
}

TEST(Motion, ARegionMustPersistAndMayBeMissing) {
  MotionDetector detector({.min_persistence = 3, .max_missing = 2});
  counts(detector, std::string(30, 'e'));
  EXPECT_EQ(counts(detector, "ttetttsss"), (std::vector<std::size_t>{0, 0, 0, 0, 0, 1, 1, 1, 0}));
}

TEST(Motion, BlocksMustChangeInConsecutivePictures) {
  MotionDetector detector({.confirm_pictures = 2, .min_persistence = 1, .max_missing = 0});
  counts(detector, std::string(30, 'e'));
  EXPECT_EQ(counts(detector, "tteettt"), (std::vector<std::size_t>{0, 1, 0, 0, 0, 1, 1}));
}

TEST(Motion, WhereSomethingWasNothingMoves) {
  MotionDetector detector({.min_persistence = 1, .max_missing = 0});
  const auto seen = counts(detector, "tttttttttttttttttttttttttttttt");
  EXPECT_EQ(seen.back(), 1u) << "the place where it stood in the first picture is none";
}

TEST(Motion, SmallRegionsAndChangesOfColourAloneDoNotCount) {
  MotionOptions options{.min_persistence = 1, .min_area = 0.02f};
  MotionDetector detector(options);
  for (int i = 0; i < 30; ++i) detector.update(square(std::nullopt));
  EXPECT_TRUE(detector.update(square(Box{40, 40, 70, 70})).empty()) << "900 of 64,000 pixels";
  EXPECT_EQ(detector.update(square(Box{40, 40, 90, 90})).size(), 1u);
  MotionDetector colours({.min_persistence = 1});
  const Frame frame = Frame::allocate({kNv12, 320, 200});
  for (const int chroma : {128, 128, 20, 230}) {
    paint(
        frame, [](std::uint32_t, std::uint32_t) { return 100; }, chroma);
    EXPECT_TRUE(colours.update(frame).empty());
  }
}

TEST(Motion, WithFullLearningThePictureBeforeIsTheBackground) {
  MotionDetector detector({.learning = 1, .min_persistence = 1, .max_missing = 0});
  const Frame empty = square(std::nullopt), there = square(Box{40, 40, 90, 90});
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(detector.update(empty).size(), i == 0 ? 0u : 1u);
    EXPECT_TRUE(detector.update(empty).empty());
    EXPECT_EQ(detector.update(there).size(), 1u);
    EXPECT_TRUE(detector.update(there).empty()) << "it stands still";
  }
}

TEST(Motion, BoxesAreThoseOfTheUprightPicture) {
  for (const Rotation rotation : {Rotation::k90, Rotation::kMirrored, Rotation::kMirrored270}) {
    FrameInfo info{kGray8, 320, 200};
    info.rotation = rotation;
    MotionDetector detector({.min_persistence = 1});
    for (int i = 0; i < 3; ++i) detector.update(square(std::nullopt, info));
    const auto found = update(detector, square(Box{40, 20, 100, 60}, info));
    const auto area = upright_area<float>({40, 20, 60, 40}, rotation, 320, 200);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0], (Box{area.x, area.y, area.x + area.width, area.y + area.height}));
  }
}

TEST(Motion, AnotherSizeIsANewBeginning) {
  MotionDetector detector({.min_persistence = 1});
  detector.update(square(std::nullopt));
  EXPECT_TRUE(detector.update(square(Box{0, 0, 300, 150}, {kGray8, 400, 300})).empty());
  EXPECT_TRUE(detector.update(square(Box{0, 0, 300, 150}, {kGray8, 400, 300})).empty());
  EXPECT_EQ(detector.update(square(std::nullopt, {kGray8, 400, 300})).size(), 1u);
  detector.reset();
  EXPECT_TRUE(detector.update(square(Box{0, 0, 300, 150}, {kGray8, 400, 300})).empty());
}

TEST(Motion, NoiseGivesNoMoreRegionsThanAreAllowed) {
  MotionDetector detector({.width_px = 1000, .block_px = 2, .min_persistence = 1, .max_missing = 1000, .min_area = 0});
  std::minstd_rand random(3);
  const Frame frame = Frame::allocate({kGray8, 1000, 600});
  for (int n = 0; n < 6; ++n) {
    paint(frame, [&](std::uint32_t, std::uint32_t) { return random() % 64 == 0 ? 255 : 0; });
    EXPECT_LE(detector.update(frame).size(), 2 * MotionDetector::kMostRegions);
  }
}

TEST(Motion, TheSteadyStateAllocatesNothing) {
  MotionDetector detector({.min_persistence = 1});
  const Frame empty = square(std::nullopt), there = square(Box{40, 40, 90, 90});
  for (int i = 0; i < 10; ++i) detector.update(i % 2 ? empty : there);
  const auto before = tenon_test::allocations_of_this_thread();
  std::size_t found = 0;
  for (int i = 0; i < 50; ++i) found += detector.update(i % 2 ? empty : there).size();
  EXPECT_EQ(tenon_test::allocations_of_this_thread() - before, 0u);
  EXPECT_GT(found, 10u);
}

TEST(Motion, OptionsThatCannotBeAreRefused) {
  EXPECT_THROW(MotionDetector({.width_px = 0}), Error);
  EXPECT_THROW(MotionDetector({.block_px = 0}), Error);
  EXPECT_THROW(MotionDetector({.learning = 1.5f}), Error);
  EXPECT_THROW(MotionDetector({.pixel_difference = std::numeric_limits<float>::quiet_NaN()}), Error);
}

}  // namespace motion_test
