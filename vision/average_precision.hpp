// SPDX-License-Identifier: Apache-2.0
// Mean average precision as in VOC: the area under the precision envelope at all points.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/vision/detection.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

/// An object in the picture. A difficult one counts neither when found nor when missed.
struct Truth {
  Box box;
  int label_id = 0;
  bool difficult = false;
  std::int64_t id = -1;  ///< The same object in other pictures; -1: not known.
};

struct LabelPrecision {
  int label_id = 0;
  std::size_t objects = 0;  ///< The number of objects that are not marked as difficult.
  std::size_t detections = 0;
  double ap50 = 0;  ///< At an overlap of 0.5.
  double ap = 0;    ///< Mean over overlaps 0.5, 0.55 ... 0.95.
};

struct MeanPrecision {
  double map50 = 0, map = 0;           ///< Means over the labels that have objects; 0 if none has.
  std::vector<LabelPrecision> labels;  ///< Those labels, ascending.
};

/// Collects pictures, then evaluates them all. A detection belongs to the object of its label and picture that it
/// overlaps most; it is correct if the overlap reaches the threshold and no better-scored one has taken the object.
/// Equal scores rank in the order in which they were added.
/// @source PASCAL VOC 2010 development kit, section 3.4; overlaps as COCO averages them.
class TENON_API PrecisionMeter {
 public:
  /// Detections whose score is not finite are ignored.
  void add(std::span<const Detection> detections, std::span<const Truth> truths);
  std::size_t pictures() const { return pictures_; }
  /// @cost n log n in the detections.
  MeanPrecision result() const;

 private:
  struct Entry {
    int label_id;
    float score;
    float overlap;
    std::int64_t truth;  ///< Index over all truths; -1: overlaps none.
  };
  std::vector<Entry> entries_;
  std::vector<Truth> truths_;
  std::size_t pictures_ = 0;
};

}  // namespace vision
}  // namespace v1
}  // namespace tenon
