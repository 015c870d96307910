// SPDX-License-Identifier: Apache-2.0
// Average precision and recall as COCO counts them, of boxes or of masks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/vision/mask_runs.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

/// A box as COCO's files have it: the corner at the top left, width and height, in pixels.
struct CocoBox {
  double x = 0, y = 0, width = 0, height = 0;
};

/// An object in a picture.
struct CocoTruth {
  int label_id = 0;
  CocoBox box;
  double area = 0;  ///< In pixels: decides whether it is small, medium or large.
  /// A region of many objects: each detection may lie in it without being counted, and it need not be found.
  bool is_crowd = false;
  /// Counts neither when found nor when missed, as one object.
  bool is_ignored = false;
  MaskRuns mask = {};  ///< For CocoMeter::Of::kMasks.
};

/// A detection.
struct CocoFound {
  int label_id = 0;
  CocoBox box;
  double score = 0;
  double area = 0;
  MaskRuns mask = {};
};

/// The figures of one label, or of all labels that have objects (their means). Nothing: there are no objects to find.
struct CocoFigures {
  std::optional<double> ap, ap50, ap75, ap_small, ap_medium, ap_large;
  std::optional<double> ar1, ar10, ar100, ar_small, ar_medium,
      ar_large;  ///< Recall with at most 1, 10, 100 detections of a picture.
};

struct CocoLabel {
  int label_id = 0;
  std::size_t objects = 0;     ///< To be found: without crowds and ignored ones.
  std::size_t detections = 0;  ///< At most 100 of a picture.
  CocoFigures figures;
  double recall50 = 0;  ///< The share of the objects that some detection overlaps by half or more.
  /// At an overlap of 0.5, the precision at recalls of 0, 0.01 ... 1; empty without objects.
  std::vector<double> precision50 = {};
  /// The score down to which detections count where the F1 score at an overlap of 0.5 is the largest, and that F1 score.
  double best_score = 0, best_f1 = 0;
};

struct CocoResult {
  CocoFigures all;
  std::vector<CocoLabel> labels;  ///< Labels with objects or with detections, ascending.
  std::size_t pictures = 0, objects = 0, detections = 0;
};

/// Collects pictures, then evaluates them all. Per label a detection takes, in the order of scores, the free object that it overlaps most,
/// for overlaps of 0.50, 0.55 ... 0.95. Equal scores rank in the order in which they were added; the figures are then those of pycocotools
/// 2.0.11 for pictures in ascending order of their ids.
/// @thread one at a time.
class TENON_API CocoMeter {
 public:
  enum class Of : std::uint8_t { kBoxes, kMasks };
  static constexpr std::size_t kOverlaps = 10, kAreas = 4, kRecalls = 101, kMostOfPicture = 100;

  explicit CocoMeter(Of of) : of_(of) {}
  /// Adds a picture. Detections whose score is not finite are left out.
  /// @errors kInvalidArgument: with kMasks, an object without a mask, or masks of different sizes.
  /// @cost objects times detections of a label; with masks times their runs.
  void add(std::span<const CocoTruth> truths, std::span<const CocoFound> found);
  /// @cost n log n in the detections.
  CocoResult result() const;

 private:
  struct Ranked {
    double score;
    std::uint32_t place;  ///< Among the detections of its label and picture, the best first.
    /// A bit for each overlap: whether it matches an object, and whether it counts not.
    std::array<std::uint16_t, kAreas> matched{}, ignored{};
  };
  struct Label {
    std::vector<Ranked> found;
    std::array<std::size_t, kAreas> objects{};
  };
  void add_label(Label& label, std::span<const CocoTruth* const> truths, std::span<const CocoFound* const> found) const;
  double overlap(const CocoTruth& truth, const CocoFound& found) const;

  Of of_;
  std::map<int, Label> labels_;
  std::size_t pictures_ = 0;
};

}  // namespace vision
}  // namespace v1
}  // namespace tenon
