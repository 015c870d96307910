// SPDX-License-Identifier: Apache-2.0
// How to read a model's outputs.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <tenon/graph/input_stage/geometry.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

/// How to read a model's outputs. decode_options() fills it from the model; members changed afterwards override
/// that.
struct DecodeOptions {
  /// One of model_types() or another of its names, upper or lower case.
  std::string model_type;
  std::vector<std::string> labels;
  float confidence_threshold = 0.5f;  ///< Scores below it are dropped.
  float iou_threshold = 0.5f;
  std::size_t top_k = 300;     ///< Most detections per picture; for classification most labels (5 when from metadata).
  std::size_t beam_width = 1;  ///< For CTC: texts that are followed at once; 1: the best class of each step.
  /// Report every label above the threshold, not only a box's best: for measuring mAP. For classification: labels are independent,
  /// so that each score is the sigmoid of the output.
  bool multi_label = false;
  bool has_sigmoid = false;  ///< For classification with multi_label: the outputs are probabilities already.
  /// Suppression is inside the model: rows are x1, y1, x2, y2, score, class, and further numbers. Not set: what the shape says, and
  /// where it says nothing, the values.
  std::optional<bool> end_to_end;
  std::size_t keypoint_count = 0;   ///< Keypoints of each object; 0: what the shape says.
  std::size_t keypoint_values = 3;  ///< Numbers of each keypoint: x, y and perhaps a score.
  /// For AnomalyDetection, in units of the output (vision::anomaly).
  float image_threshold = 0.5f, pixel_threshold = 0.5f, normalization_scale = 1;
  /// Settings of one decoder by name (DecoderType::parameters), as text. Those that are not here are the decoder's own.
  std::map<std::string, std::string> parameters;
  /// Names of the model's outputs, in their order; empty if they are not known. Only attributes are told apart by them.
  std::vector<std::string> output_names;
  /// Pixels of the model's input.
  std::size_t input_width = 0, input_height = 0;
  /// The mapping between the frame and that input. If it is not set, boxes stay in input pixels.
  std::optional<FrameGeometry> geometry;
  /// Size of the frame, to which boxes are clipped; 0 means no clipping.
  std::size_t frame_width = 0, frame_height = 0;
};

}  // namespace vision
}  // namespace v1
}  // namespace tenon
