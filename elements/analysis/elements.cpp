// SPDX-License-Identifier: Apache-2.0
// What track can be told.
#include <tenon/elements/analysis/elements.hpp>

#include <tenon/elements/analysis/track.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace analysis {

std::vector<KnownElement> elements() {
  return {
      {{"track",
        "Gives objects ids that they keep from frame to frame (Kalman filter, Hungarian assignment by overlap)",
        Role::kTransformInplace,
        {{"iou", "Least overlap with the place where an object is expected", 0.3, false, 0, 1},
         {"confidence", "Scores from which an object may get an id; weaker ones only keep theirs", 0.5, false, 0, 1},
         {"keep", "Frames for which an object may be missing and keeps its id", std::int64_t{30}, false, 0, 1e6},
         {"confirm", "Frames in sequence in which an object must be found before it gets an id", std::int64_t{1}, false,
          1, 1e6},
         {"across_labels", "An object may change its label", false}}},
       [](const Parameters& given, const Environment&) -> AnyElement { return std::make_unique<Track>(given); }}};
}

}  // namespace analysis
}  // namespace elements
}  // namespace v1
}  // namespace tenon
