// SPDX-License-Identifier: Apache-2.0
// Turns a model's outputs into metadata of a frame: objects, classes, masks, points, texts, tensors.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/vision/decode.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

/// Says that DecodeOptions::top_k left out results of a model.
struct TENON_API LeftOut {
  static constexpr metadata::Kind kKind{"left_out"};
  std::size_t top_k = 0;
  std::string model;
  std::string json() const;
};

/// Says once what is contradictory in what is known of a model (ModelInfo::remarks).
struct TENON_API ModelRemark {
  static constexpr metadata::Kind kKind{"model_remark"};
  std::string text;
  std::string model;
  std::string json() const;
};

/// All that ResultReader reads: model_types(), and beside them
///   Segmentation     a metadata::Segmentation (vision::segment)
///   YOLOv8-seg       detections, each with a Segmentation (vision::masked_objects)
///   YOLOv8-pose      detections, each with a TensorOutput "keypoints" [points,3] (vision::posed_objects)
///   YOLOv8-obb       detections, each with a TensorOutput "keypoints" [4,3], the corners of its turned box (vision::oriented_objects)
///   MaskRCNN         detections, each with a Segmentation (vision::box_masked_objects)
///   AnomalyDetection a Classification, and a metadata::Segmentation of the places if the model gives a map (vision::anomaly)
///   Heatmaps         a TensorOutput "keypoints" [points,3] (vision::keypoints_of_maps)
///   CTC              a Classification whose label is the text; labels are the alphabet, the blank is the last class (vision::ctc_text)
///   CTC-blank-first  the same with the blank as class 0
TENON_API std::vector<std::string> result_types();

/// Reads the outputs of one model, picture after picture.
/// @thread one at a time.
class TENON_API ResultReader {
 public:
  /// @param options  With an empty model_type each output becomes a metadata::TensorOutput.
  /// @param model    The model's name in the metadata that are added.
  /// @param names    The names of the outputs, for tensors.
  /// @errors as Decoder.
  ResultReader(DecodeOptions options, std::string model, std::vector<std::string> names = {});
  ~ResultReader();
  ResultReader(ResultReader&&) noexcept;
  ResultReader& operator=(ResultReader&&) noexcept;

  /// Whether read() keeps the tensors that it is given.
  bool keeps_tensors() const;
  /// Does the same as Decoder::place().
  void place(const FrameGeometry& geometry, std::size_t frame_width, std::size_t frame_height);
  /// Adds the results of one picture to the metadata, with `parent` as their parent, and LeftOut if there are more. @param outputs  As Decoder::decode().
  /// @errors kInvalidArgument: no output fits the model type.
  void read(std::span<const Tensor> outputs, metadata::Collection& into, metadata::Id parent = metadata::kFrame);

 private:
  class Kind;
  class Objects;
  class Tensors;
  class Shapes;
  static std::unique_ptr<Kind> make_objects(DecodeOptions options, std::string model);
  std::unique_ptr<Kind> kind_;
};

}  // namespace vision
}  // namespace v1
}  // namespace tenon
