// SPDX-License-Identifier: Apache-2.0
// The elements of this module.
#include <tenon/elements/analysis/elements.hpp>

#include <tenon/elements/analysis/analytics.hpp>
#include <tenon/elements/analysis/regions.hpp>
#include <tenon/elements/analysis/track.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace analysis {

std::vector<KnownElement> elements() {
  return {
      Analytics::element(),
      Regions::element(),
      {{"track",
        "Gives objects ids that they keep from frame to frame (Kalman filter, Hungarian assignment by overlap), and "
        "places in "
        "frames that the model left out (infer interval=2)",
        Role::kTransformInplace,
        {{"iou", "Minimum overlap (IoU) with the place where an object is expected", 0.2, false, 0, 1},
         {"confidence", "Minimum score for an object to get a new id; weaker objects only keep theirs", 0.5, false, 0,
          1},
         {"keep", "Frames for which a missing object keeps its id", std::int64_t{30}, false, 0, 1e6},
         {"confirm",
          "Consecutive frames, of those that a model looked at, in which an object must be found before it gets an id",
          std::int64_t{1}, false, 1, 1e6},
         {"across_labels", "Lets an object change its label and keep its id", false}}},
       [](const Parameters& given, const Environment&) -> AnyElement { return std::make_unique<Track>(given); }}};
}

}  // namespace analysis
}  // namespace elements
}  // namespace v1
}  // namespace tenon
