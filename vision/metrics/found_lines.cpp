// SPDX-License-Identifier: Apache-2.0
// Reads lines of JSON.
#include <tenon/vision/found_lines.hpp>

#include <algorithm>

#include <tenon/vision/internal/json_place.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

constexpr std::size_t kMostStreams = 1'000'000;

FoundObject read_found(const Place& entry) {
  const Place place = entry.at("box");
  const std::vector<Place> corners = place.items();
  if (corners.size() != 4) place.refuse("[x1, y1, x2, y2]");
  const auto corner = [&](std::size_t i) { return static_cast<float>(corners[i].number()); };
  FoundObject found;
  found.detection.box = {corner(0), corner(1), corner(2), corner(3)};
  found.detection.score = static_cast<float>(entry.at("score").number());
  if (entry.has("label")) found.detection.label = entry.at("label").text();
  if (entry.has("label_id")) found.detection.label_id = static_cast<int>(entry.at("label_id").whole());
  if (entry.has("track_id")) found.track_id = entry.at("track_id").whole();
  return found;
}

}  // namespace

std::vector<std::vector<FoundObject>> parse_found_lines(std::string_view text, const std::string& origin,
                                                        std::uint64_t stream) {
  std::vector<std::vector<FoundObject>> frames;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const std::string place = origin + ":" + std::to_string(number);
    const nlohmann::json document = parse_shallow(line, place);
    const Place root(document, "", place);
    if (root.has("stream") && root.at("stream").count(kMostStreams) != stream) continue;
    auto& frame = frames.emplace_back();
    for (const Place& entry : root.at("metadata").items())
      if (entry.at("kind").text() == "detection") frame.push_back(read_found(entry));
  }
  return frames;
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
