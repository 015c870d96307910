// SPDX-License-Identifier: Apache-2.0
// Computes ticks from timestamps.
#include <tenon/elements/overlay/cells.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace overlay {
namespace {

constexpr double kNanoseconds = 1e9;
constexpr double kMaxSeconds = 9e9;  ///< A limit for arbitrary timestamps: the mosaic's own are nanoseconds of 64 bits.

}  // namespace

void Cells::begin(std::int64_t tick, double frames_per_second, bool is_live) {
  const bool shares_beginning = !has_begun_ && !is_live;
  is_running_ = has_begun_ = true;
  is_live_ = is_live;
  frames_per_second_ = frames_per_second > 0 ? frames_per_second : fps_;
  // A stream with fewer pictures than ticks is known for some ticks ahead. The small number allows for rates like 29.97.
  ticks_each_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::min(fps_ / frames_per_second_ + 1e-3, fps_)));
  const std::int64_t joint = std::max(tick, waiting_.empty() ? tick : waiting_.back().tick + 1);
  first_tick_ = known_until_ = shares_beginning ? 0 : joint;
  first_ns_.reset();
}

std::int64_t Cells::tick_of(std::int64_t timestamp_ns) {
  if (timestamp_ns == kNoTimestamp)
    timestamp_ns = first_ns_ ? last_ns_ + static_cast<std::int64_t>(kNanoseconds / frames_per_second_) : 0;
  timestamp_ns = std::min(timestamp_ns, std::numeric_limits<std::int64_t>::max() / 2);
  if (!first_ns_) {
    first_ns_ = timestamp_ns;
  } else if (timestamp_ns < last_ns_) {  // The stream's clock was set back: it continues from its last tick.
    first_ns_ = timestamp_ns;
    first_tick_ = last_tick_ + ticks_each_;
  }
  last_ns_ = timestamp_ns;
  const double since = static_cast<double>(timestamp_ns) - static_cast<double>(*first_ns_);
  const double ticks = static_cast<double>(first_tick_) + std::round(since * fps_ / kNanoseconds);
  last_tick_ = static_cast<std::int64_t>(std::min(ticks, kMaxSeconds * fps_));
  return last_tick_;
}

void Cells::add(Cell cell, std::int64_t timestamp_ns, std::int64_t earliest) {
  const std::int64_t own = tick_of(timestamp_ns);
  cell.tick = std::max(own, earliest);
  // The mosaic does not wait for a late live stream to catch up, since it may never do so.
  known_until_ = std::max(known_until_, (is_live_ ? cell.tick : own) + ticks_each_);
  if (!waiting_.empty() && waiting_.back().tick >= cell.tick) {
    cell.tick = waiting_.back().tick;
    recycle(waiting_.back());
    waiting_.back() = std::move(cell);
    return;
  }
  waiting_.push_back(std::move(cell));
  if (waiting_.size() > limit_) thin_out();
}

void Cells::thin_out() {
  std::deque<Cell> kept;
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    // The newest picture stays: it says how far the stream is.
    if (i % 2 == 0 || i + 1 == waiting_.size())
      kept.push_back(std::move(waiting_[i]));
    else
      recycle(waiting_[i]);
  }
  waiting_ = std::move(kept);
}

const Cell* Cells::show(std::int64_t tick) {
  while (!waiting_.empty() && waiting_.front().tick <= tick) {
    if (shown_) recycle(*shown_);
    shown_ = std::move(waiting_.front());
    waiting_.pop_front();
  }
  return shown_ ? &*shown_ : nullptr;
}

std::vector<std::byte> Cells::spare() {
  if (spares_.empty()) return {};
  std::vector<std::byte> one = std::move(spares_.back());
  spares_.pop_back();
  return one;
}

void Cells::recycle(Cell& cell) {
  constexpr std::size_t kKept = 2;
  if (spares_.size() < kKept) spares_.push_back(std::move(cell.pixels));
}

}  // namespace overlay
}  // namespace elements
}  // namespace v1
}  // namespace tenon
