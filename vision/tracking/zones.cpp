// SPDX-License-Identifier: Apache-2.0
// The geometry of zones, lines and directions, and the state of each object at each of them.
#include <tenon/vision/zones.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <set>
#include <utility>

#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

using metadata::Point;
using metadata::Zone;
using What = metadata::ZoneEvent::What;

constexpr std::size_t kMostLabels = 1000;  ///< Labels beyond these are counted together.
constexpr const char* kOtherLabels = "(other)";

/// The way from one point to another.
struct Way {
  double x = 0, y = 0;
  Way(const Point& from, const Point& to)
      : x(static_cast<double>(to.x) - static_cast<double>(from.x)),
        y(static_cast<double>(to.y) - static_cast<double>(from.y)) {}
  double length() const { return std::hypot(x, y); }
  double dot(const Way& other) const { return x * other.x + y * other.y; }
  /// Negative where `other` leads to the left of one that looks along this way, with y pointing down.
  double cross(const Way& other) const { return x * other.y - y * other.x; }
};

double turn(const Point& a, const Point& b, const Point& c) { return Way(a, b).cross({a, c}); }

/// The distance of a point from the nearest point of a side.
double distance_to_side(const Point& a, const Point& b, const Point& at) {
  const Way side(a, b), to(a, at);
  const double length = side.dot(side), part = length > 0 ? std::clamp(to.dot(side) / length, 0.0, 1.0) : 0;
  return std::hypot(to.x - part * side.x, to.y - part * side.y);
}

/// Whether a ray from the point to the right passes an odd number of sides.
bool is_in_polygon(const std::vector<Point>& corners, const Point& at) {
  bool is_in = false;
  for (std::size_t i = 0, j = corners.size() - 1; i < corners.size(); j = i++) {
    const Point &a = corners[i], &b = corners[j];
    if ((a.y > at.y) == (b.y > at.y)) continue;
    if (b.y > a.y ? turn(a, b, at) > 0 : turn(a, b, at) < 0) is_in = !is_in;
  }
  return is_in;
}

bool is_near_polygon(const std::vector<Point>& corners, const Point& at, double margin) {
  for (std::size_t i = 0, j = corners.size() - 1; i < corners.size(); j = i++)
    if (distance_to_side(corners[i], corners[j], at) <= margin) return true;
  return false;
}

/// Whether two sides have a point in common.
bool do_meet(const Point& a, const Point& b, const Point& c, const Point& d) {
  const auto sign = [](double value) { return value > 0 ? 1 : value < 0 ? -1 : 0; };
  const int abc = sign(turn(a, b, c)), abd = sign(turn(a, b, d)), cda = sign(turn(c, d, a)), cdb = sign(turn(c, d, b));
  if (abc != abd && cda != cdb) return true;
  const auto is_between = [](const Point& p, const Point& q, const Point& r) {
    return std::min(p.x, q.x) <= r.x && r.x <= std::max(p.x, q.x) && std::min(p.y, q.y) <= r.y &&
           r.y <= std::max(p.y, q.y);
  };
  return (abc == 0 && is_between(a, b, c)) || (abd == 0 && is_between(a, b, d)) || (cda == 0 && is_between(c, d, a)) ||
         (cdb == 0 && is_between(c, d, b));
}

[[noreturn]] void refuse(const ZoneRule& rule, const std::string& reason) {
  throw Error(Code::kInvalidArgument, std::string(metadata::name(rule.shape)) + " \"" + rule.name + "\" " + reason);
}

void check_sides(const ZoneRule& rule) {
  const std::vector<Point>& corners = rule.points;
  const std::size_t count = corners.size();
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = i + 1; k < count; ++k) {
      const Point &a = corners[i], &b = corners[(i + 1) % count], &c = corners[k], &d = corners[(k + 1) % count];
      const bool are_neighbours = k == i + 1 || (i == 0 && k == count - 1);
      // Neighbours share a corner; they cross only where one leads back over the other.
      const Point &shared = k == i + 1 ? b : a, &one = k == i + 1 ? a : b, &other = k == i + 1 ? d : c;
      const Way back(shared, one), on(shared, other);
      const bool leads_back = back.cross(on) == 0 && back.dot(on) > 0;
      if (are_neighbours ? leads_back : do_meet(a, b, c, d))
        refuse(rule, "crosses itself: its sides " + std::to_string(i + 1) + " and " + std::to_string(k + 1) +
                         " meet; give its corners in their order around it, or make two zones of it");
    }
  }
}

