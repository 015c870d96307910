// SPDX-License-Identifier: Apache-2.0
// Follows objects from picture to picture.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tenon/core/export.hpp>
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
};

/// Gives detections the ids of their objects. A Kalman filter of constant velocity for centre, width and height of each
/// object says where it is expected; of all assignments of detections to objects, the one with the largest sum of overlaps is taken
/// (Hungarian algorithm), first for confident detections, then for weak ones and the objects seen in the last picture that are left.
/// Between the two, confident detections and objects seen in the last picture that are left are compared by where the object was:
/// one that turns fast is not where it is expected.
/// @source A. Bewley et al., Simple Online and Realtime Tracking (2016); Y. Zhang et al., ByteTrack (2022).
/// @thread one at a time. @cost n^2 m for n objects and m detections; allocates nothing once its vectors have grown.
class TENON_API Tracker {
 public:
  /// @errors kInvalidArgument: thresholds outside 0..1.
  explicit Tracker(const TrackerOptions& options = {});
  /// One id per detection of the next picture, valid until the next call; -1: none (yet). Ids begin at 1 and are never used
  /// again. Boxes that are not finite or have no area get none.
  std::span<const std::int64_t> update(std::span<const Detection> detections);
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
  void reset() { tracks_.clear(); }
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
    bool is_taken = false;
    Box expected() const;
    void predict();
    void correct(const Box& box);
  };

  void predict();
  /// @param by_expected  Compares with where objects are expected; else with where they were.
  void assign(std::span<const Detection> detections, bool by_expected);
  void solve(std::size_t rows, std::size_t columns);
  void begin(const Detection& detection, std::size_t index);
  void take(Track& track, const Detection& detection, std::size_t index);

  TrackerOptions options_;
  std::vector<Track> tracks_;
  std::int64_t last_id_ = 0;
  std::vector<std::int64_t> ids_;
  std::vector<Expected> expected_;
  std::vector<char> is_assigned_;            ///< Detections that continue a track.
  std::vector<std::size_t> rows_, columns_;  ///< Tracks and detections that are to be assigned.
  std::vector<double> costs_;
  std::vector<std::size_t> matches_;
  struct Scratch {
    std::vector<double> row_potential, column_potential, least;
    std::vector<std::size_t> row_of, way;
    std::vector<char> is_used;
  } scratch_;
};

}  // namespace vision
}  // namespace v1
}  // namespace tenon
