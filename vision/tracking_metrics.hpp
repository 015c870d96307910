// SPDX-License-Identifier: Apache-2.0
// How well tracks follow objects: HOTA, CLEAR MOT, identity.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/vision/coco_metrics.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

/// An object, or a tracked one, in a picture.
struct TrackedBox {
  std::int64_t id = 0;
  CocoBox box;
};

/// What is counted, of one sequence or summed over several. The figures are computed from sums, as TrackEval's "COMBINED" row is.
struct TENON_API TrackingCounts {
  static constexpr std::size_t kOverlaps = 19;  ///< 0.05, 0.10 ... 0.95.

  std::uint64_t pictures = 0, objects = 0, object_ids = 0, found = 0, found_ids = 0;
  /// By overlap: pairs of an object and a found one; the sums over these pairs of how well both ids belong together, and of their overlaps.
  std::array<std::uint64_t, kOverlaps> pairs{};
  std::array<double, kOverlaps> association{}, association_recall{}, association_precision{}, overlaps{};
  /// At an overlap of 0.5: pairs, the sum of their overlaps, pairs whose object had another id before, interruptions of tracks.
  std::uint64_t clear_pairs = 0, switches = 0, fragments = 0;
  double clear_overlaps = 0;
  /// Objects tracked in more than 80%, in 20% to 80%, in less of the pictures that they are in.
  std::uint64_t mostly_tracked = 0, partly_tracked = 0, mostly_lost = 0;
  /// Pairs if each object's id is paired with one found id over the whole sequence.
  std::uint64_t identity_pairs = 0;

  TrackingCounts& operator+=(const TrackingCounts& other);

  // Means over the overlaps, 0..1.
  double hota() const;
  double det_a() const;
  double ass_a() const;
  double loc_a() const;
  double det_recall() const;
  double det_precision() const;
  double ass_recall() const;
  double ass_precision() const;
  /// @param overlap  Its index: hota_at(9) is at an overlap of 0.5.
  double hota_at(std::size_t overlap) const;
  // At an overlap of 0.5.
  double mota() const;  ///< 1 at best; below 0 if more is wrong than there are objects.
  double motp() const;
  double idf1() const;
  double id_recall() const;
  double id_precision() const;
  std::uint64_t missed() const { return objects - clear_pairs; }
  std::uint64_t wrong() const { return found - clear_pairs; }
};

/// Collects the pictures of one sequence in their order, with all objects of one class, then evaluates them.
/// The figures are TrackEval's (1.3.0).
/// @source J. Luiten et al., HOTA (2020); K. Bernardin and R. Stiefelhagen, CLEAR MOT (2008); E. Ristani et al., Performance Measures and a
///         Data Set for Multi-Target, Multi-Camera Tracking (2016).
/// @thread one at a time.
class TENON_API TrackingMeter {
 public:
  /// Adds the next picture. Ids are unique in it, on each side. @cost objects times found ones, in time and memory.
  /// @errors kInvalidArgument: an id occurs twice.
  void add(std::span<const TrackedBox> objects, std::span<const TrackedBox> found);
  /// @cost For each picture an assignment for CLEAR and one for HOTA; one of all ids.
  /// @errors kResourceExhausted: so many ids on both sides that a table of their pairs is too large.
  TrackingCounts result() const;

 private:
  struct Picture {
    std::vector<std::size_t> objects, found;  ///< Ids as numbers from 0 on.
    std::vector<double> overlaps;             ///< objects * found
  };
  void count_hota(TrackingCounts& counts) const;
  void count_clear(TrackingCounts& counts) const;
  void count_identity(TrackingCounts& counts) const;

  std::vector<Picture> pictures_;
  std::map<std::int64_t, std::size_t> object_numbers_, found_numbers_;
};

/// Intersection over union; 0 for boxes without area, and for boxes whose area is not finite.
TENON_API double overlap_of(const CocoBox& a, const CocoBox& b);

/// Pairs the boxes of two lists such that the sum of their overlaps is the largest, where only pairs of at least `least` count.
/// @return For each of `objects` the index of its partner, or SIZE_MAX.
TENON_API std::vector<std::size_t> pair_boxes(std::span<const CocoBox> objects, std::span<const CocoBox> found,
                                              double least);

}  // namespace vision
}  // namespace v1
}  // namespace tenon
