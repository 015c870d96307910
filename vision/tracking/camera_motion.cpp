// SPDX-License-Identifier: Apache-2.0
// Block matching at two sizes, and a fit that medians keep from outliers.
#include <tenon/vision/camera_motion.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <span>
#include <utility>

#include <tenon/core/orientation.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

constexpr std::uint32_t kBlock = 16;  ///< The side of a block in the fine picture.
constexpr int kReach = 12;            ///< How far a block is looked for in the coarse picture.
constexpr std::uint32_t kStep = 24;   ///< From block to block, in the fine picture.
constexpr std::size_t kLeastBlocks = 8;
/// The least mean difference between neighbouring pixels along each axis of a block, in levels; blocks with less have no texture.
constexpr int kTexture = 2;
constexpr double kOff = 1.0;  ///< By how many pixels of the fine picture a block may be off that agrees.

/// The sum of absolute differences of two squares.
template <std::uint32_t kSide>
std::uint32_t difference(const std::uint8_t* a, const std::uint8_t* b, std::size_t pitch) {
  std::uint32_t sum = 0;
  for (std::uint32_t y = 0; y < kSide; ++y, a += pitch, b += pitch)
    for (std::uint32_t x = 0; x < kSide; ++x) sum += static_cast<std::uint32_t>(std::abs(a[x] - b[x]));
  return sum;
}

bool has_texture(const std::uint8_t* block, std::size_t pitch) {
  int across = 0, down = 0;
  for (std::uint32_t y = 0; y + 1 < kBlock; ++y) {
    const std::uint8_t *row = block + y * pitch, *next = row + pitch;
    for (std::uint32_t x = 0; x + 1 < kBlock; ++x) {
      across += std::abs(row[x + 1] - row[x]);
      down += std::abs(next[x] - row[x]);
    }
  }
  constexpr int kLeast = kTexture * static_cast<int>((kBlock - 1) * (kBlock - 1));
  return across >= kLeast && down >= kLeast;
}

/// Where between three neighbours the least value lies, -0.5..0.5 from the middle one, by a parabola.
double between(std::uint32_t before, std::uint32_t middle, std::uint32_t after) {
  const double bend = static_cast<double>(before) - 2.0 * middle + after;
  return bend > 0 ? std::clamp((static_cast<double>(before) - after) / (2 * bend), -0.5, 0.5) : 0;
}

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

void CameraMotion::begin() {
  width_ = luma_.width() & ~1u, height_ = luma_.height() & ~1u;
  const std::size_t pixels = std::size_t{width_} * height_;
  for (Levels* levels : {&now_, &before_}) levels->fine.resize(pixels), levels->coarse.resize(pixels / 4);
  const std::size_t blocks = std::size_t{width_ / kStep + 1} * (height_ / kStep + 1);
  found_.reserve(blocks);
  agreeing_.reserve(blocks);
  first_.reserve(blocks * (blocks - 1) / 2 + 1);
  second_.reserve(blocks * (blocks - 1) / 2 + 1);
}

void CameraMotion::fill(Levels& levels) {
  const std::span<const float> luma = luma_.pixels();
  for (std::uint32_t y = 0; y < height_; ++y)
    for (std::uint32_t x = 0; x < width_; ++x)
      levels.fine[std::size_t{y} * width_ + x] =
          static_cast<std::uint8_t>(luma[std::size_t{y} * luma_.width() + x] + 0.5f);
  for (std::uint32_t y = 0; y < height_ / 2; ++y) {
    for (std::uint32_t x = 0; x < width_ / 2; ++x) {
      const std::uint8_t* const four = &levels.fine[std::size_t{2} * y * width_ + 2 * x];
      levels.coarse[std::size_t{y} * (width_ / 2) + x] =
          static_cast<std::uint8_t>((four[0] + four[1] + four[width_] + four[width_ + 1] + 2) / 4);
    }
  }
}

/// Looks for a block of the picture before in this one. @return False: it has no texture, or lies at the end of the reach.
bool CameraMotion::find(std::uint32_t left, std::uint32_t top, Point& shift) const {
  if (!has_texture(&before_.fine[std::size_t{top} * width_ + left], width_)) return false;
  const auto search = [&]<std::uint32_t kSide>(const std::vector<std::uint8_t>& from,
                                               const std::vector<std::uint8_t>& in, int wide, int high, int x0, int y0,
                                               int around_x, int around_y, int reach, int& best_x, int& best_y) {
    const std::uint8_t* const block =
        &from[static_cast<std::size_t>(y0) * static_cast<std::size_t>(wide) + static_cast<std::size_t>(x0)];
    constexpr int kLength = static_cast<int>(kSide);
    std::uint32_t least = UINT32_MAX;
    for (int y = around_y - reach; y <= around_y + reach; ++y) {
      if (y0 + y < 0 || y0 + y + kLength > high) continue;
      for (int x = around_x - reach; x <= around_x + reach; ++x) {
        if (x0 + x < 0 || x0 + x + kLength > wide) continue;
        const std::uint32_t sum = difference<kSide>(
            block,
            &in[static_cast<std::size_t>(y0 + y) * static_cast<std::size_t>(wide) + static_cast<std::size_t>(x0 + x)],
            static_cast<std::size_t>(wide));
        if (sum < least) least = sum, best_x = x, best_y = y;
      }
    }
  };
  const int wide = static_cast<int>(width_), high = static_cast<int>(height_), x0 = static_cast<int>(left),
            y0 = static_cast<int>(top);
  int x = 0, y = 0;
  search.template operator()<kBlock / 2>(before_.coarse, now_.coarse, wide / 2, high / 2, x0 / 2, y0 / 2, 0, 0, kReach,
                                         x, y);
  if (std::abs(x) == kReach || std::abs(y) == kReach) return false;
  int fine_x = 2 * x, fine_y = 2 * y;
  search.template operator()<kBlock>(before_.fine, now_.fine, wide, high, x0, y0, 2 * x, 2 * y, 2, fine_x, fine_y);
  const int at_x = x0 + fine_x, at_y = y0 + fine_y;
  const int last_x = wide - static_cast<int>(kBlock), last_y = high - static_cast<int>(kBlock);
  if (at_x < 1 || at_y < 1 || at_x >= last_x || at_y >= last_y) return false;  // It may go on outside of the picture.
  const std::uint8_t* const block = &before_.fine[std::size_t{top} * width_ + left];
  const auto off = [&](int dx, int dy) {
    return difference<kBlock>(
        block, &now_.fine[static_cast<std::size_t>(at_y + dy) * width_ + static_cast<std::size_t>(at_x + dx)], width_);
  };
  const std::uint32_t middle = off(0, 0);
  shift = {fine_x + between(off(-1, 0), middle, off(1, 0)), fine_y + between(off(0, -1), middle, off(0, 1))};
  return true;
}

