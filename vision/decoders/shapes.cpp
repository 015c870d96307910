// SPDX-License-Identifier: Apache-2.0
// The types whose functions are public: masks, points, turned boxes, anomalies, texts.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/vision/ctc.hpp>
#include <tenon/vision/internal/anchors.hpp>
#include <tenon/vision/internal/families.hpp>
#include <tenon/vision/internal/function_decoder.hpp>
#include <tenon/vision/internal/labelled_boxes.hpp>
#include <tenon/vision/keypoints.hpp>
#include <tenon/vision/masks.hpp>
#include <tenon/vision/oriented.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

bool fits_segmentation(const DecodeOptions&, std::span<const TensorInfo> outputs) {
  return any_output(outputs, [](const TensorInfo& output) {
    if (is_real_of_rank(output, 4)) return true;
    const Shape& shape = output.shape;
    const bool is_class =
        output.type == ElementType::kU8 || output.type == ElementType::kI32 || output.type == ElementType::kI64;
    return is_class && ((shape.size() == 3 && shape[0] == 1) || (shape.size() == 4 && shape[0] * shape[1] == 1));
  });
}

bool fits_masked(const DecodeOptions& options, std::span<const TensorInfo> outputs) {
  return any_output(outputs, [&](const TensorInfo& prototypes) {
    return is_real_of_rank(prototypes, 4) && any_output(outputs, [&](const TensorInfo& rows) {
             return is_real_of_rank(rows, 3) && Anchors::fits(rows.shape, options, prototypes.shape[1]);
           });
  });
}

bool fits_box_masked(const DecodeOptions&, std::span<const TensorInfo> outputs) {
  const auto boxes = find_labelled_boxes(outputs);
  return boxes && any_output(outputs, [&](const TensorInfo& output) {
           const std::size_t rank = output.shape.size();
           return is_real(output.type) && (rank == 3 || (rank == 4 && output.shape[0] == 1)) &&
                  &output != &outputs[boxes->boxes] && output.shape[rank - 3] == boxes->count;
         });
}

bool fits_posed(const DecodeOptions& options, std::span<const TensorInfo> outputs) {
  const std::size_t step = options.keypoint_values == 2 ? 2 : 3;
  const auto are_points = [&](std::size_t numbers) {
    return options.keypoint_count == 0 ? numbers % step == 0 : numbers == options.keypoint_count * step;
  };
  return any_output(outputs, [&](const TensorInfo& output) {
    return is_real(output.type) &&
           Anchors::extra_of(output.shape, options, std::max<std::size_t>(options.labels.size(), 1), are_points);
  });
}

bool fits_turned(const DecodeOptions& options, std::span<const TensorInfo> outputs) {
  return any_output(outputs, [&](const TensorInfo& output) {
    return is_real(output.type) && Anchors::fits(output.shape, options, 1);
  });
}

/// Heat maps, or the scores of two axes.
bool fits_points(const DecodeOptions& options, std::span<const TensorInfo> outputs) {
  const auto is_axis = [](const TensorInfo& output, std::size_t extent) {
    return is_real_of_rank(output, 3) && extent != 0 && output.shape[2] % extent == 0;
  };
  return any_output(outputs, [&](const TensorInfo& output) { return is_real_of_rank(output, 4); }) ||
         (outputs.size() > 1 &&
          any_output(outputs, [&](const TensorInfo& output) { return is_axis(output, options.input_width); }) &&
          any_output(outputs, [&](const TensorInfo& output) { return is_axis(output, options.input_height); }));
}

bool fits_ctc(const DecodeOptions& options, std::span<const TensorInfo> outputs) {
  return any_output(outputs, [&](const TensorInfo& output) {
    const Shape& shape = output.shape;
    return is_real(output.type) && shape.size() == 3 && shape[2] == options.labels.size() + 1 &&
           (shape[0] == 1 || shape[1] == 1);
  });
}

FunctionDecoder::Function ctc_reader(bool is_blank_first) {
  return [is_blank_first](const DecodeOptions& options, std::span<const Tensor> outputs, const ResultTarget& target) {
    CtcText found = ctc_text(outputs, {options.labels, is_blank_first, options.beam_width});
    target.into.add(
        metadata::Classification{std::move(found.text), -1, static_cast<float>(found.probability), target.model},
        target.parent);
    return false;
  };
}

bool is_sequence(const TensorInfo& output) {
  const Shape& shape = output.shape;
  const bool is_number = is_real(output.type) || output.type == ElementType::kI32 || output.type == ElementType::kI64;
  return is_number && shape.size() >= 2 && shape[0] == 1 && checked_element_count(output.shape) == shape[1];
}

