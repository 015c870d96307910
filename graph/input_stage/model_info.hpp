// SPDX-License-Identifier: Apache-2.0
// What a model says of its pictures and of its results, whichever exporter wrote it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {

class Model;

/// One reader of all places in which exporters describe a model. The first that says something counts:
///   1. rt_info["model_info"], as OpenVINO's Model API writes it;
///   2. rt_info["framework"], which holds ONNX's metadata_props: `names` beside `task` or `stride`, as Ultralytics writes them;
///   3. rt_info["metadata.yaml"], the file of that name beside the model, with the same entries.
/// What programs and users state themselves overrides all three.
class TENON_API ModelInfo {
 public:
  /// @param model  Must outlive this object.
  explicit ModelInfo(const Model& model);

  /// The value for a key of Model API's model_info ("scale_values", "resize_type", ...); empty if the model does not say it. For
  /// models of Ultralytics it is what their own predictor does: RGB, 1/255, letterbox with 114 (classification: the centre). @cost
  /// some look-ups; allocates.
  std::string text(const std::string& key) const;
  /// The same, without what Ultralytics' predictor would do: only what model_info states.
  std::string stated(const std::string& key) const;
  /// The names of the classes by number; empty if the model has none, "#3" where number 3 has none.
  std::vector<std::string> labels() const;
  /// The type of the results as vision::DecodeOptions::model_type names it. "YOLO", as Ultralytics' IRs say, becomes the type that
  /// belongs to the task, or to the shapes of the outputs where no task is stated.
  std::string model_type() const;
  /// Whether suppression is inside, so that rows are x1 y1 x2 y2 score class; nothing if the model does not say.
  std::optional<bool> is_end_to_end() const;
  /// Keypoints of an object, 0 if the model does not say; and the numbers of each (x, y and perhaps a score), 3 if it does not say.
  std::size_t keypoint_count() const;
  std::size_t keypoint_values() const;
  /// Height and width that the model was exported for, for inputs without a fixed size; empty if the model does not say.
  std::vector<std::size_t> picture_size() const;

 private:
  /// The value of an entry of Ultralytics' exporters; empty if there is none.
  std::string entry(const std::string& key) const;
  std::vector<std::size_t> keypoint_shape() const;
  std::string yolo_type() const;
  std::string type_by_shapes() const;
  std::string task_default(const std::string& key) const;

  const Model& model_;
  bool is_ultralytics_ = false;
};

}  // namespace v1
}  // namespace tenon
