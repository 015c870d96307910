// SPDX-License-Identifier: Apache-2.0
// Counts tracked objects in zones, at lines and in directions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/core/zones.hpp>
#include <tenon/vision/detection.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

/// The part of a box that is compared with a zone or a line. kCorners: all four, which must lie in the zone, or on one side of the line.
enum class Anchor : std::uint8_t { kBottom, kCentre, kTop, kCorners };

/// A zone, a line or a direction, in pixels of the upright picture.
struct ZoneRule {
  std::string name;
  metadata::Zone::Shape shape = metadata::Zone::Shape::kZone;
  /// The corners of a zone in order, at least three; the ends of a line; a direction leads from the first point to the second.
  std::vector<metadata::Point> points;
  std::vector<std::string> labels = {};  ///< Counts only objects with these labels; empty: all.
  Anchor anchor = Anchor::kBottom;
  /// Consecutive pictures for which an object must be seen on the other side before it counts as there.
  std::uint32_t confirm = 1;
  /// An object leaves a zone, or changes the side of a line, only when it is further away from it than this.
  float margin_px = 0;
  double dwell_s = 0;            ///< A longer stay in the zone is an event; 0: none is.
  std::uint64_t crowd = 0;       ///< The zone is crowded with so many objects; 0: never.
  float tolerance_degrees = 45;  ///< A direction's largest angle to the way of an object.
  float distance_px = 20;        ///< The way after which an object's direction is judged.
  double still_s = 2;            ///< An object that needs longer for it stands still.
};

/// Compares objects with zones, lines and directions from picture to picture. Objects are known by their track_id; those without one
/// count only as inside of zones.
///
/// Zones: an object is inside if its anchor is (all corners, for kCorners), by the polygon's interior. It has entered or left when that has
/// held for `confirm` pictures. Lines: an object is judged only in pictures in which all its anchors lie between the perpendiculars
/// through the line's ends and on one side; it crosses when it was so on the other side for `confirm` such pictures. These are the
/// rules of the Python package supervision (PolygonZone, LineZone). Directions: an object's way is judged each time that it has moved by
/// `distance_px` from where it was judged last.
/// @thread one at a time. @cost objects times rules; allocates nothing once its vectors have grown and labels are known.
class TENON_API ZoneWatch {
 public:
  struct Object {
    Box box;
    std::string_view label;
    std::int64_t track_id = -1;
  };
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  struct Event {
    std::size_t rule = 0;
    metadata::ZoneEvent::What what{};
    std::size_t object = kNone;  ///< The index of the object; kNone: it is not in this picture.
    std::int64_t track_id = -1;
    double seconds = 0;
  };

  /// @param forget_s  An object that was not seen for longer has left.
  /// @errors kInvalidArgument: a rule without a name, two of one name, points that are no numbers, a zone with fewer than three corners,
  /// without an area or whose sides cross, a line or direction that is a single point.
  explicit ZoneWatch(std::vector<ZoneRule> rules, double forget_s = 1);

  const std::vector<ZoneRule>& rules() const { return rules_; }
  /// The next picture. @param time_ns  Its time; one before the last time counts as the last time.
  /// @return What happened, valid until the next call.
  std::span<const Event> update(std::int64_t time_ns, std::span<const Object> objects);
  /// What was counted for a rule up to the last picture.
  const metadata::Zone& counted(std::size_t rule) const { return zones_[rule]; }
  /// Forgets all objects without counting that they left; what was counted stays.
  void forget_objects();
  /// The same rules for a picture of another size, where every point has moved by these factors. Margins and distances follow the height.
  /// Objects stay known.
  void scale(float x, float y);
  /// Objects that it knows.
  std::size_t size() const { return tracks_.size(); }

 private:
  /// What one object does at one rule.
  struct State {
    bool is_in = false;         ///< In the zone, to the left of the line, moving in the direction.
    bool is_known = false;      ///< The side of the line, or the place from which the way is judged, is known.
    bool was_told = false;      ///< kStaysLong was given for this stay.
    std::uint32_t run = 0;      ///< Consecutive pictures on the other side.
    std::uint32_t label = 0;    ///< Index into the counts of the rule, of a stay.
    std::int64_t since_ns = 0;  ///< When the run began; the stay, if there is no run; when the way was judged last.
    std::int64_t begin_ns = 0;  ///< When the stay began.
    metadata::Point from;       ///< Where the way was judged last.
  };
  struct Track {
    std::int64_t id = -1;
    std::size_t slot = 0;  ///< Its states are states_[slot * rules], and so on.
    std::int64_t seen_ns = 0;
  };

  Track& track_of(std::int64_t id);
  void look_at_zone(std::size_t rule, const Object& object, std::size_t index, State& state);
  void look_at_line(std::size_t rule, const Object& object, std::size_t index, State& state);
  void look_at_direction(std::size_t rule, const Object& object, std::size_t index, State& state);
  void forget(std::int64_t before_ns);
  void count_inside(std::span<const Object> objects);
  bool is_meant(std::size_t rule, std::string_view label) const;
  std::uint32_t count_of(std::size_t rule, std::string_view label);
  void tell(std::size_t rule, metadata::ZoneEvent::What what, std::size_t object, std::int64_t track_id,
            double seconds = 0);

  std::vector<ZoneRule> rules_;
  const std::int64_t forget_ns_;
  std::vector<metadata::Zone> zones_;
  std::vector<std::uint32_t>
      crowd_runs_;             ///< By rule: consecutive pictures in which the zone was not as `is_crowded` says.
  std::vector<Track> tracks_;  ///< In order of their ids.
  std::vector<State> states_;
  std::vector<std::size_t> free_slots_;
  std::vector<Event> events_;
  std::int64_t now_ns_ = std::numeric_limits<std::int64_t>::lowest();
};

}  // namespace vision
}  // namespace v1
}  // namespace tenon