/// Numbers of labels up to a negative one, as OpenVINO's license-plate-recognition-barrier-0001 gives them.
bool read_sequence(const DecodeOptions& options, std::span<const Tensor> outputs, const ResultTarget& target) {
  std::vector<TensorInfo> infos;
  const Tensor& output = first_output(outputs, infos, is_sequence);
  const ElementType type = output.element_type();
  std::vector<float> scratch;
  const float* reals = is_real(type) ? floats(output, scratch) : nullptr;
  std::string text;
  for (std::size_t i = 0; i < output.element_count(); ++i) {
    const double number = reals                       ? static_cast<double>(reals[i])
                          : type == ElementType::kI32 ? output.data<std::int32_t>()[i]
                                                      : static_cast<double>(output.data<std::int64_t>()[i]);
    if (!(number >= 0)) break;
    if (number < static_cast<double>(options.labels.size())) text += options.labels[static_cast<std::size_t>(number)];
  }
  if (!text.empty()) target.into.add(metadata::Classification{std::move(text), -1, 1, target.model}, target.parent);
  return false;
}

template <typename Find>
FunctionDecoder::Function masked_reader(Find find) {
  return [find](const DecodeOptions& options, std::span<const Tensor> outputs, const ResultTarget& target) {
    bool is_cut = false;
    for (MaskedObject& found : find(outputs, options, &is_cut)) {
      const metadata::Id object = target.into.add(std::move(found.object), target.parent);
      target.into.add(std::move(found.mask), object);
    }
    return is_cut;
  };
}

class SegmentationDecoder final : public ResultDecoder {
 public:
  explicit SegmentationDecoder(const DecoderSettings& settings) : is_soft_(settings.flag("soft_predictions")) {
    const double window = settings.number("blur_strength");
    const std::string threshold = lower_case(settings.text("soft_threshold"));
    if (window > static_cast<double>(Smoothing::kMaxWindow) || window != std::floor(window))
      throw Error(Code::kInvalidArgument, "decoding Segmentation: parameter blur_strength is \"" +
                                              settings.text("blur_strength") + "\"; it must be a whole number up to " +
                                              std::to_string(Smoothing::kMaxWindow) + "; -1: none");
    // Model API's words for "none": inf takes the scores as they are, -inf their means, however low.
    const bool is_word = threshold == "inf" || threshold == "-inf";
    if (!is_word) smoothing_.threshold = static_cast<float>(settings.number("soft_threshold"));
    if (window >= 1 && threshold != "inf") smoothing_.window = static_cast<std::size_t>(window);
  }
  bool read(const DecodeOptions& options, std::span<const Tensor> outputs, const ResultTarget& target) override {
    target.into.add(segment(outputs, options, smoothing_), target.parent);
    if (is_soft_)
      target.into.add(
          metadata::TensorOutput{soft_prediction(outputs, options), "soft_prediction", target.model, "class_scores"},
          target.parent);
    return false;
  }

 private:
  bool is_soft_;
  Smoothing smoothing_;
};

DecoderType segmentation_type() {
  DecoderType type;
  type.name = "Segmentation";
  type.other_names = {"semantic_segmentation", "semanticsegmentation"};
  type.expects = "[1,labels,h,w], or [1,h,w] or [1,1,h,w] of u8, i32 or i64,";
  type.parameters = {{"soft_predictions", "false", "adds what the model says of each class, f32 [labels,h,w]"},
                     {"blur_strength", "-1", "cells in width and height over which scores are averaged; -1: none"},
                     {"soft_threshold", "-inf", "averaged scores below it count as 0"}};
  type.fits = fits_segmentation;
  type.make = [](const DecodeOptions&, const DecoderSettings& settings) {
    return std::make_unique<SegmentationDecoder>(settings);
  };
  return type;
}

bool read_posed(const DecodeOptions& options, std::span<const Tensor> outputs, const ResultTarget& target) {
  bool is_cut = false;
  for (PosedObject& found : posed_objects(outputs, options, &is_cut))
    add_points(std::move(found.points), target, target.into.add(std::move(found.object), target.parent));
  return is_cut;
}

bool read_turned(const DecodeOptions& options, std::span<const Tensor> outputs, const ResultTarget& target) {
  bool is_cut = false;
  for (OrientedObject& found : oriented_objects(outputs, options, &is_cut)) {
    const metadata::Id object = target.into.add(std::move(found.object), target.parent);
    add_polygon(std::move(found.corners), target, object);
  }
  return is_cut;
}

bool read_maps(const DecodeOptions& options, std::span<const Tensor> outputs, const ResultTarget& target) {
  add_points(keypoints_of_maps(outputs, options), target, target.parent);
  return false;
}

/// A model of landmarks of MediaPipe: the numbers of all points, and how many each has.
struct Landmarks {
  std::size_t numbers, step;
  bool has_logit;  ///< The presence of the object is a logit.
};
constexpr Landmarks kLandmarks[] = {{63, 3, false}, {1404, 3, true}, {1434, 3, true}, {195, 5, false}};

const Landmarks* landmarks_in(const TensorInfo& output) {
  const auto is_it = [&](const Landmarks& one) {
    return is_real(output.type) && checked_element_count(output.shape) == one.numbers && !output.shape.empty() &&
           output.shape.back() == one.numbers;
  };
  const auto found = std::find_if(std::begin(kLandmarks), std::end(kLandmarks), is_it);
  return found == std::end(kLandmarks) ? nullptr : &*found;
}