void check(ZoneRule& rule) {
  if (rule.name.empty()) refuse(rule, "has no name");
  for (const Point& point : rule.points)
    if (!std::isfinite(point.x) || !std::isfinite(point.y)) refuse(rule, "has a point that is no number");
  std::vector<Point>& points = rule.points;
  if (rule.shape != Zone::Shape::kZone) {
    if (points.size() != 2) refuse(rule, "has " + std::to_string(points.size()) + " points; it needs two");
    if (points[0] == points[1]) refuse(rule, "begins and ends at one point; give two that differ");
    return;
  }
  if (points.size() > 1 && points.front() == points.back()) points.pop_back();  // Some tools close polygons.
  points.erase(std::unique(points.begin(), points.end()), points.end());
  if (points.size() < 3) refuse(rule, "has " + std::to_string(points.size()) + " corners; it needs at least three");
  double area = 0;
  for (std::size_t i = 1; i + 1 < points.size(); ++i) area += turn(points[0], points[i], points[i + 1]);
  check_sides(rule);
  if (area == 0) refuse(rule, "has no area: its corners lie on one line");
}

/// The anchors of a box. @return Their number.
std::size_t anchors_of(const Box& box, Anchor anchor, std::array<Point, 4>& at) {
  const float x = (box.x1 + box.x2) / 2;
  switch (anchor) {
    case Anchor::kBottom:
      at[0] = {x, box.y2};
      return 1;
    case Anchor::kCentre:
      at[0] = {x, (box.y1 + box.y2) / 2};
      return 1;
    case Anchor::kTop:
      at[0] = {x, box.y1};
      return 1;
    case Anchor::kCorners:
      at = {Point{box.x1, box.y1}, Point{box.x2, box.y1}, Point{box.x1, box.y2}, Point{box.x2, box.y2}};
      return 4;
  }
  return 0;
}

bool is_in_zone(const ZoneRule& rule, const Box& box, bool was_in) {
  std::array<Point, 4> at;
  const std::size_t count = anchors_of(box, rule.anchor, at);
  return std::all_of(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(count), [&](const Point& one) {
    return is_in_polygon(rule.points, one) ||
           (was_in && rule.margin_px > 0 && is_near_polygon(rule.points, one, static_cast<double>(rule.margin_px)));
  });
}

enum class Side : std::uint8_t { kLeft, kRight, kUnknown };

Side side_of(const ZoneRule& rule, const Box& box) {
  std::array<Point, 4> at;
  const std::size_t count = anchors_of(box, rule.anchor, at);
  const Point &begin = rule.points[0], &end = rule.points[1];
  const Way line(begin, end);
  const double length = line.length();
  std::size_t left = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Way to(begin, at[i]);
    const double along = line.dot(to) / length, off = line.cross(to) / length;
    if (along < 0 || along > length) return Side::kUnknown;
    if (rule.margin_px > 0 && std::abs(off) <= static_cast<double>(rule.margin_px)) return Side::kUnknown;
    if (off < 0) ++left;
  }
  return left == count ? Side::kLeft : left == 0 ? Side::kRight : Side::kUnknown;
}

double seconds_between(std::int64_t begin_ns, std::int64_t end_ns) {
  return (static_cast<double>(end_ns) - static_cast<double>(begin_ns)) * 1e-9;
}

}  // namespace

ZoneWatch::ZoneWatch(std::vector<ZoneRule> rules, double forget_s)
    : rules_(std::move(rules)),
      forget_ns_(static_cast<std::int64_t>(std::clamp(forget_s, 0.0, 1e9) * 1e9)),
      crowd_runs_(rules_.size()) {
  std::set<std::string_view> names;
  for (ZoneRule& rule : rules_) {
    check(rule);
    if (!names.insert(rule.name).second) refuse(rule, "is there twice; give each a name of its own");
    Zone& zone = zones_.emplace_back();
    zone.name = rule.name;
    zone.shape = rule.shape;
    if (rule.shape != Zone::Shape::kDirection) zone.points = rule.points;
  }
}

