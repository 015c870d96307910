// SPDX-License-Identifier: Apache-2.0
// Reads regions from JSON, and adds them to frames.
#include <tenon/elements/analysis/regions.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/elements/internal/json_reader.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace analysis {
namespace {

using metadata::Detection;

constexpr std::size_t kMostLines = 5'000'000, kMostObjects = 20'000'000;  ///< In a file.

metadata::Box box_of(const Json& value, const Place& place) {
  if (list_of(value, place).size() != 4) place.refuse("must be four numbers: x1, y1, x2, y2");
  const auto at = [&](std::size_t i) { return static_cast<float>(number_of(value[i], place / i, -1e6, 1e6)); };
  const metadata::Box box{at(0), at(1), at(2), at(3)};
  if (!(box.x2 > box.x1) || !(box.y2 > box.y1)) place.refuse("has no area: x2 must be more than x1, y2 more than y1");
  return box;
}

/// The member of that name, if there is one of that type.
template <typename T>
T value_or(const Json& object, const char* name, T otherwise) {
  const auto found = object.find(name);
  if (found == object.end()) return otherwise;
  if constexpr (std::is_same_v<T, std::string>) return found->is_string() ? found->get<T>() : otherwise;
  if constexpr (!std::is_same_v<T, std::string>) {
    const bool fits =
        found->is_number() && std::abs(found->get<double>()) < static_cast<double>(std::numeric_limits<T>::max());
    return fits ? found->get<T>() : otherwise;
  }
}

/// An object as json_line() writes it; other entries of metadata are left out.
std::vector<Detection> objects_of(const Json& metadata, const Place& place) {
  std::vector<Detection> objects;
  for (std::size_t i = 0; i < list_of(metadata, place).size(); ++i) {
    const Json& entry = metadata[i];
    if (!entry.is_object() || value_or<std::string>(entry, "kind", "") != "detection") continue;
    if (!entry.contains("box")) (place / i).refuse("has no box");
    objects.push_back({box_of(entry["box"], place / i / "box"), value_or<std::string>(entry, "label", ""),
                       value_or(entry, "label_id", -1), value_or(entry, "score", 1.0f),
                       value_or(entry, "track_id", std::int64_t{-1})});
  }
  return objects;
}

}  // namespace

Regions::Regions(const Parameters& given)
    : owner_(given.owner()),
      are_fractions_(given.text("units") == "fractions"),
      by_order_(given.text("match") != "time"),
      loops_(given.text("match") == "loop"),
      within_s_(given.number("within_s")) {
  read_boxes(given.text("boxes"));
  if (!given.text("file").empty()) read_lines(given.text("file"));
  if (regions_.empty() && lines_.empty())
    throw Error(Code::kInvalidArgument, owner_ + ": there are no regions; give them in 'boxes' or 'file'");
}

void Regions::read_boxes(const std::string& text) {
  const Place place{owner_ + ": parameter 'boxes'"};
  if (text.empty()) return;
  const Json list = parse_json(text, place, "a list of regions: [{\"box\": [0,0,640,360], \"label\": \"gate\"}]");
  for (std::size_t i = 0; i < list_of(list, place).size(); ++i) {
    Region region;
    region.object.score = 1;
    bool has_box = false;
    const auto seconds = [](double& to) {
      return [&to](const Json& v, const Place& p) { to = number_of(v, p, 0, 1e9); };
    };
    read_object(list[i], place / i,
                {{"box", [&](const Json& v, const Place& p) { region.object.box = box_of(v, p), has_box = true; }},
                 {"label", [&](const Json& v, const Place& p) { region.object.label = text_of(v, p); }},
                 {"from_s", seconds(region.from_s)},
                 {"to_s", seconds(region.to_s)}});
    if (region.to_s <= region.from_s) (place / i).refuse("is in no frame: 'to_s' must be greater than 'from_s'");
    if (!has_box) (place / i).refuse("has no box");
    regions_.push_back(std::move(region));
  }
}

void Regions::read_lines(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw cannot_read(owner_ + ": file \"" + path + "\"");
  std::size_t objects = 0, number = 0;
  for (std::string text; std::getline(file, text);) {
    ++number;
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
    const Place place{owner_ + ": file \"" + path + "\", line " + std::to_string(number)};
    const Json one = parse_json(text, place, "a line of the element 'json'");
    if (!one.is_object() || !one.contains("metadata"))
      place.refuse("is no line of the element 'json': it has no metadata");
    Line line{value_or(one, "timestamp_ns", kNoTimestamp), value_or(one, "width", 0.0), value_or(one, "height", 0.0),
              objects_of(one["metadata"], place / "metadata")};
    if (!by_order_ && line.time_ns == kNoTimestamp)
      place.refuse("has no timestamp_ns; match=order takes lines in their order");
    objects += line.objects.size();
    if (number > kMostLines || objects > kMostObjects)
      place.refuse("is too much: the file has too many lines or objects");
    lines_.push_back(std::move(line));
  }
  const auto is_earlier = [](const Line& a, const Line& b) { return a.time_ns < b.time_ns; };
  if (!by_order_) std::stable_sort(lines_.begin(), lines_.end(), is_earlier);
}

