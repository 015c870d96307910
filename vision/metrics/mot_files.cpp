// SPDX-License-Identifier: Apache-2.0
// Reads MOTChallenge's text files, and applies its rules.
#include <tenon/vision/mot_files.hpp>

#include <algorithm>
#include <cmath>
#include <map>

#include <tenon/core/error.hpp>
#include <tenon/vision/internal/text_lines.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

/// Nine hours at 30 frames a second; more means a damaged file.
constexpr std::int64_t kMostFrames = 1'000'000;

std::vector<CocoBox> boxes_of(const std::vector<MotBox>& all) {
  std::vector<CocoBox> boxes;
  for (const MotBox& one : all) boxes.push_back(one.tracked.box);
  return boxes;
}

bool is_one_of(int value, const std::vector<int>& all) { return std::find(all.begin(), all.end(), value) != all.end(); }

}  // namespace

MotTracks parse_mot(std::string_view text, const std::string& origin, std::size_t most_frames) {
  MotTracks tracks;
  tracks.frames.resize(most_frames);
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> known;
  for (const NumberLine& line : number_lines(text, origin)) {
    if (line.size() < 6)
      line.refuse("expected \"frame,id,left,top,width,height\" and perhaps confidence and class, found " +
                  std::to_string(line.size()) + " numbers");
    const std::int64_t frame = line.whole(0, "the frame", 1), id = line.whole(1, "the id", 0);
    const std::int64_t most = most_frames ? static_cast<std::int64_t>(most_frames) : kMostFrames;
    if (frame > most)
      line.refuse("the frame " + std::to_string(frame) + " is beyond the last one, " + std::to_string(most));
    if (const auto [before, is_new] = known.try_emplace({frame, id}, line.place()); !is_new)
      line.refuse("the id " + std::to_string(id) + " is in frame " + std::to_string(frame) + " already (" +
                  before->second + ")");
    if (line[4] < 0 || line[5] < 0) line.refuse("width and height must be 0 or more");
    MotBox box{{id, {line[2], line[3], line[4], line[5]}}};
    if (line.size() > 6) box.confidence = line[6];
    if (line.size() > 7)
      box.class_id = static_cast<int>(std::min<std::int64_t>(line.whole(7, "the class", -1), INT32_MAX));
    tracks.has_classes |= box.class_id > 0;
    if (tracks.frames.size() < static_cast<std::size_t>(frame)) tracks.frames.resize(static_cast<std::size_t>(frame));
    tracks.frames[static_cast<std::size_t>(frame) - 1].push_back(box);
  }
  return tracks;
}

std::size_t add_tracks(TrackingMeter& meter, const MotTracks& truth, const MotTracks& found, const MotRules& rules) {
  static const std::vector<MotBox> kNone;
  std::size_t others = 0;
  for (std::size_t frame = 0; frame < std::max(truth.frames.size(), found.frames.size()); ++frame) {
    const std::vector<MotBox>& known = frame < truth.frames.size() ? truth.frames[frame] : kNone;
    std::vector<MotBox> seen = frame < found.frames.size() ? found.frames[frame] : kNone;
    if (truth.has_classes) {
      const auto is_other = [&](const MotBox& one) { return one.class_id > 0 && one.class_id != rules.class_id; };
      others += static_cast<std::size_t>(std::count_if(seen.begin(), seen.end(), is_other));
      seen.erase(std::remove_if(seen.begin(), seen.end(), is_other), seen.end());
      const auto pairs = pair_boxes(boxes_of(known), boxes_of(seen), 0.5);
      std::vector<bool> is_removed(seen.size());
      for (std::size_t i = 0; i < known.size(); ++i)
        if (pairs[i] != SIZE_MAX && is_one_of(known[i].class_id, rules.distractors)) is_removed[pairs[i]] = true;
      std::size_t kept = 0;
      for (std::size_t i = 0; i < seen.size(); ++i)
        if (!is_removed[i]) seen[kept++] = seen[i];
      seen.resize(kept);
    }
    std::vector<TrackedBox> objects, tracked;
    for (const MotBox& one : known)
      if (std::trunc(one.confidence) != 0 && (!truth.has_classes || one.class_id == rules.class_id))
        objects.push_back(one.tracked);
    for (const MotBox& one : seen) tracked.push_back(one.tracked);
    meter.add(objects, tracked);
  }
  return others;
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
