// SPDX-License-Identifier: Apache-2.0
// Pictures of a plane with texture, taken by a camera whose movements are known.
#include <tenon/vision/camera_motion.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <tenon/core/testing/allocation_count.hpp>

namespace camera_motion_test {

using namespace tenon;
using vision::CameraChange;
using vision::CameraMotion;

/// A large plane with texture of several sizes, between whose points values are interpolated.
class Plane {
 public:
  Plane() : values_(kSide * kSide) {
    std::minstd_rand random(8);
    for (const std::size_t cell : {6u, 14u, 40u}) {
      std::vector<float> grid((kSide / cell + 2) * (kSide / cell + 2));
      for (float& one : grid) one = static_cast<float>(random() % 80);
      for (std::size_t y = 0; y < kSide; ++y)
        for (std::size_t x = 0; x < kSide; ++x) {
          const std::size_t row = kSide / cell + 2, gx = x / cell, gy = y / cell;
          const float wx = static_cast<float>(x % cell) / static_cast<float>(cell),
                      wy = static_cast<float>(y % cell) / static_cast<float>(cell);
          const float top = grid[gy * row + gx] * (1 - wx) + grid[gy * row + gx + 1] * wx,
                      low = grid[(gy + 1) * row + gx] * (1 - wx) + grid[(gy + 1) * row + gx + 1] * wx;
          values_[y * kSide + x] += top * (1 - wy) + low * wy;
        }
    }
  }
  float at(double x, double y) const {
    const double px = std::clamp(x + 500, 0.0, kSide - 2.0), py = std::clamp(y + 500, 0.0, kSide - 2.0);
    const auto ix = static_cast<std::size_t>(px), iy = static_cast<std::size_t>(py);
    const auto wx = static_cast<float>(px - static_cast<double>(ix)),
               wy = static_cast<float>(py - static_cast<double>(iy));
    const float* const one = &values_[iy * kSide + ix];
    return (one[0] * (1 - wx) + one[1] * wx) * (1 - wy) + (one[kSide] * (1 - wx) + one[kSide + 1] * wx) * wy;
  }

 private:
  static constexpr std::size_t kSide = 2400;
  std::vector<float> values_;
};

const Plane& plane() {
  static const Plane one;
  return one;
}

/// The picture at the place where points of the plane lie at view(p). Every pixel is taken from where it comes from.
Frame picture(const CameraChange& view, FrameInfo info = {kGray8, 960, 540}, double object = -1000) {
  const Frame frame = Frame::allocate(info);
  const double square = view.a * view.a + view.b * view.b;
  for (std::uint32_t y = 0; y < info.height_px; ++y) {
    auto* const row = static_cast<std::uint8_t*>(frame.plane(0).data()) + frame.plane(0).byte_strides()[0] * y;
    for (std::uint32_t x = 0; x < info.width_px; ++x) {
      const double dx = x + 0.5 - view.x, dy = y + 0.5 - view.y;
      double px = (view.a * dx + view.b * dy) / square, py = (view.a * dy - view.b * dx) / square;
      // An object that moves by itself: another part of the plane.
      if (x >= object && x < object + 260 && y >= 140 && y < 400) px = x - object + 900, py = y + 300.0;
      row[x] = static_cast<std::uint8_t>(plane().at(px, py));
    }
  }
  return frame;
}

/// The largest distance, over the corners of the picture, between where two changes put them.
double off(const CameraChange& a, const CameraChange& b, double width = 960, double height = 540) {
  double most = 0;
  for (const double x : {0.0, width})
    for (const double y : {0.0, height})
      most = std::max(most, std::hypot((a.a - b.a) * x - (a.b - b.b) * y + a.x - b.x,
                                       (a.b - b.b) * x + (a.a - b.a) * y + a.y - b.y));
  return most;
}

/// Turns by `degrees` and scales around the middle, then shifts.
CameraChange change(double degrees, double scale, double x, double y) {
  const double angle = degrees * std::acos(-1.0) / 180, a = scale * std::cos(angle), b = scale * std::sin(angle);
  return {a, b, 480 - (a * 480 - b * 270) + x, 270 - (b * 480 + a * 270) + y};
}

TEST(CameraMotion, FindsShiftsTurnsAndScales) {
  for (const CameraChange& moved :
       {change(0, 1, 0, 0), change(0, 1, 37, -21), change(0, 1, -52, 40), change(0, 1, 3.4, 1.7), change(1.5, 1, 5, 0),
        change(-2, 1, 0, 9), change(0, 1.03, 4, 4), change(1, 0.98, -10, 6)}) {
    CameraMotion camera;
    EXPECT_EQ(camera.update(picture({})), CameraChange{});
    EXPECT_LT(off(camera.update(picture(moved)), moved), 1.5)
        << moved.a << " " << moved.b << " " << moved.x << " " << moved.y;
  }
}

TEST(CameraMotion, ObjectsThatMoveByThemselvesDoNotCount) {
  CameraMotion camera;
  const CameraChange moved = change(0.5, 1, 18, -12);
  camera.update(picture({}, {kGray8, 960, 540}, 300));
  EXPECT_LT(off(camera.update(picture(moved, {kGray8, 960, 540}, 250)), moved), 1.5);
}

TEST(CameraMotion, ChangesAreThoseOfTheUprightPicture) {
  FrameInfo info{kGray8, 960, 540};
  info.rotation = Rotation::k90;  // A point (x, y) of the planes is (540 - y, x) upright.
  CameraMotion camera;
  camera.update(picture({}, info));
  const CameraChange found = camera.update(picture(change(0, 1, 30, 12), info));
  EXPECT_LT(off(found, {1, 0, -12, 30}, 540, 960), 1.5);
}

TEST(CameraMotion, WhereNothingCanBeKnownNothingHasMoved) {
  CameraMotion camera;
  const Frame flat = Frame::allocate({kGray8, 960, 540});
  std::fill_n(static_cast<std::uint8_t*>(flat.plane(0).data()),
              static_cast<std::size_t>(flat.plane(0).byte_strides()[0]) * 540, 90);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(camera.update(flat), CameraChange{});
  camera.update(picture({}));
  EXPECT_EQ(camera.update(picture(change(0, 1, 400, 200))), CameraChange{}) << "another scene";
  EXPECT_EQ(camera.update(picture({}, {kGray8, 640, 360})), CameraChange{}) << "another size";
  EXPECT_EQ(camera.update(Frame::allocate({kGray8, 8, 8})), CameraChange{});
  EXPECT_EQ(camera.update(Frame::allocate({kGray8, 8, 8})), CameraChange{});
  EXPECT_EQ(camera.update(Frame::allocate({kGray8, 1, 1})), CameraChange{});
}

TEST(CameraMotion, TheSteadyStateAllocatesNothing) {
  CameraMotion camera;
  const Frame a = picture({}), b = picture(change(0, 1, 20, 8));
  for (int i = 0; i < 4; ++i) camera.update(i % 2 ? a : b);
  const auto before = tenon_test::allocations_of_this_thread();
  for (int i = 0; i < 10; ++i) camera.update(i % 2 ? a : b);
  EXPECT_EQ(tenon_test::allocations_of_this_thread() - before, 0u);
}

}  // namespace camera_motion_test
