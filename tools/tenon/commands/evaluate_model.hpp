// SPDX-License-Identifier: Apache-2.0
// Runs a model on the pictures of an evaluation.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tenon/core/frame.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/runtime/compiled_model.hpp>
#include <tenon/runtime/core.hpp>
#include <tenon/vision/detection.hpp>
#include <tenon/vision/mask_runs.hpp>

#include <tenon/tools/tenon/commands/run_results.hpp>
#include <tenon/tools/tenon/shared/model_options.hpp>
#include <tenon/tools/tenon/shared/output_file.hpp>

namespace tenon::tool {

struct EvaluatedModelOptions {
  std::string model, device = "CPU", model_type;
  double confidence = -1,
         iou = -1;  ///< -1: 0.001 for `confidence`, since the whole curve counts; the model's own for `iou`.
  std::size_t top_k = 300;
  ModelOptions settings;
};

/// An object that the model found, and its mask in the picture's pixels if it has one.
struct SeenObject {
  vision::Detection detection;
  vision::MaskRuns mask;
};

/// @thread one at a time
class EvaluatedModel {
 public:
  /// @param many_labels  Each label of a box counts by itself, not only its best one.
  /// @errors as Core::read_model, describe(); kInvalidArgument: the model does not say what its outputs mean.
  EvaluatedModel(EvaluatedModelOptions options, bool many_labels, CommandFiles& files);

  /// The labels that the model knows; empty if it does not say.
  std::vector<std::string> labels() const;
  using Next = std::function<std::optional<Frame>()>;
  /// @param width, height  The size of the upright picture, in which boxes are.
  using See = std::function<void(std::size_t width, std::size_t height, const std::vector<SeenObject>& objects)>;
  /// Runs all frames that `next` gives, with several inferences in flight, and calls `see` for each in their order.
  /// @errors Those of the device.
  void run(const Next& next, const See& see);

 private:
  void prepare(const FrameInfo& info);
  void read(InferRequest& request, const FrameInfo& info, const See& see);

  EvaluatedModelOptions options_;
  bool many_labels_;
  Core core_;
  std::shared_ptr<Model> model_;
  std::optional<CompiledModel> compiled_;
  std::optional<OutputReader> reader_;
  FrameInfo info_;
};

}  // namespace tenon::tool
