// SPDX-License-Identifier: Apache-2.0
// gvaanalytics: which objects are in zones, for how long, and which lines they cross. The rules are those of DL Streamer's element, which
// differ from those of `analytics`: an object without an id is in a zone, too, and a line is crossed where the way between two
// pictures crosses it.
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <tenon/bindings/gstreamer/gva/gva.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/zones.hpp>

namespace tenon {
inline namespace v1 {
namespace gst_plugin {
namespace gva {
namespace {

using Json = nlohmann::json;
using metadata::Point;
using What = metadata::ZoneEvent::What;

struct Zone {
  std::string id;
  std::vector<Point> points;  ///< A circle has them for drawing.
  bool is_circle = false;
  Point centre;
  float radius = 0;
  bool tracks_dwell_time = false;
  double retention_s = 0.5;
};

struct Tripwire {
  std::string id;
  Point from, to;
};

double number_in(const Json& object, const char* name, const std::string& place) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  if (found == object.end() || !found->is_number())
    throw Error(Code::kInvalidArgument, place + " needs a number " + name);
  return found->get<double>();
}

Point point_of(const Json& value, const std::string& place) {
  return {static_cast<float>(number_in(value, "x", place)), static_cast<float>(number_in(value, "y", place))};
}

std::vector<Point> points_of(const Json& object, const std::string& place) {
  std::vector<Point> all;
  const auto points = object.find("points");
  if (points == object.end() || !points->is_array())
    throw Error(Code::kInvalidArgument, place + " needs a list points");
  for (std::size_t i = 0; i < points->size(); ++i)
    all.push_back(point_of((*points)[i], place + "/points/" + std::to_string(i)));
  return all;
}

std::string id_of(const Json& object, const std::string& place) {
  if (!object.is_object())
    throw Error(Code::kInvalidArgument, place + " must be an object, and is " + object.type_name());
  const auto id = object.find("id");
  if (id == object.end() || !id->is_string()) throw Error(Code::kInvalidArgument, place + " needs a text id");
  return id->get<std::string>();
}

Zone zone_of(const Json& object, const std::string& place) {
  Zone zone;
  zone.id = id_of(object, place);
  const std::string type =
      object.contains("type") && object["type"].is_string() ? object["type"].get<std::string>() : "polygon";
  if (type == "circle") {
    zone.is_circle = true;
    zone.centre = point_of(object.contains("center") ? object["center"] : Json(), place + "/center");
    zone.radius = static_cast<float>(number_in(object, "radius", place));
    if (!(zone.radius > 0)) throw Error(Code::kInvalidArgument, place + ": radius must be more than 0");
    constexpr int kCorners = 48;
    for (int i = 0; i < kCorners; ++i) {
      const double angle = 2 * 3.14159265358979323846 * i / kCorners;
      zone.points.push_back({zone.centre.x + zone.radius * static_cast<float>(std::cos(angle)),
                             zone.centre.y + zone.radius * static_cast<float>(std::sin(angle))});
    }
  } else if (type == "polygon") {
    zone.points = points_of(object, place);
    if (zone.points.size() < 3) throw Error(Code::kInvalidArgument, place + " needs at least three points");
  } else {
    throw Error(Code::kInvalidArgument, place + ": type is \"" + type + "\"; expected polygon or circle");
  }
  if (const auto tracks = object.find("track-dwell-time"); tracks != object.end())
    zone.tracks_dwell_time = tracks->is_boolean() && tracks->get<bool>();
  if (object.contains("object-retention")) zone.retention_s = number_in(object, "object-retention", place);
  return zone;
}

Tripwire tripwire_of(const Json& object, const std::string& place) {
  const std::string id = id_of(object, place);
  const std::vector<Point> points = points_of(object, place);
  if (points.size() != 2) throw Error(Code::kInvalidArgument, place + " needs two points");
  return {id, points[0], points[1]};
}

template <typename Read, typename T>
void read_list(const Json& list, const std::string& place, Read read, std::vector<T>& into) {
  if (!list.is_array()) throw Error(Code::kInvalidArgument, place + " must be a JSON list, and is " + list.type_name());
  for (std::size_t i = 0; i < list.size(); ++i) into.push_back(read(list[i], place + "/" + std::to_string(i)));
}

Json parsed(const std::string& text, const std::string& place) {
  Json document = Json::parse(text, nullptr, false);
  if (document.is_discarded()) throw Error(Code::kInvalidArgument, place + " is no JSON");
  return document;
}

/// Whether a ray from the point crosses the sides an odd number of times.
bool is_inside(const Zone& zone, Point at) {
  if (zone.is_circle) return std::hypot(at.x - zone.centre.x, at.y - zone.centre.y) <= zone.radius;
  bool inside = false;
  for (std::size_t i = 0, last = zone.points.size() - 1; i < zone.points.size(); last = i++) {
    const Point &a = zone.points[i], &b = zone.points[last];
    if ((a.y > at.y) != (b.y > at.y) && at.x < (b.x - a.x) * (at.y - a.y) / (b.y - a.y) + a.x) inside = !inside;
  }
  return inside;
}

/// On which side of the line through `a` and `b` the point lies.
double side_of(Point at, Point a, Point b) {
  return static_cast<double>(b.x - a.x) * static_cast<double>(at.y - a.y) -
         static_cast<double>(b.y - a.y) * static_cast<double>(at.x - a.x);
}

/// 1: the way crosses the line from its left to its right, seen from its first end; -1: the other way; 0: it does not.
int crossing_of(const Tripwire& line, Point before, Point now) {
  const double from = side_of(before, line.from, line.to), to = side_of(now, line.from, line.to);
  if (side_of(line.from, before, now) * side_of(line.to, before, now) > 0) return 0;
  if (from < 0 && to > 0) return 1;
  return from > 0 && to < 0 ? -1 : 0;
}

class GvaAnalytics final : public elements::TransformInplace {
 public:
  GvaAnalytics(const Texts& given, const std::string& owner) {
    const auto value = [&](const char* name, const char* otherwise) {
      const auto found = given.find(name);
      return found == given.end() ? std::string(otherwise) : found->second;
    };
    if (const std::string path = value("config", ""); !path.empty()) read_file(path, owner);
    if (const std::string text = value("zones", ""); !text.empty())
      read_list(parsed(text, owner + ": zones"), owner + ": zones: ", zone_of, zones_);
    if (const std::string text = value("tripwires", ""); !text.empty())
      read_list(parsed(text, owner + ": tripwires"), owner + ": tripwires: ", tripwire_of, tripwires_);
    is_bottom_ = value("evaluation-point", "center") == "bottom-center";
    draws_zones_ = value("draw-zones", "true") == "true";
    draws_tripwires_ = value("draw-tripwires", "true") == "true";
  }

  elements::StreamInfo open(std::uint32_t, const elements::StreamInfo& in) override {
    tracks_.clear();
    return in;
  }

  void process(std::uint32_t, Frame& frame) override {
    metadata::Collection& known = metadata::of(frame);
    const double now_s = frame.timestamp_ns() == kNoTimestamp ? 0 : static_cast<double>(frame.timestamp_ns()) * 1e-9;
    for (const auto& object : known.all<metadata::Detection>()) look_at(object, now_s, known);
    forget(now_s);
    if (draws_zones_) {
      for (const Zone& zone : zones_)
        known.add(metadata::Zone{zone.id, metadata::Zone::Shape::kZone, zone.points, {}, false});
    }
    if (!draws_tripwires_) return;
    for (const Tripwire& line : tripwires_)
      known.add(metadata::Zone{line.id, metadata::Zone::Shape::kLine, {line.from, line.to}, {}, false});
  }

 private:
  struct Stay {
    double first_s = 0, last_s = 0;
  };
  struct Track {
    Point last;
    double seen_s = 0;
    std::map<std::size_t, Stay> stays = {};  ///< By the index of the zone.
  };

  void read_file(const std::string& path, const std::string& owner) {
    const std::string what = owner + ": config \"" + path + "\"";
    std::ifstream file(path);
    if (!file) throw Error(Code::kNotFound, what + " cannot be read");
    const Json document = Json::parse(file, nullptr, false);
    if (!document.is_object()) throw Error(Code::kInvalidArgument, what + " is no JSON object");
    if (document.contains("zones")) read_list(document["zones"], what + ": /zones", zone_of, zones_);
    if (document.contains("tripwires"))
      read_list(document["tripwires"], what + ": /tripwires", tripwire_of, tripwires_);
  }

  void look_at(const metadata::Entry<metadata::Detection>& object, double now_s, metadata::Collection& known) {
    const metadata::Box& box = object->box;
    const Point at{(box.x1 + box.x2) / 2, is_bottom_ ? box.y2 : (box.y1 + box.y2) / 2};
    const std::int64_t id = object->track_id;
    const bool is_tracked = id >= 0;
    const auto found = is_tracked ? tracks_.find(id) : tracks_.end();
    const Track* const before = found == tracks_.end() ? nullptr : &found->second;
    if (before) {
      for (const Tripwire& line : tripwires_) {
        if (const int way = crossing_of(line, before->last, at); way != 0)
          known.add(metadata::ZoneEvent{line.id, way > 0 ? What::kCrossedOut : What::kCrossedIn, 0, id}, object.id);
      }
    }
    Track* const track = is_tracked ? &tracks_[id] : nullptr;
    if (track) track->last = at, track->seen_s = now_s;
    Json dwell_times = Json::array();
    for (std::size_t i = 0; i < zones_.size(); ++i) {
      if (!is_inside(zones_[i], at)) continue;
      double stay_s = 0;
      if (track && zones_[i].tracks_dwell_time) {
        Stay& stay = track->stays.try_emplace(i, Stay{now_s, now_s}).first->second;
        stay.last_s = now_s;
        stay_s = now_s - stay.first_s;
        dwell_times.push_back(
            {{"zone_id", zones_[i].id}, {"dwell_time_sec", stay_s}, {"first_seen_timestamp_sec", stay.first_s}});
      }
      known.add(metadata::ZoneEvent{zones_[i].id, What::kInside, stay_s, id}, object.id);
    }
    if (!dwell_times.empty()) known.add(metadata::Json{Json{{"dwell_times", dwell_times}}.dump()}, object.id);
  }

  /// Ends stays of objects that were elsewhere for too long, and forgets objects that are gone.
  void forget(double now_s) {
    constexpr double kGoneSeconds = 60;
    for (auto track = tracks_.begin(); track != tracks_.end();) {
      std::erase_if(track->second.stays,
                    [&](const auto& stay) { return now_s - stay.second.last_s > zones_[stay.first].retention_s; });
      const bool is_gone = now_s - track->second.seen_s > kGoneSeconds || now_s < track->second.seen_s;
      track = is_gone ? tracks_.erase(track) : std::next(track);
    }
  }

  std::vector<Zone> zones_;
  std::vector<Tripwire> tripwires_;
  bool is_bottom_ = false, draws_zones_ = true, draws_tripwires_ = true;
  std::map<std::int64_t, Track> tracks_;
};

}  // namespace

elements::AnyElement make_analytics(const Texts& given, const elements::Environment& environment) {
  return std::make_unique<GvaAnalytics>(given, "element '" + environment.name + "' (gvaanalytics)");
}

}  // namespace gva
}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon
