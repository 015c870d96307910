// SPDX-License-Identifier: Apache-2.0
// Tracks of objects in a video, as MOTChallenge's text files have them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/vision/tracking_metrics.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

struct MotBox {
  TrackedBox tracked;
  double confidence =
      1;              ///< In ground truth 0: counts neither when found nor when missed, and nothing is removed for it.
  int class_id = -1;  ///< -1: not given.
};

/// By frames: frames[0] is the file's frame 1.
struct MotTracks {
  std::vector<std::vector<MotBox>> frames;
  bool has_classes = false;  ///< Some line names a class.
};

/// Reads lines "frame,id,left,top,width,height[,confidence[,class[,...]]]", frames from 1 on. Blanks may stand for the commas.
/// @param most_frames  A frame beyond is refused; 0: the file says how many there are.
/// @errors kInvalidArgument: a line is not of that form, or an id occurs twice in a frame; the message has file and line.
TENON_API MotTracks parse_mot(std::string_view text, const std::string& origin, std::size_t most_frames = 0);

struct MotRules {
  int class_id = 1;  ///< What is evaluated; in MOTChallenge 1 is a pedestrian.
  /// Found objects that overlap one of these classes by half or more, more than any other, are left out: in MOTChallenge persons on vehicles and
  /// at rest, distractors and reflections.
  std::vector<int> distractors = {2, 7, 8, 12};
};

/// Adds the frames to a meter by MOTChallenge's rules: objects of other classes and those of confidence 0 are left out, and what was found in
/// the place of a distractor. Without classes in `truth` (MOT15) all of its objects of another confidence than 0 count, and so do all that were found.
/// A frame that one side lacks has nothing there.
/// @return The number of found objects of classes other than rules.class_id: they are left out.
TENON_API std::size_t add_tracks(TrackingMeter& meter, const MotTracks& truth, const MotTracks& found,
                                 const MotRules& rules = {});

}  // namespace vision
}  // namespace v1
}  // namespace tenon