std::span<const ZoneWatch::Event> ZoneWatch::update(std::int64_t time_ns, std::span<const Object> objects) {
  events_.clear();
  now_ns_ = std::max(now_ns_, time_ns);
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const Object& object = objects[i];
    const Box& box = object.box;
    if (object.track_id < 0 || !std::isfinite(box.x1) || !std::isfinite(box.y1) || !std::isfinite(box.x2) ||
        !std::isfinite(box.y2))
      continue;
    Track& track = track_of(object.track_id);
    track.seen_ns = now_ns_;
    for (std::size_t rule = 0; rule < rules_.size(); ++rule) {
      if (!is_meant(rule, object.label)) continue;
      State& state = states_[track.slot * rules_.size() + rule];
      if (rules_[rule].shape == Zone::Shape::kZone)
        look_at_zone(rule, object, i, state);
      else if (rules_[rule].shape == Zone::Shape::kLine)
        look_at_line(rule, object, i, state);
      else
        look_at_direction(rule, object, i, state);
    }
  }
  forget(now_ns_ < std::numeric_limits<std::int64_t>::lowest() + forget_ns_ ? now_ns_ : now_ns_ - forget_ns_);
  count_inside(objects);
  return events_;
}

void ZoneWatch::look_at_zone(std::size_t rule, const Object& object, std::size_t index, State& state) {
  if (is_in_zone(rules_[rule], object.box, state.is_in) == state.is_in) {
    state.run = 0;
  } else {
    if (state.run++ == 0) state.since_ns = now_ns_;
    if (state.run >= rules_[rule].confirm) {
      state.run = 0;
      state.is_in = !state.is_in;
      if (state.is_in) {
        state.label = count_of(rule, object.label);
        state.begin_ns = state.since_ns;
        state.was_told = false;
        ++zones_[rule].counts[state.label].entered;
        tell(rule, What::kEntered, index, object.track_id, seconds_between(state.begin_ns, now_ns_));
      } else {
        ++zones_[rule].counts[state.label].left;
        tell(rule, What::kLeft, index, object.track_id, seconds_between(state.begin_ns, state.since_ns));
      }
    }
  }
  if (!state.is_in) return;
  const double seconds = seconds_between(state.begin_ns, now_ns_);
  tell(rule, What::kInside, index, object.track_id, seconds);
  if (rules_[rule].dwell_s > 0 && seconds >= rules_[rule].dwell_s && !std::exchange(state.was_told, true))
    tell(rule, What::kStaysLong, index, object.track_id, seconds);
}

void ZoneWatch::look_at_line(std::size_t rule, const Object& object, std::size_t index, State& state) {
  const Side side = side_of(rules_[rule], object.box);
  if (side == Side::kUnknown) return;
  const bool is_left = side == Side::kLeft;
  if (!std::exchange(state.is_known, true)) state.is_in = is_left;
  if (is_left == state.is_in) {
    state.run = 0;
    return;
  }
  if (++state.run < rules_[rule].confirm) return;
  state.run = 0;
  state.is_in = is_left;
  Zone::Count& counts = zones_[rule].counts[count_of(rule, object.label)];
  ++(is_left ? counts.entered : counts.left);
  tell(rule, is_left ? What::kCrossedIn : What::kCrossedOut, index, object.track_id);
}

void ZoneWatch::look_at_direction(std::size_t rule, const Object& object, std::size_t index, State& state) {
  const ZoneRule& wanted = rules_[rule];
  std::array<Point, 4> anchors;
  anchors_of(object.box, wanted.anchor == Anchor::kCorners ? Anchor::kCentre : wanted.anchor, anchors);
  const Point at = anchors[0];
  const auto judge = [&](bool moves) {
    state.from = at;
    state.since_ns = now_ns_;
    if (moves == state.is_in) return;
    state.is_in = moves;
    if (moves) state.label = count_of(rule, object.label);
    Zone::Count& counts = zones_[rule].counts[state.label];
    ++(moves ? counts.entered : counts.left);
  };
  if (!std::exchange(state.is_known, true)) {
    judge(false);
  } else if (const Way way(state.from, at);
             way.length() >= static_cast<double>(wanted.distance_px) && way.length() > 0) {
    const Way direction(wanted.points[0], wanted.points[1]);
    const double cosine = way.dot(direction) / (way.length() * direction.length());
    const double angle = std::acos(std::clamp(cosine, -1.0, 1.0)) * 180 / std::numbers::pi;
    judge(angle <= static_cast<double>(wanted.tolerance_degrees));
  } else if (seconds_between(state.since_ns, now_ns_) > wanted.still_s) {
    judge(false);
  }
  if (state.is_in) tell(rule, What::kMoves, index, object.track_id);
}

