// SPDX-License-Identifier: Apache-2.0
// The objects in a video, as in models/demo.json.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/vision/average_precision.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

struct GroundTruth {
  std::size_t width = 0, height = 0;
  double fps = 0;
  std::vector<std::string> labels;
  /// By frame index; label ids are positions in `labels`.
  std::vector<std::vector<Truth>> frames;
};

/// Reads {"video": {"width", "height", "fps", "frames"}, "labels": [..], "frames": [{"index": i, "objects": [{"label":
/// "..", "box": [x1, y1, x2, y2], "difficult": bool, "id": n}]}]}. Frames that are not listed have no objects; difficult is
/// false and id -1 if missing; other keys are ignored.
/// @param origin  Names the text in messages: a file name.
/// @errors kInvalidArgument: not of that form; the message says where ("frames[3].objects[0].box").
TENON_API GroundTruth parse_ground_truth(std::string_view json, const std::string& origin = "ground truth");

/// Does the same with a file. @errors kNotFound: the file cannot be read.
TENON_API GroundTruth read_ground_truth(const std::string& path);

}  // namespace vision
}  // namespace v1
}  // namespace tenon