float sigmoid_of(float logit) { return 1 / (1 + std::exp(-logit)); }

/// Points in pixels of the input, of which z stays behind; the score of each is its visibility, or the presence of the object, which
/// the first output of one number is. @source MediaPipe's graphs for hands, faces and poses
bool read_landmarks(const DecodeOptions& options, std::span<const Tensor> outputs, const ResultTarget& target) {
  std::vector<TensorInfo> infos;
  const Tensor& output = first_output(outputs, infos, landmarks_in);
  const Landmarks& kind = *landmarks_in(infos[static_cast<std::size_t>(&output - outputs.data())]);
  std::vector<float> scratch, one;
  float presence = 1;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!is_real(infos[i].type) || checked_element_count(infos[i].shape) != 1u) continue;
    presence = *floats(outputs[i], one);
    if (kind.has_logit) presence = sigmoid_of(presence);
    break;
  }
  if (!(presence >= options.confidence_threshold && presence <= 1)) return false;
  const float* values = floats(output, scratch);
  Tensor made(ElementType::kF32, Shape{kind.numbers / kind.step, 3});
  auto* number = made.data<float>();
  for (std::size_t k = 0; k < kind.numbers; k += kind.step) {
    if (!std::isfinite(values[k] + values[k + 1])) return false;
    const Box at = to_frame(options, {values[k], values[k + 1], values[k], values[k + 1]});
    *number++ = at.x1, *number++ = at.y1, *number++ = kind.step == 5 ? sigmoid_of(values[k + 3]) : presence;
  }
  add_points(std::move(made), target, target.parent);
  return false;
}

}  // namespace

std::vector<DecoderType> mask_types() {
  return {
      segmentation_type(),
      function_type("YOLOv8-seg", {"yolov8_seg", "yolo11-seg", "yolo-seg", "yolo26-seg"},
                    "[1,4+labels+m,n] (or [1,n,6+m] with suppression inside) and [1,m,h,w]", fits_masked,
                    masked_reader([](auto... all) { return masked_objects(all...); })),
      function_type("MaskRCNN", {"mask_rcnn", "mask-rcnn"}, "boxes [n,5], labels [n] and masks [n,h,w]",
                    fits_box_masked, masked_reader([](auto... all) { return box_masked_objects(all...); })),
  };
}

std::vector<DecoderType> point_types() {
  return {
      function_type("YOLOv8-pose", {"yolov8_pose", "yolo11-pose", "yolo26-pose"},
                    "[1,4+labels+3*points,n] (or [1,n,6+3*points] with suppression inside)", fits_posed, read_posed),
      function_type("Heatmaps", {"keypoints", "keypoint_detection", "simcc", "rtmpose"},
                    "[1,points,h,w], or [1,points,k*width] and [1,points,k*height]", fits_points, read_maps),
      function_type(
          "MediaPipe-landmarks", {"mediapipe_landmarks", "face_mesh", "hand_landmarks", "pose_landmarks"},
          "63 (hands), 1404 or 1434 (faces) or 195 (poses) numbers, and perhaps the presence of the object,",
          [](const DecodeOptions&, std::span<const TensorInfo> outputs) { return any_output(outputs, landmarks_in); },
          read_landmarks),
      function_type("YOLOv8-obb", {"yolov8_obb", "yolo11-obb", "yolo26-obb"},
                    "[1,4+labels+1,n] (or [1,n,7] with suppression inside)", fits_turned, read_turned),
  };
}

std::vector<DecoderType> text_types() {
  const char* const steps = "[steps,1,labels+1] or [1,steps,labels+1], for the labels and the blank,";
  return {function_type("CTC", {"ctc-greedy", "ocr"}, steps, fits_ctc, ctc_reader(false)),
          function_type("CTC-blank-first", {"ctc_blank_first", "paddle_ocr"}, steps, fits_ctc, ctc_reader(true)),
          function_type(
              "LabelSequence", {"lpr", "license_plate"}, "[1,n] or [1,n,1,1] of labels' numbers, also of i32 or i64,",
              [](const DecodeOptions& options, std::span<const TensorInfo> outputs) {
                return !options.labels.empty() && any_output(outputs, is_sequence);
              },
              read_sequence)};
}

std::vector<DecoderType> anomaly_types() {
  return {function_type(
      "AnomalyDetection", {"anomaly_detection", "anomaly"}, "[1,1,h,w], [1,h,w] or [1]",
      [](const DecodeOptions&, std::span<const TensorInfo> outputs) {
        return any_output(outputs, [](const TensorInfo& output) {
          return is_real(output.type) && (output.shape.size() == 3 || output.shape.size() == 4 ||
                                          checked_element_count(output.shape).value_or(0) == 1);
        });
      },
      [](const DecodeOptions& options, std::span<const Tensor> outputs, const ResultTarget& target) {
        Anomaly found = anomaly(outputs, options);
        target.into.add(metadata::Classification{std::move(found.label), found.label_id, found.score, target.model},
                        target.parent);
        if (found.places) target.into.add(std::move(*found.places), target.parent);
        return false;
      })};
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
