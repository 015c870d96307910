// SPDX-License-Identifier: Apache-2.0
// Segmentation: a class for each pixel, a mask for each object, or the places of an anomaly.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/vision/decode_options.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

/// The class of each pixel, at the resolution of the output: only what lies over the frame, not the padding.
/// @param outputs  The first that fits is read: scores [1,c,h,w] (of c = 1: of the one class, as probability or logit, from
///                 options.confidence_threshold), or classes [1,h,w] or [1,1,h,w] of u8, i32 or i64 (those above 255 count as 0).
/// @errors kInvalidArgument: none fits.
TENON_API metadata::Segmentation segment(std::span<const Tensor> outputs, const DecodeOptions& options);

/// How the scores of several classes become one class where neighbours count: each score is the mean of a window around its cell, mirrored
/// at the edges of the output, and means below the threshold count as 0. Scores that are not finite count as 0.
/// @source OpenVINO's Model API, SegmentationModel: blur_strength, soft_threshold
struct Smoothing {
  std::size_t window =
      0;  ///< Cells in width and height, at most kMaxWindow; 0: scores count as they are, without threshold.
  float threshold = -std::numeric_limits<float>::infinity();
  static constexpr std::size_t kMaxWindow = 255;
};
/// The same by smoothed scores. Outputs of one class, and classes, are not smoothed. @cost two passes over the scores, whatever the window.
TENON_API metadata::Segmentation segment(std::span<const Tensor> outputs, const DecodeOptions& options,
                                         const Smoothing& smoothing);

/// The soft prediction: what the model says of each class, f32 [labels,h,w], in cells of the mask that segment() makes of the same outputs.
/// Values are the model's, unchanged: probabilities or logits. @param outputs  The first of scores [1,c,h,w] is read.
/// @return Memory of its own. @errors kInvalidArgument: there are none; classes alone have no scores. @cost a copy of the scores.
TENON_API Tensor soft_prediction(std::span<const Tensor> outputs, const DecodeOptions& options);

/// An object and the mask over its box.
struct MaskedObject {
  metadata::Detection object;
  metadata::Segmentation mask;  ///< u8, 0 or 1.
};

/// Objects with masks as YOLOv8-seg has them: [1,4+labels+m,n], or [1,n,6+m] with suppression inside, and prototypes [1,m,h,w]. A pixel
/// belongs to the object if the sum of its m coefficients times the prototypes is above 0. Masks have the pixels of the input: between the
/// centres of the prototypes' cells sums are linear, as in Ultralytics' own program. From 64 million pixels of masks on, further objects of
/// the picture have those of the prototypes. @param is_cut  If not null: set to whether options.top_k left out objects.
/// @errors kInvalidArgument: no two outputs fit.
TENON_API std::vector<MaskedObject> masked_objects(std::span<const Tensor> outputs, const DecodeOptions& options,
                                                   bool* is_cut);
TENON_API std::vector<MaskedObject> masked_objects(std::span<const Tensor> outputs, const DecodeOptions& options);

/// Objects of Mask R-CNN as OpenVINO's Model API knows it: boxes [n,5] (two corners in input pixels, score), labels [n] that count from the
/// label behind the background's, and masks [n,h,w], probabilities over each box; each perhaps with a batch of 1 in front.
/// @param is_cut  If not null: set to whether options.top_k left out objects. @errors kInvalidArgument: no three outputs fit.
TENON_API std::vector<MaskedObject> box_masked_objects(std::span<const Tensor> outputs, const DecodeOptions& options,
                                                       bool* is_cut = nullptr);

/// What an anomaly model says of a picture.
struct Anomaly {
  int label_id = 0;  ///< 1: it is an anomaly.
  std::string label;
  float score = 0;                               ///< How sure the label is, 0..1.
  std::optional<metadata::Segmentation> places;  ///< 1 where the picture differs; nothing if the model gives no map.
};

/// From a map of differences [1,1,h,w] (or [1,h,w]), whose largest value is the picture's, or from that value alone, [1]. It is an anomaly
/// above options.image_threshold, and each pixel from options.pixel_threshold on; scores are 0.5 at the threshold and grow by 1 in
/// options.normalization_scale, as in OpenVINO's Model API. Or, as anomalib exports them: pred_score [1], pred_label [1] and perhaps
/// pred_mask [1,1,h,w] of booleans, which count as they are. @errors kInvalidArgument: no output fits.
TENON_API Anomaly anomaly(std::span<const Tensor> outputs, const DecodeOptions& options);

}  // namespace vision
}  // namespace v1
}  // namespace tenon
