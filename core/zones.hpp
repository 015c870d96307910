// SPDX-License-Identifier: Apache-2.0
// Metadata about places in the picture: zones and lines, what was counted there, and what objects do there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/core/metadata.hpp>

namespace tenon {
inline namespace v1 {
namespace metadata {

/// A point in pixels of the upright picture, continuous as the corners of a Box.
struct Point {
  float x = 0, y = 0;
  friend bool operator==(const Point&, const Point&) = default;
};

/// A zone, a line or a direction that is watched, and what was counted there up to this frame. It belongs to the frame.
struct TENON_API Zone {
  static constexpr Kind kKind{"zone"};
  enum class Shape : std::uint8_t { kZone, kLine, kDirection };
  /// The counts of the objects of one label.
  struct Count {
    std::string label;
    std::uint64_t inside = 0;  ///< Objects that are in the zone now, or that move in the direction now; 0 for lines.
    std::uint64_t entered =
        0;                   ///< Objects that entered the zone, crossed the line inwards, or turned into the direction.
    std::uint64_t left = 0;  ///< Objects that left the zone, crossed the line outwards, or turned out of the direction.
    friend bool operator==(const Count&, const Count&) = default;
  };
  std::string name;
  Shape shape = Shape::kZone;
  std::vector<Point> points;  ///< The corners of a zone, the two ends of a line; empty for a direction.
  std::vector<Count> counts;  ///< By label, in the order in which labels were first seen.
  bool is_crowded = false;
  /// The sums over all labels.
  Count total() const;
  std::string json() const;
  bool cropped(const Box& region);        ///< The points move with the crop; a zone is never dropped.
  bool same_as(const Zone& other) const;  ///< Points may differ as those of boxes may.
  friend bool operator==(const Zone&, const Zone&) = default;
};

/// What an object does in a zone, at a line or in a direction. It belongs to the object, or to the frame if the object is not in it.
struct TENON_API ZoneEvent {
  static constexpr Kind kKind{"zone_event"};
  enum class What : std::uint8_t {
    kInside,     ///< It is in the zone. Given in each frame.
    kEntered,    ///< It has entered the zone.
    kLeft,       ///< It has left the zone, or was not seen for too long.
    kStaysLong,  ///< It has been in the zone for as long as the zone's `dwell_s`. Given once for each stay.
    kCrossedIn,  ///< It has crossed the line inwards: to the left of one that looks from the line's first end to its second.
    kCrossedOut,  ///< It has crossed the line outwards.
    kMoves,       ///< It moves in the direction. Given in each frame.
  };
  std::string zone;
  What what = What::kInside;
  double seconds = 0;  ///< How long it has been in the zone, or was until it left; 0 for lines and directions.
  std::int64_t track_id = -1;
  std::string json() const;
  friend bool operator==(const ZoneEvent&, const ZoneEvent&) = default;
};

/// "inside", "entered", "left", "stays_long", "crossed_in", "crossed_out", "moves".
TENON_API std::string_view name(ZoneEvent::What what);
/// "zone", "line", "direction".
TENON_API std::string_view name(Zone::Shape shape);

}  // namespace metadata
}  // namespace v1
}  // namespace tenon
