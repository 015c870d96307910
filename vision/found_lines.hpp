// SPDX-License-Identifier: Apache-2.0
// The objects in the lines that the element "json" of pipelines writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/vision/detection.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

struct FoundObject {
  Detection detection;
  std::int64_t track_id = -1;  ///< -1: not tracked.
};

/// Reads lines {"stream": 0, ..., "metadata": [{"kind": "detection", "box": [x1, y1, x2, y2], "label", "score", "track_id"}, ...]}, as json_line()
/// writes them: a line for each frame, also for those in which nothing was found. Metadata of other kinds are left out.
/// @param stream  Lines of other streams are left out.
/// @return By frames, in the order of the lines.
/// @errors kInvalidArgument: not of that form, with file, line and place.
TENON_API std::vector<std::vector<FoundObject>> parse_found_lines(std::string_view text, const std::string& origin,
                                                                  std::uint64_t stream = 0);

}  // namespace vision
}  // namespace v1
}  // namespace tenon