/// Fills found_, in pixels of the upright frame.
void CameraMotion::find_blocks() {
  found_.clear();
  const FrameInfo& info = luma_.info();
  const auto upright = [&](double x, double y) {
    const double scale = luma_.scale();
    const Area<double> at =
        upright_area<double>({x * scale, y * scale, 0, 0}, info.rotation, static_cast<double>(info.width_px),
                             static_cast<double>(info.height_px));
    return Point{at.x, at.y};
  };
  // Even places, so that a block begins at a pixel of the coarse picture.
  for (std::uint32_t top = 2; top + kBlock + 2 <= height_; top += kStep) {
    for (std::uint32_t left = 2; left + kBlock + 2 <= width_; left += kStep) {
      Point shift;
      if (!find(left, top, shift)) continue;
      const double x = left + kBlock / 2.0, y = top + kBlock / 2.0;
      found_.push_back({upright(x, y), upright(x + shift.x, y + shift.y)});
    }
  }
}

/// Moves what agrees with `change` to agreeing_.
std::size_t CameraMotion::keep_agreeing(const CameraChange& change) {
  agreeing_.clear();
  for (const Found& one : found_) {
    const double x = change.a * one.from.x - change.b * one.from.y + change.x,
                 y = change.b * one.from.x + change.a * one.from.y + change.y;
    if (std::hypot(x - one.to.x, y - one.to.y) <= kOff * luma_.scale()) agreeing_.push_back(one);
  }
  return agreeing_.size();
}

CameraChange CameraMotion::fit() {
  if (found_.size() < kLeastBlocks) return {};
  // Each pair of blocks says by how much the line between them was turned and scaled: as complex numbers, one over the other.
  first_.clear();
  second_.clear();
  const double apart = 3.0 * kStep * luma_.scale();
  for (std::size_t i = 0; i < found_.size(); ++i) {
    for (std::size_t k = i + 1; k < found_.size(); ++k) {
      const double fx = found_[k].from.x - found_[i].from.x, fy = found_[k].from.y - found_[i].from.y,
                   tx = found_[k].to.x - found_[i].to.x, ty = found_[k].to.y - found_[i].to.y,
                   square = fx * fx + fy * fy;
      if (square < apart * apart) continue;
      first_.push_back((tx * fx + ty * fy) / square);
      second_.push_back((ty * fx - tx * fy) / square);
    }
  }
  if (first_.empty()) return {};
  CameraChange change{median(first_), median(second_), 0, 0};
  first_.clear();
  second_.clear();
  for (const Found& one : found_) {
    first_.push_back(one.to.x - change.a * one.from.x + change.b * one.from.y);
    second_.push_back(one.to.y - change.b * one.from.x - change.a * one.from.y);
  }
  change.x = median(first_), change.y = median(second_);
  // Least squares over the blocks that agree.
  for (int round = 0; round < 2; ++round) {
    const std::size_t count = keep_agreeing(change);
    if (count < kLeastBlocks || 2 * count < found_.size()) return {};
    Point from, to;
    for (const Found& one : agreeing_) {
      from.x += one.from.x, from.y += one.from.y;
      to.x += one.to.x, to.y += one.to.y;
    }
    const auto number = static_cast<double>(count);
    from.x /= number, from.y /= number, to.x /= number, to.y /= number;
    double along = 0, across = 0, square = 0;
    for (const Found& one : agreeing_) {
      const double fx = one.from.x - from.x, fy = one.from.y - from.y, tx = one.to.x - to.x, ty = one.to.y - to.y;
      along += fx * tx + fy * ty;
      across += fx * ty - fy * tx;
      square += fx * fx + fy * fy;
    }
    if (!(square > 0)) return {};
    change.a = along / square, change.b = across / square;
    change.x = to.x - change.a * from.x + change.b * from.y;
    change.y = to.y - change.b * from.x - change.a * from.y;
  }
  return change;
}

CameraChange CameraMotion::update(const Frame& frame) {
  const bool is_first = luma_.read(frame);  // May throw: then nothing has changed.
  std::swap(now_, before_);
  if (is_first) begin();
  fill(now_);
  if (is_first) return {};
  find_blocks();
  return fit();
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
