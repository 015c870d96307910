// SPDX-License-Identifier: Apache-2.0
// Reads ground truth.
#include <tenon/vision/ground_truth.hpp>

#include <algorithm>

#include <tenon/core/error.hpp>
#include <tenon/core/mapped_file.hpp>
#include <tenon/vision/internal/json_place.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

using nlohmann::json;

/// Nine hours at 30 frames a second; more means a damaged file.
constexpr std::size_t kMaxFrames = 1'000'000;
constexpr std::size_t kMaxIds = 1'000'000'000;

Truth read_object(const Place& object, const std::vector<std::string>& labels) {
  Truth truth;
  const Place label = object.at("label");
  const auto known = std::find(labels.begin(), labels.end(), label.text());
  if (known == labels.end()) label.refuse("one of \"labels\"");
  truth.label_id = static_cast<int>(known - labels.begin());
  const Place place = object.at("box");
  const auto corners = place.items();
  if (corners.size() != 4) place.refuse("[x1, y1, x2, y2]");
  const auto corner = [&](std::size_t i) { return static_cast<float>(corners[i].number()); };
  truth.box = {corner(0), corner(1), corner(2), corner(3)};
  if (!(truth.box.x2 >= truth.box.x1) || !(truth.box.y2 >= truth.box.y1))
    place.refuse("[x1, y1, x2, y2] with x2 >= x1 and y2 >= y1");
  truth.difficult = object.has("difficult") && object.at("difficult").flag();
  if (object.has("id")) truth.id = static_cast<std::int64_t>(object.at("id").count(kMaxIds));
  return truth;
}

}  // namespace

GroundTruth parse_ground_truth(std::string_view text, const std::string& origin) {
  const json document = parse_shallow(text, origin);
  const Place root(document, "", origin);
  GroundTruth truth;
  const Place video = root.at("video");
  truth.width = video.at("width").count(65536);
  truth.height = video.at("height").count(65536);
  truth.fps = video.at("fps").number();
  truth.frames.resize(video.at("frames").count(kMaxFrames));
  for (const Place& label : root.at("labels").items()) truth.labels.push_back(label.text());
  for (const Place& frame : root.at("frames").items()) {
    const Place index = frame.at("index");
    const std::size_t at = index.count(kMaxFrames);
    if (at >= truth.frames.size()) index.refuse("below video.frames, " + std::to_string(truth.frames.size()));
    for (const Place& object : frame.at("objects").items())
      truth.frames[at].push_back(read_object(object, truth.labels));
  }
  return truth;
}

GroundTruth read_ground_truth(const std::string& path) {
  const Tensor bytes =
      map_file(path);  // The file is opened as models are: a pipe or device is refused instead of waited for.
  if (bytes.size_bytes() == 0)
    throw Error(Code::kNotFound, "ground truth: \"" + path + "\" is empty; expected a JSON file like models/demo.json");
  return parse_ground_truth({static_cast<const char*>(bytes.data()), bytes.size_bytes()}, path);
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
