// SPDX-License-Identifier: Apache-2.0
// The pictures of one stream that wait to be shown, and when each is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include <tenon/core/metadata.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/graph/input_stage/geometry.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace overlay {

/// A picture in the size of its place.
struct Cell {
  std::int64_t tick = 0;  ///< From which it is shown.
  Clock::time_point arrived{};
  std::vector<std::byte> pixels;
  std::shared_ptr<const metadata::Collection> known;  ///< In pixels of the stream's own picture.
  FrameGeometry geometry;                             ///< From those to pixels of the place.
};

/// Time is counted in ticks, of which there are `fps` in a second. Streams that are not live begin with tick 0 together, however long one takes to open. A
/// live one, and one that begins anew, has the tick at which it joins. From there on its own timestamps count.
/// @thread one at a time.
class Cells {
 public:
  /// @param limit  Most that wait, 2 at least. When there are more, every second one is left out, so that those that are left are in time.
  Cells(double fps, std::size_t limit) : fps_(fps), limit_(limit) {}

  /// The stream begins, or begins anew, at `tick`.
  /// @param frames_per_second  0: not known.
  void begin(std::int64_t tick, double frames_per_second, bool is_live);
  void end() { is_running_ = false; }
  bool is_running() const { return is_running_; }
  bool is_live() const { return is_live_; }
  bool has_begun() const { return has_begun_; }

  /// Takes the next picture.
  /// @param earliest  The next tick that will be shown: what comes later than it should is shown then.
  void add(Cell cell, std::int64_t timestamp_ns, std::int64_t earliest);
  /// An emptied vector of a picture that was shown, to be used again.
  std::vector<std::byte> spare();

  /// Whether it is known what is shown at `tick`: no picture that is still to come belongs before it.
  bool has_reached(std::int64_t tick) const { return !is_running_ || tick < known_until_; }
  /// The first picture that was not shown yet; null: none.
  const Cell* next() const { return waiting_.empty() ? nullptr : &waiting_.front(); }
  /// Shows what belongs to `tick`. @return it, or what was shown before; null: nothing was, yet.
  const Cell* show(std::int64_t tick);

 private:
  std::int64_t tick_of(std::int64_t timestamp_ns);
  void thin_out();
  void recycle(Cell& cell);

  const double fps_;
  const std::size_t limit_;
  bool is_running_ = false, is_live_ = false, has_begun_ = false;
  std::int64_t first_tick_ = 0, ticks_each_ = 1, known_until_ = 0;
  std::optional<std::int64_t> first_ns_;
  std::int64_t last_ns_ = 0, last_tick_ = 0;
  double frames_per_second_ = 0;
  std::deque<Cell> waiting_;
  std::optional<Cell> shown_;
  std::vector<std::vector<std::byte>> spares_;
};

}  // namespace overlay
}  // namespace elements
}  // namespace v1
}  // namespace tenon
