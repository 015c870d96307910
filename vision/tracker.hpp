// SPDX-License-Identifier: Apache-2.0
// Follows objects from picture to picture.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/vision/assignment.hpp>
#include <tenon/vision/camera_motion.hpp>
#include <tenon/vision/detection.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

struct TrackerOptions {
  /// The minimum overlap of a detection with the place where its object is expected. The default is ByteTrack's.
  float iou_threshold = 0.2f;
  /// The minimum score of a detection that begins a track. Weaker ones only continue one.
  float confidence_threshold = 0.5f;
  /// Pictures for which an object may be missing and still keeps its id.
  std::uint32_t keep_pictures = 30;
  /// Consecutive pictures, of those that were looked at, that an object must be found in before it gets an id.
  std::uint32_t confirm_pictures = 1;
  /// An object may change its label. Otherwise labels are tracked apart.
  bool across_labels = false;
  /// The most objects that are known at once, missing ones included: detections beyond it begin no track. 0: any number.
  std::uint32_t max_objects = 0;
  // Objects with features (Appearance).
  /// The maximum distance of the features of one object: half of one minus their cosine, 0..1.
  float appearance_threshold = 0.25f;
  /// The minimum overlap of objects that are seen in sequence for their features to count.
  float appearance_overlap = 0.5f;
  /// How far from where it was expected or found last a missing object may be found by its features alone, in its own heights; 0:
  /// anywhere.
  float appearance_reach = 0;
  /// How much of an object's old features stays when it is found again, 0..1.
  float appearance_momentum = 0.9f;
  /// Pictures beyond keep_pictures for which a missing object is known again by its features alone (within appearance_reach).
  std::uint32_t appearance_keep_pictures = 0;
};

/// What the detections of a picture look like, as a model for re-identification says: one row of `length` numbers for each. A row of
/// zeros, or with something that is no number, says nothing.
struct Appearance {
  std::span<const float> rows;
  std::size_t length = 0;
};

/// Gives detections the ids of their objects. A Kalman filter of constant velocity for centre, width and height of each
/// object says where it is expected; of all assignments of detections to objects, the one with the largest sum of overlaps is taken
/// (Hungarian algorithm), first for confident detections, then for weak ones and the objects seen in the last picture that are left.
/// Between the two, confident detections and objects seen in the last picture that are left are compared by where the object was:
/// one that turns fast is not where it is expected.
///
/// With features an object counts as overlapping by 1 - d where the distance d of its features is small and boxes overlap enough, and
/// an object that was missing is found by its features alone, also where no box overlaps. An object's features are an exponential
/// average of those of its confident detections.
/// @source A. Bewley et al., Simple Online and Realtime Tracking (2016); Y. Zhang et al., ByteTrack (2022); N. Aharon et al.,
/// BoT-SORT (2022), for features (the defaults are its own) and the motion of the camera.
/// @thread one at a time. @cost that of the assignment within groups of objects that overlap each other's detections, so about n log n for n
/// objects that are apart; with features n m comparisons for n missing objects and m new detections. The assignment within a group of some
/// hundreds that all overlap is best first instead of the best sum. Allocates nothing once its vectors have grown.
class TENON_API Tracker {
 public:
  /// @errors kInvalidArgument: thresholds or a momentum outside 0..1, a reach below 0.
  explicit Tracker(const TrackerOptions& options = {});
  /// One id per detection of the next picture, valid until the next call; -1: none (yet). Ids begin at 1 and are never used
  /// again. Boxes that are not finite or have no area get none.
  /// @param appearance  Rows in the order of the detections, or none. Features of another length than before replace all that is known.
  /// @errors kInvalidArgument: not one row per detection.
  std::span<const std::int64_t> update(std::span<const Detection> detections, const Appearance& appearance = {});
  /// The camera has moved since the last picture: moves all that is known of objects. Call it before update() or skip().
  void camera_moved(const CameraChange& change);
  /// An object where it is expected, with the score of its last detection.
  struct Expected {
    std::int64_t id = -1;
    Box box;
    int label_id = 0;
    float score = 0;
  };
  /// The next picture, which no detector looked at: nothing counts as missing. Gives the objects with an id that the last picture looked
  /// at had, in order of their ids; valid until the next call.
  std::span<const Expected> skip();
  /// Forgets all objects; ids go on.
  void reset();
  /// Objects that it knows, missing ones included.
  std::size_t size() const { return tracks_.size(); }

 private:
  /// Position and velocity, pixels and pixels per picture, and their covariance.
  struct Axis {
    double position = 0, velocity = 0;
    std::array<double, 3>
        covariance{};  ///< The variance of the position, the covariance of both, the variance of the velocity.
    void start(double value, double position_noise, double velocity_noise);
    void predict(double position_noise, double velocity_noise);
    void correct(double value, double noise);
  };
  struct Track {
    std::array<Axis, 4> axes;  ///< Centre x and y, width, height.
    int label_id = 0;
    std::int64_t id = -1;
    std::uint32_t found = 0, missing = 0;  ///< Pictures in sequence, of those that were looked at.
    float score = 0;
    Box seen;  ///< Where it was found last.
    bool is_taken = false, is_over = false;
    std::size_t features = SIZE_MAX;  ///< Its row in features_, if it has one.
    Box expected() const;
    void start(const Box& box);
    void predict();
    void correct(const Box& box);
  };

  /// A track and a detection that may be the same object, as positions in rows_ and columns_.
  struct Pair {
    std::uint32_t row = 0, column = 0;
    float score = 0;
    std::uint32_t group = 0;
  };
  /// A track and the detection that continues it.
  struct Match {
    std::size_t track = 0, detection = 0;
  };

  void predict();
  void read(const Appearance& appearance, std::size_t detections);
  float distance(const Track& track, std::size_t detection) const;
  /// Fills pairs_ with what overlaps. @param by_expected  Compares with where objects are expected; else with where they were.
  void pair_by_overlap(std::span<const Detection> detections, bool by_expected);
  void pair_by_appearance(std::span<const Detection> detections);
  void group_pairs();
  void assign(std::span<const Detection> detections, bool by_appearance);
  void assign_group(std::span<Pair> pairs);
  void assign_best_first(std::span<Pair> pairs);
  void begin(const Detection& detection, std::size_t index);
  void take(Track& track, const Detection& detection, std::size_t index, bool by_appearance);
  void learn(Track& track, std::size_t detection);
  void forget_features(Track& track);

  TrackerOptions options_;
  std::vector<Track> tracks_;
  std::int64_t last_id_ = 0;
  std::vector<std::int64_t> ids_;
  std::vector<Expected> expected_;
  std::vector<char> is_assigned_;            ///< Detections that continue a track.
  std::vector<std::size_t> rows_, columns_;  ///< Tracks and detections that are to be assigned.
  std::vector<Pair> pairs_;
  std::vector<std::uint32_t> groups_;   ///< By row, then by column: a member of the same group, or itself.
  std::vector<std::uint32_t> by_left_;  ///< Columns in the order of their left edges.
  std::vector<std::uint32_t> places_;   ///< By row, then by column: its place in the group that is solved.
  std::vector<std::uint32_t> group_rows_, group_columns_;
  std::vector<Match> found_;
  std::vector<double> costs_;
  Assignment solver_;
  std::size_t length_ = 0;                  ///< The length of features.
  std::vector<float> features_;             ///< Rows of tracks, of length 1.
  std::vector<std::size_t> free_features_;  ///< Rows that no track has.
  std::vector<float> looks_;                ///< Rows of the detections, of length 1.
  std::vector<char> has_look_;
};

}  // namespace vision
}  // namespace v1
}  // namespace tenon
