// SPDX-License-Identifier: Apache-2.0
// The elements of this module.
#include <tenon/elements/analysis/elements.hpp>

#include <tenon/elements/analysis/analytics.hpp>
#include <tenon/elements/analysis/known.hpp>
#include <tenon/elements/analysis/regions.hpp>
#include <tenon/elements/analysis/track.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace analysis {

namespace {

std::vector<Parameter> track_parameters() {
  return {
      {"iou", "Minimum overlap (IoU) with the place where an object is expected", 0.2, false, 0, 1},
      {"confidence", "Minimum score for an object to get a new id; weaker objects only keep theirs", 0.5, false, 0, 1},
      {"keep", "Frames for which a missing object keeps its id", std::int64_t{30}, false, 0, 1e6},
      {"confirm",
       "Consecutive frames, of those that a model looked at, in which an object must be found before it gets an id",
       std::int64_t{1}, false, 1, 1e6},
      {"across_labels", "Lets an object change its label and keep its id", false},
      {"labels", "Only objects with these labels get ids, separated by commas; empty: all", std::string()},
      {"max_objects", "Most objects that are followed at once, missing ones included; 0: all", std::int64_t{0}, false,
       0, 1e6},
      {"appearance", "Objects are also compared by the embeddings that a model for re-identification has added to them",
       false},
      {"raw_embeddings",
       "For appearance: outputs of a model that nothing has decoded, [d], [1,d] or [1,d,1,1] of f32, are embeddings, "
       "too",
       false},
      {"appearance_threshold", "Maximum distance of the embeddings of one object: half of one minus their cosine", 0.25,
       false, 0, 1},
      {"appearance_overlap", "Minimum overlap (IoU) at which the embeddings of objects seen in sequence count", 0.5,
       false, 0, 1},
      {"appearance_reach",
       "How far a missing object may have gone to be known by its embedding, in its own heights; 0: anywhere", 0.0,
       false, 0, 1e6},
      {"appearance_momentum", "How much of an object's old embedding stays when it is found again", 0.9, false, 0, 1},
      {"appearance_keep", "Frames beyond keep for which a missing object is known again by its embedding alone",
       std::int64_t{0}, false, 0, 1e6},
      {"gallery",
       "Ids are those over all cameras whose trackers have the same name here: an object that another one has seen is "
       "known by its embedding, and has no id before its first; empty: each stream has ids of its own",
       std::string()},
      {"gallery_threshold", "Maximum distance of the embeddings of one object in two cameras", 0.15, false, 0, 1},
      {"gallery_keep_s", "Seconds for which an object is known after it was seen last", 300.0, false, 0, 1e6},
      {"camera_motion", "Moves what is known of objects as the camera moves, by blocks of luma from frame to frame",
       false}};
}

}  // namespace

std::vector<KnownElement> elements() {
  return {
      Analytics::element(),
      motion(),
      Regions::element(),
      {{"track",
        "Gives objects ids that they keep from frame to frame (Kalman filter, Hungarian assignment by overlap), and "
        "places in "
        "frames that the model left out (infer interval=2)",
        Role::kTransformInplace, track_parameters()},
       [](const Parameters& given, const Environment& environment) -> AnyElement {
         return std::make_unique<Track>(given, environment);
       }}};
}

}  // namespace analysis
}  // namespace elements
}  // namespace v1
}  // namespace tenon
