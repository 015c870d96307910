// SPDX-License-Identifier: Apache-2.0
// Background, blocks, regions.
#include <tenon/vision/motion.hpp>

#include <algorithm>
#include <cmath>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/core/orientation.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

constexpr float kSlower = 1.0f / 16;  ///< How much slower the background learns what moves.
/// How many pixels of a region must differ from the picture before, as a share of those that have changed: where something has
/// gone, or stands still, there are none.
constexpr float kMovingShare = 0.01f;

float area_of(const Box& box) { return box.width() * box.height(); }

}  // namespace

void MotionDetector::Cells::join(const Cells& other) {
  x1 = std::min(x1, other.x1), y1 = std::min(y1, other.y1);
  x2 = std::max(x2, other.x2), y2 = std::max(y2, other.y2);
}

bool MotionDetector::Cells::meets(const Cells& other) const {
  return x1 < other.x2 && other.x1 < x2 && y1 < other.y2 && other.y1 < y2;
}

MotionDetector::MotionDetector(const MotionOptions& options)
    : options_(options), luma_(std::max(1u, options.width_px)) {
  const auto is_share = [](float value) { return value >= 0 && value <= 1; };
  for (const float share :
       {options.block_share, options.learning, options.iou_threshold, options.smoothing, options.min_area})
    if (!is_share(share))
      throw Error(Code::kInvalidArgument, "motion: shares must be 0..1, one is " + std::to_string(share));
  if (options.width_px == 0 || options.block_px == 0 || !(options.pixel_difference >= 0))
    throw Error(Code::kInvalidArgument,
                "motion: the small picture and its blocks must have pixels, and differences "
                "be 0 or more");
}

void MotionDetector::begin() {
  pictures_ = 0;
  regions_.clear();
  width_ = luma_.width(), height_ = luma_.height();
  block_ = std::max(1u, (options_.block_px + luma_.scale() / 2) / luma_.scale());
  blocks_wide_ = (width_ + block_ - 1) / block_;
  blocks_high_ = (height_ + block_ - 1) / block_;
  const std::size_t pixels = std::size_t{width_} * height_, blocks = std::size_t{blocks_wide_} * blocks_high_;
  background_.resize(pixels);
  before_.resize(pixels);
  has_changed_.assign(pixels, 0);
  has_moved_.assign(pixels, 0);
  streaks_.assign(blocks, 0);
  is_open_.assign(blocks, 0);
  moves_.assign(blocks, 0);
  region_.reserve(blocks);
  found_.reserve(blocks);
  regions_.reserve(2 * kMostRegions);
  given_.reserve(2 * kMostRegions);
}

/// Finds out which pixels differ from the background, and which from the picture before.
void MotionDetector::compare() {
  const std::span<const float> now = luma_.pixels();
  for (std::size_t i = 0; i < now.size(); ++i) {
    has_changed_[i] = std::abs(now[i] - background_[i]) > options_.pixel_difference;
    has_moved_[i] = std::abs(now[i] - before_[i]) > options_.pixel_difference;
    before_[i] = now[i];
  }
}

/// Moves the background on.
void MotionDetector::learn() {
  const std::span<const float> now = luma_.pixels();
  // The first pictures count alike, so that what stands in the first one does not stay for long.
  const float rate = std::max(options_.learning, 1 / static_cast<float>(pictures_));
  const float slow = options_.learning >= 1 ? 1 : options_.learning * kSlower;
  for (std::uint32_t y = 0; y < height_; ++y) {
    const std::uint8_t* const blocks = &moves_[std::size_t{y / block_} * blocks_wide_];
    for (std::uint32_t x = 0; x < width_; ++x) {
      const std::size_t i = std::size_t{y} * width_ + x;
      background_[i] += (has_changed_[i] && blocks[x / block_] ? slow : rate) * (now[i] - background_[i]);
    }
  }
}

void MotionDetector::judge_blocks() {
  for (std::uint32_t by = 0; by < blocks_high_; ++by) {
    for (std::uint32_t bx = 0; bx < blocks_wide_; ++bx) {
      const std::uint32_t x1 = bx * block_, x2 = std::min(x1 + block_, width_);
      const std::uint32_t y1 = by * block_, y2 = std::min(y1 + block_, height_);
      std::uint32_t changed = 0;
      for (std::uint32_t y = y1; y < y2; ++y)
        for (std::uint32_t x = x1; x < x2; ++x) changed += has_changed_[std::size_t{y} * width_ + x];
      const auto needed = options_.block_share * static_cast<float>((x2 - x1) * (y2 - y1));
      std::uint32_t& streak = streaks_[std::size_t{by} * blocks_wide_ + bx];
      streak = changed > 0 && static_cast<float>(changed) >= needed ? streak + 1 : 0;
      is_open_[std::size_t{by} * blocks_wide_ + bx] = streak >= std::max(1u, options_.confirm_pictures);
    }
  }
}

/// Adds the changed pixels of a block to a region.
void MotionDetector::add_block(std::uint32_t block, Cells& box, Count& count) const {
  const std::uint32_t x1 = block % blocks_wide_ * block_, x2 = std::min(x1 + block_, width_);
  const std::uint32_t y1 = block / blocks_wide_ * block_, y2 = std::min(y1 + block_, height_);
  for (std::uint32_t y = y1; y < y2; ++y) {
    for (std::uint32_t x = x1; x < x2; ++x) {
      const std::size_t i = std::size_t{y} * width_ + x;
      count.moved += has_moved_[i];
      if (!has_changed_[i]) continue;
      box.join({x, y, x + 1, y + 1});
      ++count.changed;
    }
  }
}

