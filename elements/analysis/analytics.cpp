// SPDX-License-Identifier: Apache-2.0
// Passes tracked objects to the zones, and what they find to the metadata.
#include <tenon/elements/analysis/analytics.hpp>

#include <algorithm>
#include <memory>

#include <tenon/core/error.hpp>
#include <tenon/core/metadata.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace analysis {
namespace {

/// Whether the box around the points has a place in the picture.
bool touches(const metadata::Zone& zone, float width, float height) {
  if (zone.points.empty()) return true;
  metadata::Box box{zone.points[0].x, zone.points[0].y, zone.points[0].x, zone.points[0].y};
  for (const metadata::Point& point : zone.points)
    box = {std::min(box.x1, point.x), std::min(box.y1, point.y), std::max(box.x2, point.x), std::max(box.y2, point.y)};
  return box.x1 <= width && box.y1 <= height && box.x2 >= 0 && box.y2 >= 0;
}

}  // namespace

Analytics::Analytics(const Parameters& given)
    : owner_(given.owner()), are_fractions_(given.text("units") == "fractions"), watch_([&] {
        auto rules = rules_of(given);
        try {
          return vision::ZoneWatch(std::move(rules), given.number("forget_s"));
        } catch (const Error& error) {
          throw Error(error.code(), given.owner() + ": " + error.what());
        }
      }()) {}

StreamInfo Analytics::open(std::uint32_t, const StreamInfo& in) {
  watch_.forget_objects();
  time_ = {};
  step_ns_ = usual_step_ns(in.frames_per_second);
  if (in.frame.format.fourcc != 0 && in.frame.width_px != 0) fit(in.frame);
  return in;
}

/// Moves fractions to a picture of this size, and checks that rules lie in it.
void Analytics::fit(const FrameInfo& info) {
  const std::uint32_t width = std::max(info.upright_width_px(), 1u), height = std::max(info.upright_height_px(), 1u);
  if (has_fitted_ && width == width_px_ && height == height_px_) return;
  if (are_fractions_)
    watch_.scale(static_cast<float>(width) / static_cast<float>(width_px_),
                 static_cast<float>(height) / static_cast<float>(height_px_));
  width_px_ = width, height_px_ = height;
  has_fitted_ = true;
  for (std::size_t rule = 0; rule < watch_.rules().size(); ++rule) {
    const metadata::Zone& zone = watch_.counted(rule);
    if (!touches(zone, static_cast<float>(width), static_cast<float>(height)))
      throw Error(Code::kInvalidArgument, owner_ + ": " + std::string(metadata::name(zone.shape)) + " \"" + zone.name +
                                              "\" lies outside of the picture of " + std::to_string(width) + "x" +
                                              std::to_string(height) + "; its points are " +
                                              (are_fractions_ ? "fractions of the picture's size"
                                                              : "pixels of the upright picture; units=fractions takes "
                                                                "fractions of its size"));
  }
}

void Analytics::process(std::uint32_t, Frame& frame) {
  fit(frame.info());
  const std::int64_t now_ns = time_.next(frame.timestamp_ns(), step_ns_);
  const auto known = metadata::find(frame);
  const auto entries = known ? known->all<metadata::Detection>() : std::vector<metadata::Entry<metadata::Detection>>{};
  metadata::Collection& results = metadata::of(frame);
  // In a frame that no model looked at, objects that are not there are not missing.
  if (!entries.empty() || !known || !known->first<metadata::NotLookedAt>()) {
    objects_.clear();
    for (const auto& entry : entries) {
      const metadata::Box& box = entry->box;
      objects_.push_back({{box.x1, box.y1, box.x2, box.y2}, entry->label, entry->track_id});
    }
    for (const vision::ZoneWatch::Event& event : watch_.update(now_ns, objects_)) {
      const bool is_here = event.object != vision::ZoneWatch::kNone;
      results.add(metadata::ZoneEvent{watch_.rules()[event.rule].name, event.what, event.seconds, event.track_id},
                  is_here ? entries[event.object].id : metadata::kFrame);
    }
  }
  for (std::size_t rule = 0; rule < watch_.rules().size(); ++rule) results.add(watch_.counted(rule));
}

KnownElement Analytics::element() {
  Description made;
  made.name = "analytics";
  made.about =
      "Counts tracked objects in zones, at lines and in directions, by label, and adds the counts and what objects do "
      "there";
  made.role = Role::kTransformInplace;
  made.parameters = {
      {"zones", "Zones as JSON: [{\"name\": \"door\", \"points\": [[10,20],[90,20],[90,80]]}]", std::string("[]")},
      {"lines", "Lines as JSON: [{\"name\": \"gate\", \"points\": [[10,20],[90,20]]}]", std::string("[]")},
      {"directions", "Directions as JSON: [{\"name\": \"north\", \"points\": [[0,1],[0,0]]}]", std::string("[]")},
      {"config", "JSON file with the members zones, lines and directions", std::string()},
      choice("units", "Units of points, margins and distances: pixels of the upright picture, or fractions of its size",
             "pixels", {"pixels", "fractions"}),
      choice("anchor", "The part of an object's box that counts", "bottom", {"bottom", "centre", "top", "corners"}),
      {"confirm", "Consecutive pictures for which an object must be on the other side before it counts",
       std::int64_t{1}, false, 1, 1e6},
      {"margin", "How far from a zone or line an object must be before it leaves the zone or changes the line's side",
       0.0, false, 0, 1e6},
      {"forget_s", "Seconds after which an object that is not seen has left", 1.0, false, 0, 1e9}};
  made.files = [](const Parameters& given, const Environment&) {
    ElementFiles files;
    if (!given.text("config").empty()) files.read.push_back(given.text("config"));
    return files;
  };
  return {made,
          [](const Parameters& given, const Environment&) -> AnyElement { return std::make_unique<Analytics>(given); }};
}

}  // namespace analysis
}  // namespace elements
}  // namespace v1
}  // namespace tenon