StreamInfo Regions::open(std::uint32_t, const StreamInfo& in) {
  next_ = 0;
  return in;
}

/// The line for a frame of that time; null: there is none.
const Regions::Line* Regions::line_for(std::int64_t time_ns) {
  if (by_order_) {
    if (next_ == lines_.size() && loops_) next_ = 0;
    return next_ == lines_.size() ? nullptr : &lines_[next_++];
  }
  if (time_ns == kNoTimestamp) return nullptr;
  const auto after = std::lower_bound(lines_.begin(), lines_.end(), time_ns,
                                      [](const Line& line, std::int64_t value) { return line.time_ns < value; });
  const auto off_s = [&](const Line& line) {
    return std::abs(static_cast<double>(line.time_ns) - static_cast<double>(time_ns)) * 1e-9;
  };
  const Line* nearest = after == lines_.end() ? nullptr : &*after;
  if (after != lines_.begin() && (!nearest || off_s(*std::prev(after)) < off_s(*nearest))) nearest = &*std::prev(after);
  return nearest && off_s(*nearest) <= within_s_ ? nearest : nullptr;
}

/// Adds the object, as far as it lies in the picture.
void Regions::add(Frame& frame, const Detection& object, double by_x, double by_y) {
  const auto width = static_cast<float>(frame.info().upright_width_px());
  const auto height = static_cast<float>(frame.info().upright_height_px());
  const auto scaled = [](float value, double by, float most) {
    return std::clamp(static_cast<float>(static_cast<double>(value) * by), 0.0f, most);
  };
  Detection placed = object;
  placed.box = {scaled(object.box.x1, by_x, width), scaled(object.box.y1, by_y, height),
                scaled(object.box.x2, by_x, width), scaled(object.box.y2, by_y, height)};
  if (placed.box.x2 > placed.box.x1 && placed.box.y2 > placed.box.y1) metadata::of(frame).add(std::move(placed));
}

void Regions::process(std::uint32_t, Frame& frame) {
  const std::int64_t time_ns = frame.timestamp_ns();
  const double width = frame.info().upright_width_px(), height = frame.info().upright_height_px();
  const double seconds = time_ns == kNoTimestamp ? 0 : static_cast<double>(time_ns) * 1e-9;
  for (const Region& region : regions_)
    if (seconds >= region.from_s && seconds < region.to_s)
      add(frame, region.object, are_fractions_ ? width : 1, are_fractions_ ? height : 1);
  if (lines_.empty()) return;
  const Line* const line = line_for(time_ns);
  if (!line) return;
  for (const Detection& object : line->objects)
    add(frame, object, line->width > 0 ? width / line->width : 1, line->height > 0 ? height / line->height : 1);
}

KnownElement Regions::element() {
  Description made;
  made.name = "regions";
  made.about =
      "Adds objects to frames that no model found: fixed ones, or those of a file that the element json wrote, by time";
  made.role = Role::kTransformInplace;
  made.parameters = {
      {"boxes", "Regions as JSON: [{\"box\": [0,0,640,360], \"label\": \"gate\", \"from_s\": 0, \"to_s\": 10}]",
       std::string("[]")},
      choice("units", "Units of boxes: pixels of the upright picture, or fractions of its size", "pixels",
             {"pixels", "fractions"}),
      {"file", "File of lines as the element json writes them; their objects are added", std::string()},
      choice("match",
             "The line for a frame: the nearest by time; the next one (order), also again from the first (loop)",
             "time", {"time", "order", "loop"}),
      {"within_s", "For match=time: lines that are further away in seconds are not for the frame", 0.02, false, 0,
       1e9}};
  made.files = [](const Parameters& given, const Environment&) {
    ElementFiles files;
    if (!given.text("file").empty()) files.read.push_back(given.text("file"));
    return files;
  };
  return {made,
          [](const Parameters& given, const Environment&) -> AnyElement { return std::make_unique<Regions>(given); }};
}

}  // namespace analysis
}  // namespace elements
}  // namespace v1
}  // namespace tenon