/// Joins blocks that touch, also at corners, and boxes that overlap. Leaves out what does not move.
void MotionDetector::join_blocks() {
  found_.clear();
  std::fill(moves_.begin(), moves_.end(), 0);
  for (std::uint32_t start = 0; start < is_open_.size(); ++start) {
    if (!is_open_[start]) continue;
    is_open_[start] = 0;
    region_.assign(1, start);
    Cells box{width_, height_, 0, 0};
    Count count;
    for (std::size_t next = 0; next < region_.size(); ++next) {
      const std::uint32_t block = region_[next], bx = block % blocks_wide_, by = block / blocks_wide_;
      add_block(block, box, count);
      for (std::uint32_t y = by > 0 ? by - 1 : 0; y < std::min(by + 2, blocks_high_); ++y) {
        for (std::uint32_t x = bx > 0 ? bx - 1 : 0; x < std::min(bx + 2, blocks_wide_); ++x) {
          std::uint8_t& is_open = is_open_[std::size_t{y} * blocks_wide_ + x];
          if (!is_open) continue;
          is_open = 0;
          region_.push_back(y * blocks_wide_ + x);
        }
      }
    }
    if (count.moved == 0 || static_cast<float>(count.moved) < kMovingShare * static_cast<float>(count.changed))
      continue;
    for (const std::uint32_t block : region_) moves_[block] = 1;
    found_.push_back(box);
  }
  const auto is_larger = [](const Cells& a, const Cells& b) { return a.area() > b.area(); };
  std::sort(found_.begin(), found_.end(), is_larger);
  if (found_.size() > kMostRegions) found_.resize(kMostRegions);
  for (std::size_t i = 0; i < found_.size();) {
    const auto meets = [&](const Cells& other) { return &other != &found_[i] && other.meets(found_[i]); };
    const auto other = std::find_if(found_.begin(), found_.end(), meets);
    if (other == found_.end()) {
      ++i;
      continue;
    }
    found_[i].join(*other);
    found_.erase(other);
    i = 0;  // It has grown, and may meet others now.
  }
  const double least = static_cast<double>(options_.min_area) * width_ * height_;
  std::erase_if(found_, [&](const Cells& box) { return static_cast<double>(box.area()) < least; });
  std::sort(found_.begin(), found_.end(), is_larger);
}

/// Finds the regions of the last picture again, begins new ones, and ends those that are not found any more.
void MotionDetector::follow(const FrameInfo& info) {
  for (Region& region : regions_) region.is_taken = false;
  for (const Cells& cells : found_) {
    const auto edge = [&](std::uint32_t at, std::uint32_t limit) {
      return static_cast<float>(std::min(at * luma_.scale(), limit));
    };
    const Box box{edge(cells.x1, info.width_px), edge(cells.y1, info.height_px), edge(cells.x2, info.width_px),
                  edge(cells.y2, info.height_px)};
    Region* best = nullptr;
    float most = options_.iou_threshold;
    for (Region& region : regions_) {
      const float overlap = intersection_over_union(region.box, box);
      if (!region.is_taken && overlap > 0 && overlap >= most) best = &region, most = overlap;
    }
    if (!best) {
      if (regions_.size() == 2 * kMostRegions) continue;
      regions_.push_back({box, 1, 0, true});
      continue;
    }
    const auto mixed = [&](float before, float now) { return before + options_.smoothing * (now - before); };
    best->box = {mixed(best->box.x1, box.x1), mixed(best->box.y1, box.y1), mixed(best->box.x2, box.x2),
                 mixed(best->box.y2, box.y2)};
    ++best->found;
    best->missing = 0;
    best->is_taken = true;
  }
  for (Region& region : regions_) region.missing += !region.is_taken;
  // A region that was never given does not wait.
  std::erase_if(regions_, [&](const Region& region) {
    return region.missing > (region.found < options_.min_persistence ? 0 : options_.max_missing);
  });
}

std::span<const Box> MotionDetector::update(const Frame& frame) {
  if (luma_.read(frame)) begin();
  given_.clear();
  if (pictures_++ == 0) {
    std::copy(luma_.pixels().begin(), luma_.pixels().end(), background_.begin());
    std::copy(luma_.pixels().begin(), luma_.pixels().end(), before_.begin());
    return {};
  }
  compare();
  judge_blocks();
  join_blocks();
  learn();
  const FrameInfo& info = luma_.info();
  follow(info);
  for (const Region& region : regions_) {
    if (region.found < options_.min_persistence) continue;
    const Box& box = region.box;
    const Area<float> area = upright_area<float>({box.x1, box.y1, box.width(), box.height()}, info.rotation,
                                                 static_cast<float>(info.width_px), static_cast<float>(info.height_px));
    given_.push_back({area.x, area.y, area.x + area.width, area.y + area.height});
  }
  std::sort(given_.begin(), given_.end(), [](const Box& a, const Box& b) { return area_of(a) > area_of(b); });
  return given_;
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
