// SPDX-License-Identifier: Apache-2.0
// The pictures of one stream that wait to be shown in a mosaic, and the time at which each is shown.
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

/// A picture, scaled to its place in the mosaic.
struct Cell {
  std::int64_t tick = 0;  ///< The tick from which it is shown.
  Clock::time_point arrived{};
  std::vector<std::byte> pixels;
  std::shared_ptr<const metadata::Collection> known;  ///< Metadata in pixels of the stream's own picture.
  FrameGeometry geometry;                             ///< The mapping from those pixels to pixels of the place.
};

/// Time is counted in ticks, of which there are `fps` in a second. Streams that are not live all begin at tick 0, however long
/// one of them takes to open. A live stream, and one that restarts, begins at the tick at which it joins. From there on its own
/// timestamps count.
/// @thread one at a time.
class Cells {
 public:
  /// @param limit  The maximum number of waiting pictures, at least 2. When there are more, every second one is dropped, so
  /// that the rest are in time.
  Cells(double fps, std::size_t limit) : fps_(fps), limit_(limit) {}

  /// The stream begins or restarts at `tick`.
  /// @param frames_per_second  0: not known.
  void begin(std::int64_t tick, double frames_per_second, bool is_live);
  void end() { is_running_ = false; }
  bool is_running() const { return is_running_; }
  bool is_live() const { return is_live_; }
  bool has_begun() const { return has_begun_; }

  /// Takes the next picture.
  /// @param earliest  The next tick that will be shown. A picture that is late is shown at this tick.
  void add(Cell cell, std::int64_t timestamp_ns, std::int64_t earliest);
  /// A vector of a picture that was shown, for reuse; an empty one if there is none.
  std::vector<std::byte> spare();

  /// Whether the picture for `tick` is certain: no picture that is still to come belongs to an earlier tick.
  bool has_reached(std::int64_t tick) const { return !is_running_ || tick < known_until_; }
  /// The first picture that has not been shown yet; null: none.
  const Cell* next() const { return waiting_.empty() ? nullptr : &waiting_.front(); }
  /// Advances to `tick`. @return The picture for that tick, or the one shown before; null: no picture has been shown yet.
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