ZoneWatch::Track& ZoneWatch::track_of(std::int64_t id) {
  const auto at = std::lower_bound(tracks_.begin(), tracks_.end(), id,
                                   [](const Track& one, std::int64_t value) { return one.id < value; });
  if (at != tracks_.end() && at->id == id) return *at;
  std::size_t slot = 0;
  if (free_slots_.empty()) {
    slot = rules_.empty() ? 0 : states_.size() / rules_.size();
    states_.resize(states_.size() + rules_.size());
    free_slots_.reserve(slot + 1);  // So that forgetting never allocates.
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
    std::fill_n(states_.begin() + static_cast<std::ptrdiff_t>(slot * rules_.size()), rules_.size(), State{});
  }
  return *tracks_.insert(at, {id, slot, now_ns_});
}

/// Removes objects that were not seen since `before_ns`. Those in a zone leave it at the time when they were seen last.
void ZoneWatch::forget(std::int64_t before_ns) {
  const auto is_gone = [&](const Track& track) {
    if (track.seen_ns >= before_ns) return false;
    for (std::size_t rule = 0; rule < rules_.size(); ++rule) {
      const State& state = states_[track.slot * rules_.size() + rule];
      if (!state.is_in || rules_[rule].shape == Zone::Shape::kLine) continue;
      ++zones_[rule].counts[state.label].left;
      if (rules_[rule].shape == Zone::Shape::kZone)
        tell(rule, What::kLeft, kNone, track.id, seconds_between(state.begin_ns, track.seen_ns));
    }
    free_slots_.push_back(track.slot);
    return true;
  };
  tracks_.erase(std::remove_if(tracks_.begin(), tracks_.end(), is_gone), tracks_.end());
}

void ZoneWatch::count_inside(std::span<const Object> objects) {
  for (std::size_t rule = 0; rule < rules_.size(); ++rule) {
    Zone& zone = zones_[rule];
    if (zone.shape == Zone::Shape::kLine) continue;
    for (Zone::Count& one : zone.counts) one.inside = 0;
    for (const Track& track : tracks_) {
      const State& state = states_[track.slot * rules_.size() + rule];
      if (state.is_in) ++zone.counts[state.label].inside;
    }
    if (zone.shape != Zone::Shape::kZone) continue;
    for (std::size_t i = 0; i < objects.size(); ++i) {
      const Object& object = objects[i];
      if (object.track_id >= 0 || !is_meant(rule, object.label) || !is_in_zone(rules_[rule], object.box, false))
        continue;
      ++zone.counts[count_of(rule, object.label)].inside;
      tell(rule, What::kInside, i, -1);
    }
    const bool is_full = rules_[rule].crowd != 0 && zone.total().inside >= rules_[rule].crowd;
    crowd_runs_[rule] = is_full == zone.is_crowded ? 0 : crowd_runs_[rule] + 1;
    if (crowd_runs_[rule] >= rules_[rule].confirm) {
      zone.is_crowded = is_full;
      crowd_runs_[rule] = 0;
    }
  }
}

bool ZoneWatch::is_meant(std::size_t rule, std::string_view label) const {
  const std::vector<std::string>& labels = rules_[rule].labels;
  return labels.empty() || std::find(labels.begin(), labels.end(), label) != labels.end();
}

std::uint32_t ZoneWatch::count_of(std::size_t rule, std::string_view label) {
  std::vector<Zone::Count>& counts = zones_[rule].counts;
  const auto at = [&](std::string_view wanted) {
    return std::find_if(counts.begin(), counts.end(), [&](const Zone::Count& one) { return one.label == wanted; });
  };
  auto found = at(label);
  if (found == counts.end() && counts.size() >= kMostLabels) found = at(label = kOtherLabels);
  if (found == counts.end()) found = counts.insert(counts.end(), {std::string(label)});
  return static_cast<std::uint32_t>(found - counts.begin());
}

void ZoneWatch::tell(std::size_t rule, What what, std::size_t object, std::int64_t track_id, double seconds) {
  events_.push_back({rule, what, object, track_id, seconds});
}

void ZoneWatch::forget_objects() {
  for (const Track& track : tracks_) free_slots_.push_back(track.slot);
  tracks_.clear();
  now_ns_ = std::numeric_limits<std::int64_t>::lowest();
}

void ZoneWatch::scale(float x, float y) {
  const auto move = [&](Point& point) { point.x *= x, point.y *= y; };
  for (ZoneRule& rule : rules_) {
    std::for_each(rule.points.begin(), rule.points.end(), move);
    rule.margin_px *= y, rule.distance_px *= y;
  }
  for (Zone& zone : zones_) std::for_each(zone.points.begin(), zone.points.end(), move);
  for (State& state : states_) move(state.from);
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
