// SPDX-License-Identifier: Apache-2.0
// gvaattachroi: adds a fixed region, those of a file that gvametaconvert's JSON was written to, or the whole frame.
#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <tenon/bindings/gstreamer/gva/gva.hpp>
#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {
namespace gst_plugin {
namespace gva {
namespace {

using Json = nlohmann::json;
using metadata::Detection;

/// An object of a file.
struct Region {
  Detection object;
  bool is_fraction = false;  ///< Its box is in fractions of the picture's size.
};

float number_at(const Json& object, const char* name, const std::string& place) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number())
    throw Error(Code::kInvalidArgument, place + ": " + name + " must be a number, and is " +
                                            (found == object.end() ? "absent" : std::string(found->type_name())));
  return found->get<float>();
}

Region region_of(const Json& value, const std::string& place) {
  if (!value.is_object())
    throw Error(Code::kInvalidArgument, place + " must be an object, and is " + value.type_name());
  Region region;
  const auto detection = value.find("detection");
  const bool has_detection = detection != value.end() && detection->is_object();
  if (has_detection) {
    region.object.score =
        detection->contains("confidence") ? number_at(*detection, "confidence", place + "/detection") : 0;
    if (detection->contains("label_id")) {
      const float id = number_at(*detection, "label_id", place + "/detection");
      if (!(id >= -1 && id <= 1e6f))
        throw Error(Code::kInvalidArgument,
                    place + "/detection: label_id must be from -1 to 1000000, and is " + std::to_string(id));
      region.object.label_id = static_cast<int>(id);
    }
    if (const auto label = detection->find("label"); label != detection->end() && label->is_string())
      region.object.label = label->get<std::string>();
  }
  if (has_detection && detection->contains("bounding_box")) {
    const Json& box = (*detection)["bounding_box"];
    const std::string where = place + "/detection/bounding_box";
    region.is_fraction = true;
    region.object.box = {number_at(box, "x_min", where), number_at(box, "y_min", where), number_at(box, "x_max", where),
                         number_at(box, "y_max", where)};
  } else {
    const float x = number_at(value, "x", place), y = number_at(value, "y", place);
    region.object.box = {x, y, x + number_at(value, "w", place), y + number_at(value, "h", place)};
  }
  const metadata::Box& box = region.object.box;
  if (!(box.x2 > box.x1) || !(box.y2 > box.y1)) throw Error(Code::kInvalidArgument, place + " has no area");
  return region;
}

class AttachRoi final : public elements::TransformInplace {
 public:
  AttachRoi(const Texts& given, std::string owner) : owner_(std::move(owner)) {
    const auto value = [&](const char* name) {
      const auto found = given.find(name);
      return found == given.end() ? std::string() : found->second;
    };
    by_time_ = value("mode") == "by-timestamp";
    loops_ = value("mode") == "in-loop";
    if (!value("roi").empty()) read_box(value("roi"));
    if (!value("file-path").empty()) read_file(value("file-path"));
    is_whole_frame_ = value("roi").empty() && value("file-path").empty();
  }

  elements::StreamInfo open(std::uint32_t, const elements::StreamInfo& in) override {
    next_ = 0;
    return in;
  }
  void process(std::uint32_t, Frame& frame) override {
    for (const Region& region : fixed_) add(frame, region);
    if (is_whole_frame_) add(frame, {{{0, 0, 1, 1}, ""}, true});
    if (const std::vector<Region>* const regions = regions_for(frame.timestamp_ns())) {
      for (const Region& region : *regions) add(frame, region);
    }
  }

 private:
  void read_box(const std::string& text) {
    const std::vector<std::string> parts = parts_of(text, ',');
    const std::string what = owner_ + ": roi \"" + text + "\"";
    if (parts.size() != 4) throw Error(Code::kInvalidArgument, what + " is not X1,Y1,X2,Y2");
    std::array<float, 4> at{};
    for (std::size_t i = 0; i < 4; ++i) at[i] = static_cast<float>(number_of(parts[i], what, 0, 1e9));
    if (!(at[2] > at[0]) || !(at[3] > at[1]))
      throw Error(Code::kInvalidArgument, what + " has no area: X2 must be more than X1, Y2 more than Y1");
    fixed_.push_back({{{at[0], at[1], at[2], at[3]}, ""}, false});
  }

  /// The elements of an array, or lines: gvametapublish writes both.
  void read_file(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw Error(Code::kNotFound, owner_ + ": file-path \"" + path + "\" cannot be read");
    const std::string what = owner_ + ": file-path \"" + path + "\"";
    std::vector<Json> frames;
    file >> std::ws;
    if (file.peek() == '[') {
      const Json all = Json::parse(file, nullptr, false);
      if (!all.is_array()) throw Error(Code::kInvalidArgument, what + " is no JSON array");
      frames.assign(all.begin(), all.end());
    } else {
      for (std::string line; std::getline(file, line);) {
        if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
        frames.push_back(Json::parse(line, nullptr, false));
      }
    }
    for (std::size_t i = 0; i < frames.size(); ++i) read_frame(frames[i], what + ": /" + std::to_string(i));
  }

  void read_frame(const Json& frame, const std::string& place) {
    if (!frame.is_object()) throw Error(Code::kInvalidArgument, place + " is no JSON object");
    if (by_time_) {
      const auto time = frame.find("timestamp");
      if (time == frame.end() || !time->is_number_integer())
        throw Error(Code::kInvalidArgument, place + " has no timestamp, which mode=by-timestamp needs");
      by_timestamp_.emplace(time->get<std::int64_t>(), frames_.size());
    }
    std::vector<Region>& regions = frames_.emplace_back();
    const auto objects = frame.find("objects");
    if (objects == frame.end() || !objects->is_array()) return;
    for (std::size_t i = 0; i < objects->size(); ++i)
      regions.push_back(region_of((*objects)[i], place + "/objects/" + std::to_string(i)));
  }

  const std::vector<Region>* regions_for(std::int64_t time_ns) {
    if (by_time_) {
      const auto found = by_timestamp_.find(time_ns);
      return found == by_timestamp_.end() ? nullptr : &frames_[found->second];
    }
    if (next_ == frames_.size() && loops_) next_ = 0;
    return next_ == frames_.size() ? nullptr : &frames_[next_++];
  }

  static void add(Frame& frame, Region region) {
    const auto width = static_cast<float>(frame.info().upright_width_px());
    const auto height = static_cast<float>(frame.info().upright_height_px());
    metadata::Box& box = region.object.box;
    const float by_x = region.is_fraction ? width : 1, by_y = region.is_fraction ? height : 1;
    box = {std::min(box.x1 * by_x, width), std::min(box.y1 * by_y, height), std::min(box.x2 * by_x, width),
           std::min(box.y2 * by_y, height)};
    if (box.x2 > box.x1 && box.y2 > box.y1) metadata::of(frame).add(std::move(region.object));
  }

  const std::string owner_;
  bool by_time_ = false, loops_ = false, is_whole_frame_ = false;
  std::vector<Region> fixed_;
  std::vector<std::vector<Region>> frames_;  ///< The regions of each frame in the file.
  std::unordered_map<std::int64_t, std::size_t> by_timestamp_;
  std::size_t next_ = 0;
};

}  // namespace

elements::AnyElement make_regions(const Texts& given, const elements::Environment& environment) {
  return std::make_unique<AttachRoi>(given, "element '" + environment.name + "' (gvaattachroi)");
}

}  // namespace gva
}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon
