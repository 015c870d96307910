// SPDX-License-Identifier: Apache-2.0
// Decodes a model's output tensors to detections, by the model's metadata.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/input_stage/geometry.hpp>
#include <tenon/vision/detection.hpp>
#include <tenon/vision/nms.hpp>

namespace tenon {
inline namespace v1 {
class InferRequest;
class Model;
struct FrameInfo;
namespace vision {

/// How to read a model's outputs. decode_options() fills it from the model; members changed afterwards override
/// that.
struct DecodeOptions {
  /// One of model_types(), upper or lower case.
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
  /// Pixels of the model's input.
  std::size_t input_width = 0, input_height = 0;
  /// The mapping between the frame and that input. If it is not set, boxes stay in input pixels.
  std::optional<FrameGeometry> geometry;
  /// Size of the frame, to which boxes are clipped; 0 means no clipping.
  std::size_t frame_width = 0, frame_height = 0;
};

/// The known model types and the output that each expects. Class scores and objectness of heads are probabilities, or logits where an
/// export left out the sigmoid: values below -0.5 or above 1.5 tell.
///   YOLOX           [1,n,5+c]: dx, dy, log w, log h relative to grid cells of strides 8, 16, 32 (64 when n says so),
///                   then objectness and class scores as probabilities
///   YOLOv5          [1,n,5+c]: centre and size in input pixels, objectness, class scores
///   YOLOv8, YOLOv11 [1,4+c,n] (or [1,n,4+c]): centre and size in input pixels, class scores
///   SSD             [1,1,n,7]: image, label, score, x1, y1, x2, y2 in 0..1 of the input; a negative image ends the list
///   Classification  [1,c], [1,c,1,1]: probabilities or logits (softmax is applied unless they are 0..1 and sum to 1)
///   YOLOv10, YOLO26 [1,n,6]: x1, y1, x2, y2 in input pixels, score, class; suppression is inside the model. YOLOv5 and YOLOv8 read
///                   such rows too (DecodeOptions::end_to_end)
///   RT-DETR         [1,n,4+c]: centre and size in 0..1 of the input, class scores; nothing is suppressed
/// Where no output fits a type of detectors, boxes [n,5] (two corners in input pixels, score) beside labels [n], or boxes [n,4], scores
/// [n] and labels [n], are read, each perhaps with a batch of 1 in front, as exports for OpenVINO's Model API have them.
TENON_API std::vector<std::string> model_types();

/// Reads what the model says of itself (ModelInfo): model_type, labels (separated by blanks), confidence_threshold, iou_threshold, topk,
/// multilabel; the input's size from its shape, or size and geometry from the input stage where the model has one.
/// @errors kInvalidArgument: a value that cannot be read (names the key).
TENON_API DecodeOptions decode_options(const Model& model);
/// The same for frames of `info` that are fed to the model's first input: boxes are in the frame's pixels.
/// @param facts  What the user states, by the keys of fact_keys(); it precedes the model. @errors as options_from() of the input stage.
TENON_API DecodeOptions decode_options(const Model& model, const FrameInfo& info,
                                       const std::map<std::string, std::string>& facts = {});

/// Decodes frame after frame without allocating once its vectors have grown (labels longer than 15 bytes excepted).
/// @thread one thread at a time.
class TENON_API Decoder {
 public:
  /// @errors kInvalidArgument: an unknown model type (lists the known), thresholds that are NaN, a size of 0
  /// where the type needs one.
  explicit Decoder(DecodeOptions options);
  const DecodeOptions& options() const { return options_; }
  /// For pictures that lie elsewhere in the input, of another size, or parts of frames: boxes are in pixels of the frame.
  /// @errors kInvalidArgument: the picture has no place in the input.
  void place(const FrameGeometry& geometry, std::size_t frame_width, std::size_t frame_height);

  /// The detections of one picture, best first; valid until the next call. Values that are not finite are dropped.
  /// @param outputs  The model's, in any order, f32 or f16, packed, on the host; the first whose shape fits is read.
  /// @errors kInvalidArgument: none fits (names each shape and what is expected); finished objects whose scores are no
  /// probabilities.
  const std::vector<Detection>& decode(std::span<const Tensor> outputs);
  /// Whether top_k left out results of the last picture.
  bool left_out() const { return left_out_; }

 private:
  void keep_boxes(bool is_suppressed);

  DecodeOptions options_;
  std::size_t kind_ = 0;
  bool left_out_ = false;
  std::vector<Candidate> candidates_;
  std::vector<Detection> found_;
  std::vector<float> values_;
  std::vector<float> best_score_;
  std::vector<std::int32_t> best_label_;
};

/// The same for a single picture. @cost allocates; use a Decoder for a stream.
TENON_API std::vector<Detection> detections(std::span<const Tensor> outputs, const DecodeOptions& options);
TENON_API std::vector<Detection> detections(const Tensor& output, const DecodeOptions& options);
/// Decodes the outputs of a finished request. @errors as decode(); Busy while it runs.
TENON_API const std::vector<Detection>& detections(InferRequest& request, Decoder& decoder);
TENON_API std::vector<Detection> detections(InferRequest& request, const DecodeOptions& options);

}  // namespace vision
}  // namespace v1
}  // namespace tenon
